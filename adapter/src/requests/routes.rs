//! Which request is done by which code. A request is an `impl Request` in `requests/` and a
//! line in [`ROUTES`]; what the adapter says it can do is the sum over them.

use super::*;
use crate::protocol::{Body, Capabilities, Handled, RequestError, read_arguments};
use crate::session::{RequiredState, Session};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// When a request that succeeded is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseTiming {
    /// At once.
    AtOnce,
    /// When the client has configured its breakpoints (see `requests::launch`).
    AfterConfiguration,
}

/// What a request does to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: values that were read before it are still right.
    Reads,
    /// It may change values, or what the client sees of them.
    Writes,
    /// The program runs when it has succeeded.
    Runs,
}

/// A request of the protocol: one uninhabited type each.
pub trait Request {
    /// Its name.
    const COMMAND: &'static str;
    /// The state of the program in which it makes sense.
    const WHEN: RequiredState = RequiredState::Stopped;
    /// When it is answered.
    const RESPONSE: ResponseTiming = ResponseTiming::AtOnce;
    /// What it does to the program.
    const EFFECT: Effect = Effect::Writes;
    /// Whether it waits for the end of a call into the program that an expression makes.
    const DEFERRED_DURING_CALL: bool = matches!(Self::WHEN, RequiredState::Stopped);
    /// Whether it is carried out again when a call into the program that it made has ended.
    const RETRY_AFTER_CALL: bool = false;
    /// Whether it may come before `initialize`.
    const BEFORE_INITIALIZE: bool = false;
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

/// A request without its types.
pub struct Route {
    /// As in [`Request`].
    pub command: &'static str,
    /// As in [`Request`].
    pub when: RequiredState,
    /// As in [`Request`].
    pub response: ResponseTiming,
    /// As in [`Request`].
    pub effect: Effect,
    /// As in [`Request`].
    pub deferred_during_call: bool,
    /// As in [`Request`].
    pub retry_after_call: bool,
    /// As in [`Request`].
    pub before_initialize: bool,
    advertise: fn(&mut Capabilities),
    /// Reads the arguments and does it.
    pub handle: fn(&mut Session, Value) -> Handled,
}

const fn route<R: Request>() -> Route {
    Route {
        command: R::COMMAND,
        when: R::WHEN,
        response: R::RESPONSE,
        effect: R::EFFECT,
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

static BY_COMMAND: LazyLock<HashMap<&str, &Route>> =
    LazyLock::new(|| ROUTES.iter().map(|route| (route.command, route)).collect());

/// The route of a command.
pub fn find(command: &str) -> Option<&'static Route> {
    BY_COMMAND.get(command).copied()
}

/// What the adapter can do.
pub fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::default();
    for route in ROUTES {
        (route.advertise)(&mut capabilities);
    }
    capabilities
}
