//! Replays from each image of a file do what the program did, instruction by instruction; and which file of the
//! program is used.

use super::{opened, place_for_file, record};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use stillpoint_tests::{Fixture, command};

/// Records a program with a check of the file, and returns the number of images.
fn checked<S: AsRef<OsStr>>(words: &[S]) -> usize {
    let (_folder, file) = place_for_file();
    let mut recorder = command();
    recorder
        .args(["record", "--check", "-o"])
        .arg(&file)
        .arg("--");
    let output = recorder.args(words).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(" 0 mismatches"), "{stderr}");
    let number = |before: &str, behind: &str| -> usize {
        let text = stderr.split(behind).next().unwrap_or_default();
        let word = text.rsplit(before).next().unwrap_or_default();
        word.trim().parse().unwrap_or_else(|_| panic!("{stderr}"))
    };
    let (replays, images) = (number("stillpoint: ", " replays"), number(", ", " images"));
    assert!(replays >= images, "each but the last: {stderr}");
    images
}

#[test]
fn images_replay_like_the_program() {
    for (source, argument) in [
        ("c/record/time.c", None),
        ("c/record/signals.c", None),
        ("c/record/buffer.c", Some("20000")),
        ("c/record/processes.c", None),
        ("c/record/chain.c", None),
    ] {
        let fixture = Fixture::of(source);
        let mut words = vec![fixture.program.as_os_str()];
        words.extend(argument.map(OsStr::new));
        assert!(checked(&words) >= 2, "{source}");
    }
}

#[test]
fn images_of_programs_with_threads_replay_like_them() {
    for (source, argument) in [
        ("c/record/threads/compute.c", None),
        ("c/record/threads/racy.c", None),
        ("c/record/threads/locks.c", None),
        ("c/record/threads/lives.c", None),
        ("c/record/threads/waits.c", None),
        ("c/record/threads/signals.c", None),
        ("c/record/threads/wakes.c", None),
        ("rust/record_pool.rs", None),
        ("c/record/threads/stored.c", Some("exit")),
        ("c/record/threads/stored.c", Some("crash")),
        ("c/record/threads/stored.c", Some("kill")),
        ("c/record/threads/stored.c", Some("leave")),
    ] {
        let fixture = Fixture::of(source);
        let mut words = vec![fixture.program.as_os_str()];
        words.extend(argument.map(OsStr::new));
        assert!(checked(&words) >= 2, "{source}");
    }
}

#[test]
fn images_of_an_interpreter_replay_like_it() {
    if !skips::has_command("python3") {
        return;
    }
    let script = "import json\nx = json.dumps([{'a': i, 'b': [i] * 9} for i in range(60000)])\n\
                  print(len(json.loads(x)))";
    assert!(checked(&["python3", "-c", script]) > 2);
}

#[test]
fn program_that_is_gone_or_another_one_is_said() {
    let fixture = Fixture::of("c/record/stored.c");
    let other = Fixture::of("c/record/time.c");
    let (folder, file) = place_for_file();
    let program = folder.path().join("program");
    fs::copy(&fixture.program, &program).expect("a copy");
    record(&file, &[program.as_os_str(), "crash".as_ref()]);
    fs::remove_file(&program).expect("it");

    let (mut client, _) = opened(&file, json!({}), &["exception"]);
    let output = client.output("console");
    assert!(output.contains(&*program.to_string_lossy()), "{output}");
    assert!(!client.function_names().is_empty());
    client.disconnect();

    fs::copy(&other.program, &program).expect("a copy");
    let (client, _) = opened(&file, json!({}), &["exception"]);
    let output = client.output("console");
    assert!(
        output.contains("is not the file that was recorded"),
        "{output}"
    );
    client.disconnect();

    let (mut client, _) = opened(&file, json!({"program": fixture.program}), &["exception"]);
    client.expect_line(&fixture, "crash");
    client.disconnect();
}
