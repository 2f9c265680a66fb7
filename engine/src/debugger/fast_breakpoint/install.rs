//! Installation of a jump patch: the checks, and everything that is written for it.

use super::served::Served;
use crate::arch::{MAX_INSTRUCTION_BYTES, MAX_JUMP_BYTES};
use crate::compile::{Captured, CodeScope, Condition};
use crate::debugger::trace::SiteTrace;
use crate::debugger::{Debugger, State};
use crate::expr::Expression;
use crate::ids::BreakpointId;
use crate::ids::HitCondition;
use crate::ids::ThreadId;
use crate::inferior::Inferior;
use crate::inferior::displaced::REGION;
use crate::inferior::jump_patch::install::Refusal;
pub(crate) use crate::inferior::jump_patch::log_ring::{self, Message, MessagePart};
pub(crate) use crate::inferior::jump_patch::trampoline::{
    Count, Decision, HitAction, Place, Trampoline,
};
use crate::inferior::jump_patch::window::{PatchedRange, UNKNOWN_FUNCTION, UNWRITABLE_MEMORY};
use crate::inferior::jump_patch::{JumpPatch, PatchedBreakpoint};
use crate::inferior::site::Owner;
use crate::stops::breakpoint::Segment;
use crate::stops::breakpoint::evaluation::Evaluation;
use crate::stops::breakpoint::passes::Passes;
use crate::stops::event::Event;
use dwarf::LoadAddr;

/// Why a place without room near it keeps its trap.
pub(super) const UNMAPPABLE: &str = "cannot map memory for code near it";
/// The same, where regions are full.
pub(super) const FULL: &str = "no memory left for code near it";
/// Why a site keeps its trap until the next attempt.
const SHARED: &str = "a location is shared with a step or breakpoint";

/// The part of a breakpoint that the code behind a jump has to do.
struct Asked<'a> {
    id: BreakpointId,
    condition: Option<&'a Expression>,
    /// The counter of its hits.
    count: Option<Count>,
    /// The address of the word that counts hits at which the condition is false.
    passes: Option<LoadAddr>,
}

/// Returns where the program counts the passes of a breakpoint, in memory that the thread maps near an address if there
/// is none yet; `None`: it cannot.
fn place_of_passes(
    passes: &mut Passes,
    inferior: &mut Inferior,
    (thread, near): (ThreadId, LoadAddr),
) -> Option<LoadAddr> {
    /// A page.
    const LEN: u64 = 1 << 12;
    if passes.word().is_none() && Trampoline::can_count_passes(inferior.arch) {
        let mapped = inferior.map_shared(thread, near, LEN);
        if let Ok((at, memory)) = mapped {
            passes.count_in(at, memory);
        }
    }
    let word = passes.word();
    if word.is_none() {
        passes.lose();
    }
    word
}

impl Debugger {
    /// Counts a hit of a site with these owners that did not stop; after some of them, what they
    /// evaluate is moved into the debuggee. Returns false if there is nothing to count.
    pub(crate) fn count_non_stopping_hit(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        owners: &[Owner],
    ) -> bool {
        let Some(site) = self.inferior.sites.get(addr) else {
            return false;
        };
        // A breakpoint that uses a debug register is no owner of the site.
        let Some(served) = self
            .served(addr)
            .filter(|_| owners.len() == site.owners().len())
        else {
            return false;
        };
        let took = self.inferior.arrived.elapsed();
        self.stops.breakpoints.add_cost(&served.breakpoints, took);
        // After the first hit, or after the first call that has returned.
        if let [id] = served.breakpoints[..]
            && let Some(query) = self.stops.breakpoints.trace(id)
            && (!query.records_calls() || self.stops.breakpoints.is_exit(id, addr))
        {
            site.hasten_jump();
        }
        if !site.has_jump() && site.is_jump_due() && self.may_make_jump() {
            self.inferior.jumps.making = true;
            let room = self.inferior.jumps.room();
            let outcome = self.install_jump_patch(thread, addr, &served);
            if outcome.is_err() {
                self.inferior.jumps.give_back(&room);
            }
            self.inferior.jumps.making = false;
            let evaluation = match outcome {
                Ok(()) => Evaluation::InProgram,
                Err(Refusal { why, is_lasting }) => {
                    tracing::info!(%addr, why, is_lasting, "a breakpoint stays on its trap");
                    if let Some(site) = self.inferior.sites.get(addr).filter(|_| is_lasting) {
                        site.keep_trap();
                    }
                    Evaluation::ByDebugger(why.to_string())
                }
            };
            let is_fast = evaluation == Evaluation::InProgram;
            for id in served.breakpoints {
                let breakpoints = &mut self.stops.breakpoints;
                if breakpoints.set_evaluation(id, addr, evaluation.clone()) {
                    self.decide_functions(id, addr, is_fast);
                    self.emit(Event::BreakpointChanged(id));
                }
            }
        }
        true
    }

    /// Returns what code behind a jump at a site would serve.
    fn served(&self, addr: LoadAddr) -> Option<Served> {
        let owners = self.inferior.sites.get(addr)?.owners();
        Served::of(owners, self.stops.breakpoints.is_counting())
    }

    fn may_make_jump(&self) -> bool {
        self.state() == State::Running
            && self.calls.pending.is_none()
            && !self.inferior.jumps.refused
            && !self.inferior.jumps.making
            && !self.inferior.single_stepping
            && !self.inferior.debug_registers.sees_reads()
    }

    /// Replaces the trap at `addr` by a jump. If hits are counted, replaces all traps of the
    /// breakpoint: the program has to count all hits or none. Where breakpoints only count, each trap is
    /// replaced alone: the trap of a place without room for a jump adds to the program's counter.
    fn install_jump_patch(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        served: &Served,
    ) -> Result<(), Refusal> {
        if let Some(why) = self.inferior.os().why_no_jumps() {
            return Err(why.into());
        }
        let [id] = served.breakpoints[..] else {
            let patch = self.prepare_counting(thread, addr, served)?;
            return self.put_ready(thread, addr, vec![patch]);
        };
        let (condition, hit) = self.stops.breakpoints.in_process_check(id)?;
        let query = self.stops.breakpoints.trace(id);
        let is_counting = self.stops.breakpoints.is_counting();
        let places = match (hit, &query) {
            (Some(_), _) if is_counting => vec![addr],
            (Some(_), _) => self.stops.breakpoints.bound_addresses(id),
            (None, Some(query)) if query.records_calls() => self.sites_with(id, addr),
            (None, _) => vec![addr],
        };
        let segments = self.stops.breakpoints.message(id);
        let records = hit.is_some() || segments.is_some() || query.is_some();
        if self.inferior.jumps.called_through && records {
            return Err(crate::inferior::jump_patch::calls::CALLED_THROUGH.into());
        }
        if let Some(segments) = segments.filter(|_| logs_in_process(hit)) {
            // No condition is compiled for a message that the program cannot write.
            let message = message_of(
                &segments,
                &CodeScope::at(
                    &self.images.modules,
                    Some(&self.inferior.memory()),
                    addr,
                    self.stops.breakpoints.hidden(id, addr),
                ),
            );
            match message {
                Ok(_) => self.inferior.find_ring(thread, addr)?,
                // Its hits can still be counted there.
                Err(_) if hit.is_some() => {}
                Err(why) => return Err(why.into()),
            }
        }
        let passes = self.stops.breakpoints.all.get_mut(&id);
        let passes = passes.filter(|it| it.options.counts_passes && !is_counting);
        let passes = passes
            .and_then(|it| place_of_passes(&mut it.passes, &mut self.inferior, (thread, addr)));
        let arch = self.inferior.arch;
        let mut count = None;
        let mut ready = Vec::new();
        for site in places {
            if !self.inferior.find_jump_room(thread, site) {
                return Err(UNMAPPABLE.into());
            }
            if let (Some(hit), None) = (hit, count) {
                let jumps = &mut self.inferior.jumps;
                let shared = jumps.counter(id).filter(|_| is_counting);
                let at = shared
                    .or_else(|| jumps.new_counter(arch, site))
                    .ok_or(FULL)?;
                count = Some(Count { at, hit });
            }
            let trace = match &query {
                Some(query) => Some(self.site_trace(thread, site, id, query)?),
                None => None,
            };
            let decides = trace.as_ref().is_none_or(SiteTrace::has_condition);
            let condition = condition.as_deref().filter(|_| decides);
            let served = self.served(site);
            let served = served.filter(|served| served.breakpoints[..] == [id]);
            let served = served.ok_or_else(|| Refusal::passing(SHARED))?;
            let asked = Asked {
                id,
                condition,
                count,
                passes,
            };
            ready.push(self.prepare(site, asked, served.end, trace.as_ref())?);
        }
        self.put_ready(thread, addr, ready)
    }

    /// Writes trampolines and the jumps to them, one of them at `addr`. All serve the same breakpoints.
    fn put_ready(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        ready: Vec<JumpPatch>,
    ) -> Result<(), Refusal> {
        let served = ready.iter().take(1).flat_map(|patch| &patch.breakpoints);
        let served: Vec<_> = served.map(|it| (it.id, it.counter)).collect();
        let jumps = self.inferior.lay_jumps(thread, &ready)?;
        self.with_world_stopped(thread, |this, world| {
            let Some(world) = world else {
                return Err(Refusal::passing("a thread cannot be stopped"));
            };
            this.inferior.leave_springboards(world);
            if ready
                .iter()
                .any(|it| this.inferior.may_resume_pass(it.site, world))
            {
                return Err(Refusal::passing(
                    "a signal handler returns to a hit that is already counted",
                ));
            }
            for (id, counter) in &served {
                let hits = this.stops.breakpoints.hits(*id) + this.inferior.counted_by_jumps(*id);
                let os = this.inferior.os();
                if counter.is_some_and(|at| !os.write_memory(at, &hits.to_le_bytes())) {
                    return Err(UNWRITABLE_MEMORY.into());
                }
            }
            let written = ready
                .iter()
                .try_for_each(|it| this.inferior.write_trampoline(it, world));
            if let Err(why) = written.and_then(|()| this.inferior.put_jumps(&ready, &jumps, world))
            {
                for trap in ready.iter().flat_map(|it| it.trampoline.traps()) {
                    this.inferior.os().guard(trap, None);
                }
                return Err(why);
            }
            for (id, counter) in &served {
                if counter.is_some() {
                    this.stops.breakpoints.reset_trap_hits(*id);
                    this.inferior.jumps.forget_counters(*id, *counter);
                }
                let entry = this.stops.breakpoints.exit_at(*id, addr);
                this.tell_calls_outside(*id, entry.map_or(addr, |exit| exit.entry));
            }
            for patch in ready {
                let start = patch.trampoline.start;
                this.inferior.jumps.latest.insert(patch.site, start);
                this.inferior.jumps.all.insert(start, patch);
            }
            this.inferior.note_springboards(&jumps);
            Ok(())
        })
    }

    /// Prepares a trampoline for the jump at `site`; it has yet to be written.
    fn prepare(
        &mut self,
        site: LoadAddr,
        asked: Asked<'_>,
        is_for_end: bool,
        trace: Option<&SiteTrace>,
    ) -> Result<JumpPatch, Refusal> {
        let Asked {
            id,
            condition,
            count,
            passes,
        } = asked;
        let window = self.free_window_at(site)?;
        let end = self.compiled_end().filter(|_| is_for_end).transpose()?;
        let condition = self.compiled_condition(site, id, condition)?;
        let breakpoints = &self.stops.breakpoints;
        let thread = self.inferior.jumps.thread_number.flatten();
        let hidden = breakpoints.hidden(id, site);
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), site, hidden);
        let scope = scope.with_thread_number(thread);
        let message = breakpoints
            .message(id)
            .filter(|_| logs_in_process(count.map(|count| count.hit)))
            .map(|segments| message_of(&segments, &scope));
        let message = match (message, count) {
            (Some(Err(why)), None) => return Err(why.into()),
            (message, _) => message.and_then(Result::ok),
        };
        let ring = self.inferior.jumps.ring.as_ref().map(|ring| ring.at);
        let then = match (count, &message, ring) {
            _ if let Some(trace) = trace => HitAction::Trace(trace.tracing(thread)),
            (count, Some(message), Some(ring)) => HitAction::Say {
                message,
                ring,
                count,
            },
            (Some(count), ..) => HitAction::Count(count),
            _ => HitAction::Stop,
        };
        let decision = Decision {
            end: end.as_ref(),
            condition: condition.as_ref(),
            passes,
        };
        let options = breakpoints.options(id).cloned().unwrap_or_default();
        let trampoline = self.build_trampoline(site, &window, decision, then)?;
        let served = PatchedBreakpoint {
            id,
            counter: count.map(|count| count.at),
            options,
        };
        Ok(JumpPatch {
            site,
            breakpoints: [served].into_iter().collect(),
            is_for_end,
            trampoline,
            springboard: None,
            window,
            message,
            traces: trace.is_some(),
        })
    }

    /// Compiles the comparison with the end of a search.
    pub(super) fn compiled_end(&self) -> Option<Result<Condition, Refusal>> {
        let end = self.stops.search_end.as_ref()?;
        if self.is_end_repeated() {
            return Some(Err("the instruction repeats itself".into()));
        }
        let compiled = Condition::of_expected(self.inferior.arch, &end.expected());
        let compiled = compiled.map(|condition| self.for_stack(condition));
        Some(compiled.map_err(|why| why.to_string().into()))
    }

    /// Compiles what must hold at a site for a hit of a breakpoint.
    pub(super) fn compiled_condition(
        &self,
        site: LoadAddr,
        id: BreakpointId,
        condition: Option<&Expression>,
    ) -> Result<Option<Condition>, Refusal> {
        let breakpoints = &self.stops.breakpoints;
        let compiled = match (condition, breakpoints.expected_at(id, site)) {
            (Some(condition), _) => {
                let thread = self.inferior.jumps.thread_number.flatten();
                let hidden = breakpoints.hidden(id, site);
                let memory = self.inferior.memory();
                let scope = CodeScope::at(&self.images.modules, Some(&memory), site, hidden);
                Condition::compile(condition, &scope.with_thread_number(thread))
            }
            (None, Some(expected)) => Condition::of_expected(self.inferior.arch, &[expected]),
            (None, None) => return Ok(None),
        };
        let compiled = compiled.map_err(|why| why.to_string())?;
        Ok(Some(self.for_stack(compiled)))
    }

    /// Returns a condition for the stack that trampolines are going to use.
    fn for_stack(&self, condition: Condition) -> Condition {
        match self.needs_own_stack() {
            true => condition.apart(),
            false => condition,
        }
    }

    /// Builds a trampoline in a region near the site, which has room.
    pub(super) fn build_trampoline(
        &mut self,
        site: LoadAddr,
        window: &PatchedRange,
        decision: Decision<'_>,
        then: HitAction<'_>,
    ) -> Result<Trampoline, Refusal> {
        let processor = self.inferior.processor();
        let own_stack = self.own_stack(site)?;
        let region = self
            .inferior
            .jumps
            .near(self.inferior.arch, site)
            .ok_or(FULL)?;
        let start = region.start + region.used;
        let place = Place {
            start,
            site,
            own_stack,
        };
        let trampoline = Trampoline::build(processor, place, window, decision, then)
            .map_err(|_| "instructions cannot be relocated")?;
        let used = region.used + (trampoline.bytes.len() as u64).next_multiple_of(64);
        if used > REGION {
            return Err("the compiled code is too long".into());
        }
        region.used = used;
        Ok(trampoline)
    }

    /// Returns whether trampolines must not use the program's stack. A search in the past leaves it alone,
    /// also where it is not in use: a program may read what is left there.
    fn needs_own_stack(&self) -> bool {
        let is_search = self.stops.breakpoints.is_counting() || self.stops.search_end.is_some();
        let threads = self.inferior.process.as_ref().map(|it| it.threads.len());
        is_search && threads == Some(1) && Trampoline::can_have_own_stack(self.inferior.arch)
    }

    /// Returns the end of the memory that a trampoline near a site has to use as its stack.
    fn own_stack(&mut self, site: LoadAddr) -> Result<Option<LoadAddr>, Refusal> {
        if !self.needs_own_stack() {
            return Ok(None);
        }
        let arch = self.inferior.arch;
        let jumps = &mut self.inferior.jumps;
        let stack = jumps.own_stack(arch, site).ok_or(FULL)?;
        jumps.are_for_one_thread = true;
        Ok(Some(stack))
    }

    /// Returns the instructions at a site that a jump would cover, if no debug register stops in them.
    pub(super) fn free_window_at(&self, site: LoadAddr) -> Result<PatchedRange, Refusal> {
        let window = self.window_at(site)?;
        let registers = &self.inferior.debug_registers;
        match registers.has_code_in(site + 1, window.reaches_to(site)) {
            true => Err(Refusal::passing("another breakpoint is too close")),
            false => Ok(window),
        }
    }

    /// Returns the instructions at a site that a jump would cover.
    fn window_at(&self, addr: LoadAddr) -> Result<PatchedRange, &'static str> {
        let loaded = self.images.modules.at(addr).ok_or(UNKNOWN_FUNCTION)?;
        let (start, end) = (
            addr + 1,
            addr + (MAX_JUMP_BYTES + MAX_INSTRUCTION_BYTES) as u64,
        );
        let behind = self.inferior.sites.addresses_in(start, end);
        let others: Vec<LoadAddr> = behind.collect();
        let arch = self.inferior.arch;
        let image = (&*loaded.module, loaded.bias);
        let window = PatchedRange::find(arch, addr, image, &self.inferior.memory(), &others)?;
        // A search for a place writes the code there, also the bytes that a jump would share with it.
        let places = self.inferior.os().places_of_changes();
        let covered = start..addr + window.jump_bytes as u64;
        let is_inside = |it: &LoadAddr| covered.contains(it);
        // At its own start it may be, as long as it shares no bytes.
        let is_shared_place = places.contains(&addr) && others.iter().any(is_inside);
        match is_shared_place || places.iter().any(is_inside) {
            true => Err("the recorder needs the code behind it"),
            false => Ok(window),
        }
    }
}

/// Returns whether the program writes the message at such hits: for a single hit it is not worth
/// it.
pub(super) fn logs_in_process(hit: Option<HitCondition>) -> bool {
    !matches!(hit, Some(HitCondition::Exactly(_) | HitCondition::Once))
}

/// Compiles a breakpoint's message, if a record can hold all its values.
pub(super) fn message_of(segments: &[Segment], scope: &CodeScope<'_>) -> Result<Message, String> {
    let mut parts = Vec::new();
    for segment in segments {
        parts.push(match segment {
            Segment::Text(text) => MessagePart::Text(text.as_str().into()),
            Segment::Value(expression) => {
                let captured = Captured::compile(expression, scope);
                MessagePart::Value {
                    captured: captured.map_err(|why| why.to_string())?,
                    numbers: expression.numbers().unwrap_or_default(),
                }
            }
        });
    }
    let mut values: Vec<&mut Captured> = parts
        .iter_mut()
        .filter_map(MessagePart::value_mut)
        .collect();
    let least: usize = values.iter().map(|value| value.least()).sum();
    let left = log_ring::MAX_RECORD_VALUE_BYTES.checked_sub(least);
    let left = left.ok_or("the log message has too many values")?;
    let texts: usize = values.iter().map(|value| value.texts()).sum();
    // All texts get the same room; a hit with a longer one is a deopt.
    let room = left.checked_div(texts).unwrap_or(0) & !7;
    for value in &mut values {
        value.set_room(room).map_err(|why| why.to_string())?;
    }
    Ok(Message {
        parts: parts.into(),
    })
}
