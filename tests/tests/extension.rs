//! The VS Code extension describes the settings as docs/settings.md does: names, types, defaults.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use stillpoint_tests::repository;

/// Those that the extension itself reads.
const OF_THE_EXTENSION: &[&str] = &["cargo", "cmake"];

/// A row of a table of settings: type and default.
type Rows = BTreeMap<String, (String, String)>;

fn read(name: &str) -> String {
    fs::read_to_string(repository().join(name)).expect(name)
}

/// Returns the table whose first heading is `request`.
fn table(page: &str, request: &str) -> Rows {
    let heading = format!("| {request} | type |");
    let lines = page.lines().skip_while(|line| !line.starts_with(&heading));
    let mut rows = Rows::new();
    for line in lines.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let bare = |text: &str| text.trim_matches('`').to_owned();
        for name in cells[0].split(", ") {
            rows.insert(bare(name), (cells[1].to_owned(), cells[2].to_owned()));
        }
    }
    assert!(rows.len() > 10, "no table for {request}");
    rows
}

fn properties(package: &Value, request: &str) -> serde_json::Map<String, Value> {
    let debugger = &package["contributes"]["debuggers"][0];
    let properties = &debugger["configurationAttributes"][request]["properties"];
    properties.as_object().expect("properties").clone()
}

#[test]
fn settings_are_those_of_the_manual() {
    let page = read("docs/settings.md");
    let package: Value = serde_json::from_str(&read("vscode-extension/package.json")).unwrap();
    let launch = table(&page, "launch");
    for request in ["launch", "attach"] {
        let mut described = properties(&package, request);
        described.retain(|name, _| !OF_THE_EXTENSION.contains(&name.as_str()));
        let rows = table(&page, request);
        let names: Vec<&String> = rows.keys().collect();
        assert_eq!(described.keys().collect::<Vec<_>>(), names, "{request}");
        for (name, setting) in &described {
            let (mut kind, mut default) = rows[name].clone();
            if kind == "as above" {
                let above = &launch[name];
                kind.clone_from(&above.0);
                if default.is_empty() {
                    default.clone_from(&above.1);
                }
            }
            let text = setting["description"].as_str().unwrap_or_default();
            assert!(text.ends_with('.'), "{request} {name} is not described");
            check_default(name, setting, &default);
            check_type(name, setting, &kind);
        }
    }
}

fn check_default(name: &str, setting: &Value, documented: &str) {
    let names = name.contains("Length") || ["maxElements", "maxDepth"].contains(&name);
    let default = setting["default"].clone();
    let expected: Vec<Value> = documented
        .split(", ")
        .map(|default| {
            let bare = default.trim_matches('`');
            serde_json::from_str(bare).unwrap_or_else(|_| json!(bare))
        })
        .collect();
    let fits = match documented {
        // Words instead of a value, or none: editors may suggest something.
        "" | "the adapter's" | "all `null`" => true,
        _ if names => expected.contains(&default),
        _ => expected == [default.clone()],
    };
    assert!(
        fits,
        "{name}: {default} in package.json, {documented} in the manual"
    );
}

fn check_type(name: &str, setting: &Value, documented: &str) {
    let types: Vec<&str> = match &setting["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    for (word, kind) in [
        ("bool", "boolean"),
        ("seconds", "number"),
        ("list", "array"),
        ("object", "object"),
    ] {
        assert!(
            !documented.contains(word) || types.contains(&kind),
            "{name}: {documented} in the manual, {types:?} in package.json"
        );
    }
    for choice in setting["enum"].as_array().into_iter().flatten() {
        let word = format!("`{}`", choice.as_str().expect("a word"));
        assert!(
            documented.contains(&word),
            "{name}: {word} is not in the manual"
        );
    }
}

/// Settings of a program, which have no default for all.
const OF_ONE_PROGRAM: &[&str] = &[
    "program", "cargo", "cmake", "args", "coreFile", "replay", "noDebug",
];

#[test]
fn each_launch_setting_has_a_typed_default() {
    let package: Value = serde_json::from_str(&read("vscode-extension/package.json")).unwrap();
    let mut expected = properties(&package, "launch");
    expected.retain(|name, _| !OF_ONE_PROGRAM.contains(&name.as_str()));
    let groups = package["contributes"]["configuration"].as_array();
    let groups = groups.expect("groups of settings").iter();
    let settings = groups.flat_map(|group| group["properties"].as_object().expect("settings"));
    let mut described = serde_json::Map::new();
    for (name, setting) in settings {
        if let Some(name) = name.strip_prefix("stillpoint.launch.") {
            let mut setting = setting.clone();
            let members = setting.as_object_mut().expect("an object");
            assert_eq!(members.remove("scope"), Some("resource".into()), "{name}");
            described.insert(name.to_owned(), setting);
        }
    }
    // The folder of the workspace is the default already.
    let cwd = expected["cwd"].as_object_mut().expect("an object");
    cwd.remove("default");
    assert_eq!(described, expected);
}

#[test]
fn snippets_have_known_settings_only() {
    let package: Value = serde_json::from_str(&read("vscode-extension/package.json")).unwrap();
    let debugger = &package["contributes"]["debuggers"][0];
    for snippet in debugger["configurationSnippets"]
        .as_array()
        .expect("snippets")
    {
        let body = snippet["body"].as_object().expect("a body");
        let known = properties(&package, body["request"].as_str().expect("a request"));
        for name in body.keys() {
            let is_editors = ["type", "request", "name"].contains(&name.as_str());
            assert!(is_editors || known.contains_key(name), "{name}: {snippet}");
        }
    }
}
