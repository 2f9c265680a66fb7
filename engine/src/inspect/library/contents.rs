//! The contents of a class of a standard library, by its template arguments or its members.

use crate::inspect::language::template::{closing, split_arguments};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::{ArrayTy, DwarfTy};
use crate::inspect::value::{PointerKind, Shape, Synthetic, Ty, members};
use crate::inspect::visualize::libstdcxx;
use crate::inspect::visualize::rust_std;
use crate::inspect::visualize::standard::{Library, before_arguments, std_class};
use dwarf::Language;
use std::sync::Arc;

/// Maximum nesting of bases, unnamed members and wrappers.
const NESTING: usize = 16;

/// What a value of a class of a standard library contains.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A string: the encoding, and the type of a unit.
    Text(Unit, Ty),
    /// Contiguous elements.
    Sequence(Ty),
    /// Elements with positions that need not be contiguous.
    List(Ty),
    /// Contiguous elements whose number is unknown: `std::unique_ptr<T[]>`.
    Unbounded(Ty),
    /// Keys.
    Set(Ty),
    /// Keys and their values.
    Map(Ty, Ty),
    /// What `*` gives: of smart pointers, iterators, guards.
    Pointee(Ty),
    /// The value of a wrapper without `*`: of cells, atomics, container adaptors.
    Wrapped(Ty),
    /// A value or none: `std::optional`, `Option`.
    Optional(Ty),
    /// A value or an error: `std::expected`, `Result`.
    Either(Ty, Ty),
    /// One of these: `std::variant`.
    Variant(Vec<Ty>),
    /// All of these: `std::tuple`, `std::pair`, tuples of Rust.
    Tuple(Vec<Ty>),
}

/// Returns what a value of a type contains; `None` if it is no class of a standard library, or that
/// depends on the value (`std::any`, `dyn Trait`).
pub fn contents(ty: &Ty) -> Option<Contents> {
    match ty.shape() {
        Shape::Composite(class) => match class.language() {
            Language::Rust => of_rust(&class),
            _ => of_cpp(&class),
        },
        Shape::Synthetic(synthetic) => Some(of_synthetic(&synthetic)),
        _ => None,
    }
}

fn of_synthetic(ty: &Synthetic) -> Contents {
    match ty {
        Synthetic::Reference(of) | Synthetic::MutableReference(of) => Contents::Pointee(of.clone()),
        Synthetic::Range(..) | Synthetic::Open => Contents::Tuple(ty.held()),
        Synthetic::Slice(of) => Contents::Sequence(of.clone()),
        Synthetic::Str | Synthetic::Text(..) => Contents::Text(Unit::Byte, byte()),
        Synthetic::Tuple(parts) => Contents::Tuple(parts.clone()),
        Synthetic::Struct(name, held) => match held.shape() {
            // `vec![1, 2]`
            Shape::Array(array) if name.starts_with("alloc::vec::Vec<") => {
                Contents::Sequence(array.element.clone())
            }
            _ => Contents::Wrapped(held.clone()),
        },
        Synthetic::Enum(of) => match &of.variants[..] {
            [(_, None), (_, Some(held))] => Contents::Optional(held.clone()),
            [(_, Some(good)), (_, Some(bad))] => Contents::Either(good.clone(), bad.clone()),
            _ => Contents::Tuple(Vec::new()),
        },
        // Values of these have other shapes.
        Synthetic::Function(_)
        | Synthetic::MemberPointer(..)
        | Synthetic::Place(..)
        | Synthetic::Const(_)
        | Synthetic::ConstPointer(_)
        | Synthetic::ObjcId
        | Synthetic::Tailed(..)
        | Synthetic::Unsized(_) => Contents::Tuple(Vec::new()),
    }
}

/// Returns Rust's `u8`.
pub(super) fn byte() -> Ty {
    Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 1), "u8")
}

fn boolean() -> Ty {
    Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool")
}

/// Returns the type of a member, also of bases and unnamed members.
pub(crate) fn member(ty: &Ty, path: &[&str]) -> Option<Ty> {
    let mut ty = ty.clone();
    for name in path {
        ty = member_within(&ty, name, 0)?;
    }
    Some(ty)
}

fn member_within(ty: &Ty, name: &str, depth: usize) -> Option<Ty> {
    let Shape::Composite(class) = ty.shape() else {
        return None;
    };
    let composite = class.composite().filter(|_| depth < NESTING)?;
    if let Some(found) = composite.members.iter().find(|it| it.name == name) {
        return Some(class.related(found.ty));
    }
    let unnamed = composite.members.iter().filter(|it| it.name.is_empty());
    let unnamed = unnamed.map(|it| it.ty);
    let bases = composite.bases.iter().map(|it| it.ty);
    unnamed
        .chain(bases)
        .find_map(|id| member_within(&class.related(id), name, depth + 1))
}

/// Returns the type of the first of these members that the class has.
fn either(ty: &Ty, names: &[&str]) -> Option<Ty> {
    names.iter().find_map(|name| member(ty, &[name]))
}

/// Returns the target of a pointer.
fn target(ty: &Ty) -> Option<Ty> {
    match ty.shape() {
        Shape::Pointer(of, _) => Some(of),
        _ => None,
    }
}

/// Returns a template argument by its position.
fn argument(class: &Arc<DwarfTy>, index: usize) -> Option<Ty> {
    let arguments = &class.composite()?.template_types;
    arguments.get(index).map(|it| class.related_or_void(it.1))
}

fn all_arguments(class: &Arc<DwarfTy>) -> Vec<Ty> {
    let arguments = class.composite().map(|it| &it.template_types[..]);
    let arguments = arguments.unwrap_or_default().iter();
    arguments.map(|it| class.related_or_void(it.1)).collect()
}

/// Returns the first argument in a class's name, if the module has a type of that name: gcc has the
/// arguments of some classes only there.
fn named_argument(class: &Arc<DwarfTy>) -> Option<Ty> {
    let (_, rest) = class.ty.name.split_once('<')?;
    let list = &rest[..closing(rest)?];
    let name = *split_arguments(list).first()?;
    if let Some(builtin) = crate::inspect::language::c::builtin(name, class.module().c_types()) {
        return Some(builtin);
    }
    let ids = class.module().types_named(name, None);
    let mut types = ids.into_iter().map(|id| class.related(id));
    types.find(|ty| ty.size().is_some())
}

/// Returns the value of a node of libc++: its maps wrap the pair.
fn unwrapped(ty: Ty) -> Ty {
    either(&ty, &["__cc_", "__cc"]).unwrap_or(ty)
}

fn of_cpp(class: &Arc<DwarfTy>) -> Option<Contents> {
    let (library, name) = std_class(before_arguments(&class.ty.name))?;
    let ty = Ty::Dwarf(Arc::clone(class));
    let first = || argument(class, 0);
    Some(match name {
        "basic_string" | "basic_string_view" => {
            let unit = first().or_else(|| libstdcxx::declared::character(class))?;
            Contents::Text(Unit::of(&unit)?, unit)
        }
        "vector" if is_bool(&first()?) => Contents::List(boolean()),
        "vector" | "array" | "span" | "initializer_list" => Contents::Sequence(first()?),
        "deque" | "list" | "forward_list" => Contents::List(first()?),
        "stack" | "queue" | "priority_queue" => Contents::Wrapped(member(&ty, &["c"])?),
        "map" | "multimap" | "unordered_map" | "unordered_multimap" => {
            Contents::Map(first()?, argument(class, 1)?)
        }
        "set" | "multiset" | "unordered_set" | "unordered_multiset" => Contents::Set(first()?),
        "optional" => Contents::Optional(first()?),
        "expected" => Contents::Either(first()?, argument(class, 1)?),
        "variant" => Contents::Variant(all_arguments(class)),
        "tuple" => Contents::Tuple(match all_arguments(class) {
            none if none.is_empty() => tuple_parts(&ty, 0),
            all => all,
        }),
        "pair" => Contents::Tuple(vec![first()?, argument(class, 1)?]),
        "complex" => Contents::Wrapped(complex(&ty, first()?)?),
        "atomic" | "__atomic_base" => Contents::Wrapped(first()?),
        "filesystem::path" => Contents::Wrapped(either(&ty, &["_M_pathname", "__pn_"])?),
        "chrono::time_point" => Contents::Wrapped(either(&ty, &["__d", "__d_"])?),
        "unique_ptr" | "shared_ptr" | "__shared_ptr" => owner(first()?),
        "weak_ptr" | "__weak_ptr" => Contents::Wrapped(first()?),
        "reference_wrapper" => Contents::Wrapped(first()?),
        "_Bit_reference" | "__bit_reference" | "__bit_const_reference" => {
            Contents::Wrapped(boolean())
        }
        _ => Contents::Pointee(iterated(library, name, class, &ty)?),
    })
}

/// Returns the types in a tuple of libstdc++, whose nested bases have one each: gcc leaves out the
/// arguments of the class.
fn tuple_parts(ty: &Ty, depth: usize) -> Vec<Ty> {
    let Shape::Composite(class) = ty.shape() else {
        return Vec::new();
    };
    let bases = class.composite().filter(|_| depth < 256);
    let bases = bases.map_or(&[][..], |it| &it.bases);
    let bases: Vec<Ty> = bases.iter().map(|it| class.related(it.ty)).collect();
    let named = |name| {
        let is_it = move |base: &&Ty| match base.strip() {
            Ty::Dwarf(base) => members::last_component(&base.ty.name) == name,
            _ => false,
        };
        bases.iter().find(is_it)
    };
    let own = named("_Head_base").map(|head| {
        // An empty element is the base itself.
        member(head, &["_M_head_impl"]).unwrap_or_else(|| head.clone())
    });
    let rest = named("_Tuple_impl").map(|rest| tuple_parts(rest, depth + 1));
    own.into_iter().chain(rest.unwrap_or_default()).collect()
}

fn is_bool(ty: &Ty) -> bool {
    let bool = ScalarKind::Bool;
    matches!(ty.shape(), Shape::Scalar(scalar) if scalar.kind == bool)
}

/// Returns the contents of an owning pointer to a type.
fn owner(of: Ty) -> Contents {
    match of.shape() {
        Shape::Array(array) => Contents::Unbounded(array.element.clone()),
        _ => Contents::Pointee(of),
    }
}

/// Returns the type of a complex number; libc++ has two floats instead.
fn complex(ty: &Ty, part: Ty) -> Option<Ty> {
    if let Some(number) = member(ty, &["_M_value"]) {
        return Some(number);
    }
    match part.shape() {
        Shape::Scalar(Scalar {
            kind: ScalarKind::Float(format),
            size,
        }) => {
            let scalar = Scalar::new(ScalarKind::Complex(format), size * 2);
            Some(Ty::Builtin(scalar, "complex"))
        }
        _ => None,
    }
}

/// Returns the element type of an iterator.
fn iterated(library: Library, name: &str, class: &Arc<DwarfTy>, ty: &Ty) -> Option<Ty> {
    let first = || argument(class, 0).or_else(|| named_argument(class));
    match (library, name) {
        (_, "reverse_iterator") => {
            let iterator = first()?;
            match contents(&iterator) {
                Some(Contents::Pointee(of)) => Some(of),
                _ => target(&iterator),
            }
        }
        (_, "_Bit_iterator" | "_Bit_const_iterator" | "__bit_iterator") => Some(boolean()),
        (Library::Libstdcxx, "__normal_iterator") => target(&first()?),
        (
            Library::Libstdcxx,
            "_Deque_iterator"
            | "_List_iterator"
            | "_List_const_iterator"
            | "_Fwd_list_iterator"
            | "_Fwd_list_const_iterator"
            | "_Rb_tree_iterator"
            | "_Rb_tree_const_iterator"
            | "__detail::_Node_iterator"
            | "__detail::_Node_const_iterator",
        ) => first(),
        (Library::Libcxx, "__wrap_iter") => target(&first()?),
        (
            Library::Libcxx,
            "__deque_iterator"
            | "__list_iterator"
            | "__list_const_iterator"
            | "__tree_iterator"
            | "__tree_const_iterator",
        ) => first().map(unwrapped),
        (
            Library::Libcxx,
            "__forward_list_iterator"
            | "__forward_list_const_iterator"
            | "__hash_iterator"
            | "__hash_const_iterator",
        ) => member(&target(&first()?)?, &["__value_"]).map(unwrapped),
        (
            Library::Libcxx,
            "__map_iterator"
            | "__map_const_iterator"
            | "__hash_map_iterator"
            | "__hash_map_const_iterator",
        ) => match contents(&member(ty, &["__i_"])?)? {
            Contents::Pointee(of) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the last component of a path of Rust's library (and of hashbrown, the base of its maps),
/// without generic arguments.
pub(super) fn rust_class(class: &DwarfTy) -> Option<&str> {
    let path = before_arguments(&class.ty.name);
    match path.split_once("::") {
        Some(("std" | "core" | "alloc" | "hashbrown", rest)) => {
            Some(rest.rsplit("::").next().unwrap_or(rest))
        }
        _ => None,
    }
}

/// Returns a generic argument by its parameter.
fn parameter(class: &Arc<DwarfTy>, name: &str) -> Option<Ty> {
    let parameters = &class.composite()?.template_types;
    let (_, found) = parameters.iter().find(|(known, _)| known == name)?;
    Some(class.related_or_void(*found))
}

/// Returns the type that the first argument in a class's name stands for, if it is unsized: as an
/// argument, the debug info describes `str` as `u8` and `[T]` as `T`.
fn unsized_argument(class: &Arc<DwarfTy>, described: &Ty) -> Option<Ty> {
    unsized_type(rust_std::first_argument(&class.ty.name), described)
}

/// Returns the type of an unsized name: for a text its reference, for a slice an array without a
/// length.
fn unsized_type(name: &str, described: &Ty) -> Option<Ty> {
    if rust_std::is_text(name) || rust_std::is_c_text(name) {
        return Some(Ty::str());
    }
    let is_slice = name.starts_with('[') && !is_sized_array(name);
    is_slice.then(|| {
        let element = rust_std::element_of_slice(name, described);
        Ty::Array(Arc::new(ArrayTy {
            stride: element.size().unwrap_or(0),
            element,
            count: None,
            made_in: Some(Language::Rust),
        }))
    })
}

/// Returns whether a name in brackets has a length: `[[u8]; 3]` does.
fn is_sized_array(name: &str) -> bool {
    let inner = name.strip_suffix(']').unwrap_or(name);
    inner
        .rsplit_once("; ")
        .is_some_and(|(_, count)| count.parse::<u64>().is_ok())
}

/// Returns a generic argument that may be unsized.
fn held(class: &Arc<DwarfTy>) -> Option<Ty> {
    let described = parameter(class, "T")?;
    Some(unsized_argument(class, &described).unwrap_or(described))
}

fn of_rust(class: &Arc<DwarfTy>) -> Option<Contents> {
    let ty = Ty::Dwarf(Arc::clone(class));
    if let Some(found) = fat(class, &ty) {
        return found;
    }
    let composite = class.composite()?;
    if class.ty.name.starts_with('(') && members::is_tuple(composite) {
        let parts = composite.members.iter();
        return Some(Contents::Tuple(
            parts.map(|it| class.related(it.ty)).collect(),
        ));
    }
    let item = || parameter(class, "T");
    Some(match rust_class(class)? {
        "String" | "OsString" | "PathBuf" | "CString" => Contents::Text(Unit::Byte, byte()),
        "Vec" => Contents::Sequence(item()?),
        "VecDeque" | "LinkedList" => Contents::List(item()?),
        "BinaryHeap" => Contents::Wrapped(member(&ty, &["data"])?),
        "HashMap" | "BTreeMap" => Contents::Map(parameter(class, "K")?, parameter(class, "V")?),
        "HashSet" | "BTreeSet" | "RawTable" | "HashTable" => Contents::Set(item()?),
        "Rc" | "Arc" => Contents::Pointee(held(class)?),
        "Weak" => Contents::Wrapped(held(class)?),
        "Cow" => Contents::Pointee(of_cow(class)?),
        "Pin" => Contents::Pointee(of_pin(&ty)?),
        "ManuallyDrop" | "MutexGuard" | "RwLockReadGuard" | "RwLockWriteGuard" | "LazyLock"
        | "LazyCell" => Contents::Pointee(held(class)?),
        // `Ref<'b, T>`, not the trait's helper structs.
        "Ref" | "RefMut" => Contents::Pointee(held(class)?),
        "Cell" | "UnsafeCell" | "SyncUnsafeCell" | "Wrapping" | "Saturating" | "Exclusive"
        | "MaybeUninit" | "RefCell" | "OnceCell" | "OnceLock" | "Mutex" | "RwLock"
        | "ReentrantLock" => Contents::Wrapped(held(class)?),
        "NonNull" | "Unique" | "MaybeDangling" => Contents::Wrapped(only(class)?),
        "AtomicBool" => Contents::Wrapped(boolean()),
        "Atomic" if class.ty.name.ends_with("Atomic<bool>") => Contents::Wrapped(boolean()),
        name if name.starts_with("NonZero") || name.starts_with("Atomic") => {
            Contents::Wrapped(innermost(&ty)?)
        }
        "Option" => Contents::Optional(payload(class, "Some")?),
        "Result" => Contents::Either(payload(class, "Ok")?, payload(class, "Err")?),
        _ => return None,
    })
}

/// Returns the contents of a pointer with a length or a vtable; `None` if it is neither.
fn fat(class: &Arc<DwarfTy>, ty: &Ty) -> Option<Option<Contents>> {
    if rust_std::is_slice(class) {
        let of = member(ty, &["data_ptr"]).and_then(|pointer| target(&pointer))?;
        let mut name = rust_std::pointee_name(&class.ty.name);
        if rust_std::is_counted(name) {
            name = rust_std::first_argument(name);
        }
        return Some(match unsized_type(name, &of) {
            Some(Ty::Array(array)) => Some(Contents::Sequence(array.element.clone())),
            Some(_) => Some(Contents::Text(Unit::Byte, byte())),
            None if name.is_empty() => Some(Contents::Sequence(of)),
            None => Some(Contents::Pointee(of)),
        });
    }
    // What is behind a trait object depends on its vtable.
    (member(ty, &["pointer"]).is_some() && member(ty, &["vtable"]).is_some()).then_some(None)
}

/// Returns what is inside the variant of an enum, if it has one member.
fn payload(class: &Arc<DwarfTy>, variant: &str) -> Option<Ty> {
    let variants = &class.composite()?.variants.as_ref()?.variants;
    let mut members = variants.iter().filter_map(|it| it.members.first());
    let holder = class.related(members.find(|it| it.name == variant)?.ty);
    member(&holder, &["__0"])
}

fn of_cow(class: &Arc<DwarfTy>) -> Option<Ty> {
    let borrowed = payload(class, "Borrowed")?;
    let described = match contents(&borrowed) {
        Some(Contents::Sequence(of)) => of,
        Some(_) => byte(),
        None => target(&borrowed)?,
    };
    Some(unsized_argument(class, &described).unwrap_or(described))
}

fn of_pin(ty: &Ty) -> Option<Ty> {
    let Shape::Composite(class) = ty.shape() else {
        return None;
    };
    let pointer = only(&class)?;
    match (pointer.shape(), contents(&pointer)) {
        (Shape::Pointer(of, PointerKind::Owned), _) | (_, Some(Contents::Pointee(of))) => Some(of),
        _ => None,
    }
}

/// Returns the type of the only member that is not zero-sized.
fn only(class: &Arc<DwarfTy>) -> Option<Ty> {
    let members = &class.composite()?.members;
    let all = || members.iter().map(|it| class.related(it.ty));
    let mut sized = all().filter(|ty| ty.size() != Some(0));
    match (sized.next(), sized.next()) {
        (Some(only), None) => Some(only),
        (None, _) => all().next(),
        (Some(_), Some(_)) => None,
    }
}

/// Returns the type inside nested structs of one member.
fn innermost(ty: &Ty) -> Option<Ty> {
    let mut ty = ty.clone();
    for _ in 0..NESTING {
        match ty.shape() {
            Shape::Composite(class) => ty = only(&class)?,
            _ => return Some(ty),
        }
    }
    None
}
