//! Stacks through code that says nothing of itself, and stacks that lead nowhere.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const BARE: &[&str] = &["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
const BARE_FRAMELESS: &[&str] = &[
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fomit-frame-pointer",
];

/// Steps through the functions of `c/unwinding.c` by instruction. From each, the stack must contain
/// `all`, which calls them, and reach `start` of the C library.
#[track_caller]
fn leads_home(flags: Flags, start: &str) {
    let Some(fixture) = Fixture::build("c/unwinding.c", flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let places = [
        "many",
        "moving",
        "aligned",
        "target",
        "by_value",
        "on_signal",
    ];
    for (index, place) in places.iter().enumerate() {
        client.set_function_breakpoints(&[place]);
        match index {
            0 => client.configure(),
            _ => client.continue_(),
        }
        client.expect_stopped("function breakpoint");
        client.set_function_breakpoints(&[]);
        for step in 0..60 {
            let names = client.function_names();
            let home = names.iter().position(|name| name == "all");
            let home = home.unwrap_or_else(|| panic!("{flags:?} {place} {step}: {names:?}"));
            assert_eq!(
                names[home + 1],
                "main",
                "{flags:?} {place} {step}: {names:?}"
            );
            let started = names.iter().any(|name| name.contains(start));
            assert!(started, "{flags:?} {place} {step}: {names:?}");
            if step == 0 {
                assert_eq!(names[0], *place, "{flags:?}");
            }
            let thread = client.thread();
            client.request_ok(
                "stepIn",
                json!({"threadId": thread, "granularity": "instruction"}),
            );
            client.expect_stopped("step");
        }
    }
    client.disconnect();
}

#[test]
fn code_without_call_frame_information() {
    for (compiler, optimization, extra) in [
        (Compiler::Gcc, "0", BARE),
        (Compiler::Gcc, "2", BARE_FRAMELESS),
        (Compiler::Clang, "0", BARE),
        (Compiler::Clang, "2", BARE_FRAMELESS),
    ] {
        let flags = Flags {
            extra,
            dwarf: 0,
            ..Flags::new(compiler).optimized(optimization)
        };
        leads_home(flags, "libc_start");
    }
}

#[test]
fn programs_of_musl() {
    const SPECS: &str = "-specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs";
    let path = SPECS.split_once('=').map_or("", |(_, path)| path);
    if !std::path::Path::new(path).exists() {
        return skips::skip("musl-gcc");
    }
    // The shared C library comes without symbols.
    for (optimization, extra, start) in [
        ("0", &[SPECS, "-static"][..], "libc_start"),
        (
            "2",
            &[SPECS, "-static", "-fomit-frame-pointer"],
            "libc_start",
        ),
        ("0", &[SPECS], "0x"),
    ] {
        let flags = Flags {
            extra,
            ..Flags::new(Compiler::Gcc).optimized(optimization)
        };
        leads_home(flags, start);
    }
}

/// Returns the names of the stack at the stop of `c/garbage.c`, and the message about its end.
fn garbage(what: &str, is_told: bool) -> (Vec<String>, String) {
    let fixture = Fixture::of("c/garbage.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": [what]}));
    client.set_breakpoints(&fixture, &["smashed", "looped"]);
    client.configure();
    client.expect_stopped_by(&["breakpoint", "exception"]);
    let names = client.function_names();
    let is_known = client.output("console").contains("Cannot unwind the stack");
    if is_told && !is_known {
        client.wait_event_where("output", |event| {
            let output = event["output"].as_str();
            output.is_some_and(|output| output.contains("Cannot unwind the stack"))
        });
    }
    // A second request adds no message.
    assert_eq!(client.function_names(), names);
    client.request_ok("threads", json!({}));
    let output = client.output("console");
    client.disconnect();
    (names, output)
}

#[test]
fn call_of_non_code() {
    let (names, output) = garbage("wild", false);
    assert_eq!(names[..3], ["0x7000", "wild", "main"]);
    assert!(!output.contains("Cannot unwind the stack"), "{output}");
}

#[test]
fn a_stack_that_was_overwritten() {
    let (names, output) = garbage("smashed", true);
    assert_eq!(names, ["smashed", "0x5555"]);
    assert_eq!(output.matches("further at 0x5555:").count(), 1, "{output}");
}

/// On aarch64 gcc's rules use the stack pointer, so that the frame pointer may be anything.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_stack_that_is_a_loop() {
    let (names, output) = garbage("looped", true);
    assert_eq!(names, ["looped", "main"]);
    assert_eq!(output.matches("further at 0x").count(), 1, "{output}");
}
