//! Breakpoints whose questions are answered in the debuggee: a jump at the site leads to code
//! that asks, counts and goes on, and only who is to be stopped traps. A breakpoint begins on the
//! trap and comes here when it has been passed a few times; it goes back as soon as anybody else
//! is interested in the place.
//!
//! Nobody sees any of it: memory is read without the jumps (`breakpoint::site`), and who is found
//! in a trampoline is where the program would be without it (`process::registers`). Trampolines
//! stay as long as the process: a thread may be on its way through one whose jump is gone.

mod ring;
mod trampoline;
mod window;

use crate::arch::x86_64::JUMP;
use crate::breakpoint::site::{Owner, Sites};
use crate::breakpoint::{BreakpointId, BreakpointOptions, Segment};
use crate::debugger::{Debugger, State};
use crate::displaced::{REGION, free_place};
use crate::eval::Expression;
use crate::event::{Event, Signal, ThreadId};
use crate::native::{Captured, CodeScope, Condition};
use crate::os::{RegisterSet, Resume, SystemCall, WaitStatus};
use crate::process::Trap;
use crate::value::Shape;
use dwarf::LoadAddr;
use ring::{Frameless, Message, Part, Ring};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
pub use trampoline::State as Phase;
use trampoline::{Count, Then, Trampoline};
use window::Window;

/// Hits that nobody wants to stop for until a breakpoint comes here: most have fewer.
const PASSES: u32 = 16;
/// Said of a site that must not be tried again.
const NEVER: u32 = u32::MAX;
/// Bytes of a region of counters.
const COUNTERS: u64 = 1 << 12;

/// Memory in the debuggee: code, and counters behind it.
struct Region {
    start: LoadAddr,
    used: u64,
    counters: u64,
}

/// What a jump leads to.
struct Detour {
    site: LoadAddr,
    breakpoint: BreakpointId,
    trampoline: Trampoline,
    window: Window,
    /// Where hits are counted.
    counter: Option<LoadAddr>,
    /// What is said at hits.
    message: Option<Message>,
    /// What was asked of the breakpoint then.
    options: BreakpointOptions,
}

/// All trampolines of the process, also those that no jump leads to any more.
#[derive(Default)]
pub struct Detours {
    regions: Vec<Region>,
    all: BTreeMap<LoadAddr, Detour>,
    /// Of each site the last one.
    latest: BTreeMap<LoadAddr, LoadAddr>,
    /// What was said.
    ring: Option<Ring>,
    /// Memory cannot be had.
    refused: bool,
    /// One is being made: what is hit meanwhile waits.
    making: bool,
}

/// A trap in a trampoline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DetourTrap {
    /// Decide whether to stop at this site.
    Ask(LoadAddr),
    /// The hit is one to stop at.
    Stop,
}

impl Detours {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether an address is in memory of ours.
    pub fn holds(&self, addr: LoadAddr) -> bool {
        let in_region = |region: &Region| addr - region.start < REGION + COUNTERS;
        self.regions.iter().any(in_region)
    }

    /// The trampoline that is at an address.
    fn at(&self, pc: LoadAddr) -> Option<&Detour> {
        if !self.holds(pc) {
            return None;
        }
        self.all.range(..=pc).next_back().map(|(_, detour)| detour)
    }

    /// What is true of a thread there, and of which site.
    pub fn phase(&self, pc: LoadAddr) -> Option<(LoadAddr, Phase)> {
        let detour = self.at(pc)?;
        Some((detour.site, detour.trampoline.state(pc)?))
    }

    /// What the trap at an address means, if it is one of ours.
    pub fn trap(&self, addr: LoadAddr) -> Option<DetourTrap> {
        let detour = self.at(addr)?;
        if addr == detour.trampoline.ask {
            return Some(DetourTrap::Ask(detour.site));
        }
        (Some(addr) == detour.trampoline.stop).then_some(DetourTrap::Stop)
    }

    /// Where a thread has to go on that is at `pc`, and past the jump that is there or covers it.
    pub fn way_on(&self, pc: LoadAddr, sites: &Sites) -> Option<LoadAddr> {
        let (site, start) = self.latest.range(..=pc).next_back()?;
        let detour = self.all.get(start)?;
        let diverted = sites.get(*site).is_some_and(|site| site.is_diverted());
        (pc < detour.window.end && diverted).then(|| detour.trampoline.copy_of(pc))?
    }

    /// Where the hits of a breakpoint have been counted.
    fn counter(&self, breakpoint: BreakpointId) -> Option<LoadAddr> {
        let of_it = |detour: &&Detour| detour.breakpoint == breakpoint;
        self.all
            .values()
            .filter(of_it)
            .find_map(|detour| detour.counter)
    }

    /// Memory that is to be unmapped, with its length.
    pub fn regions(&self) -> Vec<(LoadAddr, u64)> {
        let all = self.regions.iter();
        all.map(|region| (region.start, REGION + COUNTERS))
            .chain(self.ring.iter().map(|ring| (ring.at, ring::LEN)))
            .collect()
    }

    /// Forgets what jumps in unmapped memory led to; threads may still be on their way.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.latest.retain(|site, _| *site < start || *site >= end);
    }

    /// A place to count at.
    fn new_counter(&mut self, site: LoadAddr) -> Option<LoadAddr> {
        let region = self.near(site)?;
        let at = region.start + REGION + region.counters;
        region.counters += 8;
        Some(at)
    }

    fn near(&mut self, site: LoadAddr) -> Option<&mut Region> {
        /// As far as RIP-relative operands and jumps reach, with room to spare.
        const REACH: u64 = 1 << 30;
        /// Room for one more, however long.
        const ROOM: u64 = 1 << 13;
        let has_room = |region: &&mut Region| {
            region.start.0.abs_diff(site.0) < REACH
                && region.used + ROOM <= REGION
                && region.counters + 8 <= COUNTERS
        };
        self.regions.iter_mut().find(has_room)
    }
}

impl Debugger {
    /// Nobody wanted to stop at a site: after a few times its question is asked in the debuggee.
    pub(crate) fn note_pass(&mut self, thread: ThreadId, addr: LoadAddr) {
        let Some(site) = self.sites.get(addr) else {
            return;
        };
        let [Owner::User(id)] = site.owners() else {
            return;
        };
        let (id, passes) = (*id, site.passes.get());
        if passes == NEVER || site.is_diverted() {
            return;
        }
        site.passes.set(passes + 1);
        if (passes + 1).is_multiple_of(PASSES) && self.may_make_detour() {
            self.detours.making = true;
            let outcome = self.make_detour(thread, addr, id);
            self.detours.making = false;
            let asked = match outcome {
                Ok(()) => "the program itself checks it".to_owned(),
                Err(why) => {
                    tracing::info!(%addr, why, "a breakpoint stays on its trap");
                    if let Some(site) = self.sites.get(addr) {
                        site.passes.set(NEVER);
                    }
                    format!("each hit stops the thread for a moment: {why}")
                }
            };
            if self.breakpoints.say_who_is_asked(id, asked) {
                self.events.push_back(Event::BreakpointChanged(id));
            }
        }
    }

    fn may_make_detour(&self) -> bool {
        self.state() == State::Running
            && self.call.is_none()
            && !self.detours.refused
            && !self.detours.making
            && !self.watches.stepping
            && !self.watches.sees_reads()
    }

    /// Puts a jump in the place of the trap at `addr`; where hits are counted, of all traps of the
    /// breakpoint: all or none are to be counted by the program.
    fn make_detour(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        id: BreakpointId,
    ) -> Result<(), String> {
        let (condition, hit) = self.breakpoints.askable(id)?;
        let places = match hit {
            Some(_) => self.breakpoints.places(id),
            None => vec![addr],
        };
        if self.breakpoints.message(id).is_some() {
            self.find_ring(thread, addr)?;
        }
        let mut count = None;
        let mut ready = Vec::new();
        for site in places {
            if !self.find_detour_room(thread, site) {
                return Err("the program cannot be given memory for code near it".into());
            }
            if let (Some(hit), None) = (hit, count) {
                let at = self.detours.new_counter(site).ok_or("no room")?;
                count = Some(Count { at, hit });
            }
            ready.push(self.prepare(site, id, condition.as_deref(), count)?);
        }
        self.with_all_stopped(thread, |this| {
            let hits = this.breakpoints.hits(id) + this.counted_in_detours(id);
            if let Some(count) = count
                && !this.os.write_memory(count.at, &hits.to_le_bytes())
            {
                return Err("the program's memory cannot be written".into());
            }
            let done = ready
                .iter()
                .try_for_each(|(detour, jump)| this.put(detour, *jump));
            if let Err(why) = done {
                for (detour, _) in &ready {
                    this.sites
                        .end_diversions(detour.site, detour.site + 1, &*this.os);
                }
                return Err(why.to_owned());
            }
            if count.is_some() {
                this.breakpoints.count_elsewhere(id);
                for former in this.detours.all.values_mut() {
                    if former.breakpoint == id {
                        former.counter = None;
                    }
                }
            }
            for (detour, _) in ready {
                let start = detour.trampoline.start;
                this.detours.latest.insert(detour.site, start);
                this.detours.all.insert(start, detour);
            }
            Ok(())
        })
    }

    /// A trampoline for the jump at `site`, which is only to be written.
    fn prepare(
        &mut self,
        site: LoadAddr,
        id: BreakpointId,
        condition: Option<&Expression>,
        count: Option<Count>,
    ) -> Result<(Detour, [u8; JUMP]), String> {
        let owners = self.sites.get(site).map(|it| it.owners());
        if owners != Some(&[Owner::User(id)]) {
            return Err("others are interested in one of its places".into());
        }
        let window = self.window_at(site)?;
        if self.sites_in(site + 1, window.end) {
            return Err("another breakpoint follows it closely".into());
        }
        let scope = CodeScope::at(&self.modules, site);
        let condition = condition
            .map(|condition| Condition::compile(condition, &scope))
            .transpose()
            .map_err(|why| why.to_string())?;
        let message = match self.breakpoints.message(id) {
            Some(segments) => Some(message_of(id, &segments, &scope)?),
            None => None,
        };
        let ring = self.detours.ring.as_ref().map(|ring| ring.at);
        let then = match (count, &message, ring) {
            (Some(count), ..) => Then::Count(count),
            (None, Some(message), Some(ring)) => Then::Say { message, ring },
            _ => Then::Stop,
        };
        let region = self.detours.near(site).ok_or("no room")?;
        let start = region.start + region.used;
        let trampoline = Trampoline::build(start, site, &window, condition.as_ref(), then)
            .map_err(|_| "its instructions cannot be moved")?;
        region.used += (trampoline.bytes.len() as u64).next_multiple_of(64);
        let jump = trampoline.jump_from(site).ok_or("it is too far away")?;
        let detour = Detour {
            site,
            breakpoint: id,
            trampoline,
            window,
            counter: count.map(|count| count.at),
            message,
            options: self.breakpoints.options(id).cloned().unwrap_or_default(),
        };
        Ok((detour, jump))
    }

    /// Writes a trampoline and the jump to it; all threads are stopped.
    fn put(&mut self, detour: &Detour, jump: [u8; JUMP]) -> Result<(), &'static str> {
        /// What traps are when nobody waits for them: a `nop`.
        const NOTHING: u8 = 0x90;
        let Detour {
            site,
            trampoline,
            window,
            ..
        } = detour;
        if !self.os.write_memory(trampoline.start, &trampoline.bytes) {
            return Err("the program's memory cannot be written");
        }
        if window.instructions.len() > 1 && self.may_come_back_into(*site, window.end) {
            return Err("a stack has addresses inside of what a jump would cover");
        }
        for trap in [Some(trampoline.ask), trampoline.stop]
            .into_iter()
            .flatten()
        {
            self.os.guard(trap, Some(&[NOTHING]));
        }
        match self.sites.divert(*site, jump, &*self.os) {
            true => Ok(()),
            false => Err("the program's code cannot be written"),
        }
    }

    /// The instructions at a site that a jump would cover.
    fn window_at(&self, addr: LoadAddr) -> Result<Window, &'static str> {
        const UNKNOWN: &str = "it is in no known function";
        let loaded = self.modules.at(addr).ok_or(UNKNOWN)?;
        let function = loaded
            .module
            .function_at(loaded.bias.file(addr))
            .ok_or(UNKNOWN)?;
        let memory = self.memory();
        let mut ranges = Vec::new();
        for range in &function.ranges {
            let len = usize::try_from(range.end - range.start).map_err(|_| UNKNOWN)?;
            let mut bytes = vec![0; len.min(1 << 24)];
            let start = loaded.bias.load(range.start);
            dwarf::Memory::read(&memory, start, &mut bytes)
                .map_err(|_| "the function cannot be read")?;
            ranges.push((start, bytes));
        }
        let mut pads = BTreeSet::new();
        for range in &function.ranges {
            let here = loaded.module.landing_pads(range.start);
            let here = here.map_err(|_| "where exceptions come back to is not known")?;
            pads.extend(here.into_iter().map(|pad| loaded.bias.load(pad)));
        }
        Window::at(addr, &ranges, &pads, |behind| {
            let mut bytes = vec![0; 16];
            let known = loaded
                .module
                .function_at(loaded.bias.file(behind))
                .is_some()
                || dwarf::Memory::read(&memory, behind, &mut bytes).is_err();
            if known { Vec::new() } else { bytes }
        })
    }

    fn sites_in(&self, start: LoadAddr, end: LoadAddr) -> bool {
        self.sites.any_in(start, end) || self.watches.has_code_in(start, end)
    }

    /// Whether a thread may have been interrupted, by a signal whose handler runs, behind `start`
    /// and before `end`: its stack has such an address then.
    fn may_come_back_into(&mut self, start: LoadAddr, end: LoadAddr) -> bool {
        /// Who has more on the stack is not looked at so closely.
        const MOST: u64 = 1 << 20;
        const PORTION: usize = 1 << 14;
        let Some(process) = &self.process else {
            return true;
        };
        let threads: Vec<ThreadId> = process.threads.keys().copied().collect();
        let mappings = self.os.mappings(process.pid);
        let mut bytes = vec![0; PORTION];
        for thread in threads {
            let Some(registers) = self.registers_of(thread) else {
                continue;
            };
            let sp = registers.sp() & !7;
            let stack = mappings.partition_point(|mapping| mapping.end.0 <= sp);
            let Some(stack) = mappings.get(stack).filter(|it| it.start.0 <= sp) else {
                return true;
            };
            if stack.end.0 - sp > MOST {
                return true;
            }
            let mut at = LoadAddr(sp);
            while at < stack.end {
                let read = self.os.read_memory(at, &mut bytes);
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

    /// Has the debuggee map memory near a site, if there is none with room.
    fn find_detour_room(&mut self, thread: ThreadId, addr: LoadAddr) -> bool {
        if self.detours.near(addr).is_some() {
            return true;
        }
        let Some(pid) = self.pid() else {
            return false;
        };
        let len = REGION + COUNTERS;
        let Some(place) = free_place(addr, len, &self.os.mappings(pid)) else {
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
            if self.system_call(thread, call) != Some(at.0 as i64) {
                self.detours.refused = true;
                return false;
            }
        }
        self.detours.regions.push(Region {
            start: place,
            used: 0,
            counters: 0,
        });
        true
    }

    /// Has the debuggee share memory with us to say things in.
    fn find_ring(&mut self, thread: ThreadId, near: LoadAddr) -> Result<(), &'static str> {
        const NO: &str = "the program cannot share memory with the debugger";
        if self.detours.ring.is_some() {
            return Ok(());
        }
        let pid = self.pid().ok_or(NO)?;
        // What it may not do could be its end.
        if self.os.is_confined(pid) {
            return Err("the program may not do all system calls (seccomp)");
        }
        if !self.find_detour_room(thread, near) {
            return Err(NO);
        }
        // A place that holds zero: no name.
        let name = self.detours.new_counter(near).ok_or(NO)?;
        let at = free_place(near, ring::LEN, &self.os.mappings(pid)).ok_or(NO)?;
        let file = self.system_call(thread, SystemCall::MemoryFile { name });
        let descriptor = file
            .and_then(|it| i32::try_from(it).ok())
            .filter(|it| *it >= 0);
        let descriptor = descriptor.ok_or(NO)?;
        let len = ring::LEN;
        let set = self.system_call(thread, SystemCall::SetLength { descriptor, len });
        let map = SystemCall::MapShared {
            addr: at,
            len,
            descriptor,
        };
        let mapped = self.system_call(thread, map);
        let shared = self.os.shared(pid, descriptor, len);
        self.system_call(thread, SystemCall::Close { descriptor });
        if set != Some(0) || mapped != Some(at.0 as i64) {
            return Err(NO);
        }
        self.detours.ring = Some(Ring::new(at, shared.ok_or(NO)?));
        Ok(())
    }

    /// Tells what the program has said since, up to a bound. True: there is more.
    pub(crate) fn hear_messages(&mut self) -> bool {
        /// Records at once.
        const MOST: usize = 4096;
        /// Bytes of one event.
        const LONGEST: usize = 1 << 15;
        let Some(mut ring) = self.detours.ring.take() else {
            return false;
        };
        let mut said: Vec<(BreakpointId, String)> = Vec::new();
        let mut heard = 0;
        while heard < MOST
            && let Some((whose, values)) = ring.next()
        {
            heard += 1;
            let detour = self.detours.all.get(&whose);
            let Some(message) = detour.and_then(|detour| detour.message.as_ref()) else {
                continue;
            };
            let target = Frameless {
                memory: self.memory(),
                modules: &self.modules,
            };
            match said.last_mut() {
                Some((id, text)) if *id == message.breakpoint && text.len() < LONGEST => {
                    target.say(message, &values, text);
                }
                _ => {
                    let mut text = String::new();
                    target.say(message, &values, &mut text);
                    said.push((message.breakpoint, text));
                }
            }
        }
        self.detours.ring = Some(ring);
        for (breakpoint, text) in said {
            self.events.push_back(Event::Log { breakpoint, text });
        }
        heard == MOST
    }

    /// Tells all that the program has said; its threads are stopped, or are no more.
    pub(crate) fn hear_all_messages(&mut self) {
        let Some(ring) = &self.detours.ring else {
            return;
        };
        if ring.is_read() {
            return;
        }
        while self.hear_messages() {}
        // Who was in the midst of telling is to end it.
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => Vec::new(),
        };
        for thread in threads {
            let raw = self.os.registers(thread).map(|raw| raw.pc());
            if raw.is_some_and(|pc| self.detours.holds(pc)) {
                self.registers_of(thread);
            }
        }
        loop {
            while self.hear_messages() {}
            let lost = self.detours.ring.as_mut().map_or(0, Ring::skip);
            if lost == 0 {
                return;
            }
            let text = format!(
                "{lost} log messages are lost: their threads were ended in the midst of them\n"
            );
            self.events.push_back(Event::Note(text));
        }
    }

    /// When to listen again to what the program says.
    pub(crate) fn next_hearing(&self) -> Option<Instant> {
        /// Nobody notices less.
        const OFTEN: Duration = Duration::from_millis(8);
        let runs = self.detours.ring.is_some() && self.state() == State::Running;
        runs.then(|| Instant::now() + OFTEN)
    }

    /// The program's registers, of a thread that is in a trampoline; true: past its site.
    pub(crate) fn out_of_trampoline(
        &mut self,
        thread: ThreadId,
        raw: &RegisterSet,
    ) -> Option<(RegisterSet, Option<LoadAddr>)> {
        let detour = self.detours.at(raw.pc())?;
        let (site, trampoline) = (detour.site, &detour.trampoline);
        let os = &*self.os;
        let read = |addr| {
            let mut word = [0; 8];
            (os.read_memory(addr, &mut word) == 8).then(|| u64::from_le_bytes(word))
        };
        let (kept, passed, counted) = match trampoline.state(raw.pc())? {
            Phase::Asking(kept) => (kept, None, None),
            Phase::Leaving(kept) => (kept, Some(site), None),
            Phase::Deciding if trampoline.stop == Some(raw.pc()) => {
                (trampoline.kept(), None, Some((site, detour.breakpoint)))
            }
            Phase::At(addr) => {
                let passed = (addr == site).then_some(site);
                return Some((at(*raw, addr), passed));
            }
            Phase::Deciding | Phase::Inside => return None,
        };
        let registers = trampoline.registers(raw, kept, read)?;
        if kept.vectors {
            self.give_vectors_back(thread, LoadAddr(raw.sp()));
        }
        if let (Some(_), Some(state)) = (counted, self.thread_mut(thread)) {
            state.counted = counted;
        }
        Some((at(registers, site), passed))
    }

    /// The program's vector registers, from where a trampoline keeps them.
    fn give_vectors_back(&mut self, thread: ThreadId, kept: LoadAddr) {
        /// Places in what XSAVE writes (Intel SDM, "XSAVE Managed State").
        const MXCSR: usize = 24;
        const XMM: usize = 160;
        const USED: usize = 512;
        const SSE: u8 = 1 << 1;
        let mut bytes = [0; trampoline::VECTOR_AREA as usize];
        if self.os.read_memory(kept, &mut bytes) != bytes.len() {
            return;
        }
        if let Some(mut area) = self.os.extended_registers(thread)
            && area.len() > USED
        {
            area[XMM..XMM + 64].copy_from_slice(&bytes[..64]);
            area[MXCSR..MXCSR + 4].copy_from_slice(&bytes[64..68]);
            area[USED] |= SSE;
            self.os.set_extended_registers(thread, &area);
        }
    }

    /// What a thread ran into, if that is a trap in a trampoline: it is back before it.
    pub(crate) fn detour_trap(&mut self, thread: ThreadId) -> Option<Trap> {
        if self.detours.is_empty() {
            return None;
        }
        let mut raw = self.os.registers(thread)?;
        let trap = raw.pc() - 1;
        let kind = self.detours.trap(trap)?;
        raw.set_pc(trap);
        self.os.set_registers(thread, &raw);
        self.registers_of(thread)?;
        match kind {
            DetourTrap::Ask(site) => Some(Trap::Site(site)),
            DetourTrap::Stop => {
                let (site, id) = self.thread_mut(thread)?.counted?;
                Some(Trap::Counted(site, id))
            }
        }
    }

    /// Whether a signal says that a question has read what is not there.
    pub(crate) fn is_fault_of_question(&self, thread: ThreadId, signal: Signal) -> bool {
        !self.detours.is_empty()
            && is_fault(signal)
            && self
                .os
                .signal_info(thread)
                .is_some_and(|info| info.code > 0)
            && self.os.registers(thread).is_some_and(|raw| {
                let phase = self.detours.phase(raw.pc());
                matches!(phase, Some((_, Phase::Asking(_))))
            })
    }

    /// A thread that is about to be told of a signal is where the program would be; where its own
    /// instruction is at fault, that is in its place again.
    pub(crate) fn out_of_the_way(&mut self, thread: ThreadId, signal: Signal) {
        if self.detours.is_empty() {
            return;
        }
        let raw = self.os.registers(thread).map(|raw| raw.pc());
        let Some((site, _)) = raw.and_then(|pc| self.detours.phase(pc)) else {
            return;
        };
        self.registers_of(thread);
        let info = self.os.signal_info(thread);
        if is_fault(signal) && info.is_some_and(|info| info.code > 0) {
            self.sites.end_diversion_at(site, &*self.os);
            if let Some(site) = self.sites.get(site) {
                site.passes.set(NEVER);
            }
        }
    }

    /// How many hits of a breakpoint the program has counted.
    pub(crate) fn counted_in_detours(&self, id: BreakpointId) -> u64 {
        let mut word = [0; 8];
        match self.detours.counter(id) {
            Some(at) if self.os.read_memory(at, &mut word) == 8 => u64::from_le_bytes(word),
            _ => 0,
        }
    }

    /// Breakpoints have been changed: what was asked before is not to be asked any more.
    pub(crate) fn end_changed_detours(&mut self) {
        let mut gone = Vec::new();
        for detour in self.detours.all.values_mut() {
            let options = self.breakpoints.options(detour.breakpoint);
            if options != Some(&detour.options) {
                gone.push(detour.site);
                detour.counter = None;
            }
        }
        for site in gone {
            self.sites.end_diversion_at(site, &*self.os);
            if let Some(site) = self.sites.get(site) {
                site.passes.set(0);
            }
        }
    }

    /// A step would be one into a trampoline, and never come out: it is to run into the trap.
    pub(crate) fn end_detour_before(&mut self, thread: ThreadId) {
        if self.detours.is_empty() {
            return;
        }
        let pc = self.registers_of(thread).map(|registers| registers.pc());
        let passed = self.thread_mut(thread).and_then(|state| state.passed);
        if let Some(pc) = pc
            && passed != Some(pc)
        {
            self.sites.end_diversion_at(pc, &*self.os);
        }
    }

    /// Lets a thread that is to get a signal leave the copies of what a jump covers: a handler
    /// must not see them.
    pub(crate) fn leave_copies(&mut self, thread: ThreadId) {
        for _ in 0..16 {
            let Some(registers) = self.registers_of(thread) else {
                return;
            };
            let passed = self.thread_mut(thread).and_then(|state| state.passed);
            let pc = registers.pc();
            let Some(copy) = self.detours.way_on(pc, &self.sites) else {
                return;
            };
            if passed != Some(pc) && self.sites.get(pc).is_some() {
                return;
            }
            self.os.set_registers(thread, &at(registers, copy));
            self.os.resume(thread, Resume::Step, Signal(0));
            let status = self.os.await_stop(thread);
            let Some(state) = self.thread_mut(thread) else {
                return;
            };
            state.registers = None;
            state.unwritten = false;
            state.passed = None;
            match status {
                Some(WaitStatus::Signal(signal)) if signal.0 == libc::SIGTRAP => {}
                Some(status) => {
                    state.deferred = Some(status);
                    return;
                }
                None => return,
            }
        }
    }
}

/// A breakpoint's message, where a record of it has all there is to tell.
fn message_of(
    breakpoint: BreakpointId,
    segments: &[Segment],
    scope: &CodeScope<'_>,
) -> Result<Message, String> {
    let mut parts = Vec::new();
    let mut offset = 0;
    for segment in segments {
        parts.push(match segment {
            Segment::Text(text) => Part::Text(text.as_str().into()),
            Segment::Value(expression) => {
                let captured = Captured::compile(expression, scope);
                let captured = captured.map_err(|why| why.to_string())?;
                // What is behind others could be something else when it is told.
                let whole = match captured.ty.shape() {
                    Shape::Scalar(_) | Shape::Enumeration(_) => true,
                    Shape::Pointer(to, _) => !matches!(to.shape(), Shape::Scalar(_)),
                    _ => false,
                };
                if !whole {
                    return Err(format!("a `{}` is more than its bytes", captured.ty.name()));
                }
                let at = offset;
                offset += captured.size.next_multiple_of(8);
                if offset > ring::ROOM {
                    return Err("its message has too many values".into());
                }
                Part::Value {
                    captured,
                    offset: at,
                    numbers: expression.numbers().unwrap_or_default(),
                }
            }
        });
    }
    Ok(Message {
        breakpoint,
        parts: parts.into(),
    })
}

/// Whether a signal may come of an instruction.
fn is_fault(signal: Signal) -> bool {
    matches!(
        signal.0,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL
    )
}

fn at(mut registers: RegisterSet, pc: LoadAddr) -> RegisterSet {
    registers.set_pc(pc);
    registers
}
