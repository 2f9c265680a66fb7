//! Locks and borrows that calls in expressions return: they are dropped when the expression has been evaluated, or the
//! program would wait for ever.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn guards_of_rust_are_dropped() {
    let fixture = Fixture::of("rust/guards.rs");
    let mut client = DapClient::stopped_at(&fixture, "here");
    for _ in 0..2 {
        for (expression, expected) in [
            ("bank.accounts.lock().unwrap()", "(3) [1, 2, 3]"),
            ("bank.accounts.lock()", "Ok([1, 2, 3])"),
            ("bank.accounts.lock().unwrap().len()", "3"),
            ("bank.accounts.lock().unwrap()[1]", "2"),
            ("bank.name.read().unwrap()", "\"bankx\""),
            ("bank.name.write()", "Ok(\"bankx\")"),
            ("bank.cell.borrow_mut()", "(1) [1]"),
            ("bank.cell.borrow().len()", "1"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        let wrong = client.try_evaluate("bank.accounts.lock().unwrap()[77]");
        assert!(wrong.is_err_and(|it| it.contains("out of range")));
    }
    let options =
        json!({"condition": "bank.accounts.lock().unwrap().len() == bank.cell.borrow_mut().len()"});
    client.set_breakpoints_with(&fixture, vec![("here", options)]);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("bank.cell.borrow().len()"), "3");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "10\n12\n14\n");
}

#[test]
fn locks_of_cpp_are_destroyed() {
    let fixture = Fixture::of("cpp/guards.cpp");
    let mut client = DapClient::stopped_at(&fixture, "add");
    for _ in 0..2 {
        client.evaluate("bank.hold()");
    }
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "13 1\n");
}
