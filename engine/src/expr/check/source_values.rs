//! Constants of Rust as expressions: the source says what they are made of, the debug info of which types.

use super::super::ir::{Ends, Expr, Kind, Overflow};
use super::super::made::Made;
use super::super::tree::Node;
use super::rust_made::{Access, MAX_ELEMENTS};
use super::{Checked, Checker, Stop, rust, rust_types, wrong};
use crate::images::consts::{Object, SourceValue};
use crate::inspect::language::rust::builtin;
use crate::inspect::value::Ty;
use std::borrow::Cow;
use std::sync::Arc;

/// Returns a text whose bytes the source has.
fn text<'t>(bytes: &[u8], ty: Ty, node: &Node) -> Box<Expr<'t>> {
    Box::new(Expr::new(Kind::Text(Cow::Owned(bytes.to_vec())), ty, node))
}

impl Checker<'_> {
    /// Checks the value of a constant, for the node that names it.
    ///
    /// # Errors
    /// The debug info has no such type.
    pub(super) fn source_value<'t>(&self, value: &SourceValue, node: &'t Node) -> Checked<'t> {
        let part = |it: &Arc<SourceValue>| self.source_value(it, node);
        let all = |it: &[SourceValue]| -> Result<Vec<Expr<'t>>, Stop<'t>> {
            it.iter().map(|it| self.source_value(it, node)).collect()
        };
        match value {
            SourceValue::Number(number) => {
                let ty = builtin(number.ty).ok_or(Stop::Needs(node))?;
                Ok(Expr::new(Kind::Constant(number.bits), ty, node))
            }
            SourceValue::Digits(bits, is_negative) => {
                let ty = rust::integer(*bits);
                let digits = Expr::new(Kind::Constant(*bits), ty.clone(), node).opened(true);
                Ok(match is_negative {
                    true => {
                        let kind = Kind::Negate(Box::new(digits), Overflow::Fails);
                        Expr::new(kind, ty, node).opened(true)
                    }
                    false => digits,
                })
            }
            SourceValue::Decimal(bits) => {
                let kind = Kind::Constant(u128::from(*bits));
                Ok(Expr::new(kind, rust::float(), node).opened(true))
            }
            SourceValue::Text(it) => {
                let kind = Kind::AddressOf(text(it.as_bytes(), Ty::Text, node));
                Ok(Expr::new(kind, Ty::str(), node))
            }
            SourceValue::Bytes(it) => {
                let row = rust::named("u8").array(it.len() as u64);
                let kind = Kind::AddressOf(text(it, row.clone(), node));
                Ok(Expr::new(kind, row.reference(), node))
            }
            SourceValue::Tuple(parts) => {
                let parts = all(parts)?;
                Ok(self.tuple(parts, node))
            }
            SourceValue::Row(elements) => self.row_of(all(elements)?, node),
            SourceValue::Filled(of, count) => {
                let of = part(of)?;
                if *count > MAX_ELEMENTS {
                    return Err(wrong("the array is too long", &node.span));
                }
                let ty = of.ty.clone().rust_array(*count);
                let kind = Kind::Made(Box::new(Made::Filled(of, *count)));
                Ok(Expr::new(kind, ty, node))
            }
            SourceValue::Reference(of) => Ok(self.reference_to(part(of)?, Access::Shared, node)),
            SourceValue::Slice(of) => {
                let row = part(of)?;
                let row = match row.ty.name().starts_with('&') {
                    true => row
                        .clone()
                        .target(rust_types::referent(&row.ty).unwrap_or(row.ty)),
                    false => row,
                };
                let element = rust_types::element(&row.ty).ok_or(Stop::Needs(node))?;
                let ends = Box::new(Ends {
                    from: None,
                    to: None,
                });
                let kind = Kind::Slice(Box::new(row), ends, false);
                let slice = Expr::new(kind, element.slice().unsized_target(), node);
                Ok(self.reference_to(slice, Access::Shared, node))
            }
            SourceValue::Range(from, to, inclusive) => {
                let from = from.as_ref().map(part).transpose()?;
                let to = to.as_ref().map(part).transpose()?;
                self.range_of(from, to, *inclusive, node)
            }
            SourceValue::Optional(of) => {
                let of = of.as_ref().map(part).transpose()?;
                let name = if of.is_some() { "Some" } else { "None" };
                self.std_variant(name, &[], of, node)
            }
            SourceValue::Object(object) => self.source_object(object, node),
        }
    }

    fn source_object<'t>(&self, object: &Object, node: &'t Node) -> Checked<'t> {
        let unknown = || {
            let path = object.places.iter().flatten().next();
            let path = path.map_or("?", String::as_str);
            let why = format!("its value is a `{path}`, which the debug info does not have");
            wrong(why, &node.span)
        };
        let (ty, variant) = self.meant_of(&object.places, node).ok_or_else(unknown)?;
        let known = rust_types::parts_of(&ty, variant.as_deref()).ok_or_else(unknown)?;
        let mut fields = Vec::new();
        for (name, value) in &object.fields {
            if !known.iter().any(|it| it.0 == *name) {
                return Err(unknown());
            }
            fields.push((name.clone(), self.source_value(value, node)?));
        }
        if fields.len() != known.len() {
            return Err(unknown());
        }
        if fields.is_empty() {
            return Ok(self.unit_of(ty, variant.as_deref(), node));
        }
        let made = self.fields(variant.as_deref(), fields, None, ty.clone(), node);
        self.typed_fields(made, &known, &ty)
    }
}
