//! A client of the protocol that is strict about everything the adapter says.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::binary::stillpoint;
use crate::fixture::Fixture;
use crate::{process, schema};

/// How long any one wait may take.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// What the threads that listen to the adapter report.
enum Incoming {
    Message(Value),
    Complaint(String),
    Violation(String),
    Closed,
}

/// An editor's side of one connection to the adapter.
///
/// Every message received is checked: header, numbering, the official schema; a violation
/// panics, as does a wait that passes its [`DEADLINE`], and both print the transcript. Dropping
/// the client kills the adapter.
pub struct DapClient {
    adapter: Option<Child>,
    writer: Option<Box<dyn Write + Send>>,
    socket: Option<TcpStream>,
    incoming: Receiver<Incoming>,
    transcript: Vec<String>,
    history: Vec<Value>,
    unread: VecDeque<Value>,
    commands: HashMap<i64, String>,
    next_sequence: i64,
    last_received: i64,
    wrote_raw: bool,
    closed: bool,
    started: Option<i64>,
    thread: i64,
    /// Each thread stops by itself.
    non_stop: bool,
    began: Instant,
}

impl DapClient {
    /// Starts the adapter on its standard streams.
    pub fn spawn() -> Self {
        Self::spawn_with(|_| {})
    }

    /// Starts the adapter on its standard streams, after `adjust` has had its way with the
    /// command.
    pub fn spawn_with(adjust: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(stillpoint());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        adjust(&mut command);
        let mut adapter = command.spawn().expect("the adapter starts");
        let stdin = adapter.stdin.take().expect("piped");
        let stdout = adapter.stdout.take().expect("piped");
        let stderr = adapter.stderr.take().expect("piped");
        let (sender, incoming) = mpsc::channel();
        let complaints = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if complaints.send(Incoming::Complaint(line)).is_err() {
                    break;
                }
            }
        });
        listen(stdout, sender);
        Self::new(Some(adapter), Box::new(stdin), None, incoming)
    }

    fn new(
        adapter: Option<Child>,
        writer: Box<dyn Write + Send>,
        socket: Option<TcpStream>,
        incoming: Receiver<Incoming>,
    ) -> Self {
        Self {
            adapter,
            writer: Some(writer),
            socket,
            incoming,
            transcript: Vec::new(),
            history: Vec::new(),
            unread: VecDeque::new(),
            commands: HashMap::new(),
            next_sequence: 1,
            last_received: 0,
            wrote_raw: false,
            closed: false,
            started: None,
            thread: 0,
            non_stop: false,
            began: Instant::now(),
        }
    }

    // Messages.

    /// Writes bytes as they are, framed by nobody. An adapter that has gone already is no error.
    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.log(format!("→ {:?}", String::from_utf8_lossy(bytes)));
        self.wrote_raw = true;
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.write_all(bytes).and_then(|()| writer.flush());
        }
    }

    /// Sends any message in a frame.
    pub fn send_message(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        self.log(format!("→ {text}"));
    }

    /// Sends a request without waiting; the number is for [`DapClient::response`]. Arguments of
    /// `null` are left out.
    pub fn send(&mut self, command: &str, arguments: Value) -> i64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let mut message = json!({"seq": sequence, "type": "request", "command": command});
        if !arguments.is_null() {
            message["arguments"] = arguments;
        }
        self.commands.insert(sequence, command.to_owned());
        self.send_message(&message);
        sequence
    }

    /// Numbers the next request so: Helix begins at 0.
    pub fn count_from(&mut self, sequence: i64) {
        self.next_sequence = sequence;
    }

    /// Waits for the answer to a request: its body (`null` where it has none), or the whole
    /// response where it failed.
    pub fn response(&mut self, sequence: i64) -> Result<Value, Value> {
        let mut response = self.wait_for(&format!("the answer to request {sequence}"), |message| {
            message["type"] == "response" && message["request_seq"] == sequence
        });
        if response["success"] == true {
            Ok(response["body"].take())
        } else {
            Err(response)
        }
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, command: &str, arguments: Value) -> Result<Value, Value> {
        let sequence = self.send(command, arguments);
        self.response(sequence)
    }

    /// Sends a request that has to succeed, and gives the body of its answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        match self.request(command, arguments) {
            Ok(body) => body,
            Err(response) => self.fail(&format!("`{command}` failed: {response}")),
        }
    }

    /// Sends a request that has to fail, and gives the text for the user.
    pub fn ask_wrongly(&mut self, command: &str, arguments: Value) -> String {
        match self.request(command, arguments) {
            Ok(body) => self.fail(&format!("`{command}` succeeded: {body}")),
            Err(response) => error_text(&response),
        }
    }

    /// The next event of that name that has not been taken yet: its body.
    pub fn wait_event(&mut self, name: &str) -> Value {
        self.wait_event_where(name, |_| true)
    }

    /// The next event of that name with such a body.
    pub fn wait_event_where(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(&format!("the event `{name}`"), |message| {
            message["event"] == name && fits(&message["body"])
        })["body"]
            .take()
    }

    /// The next event, whole, of any of these names.
    pub fn wait_event_of(&mut self, names: &[&str]) -> Value {
        self.wait_for(&format!("an event of {names:?}"), |message| {
            message["event"]
                .as_str()
                .is_some_and(|name| names.contains(&name))
        })
    }

    /// Where a stop has been received that nobody has waited for, goes on from it.
    pub fn drain_stops(&mut self) {
        let is_stop = |message: &Value| message["event"] == "stopped";
        while let Some(place) = self.unread.iter().position(is_stop) {
            self.unread.remove(place);
            self.continue_();
        }
    }

    /// Waits for a stop with that reason; no other stop may come first.
    pub fn expect_stopped(&mut self, reason: &str) -> Value {
        self.expect_stopped_by(&[reason])
    }

    /// Waits for a stop for one of these reasons; gives the event's body.
    pub fn expect_stopped_by(&mut self, reasons: &[&str]) -> Value {
        let what = reasons.join(" or ");
        let message = self.wait_for(&format!("stopped: {what}"), |message| {
            message["event"] == "stopped" || message["event"] == "terminated"
        });
        let body = &message["body"];
        let expected = reasons.iter().any(|reason| body["reason"] == *reason);
        if message["event"] != "stopped" || !expected {
            self.fail(&format!("not stopped: {what}, but {message}"));
        }
        if body["allThreadsStopped"] == self.non_stop {
            self.fail("`allThreadsStopped` is wrong");
        }
        match body["threadId"].as_i64() {
            Some(thread) => self.thread = thread,
            None => self.fail("stopped without a thread"),
        }
        body.clone()
    }

    /// Waits for the end of the program and of the session; gives the exit code.
    pub fn expect_exit(&mut self) -> i64 {
        let message = self.wait_for("the end of the program", |message| {
            message["event"] == "exited" || message["event"] == "stopped"
        });
        let Some(code) = message["body"]["exitCode"].as_i64() else {
            self.fail(&format!("no end, but {message}"));
        };
        self.wait_event("terminated");
        code
    }

    /// Takes the first unread message that fits, in the order received.
    fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        let mut seen = 0;
        loop {
            while seen < self.unread.len() {
                if fits(&self.unread[seen]) {
                    return self.unread.remove(seen).expect("it is there");
                }
                seen += 1;
            }
            match self.receive(deadline) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => self.fail(&format!("no sign of {what}")),
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(&format!("the adapter is gone before {what}"));
                }
            }
        }
    }

    /// Takes in what comes next: a message goes to the unread ones.
    fn receive(&mut self, deadline: Instant) -> Result<(), RecvTimeoutError> {
        if self.closed {
            return Err(RecvTimeoutError::Disconnected);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match self.incoming.recv_timeout(left)? {
            Incoming::Message(message) => {
                self.log(format!("← {message}"));
                if let Err(violation) = self.check(&message) {
                    self.fail(&format!("{violation}\nin {message}"));
                }
                self.history.push(message.clone());
                self.unread.push_back(message);
                Ok(())
            }
            Incoming::Complaint(line) => {
                self.log(format!("! {line}"));
                Ok(())
            }
            Incoming::Violation(violation) => self.fail(&violation),
            Incoming::Closed => {
                self.log("← end".to_owned());
                self.closed = true;
                Ok(())
            }
        }
    }

    fn check(&mut self, message: &Value) -> Result<(), String> {
        schema::check(message)?;
        self.last_received += 1;
        if message["seq"] != self.last_received {
            return Err(format!("`seq` is not {}", self.last_received));
        }
        if message["type"] == "response" {
            let sequence = message["request_seq"].as_i64().ok_or("no `request_seq`")?;
            match self.commands.remove(&sequence) {
                Some(command) if message["command"] == command.as_str() => {}
                Some(command) => return Err(format!("the request was `{command}`")),
                // A frame that a test wrote itself may have had a number.
                None if self.wrote_raw => {}
                None => return Err(format!("nobody waits for an answer to {sequence}")),
            }
        }
        Ok(())
    }

    /// Lets an answer to that number through which no [`DapClient::send`] has asked for: for
    /// tests that write their frames themselves.
    pub fn await_answer_to(&mut self, sequence: i64, command: &str) {
        self.commands.insert(sequence, command.to_owned());
        self.next_sequence = self.next_sequence.max(sequence + 1);
    }

    /// Every message received so far, in order.
    pub fn history(&self) -> &[Value] {
        &self.history
    }

    /// The place of the first message received that fits.
    pub fn position(&self, fits: impl Fn(&Value) -> bool) -> Option<usize> {
        self.history.iter().position(fits)
    }

    /// The text of all output events of a category so far.
    pub fn output(&self, category: &str) -> String {
        self.history
            .iter()
            .filter(|message| message["event"] == "output")
            .filter(|message| message["body"]["category"] == category)
            .filter_map(|message| message["body"]["output"].as_str())
            .collect()
    }

    /// How many events of a name have been received so far.
    pub fn count_events(&self, name: &str) -> usize {
        let events = self.history.iter();
        events.filter(|message| message["event"] == name).count()
    }

    fn log(&mut self, mut line: String) {
        const LONGEST: usize = 2000;
        if line.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or(0));
            line.push('…');
        }
        let time = self.began.elapsed().as_millis();
        self.transcript.push(format!("{time:6} ms {line}"));
    }

    /// Panics with a text and the transcript.
    pub fn fail(&self, text: &str) -> ! {
        let mut report = format!("{text}\n");
        for line in &self.transcript {
            let _ = writeln!(report, "{line}");
        }
        panic!("{report}");
    }

    // Starting.

    /// Introduces itself as VS Code does, and gives the capabilities.
    pub fn initialize(&mut self) -> Value {
        self.ask(
            "initialize",
            json!({
                "clientID": "vscode", "clientName": "stillpoint-tests", "adapterID": "stillpoint",
                "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path",
                "locale": "en", "supportsVariableType": true, "supportsVariablePaging": true,
                "supportsMemoryReferences": true, "supportsInvalidatedEvent": true,
                "supportsMemoryEvent": true, "supportsStartDebuggingRequest": true,
            }),
        )
    }

    /// Initializes, sends `launch` with these settings and waits for `initialized`; the answer is
    /// taken by [`DapClient::configure`].
    pub fn launch(&mut self, fixture: &Fixture, settings: Value) {
        self.launch_program(&fixture.program, settings);
    }

    /// As [`DapClient::launch`], for any file.
    pub fn launch_program(&mut self, program: &Path, settings: Value) {
        let mut arguments = json!({"program": program});
        merge(&mut arguments, settings);
        self.start("launch", arguments);
    }

    /// Initializes, sends `attach` to the process and waits for `initialized`.
    pub fn attach(&mut self, pid: i32, settings: Value) {
        let mut arguments = json!({"pid": pid});
        merge(&mut arguments, settings);
        self.start("attach", arguments);
    }

    /// Initializes, sends `attach` with a core file and waits for `initialized`.
    pub fn open_core(&mut self, core: &Path, settings: Value) {
        let mut arguments = json!({"coreFile": core});
        merge(&mut arguments, settings);
        self.start("attach", arguments);
    }

    /// Initializes, sends `launch` or `attach` and waits for `initialized`.
    pub fn start(&mut self, command: &str, arguments: Value) {
        self.initialize();
        self.non_stop = arguments["nonStop"] == true;
        let sequence = self.send(command, arguments);
        self.started = Some(sequence);
        let message = self.wait_for("`initialized`", |message| {
            message["event"] == "initialized"
                || (message["request_seq"] == sequence && message["success"] == false)
        });
        if message["event"] != "initialized" {
            self.fail(&format!("`{command}` failed: {message}"));
        }
    }

    /// Ends the configuration and waits for both answers: the program runs.
    pub fn configure(&mut self) {
        self.ask("configurationDone", Value::Null);
        if let Some(sequence) = self.started.take()
            && let Err(response) = self.response(sequence)
        {
            self.fail(&format!("the start failed: {response}"));
        }
    }

    /// Launches a program and runs it to the line of that name.
    pub fn stopped_at(fixture: &Fixture, marker: &str) -> Self {
        Self::stopped_with(fixture, marker, json!({}))
    }

    /// Launches a program with these settings and runs it to the line of that name.
    pub fn stopped_with(fixture: &Fixture, marker: &str, settings: Value) -> Self {
        let mut client = Self::spawn();
        client.launch(fixture, settings);
        client.set_breakpoints(fixture, &[marker]);
        client.configure();
        client.expect_stopped("breakpoint");
        client.expect_line(fixture, marker);
        client
    }

    /// Launches a program, lets it run to its end, and gives the exit code.
    pub fn run_to_end(fixture: &Fixture, settings: Value) -> (Self, i64) {
        let mut client = Self::spawn();
        client.launch(fixture, settings);
        client.configure();
        let code = client.expect_exit();
        (client, code)
    }

    // Breakpoints.

    /// Replaces the breakpoints of the fixture's source; gives those of the answer.
    pub fn set_breakpoints(&mut self, fixture: &Fixture, markers: &[&str]) -> Vec<Value> {
        let places = markers.iter().map(|marker| (*marker, json!({}))).collect();
        self.set_breakpoints_with(fixture, places)
    }

    /// As [`DapClient::set_breakpoints`], each with further members, such as a condition.
    pub fn set_breakpoints_with(
        &mut self,
        fixture: &Fixture,
        places: Vec<(&str, Value)>,
    ) -> Vec<Value> {
        let breakpoints: Vec<Value> = places
            .into_iter()
            .map(|(marker, more)| {
                let mut breakpoint = json!({"line": fixture.line(marker)});
                merge(&mut breakpoint, more);
                breakpoint
            })
            .collect();
        let count = breakpoints.len();
        let path = fixture.source.to_str().expect("a path in UTF-8").to_owned();
        let answer = self.set_source_breakpoints(&path, breakpoints);
        assert_eq!(answer.len(), count, "one answer each");
        answer
    }

    /// Replaces the breakpoints of a path spelled as one likes.
    pub fn set_source_breakpoints(&mut self, path: &str, breakpoints: Vec<Value>) -> Vec<Value> {
        let body = self.ask(
            "setBreakpoints",
            json!({"source": {"path": path}, "breakpoints": breakpoints}),
        );
        array(&body["breakpoints"])
    }

    /// Replaces the function breakpoints.
    pub fn set_function_breakpoints(&mut self, names: &[&str]) -> Vec<Value> {
        let breakpoints: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let body = self.ask(
            "setFunctionBreakpoints",
            json!({"breakpoints": breakpoints}),
        );
        array(&body["breakpoints"])
    }

    // Execution.

    /// The thread of the last stop.
    pub fn thread(&self) -> i64 {
        self.thread
    }

    /// Makes another thread the one that is stepped and looked at.
    pub fn select_thread(&mut self, thread: i64) {
        self.thread = thread;
    }

    fn resume(&mut self, command: &str) {
        let thread = self.thread;
        self.ask(command, json!({"threadId": thread}));
    }

    /// Lets the program run on.
    pub fn continue_(&mut self) {
        self.resume("continue");
    }

    /// Steps over, to the stop.
    pub fn next(&mut self) {
        self.resume("next");
        self.expect_stopped("step");
    }

    /// Steps in, to the stop.
    pub fn step_in(&mut self) {
        self.resume("stepIn");
        self.expect_stopped("step");
    }

    /// Steps out, to the stop.
    pub fn step_out(&mut self) {
        self.resume("stepOut");
        self.expect_stopped("step");
    }

    /// Runs on to the next breakpoint.
    pub fn continue_to(&mut self, fixture: &Fixture, marker: &str) {
        self.continue_();
        self.expect_stopped("breakpoint");
        self.expect_line(fixture, marker);
    }

    /// Stops the running program.
    pub fn pause(&mut self) {
        self.ask("pause", json!({"threadId": 0}));
        self.expect_stopped("pause");
    }

    // Looking.

    /// All frames of the thread.
    pub fn stack(&mut self) -> Vec<Value> {
        let thread = self.thread;
        let body = self.ask("stackTrace", json!({"threadId": thread}));
        array(&body["stackFrames"])
    }

    /// The function names of the stack, the innermost first.
    pub fn function_names(&mut self) -> Vec<String> {
        let frames = self.stack();
        frames.iter().map(|frame| text(&frame["name"])).collect()
    }

    /// The innermost frame.
    pub fn top_frame(&mut self) -> Value {
        let thread = self.thread;
        let body = self.ask(
            "stackTrace",
            json!({"threadId": thread, "startFrame": 0, "levels": 1}),
        );
        match body["stackFrames"].get(0) {
            Some(frame) => frame.clone(),
            None => self.fail("no frames"),
        }
    }

    /// The line of the innermost frame.
    pub fn top_line(&mut self) -> u64 {
        self.top_frame()["line"].as_u64().expect("a line")
    }

    /// Fails unless the innermost frame is at that line.
    pub fn expect_line(&mut self, fixture: &Fixture, marker: &str) {
        let line = self.top_line();
        if line != fixture.line(marker) {
            let names = fixture.names_of(line);
            self.fail(&format!("at line {line} ({names}), not at {marker}"));
        }
    }

    /// The scope `Locals` of a frame: its reference.
    pub fn locals_reference(&mut self, frame: i64) -> i64 {
        let body = self.ask("scopes", json!({"frameId": frame}));
        let scopes = array(&body["scopes"]);
        let locals = scopes.iter().find(|scope| scope["name"] == "Locals");
        match locals.and_then(|scope| scope["variablesReference"].as_i64()) {
            Some(reference) => reference,
            None => self.fail("no scope `Locals`"),
        }
    }

    /// The children of a reference.
    pub fn variables(&mut self, reference: i64) -> Vec<Value> {
        let body = self.ask("variables", json!({"variablesReference": reference}));
        array(&body["variables"])
    }

    /// The local variables of the innermost frame: name and value.
    pub fn locals(&mut self) -> BTreeMap<String, String> {
        let variables = self.local_variables();
        let values = variables.into_iter();
        values
            .map(|(name, variable)| (name, text(&variable["value"])))
            .collect()
    }

    /// The local variables of the innermost frame, whole.
    pub fn local_variables(&mut self) -> BTreeMap<String, Value> {
        let frame = self.top_frame()["id"].as_i64().expect("a frame id");
        let reference = self.locals_reference(frame);
        let variables = self.variables(reference);
        let named = variables.into_iter();
        named
            .map(|variable| (text(&variable["name"]), variable))
            .collect()
    }

    /// The children of a variable: name and value.
    pub fn children(&mut self, variable: &Value) -> BTreeMap<String, String> {
        let reference = variable["variablesReference"].as_i64().unwrap_or(0);
        if reference == 0 {
            self.fail(&format!("no children: {variable}"));
        }
        let variables = self.variables(reference);
        let values = variables.iter();
        values
            .map(|variable| (text(&variable["name"]), text(&variable["value"])))
            .collect()
    }

    /// The value of an expression in the innermost frame, or the error's text.
    pub fn try_evaluate(&mut self, expression: &str) -> Result<String, String> {
        let body = self
            .evaluated(expression)
            .map_err(|response| error_text(&response))?;
        Ok(text(&body["result"]))
    }

    /// The value of an expression in the innermost frame.
    pub fn evaluate(&mut self, expression: &str) -> String {
        match self.evaluated(expression) {
            Ok(body) => text(&body["result"]),
            Err(response) => self.fail(&format!("`{expression}`: {}", error_text(&response))),
        }
    }

    /// The whole answer to an evaluation in the innermost frame.
    pub fn evaluated(&mut self, expression: &str) -> Result<Value, Value> {
        let frame = self.top_frame()["id"].clone();
        self.request(
            "evaluate",
            json!({"expression": expression, "frameId": frame, "context": "watch"}),
        )
    }

    // Terminals.

    /// Answers `runInTerminal` as an editor does: starts what it names. The process is killed
    /// when it is dropped.
    pub fn open_terminal(&mut self) -> Terminal {
        let request = self.terminal_request();
        let arguments = &request["arguments"];
        let words: Vec<String> = array(&arguments["args"]).iter().map(text).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(folder) = arguments["cwd"]
            .as_str()
            .filter(|folder| !folder.is_empty())
        {
            command.current_dir(folder);
        }
        for (name, value) in arguments["env"].as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let process = command.spawn().expect("the terminal's command starts");
        self.answer(&request, json!({"processId": process.id()}));
        Terminal { process }
    }

    /// Answers `runInTerminal` with an error.
    pub fn refuse_terminal(&mut self, reason: &str) {
        let request = self.terminal_request();
        self.refuse(&request, reason);
    }

    /// Answers `startDebugging` with an error.
    pub fn refuse_session(&mut self, reason: &str) {
        let request = self.session_request();
        self.refuse(&request, reason);
    }

    /// Answers `startDebugging` and gives its arguments; nobody does what they say.
    pub fn ignore_session(&mut self) -> Value {
        let request = self.session_request();
        self.answer(&request, Value::Null);
        request["arguments"].clone()
    }

    /// Answers `startDebugging` as an editor does: a new adapter is started, and told what the
    /// request says. The new session is where [`DapClient::attach`] leaves one.
    pub fn begin_session(&mut self) -> DapClient {
        let arguments = self.ignore_session();
        let mut client = DapClient::spawn();
        let request = arguments["request"].as_str().expect("a request");
        client.start(request, arguments["configuration"].clone());
        client
    }

    fn session_request(&mut self) -> Value {
        self.wait_for("`startDebugging`", |message| {
            message["type"] == "request" && message["command"] == "startDebugging"
        })
    }

    fn refuse(&mut self, request: &Value, reason: &str) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.send_message(&json!({
            "seq": sequence, "type": "response", "request_seq": request["seq"],
            "command": request["command"], "success": false, "message": reason,
        }));
    }

    fn terminal_request(&mut self) -> Value {
        self.wait_for("`runInTerminal`", |message| {
            message["type"] == "request" && message["command"] == "runInTerminal"
        })
    }

    fn answer(&mut self, request: &Value, body: Value) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let mut message = json!({
            "seq": sequence, "type": "response", "request_seq": request["seq"],
            "command": request["command"], "success": true,
        });
        if !body.is_null() {
            message["body"] = body;
        }
        self.send_message(&message);
    }

    // Ending.

    /// Disconnects in the usual manner (what was launched dies, what was attached to goes on)
    /// and waits for the adapter to end with 0.
    pub fn disconnect(self) {
        self.disconnect_with(Value::Null);
    }

    /// Disconnects with these arguments and waits for the adapter to end with 0.
    pub fn disconnect_with(mut self, arguments: Value) {
        self.ask("disconnect", arguments);
        if self.adapter.is_some() {
            let status = self.wait_exit();
            if status.code() != Some(0) {
                self.fail(&format!("after disconnect: {status}"));
            }
        }
    }

    /// Closes the way to the adapter, as an editor does that vanishes.
    pub fn close(&mut self) {
        self.log("→ end".to_owned());
        self.writer = None;
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Waits for the adapter to close its side, and gives how many messages came until then.
    pub fn wait_closed(&mut self) -> usize {
        let deadline = Instant::now() + DEADLINE;
        let before = self.history.len();
        while !self.closed {
            if self.receive(deadline).is_err() {
                self.fail("the adapter does not close the connection");
            }
        }
        self.history.len() - before
    }

    /// Waits for the adapter's own end.
    pub fn wait_exit(&mut self) -> ExitStatus {
        // What it says until then is part of the transcript.
        self.wait_closed();
        let Some(mut adapter) = self.adapter.take() else {
            self.fail("not our child");
        };
        process::wait_for(&mut adapter)
    }

    /// The process id of the adapter.
    pub fn adapter_pid(&self) -> i32 {
        let adapter = self.adapter.as_ref().expect("the adapter is our child");
        adapter.id() as i32
    }

    /// The process id of the debuggee, from the `process` event.
    pub fn debuggee_pid(&mut self) -> i32 {
        let is_process = |message: &Value| message["event"] == "process";
        if self.position(is_process).is_none() {
            self.wait_event("process");
        }
        let place = self.position(is_process).expect("it came");
        let pid = self.history[place]["body"]["systemProcessId"].as_i64();
        pid.expect("a process id") as i32
    }
}

impl Drop for DapClient {
    fn drop(&mut self) {
        if let Some(adapter) = &mut self.adapter {
            let _ = adapter.kill();
            let _ = adapter.wait();
        }
    }
}

/// What runs in the terminal that a client opened; killed when dropped.
pub struct Terminal {
    process: Child,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A `stillpoint dap --listen` that clients connect to; killed when dropped.
pub struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts one on a free port.
    pub fn start() -> Self {
        let mut process = Command::new(stillpoint())
            .args(["dap", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("the address");
        let from = line.find("127.0.0.1:").unwrap_or_else(|| {
            panic!("no address: {line:?}");
        });
        let address = line[from..]
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == ':'))
            .next()
            .expect("a first part");
        Self {
            address: address.to_owned(),
            process,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the listener.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Connects as one more client.
    pub fn connect(&self) -> DapClient {
        let socket = TcpStream::connect(&self.address).expect("a connection");
        let reader = socket.try_clone().expect("a second handle");
        let writer = socket.try_clone().expect("a third handle");
        let (sender, incoming) = mpsc::channel();
        listen(reader, sender);
        DapClient::new(None, Box::new(writer), Some(socket), incoming)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn listen(stream: impl Read + Send + 'static, sender: mpsc::Sender<Incoming>) {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let incoming = match read_frame(&mut stream) {
                Ok(Some(message)) => Incoming::Message(message),
                Ok(None) => Incoming::Closed,
                Err(violation) => Incoming::Violation(violation),
            };
            let last = !matches!(incoming, Incoming::Message(_));
            if sender.send(incoming).is_err() || last {
                break;
            }
        }
    });
}

/// One frame; the header may be `Content-Length: N` and nothing else, as dap-mcp reads no other.
fn read_frame(stream: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut header = String::new();
    match stream.read_line(&mut header) {
        Ok(0) => return Ok(None),
        // A killed server's socket is reset rather than closed.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        Err(error) => return Err(format!("header: {error}")),
        Ok(_) => {}
    }
    let length: usize = header
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| format!("a header that is not `Content-Length: N`: {header:?}"))?;
    let mut blank = String::new();
    if stream.read_line(&mut blank).is_err() || blank != "\r\n" {
        return Err(format!("a second header: {blank:?}"));
    }
    let mut body = vec![0; length];
    stream
        .read_exact(&mut body)
        .map_err(|error| format!("a frame cut short: {error}"))?;
    let text = String::from_utf8(body).map_err(|error| format!("not UTF-8: {error}"))?;
    let message = serde_json::from_str(&text);
    message
        .map(Some)
        .map_err(|error| format!("no JSON: {error}: {text}"))
}

fn merge(object: &mut Value, more: Value) {
    let members: Map<String, Value> = match more {
        Value::Object(members) => members,
        Value::Null => return,
        other => panic!("{other} is no object"),
    };
    object.as_object_mut().expect("an object").extend(members);
}

fn array(value: &Value) -> Vec<Value> {
    value.as_array().cloned().expect("an array")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The text of a failed response as the user reads it, with the variables filled in.
fn error_text(response: &Value) -> String {
    let error = &response["body"]["error"];
    let mut text = error["format"].as_str().unwrap_or_default().to_owned();
    for (name, value) in error["variables"].as_object().into_iter().flatten() {
        text = text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default());
    }
    text
}
