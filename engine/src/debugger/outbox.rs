//! The queue of events for the client.

use super::Debugger;
use crate::inferior::Notice;
use crate::stops::event::Event;

/// Size in bytes from which on an event of log messages gets no more of them.
pub(crate) const MAX_LOG_EVENT_BYTES: usize = 1 << 15;

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::ThreadStarted(thread) => Event::ThreadStarted(thread),
            Notice::ThreadExited(thread) => Event::ThreadExited(thread),
            Notice::ChildHeld { pid, program } => Event::ChildHeld { pid, program },
            Notice::Remark(text) => Event::Note(text),
        }
    }
}

impl Debugger {
    /// Adds an event to the queue. A change of a mark is one of its tracepoint.
    pub(crate) fn emit(&mut self, event: Event) {
        self.take_notices();
        if matches!(event, Event::BreakpointChanged(id) if self.stops.breakpoints.is_hidden(id)) {
            return;
        }
        self.client.events.push_back(match event {
            Event::BreakpointChanged(id) => {
                Event::BreakpointChanged(self.stops.breakpoints.known_to_clients(id))
            }
            event => event,
        });
    }

    /// Returns whether the queue has events.
    pub(super) fn has_events(&self) -> bool {
        !self.client.events.is_empty() || !self.inferior.notices.is_empty()
    }

    /// Removes and returns the next event. A stop that has lost its cause is withdrawn instead.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        loop {
            self.take_notices();
            match self.client.events.pop_front()? {
                Event::Stopped(stop) => {
                    if let Some(stop) = self.confirm_stop(stop) {
                        return Some(Event::Stopped(stop));
                    }
                }
                event => return Some(event),
            }
        }
    }

    /// Drops all events in the queue.
    pub(super) fn drop_events(&mut self) {
        self.inferior.notices.clear();
        self.client.events.clear();
    }

    /// Drops the events for which `is_wanted` returns false.
    pub(super) fn keep_events(&mut self, is_wanted: impl Fn(&Event) -> bool) {
        self.take_notices();
        self.client.events.retain(is_wanted);
    }

    /// Appends log messages to the last event in the queue if that has log messages, too: one event
    /// with many messages is cheaper than many events.
    pub(crate) fn emit_console(&mut self, text: &str) {
        self.take_notices();
        let text = self.travel.unreported(text);
        if text.is_empty() {
            return;
        }
        match self.client.events.back_mut() {
            Some(Event::Log(log)) if log.len() < MAX_LOG_EVENT_BYTES => log.push_str(text),
            _ => self.client.events.push_back(Event::Log(text.to_owned())),
        }
    }

    /// Moves the inferior's notices to the queue. Called before an event is added, so that all
    /// events are in the order in which they occurred.
    fn take_notices(&mut self) {
        for notice in std::mem::take(&mut self.inferior.notices) {
            if let Notice::ThreadExited(thread) = notice {
                self.forget_paths(thread);
                self.forget_passes(thread);
            }
            self.client.events.push_back(notice.into());
        }
    }
}
