//! Memory by address: reads, writes, and errors for unmapped addresses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, core_of};

fn number(text: &str) -> u64 {
    let digits = text.split_whitespace().find(|word| word.starts_with("0x"));
    let digits = digits.unwrap_or_else(|| panic!("an address in {text}"));
    u64::from_str_radix(&digits[2..], 16).expect("hexadecimal")
}

fn address(client: &mut DapClient, expression: &str) -> u64 {
    number(&client.evaluate(expression))
}

/// The answer, and its bytes.
fn read(client: &mut DapClient, arguments: Value) -> (Value, Vec<u8>) {
    let body = client.request_ok("readMemory", arguments);
    let data = body["data"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(data).expect("base64");
    (body, bytes)
}

fn at(client: &mut DapClient, addr: u64, count: u64) -> (Value, Vec<u8>) {
    let arguments = json!({"memoryReference": format!("{addr:#x}"), "count": count});
    read(client, arguments)
}

fn write(client: &mut DapClient, reference: &str, offset: i64, bytes: &[u8]) -> Value {
    let data = STANDARD.encode(bytes);
    let arguments = json!({"memoryReference": reference, "offset": offset, "data": data});
    client.request_ok("writeMemory", arguments)
}

#[test]
fn memory_is_read_from_any_reference() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::spawn();
    let capabilities = client.initialize();
    assert_eq!(capabilities["supportsReadMemoryRequest"], true);
    assert_eq!(capabilities["supportsWriteMemoryRequest"], true);
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let table = address(&mut client, "&table");
    let whole: Vec<u8> = (0..=255).collect();
    let (body, bytes) = at(&mut client, table, 256);
    assert_eq!(body["address"], format!("{table:#x}"));
    assert_eq!(bytes, whole);
    assert!(body.get("unreadableBytes").is_none());
    let decimal = table.to_string();
    for (reference, offset) in [(decimal.as_str(), 16), ("&table[32]", -16), ("table", 16)] {
        let arguments = json!({"memoryReference": reference, "offset": offset, "count": 4});
        let (body, bytes) = read(&mut client, arguments);
        assert_eq!(bytes, [16, 17, 18, 19], "{reference}");
        assert_eq!(body["address"], format!("{:#x}", table + 16));
    }
    let (_, code) = read(
        &mut client,
        json!({"memoryReference": "answer", "count": 1}),
    );
    assert_eq!(code.len(), 1);
    assert!(at(&mut client, 0, 0).1.is_empty());
    client.disconnect();
}

#[test]
fn values_in_memory_have_a_reference() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let locals = client.local_variables();
    let local = address(&mut client, "&local");
    // For a pointer, the memory is its target.
    for name in ["local", "pointer"] {
        let reference = locals[name]["memoryReference"].as_str();
        assert_eq!(reference, Some(format!("{local:#x}").as_str()), "{name}");
    }
    let pair = address(&mut client, "&pair");
    let evaluated = client.evaluated("pair").expect("a value");
    assert_eq!(evaluated["memoryReference"], format!("{pair:#x}"));
    let members = client.variables(evaluated["variablesReference"].as_i64().expect("members"));
    assert_eq!(members[1]["memoryReference"], format!("{:#x}", pair + 8));
    let table = client.evaluated("table").expect("a value");
    let elements = client.variables(table["variablesReference"].as_i64().expect("elements"));
    let start = address(&mut client, "&table");
    assert_eq!(elements[5]["memoryReference"], format!("{:#x}", start + 5));
    let scope = client.top_frame()["id"].as_i64().expect("a frame");
    let scope = client.locals_reference(scope);
    let set = client.request_ok(
        "setVariable",
        json!({"variablesReference": scope, "name": "local", "value": "6"}),
    );
    assert_eq!(set["memoryReference"], format!("{local:#x}"));
    client.disconnect();
}

#[test]
fn unreadable_memory_is_explained() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let pages = address(&mut client, "pages");
    let page: u64 = client.evaluate("page").parse().expect("a number");
    for (start, there) in [(pages + page - 8, 8), (pages + 3 * page - 4, 4)] {
        let (body, bytes) = at(&mut client, start, 100);
        assert_eq!(bytes.len(), there);
        assert_eq!(body["unreadableBytes"], 100 - there);
    }
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", client.debuggee_pid()));
    let maps = maps.expect("the mappings");
    let vvar = maps.lines().find(|line| line.ends_with("[vvar]"));
    let vvar = vvar.map(|line| u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap());
    let mut refused = vec![
        (pages + page, "guard pages"),
        (
            pages + 3 * page,
            "nothing is mapped there; the next mapping",
        ),
        (0x10, "nothing is mapped there"),
        (0xffff_ffff_ffff_fff0, "nothing is mapped there or above"),
        (0x8000_0000_0000_0000, "nothing is mapped"),
    ];
    refused.extend(vvar.map(|vvar| (vvar, "belongs to the kernel")));
    if maps.contains("--xp") {
        refused.push((0xffff_ffff_ff60_0000, "[vsyscall]"));
    }
    for (addr, why) in refused {
        let arguments = json!({"memoryReference": format!("{addr:#x}"), "count": 32});
        let error = client.request_error("readMemory", arguments);
        assert!(error.contains(&format!("{addr:#x}")), "{error}");
        assert!(error.contains(why), "{addr:#x}: {error}");
    }
    for (arguments, why) in [
        (
            json!({"memoryReference": "0x1000", "count": u64::MAX}),
            "exceed the maximum",
        ),
        (
            json!({"memoryReference": "0x1000", "count": 1_u64 << 40}),
            "exceed the maximum",
        ),
        (json!({"memoryReference": "0x1000", "count": -1}), "`count`"),
        (
            json!({"memoryReference": "0x10", "offset": -17, "count": 1}),
            "0x10 with offset -17",
        ),
        (
            json!({"memoryReference": "0xffffffffffffffff", "offset": 1, "count": 1}),
            "`offset`",
        ),
        (json!({"memoryReference": "", "count": 1}), "not an address"),
        (
            json!({"memoryReference": "nonsense", "count": 1}),
            "nonsense",
        ),
        (
            json!({"memoryReference": "answer()", "count": 1}),
            "answer()",
        ),
        (
            json!({"memoryReference": "0x10zz", "count": 1}),
            "not an address",
        ),
        (json!({"count": 1}), "memoryReference"),
    ] {
        let error = client.request_error("readMemory", arguments);
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(client.evaluate("table[9]"), "9 '\\t'");
    client.disconnect();
}

#[test]
fn write_is_visible_everywhere() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let pair = address(&mut client, "&pair");
    let reference = format!("{pair:#x}");
    at(&mut client, pair, 16);
    let body = write(&mut client, &reference, 8, &77_i64.to_le_bytes());
    assert_eq!(body["bytesWritten"], 8);
    let event = client.wait_event_where("memory", |body| body["memoryReference"] == reference);
    assert_eq!((&event["offset"], &event["count"]), (&json!(8), &json!(8)));
    let invalidated = client.wait_event("invalidated");
    assert_eq!(invalidated["areas"], json!(["variables"]));
    assert_eq!(client.evaluate("pair.second"), "77");
    // A view of the whole object is invalidated when a part is set by its name.
    client.request_ok(
        "setExpression",
        json!({"expression": "pair.second", "value": "5"}),
    );
    let event = client.wait_event_where("memory", |body| body["memoryReference"] == reference);
    assert_eq!((&event["offset"], &event["count"]), (&json!(8), &json!(8)));
    // Without padding, and nothing at all.
    let unpadded = json!({"memoryReference": reference, "data": "CQAAAA"});
    assert_eq!(
        client.request_ok("writeMemory", unpadded)["bytesWritten"],
        4
    );
    assert_eq!(client.evaluate("pair.first"), "9");
    assert_eq!(write(&mut client, &reference, 0, &[])["bytesWritten"], 0);
    let garbage = json!({"memoryReference": reference, "data": "C?AA"});
    let error = client.request_error("writeMemory", garbage);
    assert!(error.contains("not base64"), "{error}");
    client.disconnect();
}

#[test]
fn partial_write_needs_permission() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let pages = address(&mut client, "pages");
    let page: u64 = client.evaluate("page").parse().expect("a number");
    let shared = address(&mut client, "shared");
    let edge = format!("{:#x}", pages + page - 4);
    let data = STANDARD.encode([1_u8; 16]);
    let whole = json!({"memoryReference": edge, "data": data});
    let error = client.request_error("writeMemory", whole);
    assert!(
        error.contains(&format!("{:#x}", pages + page)) && error.contains("guard"),
        "{error}"
    );
    assert_eq!(at(&mut client, pages + page - 4, 4).1, [0; 4]);
    let partly = json!({"memoryReference": edge, "data": data, "allowPartial": true});
    let body = client.request_ok("writeMemory", partly);
    assert_eq!(
        (&body["bytesWritten"], &body["offset"]),
        (&json!(4), &json!(0))
    );
    assert_eq!(at(&mut client, pages + page - 4, 4).1, [1; 4]);
    for (addr, why) in [(shared, "read-only"), (0x10, "nothing is mapped")] {
        for partly in [false, true] {
            let reference = format!("{addr:#x}");
            let write = json!({"memoryReference": reference, "data": data, "allowPartial": partly});
            let error = client.request_error("writeMemory", write);
            assert!(
                error.contains(why) && error.contains("cannot write"),
                "{error}"
            );
        }
    }
    client.disconnect();
}

#[test]
fn memory_hides_breakpoints_and_writes_keep_them() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let set = client.set_breakpoints(&fixture, &["answer"]);
    let place = number(set[0]["instructionReference"].as_str().expect("an address"));
    let returns = |number: u8| match cfg!(target_arch = "x86_64") {
        // mov $number, %eax
        true => vec![0xb8, number, 0, 0, 0],
        // mov w0, #number
        false => (0x5280_0000 | u32::from(number) << 5)
            .to_le_bytes()
            .to_vec(),
    };
    let len = returns(0).len() as u64;
    assert_eq!(at(&mut client, place, len).1, returns(42));
    client.continue_();
    client.expect_stopped("breakpoint");
    client.step_out();
    // Its copy elsewhere, made when the program went past it, must not be used any more.
    let reference = format!("{place:#x}");
    write(&mut client, &reference, 0, &returns(7));
    assert_eq!(at(&mut client, place, len).1, returns(7));
    client.continue_();
    client.expect_stopped("breakpoint");
    // It stays set: the program goes past it by a copy.
    client.set_breakpoints(&fixture, &["answer", "waiting"]);
    assert_eq!(at(&mut client, place, len).1, returns(7));
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "waiting");
    assert_eq!(client.evaluate("before"), "42");
    assert_eq!(client.evaluate("after"), "7");
    client.disconnect();
}

#[test]
fn write_under_a_breakpoint_is_kept() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let set = client.set_breakpoints(&fixture, &["answer"]);
    let reference = set[0]["instructionReference"].as_str().expect("an address");
    let written: &[u8] = match cfg!(target_arch = "x86_64") {
        // xor %eax, %eax; mov $9, %al; nop: the first byte differs too.
        true => &[0x31, 0xc0, 0xb0, 9, 0x90],
        // mov w0, #9
        false => &[0x20, 0x01, 0x80, 0x52],
    };
    write(&mut client, reference, 0, written);
    client.set_breakpoints(&fixture, &["waiting"]);
    let place = number(reference);
    assert_eq!(at(&mut client, place, written.len() as u64).1, written);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("before"), "9");
    client.disconnect();
}

#[test]
fn a_running_program_is_read_and_written() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let table = address(&mut client, "&table");
    let go_on = client.evaluate("&go_on");
    let go_on = format!("{:#x}", number(&go_on));
    client.set_breakpoints(&fixture, &["end"]);
    client.continue_();
    assert_eq!(at(&mut client, table, 3).1, [0, 1, 2]);
    let error = client.request_error(
        "readMemory",
        json!({"memoryReference": "table", "count": 3}),
    );
    assert!(error.contains("running"), "{error}");
    write(&mut client, &go_on, 0, &[1]);
    client.expect_stopped("breakpoint");
    client.continue_();
    client.expect_exit();
    let error = client.request_error("readMemory", json!({"memoryReference": go_on, "count": 3}));
    assert!(error.contains("ended"), "{error}");
    client.disconnect();
}

#[test]
fn large_reads_work() {
    let fixture = Fixture::of("c/memory.c");
    let mut client = DapClient::stopped_at(&fixture, "ready");
    let large = address(&mut client, "large");
    let (body, bytes) = at(&mut client, large, 16 << 20);
    assert!(body.get("unreadableBytes").is_none());
    let expected = (0_i32..16 << 20).map(|i| (i.wrapping_mul(7) >> 3) as u8);
    assert!(bytes.iter().copied().eq(expected));
    client.disconnect();
}

#[test]
fn a_core_file_is_read_but_not_written() {
    let fixture = Fixture::of("c/crash.c");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.open_core(&core, json!({}));
    client.configure();
    client.expect_stopped("exception");
    let total = client.local_variables()["total"]["memoryReference"].clone();
    let (_, bytes) = read(&mut client, json!({"memoryReference": total, "count": 4}));
    assert_eq!(bytes, 6_i32.to_le_bytes());
    let data = json!({"memoryReference": total, "data": "AAAA"});
    let error = client.request_error("writeMemory", data);
    assert!(error.contains("core file"), "{error}");
    let nothing = json!({"memoryReference": "0x10", "count": 4});
    let error = client.request_error("readMemory", nothing);
    assert!(error.contains("not in the core file"), "{error}");
    client.disconnect();
}
