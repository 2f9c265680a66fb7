//! The command for settings that can be changed during a session.

use super::text::columns;
use super::{Call, Command, Complete};
use crate::config::{RuntimeSettings, why_fixed};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::settings::{change, value_of};
use serde_json::{Map, Value};

pub const SET: Command = Command {
    name: "set",
    arguments: "[NAME [VALUE|default]]",
    help: "show or change settings",
    more: "A value is written as in a launch configuration; a plain text needs no quotes: `:set \
           maxDepth 5`, `:set stepFilters [\"*/third_party/*\"]`, `:set sourceMap {\"/build\": \
           \"/home/me/src\"}`. It applies until the session ends, restarts included.",
    when: RequiredState::Always,
    run: set,
    complete: Complete::Words(|_, before| match before {
        [] => RuntimeSettings::keys().map(str::to_owned).collect(),
        ["stepFilters"] => ["true", "false", "default"].map(str::to_owned).to_vec(),
        [_] => vec!["default".to_owned()],
        _ => Vec::new(),
    }),
};

fn set(call: &mut Call<'_>) -> Result<String, RequestError> {
    let (name, value) = super::split(call.arguments);
    if name.is_empty() {
        let rows: Vec<Vec<String>> = RuntimeSettings::TABLE
            .iter()
            .map(|key| {
                let value = value_of(call.session, key.name);
                vec![key.name.to_owned(), value.to_string(), key.help.to_owned()]
            })
            .collect();
        return Ok(columns(&rows).join("\n"));
    }
    if RuntimeSettings::named(name).is_none() {
        return Err(RequestError::Other(why_fixed(name)));
    }
    if !value.is_empty() {
        let value = match value {
            "default" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        let changes = Map::from_iter([(name.to_owned(), value)]);
        change(call.session, changes).map_err(RequestError::Other)?;
    }
    Ok(format!("{name} {}", value_of(call.session, name)))
}
