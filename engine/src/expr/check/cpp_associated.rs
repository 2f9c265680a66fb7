//! Functions of C++ that a call finds by the types of its arguments (ISO C++ [basic.lookup.argdep]):
//! those of the namespaces that the types belong to.

use super::super::ir::Expr;
use super::{Checker, Stop};
use crate::expr::invoke::ResolvedFunction;
use crate::expr::overload::{self, Candidate};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// Maximum number of types that are examined for one call.
const TYPES: usize = 64;
/// Maximum number of namespaces that are searched for one call.
const NAMESPACES: usize = 16;

impl Checker<'_> {
    /// Returns the qualified names that a bare name has in the namespaces of the arguments' types.
    pub(super) fn associated_names(&self, name: &str, arguments: &[Expr<'_>]) -> Vec<String> {
        if self.language != Language::Cpp || name.contains("::") {
            return Vec::new();
        }
        let mut found = Namespaces::default();
        for argument in arguments {
            found.add(&argument.ty);
        }
        let qualified = |space: &String| match space.is_empty() {
            true => format!("::{name}"),
            false => format!("::{space}::{name}"),
        };
        let is_operator = name.starts_with("operator");
        // The libraries define functions in headers: a unit that calls one has it.
        let may_have = |(space, name): &(&String, String)| match space.as_str() {
            "std" | "__gnu_cxx" if !is_operator => self.scope.declares(name),
            _ => true,
        };
        let all = found.names.iter().map(|space| (space, qualified(space)));
        all.filter(may_have).map(|(_, name)| name).collect()
    }

    /// Returns the functions with names that [`Self::associated_names`] returns, except those that
    /// have the name of a visible one: all of that name are visible. Functions of other units with
    /// internal linkage are among them only if no others are known: a header may define them in
    /// every unit that calls them.
    pub(super) fn associated<'t>(
        &self,
        names: &[String],
        visible: &[Candidate],
    ) -> Result<Vec<Candidate>, Stop<'t>> {
        let mut known: Vec<ResolvedFunction> = Vec::new();
        for name in names {
            let bare = name.strip_prefix("::").unwrap_or(name);
            if !visible.iter().any(|it| overload::is_named(&it.name, bare)) {
                known.extend(self.scope.functions(name).map_err(Stop::Wrong)?);
            }
        }
        if !visible.is_empty() || known.iter().any(|it| it.is_visible) {
            known.retain(|it| it.is_visible);
        }
        let known = known.into_iter().map(Candidate::of);
        Ok(known.filter(|it| !it.is_of_class).collect())
    }
}

/// The namespaces that types belong to.
#[derive(Default)]
struct Namespaces {
    names: Vec<String>,
    /// The number of types that were examined.
    examined: usize,
}

impl Namespaces {
    fn add(&mut self, ty: &Ty) {
        if !self.may_examine() {
            return;
        }
        if let Some((class, member)) = ty.member_pointer() {
            self.add(&class);
            return self.add(&member);
        }
        if let Some(function) = ty.signature() {
            function.parameters.iter().for_each(|it| self.add(it));
            return self.add(&function.returns);
        }
        match ty.shape() {
            Shape::Pointer(of, _) => self.add(&of),
            Shape::Array(array) => self.add(&array.element),
            Shape::Enumeration(of) => self.add_around(&of),
            Shape::Composite(class) => {
                self.add_class(&class);
                let arguments = class.composite().map_or(&[][..], |it| &it.template_types);
                for (_, argument) in arguments {
                    self.add(&class.related_or_void(*argument));
                }
            }
            _ => {}
        }
    }

    /// Adds the namespaces of a class and its bases. The arguments of a base that is an instance of a
    /// template do not count.
    fn add_class(&mut self, class: &DwarfTy) {
        self.add_around(class);
        for base in class.composite().map_or(&[][..], |it| &it.bases) {
            if let Shape::Composite(base) = class.related(base.ty).shape()
                && self.may_examine()
            {
                self.add_class(&base);
            }
        }
    }

    fn add_around(&mut self, ty: &DwarfTy) {
        if let Some(space) = ty.module().namespace_around(ty.ty.id)
            && !self.names.contains(&space)
            && self.names.len() < NAMESPACES
        {
            self.names.push(space);
        }
    }

    fn may_examine(&mut self) -> bool {
        self.examined += 1;
        self.examined <= TYPES
    }
}
