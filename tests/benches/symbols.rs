//! What the first questions about an image cost, in milliseconds of wall time:
//!
//!     cargo bench -p stillpoint-tests --bench symbols -- IMAGE FILE LINE [FUNCTION] [CACHE]
//!
//! without arguments about this program itself. Every run opens a new process, so that nothing
//! is warm but the page cache; the medians of [`RUNS`] are printed. With CACHE (a folder) the runs
//! share a cache of name indexes. Without it each run reads all names, and the benchmark prints
//! the cost per byte of `.debug_info`: memory, and processor time of all threads, which depends
//! little on other load.

use dwarf::{Module, SymbolStatus};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const RUNS: usize = 9;
/// Runs of this program that measure have it in their environment.
const MEASURE: &str = "STILLPOINT_BENCH_MEASURE";

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments: Vec<String> = given.into_iter().filter(|it| it != "--bench").collect();
    if arguments.is_empty() {
        let own = std::env::current_exe().expect("a program has a path");
        let line = line!().to_string();
        arguments = vec![own.display().to_string(), file!().to_owned(), line];
    }
    if std::env::var_os(MEASURE).is_some() {
        measure(&arguments);
        return;
    }
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for _ in 0..RUNS {
        let own = std::env::current_exe().expect("a program has a path");
        let run = Command::new(own)
            .args(&arguments)
            .env(MEASURE, "1")
            .output()
            .expect("this program runs");
        assert!(run.status.success(), "{run:?}");
        for line in String::from_utf8_lossy(&run.stdout).lines() {
            let (value, name) = line.split_once(' ').expect("a value and a name");
            let value = value.parse().expect("a number");
            match rows.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) => values.push(value),
                None => rows.push((name.to_owned(), vec![value])),
            }
        }
    }
    for (name, mut values) in rows {
        values.sort_by(f64::total_cmp);
        println!("{:>9.2}  {name}", values[values.len() / 2]);
    }
}

fn measure(arguments: &[String]) {
    let [image, file, line, rest @ ..] = arguments else {
        panic!("IMAGE FILE LINE [FUNCTION] [CACHE]");
    };
    let line: u32 = line.parse().expect("a line");
    let size = debug_info_size(Path::new(image)) as f64;
    let mut last = Instant::now();
    let begun = last;
    let mut done = |what: &str| {
        println!("{:.3} {what}", last.elapsed().as_secs_f64() * 1e3);
        last = Instant::now();
    };
    let module = Module::open(Path::new(image)).expect("an image");
    if let [_, cache] = rest {
        module.set_cache_folder(Path::new(cache));
    }
    assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo);
    done("ms to open the image");
    let sources = module.find_sources(Path::new(file));
    let source = sources.first().expect("the file is in the line tables");
    done("ms to find the source file");
    let lines = module.lines_with_code(source);
    let nearest = lines.into_iter().find(|have| *have >= line);
    let locations = module.line_locations(source, nearest.expect("code behind the line"));
    let addr = locations.first().expect("the line has places").addr;
    done("ms to find the line's places");
    module.function_at(addr).expect("a function");
    module.place_at(addr).expect("a place");
    done("ms to tell the function and line of an address");
    module.function_at(module.entry());
    module.symbol_at(module.entry());
    done("ms to tell the function of code without debug info");
    let all = begun.elapsed().as_secs_f64() * 1e3;
    if let [function, ..] = rest {
        assert!(!module.function_symbols(function).is_empty());
        done("ms to find a function by its symbol");
        // Resets VmHWM, so that it is the peak of what follows.
        std::fs::write("/proc/self/clear_refs", "5").expect("the peak begins anew");
        let (resident, used) = (status("VmRSS:"), processor_time());
        module.index_names();
        let (used, peak) = (processor_time() - used, status("VmHWM:"));
        done("ms to read all names");
        let grown = |now: f64| (now - resident).max(0.0) / size;
        println!(
            "{:.3} MB of .debug_info read in a second of a core",
            size / 1e6 / used.max(1e-6)
        );
        println!(
            "{:.3} bytes of memory for a byte of .debug_info at the peak",
            grown(peak)
        );
        println!(
            "{:.3} bytes of memory for a byte of .debug_info behind it",
            grown(status("VmRSS:"))
        );
        assert!(!module.functions_named(function).is_empty());
        done("ms to find a function by name");
    }
    println!("{all:.3} ms for a stop on a line");
    dwarf::finish_cache_writes(std::time::Duration::from_secs(10));
}

fn debug_info_size(image: &Path) -> u64 {
    use object::{Object, ObjectSection};
    let cache = object::ReadCache::new(std::fs::File::open(image).expect("an image"));
    let file = object::File::parse(&cache).expect("an image");
    let section = file.section_by_name(".debug_info");
    section.map_or(1, |section| section.size())
}

/// Bytes that a line of `/proc/self/status` tells.
fn status(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    1024.0 * kilobytes.map_or(0.0, |number| number.parse::<f64>().expect("a number"))
}

/// Seconds that all threads have run.
fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("the kernel tells");
    let nanoseconds = threads.flatten().map(|thread| {
        let time = std::fs::read_to_string(thread.path().join("schedstat"));
        let time = time
            .ok()
            .and_then(|time| time.split(' ').next()?.parse().ok());
        time.unwrap_or(0u64)
    });
    nanoseconds.sum::<u64>() as f64 / 1e9
}
