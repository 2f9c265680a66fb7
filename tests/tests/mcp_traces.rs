//! `stillpoint mcp`: tracepoints.

use serde_json::json;
use stillpoint_tests::{Agent, Fixture, assert_contains, line_of};

#[test]
fn location_without_an_action_sets_a_tracepoint() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let set = agent.call(
        "debug_trace",
        json!({"location": "body", "query": "count()"}),
    );
    assert_contains(&set, &["tracepoint ", " at loop.c:"]);
    let unread = json!({"action": "read", "query": "count()"});
    let unread = agent.fail("debug_trace", unread, "BAD_ARGUMENTS");
    assert_contains(&unread, &["`query` is read by the action \"add\" only"]);
    let ended = agent.call("debug_continue", json!({}));
    assert_contains(&ended, &["ended: exit code 0\n", "5"]);
}

#[test]
fn agents_set_read_and_remove_tracepoints() {
    let fixture = Fixture::of("c/traces.c");
    let mut agent = Agent::start();
    let launch = json!({"program": fixture.program, "args": ["600", "2"]});
    agent.call("debug_launch", launch);
    let place = line_of(&fixture, "handle");
    let query = "count(), max(order->n) by order->kind where order->n > 0";
    let add = json!({"action": "add", "location": place, "query": query});
    assert_contains(
        &agent.call("debug_trace", add),
        &["tracepoint ", query, "no hits yet"],
    );
    let records = json!({"action": "add", "location": "handle", "query": "order->n keep 3"});
    agent.call("debug_trace", records);
    let wrong = json!({"action": "add", "location": "handle", "query": "order->m"});
    let error = agent.fail("debug_trace", wrong, "CANNOT_TRACE");
    assert_contains(&error, &["no member `m`"]);
    let nowhere = json!({"action": "add", "location": "nowhere_at_all"});
    agent.fail("debug_trace", nowhere, "NO_SUCH_PLACE");

    let runs = |agent: &mut Agent| {
        let ended = agent.call("debug_continue", json!({}));
        let recorded = [
            "ended: exit code 0",
            "  APPLE  ",
            "the last 3 of 1,200 records:",
        ];
        assert_contains(&ended, &recorded);
        agent.call("debug_trace", json!({}))
    };
    let first = runs(&mut agent);
    assert_contains(
        &first,
        &[
            "order->kind",
            "  APPLE  ",
            "1,200 hits",
            "the last 3 of 1,200 records:",
            "order->n = ",
        ],
    );
    assert!(first.len() < 4000, "{first}");
    // The same program, the same text.
    agent.call("debug_continue", json!({"action": "restart"}));
    let second = agent.call("debug_trace", json!({}));
    let tables = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("  ") && !line.contains('='));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(tables(&first), tables(&second));

    let few = agent.call("debug_trace", json!({"rows": 1}));
    assert_contains(&few, &["(2 more rows)"]);
    let id = second
        .split_whitespace()
        .nth(1)
        .expect("a number")
        .to_owned();
    let id: i64 = id.parse().expect("a number");
    agent.call("debug_trace", json!({"action": "remove", "id": id}));
    agent.fail("debug_trace", json!({"id": id}), "NO_SUCH_TRACEPOINT");
    agent.leave();
}
