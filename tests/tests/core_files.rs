//! Core files: looking at what a program has left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE, core_of, core_of_program};

/// A client that has opened a core file and stopped where the program ended.
fn opened(core: &Path, settings: Value) -> (DapClient, Value) {
    let mut client = DapClient::spawn();
    client.open_core(core, settings);
    client.configure();
    let stop = client.expect_stopped("exception");
    (client, stop)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Function and line of the frames that have a source.
fn frames(client: &mut DapClient) -> Vec<(String, u64)> {
    let stack = client.stack();
    let with_source = stack
        .iter()
        .filter(|frame| frame["source"]["path"].is_string());
    let line = |frame: &Value| {
        let name = frame["name"].as_str().unwrap_or_default().to_owned();
        (name, frame["line"].as_u64().unwrap_or(0))
    };
    with_source.map(line).collect()
}

#[test]
fn core_of_a_c_program_shows_the_crash() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let mut live = DapClient::spawn();
    live.launch(&fixture, json!({}));
    live.configure();
    live.expect_stopped("exception");

    let (mut client, stop) = opened(&core, json!({}));
    assert_eq!(stop["description"], "signal SIGSEGV");
    let text = stop["text"].as_str().unwrap_or_default();
    let expected = "killed by SIGSEGV: read of address 0x0: `list->value`, but `list` is null";
    assert!(text.contains(expected), "{text}");
    client.expect_line(&fixture, "crash");
    assert_eq!(frames(&mut client), frames(&mut live));
    // Functions of the C library without a symbol have their addresses as names.
    let bare = |name: String| {
        name.split_once("0x")
            .map_or(name.clone(), |_| "0x".to_owned())
    };
    let names = |client: &mut DapClient| -> Vec<String> {
        client.function_names().into_iter().map(bare).collect()
    };
    assert_eq!(names(&mut client), names(&mut live));
    let (ours, theirs) = (client.locals(), live.locals());
    for name in ["list", "length", "total", "i"] {
        assert_eq!(ours[name], theirs[name], "{name}");
    }
    assert_eq!(ours["i"], "3");
    assert_eq!(ours["total"], "6");

    // Statics, memory behind pointers, data in the executable only, thread-local variables.
    assert_eq!(client.evaluate("first.next->value"), "2");
    assert!(client.evaluate("first.next->name").contains("middle"));
    assert_eq!(client.evaluate("own"), "7");
    assert_eq!(client.evaluate("total * 2 + length"), "17");
    assert_eq!(
        client.evaluate(&format!("${}", MACHINE.pc)),
        client.evaluate("$pc")
    );
    live.disconnect();

    let threads = client.request_ok("threads", json!({}));
    let threads = threads["threads"].as_array().expect("a list").clone();
    assert_eq!(threads.len(), 3);
    assert_eq!(threads[0]["id"], stop["threadId"], "the crash first");
    let mut found = Vec::new();
    for thread in &threads {
        client.select_thread(thread["id"].as_i64().expect("a number"));
        for (function, line) in frames(&mut client) {
            if line == fixture.line("waits") {
                assert_eq!(client.evaluate("own"), "9");
            }
            found.push((function, line));
        }
    }
    for (function, place) in [
        ("waits", "waits"),
        ("main", "main_waits"),
        ("crashes", "calls"),
    ] {
        let frame = (function.to_owned(), fixture.line(place));
        assert!(found.contains(&frame), "{frame:?} is not in {found:?}");
    }
    let modules = client.request_ok("modules", json!({}));
    let modules = modules["modules"].to_string();
    assert!(
        modules.contains("libc.so") && modules.contains("vdso"),
        "{modules}"
    );
    client.disconnect();
}

#[test]
fn containers_and_classes_of_cpp_are_read() {
    let fixture = Fixture::of("cpp/crash.cpp");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let (mut client, stop) = opened(&core, json!({}));
    assert_eq!(stop["description"], "signal SIGABRT");
    let audit = frame_of(&mut client, "audit");
    assert_eq!(audit["line"], fixture.line("crash"));
    let mut value = |expression: &str| {
        let arguments = json!({
            "expression": expression, "frameId": audit["id"], "context": "watch",
        });
        let answer = client.request_ok("evaluate", arguments);
        answer["result"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(value("total"), "60");
    assert_eq!(value("account.owner"), "\"ada\"");
    assert_eq!(value("account.movements[2]"), "30");
    assert_eq!(value("limits[\"bob\"]"), "10");
    // The object's own class, not the reference's.
    assert!(value("account").ends_with("rate = 0.5}"));
    client.disconnect();
}

#[test]
fn enums_and_maps_of_rust_are_read() {
    let fixture = Fixture::of("rust/crash.rs");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let (mut client, stop) = opened(&core, json!({}));
    assert_eq!(stop["description"], "signal SIGABRT");
    let frame = frame_of(&mut client, "carry_out");
    assert_eq!(frame["line"], fixture.line("crash"));
    let mut value = |expression: &str| {
        let arguments = json!({
            "expression": expression, "frameId": frame["id"], "context": "watch",
        });
        let answer = client.request_ok("evaluate", arguments);
        answer["result"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(value("paid"), "12");
    assert_eq!(value("what"), "\"ink\"");
    assert_eq!(value("orders.len()"), "3");
    assert_eq!(value("prices[\"tea\"]"), "4");
    client.disconnect();
}

fn frame_of(client: &mut DapClient, function: &str) -> Value {
    let stack = client.stack();
    let named = |frame: &&Value| {
        frame["name"]
            .as_str()
            .is_some_and(|it| it.ends_with(function))
    };
    let found = stack.iter().find(named).cloned();
    found.unwrap_or_else(|| client.fail(&format!("no {function} in the stack")))
}

#[test]
fn nothing_runs_and_nothing_is_changed() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let (mut client, _) = opened(&core, json!({}));
    let event = client.wait_event("capabilities");
    assert_eq!(event["capabilities"]["supportsSetVariable"], false);
    assert_eq!(event["capabilities"]["supportsRestartRequest"], Value::Null);
    let thread = json!({"threadId": client.thread()});
    for command in ["continue", "next", "stepIn", "stepOut", "pause"] {
        let message = client.request_error(command, thread.clone());
        assert!(
            message.contains("this is a core file"),
            "{command}: {message}"
        );
        assert!(message.contains("cannot be run"), "{command}: {message}");
    }
    let line = json!({"source": {"path": fixture.source}, "line": fixture.line("calls")});
    let message = client.request_error("gotoTargets", line);
    assert!(message.contains("this is a core file"), "{message}");
    for expression in ["total = 1", "first.value += 1", "$pc = 1", "sum(&first, 1)"] {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(
            error.contains("this is a core file"),
            "{expression}: {error}"
        );
    }
    let set = client.set_breakpoints(&fixture, &["calls"]);
    assert_eq!(set[0]["verified"], false);
    assert!(
        set[0]["message"].to_string().contains("core file"),
        "{}",
        set[0]
    );
    let data = json!({"name": "first.value", "frameId": client.top_frame()["id"]});
    let data = client.request_ok("dataBreakpointInfo", data)["dataId"].clone();
    let set = json!({"breakpoints": [{"dataId": data, "accessType": "write"}]});
    let set = client.request_ok("setDataBreakpoints", set);
    assert_eq!(set["breakpoints"][0]["verified"], false, "{set}");
    // Still there, and as it was.
    assert_eq!(client.evaluate("total"), "6");
    client.expect_line(&fixture, "crash");
    client.request_ok("terminate", json!({}));
    client.wait_event("terminated");
    client.disconnect();
}

#[test]
fn launch_opens_a_core_and_ends_quickly() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"coreFile": core}));
    client.configure();
    client.expect_stopped("exception");
    client.expect_line(&fixture, "crash");
    // Once more, and then the program itself.
    client.request_ok("restart", json!({}));
    client.expect_stopped("exception");
    client.expect_line(&fixture, "crash");
    let program = json!({"program": fixture.program, "stopOnEntry": true});
    client.request_ok("restart", json!({"arguments": program}));
    client.expect_stopped("entry");
    client.next();
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// Whether the beginning of a core file is enough to see threads; gdb writes them last.
fn has_threads_first(core: &Path) -> bool {
    let bytes = fs::read(core).expect("the core file");
    let name = b"CORE\0";
    let first = bytes.windows(name.len()).position(|bytes| bytes == name);
    let is_first = first.is_some_and(|place| place < bytes.len() / 8);
    if !is_first {
        skips::skip("a core file that begins with its threads");
    }
    is_first
}

/// Compresses with a program of this name; `None`, and a note, if it is not installed.
fn compressed(core: &Path, command: &str) -> Option<PathBuf> {
    let target = core.with_extension(command);
    let mut compress = Command::new(command);
    compress.args(["-q", "-f"]).arg(core).arg("-o").arg(&target);
    if command == "lz4" {
        compress = Command::new(command);
        compress.args(["-q", "-f"]).arg(core).arg(&target);
    }
    let Ok(status) = compress.status() else {
        skips::skip(command);
        return None;
    };
    assert!(status.success());
    Some(target)
}

#[test]
fn compressed_ones_are_unpacked() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    for command in ["zstd", "lz4"] {
        let Some(packed) = compressed(&core, command) else {
            continue;
        };
        let (mut client, _) = opened(&packed, json!({}));
        client.expect_line(&fixture, "crash");
        assert_eq!(client.locals()["total"], "6");
        client.disconnect();

        // A truncated file yields the data before the cut.
        if !has_threads_first(&core) {
            continue;
        }
        let bytes = fs::read(&packed).expect("the file");
        fs::write(&packed, &bytes[..bytes.len() / 2]).expect("a shorter one");
        let (client, _) = opened(&packed, json!({}));
        let output = client.output("console");
        assert!(output.contains("was unpacked in part"), "{output}");
        assert!(output.contains("bytes of memory are missing"), "{output}");
        client.disconnect();
    }
}

/// A Zstandard file of 4 MiB that becomes 128 GiB of zeros.
fn endless(path: &Path) {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd];
    // No sizes, a window of 128 KiB; then blocks of so many times one byte.
    bytes.extend([0, 7 << 3]);
    bytes.extend([0x02, 0x00, 0x10, 0].repeat(1 << 20));
    fs::write(path, bytes).expect("the file");
}

#[test]
fn unpacking_is_shown_and_can_be_cancelled() {
    let fixture = Fixture::of("c/loop.c");
    let folder = folder();
    let packed = folder.path().join("core.zst");
    endless(&packed);
    let mut client = DapClient::spawn();
    let arguments = json!({"adapterID": "stillpoint", "supportsProgressReporting": true});
    client.request_ok("initialize", arguments);
    for by_request in [false, true] {
        let attach = client.send("attach", json!({"coreFile": packed}));
        let start = client.wait_event("progressStart");
        assert_eq!(start["title"], "Unpacking core.zst");
        assert_eq!(start["cancellable"], true);
        // The session is not kept waiting.
        assert_eq!(
            client.request_ok("threads", json!({}))["threads"],
            json!([])
        );
        client.request_ok(
            "cancel",
            match by_request {
                true => json!({"requestId": attach}),
                false => json!({"progressId": start["progressId"]}),
            },
        );
        let failed = client.response(attach).expect_err("it was cancelled");
        assert_eq!(failed["message"], "cancelled");
        client.wait_event("progressEnd");
    }
    let launch = client.send("launch", json!({"program": fixture.program}));
    client.wait_event("initialized");
    client.request_ok("configurationDone", json!({}));
    client.response(launch).expect("a launch after all");
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();

    // Nor is the end of the session.
    let mut client = DapClient::spawn();
    client.initialize();
    client.send("attach", json!({"coreFile": packed}));
    client.close();
    client.wait_exit();
}

#[test]
fn truncated_core_reports_missing_bytes() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    if !has_threads_first(&core) {
        return;
    }
    let bytes = fs::read(&core).expect("the core file");
    let short = folder.path().join("short");
    fs::write(&short, &bytes[..bytes.len() / 2]).expect("a shorter one");
    let (mut client, _) = opened(&short, json!({}));
    let output = client.output("console");
    assert!(output.contains("truncated"), "{output}");
    assert!(output.contains("bytes of memory are missing"), "{output}");
    // The program's own memory comes first in the file.
    assert_eq!(client.evaluate("first.value"), "1");
    client.disconnect();
}

#[test]
fn invalid_core_files_are_explained() {
    let fixture = Fixture::of("c/crash.c");
    let folder = folder();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("the file");
        path
    };
    let elf = fs::read(&fixture.program).expect("the program");
    let mut headless = elf[..64].to_vec();
    headless[16] = 4;
    let cases = [
        (folder.path().join("nothing"), "No such file"),
        (folder.path().to_owned(), "not a regular file"),
        (PathBuf::from("/dev/zero"), "not a regular file"),
        (file("empty", b""), "empty"),
        (file("text", b"This is no core file."), "not a core file"),
        (fixture.program.clone(), "`program`"),
        (file("short", &headless), "truncated"),
        (file("xz", b"\xfd7zXZ\0\0\0"), "compressed with xz"),
        (file("zst", b"\x28\xb5\x2f\xfd\x24"), "cannot unpack it"),
        (file("lz4", b"\x04\x22\x4d\x18\x64"), "cannot unpack it"),
    ];
    for (path, reason) in cases {
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.request_error("attach", json!({"coreFile": path}));
        assert!(message.contains(reason), "{}: {message}", path.display());
        client.close();
    }
}

#[test]
fn program_of_a_core_must_be_the_same_build() {
    let fixture = Fixture::of("c/crash.c");
    let other = Fixture::of("c/loop.c");
    let folder = folder();
    let program = folder.path().join("program");
    fs::copy(&fixture.program, &program).expect("a copy");
    let Some(core) = core_of_program(&program, folder.path()) else {
        return;
    };
    // At its original path; the user's path is wrong.
    let (mut client, _) = opened(&core, json!({"program": other.program}));
    let output = client.output("console");
    assert!(
        output.contains("is not the build in the core file") && output.contains("is used"),
        "{output}"
    );
    client.expect_line(&fixture, "crash");
    client.disconnect();

    // Gone; then another one is at its place.
    fs::remove_file(&program).expect("it was there");
    let (client, _) = opened(&core, json!({}));
    let output = client.output("console");
    assert!(
        output.contains("was not found") && output.contains("`program`"),
        "{output}"
    );
    client.disconnect();
    fs::copy(&other.program, &program).expect("another one");
    let (mut client, _) = opened(&core, json!({}));
    let output = client.output("console");
    assert!(
        output.contains("is not the build in the core file") && output.contains("`program`"),
        "{output}"
    );
    let frames = frames(&mut client);
    let ours = ["sum", "crashes"];
    let of_other = frames
        .iter()
        .find(|(name, _)| ours.contains(&name.as_str()));
    assert_eq!(of_other, None, "a line of another build");
    client.disconnect();

    // At the user's path.
    let (mut client, _) = opened(&core, json!({"program": fixture.program}));
    client.expect_line(&fixture, "crash");
    assert_eq!(client.locals()["total"], "6");
    client.disconnect();
}

/// A core file of a small C program, taken on aarch64 with signed return addresses.
#[test]
fn core_of_aarch64_is_read_on_any_host() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aarch64");
    let program = folder.join("crash");
    let settings = json!({"program": program, "sourceMap": {"/source": folder}});
    let (mut client, stop) = opened(&folder.join("core.zst"), settings);
    let text = stop.to_string();
    assert!(text.contains("read of address 0x4"), "{text}");
    let expected = [("inner", 7), ("outer", 13), ("main", 16)];
    let expected = expected.map(|(name, line)| (name.to_owned(), line));
    assert_eq!(frames(&mut client), expected);
    assert_eq!(client.locals()["local"], "44");
    assert_eq!(client.locals()["pair"], "{x = 1.5, y = 2.5}");
    assert_eq!(client.evaluate("$pstate.N"), "true");
    assert_eq!(client.evaluate("$w19 == ($x19 & 0xffffffff)"), "1");
    client.disconnect();
}

#[test]
fn core_libraries_are_found_beside_the_program() {
    let fixture = Fixture::of("c/crash_main.c");
    let library = "libcrash_linked.so";
    let folder = folder();
    let (there, here) = (folder.path().join("there"), folder.path().join("here"));
    for place in [&there, &here] {
        fs::create_dir(place).expect("a folder");
        fs::copy(&fixture.program, place.join("program")).expect("a copy");
        fs::copy(fixture.program.with_file_name(library), place.join(library)).expect("a copy");
    }
    let Some(core) = core_of_program(&there.join("program"), folder.path()) else {
        return;
    };
    fs::remove_dir_all(&there).expect("it was there");
    let program = here.join("program");
    let (mut client, _) = opened(&core, json!({"program": program}));
    client.expect_line(&fixture.sibling("crash_linked.c"), "crash");
    assert_eq!(client.locals()["twice"], "10");
    client.disconnect();

    // Without it, the stack is shown with a note on why it may be wrong.
    fs::remove_file(here.join(library)).expect("it was there");
    let (mut client, _) = opened(&core, json!({"program": program}));
    let output = client.output("console");
    assert!(
        output.contains("these libraries") && output.contains(library),
        "{output}"
    );
    let caller = ("main".to_owned(), fixture.line("calls"));
    assert!(frames(&mut client).contains(&caller));
    client.disconnect();
}

#[test]
fn stack_without_libc_ends_at_the_entry() {
    let flags = Flags {
        pie: false,
        ..Flags::new(Compiler::Gcc)
    };
    let fixture = Fixture::build("c/no_libc.c", flags).expect("gcc");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.expect_stopped("exception");
    assert_eq!(client.function_names(), ["crash", "outer", "_start"]);
    client.disconnect();
    let folder = folder();
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let (mut client, _) = opened(&core, json!({}));
    assert_eq!(client.function_names(), ["crash", "outer", "_start"]);
    client.disconnect();
}
