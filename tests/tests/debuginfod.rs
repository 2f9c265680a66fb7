//! Debug info from debuginfod servers: fetched in the background, and only if the setting is on.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf::Module;
use nix::sys::stat::Mode;
use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, process};
use tempfile::TempDir;

/// Stripped modules, and a `debuginfod-find` that has their debug info.
struct Server {
    _folder: TempDir,
    root: PathBuf,
}

/// Answers as the real one does; where there is a pipe for a build-id, once that was written to.
const SCRIPT: &str = r#"#!/bin/sh
cd ROOT && [ "$1" = debuginfo ] || exit 2
echo $2 >> asked
if [ -e gate-$2 ]; then
    echo $$ > outer
    sh -c "echo \$\$ > inner; exec cat gate-$2" > /dev/null
fi
if [ -e store/$2 ]; then
    echo ROOT/store/$2
elif [ -e says-$2 ]; then
    cat says-$2
else
    echo 'Server query failed: No such file or directory' >&2
    exit 1
fi
"#;

fn run(command: &mut Command) {
    let status = command.status().expect("binutils are installed");
    assert!(status.success(), "{command:?}");
}

fn build_id(image: &Path) -> String {
    let module = Module::open(image).expect("an image");
    let id = module.build_id().expect("a build-id");
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn build(source: &str) -> Fixture {
    let flags = Flags {
        extra: &["-Wl,--build-id"],
        ..Flags::new(Compiler::Gcc)
    };
    Fixture::build(source, flags).expect("gcc is installed")
}

impl Server {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["bin", "store", "images"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        let script = root.join("bin/debuginfod-find");
        let text = SCRIPT.replace("ROOT", root.to_str().expect("UTF-8"));
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a program");
        let _folder = folder;
        Self { _folder, root }
    }

    /// A copy of an image without debug info, and its build-id.
    fn strip(&self, image: &Path) -> (PathBuf, String) {
        let stripped = self
            .root
            .join("images")
            .join(image.file_name().expect("a name"));
        let strip = Command::new("objcopy")
            .arg("--strip-debug")
            .arg(image)
            .arg(&stripped)
            .status();
        assert!(strip.expect("binutils are installed").success());
        let id = build_id(image);
        (stripped, id)
    }

    /// Has the debug info of an image under a build-id.
    fn keep(&self, image: &Path, id: &str) {
        let kept = self.root.join("store").join(id);
        run(Command::new("objcopy")
            .arg("--only-keep-debug")
            .arg(image)
            .arg(kept));
    }

    /// Holds back all responses for a build-id until [`Server::open`].
    fn close(&self, id: &str) {
        let gate = self.root.join(format!("gate-{id}"));
        nix::unistd::mkfifo(&gate, Mode::S_IRWXU).expect("a pipe");
    }

    /// Waits until a request waits at the gate; dropping the file opens it.
    fn open(&self, id: &str) -> File {
        let mut options = File::options();
        let gate = options
            .write(true)
            .open(self.root.join(format!("gate-{id}")));
        gate.expect("the pipe")
    }

    fn requested_ids(&self) -> Vec<String> {
        let requested_ids = fs::read_to_string(self.root.join("asked")).unwrap_or_default();
        requested_ids.lines().map(str::to_owned).collect()
    }

    /// The processes of a run that waits at the gate.
    fn waiting(&self) -> [i32; 2] {
        ["outer", "inner"].map(|name| {
            let text = fs::read_to_string(self.root.join(name)).expect("it runs");
            text.trim().parse().expect("a process id")
        })
    }

    fn path(&self) -> OsString {
        let path = std::env::var("PATH").expect("a PATH");
        format!("{}:{path}", self.root.join("bin").display()).into()
    }

    fn spawn(&self) -> DapClient {
        DapClient::spawn_with(|command| {
            command.env("PATH", self.path());
            command.env("DEBUGINFOD_URLS", "http://localhost:1");
        })
    }
}

/// Introduces a client that shows progress, and launches.
fn launch(client: &mut DapClient, program: &Path, invalidated: bool) -> i64 {
    let abilities = json!({
        "adapterID": "stillpoint", "supportsProgressReporting": true,
        "supportsInvalidatedEvent": invalidated,
    });
    client.request_ok("initialize", abilities);
    let settings = json!({"program": program, "debuginfod": true});
    let launch = client.send("launch", settings);
    client.wait_event("initialized");
    launch
}

fn configure(client: &mut DapClient, launch: i64) {
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("the program starts");
}

/// Stops a program that waits for its debug info at its entry, and continues from there.
fn start_without(client: &mut DapClient) {
    client.request_ok("pause", json!({"threadId": 0}));
    client.expect_stopped("entry");
    client.continue_();
}

fn is_changed(body: &Value, name: &str) -> bool {
    body["reason"] == "changed" && body["module"]["name"] == name
}

/// A program stopped in `body`, of which only symbols are known.
fn standing() -> (Server, Fixture, String, DapClient) {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    server.keep(&fixture.program, &id);
    server.close(&id);
    let mut client = server.spawn();
    let launched = launch(&mut client, &program, true);
    client.set_function_breakpoints(&["body"]);
    let set = client.set_breakpoints(&fixture, &["after_call"]);
    assert_eq!(set[0]["verified"], false, "{}", set[0]);
    configure(&mut client, launched);
    start_without(&mut client);
    client.expect_stopped("function breakpoint");
    (server, fixture, id, client)
}

/// A program stopped in its library: the server has the debug info of the program alone,
/// and holds it back. Returns the build-ids of both.
fn standing_in_library(invalidated: bool) -> (Server, Fixture, [String; 2], DapClient) {
    let fixture = build("c/shared_main.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    server.keep(&fixture.program, &id);
    server.close(&id);
    let (_, library) = server.strip(&fixture.program.with_file_name("libshared_linked.so"));
    let mut client = server.spawn();
    let launched = launch(&mut client, &program, invalidated);
    client.set_function_breakpoints(&["linked_twice"]);
    configure(&mut client, launched);
    start_without(&mut client);
    client.expect_stopped("function breakpoint");
    (server, fixture, [id, library], client)
}

fn wait_for_library(client: &mut DapClient) {
    client.wait_event_where("output", |body| {
        let text = body["output"].as_str().unwrap_or_default();
        text.starts_with("Cannot fetch debug info of libshared_linked.so: ")
    });
}

/// Indexing may last long enough to be reported as progress, too.
fn wait_for_fetching(client: &mut DapClient, image: &str) -> Value {
    let title = format!("Fetching debug info of {image}");
    client.wait_event_where("progressStart", |body| body["title"] == title.as_str())
}

#[test]
fn debug_info_arrives_during_a_stop() {
    let (server, fixture, id, mut client) = standing();
    let progress = wait_for_fetching(&mut client, "loop");
    assert_eq!(progress["cancellable"], true);
    // Meanwhile everything is answered.
    let frame = client.top_frame();
    assert_eq!(
        (&frame["name"], &frame["source"]["path"]),
        (&json!("body"), &Value::Null)
    );
    client.request_ok("threads", Value::Null);

    drop(server.open(&id));
    let module = client.wait_event_where("module", |body| is_changed(body, "loop"));
    let module = &module["module"];
    assert_eq!(module["symbolStatus"], "Debug info loaded");
    let kept = server.root.join("store").join(&id);
    assert_eq!(module["symbolFilePath"], json!(kept));
    let line = fixture.line("after_call");
    client.wait_event_where("breakpoint", |body| {
        body["breakpoint"]["line"] == line && body["breakpoint"]["verified"] == true
    });
    let invalidated = client.wait_event("invalidated");
    assert_eq!(invalidated["areas"], json!(["stacks", "variables"]));
    let end = client.wait_event_where("progressEnd", |body| {
        body["progressId"] == progress["progressId"]
    });
    assert_eq!(end["message"], Value::Null);

    let scopes = client.request_error("scopes", json!({"frameId": frame["id"]}));
    assert!(scopes.contains("more debug info"), "{scopes}");
    // It is stopped at the function's start according to symbols; from now on the line table
    // decides.
    assert_eq!(client.top_line(), fixture.line("body") - 1);
    assert_eq!(client.function_names()[..2], ["body", "main"]);
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.expect_line(&fixture, "body");
    assert_eq!(client.locals()["scale"], "10");
    client.continue_to(&fixture, "after_call");
    client.set_breakpoints(&fixture, &[]);
    // The function's breakpoint is at one place still.
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.expect_line(&fixture, "body");
    client.step_out();
    client.expect_line(&fixture, "call");
    client.set_function_breakpoints(&[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(server.requested_ids()[0], id, "the program first");
    client.disconnect();
}

#[test]
fn frames_stay_valid_without_invalidated_support() {
    let (server, fixture, [id, library], mut client) = standing_in_library(false);
    let set = client.set_breakpoints(&fixture, &["open"]);
    assert_eq!(set[0]["verified"], false, "{}", set[0]);
    let frame = client.top_frame();
    drop(server.open(&id));
    // The library's turn comes when the program's file is here.
    wait_for_library(&mut client);
    client.request_ok("scopes", json!({"frameId": frame["id"]}));
    assert_eq!(client.stack()[1]["source"]["path"], Value::Null);
    client.continue_();
    client.wait_event_where("module", |body| is_changed(body, "shared_main"));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "open");
    assert_eq!(client.locals()["linked"], "8");
    assert_eq!(client.count_events("invalidated"), 0);
    let requested = server.requested_ids();
    assert_eq!(requested[0], id, "the program first");
    assert!(requested.contains(&library), "{requested:?}");
    client.disconnect();
}

#[test]
fn debug_info_arrives_while_running() {
    let fixture = build("c/spin.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    server.keep(&fixture.program, &id);
    server.close(&id);
    let mut client = server.spawn();
    let launched = launch(&mut client, &program, true);
    client.set_breakpoints(&fixture, &["beat"]);
    configure(&mut client, launched);
    start_without(&mut client);
    client.wait_event_where("output", |body| body["category"] == "stdout");
    drop(server.open(&id));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "beat");
    assert_eq!(client.function_names()[..2], ["beat", "main"]);
    assert_eq!(client.count_events("invalidated"), 0, "nothing was shown");
    client.disconnect();
}

/// A program that waits for its debug info, launched with `stopAtMain`.
fn held_for_debug_info() -> (Server, Fixture, String, DapClient, Value) {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    server.keep(&fixture.program, &id);
    server.close(&id);
    let mut client = server.spawn();
    let abilities = json!({"adapterID": "stillpoint", "supportsProgressReporting": true});
    client.request_ok("initialize", abilities);
    let settings = json!({"program": program, "debuginfod": true, "stopAtMain": true});
    let launched = client.send("launch", settings);
    client.wait_event("initialized");
    client.set_breakpoints(&fixture, &["call"]);
    configure(&mut client, launched);
    let progress = wait_for_fetching(&mut client, "loop");
    assert_eq!(client.count_events("stopped"), 0);
    (server, fixture, id, client, progress)
}

#[test]
fn start_waits_for_the_program_s_debug_info() {
    let (server, fixture, id, mut client, _) = held_for_debug_info();
    drop(server.open(&id));
    client.expect_stopped("entry");
    assert_eq!(client.function_names()[0], "main");
    assert_eq!(
        client.top_frame()["source"]["path"],
        json!(fixture.source),
        "the debug info arrived before the program ran"
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "call");
    client.disconnect();
}

#[test]
fn cancelled_download_starts_the_program() {
    let (server, _, id, mut client, progress) = held_for_debug_info();
    let gate = server.open(&id);
    client.request_ok("cancel", json!({"progressId": progress["progressId"]}));
    client.expect_stopped("entry");
    assert_eq!(client.function_names()[0], "main", "by its symbol");
    assert_eq!(client.top_frame()["source"]["path"], Value::Null);
    drop(gate);
    client.disconnect();
}

#[test]
fn session_ends_while_the_start_waits() {
    for way in ["disconnect", "terminate"] {
        let (server, _, id, mut client, _) = held_for_debug_info();
        let gate = server.open(&id);
        let running = server.waiting();
        client.request_ok(way, Value::Null);
        for pid in running {
            assert!(process::ends(pid), "{pid}, {way}");
        }
        drop(gate);
        if way == "terminate" {
            client.wait_event("terminated");
            client.disconnect();
        }
    }
}

#[test]
fn stop_at_main_says_that_there_is_no_main() {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, _) = server.strip(&fixture.program);
    run(Command::new("strip").arg("--strip-all").arg(&program));
    let mut client = server.spawn();
    client.launch_program(&program, json!({"stopAtMain": true}));
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    let important = client.output("important");
    assert!(
        important.contains("No function `main` is known"),
        "{important}"
    );
    client.disconnect();
}

#[test]
fn cancel_ends_the_download_process() {
    let (server, _, [id, _], mut client) = standing_in_library(true);
    let progress = wait_for_fetching(&mut client, "shared_main");
    let gate = server.open(&id);
    let running = server.waiting();
    let cancel = json!({"progressId": progress["progressId"]});
    client.request_ok("cancel", cancel.clone());
    let end = client.wait_event_where("progressEnd", |body| {
        body["progressId"] == progress["progressId"]
    });
    assert_eq!(end["message"], "cancelled");
    for pid in running {
        assert!(process::ends(pid), "{pid}");
    }
    drop(gate);
    // Other modules are still fetched, and a late response is harmless.
    wait_for_library(&mut client);
    client.request_ok("cancel", cancel);
    assert_eq!(client.stack()[1]["source"]["path"], Value::Null);
    let console = client.output("console");
    assert!(!console.contains("of shared_main"), "{console}");
    client.disconnect();
}

#[test]
fn session_end_ends_the_download() {
    for rude in [false, true] {
        let (server, _, id, mut client) = standing();
        let gate = server.open(&id);
        let running = server.waiting();
        match rude {
            true => client.close(),
            false => client.disconnect(),
        }
        for pid in running {
            assert!(process::ends(pid), "{pid}, {rude}");
        }
        drop(gate);
    }
}

/// Returns the message for the program if a server does not have its debug info; `prepare` sets up
/// the server.
fn said_of(prepare: impl FnOnce(&Server, &Fixture, &str)) -> String {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    prepare(&server, &fixture, &id);
    let mut client = server.spawn();
    let launched = launch(&mut client, &program, true);
    client.set_function_breakpoints(&["body"]);
    configure(&mut client, launched);
    client.expect_stopped("function breakpoint");
    let body = client.wait_event_where("output", |body| {
        let text = body["output"].as_str().unwrap_or_default();
        text.starts_with("Cannot fetch debug info of loop: ")
    });
    assert_eq!(body["category"], "console");
    assert_eq!(client.top_frame()["source"]["path"], Value::Null);
    client.set_function_breakpoints(&[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let all = client.output("console");
    assert_eq!(
        all.matches("Cannot fetch debug info of loop").count(),
        1,
        "{all}"
    );
    assert_eq!(client.output("important"), "");
    client.disconnect();
    body["output"].as_str().expect("text").to_owned()
}

#[test]
fn download_failures_are_console_notes() {
    let failed = said_of(|_, _, _| {});
    assert!(failed.contains("Server query failed: No such"), "{failed}");
    let garbage = said_of(|server, _, id| {
        fs::write(server.root.join(format!("says-{id}")), "<html>\n").expect("a file");
    });
    assert!(garbage.contains("printed `<html>`"), "{garbage}");
    let silent = said_of(|server, _, id| {
        fs::write(server.root.join(format!("says-{id}")), "").expect("a file");
    });
    assert!(silent.contains("named no file"), "{silent}");
    let missing = said_of(|server, _, id| {
        fs::write(server.root.join(format!("says-{id}")), "/nowhere\n").expect("a file");
    });
    assert!(
        missing.contains("/nowhere is not a debug file"),
        "{missing}"
    );
    let other = said_of(|server, _, id| {
        server.keep(&build("c/spin.c").program, id);
    });
    assert!(other.contains("its build-id differs"), "{other}");
    let empty = said_of(|server, fixture, id| {
        fs::copy(
            &server.strip(&fixture.program).0,
            server.root.join("store").join(id),
        )
        .expect("a copy");
    });
    assert!(empty.contains("no section .debug_info"), "{empty}");
    let text = said_of(|server, _, id| {
        fs::write(server.root.join("store").join(id), "no ELF").expect("a file");
    });
    assert!(text.contains("neither an ELF nor a Mach-O file"), "{text}");
}

/// Returns the message, sent once, of a debugger that cannot fetch at all.
fn said_without(adjust: impl FnOnce(&Server, &mut Command)) -> String {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, _) = server.strip(&fixture.program);
    let mut client = DapClient::spawn_with(|command| {
        command.env("PATH", server.path());
        command.env("DEBUGINFOD_URLS", "http://localhost:1");
        adjust(&server, command);
    });
    let launched = launch(&mut client, &program, true);
    client.set_function_breakpoints(&["main"]);
    configure(&mut client, launched);
    client.expect_stopped("function breakpoint");
    client.wait_event_where("output", |body| {
        let text = body["output"].as_str().unwrap_or_default();
        text.starts_with("Cannot fetch debug info: ")
    });
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(server.requested_ids().is_empty());
    let output = client.output("console");
    assert_eq!(
        output.matches("Cannot fetch debug info").count(),
        1,
        "{output}"
    );
    client.disconnect();
    output
}

#[test]
fn missing_fetcher_is_reported_once() {
    let no_servers = said_without(|_, command| {
        command.env("DEBUGINFOD_URLS", " ");
    });
    assert!(
        no_servers.contains("DEBUGINFOD_URLS is not set"),
        "{no_servers}"
    );
    let no_program = said_without(|server, command| {
        command.env("PATH", server.root.join("store"));
    });
    assert!(
        no_program.contains("debuginfod-find is not installed"),
        "{no_program}"
    );
}

#[test]
fn no_download_without_the_setting() {
    let fixture = build("c/loop.c");
    let server = Server::new();
    let (program, id) = server.strip(&fixture.program);
    server.keep(&fixture.program, &id);
    let mut client = server.spawn();
    client.launch_program(&program, json!({}));
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("console").contains("compile it with -g"));
    assert!(server.requested_ids().is_empty());
    client.disconnect();
}
