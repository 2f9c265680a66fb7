//! Name lookup for conditions and messages when a breakpoint is bound, so that a mistake is
//! reported when it is set. It uses debug info only; the process is not read.

use crate::compile::{CodeScope, Scope};
use crate::expr::check::{self, Leaf, Use};
use crate::expr::evaluate::DEREFERENCES;
use crate::expr::header_constants;
use crate::expr::ir::Storage;
use crate::expr::query::words::why_no_value;
use crate::expr::tree::Node;
use crate::expr::types::named_by;
use crate::expr::{Expression, InlinedFunction, Meaning, NameRef, ResolvedFunction, nearest};
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::images::modules::{Loaded, Modules};
use crate::images::names::is_c_library_variable;
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::{Shape, Ty};
use crate::inspect::visualize::objc::class::is_instance;
use crate::stops::breakpoint::problem::{Problem, ProblemKind};
use dwarf::{CTypes, Language, LoadAddr, Module, Variable};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Maximum number of locations of a breakpoint that are checked.
pub(crate) const MAX_LOCATIONS: usize = 16;

/// Message of a breakpoint until its names have been searched everywhere.
const READING: &str = "searching debug info for its names";

/// The result of the check of a breakpoint's names.
#[derive(Default)]
pub(crate) enum Names {
    /// The names have not been checked, or not everywhere.
    #[default]
    Unchecked,
    /// Images whose names are being indexed may have them.
    Reading,
    /// All names are known.
    Known,
    /// The names are known at some locations only; the breakpoint is not hit at the others.
    InPart(String),
    /// The error. An image that is loaded later may resolve it.
    Unknown(String),
    /// Types of known names show a mistake at each location: the breakpoint cannot be hit.
    Mistaken(Problem),
}

impl Names {
    pub(crate) fn problem(&self) -> Option<&str> {
        match self {
            Names::Unknown(text) | Names::InPart(text) => Some(text),
            Names::Reading => Some(READING),
            Names::Unchecked | Names::Known | Names::Mistaken(_) => None,
        }
    }

    pub(crate) fn mistake(&self) -> Option<&Problem> {
        match self {
            Names::Mistaken(problem) => Some(problem),
            _ => None,
        }
    }
}

/// What a breakpoint uses an expression for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Condition,
    LogMessage,
    /// A value of a tracepoint, and its use.
    Trace(Use),
    /// The condition of a tracepoint.
    Filter,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Condition | Role::Filter => "condition",
            Role::LogMessage => "log message",
            Role::Trace(_) => "tracepoint",
        }
    }

    /// Returns the use of the value.
    fn of_value(self) -> Use {
        match self {
            Role::Condition | Role::Filter => Use::Truth,
            Role::LogMessage => Use::Value,
            Role::Trace(of) => of,
        }
    }

    pub(crate) fn problem_kind(self) -> ProblemKind {
        match self {
            Role::Condition | Role::Filter => ProblemKind::Condition,
            Role::LogMessage => ProblemKind::LogMessage,
            Role::Trace(_) => ProblemKind::Trace,
        }
    }
}

/// What is wrong with an expression at a location.
pub(crate) struct Wrong {
    /// The description.
    pub text: String,
    /// Set if the types of known names show it; otherwise a library that is loaded later may define the name.
    pub mistake: Option<ProblemKind>,
}

/// A location in the code, with the images that would have to be indexed to know more.
pub(crate) struct NameScope<'a> {
    pub(crate) modules: &'a Modules,
    pub(crate) scope: CodeScope<'a>,
    pub(crate) unread: RefCell<Vec<Arc<Module>>>,
    /// Whether code was looked for that no image has: a library that is loaded later may have it.
    lacks_code: Cell<bool>,
}

impl<'a> NameScope<'a> {
    /// Returns the scope of a place in the code.
    pub(crate) fn at(modules: &'a Modules, scope: CodeScope<'a>) -> NameScope<'a> {
        NameScope {
            modules,
            scope,
            unread: RefCell::default(),
            lacks_code: Cell::new(false),
        }
    }
}

impl NameScope<'_> {
    pub(crate) fn has_local(&self, name: &str) -> bool {
        !matches!(self.scope.local(name), Ok(None))
            || self
                .own_object()
                .is_some_and(|object| may_have_member(&object, name))
    }

    /// Returns the error at a location where a name is not visible that is a local variable at
    /// another.
    pub(crate) fn lacks_local(
        &self,
        role: Role,
        expression: &Expression,
        locals: &[&str],
    ) -> Option<Wrong> {
        let mentioned = expression.mentioned();
        let lacking = mentioned.iter().find(|it| {
            locals.contains(&it.name)
                && !self.has_local(it.name)
                && !self
                    .scope
                    .unit_statics()
                    .iter()
                    .any(|known| known == it.name)
        })?;
        let (what, text) = (role.name(), expression.text());
        Some(Wrong {
            text: format!("{what} `{text}`: {}", self.no_such(lacking)),
            mistake: None,
        })
    }

    /// Returns the error for the first unknown name, or else for the first mistake.
    pub(crate) fn wrong_in(&self, role: Role, expression: &Expression) -> Option<Wrong> {
        let of = role.of_value();
        self.lacks_code.set(false);
        if expression.is_known(self, of) {
            return None;
        }
        let language = expression.language();
        let mentioned = expression.mentioned();
        let (what, text) = (role.name(), expression.text());
        let wrong = mentioned.iter().find(|it| !self.may_know(it, language));
        let is_traced = matches!(role, Role::Trace(_) | Role::Filter);
        let word = wrong.filter(|_| is_traced);
        if let Some(why) = word.and_then(|it| why_no_value(it.name, role == Role::Filter)) {
            return Some(Wrong {
                text: format!("{what} `{text}`: {why}"),
                mistake: Some(role.problem_kind()),
            });
        }
        Some(match wrong {
            Some(wrong) => Wrong {
                text: format!(
                    "{what} `{text}`: {} (unless a library loaded later defines it)",
                    self.no_such(wrong)
                ),
                mistake: None,
            },
            None => Wrong {
                text: format!("{what} `{text}`: {}", expression.mistake(self, of)?),
                mistake: Some(role.problem_kind()),
            },
        })
    }

    fn no_such(&self, wrong: &NameRef<'_>) -> String {
        let name = wrong.name;
        if wrong.what == Meaning::Type {
            return format!("no type `{name}` at this location");
        }
        let mut known = self.scope.locals();
        known.extend(self.scope.unit_statics());
        let kind = match wrong.what {
            Meaning::Callee => {
                known.extend(self.scope.functions());
                "function"
            }
            _ => "variable",
        };
        let mut message = format!("no {kind} `{name}` at this location");
        if let Some(nearest) = nearest(name, known.iter().map(String::as_str)) {
            message += &format!("; did you mean `{nearest}`?");
        }
        message
    }

    fn may_know(&self, mentioned: &NameRef<'_>, language: Language) -> bool {
        let name = mentioned.name;
        match mentioned.what {
            Meaning::Register => true,
            Meaning::Value => self.may_be_value(name, language),
            Meaning::Type => self.may_be_type(name),
            Meaning::ValueOrType | Meaning::Callee => {
                self.may_be_value(name, language) || self.may_be_type(name)
            }
        }
    }

    fn may_be_value(&self, name: &str, language: Language) -> bool {
        // A variable that cannot be located still exists.
        if !matches!(self.scope.local(name), Ok(None)) {
            return true;
        }
        let own = match language {
            Language::Cpp => "this",
            Language::Rust => "self",
            // In a method of Objective-C.
            Language::C => "self",
        };
        let object = match own {
            own if own == name && language != Language::C => return false,
            own => match self.scope.local(own) {
                Ok(object) => object,
                Err(_) => return true,
            },
        };
        let object = object.filter(|it| language != Language::C || is_instance(&it.ty));
        if object.is_some_and(|object| may_have_member(&object.ty, name)) {
            return true;
        }
        if let Some((path, _)) = name.rsplit_once("::")
            && self.may_be_type(path)
        {
            return true;
        }
        if self.scope.enumeration_with(name).is_some()
            || self.scope.defines(name)
            || is_c_library_variable(name)
            || language != Language::Rust && header_constants::has(name)
            || !matches!(self.scope.source_constant(name), Ok(None))
            || self.may_be_made(name)
            || language != Language::Rust && self.scope.data_of_symbol(name).is_some()
        {
            return true;
        }
        let known = self.scope.unit_statics();
        if known.iter().any(|it| it == name) {
            return true;
        }
        let place = self.scope.place();
        let may_mean = |loaded: &Loaded, variable: &Variable| {
            let place = place.as_ref();
            name.contains("::") || place.is_none_or(|place| place.may_mean(loaded, variable))
        };
        self.any_image(|loaded| {
            let module = &loaded.module;
            let named = || {
                let statics = module.statics_named(name, None);
                statics.iter().any(|it| may_mean(loaded, it))
                    || !module.functions_named(name).is_empty()
            };
            !module.function_symbols(name).is_empty() || module.has_names() && named()
        })
    }

    /// Returns whether a name may be that of a variant or struct which the source imports.
    fn may_be_made(&self, name: &str) -> bool {
        let rows = self.scope.source_paths(name).unwrap_or_default();
        let mut places = rows.iter().flatten();
        places.any(|it| {
            let parent = it.rsplit_once("::").map(|(parent, _)| parent);
            self.may_be_type(it) || parent.is_some_and(|it| self.may_be_type(it))
        })
    }

    fn may_be_type(&self, name: &str) -> bool {
        let scope = &self.scope;
        let types = scope.c_types();
        let is_builtin = named_by(scope.language(), types, &|_| None, name).is_some();
        // `struct node` may be defined as a class.
        let bare = name.split_once(' ').map(|(_, bare)| bare);
        is_builtin
            || self.any_image(|loaded| {
                let module = &loaded.module;
                let mut spellings = [Some(name), bare].into_iter().flatten();
                module.has_names() && spellings.any(|it| !module.types_named(it, None).is_empty())
            })
    }

    fn own_object(&self) -> Option<Ty> {
        let own = match self.scope.language() {
            Language::Cpp => "this",
            Language::Rust | Language::C => return None,
        };
        Some(self.scope.local(own).ok()??.ty)
    }

    /// Returns whether any image has it. Also true if an image's names are not indexed yet, which
    /// is noted, or only in part.
    fn any_image(&self, mut has: impl FnMut(&Loaded) -> bool) -> bool {
        let mut all = self.modules.loaded.iter();
        if all.any(|loaded| has(loaded) || loaded.module.has_partial_names()) {
            return true;
        }
        let images = || self.modules.loaded.iter().map(|loaded| &loaded.module);
        let unread: Vec<Arc<Module>> = images().filter(|it| !it.has_names()).cloned().collect();
        let some = !unread.is_empty();
        self.unread.borrow_mut().extend(unread);
        some
    }
}

impl check::Scope for NameScope<'_> {
    fn c_types(&self) -> CTypes {
        self.scope.c_types()
    }

    fn find_type(&self, name: &str) -> Option<Ty> {
        let find = |name: &str| self.scope.type_named(name);
        named_by(self.scope.language(), self.c_types(), &find, name)
    }

    fn variable(&self, storage: Storage, name: &str, _: &Node) -> Result<Option<Leaf>, Error> {
        let found = match storage {
            Storage::Local => self.scope.local(name),
            Storage::Global => self.scope.global(name),
        };
        let found = found.map_err(|reason| Error::Unsupported(reason.to_string()))?;
        Ok(found.map(|value| Leaf {
            ty: value.ty,
            bits: value.bits.map(|bits| bits.size),
        }))
    }

    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        self.scope.enumeration_with(enumerator)
    }

    fn unknown_name(&self, name: &Node) -> Error {
        Error::UnknownName {
            message: "unknown name".to_owned(),
            span: name.span.clone(),
        }
    }

    fn may_change(&self) -> bool {
        false
    }

    fn may_call(&self) -> bool {
        true
    }

    fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, Error> {
        let known = self.scope.function_lookup().callable(name);
        let is_inlined = || self.any_image(|it| !it.module.inlined_named(name).is_empty());
        match known.is_empty() && is_inlined() {
            true => Err(Error::Unsupported(format!("`{name}` may have code"))),
            false => Ok(known),
        }
    }

    fn inlined_functions(&self, name: &str) -> Vec<InlinedFunction> {
        self.scope.function_lookup().inlined(name)
    }

    fn code_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        let code = self.modules.code_of_symbol(symbol);
        self.lacks_code.set(self.lacks_code.get() || code.is_none());
        code
    }

    fn data_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.scope.data_of_symbol(symbol)
    }

    fn classes_around(&self) -> Vec<Ty> {
        self.scope.classes_around()
    }

    fn captured_behind(&self, variable: &str, path: &[&str]) -> usize {
        self.scope.captured_behind(variable, path)
    }

    fn source_constant(&self, name: &str) -> Result<Option<SourceValue>, String> {
        self.scope.source_constant(name)
    }

    fn source_paths(&self, path: &str) -> Result<Vec<Vec<String>>, String> {
        self.scope.source_paths(path)
    }

    fn declares(&self, name: &str) -> bool {
        self.scope.declares(name)
    }

    fn has_macros(&self) -> bool {
        self.scope.has_macros()
    }

    fn hides_functions(&self, name: &str) -> bool {
        let local = self.scope.local(name);
        local.is_ok_and(|it| it.is_some_and(|it| !matches!(it.ty.shape(), Shape::Function)))
    }

    fn is_chosen_at_run_time(&self, name: &str) -> bool {
        let mut images = self.modules.loaded.iter();
        images.any(|loaded| {
            let symbols = loaded.module.function_symbols(name);
            symbols
                .iter()
                .any(|it| it.kind == dwarf::SymbolKind::IndirectFunction)
        })
    }
}

/// Returns whether objects of a type, or what such pointers point to, may have a member.
fn may_have_member(ty: &Ty, name: &str) -> bool {
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        match ty.shape() {
            Shape::Pointer(of, _) => ty = of,
            _ => break,
        }
    }
    match ty.shape() {
        Shape::Composite(class) => {
            class.visualizer().is_some() || !matches!(path::find(&ty, name), Lookup::Absent)
        }
        _ => false,
    }
}
