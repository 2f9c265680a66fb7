//! Types by name in expressions: casts and `sizeof`.

use super::EvalContext;
use super::tree::Node;
use crate::ids::error::Error;
use crate::inspect::language::{c, rust};
use crate::inspect::value::Ty;
use dwarf::{CTypes, Language, LoadBias, Module, TypeId};
use std::ops::Range;
use std::sync::Arc;

/// A parsed type name.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The base type, words separated by one space (`struct node`, `unsigned long`).
    pub base: String,
    /// The expression whose type the base is: `decltype(x)`.
    pub of: Option<TypeOf>,
    /// Whether the base is `const`, which C and C++ say before or after it.
    pub is_const: bool,
    /// Pointers, references and arrays of it, innermost first.
    pub layers: Vec<Layer>,
    /// Its position in the text.
    pub span: Range<usize>,
}

/// An expression that stands for its type.
#[derive(Clone, Debug)]
pub struct TypeOf(pub Box<Node>);

impl PartialEq for TypeOf {
    fn eq(&self, other: &TypeOf) -> bool {
        self.0.span == other.0.span
    }
}

/// A type constructor.
#[derive(Clone, PartialEq, Debug)]
pub enum Layer {
    /// A pointer; also a Rust reference.
    Pointer,
    /// Rust's `*const T`.
    ConstPointer,
    /// Rust's `&[T]`.
    Slice,
    /// A C++ reference.
    Reference,
    /// A C++ reference to a temporary, `&&`.
    RvalueReference,
    /// An array with this number of elements, if it is known.
    Array(Option<u64>),
    /// A function with these parameters.
    Function(Parameters),
    /// A pointer to a member of the class of this name.
    Member(String),
}

/// The parameters of a function's type.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    /// Their types.
    pub types: Vec<TypeName>,
    /// Whether further arguments may follow.
    pub is_variadic: bool,
    /// Whether it is a member function of a const object.
    pub is_const: bool,
}

impl TypeName {
    /// Returns whether it is spelled with a `*` or `&`: it can be no expression then, unlike `a[1]`.
    pub fn is_pointer_to_any(&self) -> bool {
        let is_array = |layer: &Layer| matches!(layer, Layer::Array(_));
        !self.layers.iter().all(is_array)
    }

    /// Returns whether it is a reference of C++.
    pub fn is_reference(&self) -> bool {
        let last = self.layers.last();
        matches!(last, Some(Layer::Reference | Layer::RvalueReference))
    }

    /// Returns the type of that name, with a function that finds types by the names of their bases.
    ///
    /// # Errors
    /// There is no type of that name.
    pub fn find_by(&self, find: &dyn Fn(&str) -> Option<Ty>) -> Result<Ty, Error> {
        let named = |name: &str| {
            find(name).ok_or_else(|| Error::UnknownName {
                message: super::messages::unknown_type(name),
                span: self.span.clone(),
            })
        };
        let mut ty = named(&self.base)?;
        if self.is_const && !self.layers.is_empty() {
            ty = ty.constant();
        }
        for layer in &self.layers {
            ty = match layer {
                Layer::Pointer => ty.pointer(),
                Layer::ConstPointer => ty.const_pointer(),
                Layer::Slice => ty.slice(),
                Layer::Reference => ty.lvalue(),
                Layer::RvalueReference => ty.rvalue(),
                Layer::Array(Some(count)) => ty.array(*count),
                Layer::Array(None) => ty.unbounded_array(),
                Layer::Function(of) => {
                    let types = of.types.iter().map(|it| it.find_by(find));
                    let types = types.collect::<Result<Vec<Ty>, Error>>()?;
                    ty.function(types, of.is_variadic, of.is_const)
                }
                Layer::Member(class) => ty.member_of(named(class)?),
            };
        }
        Ok(ty)
    }

    /// Returns the type of that name in a frame.
    ///
    /// # Errors
    /// There is no type of that name.
    pub fn resolve(&self, context: &dyn EvalContext) -> Result<Ty, Error> {
        self.find_by(&|name| named(context, name))
    }
}

/// A function that finds a type of the debug info by name.
pub type FindType<'a> = dyn Fn(&str) -> Option<(Arc<Module>, LoadBias, TypeId)> + 'a;

/// Returns a type by name: built-in types come first.
pub fn named(context: &dyn EvalContext, name: &str) -> Option<Ty> {
    let find = |name: &str| context.type_named(name);
    named_by(context.language(), context.c_types(), &find, name)
}

/// Like [`named`], with a function that finds types of the debug info.
pub fn named_by(language: Language, types: CTypes, find: &FindType<'_>, name: &str) -> Option<Ty> {
    let known = match language {
        Language::Rust => rust::builtin(name).or_else(|| c::builtin(name, types)),
        _ => c::builtin(name, types).or_else(|| rust::builtin(name)),
    };
    if known.is_some() {
        return known;
    }
    let bare = name
        .strip_prefix("struct ")
        .or_else(|| name.strip_prefix("union "))
        .or_else(|| name.strip_prefix("enum "))
        .or_else(|| name.strip_prefix("class "));
    let (module, bias, id) = find(name).or_else(|| find(bare?))?;
    Some(Ty::dwarf(&module, bias, id))
}
