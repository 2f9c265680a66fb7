//! Every request and capability of the schema is either there, or in the list of those that are
//! not in `ARCHITECTURE.md`, with the reason.

use super::schema::schema;
use crate::routes::{ROUTES, capabilities};
use serde_json::Value;
use std::collections::BTreeSet;

const ARCHITECTURE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../ARCHITECTURE.md"));
const HEADING: &str = "## Of the protocol, what is not there";

/// What we ask clients for.
const OURS_TO_ASK: [&str; 2] = ["runInTerminal", "startDebugging"];

/// The names in the first column of the list.
fn listed() -> BTreeSet<&'static str> {
    let section = ARCHITECTURE.split(HEADING).nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split(" | ").next());
    names
        .flat_map(|names| names.split('`'))
        .filter(|name| name.chars().any(char::is_alphabetic))
        .collect()
}

/// The commands of all requests that the schema has.
fn requests(schema: &Value) -> BTreeSet<&str> {
    let definitions = schema["definitions"].as_object().expect("definitions");
    let commands = definitions.values().filter_map(|definition| {
        definition["allOf"][1]["properties"]["command"]["enum"][0].as_str()
    });
    commands
        .filter(|command| !OURS_TO_ASK.contains(command))
        .collect()
}

#[test]
fn nothing_of_the_schema_is_forgotten() {
    let Some(schema) = schema() else { return };
    let listed = listed();
    let requests = requests(&schema);
    assert!(requests.len() > 40, "{requests:?}");
    for command in &requests {
        let is_there = ROUTES.iter().any(|route| route.command == *command);
        assert!(
            is_there != listed.contains(command),
            "`{command}`: there: {is_there}; it has to be either in ROUTES, or in \
             ARCHITECTURE.md under `{HEADING}`"
        );
    }
    let offered = serde_json::to_value(capabilities()).expect("JSON");
    let known = &schema["definitions"]["Capabilities"]["properties"];
    let known = known.as_object().expect("properties");
    for capability in known.keys() {
        let is_there = match &offered[capability] {
            Value::Bool(is_there) => *is_there,
            Value::Array(all) => !all.is_empty(),
            _ => false,
        };
        assert!(
            is_there != listed.contains(capability.as_str()),
            "`{capability}`: offered: {is_there}; it has to be either advertised by a route, or \
             in ARCHITECTURE.md under `{HEADING}`"
        );
    }
    for name in listed {
        let is_known = requests.contains(name) || known.contains_key(name);
        assert!(is_known, "`{name}` is nothing that the schema has");
    }
    // What is no request of the schema is named as ours.
    for route in ROUTES {
        let is_ours = route.command.starts_with("stillpoint/");
        assert!(
            is_ours != requests.contains(route.command),
            "`{}`",
            route.command
        );
    }
}
