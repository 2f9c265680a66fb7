//! What steps by lines must show of a program whose sequence of instructions is known.
//!
//! A user who steps sees one frame, which may be an inlined call, and one of its lines. The step
//! ends at the first instruction that
//! - begins a statement of another line in the same frame,
//! - begins a statement of the same line, where a loop has brought the thread back to it that has
//!   code of other lines, too,
//! - is where an inlined call begins that another line makes,
//! - is in an outer frame, or
//! - for `stepIn`, begins a statement in an inner one: an inlined call, or the body of a function
//!   that was called.
//!
//! Code of no line (line 0) belongs to the code around it.

use crate::walk::Passed;
use dwarf::{DieRef, FileAddr, Function, Module};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// A command of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Next,
    StepIn,
    StepOut,
}

/// Where a person is: at an instruction that was passed, so many inlined calls that begin there
/// not entered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub at: usize,
    pub hidden: usize,
}

/// File and line; none: the compiler's own code.
type Line = Option<(String, u32)>;

/// The debug info of an address.
struct Facts {
    function: Arc<Function>,
    /// The inlined calls that hold it, outermost first.
    calls: Vec<DieRef>,
    /// The line in each frame, that of the function first.
    lines: Vec<Line>,
    /// The names of the frames.
    names: Vec<String>,
    /// How many of the calls, counted from the innermost, begin right here.
    begun: usize,
    /// As many, but of those that begin in the prologue, too.
    begun_in_prologue: usize,
    /// Whether a row that is a statement begins here.
    is_statement: bool,
    /// Whether the body of the function begins here.
    is_body: bool,
    /// The line of that place.
    body: Line,
}

/// The instructions that a program executed, with their debug info.
pub struct Oracle {
    passed: Vec<(Passed, Option<Rc<Facts>>)>,
    /// Parts of the paths of sources that steps go through.
    filters: [&'static str; 4],
}

/// A stop as text.
pub fn describe(pc: FileAddr, name: &str, line: Option<u32>) -> String {
    let line = line.map_or_else(|| "?".to_owned(), |line| line.to_string());
    format!("{name}:{line} at {:#x}", pc.0)
}

impl Oracle {
    /// Creates an oracle for the instructions in `passed`.
    pub fn new(passed: Vec<Passed>, program: &Path) -> Self {
        let module = Module::open(program).expect("an image");
        let mut known: HashMap<FileAddr, Option<Rc<Facts>>> = HashMap::new();
        let with_facts = |it: Passed| {
            let facts = known.entry(it.pc);
            let facts = facts.or_insert_with(|| facts_at(&module, it.pc).map(Rc::new));
            (it, facts.clone())
        };
        let passed = passed.into_iter().map(with_facts).collect();
        Self {
            passed,
            filters: ["/rustc/", "/lib/rustlib/src/", "/usr/include/", "/usr/lib/"],
        }
    }

    /// A place as text.
    pub fn text(&self, place: Place) -> String {
        let (passed, facts) = &self.passed[place.at];
        let Some(facts) = facts else {
            return describe(passed.pc, "?", None);
        };
        let level = facts.calls.len() - place.hidden;
        let line = facts.lines[level].as_ref().map(|(_, line)| *line);
        describe(passed.pc, &facts.names[level], line)
    }

    fn is_shown(&self, line: &Line) -> bool {
        let skipped = |file: &str| self.filters.iter().any(|part| file.contains(part));
        line.as_ref().is_some_and(|(file, _)| !skipped(file))
    }

    /// Returns where a step from a place must end; `None`: beyond the known instructions.
    pub fn after(&self, place: Place, command: Command) -> Option<Place> {
        let (start, facts) = &self.passed[place.at];
        let facts = facts.as_ref()?;
        let level = facts.calls.len() - place.hidden;
        let line = &facts.lines[level];
        if !self.is_shown(line) {
            return None;
        }
        if command == Command::StepIn
            && let Some(hidden) = (0..place.hidden)
                .rev()
                .find(|hidden| self.is_shown(&facts.lines[facts.calls.len() - hidden]))
        {
            return Some(Place { hidden, ..place });
        }
        if command == Command::StepOut && level == 0 {
            let mut rest = self.passed.iter().enumerate().skip(place.at);
            let (at, _) = rest.find(|(_, (it, _))| it.depth < start.depth)?;
            return self.returned(at);
        }
        let mut step = Step {
            oracle: self,
            calls: &facts.calls[..level],
            line,
            function: &facts.function,
            command,
            begun: None,
            before: start.pc,
            elsewhere: Vec::new(),
        };
        // Whether the function that is being called has code that is shown: then only its body
        // counts, not calls made before the body is reached.
        let mut is_callee_shown = false;
        for (at, (passed, facts)) in self.passed.iter().enumerate().skip(place.at + 1) {
            let place = |hidden| Place { at, hidden };
            if passed.depth < start.depth {
                return self.returned(at);
            }
            let Some(facts) = facts else { continue };
            let is_ours = facts.function.id == step.function.id;
            if passed.depth > start.depth || !is_ours {
                let is_callee = passed.depth <= start.depth + 1;
                if is_callee {
                    is_callee_shown = self.is_shown(&facts.body);
                }
                let counts = facts.is_body && (is_callee || !is_callee_shown);
                if command == Command::StepIn && counts && self.is_shown(&facts.body) {
                    return Some(place(facts.begun_in_prologue));
                }
                continue;
            }
            if let Some(hidden) = step.ends_at(passed.pc, facts) {
                return Some(place(hidden));
            }
        }
        None
    }

    /// The instructions of a loop by what the program has passed on the way from its first one
    /// to the jump back.
    fn body_of(&self, function: &Function, first: FileAddr, last: FileAddr) -> HashSet<FileAddr> {
        let (mut body, mut way) = (HashSet::new(), HashMap::<usize, Vec<FileAddr>>::new());
        for (passed, facts) in &self.passed {
            // Callees are not part of it; callers continue later.
            way.retain(|depth, _| *depth <= passed.depth);
            let is_ours = |facts: &Rc<Facts>| facts.function.id == function.id;
            if !facts.as_ref().is_some_and(is_ours) {
                continue;
            }
            let way = way.entry(passed.depth).or_default();
            if passed.pc == first {
                way.clear();
            }
            way.push(passed.pc);
            if passed.pc == last && way.first() == Some(&first) {
                body.extend(way.iter().copied());
            }
        }
        body
    }

    /// The frame has returned to its caller.
    fn returned(&self, at: usize) -> Option<Place> {
        let facts = self.passed[at].1.as_ref()?;
        let shown = self.is_shown(facts.lines.last()?);
        // Otherwise the step continues through code that is not shown.
        shown.then_some(Place { at, hidden: 0 })
    }
}

/// A step under way in one frame.
struct Step<'a> {
    oracle: &'a Oracle,
    calls: &'a [DieRef],
    line: &'a Line,
    function: &'a Function,
    command: Command,
    /// The loop that has begun again: from the target of a jump backward to the jump.
    begun: Option<(FileAddr, FileAddr)>,
    /// The instruction before.
    before: FileAddr,
    /// Code of other lines that was passed.
    elsewhere: Vec<FileAddr>,
}

impl Step<'_> {
    /// Whether the step ends at the next instruction of the function; if so, how many inlined
    /// calls are not entered.
    fn ends_at(&mut self, pc: FileAddr, facts: &Facts) -> Option<usize> {
        let before = std::mem::replace(&mut self.before, pc);
        let mut ranges = self.function.ranges.iter();
        if pc <= before && ranges.any(|it| it.contains(pc) && it.contains(before)) {
            let is_outer = |(first, last): &(FileAddr, FileAddr)| *first <= pc && before <= *last;
            self.begun = self.begun.filter(is_outer).or(Some((pc, before)));
        }
        let enters = self.command == Command::StepIn;
        let own = self.calls.len();
        let here = facts.lines.get(own).and_then(Option::as_ref);
        if !facts.calls.starts_with(self.calls)
            || here.is_some_and(|it| Some(it) != self.line.as_ref())
        {
            self.elsewhere.push(pc);
        }
        // A loop in an inlined call may branch back to its entry, which is not a new call.
        let both = facts.calls.iter().zip(self.calls);
        let kept = both.take_while(|(here, start)| here == start).count();
        let hidden = facts.begun.min(facts.calls.len() - kept);
        let level = facts.calls.len() - hidden;
        let line = &facts.lines[level];
        let is_inside = facts.calls[..level].starts_with(self.calls);
        if !is_inside {
            // Out of the inlined call.
            return self.oracle.is_shown(line).then_some(hidden);
        }
        if self.command == Command::StepOut {
            return None;
        }
        if hidden > 0 {
            if line != self.line && self.oracle.is_shown(line) && (level == own || enters) {
                return Some(hidden);
            }
            if enters {
                // The outermost call with something to see.
                let shown = |hidden: &usize| {
                    self.oracle
                        .is_shown(&facts.lines[facts.calls.len() - hidden])
                };
                if let Some(hidden) = (0..hidden).rev().find(shown) {
                    return Some(hidden);
                }
            }
        } else if !facts.is_statement || !self.oracle.is_shown(line) {
            return None;
        } else if level > own {
            return enters.then_some(0);
        } else if line != self.line {
            return Some(0);
        }
        let is_ours = level == own && line == self.line;
        (is_ours && self.is_pass(pc)).then_some(hidden)
    }

    /// Whether a loop has begun again that has this statement, and code of other lines.
    fn is_pass(&self, statement: FileAddr) -> bool {
        let Some((first, last)) = self.begun else {
            return false;
        };
        let body = self.oracle.body_of(self.function, first, last);
        let mut elsewhere = self.elsewhere.iter();
        body.contains(&statement) && elsewhere.any(|addr| body.contains(addr))
    }
}

fn facts_at(module: &Module, addr: FileAddr) -> Option<Facts> {
    let function = module.function_at(addr)?;
    let row = module.row_at(addr)?;
    let body = module.body_start(&function);
    let own = |it: &dwarf::SourceLocation| (it.file.path.to_string_lossy().into_owned(), it.line);
    let frames = function.frames_at(addr);
    let (mut lines, mut names) = (vec![row.location.as_ref().map(own)], Vec::new());
    let (mut calls, mut entries) = (Vec::new(), Vec::new());
    for frame in &frames {
        names.push(frame.name.to_owned());
        if let Some(call) = frame.inlined {
            lines.push(call.call_site.as_ref().map(own));
            calls.push(frame.scopes.first()?.id);
            entries.push(call.entry);
        }
    }
    let begun_since = |from: FileAddr| {
        let begins = |entry: &&FileAddr| (from..=addr).contains(entry);
        entries.iter().take_while(begins).count()
    };
    let (begun, begun_in_prologue) = (begun_since(addr), begun_since(function.entry));
    lines.reverse();
    names.reverse();
    calls.reverse();
    Some(Facts {
        calls,
        lines,
        names,
        begun,
        begun_in_prologue,
        is_statement: row.is_stmt && row.range.start == addr,
        is_body: body == addr,
        body: module.row_at(body)?.location.as_ref().map(own),
        function,
    })
}
