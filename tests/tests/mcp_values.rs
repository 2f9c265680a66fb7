//! `stillpoint mcp`: values, opened, read and written.

use serde_json::json;
use stillpoint_tests::{Agent, Fixture, MACHINE, assert_contains};

#[test]
fn values_are_opened_read_and_written() {
    let fixture = Fixture::of("c/structs.c");
    let (mut agent, stop) = Agent::at(&fixture, "inner");
    assert_contains(
        &stop,
        &["  shadow = 2  (int)\n", "pointer = → whole  (int *)"],
    );

    let value = agent.call("debug_evaluate", json!({"expression": "first"}));
    assert_contains(
        &value,
        &[
            "first = {value = 1, next = → #",
            " {value = 2, next = 0x0}}  (struct node)\n",
        ],
    );
    let exact = agent.call(
        "debug_evaluate",
        json!({"expression": "first", "addresses": true}),
    );
    assert_contains(&exact, &[&format!("next = {}", MACHINE.stack_prefix)]);
    let members = agent.call("debug_variables", json!({"expression": "first.next"}));
    assert_contains(&members, &["  value = 2  (int)\n", "  next = 0x0"]);

    // A thousand elements are returned in parts, and the text says how to request the next part.
    let part = agent.call("debug_variables", json!({"expression": "big", "count": 3}));
    assert_contains(
        &part,
        &[
            "  [0] = 0  (int)\n",
            "  [2] = 4  (int)\n",
            "… more of 1000: repeat with \"start\": 3",
        ],
    );
    let next = agent.call(
        "debug_variables",
        json!({"expression": "big", "start": 998, "count": 3}),
    );
    assert_contains(&next, &["  [998] = 996004", "  [999] = 998001"]);
    assert!(!next.contains("more"), "{next}");
    let small = agent.call("debug_variables", json!({"budget": 300}));
    assert!(small.len() < 400, "{small}");
    assert_contains(
        &small,
        &["… more: repeat with \"start\": ", "or raise the budget"],
    );
    let named = agent.call("debug_variables", json!({"filter": "shadow"}));
    assert_eq!(named.lines().count(), 3, "{named}");
    assert_contains(
        &agent.call("debug_variables", json!({"scope": "globals"})),
        &["global_counter = 42"],
    );
    assert_contains(
        &agent.call("debug_variables", json!({"scope": "registers"})),
        &[&format!("{} = ", MACHINE.pc)],
    );

    let long = agent.call(
        "debug_evaluate",
        json!({"expression": "big", "budget": 200}),
    );
    assert!(long.len() < 350, "{long}");
    assert_contains(
        &long,
        &["… truncated: raise the budget, or call debug_variables {\"expression\":\"big\"}"],
    );
    let longer = agent.call(
        "debug_evaluate",
        json!({"expression": "big", "budget": 20000}),
    );
    assert_contains(&longer, &["998001}"]);

    let bytes = agent.call("debug_read", json!({"location": "buffer"}));
    assert_contains(
        &bytes,
        &["8 bytes of buffer:\n", "+0", "61 62 63 00", "abc....."],
    );
    let text = agent.call("debug_read", json!({"location": "*text", "count": 5}));
    assert_contains(&text, &["5 bytes of *text:", "68 65 6c 6c 6f", "hello"]);
    let address = agent.call(
        "debug_evaluate",
        json!({"expression": "&buffer", "addresses": true}),
    );
    let address = address
        .split_whitespace()
        .find(|word| word.starts_with("0x"))
        .expect("an address");
    let there = agent.call("debug_read", json!({"location": address, "count": 4}));
    assert_contains(&there, &["61 62 63 00"]);
    agent.fail("debug_read", json!({"location": "0x10"}), "CANNOT_READ");

    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": "whole", "value": "5 + 2"})
        ),
        "whole: -123456 -> 7\n"
    );
    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": "global_counter", "value": "1"})
        ),
        "global_counter: 42 -> 1\n"
    );
    let location = format!("*(short *){address}");
    assert_eq!(
        agent.call(
            "debug_write",
            json!({"location": location, "value": "0x4241"})
        ),
        format!("{location}: 25185 -> 16961\n")
    );
    assert_contains(
        &agent.call("debug_evaluate", json!({"expression": "buffer"})),
        &["\"ABc\""],
    );
    agent.fail(
        "debug_write",
        json!({"location": "whole", "value": "nonsense"}),
        "CANNOT_WRITE",
    );
    agent.fail(
        "debug_write",
        json!({"location": "3", "value": "4"}),
        "CANNOT_WRITE",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "whole +"}),
        "EVALUATION_FAILED",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "no_such_name"}),
        "EVALUATION_FAILED",
    );
    let stop = agent.call("debug_continue", json!({"action": "step-over"}));
    assert_contains(&stop, &["whole = 9", "whole: -123456 -> 9"]);
    agent.leave();
}
