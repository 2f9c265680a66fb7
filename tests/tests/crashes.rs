//! Signals that end programs: the description of the cause, and how the program continues.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE};

/// Runs a program of the fixture to its crash.
fn crash(fixture: &Fixture, what: &str) -> (DapClient, String) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": [what]}));
    client.configure();
    let stop = client.expect_stopped("exception");
    let text = stop["text"].as_str().expect("a text").to_owned();
    let description = stop["description"].as_str().expect("a description");
    let thread = client.thread();
    let info = client.request_ok("exceptionInfo", json!({"threadId": thread}));
    assert_eq!(info["description"], text.as_str());
    let id = info["exceptionId"].as_str().expect("an id");
    assert_eq!(description, format!("signal {id}"));
    assert_eq!(info["breakMode"], "unhandled");
    (client, format!("{id}: {text}"))
}

fn dies(mut client: DapClient, signal: i64) {
    client.continue_();
    assert_eq!(client.expect_exit(), 128 + signal);
    client.disconnect();
}

#[test]
fn null_pointers_are_named() {
    let fixture = Fixture::of("c/crashes.c");
    for (what, text) in [
        (
            "at_null",
            "SIGSEGV: read of address 0x10: `node->value`, but `node` is null",
        ),
        (
            "behind_next",
            "SIGSEGV: read of address 0x10: `node->next->value`, but `node->next` is null",
        ),
        (
            "shared_null",
            "SIGSEGV: write to address 0x8: `shared->next`, but `shared` is null",
        ),
        (
            "plain_null",
            "SIGSEGV: write to address 0x0: `*number`, but `number` is null",
        ),
        (
            "element",
            "SIGSEGV: write to address 0xc: a null pointer plus 12",
        ),
        (
            "unmapped",
            "SIGSEGV: read of address 0x123456789000 (`node->id`): nothing is mapped there",
        ),
        (
            "wild",
            match cfg!(target_arch = "x86_64") {
                true => {
                    "SIGSEGV: read of address 0x4141414141414141 (`node->id`): not a canonical address"
                }
                false => {
                    // Without the tag.
                    "SIGSEGV: read of address 0x41414141414141 (`node->id`): nothing is mapped there"
                }
            },
        ),
    ] {
        let (mut client, reported) = crash(&fixture, what);
        assert_eq!(reported, text);
        client.expect_line(&fixture, what);
        dies(client, 11);
    }
}

/// With optimization too, where the pointer is in a register only.
#[test]
fn null_pointers_in_registers() {
    let flags = Flags::new(Compiler::Gcc).optimized("1");
    let flags = Flags {
        extra: &["-fno-inline"],
        ..flags
    };
    let fixture = Fixture::build("c/crashes.c", flags).expect("gcc is installed");
    let (client, reported) = crash(&fixture, "at_null");
    assert_eq!(
        reported,
        "SIGSEGV: read of address 0x10: `node->value`, but `node` is null"
    );
    dies(client, 11);
}

#[test]
fn faults_are_explained() {
    let fixture = Fixture::of("c/crashes.c");
    for (what, signal, parts) in [
        (
            "read_only",
            11,
            &["write to address", "crashes is read-only"][..],
        ),
        (
            "truncated",
            7,
            &["beyond the end of /tmp/crashes-", "which was truncated"],
        ),
        ("jump", 11, &["jump to address 0x0: a null pointer"]),
        (
            "stack_code",
            11,
            &["jump to address", "[stack] is not executable"],
        ),
        #[cfg(target_arch = "x86_64")]
        ("division", 8, &["integer division by zero"]),
        #[cfg(target_arch = "x86_64")]
        ("quotient", 8, &["quotient is too large"]),
        #[cfg(target_arch = "x86_64")]
        ("trap", 4, &["`ud2`"]),
        #[cfg(target_arch = "x86_64")]
        ("privileged", 11, &["`hlt` is not allowed here"]),
        #[cfg(target_arch = "x86_64")]
        ("misaligned", 11, &["is not a multiple of 16"]),
        #[cfg(target_arch = "x86_64")]
        (
            "forbidden",
            31,
            &["forbidden by a seccomp filter (rax = 110)"],
        ),
        #[cfg(target_arch = "aarch64")]
        ("trap", 5, &["`brk`", "unreachable code"]),
        #[cfg(target_arch = "aarch64")]
        (
            "privileged",
            4,
            &["illegal instruction `mrs` at ", "or privileged"],
        ),
        #[cfg(target_arch = "aarch64")]
        ("misaligned", 7, &["is not a multiple of 8"]),
        #[cfg(target_arch = "aarch64")]
        (
            "forbidden",
            31,
            &["forbidden by a seccomp filter (x8 = 173)"],
        ),
        (
            "assert",
            6,
            &["main: Assertion `zero == 1 && \"one\"' failed."],
        ),
        ("free", 6, &["free(): double free detected"]),
        ("abort", 6, &["SIGABRT from the program itself"]),
    ] {
        let (client, reported) = crash(&fixture, what);
        for part in parts {
            assert!(reported.contains(part), "{what}: {reported}");
        }
        dies(client, signal);
    }
}

#[test]
fn full_stacks_are_recognised() {
    let fixture = Fixture::of("c/crashes.c");
    for (what, part) in [
        ("deep", "MiB of the thread's stack are used, in `deep`"),
        (
            "deep_thread",
            "MiB of the thread's stack are used, in `deep`",
        ),
        (
            "large_frame",
            "MiB below the end of the thread's stack, in `large_frame`",
        ),
    ] {
        let (mut client, reported) = crash(&fixture, what);
        let begins = reported.starts_with("SIGSEGV: stack overflow: ");
        assert!(begins && reported.contains(part), "{reported}");
        let thread = client.thread();
        let page = json!({"threadId": thread, "startFrame": 0, "levels": 2});
        let stack = client.request_ok("stackTrace", page);
        assert!(stack["stackFrames"][0]["name"].as_str().is_some());
        dies(client, 11);
    }
}

/// The program lives on if the signal is kept from it and the cause is put right.
#[test]
fn fatal_signal_can_be_discarded() {
    let fixture = Fixture::of("c/crashes.c");
    let mut client = DapClient::spawn();
    let signals = json!({"SIGSEGV": {"pass": false}, "SIGFPE": {"pass": false, "stop": true}});
    client.launch(&fixture, json!({"args": ["at_null"], "signals": signals}));
    client.configure();
    client.expect_stopped("exception");
    client.expect_line(&fixture, "at_null");
    // The instruction runs again, with the new value of the register.
    client.evaluate(&format!("${} = (long)${}", MACHINE.result, MACHINE.sp));
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// Panics stop with their messages, also those that cannot unwind; other aborts are explained.
#[test]
fn aborts_of_rust_are_explained() {
    let fixture = Fixture::of("rust/aborts.rs");
    let in_cleanup = "panic in a destructor during cleanup";
    let in_c = "panic in a function that cannot unwind";
    let unreachable =
        "unsafe precondition(s) violated: hint::unreachable_unchecked must never be reached";
    for (how, panics, text) in [
        (
            "abort",
            &[][..],
            Some("Rust: std::process::abort was called"),
        ),
        ("double", &["first", "again", in_cleanup], None),
        ("extern", &["beyond C", in_c], None),
        ("null", &["null pointer dereference occurred"], None),
        ("thread", &["null pointer dereference occurred"], None),
        ("unreachable", &[unreachable], None),
        ("hook", &["in the hook"], None),
        (
            "caught",
            &["caught"],
            Some("Rust: std::process::abort was called"),
        ),
        ("memory", &[], Some("Rust: out of memory")),
    ] {
        let mut client = DapClient::spawn();
        let settings = json!({"args": [how], "env": {"RUST_BACKTRACE": "0"}});
        client.launch(&fixture, settings);
        client.configure();
        for panic in panics {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["description"], "Rust panic", "{how}");
            // The text may continue with the violated condition.
            let reported = stop["text"].as_str().unwrap_or_default();
            assert!(reported.starts_with(panic), "{how}: {reported}");
            client.continue_();
        }
        if let Some(text) = text {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["description"], "signal SIGABRT", "{how}");
            assert_eq!(stop["text"], text, "{how}");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 128 + 6, "{how}");
        client.disconnect();
    }
}

/// A panic that cannot unwind is chosen by its message, and is where it was written.
#[test]
fn nounwind_panic_stops_like_any_panic() {
    let fixture = Fixture::of("rust/aborts.rs");
    for (condition, stops) in [("null pointer", true), ("index", false)] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["null"]}));
        let only = json!({"filterId": "rust_panic", "condition": condition});
        let filters = json!({"filters": [], "filterOptions": [only]});
        client.request_ok("setExceptionBreakpoints", filters);
        client.configure();
        let stop = client.expect_stopped("exception");
        let description = if stops {
            "Rust panic"
        } else {
            "signal SIGABRT"
        };
        assert_eq!(stop["description"], description);
        let lines: Vec<Value> = client.stack().iter().map(|it| it["line"].clone()).collect();
        assert!(lines.contains(&json!(fixture.line("null"))), "{lines:?}");
        let printed = client.output("stderr");
        assert!(printed.contains("null pointer dereference"), "{printed}");
        client.continue_();
        assert_eq!(client.expect_exit(), 128 + 6);
        client.disconnect();
    }
}
