//! `user_regs_struct` of x86-64, by DWARF number.

use super::super::{FutexWait, SystemCall};
use super::ptrace;
use crate::ids::ThreadId;
use dwarf::{LoadAddr, Machine, Register, Registers};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The kernel's general-purpose register set.
#[derive(Clone, Copy)]
pub struct RawRegisters(libc::user_regs_struct);

const NT_PRSTATUS: i32 = 1;
const NT_PRFPREG: i32 = 2;
const NT_X86_XSTATE: i32 = 0x202;

/// `si_code` of the SIGTRAP of a breakpoint instruction (`SI_KERNEL`).
pub const BREAKPOINT_CODE: i32 = 0x80;

/// Reads the registers of a stopped thread; `None` if it is gone.
pub fn read(tid: ThreadId) -> Option<RawRegisters> {
    let mut registers = RawRegisters::zeroed();
    ptrace::register_set(tid, NT_PRSTATUS, false, &mut registers.0)?;
    Some(registers)
}

/// Writes the registers of a stopped thread; false if it is gone.
pub fn write(tid: ThreadId, registers: &RawRegisters) -> bool {
    ptrace::register_set(tid, NT_PRSTATUS, true, &mut registers.0.clone()).is_some()
}

/// Reads xmm0 to xmm15 of a stopped thread.
pub fn read_vectors(tid: ThreadId) -> Option<Vec<u128>> {
    let mut area = [0_u8; 512];
    ptrace::register_set(tid, NT_PRFPREG, false, &mut area)?;
    vectors_in(&area)
}

/// Returns xmm0 to xmm15 from an FXSAVE area (Intel SDM volume 1, §10.5.1).
pub fn vectors_in(area: &[u8]) -> Option<Vec<u128>> {
    Some(sixteens(area.get(160..160 + 16 * 16)?))
}

fn sixteens(bytes: &[u8]) -> Vec<u128> {
    let value = |bytes: &[u8]| bytes.try_into().map_or(0, u128::from_le_bytes);
    bytes.chunks_exact(16).map(value).collect()
}

/// Upper bound of the size of an XSAVE area.
const MAX_XSTATE_BYTES: usize = 1 << 16;

/// Reads the XSAVE area of a stopped thread.
pub fn read_extended(tid: ThreadId) -> Option<Vec<u8>> {
    /// Size that the kernel returned: the same for all threads of a machine.
    static LENGTH: AtomicUsize = AtomicUsize::new(MAX_XSTATE_BYTES);
    let mut area = vec![0; LENGTH.load(Ordering::Relaxed)];
    let len = ptrace::register_bytes(tid, NT_X86_XSTATE, false, &mut area)?;
    LENGTH.store(len, Ordering::Relaxed);
    area.truncate(len);
    Some(area)
}

/// Writes the XSAVE area of a stopped thread; false if it fails.
pub fn write_extended(tid: ThreadId, area: &[u8]) -> bool {
    ptrace::register_bytes(tid, NT_X86_XSTATE, true, &mut area.to_vec()).is_some()
}

const fn debug_register(number: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + number * size_of::<u64>()
}

/// Sets DR0 to DR3 and DR7 of a stopped thread.
pub fn write_debug(tid: ThreadId, addresses: &[u64; 4], control: u64) -> io::Result<()> {
    // The kernel checks an address against the length in DR7, so DR7 is cleared first.
    ptrace::poke_user(tid, debug_register(7), 0)?;
    for (index, addr) in addresses.iter().enumerate() {
        if control >> (2 * index) & 1 != 0 {
            ptrace::poke_user(tid, debug_register(index), *addr)?;
        }
    }
    match control {
        0 => Ok(()),
        control => ptrace::poke_user(tid, debug_register(7), control),
    }
}

/// Reads DR6 of a stopped thread.
pub fn read_debug_status(tid: ThreadId) -> io::Result<u64> {
    ptrace::peek_user(tid, debug_register(6))
}

/// System calls that fail with EINTR when their thread is stopped (signal(7), "Interruption of
/// system calls by stop signals"); the kernel restarts all others.
const INTERRUPTED_BY_STOPS: [libc::c_long; 15] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_uring_enter,
    libc::SYS_io_getevents,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    // On sockets with a timeout.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_read,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
];
/// Kernel-internal error: restart the call, unless a handler is about to run; then return EINTR.
const ERESTARTNOHAND: i64 = 514;
/// ERESTARTSYS and ERESTART_RESTARTBLOCK: bounds of the kernel-internal errors that mark a call to
/// be restarted.
const RESTARTS: (i64, i64) = (512, 516);
/// Mask for the futex operation without its flags.
const FUTEX_CMD_MASK: i32 = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
/// `FUTEX_LOCK_PI2` of Linux 5.14.
const FUTEX_LOCK_PI2: i32 = 13;

/// Makes a thread restart the system call that a stop has interrupted, if the kernel would not.
pub fn keep_system_call(tid: ThreadId) {
    let Some(mut registers) = read(tid) else {
        return;
    };
    let raw = &mut registers.0;
    let call = raw.orig_rax as libc::c_long;
    if raw.rax as i64 == -i64::from(libc::EINTR) && INTERRUPTED_BY_STOPS.contains(&call) {
        raw.rax = -ERESTARTNOHAND as u64;
        write(tid, &registers);
    }
}

impl RawRegisters {
    /// Returns registers that are all zero.
    pub fn zeroed() -> Self {
        // SAFETY: integers only; all zeroes is a valid value.
        RawRegisters(unsafe { std::mem::zeroed() })
    }

    /// Decodes the registers in a core file: the bytes of `user_regs_struct`.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.chunks_exact(8).map(|word| {
            let word = word.try_into().map(u64::from_le_bytes);
            word.unwrap_or(0)
        });
        let mut set = RawRegisters::zeroed();
        let raw = &mut set.0;
        for slot in [
            &mut raw.r15,
            &mut raw.r14,
            &mut raw.r13,
            &mut raw.r12,
            &mut raw.rbp,
            &mut raw.rbx,
            &mut raw.r11,
            &mut raw.r10,
            &mut raw.r9,
            &mut raw.r8,
            &mut raw.rax,
            &mut raw.rcx,
            &mut raw.rdx,
            &mut raw.rsi,
            &mut raw.rdi,
            &mut raw.orig_rax,
            &mut raw.rip,
            &mut raw.cs,
            &mut raw.eflags,
            &mut raw.rsp,
            &mut raw.ss,
            &mut raw.fs_base,
            &mut raw.gs_base,
            &mut raw.ds,
            &mut raw.es,
            &mut raw.fs,
            &mut raw.gs,
        ] {
            *slot = words.next()?;
        }
        Some(set)
    }

    fn slot(&mut self, register: Register) -> Option<&mut u64> {
        let raw = &mut self.0;
        Some(match register.0 {
            0 => &mut raw.rax,
            1 => &mut raw.rdx,
            2 => &mut raw.rcx,
            3 => &mut raw.rbx,
            4 => &mut raw.rsi,
            5 => &mut raw.rdi,
            6 => &mut raw.rbp,
            7 => &mut raw.rsp,
            8 => &mut raw.r8,
            9 => &mut raw.r9,
            10 => &mut raw.r10,
            11 => &mut raw.r11,
            12 => &mut raw.r12,
            13 => &mut raw.r13,
            14 => &mut raw.r14,
            15 => &mut raw.r15,
            16 => &mut raw.rip,
            49 => &mut raw.eflags,
            50 => &mut raw.es,
            51 => &mut raw.cs,
            52 => &mut raw.ss,
            53 => &mut raw.ds,
            54 => &mut raw.fs,
            55 => &mut raw.gs,
            58 => &mut raw.fs_base,
            59 => &mut raw.gs_base,
            _ => return None,
        })
    }

    pub fn get(&self, register: Register) -> Option<u64> {
        let mut copy = *self;
        copy.slot(register).map(|slot| *slot)
    }

    pub fn set(&mut self, register: Register, value: u64) -> bool {
        match self.slot(register) {
            Some(slot) => {
                *slot = value;
                true
            }
            None => false,
        }
    }

    pub fn to_registers(self) -> Registers {
        let mut registers = Registers::new(Machine::X86_64);
        let mut copy = self;
        for number in (0..=16).chain(49..=55).chain(58..=59) {
            if let Some(value) = copy.slot(Register(number)) {
                registers.set(Register(number), *value);
            }
        }
        registers
    }

    pub fn pc(&self) -> u64 {
        self.0.rip
    }

    pub fn set_pc(&mut self, pc: u64) {
        self.0.rip = pc;
    }

    pub fn sp(&self) -> u64 {
        self.0.rsp
    }

    pub fn set_sp(&mut self, sp: u64) {
        self.0.rsp = sp;
    }

    pub fn for_system_call(&self, call: SystemCall, instruction: u64) -> RawRegisters {
        let (number, arguments) = match call {
            SystemCall::MapCode { addr, len } | SystemCall::MapData { addr, len } => {
                let access = match call {
                    SystemCall::MapCode { .. } => libc::PROT_READ | libc::PROT_EXEC,
                    _ => libc::PROT_READ | libc::PROT_WRITE,
                };
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                (
                    libc::SYS_mmap,
                    [addr.0, len, access as u64, flags as u64, u64::MAX, 0],
                )
            }
            SystemCall::MemoryFile { name } => (
                libc::SYS_memfd_create,
                [name.0, u64::from(libc::MFD_CLOEXEC), 0, 0, 0, 0],
            ),
            SystemCall::SetLength { descriptor, len } => {
                (libc::SYS_ftruncate, [descriptor as u64, len, 0, 0, 0, 0])
            }
            SystemCall::MapShared {
                addr,
                len,
                descriptor,
            } => (
                libc::SYS_mmap,
                [
                    addr.0,
                    len,
                    (libc::PROT_READ | libc::PROT_WRITE) as u64,
                    (libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE) as u64,
                    descriptor as u64,
                    0,
                ],
            ),
            SystemCall::Close { descriptor } => {
                (libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0])
            }
            SystemCall::AllowTracer { pid } => (
                libc::SYS_prctl,
                [libc::PR_SET_PTRACER as u64, pid as u64, 0, 0, 0, 0],
            ),
            SystemCall::Unmap { addr, len } => (libc::SYS_munmap, [addr.0, len, 0, 0, 0, 0]),
        };
        let mut raw = self.0;
        raw.rax = number as u64;
        // Any other value than −1 would make the kernel restart the call that the thread may be in.
        raw.orig_rax = u64::MAX;
        [raw.rdi, raw.rsi, raw.rdx, raw.r10, raw.r8, raw.r9] = arguments;
        raw.rip = instruction;
        RawRegisters(raw)
    }

    pub fn outside_system_call(&self) -> RawRegisters {
        let mut raw = self.0;
        raw.orig_rax = u64::MAX;
        RawRegisters(raw)
    }

    pub fn system_call_result(&self) -> i64 {
        self.0.rax as i64
    }

    pub fn futex_wait(&self) -> Option<FutexWait> {
        let raw = &self.0;
        // A stopped call that waits has a kernel-internal error as its result.
        let is_interrupted = (-RESTARTS.1..=-RESTARTS.0).contains(&(raw.rax as i64));
        if !is_interrupted || raw.orig_rax as libc::c_long != libc::SYS_futex {
            return None;
        }
        let expected = match raw.rsi as i32 & FUTEX_CMD_MASK {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => Some(raw.rdx as u32),
            libc::FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => None,
            _ => return None,
        };
        let word = LoadAddr(raw.rdi);
        Some(FutexWait { word, expected })
    }
}
