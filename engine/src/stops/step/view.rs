//! The view of a thread and its program that a plan decides on.

use super::callee::Reaches;
use super::filter::StepFilter;
use super::start::Start;
use super::{Target, Verdict};
use crate::arch::{Arch, Landing, PointerGuard};
use crate::images::derived::Derived;
use crate::images::modules::Modules;
use crate::os::RegisterSet;
use dwarf::{FrameAddress, Language, LoadAddr, Memory, Registers, Unwinder, Unwound};

/// Maximum number of frames of Rust's library between a frame to show and its callee.
pub(crate) const MAX_FRAMES: usize = 64;

/// A thread at a stop.
pub struct View<'a> {
    pub registers: &'a RegisterSet,
    pub modules: &'a Modules,
    pub memory: &'a dyn Memory,
    pub unwinder: &'a Derived<Unwinder>,
    pub filters: StepFilter<'a>,
    pub reaches: &'a Derived<Reaches>,
}

/// Where an exception, a panic or a long jump resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwindTarget {
    /// The address.
    pub target: Target,
    /// The canonical frame address of its frame, if known.
    pub cfa: Option<LoadAddr>,
}

impl UnwindTarget {
    fn at(landing: Landing) -> Self {
        Self {
            target: landing.into(),
            cfa: None,
        }
    }
}

impl From<Landing> for Target {
    fn from(landing: Landing) -> Self {
        Self {
            addr: landing.addr,
            sp: landing.sp,
        }
    }
}

impl View<'_> {
    /// Returns the instruction set of the program.
    pub(crate) fn arch(&self) -> Arch {
        self.modules.arch()
    }

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
        let unwind = |it: &mut Unwinder| it.unwind(self.modules, self.memory, address, registers);
        self.unwinder.with(self.modules, unwind).ok()
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
        let back = self.arch().return_at_entry(self.registers, self.memory)?;
        let (address, registers) = self.innermost();
        let caller = self.unwind(address, &registers).and_then(|it| it.caller);
        let frame = caller.and_then(|(address, registers)| self.unwind(address, &registers));
        Some(UnwindTarget {
            target: back.into(),
            cfa: frame.map(|frame| frame.cfa),
        })
    }

    /// Returns the target of `longjmp` from its arguments.
    fn long_jump(&self) -> Option<UnwindTarget> {
        let guard = self.pointer_guard();
        let landings = self.arch().long_jumps(self.registers, self.memory, guard)?;
        let is_code = |landing: &Landing| self.modules.at(landing.addr).is_some();
        landings.into_iter().find(is_code).map(UnwindTarget::at)
    }

    /// Returns the word with which glibc mangles pointers.
    fn pointer_guard(&self) -> Option<u64> {
        let arch = self.arch();
        let addr = match arch.convention().jump_buffer.guard {
            PointerGuard::InThread(offset) => {
                let thread = arch.thread_pointer(&self.registers.to_registers())?;
                LoadAddr(thread.wrapping_add(offset))
            }
            PointerGuard::Variable => self.modules.pointer_guard()?,
        };
        self.memory.read_uint(addr, 8).ok()
    }

    /// Returns where a thread resumes after the function of a context (`makecontext`) has returned:
    /// in the context that its own is linked to, at the point where that was left.
    pub fn linked_context(&self) -> Option<UnwindTarget> {
        let pc = self.registers.pc();
        let arch = self.arch();
        let landing = arch.linked_context(pc, self.registers, self.memory)?;
        self.modules.at(landing.addr)?;
        Some(UnwindTarget::at(landing))
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
