//! Programs of many threads.

use std::env;

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, RUST_RELEASES};

/// A number from the environment. For the full proof of the races: `STILLPOINT_RUNS=50` (how
/// often) and `STILLPOINT_ROUNDS=1000` (how often each thread passes the line).
fn number(name: &str, usual: usize) -> usize {
    let number = env::var(name).ok();
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(usual)
}

/// The arguments of the race, and how many hits there are in it.
fn race() -> (Value, usize) {
    let (threads, rounds) = (200, number("STILLPOINT_ROUNDS", 20));
    let args = [threads, rounds].map(|number| number.to_string());
    (json!({"args": args}), threads * rounds)
}

#[test]
fn two_hundred_racing_threads_lose_no_hit() {
    let fixture = Fixture::of("c/threads.c");
    let (arguments, hits) = race();
    for _ in 0..number("STILLPOINT_RUNS", 3) {
        let mut client = DapClient::spawn();
        client.launch(&fixture, arguments.clone());
        let never = json!({"condition": "worker->rounds == 0"});
        let places = vec![("hit", never)];
        let set = client.set_breakpoints_with(&fixture, places);
        assert_eq!(set[0]["verified"], true);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.count_events("stopped"), 0);
        assert_eq!(client.output("stdout").trim_end(), format!("total {hits}"));
        client.disconnect();
    }
}

#[test]
fn the_hits_of_two_hundred_threads_are_counted() {
    let fixture = Fixture::of("c/threads.c");
    let (arguments, hits) = race();
    for _ in 0..number("STILLPOINT_RUNS", 3) {
        let mut client = DapClient::spawn();
        client.launch(&fixture, arguments.clone());
        // The last of all hits, and no other.
        let last = json!({"hitCondition": hits.to_string()});
        client.set_breakpoints_with(&fixture, vec![("hit", last)]);
        client.configure();
        client.expect_stopped("breakpoint");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout").trim_end(), format!("total {hits}"));
        client.disconnect();
    }
}

#[test]
fn every_thread_stops_once() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["20"]}));
    client.set_breakpoints(&fixture, &["hit"]);
    client.configure();
    let mut numbers = Vec::new();
    let mut threads = Vec::new();
    for _ in 0..20 {
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "hit");
        threads.push(client.thread());
        numbers.push(client.evaluate("number").parse::<u32>().expect("a number"));
        client.continue_();
    }
    client.expect_exit();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).collect::<Vec<u32>>());
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 20);
    assert_eq!(client.output("stdout").trim_end(), "total 20");
    client.disconnect();
}

#[test]
fn threads_come_and_go() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["5"]}));
    client.configure();
    client.expect_exit();
    let of_reason = |reason: &str| {
        let mut ids: Vec<i64> = client
            .history()
            .iter()
            .filter(|message| message["event"] == "thread")
            .filter(|message| message["body"]["reason"] == reason)
            .filter_map(|message| message["body"]["threadId"].as_i64())
            .collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(of_reason("started").len(), 6);
    assert_eq!(of_reason("exited").len(), 6);
    assert_eq!(of_reason("started"), of_reason("exited"));
    client.disconnect();
}

#[test]
fn all_threads_are_listed_and_named() {
    let fixture = Fixture::of("c/barrier.c");
    let mut client = DapClient::stopped_at(&fixture, "all_there");
    let body = client.request_ok("threads", Value::Null);
    let threads = body["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), 4);
    for number in 0..3 {
        let name = format!("worker-{number}");
        assert!(
            threads.iter().any(|thread| thread["name"]
                .as_str()
                .is_some_and(|text| text.contains(&name))),
            "no {name} in {body}"
        );
    }
    // Each has a stack that goes down to its own function.
    let main = client.thread();
    for thread in threads {
        let id = thread["id"].as_i64().expect("an id");
        client.select_thread(id);
        let wanted = if id == main { "main" } else { "wait_there" };
        let names = client.function_names();
        assert!(names.iter().any(|name| name == wanted), "{names:?}");
    }
    client.disconnect();
}

#[test]
fn any_thread_number_continues_all() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["4"]}));
    client.set_breakpoints(&fixture, &["hit"]);
    client.configure();
    for number in [0, 1, 1, 99_999] {
        client.expect_stopped("breakpoint");
        // dap-mcp always sends 1; clients made for CodeLLDB send 0 for the default.
        let body = client.request_ok("continue", json!({"threadId": number}));
        assert_ne!(body["allThreadsContinued"], false);
    }
    client.expect_exit();
    assert_eq!(client.count_events("continued"), 0);
    client.disconnect();
}

#[test]
fn pause_with_many_threads() {
    let fixture = Fixture::of("c/barrier.c");
    let mut client = DapClient::stopped_at(&fixture, "all_there");
    // A pause at a stop is harmless.
    client.request_ok("pause", json!({"threadId": 0}));
    client.expect_line(&fixture, "all_there");
    client.disconnect();
}

#[test]
fn stepping_where_all_hit_the_line() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["10", "3"]}));
    client.set_breakpoints(&fixture, &["hit"]);
    client.configure();
    client.expect_stopped("breakpoint");
    // Steps are cut short by the other threads' hits; none of the thirty is lost.
    let mut hits = 1;
    loop {
        let thread = client.thread();
        client.request_ok("next", json!({"threadId": thread}));
        let event = client.wait_event_of(&["stopped", "exited"]);
        if event["event"] == "exited" {
            break;
        }
        if event["body"]["reason"] == "breakpoint" {
            hits += 1;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
    }
    assert_eq!(hits, 30);
    client.wait_event("terminated");
    assert_eq!(client.output("stdout").trim_end(), "total 30");
    client.disconnect();
}

/// In the program, in a library, and in a library opened later, whose copies are created at a
/// thread's first access.
#[test]
fn each_thread_has_its_own() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/thread_local.c", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &["opened", "set", "worker", "worker_end"]);
        client.configure();
        for (marker, own, linked, plugin) in [
            ("opened", "1", "10", None),
            ("set", "5", "10", Some("20")),
            ("worker", "2", "11", None),
            ("worker_end", "2", "11", Some("21")),
        ] {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, marker);
            assert_eq!(client.evaluate("own"), own, "{marker}");
            assert_eq!(client.evaluate("linked_own"), linked, "{marker}");
            assert_eq!(client.evaluate("small"), "109 'm'", "{marker}");
            match (plugin, client.try_evaluate("plugin_own")) {
                (Some(plugin), shown) => assert_eq!(shown.as_deref(), Ok(plugin), "{marker}"),
                // glibc has room for it in each thread, where descriptors allow that.
                (None, Ok(shown)) if cfg!(target_arch = "aarch64") => assert_eq!(shown, "19"),
                (None, shown) => {
                    let error = shown.expect_err(marker);
                    assert!(
                        error.contains("not allocated in this thread yet"),
                        "{error}"
                    );
                }
            }
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

/// By the names in the source; std keeps them in statics of other names, and describes one for
/// each that no thread has.
#[test]
fn rust_threads_have_their_own() {
    let releases = RUST_RELEASES.into_iter();
    for (release, level) in releases.flat_map(|release| [(release, "0"), (release, "2")]) {
        let flags = Flags::rust(release, level);
        let Some(fixture) = Fixture::build("rust/thread_local.rs", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &["untouched", "filled", "over"]);
        client.configure();
        let none = "<not initialized yet>";
        let over = "<destroyed>";
        for (marker, shown) in [
            ("untouched", ["7", none, none, "[]", "'a'"]),
            ("filled", ["1", "31", "(1) [\"main\"]", "(1) [1]", "'z'"]),
            ("untouched", ["7", none, none, "[]", "'a'"]),
            ("filled", ["2", "32", "(1) [\"other\"]", "(1) [2]", "'z'"]),
            ("over", ["2", "32", over, over, "'z'"]),
            ("untouched", ["1", "31", "(1) [\"main\"]", "(1) [1]", "'z'"]),
            (
                "filled",
                ["3", "34", "(2) [\"main\", \"again\"]", "(2) [1, 3]", "'z'"],
            ),
        ] {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, marker);
            let names = ["NUMBER", "LAZY", "WORDS", "LIST", "inner::LETTER"];
            for (name, shown) in names.into_iter().zip(shown) {
                // 1.70 keeps whether a constant is destroyed beside it.
                if (release, name, shown) == ("+1.70", "LIST", over) {
                    continue;
                }
                let evaluated = client.evaluate(name);
                assert!(
                    evaluated.starts_with(shown),
                    "{release} {level} {marker} {name}: {evaluated}"
                );
            }
            if marker == "over" {
                // In a unit of its own.
                client.continue_();
                continue;
            }
            let frame = client.top_frame()["id"].clone();
            let scopes = client.request_ok("scopes", json!({"frameId": frame}));
            let scopes = scopes["scopes"].as_array().expect("scopes");
            let of_unit = scopes.iter().find(|scope| scope["name"] == "Globals");
            let globals = client.children(of_unit.expect("globals"));
            let of = |name: &str| format!("thread_local::{name}");
            let mut listed: Vec<&str> = globals.keys().map(String::as_str).collect();
            // Variables of another module may be in another unit.
            listed.retain(|name| !name.ends_with("{vtable}") && !name.contains("::inner::"));
            let mut expected: Vec<String> = names[..4].iter().map(|name| of(name)).collect();
            expected.sort_unstable();
            assert_eq!(listed, expected, "{release} {level} {marker}");
            assert!(globals[&of("LAZY")].starts_with(shown[1]), "{globals:?}");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn a_thread_can_be_stepped_alone() {
    let fixture = Fixture::of("stepping/alone.c");
    let mut client = DapClient::stopped_at(&fixture, "first");
    let thread = client.thread();
    let alone = json!({"threadId": thread, "singleThread": true});
    for marker in ["second", "third", "create"] {
        client.request_ok("next", alone.clone());
        client.expect_stopped("step");
        client.expect_line(&fixture, marker);
    }
    // No thread has counted between the two.
    assert_eq!(client.evaluate("first"), client.evaluate("second"));
    assert_eq!(client.evaluate("second"), client.evaluate("third"));
    client.set_breakpoints(&fixture, &["joined"]);
    let body = client.request_ok("continue", alone);
    assert_eq!(body["allThreadsContinued"], false);
    client.expect_stopped("breakpoint");
    let before = client.evaluate("first");
    assert_ne!(
        before,
        client.evaluate("counted"),
        "but for the other worker"
    );
    client.disconnect();
}
