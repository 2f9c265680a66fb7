//! Calls of functions in the debuggee: overload resolution and arguments. `crate::debugger::call` makes the
//! call. Here a call without a result ends the evaluation, which is restarted when there is one
//! ([`EvalContext::answered`](super::EvalContext::answered)).

use super::argument::Argument;
use super::evaluate::{At, DEREFERENCES, Evaluator, error, inner};
use super::exact::{self, Refusal};
use super::tree::{Binary, Kind, Node};
use super::{Purpose, ownership};
use crate::ids::error::Error;
use crate::inspect::abi::sysv::{self, Passing};
use crate::inspect::value::members;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize;
use dwarf::{Function, Language, LoadAddr, LoadBias, Module, TypeKind, VariableKind};
use std::borrow::Cow;
use std::cmp::Reverse;
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

/// Maximum number of vtable slots to examine.
const VIRTUAL: u64 = 256;
/// Maximum nesting of bases whose functions are examined.
const BASES: usize = 16;

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
    fn invoke_best(
        &mut self,
        known: &[ResolvedFunction],
        class: Option<&Arc<DwarfTy>>,
        typed: &str,
        given: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        match self.best(known, class, typed, given).at(node)? {
            Some(best) => {
                let takes_object = class.is_none() || exact::takes_object(best);
                let given = given.get(usize::from(!takes_object)..).unwrap_or_default();
                self.invoke(best, given, node).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Returns the best of these functions; an error says why none matches.
    fn best<'k>(
        &self,
        known: &'k [ResolvedFunction],
        class: Option<&Arc<DwarfTy>>,
        typed: &str,
        given: &[Value],
    ) -> Result<Option<&'k ResolvedFunction>, String> {
        let mut fitting: Vec<(u32, &ResolvedFunction)> = Vec::new();
        let mut refused: Option<(&ResolvedFunction, Refusal)> = None;
        for it in known {
            match self.fitness(it, class, typed, given) {
                Ok(rank) => fitting.push((rank, it)),
                // A refused argument is a better explanation than other parameters.
                Err(why) => match &refused {
                    Some((_, before)) if before.weight() >= why.weight() => {}
                    _ => refused = Some((it, why)),
                },
            }
        }
        let Some(rank) = fitting.iter().map(|(rank, _)| *rank).max() else {
            return match refused {
                Some((known, why)) => Err(said_refusal(known, why)),
                None => Ok(None),
            };
        };
        let mut best: Vec<&ResolvedFunction> = fitting
            .into_iter()
            .filter(|it| it.0 == rank)
            .map(|it| it.1)
            .collect();
        // A class's own functions hide those of traits; a non-const overload is preferred to its
        // const twin.
        best.sort_by_key(|it| {
            let of_trait = class.is_some() && it.module.class_of(&it.function).is_none();
            (of_trait, exact::is_const_method(it), Reverse(it.nearness))
        });
        let is_as_near = |it: &&ResolvedFunction| match best.first() {
            Some(first) => {
                it.nearness == first.nearness
                    && exact::is_const_method(it) == exact::is_const_method(first)
                    && (class.is_none()
                        || it.module.class_of(&it.function).is_none()
                            == first.module.class_of(&first.function).is_none())
                    && (it.function.linkage_name != first.function.linkage_name
                        || it.function.linkage_name.is_none())
            }
            None => false,
        };
        match (best.first(), best.iter().skip(1).find(|it| is_as_near(it))) {
            (Some(one), Some(other)) if one.function.entry != other.function.entry => Err(format!(
                "ambiguous call: candidates are `{}`{} and `{}`{}; write a more qualified name",
                one.function.name,
                said_place(one),
                other.function.name,
                said_place(other),
            )),
            (first, _) => Ok(first.copied()),
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

    fn invoke(
        &mut self,
        known: &ResolvedFunction,
        given: &[Value],
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
        self.run_call(callee, given, &node.span, node)
    }

    /// Calls the target of a function pointer, or a function without debug info, whose return type
    /// then is that of a cast.
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
                let why = format!("cannot call a `{}`", function.ty.name());
                return Err(error(why, &node.span));
            }
        };
        let said = self.source_text(node).to_owned();
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
                    let why = format!("expected {} arguments", types.len());
                    return Err(error(why, &node.span));
                }
                for (ty, value) in types.iter().zip(given) {
                    self.accepts(ty, value, self.language)
                        .map_err(|why| why.of_pointer(ty, value))
                        .at(node)?;
                }
                (types, of)
            }
            (None, Some(of)) => (Vec::new(), of.clone()),
            (None, None) => {
                let why = format!(
                    "unknown return type of `{said}`; cast the call, for example `(int){said}`"
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

    /// Makes a call, or returns its result if there is one under `key`.
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
                format!("calls are allowed only on the console and in watches: `{name}`"),
                &node.span,
            ));
        }
        for value in given.iter().skip(callee.types.len()) {
            ownership::may_move(value).at(node)?;
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
            // The caller destroys its copies after the call, last to first.
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
            arguments,
            returns,
            through_memory,
            language: callee.language,
        }))
    }

    /// Calls `object.name(…)`, a function of the object's class or one of its bases.
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
        let mut refused = None;
        let found = self.method_within(&holder, name, given, node, &mut refused, BASES)?;
        match (found, refused) {
            (None, Some(why)) => Err(error(why, &node.span)),
            (found, _) => Ok(found),
        }
    }

    fn method_within(
        &mut self,
        holder: &Value,
        name: &str,
        given: &[Value],
        node: &Node,
        refused: &mut Option<String>,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let Shape::Composite(class) = holder.ty.shape() else {
            return Ok(None);
        };
        if let Some((known, this)) = self.virtual_functions(holder, name) {
            let mut all = vec![this];
            all.extend_from_slice(given);
            // The vtable belongs to the dynamic class, so its functions match exactly.
            if let Some(best) = self.best_virtual(&known, name, &all).at(node)? {
                return self.invoke(best, &all, node).map(Some);
            }
        }
        let (own, other) = self.methods_of(&class, name);
        if !own.is_empty() {
            let this = match holder.address() {
                // By reference or by value.
                _ if self.language == Language::Rust => holder.clone(),
                Some(addr) => Value::pointer_to(holder.ty.clone(), addr),
                None => return Err(error("the object is not in memory", &node.span)),
            };
            let mut all = vec![this];
            all.extend_from_slice(given);
            return self.invoke_best(&own, Some(&class), name, &all, node);
        }
        if let Some(other) = other {
            refused.get_or_insert_with(|| not_in_program(&class, name, &other));
        }
        let bases = class
            .composite()
            .map(|it| &it.bases[..])
            .unwrap_or_default();
        for base in bases {
            if depth == 0 {
                break;
            }
            let part = members::base(self.context.as_target(), holder, &class, base)?;
            let found = self.method_within(&part, name, given, node, refused, depth - 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the functions of a name that are members of exactly this class; otherwise the other
    /// type that has a function of this name: another instantiation of the same template.
    pub(super) fn methods_of(
        &self,
        class: &Arc<DwarfTy>,
        name: &str,
    ) -> (Vec<ResolvedFunction>, Option<String>) {
        let whole = &class.ty.name;
        let bare = whole.split('<').next().unwrap_or_default();
        let names = [format!("{whole}::{name}"), format!("{bare}::{name}")];
        let mut other = None;
        for name in names.iter().take(if whole == bare { 1 } else { 2 }) {
            let mut own = Vec::new();
            for known in self.context.functions(name) {
                match exact::is_member(&known, class) {
                    Ok(()) => own.push(known),
                    Err(Refusal::OfAnotherType(of)) => other = other.or(Some(of)),
                    Err(_) => {}
                }
            }
            if !own.is_empty() {
                return (own, None);
            }
        }
        (Vec::new(), other)
    }

    fn best_virtual<'k>(
        &self,
        known: &'k [ResolvedFunction],
        name: &str,
        all: &[Value],
    ) -> Result<Option<&'k ResolvedFunction>, String> {
        let given = all.get(1..).unwrap_or_default();
        let fits = |it: &&ResolvedFunction| {
            let types = parameters(it);
            let types = types.get(1..).unwrap_or_default();
            types.len() == given.len()
                && types
                    .iter()
                    .zip(given)
                    .all(|(ty, value)| self.accepts(ty, value, Language::Cpp).is_ok())
        };
        let rank = |it: &&ResolvedFunction| -> u32 {
            let types = parameters(it);
            let types = types.get(1..).unwrap_or_default();
            let pairs = types.iter().zip(given);
            pairs
                .filter_map(|(ty, value)| self.accepts(ty, value, Language::Cpp).ok())
                .sum()
        };
        match (known.iter().filter(fits).max_by_key(rank), known.first()) {
            (Some(best), _) => Ok(Some(best)),
            (None, Some(only)) => Err(format!("`{name}` takes {}", said_types(only))),
            (None, None) => Ok(None),
        }
    }

    /// Returns the functions of a name in the vtable of an object, and the whole object (Itanium
    /// C++ ABI, §2.5.2). Thunks have no name and are not included.
    fn virtual_functions(
        &self,
        object: &Value,
        name: &str,
    ) -> Option<(Vec<ResolvedFunction>, Value)> {
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
        let class = visualize::in_truth(target, object.clone()).ty;
        let mut known = Vec::new();
        for slot in 0..VIRTUAL {
            let Some(entry) = word(table + slot * 8).map(LoadAddr) else {
                break;
            };
            let Some((module, bias)) = target.module_at(entry) else {
                break;
            };
            let Some(function) = module.function_at(bias.file(entry)) else {
                continue;
            };
            let found = ResolvedFunction {
                module,
                bias,
                function,
                nearness: 0,
            };
            // Another class's vtable may follow.
            if bias.load(found.function.entry) == entry
                && dwarf::answers_to(&found.function.name, name)
                && exact::is_inherited(&found, &class)
            {
                known.push(found);
            }
        }
        let this = Value::pointer_to(object.ty.clone(), whole);
        (!known.is_empty()).then_some((known, this))
    }

    /// Evaluates `a + b` of a class type: its `operator+`, or a free function.
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

/// Returns the message for a function that is not called.
fn said_refusal(known: &ResolvedFunction, why: Refusal) -> String {
    match why {
        Refusal::Argument(why) => why,
        _ => format!("`{}` takes {}", known.function.name, said_types(known)),
    }
}

/// Returns the message for a member function that was never instantiated in the program.
fn not_in_program(class: &Arc<DwarfTy>, name: &str, other: &str) -> String {
    let own = Ty::Dwarf(Arc::clone(class)).name();
    let remedy = match class.ty.name.contains('<') && class.language() == Language::Cpp {
        true => "use it in the program, or instantiate the class there (`template struct …;`)",
        false => "use it in the program",
    };
    format!("no callable `{name}` of `{own}` in the program, only that of `{other}`; {remedy}")
}

fn said_place(known: &ResolvedFunction) -> String {
    match &known.function.declaration {
        Some(at) => format!(" ({}:{})", at.file.path.display(), at.line),
        None => String::new(),
    }
}

fn said_types(known: &ResolvedFunction) -> String {
    match &parameters(known)[..] {
        [] => "no arguments".to_owned(),
        types => types.iter().map(Ty::name).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the types of a function's parameters, `this` first.
pub(super) fn parameters(known: &ResolvedFunction) -> Vec<Ty> {
    let all = known.function.scope.variables.iter();
    all.filter(|it| it.kind == VariableKind::Parameter)
        .map(|it| match it.ty {
            Some(id) => Ty::dwarf(&known.module, known.bias, id),
            None => Ty::Void,
        })
        .collect()
}
