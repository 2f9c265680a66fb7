//! System calls that a recorded program makes without a stop.
//!
//! When a system call instruction has stopped the program for the second time, and its call is
//! `listed`, the recorder replaces it by a `jump` to the `stub` in its own memory (`layout`),
//! which makes the call and adds its result and output to records. The recorder takes the records out at the next event
//! (`segments`); a replay puts them back (`refill`). So what a replay has to do the same is what
//! the program does: the result and the output of each call, in order.
//!
//! - Calls that the stub leaves stop at an instruction in a slot. The recorder and a replay move the
//!   thread at once to where the program would have made the call: what follows, and what a handler or
//!   a debugger sees, is the program's own code.
//! - A signal with a handler is held, as always, until the next call that stops: which is the
//!   very next one then. If the signal has interrupted a call of the stub, the program repeats that
//!   call with a stop, so a call that blocks does not delay the signal (`stops`).
//! - A jump needs the code behind it. Where the debugger writes a patch there, the instruction is restored before.
//! - A snapshot is not taken while the thread is in the stub. One that is taken between events has
//!   records; a replay from it skips as many.
//! - Threads that wait by futex(2), one after the other, are `parking` in the stub: so the program changes threads without
//!   a stop. At the next stop the recorder takes the changes for the log, and the threads out.
//! - The code of the dynamic `loader` that saves registers leads to a slot, too.
//! - What the stub writes to is mapped in the recorder, too (`shared`): at a stop it costs no system call to look.
//! - The processes that the program starts have a copy of the stub, which makes their calls without a stop (`free`), and
//!   so has the program itself after the end of its recording. Another program that it executes has none until it is
//!   prepared.

#[cfg(test)]
mod execution_tests;
mod free;
mod jump;
pub mod layout;
mod listed;
mod loader;
mod parking;
mod refill;
mod segments;
mod shared;
mod stops;
mod stub;
mod waiters;
mod words;
mod zones;

pub use jump::{PUN_LEN, give_way};
pub use layout::{MOST_WAITERS, NEXT_RECORD, PARKING_END, PASSED_END, is_own, is_record};
pub use parking::ParkedWaiter;
pub use refill::{Arrival, Refill};
pub use segments::{Record, Segments};
pub use stops::{Rewound, step_on};
pub use words::{damaged, next_record};

use super::log::Log;
use super::patches::Patches;
use super::registers::{CALL_LEN, Registers};
use super::tracee::Tracee;
use layout::{RECORDS, TABLE, WRITABLE, word, word_at};
use shared::Shared;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use stub::Entry;
use waiters::Waiters;
use words::Words;
use zones::Zones;

/// The most system call instructions that are counted: more than a process has.
const MOST_SITES: usize = 1 << 14;

/// A system call instruction of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Site {
    /// It has stopped once.
    Seen,
    /// It is a jump.
    Jump,
    /// It stays as it is.
    Left,
}

/// Whether other threads run while an instruction is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    /// No other thread runs.
    AtOnce,
    /// Other threads may execute it meanwhile.
    WhileOthersRun,
}

/// The buffer of a recorded program.
#[derive(Default)]
pub struct Buffer {
    /// The memory that the stub writes to; `None`: the program has no buffer.
    shared: Option<Shared>,
    zones: Zones,
    sites: HashMap<u64, Site>,
    /// The next call has to stop.
    is_passing: bool,
    /// The debugger has interrupted the thread in the stub, and waits until it has left that.
    is_leaving: bool,
    /// The threads that wait for words, as the stub has them.
    waiters: Waiters,
    /// Whether the stub has threads for woken that the recorder knows of.
    has_taken_woken: bool,
}

impl Buffer {
    /// Maps the buffer in a stopped program of which nothing is recorded yet, by one of its threads. A program that
    /// occupies its place is recorded without one.
    ///
    /// # Errors
    /// The program has ended.
    pub fn prepare(program: &Tracee, process: &OwnedFd) -> io::Result<Buffer> {
        let executable = libc::PROT_READ | libc::PROT_EXEC;
        let table = TABLE..WRITABLE.start;
        if !map(program, &table, executable)? {
            return Ok(Buffer::default());
        }
        let Some(shared) = Shared::map(program, process)? else {
            return Ok(Buffer::default());
        };
        program.write(layout::STUB, stub::code())?;
        program.write(TABLE, &listed::table())?;
        shared.set(word_at(word::ENTRY), Entry::Record.addr());
        shared.set(word_at(word::NEXT), RECORDS);
        let mut zones = map_zones(program)?;
        if map(program, &layout::FREE, executable)? {
            zones.add_entries();
        }
        Ok(Buffer {
            shared: Some(shared),
            zones,
            ..Buffer::default()
        })
    }

    /// Like [`Buffer::prepare`], for a program whose system calls all stop: only the loader has code there.
    ///
    /// # Errors
    /// The program has ended.
    pub fn without_calls(program: &Tracee) -> io::Result<Buffer> {
        map_zones(program)?;
        Ok(Buffer::default())
    }

    /// At a stop for a system call: takes the records out, and moves a thread that a slot makes the call
    /// for to where the program would make it. If the instruction has stopped the program before,
    /// replaces it. `patches`: those of the debugger; `wants_waits`: threads may be parked soon. Returns the threads that the program has woken since the last
    /// event.
    ///
    /// # Errors
    /// The program has ended, or has written to the memory of the recorder.
    pub fn on_call(
        &mut self,
        head: &Tracee,
        registers: &mut Registers,
        log: &mut Log,
        patches: &Patches,
        wants_waits: bool,
    ) -> io::Result<Vec<i32>> {
        let mut woken = Vec::new();
        if self.shared.is_none() {
            return Ok(woken);
        }
        if let Some(words) = self.take(log)? {
            woken = self.woken();
            if refill::move_to_site(&words, registers) {
                registers.write(head.thread());
            }
        }
        if std::mem::take(&mut self.is_passing) {
            self.enter_by(Entry::Record);
        }
        let site = registers.pc().wrapping_sub(CALL_LEN);
        let is_worth = listed::is_worth(registers.number(), &registers.arguments(), wants_waits);
        if !is_worth || !registers.is_long_mode() {
            return Ok(woken);
        }
        match self.sites.get(&site) {
            None if self.sites.len() < MOST_SITES => drop(self.sites.insert(site, Site::Seen)),
            Some(Site::Seen) => self.replace((head, site), Write::AtOnce, log, patches)?,
            _ => {}
        }
        Ok(woken)
    }

    /// Replaces a system call instruction by a jump, if it can be.
    fn replace(
        &mut self,
        (head, site): (&Tracee, u64),
        write: Write,
        log: &mut Log,
        patches: &Patches,
    ) -> io::Result<()> {
        if patches.overlap(&jump::around(site)) {
            return Ok(());
        }
        let code = head.read(site, jump::CODE_LEN);
        let plan = jump::plan(site, &code, &mut self.zones);
        let now = plan.as_ref().map_or(Site::Left, |_| Site::Jump);
        self.sites.insert(site, now);
        if let Some(written) = plan {
            // The last one is the site; the others are code that nothing executes yet.
            for (at, bytes) in &written {
                match (write, &bytes[..]) {
                    (Write::WhileOthersRun, [first, second]) if *at == site => {
                        free::write_by_bytes(head, site, [*first, *second])?;
                    }
                    _ => head.write(*at, bytes)?,
                }
            }
            (log.segments).add_jump(log.events.len(), site, &code, written);
        }
        Ok(())
    }

    /// Adds to the log that jumps have given way to patches of the debugger.
    pub fn note_restored(&mut self, head: &Tracee, patches: &Patches, log: &mut Log) {
        if patches.is_empty() {
            return;
        }
        for (site, state) in &mut self.sites {
            if *state == Site::Jump
                && patches.overlap(&jump::around(*site))
                && jump::is_call(head, *site, patches)
            {
                *state = Site::Left;
                let written = (*site, jump::CALL.into());
                log.segments.add_code(log.events.len(), written);
            }
        }
    }

    /// A program has a thread more: calls that may wait stop from now on.
    ///
    /// # Errors
    /// The program has ended.
    pub fn expect_threads(&self, head: &Tracee) -> io::Result<()> {
        match self.shared {
            Some(_) => head.write(TABLE, &listed::table_for_threads()),
            None => Ok(()),
        }
    }

    /// Before another event: takes the records out.
    ///
    /// # Errors
    /// The program has written to the memory of the recorder.
    pub fn drain(&self, log: &mut Log) -> io::Result<()> {
        self.take(log).map(drop)
    }

    fn take(&self, log: &mut Log) -> io::Result<Option<Words>> {
        let words = self.keep(log)?;
        if let (Some(words), Some(shared)) = (&words, &self.shared)
            && words.used().ok() != Some(0)
        {
            shared.set(word_at(word::NEXT), RECORDS);
        }
        Ok(words)
    }

    /// Adds the records to the log, as those before its next event. They stay in the buffer.
    fn keep(&self, log: &mut Log) -> io::Result<Option<Words>> {
        let (Some(words), Some(shared)) = (self.words(), &self.shared) else {
            return Ok(None);
        };
        let used = words.used()?;
        if used != 0 && !log.segments.set(log.events.len(), shared.records(used)) {
            return Err(words::damaged());
        }
        Ok(Some(words))
    }

    /// Returns the words; `None`: no call can have been made by the stub.
    fn words(&self) -> Option<Words> {
        let shared = self.shared.as_ref().filter(|_| !self.sites.is_empty());
        shared.and_then(Shared::words)
    }

    /// Sets where the program enters the stub.
    fn enter_by(&self, entry: Entry) {
        if let Some(shared) = &self.shared {
            shared.set(word_at(word::ENTRY), entry.addr());
        }
    }

    /// Returns whether the program has made calls without a stop since the last event.
    pub fn has_records(&self) -> bool {
        self.words()
            .is_some_and(|words| words.used().ok() != Some(0))
    }

    /// Gives a stopped copy of the stopped program memory of its own.
    ///
    /// # Errors
    /// The copy has ended, or the system has no memory left.
    pub fn unshare(&self, copy: i32) -> io::Result<()> {
        match self.shared {
            Some(_) => shared::unshare(&Tracee::new(copy)?),
            None => Ok(()),
        }
    }
}

/// Makes the stub leave all calls of a stopped copy of a recorded process to the slots, in memory of its own.
/// Does nothing if the copy has no buffer.
///
/// # Errors
/// The copy has ended, or the system has no memory left.
pub fn pass(copy: &Tracee) -> io::Result<()> {
    enter_alone(copy, Entry::Pass)
}

/// Makes a stopped copy of a recorded process, which is not recorded, use the free entries, in memory of its own. Does
/// nothing if the copy has no buffer.
///
/// # Errors
/// The copy has ended, or the system has no memory left.
pub fn free(copy: &Tracee) -> io::Result<()> {
    enter_alone(copy, Entry::Free)
}

fn enter_alone(copy: &Tracee, entry: Entry) -> io::Result<()> {
    match Words::read(copy) {
        Some(_) => shared::unshare(copy).and_then(|()| words::set_entry(copy, entry)),
        None => Ok(()),
    }
}

/// Maps memory near the code of a program, and replaces the code of its loader that saves registers.
fn map_zones(program: &Tracee) -> io::Result<Zones> {
    let mut zones = Zones::default();
    for range in zones::of(program) {
        if map(program, &range, libc::PROT_READ | libc::PROT_EXEC)? {
            zones.add(range);
        }
    }
    loader::replace(program, &mut zones)?;
    Ok(zones)
}

/// Maps memory in a program. Returns false if it is occupied or refused.
fn map(program: &Tracee, range: &Range<u64>, access: i32) -> io::Result<bool> {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
    let len = range.end - range.start;
    let arguments = [range.start, len, access as u64, flags as u64, u64::MAX, 0];
    let [result] = program.inject([(libc::SYS_mmap, arguments)])?;
    Ok(result as u64 == range.start)
}
