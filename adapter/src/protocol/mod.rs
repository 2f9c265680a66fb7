//! The wire format: the structs of the `dap` crate where they are right, others (with the
//! specification's names) where they are not. No code outside this folder imports `dap`. Types that
//! `client` sends or reads go both ways.

mod arguments;
mod breakpoints;
mod capabilities;
mod context;
mod envelope;
mod error;
mod events;
mod exceptions;
mod explain;
mod lenient;
mod memory;
mod origin;
mod parse;
mod past;
mod stack;
mod traces;
mod types;
mod values;

pub use arguments::*;
pub use breakpoints::*;
pub use capabilities::{BreakpointMode, Capabilities, CapabilitiesEventBody, ChangedCapabilities};
pub use context::*;
pub use envelope::{
    Body, Encoded, Incoming, Malformed, Outgoing, Request, Response, body_of, read_message,
};
pub use error::{ErrorKind, Handled, RequestError};
pub use events::*;
pub use exceptions::*;
pub use explain::*;
pub use lenient::{read_arguments, read_settings};
pub use memory::*;
pub use origin::*;
pub use parse::{from_json, from_value};
pub use past::*;
pub use stack::*;
pub use traces::*;
pub use types::*;
pub use values::*;

pub use dap::events::{ContinuedEventBody, ExitedEventBody, ThreadEventBody};
pub use dap::requests::{
    GotoArguments, RestartFrameArguments, ScopesArguments, SetFunctionBreakpointsArguments,
    StepInTargetsArguments, TerminateArguments,
};
pub use dap::responses::{SourceResponse, ThreadsResponse};
pub use dap::types::{
    FunctionBreakpoint, ProcessEventStartMethod, SteppingGranularity, Thread, ThreadEventReason,
    VariablePresentationHint, VariablePresentationHintAttributes, VariablePresentationHintKind,
    VariablesArgumentsFilter,
};

#[cfg(test)]
pub mod schema;
#[cfg(test)]
mod schema_arguments;
