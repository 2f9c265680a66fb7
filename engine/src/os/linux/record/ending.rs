//! Where a program ends: a recording in a file needs its state there, which is gone afterwards.

use super::super::copy::ProcessCopy;
use super::super::ptrace;
use super::file::{End, EndPlace};
use super::log::{Effect, Log};
use super::patches::Originals;
use super::recorder::Recorder;
use super::threads::copied::Copied;
use crate::ids::Signal;
use crate::os::ThreadEvent;
use crate::os::recording::ProgramEnd;
use std::io;

/// A place at which a program may end.
pub struct Ending {
    pub copy: ProcessCopy,
    pub patches: Originals,
    pub threads: Vec<Copied>,
    /// The number of events before it.
    events: usize,
    pub end: End,
}

impl Ending {
    /// Returns whether the program has done nothing since but exit. The log is then cut there.
    pub fn is_end_of(&self, log: &mut Log) -> bool {
        if let Some(last) = log.events.last()
            && matches!(last.effect, Effect::Exit)
            && log.events.len() == self.events + 1
        {
            log.events.pop();
        }
        log.events.len() == self.events
    }
}

/// Returns where the recording of a program that has ended ends. `ending`: if that is where it ended. `early`: why
/// the recording has ended before.
pub fn place_of_end<'a>(
    ending: Option<&'a Ending>,
    early: Option<&String>,
    end: ProgramEnd,
) -> (EndPlace<'a>, End) {
    match (ending, early, end) {
        (Some(ending), None, _) => {
            let place = EndPlace::Here(&ending.copy, &ending.patches, &ending.threads);
            (place, ending.end.clone())
        }
        (_, Some(why), _) => (EndPlace::LastEvent, End::Early(why.clone())),
        (None, None, ProgramEnd::Exited(code)) => (EndPlace::LastEvent, End::Exiting(code)),
        (None, None, ProgramEnd::Killed(signal)) => (EndPlace::LastEvent, End::Killed(signal)),
    }
}

/// Signals that end no program by default.
const HARMLESS: [i32; 8] = [
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGSTOP,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
];

impl Recorder {
    /// Keeps a copy of the stopped program if what it was stopped for may end it.
    pub(super) fn keep_ending(&mut self, event: ThreadEvent) {
        if !self.keeps_ending || self.ended.is_some() {
            return;
        }
        let may_end = match event {
            ThreadEvent::Exiting(_) => true,
            ThreadEvent::Signal(Signal(number)) => {
                !HARMLESS.contains(&number) && !self.running.tracee.catches(number)
            }
            _ => false,
        };
        if !may_end {
            return;
        }
        match self.ending_here() {
            Ok(ending) => self.ending = Some(ending),
            Err(error) => tracing::info!(%error, "the end of the program is not kept"),
        }
    }

    /// Returns a copy of the stopped program, as where a recording ends.
    ///
    /// # Errors
    /// The program has written to the memory of the recorder, or the system refuses a copy.
    pub(super) fn ending_here(&mut self) -> io::Result<Ending> {
        self.keep_records()?;
        self.note_names();
        let end = match (self.exiting, self.running.signal) {
            (Some(code), _) => End::Exiting(code),
            (None, Some(number)) if number != libc::SIGTRAP => End::Signal {
                number,
                info: ptrace::signal_info(self.running.tracee.thread())
                    .map_or_else(Vec::new, Into::into),
            },
            (None, _) => End::Stopped,
        };
        Ok(Ending {
            copy: self.copy()?,
            patches: self.patches.now(),
            threads: self.threads_now(),
            events: self.log.events.len(),
            end,
        })
    }
}
