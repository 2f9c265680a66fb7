//! Debug info in `.dwo` files and packages of them gives the same results as in the program itself.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const SPLIT: Flags = Flags {
    extra: &["-gsplit-dwarf"],
    ..Flags::new(Compiler::Gcc)
};
const TYPES: Flags = Flags {
    extra: &["-gsplit-dwarf", "-fdebug-types-section"],
    ..SPLIT
};
const OLD: Flags = Flags { dwarf: 4, ..SPLIT };
const OLD_TYPES: Flags = Flags { dwarf: 4, ..TYPES };

/// Function, line and variables (with their types) at a marker and at the line after it.
fn shown(fixture: &Fixture, marker: &str) -> Vec<Value> {
    let mut client = DapClient::stopped_at(fixture, marker);
    let mut shown = Vec::new();
    for _ in 0..2 {
        let stack = client.stack();
        let frames: Vec<Value> = stack
            .iter()
            .take_while(|frame| frame["name"] != "__libc_start_call_main")
            .map(|frame| json!([frame["name"], frame["line"]]))
            .collect();
        let variables: Vec<Value> = client
            .local_variables()
            .values()
            .filter(|it| !it["value"].as_str().is_some_and(|it| it.contains("0x")))
            .map(|it| json!([it["name"], it["value"], it["type"]]))
            .collect();
        shown.push(json!([frames, variables]));
        client.next();
    }
    client.disconnect();
    shown
}

fn compare(source: &str, marker: &str, split: Flags) {
    let plain = Flags {
        extra: &[],
        ..split
    };
    let (Some(plain), Some(split)) = (Fixture::build(source, plain), Fixture::build(source, split))
    else {
        return;
    };
    assert_eq!(
        shown(&split, marker),
        shown(&plain, marker),
        "{}",
        split.program.display()
    );
}

#[test]
fn c_at_both_versions() {
    for flags in [SPLIT, OLD] {
        compare("c/structs.c", "all", flags);
    }
}

#[test]
fn inlined_calls() {
    for flags in [SPLIT, OLD] {
        compare("c/inline.c", "innermost", flags.optimized("2"));
        compare("c/inline.c", "outer_end", flags.optimized("2"));
    }
}

#[test]
fn type_units() {
    for flags in [SPLIT, OLD, TYPES, OLD_TYPES] {
        compare("cpp/classes.cpp", "by_reference", flags);
    }
}

#[test]
fn rust_unpacked_and_packed() {
    let plain = Flags::new(Compiler::Rustc);
    for extra in [
        &["-C", "split-debuginfo=unpacked"],
        &["-C", "split-debuginfo=packed"],
    ] {
        compare("rust/enums.rs", "call", Flags { extra, ..plain });
    }
}

#[test]
fn missing_split_file_leaves_lines() {
    let Some(fixture) = Fixture::build("c/recursion.c", SPLIT) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("alone");
    fs::copy(&fixture.program, &program).expect("a copy");
    // The name that gcc wrote down is in a folder that was moved away since.
    assert!(!holds_split_file(folder.path()));
    let mut alone = fixture.clone();
    alone.program = program.canonicalize().expect("the copy");
    let mut client = DapClient::stopped_at(&alone, "bottom");
    let stack = client.stack();
    assert_eq!(stack[0]["name"], "factorial", "{stack:?}");
    assert_eq!(stack[0]["line"], fixture.line("bottom"), "{stack:?}");
    client.disconnect();
}

fn holds_split_file(folder: &Path) -> bool {
    let mut files = fs::read_dir(folder).expect("the folder");
    files.any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|it| it == "dwo")))
}

#[test]
fn missing_split_file_is_reported() {
    let Some(fixture) = Fixture::build("c/loop.c", SPLIT) else {
        return;
    };
    // A copy elsewhere, which names a file that is not there.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("alone");
    let bytes = fs::read(&fixture.program).expect("the program");
    let name = b".dwo\0";
    let mut renamed = bytes.clone();
    let places: Vec<usize> = (0..bytes.len() - name.len())
        .filter(|at| bytes[*at..].starts_with(name))
        .collect();
    for at in places {
        renamed[at..at + 4].copy_from_slice(b".gon");
    }
    fs::write(&program, &renamed).expect("a copy");
    fs::set_permissions(
        &program,
        fs::metadata(&fixture.program).unwrap().permissions(),
    )
    .unwrap();
    let mut client = DapClient::spawn();
    client.launch_program(&program, json!({}));
    client.set_breakpoints(&fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    let notes = client.output("console");
    assert_eq!(notes.matches(".gon (").count(), 1, "{notes}");
    client.disconnect();
}
