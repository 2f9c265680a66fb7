//! Calls that run in the program: which function is meant, and what it is given. The running
//! itself is `crate::call`'s; here an unanswered call ends the evaluation, which begins again
//! once there is an answer ([`EvalContext::answered`](super::EvalContext::answered)).

use super::Purpose;
use super::argument::Argument;
use super::run::{At, DEREFERENCES, Run, error, inner};
use super::tree::{Binary, Kind, Node};
use crate::arch::sysv::{self, Passing};
use crate::error::Error;
use crate::value::members::{self, last_component};
use crate::value::scalar::ScalarKind;
use crate::value::{PointerKind, Shape, Ty, Value};
use dwarf::{Function, Language, LoadAddr, LoadBias, Module, TypeKind, VariableKind};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A function of an image.
#[derive(Clone)]
pub struct Known {
    /// The image.
    pub module: Arc<Module>,
    /// Where it is loaded.
    pub bias: LoadBias,
    /// The function.
    pub function: Arc<Function>,
}

/// A call, ready to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name, for people.
    pub name: String,
    /// Where the call stands in the expression.
    pub span: Range<usize>,
    /// Its first instruction.
    pub entry: LoadAddr,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// What it returns.
    pub returns: Ty,
    /// Whether that goes through memory that the caller provides.
    pub through_memory: bool,
    /// The language whose conventions it keeps.
    pub language: Language,
}

/// What is called.
struct Callee<'a> {
    name: &'a str,
    entry: LoadAddr,
    language: Language,
    /// Of its parameters, as far as they are known.
    types: &'a [Ty],
    returns: Ty,
}

/// Where the answer to a call is kept that goes with the call of `key`: no expression is so long.
fn special(key: &Range<usize>, nth: usize) -> Range<usize> {
    key.start + ((nth + 1) << 32)..key.end
}

/// Slots of a vtable that are looked at.
const VIRTUAL: u64 = 256;
impl Run<'_> {
    /// Calls the best of the functions of one of these names; `None`: there is none.
    pub(super) fn invoke_named(
        &mut self,
        names: &[String],
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        for name in names {
            let known = self.context.functions(name);
            if let Some(value) = self.invoke_best(&known, arguments, node)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn invoke_best(
        &mut self,
        known: &[Known],
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let best = known
            .iter()
            .filter_map(|it| Some((self.rank(it, arguments)?, it)))
            .max_by_key(|(rank, _)| *rank);
        match (best, known) {
            (Some((_, known)), _) => self.invoke(known, arguments, node).map(Some),
            (None, [only, ..]) => Err(error(
                format!("`{}` takes {}", only.function.name, said_types(only)),
                &node.span,
            )),
            (None, []) => Ok(None),
        }
    }

    /// The implementation that stands behind a name whose symbol leads to a function that
    /// chooses one (`STT_GNU_IFUNC`): that function is called first.
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
                // The program's own function; the dynamic loader has copies that it uses itself.
                None if nth == 0 && !symbols.is_empty() => break,
                None => {}
            }
        }
        let Some((module, bias, addr)) = found else {
            return Ok(None);
        };
        let chooser = Callee {
            name: &format!("the function that chooses `{name}`"),
            entry: bias.load(addr),
            language: Language::C,
            types: &[],
            returns: Ty::Void.pointer(),
        };
        // Backwards: the function's own node may have been answered.
        let key = node.span.end..node.span.start;
        let chosen = self.run_call(chooser, &[], &key, node)?;
        let entry = LoadAddr(chosen.raw(self.context.as_target())? as u64);
        Ok(Some(Value::from_function(&module, bias, name, entry)))
    }

    /// The value of a node that goes elsewhere: of a function that is chosen as
    /// [`Self::implementation`] has it, the chosen one.
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

    /// How well arguments fit a function; `None`: not at all.
    fn rank(&self, known: &Known, arguments: &[Value]) -> Option<u32> {
        let parameters = parameters(known);
        if parameters.len() != arguments.len() {
            return None;
        }
        parameters.iter().zip(arguments).try_fold(0, |sum, pair| {
            let (parameter, argument) = pair;
            let argument = argument.referent(self.context.as_target()).ok()?;
            let (to, referred) = match parameter.shape() {
                Shape::Pointer(of, PointerKind::Reference) => (of, true),
                _ => (parameter.clone(), false),
            };
            let float = |ty: &Ty| match ty.shape() {
                Shape::Scalar(it) => matches!(it.kind, ScalarKind::Float(_)),
                _ => false,
            };
            let rank = match (to.shape(), argument.ty.shape()) {
                _ if to.same_as(&argument.ty) => 4,
                (Shape::Pointer(..), Shape::Text) => 3,
                (Shape::Pointer(of, PointerKind::Owned), _) if of.same_as(&argument.ty) => 3,
                (Shape::Pointer(..), Shape::Pointer(..) | Shape::Array(_) | Shape::Function) => 2,
                (Shape::Pointer(..), Shape::Scalar(_)) if !referred => 1,
                (Shape::Composite(_), Shape::Text) if matches!(&*to.name(), "&str" | "&[u8]") => 3,
                (Shape::Composite(_), _) if self.row(&to, &argument).is_some() => 3,
                (
                    Shape::Scalar(_) | Shape::Enumeration(_),
                    Shape::Scalar(_) | Shape::Enumeration(_),
                ) => {
                    if float(&to) == float(&argument.ty) {
                        3
                    } else {
                        1
                    }
                }
                (Shape::Composite(_), Shape::Composite(_)) if to.name() == argument.ty.name() => 4,
                _ => return None,
            };
            Some(sum + rank)
        })
    }

    fn invoke(&mut self, known: &Known, given: &[Value], node: &Node) -> Result<Value, Error> {
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
        self.run_call(callee, given, &node.span, node)
    }

    /// Calls what a pointer to a function points to, or a function without debug info, whose
    /// result then is what a cast says.
    pub(super) fn invoke_value(
        &mut self,
        function: &Value,
        given: &[Value],
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
                let why = format!("a `{}` cannot be called", function.ty.name());
                return Err(error(why, &node.span));
            }
        };
        let said = self.said(node).to_owned();
        let known = match &ty {
            Ty::Dwarf(ty) => match &ty.ty.kind {
                TypeKind::Subroutine(it) => Some((
                    it.parameters
                        .iter()
                        .map(|id| ty.related(*id))
                        .collect::<Vec<_>>(),
                    ty.related_or_void(it.return_type),
                    it.variadic,
                )),
                _ => None,
            },
            _ => None,
        };
        let (types, returns) = match (known, returns) {
            (Some((types, of, variadic)), _) => {
                if given.len() < types.len() || given.len() > types.len() && !variadic {
                    let why = format!("it takes {} arguments", types.len());
                    return Err(error(why, &node.span));
                }
                (types, of)
            }
            (None, Some(of)) => (Vec::new(), of.clone()),
            (None, None) => {
                let why = format!(
                    "nobody knows what `{said}` returns; cast the call, as in `(int){said}`"
                );
                return Err(error(why, &node.span));
            }
        };
        let callee = Callee {
            name: &said,
            entry,
            language: self.language,
            types: &types,
            returns,
        };
        self.run_call(callee, given, &node.span, node)
    }

    /// Calls, or takes what has come of it, kept under `key`.
    fn run_call(
        &mut self,
        callee: Callee<'_>,
        given: &[Value],
        key: &Range<usize>,
        node: &Node,
    ) -> Result<Value, Error> {
        let Callee { name, returns, .. } = callee;
        if self.purpose == Purpose::Look {
            return Err(error(
                format!("`{name}` would run in the program; only the console and watches call"),
                &node.span,
            ));
        }
        let mut given = Cow::Borrowed(given);
        let mut copies = Vec::new();
        for nth in 0..given.len() {
            let ty = callee.types.get(nth);
            if let Some(class) = self.copied_class(&given[nth], ty, callee.language) {
                let copy = self.copied(&given[nth], &class, special(key, copies.len()), node)?;
                given.to_mut()[nth] = copy.clone();
                copies.push((class, copy));
            }
        }
        if let Some(answer) = self.context.answered(key) {
            let answer = answer.at(node)?;
            // Those of the caller's copies end last to first, after the call.
            for (nth, (class, copy)) in copies.iter().enumerate().rev() {
                self.destroyed(copy, class, special(key, copies.len() + nth), node)?;
            }
            return Ok(answer);
        }
        let mut arguments = Vec::new();
        for (nth, value) in given.iter().enumerate() {
            let argument = self.argument(value, callee.types.get(nth), callee.language);
            arguments.extend(argument.at(node)?);
        }
        let through_memory = match returns.shape() {
            Shape::Void | Shape::Unit => false,
            _ => match sysv::passing(&returns, callee.language, true) {
                Passing::Registers(_) => false,
                Passing::Memory => true,
                Passing::Unknown => {
                    return Err(error(
                        format!("how a `{}` is returned is not known here", returns.name()),
                        &node.span,
                    ));
                }
            },
        };
        Err(self.context.call(Call {
            name: name.to_owned(),
            span: key.clone(),
            entry: callee.entry,
            arguments,
            returns,
            through_memory,
            language: callee.language,
        }))
    }

    /// `object.name(…)` as a function of the object's class or one of its bases.
    pub(super) fn invoke_method(
        &mut self,
        object: &Value,
        name: &str,
        given: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut holder = object.clone();
        for _ in 0..DEREFERENCES {
            match holder.ty.shape() {
                Shape::Pointer(of, _) => holder = holder.pointee(target, of)?,
                _ => break,
            }
        }
        for _ in 0..DEREFERENCES {
            let Shape::Composite(ty) = holder.ty.shape() else {
                return Ok(None);
            };
            if let Some((known, this)) = self.virtual_functions(&holder, name) {
                let mut all = vec![this];
                all.extend_from_slice(given);
                if let Some(value) = self.invoke_best(&known, &all, node)? {
                    return Ok(Some(value));
                }
            }
            let class = &ty.ty.name;
            let bare = class.split('<').next().unwrap_or_default();
            let names = [format!("{class}::{name}"), format!("{bare}::{name}")];
            let this = match holder.address() {
                // By reference as well as by value.
                _ if self.language == Language::Rust => holder.clone(),
                Some(addr) => Value::pointer_to(holder.ty.clone(), addr),
                None => return Err(error("the object is not in memory", &node.span)),
            };
            let mut all = vec![this];
            all.extend_from_slice(given);
            if let Some(value) = self.invoke_named(&names, &all, node)? {
                return Ok(Some(value));
            }
            let bases = ty.composite().map(|it| &it.bases[..]).unwrap_or_default();
            let Some(base) = bases.first() else {
                return Ok(None);
            };
            let target = self.context.as_target();
            holder = members::base(target, &holder, &ty, base)?;
        }
        Ok(None)
    }

    /// The functions of a name in the vtable of an object, and the whole object (Itanium C++
    /// ABI, §2.5.2). Thunks have no name, and are not among them.
    fn virtual_functions(&self, object: &Value, name: &str) -> Option<(Vec<Known>, Value)> {
        let Shape::Composite(ty) = object.ty.shape() else {
            return None;
        };
        if self.language != Language::Cpp || !ty.composite()?.polymorphic {
            return None;
        }
        let target = self.context.as_target();
        let word = |addr| target.memory().read_uint(addr, 8).ok();
        let addr = object.address()?;
        let top = word(LoadAddr(word(addr)?) - 16)?;
        let whole = LoadAddr(addr.0.wrapping_add(top));
        let table = LoadAddr(word(whole)?);
        let mut known = Vec::new();
        for slot in 0..VIRTUAL {
            let Some(entry) = word(table + slot * 8).map(LoadAddr) else {
                break;
            };
            let Some((module, bias)) = target.module_at(entry) else {
                break;
            };
            if let Some(function) = module.function_at(bias.file(entry))
                && bias.load(function.entry) == entry
                && last_component(&function.name) == name
            {
                known.push(Known {
                    module,
                    bias,
                    function,
                });
            }
        }
        let this = Value::pointer_to(object.ty.clone(), whole);
        (!known.is_empty()).then_some((known, this))
    }

    /// `a + b` of a class type: its `operator+`, or one outside of it.
    pub(super) fn invoke_operator(
        &mut self,
        operator: Binary,
        a: &Value,
        b: &Value,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        if self.language != Language::Cpp {
            return Ok(None);
        }
        let target = self.context.as_target();
        let (a, b) = (a.referent(target)?, b.referent(target)?);
        let class = |value: &Value| match value.ty.shape() {
            Shape::Composite(ty) => Some(ty.ty.name.clone()),
            _ => None,
        };
        if class(&a).is_none() && class(&b).is_none() {
            return Ok(None);
        }
        let name = format!("operator{}", operator.symbol());
        if class(&a).is_some()
            && let Some(value) = self.invoke_method(&a, &name, std::slice::from_ref(&b), node)?
        {
            return Ok(Some(value));
        }
        let mut names = vec![name.clone()];
        for class in [class(&a), class(&b)].into_iter().flatten() {
            if let Some((space, _)) = class.rsplit_once("::") {
                names.push(format!("{space}::{name}"));
            }
        }
        self.invoke_named(&names, &[a, b], node)
    }
}

fn said_types(known: &Known) -> String {
    match &parameters(known)[..] {
        [] => "no arguments".to_owned(),
        types => types.iter().map(Ty::name).collect::<Vec<_>>().join(", "),
    }
}

/// The types of a function's parameters, `this` first.
pub(super) fn parameters(known: &Known) -> Vec<Ty> {
    let all = known.function.scope.variables.iter();
    all.filter(|it| it.kind == VariableKind::Parameter)
        .map(|it| match it.ty {
            Some(id) => Ty::dwarf(&known.module, known.bias, id),
            None => Ty::Void,
        })
        .collect()
}
