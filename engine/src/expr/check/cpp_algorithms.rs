//! Function templates of C++'s library that are one expression by their definition: `std::min(a, b)`. The program has
//! code of the instances that it uses only, at most.

use super::super::ir::{Expr, Kind};
use super::super::tree::{self, Binary, Node};
use super::operators::converted;
use super::{Checked, Checker, Stop, c, wrong};
use crate::expr::exact;
use crate::inspect::value::Shape;
use dwarf::Language;

impl Checker<'_> {
    /// Checks a call of a template of `std` as the expression that defines it; `None`: it is no such template, or
    /// has no such expression for these arguments.
    pub(super) fn template_of_std<'t>(
        &self,
        name: &str,
        (arguments, nodes): (&[Expr<'t>], &'t [Node]),
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let (path, given) = match name.split_once('<') {
            Some((path, rest)) => (path, rest.strip_suffix('>')),
            None => (name, None),
        };
        let function = path.strip_prefix("std::");
        let Some(function) = function.filter(|_| self.language == Language::Cpp) else {
            return Ok(None);
        };
        let one = || Expr::new(Kind::Constant(1), c::int(), node);
        let found = match (function, arguments) {
            // What they return is the object itself, as another kind of value.
            ("move" | "forward" | "as_const", [of]) => self.referent(of.clone()),
            ("min" | "max", [a, b]) => {
                let operands = (self.referent(a.clone()), self.referent(b.clone()));
                return self
                    .extreme(function, given, operands, nodes, node)
                    .map(Some);
            }
            ("begin" | "end" | "cbegin" | "cend" | "size" | "empty" | "data", [of]) => {
                return match self.end_of_array(function, of, node) {
                    Some(end) => end.map(Some),
                    None => self.answer(of, function, &[], node),
                };
            }
            ("next", [it]) => self.operation(Binary::Add, it.clone(), one(), node)?,
            ("next", [it, by]) => self.operation(Binary::Add, it.clone(), by.clone(), node)?,
            ("prev", [it]) => self.operation(Binary::Sub, it.clone(), one(), node)?,
            ("prev", [it, by]) => self.operation(Binary::Sub, it.clone(), by.clone(), node)?,
            ("distance", [from, to]) => {
                self.operation(Binary::Sub, to.clone(), from.clone(), node)?
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    /// Checks `std::min` and `std::max`: `b < a ? b : a` and `a < b ? b : a` (ISO C++ [alg.min.max]).
    fn extreme<'t>(
        &self,
        function: &str,
        given: Option<&str>,
        (a, b): (Expr<'t>, Expr<'t>),
        nodes: &'t [Node],
        node: &'t Node,
    ) -> Checked<'t> {
        let refused = |why: String| wrong(format!("`std::{function}` {why}"), &node.span);
        if nodes.iter().any(assigns) {
            let why = "of an expression that assigns is not supported; assign before the call";
            return Err(refused(why.into()));
        }
        let ty = given.and_then(|given| self.scope.find_type(given));
        let (a, b) = match ty {
            Some(ty)
                if c::is_arithmetic(&ty) && c::is_arithmetic(&a.ty) && c::is_arithmetic(&b.ty) =>
            {
                (converted(a, &ty), converted(b, &ty))
            }
            _ if exact::same(&a.ty, &b.ty) => (a, b),
            _ => {
                let (first, second) = (a.ty.name(), b.ty.name());
                return Err(refused(format!(
                    "takes two values of one type, found `{first}` and `{second}`; write \
                     `std::{function}<{second}>(…)`, or cast one"
                )));
            }
        };
        let (less, more) = match function {
            "min" => (b.clone(), a.clone()),
            _ => (a.clone(), b.clone()),
        };
        let less = self.operation(Binary::Lt, less, more, node)?;
        let condition = self.condition_of(less, node)?;
        let ty = a.ty.clone();
        let kind = Kind::Choice(Box::new(condition), Box::new(b), Box::new(a));
        Ok(Expr::new(kind, ty, node))
    }

    /// Checks `std::begin`, `std::end` and `std::size` of an array; `None`: it is none, or its length is unknown.
    fn end_of_array<'t>(
        &self,
        function: &str,
        of: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let of = self.referent(of.clone());
        let Shape::Array(array) = of.ty.shape() else {
            return None;
        };
        let count = Kind::Constant(u128::from(array.count?));
        let count = Expr::new(count, c::named("unsigned long"), node);
        Some(match function {
            "begin" | "cbegin" | "data" => Ok(self.decayed(of)),
            "end" | "cend" => self.operation(Binary::Add, self.decayed(of), count, node),
            "size" => Ok(count),
            _ => return None,
        })
    }
}

/// Returns whether a part of an expression changes an object: it must be evaluated once.
fn assigns(node: &Node) -> bool {
    let is_it = matches!(node.kind, tree::Kind::Assign(..) | tree::Kind::Step(..));
    // The parser limits the depth of trees.
    is_it || node.kind.parts().into_iter().any(assigns)
}
