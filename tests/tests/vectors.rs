//! SIMD vectors, and numbers that the processor does not compute with.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

/// Vectors and numbers of gcc.
fn stopped() -> (Fixture, DapClient) {
    let fixture = Fixture::of("c/vectors.c");
    let client = DapClient::stopped_at(&fixture, "stop");
    (fixture, client)
}

#[test]
fn operators_apply_to_each_element() {
    let (_, mut client) = stopped();
    for (expression, computed) in [
        ("a + b", "add"),
        ("a - b", "sub"),
        ("a * b", "mul"),
        ("a / b", "quot"),
        ("a % b", "rest"),
        ("a + 1", "plus_one"),
        ("10 - a", "minus"),
        ("a & b | 64", "both"),
        ("b << 2", "left"),
        ("a >> 1", "right"),
        ("-a", "negative"),
        ("~a", "inverted"),
        ("a < b", "less"),
        ("a == b", "same"),
        ("a * n + s", "by_n"),
        ("(a + b) * (a - b)", "nested"),
        ("f + g", "fsum"),
        ("f / g", "fquot"),
        ("f * 2", "fscaled"),
        ("-f", "fnegative"),
        ("f > g", "fless"),
        ("p + q", "bsum"),
        ("l * 3", "lmul"),
        ("d * 0.5", "dhalf"),
    ] {
        let wanted = client.evaluate(computed);
        assert_eq!(client.evaluate(expression), wanted, "{expression}");
    }
    assert_eq!(client.evaluate("(a + b)[2]"), "17");
    assert_eq!(client.evaluate("a[3] - 1"), "-17");
    assert_eq!(client.evaluate("sizeof(a + b)"), "16");
    client.disconnect();
}

#[test]
fn vectors_are_no_addresses() {
    let (_, mut client) = stopped();
    for expression in [
        "a ? 1 : 2",
        "!a",
        "(int)a",
        "a + f",
        "a + 2.5",
        "p + 300",
        "f % 2",
        "f & 1",
        "a / 0",
        "a + p",
    ] {
        let refused = client.try_evaluate(expression);
        assert!(refused.is_err(), "{expression}: {refused:?}");
    }
    client.disconnect();
}

#[test]
fn numbers_of_other_kinds_are_shown() {
    let (_, mut client) = stopped();
    for (expression, shown) in [
        ("wire.v", "3"),
        ("wire.w", "-2"),
        (
            "wire",
            "{v = 3, w = -2, f = 23.5, u = 72623859790382856, c = 120 'x'}",
        ),
        ("d32", "1.25"),
        ("d64", "-123456.789"),
        ("d128", "1E-30"),
        ("ci", "3 - 4i"),
        // gcc does not say whether they are signed.
        ("cs", "0xffff + 0x2i"),
        ("cuc", "0xc8 + 0x1i"),
    ] {
        assert_eq!(client.evaluate(expression), shown, "{expression}");
    }
    // Nothing computes with their bytes as if they were integers.
    for expression in [
        "d32 + 1",
        "wire.v + 1",
        "ci == 3",
        "(int)d64",
        "d64 < 3",
        "-ci",
    ] {
        let refused = client.try_evaluate(expression);
        assert!(refused.is_err(), "{expression}: {refused:?}");
    }
    let wrong = json!({"condition": "wire.v == 3"});
    let set = client.set_breakpoints_with(&Fixture::of("c/vectors.c"), vec![("stop", wrong)]);
    assert_eq!(set[0]["verified"], false, "{}", set[0]);
    client.disconnect();
}
