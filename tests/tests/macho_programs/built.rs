//! The programs, built for macOS, and what the tests ask of them.

use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture, repository};
use tempfile::TempDir;

/// A program and its library, built with the same flags.
pub struct Built {
    folder: TempDir,
    images: &'static [&'static str],
    loader: Fixture,
}

pub fn source(name: &str) -> PathBuf {
    let folder = repository().join("tests/darwin/programs");
    folder.join(name).canonicalize().expect("a source")
}

/// Returns the number of the line with a mark.
pub fn line(name: &str, mark: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("a source");
    let end = format!("// {mark}");
    let at = text.lines().position(|line| line.ends_with(&end));
    at.unwrap_or_else(|| panic!("no mark {mark}")) as u64 + 1
}

/// Returns the path of one of llvm's tools, of the newest release.
fn tool(name: &str) -> PathBuf {
    let releases = (11..30).rev();
    let mut paths = releases.map(|it| PathBuf::from(format!("/usr/lib/llvm-{it}/bin/{name}")));
    let found = paths.find(|path| path.exists());
    found.unwrap_or_else(|| PathBuf::from(name))
}

fn run(command: &mut Command) {
    let output = command.output().expect("a command that starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

const LIBRARY: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ x86_64-macos ]
    symbols: [ dyld_stub_binder, __tlv_bootstrap ]
...
";

/// Links an image of the folder from its objects.
fn link(folder: &Path, output: &str, objects: &[&str], flags: &[&str]) {
    let library = folder.join("libSystem.tbd");
    std::fs::write(&library, LIBRARY).expect("written");
    // For this release there is nothing that the loader would have to relocate.
    let mut linker = Command::new(tool("ld64.lld"));
    linker.args(["-arch", "x86_64", "-platform_version"]);
    linker.args(["macos", "10.15", "10.15"]).args(flags);
    linker.arg("-o").arg(folder.join(output));
    linker.args(objects.iter().map(|object| folder.join(object)));
    run(linker.arg(library));
}

fn compile(folder: &Path, name: &str, object: &str, flags: &[&str]) {
    let mut compile = Command::new("clang");
    compile.args(["-target", "x86_64-apple-macos10.15", "-c"]);
    compile.args(["-fno-stack-protector"]).args(flags);
    run(compile.arg(source(name)).arg("-o").arg(folder.join(object)));
}

/// Builds `walk.c` and the library that it loads.
pub fn build(flags: &[&str]) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [&["-g"], flags].concat();
    compile(folder.path(), "walk.c", "walk.o", &flags);
    link(folder.path(), "walk", &["walk.o"], &["-e", "_program"]);
    compile(folder.path(), "late.c", "late.o", &flags);
    link(folder.path(), "liblate.dylib", &["late.o"], &["-dylib"]);
    Built {
        folder,
        images: &["walk", "liblate.dylib"],
        loader: Fixture::of("darwin/loader.c"),
    }
}

/// Builds `objects.m` and its runtime, which has no debug info.
pub fn build_objects(flags: &[&str]) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let own = [&["-g", "-fobjc-runtime=macosx-10.15"], flags].concat();
    compile(folder.path(), "objects.m", "objects.o", &own);
    compile(
        folder.path(),
        "runtime.c",
        "runtime.o",
        &["-O1", "-fno-builtin", "-fblocks"],
    );
    let objects = ["objects.o", "runtime.o"];
    link(folder.path(), "objects", &objects, &["-e", "_program"]);
    Built {
        folder,
        images: &["objects"],
        loader: Fixture::of("darwin/loader.c"),
    }
}

/// Builds `own.c`.
pub fn build_own(flags: &[&str]) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [&["-g", "-O0"], flags].concat();
    compile(folder.path(), "own.c", "own.o", &flags);
    link(folder.path(), "own", &["own.o"], &["-e", "_program"]);
    Built {
        folder,
        images: &["own"],
        loader: Fixture::of("darwin/loader.c"),
    }
}

/// Builds `swift.c`.
pub fn build_swift(flags: &[&str]) -> Built {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [&["-O0"], flags].concat();
    compile(folder.path(), "swift.c", "swift.o", &flags);
    link(folder.path(), "swift", &["swift.o"], &["-e", "_program"]);
    Built {
        folder,
        images: &["swift"],
        loader: Fixture::of("darwin/loader.c"),
    }
}

impl Built {
    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().expect("a path of ASCII").to_owned()
    }

    /// Starts the program up to its entry.
    pub fn start(&self) -> (Debuggee, ChildStdin) {
        self.start_with(&[])
    }

    pub fn start_with(&self, further: &[&str]) -> (Debuggee, ChildStdin) {
        let images: Vec<String> = self.images.iter().map(|name| self.path(name)).collect();
        let mut arguments: Vec<&str> = images.iter().map(String::as_str).collect();
        arguments.extend(further);
        let (debuggee, input) = Debuggee::start_with_input(&self.loader, &arguments);
        assert_eq!(debuggee.read_line(), "ready");
        (debuggee, input)
    }
}

pub fn breakpoint(client: &mut DapClient, name: &str, breakpoints: serde_json::Value) -> bool {
    let path = source(name);
    let path = path.to_str().expect("a path of ASCII");
    let breakpoints = breakpoints.as_array().expect("a list").clone();
    let set = client.set_source_breakpoints(path, breakpoints);
    set.iter().all(|it| it["verified"] == true)
}

pub fn expect_line(client: &mut DapClient, name: &str, mark: &str) {
    let frame = client.top_frame();
    let path = frame["source"]["path"].as_str().map(Path::new);
    assert_eq!(path, Some(source(name).as_path()), "{frame}");
    assert_eq!(frame["line"], line(name, mark), "{frame}");
}
