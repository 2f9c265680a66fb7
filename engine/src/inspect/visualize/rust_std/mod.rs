//! Rust's standard types, by the member names in use since rustc 1.70.

mod btree;
pub(crate) mod cells;
mod dynamic;
mod hash;
mod plain;
mod sequences;
mod shared;
pub(crate) mod tail;
mod texts;
mod thread_local;

pub use dynamic::Dynamic;
pub(crate) use plain::duration_of as duration;
pub(crate) use shared::{counts, is_counted};
pub use texts::Fat;
pub(crate) use texts::{is_c_text, is_text, pointee_name};

use super::{View, Visualizer, word};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, members};
use std::sync::Arc;

/// Maximum size of an allocation in bytes.
const ISIZE_MAX: u64 = i64::MAX as u64;

/// Maximum nesting of structs to search for a pointer or a number.
const NESTING: usize = 12;

/// Types of the standard library (and of hashbrown, the base of its maps) by the last component of
/// their path: paths change between releases, names do not.
#[derive(Debug)]
pub struct Named {
    names: &'static [&'static str],
    view: fn(&dyn Target, &Value) -> Result<View, Error>,
}

impl Visualizer for Named {
    fn matches(&self, name: &str, _: &DwarfTy) -> bool {
        match name.split_once("::") {
            Some(("std" | "core" | "alloc" | "hashbrown", rest)) => {
                let last = rest.rsplit("::").next().unwrap_or(rest);
                self.names.contains(&last)
            }
            _ => false,
        }
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        (self.view)(target, value)
    }
}

macro_rules! named {
    ($($constant:ident = $view:path: $($name:literal)+;)+) => {
        $(
            #[doc = concat!($("`", $name, "` "),+)]
            pub static $constant: Named = Named { names: &[$($name),+], view: $view };
        )+
    };
}

named! {
    TEXTS = texts::owned: "String" "OsString" "PathBuf";
    C_STRING = texts::c_string: "CString";
    VEC = sequences::vec: "Vec";
    DEQUE = sequences::deque: "VecDeque";
    HEAP = sequences::heap: "BinaryHeap";
    LINKED_LIST = sequences::linked_list: "LinkedList";
    HASHED = hash::table: "HashMap" "HashSet" "RawTable" "HashTable";
    SORTED = btree::tree: "BTreeMap" "BTreeSet";
    COUNTED = shared::counted: "Rc" "Arc";
    WEAK = shared::weak: "Weak";
    COW = cells::cow: "Cow";
    TRANSPARENT = cells::transparent: "Cell" "UnsafeCell" "SyncUnsafeCell" "ManuallyDrop"
        "MaybeDangling" "Pin" "NonNull" "Unique" "Wrapping" "Saturating" "Exclusive";
    MAYBE_UNINIT = cells::maybe_uninit: "MaybeUninit";
    REF_CELL = cells::ref_cell: "RefCell";
    ONCE = cells::once: "OnceCell" "OnceLock" "LazyLock" "LazyCell";
    THREAD_LOCAL = thread_local::storage: "Storage" "Key";
    LOCKS = cells::lock: "Mutex" "RwLock" "ReentrantLock";
    GUARDS = cells::guard: "MutexGuard" "RwLockReadGuard" "RwLockWriteGuard" "Ref" "RefMut";
    NUMBERS = plain::number: "NonZero" "NonZeroU8" "NonZeroU16" "NonZeroU32" "NonZeroU64"
        "NonZeroU128" "NonZeroUsize" "NonZeroI8" "NonZeroI16" "NonZeroI32" "NonZeroI64"
        "NonZeroI128" "NonZeroIsize" "AtomicU8" "AtomicU16" "AtomicU32" "AtomicU64" "AtomicUsize"
        "AtomicI8" "AtomicI16" "AtomicI32" "AtomicI64" "AtomicIsize" "AtomicPtr" "Atomic";
    ATOMIC_BOOL = plain::atomic_bool: "AtomicBool";
    RANGES = plain::range: "Range" "RangeInclusive" "RangeFrom" "RangeTo" "RangeToInclusive"
        "RangeFull";
    DURATION = plain::duration: "Duration";
    TIMES = plain::time: "Instant" "SystemTime";
    ADDRESSES = plain::address: "Ipv4Addr" "Ipv6Addr" "SocketAddrV4" "SocketAddrV6";
    ADDRESS_KINDS = plain::address_kind: "IpAddr" "SocketAddr";
}

fn missing(what: &str) -> Error {
    Error::Unsupported(format!("no {what}"))
}

/// Returns the struct, enum or union type of a value.
fn composite(value: &Value) -> Result<Arc<DwarfTy>, Error> {
    match value.ty.shape() {
        Shape::Composite(ty) => Ok(ty),
        _ => Err(missing("struct")),
    }
}

/// Returns a generic argument of a type, by the parameter's name.
pub(crate) fn argument(value: &Value, name: &str) -> Option<Ty> {
    let ty = composite(value).ok()?;
    let parameters = &ty.composite()?.template_types;
    let (_, found) = parameters.iter().find(|(known, _)| known == name)?;
    found.map(|found| ty.related(found))
}

/// Returns the first generic argument in a type's name: `str` of `Rc<str, Global>`.
pub(crate) fn first_argument(name: &str) -> &str {
    let rest = name.split_once('<').map_or("", |(_, rest)| rest);
    argument_before(rest)
}

/// Returns the generic argument that a part of a type's name begins with.
fn argument_before(rest: &str) -> &str {
    let (mut depth, mut before) = (0, ' ');
    let end = rest.find(|char| {
        match char {
            '<' | '(' | '[' => depth += 1,
            // Not the arrow of `fn(u8) -> u8`.
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        before = char;
        depth < 0 || depth == 0 && char == ','
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// Returns the target of a thin pointer.
fn deref(target: &dyn Target, pointer: &Value) -> Result<Value, Error> {
    match pointer.ty.shape() {
        Shape::Pointer(of, _) => {
            let value = pointer.pointee(target, of)?;
            match value.address() {
                Some(addr) if addr.0 != 0 => Ok(value),
                _ => Err(missing("object at address 0")),
            }
        }
        _ => Err(missing("pointer")),
    }
}

/// Returns whether a struct is a pointer with a length.
pub(crate) fn is_slice(ty: &DwarfTy) -> bool {
    Fat.matches("", ty)
}

/// Returns the type of the elements of a slice of this name (`[T]`), which the debug info describes by an element, or
/// as an array without a length. The elements may themselves be arrays: `[[u8; 4]]`.
pub(crate) fn element_of_slice(name: &str, described: &Ty) -> Ty {
    let named = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    match described.shape() {
        Shape::Array(_) if named == Some(&*described.name()) => described.clone(),
        Shape::Array(array) if array.count.is_none_or(|it| it == 0) => array.element.clone(),
        _ => described.clone(),
    }
}

/// Returns whether a struct is a pointer with a length or a vtable.
fn is_fat(ty: &DwarfTy) -> bool {
    let has = |name: &str| {
        ty.composite()
            .is_some_and(|it| it.members.iter().any(|member| member.name == name))
    };
    has("data_ptr") && has("length") || has("pointer") && has("vtable")
}

/// Returns the first pointer in a struct, depth first, in order of the members. A fat pointer is
/// returned as its struct.
pub(crate) fn pointer_in(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    pointer_within(target, value, 0)?.ok_or_else(|| missing("pointer"))
}

fn pointer_within(
    target: &dyn Target,
    value: &Value,
    depth: usize,
) -> Result<Option<Value>, Error> {
    match value.ty.shape() {
        Shape::Pointer(_, PointerKind::Raw | PointerKind::Owned) => Ok(Some(value.clone())),
        Shape::Composite(ty) if is_fat(&ty) => Ok(Some(value.clone())),
        Shape::Composite(ty) if depth < NESTING => {
            for member in ty.composite().map_or(&[][..], |it| &it.members) {
                let part = members::member(target, value, &ty, member)?;
                if let Some(found) = pointer_within(target, &part, depth + 1)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Returns the first member with a name in a struct or its nested structs.
pub(crate) fn named_in(target: &dyn Target, value: &Value, name: &str) -> Result<Value, Error> {
    let found = within(target, value, 0, &|member, _| member == name)?;
    found.ok_or_else(|| missing(&format!("member `{name}`")))
}

/// Returns the first struct in a struct whose type's path ends in `path` (or the value itself).
pub(crate) fn struct_in(target: &dyn Target, value: &Value, path: &str) -> Result<Value, Error> {
    let is_it = |value: &Value| {
        composite(value).is_ok_and(|ty| {
            let name = &ty.ty.name;
            name[..name.find('<').unwrap_or(name.len())].ends_with(path)
        })
    };
    if is_it(value) {
        return Ok(value.clone());
    }
    let found = within(target, value, 0, &|_, part| is_it(part))?;
    found.ok_or_else(|| missing(&format!("`{path}`")))
}

fn within(
    target: &dyn Target,
    value: &Value,
    depth: usize,
    is_it: &dyn Fn(&str, &Value) -> bool,
) -> Result<Option<Value>, Error> {
    let Shape::Composite(ty) = value.ty.shape() else {
        return Ok(None);
    };
    let parts = ty.composite().map_or(&[][..], |it| &it.members);
    // Direct members take precedence over nested ones.
    for member in parts {
        let part = members::member(target, value, &ty, member)?;
        if is_it(&member.name, &part) {
            return Ok(Some(part));
        }
    }
    if depth < NESTING {
        for member in parts {
            let part = members::member(target, value, &ty, member)?;
            if let Some(found) = within(target, &part, depth + 1, is_it)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Returns a number by its member's name, at any depth of a struct.
fn number_in(target: &dyn Target, value: &Value, name: &str) -> Result<u64, Error> {
    word(target, &innermost(target, named_in(target, value, name)?)?)
}

/// Returns the only member of a struct that is not zero-sized.
fn only(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let ty = composite(value)?;
    let parts = ty.composite().map_or(&[][..], |it| &it.members);
    let mut found = None;
    for member in parts {
        let part = members::member(target, value, &ty, member)?;
        match (&found, part.ty.size()) {
            (_, Some(0)) => {}
            (None, _) => found = Some(part),
            (Some(_), _) => return Err(missing("only member")),
        }
    }
    match (found, parts) {
        (Some(found), _) => Ok(found),
        (None, [first, ..]) => members::member(target, value, &ty, first),
        (None, []) => Err(missing("member")),
    }
}

/// Returns the value inside nested structs of one member.
pub(crate) fn innermost(target: &dyn Target, mut value: Value) -> Result<Value, Error> {
    for _ in 0..NESTING {
        match value.ty.shape() {
            Shape::Composite(ty) if !is_fat(&ty) => value = only(target, &value)?,
            _ => return Ok(value),
        }
    }
    Err(missing("innermost member"))
}

/// Returns the value of an `Option`.
fn some(target: &dyn Target, option: &Value) -> Result<Option<Value>, Error> {
    match members::active_variant(target, option, &composite(option)?)? {
        Some((name, payload)) if name == "Some" => only(target, &payload).map(Some),
        Some(_) => Ok(None),
        None => Err(missing("`Option`")),
    }
}
