//! The limits of waits in tests.
//!
//! A fixed limit fails on a busy machine. A wait here ends after [`QUIET`] seconds in which no message
//! arrived and no process started by the tests used CPU time, started, ended, stopped or resumed. It ends
//! after [`LIMIT`] seconds in any case, because a program may spin for ever; after more on a machine with
//! more to do than it has processors.

use std::env;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds without activity after which a wait fails.
const QUIET: u32 = 20;
/// Seconds after which a wait fails in any case.
const LIMIT: u32 = 300;
/// Interval between two looks at the processes. A wait shorter than this reads nothing from `/proc`.
const LOOK: Duration = Duration::from_secs(1);
/// Interval of [`poll`], for conditions that no event reports, such as the state of a process.
const POLL: Duration = Duration::from_millis(1);

/// Returns `seconds`, times `$STILLPOINT_PATIENCE` on emulated machines.
fn scaled(seconds: u32) -> Duration {
    static FACTOR: OnceLock<u32> = OnceLock::new();
    let factor = FACTOR.get_or_init(|| {
        let factor = env::var("STILLPOINT_PATIENCE").ok();
        factor.and_then(|text| text.parse().ok()).unwrap_or(1)
    });
    Duration::from_secs(u64::from(seconds)) * *factor
}

/// Returns [`LIMIT`], scaled, and times the number of threads that want each processor.
pub fn limit() -> Duration {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|text| text.parse().ok());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    scaled(LIMIT).mul_f64(stretch(load.unwrap_or(0.0), processors))
}

/// Returns how much longer work takes at a load average: 1 while each thread has a processor, 60 at most.
fn stretch(load: f64, processors: usize) -> f64 {
    (load / processors as f64).clamp(1.0, 60.0)
}

/// One wait.
pub struct Patience {
    began: Instant,
    looked: Instant,
    /// When something happened last.
    last: Instant,
    seen: Option<Activity>,
    /// The longest [`limit`] that a look has found.
    limit: Duration,
}

impl Patience {
    /// Begins a wait.
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            looked: now,
            last: now,
            seen: None,
            limit: Duration::ZERO,
        }
    }

    /// Returns how long to wait before [`Patience::is_left`] is asked again.
    pub fn portion(&self) -> Duration {
        LOOK
    }

    /// Something has arrived.
    pub fn renew(&mut self) {
        self.last = Instant::now();
    }

    /// Returns false once nothing has happened for too long.
    pub fn is_left(&mut self) -> bool {
        let now = Instant::now();
        if now - self.looked < LOOK {
            return true;
        }
        self.looked = now;
        let activity = Activity::of_children();
        if self.seen.as_ref() != Some(&activity) {
            self.seen = Some(activity);
            self.last = now;
        }
        self.limit = self.limit.max(limit());
        now - self.last < scaled(QUIET) && now - self.began < self.limit
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for a message of another thread.
///
/// # Errors
/// The sender was dropped, or the wait failed.
pub fn receive<T>(receiver: &Receiver<T>) -> Result<T, RecvTimeoutError> {
    let mut patience = Patience::new();
    loop {
        match receiver.recv_timeout(patience.portion()) {
            Err(RecvTimeoutError::Timeout) if patience.is_left() => {}
            end => return end,
        }
    }
}

/// Asks again and again until there is an answer; `None` if the wait failed.
pub fn poll<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let mut patience = Patience::new();
    loop {
        let answer = ask();
        if answer.is_some() || !patience.is_left() {
            return answer;
        }
        thread::sleep(POLL);
    }
}

/// Asks again and again until it is so; false if the wait failed.
pub fn becomes(mut ask: impl FnMut() -> bool) -> bool {
    poll(|| ask().then_some(())).is_some()
}

/// Ends this process once neither it nor any process that it started has done anything for three times
/// [`QUIET`]: a test waits where no [`Patience`] limits it, for example in a read of a pipe. Runs until the
/// process ends.
#[cfg(target_os = "linux")]
pub(crate) fn watch_for_hangs() {
    // A look at the processes takes this process a hundredth of the time between two looks.
    const OWN_TICKS: u64 = 20;
    let own = || Process::read(std::process::id() as i32).map_or(0, |it| it.cpu);
    let work = move || {
        let (mut last, mut before, mut seen) = (Instant::now(), own(), None);
        loop {
            thread::sleep(scaled(QUIET) / 4);
            let (cpu, activity) = (own(), Some(Activity::of_children()));
            if cpu - before > OWN_TICKS || activity != seen {
                seen = activity;
                last = Instant::now();
            }
            before = cpu;
            if last.elapsed() > 3 * scaled(QUIET) {
                // Threads have the names of their tests, of which the kernel keeps 15 bytes.
                let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
                let names = threads.filter_map(|it| {
                    let name = std::fs::read_to_string(it.ok()?.path().join("comm")).ok()?;
                    Some(name.trim().to_owned())
                });
                let names: Vec<String> = names.filter(|it| it.contains("::")).collect();
                // `eprintln` would write to the captured output of the test that has started this thread.
                let text = format!("tests hang: nothing happens any more. Threads: {names:?}\n");
                let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
                std::process::abort();
            }
        }
    };
    let thread = thread::Builder::new().name("watch".to_owned());
    // Without it, only the limit of the whole run is left.
    let _ = thread.spawn(work);
}

/// CPU time and states of all descendants of this process.
#[derive(PartialEq, Eq, Debug)]
struct Activity {
    /// Their CPU time, in ticks of the kernel.
    cpu: u64,
    /// Each process, and whether it is stopped.
    states: Vec<(i32, bool)>,
}

impl Activity {
    #[cfg(target_os = "linux")]
    fn of_children() -> Self {
        let mut all: Vec<Process> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Process::read)
            .collect();
        let mut ours = vec![std::process::id() as i32];
        let mut activity = Self {
            cpu: 0,
            states: Vec::new(),
        };
        // Children of the ones found so far, until there are no more.
        loop {
            let (found, rest) =
                (all.into_iter()).partition::<Vec<_>, _>(|it| ours.contains(&it.parent));
            all = rest;
            if found.is_empty() {
                activity.states.sort_unstable();
                return activity;
            }
            for process in found {
                ours.push(process.pid);
                activity.cpu += process.cpu;
                activity.states.push((process.pid, process.is_stopped));
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn of_children() -> Self {
        Self {
            cpu: 0,
            states: Vec::new(),
        }
    }
}

/// Fields of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
struct Process {
    pid: i32,
    parent: i32,
    is_stopped: bool,
    cpu: u64,
}

#[cfg(target_os = "linux")]
impl Process {
    fn read(pid: i32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before it may have spaces and brackets.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        // proc(5): state is field 3, ppid 4, utime 14, stime 15.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            pid,
            parent: number(4)? as i32,
            is_stopped: fields.first()?.starts_with(['t', 'T', 'Z', 'X']),
            cpu: number(14)? + number(15)?,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn work_of_a_grandchild_is_activity() {
        let script = "sh -c 'while read _; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; done'; :";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh");
        let mut input = child.stdin.take().expect("piped");
        let output = child.stdout.take().expect("piped");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
        let mut work = || {
            std::io::Write::write_all(&mut input, b"\n").expect("it reads");
            lines.next().expect("a line").expect("a line");
        };
        work();
        let of_child = || {
            let all = Activity::of_children();
            let is_there = |pid: i32| all.states.iter().any(|(it, _)| *it == pid);
            assert!(is_there(child.id() as i32));
            all.cpu
        };
        let before = of_child();
        work();
        assert!(of_child() > before);
        drop(input);
        child.wait().expect("it ends");
    }

    #[test]
    fn limits_grow_with_the_load() {
        assert_eq!(stretch(0.5, 2), 1.0);
        assert_eq!(stretch(16.0, 2), 8.0);
        assert_eq!(stretch(1e9, 2), 60.0);
        assert!(limit() >= scaled(LIMIT));
    }

    #[test]
    fn a_silent_wait_ends_only_after_its_time() {
        let mut patience = Patience::new();
        assert!(patience.is_left());
        let past = Instant::now() - scaled(QUIET) - LOOK;
        patience.looked = past;
        patience.last = past;
        patience.seen = Some(Activity::of_children());
        // Tests that run beside this one may have done something since.
        let left = patience.is_left();
        assert!(!left || patience.last > past);
        patience.began -= scaled(LIMIT).mul_f64(60.0);
        patience.looked = past;
        assert!(!patience.is_left());
    }
}
