//! System calls that are not recorded: those of a program after the end of its recording, and those of the processes that
//! it starts.
//!
//! The filter cannot be removed, and each call that it does not let pass is a stop. It lets the calls of entries pass. Each
//! site that is a jump has an entry, which makes the call and jumps back. An entry changes no register that the call
//! preserves and uses no memory, so several threads and handlers of signals may be in it at once.
//!
//! The debugger sees a thread that has stopped on this way at the site, before or behind the call.

use super::super::log::Log;
use super::super::patches::Patches;
use super::super::registers::{CALL_LEN, General, Registers};
use super::super::tracee::Tracee;
use super::jump::{self, CALL_OF_SLOT};
use super::layout::{FREE, FREE_ENTRY};
use super::stub::{self, Entry};
use super::zones::JUMP_LEN;
use super::{Buffer, MOST_SITES, Site, Write};
use crate::ids::ThreadId;
use std::io;

/// `jmp [rip]`, with the address behind it.
const JUMP_BACK: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// Offset of that address in an entry.
const NEXT: u64 = CALL_LEN + JUMP_BACK.len() as u64;

/// `int3`
const TRAP: [u8; 1] = [0xcc];

/// Replaces an instruction of two bytes that other threads may execute: each sees the old one, the new one, or a trap.
///
/// # Errors
/// The process has ended.
pub fn write_by_bytes(program: &Tracee, site: u64, [first, second]: [u8; 2]) -> io::Result<()> {
    program.write(site, &TRAP)?;
    program.write(site + 1, &[second])?;
    program.write(site, &[first])
}

/// Returns the code of an entry for a call after which the program continues at `next`.
pub fn entry_code(next: u64) -> Vec<u8> {
    let code = [&jump::CALL[..], &JUMP_BACK, &next.to_le_bytes()].concat();
    debug_assert_eq!(code.len() as u64, FREE_ENTRY);
    code
}

impl Buffer {
    /// The program is not recorded any more: its calls go by the entries.
    pub fn free(&self) {
        self.enter_by(Entry::Free);
    }

    /// At a stop of a free thread for a system call: gives the instruction an entry if it has stopped the program before.
    /// Other threads may execute the instruction meanwhile.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn on_free_call(&mut self, pid: i32, log: &mut Log, patches: &Patches) -> io::Result<()> {
        let registers = match &self.shared {
            Some(_) => Registers::read(ThreadId(pid)),
            None => None,
        };
        let Some(registers) = registers.filter(Registers::is_long_mode) else {
            return Ok(());
        };
        let site = registers.pc().wrapping_sub(CALL_LEN);
        match self.sites.get(&site) {
            None if self.sites.len() < MOST_SITES => drop(self.sites.insert(site, Site::Seen)),
            Some(Site::Seen) => {
                let program = Tracee::new(pid)?;
                self.replace((&program, site), Write::WhileOthersRun, log, patches)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// At a trap of a free thread: if it has executed an instruction that was being replaced, moves it back there, where the
    /// jump is now.
    pub fn repeats_replaced(&self, pid: i32) -> bool {
        let Some(mut registers) = Registers::read(ThreadId(pid)) else {
            return false;
        };
        let site = registers.pc().wrapping_sub(TRAP.len() as u64);
        let is_jump = self.sites.get(&site) == Some(&Site::Jump);
        // A trap that is still there is the debugger's.
        let is_replaced = || Tracee::new(pid).is_ok_and(|it| it.read(site, TRAP.len()) != TRAP);
        let repeats = is_jump && is_replaced();
        if repeats {
            registers.set_pc(site);
            registers.write(ThreadId(pid));
        }
        repeats
    }

    /// Returns whether a stopped thread is on the way from a site to its entry, or back.
    pub fn is_in_free_code(&self, pid: i32) -> bool {
        self.next_of(pid).is_some()
    }

    /// Moves a stopped thread that is on the way from a site to its entry, or back, to the site.
    pub fn show_site(&self, pid: i32) {
        if let Some((mut registers, pc)) = self.next_of(pid) {
            registers.set_pc(pc);
            registers.write(ThreadId(pid));
        }
    }

    /// Returns the registers of a stopped thread on such a way, and the pc that it has at the site.
    fn next_of(&self, pid: i32) -> Option<(Registers, u64)> {
        self.shared.as_ref()?;
        let registers = Registers::read(ThreadId(pid))?;
        let pc = registers.pc();
        let is_own = FREE.contains(&pc) || stub::free().contains(&pc) || self.zones.contain(pc);
        let program = is_own.then(|| Tracee::new(pid).ok())??;
        let of_entry = |entry: u64| program.word(entry + NEXT);
        let of_slot = |slot: u64| {
            let code = program.read(slot, CALL_OF_SLOT as usize);
            jump::next_of_slot(slot, &code)
        };
        let (next, is_behind) = if FREE.contains(&pc) {
            let entry = pc - pc % FREE_ENTRY;
            (of_entry(entry)?, pc != entry)
        } else if stub::free().contains(&pc) {
            let at = registers.general(General::R11);
            let next = match FREE.contains(&at) {
                true => of_entry(at),
                false => of_slot(at.wrapping_sub(CALL_OF_SLOT)),
            };
            (next?, false)
        } else if self.zones.is_jump(pc) {
            (
                of_slot(jump::target(pc, &program.read(pc, JUMP_LEN as usize))?)?,
                false,
            )
        } else {
            let slot = self.zones.slot_at(pc)?;
            (of_slot(slot)?, pc > slot + CALL_OF_SLOT)
        };
        let pc = if is_behind { next } else { next - CALL_LEN };
        Some((registers, pc))
    }
}
