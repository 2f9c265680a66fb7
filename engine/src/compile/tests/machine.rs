//! A simulated stopped machine: registers, and memory of this process.

use crate::arch::Arch;
use crate::compile::code::{Address, Base};
use crate::compile::lower::function_at;
use crate::compile::place::Terms;
use crate::compile::{Captured, Condition, NotCompilable, RuntimeLocation, RuntimeValue, Scope};
use crate::expr::{EvalContext, Expression};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{self, Limits, RegisterPlace, Target, Ty, Value};
use dwarf::{
    Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, Register, TypeId, Unreadable,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

#[cfg_attr(target_arch = "x86_64", path = "machine/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "machine/aarch64.rs")]
mod host;

pub use host::{VARIABLES, listing};

/// DWARF numbers of the stack pointer and the frame pointer.
#[cfg(target_arch = "x86_64")]
pub const SP: usize = 7;
#[cfg(target_arch = "x86_64")]
pub const FP: usize = 6;
#[cfg(target_arch = "aarch64")]
pub const SP: usize = 31;
#[cfg(target_arch = "aarch64")]
pub const FP: usize = 29;

/// The place of a variable.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// Offset in bytes from `rbp`.
    Frame(i64),
    /// Offset in bytes from `rsp`.
    Stack(i64),
    /// In the machine's globals.
    Global(u64),
    /// In a general-purpose register.
    Register(u16),
    /// In a vector register.
    Vector(u16),
    /// At an address of this process.
    Address(u64),
}

/// Registers, memory and variables.
pub struct Machine {
    /// The instruction set of its code.
    pub arch: Arch,
    pub language: Language,
    /// By DWARF number.
    pub general: [u64; 32],
    pub vectors: [u128; 32],
    /// The stack's first page, its frame, and the globals; boxed, so that the addresses are stable.
    bytes: Box<[u64]>,
    pub variables: Vec<(String, Ty, At)>,
    memory: OwnMemory,
    /// The source of types, and of names that are not variables of the machine.
    pub module: Option<(Arc<Module>, LoadBias)>,
}

/// This process's own memory; reads of unmapped addresses fail.
pub struct OwnMemory(File);

impl Memory for OwnMemory {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let unreadable = |_| Unreadable {
            addr,
            len: buffer.len(),
        };
        let signed = i64::try_from(addr.0).map_err(unreadable)?;
        let len = buffer.len();
        self.0
            .read_exact_at(buffer, signed as u64)
            .map_err(|_| Unreadable { addr, len })
    }
}

/// Words below the frame: signal handlers of this process may need them.
const BELOW: usize = 16 * 1024;
/// Words of the frame, and of the globals.
pub const FRAME: usize = 64;

/// The outcome of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Yes,
    No,
    Deopt,
}

impl Machine {
    pub fn new(language: Language) -> Machine {
        let bytes = vec![0u64; BELOW + 3 * FRAME].into_boxed_slice();
        let mut machine = Machine {
            arch: Arch::HOST,
            language,
            general: [0; 32],
            vectors: [0; 32],
            bytes,
            variables: Vec::new(),
            memory: OwnMemory(File::open("/proc/self/mem").expect("own memory")),
            module: None,
        };
        let stack = machine.bytes.as_ptr() as u64 + 8 * BELOW as u64;
        machine.general[SP] = stack;
        machine.general[FP] = stack + 8 * FRAME as u64;
        machine
    }

    pub fn globals(&self) -> u64 {
        self.general[SP] + 16 * FRAME as u64
    }

    /// Returns the words of the stack, the frame and the globals.
    pub fn words(&mut self) -> &mut [u64] {
        &mut self.bytes[BELOW..]
    }

    /// Sets the bytes of a variable.
    pub fn set(&mut self, at: At, bits: u128, size: usize) {
        let base = self.general[SP];
        let place = match at {
            At::Register(number) => {
                self.general[usize::from(number)] = bits as u64;
                return;
            }
            At::Vector(number) => {
                self.vectors[usize::from(number)] = bits;
                return;
            }
            At::Frame(offset) => self.general[FP].wrapping_add_signed(offset) - base,
            At::Stack(offset) => offset as u64,
            At::Global(offset) => self.globals() + offset - base,
            At::Address(addr) => addr - base,
        };
        let bytes = bits.to_le_bytes();
        for (index, byte) in (place as usize..).zip(&bytes[..size]) {
            let word = &mut self.words()[index / 8];
            let shift = index % 8 * 8;
            *word = *word & !(0xff << shift) | u64::from(*byte) << shift;
        }
    }

    fn address(&self, at: At) -> Option<u64> {
        match at {
            At::Frame(offset) => Some(self.general[FP].wrapping_add_signed(offset)),
            At::Stack(offset) => Some(self.general[SP].wrapping_add_signed(offset)),
            At::Global(offset) => Some(self.globals() + offset),
            At::Address(addr) => Some(addr),
            At::Register(_) | At::Vector(_) => None,
        }
    }

    fn named(&self, name: &str) -> Option<(&Ty, At)> {
        let mut all = self.variables.iter();
        let found = all.find(|it| it.0 == name);
        found.map(|(_, ty, at)| (ty, *at))
    }

    /// Returns the interpreter's result.
    pub fn interpreted(&mut self, text: &str) -> Result<bool, Error> {
        let expression = Expression::parse(text, self.language)?;
        expression.is_true(self)
    }

    /// Compiles an expression as a condition.
    pub fn compiled(&self, text: &str) -> Result<Condition, NotCompilable> {
        let expression = Expression::parse(text, self.language);
        let expression = expression.map_err(|error| NotCompilable::new(error.to_string()))?;
        Condition::compile(&expression, self)
    }

    /// Returns the outcome of its code, run with the machine's registers.
    pub fn run(&self, condition: &Condition) -> Answer {
        host::run(self, condition)
    }

    /// Compiles the capture of a value.
    pub fn captured(&self, text: &str) -> Result<Captured, NotCompilable> {
        let expression = Expression::parse(text, self.language).expect("an expression");
        Captured::compile(&expression, self)
    }

    /// Returns the text of a captured value with this much room for each text; `None` on a deopt.
    pub fn captured_text(&self, captured: &Captured, room: usize) -> Option<String> {
        let mut captured = captured.clone();
        captured.set_room(room).expect("room");
        let most = captured.most();
        let mut record = vec![0xccu8; 8 + most + 8];
        let place = record.as_mut_ptr() as u64 + 8;
        let mut end = 0u64;
        let answer = host::capture(self, &captured, place, &raw mut end as u64);
        let (before, kept) = record.split_at(8);
        assert_eq!(before, [0xcc; 8]);
        assert_eq!(kept[most..], [0xcc; 8], "it writes behind what it needs");
        if answer != Answer::Yes {
            return None;
        }
        let len = (end - place) as usize;
        assert!(len <= most && len.is_multiple_of(8), "{len} of {most}");
        let mut text = String::new();
        let rest = captured.format_values(&kept[..len], self, &Limits::default(), &mut text);
        assert_eq!(rest, Some(&[][..]), "{text}");
        Some(text)
    }

    /// Asserts that captured values have the interpreter's text.
    pub fn assert_captures(&mut self, texts: &[&str]) {
        let mut wrong = Vec::new();
        for text in texts {
            let captured_text = self
                .captured(text)
                .map(|it| self.captured_text(&it, 1 << 10));
            let shown = self.shown(text);
            if captured_text != Ok(Some(shown.clone())) {
                wrong.push(format!("{text}: {captured_text:?}, not {shown:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Returns the interpreter's text.
    pub fn shown(&mut self, text: &str) -> String {
        let expression = Expression::parse(text, self.language).expect("an expression");
        match expression.evaluate(self, crate::Purpose::Look) {
            Ok(value) => value::present(self, &value, &Limits::default()).text,
            Err(error) => format!("<{error}>"),
        }
    }

    /// Returns the instructions of a condition in assembly.
    pub fn listing(&self, text: &str) -> Vec<String> {
        listing(&self.compiled(text).expect("it compiles"))
    }

    /// Asserts that the code agrees with the interpreter, or deopts. Returns the outcome of the
    /// code; `None` if it was not compiled.
    pub fn check(&mut self, text: &str) -> Option<Answer> {
        let expected = self.interpreted(text);
        let condition = self.compiled(text).ok()?;
        let answer = self.run(&condition);
        let good = match (&expected, answer) {
            (_, Answer::Deopt) => true,
            (Ok(expected), answer) => *expected == (answer == Answer::Yes),
            (Err(_), _) => false,
        };
        assert!(
            good,
            "{text}: {expected:?}, but the code says {answer:?}\n{}",
            self.listing(text).join("\n")
        );
        Some(answer)
    }
}

impl ModuleMap for Machine {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        let (module, bias) = self.module.as_ref()?;
        let here = module.load_range().contains(bias.file(addr));
        here.then_some((&**module, *bias))
    }
}

impl Target for Machine {
    fn memory(&self) -> &dyn Memory {
        &self.memory
    }
    fn modules(&self) -> &dyn ModuleMap {
        self
    }
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        ModuleMap::module_at(self, addr)?;
        self.module.clone()
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        self.module.iter().cloned().collect()
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        Err(Error::Unwritable {
            addr,
            len: bytes.len(),
        })
    }
    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::OptimizedOut)
    }
}

fn place(register: Register) -> RegisterPlace {
    RegisterPlace {
        thread: crate::ThreadId(1),
        level: 0,
        register,
    }
}

impl EvalContext for Machine {
    fn language(&self) -> Language {
        self.language
    }
    fn global(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some((module, bias)) = &self.module else {
            return Ok(None);
        };
        let variables = module.statics_named(name, None);
        let Some(variable) = variables.first() else {
            let functions = module.functions_named(name);
            let function = functions.first();
            return Ok(function.map(|function| {
                Value::from_function(module, *bias, name, bias.load(function.entry))
            }));
        };
        let found = module.locate_static(variable, None, dwarf::FileAddr(0))?;
        let dwarf::StaticLocation::Memory(dwarf::Term::Image(addr)) = found else {
            panic!("{name}: {found:?}");
        };
        let ty = variable
            .ty
            .map_or(Ty::Void, |id| Ty::dwarf(module, *bias, id));
        let place = value::ValueLocation::Memory(bias.load(addr), None);
        Ok(Some(Value::new(ty, place)))
    }
    fn local(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some((ty, at)) = self.named(name) else {
            return Ok(None);
        };
        let in_register = |number: u16, bytes: &[u8]| value::ValueLocation::Register {
            register: place(Register(number)),
            bytes: Bytes::new(bytes),
            offset: 0,
        };
        let place = match at {
            At::Register(number) => {
                in_register(number, &self.general[usize::from(number)].to_le_bytes())
            }
            At::Vector(number) => {
                let first = Arch::HOST.machine().first_vector();
                let bytes = self.vectors[usize::from(number)].to_le_bytes();
                in_register(first.0 + number, &bytes)
            }
            at => value::ValueLocation::Memory(LoadAddr(self.address(at).unwrap_or(0)), None),
        };
        Ok(Some(Value::new(ty.clone(), place)))
    }
    fn register(&self, name: &str) -> Option<Value> {
        let machine = Arch::HOST.machine();
        let alias = (name == "sp").then(|| machine.sp());
        let mut names = machine.register_names().iter();
        let (register, name) =
            names.find(|(register, known)| *known == name || alias == Some(*register))?;
        let value = self.general.get(usize::from(register.0))?;
        Some(Value::from_register(place(*register), name, *value))
    }
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        Scope::type_named(self, name)
    }
    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        Scope::enumeration_with(self, enumerator)
    }
    fn as_target(&self) -> &dyn Target {
        self
    }
}

impl Scope for Machine {
    fn has_functions(&self, name: &str) -> bool {
        let module = self.module.as_ref();
        module.is_none_or(|(module, _)| !module.functions_named(name).is_empty())
    }
    fn arch(&self) -> Arch {
        self.arch
    }
    fn language(&self) -> Language {
        self.language
    }
    fn pc(&self) -> LoadAddr {
        LoadAddr(0x40_1000)
    }
    fn local(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable> {
        let Some((ty, at)) = self.named(name) else {
            return Ok(None);
        };
        let memory = |base, offset| RuntimeLocation::Memory(Address::of(base, offset));
        let place = match at {
            At::Frame(offset) => memory(Base::Register(Register(FP as u16)), offset),
            At::Stack(offset) => memory(Base::Register(Register(SP as u16)), offset),
            At::Global(offset) => memory(Base::Zero, (self.globals() + offset) as i64),
            At::Address(addr) => memory(Base::Zero, addr as i64),
            At::Register(number) => RuntimeLocation::Register(Register(number), 0),
            At::Vector(number) => RuntimeLocation::Vector(number as u8, 0),
        };
        Ok(Some(RuntimeValue::new(ty.clone(), place)))
    }
    fn global(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable> {
        let Some((module, bias)) = &self.module else {
            return Ok(None);
        };
        let variables = module.statics_named(name, None);
        let Some(variable) = variables.first() else {
            let functions = module.functions_named(name);
            let function = functions.first();
            return Ok(function.map(|function| function_at(name, bias.load(function.entry))));
        };
        let found = module.locate_static(variable, None, dwarf::FileAddr(0));
        let found = found.map_err(|error| NotCompilable::new(error.to_string()))?;
        let ty = variable
            .ty
            .map_or(Ty::Void, |id| Ty::dwarf(module, *bias, id));
        let terms = Terms {
            arch: Arch::HOST,
            bias: *bias,
            thread_local: None,
        };
        Ok(Some(RuntimeValue::new(ty, terms.place(found)?)))
    }
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        let (module, bias) = self.module.as_ref()?;
        let id = module.types_named(name, None).into_iter().next()?;
        Some((module.clone(), *bias, id))
    }
    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        let (module, bias) = self.module.as_ref()?;
        let near = dwarf::FileAddr(self.named("text")?.1.of_code()? - bias.0);
        let id = module.enumeration_with(enumerator, near)?;
        Some(Ty::dwarf(module, *bias, id))
    }
}

impl At {
    fn of_code(self) -> Option<u64> {
        match self {
            At::Address(addr) => Some(addr),
            _ => None,
        }
    }
}
