//! Pointers to member functions of C++: their values, and calls by them.

use super::check::cpp_members::split_last;
use super::evaluate::{At, Evaluator, error};
use super::exact;
use super::interpret_cpp::MemberPointer;
use super::overload::parameters;
use super::parse_cpp::Form;
use super::tree::{Kind, Node};
use super::{hierarchy, types};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::{Language, LoadAddr};

impl Evaluator<'_> {
    /// Evaluates `&Class::function`; `None`: it is the address of something else.
    pub(super) fn pointer_to_method(
        &self,
        operand: &Node,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let Kind::Name(path) = &operand.kind else {
            return Ok(None);
        };
        let (Some((scope, name)), Language::Cpp) = (split_last(path), self.language) else {
            return Ok(None);
        };
        let Some(class) = types::named(self.context, scope) else {
            return Ok(None);
        };
        let Shape::Composite(of) = class.shape() else {
            return Ok(None);
        };
        let (own, _) = self.methods_of(&of, name);
        let mut own = own.into_iter().filter(exact::takes_object);
        let Some(known) = own.next() else {
            return Ok(None);
        };
        if own.any(|other| other.function.entry != known.function.entry) {
            let message = format!(
                "`{path}` is overloaded, which a pointer to it cannot show; call it on an object"
            );
            return Err(error(message, &node.span));
        }
        let methods = of.module().methods(of.ty.id);
        let symbol = known.function.linkage_name.as_deref();
        let slot = methods
            .iter()
            .find(|it| it.name == name && it.linkage_name.as_deref() == symbol)
            .and_then(|it| it.slot);
        let word = match slot {
            Some(slot) => slot.wrapping_mul(8).wrapping_add(1),
            None => known.bias.load(known.function.entry).0,
        };
        let returns = Ty::of(&known.module, known.bias, known.function.return_type);
        let rest = parameters(&known).into_iter().skip(1).collect();
        let is_const = exact::is_const_method(&known);
        let ty = returns.function(rest, false, is_const).member_of(class);
        let bytes = u128::from(word).to_le_bytes();
        Ok(Some(Value::of_bytes(ty, &bytes)))
    }

    /// Evaluates `(object.*pointer)(arguments)` and `(object->*pointer)(arguments)`.
    pub(super) fn call_member(
        &mut self,
        access: &Node,
        arguments: &[Node],
        node: &Node,
    ) -> Result<Value, Error> {
        let Kind::Cpp(form, operands) = &access.kind else {
            return Err(error("expected an access to a member", &access.span));
        };
        let [object_node, pointer_node] = &operands[..] else {
            return Err(error("expected an object and a pointer", &access.span));
        };
        let object = self.evaluate(object_node)?;
        let pointer = self.evaluate(pointer_node)?;
        let values = self.values_of(arguments)?;
        let target = self.context.as_target();
        let pointer = pointer.referent(target)?;
        let object = object.referent(target)?;
        let object = match (form, object.ty.shape()) {
            (Form::MemberBehind, Shape::Pointer(of, _)) => object.pointee(target, of)?,
            (Form::MemberBehind, _) => {
                let name = object.ty.name();
                let message = format!("`->*` needs a pointer to an object, found `{name}`");
                return Err(error(message, &object_node.span));
            }
            _ => object,
        };
        let Some((class, member)) = pointer.ty.member_pointer() else {
            let name = pointer.ty.name();
            let message = format!("expected a pointer to a member, found `{name}`");
            return Err(error(message, &pointer_node.span));
        };
        let Some(function) = member.signature() else {
            // A data member may be a pointer to a function.
            let callee = self.evaluate(access)?;
            return self.invoke_value(&callee, &values, None, node);
        };
        let part = hierarchy::base_of(target, &object, &class).at(object_node)?;
        let Some(object) = part.and_then(|it| it.address()) else {
            let message = format!(
                "`{}` is neither `{}` nor derived from it",
                object.ty.name(),
                class.name()
            );
            return Err(error(message, &object_node.span));
        };
        let decoded = MemberPointer::of(&pointer.ty, pointer.raw(target)?);
        if decoded.is_null() {
            let message = "the pointer to a member is null";
            return Err(error(message, &pointer_node.span));
        }
        let this = LoadAddr(object.0.wrapping_add(decoded.adjustment));
        let entry = match decoded.word & 1 {
            0 => decoded.word,
            _ => {
                let table = target.memory().read_uint(this, 8)?;
                let slot = table.wrapping_add(decoded.word - 1);
                target.memory().read_uint(LoadAddr(slot), 8)?
            }
        };
        // The debug info has the object as the first parameter.
        let of_source = function.parameters.len() - usize::from(!is_spelled(&member));
        if values.len() != of_source {
            let message = format!("expected {of_source} arguments, found {}", values.len());
            return Err(error(message, &node.span));
        }
        let mut types = vec![class.clone().pointer()];
        types.extend(
            function
                .parameters
                .into_iter()
                .skip(usize::from(!is_spelled(&member))),
        );
        let ty = function.returns.function(types, false, false).pointer();
        let callee = Value::of_bytes(ty, &entry.to_le_bytes());
        let mut all = vec![Value::pointer_to(class, this)];
        all.extend(values);
        self.invoke_value(&callee, &all, None, node)
    }
}

/// Returns whether the type of a member function was spelled in an expression, without its object.
fn is_spelled(member: &Ty) -> bool {
    matches!(member.strip(), Ty::Synthetic(_))
}
