//! The functions that a name means in the code of a program.

use crate::expr::{InlinedFunction, ResolvedFunction};
use crate::images::modules::{Loaded, Modules};
use crate::images::names::CodePlace;
use dwarf::{Function, Language};
use std::sync::Arc;

/// Looks up functions for expressions at a place in the code.
pub(crate) struct FunctionLookup<'a> {
    pub modules: &'a Modules,
    /// The place; `None`: no image has it.
    pub place: Option<CodePlace<'a>>,
    /// The machine code's function there.
    pub function: Option<&'a Function>,
}

impl<'a> FunctionLookup<'a> {
    fn loaded(&self) -> Option<&'a Loaded> {
        Some(self.place.as_ref()?.loaded)
    }

    /// Returns whether `name` alone identifies a function: a whole path always does; a bare name
    /// does not if the function is in a module, class or namespace that the function here is not
    /// in.
    fn sees(&self, name: &str, function: &Function) -> bool {
        if name.contains("::") || function.linkage_name.as_deref() == Some(name) {
            return true;
        }
        let path = match function.name.find('<') {
            Some(0) => return false,
            Some(at) => &function.name[..at],
            None => &function.name,
        };
        let Some(scope) = path.strip_suffix(name) else {
            return false;
        };
        let here = self.function.map_or("", |function| &*function.name);
        // The methods of a trait: `<crate::Type as crate::Trait>::method`.
        here.trim_start_matches('<').starts_with(scope)
    }

    /// Returns how near a function is declared: the number of enclosing names that it shares with
    /// the function here, then whether both are in one file.
    fn nearness(&self, loaded: &Loaded, function: &Function) -> usize {
        let Some(here) = self.function else {
            return 0;
        };
        let shared = function.name.split("::").zip(here.name.split("::"));
        let shared = shared.take_while(|(a, b)| a == b).count();
        let is_here = self.loaded().is_some_and(|it| it.id == loaded.id);
        let file = |it: &Function| it.declaration.as_ref().map(|at| at.file.path.clone());
        2 * shared + usize::from(is_here && file(here) == file(function))
    }

    /// Returns the functions of a name that are visible, all of one image.
    pub fn seen(&self, name: &str) -> Option<(&'a Loaded, Vec<Arc<Function>>)> {
        let place = self.place.as_ref();
        let declared = place.and_then(|place| place.function_named(name));
        // Relative paths of Rust, which no function has as its name.
        let is_relative = ["crate::", "self::", "super::"]
            .iter()
            .any(|it| name.starts_with(it));
        let paths = place.filter(|_| is_relative);
        let paths: Vec<String> = paths
            .map(|place| place.paths(name).texts().collect())
            .unwrap_or_default();
        let names = declared.as_deref().into_iter();
        let names = names.chain(paths.iter().map(String::as_str)).chain([name]);
        let mut found = names.filter_map(|name| {
            let sees = |function: &Function| self.sees(name, function);
            let (loaded, mut functions) = self.modules.functions_seen(name, place, sees)?;
            if !name.contains("::") {
                functions.retain(|it| !is_associated(loaded, it));
            }
            (!functions.is_empty()).then_some((loaded, functions))
        });
        found.next().or_else(|| self.imported(name))
    }

    /// Returns the functions of a bare name in the crate of a Rust function if it has only one of the
    /// name: rustc does not record what `use` imports.
    fn imported(&self, name: &str) -> Option<(&'a Loaded, Vec<Arc<Function>>)> {
        let here = self.function?;
        if here.language != Language::Rust || name.contains("::") {
            return None;
        }
        let loaded = self.loaded()?;
        let mut functions = loaded.module.functions_named(name);
        functions.retain(|it| {
            it.language == Language::Rust
                && crate_of(&it.name) == crate_of(&here.name)
                && !is_associated(loaded, it)
        });
        let path = |function: &Function| {
            let name = function.name.split('<').next();
            name.map(str::to_owned)
        };
        let first = path(functions.first()?).filter(|path| !path.is_empty());
        let is_one = first.is_some() && functions.iter().all(|it| path(it) == first);
        is_one.then_some((loaded, functions))
    }

    /// Returns the functions of a name that an expression can call.
    pub fn callable(&self, name: &str) -> Vec<ResolvedFunction> {
        let Some((loaded, functions)) = self.seen(name) else {
            return Vec::new();
        };
        let functions = functions.into_iter();
        let functions = functions.filter(|it| !loaded.module.is_of_assembler(it));
        let place = self.place.as_ref();
        let resolved = functions.map(|function| ResolvedFunction {
            module: loaded.module.clone(),
            bias: loaded.bias,
            nearness: self.nearness(loaded, &function),
            is_visible: place.is_none_or(|place| place.may_refer_to(loaded, &function)),
            function,
        });
        resolved.collect()
    }

    /// Returns the functions of a name whose calls are inlined: in the image of those with code, or in
    /// that of the place, where a bare name is one of the crate there.
    pub fn inlined(&self, name: &str) -> Vec<InlinedFunction> {
        let seen = self.seen(name).map(|it| it.0);
        let is_meant = |path: &str| {
            let here = self.function.map(|it| crate_of(&it.name));
            seen.is_some() || name.contains("::") || here == Some(crate_of(path))
        };
        let Some(loaded) = seen.or_else(|| self.loaded()) else {
            return Vec::new();
        };
        let functions = loaded.module.inlined_functions(name).into_iter();
        let meant = functions.filter(|it| is_meant(&it.name));
        let found = meant.map(|it| (Arc::clone(&loaded.module), loaded.bias, it));
        found.collect()
    }
}

/// Returns whether a function is one of a type of Rust, which no bare name means, also in the type's own
/// functions.
fn is_associated(loaded: &Loaded, function: &Function) -> bool {
    function.language == Language::Rust && loaded.module.class_of(function).is_some()
}

/// Returns the first component of a function's path: its crate, in Rust.
fn crate_of(path: &str) -> &str {
    let path = path.trim_start_matches('<');
    path.split("::").next().unwrap_or_default()
}
