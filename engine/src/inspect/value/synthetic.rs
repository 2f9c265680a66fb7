//! Types of results that the debug info may lack: `Option<&i32>` of `v.first()`, `&str` of
//! `text.trim()`. Their values exist only in expressions.

use super::location::Bytes;
use super::types::DwarfTy;
use super::{Limits, Shape, Target, Ty, Value, ValueLocation, present};
use crate::ids::error::Error;
use crate::inspect::language::c;
use crate::inspect::value::text::Unit;
use crate::inspect::visualize::{View, rust_std::tail};
use dwarf::{Language, LoadAddr, TypeKind};
use std::sync::Arc;

/// A type that is not in the debug info, of a value that a library's method returns.
#[derive(Debug)]
pub enum Synthetic {
    /// Rust's `&T` of a sized type: the address.
    Reference(Ty),
    /// Rust's `&mut T` likewise.
    MutableReference(Ty),
    /// Rust's `*const T`.
    ConstPointer(Ty),
    /// What a reference of Rust to text, a slice or a trait object refers to: the type of that
    /// reference, which a value has the bytes of.
    Unsized(Ty),
    /// Rust's `&[T]`: address and number of elements.
    Slice(Ty),
    /// Rust's `&str`: address and length in bytes.
    Str,
    /// An object of a string class, by the name of its class; its place has the text.
    Text(Arc<str>, Language),
    /// An enum of Rust's library: the number of its variant in eight bytes, and what that holds.
    Enum(EnumTy),
    /// A tuple of Rust, one part after the other.
    Tuple(Vec<Ty>),
    /// A struct of Rust's library around one value: its name, and the value's type.
    Struct(Arc<str>, Ty),
    /// A range of Rust: its name, and its bounds.
    Range(Arc<str>, Vec<(&'static str, Ty)>),
    /// A type that an expression leaves open, as `None` that of its value: `_`.
    Open,
    /// A function of C or C++.
    Function(FunctionTy),
    /// A pointer to a member of C++: the class, and the member's type.
    MemberPointer(Ty, Ty),
    /// A reference of C++; `true`: `&&`.
    Place(Ty, bool),
    /// A type of C or C++ whose values must not be changed.
    Const(Ty),
    /// `id` of Objective-C: a pointer to any object.
    ObjcId,
    /// A struct of Rust whose last member has no size of its own, and what the pointer to it says about
    /// that.
    Tailed(Arc<DwarfTy>, Metadata),
}

/// What the second word of a wide pointer of Rust says about its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metadata {
    /// The number of elements, or of bytes of a text.
    Length(u64),
    /// The address of the vtable.
    Vtable(LoadAddr),
}

/// The type of a function.
#[derive(Clone, Debug)]
pub struct FunctionTy {
    /// Type of its result.
    pub returns: Ty,
    /// Types of its parameters, without the object of a member function.
    pub parameters: Vec<Ty>,
    /// Whether it takes further arguments.
    pub is_variadic: bool,
    /// Whether it is a member function of a const object.
    pub is_const: bool,
}

/// An enum whose variants hold one value at most.
#[derive(Debug)]
pub struct EnumTy {
    /// Its name.
    pub name: Arc<str>,
    /// The variants' names and contents.
    pub variants: Vec<(&'static str, Option<Ty>)>,
}

/// Maximum number of typedefs and qualifiers to follow.
const LAYERS: usize = 16;
/// Bytes of the number of a variant.
const TAG: u64 = 8;

impl Synthetic {
    /// Returns the name in the language's syntax.
    pub fn name(&self) -> Arc<str> {
        match self {
            Synthetic::Reference(of) => format!("&{}", of.name()).into(),
            Synthetic::Slice(of) => format!("&[{}]", of.name()).into(),
            Synthetic::Str => "&str".into(),
            Synthetic::Text(name, _) => name.clone(),
            Synthetic::Enum(ty) => ty.name.clone(),
            Synthetic::MutableReference(of) => format!("&mut {}", of.name()).into(),
            Synthetic::ConstPointer(of) => format!("*const {}", of.name()).into(),
            Synthetic::Unsized(reference) => referred(&reference.name()).into(),
            Synthetic::Struct(name, _) | Synthetic::Range(name, _) => name.clone(),
            Synthetic::Function(_)
            | Synthetic::MemberPointer(..)
            | Synthetic::Place(..)
            | Synthetic::Const(_) => c::spell_synthetic(self, self.language()).into(),
            Synthetic::Open => "_".into(),
            Synthetic::ObjcId => "id".into(),
            Synthetic::Tailed(class, _) => Ty::Dwarf(Arc::clone(class)).name(),
            Synthetic::Tuple(parts) => {
                let names: Vec<Arc<str>> = parts.iter().map(Ty::name).collect();
                match &names[..] {
                    [only] => format!("({only},)").into(),
                    all => format!("({})", all.join(", ")).into(),
                }
            }
        }
    }

    /// Returns whether it is an enum with a variant of that name.
    pub fn has_variant(&self, name: &str) -> bool {
        matches!(self, Synthetic::Enum(ty) if ty.variants.iter().any(|it| it.0 == name))
    }

    /// Returns the types of the values that are in a value of the type.
    pub fn held(&self) -> Vec<Ty> {
        match self {
            Synthetic::Enum(ty) => ty.variants.iter().filter_map(|it| it.1.clone()).collect(),
            Synthetic::Tuple(parts) => parts.clone(),
            Synthetic::Struct(_, held) => vec![held.clone()],
            Synthetic::Range(_, bounds) => bounds.iter().map(|it| it.1.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the language of the type.
    pub fn language(&self) -> Language {
        match self {
            Synthetic::Text(_, language) => *language,
            Synthetic::MemberPointer(..) | Synthetic::Place(..) => Language::Cpp,
            Synthetic::Const(of) => of.language(),
            Synthetic::ObjcId => Language::C,
            Synthetic::Function(function) => {
                let mut types = function.parameters.iter().chain([&function.returns]);
                match types.any(|it| it.language() == Language::Cpp) {
                    true => Language::Cpp,
                    false => Language::C,
                }
            }
            _ => Language::Rust,
        }
    }

    /// Returns the size of a value in bytes; a text has none.
    pub fn size(&self) -> Option<u64> {
        match self {
            Synthetic::Reference(_)
            | Synthetic::MutableReference(_)
            | Synthetic::ConstPointer(_)
            | Synthetic::ObjcId => Some(8),
            Synthetic::Unsized(reference) => reference.size(),
            Synthetic::Slice(_) | Synthetic::Str => Some(16),
            // That of `String`: as a part of another value it is a reference to the text.
            Synthetic::Text(_, Language::Rust) => Some(24),
            Synthetic::Text(..)
            | Synthetic::Function(_)
            | Synthetic::Open
            | Synthetic::Tailed(..) => None,
            Synthetic::Place(..) => Some(8),
            Synthetic::Const(of) => of.size(),
            Synthetic::MemberPointer(_, member) => match member.shape() {
                Shape::Function => Some(16),
                _ => Some(8),
            },
            Synthetic::Range(_, bounds) => bounds
                .iter()
                .try_fold(0u64, |sum, (_, bound)| sum.checked_add(bound.size()?)),
            Synthetic::Struct(_, held) => held.size(),
            Synthetic::Enum(ty) => {
                let held = ty.variants.iter().filter_map(|(_, held)| held.as_ref());
                let sizes = held.map(Ty::size).collect::<Option<Vec<_>>>()?;
                TAG.checked_add(sizes.into_iter().max().unwrap_or(0))
            }
            Synthetic::Tuple(parts) => parts
                .iter()
                .try_fold(0u64, |sum, part| sum.checked_add(part.size()?)),
        }
    }
}

impl Ty {
    /// Returns Rust's `&T` of this type.
    pub fn reference(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Reference(self)))
    }

    /// Returns Rust's `&mut T` of this type.
    pub fn mutable_reference(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::MutableReference(self)))
    }

    /// Returns Rust's `*const T` of this type.
    pub fn const_pointer(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::ConstPointer(self)))
    }

    /// Returns what this reference of Rust to text, a slice or a trait object refers to.
    pub fn unsized_target(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Unsized(self)))
    }

    /// Returns the reference to an unsized type; `None` if it is no such type.
    pub fn unsized_reference(&self) -> Option<Ty> {
        match self {
            Ty::Synthetic(synthetic) => match &**synthetic {
                Synthetic::Unsized(reference) => Some(reference.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns Rust's `_`.
    pub fn open() -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Open))
    }

    /// Returns a range of Rust by its name and its bounds.
    pub fn range(name: &str, bounds: Vec<(&'static str, Ty)>) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Range(name.into(), bounds)))
    }

    /// Returns Rust's `&[T]` of this type.
    pub fn slice(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Slice(self)))
    }

    /// Returns Rust's `&str`.
    pub fn str() -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Str))
    }

    /// Returns Rust's `Option` of this type.
    pub fn option(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Enum(EnumTy {
            name: format!("core::option::Option<{}>", self.name()).into(),
            variants: vec![("None", None), ("Some", Some(self))],
        })))
    }

    /// Returns Rust's `Result` of this type and that of the error.
    pub fn result(self, error: Ty) -> Ty {
        let name = format!("core::result::Result<{}, {}>", self.name(), error.name());
        Ty::Synthetic(Arc::new(Synthetic::Enum(EnumTy {
            name: name.into(),
            variants: vec![("Ok", Some(self)), ("Err", Some(error))],
        })))
    }

    /// Returns Rust's `Ordering`.
    pub fn ordering() -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Enum(EnumTy {
            name: "core::cmp::Ordering".into(),
            variants: vec![("Less", None), ("Equal", None), ("Greater", None)],
        })))
    }

    /// Returns the tuple of these types.
    pub fn tuple(parts: Vec<Ty>) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Tuple(parts)))
    }

    /// Returns the type of a function of C or C++ that returns this type.
    pub fn function(self, parameters: Vec<Ty>, is_variadic: bool, is_const: bool) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Function(FunctionTy {
            returns: self,
            parameters,
            is_variadic,
            is_const,
        })))
    }

    /// Returns the pointer to a member of this type of a class.
    pub fn member_of(self, class: Ty) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::MemberPointer(class, self)))
    }

    /// Returns C++'s `&` to this type.
    pub fn lvalue(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Place(self, false)))
    }

    /// Returns C++'s `&&` to this type.
    pub fn rvalue(self) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Place(self, true)))
    }

    /// Returns the type whose values must not be changed.
    pub fn constant(self) -> Ty {
        match self.is_const() {
            true => self,
            false => Ty::Synthetic(Arc::new(Synthetic::Const(self))),
        }
    }

    /// Returns whether values must not be changed (`const` of C and C++).
    pub fn is_const(&self) -> bool {
        let mut ty = self.clone();
        for _ in 0..LAYERS {
            let next = match &ty {
                Ty::Synthetic(of) => return matches!(&**of, Synthetic::Const(_)),
                Ty::Dwarf(at) => match at.ty.kind {
                    TypeKind::Const(_) => return true,
                    TypeKind::Typedef(next) | TypeKind::Volatile(next) => at.related_or_void(next),
                    _ => return false,
                },
                _ => return false,
            };
            ty = next;
        }
        false
    }

    /// Returns whether values are `volatile`.
    pub fn is_volatile(&self) -> bool {
        let mut ty = self.clone();
        for _ in 0..LAYERS {
            let next = match &ty {
                Ty::Synthetic(of) => match &**of {
                    Synthetic::Const(of) => of.clone(),
                    _ => return false,
                },
                Ty::Dwarf(at) => match at.ty.kind {
                    TypeKind::Volatile(_) => return true,
                    TypeKind::Typedef(next) | TypeKind::Const(next) => at.related_or_void(next),
                    _ => return false,
                },
                _ => return false,
            };
            ty = next;
        }
        false
    }

    /// Returns the class and the member's type of a pointer to a member.
    pub fn member_pointer(&self) -> Option<(Ty, Ty)> {
        match self.strip() {
            Ty::Synthetic(synthetic) => match &*synthetic {
                Synthetic::MemberPointer(class, member) => Some((class.clone(), member.clone())),
                _ => None,
            },
            Ty::Dwarf(ty) => match ty.ty.kind {
                TypeKind::PointerToMember { class, member } => {
                    Some((ty.related_or_void(class), ty.related(member)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns parameters and result of a function's type, if they are known. The first parameter of
    /// a member function of the debug info is its object.
    pub fn signature(&self) -> Option<FunctionTy> {
        match self.strip() {
            Ty::Synthetic(synthetic) => match &*synthetic {
                Synthetic::Function(function) => Some(function.clone()),
                _ => None,
            },
            Ty::Dwarf(ty) => match &ty.ty.kind {
                TypeKind::Subroutine(of) => Some(FunctionTy {
                    returns: ty.related_or_void(of.return_type),
                    parameters: of.parameters.iter().map(|id| ty.related(*id)).collect(),
                    is_variadic: of.variadic,
                    is_const: false,
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns a struct of that name around this type.
    pub fn within(self, name: &str) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Struct(name.into(), self)))
    }

    /// Returns the string class of a name, for a text that the program does not have.
    pub fn text_object(name: Arc<str>, language: Language) -> Ty {
        Ty::Synthetic(Arc::new(Synthetic::Text(name, language)))
    }
}

impl Value {
    /// Returns the struct at this place with its end, which a wide pointer to it tells.
    pub fn tailed(self, class: Arc<DwarfTy>, metadata: Metadata) -> Value {
        Value {
            ty: Ty::Synthetic(Arc::new(Synthetic::Tailed(class, metadata))),
            ..self
        }
    }

    /// Returns a place with the value's bytes, which later changes of memory do not reach.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn kept(&self, target: &dyn Target) -> Result<ValueLocation, Error> {
        if matches!(self.ty.shape(), Shape::Text) {
            return Ok(ValueLocation::Temporary(Arc::new(self.clone())));
        }
        match &self.place {
            place @ (ValueLocation::Temporary(_) | ValueLocation::Pieces(..)) => Ok(place.clone()),
            _ => Ok(ValueLocation::Bytes(self.bytes(target)?)),
        }
    }

    /// Returns the text that an expression has made in place of this string object, which has no bytes then.
    pub fn made_text(&self) -> Option<Arc<Value>> {
        let is_object = matches!(self.ty.shape(), Shape::Composite(_));
        let text = is_object.then(|| self.place.temporary()).flatten()?;
        // An object that begins with the string is at the same place.
        let is_it = matches!(text.ty.shape(), Shape::Text) && self.ty.same_as(&text.ty);
        is_it.then_some(text)
    }

    /// Returns a value of these bytes.
    pub fn of_bytes(ty: Ty, bytes: &[u8]) -> Value {
        Value::new(ty, ValueLocation::Bytes(Bytes::new(bytes)))
    }

    /// Returns Rust's `&T` to an address.
    pub fn reference_to(of: Ty, addr: LoadAddr) -> Value {
        Value::of_bytes(of.reference(), &addr.0.to_le_bytes())
    }

    /// Returns Rust's `&[T]` or `&str` (`ty`) of the elements or bytes at an address.
    pub fn fat_reference(ty: Ty, addr: LoadAddr, len: u64) -> Value {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&addr.0.to_le_bytes());
        bytes[8..].copy_from_slice(&len.to_le_bytes());
        Value::of_bytes(ty, &bytes)
    }

    /// Returns a variant of a synthetic enum, with what it holds.
    ///
    /// # Errors
    /// The type has no such variant, or `held` cannot be read.
    pub fn variant(
        target: &dyn Target,
        ty: Ty,
        name: &str,
        held: Option<&Value>,
    ) -> Result<Value, Error> {
        let number = match &ty {
            Ty::Synthetic(synthetic) => match &**synthetic {
                Synthetic::Enum(of) => of.variants.iter().position(|it| it.0 == name),
                _ => None,
            },
            _ => None,
        };
        let number = number.ok_or_else(|| no_variant(&ty, name))?;
        let tag = Value::of_bytes(Ty::Void, &(number as u64).to_le_bytes());
        let mut parts = vec![(0, TAG, tag.place)];
        if let Some(held) = held {
            parts.push((TAG, held.ty.size().unwrap_or(0), held.kept(target)?));
        }
        // The other variants may hold more.
        let size = ty.size().unwrap_or(TAG).max(TAG);
        Ok(Value::new(ty, ValueLocation::composed(size, parts)))
    }
}

/// Returns the name of what a reference or a box of this name refers to.
fn referred(reference: &str) -> &str {
    if let Some(of) = reference.strip_prefix('&') {
        return of.strip_prefix("mut ").unwrap_or(of);
    }
    let of = reference.split_once('<').map_or(reference, |(_, of)| of);
    match of.rsplit_once(", ") {
        Some((of, _)) => of,
        None => of.strip_suffix('>').unwrap_or(of),
    }
}

fn no_variant(ty: &Ty, name: &str) -> Error {
    Error::Unsupported(format!("no variant `{name}` of `{}`", ty.name()))
}

/// Returns the active variant of a synthetic enum, and what it holds; `None` if the value is of
/// another kind.
///
/// # Errors
/// The value cannot be read.
pub fn active_variant(
    target: &dyn Target,
    value: &Value,
) -> Result<Option<(&'static str, Option<Value>)>, Error> {
    let Ty::Synthetic(synthetic) = value.ty.strip() else {
        return Ok(None);
    };
    let Synthetic::Enum(ty) = &*synthetic else {
        return Ok(None);
    };
    let tag = value.place.read(target, TAG as usize)?;
    let number = super::scalar::bits_of(&tag) as usize;
    let (name, held) = ty
        .variants
        .get(number)
        .ok_or_else(|| no_variant(&value.ty, &number.to_string()))?;
    let held = held.clone();
    Ok(Some((
        name,
        held.map(|held| Value::new(held, value.place.offset(TAG))),
    )))
}

/// Returns the parts of a synthetic tuple, or the bounds of a range.
pub fn parts(value: &Value) -> Option<Vec<Value>> {
    let Ty::Synthetic(synthetic) = value.ty.strip() else {
        return None;
    };
    let (Synthetic::Tuple(_) | Synthetic::Range(..)) = &*synthetic else {
        return None;
    };
    let parts = synthetic.held();
    let mut offset = 0;
    let part = |ty: &Ty| {
        let part = Value::new(ty.clone(), value.place.offset(offset));
        offset += ty.size().unwrap_or(0);
        part
    };
    Some(parts.iter().map(part).collect())
}

/// Returns a range in source syntax.
fn range(
    target: &dyn Target,
    value: &Value,
    name: &str,
    bounds: &[(&str, Ty)],
) -> Result<View, Error> {
    const BOUND: usize = 80;
    let limits = Limits {
        text: BOUND,
        ..Limits::default()
    };
    let (mut offset, mut start, mut end) = (0, String::new(), String::new());
    for (bound, ty) in bounds {
        let part = Value::new(ty.clone(), value.place.offset(offset));
        offset += ty.size().unwrap_or(0);
        let text = present(target, &part, &limits).text;
        match *bound {
            "start" => start = text,
            _ => end = text,
        }
    }
    let dots = if name.contains("Inclusive") {
        "..="
    } else {
        ".."
    };
    Ok(View::Plain(format!("{start}{dots}{end}")))
}

/// Returns the contents of a value of a synthetic type.
///
/// # Errors
/// The value cannot be read.
pub fn view(target: &dyn Target, value: &Value, ty: &Synthetic) -> Result<View, Error> {
    if let (Some(of), Synthetic::Slice(_) | Synthetic::Str) = (value.place.temporary(), ty) {
        return Ok(View::Pointee((*of).clone()));
    }
    let fat = || -> Result<(LoadAddr, u64), Error> {
        let bits = value.raw(target)?;
        Ok((LoadAddr(bits as u64), (bits >> 64) as u64))
    };
    match ty {
        Synthetic::Slice(element) => fat().map(|(at, len)| View::Sequence {
            at,
            element: element.clone(),
            len,
        }),
        Synthetic::Str => fat().map(|(at, len)| View::Text {
            at,
            len,
            unit: Unit::Byte,
        }),
        Synthetic::Enum(_) => match active_variant(target, value)? {
            Some((name, None)) => Ok(View::Plain(name.to_owned())),
            Some((name, Some(held))) => Ok(View::Fields {
                head: name.to_owned(),
                fields: vec![("0".to_owned(), held)],
            }),
            None => Err(no_variant(&value.ty, "")),
        },
        Synthetic::Tuple(_) => {
            let parts = parts(value).unwrap_or_default();
            let names = (0..).map(|index: usize| index.to_string());
            Ok(View::Fields {
                head: String::new(),
                fields: names.zip(parts).collect(),
            })
        }
        Synthetic::Struct(_, held) => {
            Ok(View::Pointee(Value::new(held.clone(), value.place.clone())))
        }
        Synthetic::Range(name, bounds) => range(target, value, name, bounds),
        Synthetic::Tailed(class, metadata) => tail::fields(target, value, class, *metadata),
        Synthetic::Reference(_)
        | Synthetic::MutableReference(_)
        | Synthetic::ConstPointer(_)
        | Synthetic::Unsized(_)
        | Synthetic::Text(..)
        | Synthetic::Open
        | Synthetic::ObjcId
        | Synthetic::Function(_)
        | Synthetic::MemberPointer(..)
        | Synthetic::Place(..)
        | Synthetic::Const(_) => Err(Error::Unsupported("not composed".into())),
    }
}
