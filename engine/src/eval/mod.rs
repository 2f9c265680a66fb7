//! Expressions: text → tokens → tree → value. No process is known here, only [`EvalContext`].

mod arith;
mod convert;
mod lex;
mod literal;
mod operators;
mod parse;
mod parse_type;
mod run;
mod tree;
mod types;

#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::value::{Target, Value};
use dwarf::Language;
use std::sync::Arc;

/// What an evaluation is for, and so what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// No side effects (hover, conditions).
    Look,
    /// Assignments are allowed (watch, repl).
    Change,
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
    /// As a [`Target`].
    fn as_target(&self) -> &dyn Target;
}

/// A parsed expression; parse once, evaluate often (conditions). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression {
    root: Arc<tree::Node>,
    text: Arc<str>,
    language: Language,
}

impl Expression {
    /// Parses `text` in the notation of `language`.
    ///
    /// # Errors
    /// [`Error::Eval`] with the place of the mistake.
    pub fn parse(text: &str, language: Language) -> Result<Expression, Error> {
        Ok(Expression {
            root: Arc::new(parse::parse(text, language)?),
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
        run::Run::new(context, purpose, self.language, &self.text).evaluate(&self.root)
    }

    /// Evaluates it as a condition.
    ///
    /// # Errors
    /// As [`Expression::evaluate`], or the value is neither true nor false.
    pub fn is_true(&self, context: &mut dyn EvalContext) -> Result<bool, Error> {
        run::Run::new(context, Purpose::Look, self.language, &self.text).truth(&self.root)
    }
}

/// Assigns the value of `text` (converted to the target's type) to `target`'s place.
///
/// # Errors
/// `target` has no place that can be written, or the value does not fit.
pub fn assign(context: &mut dyn EvalContext, target: &Value, text: &str) -> Result<Value, Error> {
    let language = context.language();
    let root = parse::parse(text, language)?;
    run::Run::new(context, Purpose::Look, language, text).assign(target, &root)
}
