//! Programs with threads: their past has the threads that they had, where these were.

use super::{go, recorded, return_to_present, reverse, run_to_end};
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

const SOURCE: &str = "c/travel_threads.c";

fn thread_ids(client: &mut DapClient) -> Vec<i64> {
    let body = client.request_ok("threads", json!({}));
    let threads = body["threads"].as_array().expect("threads").iter();
    let mut ids: Vec<i64> = threads.filter_map(|it| it["id"].as_i64()).collect();
    ids.sort_unstable();
    ids
}

/// Selects the thread of a stop.
fn select(client: &mut DapClient, event: &Value) -> i64 {
    let thread = event["threadId"].as_i64().expect("a thread");
    client.select_thread(thread);
    thread
}

#[test]
fn threads_of_the_past_are_those_that_there_were() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "joined");
    let present = thread_ids(&mut client);
    let main = client.thread();
    client.set_breakpoints(&fixture, &["release"]);
    let event = reverse(&mut client);
    assert_eq!(select(&mut client, &event), main);
    let past = thread_ids(&mut client);
    assert!(
        past.len() == 4 && past.len() >= present.len(),
        "{past:?} {present:?}"
    );
    for thread in &past {
        client.select_thread(*thread);
        let names = client.function_names();
        let last = if *thread == main { "main" } else { "work" };
        assert!(names.iter().any(|name| name == last), "{thread}: {names:?}");
    }
    client.select_thread(main);
    return_to_present(&mut client);
    assert_eq!(thread_ids(&mut client), present);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), "15 60 1\n");
}

#[test]
fn the_last_write_is_found_in_the_thread_that_wrote() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "done");
    let main = client.thread();
    let mut writers = Vec::new();
    for _ in 0..6 {
        let frame = client.top_frame()["id"].clone();
        let arguments = json!({"name": "owner", "frameId": frame});
        client.request_ok("stillpoint/lastWrite", arguments);
        let event = client.expect_stopped_by(&["data breakpoint"]);
        let writer = select(&mut client, &event);
        client.expect_line(&fixture, "owned");
        assert_ne!(writer, main);
        assert_eq!(client.locals().len(), 2);
        writers.push((writer, client.evaluate("own")));
    }
    for (writer, own) in &writers {
        let same = writers.iter().filter(|it| it.0 == *writer);
        assert!(same.clone().all(|it| it.1 == *own), "{writers:?}");
    }
    client.disconnect();
}

#[test]
fn hits_of_all_threads_are_met_in_reverse() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "release");
    client.set_breakpoints(&fixture, &["counted"]);
    let mut hits = Vec::new();
    for _ in 0..8 {
        let event = go(&mut client, "continue", &["breakpoint"]);
        let thread = select(&mut client, &event);
        hits.push((thread, client.evaluate("counted"), client.evaluate("mixed")));
    }
    hits.pop();
    for expected in hits.iter().rev() {
        let event = reverse(&mut client);
        let thread = select(&mut client, &event);
        let found = (thread, client.evaluate("counted"), client.evaluate("mixed"));
        assert_eq!(&found, expected);
    }
    // And forward again, into the present.
    for expected in &hits[1..] {
        let event = go(&mut client, "continue", &["breakpoint"]);
        let thread = select(&mut client, &event);
        let found = (thread, client.evaluate("counted"), client.evaluate("mixed"));
        assert_eq!(&found, expected);
    }
    client.disconnect();
}

#[test]
fn steps_of_a_thread_lead_over_what_waits_for_others() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "join");
    client.next();
    client.expect_line(&fixture, "joined");
    assert_eq!(client.evaluate("sum"), "0");
    client.next();
    assert_eq!(client.evaluate("sum"), "10");
    reverse(&mut client);
    client.expect_line(&fixture, "join");
    // Forward again in the past, and on from the present.
    client.next();
    client.expect_line(&fixture, "joined");
    client.next();
    assert_eq!(client.evaluate("sum"), "10");
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

#[test]
fn a_pause_among_spinning_threads_can_be_gone_back_from() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "begin");
    let first = client.thread();
    client.continue_to(&fixture, "begin");
    let second = client.thread();
    let begun = client.evaluate("mixed");
    client.set_breakpoints(&fixture, &[]);
    while client.evaluate("mixed") == begun {
        client.continue_();
        client.pause();
    }
    client.set_breakpoints(&fixture, &["begin"]);
    let event = reverse(&mut client);
    if select(&mut client, &event) != second {
        // The third thread had begun meanwhile.
        let event = reverse(&mut client);
        assert_eq!(select(&mut client, &event), second);
    }
    assert_eq!(client.evaluate("mixed"), begun);
    let event = reverse(&mut client);
    assert_eq!(select(&mut client, &event), first);
    client.disconnect();
}

#[test]
fn steps_back_stay_in_their_thread() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "owned");
    let thread = client.thread();
    client.set_breakpoints(&fixture, &[]);
    let state = |client: &mut DapClient| {
        let values = ["counted", "owner", "own", "nth"].map(|name| client.evaluate(name));
        (client.top_frame()["line"].clone(), values)
    };
    let mut states = vec![state(&mut client)];
    for _ in 0..3 {
        client.next();
        states.push(state(&mut client));
    }
    states.pop();
    for expected in states.iter().rev() {
        let event = go(&mut client, "stepBack", &["step"]);
        assert_eq!(select(&mut client, &event), thread);
        assert_eq!(&state(&mut client), expected);
    }
    client.disconnect();
}

/// It runs in a copy, which has the thread that calls it alone.
#[test]
fn a_called_function_leaves_the_other_threads() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "release");
    let main = client.thread();
    let present = thread_ids(&mut client);
    assert_eq!(present.len(), 4);
    client.set_breakpoints(&fixture, &["create"]);
    for is_past in [false, true] {
        let all = thread_ids(&mut client);
        for thread in [main, all[all.len() - 1], main] {
            client.select_thread(thread);
            assert_eq!(client.evaluate("(int)toupper('a')"), "65");
            assert_eq!(thread_ids(&mut client), all);
        }
        if !is_past {
            let event = reverse(&mut client);
            select(&mut client, &event);
        }
    }
    return_to_present(&mut client);
    assert_eq!(thread_ids(&mut client), present);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), "15 60 1\n");
}

/// The recorder has answered the last call of the other thread, which has not left it.
#[test]
fn threads_that_have_given_way_call_functions() {
    let fixture = Fixture::of("c/record/threads/yields.c");
    let mut client = recorded(&fixture, "alone");
    for is_past in [false, true] {
        for thread in thread_ids(&mut client) {
            client.select_thread(thread);
            assert_eq!(client.evaluate("(int)toupper('b')"), "66", "{is_past}");
        }
        if !is_past {
            client.set_breakpoints(&fixture, &["alone", "join"]);
            client.continue_to(&fixture, "join");
            let event = reverse(&mut client);
            select(&mut client, &event);
            client.expect_line(&fixture, "alone");
        }
    }
    return_to_present(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

fn pc(client: &mut DapClient) -> u64 {
    let frame = client.top_frame();
    let text = frame["instructionPointerReference"].as_str();
    let digits = text.and_then(|text| text.strip_prefix("0x"));
    u64::from_str_radix(digits.expect("an address"), 16).expect("a number")
}

fn break_at(client: &mut DapClient, addrs: &[u64]) {
    let all = addrs
        .iter()
        .map(|addr| json!({"instructionReference": format!("{addr:#x}")}));
    let all: Vec<Value> = all.collect();
    client.request_ok("setInstructionBreakpoints", json!({"breakpoints": all}));
}

/// A thread stops where it gives way to another one, which passes the same instruction before the thread has
/// executed it.
#[test]
fn hits_of_others_are_met_while_a_thread_gives_way() {
    /// Of six times `xor` and `cpuid`.
    const BEFORE: u64 = 24;
    let fixture = Fixture::of("c/travel_turns.c");
    let mut client = recorded(&fixture, "joined");
    client.set_breakpoints(&fixture, &["pass"]);
    let event = reverse(&mut client);
    select(&mut client, &event);
    let place = pc(&mut client);
    client.set_breakpoints(&fixture, &[]);
    break_at(&mut client, &[place - BEFORE]);
    // To a little before the place, in the pass in which the thread gives way there.
    let to_hit = |client: &mut DapClient, number: u64| {
        return_to_present(client);
        client.request_ok("stillpoint/visitHit", json!({"number": number}));
        let event = client.expect_stopped("instruction breakpoint");
        select(client, &event)
    };
    let mut last = to_hit(&mut client, 1);
    let mut number = 1;
    loop {
        let event = go(&mut client, "continue", &["instruction breakpoint"]);
        let thread = select(&mut client, &event);
        if thread != last {
            client.select_thread(last);
            if pc(&mut client) == place {
                break;
            }
        }
        last = thread;
        number += 1;
    }
    assert_eq!(to_hit(&mut client, number), last);
    break_at(&mut client, &[place]);
    while pc(&mut client) < place {
        let step = json!({"threadId": last, "granularity": "instruction"});
        client.request_ok("stepIn", step);
        client.expect_stopped_by(&["step", "instruction breakpoint"]);
    }
    assert_eq!(pc(&mut client), place);
    // Each hit of the other thread in its turn, and then the thread itself goes on.
    let event = go(&mut client, "continue", &["instruction breakpoint"]);
    assert_ne!(select(&mut client, &event), last);
    assert_eq!(pc(&mut client), place);
    client.select_thread(last);
    assert_eq!(pc(&mut client), place);
    let executed = client.evaluate("passes[own]");
    let mut thread = event["threadId"].as_i64();
    while thread != Some(last) {
        thread = go(&mut client, "continue", &["instruction breakpoint"])["threadId"].as_i64();
    }
    client.select_thread(last);
    // Its hit at the place was met before the turns.
    let next = client.evaluate("passes[own]");
    assert_eq!(
        next.parse::<u64>(),
        executed.parse::<u64>().map(|it| it + 1)
    );
    client.disconnect();
}

/// The two threads overwrite each other's updates. The writes of both are found, back from the lost one.
#[test]
fn a_race_that_a_seed_shows_can_be_gone_back_in() {
    const SEEDS: u64 = 40;
    let fixture = Fixture::of("c/record/threads/races.c");
    let stopped = |seed: u64| {
        let settings = json!({"args": ["update"], "record": {"chaos": seed}});
        let mut client = DapClient::stopped_with(&fixture, "counted", settings);
        let counted: u64 = client.evaluate("counted").parse().expect("a number");
        (client, counted)
    };
    let mut tried = (1..=SEEDS).map(|seed| (seed, stopped(seed)));
    let lost = tried.find(|(_, (_, counted))| *counted < 400);
    let (seed, (mut client, counted)) = lost.expect("a seed with a race");
    let note = client.output("console");
    assert!(note.contains(&format!("Chaos with seed {seed}")), "{note}");
    let mut values = Vec::new();
    let mut writers = Vec::new();
    while writers.len() < 2 {
        let frame = client.top_frame()["id"].clone();
        let arguments = json!({"name": "counted", "frameId": frame});
        client.request_ok("stillpoint/lastWrite", arguments);
        let event = client.expect_stopped_by(&["data breakpoint"]);
        let writer = select(&mut client, &event);
        assert_eq!(client.top_frame()["name"], "update");
        values.push(client.evaluate("counted"));
        if !writers.contains(&writer) {
            writers.push(writer);
        }
    }
    assert_eq!(values[0], counted.to_string());
    client.disconnect();
    // The same seed shows it again.
    let (client, again) = stopped(seed);
    assert_eq!(again, counted, "seed {seed}");
    client.disconnect();
}

/// The instructions of a loop, of which one is a place where threads change.
#[test]
fn breakpoints_close_to_a_change_of_threads_lead_no_replay_astray() {
    let fixture = Fixture::of(SOURCE);
    let mut client = recorded(&fixture, "done");
    let line = client.set_breakpoints(&fixture, &["mixed"]);
    client.set_breakpoints(&fixture, &[]);
    let arguments = json!({
        "memoryReference": line[0]["instructionReference"],
        "instructionCount": 12,
    });
    let code = client.request_ok("disassemble", arguments)["instructions"].clone();
    let code = code.as_array().expect("instructions");
    for instruction in code {
        let breakpoints = json!([{"instructionReference": instruction["address"]}]);
        let arguments = json!({"breakpoints": breakpoints});
        let set = client.request_ok("setInstructionBreakpoints", arguments);
        let id = set["breakpoints"][0]["id"].clone();
        // Late enough that a jump replaces the instruction in the replay.
        let hit = json!({"breakpointId": id, "number": 5000});
        client.request_ok("stillpoint/visitHit", hit);
        let event = client.expect_stopped("instruction breakpoint");
        assert_eq!(event["hitBreakpointIds"], json!([id]), "{instruction}");
        let top = client.top_frame();
        let pc = &top["instructionPointerReference"];
        assert_eq!(*pc, instruction["address"]);
    }
    // The place stays that is shown, and its breakpoint is gone.
    client.set_breakpoints(&fixture, &["counted"]);
    let none = json!({"breakpoints": []});
    client.request_ok("setInstructionBreakpoints", none);
    client.request_ok("stillpoint/visitHit", json!({"number": 16}));
    let event = client.expect_stopped("breakpoint");
    assert_eq!(event.get("hitBreakpointIds"), None, "{event}");
    client.disconnect();
}
