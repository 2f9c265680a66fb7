//! The command that traces a call.

use super::{Call, Command, Complete};
use crate::call_trace::Wanted;
use crate::protocol::RequestError;
use crate::session::{RequiredState, call_trace};

pub const TRACE_CALL: Command = Command {
    name: "trace-call",
    arguments: "FUNCTION [hit N | if EXPRESSION] [depth D] [limit BYTES] [seconds S]",
    help: "run through one call of a function, and show its lines, changes and result",
    more: "`hit 3` is the third call from now, `if n > 9` the first one for which that is true; \
           otherwise it is the next one, or the present one if the program is stopped at its \
           beginning. `depth 1` also shows the lines of the functions that it calls. The program \
           then is stopped in the caller; a breakpoint, a crash, a pause or the end of the time (60 \
           seconds from the beginning of the call) ends the trace earlier.",
    // The text is returned also if the process has ended.
    when: RequiredState::Always,
    run: trace_call,
    complete: Complete::Expression,
};

fn trace_call(call: &mut Call<'_>) -> Result<String, RequestError> {
    let wanted = Wanted::parse(call.arguments);
    let wanted = wanted.map_err(|mistake| call.usage_error(&TRACE_CALL, mistake))?;
    let text = call_trace::run(call.session, wanted)?;
    Ok(text.trim_end().to_owned())
}
