//! The loop in which the debugger's thread sleeps.

use super::{Debugger, Wait};
use crate::ids::error::Error;
use crate::os::WaitInterest;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Output is passed on in pieces of this many bytes, so that requests are handled in between.
const OUTPUT_PORTION: usize = 1 << 16;

/// How long back-to-back events may be handled before the client is polled.
const CLIENT_POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Debugger {
    /// Blocks until there is an event, the waker was used, `client` can be read or has ended, or
    /// `deadline` has passed.
    ///
    /// # Errors
    /// The operating system refuses to wait; the session cannot continue.
    pub fn wait(
        &mut self,
        deadline: Option<Instant>,
        client: Option<BorrowedFd<'_>>,
    ) -> Result<Wait, Error> {
        loop {
            self.inferior.stops_may_be_ready = false;
            // A program with constant events must not keep the client from being served.
            if self.has_events() && self.client.polled_at.elapsed() >= CLIENT_POLL_INTERVAL {
                let besides = WaitInterest {
                    output: false,
                    client,
                };
                let ready = self.inferior.wait(Some(Instant::now()), besides)?;
                self.client.polled_at = Instant::now();
                self.inferior.remember(ready);
                if ready.client {
                    return Ok(Wait::Client);
                }
            }
            if let Some(event) = self.next_event() {
                return Ok(Wait::Event(event));
            }
            if std::mem::take(&mut self.inferior.woken) {
                return Ok(Wait::Woken);
            }
            // Backpressure: if the client reads too slowly, the program's output and logpoints
            // wait.
            if !self.client.output_held {
                self.collect_stops();
            }
            if !self.client.output_held && self.drain_messages() {
                self.inferior.stops_may_be_ready = true;
            }
            if !self.client.output_held && self.drain_records() {
                self.inferior.stops_may_be_ready = true;
            }
            self.switch_to_child();
            self.finish_if_ended();
            self.check_call();
            self.look_for_process();
            self.inferior.reclaim_handovers();
            if self.images.indexer.poll_events() {
                self.in_present(Self::bind_functions);
            }
            if self.images.holding {
                self.end_hold();
            }
            if dwarf::are_names_wanted() {
                self.prepare_wanted_names();
            }
            self.flush_module_notes();
            if self.has_events() {
                continue;
            }
            let ended = self
                .inferior
                .process
                .as_ref()
                .and_then(|process| process.end)
                .map(|end| end.patience)
                .filter(|_| !self.client.output_held && !self.inferior.waits_for_children());
            let until = if self.inferior.stops_may_be_ready {
                Some(Instant::now())
            } else {
                let found = self.awaited.as_ref().map(|awaited| awaited.next);
                let lost = self
                    .inferior
                    .following
                    .lost
                    .iter()
                    .map(|lost| lost.next)
                    .min();
                let drain_at = self
                    .inferior
                    .next_drain()
                    .filter(|_| !self.client.output_held);
                let read_at = self.next_records().filter(|_| !self.client.output_held);
                let others = [drain_at, read_at, self.call_deadline()];
                [deadline, ended, found, lost]
                    .into_iter()
                    .chain(others)
                    .flatten()
                    .min()
            };
            let besides = WaitInterest {
                output: !self.client.output_held && self.inferior.os().output_open(),
                client,
            };
            let ready = self.inferior.wait(until, besides)?;
            self.client.polled_at = Instant::now();
            self.inferior.remember(ready);
            if ready.output {
                self.pump_output(OUTPUT_PORTION);
            }
            if ready.client && !self.has_events() {
                return Ok(Wait::Client);
            }
            let idle = !ready.woken && !ready.stops && !ready.output && !self.has_events();
            if idle && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Wait::Deadline);
            }
        }
    }
}
