//! `std::get` and `std::holds_alternative`.

use crate::ids::error::Error;
use crate::inspect::language::template::readable;
use crate::inspect::library::call;
use crate::inspect::library::compare;
use crate::inspect::library::contents::{Contents, contents};
use crate::inspect::library::elements::Elements;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Target, Ty, Value};
use crate::inspect::visualize::standard;

/// A part of a tuple, an array or a variant, by its number.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Of a tuple or pair.
    Tuple(usize),
    /// Of a `std::array`.
    Array(u64),
    /// The alternative of a variant, if it holds that.
    Alternative(u64),
    /// Whether a variant holds that alternative.
    Holds(u64),
}

impl Part {
    /// Returns the part of an object that a call of a function like `std::get<1>` reads, and the
    /// type of the result.
    pub fn named(path: &str, object: &Ty) -> Option<(Part, Ty)> {
        let path = path.strip_suffix('>')?;
        let (function, argument) = path.split_once('<')?;
        let argument = argument.trim();
        let number = argument.parse::<usize>().ok();
        let place = |types: &[Ty]| {
            let named = readable(argument);
            let is_it = |ty: &Ty| *ty.strip().name() == *named;
            number.or_else(|| types.iter().position(is_it))
        };
        match (function, contents(object)?) {
            ("std::get", Contents::Tuple(parts)) => {
                let at = place(&parts)?;
                Some((Part::Tuple(at), parts.get(at)?.clone()))
            }
            ("std::get", Contents::Sequence(of)) => Some((Part::Array(number? as u64), of)),
            ("std::get", Contents::Variant(all)) => {
                let at = place(&all)?;
                Some((Part::Alternative(at as u64), all.get(at)?.clone()))
            }
            ("std::holds_alternative", Contents::Variant(all)) => {
                let bool = Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool");
                Some((Part::Holds(place(&all)? as u64), bool))
            }
            _ => None,
        }
    }

    /// Reads the part.
    pub fn evaluate(
        self,
        target: &dyn Target,
        returns: &Ty,
        object: &Value,
    ) -> Result<Value, Error> {
        let index = || standard::alternative_index(target, object);
        let none = || Error::eval("the object has no such part");
        match self {
            Part::Tuple(at) => {
                let parts = compare::parts(target, object)?;
                parts.into_iter().nth(at).ok_or_else(none)
            }
            Part::Array(at) => {
                let elements = Elements::of(target, object)?;
                match at < elements.reach() {
                    true => elements.nth(target, at),
                    false => Err(call::out_of_range(i128::from(at), elements.reach())),
                }
            }
            Part::Alternative(at) => match index()? {
                Some(holds) if holds == at => call::held(target, object)?.ok_or_else(none),
                Some(holds) => Err(Error::eval(format!(
                    "the variant holds alternative {holds}, not {at}"
                ))),
                None => Err(Error::eval("the variant is valueless")),
            },
            Part::Holds(at) => {
                let holds = index()? == Some(at);
                Ok(Value::of_bytes(returns.clone(), &[u8::from(holds)]))
            }
        }
    }
}
