//! The view of a thread and its program that a plan decides on.

use super::callee::Reaches;
use super::filter::StepFilters;
use super::start::Start;
use super::{Target, Verdict};
use crate::arch::x86_64;
use crate::images::modules::Modules;
use crate::os::RegisterSet;
use dwarf::{FrameAddress, Language, LoadAddr, Memory, Register, Registers, Unwinder, Unwound};
use iced_x86::Mnemonic;
use std::cell::RefCell;

/// Maximum number of frames of Rust's library between a frame to show and its callee.
pub(crate) const MAX_FRAMES: usize = 64;

/// A thread at a stop.
pub struct View<'a> {
    pub registers: &'a RegisterSet,
    pub modules: &'a Modules,
    pub memory: &'a dyn Memory,
    pub unwinder: &'a RefCell<Unwinder>,
    pub filters: &'a StepFilters,
    pub reaches: &'a RefCell<Reaches>,
}

/// Where an exception, a panic or a long jump resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwindTarget {
    /// The address.
    pub target: Target,
    /// The canonical frame address of its frame, if known.
    pub cfa: Option<LoadAddr>,
}

impl View<'_> {
    /// Returns the verdict to run to `targets` and to `out`; if calls are run through, also to
    /// where an exception or a long jump may end them.
    pub fn run_to(
        &self,
        targets: &[LoadAddr],
        out: Option<Target>,
        calls: Option<Language>,
    ) -> Verdict {
        let anywhere = |addr: &LoadAddr| Target { addr: *addr, sp: 0 };
        let mut all: Vec<Target> = targets.iter().map(anywhere).collect();
        all.extend(out);
        if let Some(language) = calls {
            let modules = self.modules;
            let mut escapes = vec![modules.catch_entries(), modules.long_jumps()];
            if language == Language::Rust {
                escapes.push(modules.panic_cleanups());
            }
            all.extend(escapes.into_iter().flatten().map(anywhere));
        }
        Verdict::RunTo(all)
    }

    /// Returns the caller of a frame.
    pub fn unwind(&self, address: FrameAddress, registers: &Registers) -> Option<Unwound> {
        let mut unwinder = self.unwinder.borrow_mut();
        let unwound = unwinder.unwind(self.modules, self.memory, address, registers);
        unwound.ok()
    }

    fn innermost(&self) -> (FrameAddress, Registers) {
        let address = FrameAddress::Pc(self.registers.pc());
        (address, self.registers.to_registers())
    }

    /// Returns the canonical frame address of the thread's innermost frame.
    pub fn cfa(&self) -> Option<LoadAddr> {
        let (address, registers) = self.innermost();
        Some(self.unwind(address, &registers)?.cfa)
    }

    /// Returns the return address of the innermost frame.
    pub fn out(&self) -> Option<Target> {
        let (address, registers) = self.innermost();
        let unwound = self.unwind(address, &registers)?;
        Some(Target {
            addr: unwound.caller?.0.addr(),
            sp: unwound.cfa.0,
        })
    }

    /// Returns where the thread returns to code that steps stop in.
    pub fn out_to_shown(&self) -> Option<Target> {
        let (mut address, mut registers) = self.innermost();
        for _ in 0..MAX_FRAMES {
            let unwound = self.unwind(address, &registers)?;
            (address, registers) = unwound.caller?;
            if Start::shown_at(self.modules, self.filters, address.lookup()).is_some() {
                return Some(Target {
                    addr: address.addr(),
                    sp: unwound.cfa.0,
                });
            }
        }
        None
    }

    /// Returns where the thread will resume, if it is at a function that catches exceptions or
    /// makes long jumps; `Some(None)`: that is unknown.
    pub fn escape(&self) -> Option<Option<UnwindTarget>> {
        let pc = self.registers.pc();
        if self.modules.catch_entries().contains(&pc) {
            return Some(self.handler());
        }
        if self.modules.long_jumps().contains(&pc) {
            return Some(self.long_jump());
        }
        if self.modules.known_panic_cleanups().contains(&pc) {
            return Some(self.panic_caught());
        }
        None
    }

    /// Returns the C++ handler that is about to run.
    fn handler(&self) -> Option<UnwindTarget> {
        let sp = self.registers.sp();
        let back = self.memory.read_uint(LoadAddr(sp), 8).ok()?;
        let (address, registers) = self.innermost();
        let caller = self.unwind(address, &registers).and_then(|it| it.caller);
        let frame = caller.and_then(|(address, registers)| self.unwind(address, &registers));
        Some(UnwindTarget {
            target: Target {
                addr: LoadAddr(back),
                sp: sp.wrapping_add(8),
            },
            cfa: frame.map(|frame| frame.cfa),
        })
    }

    /// Returns the target of `longjmp` from its first argument: in the C libraries of Linux, the
    /// stack pointer and the pc are words 6 and 7 of the buffer, which glibc (`PTR_MANGLE`) rotates
    /// and xors with a per-thread word.
    fn long_jump(&self) -> Option<UnwindTarget> {
        let buffer = self.registers.get(Register(5))?;
        let word = |index: u64| {
            let addr = LoadAddr(buffer.wrapping_add(index * 8));
            self.memory.read_uint(addr, 8).ok()
        };
        let (sp, pc) = (word(6)?, word(7)?);
        let fs = self.registers.get(dwarf::register::x86_64::FS_BASE)?;
        let key = LoadAddr(fs.wrapping_add(0x30));
        let key = self.memory.read_uint(key, 8).ok()?;
        let clear = |word: u64| word.rotate_right(17) ^ key;
        let is_code = |pc: u64| self.modules.at(LoadAddr(pc)).is_some();
        let (sp, pc) = if is_code(clear(pc)) {
            (clear(sp), clear(pc))
        } else {
            (sp, pc)
        };
        is_code(pc).then_some(UnwindTarget {
            target: Target {
                addr: LoadAddr(pc),
                sp,
            },
            cfa: None,
        })
    }

    /// Returns where a thread resumes after the function of a context (`makecontext`) has returned:
    /// in the context that its own is linked to, at the point where that was left. glibc's code
    /// there begins with `mov rsp, rbx`, and rbx points to the linked context.
    pub fn linked_context(&self) -> Option<UnwindTarget> {
        /// Offset in `ucontext_t` (bits/types and sys/ucontext.h) of `uc_mcontext.gregs[REG_RSP]`,
        /// followed by `[REG_RIP]`.
        const SP_IN_CONTEXT: u64 = 160;
        let first = x86_64::read(self.memory, self.registers.pc())?;
        let from_rbx = first.mnemonic() == Mnemonic::Mov
            && first.op0_register() == iced_x86::Register::RSP
            && first.op1_register() == iced_x86::Register::RBX;
        if !from_rbx {
            return None;
        }
        let rbx = self.registers.get(Register(3))?;
        let context = self.memory.read_uint(LoadAddr(rbx), 8).ok()?;
        let word = |offset: u64| {
            let addr = LoadAddr(context.wrapping_add(offset));
            self.memory.read_uint(addr, 8).ok()
        };
        let (sp, pc) = (word(SP_IN_CONTEXT)?, word(SP_IN_CONTEXT + 8)?);
        self.modules.at(LoadAddr(pc))?;
        Some(UnwindTarget {
            target: Target {
                addr: LoadAddr(pc),
                sp,
            },
            cfa: None,
        })
    }

    /// Returns where Rust's `catch_unwind`, which is about to return the panic, was called.
    fn panic_caught(&self) -> Option<UnwindTarget> {
        let (mut address, mut registers) = self.innermost();
        for _ in 0..MAX_FRAMES {
            let unwound = self.unwind(address, &registers)?;
            (address, registers) = unwound.caller?;
            if Start::shown_at(self.modules, self.filters, address.lookup()).is_some() {
                let frame = self.unwind(address, &registers);
                return Some(UnwindTarget {
                    target: Target {
                        addr: address.addr(),
                        sp: unwound.cfa.0,
                    },
                    cfa: frame.map(|frame| frame.cfa),
                });
            }
        }
        None
    }
}
