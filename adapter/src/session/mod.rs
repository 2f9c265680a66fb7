//! One client and one debuggee. The session's thread owns everything that changes, carries out
//! requests in their order, and sleeps in one place, `Debugger::wait`.

pub mod children;
pub mod core_file;
pub mod debuginfod;
pub mod events;
pub mod handles;
pub mod handover;
pub mod history;
pub mod joined;
pub mod main_stop;
pub mod opening;
pub mod prefetch;
pub mod progress;
pub mod startup;
pub mod terminal;

use crate::config::USUAL_PREFIX;
use crate::protocol::{
    Body, InvalidatedEventBody, Malformed, Outgoing, OutputCategory, OutputEventBody, Request,
    body_of,
};
use crate::protocol::{RUNNING, RequestError};
use crate::requests::{self as routes, Answer, Handled, Request as _, Route, When};
use crate::requests::{Breakpoints, Disconnect, Evaluate, MemoryViews, WatchableData};
use crate::server::codec::FrameError;
use crate::server::{CancelFlag, Inbound, Inbox, Intake, Outbox, Refusal};
use crate::sources::{self, Client, CodeSources, Sources};
use children::Children;
use debuginfod::Debuginfod;
use engine::{Debugger, ExitStatus, Limits, State, ThreadId, Wait};
use events::Told;
use handles::Handles;
use history::History;
use joined::Joined;
use main_stop::MainStop;
use prefetch::Foresight;
use progress::Progress;
use serde::Serialize;
use serde_json::Value;
use startup::Startup;
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// Who is told something often asks at once, and a step that was asked for is soon done: so long we
/// stay awake for either. To be woken takes longer than most requests do.
const ALERT: Duration = Duration::from_micros(250);

/// Why a session ended badly.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The client sent what is no DAP.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The client may not use us.
    #[error("a client was refused: {0}")]
    Refused(Refusal),
    /// The system refuses what a debugger needs.
    #[error("{0}")]
    Engine(#[from] engine::Error),
    /// No thread or runtime to be had.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Everything that changes.
pub struct Session {
    /// The debuggee.
    pub debugger: Debugger,
    /// How the client counts and spells.
    pub client: Client,
    /// Numbers of this stop.
    pub handles: Handles,
    /// Paths.
    pub sources: Sources,
    /// What the client set.
    pub breakpoints: Breakpoints,
    /// What the client may set data breakpoints on.
    pub watchable: WatchableData,
    /// Machine code that the client was told of.
    pub codes: CodeSources,
    /// How instructions are written.
    pub flavor: engine::Flavor,
    /// Memory that the client looks at.
    pub memory_views: MemoryViews,
    /// How far launching or attaching has come.
    pub startup: Startup,
    /// How much of a value is shown in one line.
    pub limits: Limits,
    /// What stands before commands on the console; empty: there are none.
    pub command_prefix: String,
    /// What the client was told of the debuggee.
    pub told: Told,
    /// What happened before the stop.
    pub history: History,
    /// The stop at `main` that the settings ask for.
    pub main_stop: MainStop,
    /// Long work that the client was told of.
    pub progress: Progress,
    /// Processes that are to have sessions of their own.
    pub children: Children,
    /// Debug info that is to come from servers.
    pub debuginfod: Debuginfod,
    /// What the client is going to ask for.
    pub foresight: Foresight,
    /// A request has changed a variable: others may show the same memory.
    pub variables_changed: bool,
    /// The way in, for those who report from other threads.
    pub inbox: Inbox,
    outbox: Outbox,
    /// What the program has written of a line that has no end yet.
    joined: RefCell<Joined>,
    current: CancelFlag,
    /// The evaluation that waits for a call into the program, and what came behind it.
    calling: Option<(Request, CancelFlag)>,
    held: VecDeque<Inbound>,
    over: bool,
    /// When the client was last told something.
    told_at: Option<Instant>,
}

impl Session {
    /// A session that has heard nothing yet.
    pub fn new(debugger: Debugger, inbox: Inbox, outbox: Outbox) -> Self {
        Self {
            debugger,
            client: Client::default(),
            handles: Handles::default(),
            sources: Sources::default(),
            breakpoints: Breakpoints::default(),
            watchable: WatchableData::default(),
            codes: CodeSources::default(),
            flavor: engine::Flavor::default(),
            memory_views: MemoryViews::default(),
            startup: Startup::default(),
            limits: Limits::default(),
            command_prefix: USUAL_PREFIX.to_owned(),
            told: Told::default(),
            history: History::default(),
            main_stop: MainStop::default(),
            progress: Progress::default(),
            children: Children::default(),
            debuginfod: Debuginfod::default(),
            foresight: Foresight::default(),
            variables_changed: false,
            inbox,
            outbox,
            joined: RefCell::default(),
            current: CancelFlag::default(),
            calling: None,
            held: VecDeque::new(),
            over: false,
            told_at: None,
        }
    }

    /// Runs to the end: the client disconnects or vanishes.
    ///
    /// # Errors
    /// The client sent garbage, or the debuggee cannot be waited for.
    pub fn run(mut self, inbox: &Receiver<Inbound>, intake: &Intake) -> Result<(), SessionError> {
        while !self.over {
            if let Some(signal) = engine::os::asked_to_end() {
                tracing::info!(?signal, "asked to end by the system");
                self.let_go(None);
                events::exited(&mut self, ExitStatus::Detached);
                self.over = true;
                break;
            }
            match inbox.try_recv() {
                Ok(Inbound::Ended(end)) => {
                    self.let_go(None);
                    return Ok(end?);
                }
                Ok(inbound) => {
                    intake.begin();
                    self.receive(inbound);
                    self.told_at = Some(Instant::now());
                }
                // We hold a sender ourselves: it is only ever empty.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    intake.end();
                    self.sleep(intake)?;
                }
            }
            debuginfod::advance(&mut self);
        }
        // What came behind the end is answered, too.
        loop {
            // It may have been read with the request that ended the session.
            while let Ok(inbound) = inbox.try_recv() {
                self.receive(inbound);
            }
            if !intake.read_within(Duration::from_millis(10)) {
                return Ok(());
            }
        }
    }

    fn sleep(&mut self, intake: &Intake) -> Result<(), SessionError> {
        self.debugger.hold_output(self.outbox.is_full());
        let deadlines = [startup::deadline(self), progress::deadline(self)];
        let rest = self.joined.borrow().due();
        let deadline = deadlines.into_iter().chain([rest]).flatten().min();
        let woken = self.wait(deadline, intake.to_wait_for());
        if rest.is_some_and(|due| due <= Instant::now()) && !matches!(woken, Ok(Wait::Event(_))) {
            self.tell_joined();
        }
        match woken {
            Ok(Wait::Woken) => {}
            Ok(Wait::Client) => intake.read(),
            Ok(Wait::Deadline) if deadlines[0].is_none_or(|due| Instant::now() < due) => {}
            Ok(Wait::Deadline) => startup::on_deadline(self),
            Ok(Wait::Event(event)) => {
                let handled = catch_unwind(AssertUnwindSafe(|| events::on_event(self, event)));
                if let Err(panic) = handled {
                    tracing::error!(message = panic_text(&*panic), "an event was lost");
                }
                self.told_at = Some(Instant::now());
            }
            Err(error) => {
                self.important(&format!("The session cannot go on: {error}\n"));
                self.let_go(None);
                return Err(error.into());
            }
        }
        progress::advance(self);
        Ok(())
    }

    /// Does what the client is going to ask for, as long as it does not ask for anything. Whether
    /// there was something to do.
    fn foresee(&mut self) -> bool {
        let done = catch_unwind(AssertUnwindSafe(|| prefetch::prepare(self)));
        done.unwrap_or_else(|panic| {
            tracing::error!(message = panic_text(&*panic), "nothing is prepared");
            true
        })
    }

    /// Sleeps, but not at once when the client has just been told something.
    fn wait(
        &mut self,
        deadline: Option<Instant>,
        client: Option<BorrowedFd<'_>>,
    ) -> Result<Wait, engine::Error> {
        while let Some(at) = self.told_at {
            match self.debugger.wait(Some(Instant::now()), client)? {
                Wait::Deadline if self.foresee() => {}
                Wait::Deadline if at.elapsed() < ALERT => std::hint::spin_loop(),
                Wait::Deadline => break,
                other => return Ok(other),
            }
        }
        self.told_at = None;
        self.debugger.wait(deadline, client)
    }

    fn receive(&mut self, inbound: Inbound) {
        if self.over {
            self.refuse(inbound);
            return;
        }
        self.foresight.heard(&inbound);
        match inbound {
            // Its weight is kept with it: who sends more than fits has to wait.
            Inbound::Request(..) if self.is_held(&inbound) => self.held.push_back(inbound),
            Inbound::Request(request, flag, _weight) => self.request(request, flag),
            Inbound::Response(response) => {
                startup::on_response(self, &response);
                children::on_response(self, &response);
            }
            Inbound::Terminal(report) => startup::on_report(self, report),
            Inbound::RustSources(folder) => self.found_rust(folder),
            Inbound::Child(report) => children::on_report(self, report),
            Inbound::Given(given) => children::on_given(self, given),
            Inbound::Settings(changes) => children::on_settings(self, changes),
            Inbound::DebugFile(report) => debuginfod::on_report(self, report),
            Inbound::Core(report) => core_file::on_report(self, report),
            Inbound::Stdio(report) => opening::on_report(self, report),
            Inbound::Malformed(malformed, _weight) => self.malformed(malformed),
            Inbound::Ended(_) => {}
        }
    }

    /// Answers what came behind the end of the session, where nothing reaches the debuggee or the
    /// engine any more. News from other threads has no effect.
    fn refuse(&self, inbound: Inbound) {
        match inbound {
            // Some clients disconnect twice in a row.
            Inbound::Request(request, ..) if request.command == Disconnect::COMMAND => {
                self.respond(request.seq, &request.command, Ok(None));
            }
            Inbound::Request(request, ..) => {
                let error = RequestError::SessionEnded;
                self.respond(request.seq, &request.command, Err(error));
            }
            Inbound::Malformed(malformed, _) => self.malformed(malformed),
            _ => {}
        }
    }

    /// Whether an evaluation waits for a call into the program: the stop is to be the same after.
    pub fn is_calling(&self) -> bool {
        self.calling.is_some()
    }

    /// Whether a request has to wait until the call into the program has ended.
    fn is_held(&self, inbound: &Inbound) -> bool {
        let Inbound::Request(request, ..) = inbound else {
            return false;
        };
        let route = routes::find(&request.command);
        self.calling.is_some() && route.is_some_and(|route| route.waits_for_calls)
    }

    /// The call has ended: on with the evaluation that wanted it, and what came behind it.
    pub fn call_ended(&mut self) {
        if let Some((request, flag)) = self.calling.take() {
            self.request(request, flag);
        }
        while self.calling.is_none()
            && let Some(inbound) = self.held.pop_front()
        {
            self.receive(inbound);
        }
    }

    /// The call has stopped before it returned: nothing more comes of the evaluation that wanted
    /// it. What came behind that is held until the client knows of the stop.
    pub fn call_abandoned(&mut self, why: engine::Error) {
        if let Some((request, _)) = self.calling.take() {
            self.respond(request.seq, &request.command, Err(why.into()));
        }
    }

    fn malformed(&self, malformed: Malformed) {
        tracing::warn!(?malformed, "a message that cannot be understood");
        if let Some(seq) = malformed.seq {
            let error = RequestError::Malformed(malformed.message);
            self.respond(seq, &malformed.command, Err(error));
        }
    }

    fn request(&mut self, request: Request, flag: CancelFlag) {
        let again = (request.command == Evaluate::COMMAND).then(|| request.clone());
        let Request {
            seq,
            command,
            arguments,
        } = request;
        self.startup.heard();
        self.use_flag(CancelFlag::clone(&flag));
        let route = routes::find(&command);
        let handled = match route {
            None => Err(RequestError::UnknownCommand(command.clone())),
            Some(_) if self.is_cancelled() => Err(RequestError::Cancelled),
            Some(route) if !self.startup.introduced && !route.before_initialize() => {
                Err(RequestError::TooEarly)
            }
            Some(route) => self.carry_out(route, arguments),
        };
        match route {
            _ if matches!(handled, Err(RequestError::Calling)) && again.is_some() => {
                self.calling = again.map(|request| (request, flag));
            }
            Some(route) if route.answer == Answer::AfterConfiguration && handled.is_ok() => {
                self.startup.answer_later(seq, route.command);
            }
            _ => self.respond(seq, &command, handled),
        }
        if std::mem::take(&mut self.variables_changed) && self.client.invalidated {
            let areas = &["variables"];
            self.event("invalidated", &InvalidatedEventBody { areas });
        }
        if self.sources.seek_rust() {
            self.look_for_rust();
        }
        // A cancel that comes too late must not reach what the debugger does by itself.
        self.use_flag(CancelFlag::default());
        if !self.over {
            startup::advance(self);
        }
    }

    /// Asks `rustc` where its sources are, on a thread of its own.
    fn look_for_rust(&self) {
        let inbox = self.inbox.clone();
        let look = move || inbox.put(Inbound::RustSources(sources::rust_sources()));
        if let Err(error) = thread::Builder::new().name("rustc".into()).spawn(look) {
            tracing::warn!(%error, "no thread to ask rustc");
        }
    }

    /// Stacks that were shown may have sources now.
    fn found_rust(&mut self, folder: Option<PathBuf>) {
        let tell = folder.is_some() && self.state() == State::Stopped;
        self.sources.found_rust(folder);
        if tell && self.client.invalidated {
            let areas = &["stacks"];
            self.event("invalidated", &InvalidatedEventBody { areas });
        }
    }

    fn use_flag(&mut self, flag: CancelFlag) {
        self.debugger.set_cancel_flag(CancelFlag::clone(&flag));
        self.current = flag;
    }

    fn carry_out(&mut self, route: &Route, arguments: Value) -> Handled {
        self.check(route.when)?;
        catch_unwind(AssertUnwindSafe(|| (route.handle)(self, arguments))).unwrap_or_else(|panic| {
            Err(RequestError::Panic {
                command: route.command.to_owned(),
                message: panic_text(&*panic),
            })
        })
    }

    /// Whether a request makes sense in the present state.
    ///
    /// # Errors
    /// It does not; why.
    pub fn check(&self, when: When) -> Result<(), RequestError> {
        match (when, self.state()) {
            (When::Always, _) | (When::Process, State::Held | State::Running | State::Stopped) => {
                Ok(())
            }
            (When::Stopped, State::Stopped) => Ok(()),
            (When::Stopped, State::Running) if self.debugger.shows_a_stop() => Ok(()),
            (_, State::NoProcess) => Err(RequestError::NoProcess(
                "there is no program yet; send launch or attach first",
            )),
            (_, State::Ended) => Err(RequestError::NoProcess("the program has ended")),
            (_, State::Held) => Err(RequestError::NotStopped(
                "the program is held at its start until configurationDone",
            )),
            (_, State::Running) => Err(RequestError::NotStopped(RUNNING)),
        }
    }

    /// Where the session stands, for the client.
    pub fn state(&self) -> State {
        self.startup.state_before().unwrap_or(self.debugger.state())
    }

    /// A thread runs on, and in all-stop mode all others with it.
    pub fn runs_on(&mut self, thread: ThreadId) {
        self.codes.forget_lines();
        if self.debugger.is_non_stop() {
            self.handles.forget(thread);
        } else {
            self.handles.clear();
        }
    }

    /// Whether the client has cancelled the request that is being carried out.
    pub fn is_cancelled(&self) -> bool {
        self.current.load(Ordering::Relaxed) || engine::os::asked_to_end().is_some()
    }

    /// Answers a request.
    pub fn respond(&self, request_seq: i64, command: &str, handled: Handled) {
        self.tell_joined();
        match handled {
            Ok(body) => {
                let answer = Outgoing::Response {
                    request_seq,
                    success: true,
                    command,
                    message: None,
                };
                self.outbox.send(&answer, body);
            }
            Err(error) => {
                tracing::info!(command, %error, "request failed");
                let answer = Outgoing::Response {
                    request_seq,
                    success: false,
                    command,
                    message: Some(error.message()),
                };
                self.outbox
                    .send(&answer, Body::of(&error.body()).ok().flatten());
            }
        }
    }

    /// Sends an event; `()` is no body.
    pub fn event(&self, event: &'static str, body: &impl Serialize) {
        self.tell_joined();
        self.send_event(event, body);
    }

    fn send_event(&self, event: &'static str, body: &impl Serialize) {
        match body_of(body) {
            Ok(body) => drop(self.outbox.send(&Outgoing::Event { event, body }, None)),
            Err(error) => tracing::error!(event, %error, "an event cannot be written"),
        }
    }

    /// Tells the client what the program has written, by lines where it can be.
    pub fn join_output(&self, category: OutputCategory, text: String) {
        let ready = (self.joined.borrow_mut()).push(category, text, Instant::now());
        for (category, output) in ready {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// Tells it the beginning of a line that was kept back.
    fn tell_joined(&self) {
        let rest = self.joined.borrow_mut().take();
        if let Some((category, output)) = rest {
            self.send_event("output", &OutputEventBody { category, output });
        }
    }

    /// Asks the client for something; gives the number that its answer will name.
    pub fn ask(&self, command: &'static str, arguments: &impl Serialize) -> Option<u64> {
        self.tell_joined();
        match body_of(arguments) {
            Ok(arguments) => {
                let request = Outgoing::Request { command, arguments };
                self.outbox.send(&request, None)
            }
            Err(error) => {
                tracing::error!(command, %error, "a request cannot be written");
                None
            }
        }
    }

    /// Ends the debuggee, or lets it run on without us; `None`: as it began.
    pub fn let_go(&mut self, terminate: Option<bool>) {
        let terminate = terminate.unwrap_or(self.startup.ends_with_us());
        startup::fail(self, RequestError::Cancelled);
        let calling = self.calling.take().map(|(request, _)| request);
        let held = std::mem::take(&mut self.held);
        let held = held.into_iter().filter_map(|inbound| match inbound {
            Inbound::Request(request, ..) => Some(request),
            _ => None,
        });
        for request in calling.into_iter().chain(held) {
            self.respond(request.seq, &request.command, Err(RequestError::Cancelled));
        }
        self.debuginfod = Debuginfod::default();
        self.children = Children::default();
        if terminate {
            self.debugger.kill();
        } else {
            match self.debugger.detach() {
                Ok(()) if self.debugger.captures_output() => {
                    self.console("The program runs on; what it writes from now on is lost.\n");
                }
                Ok(()) => {}
                Err(error) => tracing::debug!(%error, "nothing to detach from"),
            }
        }
        self.handles.clear();
    }

    /// No request will follow.
    pub fn end(&mut self) {
        self.over = true;
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}
