//! `stillpoint record`: runs a program and records it; says what was recorded, and whether replays of
//! it do the same.

use crate::config::any_seed;
use crate::files::output;
use crate::files::recordings::{self, MOST_MEGABYTES, size};
use crate::frontends::run::{INTERRUPTED, NOT_STARTED, USAGE, program};
use clap::Args;
use engine::os::host;
use engine::os::recording::{Check, HashEvents, ProgramEnd, Report, SaveTo, Saved, may_replace};
use engine::{Launch, StdioTarget};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `stillpoint record`.
#[derive(Args, Debug)]
pub struct Options {
    /// Replay the recording from each snapshot, and compare registers and memory
    #[arg(long)]
    pub check: bool,
    /// Let threads run for short random slices, which shows races: the same number, the same slices. Without a number,
    /// one is chosen and printed; then `--` has to precede the program
    #[arg(long, value_name = "SEED", num_args = 0..=1)]
    pub chaos: Option<Option<u64>>,
    /// Write the recording to this file, for `stillpoint replay`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The most megabytes that the file may have: more of them are more places to go back from at once
    #[arg(long, value_name = "MB", default_value_t = MOST_MEGABYTES, requires = "output")]
    pub limit: u64,
    /// The program and its arguments: all that follows it, also what looks like options
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Failures shown at most.
const FAILURES: usize = 10;
/// The exit status when a replay was not like its recording.
const DIFFERENT: u8 = 1;
/// The exit status when the file cannot be written.
const NOT_WRITTEN: u8 = 1;

/// Records a program. Returns its exit status; [`DIFFERENT`] if a replay was not like its recording.
pub fn record(options: Options) -> ExitCode {
    if let Some(Err(why)) = options.output.as_deref().map(check_output) {
        complain!("stillpoint: {why}");
        return ExitCode::from(USAGE);
    }
    let mut command = options.command.into_iter();
    let program = command.next().unwrap_or_default();
    let launch = Launch {
        program: program::find(&program),
        args: command.collect(),
        cwd: env::current_dir().unwrap_or_default(),
        env: env::vars_os().collect(),
        stdio: [const { StdioTarget::Inherited }; 3],
        disable_aslr: true,
        record: true,
        chaos: options.chaos.map(|seed| seed.unwrap_or_else(any_seed)),
    };
    let hashes = match options.check {
        true => HashEvents::Often,
        false => HashEvents::Never,
    };
    let save = options.output.map(|path| SaveTo {
        path,
        limit: options.limit.saturating_mul(1 << 20),
    });
    match host::record(&launch, hashes, save.as_ref()) {
        Ok(report) => {
            complain!("{}", describe(&report).trim_end());
            if let Some(seed) = launch.chaos {
                complain!("stillpoint: chaos with seed {seed}");
            }
            if let Some(SaveTo { path, .. }) = &save {
                complain!("{}", written(path, report.saved.as_ref()).trim_end());
            }
            let status = status(&report);
            // Its program has got the signal, and this process has outlived it.
            if status == INTERRUPTED && matches!(report.end, ProgramEnd::Killed(_)) {
                engine::os::end_as_interrupted();
            }
            ExitCode::from(status)
        }
        Err(error) => {
            complain!("stillpoint: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// Returns why a recording will not be written, before the program runs.
fn check_output(path: &Path) -> Result<(), String> {
    output::check(path)?;
    may_replace(path).map_err(|why| output::cannot_write(path, &why))
}

fn status(report: &Report) -> u8 {
    let check = report.check.as_ref();
    if check.is_some_and(|it| !it.failures.is_empty()) {
        return DIFFERENT;
    }
    if matches!(report.saved, Some(Err(_))) {
        return NOT_WRITTEN;
    }
    match report.end {
        ProgramEnd::Exited(code) => code as u8,
        // As shells report it.
        ProgramEnd::Killed(signal) => 128_u8.wrapping_add(signal as u8),
    }
}

fn describe(report: &Report) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let mut text = format!(
        "stillpoint: recorded {} event{} ({}) and {} snapshot{} in {:.2} s\n",
        report.events,
        plural(report.events as u64),
        size(report.bytes as u64),
        report.snapshots,
        plural(report.snapshots as u64),
        report.duration.as_secs_f64(),
    );
    if let Some(reason) = &report.ended_early {
        text += &format!("stillpoint: the recording has ended before the program: {reason}\n");
    }
    if let Some(check) = &report.check {
        text += &checked(check);
    }
    text
}

/// Returns what was written to a file.
fn written(path: &Path, saved: Option<&Result<Saved, String>>) -> String {
    match saved {
        Some(Ok(saved)) => format!("stillpoint: {}\n", recordings::written(path, saved)),
        Some(Err(why)) => format!("stillpoint: {why}\n"),
        None => String::new(),
    }
}

fn checked(check: &Check) -> String {
    let mut text = format!(
        "stillpoint: {} replays; compared registers {} times, memory {} times; {} mismatches\n",
        check.replays,
        check.events,
        check.hashes,
        check.failures.len()
    );
    for failure in check.failures.iter().take(FAILURES) {
        text += &format!("stillpoint: mismatch: {failure}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn mismatch_decides_the_exit_status() {
        let mut report = Report {
            end: ProgramEnd::Exited(3),
            ended_early: None,
            events: 5,
            bytes: 700,
            snapshots: 1,
            kept: 1,
            duration: Duration::from_secs(1),
            saved: None,
            check: Some(Check::default()),
        };
        assert_eq!(status(&report), 3);
        report.check = Some(Check {
            failures: vec!["other".to_owned()],
            ..Check::default()
        });
        assert_eq!(status(&report), DIFFERENT);
        assert!(describe(&report).contains("1 mismatches\n"));
        report.check = None;
        report.end = ProgramEnd::Killed(9);
        assert_eq!(status(&report), 137);
        report.saved = Some(Err("no room".to_owned()));
        assert_eq!(status(&report), NOT_WRITTEN);
    }
}
