//! Values about recordings of programs.

use super::registers::RegisterSet;
use crate::ids::error::Error;
use crate::ids::{Launch, ThreadId};
use dwarf::LoadAddr;
use std::fmt::{Display, Formatter};
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Refuses a path where something is that would be lost: only files are replaced.
///
/// # Errors
/// What is there.
pub fn may_replace(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            let what = kind_of(found.file_type());
            let why = format!("it is {what}, which is not replaced; name a file");
            Err(io::Error::other(why))
        }
        _ => Ok(()),
    }
}

fn kind_of(found: FileType) -> &'static str {
    match () {
        () if found.is_dir() => "a folder",
        () if found.is_symlink() => "a symbolic link",
        () if found.is_fifo() => "a FIFO",
        () if found.is_socket() => "a socket",
        () => "a device",
    }
}

/// Whether hashes of all writable memory are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashEvents {
    /// None.
    Never,
    /// As often as a third of the time allows, to check replays.
    Often,
}

/// The end of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramEnd {
    /// It has exited with this code.
    Exited(i32),
    /// A signal has ended it.
    Killed(i32),
}

/// A word of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// Its address.
    pub addr: LoadAddr,
    /// Its value; bytes behind the end of a mapping are 0.
    pub value: u64,
}

/// What a copy of a replay is kept for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeptFor {
    /// Searches from places that are near it.
    Near,
    /// The same, farther before them.
    Far,
    /// Steps that are made from it once more.
    Steps,
    /// To be shown again: the place that a way back began at, if it leads nowhere.
    Begin,
    /// To be shown again: a place on the way to the origin of a value, by its index.
    Hop(u8),
}

/// How the state of a process differs from that of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OtherState {
    /// By words of memory, whose values in the other one these are: the first one that was found, and then more of the
    /// stacks.
    Words(Vec<Word>),
    /// By registers that are not general-purpose ones.
    Registers,
}

/// Why a replay has stopped, besides what a program stops for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayStop {
    /// Memory was mapped.
    Mapped,
    /// It is before the event that it was to stop at.
    Reached,
    /// A thread that was resumed for its turn ([`Recordings::resume_at_turn`]) runs next, and has executed nothing.
    Turn,
    /// The recording ends, or the program has exited or executed another one.
    End,
    /// It does not do what the program did ([`RecordingState::divergence`]).
    Diverged,
}

/// The state of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingState {
    /// Why it has ended before the program, if it has.
    pub ended: Option<String>,
    /// The number of events.
    pub events: usize,
    /// The memory that they take, in bytes.
    pub bytes: usize,
    /// The index of the next event of the replay that is shown; `None`: the program is shown.
    pub position: Option<usize>,
    /// Whether the program has had several threads in it.
    pub has_threads: bool,
    /// The snapshots of the program that runs now, oldest first.
    pub snapshots: Vec<SnapshotPlace>,
    /// How the last replay has differed from the recording, if it has.
    pub divergence: Option<Divergence>,
}

/// Where a snapshot was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotPlace {
    /// The index of the next event.
    pub next: usize,
    /// A measure of the time that the recording took until then.
    pub time: Duration,
    /// Whether it was taken directly behind the event before: a replay that stops before the next one is there.
    pub is_at_event: bool,
}

/// A stopped process that is to be recorded from here on.
#[derive(Clone, Copy, Debug)]
pub struct RecordFrom<'a> {
    /// Its id.
    pub process: i32,
    /// The thread that has stopped the others.
    pub thread: ThreadId,
    /// All threads that are stopped.
    pub threads: &'a [ThreadId],
    /// The patches of the debugger in its code: the program's bytes under them.
    pub patches: &'a [(LoadAddr, Vec<u8>)],
    /// Memory of the debugger's in it, with its length in bytes.
    pub own: &'a [(LoadAddr, u64)],
}

/// Recordings of the process, and replays of them, shown in place of the process.
pub trait Recordings {
    /// Returns whether the process is under a recorder.
    fn is_recorded(&self) -> bool {
        false
    }
    /// Returns whether the process is recorded, and the recording has not ended.
    fn is_recording(&self) -> bool {
        false
    }
    /// Removes the recorder's jumps that a patch of the debugger would change, in what is shown: `len` bytes at an
    /// address. What is read there then, is the program's code.
    fn give_way(&self, _: LoadAddr, _len: usize) {}
    /// Puts the program's code in the place of the recorder's jumps, in bytes that were read at an address.
    fn hide_jumps(&self, _: LoadAddr, _: &mut [u8]) {}
    /// Returns the address of a system call instruction whose calls are not the program's; `None`: the process
    /// is not recorded.
    fn own_system_call(&self) -> Option<LoadAddr> {
        None
    }
    /// Returns whether a copy of the instruction at an address may be executed elsewhere, in memory that the
    /// debugger maps: not in a recorded program, nor of an instruction that makes the next event of a replay,
    /// which would not be at its place.
    fn can_execute_copy(&self, _: LoadAddr) -> bool {
        true
    }
    /// Returns the ranges of memory that the shown replay will map, or has mapped.
    fn mapped_later(&self) -> Vec<(LoadAddr, LoadAddr)> {
        Vec::new()
    }
    /// Begins to record the process, which is stopped. Calls that threads were interrupted in are made again, and
    /// threads leave code of the kernel: their registers may be others then.
    ///
    /// # Errors
    /// Why it is not recorded: it is as before then, but for such threads.
    fn begin_recording(&mut self, _: &RecordFrom<'_>) -> Result<(), String> {
        Err("recording needs Linux on x86-64".to_owned())
    }
    /// Returns the state of the recording; `None`: the process is not recorded.
    fn recording(&self) -> Option<RecordingState> {
        None
    }
    /// Shows a replay from a snapshot (an index of [`RecordingState::snapshots`]) in place of what is
    /// shown. The first one that was shown since [`Recordings::end_aside`] is put aside, stopped. The
    /// debugger's patches and watchpoints are not in the replay. It stops before the event `pause_at`.
    ///
    /// # Errors
    /// There is no such snapshot, or the system has no memory or processes left.
    fn begin_replay(&mut self, _: usize, _: Option<usize>) -> Result<(), String> {
        Err("the process is not recorded".to_owned())
    }
    /// Keeps a copy of the shown replay, with the debugger's patches in it, at this stop, for a purpose.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    fn keep_replay(&mut self, _: KeptFor) -> Result<(), String> {
        Ok(())
    }
    /// Shows a copy of what [`Recordings::keep_replay`] has kept, like [`Recordings::begin_replay`].
    ///
    /// # Errors
    /// Nothing was kept.
    fn begin_kept_replay(&mut self, _: KeptFor, _: Option<usize>) -> Result<(), String> {
        Err("no replay was kept".to_owned())
    }
    /// Ends what was kept for a purpose.
    fn end_kept_replay(&mut self, _: KeptFor) {}
    /// Makes the shown replay stop when memory was mapped.
    fn see_mappings(&mut self) {}
    /// Makes the shown replay stop before an event.
    fn pause_before(&mut self, _: Option<usize>) {}
    /// A place before the next event of the shown replay is looked for. Where that event is a change of threads,
    /// the replay stops at its place first, with `ReplayStop::Reached`: the place may be the same.
    fn end_before_next(&mut self) {}
    /// Ends what was put aside.
    fn end_aside(&mut self) {}
    /// Shows what was put aside in place of the replay, which ends.
    fn restore_aside(&mut self) {}
    /// Shows the process itself. All replays end.
    fn show_head(&mut self) {}
    /// Returns how the stopped replay that is shown differs from what was put aside, besides
    /// general-purpose registers, outside of these ranges of memory; `None`: they are the same. `has_red_zone`:
    /// what is directly below the stack pointer is in use. Cost: that of reading all writable memory of both.
    fn difference(&self, _: &[(LoadAddr, u64)], _has_red_zone: bool) -> Option<OtherState> {
        None
    }
    /// Returns the thread of what is shown that runs, or at whose stop the others are stopped, too: where it is,
    /// is the place of the process. `None`: the process is not recorded.
    fn running_thread(&self) -> Option<ThreadId> {
        None
    }
    /// Returns the threads of the replay that is shown; `None`: none is shown.
    fn replay_threads(&self) -> Option<Vec<ThreadId>> {
        None
    }
    /// Returns places of the program's code at which replays change threads, in order: control must come to each
    /// of them as such, and not as to a copy of its instruction.
    fn places_of_changes(&self) -> Vec<LoadAddr> {
        Vec::new()
    }
    /// Returns whether a stopped thread executes its next instruction before another thread runs: otherwise it must
    /// not be stepped with code of the debugger's removed, which the other thread would pass.
    fn is_turn_of(&self, _: ThreadId) -> bool {
        true
    }
    /// Resumes a stopped thread whose turn it is not: [`ReplayStop::Turn`] follows when it is.
    fn resume_at_turn(&mut self, _: ThreadId) {}
    /// Returns the index of the next event of what is shown.
    fn next_event(&self) -> usize {
        0
    }
    /// Returns the registers of a stopped thread; those before its system call if that was interrupted
    /// and is made again.
    fn registers_at_event(&self, _: ThreadId) -> Option<RegisterSet> {
        None
    }
    /// Shows a copy of what is shown at this stop of the thread in place of it, in which functions can be called
    /// and memory can be changed: it is ended by [`Recordings::end_trial`]. System calls that concern
    /// anything but its memory fail in it.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    fn begin_trial(&mut self, _: ThreadId) -> Result<(), String> {
        Ok(())
    }
    /// Shows again what was shown before [`Recordings::begin_trial`].
    fn end_trial(&mut self) {}
    /// Begins the recording anew at this stop: the debugger has changed the process.
    fn restart_recording(&mut self) {}
    /// Opens a recording of a file. Returns the pid of a process that is stopped where it ends, and never
    /// runs: resumed, it stops again at once. `program`: the program's file, if it has moved.
    ///
    /// # Errors
    /// It is no recording, damaged, of another kind of machine, or the system refuses it. The text completes
    /// a sentence that begins with the name of the file.
    fn open_recording(&mut self, _: &Path, _program: Option<&Path>) -> Result<i32, String> {
        Err("cannot be replayed here: that needs Linux on x86-64".to_owned())
    }
    /// Returns why the recording ends where it does, if it is one of a file; empty if the stop there says
    /// that.
    fn stored_end(&self) -> Option<String> {
        None
    }
    /// Returns the threads where the recording of a file ends.
    fn stored_threads(&self) -> Vec<ThreadId> {
        Vec::new()
    }
    /// Returns whether the process is shown where the recording of a file ends.
    fn is_at_stored_end(&self) -> bool {
        false
    }
    /// Returns the system call that a thread of a replay makes at a pc, if it makes one without a stop there.
    fn call_without_stop(&self, _pc: LoadAddr) -> Option<CallWithoutStop> {
        None
    }
    /// Returns the last system call before the event of an index that has changed memory: so many bytes from an
    /// address on, or some of them. Those that were made without a stop are not known by their memory.
    fn last_system_write(
        &mut self,
        _: LoadAddr,
        _size: u64,
        _before: usize,
    ) -> Option<SystemWrite> {
        None
    }
    /// Returns system calls of the recording, from the one of a number on, so many at most.
    fn recorded_calls(&mut self, _: usize, _: usize) -> Vec<RecordedCall> {
        Vec::new()
    }
    /// Returns the number of system calls of the recording before what is shown; of those that a replay has made
    /// without a stop since its last event, none.
    fn calls_before_shown(&mut self) -> usize {
        0
    }
    /// Compares the system calls of the recording with those of another one: of a file, or of the program that
    /// was recorded before in this session. Returns the number of calls that are the same, and the first
    /// difference.
    ///
    /// # Errors
    /// There is no such recording, or it cannot be read.
    fn difference_of_runs(
        &self,
        _: Option<&Path>,
    ) -> Result<(usize, Option<RunDifference>), String> {
        Err("the program is not recorded".to_owned())
    }
    /// Writes the recording to a file, up to where the process is stopped.
    ///
    /// # Errors
    /// The process is not recorded, or the file cannot be written.
    fn save_recording(&mut self, _: &SaveTo) -> Result<Saved, String> {
        Err("the program is not recorded".to_owned())
    }
    /// Keeps where the program ends, for [`Recordings::save_ended_recording`].
    fn keep_end_of_recording(&mut self) {}
    /// Writes the recording of a process that has ended to a file. If its end was not kept, that is up to the last
    /// system call.
    ///
    /// # Errors
    /// The process was not recorded, or the file cannot be written.
    fn save_ended_recording(&mut self, _: &SaveTo) -> Result<Saved, String> {
        Err("the program was not recorded".to_owned())
    }
}

/// Returns why nothing is recorded on this machine.
#[allow(dead_code, reason = "only machines without recording need it")]
pub(super) fn refusal(launch: &Launch) -> Error {
    Error::Launch {
        program: launch.program.clone(),
        message: "recording needs Linux on x86-64".to_owned(),
    }
}

/// A system call of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallOfRun {
    /// Its name.
    pub name: String,
    /// The names and values of its arguments; `None`: they are not known, as it was made without a stop.
    pub arguments: Option<Vec<(&'static str, u64)>>,
    /// Its result; an error is a negative number.
    pub result: i64,
    /// What it has read, from the first byte that differs on; not all.
    pub read: Vec<u8>,
    /// The index of that byte.
    pub read_from: usize,
}

/// A system call of the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedCall {
    /// Its number in the order of calls, from 1 on.
    pub number: usize,
    /// The index of the event that it is, or is before.
    pub event: usize,
    /// The call.
    pub call: CallOfRun,
}

/// A system call that is made without a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallWithoutStop {
    /// The call.
    pub call: CallOfRun,
    /// Where the program continues.
    pub back: LoadAddr,
    /// The stack pointer there.
    pub sp: u64,
}

/// A system call that has changed memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemWrite {
    /// The index of its event.
    pub event: usize,
    /// The call.
    pub call: CallOfRun,
    /// Whether it has mapped the memory, and not only written to it.
    pub maps: bool,
}

/// The first difference between the system calls of two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunDifference {
    /// The number of calls before it, which are the same.
    pub index: usize,
    /// The index of the event of the shown run that it is, or is before; `None`: that run ends there.
    pub event: Option<usize>,
    /// The call of the shown run; `None`: it ends there.
    pub shown: Option<CallOfRun>,
    /// The call of the other run; `None`: it ends there.
    pub other: Option<CallOfRun>,
}

/// A file that a recording is written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaveTo {
    /// Its path. A file of this name is replaced.
    pub path: PathBuf,
    /// The most bytes that it may have.
    pub limit: u64,
}

/// A recording that was written to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of places from which replays begin.
    pub images: usize,
}

/// What was recorded of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The end of the program.
    pub end: ProgramEnd,
    /// Why the recording has ended before the program, if it has.
    pub ended_early: Option<String>,
    /// The number of events.
    pub events: usize,
    /// The memory that they take, in bytes.
    pub bytes: usize,
    /// The number of snapshots that were taken.
    pub snapshots: usize,
    /// The number of those that were kept.
    pub kept: usize,
    /// The time that the program took.
    pub duration: Duration,
    /// The file that it was written to, or why it was not, if it was to be.
    pub saved: Option<Result<Saved, String>>,
    /// The results of the replays, if any were made.
    pub check: Option<Check>,
}

/// The results of replays from all snapshots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Check {
    /// The number of replays.
    pub replays: usize,
    /// The number of events at which all registers were compared.
    pub events: usize,
    /// The number of events after which all writable memory was compared.
    pub hashes: usize,
    /// The replays that were not like the recording.
    pub failures: Vec<String>,
}

/// A difference between a replay and its recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The event before which the snapshot was taken.
    pub snapshot: usize,
    /// The event that was not the same.
    pub event: usize,
    /// The name of its system call.
    pub call: String,
    /// What was not the same.
    pub difference: Difference,
    /// Whether it has missed a place that the next replays from the same snapshot look for more closely, and may find.
    pub is_repeatable: bool,
}

/// What was not the same in a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The registers: as recorded, and as they were.
    Registers(Box<[Place; 2]>),
    /// The memory after the event.
    Memory,
    /// The result of the system call.
    Result(i64),
    /// The process has stopped for another reason.
    Stop(String),
}

/// A system call that a program was about to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its name.
    pub call: String,
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The registers of its arguments.
    pub arguments: [u64; 6],
}

impl Display for Divergence {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Divergence {
            snapshot,
            event,
            call,
            difference,
            is_repeatable: _,
        } = self;
        write!(
            formatter,
            "from event {snapshot}, at event {event} ({call}): "
        )?;
        match difference {
            Difference::Registers(places) => {
                let [expected, found] = &**places;
                match expected == found {
                    true => write!(formatter, "other registers at {expected}"),
                    false => write!(formatter, "{found} instead of {expected}"),
                }
            }
            Difference::Memory => formatter.write_str("other contents of memory after it"),
            Difference::Result(found) => write!(formatter, "its result is {found:#x}"),
            Difference::Stop(reason) => formatter.write_str(reason),
        }
    }
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Place {
            call,
            pc,
            sp,
            arguments,
        } = self;
        write!(formatter, "{call} at {pc:#x}, stack at {sp:#x}, arguments")?;
        for argument in arguments {
            write!(formatter, " {argument:#x}")?;
        }
        Ok(())
    }
}
