//! The `signals` command: shows and sets signal handling.

use super::text::columns;
use super::{Call, Command, Complete};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::settings;
use engine::{Signal, SignalRule};
use serde_json::{Map, Value};

/// Highest number of a signal with a name of its own; the real-time signals follow.
const LAST_NAMED_SIGNAL: i32 = 31;

pub const SIGNALS: Command = Command {
    name: "signals",
    arguments: "[SIGNAL [stop|nostop] [pass|nopass] [print|noprint] [usual]]",
    help: "show or set signal handling",
    more: "`:signals SIGUSR1 nostop nopass print` prints each SIGUSR1 and does not pass it to the \
           program; `:signals SIGUSR1 usual` restores the default. Changes the setting `signals`.",
    when: RequiredState::Always,
    run: signals,
    complete: Complete::Words(|_, before| match before {
        [] => (1..=LAST_NAMED_SIGNAL)
            .map(|number| Signal(number).name())
            .collect(),
        _ => ACTIONS.iter().map(|word| (*word).to_owned()).collect(),
    }),
};

const ACTIONS: [&str; 7] = [
    "stop", "nostop", "pass", "nopass", "print", "noprint", "usual",
];

fn signals(call: &mut Call<'_>) -> Result<String, RequestError> {
    let words = call.words();
    let Some((name, rule)) = words.split_first() else {
        let all = (1..=64).map(Signal);
        let shown = all.filter(|signal| {
            let rule = call.session.debugger.signal_rule(*signal);
            signal.0 <= LAST_NAMED_SIGNAL || rule != SignalRule::usual(*signal)
        });
        return Ok(table(call, shown));
    };
    let Some(signal) = Signal::named(name) else {
        let mistake =
            format!("unknown signal `{name}`; expected a name such as SIGUSR1 or SIGRTMIN+3");
        return Err(call.usage_error(&SIGNALS, mistake));
    };
    if !rule.is_empty() {
        let changed = rule_of(call, signal, rule)?;
        let change = Map::from_iter([("signals".to_owned(), Value::Object(changed))]);
        settings::change(call.session, change).map_err(RequestError::Other)?;
    }
    Ok(table(call, [signal]))
}

/// Returns the whole `signals` setting with one rule changed.
fn rule_of(
    call: &Call<'_>,
    signal: Signal,
    words: &[&str],
) -> Result<Map<String, Value>, RequestError> {
    let known = settings::value_of(call.session, "signals");
    let mut known = known.as_object().cloned().unwrap_or_default();
    // The setting may contain the signal under another spelling.
    known.retain(|name, _| Signal::named(name) != Some(signal));
    let mut rule = call.session.debugger.signal_rule(signal);
    for word in words {
        match *word {
            "stop" => rule.stop = true,
            "nostop" => rule.stop = false,
            "pass" => rule.pass = true,
            "nopass" => rule.pass = false,
            "print" => rule.print = true,
            "noprint" => rule.print = false,
            "usual" => rule = SignalRule::usual(signal),
            other => {
                let mistake = format!("unknown action `{other}`");
                return Err(call.usage_error(&SIGNALS, mistake));
            }
        }
    }
    if rule != SignalRule::usual(signal) {
        let SignalRule { stop, pass, print } = rule;
        let rule = serde_json::json!({"stop": stop, "pass": pass, "print": print});
        known.insert(signal.name(), rule);
    }
    Ok(known)
}

fn table(call: &Call<'_>, signals: impl IntoIterator<Item = Signal>) -> String {
    let mut rows = Vec::new();
    for signal in signals {
        let rule = call.session.debugger.signal_rule(signal);
        let word = |is: bool, word: &str| match is {
            true => word.to_owned(),
            false => format!("no{word}"),
        };
        rows.push(vec![
            signal.name(),
            word(rule.stop, "stop"),
            word(rule.pass, "pass"),
            word(rule.print, "print"),
        ]);
    }
    columns(&rows).join("\n")
}
