//! Commands on the debug console.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, MACHINE, repository};

/// Sends input of the console as an editor does; returns the response's text, or the error's.
fn say(client: &mut DapClient, text: &str) -> Result<String, String> {
    let arguments = json!({"expression": text, "context": "repl"});
    match client.request("evaluate", arguments) {
        Ok(body) => {
            assert_eq!(body["variablesReference"], 0, "{body}");
            Ok(body["result"].as_str().expect("a text").to_owned())
        }
        Err(response) => Err(response["body"]["error"]["format"]
            .as_str()
            .expect("a text")
            .to_owned()),
    }
}

fn shown(client: &mut DapClient, text: &str) -> String {
    say(client, text).unwrap_or_else(|error| client.fail(&format!("{text}: {error}")))
}

fn refused(client: &mut DapClient, text: &str) -> String {
    match say(client, text) {
        Err(error) => error,
        Ok(text) => client.fail(&format!("it succeeded: {text}")),
    }
}

#[test]
fn help_names_every_command_and_explains_each() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let help = shown(&mut client, ":help");
    let commands: Vec<&str> = help.lines().filter(|line| line.starts_with(':')).collect();
    assert!(commands.len() >= 11, "{help}");
    let manual = repository().join("docs/console.md");
    let manual = std::fs::read_to_string(manual).expect("docs/console.md");
    for line in commands {
        let name = line[1..].split_whitespace().next().expect("a name");
        let is_listed = |end: &str| manual.contains(&format!("`:{name}{end}"));
        let is_described = is_listed(" ") || is_listed("`");
        assert!(is_described, "docs/console.md has no `:{name}`");
        let more = shown(&mut client, &format!(":help {name}"));
        assert!(more.starts_with(&format!(":{name}")), "{more}");
        assert_eq!(more, shown(&mut client, &format!(":help :{name}")));
    }
    assert_eq!(shown(&mut client, ":?"), help);
    let unknown = refused(&mut client, ":thraeds");
    assert!(unknown.contains("did you mean `:threads`?"), "{unknown}");
    let several = refused(&mut client, ":m");
    assert!(
        several.contains("`:maps` or `:mem` or `:modules`"),
        "{several}"
    );
    client.disconnect();
}

#[test]
fn commands_of_other_debuggers_are_answered() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    for (typed, instead) in [
        ("bt", "commands begin with `:`: `:bt`"),
        ("help", "commands begin with `:`: `:help`"),
        (
            "where",
            "`where` is a command of other debuggers; here it is `:bt`",
        ),
        ("b main", "here set breakpoints in the editor"),
        ("p i", "here type the expression alone"),
        ("x/4x $sp", "here it is `:mem`"),
        (
            "info locals",
            "here the editor's list of variables shows them",
        ),
        ("info registers", "here it is `:regs`"),
        (
            ":next",
            "here step and continue with the editor's commands; `:reverse-next`",
        ),
    ] {
        let answer = refused(&mut client, typed);
        assert!(
            answer.contains(instead) && answer.lines().count() == 1,
            "{typed}: {answer}"
        );
    }
    let expression = refused(&mut client, "i + nosuch");
    assert!(expression.contains("no variable `nosuch`"), "{expression}");
    // A variable is one, whatever its name.
    assert_eq!(client.evaluate("i"), "0");
    client.continue_();
    client.disconnect();
}

#[test]
fn input_without_prefix_is_an_expression() {
    let fixture = Fixture::of("cpp/classes.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["main"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    assert_eq!(shown(&mut client, "1 + 1"), "2");
    // A name of the outermost scope is not a command.
    let error = refused(&mut client, "::no_such_thing");
    assert!(
        error.contains("no_such_thing") && !error.contains("command"),
        "{error}"
    );
    // Nor is anything in a watch.
    let watch = json!({"expression": ":threads", "context": "watch"});
    client.request_error("evaluate", watch);
    // A request without a context means the console.
    let bare = client.request_ok("evaluate", json!({"expression": ":threads"}));
    assert!(
        bare["result"].as_str().expect("a text").contains("main"),
        "{bare}"
    );
    client.disconnect();
}

#[test]
fn threads_and_stacks() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::stopped_with(&fixture, "hit", json!({"args": ["3", "1"]}));
    let thread = client.thread();
    let threads = shown(&mut client, ":threads");
    let looked_at: Vec<&str> = threads.lines().filter(|it| it.starts_with('*')).collect();
    assert_eq!(looked_at.len(), 1, "{threads}");
    assert!(
        looked_at[0].starts_with(&format!("* {thread} ")),
        "{threads}"
    );
    let line = fixture.line("hit");
    assert!(
        looked_at[0].ends_with(&format!("threads.c:{line}")),
        "{threads}"
    );
    assert_eq!(shown(&mut client, ":threads all"), threads);

    let stack = shown(&mut client, ":bt");
    assert!(
        stack.lines().next().expect("a frame").contains(" work at "),
        "{stack}"
    );
    assert_eq!(stack.lines().count(), client.stack().len());
    let all = shown(&mut client, ":bt all 1");
    for name in threads
        .lines()
        .filter_map(|line| line[2..].split_whitespace().next())
    {
        assert!(all.contains(&format!("{name} ")), "{name}: {all}");
    }
    let wrong = refused(&mut client, ":bt deep");
    assert!(
        wrong.contains("`deep`") && wrong.contains(":bt [all] [N]"),
        "{wrong}"
    );
    refused(&mut client, ":bt 0");
    refused(&mut client, ":bt -1");
    // 2^64 - 1, and more.
    for many in ["18446744073709551615", "99999999999999999999999"] {
        assert_eq!(shown(&mut client, &format!(":bt {many}")), stack);
    }
    client.disconnect();
}

#[test]
fn selected_thread_is_bold_if_supported() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    let capabilities = client.request_ok(
        "initialize",
        json!({"adapterID": "stillpoint", "supportsANSIStyling": true}),
    );
    assert_eq!(capabilities["supportsANSIStyling"], true);
    client.send(
        "launch",
        json!({"program": fixture.program, "stopOnEntry": true}),
    );
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.expect_stopped("entry");
    let threads = shown(&mut client, ":threads");
    assert!(threads.starts_with("\u{1b}[1m* "), "{threads:?}");
    assert!(threads.ends_with("\u{1b}[0m"), "{threads:?}");
    client.disconnect();
}

#[test]
fn long_stack_is_bounded_with_a_hint() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    let short = shown(&mut client, ":bt 3");
    let lines: Vec<&str> = short.lines().collect();
    assert_eq!(lines.len(), 4, "{short}");
    assert!(lines[3].ends_with("`:bt 12`"), "{short}");
    let frames = client.stack();
    let caller = json!({"expression": ":bt 3", "context": "repl", "frameId": frames[1]["id"]});
    let marked = client.request_ok("evaluate", caller);
    let marked = marked["result"].as_str().expect("a text");
    assert!(
        marked.lines().nth(1).expect("a line").starts_with("* #1"),
        "{marked}"
    );
    client.disconnect();
}

#[test]
fn registers_of_the_frame() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let registers = shown(&mut client, ":regs");
    let pc = client.evaluate("(unsigned long)$pc,x");
    let line = registers.lines().find(|line| line.starts_with(MACHINE.pc));
    assert!(line.expect("the pc").contains(&pc), "{registers}");
    assert!(!registers.contains(MACHINE.vector));
    assert!(shown(&mut client, ":regs vectors").contains(MACHINE.vector));
    assert!(shown(&mut client, ":regs all").contains(MACHINE.vector));
    let wrong = refused(&mut client, ":regs odd");
    assert!(
        wrong.contains("`odd`") && wrong.contains("vectors"),
        "{wrong}"
    );
    client.disconnect();
}

#[test]
fn places_of_memory_symbols_and_lines() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let maps = shown(&mut client, ":maps");
    assert!(maps.contains("loop") && maps.contains("[stack]"), "{maps}");
    let stack = shown(&mut client, ":maps &product");
    assert!(
        stack.lines().count() == 1 && stack.ends_with("[stack]"),
        "{stack}"
    );
    let nowhere = refused(&mut client, ":maps 0x10");
    assert!(nowhere.contains("no memory is mapped at 0x10"), "{nowhere}");

    let main = shown(&mut client, ":sym main");
    assert!(
        main.contains("function") && main.contains(" main in "),
        "{main}"
    );
    let here = shown(&mut client, ":sym $pc");
    let line = fixture.line("body");
    assert!(here.contains("is body+0x"), "{here}");
    assert!(here.ends_with(&format!("loop.c:{line}")), "{here}");
    let local = refused(&mut client, ":sym product");
    assert!(local.contains("no memory is mapped at"), "{local}");
    let stack = shown(&mut client, ":sym &product");
    assert!(
        stack.contains("no symbol at") && stack.contains("[stack]"),
        "{stack}"
    );
    let none = refused(&mut client, ":sym no_such_thing");
    assert!(
        none.contains("no module has a symbol `no_such_thing`"),
        "{none}"
    );
    refused(&mut client, ":sym");

    let code = shown(&mut client, &format!(":info line loop.c:{line}"));
    assert!(
        code.contains(" in body") || code.contains("in body"),
        "{code}"
    );
    let start = code.split('-').next().expect("an address").to_owned();
    let back = shown(&mut client, &format!(":info line {start}"));
    assert!(back.contains(&format!("loop.c:{line}")), "{back}");
    let empty = refused(&mut client, ":info line loop.c:2");
    assert!(empty.contains("the next line with code is 3"), "{empty}");
    let far = refused(&mut client, ":info line loop.c:4294967295");
    assert!(far.contains("or after it"), "{far}");
    let other = refused(&mut client, ":info line elsewhere.c:3");
    assert!(
        other.contains("no source file `elsewhere.c` in debug info"),
        "{other}"
    );
    refused(&mut client, ":info frame");
    client.disconnect();
}

#[test]
fn memory_and_instructions() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let at = client.evaluate("(unsigned long)&scale,x");
    let memory = shown(&mut client, ":mem &scale 4");
    assert_eq!(memory.lines().count(), 1, "{memory}");
    assert!(
        memory.starts_with(&format!("{at}  0a 00 00 00 ")),
        "{memory}"
    );
    let number = refused(&mut client, ":mem scale");
    assert!(number.contains("0xa"), "a number is an address: {number}");
    // Memory shows the original byte, not the breakpoint.
    let code = shown(&mut client, ":mem $pc 1");
    assert!(!code.contains(" cc "), "{code}");
    let far = shown(&mut client, ":mem &scale 18446744073709551615");
    assert!(
        far.lines().count() <= 1025 && far.contains("cannot read"),
        "{far}"
    );
    let nowhere = refused(&mut client, ":mem (char *)16");
    assert!(nowhere.contains("0x10"), "{nowhere}");
    refused(&mut client, ":mem");

    let code = shown(&mut client, ":disas 3");
    let marked: Vec<&str> = code.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(marked.len(), 1, "{code}");
    let pc = client.evaluate("(unsigned long)$pc,x");
    assert!(marked[0].starts_with(&format!("* {pc}  ")), "{code}");
    assert!(
        code.lines().next().expect("a line").contains("loop.c:"),
        "{code}"
    );
    let main = shown(&mut client, ":disas main 2");
    assert!(main.contains("main") && !main.contains("\n*"), "{main}");
    #[cfg(target_arch = "x86_64")]
    {
        shown(&mut client, ":set disassemblyFlavor att");
        assert!(shown(&mut client, ":disas 20").contains('%'), "{code}");
    }
    let many = shown(&mut client, ":disas main 18446744073709551615");
    assert!(many.contains("… more: `:disas 0x"), "{}", many.len());
    refused(&mut client, ":disas no_such_thing");
    client.disconnect();
}

#[test]
fn modules_and_their_symbol_status() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let modules = shown(&mut client, ":modules");
    let response = client.request_ok("modules", json!({}));
    assert_eq!(
        response["totalModules"],
        modules.lines().count(),
        "{modules}"
    );
    let program = fixture.program.to_str().expect("UTF-8");
    assert!(
        modules.lines().next().expect("a line").contains(program),
        "{modules}"
    );
    assert_eq!(shown(&mut client, ":modules libc.so").lines().count(), 1);
    // A name that is not a local needs the index of all names.
    client
        .try_evaluate("no_such_thing")
        .expect_err("there is none");
    let symbols = shown(&mut client, ":symbols");
    let first = symbols.lines().next().expect("a line");
    assert!(
        first.contains("debug info") && first.contains("names"),
        "{symbols}"
    );
    let none = refused(&mut client, ":symbols libnone");
    assert!(none.contains("`libnone`"), "{none}");
    client.disconnect();
}

#[test]
fn signals_are_shown_and_changed() {
    let fixture = Fixture::of("c/signal_kinds.c");
    let mut client = DapClient::spawn();
    let settings = json!({"args": ["usr1"], "stopOnEntry": true,
                          "signals": {"USR1": {"stop": true}, "SIGUSR2": {"print": true}}});
    client.launch(&fixture, settings);
    client.configure();
    client.expect_stopped("entry");
    let all = shown(&mut client, ":signals");
    assert_eq!(all.lines().count(), 31, "{all}");
    let of = |client: &mut DapClient, text: &str| -> Vec<String> {
        let line = shown(client, text);
        line.split_whitespace().map(str::to_owned).collect()
    };
    let usr1 = of(&mut client, ":signals SIGUSR1");
    assert_eq!(usr1, ["SIGUSR1", "stop", "pass", "noprint"]);
    let changed = of(&mut client, ":signals USR1 nostop nopass print");
    assert_eq!(changed, ["SIGUSR1", "nostop", "nopass", "print"]);
    // The others stay as they were set.
    let usr2 = of(&mut client, ":signals SIGUSR2");
    assert_eq!(usr2[3], "print");
    let usual = of(&mut client, ":signals SIGUSR2 usual");
    assert_eq!(usual, ["SIGUSR2", "nostop", "pass", "noprint"]);
    for (wrong, part) in [(":signals SIGFOO", "SIGFOO"), (":signals INT halt", "halt")] {
        let error = refused(&mut client, wrong);
        assert!(error.contains(part), "{error}");
    }
    client.continue_();
    // It has not had the signal.
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("console").contains("SIGUSR1"));
    client.disconnect();
}

#[test]
fn commands_while_the_program_runs() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.debuggee_pid();
    assert!(shown(&mut client, ":threads").ends_with("running"));
    assert!(shown(&mut client, ":maps [stack]").ends_with("[stack]"));
    shown(&mut client, ":help");
    shown(&mut client, ":set maxDepth 1");
    assert_eq!(
        refused(&mut client, ":bt"),
        "the program is running; pause it first"
    );
    assert_eq!(
        refused(&mut client, "1"),
        "the program is running; pause it first"
    );
    client.disconnect();
}

#[test]
fn the_prefix_is_a_setting() {
    let fixture = Fixture::of("c/loop.c");
    let settings = json!({"commandPrefix": "%"});
    let mut client = DapClient::stopped_with(&fixture, "body", settings);
    assert!(shown(&mut client, "%help").contains("%threads"));
    assert!(shown(&mut client, "%help maps").contains("`%maps p`"));
    refused(&mut client, ":help");
    shown(&mut client, "%set commandPrefix \"\"");
    let error = refused(&mut client, "%help");
    assert!(!error.contains("command"), "{error}");
    client.disconnect();
    for (prefix, part) in [(json!("x"), "`x`"), (json!(5), "commandPrefix")] {
        let mut client = DapClient::spawn();
        client.initialize();
        let settings = json!({"program": fixture.program, "commandPrefix": prefix});
        let error = client.request_error("launch", settings);
        assert!(error.contains(part), "{error}");
        client.disconnect();
    }
}

fn completed(client: &mut DapClient, text: &str) -> (Vec<String>, Value) {
    let column = text.encode_utf16().count() + 1;
    let answer = client.request_ok("completions", json!({"text": text, "column": column}));
    let targets = answer["targets"].as_array().expect("targets").clone();
    let labels = targets
        .iter()
        .map(|it| it["label"].as_str().expect("a label").to_owned());
    (
        labels.collect(),
        targets.first().cloned().unwrap_or_default(),
    )
}

#[test]
fn commands_are_completed_with_their_arguments() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let (commands, first) = completed(&mut client, ":");
    assert!(commands.contains(&"threads".to_owned()), "{commands:?}");
    assert_eq!((&first["start"], &first["length"]), (&json!(2), &json!(0)));
    let (commands, first) = completed(&mut client, " :th");
    assert_eq!(commands, ["threads"]);
    assert_eq!((&first["start"], &first["length"]), (&json!(3), &json!(2)));
    assert_eq!(completed(&mut client, ":help mo").0, ["modules"]);
    assert_eq!(completed(&mut client, ":regs v").0, ["vectors"]);
    let (signals, first) = completed(&mut client, ":signals sigusr");
    assert_eq!(signals, ["SIGUSR1", "SIGUSR2"]);
    assert_eq!((&first["start"], &first["length"]), (&json!(10), &json!(6)));
    assert_eq!(completed(&mut client, ":signals INT nos").0, ["nostop"]);
    assert_eq!(completed(&mut client, ":set maxD").0, ["maxDepth"]);
    let (locals, first) = completed(&mut client, ":sym prod");
    assert_eq!(locals, ["product"]);
    assert_eq!((&first["start"], &first["length"]), (&json!(6), &json!(4)));
    assert_eq!(completed(&mut client, ":nothing x").0, [""; 0]);
    // Expressions are completed as ever, also with a name of the outermost scope.
    assert_eq!(completed(&mut client, "prod").0, ["product"]);
    completed(&mut client, "::ma");
    client.disconnect();
}

#[test]
fn commands_before_there_is_a_program() {
    let mut client = DapClient::spawn();
    client.initialize();
    shown(&mut client, ":help");
    shown(&mut client, ":signals");
    let early = refused(&mut client, ":threads");
    assert!(early.contains("send launch or attach first"), "{early}");
    let early = refused(&mut client, ":signals SIGINT stop");
    assert!(early.contains("launch or attach"), "{early}");
    client.disconnect();
}
