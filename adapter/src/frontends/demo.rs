//! `stillpoint demo`: a stop in a small program, as a first impression.

use crate::files::private;
use crate::frontends::run::{self, Options};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PROGRAM: &str = r#"#include <stdio.h>

struct item {
    const char *name;
    double price;
};

static double total(const struct item *items, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += items[i].price;
    return sum; /* the breakpoint */
}

int main(void)
{
    struct item cart[] = {{"tea", 4.5}, {"bread", 3.25}, {"ink", 12}};
    printf("total: %.2f\n", total(cart, 3));
    return 0;
}
"#;

/// Builds the program, and runs it with a breakpoint.
pub fn demo() -> ExitCode {
    let directory = match private::temporary_folder() {
        Ok(directory) => directory,
        Err(error) => return complain(&format!("no temporary directory: {error}")),
    };
    let program = match build(directory.path()) {
        Ok(program) => program,
        Err(error) => return complain(&error),
    };
    let before = PROGRAM
        .lines()
        .take_while(|line| !line.contains("the breakpoint"));
    let place = format!("demo.c:{}", before.count() + 1);
    let print = "items[2].price * count";
    println!("$ stillpoint run --break {place} --print '{print}' ./demo\n");
    run::run(Options {
        pending: false,
        breaks: vec![place],
        prints: vec![print.to_owned()],
        json: false,
        record: false,
        command: vec![program.to_string_lossy().into_owned()],
    })
}

/// Writes and compiles the program; returns the executable.
fn build(directory: &Path) -> Result<PathBuf, String> {
    let (source, program) = (directory.join("demo.c"), directory.join("demo"));
    std::fs::write(&source, PROGRAM).map_err(|error| format!("{}: {error}", source.display()))?;
    let chosen = std::env::var("CC")
        .ok()
        .filter(|compiler| !compiler.is_empty());
    let compilers = match &chosen {
        Some(compiler) => vec![compiler.as_str()],
        None => vec!["cc", "gcc", "clang"],
    };
    for compiler in &compilers {
        let mut command = Command::new(compiler);
        command.args(["-g", "-O0", "-o"]).args([&program, &source]);
        match command.status() {
            Ok(status) if status.success() => {
                println!("$ {compiler} -g -O0 -o demo demo.c");
                return Ok(program);
            }
            Ok(status) => return Err(format!("{compiler} failed to build the demo: {status}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{compiler}: {error}")),
        }
    }
    Err(format!(
        "the demo needs a C compiler, but none was found ({}); install one, or set CC",
        compilers.join(", ")
    ))
}

fn complain(error: &str) -> ExitCode {
    complain!("stillpoint: {error}");
    ExitCode::FAILURE
}
