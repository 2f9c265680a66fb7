//! What a name means at a place in the code, across the loaded images: the image of the place first,
//! as its source sees it, then what other units and images define.

use crate::images::crate_versions::{self, Choice};
use crate::images::modules::{Loaded, Modules};
use dwarf::{
    Declaration, FileAddr, Function, Language, LoadAddr, Memory, Scope, TypeId, TypeKind, Variable,
    VisiblePaths,
};
use std::sync::Arc;

/// Maximum number of other names of a type that stand for each other.
const MAX_ALIASES: usize = 16;

/// A place in the code, from which names are looked up.
pub(crate) struct CodePlace<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) addr: FileAddr,
    /// The scopes of the frame at the address, outermost first.
    pub(crate) scopes: Vec<&'a Scope>,
    /// The memory of the process, in which the loader has bound the code.
    pub(crate) memory: Option<&'a dyn Memory>,
}

/// A value with static storage that a name means.
pub(crate) enum Static<'a> {
    /// A variable or constant.
    Variable(&'a Loaded, Variable),
    /// A variable that is declared in an image and has storage in another one, at an address.
    Elsewhere(&'a Loaded, Variable, LoadAddr),
    /// A variable that is declared in an image and has storage in another one's thread-local storage, at
    /// an offset.
    ThreadLocal(&'a Loaded, Variable, &'a Loaded, u64),
    /// An enumerator of an enumeration.
    Enumerator(&'a Loaded, TypeId, String),
    /// Functions, by a qualified name.
    Functions(String),
    /// Variables of several crates of one name: the message says which, and how to select one.
    Ambiguous(String),
}

/// Returns whether the C library has a variable of this name that programs use without a declaration
/// in their debug info: `errno` is a macro.
pub(crate) fn is_c_library_variable(name: &str) -> bool {
    matches!(name, "errno" | "environ" | "__environ")
}

impl Loaded {
    /// Returns those of some functions that have a symbol of this name: an alias, like `puts` of
    /// `_IO_puts`. The dynamic loader's own copies are no functions of the program.
    fn by_symbol(&self, name: &str, functions: Vec<Arc<Function>>) -> Vec<Arc<Function>> {
        if self.is_loader() {
            return Vec::new();
        }
        let symbols = self.module.symbols_named(name);
        let is_meant = |function: &Arc<Function>| {
            let mut symbols = symbols.iter().filter(|symbol| symbol.is_code());
            symbols.any(|symbol| symbol.addr == function.entry)
        };
        functions.into_iter().filter(is_meant).collect()
    }
}

impl CodePlace<'_> {
    /// Returns the qualified names that a name may have here.
    pub(crate) fn paths(&self, name: &str) -> VisiblePaths {
        let module = &self.loaded.module;
        module.visible_paths(name, &self.scopes, self.addr)
    }

    /// Returns the classes around the place's function, innermost first.
    pub(crate) fn classes_around(&self) -> Vec<TypeId> {
        let function = self.scopes.first();
        function.map_or_else(Vec::new, |it| self.loaded.module.classes_around(it))
    }

    /// Returns whether the classes and namespaces around the place declare a value or function of that
    /// name, or a block does.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let module = &self.loaded.module;
        let around = || module.value_around(name, &self.scopes, self.addr);
        let mut blocks = self.scopes.iter();
        around().is_some() || blocks.any(|it| module.value_in_block(name, it).is_some())
    }

    /// Returns whether the unit of the place may refer to a function of an image: the function has
    /// external linkage, or is of that unit.
    pub(crate) fn may_refer_to(&self, loaded: &Loaded, function: &Function) -> bool {
        let is_here = || {
            let scope = self.scopes.first();
            let scope = scope.filter(|_| self.loaded.id == loaded.id);
            scope.is_some_and(|scope| scope.id.is_in_unit_of(function.id))
        };
        function.is_external || is_here()
    }

    /// Returns whether the code here is Rust's.
    fn is_of_rust(&self) -> bool {
        self.loaded.module.language_at(self.addr) == Some(Language::Rust)
    }

    /// Returns whether a bare name may mean a variable of an image that the code here does not see. None means a
    /// `static` variable of libc, which has `name`, `e` and `half`; in Rust, none means any variable of it.
    pub(crate) fn may_mean(&self, loaded: &Loaded, variable: &Variable) -> bool {
        let is_foreign = loaded.is_of_the_system() && loaded.id != self.loaded.id;
        !is_foreign || variable.is_external && !self.is_of_rust()
    }

    /// Returns the qualified name of the functions that a name means here.
    pub(crate) fn function_named(&self, name: &str) -> Option<String> {
        let module = &self.loaded.module;
        let mut blocks = self.scopes.iter().rev();
        let declared = blocks.find_map(|scope| module.value_in_block(name, scope));
        match declared.or_else(|| module.value_around(name, &self.scopes, self.addr))? {
            Declaration::Function(name) => Some(name),
            _ => None,
        }
    }
}

/// Returns whether types with a name that a place of C++ does not see are one: `value_type` of one class
/// is not that of another.
fn is_only_one(place: &CodePlace<'_>, loaded: &Loaded, name: &str, all: &[TypeId]) -> bool {
    /// Maximum number of types to compare.
    const COMPARED: usize = 64;
    let here = &place.loaded.module;
    if name.contains("::") || here.language_at(place.addr) != Some(Language::Cpp) {
        return true;
    }
    let qualified = |id: &TypeId| loaded.module.ty(*id).ok().map(|ty| ty.name.clone());
    let mut names = all.iter().take(COMPARED).map(qualified);
    let first = names.next().flatten();
    first.as_deref() == Some(name) || names.all(|it| it == first)
}

/// Returns the file and the name of `'file.c'::name`.
fn parts_of_file_name(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\'')?.split_once("'::")
}

/// Returns the path of the variable that a symbol of Rust is of; `None` if the name is no such symbol.
fn path_of_symbol(name: &str) -> Option<String> {
    let is_symbol = name.starts_with("_ZN") || name.starts_with("_R");
    let path = is_symbol.then(|| dwarf::demangle(name).into_owned());
    path.filter(|it| it != name)
}

/// Returns the qualified names that a name may have at a place.
pub(crate) fn paths_at(place: Option<&CodePlace<'_>>, name: &str) -> VisiblePaths {
    place.map_or_else(|| VisiblePaths::global(name), |place| place.paths(name))
}

impl Modules {
    /// Returns the image of a place first, then all others.
    pub(crate) fn images_from(
        &self,
        place: Option<&CodePlace<'_>>,
    ) -> impl Iterator<Item = &Loaded> {
        let here = place.map(|place| place.loaded.id);
        let first = here.and_then(|id| self.get(id));
        let others = self.loaded.iter();
        first
            .into_iter()
            .chain(others.filter(move |loaded| Some(loaded.id) != here))
    }

    /// Returns what a name means outside the blocks of a place. Its unit decides; then variables of
    /// other units and images, of which those that the place cannot see come last.
    pub(crate) fn static_named<'a>(
        &'a self,
        name: &str,
        place: Option<&CodePlace<'a>>,
    ) -> Option<Static<'a>> {
        if let Some((file, name)) = parts_of_file_name(name) {
            return self.static_of_file(file, name, place);
        }
        if let Some(place) = place {
            let module = &place.loaded.module;
            if let Some(declared) = module.value_around(name, &place.scopes, place.addr) {
                return self.meant(place.loaded, declared, place.memory);
            }
            // A type hides what the unit does not declare.
            if module.is_type_name(name, &place.scopes, place.addr) {
                return None;
            }
        }
        let paths = paths_at(place, name);
        let here = place.map(|place| place.loaded.id);
        let mut hidden = None;
        for loaded in self.images_from(place) {
            let near = place.filter(|_| Some(loaded.id) == here);
            let near = near.map(|place| place.addr);
            let mut found = loaded
                .module
                .statics_visible(name, &paths, near)
                .into_iter();
            let Some(mut first) = found.next() else {
                continue;
            };
            let rivals = found.filter(|it| it.is_visible == first.is_visible);
            let rivals = rivals.map(|it| it.variable).collect();
            match crate_versions::choose(place, loaded, first.variable, rivals) {
                Choice::One(variable) => first.variable = variable,
                Choice::Several(message) => return Some(Static::Ambiguous(message)),
            }
            if first.is_visible {
                return self.seen_from(place, loaded, first.variable);
            }
            if place.is_none_or(|place| place.may_mean(loaded, &first.variable)) {
                hidden = hidden.or(Some((loaded, first.variable)));
            }
        }
        // `::name` is a name of the global namespace alone.
        if let Some((loaded, variable)) = hidden.filter(|_| !name.starts_with("::")) {
            return self.seen_from(place, loaded, variable);
        }
        if let Some(found) = self.member_of_other_unit(name, place) {
            return Some(found);
        }
        if let Some(path) = path_of_symbol(name) {
            return self.images_from(place).find_map(|loaded| {
                let all = loaded.module.statics_named(&path, None).into_iter();
                let mut all = all.filter(|it| it.mangled_name.as_deref() == Some(name));
                self.seen_from(place, loaded, all.next()?)
            });
        }
        self.static_named(&self.respelled(name, place)?, place)
    }

    /// Returns the variable of a name that a file declares: by its last folders and its name.
    fn static_of_file<'a>(
        &'a self,
        file: &str,
        name: &str,
        place: Option<&CodePlace<'a>>,
    ) -> Option<Static<'a>> {
        let is_of_file = |variable: &Variable| {
            let declaration = variable.declaration.as_ref();
            declaration.is_some_and(|it| it.file.path.ends_with(file))
        };
        self.images_from(place).find_map(|loaded| {
            let all = loaded.module.statics_named(name, None).into_iter();
            self.seen_from(place, loaded, all.into_iter().find(is_of_file)?)
        })
    }

    /// Returns how to name the `static` variable of a library of the system that a bare name does not mean, and
    /// the library.
    pub(crate) fn static_of_the_system(&self, name: &str) -> Option<(String, String)> {
        let libraries = self.loaded.iter().filter(|it| it.is_of_the_system());
        libraries.into_iter().find_map(|loaded| {
            let all = loaded.module.statics_named(name, None).into_iter();
            let hidden = all.filter(|it| !it.is_external && it.name == name);
            let file = hidden.into_iter().find_map(|it| it.declaration)?.file;
            let file = file.path.file_name()?.to_string_lossy();
            let library = loaded.module.path().file_name()?.to_string_lossy();
            Some((format!("'{file}'::{name}"), library.into_owned()))
        })
    }

    /// Returns the type that another name of it stands for at a place, by its own name: `double` for `value_type`.
    /// Names that the place does not see have other meanings: many classes have a `value_type`.
    fn aliased(&self, name: &str, place: Option<&CodePlace<'_>>) -> Option<String> {
        let place = place?;
        let loaded = self.get(place.loaded.id)?;
        let id = loaded.module.type_at(name, &place.scopes, place.addr)?;
        let mut ty = loaded.module.ty(id).ok()?;
        if !matches!(ty.kind, TypeKind::Typedef(_)) {
            return None;
        }
        for _ in 0..MAX_ALIASES {
            match ty.kind {
                TypeKind::Typedef(Some(target)) => ty = loaded.module.ty(target).ok()?,
                _ => break,
            }
        }
        let is_named = matches!(
            ty.kind,
            TypeKind::Base(_) | TypeKind::Composite(_) | TypeKind::Enumeration(_)
        );
        let is_other = is_named && !ty.name.is_empty() && *ty.name != *name;
        is_other.then(|| ty.name.to_string())
    }

    /// Returns a name with the arguments of its template as the debug info writes them: other names of types by their
    /// own (`Row<double>` for `Row<value_type>`), enumerators as gcc does (`Value<(Color)5>` for `Value<GREEN>`);
    /// `None` if it has none of these.
    fn respelled(&self, name: &str, place: Option<&CodePlace<'_>>) -> Option<String> {
        let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
        let mut text = String::with_capacity(name.len());
        let (mut rest, mut depth, mut is_other) = (name, 0usize, false);
        while let Some(first) = rest.chars().next() {
            let len = match is_part(first) {
                true => rest.find(|it| !is_part(it)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at_checked(len)?;
            match first {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_argument = depth > 0 && after.starts_with([',', '>', ' ', '*', '&']);
            let may_be = is_argument && (first.is_alphabetic() || first == '_');
            let found = match may_be {
                true => self.static_named(word, place),
                false => None,
            };
            match found {
                Some(Static::Enumerator(loaded, enumeration, name)) => {
                    let ty = loaded.module.ty(enumeration).ok()?;
                    let TypeKind::Enumeration(of) = &ty.kind else {
                        return None;
                    };
                    let value = of.enumerators.iter().find(|it| it.name == name)?.value;
                    text.push_str(&format!("({}){value}", ty.name));
                    is_other = true;
                }
                _ => match may_be.then(|| self.aliased(word, place)).flatten() {
                    Some(other) => {
                        text.push_str(&other);
                        is_other = true;
                    }
                    None => text.push_str(word),
                },
            }
            rest = after;
        }
        is_other.then_some(text)
    }

    /// Returns a static member or enumerator of a class, enumeration or namespace that the unit of a
    /// place does not declare.
    fn member_of_other_unit<'a>(
        &'a self,
        name: &str,
        place: Option<&CodePlace<'a>>,
    ) -> Option<Static<'a>> {
        let memory = place.and_then(|place| place.memory);
        let (path, last) = name.rsplit_once("::")?;
        if path.is_empty() || last.contains('>') {
            return None;
        }
        if let Some((loaded, id)) = self.type_named(path, place)
            && let Some(declared) = loaded.module.member_value(id, last)
        {
            return match declared {
                Declaration::Variable(variable) => self.seen_from(place, loaded, variable),
                declared => self.meant(loaded, declared, memory),
            };
        }
        // Only C++ has enumerators that a namespace qualifies.
        let is_cpp = |place: &CodePlace<'_>| {
            place.loaded.module.language_at(place.addr) == Some(Language::Cpp)
        };
        if !place.is_some_and(is_cpp) {
            return None;
        }
        self.images_from(place).find_map(|loaded| {
            let declared = loaded.module.enumerator_named(name)?;
            self.meant(loaded, declared, memory)
        })
    }

    /// Returns what a declaration of an image means. `memory`: see [`Modules::with_storage`].
    pub(crate) fn meant<'a>(
        &'a self,
        loaded: &'a Loaded,
        declared: Declaration,
        memory: Option<&dyn Memory>,
    ) -> Option<Static<'a>> {
        Some(match declared {
            Declaration::Variable(variable) => self.with_storage(loaded, variable, memory),
            Declaration::Enumerator { enumeration, name } => {
                Static::Enumerator(loaded, enumeration, name)
            }
            Declaration::Function(name) => Static::Functions(name),
            Declaration::Type(_) => return None,
        })
    }

    /// Returns the type that a name means at a place.
    pub(crate) fn type_named(
        &self,
        name: &str,
        place: Option<&CodePlace<'_>>,
    ) -> Option<(&Loaded, TypeId)> {
        if let Some(place) = place
            && let loaded = self.get(place.loaded.id)?
            && let Some(id) = loaded.module.type_at(name, &place.scopes, place.addr)
        {
            return Some((loaded, loaded.module.complete_type(id)));
        }
        let here = place.map(|place| place.loaded.id);
        let found = self.images_from(place).find_map(|loaded| {
            let near = place.filter(|_| Some(loaded.id) == here);
            let near = near.map(|place| place.addr);
            let all = loaded.module.types_named(name, near);
            let id = *all.first()?;
            let is_known = place.is_none_or(|place| is_only_one(place, loaded, name, &all));
            is_known.then_some((loaded, id))
        });
        match found {
            Some(found) => Some(found),
            None => self.type_named(&self.respelled(name, place)?, place),
        }
    }

    /// Returns the address of the code that an image has under a raw symbol.
    pub(crate) fn code_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.loaded
            .iter()
            .find_map(|loaded| Some(loaded.bias.load(loaded.module.code_of_symbol(symbol)?)))
    }

    /// Returns the functions of a name in the first image that has some that can be seen from a
    /// place: those of its unit or with external linkage, as the place's code
    /// calls them; else the first image's others.
    pub(crate) fn functions_seen<'a>(
        &'a self,
        name: &str,
        place: Option<&CodePlace<'a>>,
        sees: impl Fn(&Function) -> bool,
    ) -> Option<(&'a Loaded, Vec<Arc<Function>>)> {
        let paths = paths_at(place, name);
        let mut hidden = None;
        for loaded in self.images_from(place) {
            let mut functions = loaded.module.functions_named(name);
            let rank = |function: &Function| paths.rank_of(&loaded.module, function);
            let nearest = functions.iter().filter_map(|it| rank(it)).min();
            let named = functions.clone();
            match nearest {
                // A path means one scope; overloads of a bare name may be in several.
                Some(_) if name.contains("::") => functions.retain(|it| rank(it) == nearest),
                _ if name.starts_with("::") => functions.clear(),
                _ => functions.retain(|it| sees(it) || rank(it).is_some()),
            }
            if functions.is_empty() && !named.is_empty() {
                functions = loaded.by_symbol(name, named);
            }
            let is_visible = |it: &Arc<Function>| match place {
                Some(place) => place.may_refer_to(loaded, it),
                None => it.is_external,
            };
            if functions.iter().any(is_visible) {
                functions.retain(is_visible);
                let found = (loaded, functions);
                return Some(match place {
                    Some(place) => self.called_from(place, found),
                    None => found,
                });
            }
            // libc has functions of its own with names like `arg` and `skip`, which nobody outside means.
            let is_foreign = loaded.is_of_the_system()
                && !name.contains("::")
                && place.is_some_and(|place| place.loaded.id != loaded.id);
            if hidden.is_none() && !functions.is_empty() && !is_foreign {
                hidden = Some((loaded, functions));
            }
        }
        match hidden {
            Some(hidden) => Some(hidden),
            None => self.functions_seen(&self.respelled(name, place)?, place, sees),
        }
    }
}
