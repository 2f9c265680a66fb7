//! Calls of functions in the debuggee. `crate::debugger::call` makes the
//! call. Here a call without a result ends the evaluation, which is restarted when there is one
//! ([`EvalContext::answered`](super::EvalContext::answered)).

use super::argument::{Argument, Slot};
use super::evaluate::{At, Evaluator, error, inner};
use super::ir::{self, Expr, Storage};
use super::ownership;
use super::tree::{Kind, Node};
use super::{c_library, check};
use crate::ids::error::Error;
use crate::inspect::abi::{self, MemberPointer, Returning};
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use dwarf::{ChangedParameters, FileAddr, Function, Language, LoadAddr, LoadBias, Module};
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
    /// Whether the frame's unit may refer to it: it has external linkage, or is of that unit.
    pub is_visible: bool,
}

/// A function whose calls are inlined, with its module and load bias.
pub type InlinedFunction = (Arc<Module>, LoadBias, dwarf::Method);

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
    /// Where its result will be.
    pub result: ResultPlace,
    /// The language whose calling convention it uses.
    pub language: Language,
    /// Address of the thread's `errno` if it must be the same after the call.
    pub errno: Option<LoadAddr>,
}

/// Where a function makes its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultPlace {
    /// In registers, or it has none.
    Registers,
    /// In memory that the caller provides.
    Memory,
    /// In memory that the caller provides: it is a constructor, and gets the object as its first
    /// argument.
    Object,
}

/// The function to call.
struct Callee<'a> {
    name: &'a str,
    entry: LoadAddr,
    language: Language,
    /// Types of its parameters, as far as they are known.
    types: &'a [Ty],
    returns: Ty,
    /// Whether it makes the result at the address that is its first argument.
    is_constructor: bool,
    /// Address of the `errno` that it must not change.
    errno: Option<LoadAddr>,
}

/// Returns the key of the result of an auxiliary call that belongs to the call of `key`. It lies
/// beyond the length of any expression.
pub(super) fn special(key: &Range<usize>, nth: usize) -> Range<usize> {
    key.start + ((nth + 1) << 32)..key.end
}

impl Evaluator<'_> {
    /// Returns the resolver of an indirect function by its name.
    pub(super) fn resolver(&self, name: &str) -> Option<(Arc<Module>, LoadBias, FileAddr)> {
        if !self.context.answers_calls() {
            return None;
        }
        let images = self.context.as_target().images();
        let is_chooser = |it: &dwarf::Symbol| it.kind == dwarf::SymbolKind::IndirectFunction;
        for (nth, (module, bias)) in images.into_iter().enumerate() {
            let symbols = module.function_symbols(name);
            match symbols.iter().find(|it| is_chooser(it)) {
                Some(symbol) => {
                    let addr = symbol.addr;
                    return Some((module, bias, addr));
                }
                // Use the program's own function: the dynamic loader has private copies.
                None if nth == 0 && !symbols.is_empty() => break,
                None => {}
            }
        }
        None
    }

    /// Returns the implementation of an indirect function (`STT_GNU_IFUNC`), whose resolver is
    /// called first.
    pub(super) fn implementation(
        &mut self,
        name: &str,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let Some((module, bias, addr)) = self.resolver(name) else {
            return Ok(None);
        };
        let chooser = Callee {
            name: &format!("resolver of `{name}`"),
            entry: bias.load(addr),
            language: Language::C,
            types: &[],
            returns: Ty::Void.pointer(),
            is_constructor: false,
            errno: None,
        };
        // A reversed span as the key: the function's own node may have a result.
        let key = node.span.end..node.span.start;
        let chosen = self.run_call(chooser, &[], &key, node)?;
        let entry = LoadAddr(chosen.raw(self.context.as_target())? as u64);
        Ok(Some(Value::from_function(&module, bias, name, entry)))
    }

    /// Evaluates a node whose value is assigned to a function pointer. An indirect function is
    /// replaced by its implementation.
    pub(super) fn handed_on(&mut self, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(node)?;
        let named = match &inner(node).kind {
            Kind::AddressOf(of) => inner(of),
            _ => inner(node),
        };
        match &named.kind {
            Kind::Name(name) if is_function(&value.ty) => {
                let chosen = self.implementation(name, named)?;
                Ok(chosen.unwrap_or(value))
            }
            _ => Ok(value),
        }
    }

    /// Makes a checked call.
    pub(super) fn perform(&mut self, call: &ir::Call<'_>, returns: &Ty) -> Result<Value, Error> {
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(self.passed(argument)?);
        }
        let node = call.node;
        let target = self.context.as_target();
        let entry = match &call.callee {
            ir::Callee::Code(entry) | ir::Callee::Constructor(entry) => *entry,
            // Itanium C++ ABI, §2.5.2.
            ir::Callee::Slot(slot) => {
                let this = arguments.first().ok_or(Error::OptimizedOut)?;
                let word = |addr| target.memory().read_uint(addr, 8).map(LoadAddr);
                let table = word(LoadAddr(this.raw(target)? as u64))?;
                word(table + slot.wrapping_mul(8))?
            }
            ir::Callee::Pointer(pointer) => {
                let function = self.passed(pointer)?;
                self.entry_of_function(&function, node)?
            }
            ir::Callee::Member(pointer) => {
                let member = self.member_pointer(pointer)?;
                self.entry_of_member(&member, &mut arguments, node)?
            }
            ir::Callee::CLibrary(name) => match self.entry_of_c_library(name, node)? {
                Some(entry) => entry,
                None => return self.computed(name, returns, &arguments, node),
            },
        };
        let callee = Callee {
            name: &call.name,
            entry,
            language: call.language,
            types: &call.types,
            returns: returns.clone(),
            is_constructor: matches!(call.callee, ir::Callee::Constructor(_)),
            errno: match c_library::has(&call.name) {
                true => self.errno(),
                false => None,
            },
        };
        // Beyond the keys of auxiliary calls.
        let key = node.span.start + ((call.step as usize) << 48)..node.span.end;
        self.run_call(callee, &arguments, &key, node)
    }

    /// Returns the entry of the C library's function of a name, if the program or its libraries have it.
    fn entry_of_c_library(&mut self, name: &str, node: &Node) -> Result<Option<LoadAddr>, Error> {
        Ok(match self.implementation(name, node)? {
            Some(chosen) => chosen.address(),
            None => check::Scope::code_of_symbol(self, name),
        })
    }

    /// Returns the result of a function of the C library that the program does not have, as compilers have
    /// instructions for it.
    fn computed(
        &self,
        name: &str,
        returns: &Ty,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Value, Error> {
        let result = match arguments {
            [of] => c_library::computed(name, of.raw(self.context.as_target())?),
            _ => None,
        };
        let Some(bits) = result else {
            let why = format!(
                "`{name}` has no code: neither the program nor its libraries have the function; use \
                 another one, or link it to the program"
            );
            return Err(error(why, &node.span));
        };
        let size = returns.size().unwrap_or(8).min(16) as usize;
        Ok(Value::of_bytes(
            returns.clone(),
            &bits.to_le_bytes()[..size],
        ))
    }

    /// Returns the address of the thread's `errno`, if the program has one.
    fn errno(&self) -> Option<LoadAddr> {
        self.context.global("errno").ok()??.address()
    }

    /// Returns the entry of the member function that a pointer to a member designates, and moves the
    /// object's address, the first argument (Itanium C++ ABI, §2.3).
    fn entry_of_member(
        &self,
        member: &MemberPointer,
        arguments: &mut [Value],
        node: &Node,
    ) -> Result<LoadAddr, Error> {
        let moved = match *member {
            MemberPointer::Function(entry, moved) if entry != 0 => moved,
            MemberPointer::Virtual(_, moved) => moved,
            _ => return Err(error("the pointer to a member is null", &node.span)),
        };
        let target = self.context.as_target();
        let this = arguments.first_mut().ok_or(Error::OptimizedOut)?;
        let addr = (this.raw(target)? as u64).wrapping_add(moved);
        *this = Value::of_bytes(this.ty.clone(), &addr.to_le_bytes());
        Ok(LoadAddr(match *member {
            MemberPointer::Data(_) => return Err(Error::OptimizedOut),
            MemberPointer::Function(entry, _) => entry,
            MemberPointer::Virtual(offset, _) => {
                let table = target.memory().read_uint(LoadAddr(addr), 8)?;
                let slot = table.wrapping_add(offset);
                target.memory().read_uint(LoadAddr(slot), 8)?
            }
        }))
    }

    /// Evaluates what is passed to a call. An indirect function is replaced by its implementation.
    fn passed(&mut self, of: &Expr<'_>) -> Result<Value, Error> {
        let value = self.interpret(of)?;
        // A variable that points to a function may have the name of an indirect one.
        let named = match &of.kind {
            ir::Kind::AddressOf(inner) | ir::Kind::Decay(inner) => inner,
            _ => of,
        };
        let is_function = matches!(named.ty.shape(), Shape::Function);
        match &named.kind {
            ir::Kind::Variable(Storage::Global, name, node, _) if is_function => {
                let chosen = self.implementation(name, node)?;
                Ok(chosen.unwrap_or(value))
            }
            _ => Ok(value),
        }
    }

    /// Returns the entry of a function, or of the one that a pointer refers to.
    fn entry_of_function(&self, function: &Value, node: &Node) -> Result<LoadAddr, Error> {
        let target = self.context.as_target();
        let function = function.referent(target)?;
        match function.ty.shape() {
            Shape::Pointer(..) => Ok(LoadAddr(function.raw(target)? as u64)),
            Shape::Function => function.address().ok_or(Error::OptimizedOut),
            _ => {
                let why = format!("cannot call a `{}`", function.ty.name());
                Err(error(why, &node.span))
            }
        }
    }

    /// Returns why the code at `entry` cannot be called with the arguments of the source, if it is so.
    fn changed_parameters(&self, entry: LoadAddr, name: &str) -> Option<String> {
        let (module, bias) = self.context.as_target().module_at(entry)?;
        let function = module.function_at(bias.file(entry))?;
        if bias.load(function.entry) != entry {
            return None;
        }
        let reason = match module.changed_parameters(&function)? {
            ChangedParameters::Copy(symbol) => {
                format!("the compiler left only `{symbol}`, which takes other parameters")
            }
            ChangedParameters::Constant(parameter) => {
                format!("the compiler left only code that has a constant for `{parameter}`")
            }
            ChangedParameters::Removed(parameter) => {
                format!("the compiler left only code that does not take `{parameter}`")
            }
            ChangedParameters::NotCallable => {
                "the compiler has changed how it takes its arguments".to_owned()
            }
            ChangedParameters::Linked => {
                "it is a nested function that uses variables of a call of the function around it; only that \
                 can call it"
                    .to_owned()
            }
        };
        Some(format!("`{name}` cannot be called: {reason}"))
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
        if self.is_searching {
            let why = format!("the closure of a search cannot call a function: `{name}`");
            return Err(error(why, &node.span));
        }
        for value in arguments.iter().skip(callee.types.len()) {
            ownership::may_move(&value.ty).at(node)?;
        }
        let mut arguments = Cow::Borrowed(arguments);
        let mut copies = Vec::new();
        for nth in 0..arguments.len() {
            let ty = callee.types.get(nth);
            if let Some(class) = self.copied_class(&arguments[nth], ty, callee.language) {
                let copy =
                    self.copied(&arguments[nth], &class, special(key, copies.len()), node)?;
                arguments.to_mut()[nth] = copy.clone();
                copies.push(copy);
            }
        }
        if let Some(answer) = self.context.answered(key) {
            let answer = answer.at(node)?;
            self.keep_guard(&answer, key);
            let is_temporary = |it: &Value| it.place.has_temporary();
            let answer = match arguments.iter().any(is_temporary) {
                true => self.kept_from_stack(answer, key),
                false => answer,
            };
            // The caller destroys its copies after the call, last to first.
            for (nth, copy) in copies.iter().enumerate().rev() {
                self.drop_value(copy, special(key, copies.len() + nth), node)?;
            }
            return Ok(answer);
        }
        if let Some(why) = self.changed_parameters(callee.entry, name) {
            return Err(error(why, &node.span));
        }
        self.may_guard(name, &returns, node)?;
        let mut passed = Vec::new();
        for (nth, value) in arguments.iter().enumerate() {
            let argument = self.argument(value, callee.types.get(nth), callee.language);
            let mut argument = argument.at(node)?;
            // The types of a function without a declaration are not known.
            if nth >= callee.types.len() && !callee.types.is_empty() {
                argument.iter_mut().for_each(|it| it.slot = Slot::Variadic);
            }
            passed.extend(argument);
        }
        let arch = self.context.arch();
        let result = match abi::returning(arch, &returns, callee.language) {
            _ if callee.is_constructor => ResultPlace::Object,
            Returning::Registers(_) => ResultPlace::Registers,
            Returning::Memory => ResultPlace::Memory,
            Returning::Unknown => {
                let why = format!("unsupported return type `{}`", returns.name());
                return Err(error(why, &node.span));
            }
        };
        Err(self.context.call(Call {
            name: name.to_owned(),
            span: key.clone(),
            entry: callee.entry,
            arguments: passed,
            returns,
            result,
            language: callee.language,
            errno: callee.errno,
        }))
    }
}

/// What a reference refers to if that is no longer there after a call.
const DEAD_BYTES: u64 = 1 << 16;

impl Evaluator<'_> {
    /// Returns the result of a call that was passed temporaries. If it refers to one, the temporary is
    /// read now: its memory, beyond the end of the stack, is that of the next call.
    fn kept_from_stack(&mut self, answer: Value, key: &Range<usize>) -> Value {
        match self.copy_from_stack(&answer) {
            Some(kept) => {
                self.context.keep_done(key, &kept);
                kept
            }
            None => answer,
        }
    }

    fn copy_from_stack(&self, answer: &Value) -> Option<Value> {
        if !super::check::is_reference(&answer.ty) || answer.place.has_temporary() {
            return None;
        }
        let target = self.context.as_target();
        let end = ["rsp", "sp"]
            .iter()
            .find_map(|it| self.context.register(it))?;
        let (end, at) = (
            end.raw(target).ok()? as u64,
            answer.raw(target).ok()? as u64,
        );
        if at >= end || end - at > DEAD_BYTES {
            return None;
        }
        let (ty, of) = match answer.ty.shape() {
            Shape::Pointer(of, _) => {
                let value = answer.pointee(target, of.clone()).ok()?;
                let bytes = value.bytes(target).ok()?;
                (of.clone().reference(), Value::of_bytes(of, &bytes))
            }
            _ if library::is_text(&answer.ty) => {
                let (_, text) = library::text_of(target, answer).ok()?;
                (Ty::str(), Value::of_bytes(Ty::Text, &text))
            }
            _ => {
                let elements = library::elements(target, answer).ok()?;
                let element = match library::contents(&answer.ty)? {
                    Contents::Sequence(element) => element,
                    _ => return None,
                };
                let mut bytes = Vec::new();
                for it in &elements {
                    bytes.extend_from_slice(&it.bytes(target).ok()?);
                }
                let array = element.clone().array(elements.len() as u64);
                (element.slice(), Value::of_bytes(array, &bytes))
            }
        };
        Some(Value::new(ty, ValueLocation::Temporary(Arc::new(of))))
    }
}

/// Returns whether a type is that of functions, or of pointers to them.
fn is_function(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Pointer(of, _) => matches!(of.shape(), Shape::Function),
        shape => matches!(shape, Shape::Function),
    }
}
