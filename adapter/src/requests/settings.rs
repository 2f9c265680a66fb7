//! The request for settings that can be changed during a session.

use crate::config::RuntimeSettings;
use crate::protocol::RequestError;
use crate::protocol::{SetSettingsArguments, SetSettingsResponse};
use crate::requests::Request;
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::settings::{change, value_of};

/// Changes settings, and returns all that can be changed. It is not in the specification, hence the
/// prefix of its name.
pub enum SetSettings {}

impl Request for SetSettings {
    const COMMAND: &'static str = "stillpoint/setSettings";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetSettingsArguments;
    type Body = SetSettingsResponse;

    fn handle(
        session: &mut Session,
        arguments: SetSettingsArguments,
    ) -> Result<SetSettingsResponse, RequestError> {
        change(session, arguments.settings)
            .map_err(|mistake| RequestError::Arguments(format!("{}: {mistake}", Self::COMMAND)))?;
        let settings = RuntimeSettings::keys().map(|key| (key.to_owned(), value_of(session, key)));
        Ok(SetSettingsResponse {
            settings: settings.collect(),
        })
    }
}
