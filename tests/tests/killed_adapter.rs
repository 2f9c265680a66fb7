//! Adapters that are killed in the midst of something: what they attached to lives on with its own
//! code, what they launched dies, and so does what of it was left or handed over.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};
use tempfile::TempDir;

const SOURCE: &str = "c/checked.c";

/// A copy of a fixture's program: whether a process runs it is known by its path.
struct Copy {
    program: PathBuf,
    _folder: TempDir,
}

impl Copy {
    fn of(fixture: &Fixture) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        fs::copy(&fixture.program, &program).expect("a copy");
        let program = program.canonicalize().expect("it is there");
        Self {
            program,
            _folder: folder,
        }
    }

    /// Launches it with settings besides `program`.
    fn launch(&self, settings: Value) -> DapClient {
        let mut client = DapClient::spawn();
        client.launch_program(&self.program, settings);
        client
    }
}

fn kill(client: &DapClient) {
    process::send_signal(client.adapter_pid(), Signal::SIGKILL);
}

fn kill_tracer(client: &DapClient) {
    let tracer = process::tracer_of(client.adapter_pid());
    process::send_signal(tracer, Signal::SIGKILL);
}

/// Breakpoints on hot lines that never stop: conditions, a hit count, a message.
fn hot(client: &mut DapClient, fixture: &Fixture, round: usize) {
    let kinds = [
        json!({"condition": "x == 12345 && i == 9999"}),
        json!({"hitCondition": "== 100000000"}),
        json!({"condition": "i == 299", "logMessage": "x {x}"}),
        json!({"condition": "i > 100000"}),
    ];
    let lines = ["first", "second", "third", "last"];
    let count = 1 + round % lines.len();
    let pick = |index: usize| kinds[(index + round) % kinds.len()].clone();
    let places = (0..count)
        .map(|index| (lines[index], pick(index)))
        .collect();
    client.set_breakpoints_with(fixture, places);
}

/// Stops in a thread that runs between hot lines.
fn stop_at_beat(client: &mut DapClient, fixture: &Fixture) {
    let never = json!({"condition": "i > 100000"});
    let places = vec![("beat", json!({})), ("first", never)];
    client.set_breakpoints_with(fixture, places);
    client.expect_stopped("breakpoint");
}

/// Steps of a stopped thread, the last one under way.
fn step(client: &mut DapClient, round: usize) {
    for _ in 0..=round {
        client.request_ok("next", json!({"threadId": client.thread()}));
        client.expect_stopped_by(&["step", "breakpoint"]);
    }
    let thread = json!({"threadId": client.thread()});
    client.send(["next", "stepIn", "stepOut"][round % 3], thread);
}

/// A call of the program's functions, under way.
fn call(client: &mut DapClient, round: usize) {
    let frame = client.stack()[0]["id"].clone();
    let expression = ["slow(20000)", "slow(1)", "all(3)"][round % 3];
    let arguments = json!({"expression": expression, "frameId": frame, "context": "repl"});
    client.send("evaluate", arguments);
}

/// What an adapter is doing to a program that it attached to when it is killed.
const ATTACHED: [(&str, &str); 10] = [
    ("attaching", ""),
    ("hot", ""),
    ("traps with a call", ""),
    ("stopped", ""),
    ("stepping", ""),
    ("a call", ""),
    ("non-stop", ""),
    ("signals", "signals"),
    ("forks", "forks"),
    ("detaching", ""),
];

/// Brings the adapter there.
fn busy_attached(
    client: &mut DapClient,
    fixture: &Fixture,
    debuggee: &Debuggee,
    (state, round): (&str, usize),
) {
    let mut settings = json!({"pid": debuggee.pid()});
    match state {
        "attaching" => {
            client.initialize();
            client.send("attach", settings);
            if round > 0 {
                client.wait_event("initialized");
                hot(client, fixture, round);
            }
            if round > 1 {
                client.send("configurationDone", Value::Null);
            }
            return;
        }
        "non-stop" => settings["nonStop"] = json!(true),
        "forks" if round % 2 == 0 => settings["followFork"] = json!("parent"),
        _ => {}
    }
    client.attach(debuggee.pid(), settings);
    client.configure();
    match state {
        "traps with a call" => {
            let asks = json!({"condition": "slow(0) > 5"});
            client.set_breakpoints_with(fixture, vec![("beat", asks)]);
        }
        "stopped" => stop_at_beat(client, fixture),
        "non-stop" => {
            stop_at_beat(client, fixture);
            client.send("next", json!({"threadId": client.thread()}));
        }
        "stepping" => {
            stop_at_beat(client, fixture);
            step(client, round);
        }
        "a call" => {
            stop_at_beat(client, fixture);
            call(client, round);
        }
        _ => hot(client, fixture, round),
    }
    if ["hot", "traps with a call", "signals", "forks", "detaching"].contains(&state) {
        // It passes its breakpoints all the while.
        debuggee.expect_running();
    }
    if state == "detaching" {
        client.send("disconnect", json!({"terminateDebuggee": false}));
    }
}

#[test]
fn attached_process_survives_the_adapter() {
    let fixture = Fixture::of(SOURCE);
    for (state, argument) in ATTACHED {
        for round in 0..3 {
            let debuggee = Debuggee::start(&fixture, &[argument]);
            debuggee.read_line();
            let before = process::text_bytes(debuggee.pid(), &fixture.program);
            let mut client = DapClient::spawn();
            busy_attached(&mut client, &fixture, &debuggee, (state, round));
            kill(&client);
            // The end of its streams is that of the process that traces.
            client.wait_exit();
            debuggee.expect_running();
            let after = process::text_bytes(debuggee.pid(), &fixture.program);
            assert!(after == before, "{state}, round {round}");
            let tracer = process::status(debuggee.pid(), "TracerPid");
            assert_eq!(tracer.as_deref(), Some("0"), "{state}, round {round}");
        }
    }
}

/// What an adapter is doing to a program that it launched when it is killed.
const LAUNCHED: [&str; 8] = [
    "launching",
    "hot",
    "stopped",
    "stepping",
    "a call",
    "non-stop",
    "follow the child",
    "follow both",
];

/// Brings the adapter into a state; returns the sessions of children.
fn busy_launched(copy: &Copy, fixture: &Fixture, state: &str, round: usize) -> Vec<DapClient> {
    let mut settings = json!({});
    match state {
        "launching" => {
            let mut client = DapClient::spawn();
            client.initialize();
            client.send("launch", json!({"program": copy.program}));
            if round > 0 {
                client.wait_event("initialized");
                hot(&mut client, fixture, round);
            }
            if round > 1 {
                client.send("configurationDone", Value::Null);
            }
            return vec![client];
        }
        "non-stop" => settings["nonStop"] = json!(true),
        "follow the child" => settings = json!({"args": ["forks"], "followFork": "child"}),
        "follow both" => settings = json!({"args": ["forks"], "followFork": "both"}),
        _ => {}
    }
    let mut client = copy.launch(settings);
    if state == "follow the child" {
        // Later, the child might have ended.
        client.set_breakpoints(fixture, &["last"]);
    }
    client.configure();
    let mut children = Vec::new();
    match state {
        "stopped" => stop_at_beat(&mut client, fixture),
        "non-stop" => {
            stop_at_beat(&mut client, fixture);
            client.send("next", json!({"threadId": client.thread()}));
        }
        "stepping" => {
            stop_at_beat(&mut client, fixture);
            step(&mut client, round);
        }
        "a call" => {
            stop_at_beat(&mut client, fixture);
            call(&mut client, round);
        }
        "follow the child" => {
            if round > 0 {
                // In the parent, or in the child.
                client.expect_stopped("breakpoint");
            }
            if round > 1 {
                client.set_breakpoints(fixture, &[]);
                client.continue_();
                client.wait_event_where("output", |it| {
                    let text = it["output"].as_str().unwrap_or_default();
                    text.contains("the session follows its child")
                });
            }
        }
        "follow both" => {
            let arguments = client.ignore_session();
            if round > 0 {
                let mut child = DapClient::spawn();
                child.initialize();
                child.send("attach", arguments["configuration"].clone());
                if round > 1 {
                    child.wait_event("initialized");
                }
                children.push(child);
            }
        }
        _ => {
            hot(&mut client, fixture, round);
            client.wait_event_where("output", |it| it["category"] == "stdout");
        }
    }
    children.push(client);
    children
}

#[test]
fn launched_process_dies_with_the_adapter() {
    let fixture = Fixture::of(SOURCE);
    for state in LAUNCHED {
        for round in 0..3 {
            let copy = Copy::of(&fixture);
            let mut clients = busy_launched(&copy, &fixture, state, round);
            clients.iter().for_each(kill);
            for client in &mut clients {
                client.wait_exit();
            }
            process::wait_for_none_of(&copy.program);
        }
    }
}

#[test]
fn launched_process_dies_with_the_tracer() {
    let fixture = Fixture::of(SOURCE);
    // Its program may not have begun where it is killed while launching.
    for state in &LAUNCHED[1..] {
        for round in 0..3 {
            let copy = Copy::of(&fixture);
            let mut clients = busy_launched(&copy, &fixture, state, round);
            clients.iter().for_each(kill_tracer);
            for client in &mut clients {
                assert_eq!(
                    client.wait_exit().code(),
                    None,
                    "it ends as the tracer does"
                );
            }
            process::wait_for_none_of(&copy.program);
        }
    }
}

#[test]
fn stopped_attached_process_survives_the_tracer() {
    let fixture = Fixture::of(SOURCE);
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    stop_at_beat(&mut client, &fixture);
    // All output arrives.
    client.stack();
    kill_tracer(&client);
    client.wait_exit();
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

/// Each stop is kept in a copy of the process, which a thread of the program makes for the debugger: on x86-64.
#[cfg(target_arch = "x86_64")]
#[test]
fn attached_process_survives_the_tracer_that_copies_it() {
    let fixture = Fixture::of(SOURCE);
    let mut dead = 0;
    for _ in 0..24 {
        let debuggee = Debuggee::start(&fixture, &[]);
        debuggee.read_line();
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.configure();
        stop_at_beat(&mut client, &fixture);
        let tracer = process::tracer_of(client.adapter_pid());
        let mut patience = stillpoint_tests::patience::Patience::new();
        while process::children(debuggee.pid()).is_empty() {
            assert!(patience.is_left(), "the stop is not kept");
        }
        process::send_signal(tracer, Signal::SIGKILL);
        client.wait_exit();
        dead += u32::from(!debuggee.is_running());
    }
    // The guardian has a millisecond: on a busy machine, about one of a thousand dies (docs/limits.md).
    assert!(dead <= 1, "{dead} of 24 died");
}

#[test]
fn a_busy_tracer_does_not_survive_the_adapter() {
    let fixture = Fixture::of(SOURCE);
    let copy = Copy::of(&fixture);
    let mut client = copy.launch(json!({}));
    client.configure();
    stop_at_beat(&mut client, &fixture);
    let frame = client.stack()[0]["id"].clone();
    // Evaluated element by element, which never ends in practice.
    let endless = json!({"expression": "*(char(*)[2000000000])0", "frameId": frame});
    client.send("evaluate", endless);
    client.send(
        "disassemble",
        json!({
            "memoryReference": "0x0", "instructionCount": 1_000_000,
        }),
    );
    kill(&client);
    client.wait_exit();
    process::wait_for_none_of(&copy.program);
}

/// A process that waits to be killed, used as the parent of a child's session.
struct Stranger(Child);

impl Stranger {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().expect("sleep"))
    }

    fn end(&mut self) {
        self.0.kill().expect("ours");
        self.0.wait().expect("ours");
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Comes for the child that a session offers, in the name of `by`: the child jumps in place
/// afterwards. Returns its process id, and the socket.
fn come_for_child(parent: &mut DapClient, by: &Stranger) -> (i32, UnixStream) {
    let arguments = parent.ignore_session();
    let socket = arguments["configuration"]["__handover"].as_str();
    let mut stream = UnixStream::connect(socket.expect("a path")).expect("it listens");
    writeln!(stream, "{}", by.0.id()).expect("written");
    let mut line = String::new();
    let mut lines = BufReader::new(stream.try_clone().expect("a second handle"));
    lines.read_line(&mut line).expect("where the child is");
    let pid = line.split(' ').next().expect("a word");
    (pid.parse().expect("a number"), stream)
}

/// How the session that hands a child over ends while nothing has taken that over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Killed,
    TracerKilled,
    Disconnects,
    LeavesAlive,
}

fn end(client: &mut DapClient, how: End) {
    match how {
        End::Killed => kill(client),
        End::TracerKilled => kill_tracer(client),
        End::Disconnects => drop(client.request_ok("disconnect", Value::Null)),
        End::LeavesAlive => {
            client.request_ok("disconnect", json!({"terminateDebuggee": false}));
        }
    }
    client.wait_exit();
}

#[test]
fn spinning_child_is_restored() {
    let fixture = Fixture::of("c/children.c");
    for how in [
        End::Killed,
        End::TracerKilled,
        End::Disconnects,
        End::LeavesAlive,
    ] {
        let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["wait"]);
        let mut parent = DapClient::spawn();
        parent.attach(debuggee.pid(), json!({"followFork": "both"}));
        parent.configure();
        input.write_all(b"x").expect("it reads");
        drop(input);
        let mut stranger = Stranger::start();
        let (_child, _socket) = come_for_child(&mut parent, &stranger);
        end(&mut parent, how);
        stranger.end();
        assert_eq!(debuggee.read_line(), "child 6 parent 2", "{how:?}");
    }
}

#[test]
fn spinning_child_of_a_launched_program_dies() {
    let fixture = Fixture::of("c/children.c");
    for how in [End::Killed, End::TracerKilled, End::Disconnects] {
        let copy = Copy::of(&fixture);
        let settings = json!({"args": ["fork"], "followFork": "both"});
        let mut parent = copy.launch(settings);
        parent.configure();
        let mut stranger = Stranger::start();
        let (child, _socket) = come_for_child(&mut parent, &stranger);
        end(&mut parent, how);
        assert!(process::is_alive(child), "its debugger may still come");
        stranger.end();
        process::wait_for_none_of(&copy.program);
    }
}

#[test]
fn child_in_handover_can_be_left_alive() {
    let fixture = Fixture::of("c/children.c");
    let mut parent = DapClient::spawn();
    let nowhere = json!([null, "/dev/null", "/dev/null"]);
    let settings = json!({"args": ["fork"], "followFork": "both", "stdio": nowhere});
    parent.launch(&fixture, settings);
    parent.configure();
    let pid = parent.debuggee_pid();
    let mut stranger = Stranger::start();
    let (_child, _socket) = come_for_child(&mut parent, &stranger);
    end(&mut parent, End::LeavesAlive);
    stranger.end();
    // The parent waits for the child.
    assert!(process::ends(pid));
}

#[test]
fn left_parent_dies_with_the_adapter() {
    let fixture = Fixture::of("c/children.c");
    for how in [End::Killed, End::TracerKilled, End::Disconnects] {
        let copy = Copy::of(&fixture);
        let settings = json!({"args": ["fork"], "followFork": "child"});
        let mut client = copy.launch(settings);
        client.set_breakpoints(&fixture, &["work"]);
        client.configure();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("who"), "3", "the child");
        end(&mut client, how);
        process::wait_for_none_of(&copy.program);
    }
}
