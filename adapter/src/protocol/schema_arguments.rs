//! Requests as our own client sends them.

use super::schema::{check, schema};
use super::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Checks a request as our own client sends it, and that the adapter reads all of it.
fn sent<T: Serialize + DeserializeOwned>(definition: &str, command: &'static str, arguments: T) {
    let message = Outgoing::Request {
        command,
        arguments: body_of(&arguments).expect("JSON"),
    };
    check(&schema(), definition, &message);
    let sent = serde_json::to_value(&arguments).expect("JSON");
    let read: T = read_arguments(sent.clone()).expect("the type that was sent");
    assert_eq!(serde_json::to_value(&read).expect("JSON"), sent);
}

#[test]
fn arguments_of_our_client_follow_the_schema() {
    let text = || Some("text".to_owned());
    let line = SourceBreakpoint {
        line: 3,
        condition: text(),
        hit_condition: text(),
        log_message: text(),
        ..SourceBreakpoint::default()
    };
    let set = SetBreakpointsArguments {
        source: Source {
            path: text(),
            ..Source::default()
        },
        breakpoints: Some(vec![line, SourceBreakpoint::default()]),
        lines: None,
    };
    sent("SetBreakpointsRequest", "setBreakpoints", set);
    let function = FunctionBreakpoint {
        name: "f".to_owned(),
        condition: text(),
        hit_condition: None,
    };
    let breakpoints = vec![function];
    let set = SetFunctionBreakpointsArguments { breakpoints };
    sent(
        "SetFunctionBreakpointsRequest",
        "setFunctionBreakpoints",
        set,
    );
    let instruction = InstructionBreakpoint {
        instruction_reference: "0x1".to_owned(),
        offset: Some(1),
        ..InstructionBreakpoint::default()
    };
    let breakpoints = vec![instruction];
    let set = SetInstructionBreakpointsArguments { breakpoints };
    sent(
        "SetInstructionBreakpointsRequest",
        "setInstructionBreakpoints",
        set,
    );
    let data = DataBreakpoint {
        data_id: "1".to_owned(),
        access_type: Some(DataAccessType::ReadWrite),
        condition: text(),
        hit_condition: None,
    };
    let breakpoints = vec![data];
    let set = SetDataBreakpointsArguments { breakpoints };
    sent("SetDataBreakpointsRequest", "setDataBreakpoints", set);
    let options = vec![ExceptionFilterOptions {
        filter_id: "throw".to_owned(),
        condition: text(),
    }];
    for filter_options in [Vec::new(), options] {
        let set = SetExceptionBreakpointsArguments {
            filters: vec!["panic".to_owned()],
            filter_options,
            exception_options: Vec::new(),
        };
        sent(
            "SetExceptionBreakpointsRequest",
            "setExceptionBreakpoints",
            set,
        );
    }
    let initialize = InitializeArguments {
        client_id: text(),
        adapter_id: text(),
        supports_variable_type: Some(true),
        supports_ansi_styling: Some(true),
        ..InitializeArguments::default()
    };
    sent("InitializeRequest", "initialize", initialize);
    let evaluate = EvaluateArguments {
        expression: "x".to_owned(),
        frame_id: Some(1),
        context: Some("watch".to_owned()),
        format: Some(ValueFormat {
            hex: Some(true),
            ..ValueFormat::default()
        }),
    };
    sent("EvaluateRequest", "evaluate", evaluate);
    let variables = VariablesArguments {
        variables_reference: 1,
        filter: Some(VariablesArgumentsFilter::Named),
        start: Some(1),
        count: None,
        format: None,
    };
    sent("VariablesRequest", "variables", variables);
    sent("ScopesRequest", "scopes", ScopesArguments { frame_id: 1 });
    let step = StepArguments {
        thread_id: 1,
        granularity: Some(SteppingGranularity::Instruction),
        ..StepArguments::default()
    };
    sent("NextRequest", "next", step);
    sent("StepInRequest", "stepIn", StepInArguments::default());
    sent("StepBackRequest", "stepBack", StepBackArguments::default());
    sent(
        "DisconnectRequest",
        "disconnect",
        DisconnectArguments::default(),
    );
    let cancel = CancelArguments {
        request_id: Some(1),
        progress_id: None,
    };
    sent("CancelRequest", "cancel", cancel);
}
