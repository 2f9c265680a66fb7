//! What a stop of a walk shows.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use stillpoint_tests::DapClient;

/// The bytes of the stack, from its pointer on, that are looked at.
const STACK_BYTES: u64 = 2048;
/// The resume flag, which stops of the debugger leave.
const RESUME_FLAG: u64 = 1 << 16;

/// What tells a place apart from all others: the program counter, the stack pointer, the ticks, and what is left
/// to do of an instruction that repeats itself.
pub type Key = (String, u64, u64, u64);

/// A stop.
#[derive(Clone, Debug)]
pub struct Place {
    /// `None`: outside of the program's own source, where functions count no ticks.
    pub key: Option<Key>,
    pub function: String,
    pub line: u64,
    pub depth: usize,
    pub sp: u64,
    /// The event of the recording that follows.
    pub event: u64,
    pub is_past: bool,
    /// All that must be the same whenever the program is here.
    pub shown: BTreeMap<String, String>,
}

/// How places are looked at.
pub struct Looks {
    pub source: String,
    /// Optimized code: at one address, which of the inlined functions and lines is shown depends on the way.
    pub is_optimized: bool,
    /// The program's writable data.
    data: Vec<(u64, u64)>,
}

impl Looks {
    /// At a program that has started.
    pub fn of(client: &mut DapClient, program: &str, source: String, is_optimized: bool) -> Looks {
        let maps = format!("/proc/{}/maps", client.debuggee_pid());
        let maps = fs::read_to_string(maps).expect("the program is there");
        let mut data: Vec<(u64, u64)> = Vec::new();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (start, end) = fields[0].split_once('-').expect("a range");
            let [start, end] = [start, end].map(|it| u64::from_str_radix(it, 16).expect("hex"));
            let path = fields.get(5).copied().unwrap_or_default();
            let is_behind = data.last().is_some_and(|last| last.1 == start);
            if fields[1].contains('w') && (path == program || path.is_empty() && is_behind) {
                data.push((start, end));
            }
        }
        assert!(!data.is_empty(), "{maps}");
        Looks {
            source,
            is_optimized,
            data,
        }
    }

    /// Looks at the present stop.
    pub fn look(&self, client: &mut DapClient) -> Place {
        let frames = client.stack();
        let top = &frames[0];
        let mut shown = BTreeMap::new();
        let mut stack: Vec<String> = Vec::new();
        for frame in &frames {
            let at = frame["instructionPointerReference"].to_string();
            match self.is_optimized {
                true if stack.contains(&at) => {}
                true => stack.push(at),
                false => stack.push(format!("{} {} {at}", frame["name"], frame["line"])),
            }
        }
        shown.insert("stack".to_owned(), stack.join("\n"));
        if !self.is_optimized {
            for (level, frame) in frames.iter().take(2).enumerate() {
                for (name, value) in variables(client, frame, "Locals") {
                    // What a call has returned is known only after it was stepped over.
                    if !name.starts_with('(') {
                        shown.insert(format!("{level} {name}"), value);
                    }
                }
            }
        }
        let registers = variables(client, top, "Registers");
        let number = |name: &str| {
            let text = registers.get(name).expect("a register");
            let digits = text.split_whitespace().next().unwrap_or_default();
            u64::from_str_radix(digits.trim_start_matches("0x"), 16).expect("a number")
        };
        let sp = number("rsp");
        let flags = number("rflags") & !RESUME_FLAG;
        for (name, value) in &registers {
            shown.insert(name.clone(), value.clone());
        }
        shown.insert("rflags".to_owned(), flags.to_string());
        let stack = (sp, sp + STACK_BYTES);
        for (start, end) in self.data.iter().chain([&stack]) {
            let memory = json!({"memoryReference": format!("{start:#x}"), "count": end - start});
            let read = client.request_ok("readMemory", memory);
            let mut hasher = DefaultHasher::new();
            read["data"].as_str().hash(&mut hasher);
            shown.insert(format!("memory {start:#x}"), hasher.finish().to_string());
        }
        let state = client.request_ok("stillpoint/pastStops", json!({}));
        let position = state["recording"]["position"].as_u64();
        let event = position.or(state["recording"]["events"].as_u64());
        let is_own = top["source"]["path"] == self.source.as_str();
        let ticks = is_own.then(|| client.evaluate("ticks"));
        let pc = top["instructionPointerReference"].as_str();
        let left = match pc.is_some_and(|pc| is_repeated(client, pc)) {
            true => number("rcx"),
            false => 0,
        };
        let key = ticks.and_then(|ticks| Some((pc?.to_owned(), sp, ticks.parse().ok()?, left)));
        Place {
            key,
            function: top["name"].as_str().unwrap_or_default().to_owned(),
            line: top["line"].as_u64().unwrap_or(0),
            depth: frames.len(),
            sp,
            event: event.expect("a recording"),
            is_past: position.is_some(),
            shown,
        }
    }
}

/// Returns whether the instruction at an address repeats itself.
fn is_repeated(client: &mut DapClient, pc: &str) -> bool {
    let asked = json!({"memoryReference": pc, "instructionCount": 1});
    let body = client.request_ok("disassemble", asked);
    let text = body["instructions"][0]["instruction"].as_str();
    text.is_some_and(|text| text.starts_with("rep"))
}

/// Returns the variables of a scope of a frame, groups of them as one.
fn variables(client: &mut DapClient, frame: &Value, scope: &str) -> BTreeMap<String, String> {
    let body = client.request_ok("scopes", json!({"frameId": frame["id"]}));
    let scopes = body["scopes"].as_array().expect("scopes");
    let Some(found) = scopes.iter().find(|it| it["name"] == scope) else {
        return BTreeMap::new();
    };
    let all = client.variables(found["variablesReference"].as_i64().expect("a reference"));
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let mut named = BTreeMap::new();
    for variable in all {
        let reference = variable["variablesReference"].as_i64().unwrap_or(0);
        let mut value = text(&variable["value"]);
        if scope == "Registers" && value.is_empty() && reference != 0 {
            let members = client.variables(reference);
            let members = members.iter().map(|it| text(&it["value"]));
            value = members.collect::<Vec<_>>().join(" ");
        }
        named.insert(text(&variable["name"]), value);
    }
    named
}

impl Place {
    /// Returns the program counter.
    pub fn pc(&self) -> &str {
        &self.shown["rip"]
    }

    /// Returns what two looks at one place show differently.
    pub fn difference(&self, other: &Place) -> Option<String> {
        let names = self.shown.keys().chain(other.shown.keys());
        let mut differing = names.filter(|name| self.shown.get(*name) != other.shown.get(*name));
        if let Some(name) = differing.next() {
            let [first, second] = [self, other].map(|it| it.shown.get(name));
            return Some(format!("{name}: {first:?} and {second:?}"));
        }
        let is_same = self.event == other.event;
        (!is_same).then(|| format!("event {} and {}", self.event, other.event))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Place {
            function,
            line,
            event,
            ..
        } = self;
        write!(formatter, "{function}:{line} before event {event}")?;
        match &self.key {
            Some((pc, sp, ticks, _)) => write!(formatter, " ({pc}, {sp:#x}, {ticks} ticks)"),
            None => Ok(()),
        }
    }
}
