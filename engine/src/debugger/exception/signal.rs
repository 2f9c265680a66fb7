//! Signals: names, rules, and which of them stop the program.

use crate::debugger::{Debugger, Vote};
use crate::ids::{Signal, SignalInfo, ThreadId};
use crate::stops::event::{Event, StopReason};
use crate::stops::exception::Subject;
use crate::stops::exception::signal::SignalRule;
use crate::stops::fold::Tally;

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
        let is_ours = self.inferior.terminating && signal == Signal::TERM;
        let delivery = rule.delivery(is_ours);
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.signal = match delivery.is_delivered {
                true => signal,
                false => Signal(0),
            };
        }
        if !is_ours && let Some(reason) = self.evaluate_signal(thread, signal, rule) {
            return Vote::stop(reason);
        }
        // The program has said it before.
        if let Some(outcome) = delivery.note.filter(|_| !self.is_in_replay()) {
            let from = self.sender(&self.info_of(thread, signal));
            let note = format!("{}{from}: {outcome} (thread {thread})\n", signal.name());
            self.emit(Event::Note(note));
        }
        if delivery.is_delivered {
            self.signal_while_stepping(thread);
        }
        Vote::Resume
    }

    /// Returns the reason to stop for a signal, by its rule or by a filter.
    fn evaluate_signal(
        &mut self,
        thread: ThreadId,
        signal: Signal,
        rule: SignalRule,
    ) -> Option<StopReason> {
        if let Some(reason) = self.evaluate_aborting_panic(thread, signal) {
            return Some(reason);
        }
        let explicit = self.stops.signal_rules.0.get(&signal).copied();
        let mut tally = Tally::default();
        tally.add(None, Ok(rule.stop));
        for index in 0..self.stops.exceptions.watched.len() {
            let (filter, id) = match self.stops.exceptions.watched.get(index) {
                Some(watched) if watched.failure.is_none() => (watched.filter, watched.id),
                _ => continue,
            };
            let is_conditional = self.stops.exceptions.is_conditional(index);
            if filter.wants_signal(signal, explicit, is_conditional) {
                let holds = self.condition_holds(thread, index, &Subject::Signal(signal));
                tally.add(id, holds.map_err(|error| error.to_string()));
            }
        }
        let reason = tally.reason(|ids| StopReason::Signal {
            info: self.info_of(thread, signal),
            ids,
        })?;
        let is_signal = matches!(reason, StopReason::Signal { .. });
        (!is_signal || !self.is_aftermath(thread, signal)).then_some(reason)
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
