//! Names declared directly in a namespace, a class or a block.

use super::levels::Path;
use super::{Lookup, Wanted};
use crate::entries::children::Children;
use crate::entries::units::{Entry, MAX_HOPS, Unit, flag};
use crate::functions::Scope;
use crate::functions::scopes::declares;
use crate::ids::DieRef;
use crate::naming::{component_matches, key, squeeze};
use crate::types::TypeId;

/// Maximum depth of a class hierarchy.
const MAX_BASES: usize = 64;

impl Lookup<'_> {
    /// Returns the entry that a namespace declares with a name, its transparent scopes included.
    /// Definitions come before declarations.
    pub(super) fn in_namespace(&self, path: &Path, name: &str, wanted: Wanted) -> Option<DieRef> {
        let hash = key(name.as_bytes());
        let mut declared = None;
        for die in self.entries_named(hash) {
            if !self.one_more() {
                break;
            }
            let Ok((unit, entry)) = self.info.entry(die) else {
                continue;
            };
            let is_import = entry.tag() == gimli::DW_TAG_imported_declaration;
            let Some(target) = self.import_target(die, &entry) else {
                continue;
            };
            let Ok((target_unit, target_entry)) = self.info.entry(target) else {
                continue;
            };
            if !wanted.includes(target_entry.tag()) || !self.info.is_in(die, path) {
                continue;
            }
            let is_named = match is_import && entry.has_attr(gimli::DW_AT_name) {
                true => self.is_named(unit, &entry, name),
                false => self.is_named(target_unit, &target_entry, name),
            };
            if !is_named {
                continue;
            }
            if self.is_definition(target_unit, &target_entry) {
                return Some(target);
            }
            declared = declared.or(Some(target));
        }
        declared
    }

    fn import_target(&self, die: DieRef, entry: &Entry) -> Option<DieRef> {
        match entry.tag() {
            gimli::DW_TAG_imported_declaration => self.imported(die),
            _ => Some(die),
        }
    }

    fn is_definition(&self, unit: &Unit, entry: &Entry) -> bool {
        match entry.tag() {
            gimli::DW_TAG_variable | gimli::DW_TAG_member => self.has_value(unit, entry),
            _ => !flag(entry, gimli::DW_AT_declaration),
        }
    }

    /// Returns whether a variable has a location or a constant value.
    pub(super) fn has_value(&self, unit: &Unit, entry: &Entry) -> bool {
        let place = self.info.inherited(unit, entry, gimli::DW_AT_location);
        place.is_some() || self.info.constant_of(unit, entry).is_some()
    }

    /// Returns whether an entry has a name, whose template arguments may be omitted.
    fn is_named(&self, unit: &Unit, entry: &Entry, wanted: &str) -> bool {
        let Some(name) = self.info.inherited_string(unit, entry, gimli::DW_AT_name) else {
            return false;
        };
        if name == wanted.as_bytes() {
            return true;
        }
        // Most names have another key, and are not compared.
        if name.is_empty() || key(name) != key(wanted.as_bytes()) {
            return false;
        }
        let text = String::from_utf8_lossy(name);
        if component_matches(wanted, &squeeze(&text)) {
            return true;
        }
        let full = self.info.name_with_arguments(unit, entry, name);
        full.is_some_and(|full| component_matches(wanted, &squeeze(&full)))
    }

    /// Returns the class or enumeration that a type is, through typedefs and qualifiers, complete if
    /// the module has its definition.
    pub(super) fn class_of(&self, die: DieRef) -> Option<DieRef> {
        let mut die = self.argument_of(die);
        for _ in 0..MAX_HOPS {
            let (unit, entry) = self.info.entry(die).ok()?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_template_alias
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type => {
                    die = self
                        .info
                        .reference(unit, entry.attr_value(gimli::DW_AT_type)?)?;
                }
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_interface_type
                | gimli::DW_TAG_enumeration_type => {
                    return Some(self.module.complete_type(TypeId(die)).0);
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the type that a template parameter stands for; other entries as they are.
    pub(super) fn argument_of(&self, die: DieRef) -> DieRef {
        let Ok((unit, entry)) = self.info.entry(die) else {
            return die;
        };
        if entry.tag() != gimli::DW_TAG_template_type_parameter {
            return die;
        }
        let ty = entry.attr_value(gimli::DW_AT_type);
        let ty = ty.and_then(|ty| self.info.reference(unit, ty));
        ty.unwrap_or(die)
    }

    /// Returns the entry that a class, its bases, an enumeration, or a function around a local class
    /// declares with a name.
    pub(super) fn in_type(
        &self,
        die: DieRef,
        name: &str,
        wanted: Wanted,
        depth: usize,
    ) -> Option<DieRef> {
        let mut bases = Vec::new();
        let die = match self.info.entry(die).ok()?.1.tag() {
            gimli::DW_TAG_subprogram => die,
            _ => self.module.complete_type(TypeId(die)).0,
        };
        let (unit, entry) = self.info.entry(die).ok()?;
        let is_function = entry.tag() == gimli::DW_TAG_subprogram;
        let mut children = Children::of(unit, &entry).ok()??;
        while let Ok(Some(child)) = children.next()
            && self.one_more()
        {
            if child.tag() == gimli::DW_TAG_inheritance {
                let ty = child.attr_value(gimli::DW_AT_type);
                bases.extend(ty.and_then(|ty| self.info.reference(unit, ty)));
            } else if (!is_function || declares(child.tag()))
                && let Some(found) = self.declared_by(unit, child, name, wanted)
            {
                return Some(found);
            }
        }
        if depth >= MAX_BASES {
            return None;
        }
        bases.into_iter().find_map(|base| {
            let base = self.class_of(base).filter(|base| *base != die)?;
            self.in_type(base, name, wanted, depth + 1)
        })
    }

    /// Returns what a block or function declares with a name by other means than a variable.
    pub(super) fn in_block(&self, scope: &Scope, name: &str, wanted: Wanted) -> Option<DieRef> {
        let declared = scope.declarations.iter().find_map(|die| {
            let (unit, entry) = self.info.entry(*die).ok()?;
            self.declared_by(unit, &entry, name, wanted)
        });
        if declared.is_some() || !scope.is_instance {
            return declared;
        }
        let mut origins = self.origins(scope.id);
        origins.find_map(|origin| self.in_origin(origin, name, wanted))
    }

    /// Returns the abstract instance and the declaration of a block or function: a copy need not
    /// repeat what they declare.
    fn origins(&self, die: DieRef) -> impl Iterator<Item = DieRef> {
        let origin = |die: &DieRef| {
            let (unit, entry) = self.info.entry(*die).ok()?;
            self.info.origin(unit, &entry)
        };
        std::iter::successors(origin(&die), origin).take(MAX_HOPS)
    }

    fn in_origin(&self, origin: DieRef, name: &str, wanted: Wanted) -> Option<DieRef> {
        let (unit, entry) = self.info.entry(origin).ok()?;
        let mut children = Children::of(unit, &entry).ok()??;
        while let Ok(Some(child)) = children.next()
            && self.one_more()
        {
            if declares(child.tag())
                && let Some(found) = self.declared_by(unit, child, name, wanted)
            {
                return Some(found);
            }
        }
        None
    }

    /// Returns the namespaces that using directives of a block nominate.
    pub(super) fn directives_in_block(&self, scope: &Scope) -> Vec<Path> {
        let mut dies: Vec<DieRef> = scope.declarations.clone();
        let origins = self.origins(scope.id).filter(|_| scope.is_instance);
        for origin in origins {
            let Ok((unit, entry)) = self.info.entry(origin) else {
                break;
            };
            let mut children = Children::of(unit, &entry).ok().flatten();
            while let Some(Ok(Some(child))) = children.as_mut().map(Children::next)
                && self.one_more()
            {
                if child.tag() == gimli::DW_TAG_imported_module {
                    dies.push(unit.die(child.offset()));
                }
            }
        }
        let is_directive = |die: &DieRef| {
            let entry = self.info.entry(*die);
            entry.is_ok_and(|(_, entry)| entry.tag() == gimli::DW_TAG_imported_module)
        };
        let directives = dies.into_iter().filter(is_directive);
        directives.filter_map(|die| self.target_of(die)).collect()
    }

    /// Returns what an entry in a class or block declares with a name: itself, an enumerator in it,
    /// or what it imports.
    fn declared_by(
        &self,
        unit: &Unit,
        entry: &Entry,
        name: &str,
        wanted: Wanted,
    ) -> Option<DieRef> {
        let die = unit.die(entry.offset());
        match entry.tag() {
            gimli::DW_TAG_imported_declaration => {
                let target = self.imported(die)?;
                let (target_unit, target_entry) = self.info.entry(target).ok()?;
                let is_named = match entry.has_attr(gimli::DW_AT_name) {
                    true => self.is_named(unit, entry, name),
                    false => self.is_named(target_unit, &target_entry, name),
                };
                (is_named && wanted.includes(target_entry.tag())).then_some(target)
            }
            gimli::DW_TAG_enumeration_type
                if wanted == Wanted::Values && !flag(entry, gimli::DW_AT_enum_class) =>
            {
                let mut enumerators = Children::of(unit, entry).ok()??;
                while let Ok(Some(enumerator)) = enumerators.next()
                    && self.one_more()
                {
                    if enumerator.tag() == gimli::DW_TAG_enumerator
                        && self.info.own_name(unit, enumerator) == Some(name.as_bytes())
                    {
                        return Some(unit.die(enumerator.offset()));
                    }
                }
                None
            }
            // Since version 5 a static member is a variable.
            gimli::DW_TAG_member
                if !flag(entry, gimli::DW_AT_external)
                    && !flag(entry, gimli::DW_AT_declaration) =>
            {
                None
            }
            gimli::DW_TAG_template_type_parameter => {
                let is_type = wanted != Wanted::Values && entry.has_attr(gimli::DW_AT_type);
                (is_type && self.is_named(unit, entry, name)).then_some(die)
            }
            tag => (wanted.includes(tag) && self.is_named(unit, entry, name)).then_some(die),
        }
    }
}
