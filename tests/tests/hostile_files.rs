//! Torn and twisted programs through the whole adapter: each launch is answered, each session
//! ends.

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The same numbers each time (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// File offset and size of the debug and unwind sections.
fn sections(program: &[u8]) -> Vec<(usize, usize)> {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&program[at..at + size]);
        u64::from_le_bytes(bytes) as usize
    };
    let (table, count, names) = (number(40, 8), number(60, 2), number(62, 2));
    let header = |index: usize| table + index * 64;
    let names = number(header(names) + 24, 8);
    (0..count)
        .filter(|index| {
            let name = &program[names + number(header(*index), 4)..];
            [&b".debug_"[..], b".eh_frame", b".symtab", b".strtab"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .map(|index| (number(header(index) + 24, 8), number(header(index) + 32, 8)))
        .collect()
}

#[test]
fn hostile_files_get_a_response_and_an_end() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let fixture = Fixture::build("c/optimized.c", flags).expect("gcc");
    let good = fs::read(&fixture.program).expect("the program");
    let sections = sections(&good);
    let folder = tempfile::tempdir().expect("a folder");
    let mut numbers = Numbers(17);
    for round in 0..16 {
        let mut bad = good.clone();
        match round % 4 {
            0 => bad.truncate(numbers.below(good.len())),
            1 => {
                for _ in 0..4 {
                    bad[numbers.below(64)] ^= 1 << numbers.below(8);
                }
            }
            _ => {
                for _ in 0..=round * 10 {
                    let (start, size) = sections[numbers.below(sections.len())];
                    bad[start + numbers.below(size)] = numbers.below(256) as u8;
                }
            }
        }
        let program = folder.path().join(format!("bad{round}"));
        fs::write(&program, &bad).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");

        let mut client = DapClient::spawn();
        client.request_ok("initialize", json!({"adapterID": "test"}));
        let launch = client.send("launch", json!({"program": program}));
        client.send(
            "setFunctionBreakpoints",
            json!({"breakpoints": [{"name": "work"}, {"name": "twice"}]}),
        );
        client.send(
            "setBreakpoints",
            json!({
                "source": {"path": fixture.source},
                "breakpoints": [{"line": fixture.line("handed")}],
            }),
        );
        client.send("configurationDone", json!({}));
        if client.response(launch).is_ok() {
            let event = client.wait_event_of(&["stopped", "exited", "terminated"]);
            if let Some(thread) = event["body"]["threadId"].as_i64() {
                let stack = client.request_ok("stackTrace", json!({"threadId": thread}));
                for frame in stack["stackFrames"].as_array().into_iter().flatten() {
                    let scopes = client.request_ok("scopes", json!({"frameId": frame["id"]}));
                    for scope in scopes["scopes"].as_array().into_iter().flatten() {
                        // Unreadable ones are values that say so, or an error.
                        let _ = client.request(
                            "variables",
                            json!({"variablesReference": scope["variablesReference"]}),
                        );
                    }
                }
            }
        }
        client.disconnect();
    }
}
