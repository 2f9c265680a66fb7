//! The origin of a value, through copies.

use super::{recorded, return_to_present, shown};
use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Goes to the origin of an expression. Returns the places on the way.
fn origin(client: &mut DapClient, expression: &str) -> Vec<Value> {
    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"name": expression, "frameId": frame});
    client.request_ok("stillpoint/origin", arguments);
    let event = client.expect_stopped("data breakpoint");
    let text = event["text"].as_str().unwrap_or_default();
    assert!(text.starts_with(expression), "{event}");
    let body = client.request_ok("stillpoint/originHops", json!({}));
    assert_eq!(body["name"], expression);
    println!("{}", shown(client, ":origin"));
    body["hops"].as_array().expect("places").clone()
}

/// Checks that there are places of these kinds, functions and lines among the others, in this order, and that the
/// last one is the last of all.
fn expect_way(fixture: &Fixture, hops: &[Value], expected: &[(&str, &str, &str)]) {
    let is_at = |hop: &Value, (kind, function, marker): &(&str, &str, &str)| {
        let name = hop["function"].as_str().unwrap_or_default();
        let line = (!marker.is_empty()).then(|| fixture.line(marker) as i64);
        hop["kind"] == *kind
            && name.ends_with(function)
            && line.is_none_or(|line| hop["line"] == line)
    };
    let mut rest = hops.iter();
    for wanted in expected {
        assert!(
            rest.any(|hop| is_at(hop, wanted)),
            "{wanted:?} in {hops:#?}"
        );
    }
    assert_eq!(rest.next(), None, "the last one is the origin: {hops:#?}");
}

fn gcc(optimization: &'static str) -> Fixture {
    let flags = Flags::new(Compiler::Gcc).optimized(optimization);
    Fixture::build("c/origin.c", flags).expect("gcc")
}

#[test]
fn value_is_followed_through_copies_arguments_and_results() {
    let fixture = Fixture::of("c/origin.c");
    let mut client = recorded(&fixture, "done");
    let hops = origin(&mut client, "last_owed");
    expect_way(
        &fixture,
        &hops,
        &[
            ("copied", "move_on", "last"),
            ("copied", "move_on", "moved"),
            ("copied", "settle", "settled"),
            ("argument", "settle", ""),
            ("copied", "enter", "passed"),
            ("returned", "price", ""),
            ("computed", "price", "computed"),
        ],
    );
    let texts: Vec<&str> = hops.iter().filter_map(|it| it["text"].as_str()).collect();
    assert!(
        texts[0].starts_with("copied from orders[1].owed (0x"),
        "{texts:?}"
    );
    assert!(
        texts[1].starts_with("copied from orders[2].owed (0x"),
        "{texts:?}"
    );
    assert!(hops.iter().all(|it| it["value"] == "21"), "{hops:#?}");
    // The origin is shown, with what it was computed of.
    client.expect_line(&fixture, "computed");
    assert_eq!(client.evaluate("units * each"), "21");
    client.disconnect();
}

#[test]
fn places_on_the_way_can_be_gone_to_and_on_from() {
    let fixture = Fixture::of("c/origin.c");
    let mut client = recorded(&fixture, "done");
    let hops = origin(&mut client, "last_owed");
    let settled = hops
        .iter()
        .position(|it| it["line"] == fixture.line("settled"));
    let settled = settled.expect("the place") + 1;
    for place in [1, settled, hops.len(), settled] {
        let before = client.count_events("continued");
        client.request_ok("stillpoint/visitHop", json!({"number": place}));
        client.expect_stopped("data breakpoint");
        assert_eq!(client.count_events("continued"), before + 1);
        assert_eq!(client.top_frame()["name"], hops[place - 1]["function"]);
    }
    client.expect_line(&fixture, "settled");
    assert_eq!(client.evaluate("owed"), "21");
    // The program goes on from there, and goes back.
    client.next();
    assert_eq!(client.evaluate("order->owed"), "21");
    return_to_present(&mut client);
    client.expect_line(&fixture, "done");
    // They can still be gone to, also by the console.
    assert_eq!(shown(&mut client, &format!(":origin {settled}")), "");
    client.expect_stopped("data breakpoint");
    client.expect_line(&fixture, "settled");
    for number in [0, hops.len() as i64 + 1, i64::MAX, -1] {
        client.request_error("stillpoint/visitHop", json!({"number": number}));
    }
    client.expect_line(&fixture, "settled");
    client.disconnect();
}

#[test]
fn values_come_from_the_kernel_and_the_image() {
    let fixture = Fixture::of("c/origin.c");
    let mut client = recorded(&fixture, "done");
    let hops = origin(&mut client, "copy_of_image");
    expect_way(
        &fixture,
        &hops,
        &[("copied", "copy_image", "copied"), ("initial", "", "")],
    );
    let text = hops[0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("copied from from_image (0x"), "{text}");
    return_to_present(&mut client);
    let hops = origin(&mut client, "read_number");
    expect_way(
        &fixture,
        &hops,
        &[("copied", "read_input", "read"), ("systemCall", "read", "")],
    );
    let text = hops[1]["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("read(fd = ") && text.contains("count = 4) = 4"),
        "{text}"
    );
    assert!(client.function_names().contains(&"read_input".to_owned()));
    return_to_present(&mut client);
    // A call that was made without a stop.
    let hops = origin(&mut client, "often");
    expect_way(
        &fixture,
        &hops,
        &[
            ("copied", "read_often", "often"),
            ("systemCall", "read_often", ""),
        ],
    );
    let text = hops[1]["text"].as_str().unwrap_or_default();
    assert!(text.contains("count = 4) = 4, read \"\\'"), "39: {text}");
    assert!(client.function_names().contains(&"read_often".to_owned()));
    client.disconnect();
}

#[test]
fn values_of_another_thread_are_followed() {
    let fixture = Fixture::of("c/origin_threads.c");
    let mut client = recorded(&fixture, "done");
    let main = client.thread();
    let hops = origin(&mut client, "received");
    expect_way(
        &fixture,
        &hops,
        &[
            ("copied", "take", "taken"),
            ("argument", "put", ""),
            ("copied", "send", "passed"),
            ("computed", "weigh", "computed"),
        ],
    );
    let text = hops.iter().filter_map(|it| it["text"].as_str());
    assert!(
        text.clone()
            .any(|it| it.starts_with("copied from box.item (")),
        "{hops:#?}"
    );
    assert!(hops.iter().all(|it| it["value"] == "140"), "{hops:#?}");
    // Each place has the thread that was there.
    for (index, hop) in hops.iter().enumerate() {
        client.request_ok("stillpoint/visitHop", json!({"number": index + 1}));
        let event = client.expect_stopped("data breakpoint");
        let thread = event["threadId"].as_i64().expect("a thread");
        client.select_thread(thread);
        let is_receiver = matches!(hop["function"].as_str(), Some("main" | "take"));
        assert_eq!(thread == main, is_receiver, "{hop}");
        assert_eq!(client.top_frame()["name"], hop["function"]);
    }
    client.disconnect();
}

#[test]
fn copies_of_libc_and_string_instructions_are_followed() {
    for fixture in [gcc("0"), gcc("2")] {
        let mut client = recorded(&fixture, "done");
        let hops = origin(&mut client, "*(int *)(target + 4000)");
        expect_way(&fixture, &hops, &[("computed", "large", "planted")]);
        assert!(hops.iter().any(|it| it["kind"] == "copied"), "{hops:#?}");
        return_to_present(&mut client);
        let hops = origin(&mut client, "repeated[2].units");
        let text = hops[0]["text"].as_str().unwrap_or_default();
        assert!(
            text.starts_with("copied from orders[2].units (0x"),
            "{text}"
        );
        expect_way(
            &fixture,
            &hops,
            &[("copied", "repeat", "repeated"), ("computed", "main", "")],
        );
        client.disconnect();
    }
}

#[test]
fn values_in_registers_of_optimized_code_are_followed() {
    let fixture = gcc("2");
    let mut client = recorded(&fixture, "done");
    let hops = origin(&mut client, "last_owed");
    expect_way(
        &fixture,
        &hops,
        &[("copied", "move_on", "last"), ("computed", "price", "")],
    );
    return_to_present(&mut client);
    // In the loop, a register keeps its value through the call.
    let hops = origin(&mut client, "orders[0].owed");
    assert!(hops.iter().all(|it| it["value"] == "999"), "{hops:#?}");
    assert!(hops.iter().all(|it| it["kind"] != "returned"), "{hops:#?}");
    expect_way(
        &fixture,
        &hops,
        &[("argument", "settle", ""), ("computed", "main", "")],
    );
    client.disconnect();
}

#[test]
fn values_of_rust_are_followed() {
    let optimized = Flags::new(Compiler::Rustc).optimized("2");
    for flags in [Flags::new(Compiler::Rustc), optimized] {
        let fixture = Fixture::build("rust/origin.rs", flags).expect("rustc");
        let mut client = recorded(&fixture, "done");
        let hops = origin(&mut client, "order.owed");
        assert!(hops.iter().all(|it| it["value"] == "21"), "{hops:#?}");
        let last = hops.last().expect("places");
        assert_eq!(last["kind"], "computed", "{hops:#?}");
        let is_in = |name: &str| {
            let functions = hops.iter().filter_map(|it| it["function"].as_str());
            functions.filter(|it| it.ends_with(name)).count() > 0
        };
        assert!(is_in("::settle"), "{hops:#?}");
        client.disconnect();
    }
}

#[test]
fn what_cannot_be_followed_says_why() {
    let fixture = Fixture::of("c/origin.c");
    let mut client = recorded(&fixture, "done");
    let why = client.request_error("stillpoint/originHops", json!({}));
    assert!(why.contains("no origin was searched"), "{why}");
    client.request_error("stillpoint/visitHop", json!({"number": 1}));
    let frame = client.top_frame()["id"].clone();
    for (name, reason) in [("orders", "choose a member"), ("size + 1", "not in memory")] {
        let arguments = json!({"name": name, "frameId": frame});
        let why = client.request_error("stillpoint/origin", arguments);
        assert!(why.contains(reason), "{name}: {why}");
    }
    client.expect_line(&fixture, "done");
    client.disconnect();
    let mut client = DapClient::stopped_at(&fixture, "done");
    let arguments = json!({"name": "last_owed"});
    let why = client.request_error("stillpoint/origin", arguments);
    assert!(why.contains("record"), "{why}");
    client.disconnect();
}
