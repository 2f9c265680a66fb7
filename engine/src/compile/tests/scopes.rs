//! Names at an address of a real program, without a process.

use super::machine::listing;
use crate::compile::{CodeScope, Condition, Scope};
use crate::expr::Expression;
use crate::images::modules::Modules;
use dwarf::{LoadBias, Module};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
#include <stdio.h>
int global = 5;
_Thread_local int local = 7;
__attribute__((noipa)) int work(int count, const char *name) {
    static int calls;
    int i = count, total = 0;
    for (int i = 0; i < count; i++) {
        total += i; // inner
        printf("%d\n", total);
    }
    calls++; // outer
    return total + i + global + local + calls + name[0];
}
int main(int argc, char **argv) { return work(argc, argv[0]); }
"#;

const LAMBDA: &str = r#"
#include <cstdio>
int kept = 1;
int main(int argc, char **) {
    int count = argc, kept = 2;
    auto body = [&count, kept](int step) {
        int sum = count + kept + step;
        std::printf("%d\n", sum); // body
        return sum;
    };
    return body(3);
}
"#;

struct Program {
    source: &'static str,
    modules: Modules,
    _folder: tempfile::TempDir,
}

fn compile(compiler: &str, level: &str, text: &'static str) -> Option<Program> {
    let folder = tempfile::tempdir().expect("a folder");
    let name = match compiler.ends_with('+') {
        true => "scopes.cpp",
        false => "scopes.c",
    };
    let source = folder.path().join(name);
    std::fs::write(&source, text).expect("the source");
    let binary = folder.path().join("scopes");
    let mut command = Command::new(compiler);
    command.args(["-g", level, "-o"]).arg(&binary).arg(&source);
    let Ok(status) = command.status() else {
        skips::skip(compiler);
        return None;
    };
    assert!(status.success());
    let module = Module::open(&binary).expect("the program");
    Some(Program {
        source: text,
        modules: Modules::of(module, LoadBias(0x5555_5555_4000)),
        _folder: folder,
    })
}

impl Program {
    /// Returns the condition on the line with a mark: its first instruction, or why it is not
    /// compiled.
    fn first(&self, mark: &str, text: &str) -> Result<String, String> {
        let lines = (1..).zip(self.source.lines());
        let mut marked = lines.filter(|(_, line)| line.ends_with(mark));
        let (line, _) = marked.next().expect("a marked line");
        let loaded = self.modules.program().expect("the program");
        let names = ["scopes.c", "scopes.cpp"].map(Path::new);
        let mut sources = names
            .iter()
            .flat_map(|name| loaded.module.find_sources(name));
        let source = sources.next().expect("the source");
        let places = loaded.module.line_locations(&source, line);
        let pc = loaded.bias.load(places[0].addr);
        let scope = CodeScope::at(&self.modules, None, pc, 0);
        let expression = Expression::parse(text, scope.language()).expect("an expression");
        match Condition::compile(&expression, &scope) {
            Ok(condition) => Ok(listing(&condition).swap_remove(0)),
            Err(reason) => Err(reason.to_string()),
        }
    }
}

#[test]
fn without_optimization() {
    let Some(program) = compile("gcc", "-O0", SOURCE) else {
        return;
    };
    let on_frame = |mark, text| {
        let first = program.first(mark, text).expect("it compiles");
        assert!(first.contains("ptr [rbp-"), "{text}: {first}");
        first
    };
    // The inner one hides the outer one.
    assert_ne!(
        on_frame("// inner", "i == 3"),
        on_frame("// outer", "i == 3")
    );
    assert_eq!(
        on_frame("// inner", "count == 3"),
        on_frame("// outer", "count == 3")
    );
    on_frame("// inner", "name == 0");
    assert_eq!(
        program.first("// inner", "local == 7").as_deref(),
        Ok("cmp dword ptr fs:[0FFFFFFFFFFFFFFFCh],7")
    );
    for text in ["global == 5", "calls == 1"] {
        let first = program.first("// inner", text).expect("it compiles");
        assert!(first.starts_with("mov rsi,"), "{text}: {first}");
    }
    assert_eq!(
        program.first("// outer", "nobody == 1"),
        Err("unknown name `nobody`".into())
    );
}

#[test]
fn with_optimization() {
    let Some(program) = compile("gcc", "-O2", SOURCE) else {
        return;
    };
    // In callee-saved registers.
    for text in ["count == 3", "total > 5", "i == 2"] {
        let first = program.first("// inner", text).expect("it compiles");
        assert!(
            first.starts_with("cmp ") && !first.contains("ptr"),
            "{text}: {first}"
        );
    }
}

#[test]
fn in_a_lambda() {
    for compiler in ["g++", "clang++"] {
        let Some(program) = compile(compiler, "-O0", LAMBDA) else {
            continue;
        };
        // A captured variable hides the program's, and is accessed through a pointer.
        for text in ["count == 1", "kept == 2"] {
            let first = program.first("// body", text).expect("it compiles");
            assert!(
                first.starts_with("mov rsi,[rbp-"),
                "{compiler} {text}: {first}"
            );
        }
        for text in ["sum == 1", "step == 1"] {
            let first = program.first("// body", text).expect("it compiles");
            assert!(
                first.contains("dword ptr [rbp-"),
                "{compiler} {text}: {first}"
            );
        }
    }
}
