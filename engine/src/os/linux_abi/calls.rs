//! System calls as a thread's registers show them, before and while they are made.

use super::super::registers::RegisterSet;
use super::super::system_call::{BlockingCall, FutexWait, SystemCall};
use dwarf::{LoadAddr, Register};

/// How an architecture's programs make system calls, and the numbers of some.
pub struct SystemCalls {
    pub number: Register,
    pub arguments: [Register; 6],
    pub result: Register,
    /// Index of the word with the number of the call that a thread is in; `None`: `number` keeps
    /// it.
    pub current: Option<usize>,
    pub map: u64,
    pub unmap: u64,
    pub close: u64,
    pub set_length: u64,
    pub memory_file: u64,
    pub process_control: u64,
    pub futex: u64,
    pub restart: Restart,
    /// Calls that fail with EINTR when their thread is stopped (signal(7), "Interruption of system
    /// calls by stop signals"); the kernel restarts all others.
    pub interrupted_by_stops: &'static [u64],
    /// Calls that block, with what for; the descriptor of [`BlockingCall::File`] is their first
    /// argument.
    pub blocking: &'static [(u64, BlockingCall)],
}

/// How the kernel restarts a system call that a stop has interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// When the thread is resumed, if the result is an internal error.
    ByResult,
    /// It has moved the thread back to the instruction before the stop, with the first argument in
    /// the register of the result. A call that has failed has lost that argument. The size of the
    /// instruction, in bytes.
    ByInstruction(u64),
}

/// A system call that a running thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingCall {
    number: u64,
    first: u64,
    /// The address behind its instruction.
    behind: LoadAddr,
}

impl PendingCall {
    /// Reads it from `/proc/PID/syscall`: the number, six arguments, the stack pointer and the pc.
    /// `None`: the thread is in none.
    pub fn parse(text: &str) -> Option<PendingCall> {
        let mut words = text.split_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut words = words.map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
        Some(PendingCall {
            number,
            first: words.next()??,
            behind: LoadAddr(words.nth(6)??),
        })
    }

    /// Returns whether it fails when its thread is stopped.
    pub fn is_interrupted(&self, calls: &SystemCalls) -> bool {
        calls.interrupted_by_stops.contains(&self.number)
    }
}

const PROT_READ: u64 = 1;
const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
const MAP_SHARED: u64 = 1;
const MAP_PRIVATE: u64 = 2;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MFD_CLOEXEC: u64 = 1;
const PR_SET_PTRACER: u64 = 0x5961_6d61;
const EINTR: i64 = 4;
const FUTEX_WAIT: u32 = 0;
const FUTEX_LOCK_PI: u32 = 6;
const FUTEX_WAIT_BITSET: u32 = 9;
const FUTEX_LOCK_PI2: u32 = 13;
/// Mask for the futex operation without `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
const FUTEX_COMMAND: u32 = !(0x80 | 0x100);
/// Kernel-internal error: restart the call, unless a handler is about to run; then return EINTR.
const ERESTARTNOHAND: i64 = 514;
/// ERESTARTSYS and ERESTART_RESTARTBLOCK: bounds of the kernel-internal errors that mark a call to
/// be restarted.
const RESTARTS: (i64, i64) = (512, 516);

/// Nothing is mapped below this address (`vm.mmap_min_addr`).
const LOWEST_ADDRESS: i64 = 0x1_0000;

impl RegisterSet {
    fn calls(&self) -> &'static SystemCalls {
        &super::of(self.arch()).calls
    }

    /// Returns the number of the system call that the thread is in, if it is in one.
    fn current_call(&self) -> Option<u64> {
        let calls = self.calls();
        match calls.current {
            Some(index) => self.system_word(index),
            None => self.get(calls.number),
        }
    }

    /// Returns the registers that make the thread execute a system call by the instruction at
    /// `instruction`. A system call that it may be in is not restarted.
    pub fn for_system_call(&self, call: SystemCall, instruction: LoadAddr) -> RegisterSet {
        let calls = self.calls();
        let private = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        let (number, arguments) = match call {
            SystemCall::MapCode { addr, len } => {
                let access = PROT_READ | PROT_EXEC;
                (calls.map, [addr.0, len, access, private, u64::MAX, 0])
            }
            SystemCall::MapData { addr, len } => {
                let access = PROT_READ | PROT_WRITE;
                (calls.map, [addr.0, len, access, private, u64::MAX, 0])
            }
            SystemCall::MapShared {
                addr,
                len,
                descriptor,
            } => {
                let (access, flags) = (PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE);
                let file = descriptor as u64;
                (calls.map, [addr.0, len, access, flags, file, 0])
            }
            SystemCall::MemoryFile { name } => {
                (calls.memory_file, [name.0, MFD_CLOEXEC, 0, 0, 0, 0])
            }
            SystemCall::SetLength { descriptor, len } => {
                (calls.set_length, [descriptor as u64, len, 0, 0, 0, 0])
            }
            SystemCall::Close { descriptor } => (calls.close, [descriptor as u64, 0, 0, 0, 0, 0]),
            SystemCall::AllowTracer { pid } => (
                calls.process_control,
                [PR_SET_PTRACER, pid as u64, 0, 0, 0, 0],
            ),
            SystemCall::Unmap { addr, len } => (calls.unmap, [addr.0, len, 0, 0, 0, 0]),
        };
        self.with_call(number, arguments, instruction)
    }

    fn with_call(&self, number: u64, arguments: [u64; 6], instruction: LoadAddr) -> RegisterSet {
        let calls = self.calls();
        let mut set = self.outside_system_call();
        set.set(calls.number, number);
        for (register, argument) in calls.arguments.iter().zip(arguments) {
            set.set(*register, argument);
        }
        set.set_pc(instruction);
        set
    }

    /// Like [`RegisterSet::for_system_call`], with all registers that the call does not need at zero,
    /// the stack pointer and the return address too: code that runs on after the call faults at its
    /// next access to the stack or its return.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux needs it"))]
    pub(in crate::os) fn for_call_alone(
        &self,
        number: u64,
        arguments: [u64; 6],
        instruction: LoadAddr,
    ) -> RegisterSet {
        let mut set = *self;
        for register in self.arch().general_registers() {
            set.set(register, 0);
        }
        set.set_sp(0);
        set.with_call(number, arguments, instruction)
    }

    /// Returns the same registers without the system call that the thread may be in, so that it is
    /// not restarted.
    pub fn outside_system_call(&self) -> RegisterSet {
        let mut set = *self;
        if let Some(index) = self.calls().current {
            // Any other value than −1 would make the kernel restart the call.
            set.set_system_word(index, u64::MAX);
        }
        set
    }

    /// Returns the result of a system call.
    pub fn system_call_result(&self) -> i64 {
        self.get(self.calls().result).unwrap_or(0) as i64
    }

    /// Returns the registers that restart the system call that a stop has made fail with EINTR; `None`
    /// if it has not. `before`: the call that the thread was in, for [`Restart::ByInstruction`].
    pub(in crate::os) fn with_call_restarted(
        &self,
        before: Option<PendingCall>,
    ) -> Option<RegisterSet> {
        let calls = self.calls();
        let is_interrupted = self.system_call_result() == -EINTR;
        let call = self.current_call().filter(|_| is_interrupted)?;
        if !calls.interrupted_by_stops.contains(&call) {
            return None;
        }
        let mut set = *self;
        match calls.restart {
            Restart::ByResult => {
                set.set(calls.result, -ERESTARTNOHAND as u64);
            }
            Restart::ByInstruction(len) => {
                let is_it = |it: &PendingCall| it.number == call && it.behind == self.pc();
                let before = before.filter(is_it)?;
                set.set(*calls.arguments.first()?, before.first);
                set.set_pc(LoadAddr(before.behind.0.checked_sub(len)?));
            }
        }
        Some(set)
    }

    /// Returns whether the registers are those of a stopped thread whose system call will be
    /// restarted. After [`Restart::ByInstruction`] that is a guess: a result is no address.
    fn will_restart_call(&self) -> bool {
        let result = self.system_call_result();
        match self.calls().restart {
            Restart::ByResult => (-RESTARTS.1..=-RESTARTS.0).contains(&result),
            Restart::ByInstruction(_) => result >= LOWEST_ADDRESS,
        }
    }

    /// Returns the futex wait of a thread that was stopped in such a system call.
    pub(crate) fn futex_wait(&self) -> Option<FutexWait> {
        let calls = self.calls();
        // A stopped call that waits is restarted.
        if !self.will_restart_call() || self.current_call() != Some(calls.futex) {
            return None;
        }
        let argument = |nth: usize| self.get(*calls.arguments.get(nth)?);
        let expected = match argument(1)? as u32 & FUTEX_COMMAND {
            FUTEX_WAIT | FUTEX_WAIT_BITSET => Some(argument(2)? as u32),
            FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => None,
            _ => return None,
        };
        let word = LoadAddr(argument(0)?);
        Some(FutexWait { word, expected })
    }

    /// Returns the blocking system call that a stopped thread is in. Where the kernel restarts calls by
    /// moving the thread back, those whose first argument is a small number are not recognized: it
    /// looks like a result.
    pub(crate) fn blocking_call(&self) -> Option<BlockingCall> {
        let calls = self.calls();
        let current = self.current_call().filter(|_| self.will_restart_call())?;
        let (_, call) = calls
            .blocking
            .iter()
            .find(|(number, _)| *number == current)?;
        Some(match call {
            BlockingCall::File(_) => {
                BlockingCall::File(self.get(*calls.arguments.first()?)? as i32)
            }
            other => *other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;
    use crate::arch::Arch;

    #[test]
    fn call_is_made_with_its_number_and_arguments() {
        for arch in Arch::ALL {
            let abi = of(*arch);
            let mut before = RegisterSet::zeroed_in(&abi.registers);
            if let Some(current) = abi.calls.current {
                before.set_system_word(current, 202);
            }
            let call = SystemCall::Unmap {
                addr: LoadAddr(0x5000),
                len: 0x1000,
            };
            let set = before.for_system_call(call, LoadAddr(0x77));
            assert_eq!(set.get(abi.calls.number), Some(abi.calls.unmap));
            assert_eq!(set.get(abi.calls.arguments[0]), Some(0x5000));
            assert_eq!(set.get(abi.calls.arguments[1]), Some(0x1000));
            assert_eq!(set.pc(), LoadAddr(0x77));
            let current = abi.calls.current;
            let current = current.and_then(|index| set.system_word(index));
            assert_eq!(current.unwrap_or(u64::MAX), u64::MAX, "not restarted");
        }
    }

    #[test]
    fn lone_call_leaves_no_stack_and_no_return_address() {
        for arch in Arch::ALL {
            let abi = of(*arch);
            let mut before = RegisterSet::zeroed_in(&abi.registers);
            before.words_mut().fill(0x4000_1234);
            let set = before.for_call_alone(abi.calls.close, [7; 6], LoadAddr(0x77));
            assert_eq!(set.get(abi.calls.number), Some(abi.calls.close));
            assert_eq!(set.get(abi.calls.arguments[5]), Some(7));
            assert_eq!(set.pc(), LoadAddr(0x77));
            assert_eq!(set.sp(), 0);
            for register in arch.general_registers() {
                assert_ne!(set.get(register), Some(0x4000_1234), "{register:?}");
            }
        }
    }

    fn in_call(arch: Arch, number: u64, result: i64) -> RegisterSet {
        let abi = of(arch);
        let mut set = RegisterSet::zeroed_in(&abi.registers);
        match abi.calls.current {
            Some(index) => set.set_system_word(index, number),
            None => drop(set.set(abi.calls.number, number)),
        }
        set.set(abi.calls.result, result as u64);
        set
    }

    #[test]
    fn only_calls_that_stops_interrupt_are_restarted() {
        for arch in Arch::ALL {
            let calls = &of(*arch).calls;
            let call = calls.interrupted_by_stops[0];
            let text = format!("{call} 0x7 0x1 0x2 0x3 0x4 0x5 0xfff0 0x1004\n");
            let before = PendingCall::parse(&text);
            assert!(before.is_some_and(|it| it.is_interrupted(calls)));
            let restarted = |number, result| {
                let mut set = in_call(*arch, number, result);
                set.set_pc(LoadAddr(0x1004));
                set.with_call_restarted(before)
            };
            let set = restarted(call, -EINTR).unwrap();
            match calls.restart {
                Restart::ByResult => assert_eq!(set.system_call_result(), -ERESTARTNOHAND),
                Restart::ByInstruction(len) => {
                    assert_eq!(set.pc(), LoadAddr(0x1004 - len));
                    assert_eq!(set.get(calls.arguments[0]), Some(7));
                    let other = in_call(*arch, call, -EINTR);
                    assert!(other.with_call_restarted(before).is_none(), "another place");
                    assert!(other.with_call_restarted(None).is_none());
                }
            }
            assert!(restarted(call, 1).is_none(), "it has a result");
            assert!(restarted(calls.futex, -EINTR).is_none(), "the kernel does");
        }
    }

    #[test]
    fn calls_are_read_as_the_kernel_writes_them() {
        let parse = PendingCall::parse;
        assert_eq!(parse("running\n"), None);
        assert_eq!(
            parse("-1 0xffffe0 0x1000\n"),
            None,
            "stopped outside of a call"
        );
        assert_eq!(parse(""), None);
        assert_eq!(parse("22 0x4 0x5 0x6"), None);
    }

    #[test]
    fn waiting_futex_of_aarch64_has_its_argument() {
        let calls = &of(Arch::Aarch64).calls;
        let mut set = in_call(Arch::Aarch64, calls.futex, 0x4_0000);
        set.set(calls.arguments[1], u64::from(FUTEX_WAIT | 0x80));
        set.set(calls.arguments[2], 2);
        let word = |set: &RegisterSet| set.futex_wait().map(|it| it.word);
        assert_eq!(word(&set), Some(LoadAddr(0x4_0000)));
        for result in [0, 1, -EINTR, -11] {
            set.set(calls.result, result as u64);
            assert_eq!(word(&set), None, "it has returned {result}");
        }
    }

    #[test]
    fn futex_wait_is_recognised_by_its_call() {
        let calls = &of(Arch::X86_64).calls;
        let mut set = in_call(Arch::X86_64, calls.futex, -RESTARTS.0);
        set.set(calls.arguments[0], 0x4000);
        set.set(calls.arguments[1], u64::from(FUTEX_WAIT | 0x80));
        set.set(calls.arguments[2], 2);
        let wait = FutexWait {
            word: LoadAddr(0x4000),
            expected: Some(2),
        };
        assert_eq!(set.futex_wait(), Some(wait));
        set.set(calls.arguments[1], u64::from(FUTEX_LOCK_PI));
        assert_eq!(set.futex_wait().map(|it| it.expected), Some(None));
        set.set(calls.result, 0);
        assert_eq!(set.futex_wait(), None, "it has returned");
    }

    #[test]
    fn blocking_calls_are_recognized_while_they_block() {
        let calls = &of(Arch::X86_64).calls;
        let (read, _) = calls.blocking[0];
        let mut set = in_call(Arch::X86_64, read, -RESTARTS.0);
        set.set(calls.arguments[0], 7);
        assert_eq!(set.blocking_call(), Some(BlockingCall::File(7)));
        set.set(calls.result, 3);
        assert_eq!(set.blocking_call(), None, "it has returned");
        let other = in_call(Arch::X86_64, calls.map, -RESTARTS.0);
        assert_eq!(other.blocking_call(), None);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn numbers_are_those_of_this_machine() {
        let calls = &of(Arch::HOST).calls;
        let numbers = [
            (calls.map, libc::SYS_mmap),
            (calls.unmap, libc::SYS_munmap),
            (calls.close, libc::SYS_close),
            (calls.set_length, libc::SYS_ftruncate),
            (calls.memory_file, libc::SYS_memfd_create),
            (calls.process_control, libc::SYS_prctl),
            (calls.futex, libc::SYS_futex),
        ];
        let interrupted = [
            libc::SYS_epoll_wait,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_io_uring_enter,
            libc::SYS_io_getevents,
            libc::SYS_rt_sigtimedwait,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_accept,
            libc::SYS_accept4,
            libc::SYS_read,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_sendto,
            libc::SYS_sendmsg,
        ];
        let interrupted = calls.interrupted_by_stops.iter().zip(interrupted);
        for (ours, number) in numbers.into_iter().chain(interrupted.map(|(a, b)| (*a, b))) {
            assert_eq!(ours, number as u64);
        }
        let blocking = [
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_write,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_accept,
            libc::SYS_accept4,
            libc::SYS_connect,
            libc::SYS_flock,
            libc::SYS_poll,
            libc::SYS_ppoll,
            libc::SYS_select,
            libc::SYS_pselect6,
            libc::SYS_epoll_wait,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_nanosleep,
            libc::SYS_clock_nanosleep,
            libc::SYS_wait4,
            libc::SYS_waitid,
            libc::SYS_pause,
            libc::SYS_rt_sigsuspend,
            libc::SYS_rt_sigtimedwait,
        ];
        assert_eq!(blocking.len(), calls.blocking.len());
        for ((ours, _), number) in calls.blocking.iter().zip(blocking) {
            assert_eq!(*ours, number as u64);
        }
        let flags = libc::PROT_READ | libc::PROT_WRITE << 4 | libc::PROT_EXEC << 8;
        assert_eq!(flags as u64, PROT_READ | PROT_WRITE << 4 | PROT_EXEC << 8);
        let flags = libc::MAP_SHARED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        assert_eq!(flags as u64, MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS);
        assert_eq!(libc::MAP_FIXED_NOREPLACE as u64, MAP_FIXED_NOREPLACE);
        assert_eq!(libc::PR_SET_PTRACER as u64, PR_SET_PTRACER);
        let mask = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
        assert_eq!(mask as u32, FUTEX_COMMAND);
        assert_eq!(libc::FUTEX_WAIT_BITSET as u32, FUTEX_WAIT_BITSET);
        assert_eq!(libc::FUTEX_LOCK_PI as u32, FUTEX_LOCK_PI);
        let size = size_of::<libc::user_regs_struct>();
        assert_eq!(of(Arch::HOST).registers.bytes(), size);
    }
}
