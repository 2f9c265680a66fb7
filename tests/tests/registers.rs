//! Registers: in their scope, in expressions, and as parts of each other.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture, MACHINE, matrix};

/// The answer of the console, or its message.
fn repl(client: &mut DapClient, expression: &str) -> String {
    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"expression": expression, "frameId": frame, "context": "repl"});
    match client.request("evaluate", arguments) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => response["body"]["error"]["format"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

#[test]
fn registers_come_in_groups() {
    let Some(fixture) = matrix("c/globals.c")
        .into_iter()
        .find_map(|flags| Fixture::build("c/globals.c", flags))
    else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "main");
    let registers = client.scope("Registers");
    let pc = client.child(&registers, MACHINE.pc);
    assert_eq!(pc["evaluateName"], format!("${}", MACHINE.pc));
    #[cfg(target_arch = "x86_64")]
    {
        let segments = client.child(&registers, "Segments");
        client.child(&segments, "fs_base");
    }
    let flags = client.child(&registers, "Flags");
    let (name, carry, bit) = MACHINE.flags;
    for value in ["true", "false", "true"] {
        client.set_child(&flags, carry, value);
        assert_eq!(client.child(&flags, carry)["value"], value);
        let shown = client.evaluate(&format!("${name} >> {bit} & 1"));
        assert_eq!(shown, if value == "true" { "1" } else { "0" });
    }
    let vectors = client.child(&registers, "Vectors");
    let has = |feature: &str| {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        info.split_whitespace().any(|word| word == feature)
    };
    let there = match cfg!(target_arch = "x86_64") {
        true => vec![
            ("xmm0", true),
            ("ymm15", has("avx")),
            ("zmm31", has("avx512f")),
        ],
        false => vec![("v31", true)],
    };
    for ((name, there), lanes) in there.into_iter().zip([2, 4, 8]) {
        if !there {
            continue;
        }
        let register = client.child(&vectors, name);
        let doubles = client.child(&register, "f64");
        let doubles = client.variables(doubles["variablesReference"].as_i64().unwrap());
        assert_eq!(doubles.len(), lanes, "{name}");
        // The last lane of all: every piece of the register is written and read again.
        let last = format!("[{}]", 8 * lanes - 1);
        let bytes = client.child(&register, "u8");
        client.set_child(&bytes, &last, "0xab");
        let bytes = format!("${name}.u8{last}");
        assert_eq!(client.evaluate(&bytes), "171", "{name}");
        client.request_ok("setExpression", json!({"expression": bytes, "value": "7"}));
        assert_eq!(client.evaluate(&bytes), "7", "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn x86_64_registers_are_made_of_smaller_ones() {
    let fixture = Fixture::of("c/globals.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let registers = client.scope("Registers");
    let before = client.evaluate("$rbx");
    client.set_child(&registers, "rbx", "0x1122334455667788");
    let rbx = client.child(&registers, "rbx");
    assert_eq!(rbx["value"], "0x1122334455667788");
    let parts = client.children(&rbx);
    let expected = [
        ("bh", "0x77"),
        ("bl", "0x88"),
        ("bx", "0x7788"),
        ("ebx", "0x55667788"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), expected);
    client.set_child(&rbx, "bh", "1");
    assert_eq!(client.evaluate("$rbx,x"), "0x1122334455660188");
    // As the processor does it: the upper half is cleared.
    client.set_child(&rbx, "ebx", "5");
    assert_eq!(client.evaluate("$rbx,x"), "0x5");
    let r12 = client.child(&registers, "r12");
    assert_eq!(client.children(&r12).len(), 3);
    let float = client.child(&registers, "Floating point");
    let mxcsr = client.child(&float, "mxcsr");
    assert_eq!(mxcsr["value"], "0x1f80");
    // Rounding towards zero.
    client.set_child(&float, "mxcsr", "0x7f80");
    assert_eq!(client.evaluate("$mxcsr,x"), "0x7f80");
    client.set_child(&float, "st0", "1.5");
    assert_eq!(client.child(&float, "st0")["value"], "1.5");
    let control = client.child(&float, "fctrl");
    assert_eq!(control["value"], "0x37f");
    let segments = client.child(&registers, "Segments");
    let base = client.child(&segments, "gs_base");
    assert_eq!(base["value"], "0x0");
    client.set_child(&segments, "gs_base", "0x1000");
    assert_eq!(client.evaluate("$gs_base,x"), "0x1000");
    client.set_child(&segments, "gs_base", "0");
    client.set_child(&float, "mxcsr", "0x1f80");
    client.set_child(&registers, "rbx", &before);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn x86_64_registers_and_earlier_results() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    assert_eq!(
        repl(&mut client, "$rax = 0x1122334455667788"),
        "1234605616436508552"
    );
    assert_eq!(repl(&mut client, "$eax,x"), "0x55667788");
    assert_eq!(repl(&mut client, "$ah,x"), "0x77");
    assert_eq!(repl(&mut client, "$al = 1"), "1");
    assert_eq!(repl(&mut client, "$rax,x"), "0x1122334455667701");
    assert_eq!(repl(&mut client, "$eax = 2"), "2");
    assert_eq!(repl(&mut client, "$rax"), "2");
    assert!(repl(&mut client, "$rip").contains("main"));
    assert!(repl(&mut client, "$xmm0").starts_with('{'));
    assert_eq!(repl(&mut client, "$rax.u8[1] = 3"), "3");
    assert_eq!(repl(&mut client, "$rax = $rax - 0x300 + 0,x"), "0x2");
    assert_eq!(repl(&mut client, "$xmm1.u64[0] = 1"), "1");
    assert_eq!(repl(&mut client, "$xmm1.u64[1] = 2"), "2");
    assert_eq!(repl(&mut client, "$xmm1.u32"), "{1, 0, 2, 0}");
    // What the expression itself has written is there.
    assert_eq!(repl(&mut client, "$rax = 5, $rax + $al"), "10");
    assert_eq!(
        repl(&mut client, "($xmm1.u32[3] = 7, $xmm1.u64[1] >> 32)"),
        "7"
    );
    assert_eq!(repl(&mut client, "($st0 = 2.5, $st0 + 1)"), "3.5");
    assert_eq!(repl(&mut client, "$xmm1.u64[1] = 2, $rax = 2"), "2");
    assert_eq!(repl(&mut client, "$xmm1[1] = 2.5"), "2.5");
    assert_eq!(repl(&mut client, "$xmm1.f64[1] + 1"), "3.5");
    assert_eq!(repl(&mut client, "$st0 = 1.25"), "1.25");
    assert_eq!(repl(&mut client, "$st0 * 2"), "2.5");
    for flag in ["true", "false"] {
        assert_eq!(repl(&mut client, &format!("$eflags.CF = {flag}")), flag);
        assert_eq!(repl(&mut client, "$rflags.CF"), flag);
        let bit = if flag == "true" { "1" } else { "0" };
        assert_eq!(repl(&mut client, "$eflags & 1"), bit);
    }
    assert_eq!(repl(&mut client, "$ah = 4"), "4");
    assert_eq!(repl(&mut client, "$rax,x"), "0x402");
    assert_eq!(repl(&mut client, "$mxcsr = 0x1fa0"), "8096");
    assert_eq!(repl(&mut client, "$mxcsr,x"), "0x1fa0");
    assert!(repl(&mut client, "$rax.u7").contains("u7"));
    assert!(repl(&mut client, "$nosuch").contains("no register `$nosuch`"));
    assert_eq!(repl(&mut client, "$2 + 1,x"), "0x55667789");
    assert_eq!(repl(&mut client, "array[3]"), "40");
    assert_eq!(repl(&mut client, "$_ * 2"), "80");
    assert_eq!(repl(&mut client, "$_"), "80");
    assert!(repl(&mut client, "$999").contains("no result `$999` yet"));
    // The stack pointer, and not its lower 16 bits.
    assert_eq!(client.evaluate("$sp == $rsp"), "1");
    client.disconnect();
}

#[cfg(target_arch = "aarch64")]
#[test]
fn aarch64_registers_are_made_of_smaller_ones() {
    let fixture = Fixture::of("c/globals.c");
    let mut client = DapClient::stopped_at(&fixture, "main");
    let registers = client.scope("Registers");
    let before = client.evaluate("$x20");
    client.set_child(&registers, "x20", "0x1122334455667788");
    let x20 = client.child(&registers, "x20");
    assert_eq!(x20["value"], "0x1122334455667788");
    let parts: Vec<_> = client.children(&x20).into_iter().collect();
    assert_eq!(parts, [("w20".to_owned(), "0x55667788".to_owned())]);
    // As the processor does it: the upper half is cleared.
    client.set_child(&x20, "w20", "5");
    assert_eq!(client.evaluate("$x20,x"), "0x5");
    let float = client.child(&registers, "Floating point");
    // Rounding towards zero.
    client.set_child(&float, "fpcr", "0xc00000");
    assert_eq!(client.evaluate("$fpcr,x"), "0xc00000");
    client.set_child(&float, "fpcr", "0");
    client.set_child(&registers, "x20", &before);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[cfg(target_arch = "aarch64")]
#[test]
fn aarch64_registers_and_earlier_results() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, expected) in [
        ("$x0 = 0x1122334455667788", "1234605616436508552"),
        ("$w0,x", "0x55667788"),
        ("$w0 = 2", "2"),
        ("$x0", "2"),
        ("$x0.u8[1] = 3", "3"),
        ("$x0 = $x0 - 0x300 + 0,x", "0x2"),
        ("$v1.u64[0] = 1", "1"),
        ("$v1.u64[1] = 2", "2"),
        ("$v1.u32", "{1, 0, 2, 0}"),
        // What the expression itself has written is there.
        ("$x0 = 5, $x0 + $w0", "10"),
        ("($v1.u32[3] = 7, $v1.u64[1] >> 32)", "7"),
        ("$v1[1] = 2.5", "2.5"),
        ("$v1.f64[1] + 1", "3.5"),
        ("$pstate.C = true", "true"),
        ("$cpsr.C", "true"),
        ("$cpsr >> 29 & 1", "1"),
        ("$pstate.C = false", "false"),
        ("$cpsr >> 29 & 1", "0"),
        ("$fp == $x29 && $lr == $x30", "1"),
        ("$fpcr = 0x400000", "4194304"),
        ("$fpcr,x", "0x400000"),
        ("$2 + 1,x", "0x55667789"),
        ("array[3]", "40"),
        ("$_ * 2", "80"),
        ("$_", "80"),
    ] {
        assert_eq!(repl(&mut client, expression), expected, "{expression}");
    }
    assert!(repl(&mut client, "$pc").contains("main"));
    assert!(repl(&mut client, "$v0").starts_with('{'));
    assert!(repl(&mut client, "$x0.u7").contains("u7"));
    assert!(repl(&mut client, "$nosuch").contains("no register `$nosuch`"));
    assert!(repl(&mut client, "$999").contains("no result `$999` yet"));
    client.disconnect();
}

/// A call by the debugger changes nothing of them, and they are shown in their own length.
#[cfg(target_arch = "aarch64")]
#[test]
fn scalable_registers_survive_calls() {
    let fixture = Fixture::of("c/scalable.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["stop"]);
    client.configure();
    let event = client.wait_event_of(&["stopped", "terminated"]);
    if event["event"] == "terminated" {
        skips::skip("a processor with SVE");
        return;
    }
    client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
    let size = client
        .evaluate("sizeof($z0)")
        .parse::<usize>()
        .expect("a number");
    assert!(size.is_multiple_of(16), "{size}");
    assert_eq!(client.evaluate("$b9"), "2");
    assert_eq!(client.evaluate("spoil(4)"), "5");
    assert_eq!(client.evaluate("$b9"), "2");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), format!("same of {size}\n"));
    client.disconnect();
}

/// The modes of SME: shown, left for a call by the debugger, and entered again behind it.
#[cfg(target_arch = "aarch64")]
#[test]
fn modes_of_the_matrix_extension_survive_calls() {
    let fixture = Fixture::of("aarch64/matrix.c");
    for (marker, modes) in [("streaming", "3"), ("matrix", "2")] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": [marker]}));
        client.set_breakpoints(&fixture, &[marker]);
        client.configure();
        let event = client.wait_event_of(&["stopped", "terminated"]);
        if event["event"] == "terminated" {
            skips::skip("a processor with SME");
            return;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        assert_eq!(client.evaluate("$svcr"), modes);
        let size = client
            .evaluate("sizeof($za0hb0)")
            .parse::<usize>()
            .expect("a number");
        assert!(size.is_multiple_of(16), "{size}");
        assert_eq!(
            client.evaluate("$za0hb2[1]"),
            (3 * 0x0101_0101_0101_0101_u64).to_string()
        );
        if marker == "streaming" {
            assert_eq!(client.evaluate("sizeof($z9)"), size.to_string());
            assert_eq!(client.evaluate("$b9"), "2");
        }
        assert_eq!(client.evaluate("modes()"), "0");
        assert_eq!(client.evaluate("half(5.0)"), "2.5");
        assert_eq!(client.evaluate("$svcr"), modes);
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), format!("same of {size}\n"));
        client.disconnect();
    }
}
