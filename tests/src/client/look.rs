//! Inspecting a stopped program.

use super::{DapClient, array, error_text, text};
use crate::fixture::Fixture;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl DapClient {
    /// Returns all frames of the thread.
    pub fn stack(&mut self) -> Vec<Value> {
        let thread = self.thread;
        let body = self.request_ok("stackTrace", json!({"threadId": thread}));
        array(&body["stackFrames"])
    }

    /// Returns the function names of the stack, innermost first.
    pub fn function_names(&mut self) -> Vec<String> {
        let frames = self.stack();
        frames.iter().map(|frame| text(&frame["name"])).collect()
    }

    /// Returns the innermost frame.
    pub fn top_frame(&mut self) -> Value {
        let thread = self.thread;
        let body = self.request_ok(
            "stackTrace",
            json!({"threadId": thread, "startFrame": 0, "levels": 1}),
        );
        match body["stackFrames"].get(0) {
            Some(frame) => frame.clone(),
            None => self.fail("no frames"),
        }
    }

    /// Returns the line of the innermost frame.
    pub fn top_line(&mut self) -> u64 {
        self.top_frame()["line"].as_u64().expect("a line")
    }

    /// Asserts that the innermost frame is at a named line.
    pub fn expect_line(&mut self, fixture: &Fixture, marker: &str) {
        let line = self.top_line();
        if line != fixture.line(marker) {
            let names = fixture.names_of(line);
            self.fail(&format!("at line {line} ({names}), not at {marker}"));
        }
    }

    /// Returns the reference of a frame's scope `Locals`.
    pub fn locals_reference(&mut self, frame: i64) -> i64 {
        let body = self.request_ok("scopes", json!({"frameId": frame}));
        let scopes = array(&body["scopes"]);
        let locals = scopes.iter().find(|scope| scope["name"] == "Locals");
        match locals.and_then(|scope| scope["variablesReference"].as_i64()) {
            Some(reference) => reference,
            None => self.fail("no scope `Locals`"),
        }
    }

    /// Returns a scope of the innermost frame by its name.
    pub fn scope(&mut self, name: &str) -> Value {
        let frame = self.top_frame()["id"].clone();
        let body = self.request_ok("scopes", json!({"frameId": frame}));
        let scopes = body["scopes"].as_array().expect("scopes");
        let found = scopes.iter().find(|scope| scope["name"] == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {scopes:?}"))
            .clone()
    }

    /// Returns a child of a variable or a scope by its name.
    pub fn child(&mut self, of: &Value, name: &str) -> Value {
        let reference = of["variablesReference"].as_i64().expect("a reference");
        let variables = self.variables(reference);
        let found = variables.iter().find(|variable| variable["name"] == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {variables:?}"))
            .clone()
    }

    /// Changes a child of a variable or a scope.
    pub fn set_child(&mut self, of: &Value, name: &str, value: &str) {
        let reference = &of["variablesReference"];
        let arguments = json!({"variablesReference": reference, "name": name, "value": value});
        self.request_ok("setVariable", arguments);
    }

    /// Returns the children of a reference.
    pub fn variables(&mut self, reference: i64) -> Vec<Value> {
        let body = self.request_ok("variables", json!({"variablesReference": reference}));
        array(&body["variables"])
    }

    /// Returns names and values of the innermost frame's local variables.
    pub fn locals(&mut self) -> BTreeMap<String, String> {
        let variables = self.local_variables();
        let values = variables.into_iter();
        values
            .map(|(name, variable)| (name, text(&variable["value"])))
            .collect()
    }

    /// Returns the innermost frame's local variables.
    pub fn local_variables(&mut self) -> BTreeMap<String, Value> {
        let frame = self.top_frame()["id"].as_i64().expect("a frame id");
        let reference = self.locals_reference(frame);
        let variables = self.variables(reference);
        let named = variables.into_iter();
        named
            .map(|variable| (text(&variable["name"]), variable))
            .collect()
    }

    /// Returns names and values of a variable's children.
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

    /// Evaluates an expression in the innermost frame; returns its value, or the error's text.
    pub fn try_evaluate(&mut self, expression: &str) -> Result<String, String> {
        let body = self
            .evaluated(expression)
            .map_err(|response| error_text(&response))?;
        Ok(text(&body["result"]))
    }

    /// Evaluates an expression in the innermost frame, and returns its value.
    pub fn evaluate(&mut self, expression: &str) -> String {
        match self.evaluated(expression) {
            Ok(body) => text(&body["result"]),
            Err(response) => self.fail(&format!("`{expression}`: {}", error_text(&response))),
        }
    }

    /// Evaluates an expression in the innermost frame, and returns the whole response.
    pub fn evaluated(&mut self, expression: &str) -> Result<Value, Value> {
        let frame = self.top_frame()["id"].clone();
        self.request(
            "evaluate",
            json!({"expression": expression, "frameId": frame, "context": "watch"}),
        )
    }
}
