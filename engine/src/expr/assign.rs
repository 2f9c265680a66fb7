//! Assignments to objects of classes with operators of their own, which are called.

use super::arith;
use super::evaluate::{At, Evaluator, error, inner};
use super::names::enumerator;
use super::ownership;
use super::tree::{Binary, Kind, Node};
use crate::ids::error::Error;
use crate::inspect::value::scalar::Int;
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::Language;

impl Evaluator<'_> {
    /// Evaluates `a = b` and `a += b` of objects, by the class's operator.
    pub(super) fn assignment(
        &mut self,
        operator: Option<Binary>,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(operator) = operator {
            let value = self.handed_on(right)?;
            let symbol = format!("{}=", operator.symbol());
            return self.class_operator(&symbol, left, &[value], node);
        }
        if let Some(before) = self.context.answered(&node.span) {
            return before;
        }
        let value = self.handed_on(right)?;
        let to = self.evaluate(left)?;
        let now = self.assign_by_operator(&to, &value, right)?;
        self.context.keep_done(&node.span, &now);
        Ok(now)
    }

    /// Evaluates `++a` and `a--` of objects, by the class's operator.
    pub(super) fn class_step(
        &mut self,
        operator: Binary,
        operand: &Node,
        before: bool,
        node: &Node,
    ) -> Result<Value, Error> {
        let symbol = operator.symbol().repeat(2);
        // The operator behind the operand has a parameter that is not used.
        let unused = arith::integer(Int::new(0, 4, true), self.language);
        let arguments = &[unused][..usize::from(before)];
        self.class_operator(&symbol, operand, arguments, node)
    }

    fn assign_by_operator(
        &mut self,
        to: &Value,
        value: &Value,
        node: &Node,
    ) -> Result<Value, Error> {
        let to = to.referent(self.context.as_target())?;
        let is_class = matches!(to.ty.shape(), Shape::Composite(_));
        if self.language != Language::Cpp || !is_class {
            let message = super::messages::no_conversion(&value.ty, &to.ty);
            return Err(error(message, &node.span));
        }
        let refused = match ownership::may_copy(&to.ty) {
            Err(refused) => refused,
            Ok(()) => super::messages::no_conversion(&value.ty, &to.ty),
        };
        if !self.may_call() {
            let why = format!("{refused}; assign on the console to call it");
            return Err(error(why, &node.span));
        }
        // A reversed span as the key: the result of the value's own call may be stored under the
        // same span.
        let key = Node {
            kind: Kind::Text(Vec::new()),
            span: node.span.end..node.span.start,
            depth: 1,
        };
        let arguments = std::slice::from_ref(value);
        match self
            .invoke_method(&to, "operator=", arguments, &key)
            .at(node)?
        {
            Some(_) => Ok(to),
            None => Err(error(refused, &node.span)),
        }
    }

    /// Evaluates a node that is converted to `ty`: a bare name may be an enumerator of it.
    pub(super) fn evaluate_as(&mut self, node: &Node, ty: &Ty) -> Result<Value, Error> {
        if let Kind::Name(name) = &inner(node).kind
            && let Some(value) = enumerator(ty, name)
        {
            return Ok(value);
        }
        match ty.shape() {
            Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => self.handed_on(node),
            _ => self.evaluate(node),
        }
    }
}
