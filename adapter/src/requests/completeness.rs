//! Every request, capability and field of the schema is either supported, or listed as unsupported
//! in `docs/protocol.md`, with the reason.

use super::capabilities;
use super::routes::ROUTES;
use crate::protocol::ChangedCapabilities;
use crate::protocol::schema::{response, schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md"));
const HEADING: &str = "## Unsupported parts of DAP";

/// Reverse requests that the adapter sends.
const REVERSE_REQUESTS: [&str; 2] = ["runInTerminal", "startDebugging"];

/// Types of the schema with another name here; those from the `dap` crate have all fields.
const RENAMED_TYPES: [(&str, &str); 10] = [
    ("SetBreakpointsResponse", "BreakpointsResponse"),
    ("SetFunctionBreakpointsResponse", "BreakpointsResponse"),
    ("SetInstructionBreakpointsResponse", "BreakpointsResponse"),
    ("SetDataBreakpointsResponse", "BreakpointsResponse"),
    ("SetExceptionBreakpointsResponse", "BreakpointsResponse"),
    ("InitializeRequestArguments", "InitializeArguments"),
    ("ErrorResponse", "ErrorBody"),
    ("Message", "ErrorMessage"),
    ("NextArguments", "StepArguments"),
    ("StepOutArguments", "StepArguments"),
];
/// Read by code outside `protocol`: by several requests together, by the `dap` crate, or as
/// settings.
const READ_ELSEWHERE: [&str; 4] = [
    "ContinueArguments",
    "PauseArguments",
    "ReverseContinueArguments",
    "LaunchRequestArguments.noDebug",
];

/// Returns the names in the first columns of the tables.
fn listed() -> BTreeSet<&'static str> {
    let section = PAGE.split(HEADING).nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split(" | ").next());
    names
        .flat_map(|names| names.split('`'))
        .filter(|name| name.chars().any(char::is_alphabetic))
        .collect()
}

/// Returns the commands of all requests in the schema.
fn requests(schema: &Value) -> BTreeSet<&str> {
    let definitions = schema["definitions"].as_object().expect("definitions");
    let commands = definitions.values().filter_map(|definition| {
        definition["allOf"][1]["properties"]["command"]["enum"][0].as_str()
    });
    commands
        .filter(|command| !REVERSE_REQUESTS.contains(command))
        .collect()
}

/// Returns the fields of this crate's structs by the names of the schema. It parses the source,
/// which needs no value of each struct.
fn fields_of_ours() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocol");
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in fs::read_dir(folder).expect("this folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("its text");
        let (mut of, mut renamed) = (None, None);
        for line in text.lines() {
            if let Some(declared) = line.strip_prefix("pub struct ") {
                let name = declared.split(['<', ' ', '(', ';']).next().expect("a name");
                of = Some(name.to_owned());
            } else if line == "}" {
                of = None;
            }
            if let Some((_, name)) = line.split_once("rename = \"") {
                renamed = name.split('"').next().map(str::to_owned);
            }
            if let Some(name) = line.strip_prefix("    pub ").filter(|_| of.is_some())
                && let Some((name, _)) = name.split_once(':')
            {
                let fields = all.entry(of.clone().unwrap_or_default()).or_default();
                fields.insert(renamed.take().unwrap_or_else(|| camel_case(name)));
            }
        }
    }
    all
}

fn camel_case(name: &str) -> String {
    let mut words = name.trim_start_matches("r#").split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (letter, rest) = word.split_at(word.len().min(1));
        name + &letter.to_uppercase() + rest
    })
}

/// Returns the types of the schema with their fields; for responses and events, the fields of the
/// body.
fn fields_of_the_schema(schema: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let definitions = schema["definitions"].as_object().expect("definitions");
    let mut all = BTreeMap::new();
    for (name, definition) in definitions {
        let is_message = name.ends_with("Response") || name.ends_with("Event");
        let parts = definition["allOf"].as_array().into_iter().flatten();
        let mut fields = BTreeSet::new();
        for part in parts.chain([definition]) {
            let properties = match is_message {
                true => &part["properties"]["body"]["properties"],
                false => &part["properties"],
            };
            let properties = properties.as_object().into_iter().flatten();
            fields.extend(properties.map(|(field, _)| field.as_str()));
        }
        let is_envelope = name.ends_with("Request") || name == "ProtocolMessage";
        if !is_envelope && !fields.is_empty() && name != "Capabilities" {
            all.insert(name.as_str(), fields);
        }
    }
    all
}

#[test]
fn no_field_of_the_schema_is_forgotten() {
    let schema = schema();
    let listed = listed();
    let ours = fields_of_ours();
    assert!(ours["StackFrame"].contains("moduleId"), "{ours:?}");
    assert!(ours["Variable"].contains("type"), "{ours:?}");
    let borrowed = include_str!("../protocol/mod.rs")
        .split("pub use dap::")
        .skip(1);
    let borrowed: BTreeSet<&str> = borrowed
        .flat_map(|list| list.split(';').next())
        .flat_map(|list| list.split(|char: char| !char.is_alphanumeric()))
        .collect();
    let all = fields_of_the_schema(&schema);
    assert!(all.len() > 80, "{all:?}");
    for (name, fields) in &all {
        let other = RENAMED_TYPES.iter().find(|(known, _)| known == name);
        let name_of_ours = match other {
            Some((_, ours)) => (*ours).to_owned(),
            None if name.ends_with("Event") => format!("{name}Body"),
            None => (*name).to_owned(),
        };
        let is_whole = borrowed.contains(&*name_of_ours) || READ_ELSEWHERE.contains(name);
        // The arguments of an unsupported request are not read.
        let command = name.strip_suffix("Arguments").map(|name| {
            let (first, rest) = name.split_at(1);
            first.to_lowercase() + rest
        });
        if command.is_some_and(|command| listed.contains(&*command)) {
            continue;
        }
        for field in fields {
            let spelled = format!("{name}.{field}");
            let is_there = is_whole
                || READ_ELSEWHERE.contains(&&*spelled)
                || ours
                    .get(&name_of_ours)
                    .is_some_and(|ours| ours.contains(*field));
            assert!(
                is_there != listed.contains(&*spelled),
                "`{spelled}`: present: {is_there}; it must be either in `protocol/`, or in \
                 docs/protocol.md under `{HEADING}`"
            );
        }
    }
    for name in listed.iter().filter_map(|name| name.split_once('.')) {
        let is_known = all
            .get(name.0)
            .is_some_and(|fields| fields.contains(name.1));
        assert!(is_known, "`{name:?}` is not in the schema");
    }
}

#[test]
fn requests_and_capabilities_follow_the_schema() {
    let schema = schema();
    let listed = listed();
    let requests = requests(&schema);
    assert!(requests.len() > 40, "{requests:?}");
    for command in &requests {
        let is_there = ROUTES.iter().any(|route| route.command == *command);
        assert!(
            is_there != listed.contains(command),
            "`{command}`: present: {is_there}; it must be either in ROUTES, or in \
             docs/protocol.md under `{HEADING}`"
        );
    }
    let mut offered = serde_json::to_value(capabilities()).expect("JSON");
    // Announced by an event, while it holds.
    let later = serde_json::to_value(ChangedCapabilities::of_past(true)).expect("JSON");
    let later = later.as_object().expect("an object").clone();
    for (capability, is_there) in later {
        assert_eq!(offered[&capability], Value::Null, "`{capability}`");
        offered[&capability] = is_there;
    }
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
            "`{capability}`: offered: {is_there}; it must be either advertised by a route, or in \
             docs/protocol.md under `{HEADING}`"
        );
    }
    for name in listed.iter().filter(|name| !name.contains('.')) {
        let is_known = requests.contains(name) || known.contains_key(*name);
        assert!(is_known, "`{name}` is not in the schema");
    }
    // A request that the schema lacks has the prefix `stillpoint/`.
    for route in ROUTES {
        let is_ours = route.command.starts_with("stillpoint/");
        assert!(
            is_ours != requests.contains(route.command),
            "`{}`",
            route.command
        );
    }
}

#[test]
fn capabilities_follow_the_schema() {
    response(&schema(), "InitializeResponse", &capabilities());
}
