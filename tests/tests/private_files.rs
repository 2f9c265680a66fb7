//! Files written for later are private to the user: the log, and the cache.

use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use stillpoint_tests::{DapClient, Fixture, stillpoint};

/// A user that owns nothing.
const NOBODY: u32 = 65534;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skips::skip("root");
    }
    root
}

/// A session with secrets in its settings, logged to a file as far as possible.
fn log_to(log: &Path, values: bool) -> DapClient {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn_with(|command| {
        command.arg("--log").arg(log).env("STILLPOINT_LOG", "trace");
        if values {
            command.env("STILLPOINT_LOG_VALUES", "1");
        }
    });
    let settings = json!({"args": ["--password=hunter2"], "env": {"API_KEY": "hunter2"}});
    client.launch(&fixture, settings);
    client.configure();
    client.expect_exit();
    client
}

#[test]
fn the_log_is_private_and_has_no_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    log_to(&log, false).disconnect();
    let text = fs::read_to_string(&log).expect("the log");
    assert!(
        text.contains("launch") && text.contains("API_KEY"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(mode(&log), 0o600);
    // A log of an earlier version becomes private; arguments are logged only on request.
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).expect("permissions");
    log_to(&log, true).disconnect();
    assert!(
        fs::read_to_string(&log)
            .expect("the log")
            .contains("hunter2")
    );
    assert_eq!(mode(&log), 0o600);
}

#[test]
fn a_log_of_another_user_is_not_written() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (file, target) = (folder.path().join("file"), folder.path().join("target"));
    for path in [&file, &target] {
        fs::write(path, "precious").expect("a file");
    }
    chown(&file, Some(NOBODY), None).expect("given away");
    let link = folder.path().join("link");
    symlink(&target, &link).expect("a link");
    std::os::unix::fs::lchown(&link, Some(NOBODY), None).expect("given away");
    for (path, kept) in [(&file, &file), (&link, &target)] {
        let client = log_to(path, false);
        client.disconnect();
        assert_eq!(fs::read_to_string(kept).expect("it"), "precious");
    }
}

/// Runs a session with the symbol cache, and returns its messages about it.
fn keep_in(folder: &Path) -> String {
    let mut client = DapClient::spawn();
    // Large enough to be worth it.
    let settings = json!({"symbolCache": folder, "stopOnEntry": true});
    client.launch_program(stillpoint(), settings);
    client.configure();
    client.expect_stopped("entry");
    let frame = client.top_frame()["id"].clone();
    let unknown = json!({"expression": "no_such_name", "frameId": frame, "context": "watch"});
    client.request_error("evaluate", unknown);
    let output = client.output("console") + &client.output("important");
    client.disconnect();
    output
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn cache_files_are_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("parent/cache");
    let output = keep_in(&cache);
    assert!(!output.contains("No cache is kept"), "{output}");
    assert_eq!(mode(&cache), 0o700);
    for entry in fs::read_dir(&cache).expect("the folder") {
        assert_eq!(mode(&entry.expect("a file").path()), 0o600);
    }
    // What an earlier version has made.
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).expect("permissions");
    let output = keep_in(&cache);
    assert!(!output.contains("No cache is kept"), "{output}");
    assert_eq!(mode(&cache), 0o700);
}

#[test]
fn no_cache_in_folders_that_others_can_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let refused = |cache: &Path, wrong: &Path| {
        let output = keep_in(cache);
        let wrong = wrong.to_str().expect("UTF-8");
        assert!(
            output.contains("No cache is kept") && output.contains(wrong),
            "{output}"
        );
    };
    fs::create_dir(path("target")).expect("a folder");
    symlink(path("target"), path("link")).expect("a link");
    refused(&path("link"), &path("link"));
    assert!(is_empty(&path("target")));

    fs::create_dir(path("open")).expect("a folder");
    fs::set_permissions(path("open"), fs::Permissions::from_mode(0o777)).expect("permissions");
    refused(&path("open"), &path("open"));
    refused(&path("open/cache"), &path("open"));
    assert!(is_empty(&path("open")));

    if !is_root() {
        return;
    }
    fs::create_dir_all(path("theirs/cache")).expect("a folder");
    chown(path("theirs"), Some(NOBODY), None).expect("given away");
    refused(&path("theirs/cache"), &path("theirs"));
    assert!(is_empty(&path("theirs/cache")));
    chown(path("theirs"), Some(0), None).expect("taken back");
    chown(path("theirs/cache"), Some(NOBODY), None).expect("given away");
    refused(&path("theirs/cache"), &path("theirs/cache"));
    assert!(is_empty(&path("theirs/cache")));
}
