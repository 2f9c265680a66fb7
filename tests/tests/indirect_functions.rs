//! Names that mean what the loader makes of them: functions that are chosen when the program is
//! loaded (`STT_GNU_IFUNC`), and versions of symbols.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The functions that a program stops in, with their callers, until it ends.
fn stops(client: &mut DapClient) -> Vec<(String, String)> {
    let mut stops = Vec::new();
    loop {
        let event = client.wait_event_of(&["stopped", "terminated"]);
        let Some(thread) = event["body"]["threadId"].as_i64() else {
            return stops;
        };
        client.select_thread(thread);
        let mut names = client.function_names().into_iter();
        let mut name = || names.next().unwrap_or_default();
        stops.push((name(), name()));
        client.continue_();
    }
}

/// The functions that a program stops in with a breakpoint on `name` that was set at its start.
fn functions(fixture: &Fixture, name: &str) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"symbolCache": false}));
    client.set_function_breakpoints(&[name]);
    client.configure();
    let stops = stops(&mut client);
    client.disconnect();
    stops.into_iter().map(|(name, _)| name).collect()
}

/// A program, as it is linked in several ways.
fn linked(source: &str, ways: &[&'static [&'static str]]) -> Vec<Fixture> {
    let flags = |extra| Flags {
        extra,
        ..Flags::new(Compiler::Gcc)
    };
    let built = ways.iter().map(|extra| {
        let pie = !extra.contains(&"-static");
        let flags = Flags {
            pie,
            ..flags(extra)
        };
        Fixture::build(source, flags).expect("gcc")
    });
    built.collect()
}

#[test]
fn ifunc_breakpoint_hits_the_implementation_only() {
    let now: &[&str] = &["-Wl,-z,now"];
    let lazy: &[&str] = &["-Wl,-z,lazy"];
    let fixtures = [
        linked("c/chosen.c", &[now, lazy]),
        linked("c/chosen_inside.c", &[now, lazy, &["-static"]]),
        linked("c/chosen_late.c", &[now]),
    ];
    for fixture in fixtures.iter().flatten() {
        println!("{}", fixture.program.display());
        assert_eq!(functions(fixture, "pick"), ["pick_twice", "pick_twice"]);

        if fixture.source.ends_with("chosen_late.c") {
            // A variable of the program has the result of `dlsym`.
            continue;
        }
        // Set once it has been chosen.
        let mut client = DapClient::stopped_at(fixture, "first");
        client.request_ok(
            "setBreakpoints",
            json!({"source": {"path": fixture.source}, "breakpoints": []}),
        );
        client.set_function_breakpoints(&["pick"]);
        client.continue_();
        let stops = stops(&mut client);
        let names: Vec<&str> = stops.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["pick_twice", "pick_twice"]);
        client.disconnect();
    }
}

#[test]
fn ifunc_of_the_c_library_hits_the_implementation() {
    for fixture in linked("c/chosen_inside.c", &[&["-Wl,-z,now"], &["-static"]]) {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"symbolCache": false}));
        client.set_function_breakpoints(&["strlen"]);
        client.configure();
        let stops = stops(&mut client);
        let of_main: Vec<&str> = stops
            .iter()
            .filter(|(_, caller)| caller == "main")
            .map(|(name, _)| &**name)
            .collect();
        assert!(
            // Its name is in the library's debug info; elsewhere it is an address.
            matches!(&of_main[..], [name] if name.contains("strlen") || name.starts_with("0x")),
            "{stops:?}"
        );
        client.disconnect();
    }
}

#[test]
fn symbol_version_selects_its_function() {
    // The compiler runs in the source's folder.
    let script: &'static [&'static str] = &["-Wl,--version-script=versions.map"];
    let fixture = linked("c/versions.c", &[script]).remove(0);
    let (now, once) = ("scale_now", "scale_once");
    for (name, expected) in [
        ("scale@@V2", &[now][..]),
        ("scale@V2", &[now]),
        ("scale@V1", &[once]),
        ("scale@@V1", &[]),
        ("scale@V3", &[]),
        ("scale", &[now, once]),
    ] {
        assert_eq!(functions(&fixture, name), expected, "{name}");
    }
}
