//! The server on a socket: several clients, one after the other and side by side.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture, Server, process};

fn stop_at_body(mut client: DapClient) -> DapClient {
    let fixture = Fixture::of("c/loop.c");
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client
}

#[test]
fn one_after_the_other() {
    let server = Server::start();
    for _ in 0..3 {
        stop_at_body(server.connect()).disconnect();
    }
}

#[test]
fn side_by_side() {
    let server = Server::start();
    let mut first = stop_at_body(server.connect());
    let mut second = stop_at_body(server.connect());
    let mut third = stop_at_body(server.connect());
    assert_ne!(first.debuggee_pid(), second.debuggee_pid());
    second.continue_();
    second.expect_stopped("breakpoint");
    assert_eq!(first.evaluate("i"), "0");
    assert_eq!(second.evaluate("i"), "1");
    third.request_ok("disconnect", json!({}));
    third.wait_closed();
    assert_eq!(first.evaluate("i"), "0");
    first.disconnect();
    second.disconnect();
}

#[test]
fn broken_client_ends_only_its_session() {
    let server = Server::start();
    let mut good = stop_at_body(server.connect());
    let mut bad = server.connect();
    bad.write_raw(b"nonsense\r\n\r\n");
    bad.wait_closed();
    assert_eq!(good.evaluate("i"), "0");
    good.disconnect();
    stop_at_body(server.connect()).disconnect();
}

#[test]
fn vanished_client_leaves_no_process() {
    let server = Server::start();
    let fixture = Fixture::of("c/spin.c");
    let mut client = server.connect();
    client.launch(&fixture, json!({}));
    client.configure();
    let pid = client.debuggee_pid();
    client.close();
    drop(client);
    assert!(process::ends(pid));
    stop_at_body(server.connect()).disconnect();
}

#[test]
fn the_address_is_of_this_machine() {
    let server = Server::start();
    assert!(server.address().starts_with("127.0.0.1:"));
    assert!(!server.address().ends_with(":0"));
    assert!(process::is_alive(server.pid()));
}
