//! Macros as they are defined at a line.

mod common;

use common::compile;
use dwarf::{FileAddr, Macro, Module, SourceFile};

const TEXT: &str = r#"
#include <stddef.h>
#include <limits.h>
#define LIMIT 40
#define ADD(a, b) ((a) + (b))
#define EMPTY
#define LOG(format, ...) log_it(format, __VA_ARGS__)
int main(void) {
  int n = LIMIT; //@ first
#undef LIMIT
#define LIMIT 41
  n += LIMIT + ADD(1, 2); //@ second
#undef LIMIT
  n += 3; //@ third
  return n == CHAR_BIT;
}
#define LATE 5
"#;

fn text(module: &Module, file: &SourceFile, line: u32, at: FileAddr, name: &str) -> Option<String> {
    let found = module.macro_at(at, Some((file, line)), name);
    found.map(|it| it.body)
}

#[test]
fn definitions_at_a_line() {
    for command in [
        "gcc -g3 -gdwarf-5",
        "gcc -g3 -gdwarf-4",
        "gcc -g3 -gdwarf-3 -gstrict-dwarf",
        "gcc -g3 -gdwarf-5 -gz",
        "clang -gdwarf-5 -fdebug-macro",
        "clang -gdwarf-4 -fdebug-macro",
    ] {
        let compiler = command.split(' ').next().unwrap();
        if std::process::Command::new(compiler)
            .arg("--version")
            .output()
            .is_err()
        {
            println!("no {compiler}");
            continue;
        }
        let fixture = compile(command, "macros.c", TEXT);
        let module = &fixture.module;
        let main = module.functions_named("main").remove(0);
        let file = main.declaration.as_ref().unwrap().file.clone();
        let [first, second, third] = ["first", "second", "third"].map(|it| fixture.line(it));
        let at = |line, name| text(module, &file, line, main.entry, name);
        assert_eq!(at(first, "LIMIT").as_deref(), Some("40"), "{command}");
        assert_eq!(at(second, "LIMIT").as_deref(), Some("41"), "{command}");
        assert_eq!(at(third, "LIMIT"), None, "{command}");
        assert_eq!(at(first, "EMPTY").as_deref(), Some(""), "{command}");
        assert_eq!(at(first, "LATE"), None, "{command}");
        assert_eq!(
            at(first, "CHAR_BIT").as_deref(),
            Some("__CHAR_BIT__"),
            "{command}"
        );
        // clang records no predefined macros.
        if compiler == "gcc" {
            assert_eq!(at(first, "__CHAR_BIT__").as_deref(), Some("8"), "{command}");
        }
        assert_eq!(at(first, "absent"), None, "{command}");
        let add = module.macro_at(main.entry, None, "ADD");
        let expected = Macro {
            parameters: Some(vec!["a".into(), "b".into()]),
            body: "((a) + (b))".into(),
        };
        assert_eq!(add, Some(expected), "{command}");
        let log = module.macro_at(main.entry, None, "LOG").unwrap();
        assert_eq!(
            log.parameters,
            Some(vec!["format".into(), "...".into()]),
            "{command}"
        );
    }
}

#[test]
fn programs_without_macros_have_none() {
    let fixture = compile("gcc -g", "macros.c", TEXT);
    let main = fixture.module.functions_named("main").remove(0);
    assert_eq!(fixture.module.macro_at(main.entry, None, "LIMIT"), None);
}
