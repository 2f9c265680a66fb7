//! The command line: what people type, its exit code and the first line of the answer; and its end by
//! signals.

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use stillpoint_tests::{Fixture, command, patience, process};

/// Returns the exit code, and the first line of stderr, of a command line in a folder.
fn answer(folder: &std::path::Path, line: &str) -> (Option<i32>, String) {
    // Every other part stands between quotes.
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(nth, part)| match nth % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    let mut tried = command();
    tried.args(words).current_dir(folder).stdin(Stdio::null());
    let output = tried.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().next().unwrap_or_default().to_owned();
    (output.status.code(), first)
}

#[test]
fn what_people_type_has_an_answer() {
    let fixture = Fixture::of("c/null_texts.c");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::copy(&fixture.program, folder.join("prog")).expect("a copy");
    let mut core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    core.extend([4, 0]);
    fs::write(folder.join("x.core"), core).expect("a file");
    fs::write(folder.join("kept"), "stillpoint-rec\r\n").expect("a file");
    fs::write(folder.join("badelf"), "\x7fELFxxxx").expect("a file");
    fs::set_permissions(folder.join("badelf"), Permissions::from_mode(0o755)).expect("its mode");
    let not_elf = "stillpoint: cannot launch";
    for (line, code, first) in [
        (
            "x.core",
            2,
            "to look at a core file: `stillpoint core x.core`",
        ),
        ("x.core prog", 2, "`stillpoint core x.core prog`"),
        (
            "core prog x.core",
            2,
            "stands before the program: `stillpoint core x.core prog`",
        ),
        (
            "kept",
            2,
            "to look at a recording: `stillpoint replay kept`",
        ),
        ("gone.rec", 2, "`stillpoint replay gone.rec`"),
        ("ps", 2, "`stillpoint trace PLACE --pid PID`"),
        ("-f ./prog", 2, "`stillpoint record -o FILE PROGRAM`"),
        ("-e openat ./prog", 2, "`stillpoint record -o FILE PROGRAM`"),
        (
            "break main ./prog",
            2,
            "`stillpoint run --break main ./prog`",
        ),
        ("./prog", 2, "`stillpoint run ./prog`"),
        ("record ./badelf", 127, not_elf),
        ("run ./badelf", 127, not_elf),
        ("run ./nosuch", 127, not_elf),
        ("record ./nosuch", 127, not_elf),
        (
            "record -o none/x.rec ./prog",
            2,
            "cannot write none/x.rec: No such file",
        ),
        (
            "trace --flame none/x.svg --calls look -- ./prog",
            2,
            "cannot write none/x.svg: No such",
        ),
        ("trace nosuch -- ./prog", 2, "no function `nosuch`"),
        (
            "trace look 'count() by nosuch' -- ./prog",
            2,
            "no variable `nosuch`",
        ),
        ("run --break nosuch ./prog", 2, "no function `nosuch`"),
        (
            "run --break look /lib64/ld-linux-x86-64.so.2 ./prog",
            2,
            "itself: `./prog`",
        ),
        (
            "trace look -- /lib64/ld-linux-x86-64.so.2 ./prog",
            2,
            "is a dynamic loader",
        ),
        ("replay ./prog", 1, "the file is not a recording"),
        ("no_such_command", 2, "unrecognized subcommand"),
    ] {
        let (found, text) = answer(folder, line);
        assert_eq!(found, Some(code), "{line}: {text}");
        assert!(text.contains(first), "{line}: {text}");
    }
    // More than the system's words.
    let (_, text) = answer(folder, "record ./badelf");
    assert!(text.contains("not an executable"), "{text}");
}

#[test]
fn children_end_with_a_program_that_is_ended() {
    let fixture = Fixture::of("c/left_children.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
    let pipe = pipe.to_str().expect("UTF-8").to_owned();
    for (arguments, signal) in [
        (&["trace", "wait_here", "--"][..], Some(Signal::SIGTERM)),
        (&["trace", "wait_here", "--"], Some(Signal::SIGINT)),
        (&["trace", "--for", "0.5", "wait_here", "--"], None),
        (
            &["run", "--pending", "--break", "nosuch"],
            Some(Signal::SIGTERM),
        ),
    ] {
        let mut child = command()
            .args(arguments)
            .args([program, &pipe])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("stillpoint starts");
        let (sender, read) = mpsc::channel();
        let opened = pipe.clone();
        thread::spawn(move || {
            let mut lines = BufReader::new(File::open(opened).expect("the pipe"));
            let mut line = String::new();
            let _ = sender.send(lines.read_line(&mut line).map(|_| line.clone()));
            // The end: the child is gone.
            let mut rest = String::new();
            let _ = sender.send(lines.read_to_string(&mut rest).map(|_| rest));
        });
        let line = patience::receive(&read).expect("a line");
        assert_eq!(line.expect("the pipe is read"), "up\n", "{arguments:?}");
        if let Some(signal) = signal {
            process::send_signal(child.id() as i32, signal);
        }
        process::wait_for(&mut child);
        let rest = patience::receive(&read).expect("the end");
        assert_eq!(rest.expect("the pipe is read"), "", "{arguments:?}");
    }
}

#[test]
fn interrupt_of_the_recorder_alone_is_the_programs() {
    let fixture = Fixture::of("c/interrupts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    for (arguments, code) in [(&[program, "handles"][..], Some(7)), (&[program], None)] {
        let mut child = command()
            .arg("record")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("stillpoint starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines.find(|line| line.as_ref().is_ok_and(|it| it == "ready"));
        assert!(ready.is_some(), "{arguments:?}");
        process::send_signal(child.id() as i32, Signal::SIGINT);
        let status = process::wait_for(&mut child);
        assert_eq!(status.code(), code, "{arguments:?}: {status:?}");
        assert_eq!(
            status.signal(),
            code.is_none().then_some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn recording_is_told_also_if_a_signal_ends_the_program() {
    let fixture = Fixture::of("c/own_abort.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let mut run = command();
    run.args(["run", "--record", program]).stdin(Stdio::null());
    let output = run.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("stillpoint: recorded "), "{text}");
}

#[test]
fn each_command_writes_its_log_to_a_file() {
    let fixture = Fixture::of("c/null_texts.c");
    let program = fixture.program.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    for (command_line, rest) in [
        ("run", &[program][..]),
        ("record", &[program]),
        ("trace", &["look", "--", program]),
        ("core", &[program]),
    ] {
        let log = folder.path().join(command_line);
        let mut logged = command();
        logged.arg(command_line).arg("--log").arg(&log).args(rest);
        logged.env("STILLPOINT_LOG", "debug").stdin(Stdio::null());
        logged.output().expect("it starts");
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        assert!(text.contains("DEBUG"), "{command_line}: {text}");
    }
}
