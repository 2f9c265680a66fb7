//! Samples of messages, validated against the official schema.

use super::*;
use engine::LoadAddr;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The official schema.
pub fn schema() -> Value {
    let text = include_str!("../../../tests/schema/debugAdapterProtocol.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

/// Validates a message against a definition of the schema, and checks that it has no nulls.
pub fn check(schema: &Value, definition: &str, message: &impl Serialize) {
    let text = serde_json::to_string(message).expect("JSON");
    let mut message: Value = serde_json::from_str(&text).expect("JSON");
    message["seq"] = json!(1);
    assert!(!text.contains("null"), "{definition}: {text}");
    let name = format!("#/definitions/{definition}");
    let errors = json_schema::violations(schema, &name, &message);
    assert!(errors.is_empty(), "{definition}: {errors:#?}\n{text}");
    known_fields(schema, definition, &message, definition);
}

/// Checks that the schema has every field: validation alone accepts misspelled ones.
fn known_fields(schema: &Value, definition: &str, value: &Value, at: &str) {
    let properties = properties(schema, &schema["definitions"][definition]);
    fields(schema, &properties, value, at);
}

fn fields(schema: &Value, properties: &Value, value: &Value, at: &str) {
    let (Some(properties), Some(object)) = (properties.as_object(), value.as_object()) else {
        return;
    };
    for (key, value) in object {
        let at = format!("{at}.{key}");
        let property = properties.get(key);
        let property = property.unwrap_or_else(|| panic!("{at} is not in the schema"));
        let (property, values) = match value.as_array() {
            Some(values) => (&property["items"], values.iter().collect()),
            None => (property, vec![value]),
        };
        for value in values {
            match property["$ref"].as_str() {
                Some(name) => {
                    let name = name.trim_start_matches("#/definitions/");
                    known_fields(schema, name, value, &at);
                }
                None => fields(schema, &property["properties"], value, &at),
            }
        }
    }
}

/// Returns the properties of a definition, including inherited ones (`allOf`).
fn properties(schema: &Value, definition: &Value) -> Value {
    let mut all = definition["properties"].clone();
    for part in definition["allOf"].as_array().into_iter().flatten() {
        let part = match part["$ref"].as_str() {
            Some(name) => &schema["definitions"][name.trim_start_matches("#/definitions/")],
            None => part,
        };
        if let Value::Object(more) = properties(schema, part) {
            match &mut all {
                Value::Object(all) => all.extend(more),
                _ => all = Value::Object(more),
            }
        }
    }
    all
}

/// A response as the client gets it.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    message: Outgoing<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

impl<'a> Answer<'a> {
    fn of(message: Outgoing<'a>, body: &impl Serialize) -> Self {
        let body = serde_json::to_value(body).expect("JSON");
        let body = Some(body).filter(|body| !body.is_null());
        Self { message, body }
    }
}

pub fn response(schema: &Value, definition: &str, body: &impl Serialize) {
    let message = Outgoing::Response {
        request_seq: 1,
        success: true,
        command: "x",
        message: None,
    };
    check(schema, definition, &Answer::of(message, body));
}

/// Like [`response`], for a body that clients read, too.
fn two_way<T: Serialize + DeserializeOwned>(schema: &Value, definition: &str, body: &T) {
    response(schema, definition, body);
    comes_back(body);
}

/// Checks that nothing is lost between the adapter and a client but what is only ever sent.
fn comes_back<T: Serialize + DeserializeOwned>(body: &T) {
    let mut sent = serde_json::to_value(body).expect("JSON");
    let read: T = serde_json::from_str(&sent.to_string()).expect("the type that was sent");
    drop_sent_only(&mut sent);
    assert_eq!(serde_json::to_value(&read).expect("JSON"), sent);
}

/// Drops the fields of sources that are not read.
fn drop_sent_only(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(source)) = fields.get_mut("source") {
                source.retain(|name, _| name != "checksums" && name != "presentationHint");
            }
            fields.values_mut().for_each(drop_sent_only);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_sent_only),
        _ => {}
    }
}

fn event(schema: &Value, definition: &str, event: &'static str, body: &impl Serialize) {
    let body = body_of(body).expect("JSON");
    check(schema, definition, &Outgoing::Event { event, body });
}

fn source() -> Source {
    Source {
        name: Some("a.c".to_owned()),
        path: Some("/a.c".to_owned()),
        source_reference: None,
        presentation_hint: Some(SourceHint::Deemphasize),
        checksums: vec![Checksum {
            algorithm: "MD5",
            checksum: "0123456789abcdef0123456789abcdef".to_owned(),
        }],
        adapter_data: Some(json!({"start": 1})),
    }
}

fn breakpoint() -> Breakpoint {
    Breakpoint {
        id: Some(1),
        verified: false,
        message: Some("why".to_owned()),
        source: Some(source()),
        line: Some(3),
        column: Some(1),
        instruction_reference: Some("0x401000".to_owned()),
        reason: Some(BreakpointReason::Pending),
        problem: None,
    }
}

#[test]
fn responses() {
    let schema = schema();
    response(&schema, "LaunchResponse", &());
    let exception = ExceptionInfoResponse {
        exception_id: "std::runtime_error".to_owned(),
        description: Some("std::runtime_error: too large".to_owned()),
        break_mode: ExceptionBreakMode::Unhandled,
        details: ExceptionDetails {
            message: Some("too large".to_owned()),
            type_name: Some("std::runtime_error".to_owned()),
            full_type_name: Some("std::runtime_error".to_owned()),
            evaluate_name: Some("$exception"),
            stack_trace: Some("#0 main at /a.c:3\n".to_owned()),
        },
    };
    response(&schema, "ExceptionInfoResponse", &exception);
    let breakpoints = vec![breakpoint(), Breakpoint::default()];
    two_way(
        &schema,
        "SetBreakpointsResponse",
        &BreakpointsResponse { breakpoints },
    );
    let all_threads_continued = true;
    two_way(
        &schema,
        "ContinueResponse",
        &ContinueResponse {
            all_threads_continued,
        },
    );
    let frame = StackFrame {
        id: 1,
        name: "main".to_owned(),
        source: Some(source().into()),
        line: 1,
        column: 0,
        can_restart: true,
        instruction_pointer_reference: "0x1".to_owned(),
        module_id: Some(1),
        presentation_hint: Some(FrameHint::Subtle),
    };
    let stack = StackTraceResponse {
        stack_frames: vec![frame],
        total_frames: 1,
    };
    two_way(&schema, "StackTraceResponse", &stack);
    let scope = Scope {
        name: "Locals".into(),
        presentation_hint: Some("locals".into()),
        variables_reference: 1,
        named_variables: Some(1),
        expensive: false,
    };
    two_way(
        &schema,
        "ScopesResponse",
        &ScopesResponse {
            scopes: vec![scope],
        },
    );
    let hint = VariablePresentationHint {
        kind: Some(VariablePresentationHintKind::Virtual),
        attributes: Some(vec![VariablePresentationHintAttributes::ReadOnly]),
        ..VariablePresentationHint::default()
    };
    let variable = Variable {
        name: "x".to_owned(),
        r#type: Some("int".into()),
        presentation_hint: Some(hint.clone()),
        indexed_variables: Some(1),
        memory_reference: Some(MemoryReference(LoadAddr(1))),
        declaration_location_reference: Some(1),
        value_location_reference: Some(2),
        ..Variable::default()
    };
    let mut variables = VariablesWriter::for_about(2);
    for variable in [variable, Variable::default()] {
        variables.push(&variable).expect("plain data");
    }
    let variables = variables.into_json().expect("UTF-8");
    let read = Encoded::<VariablesResponse>::from(variables.clone());
    let read = read.decode().expect("variables").variables;
    assert_eq!(
        (read[0].name.as_str(), read[0].indexed_variables),
        ("x", Some(1))
    );
    assert_eq!(read[0].memory_reference.map(|it| it.0), Some(LoadAddr(1)));
    let variables: serde_json::Value = serde_json::from_str(&variables).expect("JSON");
    response(&schema, "VariablesResponse", &variables);
    let location = LocationsResponse {
        source: source(),
        line: 3,
        column: Some(1),
    };
    response(&schema, "LocationsResponse", &location);
    let targets = StepInTargetsResponse {
        targets: vec![StepInTarget {
            id: 1,
            label: "f".to_owned(),
            line: Some(3),
            column: Some(1),
        }],
    };
    response(&schema, "StepInTargetsResponse", &targets);
    let targets = GotoTargetsResponse {
        targets: vec![GotoTarget {
            id: 1,
            label: "main: line 3".to_owned(),
            line: 3,
            column: Some(1),
            instruction_pointer_reference: "0x1".to_owned(),
        }],
    };
    response(&schema, "GotoTargetsResponse", &targets);
    let memory = MemoryEventBody {
        memory_reference: "0x1".to_owned(),
        offset: 0,
        count: 4,
    };
    event(&schema, "MemoryEvent", "memory", &memory);
    let value = EvaluateResponse {
        result: "1".to_owned(),
        type_name: Some("int".into()),
        presentation_hint: Some(hint),
        variables_reference: 0,
        named_variables: None,
        indexed_variables: Some(5),
        memory_reference: Some(MemoryReference(LoadAddr(1))),
        value_location_reference: Some(1),
    };
    two_way(&schema, "EvaluateResponse", &value);
    two_way(
        &schema,
        "SetVariableResponse",
        &SetVariableResponse {
            memory_reference: Some(MemoryReference(LoadAddr(1))),
            value_location_reference: Some(1),
            ..SetVariableResponse::default()
        },
    );
    let read = ReadMemoryResponse {
        address: "0x1f".to_owned(),
        unreadable_bytes: 7,
        data: b"bytes".to_vec(),
    };
    two_way(&schema, "ReadMemoryResponse", &read);
    let instruction = DisassembledInstruction {
        address: "0x1".to_owned(),
        instruction_bytes: Some("c3".to_owned()),
        instruction: "ret".to_owned(),
        symbol: Some("main".into()),
        location: Some(source().into()),
        line: Some(3),
        column: Some(1),
        presentation_hint: Some(InstructionHint::Invalid),
    };
    let instructions = vec![instruction, DisassembledInstruction::default()];
    let body = DisassembleResponse { instructions };
    response(&schema, "DisassembleResponse", &body);
    let written = WriteMemoryResponse {
        offset: 0,
        bytes_written: 4,
    };
    response(&schema, "WriteMemoryResponse", &written);
    response(&schema, "SourceResponse", &SourceResponse::default());
    let sources = vec![source()];
    response(
        &schema,
        "LoadedSourcesResponse",
        &LoadedSourcesResponse { sources },
    );
    let modules = ModulesResponse {
        modules: vec![Module::default()],
        total_modules: 1,
    };
    response(&schema, "ModulesResponse", &modules);
    let breakpoints = vec![
        BreakpointLocation::default(),
        BreakpointLocation {
            line: 1,
            column: Some(1),
        },
    ];
    two_way(
        &schema,
        "BreakpointLocationsResponse",
        &BreakpointLocationsResponse { breakpoints },
    );
    let thread = Thread {
        id: 1,
        name: "main".to_owned(),
    };
    two_way(
        &schema,
        "ThreadsResponse",
        &ThreadsResponse {
            threads: vec![thread],
        },
    );
}

#[test]
fn failures() {
    let schema = schema();
    for error in [
        RequestError::Cancelled,
        RequestError::Running,
        RequestError::Start("no such file".to_owned()),
    ] {
        let message = Outgoing::Response {
            request_seq: 1,
            success: false,
            command: "next",
            message: Some(error.message()),
        };
        check(
            &schema,
            "ErrorResponse",
            &Answer::of(message, &error.body()),
        );
    }
    assert_eq!(RequestError::Running.message(), "notStopped");
    assert_eq!(RequestError::Cancelled.message(), "cancelled");
}

#[test]
fn events() {
    let schema = schema();
    event(&schema, "InitializedEvent", "initialized", &());
    event(&schema, "TerminatedEvent", "terminated", &());
    event(
        &schema,
        "ExitedEvent",
        "exited",
        &ExitedEventBody { exit_code: 139 },
    );
    for system_process_id in [Some(1), None] {
        let process = ProcessEventBody {
            name: "/a.out".to_owned(),
            system_process_id,
            is_local_process: true,
            start_method: ProcessEventStartMethod::Launch,
            pointer_size: 64,
        };
        event(&schema, "ProcessEvent", "process", &process);
    }
    let thread = ThreadEventBody {
        reason: ThreadEventReason::Started,
        thread_id: 1,
    };
    event(&schema, "ThreadEvent", "thread", &thread);
    let continued = ContinuedEventBody {
        thread_id: 1,
        all_threads_continued: Some(true),
    };
    event(&schema, "ContinuedEvent", "continued", &continued);
    let stopped = StoppedEventBody {
        reason: "exception".into(),
        description: Some("signal SIGSEGV".to_owned()),
        thread_id: 1,
        preserve_focus_hint: false,
        text: Some("read of address 0x0".to_owned()),
        all_threads_stopped: true,
        hit_breakpoint_ids: vec![1],
    };
    event(&schema, "StoppedEvent", "stopped", &stopped);
    let output = OutputEventBody {
        category: OutputCategory::Important,
        output: "\u{0}".to_owned(),
    };
    event(&schema, "OutputEvent", "output", &output);
    let started = ProgressStartEventBody {
        progress_id: "1",
        title: "Reading",
        cancellable: true,
        percentage: Some(3),
    };
    event(&schema, "ProgressStartEvent", "progressStart", &started);
    let updated = ProgressUpdateEventBody {
        progress_id: "1",
        percentage: Some(4),
    };
    event(&schema, "ProgressUpdateEvent", "progressUpdate", &updated);
    let ended = ProgressEndEventBody {
        progress_id: "1",
        message: Some("cancelled"),
    };
    event(&schema, "ProgressEndEvent", "progressEnd", &ended);
    let changed = BreakpointEventBody {
        reason: BreakpointEventReason::Changed,
        breakpoint: breakpoint(),
    };
    event(&schema, "BreakpointEvent", "breakpoint", &changed);
    let capabilities = ChangedCapabilities::of_core_file();
    let changed = CapabilitiesEventBody { capabilities };
    event(&schema, "CapabilitiesEvent", "capabilities", &changed);
    let capabilities = ChangedCapabilities::of_past(true);
    let changed = CapabilitiesEventBody { capabilities };
    event(&schema, "CapabilitiesEvent", "capabilities", &changed);
    let module = Module {
        id: 1,
        name: "libc.so.6".to_owned(),
        path: Some("/libc.so.6".to_owned()),
        version: Some("abcd".to_owned()),
        symbol_status: Some("Symbols only"),
        symbol_file_path: Some("/usr/lib/debug/x".to_owned()),
        address_range: Some("0x1-0x2".to_owned()),
    };
    let reason = "new";
    event(
        &schema,
        "ModuleEvent",
        "module",
        &ModuleEventBody { reason, module },
    );
}

#[test]
fn requests() {
    let schema = schema();
    let arguments = RunInTerminalRequestArguments {
        kind: "integrated",
        title: "a.out".to_owned(),
        cwd: "/".to_owned(),
        args: vec!["x".to_owned()],
        env: [("A".to_owned(), Some("1".to_owned()))].into(),
    };
    let arguments = body_of(&arguments).expect("JSON");
    let command = "runInTerminal";
    check(
        &schema,
        "RunInTerminalRequest",
        &Outgoing::Request { command, arguments },
    );
    let arguments = StartDebuggingRequestArguments {
        request: "attach",
        configuration: [("pid".to_owned(), 5.into())].into_iter().collect(),
    };
    let arguments = body_of(&arguments).expect("JSON");
    let command = "startDebugging";
    check(
        &schema,
        "StartDebuggingRequest",
        &Outgoing::Request { command, arguments },
    );
}
