//! A simulated stopped machine: registers, and memory of this process.

use crate::compile::code::{Address, Base};
use crate::compile::lower::function_at;
use crate::compile::{
    Captured, Condition, Exits, NotCompilable, RuntimeLocation, RuntimeValue, SavedRegisters, Scope,
};
use crate::expr::{EvalContext, Expression};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{self, Limits, RegisterPlace, Target, Ty, Value};
use crate::os::own_code;
use dwarf::{
    Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, Register, TypeId, Unreadable,
};
use iced_x86::code_asm::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

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
    pub language: Language,
    pub general: [u64; 16],
    pub vectors: [u128; 16],
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
            language,
            general: [0; 16],
            vectors: [0; 16],
            bytes,
            variables: Vec::new(),
            memory: OwnMemory(File::open("/proc/self/mem").expect("own memory")),
            module: None,
        };
        let stack = machine.bytes.as_ptr() as u64 + 8 * BELOW as u64;
        machine.general[7] = stack;
        machine.general[6] = stack + 8 * FRAME as u64;
        machine
    }

    pub fn globals(&self) -> u64 {
        self.general[7] + 16 * FRAME as u64
    }

    /// Returns the words of the stack, the frame and the globals.
    pub fn words(&mut self) -> &mut [u64] {
        &mut self.bytes[BELOW..]
    }

    /// Sets the bytes of a variable.
    pub fn set(&mut self, at: At, bits: u128, size: usize) {
        let base = self.general[7];
        let place = match at {
            At::Register(number) => {
                self.general[usize::from(number)] = bits as u64;
                return;
            }
            At::Vector(number) => {
                self.vectors[usize::from(number)] = bits;
                return;
            }
            At::Frame(offset) => self.general[6].wrapping_add_signed(offset) - base,
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
            At::Frame(offset) => Some(self.general[6].wrapping_add_signed(offset)),
            At::Stack(offset) => Some(self.general[7].wrapping_add_signed(offset)),
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
        let expression = expression.map_err(|error| NotCompilable(error.to_string()))?;
        Condition::compile(&expression, self)
    }

    /// Returns the outcome of its code, run with the machine's registers.
    pub fn run(&self, condition: &Condition) -> Answer {
        self.with_registers(condition.clobbers(), |asm, saved, to| {
            condition.emit(asm, saved, to)
        })
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
        let answer = self.with_registers(captured.clobbers(), |asm, saved, to| {
            asm.mov(rbx, place)?;
            captured.emit(asm, saved, rbx, to.deopt)?;
            asm.mov(rax, &raw mut end as u64)?;
            asm.mov(qword_ptr(rax), rbx)?;
            asm.jmp(to.yes)
        });
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

    fn with_registers(
        &self,
        clobbers: impl Iterator<Item = Register>,
        body: impl FnOnce(&mut CodeAssembler, &SavedRegisters, Exits) -> Result<(), iced_x86::IcedError>,
    ) -> Answer {
        let saved = SavedRegisters {
            general: std::array::from_fn(|number| -1024 + 8 * number as i32),
            written: 0,
            stack_pointer: 0,
            vectors: -1024 + 16 * 8,
        };
        let mut host = 0u64;
        let mut asm = CodeAssembler::new(64).expect("an assembler");
        let kept = [rbx, rbp, r12, r13, r14, r15];
        let all = [
            rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15,
        ];
        let xmm = [
            xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13,
            xmm14, xmm15,
        ];
        let emit = || -> Result<Vec<u8>, iced_x86::IcedError> {
            for register in kept {
                asm.push(register)?;
            }
            asm.mov(rax, &raw mut host as u64)?;
            asm.mov(qword_ptr(rax), rsp)?;
            asm.mov(rsp, self.general[7])?;
            for (number, value) in self.vectors.iter().enumerate() {
                for half in [8, 0] {
                    asm.mov(rax, (*value >> (8 * half)) as u64)?;
                    asm.mov(qword_ptr(rsp + (-64 + half)), rax)?;
                }
                asm.movups(xmm[number], xmmword_ptr(rsp + -64))?;
                if number < 4 {
                    let place = rsp + (saved.vectors + 16 * number as i32);
                    asm.movups(xmmword_ptr(place), xmm[number])?;
                }
            }
            for number in (0..16).filter(|number| *number != 7) {
                asm.mov(rax, self.general[number])?;
                asm.mov(qword_ptr(rsp + saved.general[number]), rax)?;
            }
            for number in (0..16).filter(|number| *number != 7) {
                asm.mov(all[number], self.general[number])?;
            }
            // Registers that the code may write are not available as the program's.
            for register in clobbers {
                asm.mov(all[usize::from(register.0)], 0x5555_aaaa_5555_aaaau64)?;
            }
            for garbage in &xmm[..4] {
                asm.pcmpeqd(*garbage, *garbage)?;
            }
            let mut to = Exits {
                yes: asm.create_label(),
                no: asm.create_label(),
                deopt: asm.create_label(),
            };
            let mut end = asm.create_label();
            body(&mut asm, &saved, to)?;
            for (label, value) in [(&mut to.yes, 0u32), (&mut to.no, 1), (&mut to.deopt, 2)] {
                asm.set_label(label)?;
                asm.mov(eax, value)?;
                asm.jmp(end)?;
            }
            asm.set_label(&mut end)?;
            asm.mov(rcx, &raw mut host as u64)?;
            asm.mov(rsp, qword_ptr(rcx))?;
            for register in kept.iter().rev() {
                asm.pop(*register)?;
            }
            asm.ret()?;
            asm.assemble(0x1000)
        };
        match own_code::run(&emit().expect("code")) {
            0 => Answer::Yes,
            1 => Answer::No,
            _ => Answer::Deopt,
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
                let bytes = self.vectors[usize::from(number)].to_le_bytes();
                in_register(17 + number, &bytes)
            }
            at => value::ValueLocation::Memory(LoadAddr(self.address(at).unwrap_or(0)), None),
        };
        Ok(Some(Value::new(ty.clone(), place)))
    }
    fn register(&self, name: &str) -> Option<Value> {
        let names = dwarf::register::x86_64::NAMES;
        let (register, name) = names.iter().find(|(_, known)| *known == name)?;
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
            At::Frame(offset) => memory(Base::Register(Register(6)), offset),
            At::Stack(offset) => memory(Base::Register(Register(7)), offset),
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
        let found = found.map_err(|error| NotCompilable(error.to_string()))?;
        let ty = variable
            .ty
            .map_or(Ty::Void, |id| Ty::dwarf(module, *bias, id));
        Ok(Some(RuntimeValue::new(
            ty,
            RuntimeLocation::of(found, *bias, None)?,
        )))
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

/// Returns the instructions of a condition.
pub fn listing(condition: &Condition) -> Vec<String> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
    let saved = SavedRegisters {
        general: std::array::from_fn(|number| 8 * number as i32),
        written: 0,
        stack_pointer: 0x100,
        vectors: 0x80,
    };
    let mut asm = CodeAssembler::new(64).expect("an assembler");
    let mut to = Exits {
        yes: asm.create_label(),
        no: asm.create_label(),
        deopt: asm.create_label(),
    };
    condition.emit(&mut asm, &saved, to).expect("code");
    for label in [&mut to.yes, &mut to.no, &mut to.deopt] {
        asm.set_label(label).expect("a label");
        asm.nop().expect("a place");
    }
    let code = asm.assemble(0x1000).expect("code");
    let mut formatter = IntelFormatter::new();
    let decoder = Decoder::with_ip(64, &code, 0x1000, DecoderOptions::NONE);
    let instructions = decoder.into_iter().map(|instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        text
    });
    instructions.filter(|it| it != "nop").collect()
}
