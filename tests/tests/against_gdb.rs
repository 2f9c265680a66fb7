//! Stacks at every instruction of many kinds of functions, against gdb's: it runs the same program
//! over the same instructions, and each frame's address and function have to be the same.

use std::fs;
use std::process::Command;

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// One frame: the address, and the function's name without arguments.
type Frame = (u64, String);

/// What gdb runs. A stack is a line; a frame is an address and a name.
const SCRIPT: &str = r#"
import gdb
stacks = open(STACKS, "w")
def do(command):
    return gdb.execute(command, to_string=True)
for command in ("set pagination off", "set confirm off", "set width 0", "set debuginfod enabled off",
        "set startup-with-shell off", "set backtrace past-main on", "handle all nostop noprint pass", "starti"):
    do(command)
for place in PLACES:
    do("tbreak *" + place)
    do("continue")
    for step in range(STEPS):
        frames, frame = [], gdb.newest_frame()
        while frame is not None:
            signal = frame.type() == gdb.SIGTRAMP_FRAME
            frames.append("%x|%s" % (frame.pc(), "" if signal else frame.name() or ""))
            frame = frame.older()
        stacks.write("\t".join(frames) + "\n")
        do("stepi")
stacks.close()
do("kill")
"#;

/// The stacks of gdb: from the entry of each place on, so many instructions.
fn stacks_of_gdb(fixture: &Fixture, places: &[&str], steps: usize) -> Option<Vec<Vec<Frame>>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("stacks.py");
    let stacks = folder.path().join("stacks");
    let text = format!("PLACES = {places:?}\nSTEPS = {steps}\nSTACKS = {stacks:?}\n{SCRIPT}");
    fs::write(&script, text).expect("the script is written");
    let output = Command::new("gdb")
        .args(["-q", "-nx", "-batch", "-x"])
        .arg(&script)
        .arg(&fixture.program)
        .output();
    let Ok(output) = output else {
        skips::skip("gdb");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = fs::read_to_string(&stacks).expect("what gdb wrote");
    let stacks: Vec<Vec<Frame>> = text
        .lines()
        .map(|line| {
            line.split('\t')
                .map(|frame| {
                    let (pc, name) = frame.split_once('|').expect("two parts");
                    let pc = u64::from_str_radix(pc, 16).expect("an address");
                    // gdb makes a name for the stubs of the C library's own choices.
                    (pc, bare(if name.starts_with('*') { "" } else { name }))
                })
                .collect()
        })
        .collect();
    assert_eq!(stacks.len(), places.len() * steps, "{errors}");
    Some(stacks)
}

/// A name without namespaces and arguments of templates, and without the aliases
/// of the C library and the kernel's.
fn bare(name: &str) -> String {
    let mut depth = 0;
    let mut bare = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            c if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    let bare = bare
        .trim_end_matches("::")
        .rsplit("::")
        .next()
        .unwrap_or("");
    // Parts of functions by gcc, whose numbers gdb does not always print.
    let bare = bare.split('.').next().unwrap_or("");
    let bare = bare
        .trim_start_matches("__GI_")
        .trim_start_matches("__vdso_");
    bare.trim_start_matches('_').to_owned()
}

/// Suffix of the name of a function that is known from a tail call only.
const GONE: &str = " [tail call]";

fn our_stack(client: &mut DapClient) -> Vec<Frame> {
    client
        .stack()
        .iter()
        .map(|frame| {
            let pc = frame["instructionPointerReference"].as_str().unwrap_or("");
            let pc = u64::from_str_radix(pc.trim_start_matches("0x"), 16);
            let name = frame["name"].as_str().unwrap_or("");
            // gdb's text for a function without a name, and for a signal frame.
            let name = if name.starts_with("0x") {
                String::new()
            } else {
                bare(name)
            };
            (pc.expect("an address"), name)
        })
        .collect()
}

/// Walks through the places and compares every stack.
fn agrees(fixture: &Fixture, places: &[&str], steps: usize) {
    let Some(theirs) = stacks_of_gdb(fixture, places, steps) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_function_breakpoints(&places[..1]);
    client.configure();
    let mut different = Vec::new();
    let (mut compared, mut lost) = (0, 0);
    let mut both_lost = Vec::new();
    for (index, place) in places.iter().enumerate() {
        if index > 0 {
            client.set_function_breakpoints(&[place]);
            client.continue_();
        }
        client.expect_stopped("function breakpoint");
        client.set_function_breakpoints(&[]);
        // gdb starts at the entry, the debugger after the prologue.
        let mut expected = theirs[index * steps..(index + 1) * steps].iter();
        loop {
            let ours = our_stack(&mut client);
            let Some(theirs) = expected.find(|theirs| theirs[0].0 == ours[0].0) else {
                break;
            };
            compared += 1;
            if cfg!(target_arch = "aarch64") && is_lost(theirs) {
                lost += 1;
                if is_lost(&ours) {
                    both_lost.push((*place, ours));
                }
            } else if !is_same(&ours, theirs) {
                different.push((*place, ours, theirs.clone()));
            }
            if expected.len() == 0 {
                break;
            }
            let thread = client.thread();
            client.request_ok(
                "stepIn",
                json!({"threadId": thread, "granularity": "instruction"}),
            );
            client.expect_stopped("step");
        }
    }
    let program = fixture.program.display();
    println!(
        "{program}: {compared} stacks, gdb lost in {lost}, {} different",
        different.len()
    );
    for (place, ours, theirs) in different.iter().take(12) {
        println!("{place}:\n  ours {}\n  gdb  {}", spell(ours), spell(theirs));
    }
    assert!(
        different.is_empty(),
        "{program}: {} of {compared} differ",
        different.len()
    );
    for (place, ours) in &both_lost {
        println!("{place}:\n  both {}", spell(ours));
    }
    // clang's rules are those between prologue and epilogue, without -fasynchronous-unwind-tables.
    let few = both_lost.len() * 50 <= compared;
    assert!(few, "{} of {lost}, of {compared}", both_lost.len());
    assert!(
        compared * 10 > places.len() * steps * 7,
        "{compared} stacks were the same place"
    );
    client.disconnect();
}

/// gdb shows tail-call frames in gcc's code, but not in clang's.
/// While a function is bound lazily, glibc's rules for aarch64 are wrong, and so are clang's in prologues and
/// epilogues; gdb follows them: a frame is there twice, or the stack does not lead to the program's start.
fn is_lost(stack: &[Frame]) -> bool {
    let ends_at_start = stack.last().is_some_and(|(_, name)| name == "start");
    !ends_at_start || stack.windows(2).any(|pair| pair[0].0 == pair[1].0)
}

fn is_same(ours: &[Frame], theirs: &[Frame]) -> bool {
    let marked = ours.iter();
    let plain = marked.map(|(pc, name)| (*pc, name.trim_end_matches(GONE).to_owned()));
    let left = ours.iter().filter(|(_, name)| !name.ends_with(GONE));
    plain.eq(theirs.iter().cloned()) || left.eq(theirs)
}

fn spell(stack: &[Frame]) -> String {
    let frames = stack.iter().map(|(pc, name)| format!("{pc:x} {name}"));
    frames.collect::<Vec<_>>().join(", ")
}

const PLACES: &[&str] = &[
    "many",
    "moving",
    "aligned",
    "target",
    "by_value",
    "clocks",
    "on_signal",
    "ends",
];

fn unwinding(compiler: Compiler, optimization: &'static str, extra: &'static [&'static str]) {
    let flags = Flags {
        extra,
        ..Flags::new(compiler).optimized(optimization)
    };
    if let Some(fixture) = Fixture::build("c/unwinding.c", flags) {
        agrees(&fixture, PLACES, 80);
    }
}

#[test]
fn gcc_unoptimized() {
    unwinding(Compiler::Gcc, "0", &[]);
}

#[test]
fn gcc_optimized() {
    unwinding(Compiler::Gcc, "2", &[]);
}

#[test]
fn gcc_without_eh_frame() {
    unwinding(
        Compiler::Gcc,
        "2",
        &["-fno-asynchronous-unwind-tables", "-fomit-frame-pointer"],
    );
}

#[test]
fn clang_unoptimized() {
    unwinding(Compiler::Clang, "0", &[]);
}

#[test]
fn clang_optimized() {
    unwinding(Compiler::Clang, "2", &[]);
}

#[test]
fn a_static_program() {
    #[cfg(target_arch = "x86_64")]
    const PROTECTED: &str = "-fcf-protection";
    #[cfg(target_arch = "aarch64")]
    const PROTECTED: &str = "-mbranch-protection=standard";
    unwinding(Compiler::Gcc, "1", &["-static", PROTECTED]);
}
