//! What paths of Rust mean where the code has them: variants and structs that a `use` brings, `Self`. The
//! source says which places in the debug info may be meant, the debug info what is there.

use super::super::invoke::ResolvedFunction;
use super::super::ir::{Expr, Kind, Storage};
use super::super::overload_rust::parts_of_instance;
use super::super::tree::Node;
use super::rust_made::is_capital;
use super::{Checker, Stop, names, rust_types};
use crate::expr::constants::enumerator;
use crate::expr::overload::Candidate;
use crate::inspect::library;
use crate::inspect::value::Ty;
use crate::inspect::value::members::last_component;
use dwarf::Language;
use std::collections::BTreeMap;

/// The type of a value that a path makes, and the variant if it is an enum.
pub(super) type Meant = (Ty, Option<String>);

/// Returns the paths that an item has in the debug info: that of `std` is where the library defines it.
fn spellings(place: &str) -> Vec<String> {
    match place.split_once("::") {
        Some(("std" | "core" | "alloc", rest)) => {
            let roots = ["core", "alloc", "std"].into_iter();
            roots.map(|root| format!("{root}::{rest}")).collect()
        }
        _ => vec![place.to_owned()],
    }
}

/// Returns the path around the last component of a function's name, whose type arguments may have paths.
fn parent(name: &str) -> &str {
    let mut depth = 0usize;
    let mut colons = 0;
    for (at, char) in name.char_indices().rev() {
        match char {
            '>' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => colons = at,
            _ if colons > 0 => break,
            _ => {}
        }
    }
    name.get(..colons).unwrap_or_default()
}

/// Returns what is at the only place that exists in the first row with one; `None` if that row has several.
fn the_only<T>(rows: &[Vec<String>], at: impl Fn(&str) -> Option<T>) -> Option<T> {
    for row in rows {
        let mut found = BTreeMap::new();
        for place in row.iter().flat_map(|it| spellings(it)) {
            if let Some(it) = at(&place) {
                found.insert(place, it);
            }
        }
        match found.len() {
            0 => {}
            1 => return found.into_values().next(),
            _ => return None,
        }
    }
    None
}

impl Checker<'_> {
    /// Returns what a path makes by the declarations and imports of the source; `None` if the debug info has no
    /// such variant or struct, or the source does not say.
    pub(super) fn meant(&self, path: &str, node: &Node) -> Option<Meant> {
        if let Some(rest) = path.strip_prefix("Self")
            && let Some(own) = self.class_around()
        {
            match rest.strip_prefix("::") {
                Some(variant) if rust_types::is_enum(&own) => {
                    rust_types::variant(&own, variant)?;
                    return Some((own, Some(variant.to_owned())));
                }
                None if rest.is_empty() && !rust_types::is_enum(&own) => return Some((own, None)),
                _ => {}
            }
        }
        self.meant_of(&self.scope.source_paths(path).ok()?, node)
    }

    /// Returns what a path makes that may mean these places.
    pub(super) fn meant_of(&self, rows: &[Vec<String>], node: &Node) -> Option<Meant> {
        the_only(rows, |place| self.made_at(place, node))
    }

    /// Returns the type of a name: one of the debug info, or what the source says that it stands for.
    pub(super) fn type_meant(&self, name: &str) -> Option<Ty> {
        let found = self.scope.find_type(name);
        if found.is_some() || self.language != Language::Rust {
            return found;
        }
        let found = match name {
            "Self" => self.class_around(),
            _ => self.instance_spelled(name),
        };
        if found.is_some() {
            return found;
        }
        the_only(&self.scope.source_paths(name).ok()?, |place| {
            let ty = self.scope.find_type(place);
            ty.filter(|it| *it.strip().name() == *place)
        })
    }

    /// Returns the type that the frame's function is a method of, as the instance that runs.
    fn class_around(&self) -> Option<Ty> {
        self.scope.classes_around().into_iter().next()
    }

    /// Returns the instance that the spelling of a generic type means in the code that runs: `Node<T>`.
    fn instance_spelled(&self, name: &str) -> Option<Ty> {
        let (head, arguments) = parts_of_instance(name);
        let spelled = |it: &&str| Some(self.type_spelled(it)?.name().to_string());
        let found: Option<Vec<String>> = arguments.iter().map(spelled).collect();
        let found = found.filter(|found| !arguments.is_empty() && *found != arguments)?;
        let name = format!("{head}<{}>", found.join(", "));
        self.scope.find_type(&name)
    }

    /// Returns the functions that a path means by the declarations and imports of the source: `Self::f`, or what a
    /// `use` brings.
    pub(super) fn functions_meant(&self, path: &str) -> Vec<ResolvedFunction> {
        let rows = self.scope.source_paths(path).unwrap_or_default();
        let found = the_only(&rows, |place| {
            let mut known = self.scope.functions(place).ok()?;
            known.retain(|it| parts_of_instance(&it.function.name).0 == place);
            (!known.is_empty()).then_some(known)
        });
        found.unwrap_or_default()
    }

    /// Returns the function that a path means like [`Checker::functions_meant`], as a value.
    pub(super) fn function_value<'t>(&self, path: &'t str, node: &'t Node) -> Option<Expr<'t>> {
        let known = self.functions_meant(path);
        let name = known.first()?.function.name.clone();
        // An instance of a generic function has no name that says which.
        if known.iter().any(|it| it.function.name != name) || name.ends_with('>') {
            return None;
        }
        let leaf = self.scope.variable(Storage::Global, &name, node).ok()??;
        let kind = Kind::Variable(Storage::Global, path, node, leaf.bits);
        Some(Expr::new(kind, leaf.ty, node))
    }

    /// Returns the instance of a generic type whose fields have the types of these values: `Packed<i128>` for
    /// `Packed(x)`. It is the type itself if the path names the instance, or the program has no other.
    pub(super) fn instance_for(
        &self,
        (ty, variant): Meant,
        path: &str,
        values: &[(String, Expr<'_>)],
    ) -> Meant {
        let own = ty.strip().name();
        let (head, arguments) = parts_of_instance(&own);
        if path.contains('<') || arguments.is_empty() {
            return (ty, variant);
        }
        let known = rust_types::parts_of(&ty, variant.as_deref()).unwrap_or_default();
        let of_values = arguments.iter().map(|argument| {
            let mut fields = known.iter().filter(|it| *it.1.name() == **argument);
            let value = fields.find_map(|field| values.iter().find(|it| it.0 == field.0));
            let value = value.filter(|it| !it.1.open);
            value.map_or_else(|| (*argument).to_owned(), |it| it.1.ty.name().to_string())
        });
        let wanted: Vec<String> = of_values.collect();
        if wanted == arguments {
            return (ty, variant);
        }
        let name = format!("{head}<{}>", wanted.join(", "));
        let found = self.scope.find_type(&name);
        let found = found.filter(|it| *it.strip().name() == *name);
        (found.unwrap_or(ty), variant)
    }

    /// Returns the functions that a path through a type means: of a parameter of the generic function (`T::f`,
    /// `<T as Trait>::f`), and those that the trait itself defines.
    pub(super) fn associated_functions<'t>(&self, path: &str) -> Result<Vec<Candidate>, Stop<'t>> {
        for name in self.through_type(path) {
            let mut known = self.scope.functions(&name).map_err(Stop::Wrong)?;
            // A module may have a generic function of that name.
            if name.starts_with(last_component(path)) {
                known.retain(|it| is_capital(parent(&it.function.name)));
            }
            if !known.is_empty() {
                return Ok(known.into_iter().map(Candidate::of).collect());
            }
        }
        Ok(Vec::new())
    }

    /// Returns the names that a function of a type has in the debug info, in the order in which they are looked for.
    fn through_type(&self, path: &str) -> Vec<String> {
        let Some((head, last)) = path.rsplit_once("::") else {
            return Vec::new();
        };
        let qualified = head.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
        let (typed, of_trait) = match qualified.and_then(|it| it.split_once(" as ")) {
            Some((typed, of_trait)) => (typed.trim(), Some(of_trait.trim())),
            None => (head, None),
        };
        let Some(ty) = self.type_meant(typed) else {
            return Vec::new();
        };
        let ty = ty.strip().name();
        match of_trait {
            Some(of_trait) => vec![
                format!("<{ty} as {of_trait}>::{last}"),
                format!("{of_trait}::{last}<{ty}>"),
            ],
            None => vec![format!("{ty}::{last}"), format!("{last}<{ty}>")],
        }
    }

    /// Returns what the path of a variant or struct in the debug info makes.
    fn made_at(&self, place: &str, node: &Node) -> Option<Meant> {
        let (parent, last) = place.rsplit_once("::")?;
        match self.type_at(parent, node) {
            Some(ty) if rust_types::is_enum(&ty) => {
                rust_types::variant(&ty, last).map(|_| (ty, Some(last.to_owned())))
            }
            _ => {
                let ty = self.type_at(place, node)?;
                (!rust_types::is_enum(&ty) && rust_types::fields(&ty).is_some())
                    .then_some((ty, None))
            }
        }
    }

    /// Returns the type at a path in the debug info. Of a generic one, the instance that `self` is of.
    fn type_at(&self, place: &str, node: &Node) -> Option<Ty> {
        let found = self.scope.find_type(place);
        if let Some(found) = found.filter(|it| *it.strip().name() == *place) {
            return Some(found);
        }
        let own = self.scope.variable(Storage::Local, "self", node).ok()??.ty;
        let own = library::referent_type(&own);
        (rust_types::generic_name(&own) == place).then_some(own)
    }

    /// Returns a variant or struct without fields that a path names: `E::A`, `Marker`.
    pub(super) fn unit_value<'t>(&self, path: &str, node: &'t Node) -> Option<Expr<'t>> {
        let (ty, variant) = self.constructed(path, node)?;
        let known = rust_types::parts_of(&ty, variant.as_deref())?;
        if !known.is_empty() {
            return None;
        }
        Some(self.unit_of(ty, variant.as_deref(), node))
    }

    /// Returns a struct or variant without fields.
    pub(super) fn unit_of<'t>(&self, ty: Ty, variant: Option<&str>, node: &'t Node) -> Expr<'t> {
        let of_numbers = variant.and_then(|it| enumerator(&ty, it));
        match of_numbers.and_then(|it| names::known(it, node)) {
            Some(constant) => constant,
            None => self.fields(variant, Vec::new(), None, ty, node),
        }
    }
}
