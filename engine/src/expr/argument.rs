//! Arguments of called functions: values as their calling conventions require, and copies of C++
//! objects made by copy constructors.

use super::evaluate::{At, DEREFERENCES, Evaluator, error};
use super::invoke::{Call, ResolvedFunction, ResultPlace};
use super::overload::parameters;
use super::ownership::is_destroyed;
use super::tree::Node;
use super::{convert, exact, hierarchy};
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::inspect::abi::{self, Class, Passing, RegisterPart};
use crate::inspect::value::alignment::{self, vector_bytes};
use crate::inspect::value::members::last_component;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, Value};
use crate::inspect::visualize::{self, View};
use dwarf::{Language, LoadAddr};
use std::ops::Range;
use std::sync::Arc;

/// An argument: its bytes and how to pass them.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Their alignment in memory: a power of two.
    pub alignment: u64,
    /// How to pass them.
    pub how: ArgumentPassing,
    /// Their place on the stack, if they are passed there.
    pub slot: Slot,
}

/// The place of an argument on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Whole words.
    Words,
    /// Whole words; or, where the convention packs the stack, so many bytes with an alignment.
    Packed {
        /// The size of the value.
        size: usize,
        /// Its alignment: a power of two.
        alignment: u64,
    },
    /// Whole words, for an argument beyond the parameters of a variadic function.
    Variadic,
}

/// The way to pass an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentPassing {
    /// Each part in a register; all on the stack if there are too few registers.
    Registers(Vec<RegisterPart>),
    /// On the stack.
    Stack,
    /// By the address of a copy.
    Pointer,
}

/// Maximum size of an argument in bytes.
const MAX_ARGUMENT_BYTES: u64 = 4096;

impl Argument {
    /// Returns a number to pass in a general-purpose register.
    pub(crate) fn word(number: u64) -> Argument {
        Argument {
            bytes: number.to_le_bytes().to_vec(),
            alignment: 8,
            how: ArgumentPassing::Registers(vec![RegisterPart {
                offset: 0,
                size: 8,
                class: Class::Integer,
            }]),
            slot: Slot::Words,
        }
    }

    /// Returns bytes to pass by the address of a copy.
    pub(super) fn copy(bytes: Vec<u8>, of: &Ty) -> Argument {
        Argument {
            bytes,
            alignment: abi::copy_alignment(of),
            how: ArgumentPassing::Pointer,
            slot: Slot::Words,
        }
    }
}

impl Evaluator<'_> {
    /// Returns the class of an argument that must be copied by its copy constructor.
    pub(super) fn copied_class(
        &self,
        value: &Value,
        to: Option<&Ty>,
        language: Language,
    ) -> Option<Arc<DwarfTy>> {
        let refers = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(..));
        if language == Language::Rust || to.is_some_and(refers) {
            return None;
        }
        let value = value.referent(self.context.as_target()).ok()?;
        match value.ty.shape() {
            Shape::Composite(class) if abi::is_by_address(&value.ty) => Some(class),
            _ => None,
        }
    }

    /// Copies an object by the copy constructor of its class into memory on the stack. The
    /// constructor takes that memory's address as its first argument, like a function that returns
    /// an object in memory.
    pub(super) fn copied(
        &mut self,
        value: &Value,
        class: &Arc<DwarfTy>,
        key: Range<usize>,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(copy) = self.context.answered(&key) {
            return copy.at(node);
        }
        let value = value.referent(self.context.as_target())?;
        let (name, returns) = (value.ty.name(), value.ty.clone());
        let addr = value.address();
        let constructor = self.of_class(class, "", |known| {
            let [_, from] = &parameters(known)[..] else {
                return false;
            };
            // `T &&` would move from the object.
            matches!(exact::reference(from), Some((of, false)) if exact::same(&of, &returns))
        });
        if constructor.is_some() && self.destructor(class).is_none() && is_destroyed(&value.ty) {
            let why = format!(
                "cannot pass `{name}` by value: no callable destructor; call a function that \
                 takes a reference or pointer"
            );
            return Err(error(why, &node.span));
        }
        let (Some(constructor), Some(addr)) = (constructor, addr) else {
            let why = format!(
                "cannot pass `{name}` by value: no callable copy constructor; call a function \
                 that takes a reference or pointer"
            );
            return Err(error(why, &node.span));
        };
        if returns.size().is_none_or(|size| size > MAX_ARGUMENT_BYTES) {
            return Err(error(
                format!("cannot pass `{name}`: too large"),
                &node.span,
            ));
        }
        Err(self.context.call(Call {
            name: constructor.function.name.to_string(),
            span: key,
            entry: constructor.bias.load(constructor.function.entry),
            arguments: vec![Argument::word(addr.0)],
            returns,
            result: ResultPlace::Object,
            language: Language::Cpp,
            errno: None,
        }))
    }

    /// Returns the destructor of exactly this class.
    pub(super) fn destructor(&self, class: &Arc<DwarfTy>) -> Option<ResolvedFunction> {
        // The `D0` destructor would also free the memory (Itanium C++ ABI §5.1.4.3).
        self.of_class(class, "~", |known| {
            let symbol = known.function.linkage_name.as_deref().unwrap_or_default();
            // gcc describes an `__in_chrg` parameter that is not passed; a table of virtual bases
            // is passed.
            let mut parameters = known.function.scope.variables.iter();
            (symbol.contains("D1Ev") || symbol.contains("D2Ev"))
                && parameters.all(|it| !it.name.contains("vtt"))
        })
    }

    /// Returns a function of exactly this class, named by a prefix and the class's name.
    fn of_class(
        &self,
        class: &Arc<DwarfTy>,
        prefix: &str,
        fits: impl Fn(&ResolvedFunction) -> bool,
    ) -> Option<ResolvedFunction> {
        let bare = class.ty.name.split('<').next().unwrap_or_default();
        let name = format!("{prefix}{}", last_component(bare));
        exact::names_in(class, &name).into_iter().find_map(|name| {
            let known = self.context.functions(&name).into_iter();
            let mut own = known.filter(|it| exact::is_member(it, class).is_ok());
            own.find(&fits)
        })
    }

    /// Returns address and length of a value's elements for a parameter that is a `&str` or a
    /// slice.
    pub(super) fn row(&self, to: &Ty, value: &Value) -> Option<(LoadAddr, u64)> {
        let name = to.name();
        let of = name.strip_prefix('&')?;
        let of = of.strip_prefix("mut ").unwrap_or(of);
        let is_row_of = |element: &Ty| {
            let inner = of.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            inner == Some(&element.name())
        };
        let target = self.context.as_target();
        let mut value = value.clone();
        for _ in 0..DEREFERENCES {
            value = match (visualize::view(target, &value), value.ty.shape()) {
                (
                    Some(View::Text {
                        at,
                        len,
                        unit: Unit::Byte,
                    }),
                    _,
                ) if of == "str" => {
                    return Some((at, len));
                }
                (Some(View::Sequence { at, element, len }), _) if is_row_of(&element) => {
                    return Some((at, len));
                }
                (Some(View::Pointee(next) | View::Noted(next, _)), _) => next,
                (_, Shape::Array(array)) if is_row_of(&array.element) => {
                    return Some((value.address()?, array.count?));
                }
                (_, Shape::Pointer(of, _)) => value.pointee(target, of).ok()?,
                _ => return None,
            };
        }
        None
    }

    /// Converts a value to arguments: several if rustc passes its parts separately.
    pub(super) fn argument(
        &self,
        value: &Value,
        ty: Option<&Ty>,
        language: Language,
    ) -> Result<Vec<Argument>, Error> {
        if language == Language::Rust
            && let Some(passed) = self.rust_argument(value, ty)?
        {
            return Ok(passed);
        }
        // A string literal of Rust for a function of C.
        if let Some(of) = value.place.temporary()
            && matches!(of.ty, Ty::Text)
        {
            return self.argument(&of, ty, language);
        }
        let target = self.context.as_target();
        // The object of a member function that is no place.
        if let (Some(Shape::Pointer(of, PointerKind::Raw)), Shape::Composite(_)) =
            (ty.map(Ty::shape), value.ty.shape())
            && exact::same(&of, &value.ty)
        {
            return Ok(vec![match value.address() {
                Some(addr) => Argument::word(addr.0),
                None => Argument::copy(value.bytes(target)?.to_vec(), &value.ty),
            }]);
        }
        let refers = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, PointerKind::Reference) => Some(of),
            Shape::Pointer(of, PointerKind::Owned) if exact::same(&of, &value.ty) => Some(of),
            _ => None,
        };
        if let Some(of) = ty.and_then(refers) {
            let value = value.referent(target)?;
            if let (Some(addr), true) = (value.address(), exact::same(&of, &value.ty)) {
                return Ok(vec![Argument::word(addr.0)]);
            }
            let value = match of.shape() {
                Shape::Scalar(_) | Shape::Enumeration(_) => {
                    convert::cast(self.context, &of, &value)?
                }
                _ => value,
            };
            let bytes = value.bytes(target)?.to_vec();
            return Ok(vec![Argument::copy(bytes, &value.ty)]);
        }
        if let Ty::Text = value.ty {
            let mut bytes = value.place.literal()?.to_vec();
            bytes.push(0);
            return Ok(vec![Argument::copy(bytes, &value.ty)]);
        }
        if let Some(to) = ty.filter(|to| !to.same_as(&value.ty))
            && let Some((at, len)) = self.row(to, value)
        {
            return Ok(vec![Argument::word(at.0), Argument::word(len)]);
        }
        let value = value.referent(target)?;
        if let Shape::Array(_) = value.ty.shape()
            && language != Language::Rust
            && vector_bytes(&value.ty).is_none()
        {
            let addr = value.address().ok_or(Error::OptimizedOut)?;
            return Ok(vec![Argument::word(addr.0)]);
        }
        let value = match (ty, value.ty.shape()) {
            // `&x` for a Rust reference; `Derived *` for `Base *`, which may be at an offset in it.
            (Some(to), Shape::Pointer(from, _)) if matches!(to.shape(), Shape::Pointer(..)) => {
                match to.shape() {
                    Shape::Pointer(to, _)
                        if exact::derives(&from, &to) && value.raw(target)? != 0 =>
                    {
                        let object = value.pointee(target, from)?;
                        let part = hierarchy::related(target, &object, &to)?;
                        let addr = part
                            .and_then(|it| it.address())
                            .ok_or(Error::OptimizedOut)?;
                        Value::pointer_to(to, addr)
                    }
                    _ => value,
                }
            }
            (
                Some(ty),
                Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(..) | Shape::Function,
            ) if !ty.same_as(&value.ty) => convert::cast(self.context, ty, &value)?,
            // Variadic: a float is passed as a double (ISO C §6.5.2.2).
            (None, Shape::Scalar(scalar))
                if matches!(
                    scalar.kind,
                    ScalarKind::Float(Float::Half | Float::Brain | Float::Single)
                ) =>
            {
                let double =
                    Ty::Builtin(Scalar::new(ScalarKind::Float(Float::Double), 8), "double");
                convert::cast(self.context, &double, &value)?
            }
            _ => value,
        };
        let name = value.ty.name();
        let size = value.ty.size().unwrap_or(u64::MAX);
        if size > MAX_ARGUMENT_BYTES {
            return Err(Error::eval(super::messages::too_large_to_pass(&value.ty)));
        }
        if language != Language::Rust && abi::is_by_address(&value.ty) {
            // A copy that belongs to the call.
            let addr = value.address().ok_or(Error::OptimizedOut)?;
            return Ok(vec![Argument::word(addr.0)]);
        }
        let arch = self.context.arch();
        let passing = abi::passing(arch, &value.ty, language);
        if passing == Passing::Unknown {
            return Err(Error::eval(format!("unsupported argument type `{name}`")));
        }
        let bytes = value.bytes(target)?.to_vec();
        Ok(arguments_of(arch, &value.ty, passing, bytes))
    }
}

/// Returns the arguments for a value that is passed like this: several if its parts are passed
/// apart.
pub(crate) fn arguments_of(
    arch: Arch,
    ty: &Ty,
    passing: Passing,
    mut bytes: Vec<u8>,
) -> Vec<Argument> {
    let alignment = abi::argument_alignment(arch, ty);
    let (parts, how) = match passing {
        Passing::Registers(parts) => (parts, None),
        Passing::Apart(groups) => {
            let groups = groups.iter().map(|parts| apart(parts, &bytes));
            return groups.collect();
        }
        Passing::Stack => (Vec::new(), Some(ArgumentPassing::Stack)),
        Passing::Address => return vec![Argument::copy(bytes, ty)],
        Passing::Unknown => return Vec::new(),
    };
    let mut parts = parts;
    // A class that is no homogeneous aggregate is passed as words.
    let is_packed = match ty.shape() {
        Shape::Composite(_) | Shape::Array(_) => parts.iter().all(|it| it.class == Class::Vector),
        _ => true,
    };
    let slot = match is_packed {
        true => Slot::Packed {
            size: bytes.len(),
            alignment: alignment::natural(ty),
        },
        false => Slot::Words,
    };
    // The caller extends small integers to 32 bits, as clang expects it.
    if let (Shape::Scalar(scalar), [part]) = (ty.shape(), &mut parts[..])
        && scalar.is_integral()
        && bytes.len() < 8
    {
        let negative = scalar.is_signed() && bytes.last().is_some_and(|it| it >> 7 == 1);
        bytes.resize(8, if negative { 0xff } else { 0 });
        part.size = 8;
    }
    // A value without parts, such as an empty class, is not passed.
    if parts.is_empty() && how.is_none() {
        return Vec::new();
    }
    vec![Argument {
        bytes,
        alignment,
        how: how.unwrap_or(ArgumentPassing::Registers(parts)),
        slot,
    }]
}

/// Returns a part of a value as an argument.
fn apart(parts: &[RegisterPart], bytes: &[u8]) -> Argument {
    let start = parts.first().map_or(0, |it| it.offset);
    let size: u64 = parts.iter().map(|it| it.size).sum();
    let own = bytes.iter().skip(start as usize).take(size as usize);
    let parts = parts.iter().map(|part| RegisterPart {
        offset: part.offset.saturating_sub(start),
        ..*part
    });
    Argument {
        bytes: own.copied().collect(),
        alignment: if size > 8 { 16 } else { 8 },
        how: ArgumentPassing::Registers(parts.collect()),
        slot: Slot::Words,
    }
}
