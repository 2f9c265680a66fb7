//! Calls of functions in the debuggee. `crate::debugger::call` makes the
//! call. Here a call without a result ends the evaluation, which is restarted when there is one
//! ([`EvalContext::answered`](super::EvalContext::answered)).

use super::argument::Argument;
use super::evaluate::{At, Evaluator, error, inner};
use super::exact;
use super::overload::parameters;
use super::ownership;
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::abi::sysv::{self, Passing};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::{Function, Language, LoadAddr, LoadBias, Module};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A function of a module.
#[derive(Clone)]
pub struct ResolvedFunction {
    /// The module.
    pub module: Arc<Module>,
    /// Its load bias.
    pub bias: LoadBias,
    /// The function.
    pub function: Arc<Function>,
    /// Proximity of its declaration to the frame: the nearest hides others of the same name.
    pub nearness: usize,
}

/// A call to make.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name for display.
    pub name: String,
    /// Position of the call in the expression.
    pub span: Range<usize>,
    /// Address of its first instruction.
    pub entry: LoadAddr,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// Its return type.
    pub returns: Ty,
    /// Whether the result is returned in memory that the caller provides.
    pub through_memory: bool,
    /// The language whose calling convention it uses.
    pub language: Language,
}

/// The function to call.
struct Callee<'a> {
    name: &'a str,
    entry: LoadAddr,
    language: Language,
    /// Types of its parameters, as far as they are known.
    types: &'a [Ty],
    returns: Ty,
}

/// Returns the key of the result of an auxiliary call that belongs to the call of `key`. It lies
/// beyond the length of any expression.
fn special(key: &Range<usize>, nth: usize) -> Range<usize> {
    key.start + ((nth + 1) << 32)..key.end
}

impl Evaluator<'_> {
    /// Calls the best function with one of these names; `None` if there is none.
    pub(super) fn invoke_named(
        &mut self,
        names: &[String],
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        for name in names {
            let known = self.context.functions(name);
            if let Some(value) = self.invoke_best(&known, None, name, arguments, node)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Calls the best of these functions; with a class, only its own members are candidates.
    pub(super) fn invoke_best(
        &mut self,
        known: &[ResolvedFunction],
        class: Option<&Arc<DwarfTy>>,
        typed: &str,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        match self.best(known, class, typed, arguments).at(node)? {
            Some(best) => {
                let takes_object = class.is_none() || exact::takes_object(best);
                let arguments = arguments
                    .get(usize::from(!takes_object)..)
                    .unwrap_or_default();
                self.invoke(best, arguments, node).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Returns the implementation of an indirect function (`STT_GNU_IFUNC`), whose resolver is
    /// called first.
    pub(super) fn implementation(
        &mut self,
        name: &str,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        if !self.context.answers_calls() {
            return Ok(None);
        }
        let images = self.context.as_target().images();
        let is_chooser = |it: &dwarf::Symbol| it.kind == dwarf::SymbolKind::IndirectFunction;
        let mut found = None;
        for (nth, (module, bias)) in images.into_iter().enumerate() {
            let symbols = module.function_symbols(name);
            match symbols.iter().find(|it| is_chooser(it)) {
                Some(symbol) => {
                    found = Some((module, bias, symbol.addr));
                    break;
                }
                // Use the program's own function: the dynamic loader has private copies.
                None if nth == 0 && !symbols.is_empty() => break,
                None => {}
            }
        }
        let Some((module, bias, addr)) = found else {
            return Ok(None);
        };
        let chooser = Callee {
            name: &format!("resolver of `{name}`"),
            entry: bias.load(addr),
            language: Language::C,
            types: &[],
            returns: Ty::Void.pointer(),
        };
        // A reversed span as the key: the function's own node may have a result.
        let key = node.span.end..node.span.start;
        let chosen = self.run_call(chooser, &[], &key, node)?;
        let entry = LoadAddr(chosen.raw(self.context.as_target())? as u64);
        Ok(Some(Value::from_function(&module, bias, name, entry)))
    }

    /// Evaluates a node whose value is passed on or returned. An indirect function is replaced by
    /// the one that
    /// [`Self::implementation`] returns.
    pub(super) fn handed_on(&mut self, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(node)?;
        let (named, shape) = match (&inner(node).kind, value.ty.shape()) {
            (Kind::AddressOf(of), Shape::Pointer(to, _)) => (inner(of), to.shape()),
            (_, shape) => (inner(node), shape),
        };
        match (&named.kind, shape) {
            (Kind::Name(name), Shape::Function) => {
                let chosen = self.implementation(name, named)?;
                Ok(chosen.unwrap_or(value))
            }
            _ => Ok(value),
        }
    }

    pub(super) fn invoke(
        &mut self,
        known: &ResolvedFunction,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Value, Error> {
        let returns = match known.function.return_type {
            Some(id) => Ty::dwarf(&known.module, known.bias, id),
            None => Ty::Void,
        };
        let callee = Callee {
            name: &known.function.name,
            entry: known.bias.load(known.function.entry),
            language: known.function.language,
            types: &parameters(known),
            returns,
        };
        self.run_call(callee, arguments, &node.span, node)
    }

    /// Calls the target of a function pointer, or a function without debug info, whose return type
    /// then is that of a cast.
    pub(super) fn invoke_value(
        &mut self,
        function: &Value,
        arguments: &[Value],
        returns: Option<&Ty>,
        node: &Node,
    ) -> Result<Value, Error> {
        let target = self.context.as_target();
        let function = function.referent(target)?;
        let (entry, ty) = match function.ty.shape() {
            Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => {
                (LoadAddr(function.raw(target)? as u64), of.strip())
            }
            Shape::Function => match function.address() {
                Some(entry) => (entry, function.ty.strip()),
                None => return Err(Error::OptimizedOut),
            },
            _ => {
                let why = format!("cannot call a `{}`", function.ty.name());
                return Err(error(why, &node.span));
            }
        };
        let source = self.source_text(node).to_owned();
        let known = ty.signature();
        let (types, returns) = match (known, returns) {
            (Some(known), _) => {
                let (types, of, variadic) = (known.parameters, known.returns, known.is_variadic);
                if arguments.len() < types.len() || arguments.len() > types.len() && !variadic {
                    let why = format!("expected {} arguments", types.len());
                    return Err(error(why, &node.span));
                }
                for (ty, value) in types.iter().zip(arguments) {
                    self.accepts(ty, value, self.language)
                        .map_err(|why| why.of_pointer(ty, value))
                        .at(node)?;
                }
                (types, of)
            }
            (None, Some(of)) => (Vec::new(), of.clone()),
            (None, None) => {
                let why = format!(
                    "unknown return type of `{source}`; cast the call, for example `(int){source}`"
                );
                return Err(error(why, &node.span));
            }
        };
        let callee = Callee {
            name: &source,
            entry,
            language: self.language,
            types: &types,
            returns,
        };
        self.run_call(callee, arguments, &node.span, node)
    }

    /// Makes a call, or returns its result if there is one under `key`.
    fn run_call(
        &mut self,
        callee: Callee<'_>,
        arguments: &[Value],
        key: &Range<usize>,
        node: &Node,
    ) -> Result<Value, Error> {
        let Callee { name, returns, .. } = callee;
        if !self.may_call() {
            return Err(error(
                format!("calls are allowed only on the console and in watches: `{name}`"),
                &node.span,
            ));
        }
        for value in arguments.iter().skip(callee.types.len()) {
            ownership::may_move(value).at(node)?;
        }
        let mut arguments = Cow::Borrowed(arguments);
        let mut copies = Vec::new();
        for nth in 0..arguments.len() {
            let ty = callee.types.get(nth);
            if let Some(class) = self.copied_class(&arguments[nth], ty, callee.language) {
                let copy =
                    self.copied(&arguments[nth], &class, special(key, copies.len()), node)?;
                arguments.to_mut()[nth] = copy.clone();
                copies.push((class, copy));
            }
        }
        if let Some(answer) = self.context.answered(key) {
            let answer = answer.at(node)?;
            // The caller destroys its copies after the call, last to first.
            for (nth, (class, copy)) in copies.iter().enumerate().rev() {
                self.destroyed(copy, class, special(key, copies.len() + nth), node)?;
            }
            return Ok(answer);
        }
        let mut passed = Vec::new();
        for (nth, value) in arguments.iter().enumerate() {
            let argument = self.argument(value, callee.types.get(nth), callee.language);
            passed.extend(argument.at(node)?);
        }
        let through_memory = match returns.shape() {
            Shape::Void | Shape::Unit => false,
            _ => match sysv::passing(&returns, callee.language, true) {
                Passing::Registers(_) => false,
                Passing::Memory => true,
                Passing::Unknown => {
                    return Err(error(
                        format!("unsupported return type `{}`", returns.name()),
                        &node.span,
                    ));
                }
            },
        };
        Err(self.context.call(Call {
            name: name.to_owned(),
            span: key.clone(),
            entry: callee.entry,
            arguments: passed,
            returns,
            through_memory,
            language: callee.language,
        }))
    }
}
