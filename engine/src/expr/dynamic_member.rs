//! Members that only a value shows: of the active variant, of the dynamic class, of registers.

use super::captured_path::captured_path;
use super::evaluate::{At, DEREFERENCES, Evaluator, inner};
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::{Shape, Value, members};
use crate::inspect::visualize::{self, View};
use dwarf::Language;

impl Evaluator<'_> {
    pub(super) fn find_member(&self, object: &Value, name: &str) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut object = object.clone();
        for _ in 0..DEREFERENCES {
            match object.ty.shape() {
                Shape::Composite(_) | Shape::Synthetic(_) => {
                    if let Some(found) = members::find(target, &object, name)? {
                        return Ok(Some(found));
                    }
                    match visualize::view(target, &object) {
                        Some(View::Pointee(next) | View::Noted(next, _)) => object = next,
                        // A struct with an unsized tail is behind a fat pointer.
                        Some(View::Fields { fields, .. }) => {
                            let mut fields = fields.into_iter();
                            return Ok(fields.find(|it| it.0 == name).map(|it| it.1));
                        }
                        // A member of the dynamic class.
                        _ => match visualize::in_truth(target, object.clone()) {
                            whole if whole.ty.same_as(&object.ty) => return Ok(None),
                            whole => match path::find(&whole.ty, name) {
                                Lookup::Ambiguous(one, other, _) => {
                                    let why = members::ambiguous(name, &one, &other);
                                    return Err(Error::eval(why));
                                }
                                _ => object = whole,
                            },
                        },
                    }
                }
                Shape::Pointer(of, _) => object = object.pointee(target, of)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    pub(super) fn member(
        &mut self,
        object: &Node,
        name: &str,
        node: &Node,
    ) -> Result<Value, Error> {
        if self.language == Language::Rust
            && let Some(path) = captured_path(object, name)
            && let Ok(None) = self.context.local(path.root)
            && let Some(captured) = self.context.local(&path.variable).at(node)?
        {
            return Ok(captured);
        }
        let value = self.evaluate(object)?;
        if let Kind::Register(_) = inner(object).kind
            && let Some(part) =
                register_parts::member(self.context.arch(), &value, name, self.language)
        {
            return Ok(part);
        }
        self.member_of(&value, name, object, node)
    }

    fn member_of(
        &self,
        value: &Value,
        name: &str,
        object: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(found) = self.find_member(value, name).at(node)? {
            return Ok(found);
        }
        Err(self.no_member(value, name, object, node))
    }
}
