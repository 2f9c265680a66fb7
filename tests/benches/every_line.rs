//! Sets a breakpoint on every statement line of real programs, and says which do not bind there:
//!
//!     cargo bench -p stillpoint-tests --bench every_line -- PROGRAM...
//!
//! The lines are those of `llvm-dwarfdump --debug-line`. Ends with 1 if some breakpoint does not bind.

use std::path::Path;
use stillpoint_tests::lines::{statement_lines, unbound_lines};

fn main() {
    let programs: Vec<String> = std::env::args().skip(1).collect();
    let programs = programs.iter().filter(|it| !it.starts_with('-'));
    let mut all_bound = true;
    for program in programs {
        let lines: usize = statement_lines(Path::new(program))
            .values()
            .map(|it| it.len())
            .sum();
        let unbound = unbound_lines(Path::new(program));
        println!("{program}: {} of {lines} lines do not bind", unbound.len());
        for line in &unbound {
            println!("  {line}");
        }
        all_bound &= unbound.is_empty();
    }
    std::process::exit(i32::from(!all_bound));
}
