//! Computes the expression of a constant: literals, other constants, arithmetic, and what is made of them.

use super::Constant;
use super::numbers::{
    bound, cast, combined, integer, inverted, negated, number, primitive, shifted,
};
use super::syntax::{self, Node, Type};
use super::tokens::first_statement;
use super::values::{Object, SourceValue};
use std::sync::Arc;

/// What the names in an expression mean.
pub(super) trait Names {
    /// Returns the value of another constant by its path; `None` if the source shows none.
    ///
    /// # Errors
    /// There is one, but its value is not certain; why.
    fn constant(&mut self, path: &str) -> Result<Option<SourceValue>, String>;

    /// Returns the places where the type or variant of a path may be.
    ///
    /// # Errors
    /// The source does not say; why.
    fn places(&mut self, path: &str) -> Result<Vec<Vec<String>>, String>;

    /// Returns the type that a path means as an alias: the text of `type NAME = ..`.
    fn alias(&mut self, path: &str) -> Option<String>;
}

/// Maximum number of aliases that lead to each other.
const MAX_ALIASES: u32 = 8;

type Computed = Result<SourceValue, String>;

/// Computes the value of a constant from `: TYPE = EXPRESSION;`. Ignores the text behind the semicolon.
///
/// # Errors
/// It is not what can be computed; why.
pub(super) fn value(rest: &str, names: &mut dyn Names) -> Computed {
    let tokens = first_statement(rest)?;
    let (ty, node) = syntax::declaration(rest, &tokens)?;
    let ty = meant(ty, 0, names);
    let value = evaluate(&node, &ty, names)?;
    match (&ty, &value) {
        (Type::Primitive(ty), SourceValue::Number(value)) if value.ty == *ty => {}
        (Type::Primitive(ty), SourceValue::Number(value)) => {
            return Err(format!("its value is a `{}`, not a `{ty}`", value.ty));
        }
        (Type::Primitive(ty), _) => return Err(format!("its value is no `{ty}`")),
        (Type::Named(name, _), SourceValue::Number(_) | SourceValue::Digits(..)) => {
            return Err(format!("its type `{name}` is not known"));
        }
        _ => {}
    }
    Ok(value)
}

/// Computes the value of `: TYPE = EXPRESSION;` without names.
///
/// # Errors
/// It has names, or is not what can be computed; why.
pub(super) fn literal(rest: &str) -> Computed {
    struct NoNames;
    impl Names for NoNames {
        fn constant(&mut self, _: &str) -> Result<Option<SourceValue>, String> {
            Ok(None)
        }

        fn places(&mut self, path: &str) -> Result<Vec<Vec<String>>, String> {
            Err(format!("`{path}` is no literal"))
        }

        fn alias(&mut self, _: &str) -> Option<String> {
            None
        }
    }
    value(rest, &mut NoNames)
}

/// Returns the type that another name stands for.
fn meant(ty: Type, depth: u32, names: &mut dyn Names) -> Type {
    let mut each = |all: Vec<Type>| {
        let all = all.into_iter();
        all.map(|it| meant(it, depth, names)).collect()
    };
    match ty {
        Type::Named(path, arguments) if arguments.is_empty() => {
            let alias = names.alias(&path);
            match alias.and_then(|it| syntax::type_of(it.trim())) {
                Some(other) if depth < MAX_ALIASES => meant(other, depth + 1, names),
                _ => Type::Named(path, arguments),
            }
        }
        Type::Named(path, arguments) => Type::Named(path, each(arguments)),
        Type::Tuple(parts) => Type::Tuple(each(parts)),
        Type::Reference(of) => Type::Reference(Box::new(meant(*of, depth, names))),
        Type::Slice(of) => Type::Slice(Box::new(meant(*of, depth, names))),
        Type::Array(of, length) => Type::Array(Box::new(meant(*of, depth, names)), length),
        other => other,
    }
}

/// Computes a node as a value of a type.
fn evaluate(node: &Node, ty: &Type, names: &mut dyn Names) -> Computed {
    match (node, ty) {
        (Node::Number(value, None), Type::Field) => Ok(SourceValue::Digits(*value, false)),
        (Node::Negated(of), Type::Field) => match &**of {
            Node::Number(value, None) => Ok(SourceValue::Digits(*value, true)),
            Node::Float(text, None) => decimal(text, true),
            _ => own_number(node, names),
        },
        (Node::Float(text, None), Type::Field) => decimal(text, false),
        (Node::Path(path), _) => named(path, names),
        (Node::Text(text), _) => Ok(SourceValue::Text(text.as_str().into())),
        (Node::Bytes(bytes), Type::Reference(of)) if matches!(**of, Type::Slice(_)) => {
            let bytes = SourceValue::Bytes(bytes.as_slice().into());
            Ok(SourceValue::Slice(Arc::new(bytes)))
        }
        (Node::Bytes(bytes), _) => Ok(SourceValue::Bytes(bytes.as_slice().into())),
        (Node::Reference(of), _) => reference(of, ty, names),
        (Node::Target(of), _) => {
            let target = evaluate(of, &Type::Open, names)?.target();
            target.ok_or_else(|| "`*` of what is no reference".to_owned())
        }
        (Node::Row(elements), _) => {
            let each = element_of(ty);
            let all = elements.iter().map(|it| evaluate(it, &each, names));
            Ok(SourceValue::Row(SourceValue::all(all, |it| it)?.into()))
        }
        (Node::Filled(of, count), _) => {
            let of = evaluate(of, &element_of(ty), names)?;
            let count = number_of(count, "usize", names)?;
            let count = u64::try_from(count.bits).map_err(|_| "its length is no number")?;
            Ok(SourceValue::Filled(Arc::new(of), count))
        }
        (Node::Tuple(parts), _) => {
            let part = |at: usize| match ty {
                Type::Tuple(types) => types.get(at).cloned().unwrap_or(Type::Open),
                ty => of_field(ty),
            };
            let all = parts.iter().enumerate();
            let all = all.map(|(at, it)| evaluate(it, &part(at), names));
            Ok(SourceValue::Tuple(SourceValue::all(all, |it| it)?.into()))
        }
        (Node::Call(path, values), _) => called(path, values, ty, names),
        (Node::Struct(path, fields), _) => {
            let all = fields
                .iter()
                .map(|(name, it)| Ok((name.clone(), evaluate(it, &Type::Field, names)?)));
            let fields = SourceValue::all(all, |it: &(String, SourceValue)| &it.1)?;
            let places = names.places(path)?;
            Ok(SourceValue::Object(Arc::new(Object { places, fields })))
        }
        (Node::Range(from, to, inclusive), _) => {
            let of = argument_of(ty);
            let mut end = |it: &Option<Box<Node>>| {
                let it = it.as_ref().map(|it| evaluate(it, &of, names));
                Ok::<_, String>(it.transpose()?.map(Arc::new))
            };
            Ok(SourceValue::Range(end(from)?, end(to)?, *inclusive))
        }
        (Node::Field(of, name), _) => {
            let of = evaluate(of, &Type::Open, names)?;
            let unknown = || format!("`.{name}` of its value is not known");
            match (of.field(name).ok_or_else(unknown)?, ty) {
                (SourceValue::Digits(value, is_negative), Type::Primitive(ty)) => {
                    number(ty, value, is_negative).map(SourceValue::Number)
                }
                // Its type is that of the struct's field.
                (SourceValue::Digits(..) | SourceValue::Decimal(_), Type::Open) => Err(unknown()),
                (value, _) => Ok(value),
            }
        }
        (Node::Index(of, index), _) => {
            let of = evaluate(of, &Type::Open, names)?;
            let index = number_of(index, "usize", names)?;
            let found = usize::try_from(index.bits)
                .ok()
                .and_then(|it| of.element(it));
            found.ok_or_else(|| format!("the element {} is not known", index.bits))
        }
        (Node::SizeOf(path, of), _) => {
            let is_of_std = |path: &str| matches!(path, "std::mem::size_of" | "core::mem::size_of");
            let is_it =
                is_of_std(path) || names.places(path)?.iter().flatten().any(|it| is_of_std(it));
            if !is_it {
                return Err(format!("`{path}` is no function of `std`"));
            }
            let of = meant(of.clone(), 0, names);
            Ok(SourceValue::Number(Constant {
                ty: "usize",
                bits: size_of(&of, names)?,
            }))
        }
        (Node::Len(of), _) => {
            let len = evaluate(of, &Type::Open, names)?.len();
            let len = len.ok_or("a length that is not known")?;
            Ok(SourceValue::Number(Constant {
                ty: "usize",
                bits: u128::from(len),
            }))
        }
        (_, Type::Primitive(ty)) => number_of(node, ty, names).map(SourceValue::Number),
        _ => own_number(node, names),
    }
}

/// Returns the size in bytes of a number, or of an array of them.
fn size_of(ty: &Type, names: &mut dyn Names) -> Result<u128, String> {
    let unknown = || "it is made of the size of a type that is not known".to_owned();
    match ty {
        Type::Primitive("bool") => Ok(1),
        Type::Primitive("char" | "f32") => Ok(4),
        Type::Primitive("f64") => Ok(8),
        Type::Primitive(ty) => {
            let bits = integer(ty).ok_or_else(unknown)?.0;
            Ok(u128::from(bits / 8))
        }
        // A length that is a size may lead back to the array.
        Type::Array(of, length) if !length.contains("size_of") => {
            let length = value(&format!(": usize = {length};"), names)?;
            let length = length.number().ok_or_else(unknown)?.bits;
            let size = size_of(of, names)?.checked_mul(length);
            size.filter(|it| *it <= u128::from(u64::MAX))
                .ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// Computes a number whose type only its parts say.
fn own_number(node: &Node, names: &mut dyn Names) -> Computed {
    let own = own_type(node, names)?.ok_or("the type of its numbers is not known")?;
    number_of(node, own, names).map(SourceValue::Number)
}

/// Returns the type of the elements of a row.
fn element_of(ty: &Type) -> Type {
    match ty {
        Type::Array(of, _) | Type::Slice(of) => (**of).clone(),
        ty => of_field(ty),
    }
}

/// Returns the type of a part of a value, which a field decides on if it does on the whole.
fn of_field(ty: &Type) -> Type {
    match ty {
        Type::Field => Type::Field,
        _ => Type::Open,
    }
}

/// Returns the type that `Option<T>` or a range is of.
fn argument_of(ty: &Type) -> Type {
    match ty {
        Type::Named(_, arguments) => arguments.first().cloned().unwrap_or(Type::Open),
        ty => of_field(ty),
    }
}

fn reference(of: &Node, ty: &Type, names: &mut dyn Names) -> Computed {
    let target = match ty {
        Type::Reference(target) => (**target).clone(),
        ty => of_field(ty),
    };
    let value = evaluate(of, &target, names)?;
    let is_row = matches!(value, SourceValue::Row(_) | SourceValue::Filled(..));
    Ok(match (target, value) {
        (Type::Slice(_), value) if is_row => SourceValue::Slice(Arc::new(value)),
        // `&*text` and `&TEXT` for a `&str`, `&ROWS` for a `&[T]` that is one.
        (Type::Str | Type::Slice(_), value @ (SourceValue::Text(_) | SourceValue::Slice(_))) => {
            value
        }
        (Type::Slice(_), value @ SourceValue::Bytes(_)) => SourceValue::Slice(Arc::new(value)),
        (_, value) => SourceValue::Reference(Arc::new(value)),
    })
}

/// Computes `Some(x)`, a tuple struct or a variant.
fn called(path: &str, values: &[Node], ty: &Type, names: &mut dyn Names) -> Computed {
    if matches!(path, "Some" | "Option::Some")
        && let [value] = values
    {
        let value = evaluate(value, &argument_of(ty), names)?;
        return Ok(SourceValue::Optional(Some(Arc::new(value))));
    }
    let all = values
        .iter()
        .enumerate()
        .map(|(at, it)| Ok((at.to_string(), evaluate(it, &Type::Field, names)?)));
    let fields = SourceValue::all(all, |it: &(String, SourceValue)| &it.1)?;
    let places = names.places(path)?;
    Ok(SourceValue::Object(Arc::new(Object { places, fields })))
}

fn named(path: &str, names: &mut dyn Names) -> Computed {
    if matches!(path, "None" | "Option::None") {
        return Ok(SourceValue::Optional(None));
    }
    let bare = path
        .strip_prefix("std::")
        .or_else(|| path.strip_prefix("core::"));
    if let Some((ty, name)) = bare.unwrap_or(path).split_once("::")
        && let Some(ty) = primitive(ty)
    {
        let bound = bound(ty, name).map(SourceValue::Number);
        return bound.ok_or_else(|| format!("`{path}` is not known"));
    }
    if let Some(value) = names.constant(path)? {
        return Ok(value);
    }
    let last = path.rsplit("::").next().unwrap_or_default();
    let no_constant = || format!("`{path}` is no constant that the source shows");
    if !last.contains(char::is_lowercase) || !last.starts_with(char::is_uppercase) {
        return Err(no_constant());
    }
    let places = names.places(path).map_err(|_| no_constant())?;
    let fields = Vec::new();
    Ok(SourceValue::Object(Arc::new(Object { places, fields })))
}

/// Returns the type of a node that does not depend on where it is.
fn own_type(node: &Node, names: &mut dyn Names) -> Result<Option<&'static str>, String> {
    Ok(match node {
        Node::Number(_, ty) | Node::Float(_, ty) => *ty,
        Node::Known(known) => Some(known.ty),
        Node::Path(_)
        | Node::Field(..)
        | Node::Index(..)
        | Node::Len(_)
        | Node::SizeOf(..)
        | Node::Target(_) => {
            let value = evaluate(node, &Type::Open, names)?;
            value.number().map(|it| it.ty)
        }
        Node::Negated(of) | Node::Inverted(of) => own_type(of, names)?,
        Node::Cast(_, to) => Some(to),
        Node::Binary(b'<' | b'>', left, _) => own_type(left, names)?,
        Node::Binary(_, left, right) => match own_type(left, names)? {
            Some(ty) => Some(ty),
            None => own_type(right, names)?,
        },
        _ => None,
    })
}

/// Computes a node; `ty`: its type, unless it has one of its own.
fn number_of(node: &Node, ty: &'static str, names: &mut dyn Names) -> Result<Constant, String> {
    match node {
        Node::Number(value, own) => number(own.unwrap_or(ty), *value, false),
        Node::Float(text, own) => float(text, own.unwrap_or(ty)),
        Node::Known(known) => Ok(*known),
        Node::Negated(of) => match &**of {
            // `-128i8`
            Node::Number(value, own) => number(own.unwrap_or(ty), *value, true),
            of => negated(number_of(of, ty, names)?),
        },
        Node::Inverted(of) => inverted(number_of(of, ty, names)?),
        Node::Cast(of, to) => {
            let inner = match (own_type(of, names)?, &**of) {
                (Some(ty), _) => ty,
                (None, Node::Float(..)) => "f64",
                // A literal takes the type of the cast.
                (None, Node::Number(..)) if integer(to).is_some() => to,
                (None, Node::Number(..)) if *to == "char" => "u8",
                (None, _) => "i32",
            };
            cast(number_of(of, inner, names)?, to)
        }
        Node::Binary(sign @ (b'<' | b'>'), left, right) => {
            let by = own_type(right, names)?.unwrap_or("i32");
            let left = number_of(left, ty, names)?;
            shifted(*sign, left, number_of(right, by, names)?)
        }
        Node::Binary(sign, left, right) => {
            let ty = own_type(node, names)?.unwrap_or(ty);
            let left = number_of(left, ty, names)?;
            combined(*sign, left, number_of(right, ty, names)?)
        }
        node => {
            let value = evaluate(node, &Type::Primitive(ty), names)?;
            value
                .number()
                .ok_or_else(|| "it computes with what is no number".to_owned())
        }
    }
}

/// Returns a number with a point for a field, whether that is an `f32` or an `f64`.
fn decimal(text: &str, is_negative: bool) -> Computed {
    let wide = float(text, "f64")?.bits as u64;
    let narrow = float(text, "f32").map(|it| it.bits as u32);
    let is_one = narrow.is_ok_and(|it| it == (f64::from_bits(wide) as f32).to_bits());
    let sign = u64::from(is_negative) << 63;
    match is_one {
        true => Ok(SourceValue::Decimal(wide | sign)),
        false => Err(format!("`{text}` is rounded twice")),
    }
}

fn float(text: &str, ty: &'static str) -> Result<Constant, String> {
    let bits = match ty {
        "f32" => text
            .parse::<f32>()
            .ok()
            .filter(|it| it.is_finite())
            .map(|it| u128::from(it.to_bits())),
        "f64" => text
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite())
            .map(|it| u128::from(it.to_bits())),
        _ => None,
    };
    let bits = bits.ok_or_else(|| format!("`{text}` is no `{ty}`"))?;
    Ok(Constant { ty, bits })
}
