//! Exceptions, panics, signals and sanitizer reports: which of them stop the program, and their
//! details. Exceptions are read from memory; nothing is called in the debuggee.

mod explain;
mod info;
mod signal;

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::ids::FrameKey;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::inspect::value::text::read_terminated;
use crate::os::RegisterSet;
use crate::stops::breakpoint::BreakpointInfo;
use crate::stops::event::{Event, StopReason};
pub(crate) use crate::stops::exception::condition::Condition;
use crate::stops::exception::cpp::Reader;
use crate::stops::exception::report::SanitizerReport;
use crate::stops::exception::{
    Begun, Doomed, Exception, ExceptionBreakpoint, Point, Subject, Watched, find,
};
use crate::stops::fold::Tally;

use dwarf::{LoadAddr, Memory, Unwinder};
use rustc_hash::{FxHashMap, FxHashSet};

impl Debugger {
    /// Returns the first two arguments of a function that a thread is at the entry of.
    fn first_arguments(&self, registers: &RegisterSet) -> Option<(u64, u64)> {
        let registers_of_arguments = self.images.modules.arch().convention().integers;
        let mut arguments = registers_of_arguments.iter().map(|it| registers.get(*it));
        arguments.next()?.zip(arguments.next()?)
    }

    /// Replaces the filters. Returns the state of each, in order.
    pub fn set_exception_breakpoints(
        &mut self,
        wanted: &[ExceptionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let mut old = std::mem::take(&mut self.stops.exceptions.watched);
        for wanted in wanted {
            let same = old.iter().position(|old| {
                old.filter == wanted.filter
                    && old.condition_text == wanted.condition
                    && old.id.is_some()
            });
            let watched = match same {
                Some(index) => old.remove(index),
                None => {
                    let id = Some(self.stops.breakpoints.new_id());
                    Watched::new(wanted.filter, id, wanted.condition.clone())
                }
            };
            self.stops.exceptions.watched.push(watched);
        }
        self.place_exceptions();
        self.exception_infos()
    }

    fn exception_infos(&self) -> Vec<BreakpointInfo> {
        let has_process = self.inferior.process.is_some();
        let all = self.stops.exceptions.watched.iter();
        all.filter_map(|watched| self.stops.exceptions.info(watched, has_process))
            .collect()
    }

    /// Returns the state of a filter.
    pub(crate) fn exception_breakpoint(&self, id: BreakpointId) -> Option<BreakpointInfo> {
        let mut all = self.stops.exceptions.watched.iter();
        let watched = all.find(|watched| watched.id == Some(id))?;
        self.stops
            .exceptions
            .info(watched, self.inferior.process.is_some())
    }

    /// Rebinds the filters after modules were loaded or unloaded, and reports those that changed.
    pub(crate) fn bind_exceptions(&mut self) {
        let before = self.exception_infos();
        self.place_exceptions();
        for (old, new) in before.iter().zip(self.exception_infos()) {
            if *old != new {
                self.emit(Event::BreakpointChanged(new.id));
            }
        }
    }

    /// Binds the filters in new modules; most have no function that a filter needs.
    pub(crate) fn bind_exceptions_in_new(&mut self, new: &[ModuleId]) {
        if !self.stops.exceptions.wants_functions() {
            return;
        }
        let images = new.iter().filter_map(|id| self.images.modules.get(*id));
        let mut is_bound = false;
        for image in images {
            let found = self.stops.exceptions.found.entry(image.id);
            is_bound |= !found.or_insert_with(|| find(image)).is_empty();
        }
        if is_bound {
            self.bind_exceptions();
        }
    }

    /// Like `bind_exceptions`, after modules were unloaded: most had no traps for a filter.
    pub(crate) fn unbind_exceptions_in(&mut self, gone: &[ModuleId]) {
        let mut was_bound = false;
        for id in gone {
            let found = self.stops.exceptions.found.remove(id);
            was_bound |= found.is_some_and(|found| !found.is_empty());
        }
        if was_bound {
            self.bind_exceptions();
        }
    }

    /// Sets traps for the filters and removes those no longer needed.
    fn place_exceptions(&mut self) {
        if self.is_post_mortem() {
            return;
        }
        let exceptions = &mut self.stops.exceptions;
        let loaded = &self.images.modules.loaded;
        let ids: FxHashSet<ModuleId> = loaded.iter().map(|image| image.id).collect();
        exceptions.found.retain(|id, _| ids.contains(id));
        if exceptions.wants_functions() {
            for image in loaded {
                let found = exceptions.found.entry(image.id);
                found.or_insert_with(|| find(image));
            }
        }
        let wanted: FxHashMap<LoadAddr, Point> = exceptions
            .found
            .values()
            .flatten()
            .filter(|(point, _)| exceptions.wants(*point))
            .map(|(point, addr)| (*addr, *point))
            .collect();
        for addr in exceptions.points.keys() {
            if !wanted.contains_key(addr) {
                self.inferior.remove_site(*addr, Owner::Exception);
            }
        }
        exceptions.points.clear();
        for (addr, point) in wanted {
            if self.inferior.add_site(addr, Owner::Exception) {
                exceptions.points.insert(addr, point);
            }
        }
    }

    /// Returns the stop reason if a filter stops for the function that a thread has entered.
    pub(crate) fn evaluate_exceptions(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
    ) -> Option<StopReason> {
        let point = *self.stops.exceptions.points.get(&addr)?;
        if point == Point::PanicBegins {
            self.note_panic(thread);
            return None;
        }
        if point == Point::Panic {
            self.stops.exceptions.begun.remove(&thread);
        }
        let exception = self.exception_at(thread, point)?;
        let registers = self.inferior.registers(thread)?;
        let back = match exception.point {
            // The exception may still be caught.
            Point::Panic => Some(self.return_at_entry(&registers)?),
            _ => None,
        };
        self.stop_for(thread, exception, (registers.sp(), back))
    }

    /// Records a panic, at the entry of the function that runs the hook.
    fn note_panic(&mut self, thread: ThreadId) {
        let Some(registers) = self.inferior.registers(thread) else {
            return;
        };
        let payload = self.first_arguments(&registers);
        if let (Some(payload), Some(back)) = (payload, self.return_at_entry(&registers)) {
            let sp = registers.sp();
            self.stops
                .exceptions
                .begun
                .insert(thread, Begun { payload, sp, back });
        }
    }

    /// Returns the stop reason if a thread aborts in a panic that cannot unwind and a filter stops
    /// for it. The hook has run, so the message has been formatted.
    fn evaluate_aborting_panic(&mut self, thread: ThreadId, signal: Signal) -> Option<StopReason> {
        if signal != Signal::ABRT {
            return None;
        }
        let begun = self.stops.exceptions.begun.remove(&thread)?;
        let sp = self.inferior.registers(thread)?.sp();
        if sp > begun.sp || !self.returns_to(begun.sp, begun.back) {
            return None;
        }
        let memory = self.inferior.memory();
        let reader = Reader {
            memory: &memory,
            modules: &self.images.modules,
        };
        let panic = reader.panic(begun.payload.0, begun.payload.1);
        // The message of a panic in the hook itself is never formatted; the stack explains more
        // then.
        panic.message.as_ref().or(panic.type_name.as_ref())?;
        let exception = Exception {
            point: Point::Panic,
            subject: Some(Subject::Panic(Box::new(panic))),
        };
        self.stop_for(thread, exception, (begun.sp, Some(begun.back)))
    }

    /// Returns the stop reason if a filter stops for an exception. `call`: the stack pointer and
    /// the return address of the call that ends the program.
    fn stop_for(
        &mut self,
        thread: ThreadId,
        exception: Exception,
        (sp, back): (u64, Option<u64>),
    ) -> Option<StopReason> {
        let point = exception.point;
        if point == Point::Terminate && self.is_within_doomed(thread) {
            return None;
        }
        let mut tally = Tally::default();
        for index in 0..self.stops.exceptions.watched.len() {
            let watched = self.stops.exceptions.watched.get(index)?;
            if watched.failure.is_some() || !watched.filter.wants(point) {
                continue;
            }
            let id = watched.id;
            let holds = match &exception.subject {
                Some(subject) => self.condition_holds(thread, index, subject),
                None => Ok(!self.stops.exceptions.is_conditional(index)),
            };
            tally.add(id, holds.map_err(|error| error.to_string()));
        }
        let reason = tally.reason(|ids| StopReason::Exception { ids, exception });
        let is_exception = matches!(reason, Some(StopReason::Exception { .. }));
        if is_exception && matches!(point, Point::Terminate | Point::Panic) {
            self.stops.exceptions.doomed = Some(Doomed { thread, sp, back });
        }
        reason
    }

    /// Returns the return address of a function that a thread is at the entry of.
    fn return_at_entry(&self, registers: &RegisterSet) -> Option<u64> {
        let arch = self.images.modules.arch();
        let back = arch.return_at_entry(registers, &self.inferior.memory())?;
        Some(back.addr.0)
    }

    /// Returns whether the function that was entered with this stack pointer still has its return
    /// address in memory, if the architecture keeps it there.
    fn returns_to(&self, sp: u64, back: u64) -> bool {
        let slot = self.images.modules.arch().return_slot(sp);
        slot.is_none_or(|slot| self.os_word(slot.0) == Some(back))
    }

    fn os_word(&self, addr: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.inferior.os().read_memory(LoadAddr(addr), &mut bytes) == 8)
            .then(|| u64::from_le_bytes(bytes))
    }

    /// Returns whether an abort follows from the reported event: it is raised deeper in the same
    /// call.
    fn is_aftermath(&mut self, thread: ThreadId, signal: Signal) -> bool {
        signal == Signal::ABRT && self.is_within_doomed(thread)
    }

    /// Returns whether a thread is still in the call whose end of the program was reported.
    fn is_within_doomed(&mut self, thread: ThreadId) -> bool {
        let doomed = self.stops.exceptions.doomed.as_ref();
        let Some(doomed) = doomed.filter(|doomed| doomed.thread == thread) else {
            return false;
        };
        let (sp, back) = (doomed.sp, doomed.back);
        let here = self
            .inferior
            .registers(thread)
            .map(|registers| registers.sp());
        let runs = || back.is_none_or(|back| self.returns_to(sp, back));
        here.is_some_and(|here| here <= sp.wrapping_add(8)) && runs()
    }

    /// Evaluates the condition of a filter.
    fn condition_holds(
        &mut self,
        thread: ThreadId,
        index: usize,
        subject: &Subject,
    ) -> Result<bool, Error> {
        let Some(watched) = self.stops.exceptions.watched.get(index) else {
            return Ok(false);
        };
        match watched.condition.clone() {
            None => Ok(true),
            Some(Condition::Names(patterns)) => {
                Ok(crate::stops::exception::condition::fits(&patterns, subject))
            }
            Some(Condition::Expression(expression)) => {
                let text = watched.condition_text.clone().unwrap_or_default();
                self.stops.exceptions.evaluated = Some(subject.clone());
                let frame = FrameKey { thread, level: 0 };
                let holds = self.in_frame(frame, |context| expression.is_true(context));
                self.stops.exceptions.evaluated = None;
                holds.map_err(|error| Error::eval(format!("exception condition `{text}`: {error}")))
            }
        }
    }

    /// Returns the exception of a thread at the entry of such a function; `None` if there is
    /// nothing to report.
    fn exception_at(&mut self, thread: ThreadId, point: Point) -> Option<Exception> {
        if point == Point::Report {
            // The report's text may still be in the pipe.
            self.pump_output(crate::debugger::OUTPUT_DRAIN_LIMIT);
        }
        let registers = self.inferior.registers(thread)?;
        let (first, second) = self.first_arguments(&registers)?;
        let terminating = match point {
            Point::Terminate => self.words_near(thread),
            _ => Vec::new(),
        };
        let memory = self.inferior.memory();
        let reader = Reader {
            memory: &memory,
            modules: &self.images.modules,
        };
        let point = match point {
            Point::Catch if !reader.has_handler(first) => return None,
            Point::CatchOrEnd if !reader.has_handler(first) => Point::Terminate,
            Point::CatchOrEnd => Point::Catch,
            Point::Raise if reader.is_rethrown(first) => Point::Rethrow,
            Point::Raise => Point::Throw,
            point => point,
        };
        let subject = match point {
            Point::Throw | Point::Rethrow | Point::Catch => {
                Some(Subject::Cpp(reader.thrown(first)?))
            }
            Point::Raise | Point::CatchOrEnd | Point::PanicBegins => return None,
            Point::Terminate if terminating.is_empty() => Some(Subject::Cpp(reader.thrown(first)?)),
            Point::Terminate => reader.among(terminating).map(Subject::Cpp),
            Point::Panic => Some(Subject::Panic(Box::new(reader.panic(first, second)))),
            Point::Report => {
                let (bytes, _) = read_terminated(&memory, LoadAddr(first), 1, 4096).ok()?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let summary = text.strip_prefix("SUMMARY: ").unwrap_or(&text);
                let summary = summary.trim_end().to_owned();
                Some(Subject::Report(SanitizerReport {
                    summary,
                    is_printed: true,
                }))
            }
            Point::Mistake => {
                let stack = (0..64).map(|at| registers.sp().wrapping_add(at * 8));
                let words: Vec<u64> = stack
                    .map_while(|at| memory.read_uint(LoadAddr(at), 8).ok())
                    .collect();
                let what = reader.mistake(&words)?;
                Some(Subject::Report(SanitizerReport {
                    summary: format!("UndefinedBehaviorSanitizer: {what}"),
                    is_printed: false,
                }))
            }
        };
        Some(Exception { point, subject })
    }

    /// Returns words that may be the address of the handled exception: callee-saved registers of
    /// the callers, words on the stack, and what a call just before may have returned.
    fn words_near(&mut self, thread: ThreadId) -> Vec<u64> {
        let mut words = Vec::new();
        let Ok((mut address, mut registers)) = self.innermost(thread) else {
            return words;
        };
        let saved = registers.machine().callee_saved();
        let stack = registers.get(registers.machine().sp());
        let general = self.images.modules.arch().general_registers();
        let returned: Vec<u64> = general.filter_map(|it| registers.get(it)).collect();
        for _ in 0..3 {
            words.extend(saved.iter().filter_map(|register| registers.get(*register)));
            let memory = self.inferior.memory();
            let modules = &self.images.modules;
            let unwind = |it: &mut Unwinder| it.unwind(modules, &memory, address, &registers);
            let unwound = self.views.unwinder.with(modules, unwind);
            match unwound.ok().and_then(|unwound| unwound.caller) {
                Some(caller) => (address, registers) = caller,
                None => break,
            }
        }
        let on_stack = stack
            .into_iter()
            .flat_map(|sp| (0..32).map(move |at| sp + at * 8));
        words.extend(on_stack.filter_map(|addr| self.os_word(addr)));
        words.extend(returned);
        words
    }

    /// Records the reason of a stop until the process resumes.
    pub(crate) fn show_exception(&mut self, thread: ThreadId, reason: &StopReason) {
        let subject = match reason {
            StopReason::Exception { exception, .. } => exception.subject.clone(),
            StopReason::Signal { info, .. } => Some(Subject::Signal(info.signal)),
            StopReason::Trap => Some(Subject::Signal(Signal::TRAP)),
            _ => return,
        };
        let shown = (reason.clone(), subject);
        self.stops.exceptions.shown.insert(thread, shown);
    }

    /// Keeps the end of stderr if a sanitizer may report there.
    pub(crate) fn keep_stderr(&mut self, bytes: &[u8]) {
        const KEPT: usize = 1 << 16;
        let exceptions = &mut self.stops.exceptions;
        if !exceptions.points.values().any(|it| *it == Point::Report) {
            return;
        }
        exceptions.stderr.extend_from_slice(bytes);
        if exceptions.stderr.len() > 2 * KEPT {
            let gone = exceptions.stderr.len() - KEPT;
            exceptions.stderr.drain(..gone);
        }
    }
}
