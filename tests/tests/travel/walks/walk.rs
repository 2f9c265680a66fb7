//! A random walk, and what its moves must come to.

use super::Program;
use super::place::{Key, Looks, Place};
use fastrand::Rng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

/// A way to move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Move {
    Request(&'static str),
    ByInstruction(&'static str),
    Command(&'static str),
    Present,
}

use Move::{ByInstruction, Present, Request};

const FORWARD: &[Move] = &[
    Request("next"),
    Request("next"),
    Request("stepIn"),
    Request("stepOut"),
    Request("continue"),
    ByInstruction("next"),
    ByInstruction("stepIn"),
];

const BACK: &[Move] = &[
    Request("stepBack"),
    Request("stepBack"),
    ByInstruction("stepBack"),
    Request("reverseContinue"),
    Move::Command(":reverse-step"),
    Move::Command(":reverse-next"),
    Move::Command(":reverse-finish"),
    Move::Command(":reverse-step instruction"),
    Move::Command(":reverse-continue"),
];

/// Texts of the console that no walk may lead to.
const COMPLAINTS: [&str; 5] = [
    "mistake of Stillpoint",
    "did not come to the place",
    "was not in another",
    "cannot be shown",
    "recording has ended",
];

/// The line whose breakpoint has a hit condition throughout.
const COUNTED: &str = "counted";
const EVERY: &str = "% 3";

/// What a walk has found.
pub struct Walked {
    pub moves: usize,
    pub places: usize,
    pub wrong: Vec<String>,
}

pub struct Walk<'a> {
    client: DapClient,
    fixture: &'a Fixture,
    program: &'a Program,
    /// The ticks at which the breakpoint with the hit condition stops.
    hits: &'a BTreeSet<u64>,
    random: Rng,
    looks: Looks,
    at: Place,
    reason: String,
    /// The program waits to exit.
    is_exiting: bool,
    /// The line began here, and the step before has begun in its frame.
    is_whole_step: bool,
    /// Lines with breakpoints, and their conditions.
    lines: BTreeMap<u64, Value>,
    settings: BTreeMap<&'static str, Value>,
    /// The first look at each place.
    seen: BTreeMap<Key, Place>,
    /// What moves from places have come to, under the same settings.
    went: BTreeMap<(Key, Move, String), String>,
    trail: Vec<String>,
    console: usize,
    /// What the console has said of the last move.
    said: String,
    moves: usize,
    wrong: Vec<String>,
}

/// Returns the ticks at which the breakpoint with the hit condition stops in a program that nothing else stops.
pub fn numbered_hits(fixture: &Fixture) -> BTreeSet<u64> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints_with(fixture, vec![(COUNTED, json!({"hitCondition": EVERY}))]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.configure();
    let mut hits = BTreeSet::new();
    loop {
        let event = client.wait_event_of(&["stopped", "terminated"]);
        if event["event"] == "terminated" {
            return hits;
        }
        client.select_thread(event["body"]["threadId"].as_i64().expect("a thread"));
        if event["body"]["reason"] == "breakpoint" {
            hits.insert(client.evaluate("ticks").parse().expect("a number"));
        }
        client.continue_();
    }
}

impl<'a> Walk<'a> {
    pub fn begin(
        fixture: &'a Fixture,
        program: &'a Program,
        hits: &'a BTreeSet<u64>,
        is_optimized: bool,
        random: Rng,
    ) -> Walk<'a> {
        let source = fixture.source.to_str().expect("a path of text").to_owned();
        let mut client = DapClient::spawn();
        client.launch(fixture, json!({"record": true}));
        client.set_breakpoints_with(fixture, vec![(COUNTED, json!({"hitCondition": EVERY}))]);
        client.set_function_breakpoints(&program.functions[..1]);
        client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
        client.configure();
        client.expect_stopped_by(&["function breakpoint", "breakpoint"]);
        let path = fixture.program.to_str().expect("a path of text");
        let looks = Looks::of(&mut client, path, source, is_optimized);
        let at = looks.look(&mut client);
        let counted = fixture.line(COUNTED);
        let mut walk = Walk {
            client,
            fixture,
            program,
            hits,
            random,
            looks,
            at,
            reason: String::new(),
            is_exiting: false,
            is_whole_step: false,
            lines: BTreeMap::from([(counted, json!({"hitCondition": EVERY}))]),
            settings: BTreeMap::new(),
            seen: BTreeMap::new(),
            went: BTreeMap::new(),
            trail: Vec::new(),
            console: 0,
            said: String::new(),
            moves: 0,
            wrong: Vec::new(),
        };
        for _ in 0..3 {
            walk.toggle_line();
        }
        walk
    }

    /// Makes a move, and at times changes settings and evaluates before.
    pub fn move_on(&mut self) {
        match self.random.u32(..20) {
            0 | 1 => self.toggle_line(),
            2 => self.choose_functions(),
            3 => self.toggle_data(),
            4 => self.call(),
            5 if self.at.is_past => self.assign(),
            _ => {}
        }
        let motion = self.choose();
        let before = self.at.clone();
        // A jump out of a handler leads into the middle of a line.
        let was_signal = self.reason == "exception";
        if let Some(reason) = self.go(motion) {
            self.check_way(motion, &before, was_signal, &reason);
            self.check_inverse(motion, before);
            self.is_whole_step &= !was_signal;
        }
    }

    fn choose(&mut self) -> Move {
        let is_at_exit = self.is_exiting && !self.at.is_past;
        let is_in_own = self.at.key.is_some();
        let one_of = |random: &mut Rng, all: &[Move]| *random.choice(all).expect("there are some");
        if !is_at_exit && !is_in_own && self.random.u32(..3) > 0 {
            // In the C library and its start there is little to see.
            return Request("continue");
        }
        match self.random.u32(..100) {
            0..3 if self.at.is_past => Present,
            0..52 => one_of(&mut self.random, BACK),
            _ if is_at_exit => one_of(&mut self.random, BACK),
            _ => one_of(&mut self.random, FORWARD),
        }
    }

    /// Moves, and looks where that has led. Returns the reason of the stop; `None`: the move was refused.
    fn go(&mut self, motion: Move) -> Option<String> {
        let thread = self.client.thread();
        let answer = match motion {
            Request(command) => self.client.request(command, json!({"threadId": thread})),
            ByInstruction(command) => {
                let arguments = json!({"threadId": thread, "granularity": "instruction"});
                self.client.request(command, arguments)
            }
            Move::Command(command) => {
                let frame = self.client.top_frame()["id"].clone();
                let evaluate = json!({"expression": command, "context": "repl", "frameId": frame});
                self.client.request("evaluate", evaluate)
            }
            Present => self.client.request("stillpoint/visitStop", json!({})),
        };
        self.moves += 1;
        if let Err(response) = answer {
            let text = response["body"]["error"]["format"].to_string();
            self.trail.push(format!("{motion:?} is refused: {text}"));
            let is_fair = ["no line", "line information", "outermost", "caller"];
            if !is_fair.iter().any(|part| text.contains(part)) {
                self.note(format!("{motion:?} at {} is refused: {text}", self.at));
            }
            self.at = self.looks.look(&mut self.client);
            return None;
        }
        let event = self.client.wait_event_of(&["stopped", "terminated"]);
        if event["event"] == "terminated" {
            let trail = self.trail.join("\n");
            panic!(
                "{motion:?} at {} has ended the session, after\n{trail}",
                self.at
            );
        }
        let reason = event["body"]["reason"].as_str().unwrap_or_default();
        let place = self.looks.look(&mut self.client);
        self.trail
            .push(format!("{motion:?} to {place} by {reason}"));
        self.is_exiting |= reason == "exit" && !place.is_past;
        self.reason = reason.to_owned();
        self.at = place;
        self.check_console();
        self.check_sameness();
        let ids = &event["body"]["hitBreakpointIds"];
        if reason == "breakpoint" && ids.as_array().is_some_and(|it| it.len() == 1) {
            self.check_number();
        }
        Some(self.reason.clone())
    }

    fn check_console(&mut self) {
        let said = self.client.events_so_far("output");
        let is_of_program = |body: &&Value| body["category"] == "stdout";
        let new = said.iter().skip(self.console).copied();
        let new: String = (new.filter(|body| !is_of_program(body)))
            .filter_map(|body| body["output"].as_str())
            .collect();
        self.console = said.len();
        if COMPLAINTS.iter().any(|complaint| new.contains(complaint)) {
            self.note(new.clone());
        }
        self.said = new;
    }

    /// The place looks as it did before.
    fn check_sameness(&mut self) {
        let Some(key) = self.at.key.clone() else {
            return;
        };
        match self.seen.get(&key).map(|first| first.difference(&self.at)) {
            None => drop(self.seen.insert(key, self.at.clone())),
            Some(None) => {}
            Some(Some(difference)) => self.note(format!("{} differs: {difference}", self.at)),
        }
    }

    /// A hit condition means the hits that it would mean in a program that nothing else stops.
    fn check_number(&mut self) {
        let is_counted = self.at.line == self.fixture.line(COUNTED) && !self.looks.is_optimized;
        if let Some((_, _, ticks, _)) = &self.at.key
            && is_counted
            && !self.hits.contains(ticks)
        {
            let text = format!("hit of `{EVERY}` at {}, not in {:?}", self.at, self.hits);
            self.note(text);
        }
    }

    /// Back is not forward, and the same move from the same place comes to the same place. `was_signal`: the
    /// program was stopped there by a signal.
    fn check_way(&mut self, motion: Move, before: &Place, was_signal: bool, reason: &str) {
        let ticks = |place: &Place| place.key.as_ref().map(|key| key.2);
        let (from, to) = (before.clone(), self.at.clone());
        let is_back = BACK.contains(&motion);
        let is_order_kept = |earlier: &Place, later: &Place| {
            let ticks = ticks(earlier).zip(ticks(later));
            earlier.event <= later.event && ticks.is_none_or(|(earlier, later)| earlier <= later)
        };
        // To enter an inlined call is a step without an instruction.
        let is_shown_the_same = (&from.function, from.line) == (&to.function, to.line);
        let has_stayed =
            from.key.is_some() && from.key == to.key && is_shown_the_same && reason != "entry";
        // An instruction that faults is not executed: the signal stops the program at it.
        let is_fault = reason == "exception" && !was_signal;
        let is_right = match (motion, is_back) {
            (Present, _) => !to.is_past,
            (_, true) => to.is_past && !has_stayed && is_order_kept(&to, &from),
            (_, false) => (!has_stayed || is_fault) && is_order_kept(&from, &to),
        };
        if !is_right {
            let said = &self.said;
            self.note(format!(
                "{motion:?} has come from {from} to {to} by {reason}: {said}"
            ));
        }
        // With breakpoints that count, a way forward depends on when they were set.
        if let Some(key) = from.key
            && motion != Present
            && reason != "exit"
        {
            // A step depends on the inlined call that is shown, too.
            let shown = (&from.function, from.line);
            let settings = format!(
                "{:?} {:?} {shown:?} {was_signal}",
                self.lines, self.settings
            );
            let came = format!("{}:{} {:?} by {reason}", to.function, to.line, to.key);
            let before = self
                .went
                .entry((key, motion, settings))
                .or_insert(came.clone());
            if *before != came {
                let text = format!("{motion:?} from {before} has come to {came}");
                self.note(text);
            }
        }
    }

    /// The inverse of a step leads back.
    fn check_inverse(&mut self, motion: Move, from: Place) {
        let is_in_frame = self.at.function == from.function && self.at.depth == from.depth;
        let is_step = self.reason == "step" && self.at.key.is_some() && from.key.is_some();
        let is_by_instruction = match motion {
            ByInstruction(_) => true,
            Move::Command(command) => command.ends_with("instruction"),
            _ => false,
        };
        // In optimized code a line is many statements, and a step back leads to another one than forward.
        let is_whole = is_step && is_in_frame && self.at.line != from.line && !is_by_instruction;
        // A step back into a call may have led to the rest of a line behind another one.
        let is_whole = is_whole && FORWARD.contains(&motion);
        let was_whole = std::mem::replace(&mut self.is_whole_step, is_whole);
        let was_whole = was_whole && !self.looks.is_optimized;
        let back = match motion {
            _ if !is_step => return,
            ByInstruction("stepBack") if is_in_frame || self.at.sp >= from.sp => {
                // A call, or something else that pushes a word.
                match self.at.sp.wrapping_sub(from.sp) {
                    8 => ByInstruction("stepIn"),
                    _ => ByInstruction("next"),
                }
            }
            Request("next") if was_whole && is_in_frame => Move::Command(":reverse-next"),
            Request("stepIn") if was_whole && is_in_frame => Move::Command(":reverse-step"),
            _ => return,
        };
        let there = self.at.to_string();
        let Some(reason) = self.go(back) else {
            return;
        };
        self.is_whole_step = false;
        if (self.at.pc(), self.at.sp) != (from.pc(), from.sp) && reason == "step" {
            let text = format!(
                "{motion:?} from {from} to {there}, but {back:?} to {}",
                self.at
            );
            self.note(text);
        }
    }

    fn note(&mut self, text: String) {
        let shown = super::number("WALKS_TRAIL", 4) as usize;
        let first = self.trail.len().saturating_sub(shown);
        let trail = self.trail[first..].join("; ");
        self.wrong.push(format!("{text}\n  after {trail}"));
    }

    /// Sets or clears a breakpoint on a line, at times with a condition.
    fn toggle_line(&mut self) {
        let text = fs::read_to_string(&self.fixture.source).expect("the source");
        let is_statement = |line: &str| line.starts_with(' ') && line.ends_with(';');
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| is_statement(line));
        let lines: Vec<u64> = lines.map(|(nth, _)| nth as u64 + 1).collect();
        let line = *self.random.choice(&lines).expect("there are some");
        let condition = *self
            .random
            .choice(&[None, None, Some("ticks % 3 == 0"), Some("ticks > 20")])
            .expect("there are some");
        if line != self.fixture.line(COUNTED) && self.lines.remove(&line).is_none() {
            let options = condition.map_or(json!({}), |it| json!({"condition": it}));
            self.lines.insert(line, options);
        }
        self.set_lines();
    }

    fn set_lines(&mut self) {
        let all = self.lines.iter().map(|(line, options)| {
            let mut breakpoint = options.clone();
            breakpoint["line"] = (*line).into();
            breakpoint
        });
        let all: Vec<Value> = all.collect();
        let source = self.looks.source.clone();
        self.client.set_source_breakpoints(&source, all);
        self.trail.push(format!("lines {:?}", self.lines.keys()));
    }

    fn choose_functions(&mut self) {
        let all = self.program.functions;
        let chosen: Vec<&str> = (all.iter().copied())
            .filter(|_| self.random.u32(..4) == 0)
            .collect();
        self.client.set_function_breakpoints(&chosen);
        self.trail.push(format!("functions {chosen:?}"));
        self.settings.insert("functions", json!(chosen));
    }

    /// Watches the ticks, or does no longer.
    fn toggle_data(&mut self) {
        let is_watched = self
            .settings
            .get("data")
            .is_some_and(|it| *it == json!(true));
        let frame = self.client.top_frame()["id"].clone();
        let asked = json!({"name": "ticks", "frameId": frame});
        let info = self.client.request_ok("dataBreakpointInfo", asked);
        let breakpoints = match (is_watched, info["dataId"].as_str()) {
            (false, Some(id)) => json!([{"dataId": id, "accessType": "write"}]),
            _ => json!([]),
        };
        self.settings
            .insert("data", json!(breakpoints != json!([])));
        let set = json!({"breakpoints": breakpoints});
        self.client.request_ok("setDataBreakpoints", set);
        self.trail.push("data".to_owned());
    }

    /// Calls a function, which changes nothing but ticks: where these are watched, it would stop.
    fn call(&mut self) {
        if self.settings.get("data") == Some(&json!(true)) {
            return;
        }
        let call = *self
            .random
            .choice(self.program.calls)
            .expect("there are some");
        let result = self.client.try_evaluate(call);
        self.trail.push(format!("call {call}: {result:?}"));
    }

    /// Changes the ticks, which is gone with the next move.
    fn assign(&mut self) {
        if self.at.key.is_none() {
            return;
        }
        let assigned = self.client.try_evaluate("ticks = 12345");
        self.trail.push(format!("assign {assigned:?}"));
        if assigned.is_ok() && self.client.evaluate("ticks") != "12345" {
            self.note("an assignment in the past is not seen".to_owned());
        }
    }

    /// Returns to the present, and runs to the end: the program has done what it does alone.
    pub fn end(mut self) -> Walked {
        if self.at.is_past {
            self.go(Present);
        }
        self.client
            .set_source_breakpoints(&self.looks.source, Vec::new());
        self.client.set_function_breakpoints(&[]);
        self.client
            .request_ok("setDataBreakpoints", json!({"breakpoints": []}));
        loop {
            self.client.continue_();
            let event = self.client.wait_event_of(&["stopped", "terminated"]);
            if event["event"] == "terminated" {
                break;
            }
        }
        self.check_console();
        let alone = Command::new(&self.fixture.program)
            .output()
            .expect("it runs");
        let exited = self.client.events_so_far("exited");
        let code = exited.first().and_then(|body| body["exitCode"].as_i64());
        let output = self.client.output("stdout");
        if output.as_bytes() != alone.stdout || code != alone.status.code().map(i64::from) {
            self.note(format!("it has exited with {code:?} and written {output}"));
        }
        Walked {
            moves: self.moves,
            places: self.seen.len(),
            wrong: self.wrong,
        }
    }
}
