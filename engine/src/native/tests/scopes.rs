//! What names mean at an address of a real program, which nobody has started.

use super::machine::listing;
use crate::eval::Expression;
use crate::modules::Modules;
use crate::native::{CodeScope, Condition};
use dwarf::{Language, LoadBias, Module};
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

struct Program {
    modules: Modules,
    _folder: tempfile::TempDir,
}

fn compile(level: &str) -> Option<Program> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("scopes.c");
    std::fs::write(&source, SOURCE).expect("the source");
    let binary = folder.path().join("scopes");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", level, "-o"]).arg(&binary).arg(&source);
    let Ok(status) = gcc.status() else {
        eprintln!("skipped: no gcc");
        return None;
    };
    assert!(status.success());
    let module = Module::open(&binary).expect("the program");
    Some(Program {
        modules: Modules::of(module, LoadBias(0x5555_5555_4000)),
        _folder: folder,
    })
}

impl Program {
    /// What a condition is on the line with a mark: its first instruction, or why it is none.
    fn first(&self, mark: &str, text: &str) -> Result<String, String> {
        let lines = (1..).zip(SOURCE.lines());
        let mut marked = lines.filter(|(_, line)| line.ends_with(mark));
        let (line, _) = marked.next().expect("a marked line");
        let loaded = self.modules.program().expect("the program");
        let sources = loaded.module.find_sources(Path::new("scopes.c"));
        let places = loaded.module.line_locations(&sources[0], line);
        let pc = loaded.bias.load(places[0].addr);
        let scope = CodeScope::at(&self.modules, pc);
        let expression = Expression::parse(text, Language::C).expect("an expression");
        match Condition::compile(&expression, &scope) {
            Ok(condition) => Ok(listing(&condition).swap_remove(0)),
            Err(reason) => Err(reason.to_string()),
        }
    }
}

#[test]
fn without_optimization() {
    let Some(program) = compile("-O0") else {
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
        Err("`nobody` is not known here".into())
    );
}

#[test]
fn with_optimization() {
    let Some(program) = compile("-O2") else {
        return;
    };
    // In registers that calls preserve.
    for text in ["count == 3", "total > 5", "i == 2"] {
        let first = program.first("// inner", text).expect("it compiles");
        assert!(
            first.starts_with("cmp ") && !first.contains("ptr"),
            "{text}: {first}"
        );
    }
}
