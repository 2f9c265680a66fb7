//! Binary operators: numbers, addresses, strings, and names that the other operand's type defines.

use super::arith;
use super::convert;
use super::evaluate::{At, Evaluator, inner, is_flexible};
use super::ir::{self, Expr};
use super::tree::{Binary, Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{PointerKind, Shape, Ty, Value, members};

impl Evaluator<'_> {
    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(value) = self.rust_comparison(operator, left, right, node)? {
            return Ok(value);
        }
        let a = self.evaluate_or_unknown(left)?;
        let b = self.evaluate_or_unknown(right)?;
        match (&a, &b) {
            (Some(known), None) => {
                if let Some(value) = self.variant_test(operator, known, right)? {
                    return Ok(value);
                }
            }
            (None, Some(known)) => {
                if let Some(value) = self.variant_test(operator, known, left)? {
                    return Ok(value);
                }
            }
            _ => {}
        }
        let a = a.ok_or_else(|| self.no_variable(inner(left)))?;
        let b = b.ok_or_else(|| self.no_variable(inner(right)))?;
        self.binary_of(operator, (&a, left), (&b, right), node)
    }

    pub(super) fn binary_of(
        &mut self,
        operator: Binary,
        (a, left): (&Value, &Node),
        (b, right): (&Value, &Node),
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(value) = self.known_comparison(operator, a, b).at(node)? {
            return Ok(value);
        }
        if operator.is_comparison()
            && let Some(value) = self.compare_strings(operator, a, b).at(node)?
        {
            return Ok(value);
        }
        if let Some(value) = self.invoke_operator(operator, a, b, node)? {
            return Ok(value);
        }
        let a = self.operand_value(a, left)?;
        let b = self.operand_value(b, right)?;
        let operands = (self.operand_expr(left, a)?, self.operand_expr(right, b)?);
        let checked = self
            .checker()
            .operation(operator, operands.0, operands.1, node);
        let checked = checked.map_err(|stop| stop.into_error(node))?;
        self.interpret(&checked)
    }

    /// Returns the number or address that an operand is.
    fn operand_value(&self, value: &Value, node: &Node) -> Result<Value, Error> {
        convert::plain(self.context.as_target(), value).at(node)
    }

    /// Returns an operand with a known value for the checker; a literal's type is still open.
    fn operand_expr<'t>(&mut self, node: &'t Node, value: Value) -> Result<Expr<'t>, Error> {
        if is_flexible(node) {
            let literal = self.checker().check(node);
            return literal.map_err(|stop| stop.into_error(node));
        }
        let bits = value.bits.map(|bits| bits.size);
        let operand = Expr::new(ir::Kind::Known(node, bits), value.ty.clone(), node);
        self.bind(node, value);
        Ok(operand)
    }

    /// Evaluates a node; `None` for an undefined bare name, which may be an enumerator of the other
    /// operand's type.
    fn evaluate_or_unknown(&mut self, node: &Node) -> Result<Option<Value>, Error> {
        let is_name = matches!(inner(node).kind, Kind::Name(_));
        match self.evaluate(node) {
            Err(Error::UnknownName { .. }) if is_name => Ok(None),
            value => value.map(Some),
        }
    }

    /// Evaluates `option == None`: whether a Rust enum has a variant.
    fn variant_test(
        &self,
        operator: Binary,
        value: &Value,
        name: &Node,
    ) -> Result<Option<Value>, Error> {
        let (Kind::Name(name), Binary::Eq | Binary::Ne) = (&inner(name).kind, operator) else {
            return Ok(None);
        };
        let target = self.context.as_target();
        if members::last_component(name) == "nullopt"
            && let Some(Contents::Optional(_)) =
                library::contents(&library::referent_type(&value.ty))
            && let Some(has_value) = library::truth(target, value)
        {
            let is = !has_value?;
            return Ok(Some(arith::boolean(
                is == (operator == Binary::Eq),
                self.language,
            )));
        }
        let mut value = value.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = value.ty.shape() {
            value = value.pointee(target, of)?;
        }
        let name = members::last_component(name);
        let known = match value.ty.shape() {
            Shape::Composite(ty) => {
                let variants = ty.composite().and_then(|it| it.variants.as_ref());
                variants.is_some_and(|part| {
                    let mut members = part.variants.iter().filter_map(|it| it.members.first());
                    members.any(|member| member.name == name)
                })
            }
            Shape::Synthetic(ty) => ty.has_variant(name),
            _ => false,
        };
        if !known {
            return Ok(None);
        }
        let active = library::variant(target, &value)?;
        let is = active.is_some_and(|(active, _)| active == name);
        Ok(Some(arith::boolean(
            is == (operator == Binary::Eq),
            self.language,
        )))
    }

    fn compare_strings(
        &self,
        operator: Binary,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Value>, Error> {
        let is_literal = |value: &Value| matches!(value.ty, Ty::Text);
        // Two `char *` are compared as addresses, as in C.
        let may_be_text = |value: &Value| {
            matches!(
                value.ty.shape(),
                Shape::Composite(_)
                    | Shape::Pointer(_, PointerKind::Owned | PointerKind::Reference)
            )
        };
        let any_literal = is_literal(a) || is_literal(b);
        if !(any_literal || may_be_text(a) && may_be_text(b)) {
            return Ok(None);
        }
        let target = self.context.as_target();
        match (convert::string(target, a)?, convert::string(target, b)?) {
            (Some(a), Some(b)) => {
                let holds = operator.order().is_some_and(|order| order.of(a.cmp(&b)));
                Ok(Some(arith::boolean(holds, self.language)))
            }
            _ if any_literal => {
                let other = if is_literal(a) { b } else { a };
                Err(Error::eval(format!(
                    "cannot compare `{}` with a string",
                    other.ty.name()
                )))
            }
            _ => Ok(None),
        }
    }
}
