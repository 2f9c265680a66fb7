//! A step over or into, by lines: runs to the exits of the line or to what it calls, until another
//! line begins in the same frame, or the frame is left.

use super::callee::{Code, ReachableCalls, body_of, reach};
use super::coroutine::Coroutine;
use super::dispatch::Sending;
use super::filter::StepFilter;
use super::region::{Loop, Region};
use super::start::{Start, inlined_at};
use super::statement::statement;
use super::{Plan, Target, Verdict, View};
use crate::arch::Instruction;
use dwarf::{AddrRange, FileAddr, FrameAddress, LoadAddr};

/// How a step handles calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Run through them.
    Over,
    /// Enter the first one with source to show.
    Into,
    /// Enter the one at this address, whatever its source.
    IntoCall(LoadAddr),
    /// Enter the inlined call that begins here, with this number of calls that begin at the same
    /// address inside it hidden.
    IntoInlined(LoadAddr, usize),
}

/// Maximum number of frames of filtered code on a stack.
pub(crate) const MAX_FRAMES: usize = 256;

/// The plan for `next` and `step in`.
pub struct StepRange {
    pub(super) start: Start,
    pub(super) mode: Mode,
    /// Whether the step begins in code that steps stop in; otherwise the filters do not apply to
    /// it.
    pub(super) filtered: bool,
    phase: Phase,
    pub(super) region: Region,
    /// Whether the region is the first one of the step: nothing was passed before it.
    is_first: bool,
    /// The loop that has begun a new pass during the step.
    begun: Option<Loop>,
    /// The functions to stop in, and the indirect calls to examine.
    pub(super) wanted: ReachableCalls,
    /// The message that a call of the line is sending.
    pub(super) sending: Option<Sending>,
    /// The frame's return address.
    out: Option<Target>,
    /// The stack pointer at the beginning of the step.
    pub(super) sp: u64,
    /// The future whose body this is.
    pub(super) coroutine: Option<Coroutine>,
    /// The code up to the call to enter, if that is behind arguments on other lines.
    pub(super) arguments: Option<AddrRange<FileAddr>>,
    /// Whether another column of the line ends the step.
    pub(super) statements: bool,
    /// Whether a return of the frame ends the step in any code, also where filters apply.
    ends_at_return: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Phase {
    /// Running to an exit of the region.
    Leaving,
    /// Running to the return of a call, since deeper frames run the region, too.
    InCalls,
    /// Executing one instruction.
    Stepping(Box<Instruction>),
    /// Running until the function that was tail-called returns.
    InTailCall,
    /// Running through filtered code, until it returns here or calls a function with source.
    Through(Target),
    /// Running to where the handler of an exception, or a long jump, resumes.
    Landing(Target),
    /// Waiting until the suspended future is resumed.
    Waiting,
}

impl StepRange {
    /// Returns the plan and its first verdict; `out` is the frame's return address, and
    /// `statements` is whether the step may end at another statement of the line.
    pub fn begin(
        start: Start,
        mode: Mode,
        out: Option<Target>,
        coroutine: Option<Coroutine>,
        statements: bool,
        view: &View<'_>,
    ) -> (Self, Verdict) {
        let mut plan = Self {
            out,
            sp: view.registers.sp(),
            coroutine,
            statements,
            ..Self::new(start, mode, view.filters)
        };
        if let Mode::IntoCall(at) = mode {
            let at = plan.start.bias.file(at);
            plan.arguments = statement(view, &plan.start).filter(|it| it.contains(at));
        }
        let verdict = plan.leave(view);
        (plan, verdict)
    }

    pub(super) fn new(start: Start, mode: Mode, filters: StepFilter<'_>) -> Self {
        let file = start.line.as_ref().map(|line| &line.file);
        Self {
            filtered: file.is_none_or(|file| !filters.skips(file)),
            start,
            mode,
            phase: Phase::Leaving,
            region: Region::default(),
            is_first: true,
            begun: None,
            wanted: ReachableCalls::default(),
            sending: None,
            out: None,
            sp: 0,
            coroutine: None,
            arguments: None,
            statements: false,
            ends_at_return: false,
        }
    }

    /// Makes a return of the frame end the step, whatever the filters say of the caller.
    pub fn end_at_return(&mut self) {
        self.ends_at_return = true;
    }

    /// Returns the region of `start` from the pc on, including inlined calls, and arguments on
    /// other lines of a call that follows.
    pub fn region(start: Start, view: &View<'_>) -> Region {
        let mut plan = Self::new(start, Mode::Over, view.filters);
        plan.arguments = statement(view, &plan.start);
        plan.find_region(view);
        plan.region
    }

    fn find_region(&mut self, view: &View<'_>) {
        let mut code = Code::new(view);
        let pc = view.registers.pc();
        let mut region = Region::of(
            pc,
            |addr| code.at(addr),
            |addr| self.is_ours(view, addr),
            |addr| self.place(view, addr).is_none(),
        );
        if self.start.line.is_some() {
            region.find_passes(
                pc,
                (self.begun, self.is_first),
                |from, to| self.are_joined(from, to),
                |addr| self.part(view, addr),
            );
        }
        self.region = region;
    }

    /// Plans how to leave the region from the pc.
    pub(super) fn leave(&mut self, view: &View<'_>) -> Verdict {
        let begun = self.region.passes.begun_at(view.registers.pc());
        self.leave_within(view, begun)
    }

    /// Like [`Self::leave`]; `begun`: the loop that has begun a new pass on the way here.
    fn leave_within(&mut self, view: &View<'_>, begun: Option<Loop>) -> Verdict {
        self.begun = begun;
        self.find_region(view);
        self.is_first = false;
        self.wanted = self.wanted_by_calls(view);
        self.sending = None;
        self.phase = Phase::Leaving;
        if self.wanted.indirect.contains(&view.registers.pc()) {
            // A trap at the pc itself would not be hit.
            let verdict = self.at_call(view);
            if verdict != Verdict::KeepRunning {
                return verdict;
            }
        }
        if self.region.instructions.len() <= 1 && self.region.calls.is_empty() {
            return self.one_instruction(view);
        }
        self.run_on(view)
    }

    fn one_instruction(&mut self, view: &View<'_>) -> Verdict {
        let instruction = view.arch().read(view.memory, view.registers.pc());
        let Some(instruction) = instruction else {
            // The processor will raise the fault.
            return Verdict::Abandon;
        };
        if instruction.is_call() {
            return self.run_on(view);
        }
        self.phase = Phase::Stepping(Box::new(instruction));
        Verdict::Step
    }

    /// Runs to the first of this phase's targets.
    pub(super) fn run_on(&self, view: &View<'_>) -> Verdict {
        let mut targets: Vec<LoadAddr> = self.wanted.bodies.clone();
        targets.extend(&self.wanted.indirect);
        targets.extend(self.sending.iter().flat_map(Sending::jumps));
        let language = Some(self.start.function.language);
        let mut calls = true;
        match &self.phase {
            Phase::Leaving => {
                let region = &self.region;
                calls = !region.calls.is_empty();
                targets.extend(region.exits.iter().chain(&region.unclear));
                if self.out.is_none() {
                    targets.extend(&region.returns);
                }
                if self.out.is_none() || self.mode != Mode::Over {
                    targets.extend(&region.jumps);
                }
                calls |= !region.jumps.is_empty();
            }
            Phase::InCalls => targets.extend(self.region.calls.iter().map(|call| call.back)),
            Phase::Through(back) => {
                return view.run_to(&targets, Some(*back), language);
            }
            Phase::Landing(target) => return Verdict::RunTo(vec![*target]),
            Phase::Waiting => {
                let resumption = self.coroutine.map(|it| it.resumption());
                return Verdict::RunTo(resumption.into_iter().collect());
            }
            Phase::InTailCall | Phase::Stepping(_) => {}
        }
        view.run_to(&targets, self.out, language.filter(|_| calls))
    }

    /// Returns whether the thread is in a frame called by the step's frame.
    pub(super) fn is_deeper(&self, view: &View<'_>) -> bool {
        let sp = view.registers.sp();
        if sp >= self.sp {
            return false;
        }
        match (self.out, view.cfa()) {
            (Some(out), Some(cfa)) => cfa.0 < out.sp,
            _ => !self.region.calls.is_empty(),
        }
    }

    /// Handles an arrival in the step's frame, or just after the instruction `by` has left it.
    fn arrived(&mut self, view: &View<'_>, by: Option<&Instruction>) -> Verdict {
        let pc = view.registers.pc();
        let returned = by.is_some_and(Instruction::is_return);
        if returned {
            return self.left(view);
        }
        if !self.is_ours(view, pc) {
            return self.jumped_away(view);
        }
        if let Some(hidden) = self.place(view, pc) {
            return Verdict::Done { hidden };
        }
        let passes = &self.region.passes;
        let (begun, is_seen) = match by {
            None => (passes.begun_at(pc), passes.statements.contains(&pc)),
            Some(jump) => self.jumped(view, jump.addr, pc),
        };
        match is_seen {
            true => {
                let addr = self.start.bias.file(pc);
                let inlined = inlined_at(&self.start.function, addr);
                let hidden = self.begun_calls(&inlined, addr);
                Verdict::Done { hidden }
            }
            false => self.leave_within(view, begun),
        }
    }

    /// Returns which loop has begun a new pass after a move from one instruction to another, and
    /// whether the pass ends the step there.
    fn jumped(&self, view: &View<'_>, from: LoadAddr, to: LoadAddr) -> (Option<Loop>, bool) {
        match self.are_joined(from, to) {
            true => self.region.jumped(from, to, |addr| self.part(view, addr)),
            false => (self.region.passes.begun_at(from), false),
        }
    }

    /// Handles a return of the frame to its caller: the step ends at the call, unless that is in
    /// filtered code.
    fn left(&mut self, view: &View<'_>) -> Verdict {
        if self.coroutine.is_some_and(|it| it.is_waiting(view)) {
            self.phase = Phase::Waiting;
            return self.run_on(view);
        }
        if self.ends_at_return {
            return Verdict::Done { hidden: 0 };
        }
        let pc = view.registers.pc();
        let call = pc - 1;
        let Some(loaded) = view.modules.at(call) else {
            return Verdict::Abandon;
        };
        let addr = loaded.bias.file(call);
        let shown = match &loaded.module.place_at(addr) {
            // A step from such code ends where it returned to.
            Some(_) if self.start_is_of_the_system(view) => true,
            Some(_) if !self.filtered => view.filters.has_source(loaded, addr),
            _ => view.filters.shows(loaded, addr),
        };
        if shown {
            return Verdict::Done { hidden: 0 };
        }
        match Start::shown_at(view.modules, view.filters, call) {
            // The call is in an inlined call whose caller is shown.
            Some(start) => {
                self.restart(view, start);
                self.leave(view)
            }
            None => self.go_through(view),
        }
    }

    fn start_is_of_the_system(&self, view: &View<'_>) -> bool {
        let mut loaded = view.modules.loaded.iter();
        loaded.any(|loaded| loaded.bias == self.start.bias && loaded.is_of_the_system())
    }

    /// Starts again in another frame.
    pub(super) fn restart(&mut self, view: &View<'_>, start: Start) {
        self.start = start;
        self.mode = Mode::Into;
        self.sp = view.registers.sp();
        self.out = view.out();
        self.coroutine = None;
        self.arguments = None;
        self.region = Region::default();
    }

    /// Runs through filtered code to its return or to a function with source that it calls.
    fn go_through(&mut self, view: &View<'_>) -> Verdict {
        let mut wanted = ReachableCalls::default();
        let mut frame = (
            FrameAddress::ReturnAddress(view.registers.pc()),
            view.registers.to_registers(),
        );
        let mut back = None;
        for _ in 0..MAX_FRAMES {
            let lookup = frame.0.lookup();
            if let Some(loaded) = view.modules.at(lookup)
                && let Some(function) = loaded.module.function_at(loaded.bias.file(lookup))
            {
                wanted.add(&reach(view, loaded.bias.load(function.entry)));
            }
            let Some(unwound) = view.unwind(frame.0, &frame.1) else {
                break;
            };
            let Some(caller) = unwound.caller else {
                break;
            };
            if Start::shown_at(view.modules, view.filters, caller.0.lookup()).is_some() {
                back = Some(Target {
                    addr: caller.0.addr(),
                    sp: unwound.cfa.0,
                });
                break;
            }
            frame = caller;
        }
        if let Some(landing) = view.linked_context().filter(|_| back.is_none()) {
            self.phase = Phase::Landing(landing.target);
            return self.run_on(view);
        }
        let Some(back) = back else {
            // main returned to the C library: no code with source follows.
            return Verdict::Abandon;
        };
        // The caller of the step's function may call it again.
        let entry = self.start.bias.load(self.start.function.entry);
        wanted.bodies.extend(body_of(view, entry, true));
        self.wanted = wanted;
        self.sending = None;
        self.phase = Phase::Through(back);
        self.run_on(view)
    }

    /// Handles a jump out of the function: a tail call, or a jump through a procedure linkage
    /// table.
    fn jumped_away(&mut self, view: &View<'_>) -> Verdict {
        if self.out.is_none() {
            let back = view.arch().return_at_entry(view.registers, view.memory);
            let Some(back) = back else {
                return Verdict::Done { hidden: 0 };
            };
            self.out = Some(back.into());
        }
        self.phase = Phase::InTailCall;
        self.wanted = ReachableCalls::default();
        self.sending = None;
        if self.mode != Mode::Over {
            let pc = view.registers.pc();
            let back = view.arch().return_at_entry(view.registers, view.memory);
            self.sending = back.and_then(|back| Sending::of(view, pc, back.into()));
            let mut wanted = ReachableCalls::default();
            self.want(view, pc, pc, &mut wanted);
            wanted.indirect.retain(|at| *at != pc);
            if wanted.bodies.contains(&pc) {
                return self.enter(view);
            }
            self.wanted = wanted;
        }
        self.run_on(view)
    }

    /// Handles an exception that has reached a handler, or a long jump that is about to be made.
    fn at_escape(&mut self, view: &View<'_>) -> Option<Verdict> {
        let landing = match view.escape()? {
            Some(landing) => landing,
            None => return Some(Verdict::KeepRunning),
        };
        // A landing below the step's frame is ignored: the call continues.
        let is_below = match (self.out, landing.cfa) {
            (Some(out), Some(cfa)) => cfa.0 < out.sp,
            _ => landing.target.sp < self.sp,
        };
        if is_below {
            return Some(Verdict::KeepRunning);
        }
        self.phase = Phase::Landing(landing.target);
        Some(self.run_on(view))
    }

    fn is_on_our_line(&self, start: &Start) -> bool {
        let (Some(ours), Some(line)) = (&self.start.line, &start.line) else {
            return false;
        };
        start.function.id == self.start.function.id
            && line.line == ours.line
            && line.file == ours.file
    }

    /// Handles the start of an exception's handler, in the step's frame or an older one.
    fn landed(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        match Start::shown_at(view.modules, view.filters, pc - 1) {
            // A call caught an exception thrown inside it.
            Some(start) if self.is_on_our_line(&start) && !self.is_deeper(view) => self.leave(view),
            Some(_) if view.filters.shows_at(view.modules, pc - 1) => Verdict::Done { hidden: 0 },
            Some(start) => {
                self.restart(view, start);
                self.leave(view)
            }
            None => self.go_through(view),
        }
    }
}

impl Plan for StepRange {
    fn on_stop(&mut self, view: &View<'_>) -> Verdict {
        let (pc, sp) = (view.registers.pc(), view.registers.sp());
        if let Phase::Stepping(instruction) = &self.phase {
            let instruction = instruction.clone();
            return self.arrived(view, Some(&instruction));
        }
        if let Phase::Landing(target) = self.phase {
            return match pc == target.addr {
                true => self.landed(view),
                false => Verdict::KeepRunning,
            };
        }
        if self.phase == Phase::Waiting {
            if !self.coroutine.is_some_and(|it| it.is_resumed(view)) {
                return Verdict::KeepRunning;
            }
            self.sp = sp;
            self.out = view.out();
            return self.leave(view);
        }
        if let Some(verdict) = self.at_escape(view) {
            return verdict;
        }
        if self.wanted.bodies.contains(&pc) {
            return self.enter(view);
        }
        if let Phase::Through(back) = self.phase
            && back.addr == pc
            && sp >= back.sp
        {
            return self.left(view);
        }
        if !matches!(self.phase, Phase::Through(_))
            && let Some(out) = self.out
            && out.addr == pc
            && sp >= out.sp
        {
            return self.left(view);
        }
        if self.wanted.indirect.contains(&pc) {
            return self.at_call(view);
        }
        let mut sending = self.sending.iter();
        if sending.any(|it| it.jumps().contains(&pc)) {
            return self.at_send(view);
        }
        if matches!(self.phase, Phase::Through(_) | Phase::InTailCall) {
            return Verdict::KeepRunning;
        }
        if self.is_deeper(view) {
            if self.phase == Phase::InCalls || self.region.calls.is_empty() {
                return Verdict::KeepRunning;
            }
            self.phase = Phase::InCalls;
            return self.run_on(view);
        }
        let region = &self.region;
        let mut stepped = region.unclear.iter().chain(&region.returns);
        let is_stepped = stepped.any(|at| *at == pc) || region.jumps.contains(&pc);
        if is_stepped && !region.passes.statements.contains(&pc) {
            return self.one_instruction(view);
        }
        self.arrived(view, None)
    }

    fn awaited(&self) -> Option<Coroutine> {
        self.coroutine.filter(|_| self.phase == Phase::Waiting)
    }
}
