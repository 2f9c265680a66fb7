//! The table of requests. A request is an `impl Request` in `requests/` and a line in [`ROUTES`];
//! the adapter's capabilities are the sum over them.

use super::*;
use crate::protocol::{Body, Capabilities, Handled, RequestError, read_arguments};
use crate::session::{RequiredState, Session};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// When the response of a successful request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseTiming {
    /// Immediately.
    AtOnce,
    /// After the client has configured its breakpoints (see `requests::launch`).
    AfterConfiguration,
}

/// A request's effect on the debuggee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: values that were read before it are still valid.
    Reads,
    /// Values, or how the client sees them, may change.
    Writes,
    /// On success, the debuggee runs.
    Runs,
}

/// How a request is handled while a past stop is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InThePast {
    /// It reads the stop that is shown, or says itself what is impossible there.
    Shown,
    /// It concerns the process itself, whatever stop is shown.
    Present,
    /// It ends the view of the past.
    Leaves,
}

/// A request of the protocol; each is an uninhabited type.
pub trait Request {
    /// Its name.
    const COMMAND: &'static str;
    /// The state of the session in which it is allowed.
    const WHEN: RequiredState = RequiredState::Stopped;
    /// When its response is sent.
    const RESPONSE: ResponseTiming = ResponseTiming::AtOnce;
    /// Its effect on the debuggee.
    const EFFECT: Effect = Effect::Writes;
    /// How it is handled while a past stop is shown.
    const IN_THE_PAST: InThePast = match Self::EFFECT {
        Effect::Reads | Effect::Runs => InThePast::Shown,
        Effect::Writes => InThePast::Present,
    };
    /// Whether it is deferred to the end of a running inferior call.
    const DEFERRED_DURING_CALL: bool = matches!(Self::WHEN, RequiredState::Stopped);
    /// Whether it is handled again after an inferior call that it started.
    const RETRY_AFTER_CALL: bool = false;
    /// Whether it is allowed before `initialize`.
    const BEFORE_INITIALIZE: bool = false;
    /// Its arguments.
    type Arguments: DeserializeOwned;
    /// The body of its response; `()`: no body.
    type Body: Serialize;

    /// Adds the capabilities that it brings.
    fn advertise(_: &mut Capabilities) {}

    /// Serializes the body of the response; `None` for `()`.
    ///
    /// # Errors
    /// Never for the types of this crate.
    fn json(body: Self::Body) -> serde_json::Result<Option<Body>> {
        Body::of(&body)
    }

    /// Handles the request.
    ///
    /// # Errors
    /// The request failed; the error becomes the response.
    fn handle(
        session: &mut Session,
        arguments: Self::Arguments,
    ) -> Result<Self::Body, RequestError>;
}

/// A request without its types.
pub struct Route {
    /// See [`Request`].
    pub command: &'static str,
    /// See [`Request`].
    pub when: RequiredState,
    /// See [`Request`].
    pub response: ResponseTiming,
    /// See [`Request`].
    pub effect: Effect,
    /// See [`Request`].
    pub in_the_past: InThePast,
    /// See [`Request`].
    pub deferred_during_call: bool,
    /// See [`Request`].
    pub retry_after_call: bool,
    /// See [`Request`].
    pub before_initialize: bool,
    advertise: fn(&mut Capabilities),
    /// Parses the arguments and handles the request.
    pub handle: fn(&mut Session, Value) -> Handled,
}

const fn route<R: Request>() -> Route {
    Route {
        command: R::COMMAND,
        when: R::WHEN,
        response: R::RESPONSE,
        effect: R::EFFECT,
        in_the_past: R::IN_THE_PAST,
        deferred_during_call: R::DEFERRED_DURING_CALL,
        retry_after_call: R::RETRY_AFTER_CALL,
        before_initialize: R::BEFORE_INITIALIZE,
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
    route::<StepBack>(),
    route::<ReverseContinue>(),
    route::<PastStops>(),
    route::<LastWrite>(),
    route::<Origin>(),
    route::<OriginHops>(),
    route::<VisitHop>(),
    route::<Replay>(),
    route::<VisitStop>(),
    route::<SystemCalls>(),
    route::<VisitCall>(),
    route::<VisitHit>(),
    route::<PastChanges>(),
    route::<StepInTargets>(),
    route::<GotoTargets>(),
    route::<Goto>(),
    route::<RestartFrame>(),
    route::<StackTrace>(),
    route::<Context>(),
    route::<Stacks>(),
    route::<Explain>(),
    route::<Search>(),
    route::<TraceCall>(),
    route::<AddTrace>(),
    route::<RemoveTrace>(),
    route::<ReadTraces>(),
    route::<CheckTrace>(),
    route::<FindFunction>(),
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

static BY_COMMAND: LazyLock<HashMap<&str, &Route>> =
    LazyLock::new(|| ROUTES.iter().map(|route| (route.command, route)).collect());

/// Returns the route of a command; `None` if it is unknown.
pub fn find(command: &str) -> Option<&'static Route> {
    BY_COMMAND.get(command).copied()
}

/// Returns the adapter's capabilities.
pub fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::default();
    for route in ROUTES {
        (route.advertise)(&mut capabilities);
    }
    capabilities
}
