//! Breakpoints, resuming and stepping.

use super::{DapClient, array, merge};
use crate::fixture::Fixture;
use serde_json::{Value, json};

impl DapClient {
    /// Replaces the breakpoints of the fixture's source; returns those of the response.
    pub fn set_breakpoints(&mut self, fixture: &Fixture, markers: &[&str]) -> Vec<Value> {
        let places = markers.iter().map(|marker| (*marker, json!({}))).collect();
        self.set_breakpoints_with(fixture, places)
    }

    /// Like [`DapClient::set_breakpoints`], each with further members, such as a condition.
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

    /// Replaces the breakpoints of any path.
    pub fn set_source_breakpoints(&mut self, path: &str, breakpoints: Vec<Value>) -> Vec<Value> {
        let body = self.request_ok(
            "setBreakpoints",
            json!({"source": {"path": path}, "breakpoints": breakpoints}),
        );
        array(&body["breakpoints"])
    }

    /// Replaces the function breakpoints.
    pub fn set_function_breakpoints(&mut self, names: &[&str]) -> Vec<Value> {
        let breakpoints: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let body = self.request_ok(
            "setFunctionBreakpoints",
            json!({"breakpoints": breakpoints}),
        );
        array(&body["breakpoints"])
    }

    /// The thread of the last stop.
    pub fn thread(&self) -> i64 {
        self.thread
    }

    /// Selects the thread for steps and stacks.
    pub fn select_thread(&mut self, thread: i64) {
        self.thread = thread;
    }

    fn resume(&mut self, command: &str) {
        let thread = self.thread;
        self.request_ok(command, json!({"threadId": thread}));
    }

    /// Resumes the program.
    pub fn continue_(&mut self) {
        self.resume("continue");
    }

    /// Steps over, and waits for the stop.
    pub fn next(&mut self) {
        self.resume("next");
        self.expect_stopped("step");
    }

    /// Steps in, and waits for the stop.
    pub fn step_in(&mut self) {
        self.resume("stepIn");
        self.expect_stopped("step");
    }

    /// Steps out, and waits for the stop.
    pub fn step_out(&mut self) {
        self.resume("stepOut");
        self.expect_stopped("step");
    }

    /// Resumes and waits for the breakpoint at a named line.
    pub fn continue_to(&mut self, fixture: &Fixture, marker: &str) {
        self.continue_();
        self.expect_stopped("breakpoint");
        self.expect_line(fixture, marker);
    }

    /// Waits until a breakpoint is evaluated in the program.
    pub fn wait_for_jump_patch(&mut self) {
        self.wait_event_where("breakpoint", |event| {
            let message = event["breakpoint"]["message"].as_str();
            message.is_some_and(|it| it.starts_with("evaluated in the program"))
        });
    }

    /// Pauses the running program.
    pub fn pause(&mut self) {
        self.request_ok("pause", json!({"threadId": 0}));
        self.expect_stopped("pause");
    }

    /// Pauses the running program, reads its stack and resumes it, up to `most` times, or until it
    /// stops or ends by itself; that event stays unread. Returns how often.
    pub fn pause_repeatedly(&mut self, most: usize) -> usize {
        for done in 0..most {
            if self.request("pause", json!({"threadId": 0})).is_err() {
                return done;
            }
            let place = self.await_unread("a stop", |message| {
                message["event"] == "stopped" || message["event"] == "exited"
            });
            if self.unread[place]["body"]["reason"] != "pause" {
                return done;
            }
            self.expect_stopped("pause");
            self.stack();
            self.continue_();
        }
        most
    }
}
