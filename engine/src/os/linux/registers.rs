//! Registers of stopped threads, in the kernel's sets.

use super::super::TrapCause;
use super::super::linux_abi::{self, LinuxAbi, PendingCall, Restart, SeparateRegister, signal};
use super::super::registers::RegisterSet;
use super::{machine, procfs, ptrace};
use crate::arch::{Arch, ExtendedRegisters};
use crate::ids::ThreadId;
use dwarf::Register;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const NT_PRSTATUS: i32 = 1;
const NT_PRFPREG: i32 = 2;
/// Size in bytes of the set with the low parts of the vector registers, of the architecture with
/// the largest.
const MAX_FLOATS_BYTES: usize = 528;
/// Upper bound of the size of all extended registers, in bytes.
const MAX_EXTENDED_BYTES: usize = 1 << 16;

fn abi() -> &'static LinuxAbi {
    linux_abi::of(Arch::HOST)
}

/// Reads the general-purpose registers; `None` if the thread is gone.
pub fn read(tid: ThreadId) -> Option<RegisterSet> {
    let mut set = read_general(tid)?;
    for separate in abi().separate {
        if let Some(value) = read_separate(tid, separate) {
            set.set(separate.register, value);
        }
    }
    Some(set)
}

/// Like [`read`], without the registers that are in sets of their own. Takes no lock and no memory, so that a
/// forked child may call it.
pub fn read_general(tid: ThreadId) -> Option<RegisterSet> {
    let mut set = RegisterSet::zeroed_in(&abi().registers);
    ptrace::read_register_words(tid, NT_PRSTATUS, set.words_mut()).then_some(set)
}

/// Reads a register in a set of its own; `None` if the kernel or the processor lacks it.
fn read_separate(tid: ThreadId, it: &SeparateRegister) -> Option<u64> {
    /// Those that are the same in all threads, by their numbers.
    static CONSTANT: Mutex<Vec<(Register, Option<u64>)>> = Mutex::new(Vec::new());
    let mut known = it.is_constant.then(|| CONSTANT.lock().ok()).flatten();
    if let Some(known) = &known
        && let Some((_, value)) = known.iter().find(|(register, _)| *register == it.register)
    {
        return *value;
    }
    let mut words = [0; 2];
    let index = it.offset / size_of::<u64>();
    let set = words.get_mut(..=index)?;
    let is_read = ptrace::read_register_words(tid, it.note.cast_signed(), set);
    let value = words.get(index).copied().filter(|_| is_read);
    if let Some(known) = &mut known {
        known.push((it.register, value));
    }
    value
}

/// Writes the general-purpose registers. Returns false if the thread is gone.
pub fn write(tid: ThreadId, registers: &RegisterSet) -> bool {
    let mut set = *registers;
    set.arch() == Arch::HOST && ptrace::write_register_words(tid, NT_PRSTATUS, set.words_mut())
}

/// Returns the system call that a running thread is in, if a stop would make it fail and it could not
/// be restarted without this.
pub fn pending_call(tid: ThreadId) -> Option<PendingCall> {
    let calls = &abi().calls;
    if calls.restart == Restart::ByResult {
        return None;
    }
    let text = procfs::system_call(tid.0)?;
    PendingCall::parse(&text).filter(|call| call.is_interrupted(calls))
}

/// Makes a thread restart the system call that a stop has interrupted, if the kernel would not.
/// `before`: what [`pending_call`] returned before the stop.
pub fn keep_system_call(tid: ThreadId, before: Option<PendingCall>) {
    // The handler of a signal makes the call fail.
    let before = before.filter(|_| ptrace::is_interrupted(tid));
    if let Some(restarted) = read(tid).and_then(|set| set.with_call_restarted(before)) {
        write(tid, &restarted);
    }
}

/// Ends the single step of a thread that has stopped with SIGTRAP, if that was over a system call and
/// the kernel would report it once more at the next step: it forgets that when registers are written.
pub fn end_step_over_call(tid: ThreadId) {
    if !abi().repeats_stepped_call {
        return;
    }
    let info = ptrace::signal_info(tid).and_then(|raw| signal::decode_info(&raw));
    let cause = info.and_then(|info| signal::trap_cause(Arch::HOST, &info));
    if cause == Some(TrapCause::Other)
        && let Some(registers) = read(tid)
    {
        write(tid, &registers);
    }
}

/// Reads the low 16 bytes of the vector registers, which the architecture decodes.
pub fn read_vectors(tid: ThreadId) -> Option<ExtendedRegisters> {
    let mut area = [0; MAX_FLOATS_BYTES];
    let len = ptrace::read_register_bytes(tid, NT_PRFPREG, &mut area)?;
    Some(ExtendedRegisters::from(area.get(..len)?.to_vec()))
}

/// Reads all extended registers.
pub fn read_extended(tid: ThreadId) -> Option<ExtendedRegisters> {
    machine::read_with_modes(tid, || read_largest(tid))
}

/// Reads the set that has all vectors.
fn read_largest(tid: ThreadId) -> Option<ExtendedRegisters> {
    /// Size of the last set: mostly that of the next one, too.
    static LENGTH: AtomicUsize = AtomicUsize::new(MAX_EXTENDED_BYTES);
    let Some(set) = &abi().extended else {
        return read_vectors(tid);
    };
    let read = |room: usize| {
        let mut area = vec![0; room];
        let len = ptrace::read_register_bytes(tid, set.note.cast_signed(), &mut area)?;
        area.truncate(len);
        Some(area)
    };
    /// The kernel takes multiples of a register's size only.
    const UNIT: usize = 16;
    // More than the last one had, to see whether this one is larger.
    let room = LENGTH.load(Ordering::Relaxed).next_multiple_of(UNIT) + UNIT;
    let room = room.min(MAX_EXTENDED_BYTES);
    let mut area = read(room);
    if area.as_ref().is_some_and(|area| area.len() == room) {
        area = read(MAX_EXTENDED_BYTES);
    }
    match area.filter(|area| (set.is_used)(area)) {
        Some(area) => {
            LENGTH.store(area.len(), Ordering::Relaxed);
            Some(ExtendedRegisters::from(area))
        }
        None => read_vectors(tid),
    }
}

/// Writes all extended registers, as [`read_extended`] returned them. Returns false if it fails.
pub fn write_extended(tid: ThreadId, area: &[u8]) -> bool {
    machine::write_with_modes(tid, area, |vectors| {
        let own = abi().extended.as_ref().filter(|set| (set.is_used)(vectors));
        let set = own.map_or(NT_PRFPREG, |set| set.note.cast_signed());
        ptrace::write_register_bytes(tid, set, vectors)
    })
}
