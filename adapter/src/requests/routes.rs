//! Which request is done by which code. A request is an `impl Request` in `requests/` and a
//! line in [`ROUTES`]; what the adapter says it can do is the sum over them.

use super::*;
use crate::protocol::RequestError;
use crate::protocol::{Body, Capabilities, read_arguments};
use crate::session::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// In which state of the program a request makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// In any.
    Always,
    /// While there is a process.
    Process,
    /// While it is stopped.
    Stopped,
}

/// When a request that succeeded is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// At once.
    AtOnce,
    /// When the client has configured its breakpoints (see `requests::launch`).
    AfterConfiguration,
}

/// A request of the protocol: one uninhabited type each.
pub trait Request {
    /// Its name.
    const COMMAND: &'static str;
    /// When it makes sense.
    const WHEN: When = When::Stopped;
    /// When it is answered.
    const ANSWER: Answer = Answer::AtOnce;
    /// Whether it waits for the end of a call into the program that an expression makes.
    const WAITS_FOR_CALLS: bool = matches!(Self::WHEN, When::Stopped);
    /// What it is given.
    type Arguments: DeserializeOwned;
    /// What it gives; `()` is no body.
    type Body: Serialize;

    /// Adds what the adapter can do by it.
    fn advertise(_: &mut Capabilities) {}

    /// What it gives, as JSON; `()` is no body.
    ///
    /// # Errors
    /// Never for the types of this crate.
    fn json(body: Self::Body) -> serde_json::Result<Option<Body>> {
        Body::of(&body)
    }

    /// Does it.
    ///
    /// # Errors
    /// It becomes an answer that says why not.
    fn handle(
        session: &mut Session,
        arguments: Self::Arguments,
    ) -> Result<Self::Body, RequestError>;
}

/// What a request's handler gives: the answer's body.
pub type Handled = Result<Option<Body>, RequestError>;

/// A request without its types.
pub struct Route {
    /// Its name.
    pub command: &'static str,
    /// When it makes sense.
    pub when: When,
    /// When it is answered.
    pub answer: Answer,
    /// Whether it waits for the end of a call into the program.
    pub waits_for_calls: bool,
    advertise: fn(&mut Capabilities),
    /// Reads the arguments and does it.
    pub handle: fn(&mut Session, Value) -> Handled,
}

impl Route {
    /// Whether it may come before the client has introduced itself.
    pub fn before_initialize(&self) -> bool {
        ["initialize", "disconnect"].contains(&self.command)
    }
}

const fn route<R: Request>() -> Route {
    Route {
        command: R::COMMAND,
        when: R::WHEN,
        answer: R::ANSWER,
        waits_for_calls: R::WAITS_FOR_CALLS,
        advertise: R::advertise,
        handle: |session, arguments| {
            let arguments = read_arguments(arguments)
                .map_err(|mistake| RequestError::Arguments(format!("{}: {mistake}", R::COMMAND)))?;
            let body = R::handle(session, arguments)?;
            R::json(body).map_err(|error| RequestError::Other(error.to_string()))
        },
    }
}

/// All requests.
pub static ROUTES: &[Route] = &[
    route::<Initialize>(),
    route::<Launch>(),
    route::<Attach>(),
    route::<ConfigurationDone>(),
    route::<Disconnect>(),
    route::<Restart>(),
    route::<Terminate>(),
    route::<Cancel>(),
    route::<SetBreakpoints>(),
    route::<BreakpointLocations>(),
    route::<Locations>(),
    route::<SetFunctionBreakpoints>(),
    route::<SetInstructionBreakpoints>(),
    route::<DataBreakpointInfo>(),
    route::<SetDataBreakpoints>(),
    route::<SetExceptionBreakpoints>(),
    route::<ExceptionInfo>(),
    route::<Threads>(),
    route::<Pause>(),
    route::<Continue>(),
    route::<Next>(),
    route::<StepIn>(),
    route::<StepOut>(),
    route::<StepInTargets>(),
    route::<GotoTargets>(),
    route::<Goto>(),
    route::<RestartFrame>(),
    route::<StackTrace>(),
    route::<Context>(),
    route::<Stacks>(),
    route::<Scopes>(),
    route::<Variables>(),
    route::<SetVariable>(),
    route::<Evaluate>(),
    route::<SetExpression>(),
    route::<Completions>(),
    route::<ReadMemory>(),
    route::<WriteMemory>(),
    route::<Disassemble>(),
    route::<Source>(),
    route::<LoadedSources>(),
    route::<Modules>(),
    route::<SetSettings>(),
];

/// The route of a command.
pub fn find(command: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.command == command)
}

/// What the adapter can do.
pub fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::default();
    for route in ROUTES {
        (route.advertise)(&mut capabilities);
    }
    capabilities
}
