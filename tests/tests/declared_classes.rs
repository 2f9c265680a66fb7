//! Classes that the debug info only declares: libstdc++'s strings have a known layout, and of others no number is made
//! of their unknown size.

use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

fn stopped(compiler: Compiler) -> Option<DapClient> {
    let flags = Flags {
        extra: &["-std=c++11"],
        ..Flags::new(compiler)
    };
    let fixture = Fixture::build("cpp/declared_strings.cpp", flags)?;
    Some(DapClient::stopped_at(&fixture, "here"))
}

#[test]
fn strings_are_read_by_their_layout() {
    let Some(mut client) = stopped(Compiler::Clang) else {
        return;
    };
    for (expression, expected) in [
        ("key", "\"name\""),
        ("token.value", "\"name\""),
        ("key.size()", "4"),
        ("key.empty()", "false"),
        ("key == \"name\"", "true"),
        ("key[0] == 'n'", "true"),
        ("key.substr(1)", "\"ame\""),
        ("sizeof(key)", "32"),
        ("token.params.size()", "2"),
        ("token.params.size() != 2", "false"),
        ("token.params[0]", "\"one\""),
        ("token.params[1]", "\"two, which is a longer text\""),
        ("token.params.back().size()", "27"),
        (
            "token.params",
            "(2) {\"one\", \"two, which is a longer text\"}",
        ),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}

#[test]
fn no_number_is_made_of_an_unknown_size() {
    let Some(mut client) = stopped(Compiler::Gcc) else {
        return;
    };
    assert!(
        client
            .evaluate("hidden")
            .contains("unknown number of elements")
    );
    for (expression, why) in [
        ("hidden.size()", "only declared"),
        ("hidden.capacity()", "only declared"),
        ("one + 1", "unknown"),
        ("one - one", "unknown"),
        ("one[1]", "unknown size"),
    ] {
        let error = client.evaluated(expression).expect_err(expression);
        let error = error["body"]["error"]["format"].to_string();
        assert!(error.contains(why), "{expression}: {error}");
    }
    client.disconnect();
}
