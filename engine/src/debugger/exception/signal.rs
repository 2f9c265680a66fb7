//! Signals: names, rules, and which of them stop the program.

use crate::debugger::{Debugger, Vote};
use crate::ids::{Signal, SignalInfo, ThreadId};
use crate::stops::event::{Event, StopReason};
use crate::stops::exception::signal::{SignalRule, is_quiet};
use crate::stops::exception::{ExceptionFilter, Subject};

impl Debugger {
    /// Returns the rule for a signal.
    pub fn signal_rule(&self, signal: Signal) -> SignalRule {
        let rule = self.stops.signal_rules.0.get(&signal).copied();
        rule.unwrap_or_else(|| SignalRule::usual(signal))
    }

    /// Sets the rules for these signals; all others get the default. Rules for SIGKILL and SIGSTOP
    /// have no effect.
    pub fn set_signal_rules(&mut self, rules: &[(Signal, SignalRule)]) {
        self.stops.signal_rules.0 = rules.iter().copied().collect();
    }

    /// Returns the details of the signal that a thread is about to receive.
    fn info_of(&self, thread: ThreadId, signal: Signal) -> SignalInfo {
        self.inferior
            .os()
            .signal_info(thread)
            .unwrap_or(SignalInfo {
                signal,
                code: 0,
                address: None,
                sender: None,
            })
    }

    /// Handles a signal-delivery-stop: the thread stops, or runs with or without the signal.
    pub(crate) fn on_signal(&mut self, thread: ThreadId, signal: Signal) -> Vote {
        let rule = self.signal_rule(signal);
        let sent_by_us = self.inferior.terminating && signal.0 == libc::SIGTERM;
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.signal = match rule.pass || sent_by_us {
                true => signal,
                false => Signal(0),
            };
        }
        let reason = match sent_by_us {
            true => None,
            false => self.ask_signal(thread, signal, rule),
        };
        if let Some(reason) = reason {
            return Vote::stop(reason);
        }
        if rule.print && !sent_by_us {
            let what = match rule.pass {
                true => "delivered",
                false => "discarded",
            };
            let from = self.sender(&self.info_of(thread, signal));
            let note = format!("{}{from}: {what} (thread {thread})\n", signal.name());
            self.emit(Event::Note(note));
        }
        if rule.pass || sent_by_us {
            self.signal_while_stepping(thread);
        }
        Vote::Resume
    }

    /// Returns whether a signal stops the program, by its rule or by a filter.
    fn ask_signal(
        &mut self,
        thread: ThreadId,
        signal: Signal,
        rule: SignalRule,
    ) -> Option<StopReason> {
        if let Some(reason) = self.ask_aborting_panic(thread, signal) {
            return Some(reason);
        }
        let explicit = self.stops.signal_rules.0.contains_key(&signal);
        let (mut ids, mut wanted) = (Vec::new(), rule.stop);
        let mut problem = None;
        for index in 0..self.stops.exceptions.watched.len() {
            let (filter, id) = match self.stops.exceptions.watched.get(index) {
                Some(watched) if watched.failure.is_none() => (watched.filter, watched.id),
                _ => continue,
            };
            let fits = match filter {
                ExceptionFilter::Signal(only) => only == signal,
                // Without a condition, signals of normal operation are excluded.
                ExceptionFilter::Signals => {
                    self.stops.exceptions.is_conditional(index) || !is_quiet(signal)
                }
                _ => false,
            };
            let silenced = explicit && !rule.stop && filter == ExceptionFilter::Signals;
            if !fits || silenced {
                continue;
            }
            match self.condition_holds(thread, index, &Subject::Signal(signal)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => problem = Some(error.to_string()),
            }
            wanted = true;
            ids.extend(id);
        }
        if let Some(problem) = problem {
            return Some(StopReason::BreakpointError(ids, problem));
        }
        if !wanted || self.is_aftermath(thread, signal) {
            return None;
        }
        let info = self.info_of(thread, signal);
        Some(StopReason::Signal { info, ids })
    }

    /// Returns the sender of a signal as part of a sentence; empty for signals of the kernel.
    pub(crate) fn sender(&self, info: &SignalInfo) -> String {
        match info.sender {
            Some(pid) if Some(pid) == self.pid() => " from the program itself".to_owned(),
            Some(0) => " from the kernel or another namespace".to_owned(),
            Some(pid) => match self.inferior.os().thread_name(pid, ThreadId(pid)) {
                name if name.is_empty() => format!(" from process {pid}"),
                name => format!(" from process {pid} ({name})"),
            },
            None => String::new(),
        }
    }
}
