//! Formats composed values: rows, containers, structs.

use super::{Writer, bracketed};
use crate::ids::error::Error;
use crate::inspect::value::elements::ElementArray;
use crate::inspect::value::members::{self, ClassPart};
use crate::inspect::value::scalar::{self, Int, Scalar, ScalarKind};
use crate::inspect::value::text::{self, Unit};
use crate::inspect::value::types::{ArrayTy, DwarfTy};
use crate::inspect::value::whole_object::WholeObject;
use crate::inspect::value::{Shape, Value};
use crate::inspect::visualize::{self, Collection, CollectionKind, View};
use dwarf::{Language, LoadAddr};
use std::fmt::Write;
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn array(
        &mut self,
        value: &Value,
        array: &ArrayTy,
        depth: usize,
    ) -> Result<(), Error> {
        let language = value.ty.language();
        // A vector register of small numbers is not text.
        if let (Shape::Scalar(scalar), false) = (array.element.shape(), value.ty.is_vector()) {
            let is_text = match scalar.kind {
                ScalarKind::SignedChar | ScalarKind::PlainChar => scalar.size == 1,
                ScalarKind::Utf => language != Language::Rust,
                _ => false,
            };
            if let Some(unit) = Unit::of(&array.element).filter(|_| is_text)
                && let Some(count) = array.count
            {
                return self.char_array(value, unit, count);
            }
        }
        if depth >= self.limits.depth {
            self.folded(language);
            return Ok(());
        }
        let Some(count) = array.count else {
            self.out.push_str("<array of unknown length>");
            return Ok(());
        };
        let row = ElementArray {
            place: value.place.clone(),
            element: array.element.clone(),
            stride: array.stride,
            count,
        };
        self.row(&row, language, depth).map(drop)
    }

    fn char_array(&mut self, value: &Value, unit: Unit, count: u64) -> Result<(), Error> {
        let size = unit.size();
        let len = count.saturating_mul(size as u64);
        let bound = len.min((self.limits.string / size * size) as u64);
        let bytes = value.place.read(self.target, bound as usize)?;
        let end = bytes
            .chunks(size)
            .position(|unit| unit.iter().all(|byte| *byte == 0));
        let cut = end.is_none() && bound < len;
        let end = end.map_or(bytes.len(), |units| units * size);
        text::write(&mut self.out, &bytes[..end], unit, cut);
        Ok(())
    }

    /// Writes elements in the language's brackets. Returns false if some were omitted.
    fn row(&mut self, row: &ElementArray, language: Language, depth: usize) -> Result<bool, Error> {
        let (open, close) = match language {
            Language::Rust => ('[', ']'),
            _ => ('{', '}'),
        };
        let shown = row.count.min(self.limits.elements as u64);
        let values = row.values(self.target, 0..shown)?;
        self.out.push(open);
        let bytes = match row.element.shape() {
            Shape::Scalar(
                scalar @ Scalar {
                    kind: ScalarKind::UnsignedChar,
                    ..
                },
            ) => Some(scalar),
            _ => None,
        };
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            if self.full() {
                break;
            }
            match (bytes, value.raw(self.target)) {
                (Some(scalar), Ok(bits)) => {
                    let int = Int::new(bits, scalar.size, false);
                    scalar::write_int(&mut self.out, int, self.limits.numbers);
                }
                _ => {
                    let outcome = self.value(value, depth + 1);
                    if let Err(error) = outcome {
                        // The other elements would fail with the same error.
                        if index == 0 {
                            return Err(error);
                        }
                        self.out.push_str(&bracketed(&error));
                        break;
                    }
                }
            }
        }
        if shown < row.count {
            self.out.push_str(", ...");
        }
        self.out.push(close);
        Ok(shown == row.count && !self.full())
    }

    /// Writes a value as its view has it.
    pub(super) fn view(
        &mut self,
        view: View,
        language: Language,
        depth: usize,
    ) -> Result<(), Error> {
        match view {
            View::Invalid(why) => self.out.push_str(&why),
            View::Text { at, len, unit } => return self.text(at, len, unit),
            View::Plain(text) => self.out.push_str(&text),
            View::Pointee(next) => {
                return self.value(&visualize::in_truth(self.target, next), depth);
            }
            View::Noted(next, note) => {
                self.value(&visualize::in_truth(self.target, next), depth)?;
                let _ = write!(self.out, " ({note})");
            }
            _ if depth >= self.limits.depth => self.folded(language),
            View::Fields { head, fields } => self.fields(&head, &fields, language, depth),
            View::Sequence { at, element, len } => {
                let start = self.out.len();
                let is_whole =
                    self.row(&ElementArray::in_memory(at, element, len), language, depth)?;
                if !is_whole || (depth == 0 && len > 0) {
                    self.count(start, &len.to_string());
                }
            }
            View::Collection(collection) => return self.collection(&collection, language, depth),
        }
        Ok(())
    }

    pub(super) fn composite(
        &mut self,
        value: &Value,
        ty: &Arc<DwarfTy>,
        depth: usize,
    ) -> Result<(), Error> {
        let language = ty.language();
        if let Some(view) = visualize::view(self.target, value) {
            return self.view(view, language, depth);
        }
        if let Some((name, payload)) = members::active_variant(self.target, value, ty)? {
            if let Shape::Composite(inner) = payload.ty.shape() {
                return self.rust_struct(&name, &payload, &inner, depth);
            }
            self.out.push_str(&name);
            return Ok(());
        }
        if ty.composite().is_some_and(|it| it.declaration) {
            self.out.push_str("<incomplete type>");
            return Ok(());
        }
        if is_function_item(ty) {
            self.out.push_str("<function item>");
            return Ok(());
        }
        if language == Language::Rust {
            let name = if ty.ty.name.starts_with('(') {
                ""
            } else {
                members::last_component(&ty.ty.name)
            };
            return self.rust_struct(name, value, ty, depth);
        }
        if depth >= self.limits.depth {
            self.folded(language);
            return Ok(());
        }
        let whole = self.whole(value)?;
        if !value.is_base && ty.composite().is_some_and(|it| it.polymorphic) {
            // The dynamic class of an object comes first.
            let _ = write!(self.out, "{} ", value.ty.strip().name());
        }
        self.out.push('{');
        self.members(value, &whole, ty, depth, &|part| match part {
            ClassPart::Member(member) => format!("{} = ", members::shown_name(ty, &member.name)),
            ClassPart::Base(base) => format!("<{}> = ", ty.related(base.ty).name()),
            ClassPart::Static(_) => String::new(),
        });
        self.out.push('}');
        Ok(())
    }

    /// Inserts the number of elements in front of the elements: a client may cut off the end of the text.
    fn count(&mut self, start: usize, count: &str) {
        self.out.insert_str(start, &format!("({count}) "));
    }

    fn collection(
        &mut self,
        collection: &Collection,
        language: Language,
        depth: usize,
    ) -> Result<(), Error> {
        let shown = collection.len.min(self.limits.elements as u64);
        let (items, lost) = collection.items(self.target, 0..shown)?;
        let list = collection.kind == CollectionKind::List && language == Language::Rust;
        let (open, close) = if list { ('[', ']') } else { ('{', '}') };
        let start = self.out.len();
        self.out.push(open);
        let mut written = 0;
        for item in items {
            if written > 0 {
                self.out.push_str(", ");
            }
            if self.full() {
                break;
            }
            written += 1;
            if let Some(key) = item.key {
                self.value_or_error(Ok(key), depth + 1);
                self.out.push_str(": ");
            }
            self.value_or_error(Ok(item.value), depth + 1);
        }
        if let Some(error) = lost {
            self.out.push_str(if written > 0 { ", " } else { "" });
            self.out.push_str(&bracketed(&error));
        } else if shown < collection.len || collection.more {
            self.out.push_str(", ...");
        }
        self.out.push(close);
        let is_whole = shown == collection.len && !self.full();
        if collection.more {
            self.count(start, &format!("more than {}", collection.len));
        } else if !is_whole || (depth == 0 && collection.len > 0) {
            self.count(start, &collection.len.to_string());
        }
        Ok(())
    }

    /// Writes fields in the language's brackets.
    fn fields(&mut self, head: &str, fields: &[(String, Value)], language: Language, depth: usize) {
        self.out.push_str(head);
        if fields.is_empty() && !head.is_empty() {
            return;
        }
        let tuple = (0..)
            .zip(fields)
            .all(|(index, (name, _))| *name == index.to_string());
        let spaced = language == Language::Rust && !head.is_empty() && !tuple;
        let (open, close) = if tuple { ("(", ")") } else { ("{", "}") };
        self.out.push_str(if spaced { " {" } else { open });
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            if index >= self.limits.elements || self.full() {
                self.out.push_str("...");
                break;
            }
            match (tuple, language) {
                (true, _) => {}
                (false, Language::Rust) => self.out.push_str(&format!("{name}: ")),
                (false, _) => self.out.push_str(&format!("{name} = ")),
            }
            self.value_or_error(Ok(value.clone()), depth + 1);
        }
        self.out.push_str(close);
    }

    fn text(&mut self, at: LoadAddr, len: u64, unit: Unit) -> Result<(), Error> {
        let size = unit.size();
        let bound = len.min((self.limits.string / size * size) as u64);
        let mut bytes = vec![0; bound as usize];
        if bound > 0 {
            self.target.memory().read(at, &mut bytes)?;
        }
        text::write(&mut self.out, &bytes, unit, bound < len);
        Ok(())
    }

    fn rust_struct(
        &mut self,
        name: &str,
        value: &Value,
        ty: &Arc<DwarfTy>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(composite) = ty.composite() else {
            return Ok(());
        };
        self.out.push_str(name);
        if composite.members.is_empty() {
            return Ok(());
        }
        let tuple = members::is_tuple(composite);
        let whole = self.whole(value)?;
        if depth >= self.limits.depth {
            self.out.push_str(if tuple { "(…)" } else { " {…}" });
            return Ok(());
        }
        self.out.push_str(if tuple {
            "("
        } else if name.is_empty() {
            "{"
        } else {
            " {"
        });
        self.members(value, &whole, ty, depth, &|part| match part {
            ClassPart::Member(member) if !tuple => {
                format!("{}: ", members::shown_name(ty, &member.name))
            }
            _ => String::new(),
        });
        self.out.push(if tuple { ')' } else { '}' });
        Ok(())
    }

    fn whole(&self, object: &Value) -> Result<WholeObject, Error> {
        let mut whole = WholeObject::read(self.target, object);
        match whole.error.take() {
            Some(error) => Err(error),
            None => Ok(whole),
        }
    }

    /// Writes bases and members, separated by commas.
    fn members(
        &mut self,
        object: &Value,
        whole: &WholeObject,
        ty: &Arc<DwarfTy>,
        depth: usize,
        label: &dyn Fn(&ClassPart<'_>) -> String,
    ) {
        let target = self.target;
        let mut written = 0;
        let outcome = members::parts(target, object, ty, &mut |object, ty, part| {
            let value = match &part {
                ClassPart::Base(base) => members::base(target, object, ty, base),
                ClassPart::Member(member) if member.artificial => return Ok(()),
                ClassPart::Member(member) => members::member(target, object, ty, member),
                ClassPart::Static(_) => return Ok(()),
            };
            written += 1;
            if written > self.limits.elements + 1 || self.full() && written > 1 {
                return Ok(());
            }
            if written > 1 {
                self.out.push_str(", ");
            }
            if written > self.limits.elements {
                self.out.push_str("...");
                return Ok(());
            }
            self.out.push_str(&label(&part));
            self.value_or_error(value.map(|value| whole.fill(value)), depth + 1);
            Ok(())
        });
        if let Err(error) = outcome {
            self.out.push_str(&bracketed(&error));
        }
    }
    pub(super) fn folded(&mut self, language: Language) {
        self.out.push_str(if language == Language::Rust {
            "{…}"
        } else {
            "{...}"
        });
    }
}

/// Returns whether a type is that of a function item of Rust, whose name is that of the pointer to such a function.
fn is_function_item(ty: &DwarfTy) -> bool {
    let before = ty.ty.name.split_once('(').map(|it| it.0);
    let is_named_so = before.is_some_and(|it| it == "fn" || it.ends_with(" fn"));
    is_named_so && ty.language() == Language::Rust && ty.ty.size == Some(0)
}
