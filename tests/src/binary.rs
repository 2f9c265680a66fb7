//! Finds the binary under test, and builds it if needed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the root of the repository.
pub fn repository() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"))
            .canonicalize()
            .expect("the folder of the tests");
        tests.parent().expect("the repository").to_path_buf()
    })
}

/// Returns Cargo's target directory, from the path of the running test (`target/<profile>/deps/…`).
pub fn target_directory() -> PathBuf {
    profile_directory()
        .parent()
        .expect("a target directory")
        .to_path_buf()
}

fn profile_directory() -> PathBuf {
    let executable = env::current_exe().expect("the path of this test");
    let directory = executable.parent().expect("a directory");
    if directory.ends_with("deps") {
        directory.parent().expect("a profile").to_path_buf()
    } else {
        directory.to_path_buf()
    }
}

/// Returns the binary under test: `$STILLPOINT`, or the workspace's own, built once per process.
/// Cargo's lock serializes test processes that build at once.
pub fn stillpoint() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        #[cfg(target_os = "linux")]
        crate::patience::watch_for_hangs();
        match env::var_os("STILLPOINT") {
            Some(path) => PathBuf::from(path)
                .canonicalize()
                .expect("the binary that $STILLPOINT names"),
            None => build(),
        }
    })
}

/// Returns a command that runs [`stillpoint`]. Its own temporary files are in `$STILLPOINT_TMPDIR` if
/// that is set: where tests run in a virtual machine, `$TMPDIR` is shared with the host.
pub fn command() -> Command {
    let mut command = Command::new(stillpoint());
    if let Some(folder) = env::var_os("STILLPOINT_TMPDIR") {
        command.env("TMPDIR", folder);
    }
    command
}

fn build() -> PathBuf {
    let directory = profile_directory();
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // With the features of the whole workspace, as in the `cargo test --workspace` that runs this
    // test: the dependencies are then built already.
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(repository())
        .args(["build", "--quiet", "--workspace", "--bins"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target_directory())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "stillpoint does not build:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let binary = directory.join("stillpoint");
    assert!(binary.exists(), "{} was not built", binary.display());
    binary
}
