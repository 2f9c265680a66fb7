//! Types of values: those of the debug info, and those that expressions construct.

use super::foreign::{self, Foreign};
use super::scalar::{Float, Scalar, ScalarKind};
use super::synthetic::Synthetic;
use crate::inspect::visualize::libstdcxx::declared;
use dwarf::{
    BaseType, CTypes, Composite, Encoding, Enumeration, Language, LoadBias, Module, Type, TypeId,
    TypeKind,
};
use std::sync::{Arc, OnceLock};

/// Maximum number of typedefs, qualifiers and pointers to follow, in case the debug info is
/// corrupt.
const LAYERS: usize = 64;

/// A type; cheap to clone.
#[derive(Clone, Debug)]
pub enum Ty {
    /// A type of the debug info.
    Dwarf(Arc<DwarfTy>),
    /// A built-in type, by its name in the expression's language.
    Builtin(Scalar, &'static str),
    /// A pointer constructed by an expression (`&x`).
    Pointer(Arc<Ty>),
    /// An array constructed by an expression or a view.
    Array(Arc<ArrayTy>),
    /// The type of a string literal.
    Text,
    /// A function, by its type's name.
    Function(Arc<str>),
    /// `void`.
    Void,
    /// The type of a result that the debug info may lack.
    Synthetic(Arc<Synthetic>),
    /// A type whose debug info could not be read: the error.
    Broken(Arc<str>),
}

/// An array type that is not in the debug info.
#[derive(Debug)]
pub struct ArrayTy {
    /// Type of the elements.
    pub element: Ty,
    /// Number of elements; `None` if unknown.
    pub count: Option<u64>,
    /// Distance between elements in bytes.
    pub stride: u64,
    /// The language whose expression made the type; `None`: that of the elements, which built-in types
    /// of several languages (`bool`) do not tell.
    pub made_in: Option<Language>,
}

/// A type of the debug info, with memoized facts.
#[derive(Debug)]
pub struct DwarfTy {
    module: ModuleRef,
    /// Load bias of the module.
    pub bias: LoadBias,
    /// The type.
    pub ty: Arc<Type>,
    stripped: OnceLock<Ty>,
}

/// Memoized facts about a type, independent of its load bias.
#[derive(Default)]
struct Facts {
    name: OnceLock<Arc<str>>,
    stripped: OnceLock<Stripped>,
    visualizer: OnceLock<Option<&'static dyn crate::inspect::visualize::Visualizer>>,
    has_dynamic_array: OnceLock<bool>,
}

/// A type without typedefs and qualifiers.
enum Stripped {
    /// A type of the same module.
    Dwarf(TypeId),
    /// Not a type of the debug info.
    Other(Ty),
}

struct ModuleRef(Arc<Module>);

impl std::fmt::Debug for ModuleRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.path().display())
    }
}

/// The presentation of a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerKind {
    /// As an address.
    Raw,
    /// C++ `&` and `&&`: as its target, in every way.
    Reference,
    /// Rust's `&`, `&mut`, `Box`: as its target, but dereferenced explicitly by `*` and `.`.
    Owned,
}

/// The kind of a type without typedefs and qualifiers.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `void`.
    Void,
    /// Rust's `()`.
    Unit,
    /// A number, character or boolean.
    Scalar(Scalar),
    /// A number that the processor does not compute with.
    Foreign(Foreign),
    /// A pointer or reference.
    Pointer(Ty, PointerKind),
    /// An array.
    Array(Arc<ArrayTy>),
    /// Struct, class, union; Rust's enums with data.
    Composite(Arc<DwarfTy>),
    /// An enumeration without data.
    Enumeration(Arc<DwarfTy>),
    /// A function.
    Function,
    /// C++ pointer to member; `true` for a member function.
    MemberPointer(bool),
    /// A string literal.
    Text,
    /// A slice, enum or tuple that the debug info may lack.
    Synthetic(Arc<Synthetic>),
    /// Not readable: the error.
    Broken(Arc<str>),
}

impl DwarfTy {
    /// Returns the module of the type's debug info.
    pub fn module(&self) -> &Arc<Module> {
        &self.module.0
    }

    /// Returns another type of the same module.
    pub fn related(&self, id: TypeId) -> Ty {
        Ty::dwarf(self.module(), self.bias, id)
    }

    /// Returns another type of the same module; `None` is void.
    pub fn related_or_void(&self, id: Option<TypeId>) -> Ty {
        id.map_or(Ty::Void, |id| self.related(id))
    }

    /// Returns the composite, if it is one.
    pub fn composite(&self) -> Option<&Composite> {
        match &self.ty.kind {
            TypeKind::Composite(composite) => Some(composite),
            _ => None,
        }
    }

    /// Returns the enumeration, if it is one.
    pub fn enumeration(&self) -> Option<&Enumeration> {
        match &self.ty.kind {
            TypeKind::Enumeration(enumeration) => Some(enumeration),
            _ => None,
        }
    }

    /// Returns the language of the type's unit.
    pub fn language(&self) -> Language {
        self.module().language_of(self.ty.id).unwrap_or_default()
    }

    /// Returns the visualizer of the type, if it has one.
    pub fn visualizer(&self) -> Option<&'static dyn crate::inspect::visualize::Visualizer> {
        match self.ty.extension::<Facts>() {
            Some(facts) => *facts
                .visualizer
                .get_or_init(|| crate::inspect::visualize::find(self)),
            None => crate::inspect::visualize::find(self),
        }
    }

    fn array(&self) -> Option<Ty> {
        let TypeKind::Array(array) = &self.ty.kind else {
            return None;
        };
        let element = self.related(array.element);
        Some(array_of(element, array.stride, &array.counts))
    }

    /// Returns whether it is an array whose bounds are computed in a frame, or leads to one.
    fn has_dynamic_array(&self) -> bool {
        let look = || self.module().has_dynamic_array(self.ty.id);
        match self.ty.extension::<Facts>() {
            Some(facts) => *facts.has_dynamic_array.get_or_init(look),
            None => look(),
        }
    }
}

impl Ty {
    /// Returns a type of the debug info.
    pub fn dwarf(module: &Arc<Module>, bias: LoadBias, id: TypeId) -> Ty {
        match module.ty(id) {
            Ok(ty) => Ty::Dwarf(Arc::new(DwarfTy {
                module: ModuleRef(module.clone()),
                bias,
                ty,
                stripped: OnceLock::new(),
            })),
            Err(error) => Ty::Broken(error.to_string().into()),
        }
    }

    /// Returns the type of a variable or function in the debug info; `void` without an id.
    pub fn of(module: &Arc<Module>, bias: LoadBias, id: Option<TypeId>) -> Ty {
        id.map_or(Ty::Void, |id| Ty::dwarf(module, bias, id))
    }

    /// Returns the pointer to this type.
    pub fn pointer(self) -> Ty {
        Ty::Pointer(Arc::new(self))
    }

    /// Returns the array of `count` elements of this type.
    pub fn array(self, count: u64) -> Ty {
        let stride = self.size().unwrap_or(0);
        Ty::Array(Arc::new(ArrayTy {
            element: self,
            count: Some(count),
            stride,
            made_in: None,
        }))
    }

    /// Returns Rust's array of `count` elements of this type.
    pub fn rust_array(self, count: u64) -> Ty {
        let stride = self.size().unwrap_or(0);
        Ty::Array(Arc::new(ArrayTy {
            element: self,
            count: Some(count),
            stride,
            made_in: Some(Language::Rust),
        }))
    }

    /// Returns the array of an unknown number of elements of this type.
    pub fn unbounded_array(self) -> Ty {
        let stride = self.size().unwrap_or(0);
        Ty::Array(Arc::new(ArrayTy {
            element: self,
            count: None,
            stride,
            made_in: None,
        }))
    }

    /// Returns whether it is a SIMD vector of C: unlike an array, such an object is no address.
    pub fn is_vector(&self) -> bool {
        let Ty::Dwarf(of) = self.strip() else {
            return false;
        };
        matches!(&of.ty.kind, TypeKind::Array(array) if array.vector)
    }

    /// Returns whether it is an array whose bounds are computed in a frame, or leads to one.
    pub fn has_dynamic_array(&self) -> bool {
        matches!(self, Ty::Dwarf(ty) if ty.has_dynamic_array())
    }

    /// Returns the type with the computed bounds of its arrays, which `counts` returns.
    pub fn with_bounds(&self, counts: &dyn Fn(&DwarfTy) -> Vec<Option<u64>>) -> Ty {
        self.with_bounds_below(counts, 0)
    }

    fn with_bounds_below(&self, counts: &dyn Fn(&DwarfTy) -> Vec<Option<u64>>, depth: usize) -> Ty {
        let Ty::Dwarf(ty) = self else {
            return self.clone();
        };
        if depth > LAYERS || !ty.has_dynamic_array() {
            return self.clone();
        }
        let inner = |id| ty.related_or_void(id).with_bounds_below(counts, depth + 1);
        match &ty.ty.kind {
            TypeKind::Array(array) => {
                let element = inner(Some(array.element));
                match array.is_dynamic {
                    true => array_of(element, array.stride, &counts(ty)),
                    false => array_of(element, array.stride, &array.counts),
                }
            }
            TypeKind::Pointer(target) => inner(*target).pointer(),
            TypeKind::Typedef(target)
            | TypeKind::Const(target)
            | TypeKind::Volatile(target)
            | TypeKind::Restrict(target)
            | TypeKind::Atomic(target) => inner(*target),
            _ => self.clone(),
        }
    }

    /// Returns the size of a value in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        match self {
            Ty::Builtin(scalar, _) => Some(u64::from(scalar.size)),
            Ty::Pointer(_) => Some(8),
            Ty::Array(array) => array.count?.checked_mul(array.stride),
            Ty::Void | Ty::Text | Ty::Function(_) | Ty::Broken(_) => None,
            Ty::Synthetic(synthetic) => synthetic.size(),
            Ty::Dwarf(ty) => match (&ty.ty.kind, ty.ty.size) {
                (TypeKind::Array(_), None) => ty.array()?.size(),
                (
                    TypeKind::Pointer(_) | TypeKind::Reference(_) | TypeKind::RvalueReference(_),
                    None,
                ) => Some(8),
                (_, Some(size)) => Some(size),
                (TypeKind::Unspecified, None) if ty.ty.name.contains("nullptr") => Some(8),
                (
                    TypeKind::Typedef(_)
                    | TypeKind::Const(_)
                    | TypeKind::Volatile(_)
                    | TypeKind::Restrict(_)
                    | TypeKind::Atomic(_),
                    None,
                ) => match self.strip() {
                    Ty::Dwarf(same) if Arc::ptr_eq(&same, ty) => None,
                    other => other.size(),
                },
                (TypeKind::Composite(composite), None) if composite.declaration => {
                    match self.strip() {
                        Ty::Dwarf(other) => other.ty.size.or_else(|| declared::size(&other)),
                        _ => None,
                    }
                }
                (TypeKind::Enumeration(enumeration), None) => {
                    enumeration.underlying.and_then(|id| ty.related(id).size())
                }
                _ => None,
            },
        }
    }

    /// Returns the type without typedefs and qualifiers, and the definition of a declared one.
    pub fn strip(&self) -> Ty {
        let ty = match self {
            Ty::Dwarf(ty) => ty,
            Ty::Synthetic(of) if let Synthetic::Const(of) = &**of => return of.strip(),
            _ => return self.clone(),
        };
        match &ty.ty.kind {
            TypeKind::Typedef(_)
            | TypeKind::Const(_)
            | TypeKind::Volatile(_)
            | TypeKind::Restrict(_)
            | TypeKind::Atomic(_) => stripped(ty),
            TypeKind::Composite(composite) if composite.declaration => stripped(ty),
            _ => self.clone(),
        }
    }

    /// Returns the kind of the type.
    pub fn shape(&self) -> Shape {
        match self.strip() {
            Ty::Builtin(scalar, _) => Shape::Scalar(scalar),
            Ty::Pointer(target) => Shape::Pointer((*target).clone(), PointerKind::Raw),
            Ty::Array(array) => Shape::Array(array),
            Ty::Text => Shape::Text,
            Ty::Function(_) => Shape::Function,
            Ty::Void => Shape::Void,
            Ty::Broken(why) => Shape::Broken(why),
            Ty::Synthetic(synthetic) => match &*synthetic {
                Synthetic::Reference(of) | Synthetic::MutableReference(of) => {
                    Shape::Pointer(of.clone(), PointerKind::Owned)
                }
                Synthetic::ConstPointer(of) => Shape::Pointer(of.clone(), PointerKind::Raw),
                Synthetic::ObjcId => Shape::Pointer(Ty::Void, PointerKind::Raw),
                Synthetic::Unsized(reference) => reference.shape(),
                Synthetic::Tuple(parts) if parts.is_empty() => Shape::Unit,
                Synthetic::Text(..) => Shape::Text,
                Synthetic::Place(of, _) => Shape::Pointer(of.clone(), PointerKind::Reference),
                Synthetic::Function(_) => Shape::Function,
                Synthetic::MemberPointer(_, member) => {
                    Shape::MemberPointer(matches!(member.shape(), Shape::Function))
                }
                _ => Shape::Synthetic(synthetic),
            },
            Ty::Dwarf(ty) => dwarf_shape(ty),
        }
    }

    /// Returns what C's types are in the image that declares it; `None` if it is built in.
    pub fn c_types(&self) -> Option<CTypes> {
        match self {
            Ty::Dwarf(ty) => Some(ty.module().c_types()),
            _ => None,
        }
    }

    /// Returns whether it is `wchar_t`.
    pub fn is_wide_character(&self) -> bool {
        match self.strip() {
            Ty::Builtin(_, name) => name == "wchar_t",
            Ty::Dwarf(ty) => &*ty.ty.name == "wchar_t",
            _ => false,
        }
    }

    /// Returns whether values are single numbers (also addresses and enumerators): they have no
    /// children besides a pointer's target.
    pub fn is_simple(&self) -> bool {
        matches!(
            self.shape(),
            Shape::Scalar(_) | Shape::Pointer(..) | Shape::Enumeration(_)
        )
    }

    /// Returns the language of the type's unit.
    pub fn language(&self) -> Language {
        match self {
            Ty::Dwarf(ty) => ty.language(),
            Ty::Pointer(target) => target.language(),
            Ty::Array(array) => array.made_in.unwrap_or_else(|| array.element.language()),
            Ty::Synthetic(synthetic) => synthetic.language(),
            Ty::Builtin(scalar, "char") if scalar.kind == ScalarKind::Utf => Language::Rust,
            Ty::Builtin(_, "char" | "bool") => Language::C,
            Ty::Builtin(_, name) if crate::inspect::language::rust::is_primitive(name) => {
                Language::Rust
            }
            _ => Language::C,
        }
    }

    /// Returns the name in the language's syntax.
    pub fn name(&self) -> Arc<str> {
        match self {
            Ty::Dwarf(ty) => match ty.ty.extension::<Facts>() {
                Some(facts) => {
                    let spelled = facts
                        .name
                        .get_or_init(|| crate::inspect::language::spell(self).into());
                    Arc::clone(spelled)
                }
                None => crate::inspect::language::spell(self).into(),
            },
            Ty::Builtin(_, name) => (*name).into(),
            Ty::Synthetic(synthetic) => synthetic.name(),
            _ => crate::inspect::language::spell(self).into(),
        }
    }

    /// Returns whether both are the same type without typedefs and qualifiers.
    pub fn same_as(&self, other: &Ty) -> bool {
        match (self.strip(), other.strip()) {
            (Ty::Dwarf(a), Ty::Dwarf(b)) => {
                Arc::ptr_eq(&a, &b)
                    || Arc::ptr_eq(a.module(), b.module()) && a.ty.id == b.ty.id
                    || !a.ty.name.is_empty() && a.ty.name == b.ty.name && a.ty.size == b.ty.size
            }
            (Ty::Builtin(a, _), Ty::Builtin(b, _)) => a == b,
            (Ty::Pointer(a), Ty::Pointer(b)) => a.same_as(&b),
            (Ty::Void, Ty::Void) => true,
            (a @ Ty::Synthetic(_), b) | (a, b @ Ty::Synthetic(_)) => a.name() == b.name(),
            _ => false,
        }
    }
}

/// Returns the array of some dimensions, outermost first.
fn array_of(element: Ty, stride: Option<u64>, counts: &[Option<u64>]) -> Ty {
    let mut element = element;
    let mut stride = match stride.filter(|stride| *stride != 0) {
        Some(stride) => stride,
        None => element.size().unwrap_or(0),
    };
    let mut is_known = true;
    for (dimension, count) in counts.iter().enumerate().rev() {
        element = Ty::Array(Arc::new(ArrayTy {
            element,
            count: count.filter(|_| is_known),
            stride,
            made_in: None,
        }));
        if dimension > 0 {
            let Some(count) = count else {
                // Where the next row begins is unknown, too.
                element = Ty::Broken("a row of unknown length".into());
                stride = 0;
                is_known = false;
                continue;
            };
            stride = stride.saturating_mul(*count);
        }
    }
    match counts.is_empty() {
        true => Ty::Array(Arc::new(ArrayTy {
            element,
            count: None,
            stride,
            made_in: None,
        })),
        false => element,
    }
}

fn stripped(ty: &Arc<DwarfTy>) -> Ty {
    if let Some(known) = ty.stripped.get() {
        return known.clone();
    }
    let facts = ty.ty.extension::<Facts>();
    let known = match facts.and_then(|facts| facts.stripped.get()) {
        Some(Stripped::Dwarf(id)) => ty.related(*id),
        Some(Stripped::Other(other)) => other.clone(),
        None => {
            let found = strip_slow(ty);
            let fact = match &found {
                // Not memoized: its definition may be found later.
                Ty::Dwarf(same) if same.ty.id == ty.ty.id => return found,
                Ty::Dwarf(under) => Stripped::Dwarf(under.ty.id),
                other => Stripped::Other(other.clone()),
            };
            if let Some(facts) = facts {
                let _ = facts.stripped.set(fact);
            }
            found
        }
    };
    ty.stripped.get_or_init(|| known).clone()
}

fn strip_slow(ty: &Arc<DwarfTy>) -> Ty {
    let mut wide = None;
    let mut current = ty.clone();
    for _ in 0..LAYERS {
        let next = match &current.ty.kind {
            TypeKind::Typedef(next) => {
                // C has no built-in character types for these (ISO C §7.19, §7.28).
                let name = match &*current.ty.name {
                    "wchar_t" => Some("wchar_t"),
                    "char16_t" => Some("char16_t"),
                    "char32_t" => Some("char32_t"),
                    _ => None,
                };
                if let Some(name) = name {
                    let size = current.related_or_void(*next).size();
                    wide = size.map(|size| (name, size));
                }
                *next
            }
            TypeKind::Const(next)
            | TypeKind::Volatile(next)
            | TypeKind::Restrict(next)
            | TypeKind::Atomic(next) => *next,
            TypeKind::Composite(composite) if composite.declaration => {
                let complete = current.module().complete_type(current.ty.id);
                if complete == current.ty.id {
                    return Ty::Dwarf(current);
                }
                Some(complete)
            }
            TypeKind::Base(_) => {
                if let Some((name, size @ (2 | 4))) = wide {
                    return Ty::Builtin(Scalar::new(ScalarKind::Utf, size as u8), name);
                }
                return Ty::Dwarf(current);
            }
            _ => return Ty::Dwarf(current),
        };
        match current.related_or_void(next) {
            Ty::Dwarf(next) => current = next,
            other => return other,
        }
    }
    Ty::Broken("a type that contains itself".into())
}

fn dwarf_shape(ty: Arc<DwarfTy>) -> Shape {
    match &ty.ty.kind {
        TypeKind::Base(base) => {
            let Some(size) = ty.ty.size else {
                return Shape::Broken("a base type without a size".into());
            };
            if size == 0 {
                return Shape::Unit;
            }
            let name = &*ty.ty.name;
            let float = |size| Float::of(name, size, ty.module().c_types());
            let wide = matches!(name, "wchar_t" | "char8_t" | "char16_t" | "char32_t");
            let kind = match base.encoding {
                _ if wide => ScalarKind::Utf,
                Encoding::Boolean => ScalarKind::Bool,
                Encoding::Signed => ScalarKind::Signed,
                Encoding::Unsigned => ScalarKind::Unsigned,
                Encoding::SignedChar if size == 1 => ScalarKind::SignedChar,
                Encoding::UnsignedChar if size == 1 && name == "char" => ScalarKind::PlainChar,
                Encoding::UnsignedChar if size == 1 => ScalarKind::UnsignedChar,
                Encoding::SignedChar => ScalarKind::Signed,
                Encoding::UnsignedChar => ScalarKind::Unsigned,
                Encoding::Utf => ScalarKind::Utf,
                Encoding::Float => ScalarKind::Float(float(size)),
                Encoding::ComplexFloat => ScalarKind::Complex(float(size / 2)),
                Encoding::Address => ScalarKind::Address,
                Encoding::DecimalFloat if matches!(size, 4 | 8 | 16) => {
                    return Shape::Foreign(Foreign::Decimal);
                }
                Encoding::ComplexInteger if matches!(size, 2 | 4 | 8 | 16 | 32) => {
                    let signed = match () {
                        () if name.contains("unsigned") => Some(false),
                        () => name.starts_with("complex ").then_some(true),
                    };
                    return Shape::Foreign(Foreign::ComplexInteger { signed });
                }
                Encoding::DecimalFloat | Encoding::ComplexInteger | Encoding::Other(_) => {
                    ScalarKind::Unsigned
                }
            };
            let limit = if matches!(kind, ScalarKind::Complex(_)) {
                32
            } else {
                16
            };
            match u8::try_from(size) {
                Ok(size @ 2..) if base.is_reversed && size <= limit => {
                    Shape::Foreign(Foreign::Reversed(Scalar::new(kind, size)))
                }
                Ok(size) if size <= limit => Shape::Scalar(Scalar::new(kind, size)),
                _ if is_wide(base, size) => Shape::Foreign(Foreign::Wide {
                    signed: base.encoding == Encoding::Signed,
                }),
                _ => Shape::Broken(format!("a base type of {size} bytes").into()),
            }
        }
        TypeKind::Pointer(target) => {
            let name = &*ty.ty.name;
            let owned = name.starts_with('&') || is_box(name);
            let kind = if owned {
                PointerKind::Owned
            } else {
                PointerKind::Raw
            };
            Shape::Pointer(ty.related_or_void(*target), kind)
        }
        TypeKind::Reference(target) | TypeKind::RvalueReference(target) => {
            Shape::Pointer(ty.related(*target), PointerKind::Reference)
        }
        TypeKind::Array(_) => match ty.array() {
            Some(Ty::Array(array)) => Shape::Array(array),
            _ => Shape::Broken("an array without elements' type".into()),
        },
        TypeKind::Composite(_) => Shape::Composite(ty),
        TypeKind::Enumeration(_) => Shape::Enumeration(ty),
        TypeKind::Subroutine(_) => Shape::Function,
        TypeKind::PointerToMember { member, .. } => {
            Shape::MemberPointer(matches!(ty.related(*member).shape(), Shape::Function))
        }
        TypeKind::Unspecified if ty.ty.name.contains("nullptr") => {
            Shape::Pointer(Ty::Void, PointerKind::Raw)
        }
        TypeKind::Unspecified => Shape::Void,
        TypeKind::Typedef(_)
        | TypeKind::Const(_)
        | TypeKind::Volatile(_)
        | TypeKind::Restrict(_)
        | TypeKind::Atomic(_) => Shape::Broken("a type that contains itself".into()),
    }
}

/// Returns whether a base type that is no scalar is an integer that can be shown.
fn is_wide(base: &BaseType, size: u64) -> bool {
    matches!(base.encoding, Encoding::Signed | Encoding::Unsigned)
        && !base.is_reversed
        && size <= foreign::WIDEST
}

/// rustc describes a `Box` with the global allocator as a pointer type with that name.
fn is_box(name: &str) -> bool {
    name.starts_with("alloc::boxed::Box<") || name.starts_with("Box<")
}
