//! The commands that explain a stop and search for a value.

use super::{Call, Command, Complete};
use crate::context::{explain, search};
use crate::protocol::{ExplainArguments, RequestError, SearchArguments};
use crate::session::RequiredState;

pub const EXPLAIN: Command = Command {
    name: "explain",
    arguments: "",
    help: "what has happened, with the values that matter, and what threads wait for",
    more: "Shows the lines of the innermost own frames with the values of what they name, what each \
           thread waits for, and threads that wait for each other.",
    when: RequiredState::Stopped,
    run: explain,
    complete: Complete::Words(|_, _| Vec::new()),
};

fn explain(call: &mut Call<'_>) -> Result<String, RequestError> {
    if !call.arguments.is_empty() {
        return Err(call.usage_error(&EXPLAIN, "unexpected argument"));
    }
    let thread = call.thread()?;
    let arguments = ExplainArguments {
        thread_id: Some(thread.0.into()),
        addresses: true,
    };
    let explanation = explain::explain(call.session, &arguments)?;
    let text = explain::text(&explanation, |id| id.to_string());
    Ok(text.trim_end().to_owned())
}

pub const FIND: Command = Command {
    name: "find",
    arguments: "NUMBER | ADDRESS | TEXT",
    help: "find a value in the variables in reach of the frame",
    more: "Follows pointers, members and elements of locals and globals. `:find 42` finds numbers, \
           `:find 0x5040` pointers to an address and the object at it, `:find \"abc\"` strings that \
           contain a text, `:find NAME` also enumerators.",
    when: RequiredState::Stopped,
    run: find,
    complete: Complete::Words(|_, _| Vec::new()),
};

fn find(call: &mut Call<'_>) -> Result<String, RequestError> {
    if call.arguments.is_empty() {
        return Err(call.usage_error(&FIND, "missing argument"));
    }
    let frame = call.frame()?;
    let arguments = SearchArguments {
        wanted: call.arguments.to_owned(),
        frame_id: Some(call.session.handles.frame_id(frame)),
        limit: Some(100),
        addresses: true,
    };
    let found = search::search(call.session, &arguments)?;
    Ok(search::text(&found).trim_end().to_owned())
}
