//! Slices of Rust whose elements are arrays: `&[[u8; 4]]`, against what the program prints.

use regex::Regex;
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

fn stopped(condition: &str) -> DapClient {
    let fixture = Fixture::of("rust/rows_of_rows.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let conditions = vec![("look", json!({"condition": condition}))];
    let set = client.set_breakpoints_with(&fixture, conditions);
    assert_eq!(set[0]["verified"], true, "{set:?}");
    client.configure();
    client.expect_stopped("breakpoint");
    client
}

/// A value without what the debugger and the program write differently.
fn plain(value: &str) -> String {
    let counts = Regex::new(r"^\(\d+\)| \((strong )?\d+\)|\s").expect("a pattern");
    counts.replace_all(value, "").into_owned()
}

#[test]
fn values_are_those_that_the_program_prints() {
    let mut client = stopped("true");
    let output = client.output("stdout");
    let printed: Vec<(&str, &str)> = output
        .lines()
        .filter_map(|it| it.split_once(" = "))
        .collect();
    assert!(printed.len() >= 20, "{output}");
    for (name, value) in printed {
        // Its inner rows are deeper than a line shows.
        let (name, value) = match name {
            "of_slices" => ("of_slices[0][0]", "[[1, 2], [3, 4]]"),
            _ => (name, value),
        };
        assert_eq!(plain(&client.evaluate(name)), plain(value), "{name}");
    }
    for (expression, value) in [
        ("bytes[1]", "[5, 6, 7, 8]"),
        ("bytes[1][2]", "7"),
        ("bytes.len()", "3"),
        ("&bytes[1..]", "(2) [[5, 6, 7, 8], [9, 10, 11, 12]]"),
        ("bytes.last()", "Some([9, 10, 11, 12])"),
        ("deep[1][0][1]", "6"),
        ("points[0][1].y", "4"),
        ("texts[1][0]", "\"c\""),
        ("tail.rows[1]", "[3, 4]"),
        ("*boxed", "(2) [[1, 2], [3, 4]]"),
        ("cells.iter().map(|it| it[2]).max()", "Some(6)"),
        ("bytes.iter().position(|row| row[1] == 6)", "Some(1)"),
    ] {
        assert_eq!(client.evaluate(expression), value, "{expression}");
    }
    client.disconnect();
}

#[test]
fn conditions_read_rows_of_rows() {
    for condition in [
        "bytes[0][1] == 6",
        "bytes[1] == [9, 10, 11, 12] && bytes[0] != [1, 2, 3, 4]",
        "bytes.len() == 2",
        "bytes.iter().any(|row| row[3] == 8) && !bytes.iter().any(|row| row[0] == 1)",
        "optional.is_some() && optional.unwrap()[0] == [9, 10, 11, 12]",
    ] {
        let mut client = stopped(condition);
        assert_eq!(client.evaluate("bytes[0][0]"), "5", "{condition}");
        client.disconnect();
    }
}
