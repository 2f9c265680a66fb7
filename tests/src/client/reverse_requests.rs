//! Reverse requests: terminals, and sessions for children.

use super::{DapClient, array, text};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};

impl DapClient {
    /// Answers `runInTerminal` as an editor does: starts the command. The process is killed on
    /// drop.
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

    /// Answers `startDebugging` and returns its arguments, without starting a session.
    pub fn ignore_session(&mut self) -> Value {
        let request = self.session_request();
        self.answer(&request, Value::Null);
        request["arguments"].clone()
    }

    /// Answers `startDebugging` as an editor does: starts a new adapter with the arguments of the
    /// request. The new session is in the state after [`DapClient::attach`].
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
}

/// The process in a terminal that a client opened; killed on drop.
pub struct Terminal {
    process: Child,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
