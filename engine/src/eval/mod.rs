//! Expressions: text → tokens → tree → value. No process is known here, only [`EvalContext`].

mod argument;
pub(crate) mod arith;
mod assign;
mod call;
mod complete;
mod convert;
mod exact;
mod format;
mod hierarchy;
mod invoke;
mod lex;
mod literal;
mod mentioned;
mod method;
mod operators;
mod ownership;
mod parse;
mod parse_forms;
mod parse_type;
pub(crate) mod run;
mod slice;
mod suggest;
pub(crate) mod tree;
pub(crate) mod types;

#[cfg(test)]
mod tests;

pub(crate) use argument::in_registers;
pub use argument::{Argument, How};
pub use complete::{Completion, CompletionKind, complete};
pub use invoke::{Call, Known};
pub(crate) use mentioned::{Meaning, Mentioned};
pub use suggest::with_marks;
pub(crate) use suggest::{nearest, said_with};

use crate::error::Error;
use crate::value::scalar::NumberFormat;
use crate::value::{Target, Ty, Value};
use dwarf::Language;
use std::sync::Arc;

/// What an evaluation is for, and so what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// No side effects (hover).
    Look,
    /// Calls, but no assignments (conditions of breakpoints in code).
    Decide,
    /// Assignments are allowed; calls pass over breakpoints (watch).
    Change,
    /// As typed by a user who waits: breakpoints are hit in calls (repl).
    Command,
}

/// A frame to evaluate in.
pub trait EvalContext: Target {
    /// The frame's language.
    fn language(&self) -> Language;
    /// A variable by name: locals of the frame innermost scope first, then statics (of the
    /// frame's unit, then of any image), then functions. Qualified names (`a::b`) too.
    ///
    /// # Errors
    /// It is there but cannot be located.
    fn variable(&self, name: &str) -> Result<Option<Value>, Error>;
    /// A register by name (`rax`), for `$rax`.
    fn register(&self, name: &str) -> Option<Value>;
    /// A type by name, for casts and `sizeof`.
    fn type_named(
        &self,
        name: &str,
    ) -> Option<(
        std::sync::Arc<dwarf::Module>,
        dwarf::LoadBias,
        dwarf::TypeId,
    )>;
    /// The names that [`Self::variable`] finds nearby: of locals, and of statics of the unit.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
    /// The registers that [`Self::register`] finds, without parts of them.
    fn registers(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether the caller of that number (0: the frame itself) is a function of that name;
    /// without a number: whether any is.
    fn is_called_from(&self, _name: &str, _number: Option<usize>) -> bool {
        false
    }
    /// An earlier result by its number from 1, for `$1`; `None`: the last one, for `$_`.
    fn previous(&self, _number: Option<usize>) -> Option<Value> {
        None
    }
    /// What the program stopped for, for `$exception`.
    ///
    /// # Errors
    /// It did not stop for an exception, or that one's type is not known.
    fn exception(&self) -> Result<Value, Error> {
        Err(Error::eval(
            "no exception: the program did not stop for one",
        ))
    }
    /// The functions of a name that has been seen from here: more than one if it is overloaded.
    fn functions(&self, _name: &str) -> Vec<Known> {
        Vec::new()
    }
    /// What came of a call, an assignment or a condition at this place of the expression when
    /// it was evaluated before, up to a call.
    fn answered(&self, _span: &std::ops::Range<usize>) -> Option<Result<Value, Error>> {
        None
    }
    /// Keeps for [`Self::answered`] what must not be done twice.
    fn keep_done(&mut self, _span: &std::ops::Range<usize>, _value: &Value) {}
    /// Whether there is a thread that could call.
    fn answers_calls(&self) -> bool {
        false
    }
    /// Asks for a call; the error ends the evaluation.
    fn call(&mut self, call: Call) -> Error {
        Error::Unsupported(format!("`{}` cannot be called here", call.name))
    }
    /// The enumeration that a bare name is an enumerator of, as the frame's unit has it.
    fn enumeration_with(&self, _enumerator: &str) -> Option<Ty> {
        None
    }
    /// As a [`Target`].
    fn as_target(&self) -> &dyn Target;
}

/// A parsed expression; parse once, evaluate often (conditions). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression {
    root: Arc<tree::Node>,
    format: Arc<format::Format>,
    text: Arc<str>,
    language: Language,
}

impl Expression {
    /// Parses `text` in the notation of `language`.
    ///
    /// # Errors
    /// [`Error::Eval`] with the place of the mistake.
    pub fn parse(text: &str, language: Language) -> Result<Expression, Error> {
        let (root, format) = parse::parse(text, language)?;
        Ok(Expression {
            root: Arc::new(root),
            format: Arc::new(format),
            text: text.into(),
            language,
        })
    }

    /// Evaluates it.
    ///
    /// # Errors
    /// An unknown name, a type that does not fit, memory that cannot be read.
    pub fn evaluate(
        &self,
        context: &mut dyn EvalContext,
        purpose: Purpose,
    ) -> Result<Value, Error> {
        let mut run = run::Run::new(context, purpose, self.language, &self.text);
        let value = run.evaluate(&self.root)?;
        run.formatted(value, &self.format, &self.root)
    }

    /// How the integers in the value are to be written; `None`: as anywhere.
    pub fn numbers(&self) -> Option<NumberFormat> {
        Some(self.format.number).filter(|format| *format != NumberFormat::Natural)
    }

    /// The text without what says how to show the value.
    pub fn value_text(&self) -> &str {
        self.text.get(..self.root.span.end).unwrap_or(&self.text)
    }

    /// The tree.
    pub(crate) fn root(&self) -> &tree::Node {
        &self.root
    }

    /// The notation it is written in.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// As it was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates it as a condition.
    ///
    /// # Errors
    /// As [`Expression::evaluate`], or the value is neither true nor false.
    pub fn is_true(&self, context: &mut dyn EvalContext) -> Result<bool, Error> {
        run::Run::new(context, Purpose::Look, self.language, &self.text).truth(&self.root)
    }

    /// The same where it may call functions of the program.
    ///
    /// # Errors
    /// As [`Expression::is_true`]; [`Error::Calling`]: a call must be made first.
    pub fn decide(&self, context: &mut dyn EvalContext) -> Result<bool, Error> {
        run::Run::new(context, Purpose::Decide, self.language, &self.text).truth(&self.root)
    }
}

/// Assigns the value of `text` (converted to the target's type) to `target`'s place.
///
/// # Errors
/// `target` has no place that can be written, or the value does not fit.
pub fn assign(context: &mut dyn EvalContext, target: &Value, text: &str) -> Result<Value, Error> {
    let language = context.language();
    let (root, _) = parse::parse(text, language)?;
    run::Run::new(context, Purpose::Look, language, text).assign(target, &root)
}
