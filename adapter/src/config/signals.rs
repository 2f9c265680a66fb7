//! The setting `signals`: the handling of each signal.

use engine::{Signal, SignalRule};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The rules by signal name.
#[derive(Deserialize, Debug, Default)]
#[serde(transparent)]
pub struct SignalSettings(BTreeMap<String, SignalSetting>);

/// The rule of a signal; what is missing has its default.
#[derive(Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
struct SignalSetting {
    stop: Option<bool>,
    pass: Option<bool>,
    print: Option<bool>,
}

impl SignalSettings {
    /// Returns the rules by signal.
    ///
    /// # Errors
    /// A name is not a signal.
    pub fn rules(&self) -> Result<Vec<(Signal, SignalRule)>, String> {
        self.0.iter().map(rule).collect()
    }
}

fn rule((name, wanted): (&String, &SignalSetting)) -> Result<(Signal, SignalRule), String> {
    let signal = Signal::named(name).ok_or_else(|| {
        format!("`signals`: unknown signal `{name}`; expected a name such as SIGUSR1 or SIGRTMIN+3")
    })?;
    let usual = SignalRule::usual(signal);
    let rule = SignalRule {
        stop: wanted.stop.unwrap_or(usual.stop),
        pass: wanted.pass.unwrap_or(usual.pass),
        print: wanted.print.unwrap_or(usual.print),
    };
    Ok((signal, rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rules(value: Value) -> Result<Vec<(Signal, SignalRule)>, String> {
        let settings: SignalSettings =
            serde_json::from_value(value).map_err(|error| error.to_string())?;
        settings.rules()
    }

    #[test]
    fn missing_fields_keep_defaults() {
        let read = rules(json!({"SIGSEGV": {"pass": false}, "usr1": {"stop": true}})).unwrap();
        let rule = |stop, pass| SignalRule {
            stop,
            pass,
            print: false,
        };
        assert_eq!(
            read,
            [
                (Signal(11), rule(true, false)),
                (Signal(10), rule(true, true))
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (wrong, part) in [
            (json!({"SIGFOO": {}}), "SIGFOO"),
            (json!({"SIGINT": {"ignore": true}}), "ignore"),
            (json!({"SIGINT": {"stop": "x"}}), "bool"),
        ] {
            let error = rules(wrong).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
