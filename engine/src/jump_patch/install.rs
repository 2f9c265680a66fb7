//! Installation of a jump patch: the checks, and everything that is written for it.

use super::function_code::FunctionCode;
use super::log_ring::{self, Message, MessagePart};
use super::trampoline::{Count, HitAction, Trampoline};
use super::window::PatchedRange;
use super::{COUNTERS, JumpPatch, Region};
use crate::arch::x86_64::{JUMP, MAX_INSTRUCTION_BYTES};
use crate::breakpoint::{HitCondition, Segment};
use crate::compile::{Captured, CodeScope, Condition};
use crate::debugger::{Debugger, State};
use crate::event::Event;
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::inferior::displaced::{REGION, free_place};
use crate::inferior::site::Owner;
use crate::inspect::eval::Expression;
use crate::os::SystemCall;
use dwarf::LoadAddr;

/// Why a site keeps its trap.
pub(super) struct Refusal {
    /// The reason, for users.
    why: String,
    /// Whether it is permanent: no change of threads or other sites can remove it.
    is_lasting: bool,
}

impl Refusal {
    /// Returns a refusal after which another attempt is worthwhile.
    pub(super) fn passing(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            is_lasting: false,
        }
    }
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self {
            why: why.into(),
            is_lasting: true,
        }
    }
}

impl Debugger {
    /// Counts a hit that did not stop; after some of them, the condition is moved into the
    /// debuggee.
    pub(crate) fn count_non_stopping_hit(&mut self, thread: ThreadId, addr: LoadAddr) {
        let Some(site) = self.inferior.sites.get(addr) else {
            return;
        };
        let [Owner::User(id)] = site.owners() else {
            return;
        };
        let id = *id;
        if !site.has_jump() && site.is_jump_due() && self.may_make_detour() {
            self.inferior.jumps.making = true;
            let room = self.inferior.jumps.room();
            let outcome = self.install_jump_patch(thread, addr, id);
            if outcome.is_err() {
                self.inferior.jumps.give_back(&room);
            }
            self.inferior.jumps.making = false;
            let asked = match outcome {
                Ok(()) => "evaluated in the program".to_owned(),
                Err(Refusal { why, is_lasting }) => {
                    tracing::info!(%addr, why, is_lasting, "a breakpoint stays on its trap");
                    if let Some(site) = self.inferior.sites.get(addr).filter(|_| is_lasting) {
                        site.keep_trap();
                    }
                    format!("evaluated by the debugger, some µs per hit: {why}")
                }
            };
            if self.stops.breakpoints.set_evaluation_note(id, asked) {
                self.inferior.events.push_back(Event::BreakpointChanged(id));
            }
        }
    }

    fn may_make_detour(&self) -> bool {
        self.state() == State::Running
            && self.calls.pending.is_none()
            && !self.inferior.jumps.refused
            && !self.inferior.jumps.making
            && !self.stops.watches.stepping
            && !self.stops.watches.sees_reads()
    }

    /// Replaces the trap at `addr` by a jump. If hits are counted, replaces all traps of the
    /// breakpoint: the program has to count all hits or none.
    fn install_jump_patch(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        id: BreakpointId,
    ) -> Result<(), Refusal> {
        let (condition, hit) = self.stops.breakpoints.in_process_check(id)?;
        let places = match hit {
            Some(_) => self.stops.breakpoints.bound_addresses(id),
            None => vec![addr],
        };
        let segments = self.stops.breakpoints.message(id);
        if self.inferior.jumps.called_through && (hit.is_some() || segments.is_some()) {
            return Err(super::calls::CALLED_THROUGH.into());
        }
        if let Some(segments) = segments.filter(|_| logs_in_process(hit)) {
            // No condition is compiled for a message that the program cannot write.
            let message = message_of(
                &segments,
                &CodeScope::at(
                    &self.images.modules,
                    addr,
                    self.stops.breakpoints.hidden(id, addr),
                ),
            );
            match message {
                Ok(_) => self.find_ring(thread, addr)?,
                // Its hits can still be counted there.
                Err(_) if hit.is_some() => {}
                Err(why) => return Err(why.into()),
            }
        }
        let mut count = None;
        let mut ready = Vec::new();
        for site in places {
            if !self.find_detour_room(thread, site) {
                return Err("cannot map memory for code near it".into());
            }
            if let (Some(hit), None) = (hit, count) {
                let at = self
                    .inferior
                    .jumps
                    .new_counter(site)
                    .ok_or("no memory left for code near it")?;
                count = Some(Count { at, hit });
            }
            ready.push(self.prepare(site, id, condition.as_deref(), count)?);
        }
        let jumps = self.lay_jumps(thread, &ready)?;
        self.with_world_stopped(thread, |this| {
            this.leave_springboards();
            if ready.iter().any(|it| this.may_resume_pass(it.site)) {
                return Err(Refusal::passing(
                    "a signal handler returns to a hit that is already counted",
                ));
            }
            let hits = this.stops.breakpoints.hits(id) + this.counted_in_detours(id);
            if let Some(count) = count
                && !this.inferior.os.write_memory(count.at, &hits.to_le_bytes())
            {
                return Err("cannot write the program's memory".into());
            }
            let written = ready.iter().try_for_each(|it| this.write_trampoline(it));
            if let Err(why) = written.and_then(|()| this.put_jumps(&ready, &jumps)) {
                for trap in ready.iter().flat_map(|it| it.trampoline.traps()) {
                    this.inferior.os.guard(trap, None);
                }
                return Err(why);
            }
            if count.is_some() {
                this.stops.breakpoints.reset_trap_hits(id);
                for former in this.inferior.jumps.all.values_mut() {
                    if former.breakpoint == id {
                        former.counter = None;
                    }
                }
            }
            for detour in ready {
                let start = detour.trampoline.start;
                this.inferior.jumps.latest.insert(detour.site, start);
                this.inferior.jumps.all.insert(start, detour);
            }
            this.note_springboards(&jumps);
            Ok(())
        })
    }

    /// Prepares a trampoline for the jump at `site`; it has yet to be written.
    fn prepare(
        &mut self,
        site: LoadAddr,
        id: BreakpointId,
        condition: Option<&Expression>,
        count: Option<Count>,
    ) -> Result<JumpPatch, Refusal> {
        let owners = self.inferior.sites.get(site).map(|it| it.owners());
        if owners != Some(&[Owner::User(id)]) {
            return Err(Refusal::passing(
                "a location is shared with a step or breakpoint",
            ));
        }
        let window = self.window_at(site)?;
        if self
            .stops
            .watches
            .has_code_in(site + 1, window.reaches_to(site))
        {
            return Err(Refusal::passing("another breakpoint is too close"));
        }
        let scope = CodeScope::at(
            &self.images.modules,
            site,
            self.stops.breakpoints.hidden(id, site),
        );
        let condition = condition
            .map(|condition| Condition::compile(condition, &scope))
            .transpose()
            .map_err(|why| why.to_string())?;
        let segments = self.stops.breakpoints.message(id);
        let message = segments
            .filter(|_| logs_in_process(count.map(|count| count.hit)))
            .map(|segments| message_of(&segments, &scope));
        let message = match (message, count) {
            (Some(Err(why)), None) => return Err(why.into()),
            (message, _) => message.and_then(Result::ok),
        };
        let ring = self.inferior.jumps.ring.as_ref().map(|ring| ring.at);
        let then = match (count, &message, ring) {
            (count, Some(message), Some(ring)) => HitAction::Say {
                message,
                ring,
                count,
            },
            (Some(count), ..) => HitAction::Count(count),
            _ => HitAction::Stop,
        };
        let region = self
            .inferior
            .jumps
            .near(site)
            .ok_or("no memory left for code near it")?;
        let start = region.start + region.used;
        let trampoline = Trampoline::build(start, site, &window, condition.as_ref(), then)
            .map_err(|_| "instructions cannot be relocated")?;
        let used = region.used + (trampoline.bytes.len() as u64).next_multiple_of(64);
        if used > REGION {
            return Err("the compiled code is too long".into());
        }
        region.used = used;
        Ok(JumpPatch {
            site,
            breakpoint: id,
            trampoline,
            springboard: None,
            window,
            counter: count.map(|count| count.at),
            message,
            options: self
                .stops
                .breakpoints
                .options(id)
                .cloned()
                .unwrap_or_default(),
        })
    }

    /// Writes a trampoline that no jump leads to yet; all threads are stopped.
    fn write_trampoline(&mut self, detour: &JumpPatch) -> Result<(), Refusal> {
        /// A `nop`, which replaces traps that are not used.
        const NOTHING: u8 = 0x90;
        let JumpPatch {
            site,
            trampoline,
            window,
            ..
        } = detour;
        if !self
            .inferior
            .os
            .write_memory(trampoline.start, &trampoline.bytes)
        {
            return Err("cannot write the program's memory".into());
        }
        if window.instructions.len() > 1 && self.may_come_back_into(*site, window.end) {
            return Err(Refusal::passing(
                "a thread's stack returns into the bytes of the jump",
            ));
        }
        for trap in trampoline.traps() {
            self.inferior.os.guard(trap, Some(&[NOTHING]));
        }
        Ok(())
    }

    /// Returns the instructions at a site that a jump would cover.
    fn window_at(&self, addr: LoadAddr) -> Result<PatchedRange, &'static str> {
        let loaded = self
            .images
            .modules
            .at(addr)
            .ok_or("not in a known function")?;
        let code = FunctionCode::read(&loaded.module, loaded.bias, addr, &self.memory())?;
        let behind = self
            .inferior
            .sites
            .addresses_in(addr + 1, addr + (JUMP + MAX_INSTRUCTION_BYTES) as u64);
        let others: Vec<LoadAddr> = behind.collect();
        PatchedRange::at(addr, &code, &others)
    }

    /// Returns whether a thread may have been interrupted, by a signal whose handler runs, after
    /// `start` and before `end`: its stack contains such an address then.
    fn may_come_back_into(&mut self, start: LoadAddr, end: LoadAddr) -> bool {
        /// Maximum number of stack bytes searched per thread; a larger stack counts as a match.
        const MAX_STACK_BYTES: u64 = 1 << 20;
        const PORTION: usize = 1 << 14;
        let Some(process) = &self.inferior.process else {
            return true;
        };
        let threads: Vec<ThreadId> = process.threads.keys().copied().collect();
        let mappings = self.inferior.os.mappings(process.pid);
        let mut bytes = vec![0; PORTION];
        for thread in threads {
            let Some(registers) = self.user_registers(thread) else {
                continue;
            };
            let sp = registers.sp() & !7;
            let stack = mappings.partition_point(|mapping| mapping.end.0 <= sp);
            let Some(stack) = mappings.get(stack).filter(|it| it.start.0 <= sp) else {
                return true;
            };
            if stack.end.0 - sp > MAX_STACK_BYTES {
                return true;
            }
            let mut at = LoadAddr(sp);
            while at < stack.end {
                let read = self.inferior.os.read_memory(at, &mut bytes);
                let (words, _) = bytes[..read].as_chunks::<8>();
                let inside = |word: &[u8; 8]| {
                    let addr = LoadAddr(u64::from_le_bytes(*word));
                    addr > start && addr < end
                };
                if words.iter().any(inside) {
                    return true;
                }
                if read < PORTION {
                    break;
                }
                at = at + PORTION as u64;
            }
        }
        false
    }

    /// Moves all stopped threads out of springboards: some of these may get new targets.
    pub(super) fn leave_springboards(&mut self) {
        let threads = self
            .inferior
            .process
            .iter()
            .flat_map(|process| process.threads.keys());
        for thread in threads.copied().collect::<Vec<_>>() {
            let raw = self.inferior.os.registers(thread);
            if raw.is_some_and(|raw| self.inferior.jumps.springboards.hold(raw.pc())) {
                self.user_registers(thread);
            }
        }
    }

    /// Makes the debuggee map memory near a site, if no region there has room.
    pub(super) fn find_detour_room(&mut self, thread: ThreadId, addr: LoadAddr) -> bool {
        if self.inferior.jumps.near(addr).is_some() {
            return true;
        }
        let Some(pid) = self.pid() else {
            return false;
        };
        let len = REGION + COUNTERS;
        let arch = self.images.modules.arch();
        let Some(place) = free_place(arch, addr, len, &self.inferior.os.mappings(pid)) else {
            return false;
        };
        let counters = SystemCall::MapData {
            addr: place + REGION,
            len: COUNTERS,
        };
        let code = SystemCall::MapCode {
            addr: place,
            len: REGION,
        };
        for (call, at) in [(code, place), (counters, place + REGION)] {
            if self.inject_syscall(thread, call) != Some(at.0 as i64) {
                self.inferior.jumps.refused = true;
                return false;
            }
        }
        self.inferior.jumps.regions.push(Region {
            start: place,
            used: 0,
            counters: 0,
        });
        true
    }
}

/// Returns whether the program writes the message at such hits: for a single hit it is not worth
/// it.
fn logs_in_process(hit: Option<HitCondition>) -> bool {
    !matches!(hit, Some(HitCondition::Exactly(_) | HitCondition::Once))
}

/// Compiles a breakpoint's message, if a record can hold all its values.
fn message_of(segments: &[Segment], scope: &CodeScope<'_>) -> Result<Message, String> {
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
