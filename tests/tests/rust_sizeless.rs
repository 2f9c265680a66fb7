//! Structs of Rust without a size that is known, and types without bytes.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

fn stopped_at(fixture: &Fixture, place: &str) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &[place]);
    client.configure();
    client.expect_stopped("breakpoint");
    client
}

fn shows(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(client.evaluate(expression), *expected, "{expression}");
    }
}

#[test]
fn methods_of_structs_without_a_size_are_called() {
    let fixture = Fixture::of("rust/sizeless.rs");
    let mut client = stopped_at(&fixture, "look");
    shows(
        &mut client,
        &[
            ("secret.len()", "3"),
            ("secret.at(1)", "2"),
            ("secret.at(1) + secret.at(2)", "5"),
            ("(*secret).len()", "3"),
            ("owned.len()", "2"),
            ("owned.at(0)", "9"),
            ("name.size()", "5"),
            ("secret.twice()", "6"),
            ("Secret::len(secret)", "3"),
        ],
    );
    client.evaluate("owned.set(8)");
    assert_eq!(client.evaluate("owned.at(0)"), "8");
    client.disconnect();
    let mut client = stopped_at(&fixture, "method");
    shows(&mut client, &[("self.len()", "3"), ("self.at(0)", "1")]);
    client.disconnect();
}

#[test]
fn values_of_types_without_bytes_are_known_in_optimized_code() {
    let flags = Flags::new(Compiler::Rustc).optimized("2");
    let Some(fixture) = Fixture::build("rust/sizeless.rs", flags) else {
        return;
    };
    let mut client = stopped_at(&fixture, "without_bytes");
    shows(
        &mut client,
        &[
            ("nothing", "Nothing"),
            ("typed", "Typed(PhantomData)"),
            ("unit", "()"),
            ("row", "[]"),
        ],
    );
    client.disconnect();
}
