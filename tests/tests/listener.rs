//! Which clients `stillpoint dap --listen` admits, and which it refuses: web pages, other users,
//! clients without a token, and silent ones.

use nix::sys::signal::Signal;
use nix::unistd::{Uid, geteuid, setfsuid};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use stillpoint_tests::patience::{self, Patience};
use stillpoint_tests::{DapClient, Fixture, Server, command, process};

/// A user that owns nothing.
const NOBODY: u32 = 65534;

fn frame(message: &Value) -> String {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

fn request(seq: i64, command: &str, arguments: Value) -> String {
    frame(&json!({"seq": seq, "type": "request", "command": command, "arguments": arguments}))
}

/// A launch that leaves a mark.
fn marking(mark: &Path) -> String {
    let arguments = ["-c", "echo done > \"$0\"", mark.to_str().expect("UTF-8")];
    let launch = json!({"program": "/bin/sh", "args": arguments, "noDebug": true});
    request(2, "launch", launch) + &request(3, "configurationDone", json!({}))
}

/// Connects as another user.
fn connect_as(user: u32, address: &str) -> TcpStream {
    let address = address.to_owned();
    // Of this thread alone; a socket belongs to whom its maker's files belong to.
    let connect = move || {
        setfsuid(Uid::from_raw(user));
        TcpStream::connect(address).expect("a connection")
    };
    thread::spawn(connect).join().expect("connected")
}

/// All that comes until the connection is closed.
fn received(mut socket: impl Read) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = socket.read_to_end(&mut bytes) {
        // At the timeout, the connection was not closed.
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// Writes, and returns what arrives until the connection is closed.
fn say(mut socket: TcpStream, text: &[u8]) -> String {
    socket
        .set_read_timeout(Some(patience::limit()))
        .expect("a limit");
    // The listener may close the connection before it has read everything.
    let _ = socket.write_all(text);
    received(socket)
}

/// The message of the one answer, which is an error.
fn error_in(received: &str) -> String {
    let (_, body) = received
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {received:?}"));
    let answer: Value = serde_json::from_str(body).expect("one message");
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(answer["request_seq"], 1, "{answer}");
    answer["message"].as_str().expect("a message").to_owned()
}

fn stop_at_body(mut client: DapClient) -> DapClient {
    let fixture = Fixture::of("c/loop.c");
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client
}

#[test]
fn other_protocols_are_closed_at_once() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let launch = marking(&mark);
    let (_, body) = launch.split_once("\r\n\r\n").expect("a body");
    let posted = |head: &str| format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for text in [
        posted("POST /a:b HTTP/1.1"),
        posted("POST / HTTP/1.1\r\nOrigin: http://evil.example"),
        format!("Content-Type: text/plain\r\n{launch}"),
        format!("\r\n{launch}"),
        "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\0".to_owned(),
        // Not a whole line, and nothing after it.
        "G".to_owned(),
    ] {
        let socket = TcpStream::connect(server.address()).expect("a connection");
        assert_eq!(say(socket, text.as_bytes()), "", "{text}");
    }
    // A header field of HTTP after the first one.
    let text = request(1, "initialize", json!({})).replacen("\r\n", "\r\nHost: evil\r\n", 1);
    let socket = TcpStream::connect(server.address()).expect("a connection");
    assert_eq!(say(socket, text.as_bytes()), "");
    assert!(!mark.exists());
    stop_at_body(server.connect()).disconnect();
}

#[test]
fn nothing_comes_before_initialize() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let launch = marking(&mark).replace("\"seq\":2", "\"seq\":1");
    let socket = TcpStream::connect(server.address()).expect("a connection");
    let why = error_in(&say(socket, launch.as_bytes()));
    assert!(why.contains("initialize"), "{why}");

    let mut client = DapClient::spawn();
    let why = client.request_error("launch", json!({"program": "/bin/true"}));
    assert!(why.contains("initialize"), "{why}");
    let why = client.request_error("attach", json!({"pid": 1}));
    assert!(why.contains("initialize"), "{why}");
    stop_at_body(client).disconnect();
    assert!(!mark.exists());
}

#[test]
fn another_user_needs_the_token() {
    if !geteuid().is_root() {
        return skips::skip("root");
    }
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let greeting = request(1, "initialize", json!({"adapterID": "x"}));
    let nobody = || connect_as(NOBODY, server.address());
    let why = error_in(&say(
        nobody(),
        (greeting.clone() + &marking(&mark)).as_bytes(),
    ));
    assert!(why.contains("token"), "{why}");
    let wrong = format!(
        "Stillpoint-Token: 0123456789abcdef\r\n{greeting}{}",
        marking(&mark)
    );
    let why = error_in(&say(nobody(), wrong.as_bytes()));
    assert!(why.contains("wrong"), "{why}");
    assert!(!mark.exists());

    // With the token it is like any other.
    let token = server.token().expect("a token");
    let mut socket = nobody();
    write!(socket, "Stillpoint-Token: {token}\r\n").expect("written");
    stop_at_body(server.client_of(socket)).disconnect();
    let mut client = server.client_of(nobody());
    let arguments = json!({"adapterID": "x", "token": token, "clientID": "other"});
    client.request_ok("initialize", arguments);
    client.close();
}

#[test]
fn explicit_token_is_required_of_all_users() {
    let settings: [(&[&str], &str); 2] = [
        (&["--listen", "127.0.0.1:0", "--token", "open-sesame"], ""),
        (&["--listen", "127.0.0.1:0"], "open-sesame"),
    ];
    for (arguments, variable) in settings {
        let server = Server::start_with(arguments, |command| {
            command.env("STILLPOINT_TOKEN", variable);
        });
        assert_eq!(server.token(), None, "it is known already");
        let connect = || TcpStream::connect(server.address()).expect("a connection");
        let greeting = request(1, "initialize", json!({"adapterID": "x"}));
        let why = error_in(&say(connect(), greeting.as_bytes()));
        assert!(why.contains("requires a token"), "{why}");
        for wrong in ["open-sesam", "open-sesame2", ""] {
            let text = request(1, "initialize", json!({"adapterID": "x", "token": wrong}));
            let why = error_in(&say(connect(), text.as_bytes()));
            assert!(why.contains("wrong token"), "{why}");
        }
        let mut socket = connect();
        write!(socket, "Stillpoint-Token: open-sesame\r\n").expect("written");
        let mut client = server.client_of(socket);
        // The program does not learn it.
        client.launch_program(Path::new("/usr/bin/env"), json!({}));
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert!(
            output.contains("PATH=") && !output.contains("sesame"),
            "{output}"
        );
    }
}

#[test]
fn other_machines_need_a_token() {
    let mut refused = command()
        .args(["dap", "--listen", "0.0.0.0:0"])
        .env_remove("STILLPOINT_TOKEN")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    if !process::ends(refused.id() as i32) {
        refused.kill().expect("it is this test's");
    }
    let output = refused.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(why.contains("--token"), "{why}");
    assert!(output.stdout.is_empty());
    let server = Server::start_with(&["--listen", "0.0.0.0:0", "--token", "long-enough"], |_| {});
    let (_, port) = server.address().rsplit_once(':').expect("a port");
    let socket = TcpStream::connect(format!("127.0.0.1:{port}")).expect("a connection");
    let text = request(1, "initialize", json!({"token": "long-enough"}));
    let mut answer = String::new();
    (&socket).write_all(text.as_bytes()).expect("written");
    BufReader::new(socket)
        .read_line(&mut answer)
        .expect("an answer");
    assert!(answer.starts_with("Content-Length: "), "{answer}");
}

/// Whether a client at a Unix socket is answered.
fn answers(path: &Path) -> bool {
    let mut socket = UnixStream::connect(path).expect("a connection");
    let text = request(1, "initialize", json!({})) + &request(2, "disconnect", json!({}));
    socket.write_all(text.as_bytes()).expect("written");
    received(socket).contains("supportsConfigurationDoneRequest")
}

#[test]
fn unix_sockets_are_private_and_removed_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("permissions");
    let given = folder.path().join("own/socket");
    let given_text = given.to_str().expect("UTF-8").to_owned();
    for arguments in [vec!["--listen"], vec!["--listen", given_text.as_str()]] {
        let mut server = Server::start_with(&arguments, |command| {
            command.env("XDG_RUNTIME_DIR", folder.path());
        });
        let path = Path::new(server.address()).to_owned();
        let wanted = match arguments.len() {
            1 => folder
                .path()
                .join(format!("stillpoint-{}.sock", server.pid())),
            _ => given.clone(),
        };
        assert_eq!(path, wanted);
        assert_eq!(server.token(), None);
        let metadata = fs::metadata(&path).expect("the socket");
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.mode() & 0o777, 0o600);
        let place = fs::metadata(path.parent().expect("a folder")).expect("the folder");
        assert_eq!(place.mode() & 0o777, 0o700);
        assert!(answers(&path));
        process::send_signal(server.pid(), Signal::SIGTERM);
        assert!(process::wait_for(server.process()).success());
        assert!(!path.exists());
    }
}

#[test]
fn number_of_sessions_is_limited() {
    let arguments = ["--listen", "127.0.0.1:0", "--max-sessions", "1"];
    let server = Server::start_with(&arguments, |_| {});
    let first = stop_at_body(server.connect());
    let greeting = request(1, "initialize", json!({"adapterID": "x"}));
    let connect = || TcpStream::connect(server.address()).expect("a connection");
    let why = error_in(&say(connect(), greeting.as_bytes()));
    assert!(why.contains("--max-sessions"), "{why}");
    first.disconnect();
    // Its process ends a little later.
    let mut patience = Patience::new();
    let bye = request(2, "disconnect", json!({}));
    loop {
        let answer = say(connect(), (greeting.clone() + &bye).as_bytes());
        if answer.contains("supportsConfigurationDoneRequest") {
            break;
        }
        assert!(patience.is_left(), "{answer}");
    }
}

#[test]
fn silent_client_is_closed() {
    let server = Server::start();
    let connect = || TcpStream::connect(server.address()).expect("a connection");
    let clients: Vec<_> = [
        "",
        "C",
        "Content-Length: 100\r\n\r\n{",
        "Stillpoint-Token: x",
    ]
    .into_iter()
    .map(|begin| {
        let socket = connect();
        thread::spawn(move || say(socket, begin.as_bytes()))
    })
    .collect();
    // A client that has sent its greeting stays.
    let mut good = stop_at_body(server.connect());
    for client in clients {
        assert_eq!(client.join().expect("closed"), "");
    }
    assert_eq!(good.evaluate("i"), "0");
    good.disconnect();
}
