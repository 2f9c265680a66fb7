//! The command for tracepoints.

use super::{Call, Command, Complete};
use crate::context::traces::{self, Style};
use crate::protocol::{RequestError, TracesArguments};
use crate::session::RequiredState;
use crate::session::traces::{add, read, remove};

/// Maximum size of the output in bytes, and of that of each tracepoint if there are several.
const MAX_BYTES: [usize; 2] = [16 << 10, 2 << 10];

pub const TRACE: Command = Command {
    name: "trace",
    arguments: "[PLACE [QUERY] | ID | remove ID]",
    help: "record values and aggregates at a line or function",
    more: "PLACE is FILE:LINE or a function. QUERY is a list of values and aggregates, such as \
           `count(), max(n) by kind where n > 3`; without one, hits are counted. Aggregates: \
           count() sum(x) min(x) max(x) mean(x) hist(x) hist(x, from, to, step) distinct(x) \
           top(N, x) last(x, N) rate(). Keys and values can be `thread` and `stack`; \
           `since(PLACE)` is the time since the thread passed another place. The program does not \
           stop. Without arguments, shows what all tracepoints have recorded.",
    when: RequiredState::Always,
    run,
    complete: Complete::Words(|_, _| Vec::new()),
};

fn run(call: &mut Call<'_>) -> Result<String, RequestError> {
    let arguments = call.arguments.trim();
    let (first, rest) = arguments
        .split_once(char::is_whitespace)
        .unwrap_or((arguments, ""));
    if first == "remove" {
        let id = rest.trim().parse().map_err(|_| {
            RequestError::Other(format!(
                "`{}` is not the number of a tracepoint",
                rest.trim()
            ))
        })?;
        remove(call.session, id)?;
        return Ok(format!("tracepoint {id} removed"));
    }
    let id = first.parse().ok();
    if first.is_empty() || id.is_some() {
        let arguments = TracesArguments {
            id,
            ..TracesArguments::default()
        };
        let found = read(call.session, &arguments)?;
        if found.is_empty() {
            let prefix = &call.session.settings.command_prefix;
            return Ok(format!(
                "no tracepoints; set one with `{prefix}trace FILE:LINE count()`"
            ));
        }
        let [all, each] = MAX_BYTES;
        let budget = if found.len() == 1 { all } else { each };
        let texts: Vec<String> = found
            .iter()
            .map(|it| traces::text(it, budget, Style::Timed))
            .collect();
        return Ok(texts.join("\n\n"));
    }
    let trace = add(call.session, first, rest.trim().to_owned())?;
    Ok(traces::head(&trace, Style::Timed))
}
