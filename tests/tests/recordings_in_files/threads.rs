//! Programs with threads: a file shows them all, where it ends and at each place before.

use super::{go, opened, place_for_file, record, shown};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use stillpoint_tests::{DapClient, Fixture, patience};

const SOURCE: &str = "c/record/threads/stored.c";

/// Records the fixture and opens the file where it ends.
fn recorded(mode: &str, reason: &str) -> (Fixture, DapClient, Value) {
    let fixture = Fixture::of(SOURCE);
    let (_folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), mode.as_ref()]);
    let (client, event) = opened(&file, json!({}), &[reason]);
    (fixture, client, event)
}

/// The ids of the threads by their names.
fn threads(client: &mut DapClient) -> BTreeMap<String, i64> {
    let body = client.request_ok("threads", json!({}));
    let threads = body["threads"].as_array().expect("threads").iter();
    let named = threads.map(|it| {
        let name = it["name"].as_str().expect("a name").to_owned();
        (name, it["id"].as_i64().expect("an id"))
    });
    named.collect()
}

fn names(client: &mut DapClient) -> Vec<String> {
    threads(client).into_keys().collect()
}

/// The name that the kernel gives the program's first thread.
fn name_of_program(fixture: &Fixture) -> String {
    let name = fixture.program.file_name().expect("a name");
    name.to_string_lossy().chars().take(15).collect()
}

/// The functions of a thread.
fn functions(client: &mut DapClient, thread: i64) -> Vec<String> {
    client.select_thread(thread);
    client.function_names()
}

/// Selects the thread of a stop, and returns its name.
fn select(client: &mut DapClient, event: &Value) -> String {
    let thread = event["threadId"].as_i64().expect("a thread");
    client.select_thread(thread);
    let mut all = threads(client).into_iter();
    let found = all.find(|(_, id)| *id == thread);
    found.expect("one of the threads").0
}

/// Goes to the last write, and returns the name of the thread that wrote.
fn last_write(client: &mut DapClient, name: &str) -> String {
    shown(client, &format!(":last-write {name}")).expect("a search");
    let event = client.expect_stopped_by(&["data breakpoint"]);
    select(client, &event)
}

#[test]
fn crash_shows_all_threads_and_what_they_wait_for() {
    let (fixture, mut client, event) = recorded("crash", "exception");
    assert_eq!(select(&mut client, &event), "ender");
    client.expect_line(&fixture, "crash");
    assert_eq!(client.locals()["owed"], "3");
    let main = name_of_program(&fixture);
    let all = threads(&mut client);
    let expected = [
        (main.as_str(), "main"),
        ("ender", "end"),
        ("keeper", "keep"),
        ("needer", "need"),
        ("taker-1", "take"),
        ("taker-2", "take"),
    ];
    assert_eq!(all.len(), expected.len(), "{all:?}");
    for (name, function) in expected {
        let found = functions(&mut client, all[name]);
        assert!(
            found.iter().any(|it| it == function),
            "{name}: {found:?} without {function}"
        );
    }
    // The mutex has the id that its owner had.
    client.select_thread(all["needer"]);
    let owner = client.evaluate("kept.__data.__owner");
    assert_eq!(owner, all["keeper"].to_string());
    client.disconnect();
}

#[test]
fn last_writes_lead_to_the_threads_that_wrote() {
    let (fixture, mut client, _) = recorded("crash", "exception");
    assert_eq!(client.evaluate("taken"), "5");
    for taken in (1..=5).rev() {
        let writer = last_write(&mut client, "taken");
        assert_eq!(client.evaluate("taken"), taken.to_string());
        let own = client.evaluate("own");
        assert_eq!(writer, format!("taker-{own}"));
    }
    let all = names(&mut client);
    assert!(all.iter().any(|it| it == "needer"), "{all:?}");
    assert!(!all.iter().any(|it| it == "ender"), "it has not begun yet");
    // Before the places where the mixers were interrupted for each other.
    assert_eq!(last_write(&mut client, "early_result"), "early");
    assert_eq!(client.evaluate("early_result"), "42");
    assert_eq!(client.function_names()[0], "end_early");
    assert_eq!(names(&mut client).len(), 2);
    go(&mut client, "continue", &["exception"]);
    client.expect_line(&fixture, "crash");
    client.disconnect();
}

#[test]
fn hits_in_threads_are_met_back_and_forward() {
    let (fixture, mut client, _) = recorded("exit", "exit");
    client.set_breakpoints(&fixture, &["taken"]);
    let look = |client: &mut DapClient, event: &Value| {
        let thread = select(client, event);
        (thread, client.evaluate("taken"), client.evaluate("taker"))
    };
    let mut hits = Vec::new();
    for _ in 0..5 {
        let event = go(&mut client, "reverseContinue", &["breakpoint"]);
        hits.push(look(&mut client, &event));
    }
    assert_eq!(hits[0].1, "5");
    assert_eq!(hits[4].1, "1");
    go(&mut client, "reverseContinue", &["entry"]);
    for expected in hits.iter().rev() {
        let event = go(&mut client, "continue", &["breakpoint"]);
        assert_eq!(&look(&mut client, &event), expected);
    }
    shown(&mut client, ":hit 2").expect("a search");
    let event = client.expect_stopped_by(&["breakpoint"]);
    assert_eq!(look(&mut client, &event), hits[3]);
    // By lines, in the thread that is shown. Another thread may have passed the breakpoint meanwhile.
    let (name, ..) = hits[3].clone();
    client.set_breakpoints(&fixture, &[]);
    let event = go(&mut client, "stepBack", &["step"]);
    assert_eq!(select(&mut client, &event), name);
    assert_eq!(client.evaluate("taken"), "1");
    let event = go(&mut client, "next", &["step"]);
    assert_eq!(look(&mut client, &event), hits[3]);
    client.disconnect();
}

#[test]
fn log_messages_tell_what_threads_did() {
    let (fixture, mut client, _) = recorded("exit", "exit");
    let message = json!({"logMessage": "{taken} by {own}"});
    client.set_breakpoints_with(&fixture, vec![("taken", message)]);
    client.request_ok("stillpoint/replay", json!({}));
    client.expect_stopped_by(&["exit"]);
    let output = client.output("console");
    let told = output.lines().filter(|it| it.contains(" by "));
    let told: Vec<&str> = told.collect();
    assert_eq!(told.len(), 5, "{output}");
    for (nth, line) in told.iter().enumerate() {
        assert!(line.starts_with(&format!("{} by ", nth + 1)), "{output}");
    }
    client.disconnect();
}

#[test]
fn steps_at_the_end_stop_again_in_any_thread() {
    let (fixture, mut client, _) = recorded("exit", "exit");
    let all = threads(&mut client);
    let before = functions(&mut client, all["keeper"]);
    for (thread, request) in [
        ("keeper", "next"),
        ("ender", "continue"),
        ("needer", "stepIn"),
    ] {
        client.select_thread(all[thread]);
        go(&mut client, request, &["end of recording"]);
        assert_eq!(threads(&mut client), all);
    }
    assert_eq!(functions(&mut client, all["keeper"]), before);
    // A function runs in a copy, by the thread that is selected.
    client.select_thread(all["keeper"]);
    assert_eq!(client.evaluate("taken = 9"), "9");
    let others = functions(&mut client, all["needer"]);
    assert!(others.iter().any(|it| it == "need"), "{others:?}");
    client.select_thread(all["ender"]);
    client.set_breakpoints(&fixture, &["taken"]);
    go(&mut client, "reverseContinue", &["breakpoint"]);
    assert_eq!(client.evaluate("taken"), "5");
    client.disconnect();
}

#[test]
fn program_whose_first_thread_has_exited_is_shown() {
    let (fixture, mut client, event) = recorded("leave", "exit");
    assert_eq!(select(&mut client, &event), "ender");
    assert_eq!(
        names(&mut client),
        ["ender", "keeper", "needer", "taker-1", "taker-2"]
    );
    client.set_breakpoints(&fixture, &["made"]);
    let event = go(&mut client, "reverseContinue", &["breakpoint"]);
    client.select_thread(event["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.function_names()[0], "main");
    assert_eq!(client.evaluate("made"), "4");
    go(&mut client, "continue", &["exit"]);
    assert_eq!(names(&mut client).len(), 5);
    client.disconnect();
}

#[test]
fn killed_program_ends_where_its_threads_were() {
    let (fixture, mut client, event) = recorded("kill", "end of recording");
    assert!(event["text"].to_string().contains("SIGKILL"), "{event}");
    let main = name_of_program(&fixture);
    let expected = [&main, "ender", "keeper", "needer", "taker-1", "taker-2"];
    assert_eq!(
        names(&mut client).into_iter().collect::<BTreeSet<_>>(),
        expected.map(ToOwned::to_owned).into()
    );
    assert!(last_write(&mut client, "taken").starts_with("taker-"));
    client.disconnect();
}

#[test]
fn saved_stop_of_a_session_has_its_threads() {
    let fixture = Fixture::of(SOURCE);
    let (_folder, file) = place_for_file();
    let mut live = DapClient::stopped_with(&fixture, "taken", json!({"record": true}));
    for _ in 0..2 {
        live.continue_();
        let event = live.expect_stopped("breakpoint");
        live.select_thread(event["threadId"].as_i64().expect("a thread"));
    }
    let save = format!(":recording save {}", file.display());
    shown(&mut live, &save).expect("a file");
    let all = threads(&mut live);
    let state = |client: &mut DapClient| ["taken", "taker", "own"].map(|it| client.evaluate(it));
    let seen = state(&mut live);
    let mut stacks = BTreeMap::new();
    for (name, thread) in &all {
        stacks.insert(name.clone(), functions(&mut live, *thread));
    }
    live.disconnect();

    let (mut client, _) = opened(&file, json!({}), &["end of recording"]);
    assert_eq!(state(&mut client), seen);
    let again = threads(&mut client);
    assert_eq!(
        again.keys().collect::<Vec<_>>(),
        all.keys().collect::<Vec<_>>()
    );
    for (name, thread) in &again {
        assert_eq!(functions(&mut client, *thread), stacks[name], "{name}");
    }
    client.disconnect();
}

#[test]
fn saved_recording_from_a_stop_on_asks_for_times_as_before() {
    let fixture = Fixture::of("c/travel_joined.c");
    let (_folder, file) = place_for_file();
    let settings = json!({"args": ["wait"]});
    let mut live = DapClient::stopped_with(&fixture, "all_wait", settings);
    shown(&mut live, ":record").expect("a recording");
    live.set_breakpoints(&fixture, &["shown"]);
    live.continue_();
    live.expect_stopped("breakpoint");
    let save = format!(":recording save {}", file.display());
    shown(&mut live, &save).expect("a file");
    let results = live.evaluate("results");
    live.disconnect();

    let (mut client, _) = opened(&file, json!({}), &["end of recording"]);
    client.set_breakpoints(&fixture, &["locked"]);
    let thread = client.thread();
    client.request_ok("reverseContinue", json!({"threadId": thread}));
    let event = client.expect_stopped("breakpoint");
    client.select_thread(event["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.function_names()[0], "lock");
    // Through the functions of the vdso, which the recorder has replaced.
    client.continue_();
    client.expect_stopped("end of recording");
    assert_eq!(client.evaluate("results"), results);
    client.disconnect();
}

fn number_of_threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Returns whether each thread of a process makes a system call that waits, or is about to make it.
fn are_waiting(pid: i32) -> bool {
    const CALLS: [i64; 2] = [libc::SYS_read, libc::SYS_futex];
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process");
    let mut calls = tasks.map(|task| {
        let task = task.expect("a thread").path();
        fs::read_to_string(task.join("syscall")).unwrap_or_default()
    });
    calls.all(|call| {
        let number = call.split(' ').next().and_then(|it| it.parse().ok());
        number.is_some_and(|number| CALLS.contains(&number))
    })
}

#[test]
fn pause_while_all_threads_wait_is_saved() {
    let fixture = Fixture::of("c/record/threads/asleep.c");
    for (arguments, count) in [(json!([]), 3), (json!(["first"]), 2)] {
        let (folder, file) = place_for_file();
        let path = folder.path().join("input");
        mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
        let mut input = OpenOptions::new();
        // For both ends: opening does not wait.
        let input = input.read(true).write(true).open(&path);
        let mut input = input.expect("the FIFO");
        let mut live = DapClient::spawn();
        let settings = json!({
            "record": true, "args": arguments, "stdio": [path, null, null],
        });
        live.launch(&fixture, settings);
        live.configure();
        let pid = live.debuggee_pid();
        live.pause();
        while threads(&mut live).len() < count || !are_waiting(pid) {
            live.continue_();
            // Each pause may end a call that is about to wait: the threads are left alone until they do.
            patience::becomes(|| number_of_threads(pid) == count && are_waiting(pid));
            live.pause();
        }
        let all = threads(&mut live);
        let mut stacks = BTreeMap::new();
        for (name, thread) in &all {
            stacks.insert(name.clone(), functions(&mut live, *thread));
        }
        let save = format!(":recording save {}", file.display());
        shown(&mut live, &save).expect("a file");
        // A function is called in a copy, by a thread that waits.
        for thread in all.values() {
            live.select_thread(*thread);
            assert_eq!(live.evaluate("twice(21)"), "42");
        }
        assert!(are_waiting(live.debuggee_pid()));
        // The program goes on as if nothing had been.
        input.write_all(b"A").expect("the FIFO");
        live.set_breakpoints(&fixture, &["told"]);
        live.continue_();
        let event = live.expect_stopped("breakpoint");
        live.select_thread(event["threadId"].as_i64().expect("a thread"));
        assert_eq!(live.evaluate("heard"), "65 'A'");
        go(&mut live, "continue", &["exit"]);
        live.continue_();
        assert_eq!(live.expect_exit(), 4);
        assert_eq!(live.output("stdout"), "told A\n");

        let (mut client, _) = opened(&file, json!({}), &["end of recording"]);
        let again = threads(&mut client);
        assert_eq!(again.len(), count);
        for (name, thread) in &again {
            assert_eq!(functions(&mut client, *thread), stacks[name], "{name}");
        }
        client.set_function_breakpoints(&["await"]);
        go(&mut client, "reverseContinue", &["function breakpoint"]);
        go(&mut client, "continue", &["end of recording"]);
        client.disconnect();
    }
}

/// Snapshots may be of a thread whose call was interrupted, and is made again.
#[test]
fn snapshots_in_interrupted_calls_are_saved() {
    let fixture = Fixture::of("c/record/reader.c");
    let (folder, file) = place_for_file();
    let path = folder.path().join("input");
    mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
    let input = OpenOptions::new().read(true).write(true).open(&path);
    let mut input = input.expect("the FIFO");
    let mut live = DapClient::spawn();
    let settings = json!({"record": true, "stdio": [path, null, null]});
    live.launch(&fixture, settings);
    live.configure();
    let pid = live.debuggee_pid();
    live.pause();
    let snapshots = |text: &str| -> Option<u32> {
        let (before, _) = text.split_once(" snapshots")?;
        before.rsplit(' ').next()?.parse().ok()
    };
    // Behind that of the start. On a busy machine there is more than one for each pause.
    while shown(&mut live, ":recording").is_ok_and(|it| snapshots(&it).is_none_or(|it| it < 4)) {
        live.continue_();
        patience::becomes(|| are_waiting(pid));
        live.pause();
    }
    input.write_all(b"A").expect("the FIFO");
    live.set_breakpoints(&fixture, &["end"]);
    live.continue_();
    live.expect_stopped("breakpoint");
    let save = format!(":recording save {}", file.display());
    shown(&mut live, &save).expect("a file");
    live.disconnect();

    let (mut client, _) = opened(&file, json!({}), &["end of recording"]);
    client.set_function_breakpoints(&["hear"]);
    go(&mut client, "reverseContinue", &["function breakpoint"]);
    assert_eq!(client.evaluate("byte"), "65 'A'");
    go(&mut client, "continue", &["end of recording"]);
    assert_eq!(client.evaluate("heard"), "65");
    client.disconnect();
}
