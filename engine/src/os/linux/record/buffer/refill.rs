//! The buffer in a replay: the records before each event are put back before the program runs to it.

use super::super::log::Log;
use super::super::patches::Patches;
use super::super::registers::{CALL_LEN, Registers};
use super::super::tracee::{Tracee, gone};
use super::layout::{self, RECORDS};
use super::segments::Record;
use super::stub::Entry;
use super::words::{self, Words};
use super::{jump, listed, zones};
use std::io;
use std::ops::Range;

/// What a replay knows of the buffer of its process; the default is that of a process without one.
#[derive(Clone, Default)]
pub struct Refill {
    /// Bytes of records before the first event that the snapshot had behind it; `None`: the program
    /// has no buffer.
    skipped: Option<usize>,
    zones: Vec<Range<u64>>,
    /// The event whose records were put in last.
    filled: Option<usize>,
    /// The word of the next record behind them; `None`: it was not written yet.
    end: Option<u64>,
}

/// Where a replay has stopped for a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// At an event.
    AtEvent,
    /// At a call that the program has made without a stop. It was answered.
    Answered,
}

impl Refill {
    /// Begins in a copy of a snapshot: its stub takes records from now on.
    ///
    /// # Errors
    /// The process has ended, or the words are damaged.
    pub fn begin(tracee: &Tracee) -> io::Result<Refill> {
        let skipped = match Words::read(tracee) {
            None => None,
            Some(words) => {
                words::set_entry(tracee, Entry::Replay)?;
                words::set_records(tracee, RECORDS, RECORDS)?;
                Some(words.used()? as usize)
            }
        };
        Ok(Refill {
            skipped,
            zones: zones::of(tracee),
            filled: None,
            end: None,
        })
    }

    /// Puts in the records before an event, to which the program runs next, where the program had them: so
    /// the word of the next record is as it was.
    ///
    /// # Errors
    /// The process has ended.
    pub fn fill(&mut self, tracee: &Tracee, log: &Log, event: usize) -> io::Result<()> {
        let Some(skipped) = self.skipped else {
            return Ok(());
        };
        let skipped = match self.filled {
            Some(filled) if filled == event => return Ok(()),
            Some(_) => 0,
            None => skipped,
        };
        self.filled = Some(event);
        let records = log.segments.before(event).get(skipped..).unwrap_or(&[]);
        let start = RECORDS + skipped as u64;
        if self.goes_on(start, records.len() as u64) {
            return Ok(());
        }
        tracee.write(start, records)?;
        words::set_records(tracee, start, start + records.len() as u64)
    }

    /// Notes which records are put in. Returns true if they are none, where the last ones have ended.
    fn goes_on(&mut self, start: u64, len: u64) -> bool {
        let before = self.end.replace(start + len);
        len == 0 && before == Some(start)
    }

    /// At a stop for a system call: moves a thread that a slot makes the call for to where the program
    /// would make it. If that is the next event, writes the code that the recorder has written there. A
    /// call before it, whose instruction is no jump here, is answered by the next record.
    ///
    /// # Errors
    /// The process has ended.
    pub fn on_call(
        &self,
        tracee: &Tracee,
        log: &Log,
        event: usize,
        patches: &Patches,
    ) -> io::Result<Arrival> {
        if self.skipped.is_none() {
            return Ok(Arrival::AtEvent);
        }
        let words = Words::read(tracee).ok_or_else(gone)?;
        let mut registers = tracee.registers_at_call()?;
        if move_to_site(&words, &mut registers) {
            registers.write(tracee.thread());
        }
        if !words.is_at_end() {
            return match answer(tracee, &words, registers)? {
                true => Ok(Arrival::Answered),
                false => Ok(Arrival::AtEvent),
            };
        }
        // Where the debugger has patches, the instruction stays.
        let code = log.segments.code_at(event);
        let is_free = |at: &u64| !patches.overlap(&jump::around(*at));
        if code.iter().all(|(at, _)| is_free(at)) {
            for (at, bytes) in code {
                tracee.write(*at, bytes)?;
            }
        }
        Ok(Arrival::AtEvent)
    }

    /// Returns whether the program has made all calls that it has made before the event.
    pub fn is_at_end(&self, tracee: &Tracee) -> bool {
        self.skipped.is_none() || Words::read(tracee).is_some_and(|words| words.is_at_end())
    }

    /// Returns the number of the next call that the program has made before the event; `None` if it has made all.
    pub fn awaited(&self, tracee: &Tracee) -> Option<u32> {
        self.skipped?;
        let words = Words::read(tracee).filter(|words| !words.is_at_end())?;
        let bytes = tracee.read(words.next(), words.left());
        Record::first(&bytes).map(|record| record.number)
    }

    /// Returns whether a thread is in the code of the buffer.
    pub fn holds(&self, pc: u64) -> bool {
        layout::CODE.contains(&pc) || self.zones.iter().any(|zone| zone.contains(&pc))
    }
}

/// Answers a system call by the next record. Returns false if that is of another call.
fn answer(tracee: &Tracee, words: &Words, mut registers: Registers) -> io::Result<bool> {
    let bytes = tracee.read(words.next(), words.left());
    let Some(record) =
        Record::first(&bytes).filter(|it| i64::from(it.number) == registers.number())
    else {
        return Ok(false);
    };
    if let Some(nth) = listed::output(registers.number()).filter(|_| !record.output.is_empty()) {
        let to = registers.arguments().get(nth).copied().unwrap_or(0);
        tracee.write(to, record.output)?;
    }
    words::set_next(tracee, words.next() + record.len as u64)?;
    registers.answer(record.result);
    registers.write(tracee.thread());
    Ok(true)
}

/// Moves a thread that a slot makes a call for to where the program would make it. Returns whether it
/// has moved.
pub fn move_to_site(words: &Words, registers: &mut Registers) -> bool {
    let site = words.site(registers.pc());
    if let Some(site) = site {
        registers.set_call_site(site);
    }
    site.is_some()
}

const _: () = assert!(jump::PUN_LEN > CALL_LEN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_record_is_where_the_program_had_it() {
        let mut refill = Refill::default();
        // The snapshot has all records before its first event behind it.
        assert!(!refill.goes_on(RECORDS + 48, 0));
        assert!(
            !refill.goes_on(RECORDS, 0),
            "the program has taken them out at the event"
        );
        assert!(refill.goes_on(RECORDS, 0));
        assert!(!refill.goes_on(RECORDS, 16));
        assert!(!refill.goes_on(RECORDS, 0));
        assert!(refill.goes_on(RECORDS, 0));
    }
}
