//! Values about recordings of programs.

use crate::ids::Launch;
use crate::ids::error::Error;
use std::fmt::{Display, Formatter};
use std::time::Duration;

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

/// Returns why nothing is recorded on this machine.
#[allow(dead_code, reason = "only machines without recording need it")]
pub(super) fn refusal(launch: &Launch) -> Error {
    Error::Launch {
        program: launch.program.clone(),
        message: "recording needs Linux on x86-64".to_owned(),
    }
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
