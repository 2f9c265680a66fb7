//! The way from an object to one of its members, by types alone.

use super::members::{self, last_component, shown_name};
use super::types::DwarfTy;
use super::{Shape, Target, Ty, Value};
use crate::ids::error::Error;
use dwarf::{Composite, Inheritance, Member, Variant};
use std::sync::Arc;

/// Maximum nesting of bases and anonymous structs.
const NESTING: usize = 24;

/// A part of an object of a class: the class, and the part's index there.
#[derive(Clone, Debug)]
pub enum Part {
    /// A data member.
    Member(Arc<DwarfTy>, usize),
    /// A static data member.
    Static(Arc<DwarfTy>, usize),
    /// A base class.
    Base(Arc<DwarfTy>, usize),
    /// The contents of a variant of a Rust enum, which must be active.
    Variant(Arc<DwarfTy>, usize),
}

/// The result of a search for a member.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// The parts on the way to it, outermost first, each with its type.
    Found(Vec<(Part, Ty)>),
    /// Several base classes have it: two of them, and the parts on the way to the first one's.
    Ambiguous(Ty, Ty, Vec<(Part, Ty)>),
    /// Several variants have it: the active one decides.
    Depends,
    /// There is none.
    Absent,
}

impl Part {
    fn composite(&self) -> Option<&Composite> {
        match self {
            Part::Member(class, _)
            | Part::Static(class, _)
            | Part::Base(class, _)
            | Part::Variant(class, _) => class.composite(),
        }
    }

    /// Returns the data member that it is.
    pub fn member(&self) -> Option<&Member> {
        match self {
            Part::Member(_, index) => self.composite()?.members.get(*index),
            Part::Static(_, index) => self.composite()?.statics.get(*index),
            Part::Base(..) | Part::Variant(..) => None,
        }
    }

    /// Returns the base class that it is.
    pub fn base(&self) -> Option<&Inheritance> {
        match self {
            Part::Base(_, index) => self.composite()?.bases.get(*index),
            _ => None,
        }
    }

    /// Returns the variant that it is, and the member that holds its contents.
    pub fn variant(&self) -> Option<(&Variant, &Member)> {
        match self {
            Part::Variant(_, index) => {
                let part = self.composite()?.variants.as_ref()?;
                let variant = part.variants.get(*index)?;
                Some((variant, variant.members.first()?))
            }
            _ => None,
        }
    }

    /// Returns the part of an object.
    ///
    /// # Errors
    /// Its position depends on memory that cannot be read; another variant is active.
    pub fn of(&self, target: &dyn Target, object: &Value) -> Result<Value, Error> {
        let gone = || Error::Unsupported("corrupt debug info: a part of a class".into());
        match self {
            Part::Member(class, _) => {
                let part = self.member().ok_or_else(gone)?;
                members::member(target, object, class, part)
            }
            Part::Static(class, _) => {
                let part = self.member().ok_or_else(gone)?;
                members::static_member(target, class, part)
            }
            Part::Base(class, _) => {
                let part = self.base().ok_or_else(gone)?;
                members::base(target, object, class, part)
            }
            Part::Variant(class, _) => {
                let (_, holder) = self.variant().ok_or_else(gone)?;
                match members::active_variant(target, object, class)? {
                    // The variants of coroutines are shown by other names.
                    Some((_, contents)) if is_of(&contents.ty, holder) => Ok(contents),
                    Some((active, _)) => Err(Error::eval(format!(
                        "the value is `{active}`, not `{}`",
                        holder.name
                    ))),
                    None => Err(gone()),
                }
            }
        }
    }
}

/// Returns whether a variant's contents have the type that its holder has.
fn is_of(contents: &Ty, holder: &Member) -> bool {
    matches!(contents, Ty::Dwarf(contents) if contents.ty.id == holder.ty)
}

/// Searches a class for a member by name: its own members hide those of bases.
pub fn find(ty: &Ty, name: &str) -> Lookup {
    find_within(ty, name, 0)
}

/// Returns whether the members of objects of a class depend only on the type: not on the active
/// variant, the dynamic class, or the contents that a view shows.
pub fn is_closed(class: &DwarfTy) -> bool {
    is_closed_within(class, 0)
}

fn is_closed_within(class: &DwarfTy, depth: usize) -> bool {
    let Some(composite) = class.composite() else {
        return false;
    };
    let is_shown_as_it_is = class.visualizer().is_none() && !composite.closure;
    // The target of a trait object has a dynamic type with more members.
    let name = class.ty.name.trim_start_matches('(');
    let is_known = !name.starts_with("dyn ")
        && !composite.declaration
        && !composite.polymorphic
        && composite.variants.is_none()
        && composite.members.iter().all(|it| it.name != "vtable");
    let mut bases = composite.bases.iter().map(|base| class.related(base.ty));
    is_shown_as_it_is
        && is_known
        && depth < NESTING
        && bases.all(|base| {
            matches!(base.shape(), Shape::Composite(base) if is_closed_within(&base, depth + 1))
        })
}

/// Returns the names of the members that [`find`] finds.
pub fn names(class: &DwarfTy) -> Vec<String> {
    let mut names = Vec::new();
    names_within(class, 0, &mut names);
    names
}

fn names_within(class: &DwarfTy, depth: usize, names: &mut Vec<String>) {
    let Some(composite) = class.composite().filter(|_| depth < NESTING) else {
        return;
    };
    for member in composite.members.iter().chain(&composite.statics) {
        match (member.name.is_empty(), class.related(member.ty).shape()) {
            (true, Shape::Composite(of)) => names_within(&of, depth + 1, names),
            _ => names.push(shown_name(class, &member.name).to_owned()),
        }
    }
    for base in &composite.bases {
        if let Shape::Composite(base) = class.related(base.ty).shape() {
            names_within(&base, depth + 1, names);
        }
    }
}

fn find_within(ty: &Ty, name: &str, depth: usize) -> Lookup {
    let Shape::Composite(class) = ty.shape() else {
        return Lookup::Absent;
    };
    let Some(composite) = class.composite().filter(|_| depth <= NESTING) else {
        return Lookup::Absent;
    };
    let members = composite.members.iter();
    let own = members
        .clone()
        .position(|it| it.name == name || shown_name(&class, &it.name) == name);
    if let Some(index) = own {
        let of = class.related(composite.members[index].ty);
        return Lookup::Found(vec![(Part::Member(class, index), of)]);
    }
    if let Some(index) = composite.statics.iter().position(|it| it.name == name) {
        let of = class.related(composite.statics[index].ty);
        return Lookup::Found(vec![(Part::Static(class, index), of)]);
    }
    for (index, part) in members.enumerate().filter(|(_, it)| it.name.is_empty()) {
        let of = class.related(part.ty);
        let inside = find_within(&of, name, depth + 1);
        if let Some(found) = below(Part::Member(Arc::clone(&class), index), of, inside) {
            return found;
        }
    }
    match in_bases(&class, composite, name, depth) {
        Lookup::Absent => in_variants(&class, composite, name, depth),
        found => found,
    }
}

/// Puts a part before the way inside it; `None` if there is none.
fn below(part: Part, ty: Ty, inside: Lookup) -> Option<Lookup> {
    match inside {
        Lookup::Absent => None,
        Lookup::Found(mut parts) => {
            parts.insert(0, (part, ty));
            Some(Lookup::Found(parts))
        }
        Lookup::Ambiguous(one, other, mut parts) => {
            parts.insert(0, (part, ty));
            Some(Lookup::Ambiguous(one, other, parts))
        }
        Lookup::Depends => Some(Lookup::Depends),
    }
}

fn in_bases(class: &Arc<DwarfTy>, composite: &Composite, name: &str, depth: usize) -> Lookup {
    let mut found: Option<(Ty, Lookup)> = None;
    for (index, base) in composite.bases.iter().enumerate() {
        let of = class.related(base.ty);
        let part = Part::Base(Arc::clone(class), index);
        let is_named = last_component(&of.strip().name()) == name;
        let inside = match is_named {
            true => Lookup::Found(Vec::new()),
            false => find_within(&of, name, depth + 1),
        };
        let Some(here) = below(part, of.clone(), inside) else {
            continue;
        };
        match &found {
            Some((other, Lookup::Found(parts))) if !is_one(parts, &here) => {
                return Lookup::Ambiguous(other.clone(), of, parts.clone());
            }
            Some(_) => {}
            None => found = Some((of, here)),
        }
    }
    found.map_or(Lookup::Absent, |(_, found)| found)
}

/// Returns whether two ways lead to one member: of a virtual base, or a static one.
fn is_one(a: &[(Part, Ty)], b: &Lookup) -> bool {
    let Lookup::Found(b) = b else {
        return false;
    };
    let (Some((last, _)), Some((other, _))) = (a.last(), b.last()) else {
        return false;
    };
    let is_same = match (last.member(), other.member()) {
        (Some(a), Some(b)) => a.id == b.id,
        _ => false,
    };
    let is_shared = |it: &[(Part, Ty)]| {
        let is_virtual = |part: &Part| part.base().is_some_and(|it| it.is_virtual);
        it.iter().any(|(part, _)| is_virtual(part))
    };
    is_same && (matches!(last, Part::Static(..)) || is_shared(a) && is_shared(b))
}

fn in_variants(class: &Arc<DwarfTy>, composite: &Composite, name: &str, depth: usize) -> Lookup {
    let Some(part) = &composite.variants else {
        return Lookup::Absent;
    };
    let mut found = Lookup::Absent;
    for (index, variant) in part.variants.iter().enumerate() {
        let Some(holder) = variant.members.first() else {
            continue;
        };
        let of = class.related(holder.ty);
        let inside = find_within(&of, name, depth + 1);
        let Some(here) = below(Part::Variant(Arc::clone(class), index), of, inside) else {
            continue;
        };
        if !matches!(found, Lookup::Absent) {
            return Lookup::Depends;
        }
        found = here;
    }
    found
}
