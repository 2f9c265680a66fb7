//! The loop of a session: it handles the client's messages, the debuggee's events and reports of
//! other threads one at a time, and blocks in one place, `Debugger::wait`.

mod guests;
mod reports;
mod serve;

pub use serve::{serve, serve_after, serve_command};

use crate::protocol::{Handled, Malformed, Request, RequestError};
use crate::protocol::{InvalidatedEventBody, Response};
use crate::requests::{self, Disconnect, Effect, InThePast, Request as _, ResponseTiming, Route};
use crate::server::codec::FrameError;
use crate::server::{CancelFlag, Inbound, Intake, Refusal};
use crate::session::reports::Report;
use crate::session::{
    self, Session, call_trace, children, debuginfod, past, prefetch, progress, startup,
};
use engine::{Event, ExitStatus, Signal, Wait};
use serde_json::Value;
use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// How long to poll after sending something, before sleeping: the client often replies at once and
/// a step is soon done, and a wake-up costs more than most requests.
const SPIN_AFTER_SEND: Duration = Duration::from_micros(250);
/// How long to wait for each further message after the end of the session.
const FINAL_READ_TIMEOUT: Duration = Duration::from_millis(10);

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The client sent something that is not DAP.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The client is not admitted.
    #[error("a client was refused: {0}")]
    Refused(Refusal),
    /// A system call that a debugger needs fails.
    #[error("{0}")]
    Engine(#[from] engine::Error),
    /// No thread or runtime is available.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A session with its sources of messages.
struct Service<'a> {
    session: Session,
    received: &'a Receiver<Inbound<Report>>,
    intake: &'a Intake<Report>,
    /// When something was last sent to the client.
    last_sent: Option<Instant>,
    /// When there was last something to do.
    quiet_since: Instant,
}

impl Service<'_> {
    /// Runs until the client disconnects or its stream ends.
    ///
    /// # Errors
    /// The client sent something that is not DAP, or waiting for the debuggee failed.
    fn run(mut self) -> Result<(), ServiceError> {
        while !self.session.is_over() {
            if engine::os::take_interrupt() && !self.session.debugger.signal_group(Signal::INT) {
                engine::os::end_by_interrupt();
            }
            if let Some(signal) = self.session.must_end() {
                tracing::info!(?signal, "received a signal to end");
                self.session.end_or_detach(None);
                startup::exited(&mut self.session, ExitStatus::Detached);
                self.session.end();
                break;
            }
            match self.received.try_recv() {
                Ok(Inbound::Ended(end)) => {
                    self.session.end_or_detach(None);
                    return Ok(end?);
                }
                Ok(inbound) => {
                    self.intake.begin();
                    self.receive(inbound);
                    self.note_activity();
                }
                // The session holds a sender itself, so the queue is never disconnected.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    self.intake.end();
                    self.sleep()?;
                }
            }
            debuginfod::advance(&mut self.session);
            startup::release_if_ready(&mut self.session);
            self.serve_guests();
        }
        // Messages after the end get a response, too. Only this thread reads them.
        self.intake.end();
        let mut more = true;
        loop {
            // They may have been read with the request that ended the session, and the thread that
            // reads during long requests may still queue one: the queue is drained after each wait.
            while let Ok(inbound) = self.received.try_recv() {
                self.receive(inbound);
            }
            if !more {
                return Ok(());
            }
            more = self.intake.read_within(FINAL_READ_TIMEOUT);
        }
    }

    fn sleep(&mut self) -> Result<(), ServiceError> {
        let session = &mut self.session;
        session.debugger.hold_output(session.is_client_slow());
        let deadlines = [
            startup::deadline(session),
            progress::deadline(session),
            call_trace::deadline(session),
        ];
        let rest = session.joined_due();
        let keep = past::deadline(session, self.quiet_since);
        let deadline = deadlines.into_iter().chain([rest, keep]).flatten().min();
        let woken = self.wait(deadline, self.intake.wait_descriptor());
        if rest.is_some_and(|due| due <= Instant::now()) && !matches!(woken, Ok(Wait::Event(_))) {
            self.session.flush_joined_output();
        }
        if matches!(woken, Ok(Wait::Deadline)) && keep.is_some_and(|due| due <= Instant::now()) {
            past::keep(&mut self.session);
        }
        match woken {
            Ok(Wait::Woken) => {}
            Ok(Wait::Client) => self.intake.read(),
            Ok(Wait::Deadline) if deadlines[0].is_none_or(|due| Instant::now() < due) => {}
            Ok(Wait::Deadline) => startup::on_deadline(&mut self.session),
            Ok(Wait::Event(event)) => {
                let handled = catch_unwind(AssertUnwindSafe(|| self.on_event(event)));
                if let Err(panic) = handled {
                    tracing::error!(message = panic_text(&*panic), "cannot convert an event");
                }
                self.note_activity();
            }
            Err(error) => {
                let text = format!("The session failed: {error}\n");
                self.session.important_note(&text);
                self.session.end_or_detach(None);
                return Err(error.into());
            }
        }
        progress::advance(&mut self.session);
        if call_trace::check_time(&mut self.session) {
            self.end_trace();
            self.take_deferred();
        }
        Ok(())
    }

    fn note_activity(&mut self) {
        let now = Instant::now();
        self.last_sent = Some(now);
        self.quiet_since = now;
    }

    /// Blocks until something happens; polls for a while first if the client has just been sent
    /// something.
    fn wait(
        &mut self,
        deadline: Option<Instant>,
        client: Option<BorrowedFd<'_>>,
    ) -> Result<Wait, engine::Error> {
        while let Some(at) = self.last_sent {
            match self.session.debugger.wait(Some(Instant::now()), client)? {
                Wait::Deadline if self.prefetch_step() => {}
                Wait::Deadline if at.elapsed() < SPIN_AFTER_SEND => std::hint::spin_loop(),
                Wait::Deadline => break,
                other => return Ok(other),
            }
        }
        self.last_sent = None;
        self.session.debugger.wait(deadline, client)
    }

    /// Reads part of what the client will request. Returns false if there is nothing to read.
    fn prefetch_step(&mut self) -> bool {
        let done = catch_unwind(AssertUnwindSafe(|| prefetch::advance(&mut self.session)));
        done.unwrap_or_else(|panic| {
            tracing::error!(message = panic_text(&*panic), "prefetch failed");
            true
        })
    }

    fn on_event(&mut self, event: Event) {
        match call_trace::on_event(&mut self.session, event) {
            Some(Event::CallEnded) => self.repeat_evaluation(),
            Some(event) => startup::on_event(&mut self.session, event),
            None => {}
        }
        self.end_trace();
        self.take_deferred();
    }

    /// Returns the text of a trace that has ended to the request that waits for it.
    fn end_trace(&mut self) {
        if self.session.call_trace.has_ended() {
            self.repeat_evaluation();
            self.session.call_trace.forget_result();
        }
    }

    /// Handles deferred requests, unless an evaluation is pending: its call may have ended, or was
    /// abandoned.
    fn take_deferred(&mut self) {
        while let Some((request, flag, weight)) = self.session.deferred.pop() {
            self.receive(Inbound::Request(request, flag, weight));
        }
    }

    /// Handles the request again that waited for a call, or for the trace of one.
    fn repeat_evaluation(&mut self) {
        if let Some((request, flag)) = self.session.deferred.take_evaluation() {
            let route = requests::find(&request.command);
            self.request(route, request, flag);
        }
    }

    fn receive(&mut self, inbound: Inbound<Report>) {
        if self.session.is_over() {
            self.refuse(inbound);
            return;
        }
        match inbound {
            Inbound::Request(request, flag, weight) => {
                let route = requests::find(&request.command);
                if route.is_none_or(|route| route.effect != Effect::Reads) {
                    self.session.prefetch.invalidate();
                }
                let deferred = &mut self.session.deferred;
                if deferred.is_calling() && route.is_some_and(|route| route.deferred_during_call) {
                    deferred.push((request, flag, weight));
                } else {
                    self.request(route, request, flag);
                    // It may have ended a trace that had not begun.
                    self.end_trace();
                }
            }
            Inbound::Response(response) => self.on_response(&response),
            Inbound::Report(report) => reports::on_report(&mut self.session, report),
            Inbound::Malformed(malformed, _weight) => self.malformed(malformed),
            Inbound::Ended(_) => {}
        }
    }

    fn on_response(&mut self, response: &Response) {
        startup::on_response(&mut self.session, response);
        children::on_response(&mut self.session, response);
    }

    /// Answers messages after the end of the session with an error; none reaches the debuggee or
    /// the engine. Report from other threads has no effect.
    fn refuse(&mut self, inbound: Inbound<Report>) {
        match inbound {
            // Some clients send two `disconnect` requests in a row.
            Inbound::Request(request, ..) if request.command == Disconnect::COMMAND => {
                let Request { seq, command, .. } = request;
                self.session.respond(seq, &command, Ok(None));
            }
            Inbound::Request(request, ..) => {
                let error = RequestError::SessionEnded;
                let Request { seq, command, .. } = request;
                self.session.respond(seq, &command, Err(error));
            }
            Inbound::Malformed(malformed, _) => self.malformed(malformed),
            _ => {}
        }
    }

    fn malformed(&mut self, malformed: Malformed) {
        tracing::warn!(?malformed, "invalid message");
        if let Some(seq) = malformed.seq {
            let error = RequestError::Malformed(malformed.message);
            self.session.respond(seq, &malformed.command, Err(error));
        }
    }

    fn request(&mut self, route: Option<&Route>, request: Request, flag: CancelFlag) {
        let span = tracing::debug_span!("request", seq = request.seq, command = request.command);
        let _entered = span.enter();
        let again = route
            .is_some_and(|route| route.retry_after_call)
            .then(|| request.clone());
        let Request {
            seq,
            command,
            arguments,
        } = request;
        let session = &mut self.session;
        session.startup.on_request();
        session.use_flag(CancelFlag::clone(&flag));
        let handled = match route {
            None => Err(RequestError::UnknownCommand(command.clone())),
            Some(_) if session.is_cancelled() => Err(RequestError::Cancelled),
            Some(route) if !session.client.introduced && !route.before_initialize => {
                Err(RequestError::TooEarly)
            }
            Some(route) => carry_out(session, route, arguments),
        };
        match (handled, route, again) {
            (Err(RequestError::Calling), _, Some(again)) => {
                session.deferred.retry_later(again, flag);
            }
            (Ok(_), Some(route), _) if route.response == ResponseTiming::AfterConfiguration => {
                session.startup.respond_later(seq, route.command);
            }
            (handled, route, _) => {
                let resumes = route.is_some_and(|route| route.effect == Effect::Runs);
                let has_resumed = resumes && handled.is_ok();
                session.respond(seq, &command, handled);
                if has_resumed {
                    session::guests::resumed(session);
                    session.report_step(&command);
                }
            }
        }
        if std::mem::take(&mut session.variables_changed) && session.client.invalidated {
            let areas = &["variables"];
            session.event("invalidated", &InvalidatedEventBody { areas });
        }
        if session.sources.seek_rust() {
            session.find_rust_sources();
        }
        // A late cancel must not affect the debugger's own work.
        session.use_flag(CancelFlag::default());
        if !session.is_over() {
            startup::advance(session);
        }
    }
}

fn carry_out(session: &mut Session, route: &Route, arguments: Value) -> Handled {
    session.check(route.when)?;
    if route.in_the_past == InThePast::Leaves {
        session.debugger.return_to_head();
    }
    let shown = match route.in_the_past {
        InThePast::Shown => None,
        InThePast::Present | InThePast::Leaves => session.debugger.put_past_aside(),
    };
    let handled = handle(session, route, arguments);
    if route.in_the_past == InThePast::Present && shown.is_some() {
        session.debugger.show(shown)?;
    }
    handled
}

fn handle(session: &mut Session, route: &Route, arguments: Value) -> Handled {
    catch_unwind(AssertUnwindSafe(|| (route.handle)(session, arguments))).unwrap_or_else(|panic| {
        Err(RequestError::Panic {
            command: route.command.to_owned(),
            message: panic_text(&*panic),
        })
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}
