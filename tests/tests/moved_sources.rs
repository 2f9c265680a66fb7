//! Sources that are not where the compiler found them.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use stillpoint_tests::{DapClient, Fixture};

const MAIN: &str = r#"#include "../lib/twice.h"
int main(void) {
    int n = twice(4);
    return n - 8;
}
"#;
const HEADER: &str = "static int twice(int n) {\n    return 2 * n;\n}\n";

/// A project, compiled in a folder that it is moved from.
struct Moved {
    _folder: tempfile::TempDir,
    program: PathBuf,
    /// Where it is now.
    here: PathBuf,
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn compile_with(compiler: &str, source: &Path, program: &Path, flags: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(["-g", "-O0"]).args(flags).arg(source);
    let status = command.arg("-o").arg(program).status();
    assert!(status.expect("the compiler runs").success());
}

fn moved() -> Moved {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let (there, here) = (root.join("build/project"), root.join("home/project"));
    write(&there.join("src/main.c"), MAIN);
    write(&there.join("lib/twice.h"), HEADER);
    let program = root.join("program");
    compile_with("gcc", &there.join("src/main.c"), &program, &[]);
    fs::create_dir_all(root.join("home")).expect("a folder");
    fs::rename(&there, &here).expect("it moves");
    Moved {
        _folder: folder,
        program,
        here,
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn breakpoint_binds_by_path_suffix() {
    let moved = moved();
    let main = moved.here.join("src/main.c");
    let mut client = DapClient::spawn();
    client.launch_program(&moved.program, json!({}));
    let set = client.set_source_breakpoints(text(&main), vec![json!({"line": 3})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    assert_eq!(set[0]["source"]["path"], text(&main));
    let message = set[0]["message"].as_str().expect("a message");
    assert!(message.contains("build/project/src/main.c"), "{message}");
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.top_frame()["source"]["path"], text(&main));
    // What lies beside it has moved with it.
    client.step_in();
    let frame = client.top_frame();
    let header = moved.here.join("lib/twice.h");
    assert_eq!(frame["source"]["path"], text(&header), "{frame}");
    assert_eq!(frame["source"]["presentationHint"], Value::Null);
    let places = client.request_ok(
        "breakpointLocations",
        json!({"source": {"path": header}, "line": 2}),
    );
    assert_eq!(places["breakpoints"][0]["line"], 2);
    client.disconnect();
}

#[test]
fn one_common_component_does_not_bind() {
    let moved = moved();
    let elsewhere = moved.here.with_file_name("main.c");
    fs::copy(moved.here.join("src/main.c"), &elsewhere).expect("a copy");
    let mut client = DapClient::spawn();
    client.launch_program(&moved.program, json!({}));
    let set = client.set_source_breakpoints(text(&elsewhere), vec![json!({"line": 3})]);
    assert_eq!(set[0]["verified"], false, "{}", set[0]);
    client.disconnect();
}

#[test]
fn existing_source_is_not_replaced() {
    let moved = moved();
    let there = moved.here.with_file_name("../build/project/src/main.c");
    write(&there, MAIN);
    let main = moved.here.join("src/main.c");
    let mut client = DapClient::spawn();
    client.launch_program(&moved.program, json!({}));
    let set = client.set_source_breakpoints(text(&main), vec![json!({"line": 3})]);
    assert_eq!(set[0]["verified"], false, "{}", set[0]);
    client.disconnect();
}

#[test]
fn rust_library_sources_are_found_by_rustc() {
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc");
    let sysroot = String::from_utf8(sysroot.stdout).expect("a path");
    if Path::new(sysroot.trim())
        .join("lib/rustlib/src/rust/library")
        .exists()
    {
        return skips::skip("rustc without rust-src");
    }
    let fixture = Fixture::of("rust/println.rs");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let library = root.join("sysroot/lib/rustlib/src/rust/library");
    let rt = library.join("std/src/rt.rs");
    write(&rt, "// The text does not matter here.\n");
    // File systems note times more coarsely than the program's was set.
    touch(&rt, SystemTime::now() + Duration::from_secs(60));
    let rustc = root.join("bin/rustc");
    let request_log = root.join("asked");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\necho {}\n",
        request_log.display(),
        root.join("sysroot").display()
    );
    write(&rustc, &script);
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).expect("a program");
    let path = std::env::var("PATH").expect("a PATH");
    let bin = format!("{}:{path}", root.join("bin").display());
    let mut client = DapClient::spawn_with(|command| {
        command.env("PATH", bin);
    });
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["main"]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert!(!request_log.exists(), "not needed yet");
    let of_rt = |frame: &Value| {
        let path = frame["source"]["path"].as_str().unwrap_or_default();
        path.ends_with("/std/src/rt.rs").then(|| path.to_owned())
    };
    let shown: Vec<String> = client.stack().iter().filter_map(of_rt).collect();
    assert!(shown[0].starts_with("/rustc/"), "{shown:?}");
    client.wait_event_where("invalidated", |body| body["areas"] == json!(["stacks"]));
    let frames = client.stack();
    let shown: Vec<String> = frames.iter().filter_map(of_rt).collect();
    assert_eq!(shown[0], text(&rt));
    // Paths of missing files stay as they are.
    assert!(frames.iter().any(|frame| {
        let path = frame["source"]["path"].as_str().unwrap_or_default();
        path.starts_with("/rustc/") && frame["source"]["presentationHint"] == "deemphasize"
    }));
    // And back.
    let line = frames
        .iter()
        .find(|frame| of_rt(frame).is_some())
        .map(|frame| frame["line"].clone());
    let set = client.set_source_breakpoints(text(&rt), vec![json!({"line": line})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    // The right path, but our text is not that of the library.
    let message = set[0]["message"].as_str().expect("a message");
    assert!(!message.contains("matched to"), "{message}");
    assert!(message.contains("line numbers may be wrong"), "{message}");
    assert_eq!(
        fs::read_to_string(&request_log).expect("asked"),
        "--print sysroot\n",
        "once"
    );
    client.disconnect();
}

#[test]
fn rust_library_sources_of_the_toolchain_are_shown_at_once() {
    let version = std::process::Command::new("rustc").arg("-vV").output();
    let version = String::from_utf8(version.expect("rustc").stdout).expect("text");
    let commit = version
        .lines()
        .find_map(|line| line.strip_prefix("commit-hash: "));
    let commit = commit.filter(|it| it.len() > 9);
    let Some(commit) = commit else {
        return skips::skip("rustc with a commit");
    };
    let fixture = Fixture::of("rust/println.rs");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let toolchain = root.join("toolchains/own/lib/rustlib");
    let rt = toolchain.join("src/rust/library/std/src/rt.rs");
    write(&rt, "// The text does not matter here.\n");
    let manifest = format!(
        "[pkg.rust]\nversion = \"1.2.3 ({} 2026-01-01)\"\n",
        &commit[..9]
    );
    write(
        &toolchain.join("multirust-channel-manifest.toml"),
        &manifest,
    );
    let mut client = DapClient::spawn_with(|command| {
        command.env("RUSTUP_HOME", &root);
    });
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["main"]);
    client.configure();
    client.expect_stopped("breakpoint");
    let frames = client.stack();
    let paths = frames
        .iter()
        .filter_map(|frame| frame["source"]["path"].as_str());
    let paths: Vec<&str> = paths
        .filter(|path| path.ends_with("/std/src/rt.rs"))
        .collect();
    assert_eq!(paths.first(), Some(&text(&rt)), "{frames:#?}");
    client.disconnect();
}

/// The message of a breakpoint in a source that was changed after compiling.
fn message_after(compiler: &str, change: impl FnOnce(&Path)) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let (source, program) = (root.join("fresh.c"), root.join("program"));
    write(&source, "int main(void) {\n    return 0;\n}\n");
    compile_with(compiler, &source, &program, &["-gdwarf-5"]);
    change(&source);
    let mut client = DapClient::spawn();
    client.launch_program(&program, json!({}));
    let set = client.set_source_breakpoints(text(&source), vec![json!({"line": 2})]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.disconnect();
    set[0]["message"].clone()
}

fn touch(path: &Path, time: SystemTime) {
    let file = fs::File::options().append(true).open(path).expect("a file");
    file.set_modified(time).expect("a time");
}

#[test]
fn newer_source_is_reported() {
    let hour = Duration::from_secs(3600);
    assert_eq!(message_after("gcc", |_| {}), Value::Null);
    let newer = message_after("gcc", |source| touch(source, SystemTime::now() + hour));
    let newer = newer.as_str().expect("a message");
    assert!(newer.contains("newer than"), "{newer}");
}

#[test]
fn changed_source_is_reported() {
    let hour = Duration::from_secs(3600);
    if !skips::has_command("clang") {
        return;
    }
    // The checksum knows better than the time.
    let same = message_after("clang", |source| touch(source, SystemTime::now() + hour));
    assert_eq!(same, Value::Null);
    let changed = message_after("clang", |source| {
        write(source, "int main(void) {\n    return 1;\n}\n");
        touch(source, SystemTime::now() - hour);
    });
    let changed = changed.as_str().expect("a message");
    assert!(
        changed.contains("differs from the compiled file"),
        "{changed}"
    );
}

/// An adapter that sees `folder` as one of the system's; none where that is not allowed.
fn spawn_with_library(folder: &Path) -> Option<(DapClient, &'static Path)> {
    let system = Path::new("/usr/lib/locale");
    let script = format!("mount --bind {} {}", text(folder), text(system));
    let private = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let mut probe = Command::new("unshare");
    let allowed = probe.args(private).arg(&script).output();
    if !allowed.is_ok_and(|it| it.status.success()) {
        skips::skip("mount namespaces of users");
        return None;
    }
    let client = DapClient::spawn_with(|command| {
        let adapter = command.get_program().to_owned();
        command.env("ADAPTER", adapter);
        let streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
        let [stdin, stdout, stderr] = streams;
        let mut wrapped = Command::new("unshare");
        wrapped
            .args(private)
            .arg(format!("{script} && exec \"$ADAPTER\""))
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        *command = wrapped;
    });
    Some((client, system))
}

#[test]
fn system_library_without_sources_is_disassembled() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let source = root.join("gone/run.c");
    write(
        &source,
        "int run(int (*f)(int)) {\n    int r = f(3);\n    return r + 1;\n}\n",
    );
    let (libraries, library) = (root.join("libraries"), root.join("libraries/librun.so"));
    fs::create_dir_all(&libraries).expect("a folder");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,librun.so"];
    compile_with("gcc", &source, &library, &flags);
    fs::rename(root.join("gone"), root.join("kept")).expect("it moves");
    let main = root.join("main.c");
    write(
        &main,
        "int run(int (*f)(int));\n\
         static int twice(int n) {\n    return 2 * n;\n}\n\
         int main(void) { return run(twice) - 7; }\n",
    );
    let program = root.join("program");
    compile_with(
        "gcc",
        &main,
        &program,
        &["-Wl,--no-as-needed,-rpath,/usr/lib/locale", text(&library)],
    );
    for map in [
        json!({}),
        json!({text(&root.join("gone")): text(&root.join("kept"))}),
    ] {
        let Some((mut client, _)) = spawn_with_library(&libraries) else {
            return;
        };
        let is_mapped = map != json!({});
        client.launch_program(&program, json!({"sourceMap": map}));
        client.set_source_breakpoints(text(&main), vec![json!({"line": 3})]);
        client.configure();
        client.expect_stopped("breakpoint");
        let frames = client.stack();
        let run = &frames[1];
        assert_eq!(run["name"], "run");
        let source = &run["source"];
        if is_mapped {
            assert_eq!(source["path"], text(&root.join("kept/run.c")), "{run}");
            assert_eq!(
                (&run["line"], &source["sourceReference"]),
                (&json!(2), &Value::Null)
            );
        } else {
            assert_eq!(source["path"], Value::Null, "{run}");
            assert_eq!(run["presentationHint"], "subtle");
            let code = client.request_ok("source", json!({"source": source, "sourceReference": 0}));
            let code = code["content"].as_str().expect("a text");
            assert!(code.contains("call"), "{code}");
        }
        client.disconnect();
    }
}

/// Builds that can be repeated record `.` or `/proc/self/cwd` as their folder.
#[test]
fn relative_paths_are_below_the_working_directory_or_the_programs_folder() {
    let moved = moved();
    let (main, header) = (
        moved.here.join("src/main.c"),
        moved.here.join("lib/twice.h"),
    );
    let elsewhere = moved.here.parent().expect("a folder");
    for (prefix, program, cwd) in [
        ("/proc/self/cwd", elsewhere.join("program"), &*moved.here),
        (".", elsewhere.join("program"), &*moved.here),
        (".", moved.here.join("program"), elsewhere),
    ] {
        let mut command = Command::new("gcc");
        command.current_dir(&moved.here).args(["-g", "-O0"]);
        command.arg(format!(
            "-ffile-prefix-map={}={prefix}",
            moved.here.display()
        ));
        command.args(["src/main.c", "-o"]).arg(&program);
        assert!(command.status().expect("gcc runs").success());
        let mut client = DapClient::spawn();
        client.launch_program(&program, json!({"cwd": cwd}));
        client.set_function_breakpoints(&["twice"]);
        client.configure();
        client.expect_stopped("function breakpoint");
        let stack = client.stack();
        for (frame, path) in stack.iter().zip([&header, &main]) {
            let shown = frame["source"]["path"].as_str().expect("a path");
            let shown = fs::canonicalize(shown).unwrap_or_else(|_| shown.into());
            assert_eq!(shown, *path, "{prefix}: {frame}");
            assert_eq!(frame["source"]["presentationHint"], Value::Null, "{frame}");
        }
        client.disconnect();
    }
}

const LIBRARY_HEADER: &str = "int each(int (*visit)(int), int last);\n\
    static inline __attribute__((always_inline)) int one(int n) {\n    int m = n;\n    return m - n + 1;\n}\n";
const LIBRARY: &str = "#include \"library.h\"\n\
    int each(int (*visit)(int), int last) {\n    int sum = 0;\n    for (int n = 0; n <= last; n++)\n        \
    sum += visit(n);\n    return sum;\n}\n";
const USER: &str = "#include \"../library/library.h\"\n\
    int twice(int n) {\n    return 2 * n;\n}\n\
    int main(void) {\n    int sum = each(twice, 1);\n    sum += one(sum);\n    return sum - 3;\n}\n";

/// Compiles a user's program with a library, and moves the library's sources away.
fn with_library(folder: &Path) -> (PathBuf, PathBuf) {
    let (library, user) = (folder.join("library"), folder.join("user"));
    write(&library.join("library.h"), LIBRARY_HEADER);
    write(&library.join("library.c"), LIBRARY);
    write(&user.join("main.c"), USER);
    let program = folder.join("program");
    let object = library.join("library.c");
    compile_with("gcc", &user.join("main.c"), &program, &[text(&object)]);
    fs::rename(&library, folder.join("elsewhere")).expect("it moves");
    (program, user.join("main.c"))
}

#[test]
fn steps_pass_code_whose_source_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let (program, main) = with_library(&root);
    let start = |settings: Value| {
        let mut client = DapClient::spawn();
        client.launch_program(&program, settings);
        client.set_source_breakpoints(text(&main), vec![json!({"line": 6})]);
        client.configure();
        client.expect_stopped("breakpoint");
        client
    };
    let place = |client: &mut DapClient| {
        let frame = client.top_frame();
        let line = frame["line"].as_u64().expect("a line");
        (frame["name"].as_str().unwrap_or_default().to_owned(), line)
    };
    let mut client = start(json!({}));
    for (step, name, line) in [
        (DapClient::step_in as fn(&mut DapClient), "twice", 3),
        (DapClient::next, "twice", 4),
        // The library calls it again.
        (DapClient::next, "twice", 3),
        (DapClient::step_out, "main", 6),
        (DapClient::next, "main", 7),
        // A call that is inlined.
        (DapClient::step_in, "main", 8),
    ] {
        step(&mut client);
        let (at, number) = place(&mut client);
        let here = (at.split('(').next().unwrap_or_default(), number);
        assert_eq!(here, (name, line));
    }
    client.disconnect();

    // They stop there if the user has the sources, wants it so, or began there.
    let elsewhere = root.join("elsewhere");
    for settings in [
        json!({"sourceMap": {root.join("library").to_str().expect("a path"): elsewhere}}),
        json!({"stepFilters": ["!*/library/*"]}),
        json!({"stepFilters": false}),
    ] {
        let mut client = start(settings.clone());
        client.step_in();
        assert_eq!(place(&mut client).1, 3, "{settings}");
        assert!(place(&mut client).0.starts_with("each"), "{settings}");
        client.step_in();
        client.step_in();
        client.disconnect();
    }
    let mut client = start(json!({}));
    client.set_function_breakpoints(&["each"]);
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.next();
    assert_eq!(place(&mut client).1, 4);
    client.disconnect();
}
