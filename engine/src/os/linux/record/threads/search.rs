//! The search for a place in a replay: the thread runs, and at each passage of the pc a stub compares what it has
//! with what the place needs. Passages that seem to be the one, and are not, teach the stub another word. Jumps of the
//! debugger in the code there are like the program's; no jump of it covers a place from before
//! (`Recordings::places_of_changes`). Where the program may write code itself, nothing is planted before that is executed:
//! what is there until then may be overwritten.

use super::super::super::{machine, procfs};
use super::super::registers::Registers;
use super::super::tracee::{Stop, Tracee};
use super::place::{Other, Place};
use super::site::{CODE_LEN, JUMP_LEN, Site, TRAP};
use super::stub::{self, In, Stub};
use crate::os::Mapping;
use dwarf::LoadAddr;
use std::io;

const PAGE: u64 = 4096;
/// Steps that lead out of a site: it is left by the next instruction but a few.
const MOST_STEPS: usize = 1024;
/// Words that a stub compares at most.
const MOST_LEARNED: usize = 48;
/// Passages that seem to be the one, and are not.
const MOST_FALSE: usize = 1 << 20;

/// A search whose code is planted.
pub struct Search {
    at: u64,
    /// The bytes of the program under the jump or the trap.
    covered: Vec<u8>,
    planted: Planted,
    false_passages: usize,
}

/// Memory that a search has mapped in a replay, by its address.
#[derive(Clone, Copy)]
pub struct SearchMemory(u64);

impl SearchMemory {
    /// Unmaps it. The thread is in no system call.
    ///
    /// # Errors
    /// The process has ended.
    pub fn unmap(self, tracee: &Tracee) -> io::Result<()> {
        tracee.inject([(libc::SYS_munmap, [self.0, stub::LEN, 0, 0, 0, 0])])?;
        Ok(())
    }

    /// Returns its address and length in bytes.
    pub fn range(self) -> (LoadAddr, u64) {
        (LoadAddr(self.0), stub::LEN)
    }
}

enum Planted {
    Jump {
        site: Site,
        stub: Box<Stub>,
        learned: Vec<Other>,
    },
    /// Each passage traps.
    Trap,
    /// Nothing yet: the first passage traps, by this slot of the debug registers.
    Slot(usize),
}

/// How a search begins, or goes on after a stop.
pub enum Arrival {
    /// The thread is at the place, and nothing is planted.
    There,
    /// The thread has to run. It is stopped.
    Search(Box<Search>),
    /// It has stopped for something else. Nothing is planted; the search can go on by [`Search::begin_again`].
    Stopped(Stop, Option<Box<Search>>),
}

/// Returns whether a stopped thread is at a place.
pub fn is_at(tracee: &Tracee, place: &Place) -> bool {
    tracee.registers().is_ok_and(|registers| {
        registers.pc() == place.registers.pc()
            && place.difference(tracee, &registers.at_event()).is_none()
    })
}

impl Search {
    /// Begins for a stopped thread that is in no system call. Cost: about 0.3 ms.
    ///
    /// # Errors
    /// The process has ended, or refuses memory.
    pub fn begin(tracee: &Tracee, place: &Place) -> io::Result<Arrival> {
        if is_at(tracee, place) {
            return Ok(Arrival::There);
        }
        let at = place.registers.pc();
        let mappings = procfs::mappings(tracee.pid);
        if is_written_by_program(at, &mappings)
            && let Some(slot) = machine::set_code_slot(tracee.thread(), at)?
        {
            return Ok(Arrival::Search(Box::new(Search {
                at,
                covered: Vec::new(),
                planted: Planted::Slot(slot),
                false_passages: 0,
            })));
        }
        Search::begin_planted(tracee, place, &mappings)
    }

    /// Begins where the code is that the thread will execute.
    fn begin_planted(tracee: &Tracee, place: &Place, mappings: &[Mapping]) -> io::Result<Arrival> {
        let at = place.registers.pc();
        let code = tracee.read(at, CODE_LEN);
        let site = Site::of(at, &code);
        let len = site.as_ref().map_or(1, |site| site.range().end - at);
        // In the midst of a jump, or at it: the first passage is a later one.
        if let Some(stop) = leave(tracee, at, len, Some(place))? {
            return Ok(match stop {
                Left::There => Arrival::There,
                Left::Stopped(stop) => Arrival::Stopped(stop, None),
            });
        }
        let mut search = Search {
            at,
            covered: code
                .get(..JUMP_LEN.min(code.len()))
                .unwrap_or_default()
                .to_vec(),
            planted: Planted::Trap,
            false_passages: 0,
        };
        match site {
            Some(site) => search.plant_jump(tracee, place, site, mappings)?,
            None => search.covered.truncate(1),
        }
        search.plant(tracee)?;
        Ok(Arrival::Search(Box::new(search)))
    }

    /// Goes on after a stop for something else, in the memory that it has. `None`: it cannot, since the code there is
    /// other code now, or the thread is at the place. Cost: some 10 µs.
    ///
    /// # Errors
    /// The process has ended.
    pub fn begin_again(
        mut self: Box<Self>,
        tracee: &Tracee,
        place: &Place,
    ) -> io::Result<Option<Arrival>> {
        let is_same = tracee.read(self.at, self.covered.len()) == self.covered;
        if matches!(self.planted, Planted::Slot(_)) || !is_same || is_at(tracee, place) {
            return Ok(None);
        }
        self.false_passages = 0;
        match leave(tracee, self.at, self.len(), Some(place))? {
            Some(Left::There) => return Ok(None),
            Some(Left::Stopped(stop)) => return Ok(Some(Arrival::Stopped(stop, Some(self)))),
            None => {}
        }
        self.plant(tracee)?;
        Ok(Some(Arrival::Search(self)))
    }

    /// Returns the length in bytes of the code that is searched at.
    fn len(&self) -> u64 {
        match &self.planted {
            Planted::Jump { site, .. } => site.range().end - self.at,
            Planted::Trap | Planted::Slot(_) => 1,
        }
    }

    fn plant_jump(
        &mut self,
        tracee: &Tracee,
        place: &Place,
        site: Site,
        mappings: &[Mapping],
    ) -> io::Result<()> {
        let now = tracee.registers()?;
        let target = site.target(stub::LEN, mappings);
        let planned = target.and_then(|target| {
            let stub = Stub::new(&site, target, &place.registers, &now, &[])?;
            Some((target & !(PAGE - 1), stub))
        });
        let Some((page, stub)) = planned else {
            self.covered.truncate(1);
            return Ok(());
        };
        let map = |start: u64, len: u64, access: i32| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let arguments = [start, len, access as u64, flags as u64, u64::MAX, 0];
            (libc::SYS_mmap, arguments)
        };
        let words = stub::words(stub.start);
        let results = tracee.inject([
            map(page, words - page, libc::PROT_READ | libc::PROT_EXEC),
            map(words, PAGE, libc::PROT_READ | libc::PROT_WRITE),
        ])?;
        if results != [page as i64, words as i64] {
            return Err(io::Error::other(
                "there is no memory for the search of a place",
            ));
        }
        tracee.write(stub.start, &stub.code)?;
        self.planted = Planted::Jump {
            site,
            stub: Box::new(stub),
            learned: Vec::new(),
        };
        Ok(())
    }

    fn plant(&self, tracee: &Tracee) -> io::Result<()> {
        match &self.planted {
            Planted::Jump { site, stub, .. } => tracee.write(self.at, &site.jump(stub.start)),
            Planted::Trap => tracee.write(self.at, &[TRAP]),
            Planted::Slot(_) => Ok(()),
        }
    }

    /// Removes the code. The thread must not be in it.
    fn end(&self, tracee: &Tracee) -> io::Result<()> {
        tracee.write(self.at, &self.covered)?;
        self.memory().map_or(Ok(()), |memory| memory.unmap(tracee))
    }

    /// Returns the memory that it has mapped: it is unmapped when the place is found, and stays after
    /// [`Search::leave`].
    pub fn memory(&self) -> Option<SearchMemory> {
        match &self.planted {
            Planted::Jump { stub, .. } => Some(SearchMemory(stub.start & !(PAGE - 1))),
            Planted::Trap | Planted::Slot(_) => None,
        }
    }

    /// Handles a trap of the thread.
    ///
    /// # Errors
    /// The process has ended, or the place is not found.
    pub fn on_trap(mut self: Box<Self>, tracee: &Tracee, place: &Place) -> io::Result<Arrival> {
        let registers = tracee.registers()?;
        if let Planted::Slot(slot) = self.planted {
            let is_hit = machine::clear_code_slot(tracee.thread(), slot)?;
            return match is_hit && registers.pc() == self.at {
                true if is_at(tracee, place) => Ok(Arrival::There),
                true => Search::begin_planted(tracee, place, &procfs::mappings(tracee.pid)),
                false => Ok(Arrival::Stopped(Stop::Signal(libc::SIGTRAP), None)),
            };
        }
        let trap = registers.pc().wrapping_sub(1);
        if let Planted::Jump { site, stub, .. } = &self.planted {
            if registers.pc() == stub.pass() {
                return self.on_match(tracee, place, registers);
            }
            if trap <= self.at || !site.range().contains(&trap) {
                self.leave(tracee)?;
                return Ok(Arrival::Stopped(Stop::Signal(libc::SIGTRAP), Some(self)));
            }
        } else if trap != self.at {
            self.leave(tracee)?;
            return Ok(Arrival::Stopped(Stop::Signal(libc::SIGTRAP), Some(self)));
        }
        // A trap in place of an instruction: that is executed alone.
        tracee.write(self.at, &self.covered)?;
        let mut there = registers;
        there.set_pc(trap);
        there.write(tracee.thread());
        if trap == self.at && is_at(tracee, place) {
            self.end(tracee)?;
            return Ok(Arrival::There);
        }
        self.count_false()?;
        if trap == self.at && there.at_event().digest() == place.registers.digest() {
            place.collects(tracee);
        }
        if self.covered.first() == Some(&TRAP) && trap == self.at {
            // The debugger has a trap there: it is hit.
            registers.write(tracee.thread());
            return Ok(Arrival::Stopped(Stop::Signal(libc::SIGTRAP), Some(self)));
        }
        match leave(tracee, self.at, self.len(), Some(place))? {
            Some(Left::There) => {
                self.end(tracee)?;
                return Ok(Arrival::There);
            }
            Some(Left::Stopped(stop)) => {
                self.end_in(tracee)?;
                return Ok(Arrival::Stopped(stop, Some(self)));
            }
            None => {}
        }
        self.plant(tracee)?;
        Ok(Arrival::Search(self))
    }

    fn count_false(&mut self) -> io::Result<()> {
        self.false_passages += 1;
        match self.false_passages < MOST_FALSE {
            true => Ok(()),
            false => Err(io::Error::other(
                "the place of a change of threads is not found",
            )),
        }
    }

    fn on_match(
        mut self: Box<Self>,
        tracee: &Tracee,
        place: &Place,
        registers: Registers,
    ) -> io::Result<Arrival> {
        let Planted::Jump {
            site,
            stub,
            learned,
        } = &mut self.planted
        else {
            return Ok(Arrival::Search(self));
        };
        let seen = restored(tracee, stub, registers, self.at)?;
        // The memory that is compared may be that of this code.
        tracee.write(self.at, &self.covered)?;
        let Some(other) = place.difference(tracee, &seen.at_event()) else {
            seen.write(tracee.thread());
            self.end(tracee)?;
            return Ok(Arrival::There);
        };
        tracing::trace!(at = self.at, ?other, "a passage that is not the place");
        // A word that is learned would hide the passages where it is another one.
        let is_new = !place.collects(tracee)
            && matches!(other, Other::Word(..) | Other::Vector(..))
            && !learned.contains(&other)
            && learned.len() < MOST_LEARNED;
        if is_new {
            learned.push(other);
            if let Some(better) = Stub::new(site, stub.start, &place.registers, &seen, learned) {
                tracee.write(better.start, &better.code)?;
                **stub = better;
            }
        }
        let mut on = registers;
        on.set_pc(stub.pass());
        on.set_number(-1);
        on.write(tracee.thread());
        self.plant(tracee)?;
        self.count_false()?;
        Ok(Arrival::Search(self))
    }

    /// Removes the code at a stop for something else, and moves the thread out of it. Its memory stays.
    ///
    /// # Errors
    /// The process has ended.
    pub fn leave(&self, tracee: &Tracee) -> io::Result<()> {
        if let Planted::Jump { site, stub, .. } = &self.planted {
            for _ in 0..MOST_STEPS {
                let registers = tracee.registers()?;
                let Some(inside) = stub.at(registers.pc()) else {
                    break;
                };
                let mut before = registers;
                match inside {
                    In::Begin => before.set_pc(self.at),
                    In::Saving => {
                        let rax = word(tracee, stub::words(stub.start))?;
                        let is_saved = registers.pc() > stub.start;
                        if is_saved {
                            before.restore_at(self.at, rax, registers.flags());
                        }
                    }
                    In::Comparing => before = restored(tracee, stub, registers, self.at)?,
                    In::Copy(nth) => before.set_pc(site.instruction(nth).unwrap_or(self.at)),
                    In::Leaving => {
                        tracee.step(0);
                        match tracee.wait() {
                            Stop::Signal(libc::SIGTRAP) | Stop::Interrupted => continue,
                            stop => {
                                let text = format!("a replay stopped by {stop:?} in a search");
                                return Err(io::Error::other(text));
                            }
                        }
                    }
                }
                before.write(tracee.thread());
                break;
            }
        }
        self.end_in(tracee)
    }

    /// Removes the code where the thread may be in a system call: its memory stays.
    fn end_in(&self, tracee: &Tracee) -> io::Result<()> {
        match self.planted {
            Planted::Slot(slot) => machine::clear_code_slot(tracee.thread(), slot).map(drop),
            Planted::Jump { .. } | Planted::Trap => tracee.write(self.at, &self.covered),
        }
    }
}

/// Returns whether the program can write code at an address without a system call.
fn is_written_by_program(addr: u64, mappings: &[Mapping]) -> bool {
    let next = mappings.partition_point(|mapping| mapping.end.0 <= addr);
    mappings
        .get(next)
        .is_some_and(|it| it.start.0 <= addr && it.writable && it.executable)
}

fn word(tracee: &Tracee, addr: u64) -> io::Result<u64> {
    tracee.word(addr).ok_or_else(super::super::tracee::gone)
}

/// Returns the registers that a thread in the stub has without it, at an address.
fn restored(tracee: &Tracee, stub: &Stub, now: Registers, at: u64) -> io::Result<Registers> {
    let words = stub::words(stub.start);
    let (rax, kept) = (word(tracee, words)?, word(tracee, words + 8)?);
    let mut before = now;
    before.restore_at(at, rax, stub::flags_of(kept, now.flags()));
    Ok(before)
}

enum Left {
    There,
    Stopped(Stop),
}

/// Steps a thread out of some code; `None`: it is outside. Of a later passage of the place it stops there.
fn leave(tracee: &Tracee, at: u64, len: u64, place: Option<&Place>) -> io::Result<Option<Left>> {
    let mut is_first = true;
    for _ in 0..MOST_STEPS {
        let registers = tracee.registers()?;
        let offset = registers.pc().wrapping_sub(at);
        if offset >= len {
            return Ok(None);
        }
        if !is_first && offset == 0 && place.is_some_and(|place| is_at(tracee, place)) {
            return Ok(Some(Left::There));
        }
        is_first = false;
        // One of the debugger's is hit.
        let is_trap = tracee.read(registers.pc(), 1) == [TRAP];
        tracee.step(0);
        match tracee.wait() {
            Stop::Signal(libc::SIGTRAP) if is_trap => {
                return Ok(Some(Left::Stopped(Stop::Signal(libc::SIGTRAP))));
            }
            Stop::Signal(libc::SIGTRAP) => {}
            Stop::Interrupted => {}
            stop => return Ok(Some(Left::Stopped(stop))),
        }
    }
    Ok(None)
}
