//! Files that are no recordings, or damaged ones: cause and remedy, and no crash.

use super::{place_for_file, record, recorder, refusal};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use stillpoint_tests::{DapClient, Fixture, command};

/// Returns a recording, in a folder.
fn recorded() -> (tempfile::TempDir, PathBuf) {
    let fixture = Fixture::of("c/record/stored.c");
    let (folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), "0".as_ref()]);
    (folder, file)
}

#[test]
fn other_files_are_no_recordings() {
    let (folder, file) = place_for_file();
    fs::write(&file, "text").expect("a file");
    assert!(refusal(&file).contains("is not a recording"));
    let missing = folder.path().join("missing");
    assert!(refusal(&missing).contains("cannot be read"));
    assert!(refusal(folder.path()).contains("cannot be read"));
    let fixture = Fixture::of("c/record/stored.c");
    assert!(refusal(&fixture.program).contains("is not a recording"));
}

#[test]
fn truncated_and_changed_files_are_refused() {
    let (_folder, file) = recorded();
    let whole = fs::read(&file).expect("it");
    for part in [1, 2, 3, 5] {
        fs::write(&file, &whole[..whole.len() * part / 6]).expect("it");
        let text = refusal(&file);
        assert!(
            text.contains("it was truncated; copy or record it again"),
            "{text}"
        );
    }
    let mut bytes = whole.clone();
    bytes[16] = 99;
    fs::write(&file, &bytes).expect("it");
    assert!(
        refusal(&file).contains("has version 99"),
        "{}",
        refusal(&file)
    );
    // Each of them is opened or refused; what the client sees is never the end of the debugger.
    for nth in 1..40 {
        let mut bytes = whole.clone();
        let at = 20 + (whole.len() - 20) * nth / 40;
        bytes[at] ^= 0x55;
        fs::write(&file, &bytes).expect("it");
        let mut client = DapClient::spawn();
        if let Err(response) = client.try_start("launch", json!({"replay": file})) {
            let text = response["body"]["error"]["format"].to_string();
            assert!(text.contains("damaged"), "{text}");
        }
        client.disconnect();
    }
}

#[test]
fn settings_exclude_each_other() {
    let (_folder, file) = recorded();
    for other in [json!({"record": true}), json!({"coreFile": "core"})] {
        let mut client = DapClient::spawn();
        let mut settings = other.clone();
        settings["replay"] = json!(file);
        let refused = client.try_start("launch", settings).expect_err("a refusal");
        let text = refused["body"]["error"]["format"].to_string();
        assert!(text.contains("exclude each other"), "{text}");
        client.disconnect();
    }
}

#[test]
fn file_is_for_this_user_and_of_a_bounded_size() {
    let (folder, file) = recorded();
    let mode = fs::metadata(&file).expect("it").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::remove_file(&file).expect("it");
    let fixture = Fixture::of("c/record/stored.c");
    let mut recorder = command();
    recorder.args(["record", "--limit", "0", "-o"]).arg(&file);
    let output = recorder.arg("--").arg(&fixture.program).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("it would be larger than 0 MB; allow more"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 0);
}

/// Before the program runs.
#[test]
fn nothing_but_files_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("link");
    let target = folder.path().join("target");
    fs::write(&target, "kept").expect("a file");
    symlink(&target, &link).expect("a link");
    let pipe = folder.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).expect("a FIFO");
    for (file, what) in [(&link, "a symbolic link"), (&pipe, "a FIFO")] {
        let before = fs::symlink_metadata(file).expect("it").file_type();
        let output = recorder(file, &[Path::new("/bin/echo")]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty(), "the program has not run");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            stderr.contains(&format!("it is {what}, which is not replaced")),
            "{stderr}"
        );
        assert_eq!(fs::symlink_metadata(file).expect("it").file_type(), before);
    }
    assert_eq!(fs::read(&target).expect("a file"), b"kept");
}

#[test]
fn folder_that_is_missing_is_named() {
    let fixture = Fixture::of("c/record/stored.c");
    let file = PathBuf::from("/nowhere/recording");
    let output = recorder(&file, &[&fixture.program]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("cannot write /nowhere/recording"),
        "{stderr}"
    );
}
