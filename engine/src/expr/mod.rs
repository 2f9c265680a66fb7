//! Expressions: text → tokens → tree → value. This module knows no process, only [`EvalContext`].

mod access;
mod argument;
mod argument_rust;
pub(crate) mod arith;
mod c_library;
mod callers;
mod captured_path;
mod cast;
pub(crate) mod check;
mod complete;
pub(crate) mod constants;
mod conversion;
mod conversion_rust;
mod convert;
mod dynamic_call;
mod dynamic_member;
pub(crate) mod evaluate;
mod exact;
mod format;
mod guards;
pub(crate) mod header_constants;
pub(crate) mod hierarchy;
mod interpret;
mod interpret_cpp;
mod interpret_iteration;
mod interpret_made;
mod interpret_match;
mod invoke;
pub(crate) mod ir;
pub(crate) mod ir_cpp;
pub(crate) mod iteration;
mod lex;
mod literal;
mod macros;
pub(crate) mod made;
mod mangle;
pub(crate) mod messages;
mod name_refs;
mod overload;
mod overload_rust;
mod ownership;
mod parse;
mod parse_cpp;
mod parse_declarator;
mod parse_forms;
mod parse_macros;
mod parse_rust;
mod parse_type;
pub mod query;
mod slice;
pub(crate) mod soft;
mod suggest;
pub(crate) mod tree;
pub(crate) mod tree_rust;
pub(crate) mod types;
pub(crate) mod vectors;
mod write;

#[cfg(test)]
mod rust_tests;
#[cfg(test)]
mod tests;

pub(crate) use argument::arguments_of;
pub use argument::{Argument, ArgumentPassing, Slot};
pub use complete::{Completion, CompletionKind, complete};
pub(crate) use guards::Guard;
pub use invoke::{Call, InlinedFunction, ResolvedFunction, ResultPlace};
pub(crate) use name_refs::{Meaning, NameRef};
pub use suggest::with_marks;
pub(crate) use suggest::{nearest, with_suggestion};

use crate::arch::Arch;
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::inspect::value::scalar::NumberFormat;
use crate::inspect::value::{Shape, Target, Ty, Value, members};
use dwarf::{CTypes, Language, LoadAddr};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The purpose of an evaluation, which determines its permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// No side effects (hover).
    Look,
    /// An assignment, but no calls (`setVariable`).
    Set,
    /// Calls, but no assignments (breakpoint conditions).
    Decide,
    /// Assignments and calls; breakpoints in calls are ignored (watch).
    Change,
    /// A command of the user: breakpoints in calls stop (repl).
    Command,
}

/// A frame to evaluate in.
pub trait EvalContext: Target {
    /// Returns the frame's language.
    fn language(&self) -> Language;
    /// Returns a parameter or local of the frame by name, innermost scope first.
    ///
    /// # Errors
    /// The variable exists but cannot be located.
    fn local(&self, _name: &str) -> Result<Option<Value>, Error> {
        Ok(None)
    }
    /// Returns how many dereferences of a path lead to the place that a closure of Rust has captured as the
    /// variable of this name.
    fn captured_behind(&self, _variable: &str, _path: &[&str]) -> usize {
        0
    }
    /// Returns a variable of static storage by name (of the frame's unit, then of any module), or a
    /// function. Accepts qualified names (`a::b`).
    ///
    /// # Errors
    /// The variable exists but cannot be located.
    fn global(&self, name: &str) -> Result<Option<Value>, Error>;
    /// Returns how to name the `static` variable of a library of the system that a bare name does not mean, and the
    /// library.
    fn static_of_the_system(&self, _name: &str) -> Option<(String, String)> {
        None
    }
    /// Returns the address of the data that a raw symbol means here, whatever debug info says of it.
    fn data_of_symbol(&self, _symbol: &str) -> Option<LoadAddr> {
        None
    }
    /// Returns what a name means: a local, a member of C++'s `this`, which hides names of
    /// namespaces, or a global.
    ///
    /// # Errors
    /// The variable exists but cannot be located.
    fn variable(&self, name: &str) -> Result<Option<Value>, Error> {
        if let Some(value) = self.local(name)? {
            return Ok(Some(value));
        }
        if self.language() == Language::Cpp
            && let Ok(Some(this)) = self.local("this")
            && let Shape::Pointer(of, _) = this.ty.shape()
            && let Ok(object) = this.pointee(self.as_target(), of)
            && let Ok(Some(member)) = members::find(self.as_target(), &object, name)
        {
            return Ok(Some(member));
        }
        self.global(name)
    }
    /// Returns the program's instruction set.
    fn arch(&self) -> Arch {
        Arch::HOST
    }
    /// Returns what C's types are in the program.
    fn c_types(&self) -> CTypes {
        self.arch().machine().c_types()
    }
    /// Returns a register by name (`rax`), for `$rax`.
    fn register(&self, name: &str) -> Option<Value>;
    /// Returns a type by name, for casts and `sizeof`.
    fn type_named(
        &self,
        name: &str,
    ) -> Option<(
        std::sync::Arc<dwarf::Module>,
        dwarf::LoadBias,
        dwarf::TypeId,
    )>;
    /// Returns the names that [`Self::variable`] finds nearby: locals, and statics of the unit.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
    /// Returns the registers that [`Self::register`] finds, without parts of them.
    fn registers(&self) -> Vec<String> {
        Vec::new()
    }
    /// Returns whether the caller with that number (0: the frame itself) is a function of that
    /// name; without a number, whether any caller is.
    fn is_called_from(&self, _name: &str, _number: Option<usize>) -> bool {
        false
    }
    /// Returns an earlier result by its number from 1, for `$1`; `None`: the last one, for `$_`.
    fn previous(&self, _number: Option<usize>) -> Option<Value> {
        None
    }
    /// Returns the exception that the program stopped for, for `$exception`.
    ///
    /// # Errors
    /// The program did not stop for an exception, or its type is unknown.
    fn exception(&self) -> Result<Value, Error> {
        Err(Error::eval(messages::NO_EXCEPTION))
    }
    /// Returns the functions with a name that are visible from here; several if it is overloaded.
    fn functions(&self, _name: &str) -> Vec<ResolvedFunction> {
        Vec::new()
    }
    /// Returns the classes around the frame's function of C++, innermost first.
    fn classes_around(&self) -> Vec<Ty> {
        Vec::new()
    }
    /// Returns whether the scopes around the frame declare a name by other means than a variable of a
    /// block; only their unit is read.
    fn declares(&self, _name: &str) -> bool {
        false
    }
    /// Returns the functions with a name whose calls are inlined, in the image of those with code.
    fn inlined_functions(&self, _name: &str) -> Vec<InlinedFunction> {
        Vec::new()
    }
    /// Returns the result of a call, an assignment or a condition at this position of the
    /// expression from an earlier evaluation that was interrupted by a call.
    fn answered(&self, _span: &std::ops::Range<usize>) -> Option<Result<Value, Error>> {
        None
    }
    /// Records the result of an operation that must not be repeated, for [`Self::answered`].
    fn keep_done(&mut self, _span: &std::ops::Range<usize>, _value: &Value) {}
    /// Returns the guards that calls have returned to the evaluation, in their order; `None` where there are no calls.
    fn guards(&mut self) -> Option<&mut Vec<Guard>> {
        None
    }
    /// Returns whether a thread is available for calls.
    fn answers_calls(&self) -> bool {
        false
    }
    /// Requests a call; the returned error ends the evaluation.
    fn call(&mut self, call: Call) -> Error {
        Error::Unsupported(format!("cannot call `{}` here", call.name))
    }
    /// Returns the address of the frame's code if the compiler recorded the macros of its unit.
    fn macro_place(&self) -> Option<LoadAddr> {
        None
    }
    /// Returns the definition of a macro at the frame's line.
    fn macro_named(&self, _name: &str) -> Option<dwarf::Macro> {
        None
    }
    /// Returns the enumeration of a bare enumerator, as in the frame's unit.
    fn enumeration_with(&self, _enumerator: &str) -> Option<Ty> {
        None
    }
    /// Returns the constant of Rust that a name means in the source around the frame's line; `None` if the
    /// source shows none.
    ///
    /// # Errors
    /// There is one, but its value is not certain: why, and what to do.
    fn source_constant(&self, _name: &str) -> Result<Option<SourceValue>, String> {
        Ok(None)
    }

    /// Returns the places in the debug info that a path of Rust may mean, by the declarations and `use` of the source:
    /// a row for each scope, innermost first. The path means the place that exists in the first row that has one.
    ///
    /// # Errors
    /// The source does not say; why.
    fn source_paths(&self, _path: &str) -> Result<Vec<Vec<String>>, String> {
        Ok(Vec::new())
    }
    /// Returns the context as a [`Target`].
    fn as_target(&self) -> &dyn Target;
}

/// A parsed expression: parsed once, evaluated often (conditions). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression {
    root: Arc<tree::Node>,
    format: Arc<format::Format>,
    text: Arc<str>,
    language: Language,
    expanded: Rc<RefCell<Option<Expanded>>>,
}

/// An expression whose macros are expanded, if it has any, and the address of the code at whose line
/// they are.
#[derive(Debug)]
struct Expanded {
    place: LoadAddr,
    expression: Option<Expression>,
}

impl Expression {
    /// Parses `text` in the syntax of `language`.
    ///
    /// # Errors
    /// [`Error::Eval`] with the position of the error.
    pub fn parse(text: &str, language: Language) -> Result<Expression, Error> {
        let (root, format) = parse::parse(text, language)?;
        Ok(Expression {
            root: Arc::new(root),
            format: Arc::new(format),
            text: text.into(),
            language,
            expanded: Rc::default(),
        })
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// An unknown name, a type mismatch, unreadable memory.
    pub fn evaluate(
        &self,
        context: &mut dyn EvalContext,
        purpose: Purpose,
    ) -> Result<Value, Error> {
        self.with_macros(context, |it, context| {
            let mut run = evaluate::Evaluator::new(context, purpose, it.language, &it.text);
            run.dropping_guards(&it.root, |run| {
                let value = run.evaluate(&it.root)?;
                run.formatted(value, &it.format, &it.root)
            })
        })
    }

    /// Evaluates the expression with its macros expanded, or as it is if that fails: `errno` is also
    /// a variable.
    fn with_macros<T>(
        &self,
        context: &mut dyn EvalContext,
        evaluate: impl Fn(&Expression, &mut dyn EvalContext) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(expanded) = self.expanded(context)? else {
            return evaluate(self, context);
        };
        let error = match evaluate(&expanded, context) {
            Err(Error::Calling) => return Err(Error::Calling),
            Err(error) => self.of_expanded(error, &expanded.text),
            evaluated => return evaluated,
        };
        if self.root.has_effects() {
            return Err(error);
        }
        match evaluate(self, context) {
            Err(Error::UnknownName { .. }) => Err(error),
            evaluated => evaluated,
        }
    }

    /// Returns the expression with its macros expanded; `None`: it has none at the frame's line.
    /// What the frame declares is no macro.
    fn expanded(&self, context: &dyn EvalContext) -> Result<Option<Expression>, Error> {
        let Some(place) = context
            .macro_place()
            .filter(|_| self.language != Language::Rust)
        else {
            return Ok(None);
        };
        if let Some(known) = &*self.expanded.borrow()
            && known.place == place
        {
            return Ok(known.expression.clone());
        }
        let names = context.names();
        let find = |name: &str| match names.iter().any(|it| it == name) {
            true => None,
            false => context.macro_named(name),
        };
        let text = macros::expand(&self.text, self.language, &find);
        let parse = |text: String| {
            let parsed = Expression::parse(&text, self.language);
            parsed.map_err(|error| self.of_expanded(error, &text))
        };
        let expression = text.map(parse).transpose()?;
        *self.expanded.borrow_mut() = Some(Expanded {
            place,
            expression: expression.clone(),
        });
        Ok(expression)
    }

    /// Returns an error in the expanded text as one of the whole expression: positions in the
    /// expanded text mean nothing to the user.
    fn of_expanded(&self, error: Error, text: &str) -> Error {
        let span = 0..self.text.len();
        match error {
            Error::Eval { message, .. } => Error::Eval {
                message: format!("{message}, in `{text}`"),
                span,
            },
            Error::UnknownName { message, .. } => Error::UnknownName {
                message: format!("{message}, in `{text}`"),
                span,
            },
            other => other,
        }
    }

    /// Returns the format of integers in the value; `None`: the default.
    pub fn numbers(&self) -> Option<NumberFormat> {
        Some(self.format.number).filter(|format| *format != NumberFormat::Natural)
    }

    /// Returns the text without format specifiers.
    pub fn value_text(&self) -> &str {
        self.text.get(..self.root.span.end).unwrap_or(&self.text)
    }

    /// Returns the root of the tree.
    pub(crate) fn root(&self) -> &tree::Node {
        &self.root
    }

    /// Returns the language whose syntax it uses.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Returns the text as it was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression as a condition.
    ///
    /// # Errors
    /// Those of [`Expression::evaluate`]; the value is not a boolean.
    pub fn is_true(&self, context: &mut dyn EvalContext) -> Result<bool, Error> {
        self.truth(context, Purpose::Look)
    }

    fn truth(&self, context: &mut dyn EvalContext, purpose: Purpose) -> Result<bool, Error> {
        self.with_macros(context, |it, context| {
            let mut run = evaluate::Evaluator::new(context, purpose, it.language, &it.text);
            run.dropping_guards(&it.root, |run| run.truth(&it.root))
        })
    }

    /// Evaluates the expression as a condition that may call functions of the program.
    ///
    /// # Errors
    /// Those of [`Expression::is_true`]; [`Error::Calling`]: a call must be made first.
    pub fn decide(&self, context: &mut dyn EvalContext) -> Result<bool, Error> {
        self.truth(context, Purpose::Decide)
    }
}

/// Assigns the value of `text`, converted to the target's type, to `target`. Returns the new value.
///
/// # Errors
/// `target` cannot be written, or the value does not fit.
pub fn assign(context: &mut dyn EvalContext, target: &Value, text: &str) -> Result<Value, Error> {
    let language = context.language();
    let (root, _) = parse::parse(text, language)?;
    let span = root.span.clone();
    let place = tree::Node {
        kind: tree::Kind::Text(Vec::new()),
        span: 0..0,
        depth: 1,
    };
    let assignment = tree::Node {
        depth: root.depth.saturating_add(1),
        kind: tree::Kind::Assign(None, Box::new(place), Box::new(root)),
        span,
    };
    let mut run = evaluate::Evaluator::new(context, Purpose::Set, language, text);
    if let tree::Kind::Assign(_, place, _) = &assignment.kind {
        run.remember(place, target.clone());
    }
    run.evaluate(&assignment)
}
