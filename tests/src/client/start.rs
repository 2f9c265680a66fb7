//! Start of a session up to a stop, and its end.

use super::{DapClient, merge};
use crate::fixture::Fixture;
use crate::patience::Patience;
use crate::process;
use serde_json::{Value, json};
use std::net::Shutdown;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::RecvTimeoutError;

impl DapClient {
    /// Sends `initialize` with the capabilities of VS Code, and returns the adapter's.
    pub fn initialize(&mut self) -> Value {
        let id = self.id;
        self.request_ok(
            "initialize",
            json!({
                "clientID": id, "clientName": "stillpoint-tests", "adapterID": "stillpoint",
                "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path",
                "locale": "en", "supportsVariableType": true, "supportsVariablePaging": true,
                "supportsMemoryReferences": true, "supportsInvalidatedEvent": true,
                "supportsMemoryEvent": true, "supportsStartDebuggingRequest": true,
            }),
        )
    }

    /// Initializes, sends `launch` with these settings and waits for `initialized`;
    /// [`DapClient::configure`] takes the response.
    pub fn launch(&mut self, fixture: &Fixture, settings: Value) {
        self.launch_program(&fixture.program, settings);
    }

    /// Like [`DapClient::launch`], for any executable.
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
        if let Err(message) = self.try_start(command, arguments) {
            self.fail(&format!("`{command}` failed: {message}"));
        }
    }

    /// Like [`DapClient::start`]; returns the response if it failed.
    ///
    /// # Errors
    /// The request failed: its response.
    pub fn try_start(&mut self, command: &str, arguments: Value) -> Result<(), Value> {
        self.initialize();
        self.non_stop = arguments["nonStop"] == true;
        let sequence = self.send(command, arguments);
        self.started = Some(sequence);
        let message = self.wait_for("`initialized`", |message| {
            message["event"] == "initialized"
                || (message["request_seq"] == sequence && message["success"] == false)
        });
        match message["event"] == "initialized" {
            true => Ok(()),
            false => Err(message),
        }
    }

    /// Ends the configuration and waits for both responses: the program runs.
    pub fn configure(&mut self) {
        self.request_ok("configurationDone", Value::Null);
        if let Some(sequence) = self.started.take()
            && let Err(response) = self.response(sequence)
        {
            self.fail(&format!("the start failed: {response}"));
        }
    }

    /// Launches a program and runs it to a named line.
    pub fn stopped_at(fixture: &Fixture, marker: &str) -> Self {
        Self::stopped_with(fixture, marker, json!({}))
    }

    /// Launches a program with these settings and runs it to a named line.
    pub fn stopped_with(fixture: &Fixture, marker: &str, settings: Value) -> Self {
        let mut client = Self::spawn();
        client.launch(fixture, settings);
        client.set_breakpoints(fixture, &[marker]);
        client.configure();
        client.expect_stopped("breakpoint");
        client.expect_line(fixture, marker);
        client
    }

    /// Launches a program, runs it to its end, and returns the exit code.
    pub fn run_to_end(fixture: &Fixture, settings: Value) -> (Self, i64) {
        let mut client = Self::spawn();
        client.launch(fixture, settings);
        client.configure();
        let code = client.expect_exit();
        (client, code)
    }

    /// Disconnects with default arguments (a launched process is killed, an attached one keeps
    /// running) and waits for the adapter to exit with 0.
    pub fn disconnect(self) {
        self.disconnect_with(Value::Null);
    }

    /// Disconnects with these arguments and waits for the adapter to exit with 0.
    pub fn disconnect_with(mut self, arguments: Value) {
        self.request_ok("disconnect", arguments);
        if self.adapter.is_some() {
            let status = self.wait_exit();
            if status.code() != Some(0) {
                self.fail(&format!("after disconnect: {status}"));
            }
        }
    }

    /// Closes the connection to the adapter, as an editor that crashes does.
    pub fn close(&mut self) {
        self.log("→ end".to_owned());
        self.writer = None;
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Waits for the adapter to close its side, and returns the number of messages until then.
    pub fn wait_closed(&mut self) -> usize {
        let mut patience = Patience::new();
        let before = self.history.len();
        while !self.closed {
            match self.receive(patience.portion()) {
                Ok(()) => patience.renew(),
                Err(RecvTimeoutError::Timeout) if patience.is_left() => {}
                Err(_) => self.fail("the adapter does not close the connection"),
            }
        }
        self.history.len() - before
    }

    /// Waits for the adapter to exit.
    pub fn wait_exit(&mut self) -> ExitStatus {
        // Its messages until then are part of the transcript.
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
