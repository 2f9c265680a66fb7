//! The Model Context Protocol: which reply a message gets. Reads and writes no stream.
//!
//! A client either begins with `initialize`, or, since version 2026-07-28, sends the version with
//! each request; it may call `server/discover` first. Replies to the latter name their kind.

use super::tools::{self, ToolSet};
use serde_json::{Map, Value, json};

/// What clients may tell their models about the server.
const INSTRUCTIONS: &str = "A native debugger for C, C++ and Rust. Ask one question that separates \
                            two hypotheses, instead of stepping through the program. A wrong \
                            result: debug_trace_call, with `program`, of the function that returns \
                            it. Only the wrong value is known, or which of many calls is wrong: \
                            debug_calls with `program` and `where` (`returned = 5`). A value that is \
                            wrong long after it was written: start with `record`, then \
                            debug_continue with `written`, or with `throughCopies` for where the \
                            value came from. A crash or a hang: debug_explain with `program` (and \
                            `record`, to go back from it). A failing test: debug_test. Stops \
                            (debug_breakpoint with a condition, debug_continue) are for what is \
                            left. Each reply has source, variables, changes, stack and output, so \
                            that no further call is needed to inspect a stop. Errors begin with a \
                            code and name the remedy.";

/// The supported versions that begin with `initialize`, oldest first.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version whose requests each name it.
const STATELESS_VERSION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const UNSUPPORTED_VERSION: i32 = -32022;

/// How the client began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Handshake {
    /// It has sent no valid request.
    #[default]
    Awaited,
    /// With `initialize`.
    Initialized,
    /// With a request that names the version.
    Stateless,
}

/// The state of the conversation with one client.
#[derive(Debug, Default)]
pub struct Protocol {
    handshake: Handshake,
    /// The tools that it lists.
    tools: ToolSet,
}

/// What a message leads to.
#[derive(PartialEq, Debug)]
pub enum Action {
    /// Nothing.
    Ignore,
    /// This message is sent.
    Reply(Value),
    /// A tool is called.
    Call(Call),
    /// The call with this id is cancelled, and gets no reply.
    Cancel(Value),
}

/// A call of an existing tool.
#[derive(PartialEq, Debug)]
pub struct Call {
    /// The id of the request.
    pub id: Value,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    handshake: Handshake,
}

impl Call {
    /// Returns the reply with the text of the result, or of the error.
    pub fn reply(self, called: Result<String, String>) -> Value {
        let is_error = called.is_err();
        let text = called.unwrap_or_else(|error| error);
        let content = json!([{"type": "text", "text": text}]);
        let result = json!({"content": content, "isError": is_error});
        success(self.id, self.handshake, result)
    }
}

impl Protocol {
    /// Creates the state before the first message of a client, which sees the tools of a set.
    pub fn with(tools: ToolSet) -> Self {
        Self {
            tools,
            ..Self::default()
        }
    }

    /// Returns true once the client has sent a valid first request.
    pub fn has_begun(&self) -> bool {
        self.handshake != Handshake::Awaited
    }

    /// Handles a line.
    pub fn on_line(&mut self, line: &[u8]) -> Action {
        if line.trim_ascii().is_empty() {
            return Action::Ignore;
        }
        match serde_json::from_slice(line) {
            Ok(Value::Object(message)) => self.on_message(message),
            Ok(_) => invalid_request(),
            Err(error) => {
                tracing::warn!(%error, "a line that is not JSON");
                Action::Ignore
            }
        }
    }

    fn on_message(&mut self, mut message: Map<String, Value>) -> Action {
        let params = message.remove("params").unwrap_or_default();
        match (message.remove("id"), message.get("method")) {
            _ if message.get("jsonrpc") != Some(&Value::from("2.0")) => invalid_request(),
            (Some(id), Some(Value::String(method))) if is_id(&id) => {
                self.on_request(id, method, &params)
            }
            (None, Some(Value::String(method))) => match method.as_str() {
                "notifications/cancelled" => Action::Cancel(params["requestId"].clone()),
                _ => Action::Ignore,
            },
            // The server sends no requests.
            (Some(_), None) if message.contains_key("result") || message.contains_key("error") => {
                Action::Ignore
            }
            _ => invalid_request(),
        }
    }

    fn on_request(&mut self, id: Value, method: &str, params: &Value) -> Action {
        match (method, self.handshake) {
            ("initialize", _) => {
                self.handshake = Handshake::Initialized;
                let requested = params["protocolVersion"].as_str();
                let version = VERSIONS.iter().find(|it| Some(**it) == requested);
                let result = json!({
                    "protocolVersion": version.unwrap_or(&VERSIONS[VERSIONS.len() - 1]),
                    "capabilities": capabilities(),
                    "serverInfo": server_info(),
                    "instructions": INSTRUCTIONS,
                });
                Action::Reply(success(id, self.handshake, result))
            }
            ("ping", Handshake::Awaited | Handshake::Initialized) => {
                Action::Reply(success(id, self.handshake, json!({})))
            }
            (_, Handshake::Initialized) => self.dispatch(id, method, params),
            _ => match check_version(&params["_meta"]) {
                Ok(()) => {
                    self.handshake = Handshake::Stateless;
                    self.dispatch(id, method, params)
                }
                Err(error) => Action::Reply(failure(id, error)),
            },
        }
    }

    fn dispatch(&self, id: Value, method: &str, params: &Value) -> Action {
        let result = match (method, self.handshake) {
            ("server/discover", Handshake::Stateless) => Ok(json!({
                "supportedVersions": supported_versions(),
                "capabilities": capabilities(),
                "instructions": INSTRUCTIONS,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {SERVER_KEY: server_info()},
            })),
            ("tools/list", _) => Ok(list("tools", tools::list(self.tools), self.handshake)),
            // Some clients request these lists of every server.
            ("prompts/list", _) => Ok(list("prompts", Vec::new(), self.handshake)),
            ("resources/list", _) => Ok(list("resources", Vec::new(), self.handshake)),
            ("resources/templates/list", _) => {
                Ok(list("resourceTemplates", Vec::new(), self.handshake))
            }
            ("tools/call", _) => match tool_call(params) {
                Ok((name, arguments)) => {
                    return Action::Call(Call {
                        id,
                        name,
                        arguments,
                        handshake: self.handshake,
                    });
                }
                Err(message) => Err(error(INVALID_PARAMS, message)),
            },
            _ => Err(error(
                METHOD_NOT_FOUND,
                format!("unknown method `{method}`"),
            )),
        };
        Action::Reply(match result {
            Ok(result) => success(id, self.handshake, result),
            Err(error) => failure(id, error),
        })
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// Reads the parameters of `tools/call`.
fn tool_call(params: &Value) -> Result<(String, Map<String, Value>), String> {
    let Some(name) = params["name"].as_str() else {
        return Err("`tools/call` without `name`".to_owned());
    };
    if let Err(near) = tools::find(name) {
        return Err(format!("unknown tool `{name}`; did you mean `{near}`?"));
    }
    match &params["arguments"] {
        Value::Null => Ok((name.to_owned(), Map::new())),
        Value::Object(arguments) => Ok((name.to_owned(), arguments.clone())),
        _ => Err(format!("the arguments of `{name}` are not an object")),
    }
}

/// Checks the version in the `_meta` of a request.
fn check_version(meta: &Value) -> Result<(), Value> {
    let (Some(version), true) = (
        meta[VERSION_KEY].as_str(),
        meta[CAPABILITIES_KEY].is_object(),
    ) else {
        let message = format!(
            "no `initialize`, and `_meta` lacks `{VERSION_KEY}` or `{CAPABILITIES_KEY}`; call \
             `initialize` first"
        );
        return Err(error(INVALID_PARAMS, message));
    };
    let supported = supported_versions();
    if supported.contains(&version) {
        return Ok(());
    }
    let mut error = error(
        UNSUPPORTED_VERSION,
        "unsupported protocol version".to_owned(),
    );
    error["data"] = json!({"requested": version, "supported": supported});
    Err(error)
}

fn supported_versions() -> Vec<&'static str> {
    VERSIONS.into_iter().chain([STATELESS_VERSION]).collect()
}

fn capabilities() -> Value {
    json!({"tools": {}})
}

fn server_info() -> Value {
    json!({"name": "stillpoint", "version": env!("CARGO_PKG_VERSION")})
}

fn list(key: &str, items: Vec<Value>, handshake: Handshake) -> Value {
    let mut result = json!({key: items});
    if handshake == Handshake::Stateless {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    result
}

fn success(id: Value, handshake: Handshake, mut result: Value) -> Value {
    if handshake == Handshake::Stateless {
        result["resultType"] = "complete".into();
    }
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(code: i32, message: String) -> Value {
    json!({"code": code, "message": message})
}

fn failure(id: Value, error: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// The reply to a message whose id is unknown.
fn invalid_request() -> Action {
    let error = error(INVALID_REQUEST, "invalid request".to_owned());
    Action::Reply(json!({"jsonrpc": "2.0", "error": error}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the reply to a request with the parameters.
    fn reply(protocol: &mut Protocol, method: &str, params: Value) -> Value {
        let line = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        match protocol.on_line(line.to_string().as_bytes()) {
            Action::Reply(reply) => {
                assert_eq!(reply["id"], 7, "{reply}");
                reply
            }
            other => panic!("{method}: {other:?}"),
        }
    }

    fn initialized() -> Protocol {
        let mut protocol = Protocol::default();
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
        let hello = reply(&mut protocol, "initialize", params);
        assert_eq!(hello["result"]["serverInfo"]["name"], "stillpoint");
        protocol
    }

    #[test]
    fn client_gets_its_version_or_the_newest() {
        for (requested, agreed) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-11-25", "2025-11-25"),
            ("2019-01-01", "2025-11-25"),
            // It has no `initialize`.
            (STATELESS_VERSION, "2025-11-25"),
        ] {
            let params = json!({"protocolVersion": requested, "capabilities": {}});
            let hello = reply(&mut Protocol::default(), "initialize", params);
            assert_eq!(hello["result"]["protocolVersion"], agreed, "{requested}");
        }
    }

    #[test]
    fn requests_without_initialize_name_their_version() {
        let mut protocol = Protocol::default();
        assert!(reply(&mut protocol, "ping", json!({}))["result"].is_object());
        let early = reply(&mut protocol, "tools/list", json!({}));
        assert_eq!(early["error"]["code"], INVALID_PARAMS);
        let meta = |version| json!({"_meta": {VERSION_KEY: version, CAPABILITIES_KEY: {}}});
        let unknown = reply(&mut protocol, "server/discover", meta("2099-01-01"));
        assert_eq!(unknown["error"]["code"], UNSUPPORTED_VERSION);
        assert_eq!(unknown["error"]["data"]["requested"], "2099-01-01");
        assert!(!protocol.has_begun());

        let server = reply(&mut protocol, "server/discover", meta(STATELESS_VERSION));
        let versions = server["result"]["supportedVersions"].as_array();
        assert_eq!(versions.map(Vec::len), Some(5), "{server}");
        assert!(protocol.has_begun());
        let tools = reply(&mut protocol, "tools/list", meta(STATELESS_VERSION));
        assert_eq!(tools["result"]["resultType"], "complete");
        assert_eq!(tools["result"]["ttlMs"], 0);
        let ping = reply(&mut protocol, "ping", meta(STATELESS_VERSION));
        assert_eq!(ping["error"]["code"], METHOD_NOT_FOUND);
    }

    #[test]
    fn calls_are_checked_before_they_run() {
        let mut protocol = initialized();
        let line =
            br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"debug_stack"}}"#;
        let Action::Call(call) = protocol.on_line(line) else {
            panic!("no call");
        };
        assert_eq!(
            (call.id.clone(), call.name.as_str()),
            (json!("a"), "debug_stack")
        );
        assert_eq!(
            call.reply(Err("NO".to_owned())),
            json!({"jsonrpc": "2.0", "id": "a", "result": {
                "content": [{"type": "text", "text": "NO"}], "isError": true,
            }})
        );
        for (params, message) in [
            (json!({}), "without `name`"),
            (json!({"name": "debug_stak"}), "did you mean `debug_stack`?"),
            (
                json!({"name": "debug_stack", "arguments": []}),
                "not an object",
            ),
        ] {
            let wrong = reply(&mut protocol, "tools/call", params);
            assert_eq!(wrong["error"]["code"], INVALID_PARAMS);
            let text = wrong["error"]["message"].as_str().unwrap_or_default();
            assert!(text.contains(message), "{text}");
        }
        let unknown = reply(&mut protocol, "tools/cal", json!({}));
        assert_eq!(unknown["error"]["code"], METHOD_NOT_FOUND);
    }

    #[test]
    fn messages_that_are_no_requests_have_no_result() {
        let mut protocol = initialized();
        for ignored in [
            "",
            "garbage",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        ] {
            assert_eq!(
                protocol.on_line(ignored.as_bytes()),
                Action::Ignore,
                "{ignored}"
            );
        }
        let cancel =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        assert_eq!(protocol.on_line(cancel), Action::Cancel(json!(3)));
        for invalid in [
            "[1]",
            "{}",
            r#"{"jsonrpc":"2.0","id":5}"#,
            r#"{"id":7,"method":"ping"}"#,
            r#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            assert_eq!(
                protocol.on_line(invalid.as_bytes()),
                invalid_request(),
                "{invalid}"
            );
        }
    }
}
