//! Explanations of fatal signals: the memory that was accessed and the pointer used, and the
//! message of an abort.

use crate::arch::{Access, Instruction, Operand};
use crate::debugger::Debugger;
use crate::ids::FrameKey;
use crate::ids::{Signal, SignalInfo, ThreadId};
use crate::inspect::value::text::read_terminated;
use crate::os::{Mapping, RegisterSet};
use crate::stops::exception::Reader;
use dwarf::{LoadAddr, Memory};

/// `si_code` of a fault for which the kernel has no address.
const SI_KERNEL: i32 = 0x80;
/// `si_code` of faults by tags of memory (MTE): at some access since the thread was last in the
/// kernel, and at this one.
const SEGV_MTEAERR: i32 = 8;
const SEGV_MTESERR: i32 = 9;
const BUS_ADRALN: i32 = 1;
const BUS_ADRERR: i32 = 2;
/// Nothing is mapped below this address (`vm.mmap_min_addr`): an access there goes through a null
/// pointer.
const LOWEST: u64 = 0x1_0000;
/// Maximum distance in bytes between the stack pointer and the first access to a frame.
const NEAR_STACK: u64 = 0x1_0000;
/// Maximum distance in bytes between the stack pointer and the stack, when a large frame does not
/// fit.
const MAX_FRAME_BYTES: u64 = 64 << 20;
/// Maximum size in bytes of a function to analyse from its start.
const MAX_FUNCTION_BYTES: u64 = 1 << 16;
/// Number of frames and of stack words to examine for an abort.
const FRAMES: usize = 24;
const WORDS: u64 = 512;
/// The reason for the end of a program whose panics abort.
const ABORTED: &str = "a Rust panic (built with panic=abort)";

impl Debugger {
    /// Explains the signal that a stopped thread is about to receive.
    pub(crate) fn explain(&mut self, thread: ThreadId, info: &SignalInfo) -> String {
        let why = match (info.signal, info.address) {
            (Signal::SEGV, Some(addr)) => self.explain_fault(thread, info.code, addr),
            (Signal::BUS, Some(addr)) => self.explain_bus(thread, info.code, addr),
            (Signal::FPE, Some(_)) => Some(self.explain_arithmetic(thread, info.code)),
            (Signal::ILL, Some(addr)) => Some(self.explain_illegal(thread, addr)),
            (Signal::TRAP, Some(addr)) if self.is_compiler_trap(addr) => {
                Some(self.explain_illegal(thread, addr))
            }
            (Signal::ABRT, _) => self.explain_abort(thread),
            (Signal::SYS, _) if info.code > 0 => self.inferior.registers(thread).map(|registers| {
                let arch = self.images.modules.arch();
                let register = arch.convention().system_call;
                let name = arch.register_name(register);
                let number = registers.get(register).unwrap_or(0) as i64;
                format!("system call forbidden by a seccomp filter ({name} = {number})")
            }),
            _ => None,
        };
        match why {
            Some(why) => why,
            None => format!("{}{}", info.signal.name(), self.sender(info)),
        }
    }

    fn instruction(&mut self, thread: ThreadId) -> Option<(Instruction, RegisterSet)> {
        let registers = self.inferior.registers(thread)?;
        let instruction = self
            .images
            .modules
            .arch()
            .read(&self.inferior.memory(), registers.pc())?;
        Some((instruction, registers))
    }

    fn explain_fault(&mut self, thread: ThreadId, code: i32, addr: LoadAddr) -> Option<String> {
        let registers = self.inferior.registers(thread)?;
        let instruction = self.instruction(thread).map(|(instruction, _)| instruction);
        let touched = instruction.map_or_else(Vec::new, |it| it.accesses(&registers));
        if code == SI_KERNEL {
            return Some(self.explain_protection(thread, instruction, &touched));
        }
        if code == SEGV_MTEAERR {
            return Some(
                "an access through a pointer whose tag is not that of the memory, at some time \
                 since the last system call (asynchronous tag check)"
                    .to_owned(),
            );
        }
        let arch = self.images.modules.arch();
        let (tagged, addr) = (addr, arch.untagged(addr));
        let mappings = self.mappings();
        if let Some(text) = stack_overflow(&mappings, addr.0, registers.sp()) {
            let name = self.function_name(thread, 0);
            let name = name.map_or_else(String::new, |name| format!(", in `{name}`"));
            return Some(format!("stack overflow: {text}{name}"));
        }
        let within = |it: &&Access| {
            let at = arch.untagged(LoadAddr(it.at));
            at <= addr && addr - at < it.size.max(1)
        };
        let access = touched.iter().find(within).copied();
        let is_jump = registers.pc() == addr;
        let verb = match access {
            _ if is_jump => "jump to",
            Some(access) if access.write => "write to",
            Some(_) => "read of",
            None => "access to",
        };
        let names = match is_jump {
            true => None,
            false => access.and_then(|access| self.names_of(thread, &access)),
        };
        let behind = match &names {
            Some((_, target)) => format!(" (`{target}`)"),
            None => String::new(),
        };
        let place = self.in_library(thread);
        if code == SEGV_MTESERR {
            let tag = access.map_or(tagged.0, |it| it.at) >> 56 & 0xf;
            let of_memory = match self.inferior.os().memory_tag(thread, addr) {
                Some(tag) => format!("the memory tag {tag}"),
                None => "the memory another one".to_owned(),
            };
            return Some(format!(
                "{verb} address {addr}{behind}: the pointer has tag {tag}, and {of_memory}: it was \
                 freed, or the address is out of bounds{place}"
            ));
        }
        let distance = match addr.0 {
            0 => Some("a null pointer".to_owned()),
            1..LOWEST => Some(format!("a null pointer plus {}", addr.0)),
            far if far > u64::MAX - LOWEST => {
                Some(format!("a null pointer minus {}", far.wrapping_neg()))
            }
            _ => None,
        };
        if let Some(distance) = distance {
            return Some(match names {
                Some((pointer, target)) if is_null(access) => {
                    format!("{verb} address {addr}: `{target}`, but `{pointer}` is null{place}")
                }
                _ => format!("{verb} address {addr}: {distance}{behind}{place}"),
            });
        }
        let here = mappings
            .iter()
            .find(|mapping| mapping.start <= addr && addr < mapping.end);
        let what = match here {
            None => "nothing is mapped there".to_owned(),
            Some(mapping) => {
                let of = match mapping.path.file_name() {
                    Some(name) => format!(" of {}", name.to_string_lossy()),
                    None => String::new(),
                };
                if !mapping.readable && !mapping.writable && !mapping.executable {
                    format!("a guard page{of}")
                } else if is_jump && !mapping.executable {
                    format!("memory{of} is not executable")
                } else if !mapping.writable && mapping.readable {
                    format!("memory{of} is read-only")
                } else {
                    format!("memory{of} does not permit this access")
                }
            }
        };
        Some(format!("{verb} address {addr}{behind}: {what}{place}"))
    }

    /// Explains a general protection fault, for which the kernel reports no address.
    fn explain_protection(
        &mut self,
        thread: ThreadId,
        instruction: Option<Instruction>,
        touched: &[Access],
    ) -> String {
        let is_canonical = |addr: u64| (((addr << 16) as i64) >> 16) as u64 == addr;
        let wild = touched.iter().find(|it| !is_canonical(it.at)).copied();
        let place = self.in_library(thread);
        if let Some(access) = wild {
            let names = self.names_of(thread, &access);
            let behind = names.map_or_else(String::new, |(_, target)| format!(" (`{target}`)"));
            let verb = if access.write { "write to" } else { "read of" };
            return format!(
                "{verb} address {:#x}{behind}: not a canonical address{place}",
                access.at
            );
        }
        let wide = touched.iter().filter(|it| it.size >= 16);
        if let Some(text) = misaligned(wide) {
            return format!("{text}{place}");
        }
        match instruction {
            Some(instruction) => format!(
                "`{}` is not allowed here (general protection){place}",
                instruction.mnemonic()
            ),
            None => format!("general protection{place}"),
        }
    }

    fn explain_bus(&mut self, thread: ThreadId, code: i32, addr: LoadAddr) -> Option<String> {
        let mapped = self
            .mappings()
            .into_iter()
            .find(|mapping| mapping.start <= addr && addr < mapping.end);
        let place = self.in_library(thread);
        match (code, mapped) {
            (BUS_ADRALN, _) => {
                let instruction = self.instruction(thread);
                let touched = instruction.map_or_else(Vec::new, |(it, at)| it.accesses(&at));
                Some(match misaligned(touched.iter()) {
                    Some(text) => format!("{text}{place}"),
                    None => format!("access to address {addr}, which is misaligned{place}"),
                })
            }
            (BUS_ADRERR, Some(mapping)) if mapping.path.is_absolute() => Some(format!(
                "access to address {addr}: beyond the end of {}, which was truncated after it was \
                 mapped{place}",
                mapping.path.display()
            )),
            _ => Some(format!(
                "access to address {addr}: no memory behind the mapping{place}"
            )),
        }
    }

    fn explain_arithmetic(&mut self, thread: ThreadId, code: i32) -> String {
        let text = match code {
            1 => match self.divisor(thread) {
                Some(0) | None => "integer division by zero",
                Some(_) => {
                    "integer division overflow: the quotient is too large (for example, INT_MIN / \
                     -1)"
                }
            },
            2 => "integer overflow",
            3 => "floating-point division by zero",
            4 => "floating-point overflow",
            5 => "floating-point underflow",
            6 => "inexact floating-point result",
            7 => "invalid floating-point operation",
            8 => "subscript out of range",
            _ => "arithmetic error",
        };
        text.to_owned()
    }

    fn divisor(&mut self, thread: ThreadId) -> Option<u64> {
        let (instruction, registers) = self.instruction(thread)?;
        match instruction.divisor(&registers)? {
            Operand::Value(value) => Some(value),
            Operand::Memory(addr, size) => self
                .inferior
                .memory()
                .read_uint(addr, size.min(8) as usize)
                .ok(),
        }
    }

    fn is_compiler_trap(&self, addr: LoadAddr) -> bool {
        let arch = self.images.modules.arch();
        let instruction = arch.read(&self.inferior.memory(), addr);
        instruction.is_some_and(|it| it.is_compiler_trap())
    }

    fn explain_illegal(&self, thread: ThreadId, addr: LoadAddr) -> String {
        let arch = self.images.modules.arch();
        let instruction = arch.read(&self.inferior.memory(), addr);
        let registers = self.inferior.registers(thread);
        let refusal = |it: &Instruction| it.refusal(registers.as_ref()?);
        match instruction {
            Some(trap) if trap.is_compiler_trap() => {
                format!(
                    "`{}`: a trap that the compiler inserts for unreachable code and failed checks",
                    trap.mnemonic()
                )
            }
            Some(it) if let Some(why) = refusal(&it) => {
                format!("`{}` at {addr} was refused: {why}", it.mnemonic())
            }
            Some(it) => format!(
                "illegal instruction `{}` at {addr}: not supported or privileged on this processor",
                it.mnemonic()
            ),
            None => format!("no valid instruction at {addr}"),
        }
    }

    /// Returns the C library's abort message, or an explanation from the stack.
    fn explain_abort(&mut self, thread: ThreadId) -> Option<String> {
        if let Some(text) = self.abort_message() {
            return Some(text);
        }
        let frames = self.stack(thread, 0, Some(FRAMES)).ok()?.frames;
        let has = |part: &str| frames.iter().any(|frame| frame.name.contains(part));
        let sp = self.inferior.registers(thread)?.sp();
        let memory = self.inferior.memory();
        let reader = Reader {
            memory: &memory,
            modules: &self.images.modules,
        };
        let word = |at| memory.read_uint(LoadAddr(sp.wrapping_add(at * 8)), 8).ok();
        let words = || (0..WORDS).map_while(word);
        if has("terminate") || has("__cxa_throw") || has("__cxa_rethrow") {
            return Some(match reader.among(words()) {
                Some(thrown) => {
                    let text = thrown.message.as_ref();
                    let text = text.map_or_else(String::new, |text| format!(": {text}"));
                    format!("uncaught {}{text}", thrown.readable())
                }
                None => "std::terminate was called".to_owned(),
            });
        }
        // With `panic=abort` this function ends the program. `panic_with_hook` calls it, and is on the stack of every
        // panic, so it is asked about later.
        if has("__rust_start_panic") {
            let text = reader.panic_text(&words().collect::<Vec<u64>>());
            let text = text.map_or_else(String::new, |text| format!(": {text}"));
            return Some(format!("{ABORTED}{text}"));
        }
        for (part, text) in [
            (
                "panic_cannot_unwind",
                "a Rust panic in a function that cannot unwind",
            ),
            ("panic_nounwind", "a Rust panic that cannot unwind"),
            (
                "panic_in_cleanup",
                "a Rust panic while another one was unwinding",
            ),
            (
                "panic_with_hook",
                "a Rust panic in a panic hook or panic handler",
            ),
            ("rust_panic", ABORTED),
            ("handle_alloc_error", "Rust: out of memory"),
            (
                "std::process::abort",
                "Rust: std::process::abort was called",
            ),
            (
                "__stack_chk_fail",
                "stack smashing: a function wrote past the end of a local array",
            ),
            (
                "__fortify_fail",
                "buffer overflow detected by the C library",
            ),
            ("__assert_fail", "an assertion failed"),
        ] {
            if has(part) {
                return Some(text.to_owned());
            }
        }
        None
    }

    /// glibc: `struct abort_msg_s { unsigned int size; char msg[]; } *__abort_msg`.
    fn abort_message(&self) -> Option<String> {
        let memory = self.inferior.memory();
        self.images.modules.loaded.iter().find_map(|loaded| {
            let name = "__abort_msg";
            let exported = loaded.module.exported(name);
            let is_static = loaded.is_program && loaded.module.interpreter().is_none();
            let addr = exported.or_else(|| {
                let mut symbols = is_static
                    .then(|| loaded.module.symbols_named(name))?
                    .into_iter();
                Some(symbols.next()?.addr)
            })?;
            let message = memory.read_uint(loaded.bias.load(addr), 8).ok()?;
            let at = LoadAddr(message)
                .0
                .checked_add(4)
                .filter(|_| message != 0)?;
            let (bytes, _) = read_terminated(&memory, LoadAddr(at), 1, 4096).ok()?;
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            (!text.is_empty()).then_some(text)
        })
    }

    /// Returns the expression of the pointer that an access used, and of the value accessed.
    fn names_of(&mut self, thread: ThreadId, access: &Access) -> Option<(String, String)> {
        let (base, offset) = access.base.filter(|_| access.is_plain)?;
        let registers = self.inferior.registers(thread)?;
        let code = self.code_before(registers.pc());
        let way = code.and_then(|code| {
            let arch = self.images.modules.arch();
            arch.pointer_chain(base, &code, &registers)
        });
        let frame = FrameKey { thread, level: 0 };
        self.in_frame(frame, |scope| {
            Ok(match way {
                Some(way) => scope.names_of(&way, offset),
                None => scope.names_in(base, offset),
            })
        })
        .ok()?
    }

    /// Returns the instructions of a function from its start up to the pc.
    fn code_before(&self, pc: LoadAddr) -> Option<Vec<Instruction>> {
        let loaded = self.images.modules.at(pc)?;
        let function = loaded.module.function_at(loaded.bias.file(pc))?;
        let entry = loaded.bias.load(function.entry);
        let len =
            pc.0.checked_sub(entry.0)
                .filter(|len| (1..MAX_FUNCTION_BYTES).contains(len))?;
        let mut bytes = vec![0; len as usize];
        self.inferior.memory().read(entry, &mut bytes).ok()?;
        let arch = self.images.modules.arch();
        let code = arch.decode_all(&bytes, entry);
        code.map(Result::ok).collect()
    }

    fn function_name(&mut self, thread: ThreadId, level: usize) -> Option<String> {
        let stack = self.stack(thread, level, Some(1)).ok()?;
        let frame = stack.frames.into_iter().next()?;
        (!frame.name.starts_with("0x")).then_some(frame.name)
    }

    /// Returns ` in f` if the thread is in a function without debug info, whose caller passed the
    /// pointer.
    fn in_library(&mut self, thread: ThreadId) -> String {
        let frame = self
            .stack(thread, 0, Some(1))
            .ok()
            .and_then(|stack| stack.frames.into_iter().next());
        match frame {
            Some(frame)
                if frame.kind == crate::debugger::stack::FrameKind::NoDebugInfo
                    && !frame.name.starts_with("0x") =>
            {
                format!(", in `{}`", frame.name)
            }
            _ => String::new(),
        }
    }
}

/// Describes the first of these accesses that is not aligned to its size.
fn misaligned<'a>(mut accesses: impl Iterator<Item = &'a Access>) -> Option<String> {
    let access = accesses.find(|it| it.size > 1 && !it.at.is_multiple_of(it.size))?;
    Some(format!(
        "address {:#x} is not a multiple of {}, as this instruction requires",
        access.at, access.size
    ))
}

/// Returns whether the base register of an access was null.
fn is_null(access: Option<Access>) -> bool {
    access.is_some_and(|access| match access.base {
        Some((_, offset)) => access.is_plain && access.at == offset as u64,
        None => false,
    })
}

/// Returns a message if `addr` is a stack overflow: near the stack pointer, below the memory of the
/// stack.
fn stack_overflow(mappings: &[Mapping], addr: u64, sp: u64) -> Option<String> {
    let near = addr.wrapping_sub(sp.wrapping_sub(NEAR_STACK)) < 2 * NEAR_STACK;
    let is_usable = |mapping: &&Mapping| mapping.writable || mapping.readable;
    let here = mappings
        .iter()
        .find(|mapping| mapping.start.0 <= addr && addr < mapping.end.0);
    if !near || here.is_some_and(|here| is_usable(&here)) {
        return None;
    }
    let above = mappings
        .iter()
        .filter(|mapping| mapping.start.0 > addr)
        .find(is_usable)?;
    let is_stack = above.writable && !above.executable && sp < above.end.0;
    if !is_stack || above.start.0 - addr > MAX_FRAME_BYTES {
        return None;
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let below = above.start.0 - addr;
    Some(match below > NEAR_STACK {
        true => format!("{:.1} MiB below the end of the thread's stack", mib(below)),
        false => format!(
            "all {:.1} MiB of the thread's stack are used",
            mib(above.end.0 - above.start.0)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, writable: bool) -> Mapping {
        Mapping {
            start: LoadAddr(start),
            end: LoadAddr(end),
            readable: writable,
            writable,
            executable: false,
            shared: false,
            path: Default::default(),
            offset: 0,
        }
    }

    #[test]
    fn full_stacks() {
        let (guard, stack) = (0x7000_0000, 0x7000_1000);
        let end = stack + (8 << 20);
        let maps = [
            mapping(0x1000, 0x2000, true),
            mapping(guard, stack, false),
            mapping(stack, end, true),
        ];
        let text = stack_overflow(&maps, stack - 8, stack).expect("a push into the guard page");
        assert!(text.contains("8.0 MiB"), "{text}");
        assert!(stack_overflow(&maps, guard - 0x10_0000, guard - 0x10_0000 + 8).is_some());
        // A wild pointer, a stack with room, accessible memory.
        assert_eq!(stack_overflow(&maps, stack - 8, end - 0x100), None);
        assert_eq!(stack_overflow(&maps, 0x9000_0000, 0x9000_0008), None);
        assert_eq!(stack_overflow(&maps, stack + 8, stack), None);
        assert_eq!(stack_overflow(&maps, 0x2008, 0x2000), None);
    }
}
