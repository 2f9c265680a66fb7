//! The command for the origin of a value.

use super::{Call, Command, Complete};
use crate::protocol::RequestError;
use crate::session::describe::{list_of_hops, origin};
use crate::session::{RequiredState, past};
use engine::Purpose;

pub const ORIGIN: Command = Command {
    name: "origin",
    arguments: "[EXPRESSION | N]",
    help: "go back to where a value comes from, through copies",
    more: "From the last write of the value back: what is copied from other memory is followed to the last write \
           there, arguments to the caller, results into the function that returned them, until the value is \
           computed, comes from a system call, or was there from the start. Lists the places on the way and \
           shows the last one; N goes to one of them, and without arguments they are listed again. The \
           expression is a variable, a member, an element or another value in memory, of 32 bytes at most. It \
           needs a recording (setting `record`).",
    when: RequiredState::Stopped,
    run,
    complete: Complete::Expression,
};

fn run(call: &mut Call<'_>) -> Result<String, RequestError> {
    if call.arguments.is_empty() {
        let origin = origin(call.session)?;
        return Ok(list_of_hops(&origin).trim_end().to_owned());
    }
    let thread = call.thread()?;
    if let Ok(number) = call.arguments.parse() {
        past::go_to_hop(call.session, thread, number)?;
    } else {
        let debugger = &mut call.session.debugger;
        let found = debugger.evaluate(call.frame, call.arguments, Purpose::Look)?;
        let name = found.expression;
        let data = debugger.watchable(call.frame, &name, &found.value, None)?;
        past::go_to_origin(call.session, thread, &data)?;
    }
    // For clients a command is no resume.
    call.session.report_continued();
    Ok(String::new())
}
