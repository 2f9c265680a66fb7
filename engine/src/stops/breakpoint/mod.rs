//! Breakpoints of the client, the locations they bind to, and their sites in the code.

mod async_wrapper;
pub(crate) mod condition;
pub(crate) mod counting;
mod depth;
pub(crate) mod evaluation;
pub(crate) mod frame_places;
pub(crate) mod freshness;
pub(crate) mod function;
pub(crate) mod indirect;
mod inlined;
pub(crate) mod instruction;
pub(crate) mod left_out;
pub(crate) mod locations;
mod mark;
pub(crate) mod names;
pub(crate) mod new_images;
mod other_paths;
pub(crate) mod parts;
pub(crate) mod passes;
pub(crate) mod pattern;
pub(crate) mod problem;
pub(crate) mod resolve;
pub(crate) mod sources;
pub(crate) mod watch;

use counting::Counting;
use evaluation::{Evaluation, Evaluations};
use frame_places::Frames;
pub use freshness::recorded_checksum;
pub(crate) use indirect::Choices;
use left_out::LeftOut;
use mark::Mark;

use crate::arch::body::Leaving;
use crate::expr::Expression;
use crate::expr::query::Query;
use crate::ids::BreakpointId;
pub use crate::ids::BreakpointOptions;
use crate::ids::CodeName;
use crate::ids::HitCondition;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::images::indexer::Indexer;
pub use condition::Segment;
use problem::Problem;
pub use problem::ProblemKind;

use dwarf::{Language, LoadAddr, SourceLocation};
use function::Named;
use names::Names;
use passes::Passes;
use pattern::Pattern;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// A breakpoint on a line, as requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceBreakpoint {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Its options.
    pub options: BreakpointOptions,
}

/// A breakpoint on a function, as requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionBreakpoint {
    /// The name, or a pattern `/regular expression/`.
    pub name: String,
    /// Its options.
    pub options: BreakpointOptions,
}

/// A breakpoint on an instruction, as requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionBreakpoint {
    /// Address of the instruction.
    pub address: LoadAddr,
    /// Its options.
    pub options: BreakpointOptions,
}

/// The location of a breakpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedLocation {
    /// Source file as the debug info names it, line and column (0: unknown).
    pub source: Option<(PathBuf, u32, u32)>,
    /// Its first address.
    pub address: LoadAddr,
}

/// The state of a breakpoint, for the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BreakpointInfo {
    /// Its number.
    pub id: BreakpointId,
    /// Whether it can be hit.
    pub verified: bool,
    /// Whether it can never be hit (an invalid condition). If false, an unverified breakpoint may
    /// still bind in a library that is loaded later.
    pub failed: bool,
    /// Why it is not verified, or a remark.
    pub message: Option<String>,
    /// Whether the remark is only that the program evaluates the hits.
    pub is_in_program: bool,
    /// The kind of the problem, if it is not verified; [`ProblemKind::Searching`] also if only
    /// names are being searched.
    pub problem: Option<ProblemKind>,
    /// Its first location.
    pub place: Option<ResolvedLocation>,
    /// The number of its locations.
    pub bound_addresses: usize,
    /// The number of hits at which its condition was false, and whether it is complete: code in the program counts such
    /// hits only on x86-64, and only with [`BreakpointOptions::counts_passes`].
    pub passes: (u64, bool),
    /// Whether no loaded module has the names that its condition, message or query mentions, or a place of the query's
    /// `since`.
    pub lacks_names: bool,
}

/// What a breakpoint is set on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Spec {
    Line {
        source: PathBuf,
        line: u32,
        column: Option<u32>,
    },
    Function(String),
    Instruction(LoadAddr),
    /// A line of disassembly.
    Code(CodeName, u32),
    Data(watch::DataSpec),
    /// Places at which one frame is looked for.
    FramePlaces,
}

/// An address that a breakpoint is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BoundLocation {
    pub addr: LoadAddr,
    pub(crate) module: ModuleId,
    pub source: Option<(PathBuf, u32, u32)>,
    pub(crate) language: Language,
    /// Number of inlined calls that begin at the address but are not the requested function: the
    /// stop shows them as not entered yet.
    pub hidden: usize,
    /// The line that a stop shows, if the line table assigns another one to the code.
    pub shown: Option<SourceLocation>,
}

/// An instruction by which calls of a function return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exit {
    /// The location at the function's entry.
    pub entry: LoadAddr,
    pub module: ModuleId,
    pub leaving: Leaving,
    /// Whether calls of the function may end elsewhere, too: by a jump through a register.
    pub may_jump: bool,
}

/// A condition and a message, parsed in the language of the location; parsed again on each bind.
#[derive(Default)]
pub(crate) struct CompiledOptions {
    pub(crate) condition: Option<Rc<Expression>>,
    pub(crate) message: Option<Rc<[Segment]>>,
    pub(crate) trace: Option<Rc<Query>>,
}

/// How the locations of a breakpoint are searched, and the result.
pub(crate) enum Search {
    Line,
    Function(Named),
    Functions(Pattern),
}

pub(crate) struct Breakpoint {
    pub(crate) spec: Spec,
    pub(crate) options: BreakpointOptions,
    pub(crate) hit: Option<HitCondition>,
    pub(crate) program: CompiledOptions,
    pub(crate) names: Names,
    hits: u64,
    /// The hits at which its condition could not be evaluated.
    failed_hits: u64,
    /// The hits at which its condition was false.
    pub(crate) passes: Passes,
    /// Whether it has stopped once, as its hit condition demands.
    pub(crate) spent: bool,
    pub(crate) bound: Vec<BoundLocation>,
    /// Whether these are addresses where parameters may not be readable: see [`Breakpoint::counts_calls`].
    pub(crate) is_bound_for_counts: bool,
    /// Where calls of its functions return, if they are recorded.
    pub(crate) exits: BTreeMap<LoadAddr, Exit>,
    /// Locations at which names of its condition or message are unknown, unlike at others: it is
    /// not hit there.
    pub(crate) lacking: Vec<LoadAddr>,
    /// Why it can never be hit.
    pub(crate) failure: Option<Problem>,
    /// Why it is not bound yet.
    pub(crate) pending: Option<Problem>,
    /// A remark on a bound breakpoint.
    pub(crate) note: Option<String>,
    /// Whether the program or the debugger evaluates its hits, as far as that is decided.
    evaluations: Evaluations,
    pub(crate) search: Search,
    /// Functions of a tracepoint that it leaves out.
    pub(crate) left_out: LeftOut,
    /// Whose mark it is, if it is one.
    pub(crate) mark: Option<Mark>,
    /// What tells the wanted frame at each place, if it is looked for.
    frames: Frames,
}

impl Breakpoint {
    pub(crate) fn new(spec: Spec, options: BreakpointOptions) -> Self {
        let mut breakpoint = Self {
            spec,
            options: BreakpointOptions::default(),
            hit: None,
            program: CompiledOptions::default(),
            names: Names::default(),
            hits: 0,
            failed_hits: 0,
            passes: Passes::default(),
            spent: false,
            bound: Vec::new(),
            is_bound_for_counts: false,
            exits: BTreeMap::new(),
            lacking: Vec::new(),
            failure: None,
            pending: None,
            note: None,
            evaluations: Evaluations::default(),
            search: Search::Line,
            left_out: LeftOut::default(),
            mark: None,
            frames: Frames::new(),
        };
        breakpoint.set_options(options);
        breakpoint
    }

    fn set_options(&mut self, options: BreakpointOptions) {
        self.options = options;
        self.hits = 0;
        self.passes = Passes::default();
        self.spent = false;
        self.evaluations = Evaluations::default();
        self.left_out.clear();
        self.parse(self.bound.first().map(|bound| bound.language));
    }

    /// Returns whether it is a tracepoint on functions that reads nothing of the frames of its hits.
    pub(crate) fn counts_calls(&self, language: Language) -> bool {
        let query = self.options.trace.as_ref();
        let query = query.filter(|_| matches!(self.spec, Spec::Function(_)));
        let query = query.and_then(|it| Query::parse(it, language).ok());
        query.is_some_and(|it| it.needs_no_frame())
    }

    /// Returns whether its query has changed such that its locations must be found again.
    pub(crate) fn must_be_bound_again(&self) -> bool {
        let language = self.bound.first().map(|it| it.language);
        language.is_some_and(|it| self.counts_calls(it) != self.is_bound_for_counts)
    }

    /// Parses condition, hit condition and message; an error becomes the breakpoint's failure.
    pub(crate) fn parse(&mut self, language: Option<Language>) {
        let language = language.unwrap_or_default();
        self.failure = None;
        self.failed_hits = 0;
        self.program = CompiledOptions::default();
        self.names = Names::default();
        self.hit = None;
        if let Spec::Function(name) = &self.spec
            && matches!(self.search, Search::Line)
        {
            match Pattern::parse(name) {
                None => self.search = Search::Function(Named::new(name)),
                Some(Ok(pattern)) => self.search = Search::Functions(pattern),
                Some(Err(error)) => self.failure = Some(error.into()),
            }
        }
        if let Some(mark) = &self.mark {
            match Query::of_mark(&mark.key, language) {
                Ok(query) => self.program.trace = Some(Rc::new(query)),
                Err(error) => self.failure = Some(error.to_string().into()),
            }
            return;
        }
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let mut filter = None;
        if let Some(trace) = &self.options.trace {
            let others = [&self.options.log_message, &self.options.hit_condition];
            let query = match others.into_iter().any(|it| text(it).is_some()) {
                true => Err(Error::eval(TRACES_ONLY)),
                false => Query::parse(trace, language),
            };
            match query {
                Ok(query) if query.records_calls() && !matches!(self.spec, Spec::Function(_)) => {
                    let text = format!("tracepoint: {CALLS_ONLY}");
                    self.failure = Some(Problem::new(ProblemKind::Trace, text));
                }
                Ok(query) => {
                    filter.clone_from(&query.filter);
                    self.program.trace = Some(Rc::new(query));
                }
                Err(error) => {
                    let text = format!("tracepoint: {error}");
                    self.failure = Some(Problem::new(ProblemKind::Trace, text));
                }
            }
        }
        let condition = match (text(&self.options.condition), filter) {
            (Some(condition), Some(filter)) => Some(format!("({condition}) && ({filter})")),
            (condition, filter) => condition.or(filter),
        };
        if let Some(condition) = condition {
            match condition::parse(&condition, language) {
                Ok(expression) => self.program.condition = Some(Rc::new(expression)),
                Err(error) => {
                    let text = format!("condition `{condition}`: {error}");
                    self.failure = Some(Problem::new(ProblemKind::Condition, text));
                }
            }
        }
        if let Some(hit) = text(&self.options.hit_condition) {
            match HitCondition::parse(&hit) {
                Ok(hit) => self.hit = Some(hit),
                Err(message) => {
                    self.failure = Some(Problem::new(ProblemKind::HitCondition, message));
                }
            }
        }
        if let Some(message) = &self.options.log_message {
            match condition::parse_message(message, language) {
                Ok(segments) => self.program.message = Some(segments.into()),
                Err(error) => {
                    let text = format!("log message: {error}");
                    self.failure = Some(Problem::new(ProblemKind::LogMessage, text));
                }
            }
        }
    }

    /// Returns the first of its locations that can be hit.
    fn shown_place(&self) -> Option<&BoundLocation> {
        let mut hit = self.bound.iter();
        hit.find(|bound| !self.lacks_names_at(bound.addr))
            .or(self.bound.first())
    }

    /// Returns why it can never be hit: what is wrong with its options, or a mistake that types show.
    pub(crate) fn failure(&self) -> Option<&Problem> {
        self.failure.as_ref().or(self.names.mistake())
    }

    /// Counts a hit at which the condition could not be evaluated. Returns whether it is the first one.
    pub(crate) fn has_failed(&mut self) -> bool {
        self.failed_hits += 1;
        self.failed_hits == 1
    }

    fn failed_hits_remark(&self) -> Option<String> {
        let times = match self.failed_hits {
            0 => return None,
            1 => "once".to_owned(),
            count => format!("at {count} hits"),
        };
        Some(format!("its condition could not be evaluated {times}"))
    }

    pub(crate) fn lacks_names_at(&self, addr: LoadAddr) -> bool {
        self.lacking.contains(&addr)
    }

    pub(crate) fn bound_at(&self, addr: LoadAddr) -> Option<&BoundLocation> {
        self.bound.iter().find(|bound| bound.addr == addr)
    }

    pub(crate) fn info(&self, id: BreakpointId) -> BreakpointInfo {
        let failure = self.failure();
        let verified = failure.is_none() && !self.bound.is_empty();
        let problem = match verified {
            true => None,
            false => failure.or(self.pending.as_ref()),
        };
        let is_searching = matches!(self.names, Names::Reading);
        BreakpointInfo {
            id,
            verified,
            failed: failure.is_some(),
            problem: match problem {
                Some(problem) => Some(problem.kind),
                None => is_searching.then_some(ProblemKind::Searching),
            },
            message: match problem {
                Some(problem) => Some(problem.text.clone()),
                None if !verified => None,
                None => {
                    let evaluation = self.evaluations.remark();
                    let left_out = self.left_out.remark(self.bound.len());
                    let failed_hits = self.failed_hits_remark();
                    let notes = [
                        self.note.as_deref(),
                        left_out.as_deref(),
                        evaluation.as_deref(),
                        self.names.problem(),
                        failed_hits.as_deref(),
                    ];
                    let notes: Vec<&str> = notes.into_iter().flatten().collect();
                    (!notes.is_empty()).then(|| notes.join("; "))
                }
            },
            is_in_program: problem.is_none()
                && self.evaluations.all_in_program()
                && self.note.is_none()
                && self.left_out.is_empty()
                && self.names.problem().is_none(),
            place: self.shown_place().map(|bound| ResolvedLocation {
                source: bound.source.clone(),
                address: bound.addr,
            }),
            bound_addresses: self.bound.len() - self.lacking.len().min(self.bound.len()),
            lacks_names: matches!(self.names, Names::Unknown(_)),
            passes: self.passes.count(),
        }
    }
}

/// All breakpoints of the client.
#[derive(Default)]
pub struct Breakpoints {
    last: u32,
    /// The number of breakpoints that clients do not see, up to now.
    last_hidden: u32,
    /// Whether log messages and tracepoints tell nothing.
    is_silent: bool,
    /// The data that a search watches.
    searched_data: Option<BreakpointId>,
    pub(crate) all: BTreeMap<BreakpointId, Breakpoint>,
    pub(crate) by_source: FxHashMap<String, Vec<BreakpointId>>,
    pub(crate) functions: Vec<BreakpointId>,
    pub(crate) instructions: Vec<BreakpointId>,
    pub(crate) data: Vec<BreakpointId>,
    /// Tracepoints that belong to no set of the client.
    pub(crate) tracepoints: Vec<BreakpointId>,
    /// The marks of all tracepoints.
    pub(crate) marks: Vec<BreakpointId>,
    /// Places of a search in the past.
    pub(crate) frame_places: Vec<BreakpointId>,
    pub(crate) freshness: freshness::Checked,
    /// Set while breakpoints only count their hits.
    counting: Option<Counting>,
}

impl Breakpoints {
    /// Removes all locations in an image. Returns the breakpoints that have none left.
    pub(crate) fn unbind_in(&mut self, gone: ModuleId) -> Vec<BreakpointId> {
        let mut unbound = Vec::new();
        for (id, breakpoint) in &mut self.all {
            let before = breakpoint.bound.len();
            breakpoint.bound.retain(|bound| bound.module != gone);
            // They are found again at their next hits.
            breakpoint.left_out.clear();
            breakpoint.exits.retain(|_, exit| exit.module != gone);
            if breakpoint.bound.is_empty() && before > 0 {
                breakpoint.pending = Some(NO_LOCATION_YET.into());
                unbound.push(*id);
            }
        }
        unbound
    }

    /// Returns an unused number.
    pub fn new_id(&mut self) -> BreakpointId {
        self.last += 1;
        BreakpointId(self.last)
    }

    /// Drops the bindings of all breakpoints for a new process. Returns those that have ended with
    /// the old one.
    pub fn unbind_all(&mut self) -> Vec<BreakpointId> {
        let mut ended = self.end_data(PROGRAM_REPLACED);
        for (id, breakpoint) in &mut self.all {
            if matches!(breakpoint.spec, Spec::Instruction(_)) && !breakpoint.bound.is_empty() {
                breakpoint.failure = Some(PROGRAM_REPLACED.into());
                ended.push(*id);
            }
            breakpoint.bound.clear();
            breakpoint.exits.clear();
            breakpoint.lacking.clear();
            breakpoint.left_out.clear();
            breakpoint.passes.leave_program();
            breakpoint.pending = Some(NO_LOCATION_YET.into());
        }
        ended
    }

    /// Prepares for a restart of the program: hit counts are reset, and breakpoints on instructions
    /// stay. Returns those that have ended with the process.
    pub fn reset_for_restart(&mut self) -> Vec<BreakpointId> {
        self.is_silent = false;
        for breakpoint in self.all.values_mut() {
            breakpoint.bound.clear();
            breakpoint.exits.clear();
            breakpoint.lacking.clear();
            breakpoint.left_out.clear();
            breakpoint.pending = Some(NO_LOCATION_YET.into());
            breakpoint.hits = 0;
            breakpoint.passes = Passes::default();
            if std::mem::take(&mut breakpoint.spent) {
                breakpoint.failure = None;
            }
        }
        self.end_data("its process has ended")
    }

    /// Returns what the program itself can evaluate of a breakpoint: its condition, and the hits at
    /// which it stops.
    ///
    /// # Errors
    /// Why the debugger has to evaluate each hit.
    pub fn in_process_check(
        &self,
        id: BreakpointId,
    ) -> Result<(Option<Rc<Expression>>, Option<HitCondition>), &'static str> {
        let breakpoint = self.all.get(&id).ok_or("the breakpoint was removed")?;
        if !self.is_counting() && self.is_silent(id) {
            return Err("it tells nothing in the past");
        }
        Ok((
            breakpoint.program.condition.clone(),
            self.effective_hits(id),
        ))
    }

    /// Returns whether locations of function breakpoints are being searched that the program must
    /// not pass.
    pub fn await_places(&self, indexer: &Indexer) -> bool {
        let breakpoints = self.named();
        let breakpoints = breakpoints.filter_map(|id| self.all.get(id));
        breakpoints
            .filter(|breakpoint| breakpoint.failure.is_none())
            .any(|breakpoint| match &breakpoint.search {
                Search::Function(named) => named.is_awaited(indexer),
                Search::Functions(_) | Search::Line => false,
            })
    }

    /// Returns those that may be on functions.
    pub(crate) fn named(&self) -> impl Iterator<Item = &BreakpointId> {
        let own = self.tracepoints.iter().chain(&self.marks);
        self.functions.iter().chain(own)
    }

    /// Ends the wait for these searches. Returns the breakpoints that the program waited for.
    pub fn pass_by(&mut self, indexer: &Indexer) -> Vec<BreakpointId> {
        let mut passed = Vec::new();
        let named: Vec<BreakpointId> = self.named().copied().collect();
        for id in &named {
            if let Some(breakpoint) = self.all.get_mut(id)
                && let Search::Function(named) = &mut breakpoint.search
                && named.is_awaited(indexer)
            {
                named.pass_by();
                passed.push(*id);
            }
        }
        passed
    }

    /// Returns the condition of a breakpoint, if it has a valid one.
    pub(crate) fn condition(&self, id: BreakpointId) -> Option<Rc<Expression>> {
        let breakpoint = self.all.get(&id)?;
        let condition = breakpoint.program.condition.as_ref();
        condition.filter(|_| breakpoint.failure.is_none()).cloned()
    }

    /// Returns true until [`Self::set_evaluation`] has noted, for the current options, whether the
    /// program or the debugger evaluates this breakpoint.
    pub fn lacks_evaluation(&self, id: BreakpointId) -> bool {
        self.all
            .get(&id)
            .is_some_and(|it| it.evaluations.is_empty())
    }

    /// Notes whether the program or the debugger evaluates the hits of a breakpoint at an address.
    /// Returns true if that is new for clients.
    pub fn set_evaluation(
        &mut self,
        id: BreakpointId,
        addr: LoadAddr,
        evaluation: Evaluation,
    ) -> bool {
        let Some(breakpoint) = self.all.get_mut(&id) else {
            return false;
        };
        // A function's entry stands for the instructions by which it returns.
        let exit = breakpoint.exits.get(&addr);
        let place = exit.map_or(addr, |exit| exit.entry);
        breakpoint.evaluations.set(place, evaluation) && self.counting.is_none()
    }

    /// Returns the number of inlined calls at `addr` inside the frame that a breakpoint was
    /// requested in.
    pub fn hidden(&self, id: BreakpointId, addr: LoadAddr) -> usize {
        let breakpoint = self.all.get(&id);
        let bound = breakpoint.and_then(|breakpoint| breakpoint.bound_at(addr));
        bound.map_or(0, |bound| bound.hidden)
    }

    /// Returns the log message of a breakpoint's hits; none while they are only counted.
    pub fn message(&self, id: BreakpointId) -> Option<Rc<[Segment]>> {
        let message = self.all.get(&id)?.program.message.as_ref();
        message.filter(|_| !self.is_counting()).cloned()
    }

    /// Returns the exit of a tracepoint's function at an address that is not the function's entry.
    pub(crate) fn exit_at(&self, id: BreakpointId, addr: LoadAddr) -> Option<Exit> {
        let exit = self.all.get(&id)?.exits.get(&addr).copied();
        exit.filter(|exit| exit.entry != addr)
    }

    /// Returns whether calls of a tracepoint's function end at an address.
    pub(crate) fn is_exit(&self, id: BreakpointId, addr: LoadAddr) -> bool {
        self.all
            .get(&id)
            .is_some_and(|it| it.exits.contains_key(&addr))
    }

    /// Returns whether each call of a tracepoint's function that ends returns itself: none ends by a
    /// jump to another function.
    pub(crate) fn always_returns(&self, id: BreakpointId, entry: LoadAddr) -> bool {
        let exits = self
            .all
            .get(&id)
            .into_iter()
            .flat_map(|it| it.exits.values());
        let mut own = exits.filter(|exit| exit.entry == entry);
        own.all(|exit| exit.leaving == Leaving::Return)
    }

    /// Returns the exit of a tracepoint's function that is its entry, too: the function is one
    /// instruction.
    pub(crate) fn exit_at_entry(&self, id: BreakpointId, entry: LoadAddr) -> Option<Exit> {
        let exit = self.all.get(&id)?.exits.get(&entry).copied();
        exit.filter(|exit| exit.entry == entry)
    }

    /// Returns what the hits of a tracepoint record; nothing while they are only counted.
    pub fn trace(&self, id: BreakpointId) -> Option<Rc<Query>> {
        let trace = self.all.get(&id)?.program.trace.as_ref();
        trace.filter(|_| !self.is_counting()).cloned()
    }

    /// Returns all tracepoints, and what they record.
    pub(crate) fn traces(&self) -> impl Iterator<Item = (BreakpointId, Rc<Query>)> {
        let all = self.all.iter().filter(|(_, it)| it.mark.is_none());
        all.filter_map(|(id, it)| Some((*id, it.program.trace.clone()?)))
    }

    /// Returns the addresses that a breakpoint is bound to.
    pub fn bound_addresses(&self, id: BreakpointId) -> Vec<LoadAddr> {
        let breakpoint = self.all.get(&id);
        let bound = breakpoint.map_or(&[][..], |breakpoint| &breakpoint.bound);
        let bound = bound.iter().map(|bound| bound.addr);
        bound
            .filter(|addr| !self.lacks_names_at(id, *addr))
            .collect()
    }

    /// Returns whether names of a breakpoint are unknown at a location of it.
    pub fn lacks_names_at(&self, id: BreakpointId, addr: LoadAddr) -> bool {
        let breakpoint = self.all.get(&id);
        breakpoint.is_some_and(|breakpoint| breakpoint.lacks_names_at(addr))
    }

    /// Returns the options of a breakpoint.
    pub fn options(&self, id: BreakpointId) -> Option<&BreakpointOptions> {
        self.all.get(&id).map(|breakpoint| &breakpoint.options)
    }

    /// Returns the hit count of a breakpoint, without hits counted in the program.
    pub fn hits(&self, id: BreakpointId) -> u64 {
        self.all.get(&id).map_or(0, |breakpoint| breakpoint.hits)
    }

    /// Counts a hit. Returns the new count, without hits counted in the program.
    pub fn count(&mut self, id: BreakpointId) -> u64 {
        let Some(breakpoint) = self.all.get_mut(&id) else {
            return 0;
        };
        breakpoint.hits += 1;
        let hits = breakpoint.hits;
        self.note_order(id);
        hits
    }

    /// Resets the count: the program's counter takes over and already includes these hits.
    pub fn reset_trap_hits(&mut self, id: BreakpointId) {
        if let Some(breakpoint) = self.all.get_mut(&id) {
            breakpoint.hits = 0;
        }
    }

    /// Returns whether a hit at which the program found it has to stop still stops.
    pub fn stop_at_counted(&self, id: BreakpointId) -> bool {
        let breakpoint = self.all.get(&id);
        breakpoint.is_some_and(|it| it.failure.is_none()) && self.effective_hits(id).is_some()
    }

    /// Replaces a set of breakpoints by the wanted one; unchanged ones keep their ids.
    pub(crate) fn replace(
        &mut self,
        old: Vec<BreakpointId>,
        wanted: Vec<(Spec, BreakpointOptions)>,
    ) -> (Vec<BreakpointId>, Vec<BreakpointId>) {
        let mut old = old;
        let mut ids = Vec::with_capacity(wanted.len());
        for (spec, options) in wanted {
            let same = old.iter().position(|id| {
                self.all.get(id).is_some_and(|breakpoint| {
                    breakpoint.spec == spec && breakpoint.options.hardware == options.hardware
                })
            });
            let id = match same {
                Some(index) => {
                    let id = old.remove(index);
                    if let Some(breakpoint) = self.all.get_mut(&id)
                        && breakpoint.options != options
                    {
                        breakpoint.set_options(options);
                        if let Some(counting) = &mut self.counting {
                            counting.forget(id);
                        }
                    }
                    id
                }
                None => {
                    let id = self.new_id();
                    self.all.insert(id, Breakpoint::new(spec, options));
                    id
                }
            };
            ids.push(id);
        }
        (ids, old)
    }
}

const PROGRAM_REPLACED: &str = "the process executed another program; set the breakpoint again";

const CALLS_ONLY: &str = "`elapsed` and `returned` are of calls: set it on a function";
const TRACES_ONLY: &str =
    "it has no log message and no hit condition; write `where` for a condition";

const NO_LOCATION_YET: &str = "pending: not found in a loaded module";

/// How the location of a stop is shown.
#[derive(Clone, Default, Debug)]
pub(crate) struct RequestedLocation {
    pub(crate) addr: LoadAddr,
    /// The number of inlined calls that are shown as not entered.
    pub hidden: usize,
    pub(crate) shown: Option<SourceLocation>,
}

impl RequestedLocation {
    /// Returns the line shown for a thread at an address with `hidden` inlined calls hidden.
    pub fn shown_at(&self, addr: LoadAddr, hidden: usize) -> Option<SourceLocation> {
        let shown = self.shown.clone();
        shown.filter(|_| (addr, hidden) == (self.addr, self.hidden))
    }
}
