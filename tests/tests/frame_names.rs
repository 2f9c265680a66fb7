//! Names of frames as clients want them written, and what else frames tell.

use serde_json::{Value, json};
use std::process::Command;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

fn name(client: &mut DapClient, format: Value) -> String {
    let thread = client.thread();
    let arguments = json!({"threadId": thread, "levels": 1, "format": format});
    let stack = client.request_ok("stackTrace", arguments);
    let name = stack["stackFrames"][0]["name"].as_str();
    name.expect("a name").to_owned()
}

#[test]
fn parameters_line_and_module() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let whole = json!({"parameters": true, "parameterTypes": true, "parameterNames": true,
                       "parameterValues": true});
    assert_eq!(
        name(&mut client, whole.clone()),
        "body(int i = 0, int scale = 10)"
    );
    for (format, expected) in [
        (json!({}), "body"),
        (json!({"includeAll": true}), "body"),
        (json!({"parameters": true}), "body(i, scale)"),
        (json!({"parameterTypes": true}), "body(int, int)"),
        (
            json!({"parameters": true, "parameterValues": true}),
            "body(0, 10)",
        ),
        (
            json!({"parameters": false, "parameterValues": true}),
            "body",
        ),
        (
            json!({"parameterNames": true, "parameterValues": true, "hex": true}),
            "body(i = 0x0, scale = 0xa)",
        ),
    ] {
        assert_eq!(name(&mut client, format.clone()), expected, "{format}");
    }
    let line = fixture.line("body");
    let program = fixture
        .program
        .file_name()
        .expect("a name")
        .to_string_lossy();
    assert_eq!(
        name(&mut client, json!({"line": true, "module": true})),
        format!("{program}!body Line {line}")
    );
    // An invalid format counts as none; an invalid member of a format is an error.
    assert_eq!(name(&mut client, json!(5)), "body");
    let thread = client.thread();
    let wrong = json!({"threadId": thread, "format": {"parameters": "many"}});
    let error = client.request_error("stackTrace", wrong);
    assert!(error.contains("format.parameters"), "{error}");
    client.disconnect();
}

#[test]
fn parameters_use_the_language_syntax() {
    let fixture = Fixture::of("rust/inline_first.rs");
    let mut client = DapClient::stopped_at(&fixture, "second");
    let typed = json!({"parameterTypes": true, "parameterNames": true});
    let text = name(&mut client, typed);
    assert!(text.ends_with("scale(factor: u64, count: u64)"), "{text}");
    client.disconnect();
}

#[test]
fn sources_have_the_compiler_s_checksum() {
    let Some(fixture) = Fixture::build("c/columns.c", Flags::new(Compiler::Clang)) else {
        return;
    };
    let sum = Command::new("md5sum").arg(&fixture.source).output();
    let sum = String::from_utf8(sum.expect("md5sum runs").stdout).expect("UTF-8");
    let sum = sum.split_whitespace().next().expect("a sum");
    let mut client = DapClient::stopped_at(&fixture, "three");
    let expected = json!([{"algorithm": "MD5", "checksum": sum}]);
    let source = client.top_frame()["source"].clone();
    assert_eq!(source["checksums"], expected);
    let set = client.set_breakpoints(&fixture, &["three"]);
    assert_eq!(set[0]["source"]["checksums"], expected);
    let sources = client.request_ok("loadedSources", json!({}));
    let sources = sources["sources"].as_array().expect("sources");
    let own = sources.iter().find(|it| it["path"] == source["path"]);
    assert_eq!(own.expect("the source")["checksums"], expected);
    client.disconnect();
}
