//! Evaluates a tree in a frame.

use super::arith::Operand;
use super::check::{self, Checked, Checker, Known, Leaf, Scope, Stop};
use super::invoke::{InlinedFunction, ResolvedFunction};
use super::ir::Storage;
use super::tree::{Kind, Node};
use super::{EvalContext, Purpose, convert, types};
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::{CTypes, Language, LoadAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::ops::Range;

/// Maximum number of pointers and boxes that `.` dereferences.
pub(crate) const DEREFERENCES: usize = 16;

/// The state of one evaluation.
pub struct Evaluator<'a> {
    pub(super) context: &'a mut dyn EvalContext,
    pub(super) purpose: Purpose,
    pub(super) language: Language,
    text: &'a str,
    known: Known,
    /// The values of the nodes that are known.
    values: FxHashMap<usize, Value>,
    /// Whether the elements of a row are searched: functions are not called.
    pub(super) is_searching: bool,
    /// The variables that were looked up for nodes.
    variables: RefCell<FxHashMap<usize, Value>>,
}

/// Adds the position of a node to an error without one.
pub(super) trait At<T> {
    fn at(self, node: &Node) -> Result<T, Error>;
}

impl<T> At<T> for Result<T, Error> {
    fn at(self, node: &Node) -> Result<T, Error> {
        self.map_err(|error| match error {
            Error::Eval { message, span } if span.is_empty() => Error::Eval {
                message,
                span: node.span.clone(),
            },
            other => other,
        })
    }
}

impl<T> At<T> for Result<T, String> {
    fn at(self, node: &Node) -> Result<T, Error> {
        self.map_err(|message| error(message, &node.span))
    }
}

pub(super) fn error(message: impl Into<String>, span: &Range<usize>) -> Error {
    Error::Eval {
        message: message.into(),
        span: span.clone(),
    }
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluation in a frame; `text` is the expression's source.
    pub fn new(
        context: &'a mut dyn EvalContext,
        purpose: Purpose,
        language: Language,
        text: &'a str,
    ) -> Self {
        Evaluator {
            context,
            purpose,
            language,
            text,
            known: Known::default(),
            values: FxHashMap::default(),
            is_searching: false,
            variables: RefCell::default(),
        }
    }

    /// Returns the expression as it was typed.
    pub(super) fn text(&self) -> &str {
        self.text
    }

    pub(super) fn source_text(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or("it")
    }

    /// Evaluates a node.
    ///
    /// # Errors
    /// Those of [`super::Expression::evaluate`].
    // The recursion passes through here, so the stack frame is kept small, also in a debug build.
    pub fn evaluate(&mut self, node: &Node) -> Result<Value, Error> {
        self.evaluate_checked(|checker| checker.whole(node))
    }

    /// Evaluates what a check returns. A node whose type only its value shows is evaluated first.
    pub(super) fn evaluate_checked<'t>(
        &mut self,
        check: impl Fn(&Checker<'_>) -> Checked<'t>,
    ) -> Result<Value, Error> {
        loop {
            match check(&self.checker()) {
                Ok(checked) => return self.interpret(&checked),
                Err(stop) => self.settle(stop)?,
            }
        }
    }

    /// Evaluates what a check needs to know.
    fn settle(&mut self, stop: Stop<'_>) -> Result<(), Error> {
        match stop {
            Stop::Wrong(error) => return Err(error),
            Stop::Wants(part) => match self.evaluate_part(part) {
                Ok(value) => self.remember(part, value),
                Err(_) => self.known.insert_failed(part),
            },
            Stop::Needs(part) => {
                let value = self.evaluate_part(part)?;
                self.remember(part, value);
            }
        }
        Ok(())
    }

    /// Records the value of a node, which is not evaluated again.
    pub(super) fn remember(&mut self, node: &Node, value: Value) {
        let leaf = Leaf {
            ty: value.ty.clone(),
            bits: value.bits.map(|bits| bits.size),
        };
        self.known.insert(node, leaf);
        self.values.insert(check::key(node), value);
    }

    /// Returns whether the evaluation may call functions of the program.
    pub(super) fn may_call(&self) -> bool {
        !matches!(self.purpose, Purpose::Look | Purpose::Set)
    }

    /// Returns the variable that was looked up for a node.
    ///
    /// # Errors
    /// It has no place any more.
    pub(super) fn variable_of(
        &self,
        storage: Storage,
        name: &str,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(value) = self.variables.borrow().get(&check::key(node)) {
            return Ok(value.clone());
        }
        let found = self.look_up(storage, name).at(node)?;
        found.ok_or_else(|| self.no_variable(node))
    }

    fn look_up(&self, storage: Storage, name: &str) -> Result<Option<Value>, Error> {
        match storage {
            Storage::Local => self.context.local(name),
            Storage::Global => self.context.global(name),
        }
    }

    /// Forgets what was read before the program was changed.
    pub(super) fn forget_variables(&mut self) {
        self.variables.get_mut().clear();
    }

    /// Records a value under a key of its own.
    pub(super) fn hold(&mut self, key: usize, value: Value) {
        self.values.insert(key, value);
    }

    /// Returns the value under a key.
    pub(super) fn held(&self, key: usize) -> Result<Value, Error> {
        self.values.get(&key).cloned().ok_or(Error::OptimizedOut)
    }

    /// Returns what is known, for [`Self::restore`].
    pub(super) fn saved(&self) -> FxHashSet<usize> {
        self.known
            .nodes()
            .chain(self.values.keys().copied())
            .collect()
    }

    /// Forgets the nodes that were not known before: they have other values the next time.
    pub(super) fn restore(&mut self, saved: &FxHashSet<usize>) {
        self.known.retain(saved);
        self.values.retain(|key, _| saved.contains(key));
    }

    /// Returns what the checker knows of nodes and names.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    pub(super) fn checker(&self) -> Checker<'_> {
        Checker::new(self, self.language, &self.known, self.text)
    }

    /// Evaluates a node whose type only its value shows.
    fn evaluate_part(&mut self, node: &Node) -> Result<Value, Error> {
        match &node.kind {
            Kind::AddressOf(inner) => self.address_of(inner, node),
            Kind::Member(object, name) => self.member(object, name, node),
            Kind::Index(object, index) => self.index(object, index, node),
            Kind::Cast(cast, ty, inner) => self.cast(*cast, ty, inner, node),
            Kind::Choice(condition, yes, no) => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.evaluate(chosen)
            }
            Kind::Repeat(from, count) => self.repeat(from, count, node),
            Kind::Range(..) => Err(error(
                "a range is allowed only in an index, for example `v[1..4]`",
                &node.span,
            )),
            Kind::Call(function, arguments) => self.call(function, arguments, node),
            _ => self.leaf(node),
        }
    }

    fn leaf(&mut self, node: &Node) -> Result<Value, Error> {
        match &node.kind {
            Kind::Register(name) => self.register(name, node),
            // It has no place, or its checked form would have been interpreted.
            Kind::Name(name) => {
                let found = self.context.variable(name).at(node)?;
                found.ok_or_else(|| self.no_variable(node))
            }
            _ => Err(error("not a value", &node.span)),
        }
    }

    /// Evaluates `$rax`, earlier results (`$1`, `$_`), and `$exception`.
    fn register(&self, name: &str, node: &Node) -> Result<Value, Error> {
        let number = name.parse::<usize>();
        if number.is_ok() || name == "_" {
            let known = self.context.previous(number.ok());
            return known.ok_or_else(|| error(format!("no result `${name}` yet"), &node.span));
        }
        if name == "exception" {
            return self.context.exception().at(node);
        }
        let known = self.context.register(name);
        known.ok_or_else(|| error(format!("no register `${name}` on this machine"), &node.span))
    }

    /// Evaluates a node as a condition.
    ///
    /// # Errors
    /// The value is not a boolean, or cannot be evaluated.
    pub fn truth(&mut self, node: &Node) -> Result<bool, Error> {
        loop {
            match self.checker().condition(node) {
                Ok(condition) if !condition.is_late() => return self.decided(&condition),
                Ok(_) => {
                    let value = self.evaluate(node)?;
                    self.remember(node, value);
                }
                Err(stop) => self.settle(stop)?,
            }
        }
    }

    pub(super) fn operand_of(&self, value: &Value, node: &Node) -> Result<Operand, Error> {
        convert::operand(self.context.as_target(), value).at(node)
    }
}

impl Scope for Evaluator<'_> {
    fn c_types(&self) -> CTypes {
        self.context.c_types()
    }

    fn find_type(&self, name: &str) -> Option<Ty> {
        types::named(self.context, name)
    }

    fn variable(&self, storage: Storage, name: &str, node: &Node) -> Result<Option<Leaf>, Error> {
        let Some(value) = self.look_up(storage, name)? else {
            return Ok(None);
        };
        let leaf = Leaf {
            ty: value.ty.clone(),
            bits: value.bits.map(|bits| bits.size),
        };
        self.variables.borrow_mut().insert(check::key(node), value);
        Ok(Some(leaf))
    }

    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        self.context.enumeration_with(enumerator)
    }

    fn unknown_name(&self, name: &Node) -> Error {
        self.no_variable(name)
    }

    fn may_change(&self) -> bool {
        !matches!(self.purpose, Purpose::Look | Purpose::Decide)
    }

    fn may_call(&self) -> bool {
        Evaluator::may_call(self)
    }

    fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, Error> {
        Ok(self.context.functions(name))
    }

    fn inlined_functions(&self, name: &str) -> Vec<InlinedFunction> {
        self.context.inlined_functions(name)
    }

    fn classes_around(&self) -> Vec<Ty> {
        self.context.classes_around()
    }

    fn captured_behind(&self, variable: &str, path: &[&str]) -> usize {
        self.context.captured_behind(variable, path)
    }

    fn source_constant(&self, name: &str) -> Result<Option<SourceValue>, String> {
        self.context.source_constant(name)
    }

    fn source_paths(&self, path: &str) -> Result<Vec<Vec<String>>, String> {
        self.context.source_paths(path)
    }

    fn declares(&self, name: &str) -> bool {
        self.context.declares(name)
    }

    fn code_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        let images = self.context.as_target().images();
        images
            .into_iter()
            .find_map(|(module, bias)| Some(bias.load(module.code_of_symbol(symbol)?)))
    }

    fn data_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.context.data_of_symbol(symbol)
    }

    fn has_macros(&self) -> bool {
        self.context.macro_place().is_some()
    }

    fn hides_functions(&self, name: &str) -> bool {
        if !self.context.names().iter().any(|it| it == name) {
            return false;
        }
        match self.context.variable(name) {
            Ok(Some(variable)) => !matches!(variable.ty.shape(), Shape::Function),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    fn is_chosen_at_run_time(&self, name: &str) -> bool {
        self.resolver(name).is_some()
    }
}

/// Returns the node inside parentheses.
pub(crate) fn inner(mut node: &Node) -> &Node {
    while let Kind::Paren(inner) = &node.kind {
        node = inner;
    }
    node
}
