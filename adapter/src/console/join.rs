//! The command that lets clients look on.

use super::{Call, Command, Complete};
use crate::protocol::RequestError;
use crate::session::{RequiredState, guests};

pub const JOIN: Command = Command {
    name: "join",
    arguments: "",
    help: "let an agent look on at this session",
    more: "Opens a socket that only you can use, and shows its path: `stillpoint mcp --join PATH` sees \
           what this session is stopped at, its variables, stacks, memory and traces. It cannot \
           change or resume anything.",
    when: RequiredState::Always,
    run: join,
    complete: Complete::Words(|_, _| Vec::new()),
};

fn join(call: &mut Call<'_>) -> Result<String, RequestError> {
    if !call.arguments.is_empty() {
        return Err(call.usage_error(&JOIN, "unexpected argument"));
    }
    let path = guests::admit(call.session).map_err(|error| {
        RequestError::Other(format!(
            "cannot open a socket: {error}; set XDG_RUNTIME_DIR to a folder of your own"
        ))
    })?;
    let path = path.display();
    Ok(format!("stillpoint mcp --join {path}"))
}
