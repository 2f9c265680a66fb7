//! FIFOs, devices, folders and links that lead nowhere, wherever a client or a file names a path:
//! each request is answered, and each session ends.

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, core_of_program};
use tempfile::TempDir;

const SOURCE: &str = "int main(void) {\n    int x = 1;\n    x++;\n    return x;\n}\n";

/// What may stand where a file is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Odd {
    Fifo,
    Device,
    Folder,
    Loop,
    Socket,
    /// A terabyte of zeros that takes no room.
    Sparse,
}

const ALL: [Odd; 6] = [
    Odd::Fifo,
    Odd::Device,
    Odd::Folder,
    Odd::Loop,
    Odd::Socket,
    Odd::Sparse,
];

/// Puts it in the place of whatever is there.
fn put(odd: Odd, path: &Path) {
    let _ = fs::remove_file(path);
    match odd {
        Odd::Fifo => mkfifo(path, Mode::S_IRWXU).expect("a FIFO"),
        Odd::Device => symlink("/dev/zero", path).expect("a link"),
        Odd::Folder => fs::create_dir(path).expect("a folder"),
        Odd::Loop => symlink(path, path).expect("a link"),
        Odd::Socket => drop(UnixListener::bind(path).expect("a socket")),
        Odd::Sparse => {
            let file = fs::File::create(path).expect("a file");
            file.set_len(1 << 40).expect("a sparse file");
        }
    }
}

/// Runs a command in a folder.
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .status();
    assert!(status.expect("it starts").success(), "{program}");
}

/// A small program with its source, in a folder of its own.
fn small_program(flags: &[&str]) -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().canonicalize().expect("its path");
    fs::write(place.join("small.c"), SOURCE).expect("the source");
    let source = place.join("small.c");
    let text = source.to_str().expect("UTF-8");
    let arguments = ["-g", "-o", "small", text];
    run(&place, "gcc", &[&arguments[..], flags].concat());
    let program = place.join("small");
    (folder, program, source)
}

/// Runs a program to `main`, sends all requests that read files, and runs it to its end.
fn look_at(program: &Path, source: &Path, settings: Value) {
    let mut client = DapClient::spawn();
    client.launch_program(program, settings);
    let source = json!({"path": source});
    let breakpoints = json!({"source": source, "breakpoints": [{"line": 3, "column": 2}]});
    client.request_ok("setBreakpoints", breakpoints);
    client.request_ok(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "main"}]}),
    );
    client.configure();
    let stop = client.expect_stopped_by(&["breakpoint", "function breakpoint"]);
    let thread = json!({"threadId": stop["threadId"]});
    let frame = client.request_ok("stackTrace", thread)["stackFrames"][0].clone();
    for (command, arguments) in [
        ("source", json!({"source": source, "sourceReference": 0})),
        ("breakpointLocations", json!({"source": source, "line": 3})),
        ("scopes", json!({"frameId": frame["id"]})),
        ("stillpoint/context", json!({})),
        ("loadedSources", json!({})),
        (
            "evaluate",
            json!({"expression": "no_such_name", "frameId": frame["id"], "context": "watch"}),
        ),
    ] {
        // The request has a response, of any kind.
        let _ = client.request(command, arguments);
    }
    client.disconnect();
}

#[test]
fn sources_that_are_no_files() {
    for odd in ALL {
        let (_folder, program, source) = small_program(&[]);
        put(odd, &source);
        look_at(&program, &source, json!({}));
    }
}

#[test]
fn targets_of_source_maps_that_are_no_files() {
    for odd in [Odd::Fifo, Odd::Device] {
        let (folder, program, source) = small_program(&[]);
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        put(odd, &elsewhere.join("small.c"));
        let map = json!({"sourceMap": [[source.parent(), elsewhere]]});
        look_at(&program, &elsewhere.join("small.c"), map);
    }
}

#[test]
fn debug_files_that_are_no_files() {
    for odd in ALL {
        let (folder, program, source) = small_program(&[]);
        let objcopy = |arguments: &[&str]| run(folder.path(), "objcopy", arguments);
        objcopy(&["--only-keep-debug", "small", "small.debug"]);
        objcopy(&["--strip-debug", "small"]);
        objcopy(&["--add-gnu-debuglink=small.debug", "small"]);
        put(odd, &folder.path().join("small.debug"));
        look_at(&program, &source, json!({}));
    }
}

#[test]
fn split_units_that_are_no_files() {
    for odd in ALL {
        let (folder, program, source) = small_program(&["-gsplit-dwarf"]);
        let mut units = 0;
        for entry in fs::read_dir(folder.path()).expect("the folder") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "dwo") {
                put(odd, &path);
                units += 1;
            }
        }
        assert!(units > 0, "no split unit");
        put(odd, &folder.path().join("small.dwp"));
        look_at(&program, &source, json!({}));
    }
}

#[test]
fn cache_files_that_are_no_files() {
    let (folder, program, source) = small_program(&["-Wl,--build-id=0x0123456789abcdef"]);
    for odd in ALL {
        let cache = folder.path().join(format!("cache-{odd:?}"));
        fs::create_dir(&cache).expect("a folder");
        for kind in ["names", "sections", "index"] {
            put(odd, &cache.join(format!("0123456789abcdef.{kind}")));
        }
        look_at(&program, &source, json!({"symbolCache": cache}));
        // The folder itself.
        let place = folder.path().join(format!("place-{odd:?}"));
        put(odd, &place);
        look_at(&program, &source, json!({"symbolCache": place}));
    }
}

/// Launches a program that must be refused; returns the message.
fn refused(command: &str, settings: Value) -> String {
    let mut client = DapClient::spawn();
    client.initialize();
    let message = client.request_error(command, settings);
    client.disconnect();
    message
}

#[test]
fn environment_files_that_are_no_files() {
    let (folder, program, _) = small_program(&[]);
    for odd in ALL {
        let file = folder.path().join(format!("env-{odd:?}"));
        put(odd, &file);
        let message = refused("launch", json!({"program": program, "envFile": file}));
        assert!(message.contains("envFile"), "{odd:?}: {message}");
        let why = match odd {
            Odd::Loop => "symbolic links",
            Odd::Sparse => "larger than",
            _ => "not a regular file",
        };
        assert!(message.contains(why), "{odd:?}: {message}");
    }
}

#[test]
fn programs_and_core_files_that_are_no_files() {
    let (folder, program, _) = small_program(&[]);
    for odd in ALL {
        let file = folder.path().join(format!("file-{odd:?}"));
        put(odd, &file);
        if matches!(odd, Odd::Fifo | Odd::Sparse) {
            // Executable, as far as permissions go.
            let permissions = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, permissions).expect("permissions");
        }
        refused("launch", json!({"program": file}));
        if odd != Odd::Folder {
            refused("launch", json!({"program": program, "cwd": file}));
        }
        refused("attach", json!({"coreFile": file}));
    }
}

#[test]
fn programs_that_have_been_replaced() {
    for odd in [Odd::Fifo, Odd::Device, Odd::Sparse] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("its path");
        let text = "int pause(void);\nint main(int count, char **all)\n{\n    (void)all;\n    \
                    if (count == 1)\n        __builtin_trap();\n    return pause();\n}\n";
        fs::write(place.join("replaced.c"), text).expect("the source");
        run(&place, "gcc", &["-g", "-o", "replaced", "replaced.c"]);
        let (program, source) = (place.join("replaced"), place.join("replaced.c"));
        let core = core_of_program(&program, &place);
        let running = Debuggee::start_program(&program, &["stay"]);
        put(odd, &program);
        put(odd, &source);

        let mut client = DapClient::spawn();
        client.attach(running.pid(), json!({"stopOnEntry": true}));
        client.configure();
        let stop = client.expect_stopped_by(&["entry", "pause"]);
        let thread = json!({"threadId": stop["threadId"]});
        let stack = client.request_ok("stackTrace", thread)["stackFrames"].clone();
        assert!(stack[0].is_object(), "{stack}");
        client.disconnect();
        drop(running);

        let Some(core) = core else { continue };
        let mut client = DapClient::spawn();
        client.open_core(&core, json!({}));
        client.configure();
        client.expect_stopped("exception");
        client.disconnect();
    }
}

#[test]
fn shared_debug_files_that_are_no_files() {
    if !skips::has_command("dwz") {
        return;
    }
    for odd in ALL {
        let (folder, program, source) = small_program(&[]);
        let place = folder.path();
        let text = source.to_str().expect("UTF-8");
        run(place, "gcc", &["-g", "-o", "other", text]);
        run(
            place,
            "dwz",
            &["-m", "common", "-M", "common", "small", "other"],
        );
        put(odd, &place.join("common"));
        look_at(&program, &source, json!({}));
    }
}

/// A program that loads a library when it begins, and traps or pauses; both in a folder.
fn program_with_library(place: &Path) -> PathBuf {
    let library = "int add(int a, int b)\n{\n    return a + b;\n}\n";
    let program = "#include <stdio.h>\nint add(int, int);\nint pause(void);\nint main(int count, char **all)\n{\n    (void)all;\n    \
                   if (add(count, 1) == 2)\n        __builtin_trap();\n    puts(\"loaded\");\n    fflush(stdout);\n    return pause();\n}\n";
    fs::write(place.join("add.c"), library).expect("the source");
    fs::write(place.join("adds.c"), program).expect("the source");
    run(
        place,
        "gcc",
        &["-g", "-shared", "-fPIC", "-o", "libadd.so", "add.c"],
    );
    let link = [
        "-g",
        "-o",
        "adds",
        "adds.c",
        "-L.",
        "-ladd",
        "-Wl,-rpath,$ORIGIN",
    ];
    run(place, "gcc", &link);
    place.join("adds")
}

#[test]
fn libraries_that_have_been_replaced() {
    for odd in ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("its path");
        let program = program_with_library(&place);
        let core = core_of_program(&program, &place);
        let running = Debuggee::start_program(&program, &["stay"]);
        assert_eq!(running.read_line(), "loaded");
        put(odd, &place.join("libadd.so"));
        put(odd, &place.join("add.c"));

        let mut client = DapClient::spawn();
        client.attach(running.pid(), json!({"stopOnEntry": true}));
        client.set_function_breakpoints(&["add"]);
        client.configure();
        let stop = client.expect_stopped_by(&["entry", "pause"]);
        let stack = client.request_ok("stackTrace", json!({"threadId": stop["threadId"]}));
        assert!(stack["stackFrames"][0].is_object(), "{odd:?}: {stack}");
        client.request_ok("modules", json!({}));
        client.disconnect();
        drop(running);

        let Some(core) = core else { continue };
        let mut client = DapClient::spawn();
        client.open_core(&core, json!({}));
        client.configure();
        let stop = client.expect_stopped("exception");
        client.request_ok("stackTrace", json!({"threadId": stop["threadId"]}));
        client.disconnect();

        // From the start; the loader itself waits at a FIFO.
        if odd == Odd::Fifo {
            continue;
        }
        let mut client = DapClient::spawn();
        client.launch_program(&program, json!({}));
        client.configure();
        assert_eq!(client.expect_exit(), 127, "{odd:?}");
        client.disconnect();
    }
}

#[test]
fn programs_of_core_files_that_are_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().canonicalize().expect("its path");
    let program = program_with_library(&place);
    let Some(core) = core_of_program(&program, &place) else {
        return;
    };
    for odd in ALL {
        let file = place.join(format!("file-{odd:?}"));
        put(odd, &file);
        let mut client = DapClient::spawn();
        client.initialize();
        // Refused, or opened without it: answered in both cases.
        let _ = client.request("attach", json!({"coreFile": core, "program": file}));
        client.disconnect();
    }
}

#[test]
fn logs_that_are_no_files() {
    let (folder, _, _) = small_program(&[]);
    for odd in ALL {
        let log = folder.path().join(format!("log-{odd:?}"));
        put(odd, &log);
        let mut client = DapClient::spawn_with(|command| {
            command
                .arg("--log")
                .arg(&log)
                .env("STILLPOINT_LOG", "trace");
        });
        client.initialize();
        client.disconnect();
        if odd == Odd::Sparse {
            let kept = fs::metadata(&log).expect("the log");
            assert!(kept.len() > 1 << 40, "it is appended to");
        }
    }
}

#[test]
fn streams_that_are_no_files() {
    let (folder, program, _) = small_program(&[]);
    for odd in ALL {
        let file = folder.path().join(format!("stream-{odd:?}"));
        put(odd, &file);
        let settings = json!({"program": program, "stdio": {"stdin": file}});
        let mut client = DapClient::spawn();
        client.initialize();
        let launch = client.send("launch", settings);
        match odd {
            // The program's open waits for a writer, which never comes.
            Odd::Fifo => {}
            Odd::Device | Odd::Sparse => {
                client.wait_event("initialized");
                client.configure();
                client.response(launch).expect("launched");
                client.expect_exit();
            }
            Odd::Folder | Odd::Loop | Odd::Socket => {
                let why = client.response(launch).expect_err("refused").to_string();
                assert!(why.contains("stdio"), "{odd:?}: {why}");
            }
        }
        client.disconnect();
    }
}
