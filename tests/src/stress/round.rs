//! One run of a program under the debugger, with breakpoints that change and stops all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::{Duration, Instant};

use fastrand::Rng;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::places::{self, Place, Places};
use super::program::{Outcome, Program, Streams, left_of, state_of};
use super::{LIMIT, Totals, plan};
use crate::client::DapClient;
use crate::process;

/// How the debugger starts with the program, and how it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Launches it.
    Launch,
    /// Attaches to it, and stays.
    Attach,
    /// Attaches, and detaches before the end.
    Detach,
    /// Attaches, and is killed before the end.
    Killed,
}

/// Maximum number of changes of breakpoints and stops in one run; then the program runs to its end.
const MAX_ACTS: u32 = 40;
/// A kill of the debugger at this moment cannot be survived.
const ENDED_AT_A_TRAP: &str = "ended at a trap as the debugger was killed";
/// Bytes of log messages after which logpoints are replaced.
const MAX_MESSAGE_BYTES: usize = 1 << 18;

/// Removes names, types and addresses from a reason.
fn kind_of(why: &str) -> String {
    let words = why.split('`').enumerate();
    let words = words.map(|(index, part)| if index % 2 == 0 { part } else { "…" });
    let text: String = words.collect();
    let words = text
        .split(' ')
        .map(|word| if word.starts_with("0x") { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// One run of a program.
pub struct Round<'a> {
    program: &'a Program,
    places: &'a Places,
    rng: Rng,
    way: Way,
    client: DapClient,
    /// The current breakpoints.
    planted: BTreeMap<Place, Value>,
    /// The locations of all ids that breakpoints have had.
    ids: BTreeMap<i64, Place>,
    /// Sources that have breakpoints.
    sources: BTreeSet<String>,
    /// Breakpoints to remove: each hit costs a stop, or their conditions fail.
    costly: BTreeSet<Place>,
    logged_bytes: usize,
    running: bool,
    ended: Option<i64>,
    pid: Option<i32>,
    /// Counts of actions and results.
    pub totals: Totals,
}

impl<'a> Round<'a> {
    /// Runs the program in a way that the seed selects, and compares the results.
    ///
    /// # Errors
    /// The results differ.
    ///
    /// # Panics
    /// The debugger does something wrong; the text has the transcript.
    pub fn run(
        program: &'a Program,
        places: &'a Places,
        (expected, took): &(Outcome, Duration),
        seed: u64,
    ) -> Result<Totals, String> {
        let mut rng = Rng::with_seed(seed);
        let way = match rng.u8(0..20) {
            _ if *took < Duration::from_millis(200) => Way::Launch,
            0 | 1 => Way::Attach,
            2 | 3 => Way::Detach,
            4 => Way::Killed,
            _ => Way::Launch,
        };
        let streams = Streams::new();
        let mark = format!("{seed:016x}");
        let mut round = Round {
            program,
            places,
            rng,
            way,
            client: DapClient::spawn(),
            planted: BTreeMap::new(),
            ids: BTreeMap::new(),
            sources: BTreeSet::new(),
            costly: BTreeSet::new(),
            logged_bytes: 0,
            running: true,
            ended: None,
            pid: None,
            totals: Totals::default(),
        };
        round.totals.count(&format!("rounds: {way:?}"));
        let child = round.begin(&streams, &mark);
        if child.is_none() || round.pid.is_some() {
            round
                .client
                .request_ok("setExceptionBreakpoints", json!({"filters": []}));
            round.set_some_breakpoints();
            round.client.configure();
            round.disturb(*took);
        }
        let code = round.end(child, &mark)?;
        if code.is_none() && round.totals.of(ENDED_AT_A_TRAP) > 0 {
            return Ok(round.totals);
        }
        let outcome = program.outcome(code, &streams);
        match expected.difference(&outcome) {
            Some(difference) => Err(format!("{difference}\n{}", round.client.transcript())),
            None => {
                let totals = round.totals.clone();
                match round.way {
                    Way::Launch | Way::Attach => round.client.disconnect(),
                    Way::Detach | Way::Killed => {}
                }
                Ok(totals)
            }
        }
    }

    /// Launches the program, or starts it and attaches; it may have ended before the attach.
    fn begin(&mut self, streams: &Streams, mark: &str) -> Option<Child> {
        if self.way == Way::Launch {
            self.client
                .start("launch", self.program.settings(streams, mark));
            return None;
        }
        let child = self.program.start(streams, mark);
        let pid = child.id() as i32;
        if self.client.try_start("attach", json!({"pid": pid})).is_ok() {
            self.pid = Some(pid);
        } else {
            self.totals.count("had ended before it was attached to");
            self.ended = Some(0);
        }
        Some(child)
    }

    /// Changes breakpoints until the program ends, or the debugger leaves it.
    fn disturb(&mut self, took: Duration) {
        let mut acts = 0;
        let leaves_after = match self.way {
            Way::Detach | Way::Killed => self.rng.u32(1..12),
            Way::Launch | Way::Attach => u32::MAX,
        };
        let deadline = Instant::now() + 20 * took + 2 * LIMIT;
        while self.ended.is_none() {
            if acts >= leaves_after {
                return;
            }
            if !self.running {
                self.resume();
            }
            let quiet = acts >= MAX_ACTS;
            let portion = took.as_micros() as u64 / 6 + 2000;
            let patience = match quiet {
                true => LIMIT,
                false => Duration::from_micros(self.rng.u64(0..portion)),
            };
            let message = self.client.next_message(patience);
            let silent = message.is_none();
            if let Some(message) = message {
                self.on_event(&message);
            }
            if self.ended.is_some() {
                break;
            }
            if Instant::now() > deadline || (silent && quiet) {
                self.fail("the program does not end");
            }
            if !self.running {
                continue;
            }
            if self.logged_bytes > MAX_MESSAGE_BYTES {
                self.logged_bytes = 0;
                self.set_some_breakpoints();
            } else if !self.costly.is_empty() {
                self.remove_costly_breakpoints();
            } else if silent && !quiet {
                acts += 1;
                match self.rng.u8(0..8) {
                    0 | 1 => self.pause_and_look(),
                    2 => self.remove_all_breakpoints(),
                    _ => self.set_some_breakpoints(),
                }
            }
        }
    }

    /// Records what a message of the adapter says.
    fn on_event(&mut self, message: &Value) {
        let body = &message["body"];
        match message["event"].as_str() {
            Some("breakpoint") => self.on_breakpoint_event(&body["breakpoint"]),
            Some("output") if body["category"] == "console" => {
                let text = body["output"].as_str().unwrap_or_default();
                self.totals
                    .add("messages of log points", text.lines().count() as u64);
                self.logged_bytes += text.len();
            }
            Some("process") => self.pid = body["systemProcessId"].as_i64().map(|pid| pid as i32),
            Some("stopped") => self.on_stop(body),
            Some("exited") => self.ended = body["exitCode"].as_i64(),
            Some("terminated") => self.ended = self.ended.or(Some(-1)),
            _ => {}
        }
    }

    fn on_breakpoint_event(&mut self, breakpoint: &Value) {
        let Some(says) = breakpoint["message"].as_str() else {
            return;
        };
        match places::stays_on_trap(says) {
            Some(false) => self.totals.count("jumps"),
            Some(true) => {
                self.totals.count(&format!("trap: {}", kind_of(says)));
                let place = breakpoint["id"].as_i64().and_then(|id| self.ids.get(&id));
                self.costly.extend(place.cloned());
            }
            None => {}
        }
    }

    fn on_stop(&mut self, body: &Value) {
        self.running = false;
        if let Some(thread) = body["threadId"].as_i64() {
            self.client.select_thread(thread);
        }
        let reason = body["reason"].as_str().unwrap_or_default();
        self.totals.count(&format!("stops: {reason}"));
        match reason {
            "pause" | "step" | "entry" => {}
            "breakpoint" => {
                let hit = body["hitBreakpointIds"].as_array().into_iter().flatten();
                let hit: Vec<Place> = hit
                    .filter_map(|id| self.ids.get(&id.as_i64()?).cloned())
                    .collect();
                if body["text"].as_str().is_none() {
                    let requested: Vec<_> =
                        hit.iter().map(|place| self.planted.get(place)).collect();
                    self.fail(&format!(
                        "a stop where none was requested: {hit:?} {requested:?}"
                    ));
                }
                self.costly.extend(hit);
            }
            _ => self.fail(&format!("a stop without a cause: {body}")),
        }
    }

    /// Sends a request while the program runs: it may fail only at the program's end.
    fn attempt(&mut self, command: &str, arguments: Value) -> Option<Value> {
        match self.client.request(command, arguments) {
            Ok(body) => Some(body),
            Err(response) => {
                while self.ended.is_none() {
                    match self.client.next_message(LIMIT) {
                        Some(message) => self.on_event(&message),
                        None => self.fail(&format!("refused though the program runs: {response}")),
                    }
                    if !self.running && self.ended.is_none() {
                        self.fail(&format!(
                            "refused though the program is stopped: {response}"
                        ));
                    }
                }
                None
            }
        }
    }

    fn set_some_breakpoints(&mut self) {
        self.planted = plan::breakpoints(&mut self.rng, self.places, 30);
        self.totals.count("changes of breakpoints");
        self.totals
            .add("breakpoints planted", self.planted.len() as u64);
        self.set();
    }

    fn remove_all_breakpoints(&mut self) {
        self.planted.clear();
        self.totals.count("changes of breakpoints");
        self.set();
    }

    fn remove_costly_breakpoints(&mut self) {
        for place in std::mem::take(&mut self.costly) {
            self.planted.remove(&place);
        }
        self.set();
    }

    fn set(&mut self) {
        self.costly.clear();
        let mut sources = std::mem::take(&mut self.sources);
        self.sources = self
            .planted
            .keys()
            .map(|place| place.path.clone())
            .collect();
        sources.extend(self.sources.iter().cloned());
        for path in sources {
            let mut lines = Vec::new();
            let mut requested = Vec::new();
            for (place, options) in self.planted.iter().filter(|(place, _)| place.path == path) {
                let mut breakpoint = options.clone();
                breakpoint["line"] = json!(place.line);
                lines.push(breakpoint);
                requested.push(place.clone());
            }
            let arguments = json!({"source": {"path": path}, "breakpoints": lines});
            let Some(body) = self.attempt("setBreakpoints", arguments) else {
                return;
            };
            let set = body["breakpoints"].as_array().into_iter().flatten();
            for (breakpoint, place) in set.zip(requested) {
                if let Some(id) = breakpoint["id"].as_i64() {
                    self.ids.insert(id, place);
                }
                if breakpoint["verified"] == false {
                    let why = breakpoint["message"].as_str().unwrap_or_default();
                    self.totals.count(&format!("refused: {}", kind_of(why)));
                }
            }
        }
    }

    /// Waits for a stop or the end. Returns false if neither comes within `limit`.
    fn await_stop(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.running && self.ended.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.client.next_message(left) {
                Some(message) => self.on_event(&message),
                None => return false,
            }
        }
        true
    }

    fn pause_and_look(&mut self) {
        if self.attempt("pause", json!({"threadId": 0})).is_none() {
            return;
        }
        if !self.await_stop(LIMIT) {
            self.fail("no stop though a pause was requested");
        }
        if self.ended.is_some() {
            return;
        }
        self.look();
        for _ in 0..self.rng.u8(0..4) {
            self.step();
            if self.ended.is_some() {
                return;
            }
        }
    }

    fn look(&mut self) {
        let Some(body) = self.attempt("threads", Value::Null) else {
            return;
        };
        let threads = body["threads"].as_array().into_iter().flatten();
        let threads: Vec<i64> = threads.filter_map(|thread| thread["id"].as_i64()).collect();
        if threads.is_empty() {
            self.fail("no threads");
        }
        let thread = threads[self.rng.usize(..threads.len())];
        self.client.select_thread(thread);
        let arguments = json!({"threadId": thread, "startFrame": 0, "levels": 20});
        let Some(body) = self.attempt("stackTrace", arguments) else {
            return;
        };
        let Some(frame) = body["stackFrames"].get(0) else {
            self.fail("a stack without frames");
        };
        let name = frame["name"].as_str().unwrap_or_default();
        if name.starts_with("0x") || name.starts_with('?') {
            self.totals.count("frames without a name");
        }
        let frame = frame["id"].clone();
        let Some(body) = self.attempt("scopes", json!({"frameId": frame})) else {
            return;
        };
        if let Some(reference) = body["scopes"]
            .get(0)
            .map(|scope| scope["variablesReference"].clone())
        {
            self.attempt(
                "variables",
                json!({"variablesReference": reference, "start": 0, "count": 20}),
            );
        }
    }

    fn step(&mut self) {
        let thread = self.client.thread();
        let (command, arguments) = match self.rng.u8(0..6) {
            0 | 1 => ("next", json!({"threadId": thread})),
            2 => ("stepIn", json!({"threadId": thread})),
            3 => ("stepOut", json!({"threadId": thread})),
            4 => (
                "next",
                json!({"threadId": thread, "granularity": "instruction"}),
            ),
            _ => (
                "stepIn",
                json!({"threadId": thread, "granularity": "instruction"}),
            ),
        };
        // A step out of the outermost function is refused.
        let Ok(_) = self.client.request(command, arguments) else {
            self.totals.count("steps that were refused");
            return;
        };
        self.totals.count("steps");
        self.running = true;
        if !self.await_stop(Duration::from_millis(500)) {
            self.totals.count("steps that a pause ended");
            if self.attempt("pause", json!({"threadId": 0})).is_some() && !self.await_stop(LIMIT) {
                self.fail("no stop though a pause was requested");
            }
        }
    }

    fn resume(&mut self) {
        if !self.costly.is_empty() {
            self.remove_costly_breakpoints();
        } else if self.rng.u8(0..3) == 0 {
            self.set_some_breakpoints();
        }
        if self.ended.is_none() {
            let thread = self.client.thread();
            self.running = true;
            self.attempt("continue", json!({"threadId": thread}));
        }
    }

    /// Detaches from the program, or waits for its end; returns its exit code.
    fn end(&mut self, child: Option<Child>, mark: &str) -> Result<Option<i64>, String> {
        if self.client.transcript().contains("panicked at") {
            self.fail("the debugger has panicked");
        }
        match self.way {
            Way::Detach if self.ended.is_none() => {
                self.client
                    .request_ok("disconnect", json!({"terminateDebuggee": false}));
                self.client.wait_exit();
            }
            Way::Killed if self.ended.is_none() => {
                process::send_signal(self.client.adapter_pid(), Signal::SIGKILL);
                self.client.wait_exit();
            }
            _ => {}
        }
        let mut code = self.ended;
        if let Some(mut child) = child {
            let pid = child.id() as i32;
            if !process::ends_within(pid, 2 * LIMIT) {
                self.fail("the program does not end by itself");
            }
            let status = child.wait().ok();
            code = status.and_then(|status| status.code()).map(i64::from);
            let signal = status.and_then(|status| status.signal());
            if self.way == Way::Killed && signal == Some(Signal::SIGTRAP as i32) {
                // A thread was stopped at a trap when the debugger was killed: the kernel delivers
                // the SIGTRAP, which the debugger can no longer suppress.
                self.totals.count(ENDED_AT_A_TRAP);
                return Ok(None);
            }
        }
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = left_of(mark);
            let Some(first) = left.first() else {
                return Ok(code);
            };
            if Instant::now() > deadline {
                let states: String = left.iter().map(|pid| state_of(*pid)).collect();
                for pid in &left {
                    process::send_signal(*pid, Signal::SIGKILL);
                }
                return Err(format!(
                    "processes are left:\n{states}{}",
                    self.client.transcript()
                ));
            }
            process::ends_within(*first, Duration::from_millis(100));
        }
    }

    /// Panics with a text, the state of the program and the transcript.
    fn fail(&self, text: &str) -> ! {
        let state = self.pid.map(state_of).unwrap_or_default();
        self.client.fail(&format!("{text}\n{state}"))
    }
}
