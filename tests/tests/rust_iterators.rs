//! Chains of Rust's iterators, whose items and closures the debugger evaluates: each has the value that the program
//! itself prints. Functions through a type parameter.

use stillpoint_tests::{DapClient, Fixture, Flags};

#[test]
fn chains_have_the_values_of_the_program() {
    let fixture = Fixture::of("rust/iterators.rs");
    let mut client = DapClient::stopped_at(&fixture, "here");
    let count: usize = client.evaluate("chains.len()").parse().expect("a number");
    assert!(count > 60, "{count}");
    let mut wrong = Vec::new();
    for index in 0..count {
        let chain = unquoted(&client.evaluate(&format!("chains[{index}].0")));
        let printed = unquoted(&client.evaluate(&format!("chains[{index}].1")));
        let shown = client.try_evaluate(&chain).unwrap_or_else(|error| error);
        if shown != printed {
            wrong.push(format!("{chain}: {shown}, not {printed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    client.disconnect();
}

/// Returns a text as the program has it.
fn unquoted(shown: &str) -> String {
    serde_json::from_str(shown).unwrap_or_else(|error| panic!("{shown}: {error}"))
}

#[test]
fn chains_without_a_value_say_why() {
    let fixture = Fixture::of("rust/iterators.rs");
    let mut client = DapClient::stopped_at(&fixture, "here");
    for (chain, why) in [
        ("v.iter().rev()", "an iterator alone has no value"),
        ("v.iter().map(2).count()", "write a closure"),
        (
            "v.iter().map(|x, y| x).count()",
            "a closure with 1 parameters, not 2",
        ),
        ("v.iter().skip(words).count()", "expected a `usize`"),
        ("v.iter().step_by(0).count()", "panics"),
        ("v.windows(0).count()", "panic"),
        ("arr.iter().map(|x| x * 100).max()", "overflows `u8`"),
        ("words.iter().map(|w| w.len()).sum::<u8>()", "no `u8`"),
        ("words.iter().rev().sum::<u32>()", "no `u32`"),
        (
            "v.iter().rev().collect::<HashSet<_>>()",
            "`Vec<_>` or `String`",
        ),
        ("(0..100_000_000).map(|i| i).count()", "at most 65536"),
        ("v.iter().map(|x| x / 0).max()", "division by zero"),
        ("v.iter().map(|x| missing).count()", "missing"),
    ] {
        let error = client.try_evaluate(chain).expect_err(chain);
        assert!(error.contains(why), "{chain}: {error}");
    }
    client.disconnect();
}

#[test]
fn functions_through_a_type_parameter_are_called() {
    for extra in [&[][..], &["-Csymbol-mangling-version=v0"]] {
        let flags = Flags {
            extra,
            ..Flags::of("rust/iterators.rs")
        };
        let fixture = Fixture::build("rust/iterators.rs", flags).expect("rustc is installed");
        let mut client = DapClient::stopped_at(&fixture, "generic");
        for (call, value) in [
            ("T::name()", "\"square\""),
            ("T::sides()", "4"),
            ("<T as Shape>::sides()", "4"),
            ("<T as Shape>::name()", "\"square\""),
            ("Square::sides()", "4"),
            ("Square::name()", "\"square\""),
        ] {
            assert_eq!(client.evaluate(call), value, "{call}");
        }
        assert!(client.try_evaluate("T::missing()").is_err());
        client.disconnect();
    }
}
