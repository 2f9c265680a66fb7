//! Recording and replay of programs.
//!
//! A seccomp filter makes each system call a stop (`filter`, `start`). The recorder (`recorder`,
//! `call`, `signals`) executes it and logs what it did (`log`, by the table in `calls`), and takes snapshots:
//! stopped copies of the process (`snapshots`). There is no clock: between two events a program
//! depends on nothing but its memory and registers. A replay (`replay`) is a copy of a snapshot whose
//! calls the log answers; its registers at each event, and hashes of its memory (`hash`), show whether
//! it does what the program did. Of several threads one runs at a time (`threads`). Processes that the program
//! starts run free (`family`).

mod after;
mod borrowed;
mod bounded;
mod buffer;
mod call;
mod calls;
mod difference;
mod end_stops;
mod ending;
mod family;
mod faults;
mod file;
mod filter;
mod hash;
mod interrupts;
mod log;
mod mapping;
mod own;
mod patches;
mod processor;
mod recorder;
mod registers;
mod replay;
mod running;
mod runs;
mod scratch;
mod seen;
mod session;
mod signals;
mod snapshots;
mod start;
mod stored;
mod threads;
mod timer;
mod tracee;

use crate::ids::Launch;
use crate::ids::error::Error;
use crate::os::recording::{Check, HashEvents, RecordFrom, Report, SaveTo, Saved};
use dwarf::LoadAddr;
use ending::place_of_end;
use file::{OpenError, Opened, Source};
pub(super) use filter::install as install_filter;
use log::Log;
pub(super) use log::Log as RunLog;
use processor::Processors;
use recorder::{Recorded, Recorder};
use replay::Replay;
use running::Running;
pub(super) use runs::made_without_stop;
pub(super) use session::Recording;
use std::io;
use std::path::Path;

/// The address of the recorder's system call instruction in each recorded program.
pub(super) const OWN_CALL: LoadAddr = LoadAddr(scratch::CALL);

/// Runs a program with the streams of this process, and records it, to a file if one is given. With
/// `hashes`, compares a replay from each snapshot, and from each image of the file, with the recording
/// afterwards. The calling thread should be the only one.
///
/// # Errors
/// The program cannot be run, or the system refuses to record it.
pub fn record(launch: &Launch, hashes: HashEvents, save: Option<&SaveTo>) -> Result<Report, Error> {
    let fail = |error| failure(launch, &error);
    interrupts::outlive().map_err(fail)?;
    let processors = Processors::of(0).map_err(fail)?;
    Processors::current().set_for(0);
    let report = record_here(launch, hashes, save, &processors);
    processors.set_for(0);
    report
}

/// Begins to record a program that was started under the filter and is at the event of its execve(2). `chaos`: the
/// seed of random slices. This
/// thread must stay the one that waits for it, and stays on its processor.
///
/// # Errors
/// The program has ended, or the system refuses a snapshot.
pub(super) fn begin(pid: i32, chaos: Option<u64>) -> io::Result<Recording> {
    let processors = Processors::of(0)?;
    let one = Processors::current();
    one.set_for(0);
    one.set_for(pid);
    let head = tracee::Tracee::new(pid)?;
    start::prepare(&head)?;
    let mut recorder = Recorder::new(head, HashEvents::Never, processors, chaos)?;
    recorder.serve_debugger();
    Ok(Recording::new(recorder))
}

/// Begins to record a program of the debugger's that runs already, at a stop of all its threads.
///
/// # Errors
/// Why it is not recorded: it runs as before then.
pub(super) fn begin_at_stop(from: &RecordFrom<'_>) -> Result<Recording, String> {
    let fail = |error: io::Error| error.to_string();
    let program = Running::of(from).map_err(fail)?;
    if let Some(why) = program.refusal(from.own) {
        return Err(why);
    }
    let processors = Processors::of(from.process).map_err(fail)?;
    let known = program.prepare().map_err(fail)?;
    let one = Processors::current();
    one.set_for(0);
    for thread in &program.threads {
        one.set_for(thread.pid);
    }
    let threads = threads::joined::join(program.threads, &known).map_err(fail)?;
    let recorder = Recorder::at_stop(program.process, threads, processors, from.patches);
    Ok(Recording::new(recorder.map_err(fail)?))
}

/// Like [`record`], on the processor that this thread is on. `processors`: those of the program.
fn record_here(
    launch: &Launch,
    hashes: HashEvents,
    save: Option<&SaveTo>,
    processors: &Processors,
) -> Result<Report, Error> {
    let fail = |error| failure(launch, &error);
    let head = start::start(launch)?;
    let pid = head.pid;
    interrupts::are_for(pid);
    let recorder = Recorder::new(head, hashes, processors.clone(), launch.chaos);
    let recorded = recorder.and_then(|mut recorder| {
        recorder.keeps_ending = save.is_some();
        recorder.stops_before_exit = save.is_some();
        recorder.run_to_end()
    });
    let mut recorded = recorded.map_err(|error| {
        // The program must not wait for a recorder that has given up.
        // SAFETY: integers only; the process is not collected yet, or its pid is not in use.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        fail(error)
    })?;
    interrupts::end_this().map_err(fail)?;
    let is_checked = hashes == HashEvents::Often;
    let mut checked = is_checked.then(|| check(&recorded));
    let saved = save.map(|to| save_to(&mut recorded, to));
    if let (Some(to), Some(Ok(_)), Some(check)) = (save, &saved, &mut checked) {
        check_file(&to.path, check);
    }
    Ok(Report {
        end: recorded.end,
        ended_early: recorded.ended_early.clone(),
        events: recorded.log.count(),
        bytes: recorded.log.bytes(),
        snapshots: recorded.snapshots.taken,
        kept: recorded.snapshots.all.len(),
        duration: recorded.duration,
        saved,
        check: checked,
    })
}

/// Writes what was recorded of the program that ran last to a file.
fn save_to(recorded: &mut Recorded, to: &SaveTo) -> Result<Saved, String> {
    let ending = recorded.ending.take();
    let ending = ending.filter(|ending| ending.is_end_of(&mut recorded.log));
    let end = place_of_end(ending.as_ref(), recorded.ended_early.as_ref(), recorded.end);
    let all = &recorded.snapshots.all;
    let start = all.iter().rposition(|it| it.is_start()).unwrap_or(0);
    let snapshots: Vec<_> = all.iter().skip(start).collect();
    let source = Source {
        process: recorded.process,
        log: &recorded.log,
        snapshots: &snapshots,
        names: recorded.names.all(),
        copies: &recorded.copies,
    };
    file::save((&to.path, to.limit), source, end)
}

/// Compares a replay from each image of a file with its recording.
fn check_file(path: &Path, check: &mut Check) {
    let opened = std::fs::File::open(path).map_err(OpenError::from);
    let (mut opened, log) = match opened.and_then(Opened::open) {
        Ok(opened) => opened,
        Err(error) => {
            let failure = format!("{} {error}", path.display());
            return check.failures.push(failure);
        }
    };
    let copies = super::copy::Copies::default();
    for index in 0..opened.places().count() {
        let snapshot = opened.snapshot(index, &copies);
        let replay = snapshot.and_then(|snapshot| Replay::begin(snapshot, &copies));
        add_to(check, replay, &log);
    }
}

pub(super) fn failure(launch: &Launch, error: &std::io::Error) -> Error {
    Error::Launch {
        program: launch.program.clone(),
        message: format!("it cannot be recorded: {error}"),
    }
}

/// Compares a replay from each snapshot with the recording.
fn check(recorded: &Recorded) -> Check {
    let mut check = Check::default();
    // Ends waits now and then.
    let _timer = timer::Ticks::start();
    for snapshot in &recorded.snapshots.all {
        let replay = Replay::begin(snapshot, &recorded.copies);
        add_to(&mut check, replay, &recorded.log);
    }
    check
}

/// Runs a replay to the end of the recording, and adds what was compared.
fn add_to(check: &mut Check, replay: io::Result<Replay>, log: &Log) {
    check.replays += 1;
    let ended = match replay {
        Ok(replay) => replay.run_to_end(log).map_err(|it| it.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match ended {
        Ok(compared) => {
            check.events += compared.events;
            check.hashes += compared.hashes;
        }
        Err(failure) => check.failures.push(failure),
    }
}
