//! One operation is described in several places: the list of tools, the console's help, the manual, the extension.
//! They say the same.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use stillpoint_tests::{Agent, DapClient, Fixture, repository};

fn read(name: &str) -> String {
    let text = fs::read_to_string(repository().join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the tools of a listing, by their names.
fn tools(options: &[&str]) -> BTreeMap<String, Value> {
    let mut agent = Agent::start_with(options);
    let id = agent.send("tools/list", json!({}));
    let answer = agent.answer(id);
    agent.leave();
    let tools = answer["result"]["tools"].as_array().expect("tools").iter();
    tools
        .map(|tool| {
            (
                tool["name"].as_str().expect("a name").to_owned(),
                tool.clone(),
            )
        })
        .collect()
}

/// Returns the description of a tool's argument.
fn argument(tools: &BTreeMap<String, Value>, tool: &str, name: &str) -> String {
    let argument = &tools[tool]["inputSchema"]["properties"][name];
    let text = argument["description"].as_str();
    text.unwrap_or_else(|| panic!("{tool} has no {name}"))
        .to_owned()
}

/// Returns the row of a table of the manual whose first cell is this name.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let begin = format!("| `{name}`");
    let found = page.lines().find(|line| line.starts_with(&begin));
    found.unwrap_or_else(|| panic!("no row of {name}"))
}

/// Checks that each place of an operation says each of these facts, in one of its spellings, and none of what is false.
fn agree(operation: &str, places: &[(&str, String)], facts: &[&[&str]], not: &[&str]) {
    for (place, text) in places {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for spellings in facts {
            assert!(
                spellings.iter().any(|spelling| text.contains(spelling)),
                "{operation}: none of {spellings:?} in {place}: {text}"
            );
        }
        for wrong in not {
            assert!(
                !text.contains(wrong),
                "{operation}: {wrong:?} in {place}: {text}"
            );
        }
    }
}

/// Returns what the console's `:help` says of a command.
fn help(command: &str) -> String {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let arguments = json!({"expression": format!(":help {command}"), "context": "repl"});
    let body = client.request_ok("evaluate", arguments);
    client.disconnect();
    body["result"].as_str().expect("a text").to_owned()
}

#[test]
fn recording_needs_the_same_in_all_places() {
    let tools = tools(&["--tools", "all"]);
    let package: Value = serde_json::from_str(&read("vscode-extension/package.json")).unwrap();
    let launch = &package["contributes"]["debuggers"][0]["configurationAttributes"]["launch"];
    let extension = launch["properties"]["record"]["description"].as_str();
    let settings = read("docs/settings.md");
    let places = [
        ("debug_launch", argument(&tools, "debug_launch", "record")),
        (
            "the extension",
            extension.expect("a description").to_owned(),
        ),
        ("docs/settings.md", row(&settings, "record").to_owned()),
    ];
    let not = ["one thread", "single thread", "single-threaded"];
    agree("record", &places, &[&["Linux"], &["x86-64"]], &not);
    // All threads are recorded.
    let threads = [
        ("debug_launch", argument(&tools, "debug_launch", "record")),
        (":help record", help("record")),
        ("docs/time-travel.md", read("docs/time-travel.md")),
    ];
    agree("record", &threads, &[&["threads"]], &["needs one thread"]);
}

#[test]
fn traced_call_has_the_same_bounds_in_all_places() {
    let tools = tools(&["--tools", "all"]);
    let of = |name: &str| argument(&tools, "debug_trace_call", name);
    let (traces, agents) = (read("docs/traces.md"), read("docs/agents.md"));
    let console = help("trace-call");
    let places = |name: &str, more: &[(&'static str, &String)]| {
        let mut places = vec![("debug_trace_call", of(name))];
        places.extend(more.iter().map(|(place, text)| (*place, (*text).clone())));
        places
    };
    let manual = ("docs/traces.md", &traces);
    let protocol = ("docs/agents.md", &agents);
    agree(
        "limit",
        &places("limit", &[manual, protocol]),
        &[&["4000"]],
        &[],
    );
    let console = ("the console", &console);
    agree(
        "timeout",
        &places("timeout", &[manual, console, protocol]),
        &[&["60"]],
        &[],
    );
    agree(
        "depth",
        &places("depth", &[manual]),
        &[&["at most 5", "1 to 5"]],
        &[],
    );
    let first = ["the present one if"];
    agree(
        "which call",
        &places("hit", &[manual, console]),
        &[&first],
        &[],
    );
}

#[test]
fn exception_filters_are_those_of_all_places() {
    let tools = tools(&["--tools", "all"]);
    let mut client = DapClient::spawn();
    let capabilities = client.initialize();
    client.disconnect();
    let filters = capabilities["exceptionBreakpointFilters"].as_array();
    let places = [
        (
            "debug_breakpoint",
            argument(&tools, "debug_breakpoint", "exception"),
        ),
        ("docs/exceptions.md", read("docs/exceptions.md")),
        ("vimspector in docs/editors.md", read("docs/editors.md")),
    ];
    for filter in filters.expect("filters") {
        let name = filter["filter"].as_str().expect("a name");
        agree("exceptions", &places, &[&[name]], &[]);
        let answer = match filter["default"] == true {
            true => "Y",
            false => "N",
        };
        let default = format!("\"{name}\": \"{answer}\"");
        agree("exceptions", &places[2..], &[&[&default]], &[]);
    }
}

#[test]
fn manual_lists_the_tools_and_says_which_are_listed() {
    let (few, all) = (tools(&[]), tools(&["--tools", "all"]));
    let page = read("docs/agents.md");
    let table = page.lines().filter(|line| line.starts_with("| `debug_"));
    let mut described = BTreeSet::new();
    for line in table {
        let cell = line.split('|').nth(1).expect("a cell");
        for word in cell.split_whitespace() {
            let name = word.trim_matches(['`', '*']).trim_end_matches('`');
            assert_eq!(word.ends_with('*'), !few.contains_key(name), "{word}");
            described.insert(name.to_owned());
        }
    }
    assert_eq!(described, all.keys().cloned().collect());
    let words = [
        "zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
        "Eleven", "Twelve",
    ];
    let count = format!("{} tools are listed", words[few.len()]);
    assert!(page.contains(&count), "{count}");
    // The actions of `debug_continue` stand in its row.
    let actions = &all["debug_continue"]["inputSchema"]["properties"]["action"]["enum"];
    for action in actions.as_array().expect("words") {
        let word = format!("`{}`", action.as_str().expect("a word"));
        assert!(row(&page, "debug_continue").contains(&word), "{word}");
    }
}

#[test]
fn tools_that_start_programs_have_the_same_arguments() {
    let tools = tools(&["--tools", "all"]);
    let page = read("docs/agents.md");
    let names = ["program", "args", "cwd", "env", "stdin", "stdout", "record"];
    let kind = |tool: &str, name: &str| {
        let properties = &tools[tool]["inputSchema"]["properties"];
        properties[name]["type"].clone()
    };
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "{name}");
        for tool in [
            "debug_explain",
            "debug_trace_call",
            "debug_calls",
            "debug_test",
        ] {
            // A test runs in its folder, `dir`.
            if (tool, name) != ("debug_test", "cwd") {
                assert_eq!(
                    kind(tool, name),
                    kind("debug_launch", name),
                    "{tool}: {name}"
                );
            }
        }
    }
}
