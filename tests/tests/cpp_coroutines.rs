//! The bodies of C++ coroutines.

use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const FLAGS: Flags = Flags {
    extra: &["-std=c++20"],
    ..Flags::new(Compiler::Gcc)
};

/// Returns the names of the variables in the scope of locals, in their order.
fn names(client: &mut DapClient) -> Vec<String> {
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let reference = client.locals_reference(frame);
    let variables = client.variables(reference).into_iter();
    let names = variables.map(|it| it["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[test]
fn the_body_has_the_parameters_and_locals_of_the_source() {
    let Some(fixture) = Fixture::build("cpp/coroutines.cpp", FLAGS) else {
        return;
    };
    let mut client = DapClient::stopped_at(&fixture, "method");
    let mut shown = names(&mut client);
    shown.retain(|name| name != "this");
    assert_eq!(shown[..3], ["from", "calls", "next"]);
    let compilers = |name: &String| name == "frame_ptr" || name.starts_with("_Coro_");
    assert!(shown[3..].iter().all(compilers), "{shown:?}");
    let locals = client.locals();
    let known = ["from", "calls", "next"].map(|name| &*locals[name]);
    assert_eq!(known, ["4", "1", "7"]);
    assert_eq!(client.evaluate("step"), "3");

    client.set_breakpoints(&fixture, &["body"]);
    client.continue_to(&fixture, "body");
    let shown = names(&mut client);
    assert_eq!(shown[..2], ["first", "text"]);
    let locals = client.locals();
    assert_eq!((&*locals["first"], &*locals["sum"]), ("5", "5"));
    assert!(locals["text"].ends_with("\"12\""), "{locals:?}");
    client.disconnect();
}
