//! The end of a slice, or signals for a thread that makes no calls: the running thread is interrupted somewhere,
//! and moved on to a place that a replay finds quickly.

use super::super::buffer::PUN_LEN;
use super::super::log::{Effect, Entry};
use super::super::recorder::Recorder;
use super::super::snapshots::Moment;
use super::super::tracee::Stop;
use super::place::Place;
use super::site::{CODE_LEN, Quality, Site, TRAP};
use crate::arch::{Arch, Flow, Instruction};
use crate::os::linux::procfs;
use dwarf::LoadAddr;
use std::io;
use std::ops::Range;

/// Instructions after which a place is taken that is not best, by the quality that it must have.
const PATIENCE: [(usize, Quality); 4] = [
    (0, Quality::One),
    (40, Quality::Several),
    (200, Quality::Entered),
    (400, Quality::Trap),
];
/// Instructions after which the thread runs on without a place, until it is interrupted again.
const MOST_STEPS: usize = 4000;

/// Mappings of which it is known whether they are the program's, or the debugger's. Only system calls change that.
#[derive(Default)]
pub struct KnownCode(Vec<(Range<u64>, bool)>);

/// Returns the quality that a place must have after so many instructions.
fn needed(steps: usize) -> Quality {
    let mut all = PATIENCE.iter().rev();
    let found = all.find(|(least, _)| steps >= *least);
    found.map_or(Quality::One, |it| it.1)
}

impl Recorder {
    /// Makes an event of where the running thread was interrupted in its own code: it gets the signals that are
    /// held, or another thread runs.
    pub(in super::super) fn preempt(&mut self) -> io::Result<()> {
        let mut known = KnownCode::default();
        for steps in 0..MOST_STEPS {
            let registers = self.running.tracee.registers()?;
            let pc = registers.pc();
            let code = self.running.tracee.read(pc, CODE_LEN);
            let Some(instruction) = Arch::HOST.decode(&code, LoadAddr(pc)) else {
                break;
            };
            // A call is an event, at which another thread can run. A trap stops for the debugger.
            if matches!(instruction.flow, Flow::SystemCall | Flow::Interrupt)
                || self.buffer.holds(&registers)
            {
                break;
            }
            // The debugger may look for the place of its stop, which is before this event. A later passage is another
            // place, or the same state.
            let was_seen = steps == 0 && pc == self.running.resumed_at;
            if !was_seen
                && !self.is_near_jump(pc)
                && !self.is_in_call(&registers)
                && let Some(quality) = self.quality_at(&instruction, code, &mut known)
                && quality >= needed(steps)
            {
                return self.end_slice();
            }
            match self.execute(&instruction)? {
                Stop::Signal(libc::SIGTRAP) | Stop::Interrupted => {}
                stop if stop.is_end() => return self.on_end_of_running(stop),
                stop => return self.on_running_stop(stop),
            }
        }
        self.run();
        Ok(())
    }

    /// Returns the quality of a place where the running thread is, at this instruction; `None`: it can be none. `code`:
    /// what is there, [`CODE_LEN`] bytes.
    fn quality_at(
        &self,
        instruction: &Instruction,
        mut code: Vec<u8>,
        known: &mut KnownCode,
    ) -> Option<Quality> {
        let pc = instruction.addr.0;
        let has_patches = self.patches.overlap(&(pc..pc + CODE_LEN as u64));
        let is_possible = match instruction.flow {
            // A loop may have no other code than what the debugger has moved. Before its jump, the thread is where it
            // would be without it: replays have the program's code there.
            Flow::Jump(_) if self.patches.has(pc) => true,
            // Code of the debugger is in no replay.
            _ => !has_patches && self.is_of_program(pc, known),
        };
        self.patches.hide(pc, &mut code);
        let covered = Arch::HOST.decode(&code, LoadAddr(pc))?;
        if !is_possible || !covered.can_be_stepped() {
            return None;
        }
        let site = Site::of(pc, &code).filter(|site| !self.patches.begin_in(site.inside()));
        let around = |at, len| {
            let mut code = self.running.tracee.read(at, len);
            self.patches.hide(at, &mut code);
            code
        };
        Some(site.map_or(Quality::Trap, |site| site.quality(around)))
    }

    /// Returns whether a jump at an address would change one that leads to the buffer: the code behind a
    /// system call instruction may be its displacement.
    fn is_near_jump(&self, pc: u64) -> bool {
        let end = pc + CODE_LEN as u64;
        let mut sites = self.log.segments.sites();
        sites.any(|site| site < end && pc < site + PUN_LEN)
    }

    /// Returns whether code is the program's: mapped from a file, or by the program. `known`: the mappings that were
    /// looked at since the last system call.
    pub(in super::super) fn is_of_program(&self, pc: u64, known: &mut KnownCode) -> bool {
        if self.patches.is_empty() {
            return true;
        }
        if let Some((_, is_of_program)) = known.0.iter().find(|(range, _)| range.contains(&pc)) {
            return *is_of_program;
        }
        let mappings = procfs::mappings(self.running.tracee.pid);
        let mut all = mappings.iter();
        let Some(found) = all.find(|it| (it.start.0..it.end.0).contains(&pc)) else {
            return false;
        };
        let mapped = || self.log.mapped().into_iter();
        let is_mapped = |(start, end): (LoadAddr, LoadAddr)| (start.0..end.0).contains(&pc);
        let is_of_program = found.path.has_root() || mapped().any(is_mapped);
        known.0.push((found.start.0..found.end.0, is_of_program));
        is_of_program
    }

    /// Lets another thread run instead of the running one, which waits for the debugger at any place.
    pub(in super::super) fn park_stopped(&mut self) -> io::Result<()> {
        let registers = self.running.tracee.registers()?;
        if !self.is_at_call(&registers) {
            let place = self.place()?;
            self.buffer.drain(&mut self.log)?;
            let entry = Entry::of(&place.registers);
            self.running.place = Some(place.registers);
            self.log.push(entry, Effect::Preempt(Box::new(place)));
        }
        self.turns.scheduler.add(self.running.tracee.pid);
        self.turn()
    }

    /// Returns the place of the running thread.
    fn place(&self) -> io::Result<Place> {
        Place::of(&self.running.tracee, &self.patches, &self.other_stacks())
    }

    fn is_in_call(&self, registers: &super::super::registers::Registers) -> bool {
        registers.at_event().pc() != registers.pc()
    }

    /// Lets the thread run to the next instruction.
    pub(super) fn run_past(&self, next: &LoadAddr) -> io::Result<Stop> {
        let tracee = &self.running.tracee;
        let covered = tracee.read(next.0, 1);
        tracee.write(next.0, &[TRAP])?;
        tracee.resume(0);
        let mut stop = tracee.wait();
        while stop == Stop::Interrupted {
            tracee.resume(0);
            stop = tracee.wait();
        }
        if stop.is_end() {
            return Ok(stop);
        }
        tracee.write(next.0, &covered)?;
        let mut registers = tracee.registers()?;
        if stop == Stop::Signal(libc::SIGTRAP) && registers.pc() == next.0 + 1 {
            registers.set_pc(next.0);
            registers.write(tracee.thread());
        }
        Ok(stop)
    }

    fn end_slice(&mut self) -> io::Result<()> {
        // In a loop that the debugger has moved, no other place of the program is met. Before the records are taken
        // out of the buffer: its replays leave out as many as a snapshot has there.
        if !self.patches.is_empty() && self.snapshots.is_due(self.begun.elapsed()) {
            self.take_snapshot(Moment::Interrupt)?;
        }
        let place = self.place()?;
        self.buffer.drain(&mut self.log)?;
        let registers = place.registers;
        self.log
            .push(Entry::of(&registers), Effect::Preempt(Box::new(place)));
        self.hash_last(std::time::Instant::now());
        if self.holds_signals() {
            self.running.boundary = Some(self.running.tracee.registers()?);
            self.send_held();
            self.run();
            return Ok(());
        }
        self.running.place = Some(registers);
        self.turns.scheduler.add(self.running.tracee.pid);
        self.turn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_places_are_taken_later() {
        assert_eq!(needed(0), Quality::One);
        assert_eq!(needed(39), Quality::One);
        assert_eq!(needed(40), Quality::Several);
        assert_eq!(needed(1000), Quality::Trap);
    }
}
