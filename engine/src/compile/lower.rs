//! Compiler: tree → intermediate code, with the meaning that [`crate::expr`] gives each node.

use super::code::{Address, Base, BoolExpr, Int, Order};
use super::place::is_general;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, Scope, probe};
use crate::expr::Expression;
use crate::expr::ResolvedFunction;
use crate::expr::check::{self, Checked, Checker, Known, Leaf, Stop};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::expr::ir::Storage;
use crate::expr::tree::{Kind, Node};
use crate::expr::types::{TypeName, named_by};
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{RegisterPlace, Shape, Ty, Value, members};
use dwarf::{CTypes, Language, LoadAddr};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The compilation of one expression.
pub(super) struct Compiler<'a> {
    pub(super) scope: &'a dyn Scope,
    /// The language of the expression's syntax.
    pub(super) language: Language,
    text: &'a str,
    pub(super) known: RefCell<Known>,
    values: RefCell<FxHashMap<usize, RuntimeValue>>,
    /// The variables that were looked up for nodes.
    variables: RefCell<FxHashMap<usize, RuntimeValue>>,
    /// The values that patterns have bound, by their keys.
    pub(super) bound: RefCell<FxHashMap<usize, RuntimeValue>>,
    /// The number of loops that have been compiled.
    pub(super) loops: Cell<u8>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(expression: &'a Expression, scope: &'a dyn Scope) -> Compiler<'a> {
        Compiler {
            scope,
            language: expression.language(),
            text: expression.text(),
            known: RefCell::default(),
            values: RefCell::default(),
            variables: RefCell::default(),
            bound: RefCell::default(),
            loops: Cell::new(0),
        }
    }

    pub(super) fn source_text(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or("it")
    }

    /// Returns a part of the expression as it is written; `None` if it is the whole expression.
    pub(super) fn part(&self, span: &Range<usize>) -> Option<&str> {
        let part = self.text.get(span.clone())?.trim();
        (part.len() < self.text.trim().len() && !part.is_empty()).then_some(part)
    }

    /// Returns why an expression that the check refuses does not compile.
    fn refused(&self, error: &Error) -> NotCompilable {
        let part = match error {
            Error::Eval { span, .. } => self.part(span),
            _ => None,
        };
        NotCompilable::new(error.to_string()).in_part(part)
    }

    /// Compiles a node as a condition.
    pub(super) fn truth(&self, node: &Node) -> Result<BoolExpr, NotCompilable> {
        loop {
            match self.check(|checker| checker.condition(node)) {
                Ok(condition) if !condition.is_late() => return self.truth_of(&condition),
                Err(Stop::Wrong(error)) => return Err(self.refused(&error)),
                Ok(_) => {
                    let value = self.value(node)?;
                    self.remember(node, value);
                }
                Err(Stop::Needs(part) | Stop::Wants(part)) => {
                    let value = self.any_value(part)?;
                    self.remember(part, value);
                }
            }
        }
    }

    pub(super) fn check<'t>(&self, check: impl FnOnce(&Checker<'_>) -> Checked<'t>) -> Checked<'t> {
        let known = self.known.borrow();
        check(&Checker::new(self, self.language, &known, self.text))
    }

    /// Records the value of a node, which is not compiled again.
    fn remember(&self, node: &Node, value: RuntimeValue) {
        self.known.borrow_mut().insert(node, leaf(&value));
        self.values.borrow_mut().insert(check::key(node), value);
    }

    /// Returns the value of a node that is known.
    pub(super) fn known_value(&self, node: &Node) -> Result<RuntimeValue, NotCompilable> {
        let values = self.values.borrow();
        let value = values.get(&check::key(node)).cloned();
        value.ok_or_else(|| "its value is not known".into())
    }

    /// Compiles a node to a value.
    pub(super) fn value(&self, node: &Node) -> Result<RuntimeValue, NotCompilable> {
        loop {
            match self.check(|checker| checker.check(node)) {
                Ok(checked) => return self.lower(&checked),
                Err(Stop::Wrong(error)) => return Err(self.refused(&error)),
                Err(Stop::Needs(part) | Stop::Wants(part)) => {
                    let value = self.any_value(part)?;
                    self.remember(part, value);
                }
            }
        }
    }

    /// Compiles a node whose type only its value shows.
    fn any_value(&self, node: &Node) -> Result<RuntimeValue, NotCompilable> {
        let value = self.any_value_of(node);
        value.map_err(|why| why.in_part(self.part(&node.span)))
    }

    fn any_value_of(&self, node: &Node) -> Result<RuntimeValue, NotCompilable> {
        match &node.kind {
            Kind::Register(name) => self.register(name),
            Kind::Name(name) => Err(self.no_place(name)),
            Kind::AddressOf(inner) => Err(NotCompilable::new(format!(
                "`{}` has no address",
                self.source_text(inner)
            ))),
            Kind::Binary(operator, ..) => Err(NotCompilable::new(format!(
                "`{}` of these operands is not supported",
                operator.symbol()
            ))),
            Kind::Member(object, name) => self.member(object, name),
            Kind::Index(..) => Err("the result is a range of elements".into()),
            Kind::Cast(cast, name, inner) => self.cast_to_reference(*cast, name, inner),
            Kind::Call(function, _) => Err(NotCompilable::new(format!(
                "`{}` unwinds the stack",
                self.source_text(function)
            ))),
            Kind::Repeat(..) | Kind::Range(..) => Err("the result is a range of elements".into()),
            _ => Err(NotCompilable::new(format!(
                "`{}` is not a number",
                self.source_text(node)
            ))),
        }
    }

    fn look_up(&self, storage: Storage, name: &str) -> Result<Option<RuntimeValue>, NotCompilable> {
        let found = match storage {
            Storage::Local => self.scope.local(name),
            Storage::Global => self.scope.global(name),
        };
        found.map_err(|reason| NotCompilable::new(format!("`{name}`: {reason}")))
    }

    /// Returns why a name has no place.
    fn no_place(&self, name: &str) -> NotCompilable {
        let own = match self.language {
            Language::Cpp => "this",
            Language::Rust => "self",
            Language::C => name,
        };
        let places = [
            (Storage::Local, name),
            (Storage::Local, own),
            (Storage::Global, name),
        ];
        let mut reasons = places
            .into_iter()
            .filter_map(|(storage, name)| self.look_up(storage, name).err());
        reasons
            .next()
            .unwrap_or_else(|| NotCompilable::unknown_name(name))
    }

    /// Returns the variable that was looked up for a node.
    pub(super) fn variable_of(
        &self,
        storage: Storage,
        name: &str,
        node: &Node,
    ) -> Result<RuntimeValue, NotCompilable> {
        if let Some(value) = self.variables.borrow().get(&check::key(node)) {
            return Ok(value.clone());
        }
        self.look_up(storage, name)?
            .ok_or_else(|| NotCompilable::unknown_name(name))
    }

    /// Returns the type that the expression spells.
    pub(super) fn type_of_name(&self, name: &TypeName) -> Result<Ty, NotCompilable> {
        let known = self.known.borrow();
        let checker = Checker::new(self, self.language, &known, self.text);
        let found = checker.type_of_name(name);
        found.map_err(|_| NotCompilable::new(format!("no type `{}`", name.base)))
    }

    pub(super) fn type_named(&self, name: &str) -> Option<Ty> {
        let find = |name: &str| self.scope.type_named(name);
        named_by(self.scope.language(), self.scope.c_types(), &find, name)
    }

    fn register(&self, name: &str) -> Result<RuntimeValue, NotCompilable> {
        let place = |register| RegisterPlace {
            thread: crate::ThreadId(0),
            level: 0,
            register,
        };
        let like = |register, name: &str| Value::from_register(place(register), name, 0).ty;
        let arch = self.scope.arch();
        let machine = arch.machine();
        let alias = match name {
            "pc" => Some(machine.pc()),
            "sp" => Some(machine.sp()),
            "fp" => Some(machine.frame_pointer()),
            name => arch.register_alias(name),
        };
        let mut names = machine.register_names().iter();
        let named = names.find(|(register, known)| *known == name || alias == Some(*register));
        match named {
            Some((register, known)) if *register == machine.pc() => {
                let bytes = Bytes::new(&self.scope.pc().0.to_le_bytes());
                let place = RuntimeLocation::Bytes(bytes);
                return Ok(RuntimeValue::new(like(*register, known), place));
            }
            Some((register, known)) if is_general(arch, *register) => {
                let place = RuntimeLocation::Register(*register, 0);
                return Ok(RuntimeValue::new(like(*register, known), place));
            }
            _ => {}
        }
        if let Some((whole, skip, ty)) = register_parts::part(arch, name, self.language) {
            let mut names = machine.register_names().iter();
            let whole = names.find(|(_, known)| *known == whole);
            if let Some((register, _)) = whole.filter(|it| is_general(arch, it.0)) {
                let place = RuntimeLocation::Register(*register, skip);
                return Ok(RuntimeValue::new(ty, place));
            }
        }
        if name == "thread"
            && let Some(offset) = self.scope.thread_number()
        {
            let int = Scalar::new(ScalarKind::Signed, 4);
            let place = Address::of(Base::Thread, i64::from(offset));
            let ty = Ty::Builtin(int, "int");
            return Ok(RuntimeValue::new(ty, RuntimeLocation::Memory(place)));
        }
        Err(match name {
            "thread" => "`$thread` is known only to the debugger".into(),
            name => NotCompilable::new(format!("`${name}` is not a general-purpose register")),
        })
    }

    pub(super) fn find_member(
        &self,
        object: &RuntimeValue,
        name: &str,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let mut object = object.clone();
        for _ in 0..DEREFERENCES {
            match object.ty.shape() {
                Shape::Composite(of) => {
                    if let Some(found) = self.member_of_variant(&object, &of, name)? {
                        return Ok(Some(found));
                    }
                    if let Some(found) = probe::member(&object, name)? {
                        return Ok(Some(found));
                    }
                    let composite = of.composite();
                    if of.visualizer().is_some() || composite.is_some_and(|it| it.polymorphic) {
                        return Err(NotCompilable::new(format!(
                            "the location of `{name}` depends on the contents of the `{}`",
                            object.ty.name()
                        )));
                    }
                    return Ok(None);
                }
                Shape::Pointer(of, _) => object = object.pointee(&of)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn member(&self, object: &Node, name: &str) -> Result<RuntimeValue, NotCompilable> {
        if let Kind::Register(_) = inner(object).kind {
            return Err("parts of registers are not supported".into());
        }
        let value = self.value(object)?;
        self.find_member(&value, name)?.ok_or_else(|| {
            NotCompilable::new(format!(
                "no member `{name}` in `{}`",
                self.source_text(object)
            ))
        })
    }
}

/// Returns an index that must be less than a length; deopt otherwise.
pub(super) fn within(index: Int, len: Int) -> Result<Int, NotCompilable> {
    match BoolExpr::compare(Order::Ge, false, index.clone(), len) {
        BoolExpr::Constant(false) => Ok(index),
        BoolExpr::Constant(true) => Err("the index is out of range".into()),
        beyond => Ok(Int::Unless(Box::new(beyond), Box::new(index))),
    }
}

fn leaf(value: &RuntimeValue) -> Leaf {
    Leaf {
        ty: value.ty.clone(),
        bits: value.bits.map(|bits| bits.size),
    }
}

impl check::Scope for Compiler<'_> {
    fn c_types(&self) -> CTypes {
        self.scope.c_types()
    }

    fn find_type(&self, name: &str) -> Option<Ty> {
        self.type_named(name)
    }

    fn variable(&self, storage: Storage, name: &str, node: &Node) -> Result<Option<Leaf>, Error> {
        let found = self.look_up(storage, name);
        let Some(value) = found.map_err(|reason| Error::Unsupported(reason.to_string()))? else {
            return Ok(None);
        };
        let leaf = leaf(&value);
        self.variables.borrow_mut().insert(check::key(node), value);
        Ok(Some(leaf))
    }

    fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, Error> {
        if self.type_named(name).is_some() || !self.scope.has_functions(name) {
            return Ok(Vec::new());
        }
        let name = members::last_component(name);
        Err(Error::Unsupported(format!("it calls `{name}`")))
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

    fn data_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.scope.data_of_symbol(symbol)
    }

    fn has_macros(&self) -> bool {
        self.scope.has_macros()
    }

    fn hides_functions(&self, name: &str) -> bool {
        let found = self.look_up(Storage::Local, name);
        found.is_ok_and(|found| found.is_some_and(|it| !matches!(it.ty.shape(), Shape::Function)))
    }

    fn is_chosen_at_run_time(&self, _: &str) -> bool {
        false
    }

    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        self.scope.enumeration_with(enumerator)
    }

    fn unknown_name(&self, name: &Node) -> Error {
        Error::UnknownName {
            message: format!("unknown name `{}`", self.source_text(name)),
            span: name.span.clone(),
        }
    }

    fn may_change(&self) -> bool {
        false
    }

    fn may_call(&self) -> bool {
        false
    }
}

/// Returns the address of code, as the interpreter does for a function's name.
pub(super) fn function_at(name: &str, entry: LoadAddr) -> RuntimeValue {
    let address = super::code::Address::of(super::code::Base::Zero, entry.0 as i64);
    RuntimeValue::new(Ty::Function(name.into()), RuntimeLocation::Memory(address))
}
