//! The state of streams: read by the layout of libstdc++'s classes, which the debug info mostly only declares.

use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

#[test]
fn state_of_a_stream_is_read() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/streams.cpp", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        for (expression, expected) in [
            ("numbers.fail()", "true"),
            ("numbers.good()", "false"),
            ("numbers.eof()", "false"),
            ("numbers.bad()", "false"),
            ("!numbers", "true"),
            ("numbers ? 1 : 2", "2"),
            ("whole.eof()", "true"),
            ("whole.fail()", "false"),
            ("whole && !whole.good()", "true"),
            ("out.good()", "true"),
            ("both.good() && both", "true"),
            ("missing.fail()", "true"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.set_breakpoints(&fixture, &["here"]);
        client.continue_();
        client.expect_stopped("breakpoint");
        for (expression, expected) in [
            ("input.fail()", "true"),
            ("!input || output.fail()", "true"),
            ("output.good()", "true"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
    }
}
