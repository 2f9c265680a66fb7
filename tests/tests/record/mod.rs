//! `stillpoint record --check`: programs are recorded, do what they do without that, and each replay
//! does the same.

mod chaos;
mod threads;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use nix::sys::signal::Signal;
use stillpoint_tests::patience;
use stillpoint_tests::{Fixture, command, process};

/// A recorded program that has ended.
struct Recorded {
    status: Option<i32>,
    stdout: String,
    /// What the recorder has printed after the program's own errors.
    stderr: String,
}

impl Recorded {
    /// Records a program in a folder, and checks the recording.
    fn of<S: AsRef<OsStr>>(folder: &Path, words: &[S]) -> Recorded {
        Recorded::with(&[], folder, words)
    }

    /// Like [`Recorded::of`], with options.
    fn with<S: AsRef<OsStr>>(options: &[&str], folder: &Path, words: &[S]) -> Recorded {
        let mut recorder = command();
        recorder.args(["record", "--check"]).args(options);
        recorder.arg("--").args(words);
        let output = output_of(recorder.current_dir(folder));
        Recorded {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Records a fixture.
    fn fixture(source: &str, words: &[&str]) -> Recorded {
        let fixture = Fixture::of(source);
        let mut command = vec![fixture.program.as_os_str()];
        command.extend(words.iter().map(OsStr::new));
        Recorded::of(Path::new("/"), &command)
    }

    /// Returns the number that is followed by this text.
    fn number(&self, text: &str) -> usize {
        let before = self
            .stderr
            .split(text)
            .next()
            .filter(|it| *it != self.stderr);
        let number = before.and_then(|it| it.rsplit([' ', '\n']).next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no number before {text:?}: {}", self.stderr))
    }

    /// The whole program was recorded, and each replay was the same.
    fn assert_exact(&self) {
        assert_eq!(self.number(" mismatches"), 0, "{}", self.stderr);
        assert!(self.number(" replays") > 0);
        let ends_early = self.stderr.contains("ended before the program");
        assert!(!ends_early, "{}", self.stderr);
        assert!(self.number(" times, memory") > 0, "{}", self.stderr);
    }
}

fn output_of(command: &mut Command) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let pid = child.id() as i32;
    let (sender, output) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    patience::receive(&output).map_or_else(
        |_| {
            process::send_signal(pid, Signal::SIGKILL);
            panic!("{command:?} does not end");
        },
        |output| output.expect("its output"),
    )
}

#[test]
fn time_randomness_and_mappings_are_the_same_in_a_replay() {
    let recorded = Recorded::fixture("c/record/time.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.status, Some(0));
    let seen = recorded.stdout.split(' ').nth(1).expect("a number");
    let processors = thread::available_parallelism().expect("a number").get();
    assert_eq!(seen.trim(), processors.to_string(), "as without a recorder");
}

#[test]
fn frequent_calls_are_made_without_a_stop() {
    let recorded = Recorded::fixture("c/record/buffer.c", &["60000"]);
    recorded.assert_exact();
    assert!(
        recorded.stdout.ends_with("ticks 8, broken 4\n"),
        "{}",
        recorded.stdout
    );
    assert_eq!(recorded.status, Some(0));
    assert!(recorded.number(" events") > 6 * 60_000);
    let stops = recorded.number(" times, memory") / recorded.number(" replays");
    assert!(stops < 2_000, "{}", recorded.stderr);
}

#[test]
fn calls_that_are_not_recorded_do_not_stop() {
    let recorded = Recorded::fixture("c/record/free_calls.c", &[]);
    let mut lines: Vec<&str> = recorded.stdout.lines().collect();
    // Those of two threads are in any order.
    lines.sort_unstable();
    let expected = [
        "beside: few",
        "child: few",
        "known: few",
        "new: few",
        "restarted: yes",
        "thread: few",
        "thread: few",
    ];
    assert_eq!(lines, expected);
    assert_eq!(recorded.status, Some(0));
    let why = "ended before the program: it calls shmat";
    assert!(recorded.stderr.contains(why), "{}", recorded.stderr);
    assert_eq!(recorded.number(" mismatches"), 0, "{}", recorded.stderr);
}

#[test]
fn mapping_that_other_calls_change_ends_the_recording() {
    let recorded = Recorded::fixture("c/record/mapped_file.c", &[]);
    assert_eq!(recorded.stdout, "15\n");
    let why = "it maps a file that it may write to by other calls";
    assert!(recorded.stderr.contains(why), "{}", recorded.stderr);
    assert_eq!(recorded.number(" mismatches"), 0, "{}", recorded.stderr);
}

#[test]
fn signals_arrive_where_they_did() {
    let recorded = Recorded::fixture("c/record/signals.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.status, Some(0));
    assert!(recorded.stdout.ends_with("asked 5, faults 5\n"));
}

/// By both instructions that the loader of glibc has for it. In chaos the system calls stop, and the rest is the same.
#[test]
fn loader_saves_what_registers_hold() {
    let fixture = Fixture::of("c/record/lazy.c");
    let program = fixture.program.as_os_str();
    let variables = ["A=B", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-XSAVEC"];
    for (variable, options) in variables.iter().zip([&[][..], &["--chaos", "5"]]) {
        let words = [OsStr::new("env"), OsStr::new(variable), program];
        let recorded = Recorded::with(options, Path::new("/"), &words);
        recorded.assert_exact();
        assert_eq!(recorded.stdout, "found 1, same 1, kept 1\n");
    }
}

#[test]
fn processes_that_it_starts_run_free() {
    let recorded = Recorded::fixture("c/record/processes.c", &[]);
    recorded.assert_exact();
    let expected = "of a child: 18, No such file or directory\n";
    assert_eq!(recorded.stdout, expected);
}

#[test]
fn computation_has_snapshots_without_a_system_call() {
    let recorded = Recorded::fixture("c/record/compute.c", &[]);
    recorded.assert_exact();
    assert!(recorded.number(" snapshot") > 2, "{}", recorded.stderr);
    let alone = Fixture::of("c/record/compute.c");
    let alone = output_of(&mut Command::new(alone.program));
    assert_eq!(recorded.stdout.as_bytes(), alone.stdout);
}

#[test]
fn each_program_of_a_chain_has_a_snapshot() {
    let recorded = Recorded::fixture("c/record/chain.c", &["3"]);
    recorded.assert_exact();
    assert_eq!(recorded.status, Some(7));
    assert_eq!(recorded.stdout, "left 3\nleft 2\nleft 1\nleft 0\n");
    assert!(recorded.number(" replays") >= 4, "{}", recorded.stderr);
}

#[test]
fn program_that_is_killed_was_recorded_until_then() {
    let recorded = Recorded::fixture("c/record/killed.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.status, Some(128 + Signal::SIGSEGV as i32));
    assert_eq!(recorded.stdout, "before the fault\n");
}

#[test]
fn scripts_with_pipes_and_subshells_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "for i in 1 2 3; do echo $i | cat | tr 1 x; done; (echo sub; exit 3); echo $?
        x=$(ls | wc -l); echo $x; sleep 0.1 & wait; trap 'echo trapped' USR1; kill -USR1 $$
        echo $(($x + 1)) > file; read y < file; echo $y; exec sh -c 'echo last; exit 5'";
    let recorded = Recorded::of(folder.path(), &["bash", "-c", script]);
    recorded.assert_exact();
    assert_eq!(recorded.stdout, "x\n2\n3\nsub\n3\n0\ntrapped\n1\nlast\n");
    assert_eq!(recorded.status, Some(5));
}

#[test]
fn files_are_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo one >> file; echo two >> file; mkdir new; rm -f none; wc -l < file";
    let recorded = Recorded::of(folder.path(), &["sh", "-c", script]);
    recorded.assert_exact();
    let text = fs::read_to_string(folder.path().join("file")).expect("a file");
    assert_eq!(text, "one\ntwo\n");
}

#[test]
fn compiler_is_recorded_while_its_passes_run_free() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.c"), "int main(void) { return 9; }\n").expect("a source");
    let recorded = Recorded::of(folder.path(), &["gcc", "-O1", "-o", "a", "a.c"]);
    recorded.assert_exact();
    let built = output_of(&mut Command::new(folder.path().join("a")));
    assert_eq!(built.status.code(), Some(9));
}

#[test]
fn lazily_bound_functions_are_called_as_before() {
    // The loader binds them at the first call, with vector registers in use.
    let folder = tempfile::tempdir().expect("a folder");
    let lines = (0..200_000).map(|number: u32| format!("{}\n", number.wrapping_mul(2_654_435_761)));
    fs::write(folder.path().join("numbers"), lines.collect::<String>()).expect("a file");
    for _ in 0..3 {
        let recorded = Recorded::of(folder.path(), &["gzip", "-k", "-f", "numbers"]);
        recorded.assert_exact();
    }
    let unpacked = output_of(
        Command::new("gunzip")
            .current_dir(&folder)
            .args(["-c", "numbers.gz"]),
    );
    let numbers = fs::read(folder.path().join("numbers")).expect("a file");
    assert!(unpacked.stdout == numbers, "as without a recorder");
}

#[test]
fn program_that_does_not_exist_is_an_error() {
    let recorded = Recorded::of(Path::new("/"), &["/nonexistent/program"]);
    assert_eq!(recorded.status, Some(127));
    assert!(recorded.stderr.contains("not found"), "{}", recorded.stderr);
}

#[test]
fn ignored_signals_of_calls_change_nothing() {
    let recorded = Recorded::fixture("c/record/ignored_signals.c", &[]);
    recorded.assert_exact();
    assert_eq!(recorded.stdout, "broken 150, full 46\n");
    assert_eq!(recorded.status, Some(0));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_counter_is_read_while_its_signal_is_blocked() {
    let recorded = Recorded::fixture("c/record/blocked_faults.c", &[]);
    recorded.assert_exact();
    let each = "blocked 1, handler 1, ignored 1, survived 1\n";
    assert_eq!(recorded.stdout, format!("{each}executed blocked, {each}"));
}

#[test]
fn what_the_kernel_writes_is_written_in_replays() {
    let recorded = Recorded::fixture("c/record/outputs.c", &[]);
    recorded.assert_exact();
    let expected =
        "2: first 5, the second 10\n-1 caught 1 revents 0\n5 6 7, 11 bytes 3 of a queue\n";
    assert!(recorded.stdout.starts_with(expected), "{}", recorded.stdout);
    assert!(
        !recorded.stderr.contains("ended before"),
        "{}",
        recorded.stderr
    );
}

#[test]
fn calls_that_fail_do_not_end_a_recording() {
    let recorded = Recorded::fixture("c/record/failing_calls.c", &[]);
    recorded.assert_exact();
    assert!(
        recorded.stdout.starts_with("failed 30, missing "),
        "{}",
        recorded.stdout
    );
}

#[test]
fn the_recorder_ends_after_odd_children() {
    let recorded = Recorded::fixture("c/record/odd_children.c", &[]);
    assert_eq!(recorded.stdout, "executed 3, ended by signal 11\n");
    assert_eq!(recorded.status, Some(0), "{}", recorded.stderr);
}
