//! The classes and namespaces around a function, outwards, with the namespaces that using directives
//! make visible at each.

use super::{Lookup, NameSpace};
use crate::entries::units::{MAX_HOPS, flag};
use crate::file::demangle::demangle;
use crate::functions::{Function, Scope};
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::naming::{component_matches, components, squeeze};
use crate::types::TypeId;

/// Maximum number of namespaces that using directives make visible.
const MAX_NOMINATED: usize = 256;

/// The names of a namespace and those around it, outermost first; `None` for an unnamed one.
pub(super) type Path = Vec<Option<&'static [u8]>>;

/// One scope around an entry.
pub(super) struct Enclosing {
    pub(super) die: DieRef,
    name: Option<&'static [u8]>,
    /// Whether the names in it are visible as if they were declared outside: an inline or unnamed
    /// namespace, or an enumeration that is no `enum class`.
    is_transparent: bool,
    pub(super) is_namespace: bool,
}

/// A scope in which an unqualified name is looked up.
pub(super) enum Level {
    /// A class, or a function around a local class.
    Entry(DieRef),
    /// A namespace, and the namespaces whose names appear as if in it.
    Namespace(Path, Vec<Path>),
}

/// The scopes around a function.
pub(super) struct Levels(Vec<Level>);

impl Levels {
    /// Returns the levels, innermost first.
    pub(super) fn outwards(&self) -> impl Iterator<Item = &Level> {
        self.0.iter()
    }

    fn namespaces(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|level| match level {
            Level::Namespace(path, _) => Some(path),
            Level::Entry(_) => None,
        })
    }

    /// Returns the crate of a Rust function.
    pub(super) fn crate_root(&self) -> Option<NameSpace> {
        let innermost = self.namespaces().next()?;
        let root = innermost.first().copied()?;
        Some(NameSpace::Namespace(vec![root]))
    }

    /// Returns the module of a Rust function, or one so many levels further out.
    pub(super) fn module(&self, outwards: usize) -> Option<NameSpace> {
        let is_module = |path: &&Path| {
            let name = path.last().copied().flatten();
            // rustc's namespaces of implementations and closures are no modules.
            name.is_some_and(|name| !name.starts_with(b"{"))
        };
        let path = self.namespaces().filter(is_module).nth(outwards)?;
        Some(NameSpace::Namespace(path.clone()))
    }
}

impl DebugInfo {
    /// Returns the scopes around an entry's declaration, outermost first.
    pub(super) fn enclosing(&self, die: DieRef) -> Vec<Enclosing> {
        let parents = std::iter::successors(self.parent(self.root_origin(die)), |die| {
            // Parents come before their children, so this ends.
            self.parent(self.root_origin(*die))
                .filter(|parent| parent.unit != die.unit || parent.offset < die.offset)
        });
        let enclosing = |die: DieRef| {
            let (unit, entry) = self.entry(die).ok()?;
            let name = self.own_name(unit, &entry);
            let is_namespace =
                matches!(entry.tag(), gimli::DW_TAG_namespace | gimli::DW_TAG_module);
            Some(Enclosing {
                die,
                name,
                is_transparent: match entry.tag() {
                    gimli::DW_TAG_namespace => {
                        name.is_none() || flag(&entry, gimli::DW_AT_export_symbols)
                    }
                    gimli::DW_TAG_enumeration_type => !flag(&entry, gimli::DW_AT_enum_class),
                    _ => false,
                },
                is_namespace,
            })
        };
        let mut all: Vec<Enclosing> = parents
            .take(crate::naming::MAX_NESTING)
            .filter_map(enclosing)
            .collect();
        all.reverse();
        all
    }

    /// Returns whether an entry is declared in a namespace, or in a scope in it that is transparent.
    pub(super) fn is_in(&self, die: DieRef, path: &[Option<&'static [u8]>]) -> bool {
        let around = self.enclosing(die);
        let Some((outer, inner)) = around.split_at_checked(path.len()) else {
            return false;
        };
        outer
            .iter()
            .zip(path)
            .all(|(scope, name)| scope.is_namespace && scope.name == *name)
            && inner.iter().all(|scope| scope.is_transparent)
    }

    /// Returns whether an entry has a qualified name, in which transparent scopes may be omitted.
    pub(super) fn has_path(&self, die: DieRef, path: &[String]) -> bool {
        let Some((last, outer)) = path.split_last() else {
            return false;
        };
        let Ok((unit, entry)) = self.entry(die) else {
            return false;
        };
        let Some(name) = self.inherited_string(unit, &entry, gimli::DW_AT_name) else {
            return false;
        };
        if !component_matches(last, &squeeze(&String::from_utf8_lossy(name))) {
            let full = match last.contains('<') {
                true => self.name_with_arguments(unit, &entry, name),
                false => None,
            };
            if !full.is_some_and(|full| component_matches(last, &squeeze(&full))) {
                return false;
            }
        }
        let mut wanted = outer.iter().rev().peekable();
        for scope in self.enclosing(die).iter().rev() {
            let name = scope.name.map(String::from_utf8_lossy);
            let is_next = wanted.peek().is_some_and(|wanted| {
                name.is_some_and(|name| component_matches(wanted, &squeeze(&name)))
            });
            match is_next {
                true => drop(wanted.next()),
                false if scope.is_transparent => {}
                false => return false,
            }
        }
        wanted.next().is_none()
    }
}

impl Module {
    /// Returns the qualified name of the innermost namespace around a type, empty for the global one.
    /// The name has no inline or unnamed namespaces: a lookup in the namespace around them finds their names, too.
    /// `None` without debug info.
    pub fn namespace_around(&self, ty: TypeId) -> Option<String> {
        let info = self.info()?;
        let (unit, entry) = info.entry(ty.0).ok()?;
        // A type in a type unit is declared outside of its namespace (DWARF 5 §3.1.4).
        let definition = entry.attr_value(gimli::DW_AT_signature);
        let definition = definition.and_then(|value| info.reference(unit, value));
        let around = info.enclosing(definition.unwrap_or(ty.0));
        let named = around.iter().take_while(|scope| scope.is_namespace);
        let named = named.filter(|scope| !scope.is_transparent);
        let names = named.filter_map(|scope| scope.name);
        let names = names.map(String::from_utf8_lossy);
        Some(names.collect::<Vec<_>>().join("::"))
    }

    /// Returns the classes around a function of C++, innermost first: its own, those around that, and
    /// those of the function that a lambda is in.
    pub fn classes_around(&self, function: &Scope) -> Vec<TypeId> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let around = info.enclosing(function.id).into_iter().rev();
        let is_class = |scope: &Enclosing| {
            let entry = info.entry(scope.die);
            entry.is_ok_and(|(_, entry)| {
                matches!(
                    entry.tag(),
                    gimli::DW_TAG_structure_type
                        | gimli::DW_TAG_class_type
                        | gimli::DW_TAG_union_type
                )
            })
        };
        let classes: Vec<Enclosing> = around.filter(is_class).collect();
        let is_unnamed = !classes.is_empty() && classes.iter().all(|scope| scope.name.is_none());
        let mut classes: Vec<TypeId> = classes.iter().map(|scope| TypeId(scope.die)).collect();
        if is_unnamed && let Some(class) = self.class_around_lambda(info, function.id, &classes) {
            classes.push(class);
        }
        classes
    }

    /// Returns the class whose member function has a lambda. clang describes lambdas in optimized code
    /// outside of the function; the symbol has its path.
    fn class_around_lambda(
        &self,
        info: &DebugInfo,
        function: DieRef,
        known: &[TypeId],
    ) -> Option<TypeId> {
        let (unit, entry) = info.entry(function).ok()?;
        let readable = demangle(info.linkage_name(unit, &entry)?);
        let path = components(&readable);
        let is_lambda = |part: &str| ["{lambda", "'lambda"].iter().any(|it| part.starts_with(it));
        let of_function = path.iter().take_while(|part| !is_lambda(part)).count();
        let class = path.get(..of_function.checked_sub(1)?)?.join("::");
        if class.is_empty() {
            return None;
        }
        let mut found = self.types_named(&class, None).into_iter();
        let is_it = |id: &TypeId| self.ty(*id).is_ok_and(|ty| ty.name == class);
        found.find(|id| is_it(id) && !known.contains(id))
    }
}

impl Lookup<'_> {
    /// Returns the names of the namespaces around an entry.
    pub(super) fn path_around(&self, die: DieRef) -> Path {
        let around = self.info.enclosing(die);
        around.iter().map(|scope| scope.name).collect()
    }

    /// Returns the classes and namespaces around the function of `scopes`, which are the scopes at a
    /// place, outermost first.
    pub(super) fn levels(&self, scopes: &[&Scope]) -> Levels {
        let around = match scopes.first() {
            Some(function) => self.info.enclosing(function.id),
            None => Vec::new(),
        };
        let innermost = around.iter().take_while(|scope| scope.is_namespace);
        let innermost: Path = innermost.map(|scope| scope.name).collect();
        let nominated = self.nominated_from(&innermost, scopes);
        let level = |path: &[Option<&'static [u8]>]| {
            let meets = |(depth, _): &&(usize, Path)| *depth == path.len();
            let nominated = nominated.iter().filter(meets);
            let nominated = nominated.map(|(_, path)| path.clone());
            Level::Namespace(path.to_vec(), nominated.collect())
        };
        let mut levels = Vec::with_capacity(around.len() + 1);
        for (at, scope) in around.iter().enumerate().rev() {
            levels.push(match innermost.get(..=at) {
                Some(path) if scope.is_namespace => level(path),
                _ => Level::Entry(scope.die),
            });
        }
        levels.push(level(&[]));
        Levels(levels)
    }

    /// Returns the namespaces that using directives nominate at a place, each with the depth of the
    /// namespace that its names appear in: the innermost that encloses both the directive and the
    /// namespace.
    fn nominated_from(&self, innermost: &Path, scopes: &[&Scope]) -> Vec<(usize, Path)> {
        let mut direct: Vec<(usize, Path)> = Vec::new();
        for scope in scopes {
            let targets = self.directives_in_block(scope).into_iter();
            direct.extend(targets.map(|path| (innermost.len(), path)));
        }
        for directive in self.directives() {
            let site = self.path_around(directive);
            let is_visible = innermost.starts_with(&site)
                || (0..=innermost.len()).any(|depth| {
                    let path = innermost.get(..depth).unwrap_or_default();
                    self.info.is_in(directive, path)
                });
            if is_visible && let Some(path) = self.target_of(directive) {
                direct.push((site.len().min(innermost.len()), path));
            }
        }
        let mut all: Vec<(usize, Path)> = Vec::new();
        while let Some((site, path)) = direct.pop() {
            let common = path.iter().zip(innermost).take_while(|(a, b)| a == b);
            let depth = common.count().min(site);
            if all.len() >= MAX_NOMINATED || all.contains(&(depth, path.clone())) {
                continue;
            }
            // Directives in a nominated namespace count as if they were beside the first one.
            let further = self.nominated_directly_by(&path).into_iter();
            direct.extend(further.map(|path| (site, path)));
            all.push((depth, path));
        }
        all
    }

    /// Returns the namespaces whose names a namespace has by using directives, those of nominated
    /// namespaces included.
    pub(super) fn nominated_by(&self, path: &Path) -> Vec<Path> {
        let mut all: Vec<Path> = Vec::new();
        let mut open = self.nominated_directly_by(path);
        while let Some(next) = open.pop() {
            if all.len() < MAX_NOMINATED && !all.contains(&next) && next != *path {
                open.extend(self.nominated_directly_by(&next));
                all.push(next);
            }
        }
        all
    }

    fn nominated_directly_by(&self, path: &Path) -> Vec<Path> {
        let here = self.directives();
        let here = here.filter(|directive| self.info.is_in(*directive, path));
        here.filter_map(|directive| self.target_of(directive))
            .collect()
    }

    fn directives(&self) -> impl Iterator<Item = DieRef> {
        let unit = self.unit.index;
        let directives = self.names().directives();
        directives
            .map(move |offset| DieRef { unit, offset })
            .take(MAX_NOMINATED)
    }

    /// Returns the namespace that a using directive nominates.
    pub(super) fn target_of(&self, directive: DieRef) -> Option<Path> {
        match self.space_of(self.imported(directive)?)? {
            NameSpace::Namespace(path) => Some(path),
            NameSpace::Type(_) => None,
        }
    }

    /// Returns the entry that an import leads to, through aliases of aliases.
    pub(super) fn imported(&self, die: DieRef) -> Option<DieRef> {
        let mut die = die;
        for _ in 0..MAX_HOPS {
            let (unit, entry) = self.info.entry(die).ok()?;
            match entry.attr_value(gimli::DW_AT_import) {
                Some(target) => die = self.info.reference(unit, target)?,
                None => return Some(die),
            }
        }
        None
    }
}

/// The qualified names that a name may have at a place, nearest first.
#[derive(Clone, Debug, Default)]
pub struct VisiblePaths(Vec<Vec<String>>);

impl VisiblePaths {
    /// Returns the one path of a name outside all scopes.
    pub fn global(name: &str) -> VisiblePaths {
        VisiblePaths(vec![parts_of(name)])
    }

    pub(super) fn of(name: &str, levels: &Levels, language: Language) -> VisiblePaths {
        let parts = parts_of(name);
        if name.trim_start().starts_with("::") {
            return VisiblePaths(vec![parts]);
        }
        let mut outer = parts.iter().take_while(|part| *part == "super").count();
        let first = parts.first().map_or("", String::as_str);
        let relative = match (language, first) {
            (Language::Rust, "crate") => levels.crate_root(),
            (Language::Rust, "self") => levels.module(0),
            (Language::Rust, "super") => levels.module(outer),
            _ => {
                outer = 0;
                None
            }
        };
        if let Some(NameSpace::Namespace(path)) = relative {
            let rest = parts.get(outer.max(1)..).unwrap_or_default();
            return VisiblePaths(vec![joined(&path, rest)]);
        }
        let mut all = Vec::new();
        for level in levels.outwards() {
            if let Level::Namespace(path, nominated) = level {
                all.push(joined(path, &parts));
                all.extend(nominated.iter().map(|path| joined(path, &parts)));
            }
        }
        VisiblePaths(all)
    }

    /// Returns the number of the first path that an entry has.
    pub(crate) fn rank(&self, info: &DebugInfo, die: DieRef) -> Option<usize> {
        self.0.iter().position(|path| info.has_path(die, path))
    }

    /// Returns the number of the first of the names that a function of a module has.
    pub fn rank_of(&self, module: &Module, function: &Function) -> Option<usize> {
        self.rank(module.info()?, function.id)
    }

    /// Returns the paths as text.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|path| path.join("::"))
    }
}

fn parts_of(name: &str) -> Vec<String> {
    let name = name.trim();
    let name = name.strip_prefix("::").unwrap_or(name);
    components(name).into_iter().map(squeeze).collect()
}

fn joined(path: &Path, parts: &[String]) -> Vec<String> {
    // An unnamed namespace need not be written.
    let names = path.iter().flatten();
    let names = names.map(|name| squeeze(&String::from_utf8_lossy(name)));
    names.chain(parts.iter().cloned()).collect()
}
