//! What a name means at a place in the code, by the scoping rules of its language: from the
//! innermost block outwards through classes with their bases and through namespaces, with using
//! declarations, using directives, aliases, and inline and unnamed namespaces.
//!
//! Only the unit of the place is read: it declares what its source sees. What compilers leave out of
//! a unit is found by [`VisiblePaths`] in the index of all units.

mod levels;
mod members;

use crate::entries::units::{Unit, flag};
use crate::functions::Scope;
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::addr::FileAddr;
use crate::ids::{DieRef, Language};
use crate::index::mentions::Mentions;
use crate::index::unit_names::UnitNames;
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::naming::{Key, components, squeeze, without_arguments};
use crate::types::TypeId;
use levels::{Levels, Path};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

pub use levels::VisiblePaths;

/// Maximum number of entries that one lookup compares.
const MAX_ENTRIES: u32 = 1 << 18;

/// Maximum number of units that are read for an enumerator.
const MAX_MENTIONING: usize = 16;

/// What a name declares.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A variable with static storage, a static member, or a constant. Its definition, unless
    /// another module has it.
    Variable(Variable),
    /// An enumerator.
    Enumerator {
        /// Its enumeration.
        enumeration: TypeId,
        /// Its name.
        name: String,
    },
    /// A type.
    Type(TypeId),
    /// One function or several, by their qualified name.
    Function(String),
}

/// The kinds of entities that a lookup considers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Variables, enumerators and functions.
    Values,
    Types,
    /// What may be followed by `::`.
    Scopes,
}

impl Wanted {
    fn includes(self, tag: gimli::DwTag) -> bool {
        match tag {
            gimli::DW_TAG_variable
            | gimli::DW_TAG_member
            | gimli::DW_TAG_enumerator
            | gimli::DW_TAG_subprogram
            | gimli::DW_TAG_template_value_parameter => self == Wanted::Values,
            gimli::DW_TAG_namespace | gimli::DW_TAG_module => self == Wanted::Scopes,
            tag if is_type(tag) => self != Wanted::Values,
            _ => false,
        }
    }
}

/// Returns whether a tag is that of a type that a declaration gives a name.
fn is_type(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_typedef
            | gimli::DW_TAG_template_alias
            | gimli::DW_TAG_base_type
            | gimli::DW_TAG_unspecified_type
    )
}

/// An entity that may be followed by `::`.
enum NameSpace {
    Namespace(Path),
    /// A class or enumeration.
    Type(DieRef),
}

/// A lookup from one place.
struct Lookup<'a> {
    module: &'a Module,
    info: &'a DebugInfo,
    unit: &'a Unit,
    /// Read on first use: blocks and classes need none.
    names: OnceCell<Arc<UnitNames>>,
    /// Those of the units that it imports, by their numbers.
    imported_names: OnceCell<Vec<(u32, Arc<UnitNames>)>>,
    /// Number of entries compared.
    compared: Cell<u32>,
}

impl Module {
    /// Returns the value that a name declares around a place: outside its blocks, that is, in the
    /// classes and namespaces around its function, and in what they import. `scopes` are those of
    /// the frame at `addr`, outermost first, as in [`crate::FunctionFrame`]. `None` if the unit does
    /// not declare it.
    pub fn value_around(
        &self,
        name: &str,
        scopes: &[&Scope],
        addr: FileAddr,
    ) -> Option<Declaration> {
        let lookup = Lookup::at(self, scopes, addr)?;
        lookup.declaration(lookup.resolve(name, scopes, Wanted::Values)?, name)
    }

    /// Returns the value that one block declares by other means than a variable: an enumerator, a
    /// using declaration, a template argument.
    pub fn value_in_block(&self, name: &str, scope: &Scope) -> Option<Declaration> {
        let is_empty = scope.declarations.is_empty() && !scope.is_instance;
        if is_empty || name.contains("::") {
            return None;
        }
        let info = self.info()?;
        let lookup = Lookup::of_unit(self, info, info.whole(scope.id.unit)?);
        lookup.declaration(
            lookup.in_block(scope, &squeeze(name), Wanted::Values)?,
            name,
        )
    }

    /// Returns the type that one block declares with a name: a type in it, or a template or generic
    /// argument. `None` if it declares none.
    pub fn type_in_block(&self, name: &str, scope: &Scope) -> Option<TypeId> {
        let is_empty = scope.declarations.is_empty() && !scope.is_instance;
        if is_empty || name.contains("::") {
            return None;
        }
        let info = self.info()?;
        let lookup = Lookup::of_unit(self, info, info.whole(scope.id.unit)?);
        let found = lookup.in_block(scope, &squeeze(name), Wanted::Types)?;
        Some(TypeId(lookup.argument_of(found)))
    }

    /// Returns the type that a name declares at a place, as [`Module::value_around`] does for
    /// values; here the blocks are included.
    pub fn type_at(&self, name: &str, scopes: &[&Scope], addr: FileAddr) -> Option<TypeId> {
        let lookup = Lookup::at(self, scopes, addr)?;
        lookup
            .resolve(name, scopes, Wanted::Types)
            .map(|die| TypeId(lookup.argument_of(die)))
    }

    /// Returns whether a name alone is that of a type at a place: in C, only typedefs are named
    /// without a keyword.
    pub fn is_type_name(&self, name: &str, scopes: &[&Scope], addr: FileAddr) -> bool {
        let found = || {
            let lookup = Lookup::at(self, scopes, addr)?;
            let die = lookup.resolve(name, scopes, Wanted::Types)?;
            let (unit, entry) = lookup.info.entry(die).ok()?;
            Some(unit.language != Language::C || entry.tag() == gimli::DW_TAG_typedef)
        };
        found().unwrap_or(false)
    }

    /// Returns a static member, an enumerator or a member function of a class or enumeration by
    /// name, also from its bases.
    pub fn member_value(&self, class: TypeId, name: &str) -> Option<Declaration> {
        let info = self.info()?;
        let lookup = Lookup::of_unit(self, info, info.whole(class.0.unit)?);
        let class = lookup.class_of(class.0)?;
        let found = lookup.in_type(class, &squeeze(name), Wanted::Values, 0)?;
        lookup.declaration(found, name)
    }

    /// Returns the enumerator with a qualified name from the units that mention it.
    pub fn enumerator_named(&self, name: &str) -> Option<Declaration> {
        let info = self.info()?;
        let paths = VisiblePaths::global(name);
        let last = components(name.trim()).pop().map(squeeze)?;
        let key = Key::of(&last);
        let Mentions::Units(units) = info.units_mentioning(key) else {
            return None;
        };
        let is_enumerator = |die: &DieRef| {
            let entry = info.entry(*die);
            entry.is_ok_and(|(_, entry)| entry.tag() == gimli::DW_TAG_enumerator)
                && paths.rank(info, *die).is_some()
        };
        units.into_iter().take(MAX_MENTIONING).find_map(|unit| {
            let lookup = Lookup::of_unit(self, info, info.whole(unit)?);
            let found = lookup.entries_named(key.hash).find(is_enumerator)?;
            lookup.declaration(found, name)
        })
    }

    /// Returns the qualified names that a name may have at a place.
    pub fn visible_paths(&self, name: &str, scopes: &[&Scope], addr: FileAddr) -> VisiblePaths {
        let Some(lookup) = Lookup::at(self, scopes, addr) else {
            return VisiblePaths::global(name);
        };
        let levels = lookup.levels(scopes);
        VisiblePaths::of(name, &levels, lookup.unit.language)
    }
}

impl<'a> Lookup<'a> {
    fn at(module: &'a Module, scopes: &[&Scope], addr: FileAddr) -> Option<Lookup<'a>> {
        let info = module.info()?;
        // An inlined function may be of another unit.
        let unit = match scopes.first() {
            Some(scope) => info.root_origin(scope.id).unit,
            None => info.unit_at(addr.0)?,
        };
        Some(Lookup::of_unit(module, info, info.whole(unit)?))
    }

    fn of_unit(module: &'a Module, info: &'a DebugInfo, unit: &'a Unit) -> Lookup<'a> {
        Lookup {
            module,
            info,
            unit,
            names: OnceCell::new(),
            imported_names: OnceCell::new(),
            compared: Cell::new(0),
        }
    }

    fn names(&self) -> &UnitNames {
        let read = || self.module.unit_names(self.info, self.unit);
        self.names.get_or_init(read)
    }

    /// Returns the names of the units that the unit imports.
    fn imported_names(&self) -> &[(u32, Arc<UnitNames>)] {
        self.imported_names.get_or_init(|| {
            let units = self.info.imported_by(self.unit).into_iter();
            let names = units.filter_map(|index| {
                let unit = self.info.whole(index)?;
                Some((index, self.module.unit_names(self.info, unit)))
            });
            names.collect()
        })
    }

    /// Returns whether another entry may be compared.
    fn one_more(&self) -> bool {
        self.compared.set(self.compared.get() + 1);
        self.compared.get() <= MAX_ENTRIES
    }

    /// Finds the entry that a name declares.
    fn resolve(&self, name: &str, scopes: &[&Scope], wanted: Wanted) -> Option<DieRef> {
        let find = || self.resolve_now(name, scopes, wanted);
        match scopes.last() {
            // The innermost scope determines the others.
            Some(scope) => self.module.resolved(scope.id, wanted as u8, name, find),
            None => find(),
        }
    }

    fn resolve_now(&self, name: &str, scopes: &[&Scope], wanted: Wanted) -> Option<DieRef> {
        let levels = self.levels(scopes);
        let mut parts: Vec<String> = components(name.trim()).into_iter().map(squeeze).collect();
        let last = parts.pop()?;
        let mut parts = parts.iter().map(String::as_str);
        let mut space = match parts.next() {
            None => return self.unqualified(&last, wanted, scopes, &levels),
            Some("") => NameSpace::Namespace(Path::default()),
            Some("crate") if self.unit.language == Language::Rust => levels.crate_root()?,
            Some("self") if self.unit.language == Language::Rust => levels.module(0)?,
            Some("super") if self.unit.language == Language::Rust => {
                let mut outwards = 1;
                let mut rest = parts.clone();
                while rest.next() == Some("super") {
                    outwards += 1;
                    parts.next();
                }
                levels.module(outwards)?
            }
            Some(first) => {
                self.space_of(self.unqualified(first, Wanted::Scopes, scopes, &levels)?)?
            }
        };
        for part in parts {
            space = self.space_of(self.in_space(&space, part, Wanted::Scopes)?)?;
        }
        self.in_space(&space, &last, wanted)
    }

    fn unqualified(
        &self,
        name: &str,
        wanted: Wanted,
        scopes: &[&Scope],
        levels: &Levels,
    ) -> Option<DieRef> {
        // Values of blocks are interleaved with its variables, so they are asked for one by one.
        let blocks = scopes.iter().rev().filter(|_| wanted != Wanted::Values);
        let mut in_blocks = blocks.filter_map(|scope| self.in_block(scope, name, wanted));
        if let Some(found) = in_blocks.next() {
            return Some(found);
        }
        for level in levels.outwards() {
            let found = match level {
                levels::Level::Entry(die) => self.in_type(*die, name, wanted, 0),
                levels::Level::Namespace(path, nominated) => {
                    let direct = self.in_namespace(path, name, wanted);
                    direct.or_else(|| {
                        let mut nominated = nominated.iter();
                        nominated.find_map(|path| self.in_namespace(path, name, wanted))
                    })
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn in_space(&self, space: &NameSpace, name: &str, wanted: Wanted) -> Option<DieRef> {
        match space {
            NameSpace::Type(die) => self.in_type(*die, name, wanted, 0),
            NameSpace::Namespace(path) => self.in_namespace(path, name, wanted).or_else(|| {
                // Using directives count only if the namespace itself does not have the name.
                let mut nominated = self.nominated_by(path).into_iter();
                nominated.find_map(|path| self.in_namespace(&path, name, wanted))
            }),
        }
    }

    /// Returns an entry as what may be followed by `::`.
    fn space_of(&self, die: DieRef) -> Option<NameSpace> {
        let (unit, entry) = self.info.entry(die).ok()?;
        match entry.tag() {
            gimli::DW_TAG_namespace | gimli::DW_TAG_module => {
                let mut path = self.path_around(die);
                path.push(self.info.own_name(unit, &entry));
                Some(NameSpace::Namespace(path))
            }
            _ => self.class_of(die).map(NameSpace::Type),
        }
    }

    /// Returns what an entry declares that a name led to.
    fn declaration(&self, die: DieRef, name: &str) -> Option<Declaration> {
        let (unit, entry) = self.info.entry(die).ok()?;
        Some(match entry.tag() {
            gimli::DW_TAG_enumerator => Declaration::Enumerator {
                enumeration: TypeId(self.info.parent(die)?),
                name: String::from_utf8_lossy(self.info.own_name(unit, &entry)?).into_owned(),
            },
            gimli::DW_TAG_subprogram => {
                // As it was written: other instances of a template have the same scope.
                let mut scope = self.info.enclosing_name(unit, &entry);
                let mut parts = components(name);
                // A name of the global namespace remains one.
                let is_global = parts.len() == 2 && parts.first().is_some_and(|it| it.is_empty());
                let name = match is_global {
                    true => name,
                    false => parts.pop().unwrap_or(name),
                };
                if let Some(class) = parts.pop()
                    && class == without_arguments(class)
                {
                    let last = components(&scope).pop().unwrap_or_default();
                    let arguments = last.len() - without_arguments(last).len();
                    scope.truncate(scope.len() - arguments);
                }
                Declaration::Function(match &*scope {
                    "" => name.to_owned(),
                    scope => format!("{scope}::{name}"),
                })
            }
            tag if is_type(tag) => Declaration::Type(TypeId(die)),
            _ => Declaration::Variable(self.definition(die)?),
        })
    }

    /// Returns a variable's definition, or its declaration if the module has no other.
    fn definition(&self, die: DieRef) -> Option<Variable> {
        let (unit, entry) = self.info.entry(die).ok()?;
        let read = |die: DieRef| {
            let (unit, entry) = self.info.entry(die).ok()?;
            self.info.read_variable(unit, &entry, VariableKind::Static)
        };
        if self.has_value(unit, &entry) || !flag(&entry, gimli::DW_AT_declaration) {
            return read(die);
        }
        let name = self
            .info
            .inherited_string(unit, &entry, gimli::DW_AT_name)?;
        let name = String::from_utf8_lossy(name);
        let key = crate::naming::Key::of(&name);
        let is_definition = |candidate: &DieRef| {
            *candidate != die
                && self.info.root_origin(*candidate) == die
                && (self.info.entry(*candidate))
                    .is_ok_and(|(unit, entry)| self.has_value(unit, &entry))
        };
        let mut here = self.entries_named(key.hash);
        if let Some(found) = here.find(is_definition) {
            return read(found);
        }
        let qualified = self.info.qualified_name_of(unit, &entry);
        let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
            let is_definition = |found: &DieRef| {
                let entry = info.entry(*found);
                entry.is_ok_and(|(unit, entry)| {
                    info.inherited(unit, &entry, gimli::DW_AT_external)
                        .is_some()
                        && info.qualified_name_of(unit, &entry) == qualified
                })
            };
            dies.retain(|found| *found != die && is_definition(found));
            dies
        };
        let near = Some(die.unit);
        let found = self
            .module
            .find_names(|index| &index.statics, key, near, look);
        match found.first() {
            Some(found) => read(*found),
            None => read(die),
        }
    }

    /// Returns the entries outside functions with a key, of the unit and then of those that it imports.
    fn entries_named(&self, key: u32) -> impl Iterator<Item = DieRef> {
        let unit = self.unit.index;
        let offsets = self.names().get(key);
        let own = offsets.map(move |offset| DieRef { unit, offset });
        let imported = std::iter::once_with(|| self.imported_names()).flatten();
        own.chain(imported.flat_map(move |(unit, names)| {
            let offsets = names.get(key);
            offsets.map(|offset| DieRef {
                unit: *unit,
                offset,
            })
        }))
    }
}
