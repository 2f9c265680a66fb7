//! Machine code: instructions around an address, and frames with machine code as their source.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, MACHINE};

fn number(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).expect("hexadecimal")
}

fn address(row: &Value) -> u64 {
    number(row["address"].as_str().expect("an address"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn pc(client: &mut DapClient) -> u64 {
    let frame = client.top_frame();
    number(text(&frame["instructionPointerReference"]))
}

/// Sends `disassemble` as VS Code does.
fn disassemble(client: &mut DapClient, at: u64, first: i64, count: u64) -> Vec<Value> {
    let body = client.request_ok(
        "disassemble",
        json!({
            "memoryReference": format!("{at:#x}"), "offset": 0, "instructionOffset": first,
            "instructionCount": count, "resolveSymbols": true,
        }),
    );
    let rows = body["instructions"].as_array().expect("rows").clone();
    assert_eq!(rows.len() as u64, count);
    rows
}

/// Each row begins where the one before ends.
fn assert_in_order(rows: &[Value]) {
    for pair in rows.windows(2) {
        let len = text(&pair[0]["instructionBytes"]).len() as u64 / 2;
        assert_eq!(
            address(&pair[0]) + len.max(1),
            address(&pair[1]),
            "{pair:?}"
        );
    }
}

/// What objdump finds in a function: bytes by address in the file.
fn objdump(fixture: &Fixture, function: &str) -> Option<BTreeMap<u64, String>> {
    let output = Command::new("objdump")
        .args([
            "--disassemble",
            "--wide",
            "--no-addresses",
            "--show-raw-insn",
        ])
        .arg(&fixture.program)
        .output();
    drop(output.ok()?);
    let output = Command::new("objdump")
        .arg(format!("--disassemble={function}"))
        .args(["--wide", "--show-raw-insn"])
        .arg(&fixture.program)
        .output()
        .ok()?;
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = listing.lines().filter_map(|line| {
        let (addr, rest) = line.split_once(":\t")?;
        let raw = rest.split('\t').next()?;
        // Bytes, or on aarch64 a word.
        let bytes = match cfg!(target_arch = "aarch64") {
            true => format!(
                "{:08x}",
                u32::from_str_radix(raw.trim(), 16).ok()?.swap_bytes()
            ),
            false => raw.split_whitespace().collect(),
        };
        Some((u64::from_str_radix(addr.trim(), 16).ok()?, bytes))
    });
    Some(rows.collect())
}

#[test]
fn disassembly_around_the_pc_has_real_instructions() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    assert_eq!(client.initialize()["supportsDisassembleRequest"], true);
    let mut client = DapClient::stopped_at(&fixture, "body_return");
    let here = pc(&mut client);
    let rows = disassemble(&mut client, here, -200, 400);
    assert_eq!(address(&rows[200]), here);
    assert_in_order(&rows);
    // Our breakpoint is not among them.
    assert!(
        rows.iter()
            .all(|row| row["instruction"] != MACHINE.breakpoint_text || address(row) != here)
    );
    let main = text(&client.evaluated("main").expect("a function")["memoryReference"]).to_owned();
    let Some(expected) = objdump(&fixture, "main") else {
        return skips::skip("objdump");
    };
    let (first, _) = expected.first_key_value().expect("instructions");
    let bias = number(&main) - first;
    let found: BTreeMap<u64, String> = rows
        .iter()
        .filter(|row| row["symbol"] == "main")
        .map(|row| {
            (
                address(row) - bias,
                text(&row["instructionBytes"]).to_owned(),
            )
        })
        .collect();
    assert_eq!(found, expected);
    // Requests of any range return the same instructions.
    let all: Vec<u64> = rows.iter().map(address).collect();
    for at in [150, 180, 200, 230] {
        let again = disassemble(&mut client, all[at], -50, 100);
        let again: Vec<u64> = again.iter().map(address).collect();
        assert_eq!(again, all[at - 50..at + 50], "around {:#x}", all[at]);
        let forward = disassemble(&mut client, all[at], 1, 20);
        assert_eq!(address(&forward[0]), all[at + 1]);
    }
    let before = disassemble(&mut client, here, -20, 5);
    let before: Vec<u64> = before.iter().map(address).collect();
    assert_eq!(before, all[180..185]);
    client.disconnect();
}

#[test]
fn instructions_have_their_sources_and_names() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "call");
    let here = pc(&mut client);
    let rows = disassemble(&mut client, here, -20, 60);
    let path = fixture.source.to_str().expect("a path");
    assert_eq!(rows[20]["line"], fixture.line("call"));
    let with_line = |row: &&Value| row["line"].is_u64();
    let first = rows.iter().find(with_line).expect("a line");
    assert_eq!(first["location"]["path"], path);
    let in_main = rows.iter().filter(|row| row["symbol"] == "main");
    let with_location = in_main.filter(|row| row["location"].is_object()).count();
    assert!(with_location <= 1, "each source is named once");
    let call = rows
        .iter()
        .find(|row| text(&row["instruction"]).starts_with(MACHINE.call));
    let call = text(&call.expect("a call")["instruction"]).to_owned();
    assert!(call.contains(" 0x") && call.ends_with(" <body>"), "{call}");
    let print = rows
        .iter()
        .any(|row| text(&row["instruction"]).ends_with("<printf@plt>"));
    assert!(print, "{rows:#?}");
    let plain = client.request_ok(
        "disassemble",
        json!({
            "memoryReference": format!("{here:#x}"), "instructionCount": 30,
            "resolveSymbols": false,
        }),
    );
    let plain = plain["instructions"].as_array().expect("rows");
    assert!(plain.iter().all(|row| row["symbol"].is_null()));
    assert!(
        plain
            .iter()
            .all(|row| !text(&row["instruction"]).contains('<'))
    );
    client.disconnect();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn either_spelling() {
    let fixture = Fixture::of("c/loop.c");
    for (settings, expected) in [
        (json!({}), "mov dword ptr [rbp-"),
        (json!({"disassemblyFlavor": "intel"}), "mov dword ptr [rbp-"),
        (json!({"disassemblyFlavor": "att"}), "(%rbp)"),
    ] {
        let mut client = DapClient::stopped_with(&fixture, "body", settings);
        let here = pc(&mut client);
        let rows = disassemble(&mut client, here, 0, 10);
        let found = rows
            .iter()
            .any(|row| text(&row["instruction"]).contains(expected));
        assert!(found, "{rows:#?}");
        client.disconnect();
    }
}

#[test]
fn disassembly_without_code_has_all_rows() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    for (at, first) in [
        (0x10, -50),
        (0x10, 0),
        (0xffff_ffff_ffff_fff0, -5),
        (0x4000_0000, -3),
    ] {
        let rows = disassemble(&mut client, at, first, 100);
        let invalid = rows.iter().all(|row| row["presentationHint"] == "invalid");
        assert!(invalid, "{at:#x}: {rows:#?}");
        assert!(rows.iter().all(|row| row["instructionBytes"].is_null()));
    }
    // From the last bytes before a guard page to those after it.
    let guard = client.evaluate("pages + 4096");
    let guard = guard.split_whitespace().find(|word| word.starts_with("0x"));
    let guard = number(guard.expect("an address"));
    let rows = disassemble(&mut client, guard, -4, 8);
    assert_eq!(address(&rows[4]), guard);
    let zeros = if cfg!(target_arch = "x86_64") { 4 } else { 8 };
    assert_eq!(rows[3]["instructionBytes"], "0".repeat(zeros));
    assert_eq!(rows[4]["presentationHint"], "invalid");
    for (arguments, why) in [
        (
            json!({"memoryReference": "main", "instructionCount": u64::MAX}),
            "at most",
        ),
        (
            json!({"memoryReference": "main", "instructionOffset": i64::MIN, "instructionCount": 1}),
            "at most",
        ),
        (
            json!({"memoryReference": "main", "instructionCount": -1}),
            "instructionCount",
        ),
        (
            json!({"memoryReference": "0x10", "offset": -100, "instructionCount": 1}),
            "`offset`",
        ),
        (
            json!({"memoryReference": "", "instructionCount": 1}),
            "is not an address",
        ),
    ] {
        let error = client.request_error("disassemble", arguments);
        assert!(error.contains(why), "{error}");
    }
    assert!(disassemble(&mut client, guard, 0, 0).is_empty());
    client.disconnect();
}

#[test]
fn of_a_running_program() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::stopped_at(&fixture, "spin");
    let here = pc(&mut client);
    let stopped = disassemble(&mut client, here, -10, 20);
    client.set_breakpoints(&fixture, &["beat"]);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(disassemble(&mut client, here, -10, 20), stopped);
    client.disconnect();
}

/// Returns the lines of a source that is not a file.
fn listing(client: &mut DapClient, source: &Value) -> Vec<String> {
    let reference = &source["sourceReference"];
    let body = client.request_ok(
        "source",
        json!({"source": source, "sourceReference": reference}),
    );
    let content = body["content"].as_str().expect("a text");
    content.lines().map(str::to_owned).collect()
}

fn line_of(frame: &Value) -> usize {
    usize::try_from(frame["line"].as_u64().expect("a line")).expect("a line")
}

#[test]
fn a_frame_without_source_shows_its_code() {
    let fixture = Fixture::of("c/bare_main.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["bare_calls"]);
    client.set_breakpoints(&fixture, &["target"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    let frame = client.top_frame();
    let source = frame["source"].clone();
    assert_eq!(source["name"], "bare_calls");
    assert_eq!(source["presentationHint"], "deemphasize");
    assert_eq!(frame["presentationHint"], "subtle");
    let lines = listing(&mut client, &source);
    assert!(lines[0].starts_with("bare_calls in /"), "{}", lines[0]);
    let here = text(&frame["instructionPointerReference"]);
    let line = line_of(&frame);
    assert!(lines[line - 1].starts_with(here), "{}", lines[line - 1]);
    // In a caller, the line is that of the call, not that of the next instruction.
    client.continue_();
    client.expect_stopped("breakpoint");
    let caller = client.stack()[1].clone();
    assert_eq!(caller["name"], "bare_calls");
    assert_eq!(
        caller["source"]["sourceReference"],
        source["sourceReference"]
    );
    let call = &lines[line_of(&caller) - 1];
    assert!(call.contains(&format!("  {}", MACHINE.call)), "{call}");
    let unknown = json!({"source": {"sourceReference": 4711}, "sourceReference": 4711});
    let error = client.request_error("source", unknown);
    assert!(error.contains("4711"), "{error}");
    client.disconnect();
}

fn set_in_code(client: &mut DapClient, source: &Value, lines: &[usize]) -> Vec<Value> {
    let breakpoints: Vec<Value> = lines.iter().map(|line| json!({"line": line})).collect();
    let body = client.request_ok(
        "setBreakpoints",
        json!({"source": source, "breakpoints": breakpoints}),
    );
    body["breakpoints"].as_array().expect("breakpoints").clone()
}

#[test]
fn instruction_breakpoints_survive_restarts() {
    let fixture = Fixture::of("c/bare_main.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["bare_twice"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    let frame = client.top_frame();
    let source = frame["source"].clone();
    let lines = listing(&mut client, &source);
    let last = lines.len();
    assert!(lines[last - 1].ends_with("  ret"), "{}", lines[last - 1]);
    let places = client.request_ok(
        "breakpointLocations",
        json!({"source": source, "line": 1, "endLine": 1000}),
    );
    let places = places["breakpoints"].as_array().expect("places").len();
    assert_eq!(places, last - 1);
    let set = set_in_code(&mut client, &source, &[last, 1000]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    assert_eq!(set[0]["line"], last);
    assert_eq!(
        set[0]["source"]["sourceReference"],
        source["sourceReference"]
    );
    let place = text(&set[0]["instructionReference"]).to_owned();
    assert!(lines[last - 1].starts_with(&place));
    assert_eq!(set[1]["verified"], false);
    assert!(text(&set[1]["message"]).contains("lines"), "{}", set[1]);
    client.set_function_breakpoints(&[]);
    client.continue_();
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    assert_eq!(line_of(&client.top_frame()), last);

    client.request_ok("restart", json!({}));
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    assert_eq!(client.top_frame()["source"], source);
    let kept = set[0]["source"].clone();
    client.disconnect();

    // A number of another session, and data that the editor has kept.
    let mut source = kept;
    source["sourceReference"] = json!(99);
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"disableASLR": false}));
    let set = set_in_code(&mut client, &source, &[last]);
    client.configure();
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set[0]["id"]]));
    assert_eq!(client.top_frame()["name"], "bare_twice");
    assert_eq!(line_of(&client.top_frame()), last);
    assert!(set_in_code(&mut client, &source, &[]).is_empty());
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn a_thread_can_be_moved_in_machine_code() {
    let fixture = Fixture::of("c/bare_main.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["bare_twice"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    let source = client.top_frame()["source"].clone();
    let lines = listing(&mut client, &source);
    let line_with = |what: &str| {
        let index = lines.iter().position(|line| line.contains(what));
        index.unwrap_or_else(|| panic!("{what} in {lines:#?}")) + 1
    };
    let popped = line_with(&format!("  {}", MACHINE.leaf_end));
    let goto = |client: &mut DapClient, line: usize| {
        let arguments = json!({"source": source, "line": line});
        let targets = client.request_ok("gotoTargets", arguments)["targets"].clone();
        targets.as_array().expect("targets").clone()
    };
    let thread = client.thread();
    // Until the frame is set up, the stack differs from the one after it.
    while line_of(&client.top_frame()) < popped - 1 {
        client.request_ok(
            "next",
            json!({"threadId": thread, "granularity": "instruction"}),
        );
        client.expect_stopped("step");
    }
    let targets = goto(&mut client, popped);
    assert_eq!(targets.len(), 1, "{targets:?}");
    assert_eq!(targets[0]["line"], popped);
    let place = text(&targets[0]["instructionPointerReference"]);
    assert!(lines[popped - 1].starts_with(place), "{targets:?}");
    let chosen = json!({"threadId": thread, "targetId": targets[0]["id"]});
    client.request_ok("goto", chosen);
    client.expect_stopped("goto");
    assert_eq!(line_of(&client.top_frame()), popped);
    let result = format!("${}", MACHINE.result32);
    assert_eq!(client.evaluate(&result), "4", "nothing has run");
    // Behind the last instruction, and where the stack is another.
    let arguments = json!({"source": source, "line": lines.len() + 1});
    let error = client.request_error("gotoTargets", arguments);
    assert!(error.contains("lines"), "{error}");
    let first = goto(&mut client, 2);
    let chosen = json!({"threadId": thread, "targetId": first[0]["id"]});
    let error = client.request_error("goto", chosen);
    assert!(error.contains("another layout"), "{error}");
    client.set_breakpoints(&fixture, &["call_through"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("twice"), "4");
    // The thread has left it.
    assert!(goto(&mut client, popped).is_empty());
    client.disconnect();
}

#[test]
fn steps_in_code_without_module_use_one_source() {
    let fixture = Fixture::of("c/jit.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let function = client.evaluated("code").expect("a value");
    let start = number(text(&function["memoryReference"]));
    let breakpoint = json!({"instructionReference": format!("{start:#x}")});
    client.request_ok(
        "setInstructionBreakpoints",
        json!({"breakpoints": [breakpoint]}),
    );
    client.continue_();
    client.expect_stopped("instruction breakpoint");
    let first = client.top_frame();
    let source = first["source"].clone();
    let lines = listing(&mut client, &source);
    #[cfg(target_arch = "x86_64")]
    let expected = [
        "nop",
        "nop",
        "nop",
        "push rbp",
        "mov rbp, rsp",
        "mov eax, 0x28",
        "add eax, 0x2",
        "pop rbp",
        "ret",
    ];
    #[cfg(target_arch = "aarch64")]
    let expected = [
        "udf #0x0",
        "udf #0x0",
        "udf #0x0",
        "stp x29, x30, [sp, #-0x10]!",
        "mov x29, sp",
        "mov w0, #0x28",
        "add w0, w0, #0x2",
        "ldp x29, x30, [sp], #0x10",
        "ret",
    ];
    let begins = &lines[line_of(&first) - 1];
    assert!(
        begins.ends_with(&format!("  {}", expected[3])),
        "{lines:#?}"
    );
    let rows = disassemble(&mut client, start, -3, 9);
    let instructions: Vec<&str> = rows.iter().map(|row| text(&row["instruction"])).collect();
    assert_eq!(instructions, expected);
    let thread = client.thread();
    for step in 1..4 {
        client.request_ok(
            "next",
            json!({"threadId": thread, "granularity": "instruction"}),
        );
        client.expect_stopped("step");
        let frame = client.top_frame();
        assert_eq!(frame["source"], source);
        assert_eq!(line_of(&frame), line_of(&first) + step);
    }
    let set = set_in_code(&mut client, &source, &[line_of(&first) + 2]);
    assert_eq!(set[0]["verified"], true, "{}", set[0]);
    client.request_ok("setInstructionBreakpoints", json!({"breakpoints": []}));
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(line_of(&client.top_frame()), line_of(&first) + 2);
    client.disconnect();
}
