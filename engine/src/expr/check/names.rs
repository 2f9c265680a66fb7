//! Names: locals, members of the frame's own object, variables of static storage, functions,
//! enumerators, the bounds of Rust's numbers, and constants of the C library.

use super::super::ir::{Expr, Kind, Storage};
use super::super::tree::Node;
use super::cpp_members::split_last;
use super::{Checked, Checker, Stop, wrong};
use crate::expr::constants;
use crate::expr::constants::{enumerator, extreme};
use crate::expr::evaluate::DEREFERENCES;
use crate::inspect::value::base_path::BaseLookup;
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::scalar::bits_of;
use crate::inspect::value::{PointerKind, Shape, Value, members};
use crate::inspect::visualize::objc::class::{is_class, is_instance};
use dwarf::Language;

impl Checker<'_> {
    /// Checks a name.
    pub(super) fn name<'t>(&self, name: &'t str, node: &'t Node) -> Checked<'t> {
        if let Some(found) = self.variable(Storage::Local, name, node)? {
            return Ok(found);
        }
        // A member hides names of namespaces, for example `step` of the C library.
        if self.language == Language::Cpp
            && name != "this"
            && let Some(found) = self.own_member("this", name, node)?
        {
            return Ok(found);
        }
        if let Some(found) = self.instance_variable(name, node)? {
            return Ok(found);
        }
        if let Some((scope, last)) = split_last(name).filter(|_| self.language == Language::Cpp)
            && let Some(found) = self.member_of_own_base(scope, last, node)?
        {
            return Ok(found);
        }
        if let Some(found) = self.variable(Storage::Global, name, node)? {
            if self.language == Language::Cpp && matches!(found.ty.shape(), Shape::Function) {
                self.undecided(name, node)?;
            }
            // In C, a variable at file scope cannot have the name of an enumerator.
            let constant = match self.language {
                Language::C => enumerator(&found.ty, name),
                _ => None,
            };
            let constant = constant.and_then(|value| known(value, node));
            // A constant that the source declares here hides a static of another module.
            let constant = constant.or_else(|| self.constant_of_source(name, node).ok().flatten());
            return Ok(constant.unwrap_or(found));
        }
        let constant = match name.rsplit_once("::") {
            Some((path, last)) => {
                let ty = self.type_meant(path);
                ty.and_then(|ty| enumerator(&ty, last).or_else(|| extreme(&ty, last)))
            }
            None if self.language == Language::Rust => {
                if name != "self"
                    && let Some(found) = self.own_member("self", name, node)?
                {
                    return Ok(found);
                }
                None
            }
            None => {
                let ty = self.scope.enumeration_with(name);
                ty.and_then(|ty| enumerator(&ty, name))
            }
        };
        let constant = match self.language {
            Language::Rust => constant.or_else(|| constants::named(name)),
            _ => constant,
        };
        let constant = constant.and_then(|value| known(value, node));
        let constant = constant.or_else(|| self.constant_of_std(name, node));
        if let Some(found) = constant.or_else(|| self.constant_of_c_library(name, node)) {
            return Ok(found);
        }
        let of_source = self.constant_of_source(name, node);
        if let Ok(Some(found)) = of_source {
            return Ok(found);
        }
        let variant = match self.language {
            Language::Rust => self
                .unit_value(name, node)
                .or_else(|| self.function_value(name, node)),
            _ => None,
        };
        match (variant, of_source) {
            (Some(variant), _) => Ok(variant),
            (None, Err(uncertain)) => Err(uncertain),
            (None, _) => Err(Stop::Wrong(self.scope.unknown_name(node))),
        }
    }

    /// Checks a constant of Rust, which only the source shows.
    fn constant_of_source<'t>(
        &self,
        name: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        let found = self.scope.source_constant(name);
        let found = found.map_err(|why| wrong(why, &node.span))?;
        found.map(|it| self.source_value(&it, node)).transpose()
    }

    /// Checks the bare name of an instance variable in a method of Objective-C.
    fn instance_variable<'t>(
        &self,
        name: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language == Language::Rust || name == "self" {
            return Ok(None);
        }
        let Some(object) = self.variable(Storage::Local, "self", node)? else {
            return Ok(None);
        };
        match is_instance(&object.ty) {
            true => self.own_member("self", name, node),
            false => Ok(None),
        }
    }

    /// Checks `Base::member` in a member function: a member of the frame's own object.
    fn member_of_own_base<'t>(
        &self,
        scope: &str,
        last: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Some(this) = self.variable(Storage::Local, "this", node)? else {
            return Ok(None);
        };
        let Shape::Pointer(class, _) = this.ty.shape() else {
            return Ok(None);
        };
        let BaseLookup::Found(way) = self.base_named(&class, scope) else {
            return Ok(None);
        };
        let base = Expr::part(this.target(class), way, node);
        match path::find(&base.ty, last) {
            Lookup::Found(parts) => Ok(Some(Expr::part(base, parts, node))),
            _ => Ok(None),
        }
    }

    /// Looks up a variable or function. One that has no place has a type, but only an evaluation
    /// that reaches it fails.
    pub(super) fn variable<'t>(
        &self,
        storage: Storage,
        name: &'t str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        match self.scope.variable(storage, name, node) {
            Ok(Some(leaf)) => {
                let kind = Kind::Variable(storage, name, node, leaf.bits);
                Ok(Some(Expr::new(kind, leaf.ty, node)))
            }
            Ok(None) => Ok(None),
            Err(_) => Err(Stop::Needs(node)),
        }
    }

    /// Returns a member of the frame's own object by its bare name.
    pub(super) fn own_member<'t>(
        &self,
        own: &'static str,
        name: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Some(mut object) = self.variable(Storage::Local, own, node)? else {
            return Ok(None);
        };
        for _ in 0..DEREFERENCES {
            object = match object.ty.shape() {
                Shape::Pointer(to, kind)
                    if own == "this" || kind != PointerKind::Raw || is_class(&to) =>
                {
                    Expr::new(Kind::Deref(Box::new(object)), to, node)
                }
                _ => break,
            };
        }
        match path::find(&object.ty, name) {
            Lookup::Found(parts) => Ok(Some(Expr::part(object, parts, node))),
            Lookup::Ambiguous(one, other, _) => {
                let message = members::ambiguous(name, &one, &other);
                Err(wrong(message, &node.span))
            }
            Lookup::Depends | Lookup::Absent => Ok(None),
        }
    }
}

/// Returns a value that is stored nowhere as a constant.
pub(super) fn known(value: Value, node: &Node) -> Option<Expr<'_>> {
    let bits = bits_of(&value.place.literal().ok()?);
    Some(Expr::new(Kind::Constant(bits), value.ty, node))
}
