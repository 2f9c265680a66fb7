//! Breakpoints of the client, the locations they bind to, and their sites in the code.

mod condition;
mod condition_call;
mod depth;
mod freshness;
mod function;
mod hit;
mod indirect;
mod inlined;
mod instruction;
mod locations;
mod names;
mod new_images;
mod pattern;
pub(crate) mod resolve;
pub(crate) mod sources;
pub(crate) mod watch;

pub use freshness::recorded_checksum;
pub(crate) use indirect::Choices;

use crate::debugger::{Debugger, State};
use crate::disassembly::CodeName;
use crate::event::Event;
use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::images::indexer::Indexer;
use crate::images::modules::Loaded;
use crate::inferior::site::Owner;
use crate::inspect::eval::Expression;
pub use condition::HitCondition;
pub use condition::Segment;
pub(crate) use condition_call::{CALL_GRACE, ConditionCall, ConditionResults};
use dwarf::{Language, LoadAddr, SourceLocation};
use function::Named;
use names::Names;
use pattern::Pattern;
use resolve::Resolved;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The options of a breakpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BreakpointOptions {
    /// Stop only if this expression is true.
    pub condition: Option<String>,
    /// Stop only at these hits: `N`, `== N`, `>= N`, `> N`, `<= N`, `< N`, `% N`; `once`: at the
    /// first, and never again.
    pub hit_condition: Option<String>,
    /// Log this message and do not stop; `{expression}` is replaced by its value.
    pub log_message: Option<String>,
    /// Use the processor's debug registers: nothing is written into the code.
    pub hardware: bool,
}

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
    /// Its first location.
    pub place: Option<ResolvedLocation>,
    /// The number of its locations.
    pub bound_addresses: usize,
}

/// What a breakpoint is set on.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Spec {
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
}

/// An address that a breakpoint is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BoundLocation {
    pub addr: LoadAddr,
    module: ModuleId,
    pub source: Option<(PathBuf, u32, u32)>,
    language: Language,
    /// Number of inlined calls that begin at the address but are not the requested function: the
    /// stop shows them as not entered yet.
    pub hidden: usize,
    /// The line that a stop shows, if the line table assigns another one to the code.
    pub shown: Option<SourceLocation>,
}

/// A condition and a message, parsed in the language of the location; parsed again on each bind.
#[derive(Default)]
struct CompiledOptions {
    condition: Option<Rc<Expression>>,
    message: Option<Rc<[Segment]>>,
}

/// How the locations of a breakpoint are searched, and the result.
enum Search {
    Line,
    Function(Named),
    Functions(Pattern),
}

struct Breakpoint {
    spec: Spec,
    options: BreakpointOptions,
    hit: Option<HitCondition>,
    program: CompiledOptions,
    names: Names,
    hits: u64,
    /// Whether it has stopped once, as its hit condition demands.
    spent: bool,
    bound: Vec<BoundLocation>,
    /// Locations at which names of its condition or message are unknown, unlike at others: it is
    /// not hit there.
    lacking: Vec<LoadAddr>,
    /// Why it can never be hit.
    failure: Option<String>,
    /// Why it is not bound yet.
    pending: Option<String>,
    /// A remark on a bound breakpoint.
    note: Option<String>,
    /// A remark whether the program or the debugger evaluates its hits, once that is decided.
    evaluation_note: Option<String>,
    search: Search,
}

impl Breakpoint {
    fn new(spec: Spec, options: BreakpointOptions) -> Self {
        let mut breakpoint = Self {
            spec,
            options: BreakpointOptions::default(),
            hit: None,
            program: CompiledOptions::default(),
            names: Names::default(),
            hits: 0,
            spent: false,
            bound: Vec::new(),
            lacking: Vec::new(),
            failure: None,
            pending: None,
            note: None,
            evaluation_note: None,
            search: Search::Line,
        };
        breakpoint.set_options(options);
        breakpoint
    }

    fn set_options(&mut self, options: BreakpointOptions) {
        self.options = options;
        self.hits = 0;
        self.spent = false;
        self.evaluation_note = None;
        self.parse(self.bound.first().map(|bound| bound.language));
    }

    /// Parses condition, hit condition and message; an error becomes the breakpoint's failure.
    fn parse(&mut self, language: Option<Language>) {
        let language = language.unwrap_or_default();
        self.failure = None;
        self.program = CompiledOptions::default();
        self.names = Names::default();
        self.hit = None;
        if let Spec::Function(name) = &self.spec
            && matches!(self.search, Search::Line)
        {
            match Pattern::parse(name) {
                None => self.search = Search::Function(Named::new(name)),
                Some(Ok(pattern)) => self.search = Search::Functions(pattern),
                Some(Err(error)) => self.failure = Some(error),
            }
        }
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        if let Some(condition) = text(&self.options.condition) {
            match condition::parse(&condition, language) {
                Ok(expression) => self.program.condition = Some(Rc::new(expression)),
                Err(error) => self.failure = Some(format!("condition `{condition}`: {error}")),
            }
        }
        if let Some(hit) = text(&self.options.hit_condition) {
            match HitCondition::parse(&hit) {
                Ok(hit) => self.hit = Some(hit),
                Err(message) => self.failure = Some(message),
            }
        }
        if let Some(message) = &self.options.log_message {
            match condition::parse_message(message, language) {
                Ok(segments) => self.program.message = Some(segments.into()),
                Err(error) => self.failure = Some(format!("log message: {error}")),
            }
        }
    }

    /// Returns the first of its locations that can be hit.
    fn shown_place(&self) -> Option<&BoundLocation> {
        let mut hit = self.bound.iter();
        hit.find(|bound| !self.lacks_names_at(bound.addr))
            .or(self.bound.first())
    }

    fn lacks_names_at(&self, addr: LoadAddr) -> bool {
        self.lacking.contains(&addr)
    }

    fn bound_at(&self, addr: LoadAddr) -> Option<&BoundLocation> {
        self.bound.iter().find(|bound| bound.addr == addr)
    }

    fn info(&self, id: BreakpointId) -> BreakpointInfo {
        let verified = self.failure.is_none() && !self.bound.is_empty();
        BreakpointInfo {
            id,
            verified,
            failed: self.failure.is_some(),
            message: self.failure.clone().or_else(|| match verified {
                true => {
                    let said = [
                        self.note.as_deref(),
                        self.evaluation_note.as_deref(),
                        self.names.problem(),
                    ];
                    let said: Vec<&str> = said.into_iter().flatten().collect();
                    (!said.is_empty()).then(|| said.join("; "))
                }
                false => self.pending.clone(),
            }),
            place: self.shown_place().map(|bound| ResolvedLocation {
                source: bound.source.clone(),
                address: bound.addr,
            }),
            bound_addresses: self.bound.len() - self.lacking.len().min(self.bound.len()),
        }
    }
}

/// All breakpoints of the client.
#[derive(Default)]
pub struct Breakpoints {
    last: u32,
    all: BTreeMap<BreakpointId, Breakpoint>,
    by_source: FxHashMap<String, Vec<BreakpointId>>,
    functions: Vec<BreakpointId>,
    instructions: Vec<BreakpointId>,
    data: Vec<BreakpointId>,
    freshness: freshness::Checked,
}

impl Breakpoints {
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
            breakpoint.lacking.clear();
            breakpoint.pending = Some(NO_LOCATION_YET.into());
        }
        ended
    }

    /// Prepares for a restart of the program: hit counts are reset, and breakpoints on instructions
    /// stay. Returns those that have ended with the process.
    pub fn reset_for_restart(&mut self) -> Vec<BreakpointId> {
        for breakpoint in self.all.values_mut() {
            breakpoint.bound.clear();
            breakpoint.lacking.clear();
            breakpoint.pending = Some(NO_LOCATION_YET.into());
            breakpoint.hits = 0;
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
        Ok((breakpoint.program.condition.clone(), breakpoint.hit))
    }

    /// Returns whether locations of function breakpoints are being searched that the program must
    /// not pass.
    pub fn await_places(&self, indexer: &Indexer) -> bool {
        let breakpoints = self.functions.iter().filter_map(|id| self.all.get(id));
        breakpoints
            .filter(|breakpoint| breakpoint.failure.is_none())
            .any(|breakpoint| match &breakpoint.search {
                Search::Function(named) => named.is_awaited(indexer),
                Search::Functions(_) | Search::Line => false,
            })
    }

    /// Ends the wait for these searches. Returns the breakpoints that the program waited for.
    pub fn pass_by(&mut self, indexer: &Indexer) -> Vec<BreakpointId> {
        let mut passed = Vec::new();
        for id in &self.functions {
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
    fn condition(&self, id: BreakpointId) -> Option<Rc<Expression>> {
        let breakpoint = self.all.get(&id)?;
        let condition = breakpoint.program.condition.as_ref();
        condition.filter(|_| breakpoint.failure.is_none()).cloned()
    }

    /// Returns true until [`Self::set_evaluation_note`] has noted, for the current options, whether
    /// the program or the debugger evaluates this breakpoint.
    pub fn lacks_evaluation_note(&self, id: BreakpointId) -> bool {
        self.all
            .get(&id)
            .is_some_and(|it| it.evaluation_note.is_none())
    }

    /// Notes whether the program or the debugger evaluates the hits of a breakpoint. Returns true
    /// if the note is new.
    pub fn set_evaluation_note(&mut self, id: BreakpointId, asked: String) -> bool {
        let breakpoint = self.all.get_mut(&id);
        breakpoint.is_some_and(|it| it.evaluation_note.replace(asked.clone()) != Some(asked))
    }

    /// Returns the number of inlined calls at `addr` inside the frame that a breakpoint was
    /// requested in.
    pub fn hidden(&self, id: BreakpointId, addr: LoadAddr) -> usize {
        let breakpoint = self.all.get(&id);
        let bound = breakpoint.and_then(|breakpoint| breakpoint.bound_at(addr));
        bound.map_or(0, |bound| bound.hidden)
    }

    /// Returns a breakpoint's log message.
    pub fn message(&self, id: BreakpointId) -> Option<Rc<[Segment]>> {
        self.all.get(&id)?.program.message.clone()
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
        breakpoint.hits
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
        breakpoint.is_some_and(|it| it.hit.is_some() && it.failure.is_none())
    }

    /// Replaces a set of breakpoints by the wanted one; unchanged ones keep their ids.
    fn replace(
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

const NO_LOCATION_YET: &str = "pending: not found in a loaded module";

impl Debugger {
    pub(crate) fn replace_source_breakpoints(
        &mut self,
        key: &str,
        source: &Path,
        wanted: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = self
            .stops
            .breakpoints
            .by_source
            .remove(key)
            .unwrap_or_default();
        let wanted = wanted
            .iter()
            .map(|wanted| {
                let spec = Spec::Line {
                    source: source.to_path_buf(),
                    line: wanted.line,
                    column: wanted.column,
                };
                (spec, wanted.options.clone())
            })
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        self.stops
            .breakpoints
            .by_source
            .insert(key.to_owned(), ids.clone());
        self.change_breakpoints(ids, gone)
    }

    pub(crate) fn replace_function_breakpoints(
        &mut self,
        wanted: &[FunctionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.stops.breakpoints.functions);
        let wanted = wanted
            .iter()
            .map(|wanted| {
                (
                    Spec::Function(wanted.name.trim().to_owned()),
                    wanted.options.clone(),
                )
            })
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        self.stops.breakpoints.functions.clone_from(&ids);
        self.change_breakpoints(ids, gone)
    }

    fn change_breakpoints(
        &mut self,
        ids: Vec<BreakpointId>,
        gone: Vec<BreakpointId>,
    ) -> Vec<BreakpointInfo> {
        for id in gone {
            self.stops.breakpoints.all.remove(&id);
            self.inferior
                .sites
                .remove_owner(Owner::User(id), &*self.inferior.os);
        }
        self.end_changed_detours();
        for id in &ids {
            if self.stops.breakpoints.lacks_evaluation_note(*id) {
                self.forget_refused_detours(*id);
            }
            let unbound = self
                .stops
                .breakpoints
                .all
                .get(id)
                .is_some_and(|breakpoint| breakpoint.bound.is_empty());
            if unbound {
                self.bind(*id);
            }
            self.check_names(*id);
        }
        self.place_hardware(&ids);
        ids.iter()
            .filter_map(|id| self.breakpoint_info(*id))
            .collect()
    }

    pub(crate) fn breakpoint_info(&self, id: BreakpointId) -> Option<BreakpointInfo> {
        let Some(breakpoint) = self.stops.breakpoints.all.get(&id) else {
            return self.exception_breakpoint(id);
        };
        let mut info = breakpoint.info(id);
        self.watch_info(id, &mut info);
        if self.is_post_mortem() {
            info.verified = false;
            info.message = Some("this is a core file: breakpoints cannot be hit".into());
        }
        Some(info)
    }

    /// Binds a breakpoint in all images. Returns true if that changed anything.
    fn bind(&mut self, id: BreakpointId) -> bool {
        let instruction = self.resolve_instruction(id);
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        if breakpoint.spent {
            return false;
        }
        let resolved = match (&mut breakpoint.search, &breakpoint.spec) {
            (_, Spec::Instruction(_) | Spec::Code(..)) => match instruction {
                Some(resolved) => resolved,
                None => return false,
            },
            (Search::Function(named), _) => named.resolve(&self.images.modules),
            (Search::Functions(pattern), _) => pattern.resolve(&self.images.modules),
            (
                Search::Line,
                Spec::Line {
                    source,
                    line,
                    column,
                },
            ) => resolve::resolve(source, *line, *column, &self.images.modules),
            // An invalid pattern; data has no location in the code.
            (Search::Line, Spec::Function(_) | Spec::Data(_)) => return false,
        };
        self.bind_to(id, resolved)
    }

    /// Binds a breakpoint to locations. Returns true if that changed anything.
    fn bind_to(&mut self, id: BreakpointId, mut resolved: Resolved) -> bool {
        let state = self.state();
        if !resolved.choosers.is_empty() {
            resolved.bound.extend(self.chosen(&resolved.choosers));
            resolved.why = resolved.why.filter(|_| resolved.bound.is_empty());
        }
        let os = &*self.inferior.os;
        let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
            return false;
        };
        if let Search::Function(named) = &breakpoint.search {
            for module in &resolved.unread {
                self.images
                    .indexer
                    .search(module, named.name(), || os.waker());
            }
        }
        let before = breakpoint.bound.len();
        let said = breakpoint.pending.clone();
        let known: FxHashSet<LoadAddr> = breakpoint.bound.iter().map(|it| it.addr).collect();
        let bound = resolved.bound;
        breakpoint.pending = match state {
            State::NoProcess => Some("pending: the program is not loaded yet".into()),
            _ => resolved.why,
        };
        breakpoint.note = resolved.note;
        let language = bound.first().map(|bound| bound.language);
        for place in bound {
            if known.contains(&place.addr) && breakpoint.bound.contains(&place) {
                continue;
            }
            let hardware = breakpoint.options.hardware;
            if hardware
                || self
                    .inferior
                    .sites
                    .add(place.addr, Owner::User(id), &*self.inferior.os)
            {
                breakpoint.bound.push(place);
            } else {
                breakpoint.pending = Some(match state {
                    State::Ended => "the program has ended".into(),
                    _ => format!("cannot write the code at {}", place.addr),
                });
            }
        }
        let grown = breakpoint.bound.len() != before;
        if before == 0 && grown {
            breakpoint.parse(language);
        } else if grown {
            breakpoint.names = Names::Unchecked;
        }
        grown || (before == 0 && breakpoint.pending != said)
    }

    /// Binds a breakpoint that may have new locations.
    pub(crate) fn rebind(&mut self, id: BreakpointId) {
        self.bind(id);
        self.check_names(id);
        self.place_hardware(&[]);
    }

    /// Binds breakpoints on functions and checks names in conditions again, after more names were
    /// indexed.
    pub(crate) fn bind_functions(&mut self) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let bound = self.stops.breakpoints.functions.contains(&id) && self.bind(id);
            if self.check_names(id) || bound {
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }

    /// Binds breakpoints in new images, and reports those that changed.
    pub(crate) fn bind_all(&mut self) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let bound = self.bind(id);
            if self.check_names(id) || bound {
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
        self.bind_exceptions();
    }

    /// Binds breakpoints in an image again, of which more is known than before, and reports those
    /// that changed.
    pub(crate) fn rebind_in(&mut self, module: ModuleId) {
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        for id in ids {
            let before = self.breakpoint_info(id);
            let Some(breakpoint) = self.stops.breakpoints.all.get_mut(&id) else {
                continue;
            };
            match &mut breakpoint.search {
                Search::Line => {}
                Search::Function(named) => named.forget(module),
                Search::Functions(pattern) => pattern.forget(module),
            }
            let (old, kept) = std::mem::take(&mut breakpoint.bound)
                .into_iter()
                .partition::<Vec<BoundLocation>, _>(|bound| bound.module == module);
            breakpoint.bound = kept;
            breakpoint.names = Names::Unchecked;
            self.bind(id);
            self.check_names(id);
            // Old sites go last: no thread may slip past a location that stays.
            let bound = self
                .stops
                .breakpoints
                .all
                .get(&id)
                .map(|it| it.bound.as_slice());
            for place in old {
                let stays = |bound: &[BoundLocation]| bound.iter().any(|it| it.addr == place.addr);
                if !bound.is_some_and(stays) {
                    self.inferior
                        .sites
                        .remove(place.addr, Owner::User(id), &*self.inferior.os);
                }
            }
            if self.breakpoint_info(id) != before {
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
    }

    /// Removes the locations in an unloaded image.
    pub(crate) fn unbind_module(&mut self, gone: &Loaded) {
        for (id, breakpoint) in &mut self.stops.breakpoints.all {
            let before = breakpoint.bound.len();
            breakpoint.bound.retain(|bound| bound.module != gone.id);
            if breakpoint.bound.is_empty() && before > 0 {
                breakpoint.pending = Some(NO_LOCATION_YET.into());
                self.inferior
                    .events
                    .push_back(Event::BreakpointChanged(*id));
            }
        }
        self.place_hardware(&[]);
    }

    /// Returns how to show a stop at `addr` by these breakpoints: as the location that was
    /// requested.
    pub(crate) fn asked_place(&self, ids: &[BreakpointId], addr: LoadAddr) -> AskedPlace {
        let bound = ids
            .iter()
            .filter_map(|id| self.stops.breakpoints.all.get(id))
            .filter_map(|breakpoint| breakpoint.bound_at(addr));
        let Some(bound) = bound.min_by_key(|bound| (bound.hidden, bound.shown.is_some())) else {
            return AskedPlace::default();
        };
        AskedPlace {
            addr,
            hidden: bound.hidden,
            shown: bound.shown.clone(),
        }
    }
}

/// How the location of a stop is shown.
#[derive(Clone, Default, Debug)]
pub(crate) struct AskedPlace {
    addr: LoadAddr,
    /// The number of inlined calls that are shown as not entered.
    pub hidden: usize,
    shown: Option<SourceLocation>,
}

impl AskedPlace {
    /// Returns the line shown for a thread at an address with `hidden` inlined calls hidden.
    pub fn shown_at(&self, addr: LoadAddr, hidden: usize) -> Option<SourceLocation> {
        let shown = self.shown.clone();
        shown.filter(|_| (addr, hidden) == (self.addr, self.hidden))
    }
}
