//! A recording of a file under the debugger. Its process is where the recording ends, and never runs: its threads
//! are stopped again at once, with their registers.

use super::super::copy::Copies;
use super::super::ptrace;
use super::end_stops::EndStops;
use super::ending::place_of_end;
use super::file::{self, End, EndPlace, EndProcess, OpenError, Opened, Source, index_of, save};
use super::log::{Log, State, swapped};
use super::processor::Processors;
use super::recorder::Recorder;
use super::replay::Replay;
use super::session::Recording;
use super::threads::names::Names;
use super::threads::thread::Thread;
use super::{runs, signals};
use crate::ids::{Signal, ThreadId};
use crate::os::recording::{
    HashEvents, ProgramEnd, RecordedCall, RunDifference, Saved, SnapshotPlace, SystemWrite,
};
use crate::os::thread_state::SIGNAL_BYTES;
use crate::os::{MappedFile, Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is behind the name of a file that was removed before the program ended.
const DELETED: &[u8] = b" (deleted)";
/// Why a recording is not written.
const OF_A_FILE: &str = "the recording is one of a file; copy that";

/// A file, and what is shown of its end.
pub struct Stored {
    file: Opened,
    /// The threads where the recording ends, by their ids in the program, with their states there.
    threads: BTreeMap<i32, (ThreadId, State)>,
    /// The one that has run last, and the description of its stop.
    running: i32,
    info: Option<[u8; SIGNAL_BYTES]>,
    /// The program's file, if it has moved.
    program: Option<PathBuf>,
    /// What the debugger sees of the threads that it resumes.
    stops: EndStops,
}

impl Stored {
    /// Returns where snapshots were taken. The file does not have their times: they count as equally long.
    pub fn places(&self) -> Vec<SnapshotPlace> {
        let places = self.file.places().zip(0..);
        let places = places.map(|(next, nth)| SnapshotPlace {
            next,
            time: Duration::from_secs(nth),
            is_at_event: false,
        });
        places.collect()
    }

    /// Begins a replay from a snapshot, by its index.
    ///
    /// # Errors
    /// There is no such snapshot, the file is damaged, or the system refuses it.
    pub fn replay(&mut self, snapshot: usize, copies: &Copies) -> io::Result<Replay> {
        Replay::begin(self.file.snapshot(snapshot, copies)?, copies)
    }

    /// Returns the thread of the process that a thread of the program is where the recording ends.
    pub fn actual(&self, thread: ThreadId) -> Option<ThreadId> {
        self.threads.get(&thread.0).map(|it| it.0)
    }

    /// Returns the thread of the program that a thread of the process is where the recording ends.
    pub fn id_of(&self, actual: ThreadId) -> Option<ThreadId> {
        let mut all = self.threads.iter();
        all.find(|it| it.1.0 == actual).map(|it| ThreadId(*it.0))
    }

    /// Returns the thread that has run last.
    pub fn running(&self) -> ThreadId {
        ThreadId(self.running)
    }

    /// Returns the threads where the recording ends.
    pub fn threads(&self) -> Vec<ThreadId> {
        self.threads.keys().map(|id| ThreadId(*id)).collect()
    }

    /// The debugger has resumed a thread, which stops again instead.
    pub fn resume(&mut self, thread: ThreadId, how: Resume) {
        self.stops.resume(thread.0, how);
    }

    /// Returns whether a thread that was resumed is to stop again.
    pub fn is_stop_due(&self) -> bool {
        self.stops.is_due()
    }

    /// Stops the process again where it is, instead of the resumed threads. Returns what the debugger sees of it.
    pub fn stop_again(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        let (thread, event) = self.stops.take(self.running, self.file.end())?;
        for (thread, state) in self.threads.values() {
            signals::restore(*thread, state);
        }
        if let (Some(info), Some(running)) = (&self.info, self.actual(self.running())) {
            ptrace::set_signal_info(running, info);
        }
        Some((ThreadId(thread), event))
    }
}

impl Recording {
    /// Opens a recording of a file. `program`: the program's file, if it has moved. This thread must stay the one that waits for its processes, and stays on
    /// the processor of the program, if there is one of that number.
    ///
    /// # Errors
    /// It is no recording, damaged, of another kind of machine, or the system refuses it.
    pub fn open(file: File, program: Option<&Path>) -> Result<Recording, OpenError> {
        let (mut file, mut log) = Opened::open(file)?;
        let processors = Processors::of(0)?;
        let one = processors.only(file.processor());
        one.unwrap_or_else(Processors::current).set_for(0);
        let EndProcess {
            first,
            threads: made,
            running,
        } = file.build_end()?;
        // To the debugger, the process has the id of the one that is shown. Threads keep theirs: they are in the
        // program's memory, as those of the owners of mutexes.
        let (process, shown) = (file.process(), first.pid);
        file.swap_threads(process, shown);
        log.swap_threads(process, shown);
        let id = |id| swapped(id, process, shown);
        let mut recorder = Recorder::with(first, log, HashEvents::Never, processors)?;
        recorder.names = Names::of(file.take_names());
        let mut threads = BTreeMap::new();
        let mut info = None;
        for (number, (tracee, state)) in made {
            threads.insert(id(number), (tracee.thread(), state));
            if number == running {
                info = ptrace::signal_info(tracee.thread());
                recorder.running = Box::new(Thread::new(tracee));
            } else {
                recorder
                    .others
                    .insert(tracee.pid, Box::new(Thread::new(tracee)));
            }
        }
        let mut recording = Recording::new(recorder);
        recording.stored = Some(Stored {
            file,
            threads,
            running: id(running),
            info,
            program: program.map(Path::to_owned),
            stops: EndStops::default(),
        });
        Ok(recording)
    }

    /// Compares its system calls with those of a recording in a file.
    ///
    /// # Errors
    /// It is no recording, or damaged.
    pub fn difference_from_file(
        &self,
        file: File,
    ) -> Result<(usize, Option<RunDifference>), OpenError> {
        Ok(self.difference_from(&file::log_of(file)?))
    }

    /// Returns its system calls, from the one of a number on, so many at most.
    pub fn calls(&mut self, from: usize, most: usize) -> Vec<RecordedCall> {
        self.keep_last_calls();
        runs::calls(&self.recorder.log, from, most)
    }

    /// Returns the last call with a stop before an event that has changed memory.
    pub fn last_write(&self, addr: LoadAddr, size: u64, before: usize) -> Option<SystemWrite> {
        runs::last_write(&self.recorder.log, addr, size, before)
    }

    /// Returns the number of its system calls before what is shown.
    pub fn calls_before_shown(&mut self) -> usize {
        self.keep_last_calls();
        let event = match self.is_replay_shown() {
            true => self.position(),
            false => usize::MAX,
        };
        runs::count_before(&self.recorder.log, event)
    }

    /// Adds the calls that were made without a stop since the last event to the log.
    fn keep_last_calls(&mut self) {
        if let Err(error) = self.recorder.keep_records() {
            tracing::debug!(%error, "the last calls are not known");
        }
    }

    /// Compares its system calls with those of another run.
    pub fn difference_from(&self, other: &Log) -> (usize, Option<RunDifference>) {
        runs::difference(&self.recorder.log, other)
    }

    /// Returns what the program did, without snapshots and files; `None`: it takes too much memory to be kept.
    pub fn into_log(self) -> Option<Log> {
        /// 256 MiB.
        const MOST: usize = 1 << 28;
        let mut log = self.recorder.log;
        log.files.clear();
        (log.bytes() <= MOST).then_some(log)
    }

    /// Returns whether it is one of a file.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Writes the recording to a file of at most `limit` bytes, up to where the program is stopped.
    ///
    /// # Errors
    /// It is one of a file, the file cannot be written or would be too large, or the system refuses a copy.
    pub fn save(&mut self, path: &Path, limit: u64) -> Result<Saved, String> {
        if self.stored.is_some() {
            return Err(OF_A_FILE.to_owned());
        }
        let early = self.recorder.ended.clone();
        let ending = match early {
            Some(_) => None,
            None => Some(self.recorder.ending_here().map_err(|it| it.to_string())?),
        };
        let end = match (&ending, early) {
            (Some(ending), _) => {
                let place = EndPlace::Here(&ending.copy, &ending.patches, &ending.threads);
                (place, ending.end.clone())
            }
            (None, early) => (EndPlace::LastEvent, End::Early(early.unwrap_or_default())),
        };
        self.write((path, limit), end)
    }

    /// Keeps where the program ends, for [`Recording::save_ended`].
    pub fn keep_end(&mut self) {
        self.recorder.keeps_ending = true;
    }

    /// Writes the recording of a program that has ended to a file of at most `limit` bytes. Without
    /// [`Recording::keep_end`] before, it ends at the last system call.
    ///
    /// # Errors
    /// It is one of a file, the file cannot be written or would be too large, or the system refuses a copy.
    pub fn save_ended(&mut self, path: &Path, limit: u64) -> Result<Saved, String> {
        if self.stored.is_some() {
            return Err(OF_A_FILE.to_owned());
        }
        let recorder = &mut self.recorder;
        let end = recorder.end.unwrap_or(ProgramEnd::Killed(libc::SIGKILL));
        let ending = recorder.ending.take();
        let ending = ending.filter(|ending| ending.is_end_of(&mut recorder.log));
        let end = place_of_end(ending.as_ref(), recorder.ended.as_ref(), end);
        self.write((path, limit), end)
    }

    fn write(&self, to: (&Path, u64), end: (EndPlace<'_>, End)) -> Result<Saved, String> {
        let recorder = &self.recorder;
        let snapshots: Vec<_> = recorder.snapshots_of_program().collect();
        let source = Source {
            process: recorder.pid,
            log: &recorder.log,
            snapshots: &snapshots,
            names: recorder.names.all(),
            copies: recorder.copies(),
        };
        save(to, source, end)
    }

    /// Returns the name of a thread that the kernel does not know: it has ended, or is one of a file.
    pub fn name_of(&self, thread: ThreadId) -> Option<&str> {
        self.recorder.names.get(thread.0)
    }

    /// Returns the program's file, if the recording is one of a file.
    pub fn stored_program(&self) -> Option<MappedFile> {
        let stored = self.stored.as_ref()?;
        let program = stored.program.as_deref();
        Some(named(program.unwrap_or_else(|| stored.file.program())))
    }

    /// Returns why the recording ends where it does, if it is one of a file; empty if the stop there says that.
    pub fn stored_end(&self) -> Option<String> {
        Some(match self.stored.as_ref()?.file.end() {
            End::Exiting(_) | End::Signal { .. } | End::Stopped => String::new(),
            End::Killed(signal) => {
                let name = Signal(*signal).name();
                format!("the program was killed by {name}, at a later place that is not recorded")
            }
            End::Early(why) => why.clone(),
        })
    }

    /// Returns the file that the program had mapped, by the name of its copy in memory.
    pub fn stored_file(&self, name: &Path) -> Option<MappedFile> {
        let index = index_of(name.to_str()?)?;
        Some(named(self.stored.as_ref()?.file.name_of_file(index)?))
    }

    /// Returns a value of the program's auxiliary vector, if the recording is one of a file.
    pub fn stored_auxiliary(&self, key: u64) -> Option<u64> {
        self.stored.as_ref()?.file.auxiliary(key)
    }
}

/// Returns a file by the name that it had.
fn named(path: &Path) -> MappedFile {
    let name = path.as_os_str().as_bytes();
    let name = name.strip_suffix(DELETED).unwrap_or(name);
    MappedFile {
        path: PathBuf::from(std::ffi::OsString::from_vec(name.to_vec())),
        replaced: None,
    }
}
