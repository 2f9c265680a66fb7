//! Counts the statement lines of an image at which a jump can replace the trap, so that conditions
//! run in the program, and the reasons for the others:
//!
//!     cargo bench -p stillpoint-tests --bench jump_patch_coverage -- IMAGE...
//!
//! Without arguments: for this program. Needs no process.

use dwarf::Module;
use engine::Coverage;
use std::path::PathBuf;

fn main() {
    let given = std::env::args().skip(1).filter(|it| it != "--bench");
    let mut images: Vec<PathBuf> = given.map(PathBuf::from).collect();
    if images.is_empty() {
        images.push(std::env::current_exe().expect("a program has a path"));
    }
    for image in images {
        let module = Module::open(&image).expect("an image");
        let coverage = Coverage::of(&module);
        let jumps: u64 = coverage.jumps.values().sum();
        let all = jumps + coverage.traps.values().sum::<u64>();
        let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        println!("{}", image.display());
        println!("{all:>9}           addresses of statement lines");
        println!("{jumps:>9}  {:>6.2} %  planted", percent(jumps));
        for (title, rows) in [("jump", coverage.jumps), ("trap", coverage.traps)] {
            let mut rows: Vec<_> = rows.into_iter().collect();
            rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (why, count) in rows {
                println!("{count:>9}  {:>6.2} %  {title}: {why}", percent(count));
            }
        }
        println!("          with breakpoints on all lines of a function at once");
        for (what, count) in coverage.together {
            println!("{count:>9}  {:>6.2} %  {what}", percent(count));
        }
    }
}
