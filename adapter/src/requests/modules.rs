//! The `modules` request.

use crate::protocol::RequestError;
use crate::protocol::{Capabilities, ModulesArguments, ModulesResponse};
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::events::describe_module;

/// Lists modules, as the `module` events reported them.
pub enum Modules {}

impl Request for Modules {
    const COMMAND: &'static str = "modules";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = ModulesArguments;
    type Body = ModulesResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_modules_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: ModulesArguments,
    ) -> Result<ModulesResponse, RequestError> {
        let size = |number: Option<i64>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
        let count = match size(arguments.module_count) {
            0 => usize::MAX,
            count => count,
        };
        let infos = session.debugger.modules();
        let wanted = infos.iter().skip(size(arguments.start_module)).take(count);
        Ok(ModulesResponse {
            modules: wanted.map(describe_module).collect(),
            total_modules: infos.len(),
        })
    }
}
