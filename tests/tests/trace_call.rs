//! One call as one text: its lines, what they change, the calls inside it, and how it ends.

use serde_json::{Value, json};
use stillpoint_tests::{Agent, Compiler, DapClient, Fixture, Flags, assert_contains, line_of};

/// Starts a program with arguments and stops it before its first instruction.
fn started(fixture: &Fixture, arguments: &[&str]) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": arguments, "stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    client
}

/// Traces a call, however long that takes; returns the text.
fn trace(client: &mut DapClient, mut arguments: Value) -> String {
    arguments["seconds"] = json!(3600);
    let body = client.request_ok("stillpoint/traceCall", arguments);
    body["text"].as_str().expect("a text").to_owned()
}

/// Returns the rows of a text between the arguments and the outcome, without blanks at both ends.
fn rows(text: &str) -> Vec<&str> {
    let rows = text.lines().skip(2);
    let rows = rows.take_while(|row| !row.starts_with("returned") && !row.starts_with("not "));
    rows.map(str::trim).collect()
}

/// Returns the row of a marked line; the first one if there are several.
fn row<'a>(text: &'a str, fixture: &Fixture, marker: &str) -> &'a str {
    let number = fixture.line(marker).to_string();
    let is_it = |row: &&str| row.split_whitespace().any(|word| word == number);
    let found = text.lines().skip(2).find(is_it);
    found.unwrap_or_else(|| panic!("no line {number} ({marker}) in\n{text}"))
}

#[test]
fn loop_of_1000_iterations_is_folded() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "total"}));
    client.expect_stopped("step");
    client.expect_line(&fixture, "totals");
    assert!(row(&text, &fixture, "sum").ends_with("sum = 0"), "{text}");
    assert!(row(&text, &fixture, "loop").ends_with("i = 0"), "{text}");
    let (first, last) = (fixture.line("loop"), fixture.line("positive"));
    assert_contains(
        &text,
        &[
            "count=1000",
            &format!("loop of lines {first}-{last}, 1000 iterations:"),
            " #2 ",
            // The one iteration that takes the other branch.
            " #701 ",
            "sum: 244650 → 245350",
            " #1000 ",
            "in all: i: 0 → 999, sum: 0 → 499500",
            "returned 499500\n",
            "made by steps: 3004 lines executed",
        ],
    );
    assert!(!text.contains(" #3 "), "{text}");
    assert!(row(&text, &fixture, "negative").contains("sum -= values[i]"));
    client.disconnect();
}

#[test]
fn trace_is_the_same_in_every_run_and_within_its_limit() {
    let fixture = Fixture::of("c/trace_call.c");
    let traced = |limit: usize| {
        let mut client = started(&fixture, &[]);
        let arguments = json!({"function": "table", "limit": limit});
        let text = trace(&mut client, arguments);
        client.disconnect();
        text
    };
    let whole = traced(100_000);
    assert_eq!(whole, traced(100_000));
    assert!(whole.len() > 1500, "{whole}");
    for limit in [400, 700, 1200] {
        let text = traced(limit);
        assert!(text.len() <= limit, "{limit}: {text}");
        assert_contains(&text, &["rows=6, columns=7", "returned 315\n"]);
    }
}

#[test]
fn nested_loops_are_folded_inside_each_other() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "table"}));
    let lines = |first, last| format!("{}-{}", fixture.line(first), fixture.line(last));
    let outer = format!("loop of lines {}, 6 iterations:", lines("outer", "check"));
    let inner = format!("loop of lines {}, 7 iterations:", lines("inner", "cell"));
    assert_eq!(text.matches(&outer).count(), 1, "{text}");
    assert_eq!(text.matches(&inner).count(), 3, "{text}");
    assert_contains(&text, &["row: 0 → 5", "cells: 0 → 315", "column: 0 → 6"]);
    client.disconnect();
}

#[test]
fn recursion_shows_one_activation() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "factorial", "hit": 2}));
    client.expect_stopped("step");
    assert_contains(&text, &["arguments: n=4\n", "returned 24\n"]);
    let expected = ["base", "recursion", "product"].map(|it| fixture.line(it).to_string());
    let lines: Vec<&str> = rows(&text).into_iter().collect();
    let numbers: Vec<&str> = lines
        .iter()
        .filter(|row| !row.starts_with('→'))
        .filter_map(|row| row.split_whitespace().next())
        .collect();
    assert_eq!(numbers[..3], expected, "{text}");
    assert_eq!(numbers.len(), 4, "{text}");
    assert_contains(&text, &["→ factorial(n=3) = 6", "rest = 6"]);
    // It stops in the caller, which is the first call.
    client.expect_line(&fixture, "recursion");
    assert_eq!(client.evaluate("n"), "5");
    client.disconnect();
    // The calls inside do not end the trace of the first one.
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "factorial"}));
    assert_contains(&text, &["→ factorial(n=4) = 24", "returned 120\n"]);
    client.disconnect();
}

#[test]
fn callee_that_changes_a_struct_is_visible_in_its_caller() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "deposit", "hit": 3}));
    client.expect_stopped("step");
    assert_eq!(client.top_frame()["name"], "main");
    assert_contains(
        row(&text, &fixture, "history"),
        &["account->history[2]: 0 → 300"],
    );
    assert_contains(
        row(&text, &fixture, "entries"),
        &["account->entries: 2 → 3"],
    );
    assert_contains(
        row(&text, &fixture, "balance"),
        &["account->balance: 310 → 610"],
    );
    assert_contains(
        &text,
        &[
            "→ add(a=310, b=300) = 610",
            "changed through arguments: account->balance: 310 → 610, account->entries: 2 → 3, \
             account->history[2]: 0 → 300\n",
        ],
    );
    client.disconnect();
}

#[test]
fn change_far_inside_a_large_value_is_found() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "mark"}));
    assert_contains(row(&text, &fixture, "mark"), &["cells->cells[50]: 0 → 51"]);
    assert_contains(
        &text,
        &["changed through arguments: cells->cells[50]: 0 → 51\n"],
    );
    client.disconnect();
}

#[test]
fn call_by_a_library_ends_at_its_return() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    for _ in 0..2 {
        let text = trace(&mut client, json!({"function": "compare"}));
        client.expect_stopped("step");
        let last = |row: &str| -> i64 {
            let number = row.split_whitespace().next_back();
            number
                .and_then(|it| it.parse().ok())
                .unwrap_or_else(|| panic!("{text}"))
        };
        let returned = text.lines().find(|row| row.starts_with("returned"));
        let [x, y] = ["compare", "compared"].map(|it| last(row(&text, &fixture, it)));
        assert_eq!(last(returned.expect("a result")), x - y, "{text}");
        let names = client.function_names();
        assert!(!names.contains(&"compare".to_owned()), "{names:?}");
        assert!(names.contains(&"main".to_owned()), "{names:?}");
    }
    client.disconnect();
}

#[test]
fn condition_selects_the_call() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let arguments = json!({"function": "deposit", "condition": "amount > 350"});
    let text = trace(&mut client, arguments);
    assert_contains(&text, &["amount=400", "account->entries: 3 → 4"]);
    let wrong = json!({"function": "deposit", "condition": "amount >"});
    let error = client.request_error("stillpoint/traceCall", wrong);
    assert!(error.contains("unexpected end of expression"), "{error}");
    client.disconnect();
}

#[test]
fn depth_adds_the_lines_of_callees() {
    let fixture = Fixture::of("c/trace_call.c");
    let lines_at = |depth: u64| {
        let mut client = started(&fixture, &[]);
        let arguments = json!({"function": "outermost", "depth": depth});
        let text = trace(&mut client, arguments);
        client.disconnect();
        let has = |marker| {
            let number = fixture.line(marker).to_string();
            rows(&text).iter().any(|row| row.starts_with(&number))
        };
        assert!(has("middle") && has("outermost_end"), "{text}");
        assert_contains(&text, &["→ middle(n=4) = 5", "value = 5", "returned 6\n"]);
        (
            has("half"),
            has("added"),
            text.contains("→ add(a=4, b=4) = 8"),
        )
    };
    assert_eq!(lines_at(0), (false, false, false));
    assert_eq!(lines_at(1), (true, false, true));
    assert_eq!(lines_at(2), (true, true, true));
}

#[test]
fn crash_inside_ends_the_trace() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &["crash"]);
    let text = trace(&mut client, json!({"function": "crash"}));
    client.expect_stopped("exception");
    client.expect_line(&fixture, "crash");
    assert_contains(row(&text, &fixture, "before_crash"), &["before = 1"]);
    let line = fixture.line("crash");
    assert_contains(
        &text,
        &[
            "not returned: signal SIGSEGV: ",
            "`target` is null",
            &format!("stopped in crash, trace_call.c:{line} ← main"),
        ],
    );
    client.disconnect();
}

#[test]
fn end_of_the_process_ends_the_trace() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &["exit"]);
    let text = trace(&mut client, json!({"function": "quit"}));
    assert_contains(
        &text,
        &["twice = 6", "not returned: the process ended: exit code 6"],
    );
    assert_eq!(client.expect_exit(), 6);
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "crash"}));
    assert_contains(
        &text,
        &["crash was not called: the process ended: exit code 0"],
    );
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "no_such_function"}));
    assert_contains(&text, &["not called", "no function `no_such_function`"]);
}

#[test]
fn unknown_function_is_refused_and_nothing_runs() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = DapClient::stopped_at(&fixture, "totals");
    let frame = client.top_frame();
    let resumed = client.count_events("continued");
    let refused = |client: &mut DapClient, command: &str| {
        let evaluate = json!({"expression": command, "context": "repl"});
        client.request_error("evaluate", evaluate)
    };
    let why = refused(&mut client, ":trace-call totl");
    assert_contains(&why, &["no function `totl` in a loaded module"]);
    // Its frames are valid, and the program is where it was.
    client.request_ok("scopes", json!({"frameId": frame["id"]}));
    assert_eq!(client.top_frame()["line"], frame["line"]);
    assert_eq!(client.count_events("continued"), resumed);
    assert_eq!(client.count_events("exited"), 0);
    client.disconnect();
}

#[test]
fn breakpoint_inside_ends_the_trace() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    client.set_breakpoints(&fixture, &["added"]);
    // Before the call, too.
    let text = trace(&mut client, json!({"function": "outermost"}));
    client.expect_stopped("breakpoint");
    assert_contains(&text, &["outermost was not called: a breakpoint was hit"]);
    client.set_breakpoints(&fixture, &["half_end"]);
    let text = trace(&mut client, json!({"function": "outermost"}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "half_end");
    let half = fixture.line("half_end");
    assert_contains(
        &text,
        &[
            "→ middle(n=4), not returned",
            "not returned: a breakpoint was hit",
            &format!("stopped in middle, trace_call.c:{half} ← outermost"),
        ],
    );
    client.disconnect();
}

#[test]
fn call_that_the_program_is_stopped_in_is_traced() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["deposit"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    let text = trace(&mut client, json!({"function": "deposit"}));
    client.expect_stopped("step");
    assert_contains(&text, &["amount=100"]);
    // With a number, calls are counted from now on.
    client.continue_();
    client.expect_stopped("function breakpoint");
    let text = trace(&mut client, json!({"function": "deposit", "hit": 1}));
    client.expect_stopped("step");
    assert_contains(&text, &["amount=300"]);
    // The client's breakpoint is still there.
    client.continue_();
    client.expect_stopped("function breakpoint");
    client.disconnect();
}

#[test]
fn pause_ends_the_trace_of_an_endless_loop() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &["spin"]);
    let pending = client.send("stillpoint/traceCall", json!({"function": "spin"}));
    client.wait_event("continued");
    // A request about the program waits; the pause does not.
    let thread = client.thread();
    let stack = client.send("stackTrace", json!({"threadId": thread, "levels": 1}));
    client.request_ok("pause", json!({"threadId": thread}));
    let body = client.response(pending).expect("a text");
    let text = body["text"].as_str().expect("a text");
    client.drain_stops();
    assert_contains(text, &["paused"]);
    let frame = client.response(stack).expect("a stack")["stackFrames"][0].clone();
    assert!(frame["name"].is_string(), "{frame}");
    client.disconnect();
}

#[test]
fn cancelled_trace_stops_the_program() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &["spin"]);
    let pending = client.send("stillpoint/traceCall", json!({"function": "never_called"}));
    client.wait_event("continued");
    client.request_ok("cancel", json!({"requestId": pending}));
    let error = client.response(pending).expect_err("it was cancelled");
    assert_eq!(error["message"], "cancelled");
    client.expect_stopped("pause");
    // The next trace is not answered by the text of this one.
    let error = client.request_error("stillpoint/traceCall", json!({"function": " "}));
    assert!(error.contains("missing function name"), "{error}");
    client.disconnect();
}

#[test]
fn disconnect_ends_a_trace() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &["spin"]);
    client.send("stillpoint/traceCall", json!({"function": "spin"}));
    client.wait_event("continued");
    client.disconnect();
}

#[test]
fn function_of_a_library_loaded_later_is_traced() {
    let fixture = Fixture::of("c/shared_main.c");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "plugin_thrice"}));
    client.expect_stopped("step");
    client.expect_line(&fixture, "call_plugin");
    assert_contains(
        &text,
        &["call of plugin_thrice, ", "shared_plugin.c", "returned "],
    );
    client.disconnect();
}

#[test]
fn console_traces_with_its_options() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut client = started(&fixture, &[]);
    let mut say = |text: &str| {
        let arguments = json!({"expression": text, "context": "repl"});
        client.request("evaluate", arguments)
    };
    let body = say(":trace-call deposit if amount == 200 depth 1").expect("a text");
    let text = body["result"].as_str().expect("a text");
    assert_contains(text, &["amount=200", "→ add(a=110, b=200) = 310"]);
    assert!(
        text.contains(&format!("{}  return a + b;", fixture.line("added"))),
        "{text}"
    );
    let error = say(":trace-call deposit hit").expect_err("it has no number");
    let error = error["body"]["error"]["format"].as_str().expect("a text");
    assert_contains(
        error,
        &["missing value behind `hit`", "usage: `:trace-call "],
    );
    client.disconnect();
}

#[test]
fn exception_through_a_call_is_named() {
    for optimization in ["0", "2"] {
        let flags = Flags::new(Compiler::Gcc).optimized(optimization);
        let fixture = Fixture::build("cpp/trace_call.cpp", flags).expect("g++");
        let mut client = started(&fixture, &[]);
        let arguments = json!({"function": "measure", "condition": "text.size() == 0"});
        let text = trace(&mut client, arguments);
        client.expect_stopped("step");
        assert_contains(
            &text,
            &[
                "text=\"\"",
                "left by std::invalid_argument: empty text (in parse, trace_call.cpp:",
                "stopped in main",
            ],
        );
        let (first, last) = (fixture.line("guard"), fixture.line("size"));
        assert!(text.contains(&format!(" {first} ")) || text.contains(&format!(" {last} ")));
        client.disconnect();
    }
}

#[test]
fn exception_caught_inside_is_part_of_the_trace() {
    let fixture = Fixture::of("cpp/trace_call.cpp");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "careful"}));
    client.expect_stopped("step");
    assert_contains(
        &text,
        &[
            "std::invalid_argument: empty text (in parse, trace_call.cpp:",
            "→ parse(text=\"\"), left by an exception",
            "result: 0 → -1",
            "returned -1\n",
        ],
    );
    row(&text, &fixture, "caught");
    // A filter of the client stops the program at the throw.
    client.request_ok("setExceptionBreakpoints", json!({"filters": ["cpp_throw"]}));
    client.request_ok("restart", json!({}));
    client.expect_stopped("entry");
    // An earlier throw, before the call, ends it as well.
    let text = trace(&mut client, json!({"function": "careful"}));
    client.expect_stopped("exception");
    assert_contains(&text, &["careful was not called: C++"]);
    let text = trace(&mut client, json!({"function": "careful"}));
    client.expect_stopped("exception");
    assert_contains(&text, &["not returned: C++ exception"]);
    client.disconnect();
}

#[test]
fn function_that_a_library_calls_is_not_left_by_an_exception() {
    let fixture = Fixture::of("cpp/trace_call.cpp");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "accept"}));
    assert_contains(&text, &["→ Order::Order(", "returned 1\n"]);
    assert!(!text.contains("left by an exception"), "{text}");
    client.disconnect();
}

#[test]
fn containers_change_by_elements() {
    let fixture = Fixture::of("cpp/trace_call.cpp");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "collect"}));
    assert_contains(
        &text,
        &[
            "into[2] = 4",
            "names: \"ab\" → \"abc\"",
            "i: 1 → 2",
            "returned\n",
        ],
    );
    client.disconnect();
}

#[test]
fn rust_call_shows_its_variables_and_what_it_changed() {
    let fixture = Fixture::of("rust/trace_call.rs");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "restock"}));
    client.expect_stopped("step");
    assert_contains(row(&text, &fixture, "added"), &["added = 0"]);
    assert_contains(
        &text,
        &[
            "price(item=4) = 12",
            "stock.items[1] = 6",
            "item = 6",
            "stock.total: 12 → 30",
            "returned 2\n",
            "changed through arguments: stock.items[0] = 4, stock.items[1] = 6, stock.total: 0 → 30",
        ],
    );
    // Variables of the compiler are not shown.
    assert!(!text.contains("iter"), "{text}");
    client.disconnect();
}

#[test]
fn what_an_argument_owns_is_not_compared() {
    let fixture = Fixture::of("rust/moved_arguments.rs");
    let mut client = started(&fixture, &[]);
    let text = trace(&mut client, json!({"function": "extend"}));
    assert_contains(
        &text,
        &[
            "changed through arguments: self.store[0].0 = \"c\", ",
            ", self.seen: 0 → 1\n",
        ],
    );
    let after = text.lines().find(|row| row.starts_with("changed through"));
    assert!(after.is_some_and(|row| !row.contains("iter")), "{text}");
    // The source of callees has no arguments of generics.
    assert!(!text.contains("push<"), "{text}");
    client.expect_stopped("step");
    let text = trace(&mut client, json!({"function": "use_up"}));
    assert_contains(&text, &["changed through arguments: into: 0 → 14\n"]);
    // What was moved into `drop` is freed.
    let dropped = row(&text, &fixture, "dropped");
    assert_contains(dropped, &["boxed: [5, 5, 5, 5] → (moved)", " → (moved)"]);
    assert!(!text.contains("invalid"), "{text}");
    assert_eq!(text.matches("(moved)").count(), 3, "{text}");
    client.disconnect();
}

#[test]
fn call_that_a_condition_leaves_out_is_not_taken_for_none() {
    let (fixture, hot) = (Fixture::of("c/loop.c"), Fixture::of("c/travel_hot.c"));
    let ended_of = |fixture: &Fixture, arguments: Value| {
        let mut client = started(fixture, &[]);
        let text = trace(&mut client, arguments);
        client.wait_event("terminated");
        text
    };
    let ended = |arguments: Value| ended_of(&fixture, arguments);
    let never = ended(json!({"function": "body", "condition": "i == 77"}));
    let text = "body was called 5 times, but `i == 77` did not hold: the process ended";
    assert_contains(&never, &[text]);
    let few = ended(json!({"function": "body", "hit": 77}));
    assert_contains(
        &few,
        &["body was called fewer than 77 times: the process ended"],
    );
    let none = ended(json!({"function": "nobody", "condition": "i == 77"}));
    assert_contains(&none, &["nobody was not called: the process ended"]);
    // Of most calls, the program itself evaluates the condition.
    let often = ended_of(&hot, json!({"function": "pass", "condition": "by == 77"}));
    let calls = match cfg!(target_arch = "x86_64") {
        true => "pass was called 4000 times, but `by == 77` did not hold: ",
        false => "pass was called at least ",
    };
    assert_contains(&often, &[calls]);
}

#[test]
fn panic_through_a_call_is_named() {
    let fixture = Fixture::of("rust/trace_call.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stopOnEntry": true}));
    // Without a filter of the client, the panic goes on.
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.configure();
    client.expect_stopped("entry");
    let text = trace(&mut client, json!({"function": "divide", "hit": 2}));
    client.expect_stopped("step");
    let line = fixture.line("divide");
    assert_contains(
        &text,
        &[
            "b=0",
            &format!(
                "left by attempt to divide by zero (in trace_call::divide, trace_call.rs:{line})"
            ),
        ],
    );
    client.request_ok(
        "setExceptionBreakpoints",
        json!({"filters": ["rust_panic"]}),
    );
    client.request_ok("restart", json!({}));
    client.expect_stopped("entry");
    let text = trace(&mut client, json!({"function": "divide", "hit": 2}));
    client.expect_stopped("exception");
    assert_contains(
        &text,
        &["not returned: Rust panic: attempt to divide by zero"],
    );
    client.disconnect();
}

#[test]
fn agent_traces_calls_from_the_start_to_the_end() {
    let fixture = Fixture::of("c/trace_call.c");
    let mut agent = Agent::start();
    agent.call(
        "debug_launch",
        json!({"program": fixture.program, "args": ["spin"]}),
    );
    let text = agent.call("debug_trace_call", json!({"function": "deposit", "hit": 2}));
    assert_contains(
        &text,
        &[
            "amount=200",
            "changed through arguments: ",
            "stopped in main",
        ],
    );
    // The next tool begins in the caller.
    let locals = agent.call("debug_evaluate", json!({"expression": "account.entries"}));
    assert_contains(&locals, &["2"]);
    agent.call("debug_continue", json!({"action": "run-to", "to": "spin"}));
    let arguments = json!({"function": "spin", "timeout": 0.5, "limit": 600});
    let text = agent.call("debug_trace_call", arguments);
    assert!(text.len() <= 600, "{text}");
    assert_contains(&text, &["not returned: paused", "in all: "]);
    agent.fail(
        "debug_trace_call",
        json!({"function": "spin", "condition": "turns >"}),
        "CANNOT_TRACE",
    );
    agent.leave();
}

#[test]
fn stop_that_is_not_expected_begins_the_reply() {
    let fixture = Fixture::of("c/trace_call.c");
    let (mut agent, _) = Agent::at(&fixture, "totals");
    let place = line_of(&fixture, "sum");
    agent.call("debug_breakpoint", json!({"location": "total"}));
    let stop = agent.call("debug_continue", json!({"expect": place}));
    assert!(stop.starts_with("stop 2: "), "{stop}");
    let stop = agent.call(
        "debug_continue",
        json!({"action": "step-over", "expect": "total"}),
    );
    assert!(stop.starts_with("stop 3: "), "{stop}");
    let stop = agent.call(
        "debug_continue",
        json!({"action": "step-out", "expect": "total"}),
    );
    let first = stop.lines().next().expect("a line");
    assert_contains(
        first,
        &["not where expected (total): stopped in main", ".c:"],
    );
    let end = agent.call("debug_continue", json!({"expect": "no_such"}));
    assert!(
        end.starts_with("not where expected (no_such): the program has ended\n"),
        "{end}"
    );
    agent.leave();
}
