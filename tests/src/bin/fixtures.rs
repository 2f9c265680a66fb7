//! Compiles the fixtures before the tests run, all of `tests/fixtures/list.txt`, in parallel.
//!
//!     cargo run -p stillpoint-tests --bin fixtures                 compiles what is missing
//!     cargo run -p stillpoint-tests --bin fixtures check FILE      fails if tests have asked for others
//!     cargo run -p stillpoint-tests --bin fixtures note FILE       adds those to the list
//!
//! FILE is what `$STILLPOINT_FIXTURES` named while the tests ran.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use stillpoint_tests::fixture::list;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => build(),
        ["check", file] => check(Path::new(file)),
        ["note", file] => list::add(Path::new(file)).map(|()| true),
        _ => {
            eprintln!("usage: fixtures [check FILE | note FILE]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fixtures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> std::io::Result<bool> {
    let began = Instant::now();
    let (count, failed) = list::build()?;
    println!("{count} fixtures in {} s", began.elapsed().as_secs());
    for line in failed {
        println!("cannot be compiled here: {line}");
    }
    Ok(true)
}

fn check(wishes: &Path) -> std::io::Result<bool> {
    let missing = list::missing(wishes)?;
    for line in &missing {
        eprintln!("not in tests/fixtures/list.txt: {line}");
    }
    Ok(missing.is_empty())
}
