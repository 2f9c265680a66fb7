//! The first bytes that a client must send on a socket: a token where one is required, and
//! `initialize`. A web page can make its browser connect to any port of this machine, but neither
//! HTTP nor TLS starts like this.

use super::token::Token;
use crate::protocol::{Incoming, Request, read_message};
use crate::server::codec::{Codec, FrameError};
use crate::server::stream::Stream;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{Shutdown, shutdown};
use serde_json::json;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};
use tokio_util::bytes::{BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// Timeout of the greeting.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of the greeting in bytes.
const MAX_GREETING_BYTES: usize = 64 << 10;
/// Grace period for a refused client to read the error.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// A line with the token, before the first message.
const TOKEN_LINE: &[u8] = b"stillpoint-token:";
/// The start of a message.
const HEADER_START: &[u8] = b"content-length:";

/// What a client must prove.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// Nothing: it is the same user, according to the kernel. If it sends a token, the token must
    /// be right.
    Nothing(Option<Token>),
    /// Knowledge of the token.
    Token(Token),
}

/// Why a client is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It does not speak DAP.
    #[error("{0}")]
    Foreign(#[from] FrameError),
    /// Its first message is not a request, or is too long.
    #[error(
        "the first message must be an `initialize` request of less than {MAX_GREETING_BYTES} bytes"
    )]
    NoGreeting,
    /// Its first request is not `initialize`.
    #[error("send `initialize` before `{0}`")]
    TooEarly(String),
    /// It sent no token.
    #[error(
        "this port requires a token; send it as `token` in the arguments of `initialize`, or in a \
         line `Stillpoint-Token: TOKEN` before the first message"
    )]
    NoToken,
    /// It sent a wrong token.
    #[error("wrong token; use the one that the listening `stillpoint` printed or was given")]
    WrongToken,
    /// It sent no greeting in time.
    #[error("no `initialize` request within {} s", GREETING_TIMEOUT.as_secs())]
    Silent,
    /// It has disconnected.
    #[error("the client disconnected")]
    Gone,
    /// There are too many clients.
    #[error("the limit of {0} sessions is reached; end one, or raise --max-sessions")]
    Full(usize),
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The decision about a client from its bytes so far.
#[derive(Debug)]
enum Verdict {
    /// More bytes are needed.
    More,
    /// The client is admitted; its messages start at this offset.
    Admitted(usize),
    /// The client is refused; its request, if it can be answered.
    Refused(Refusal, Option<Request>),
}

/// Decides about a client by its first bytes.
fn judge(bytes: &[u8], demand: &Authentication) -> Verdict {
    let refused = |why| Verdict::Refused(why, None);
    let begins = |with: &[u8]| {
        let both = bytes.iter().zip(with);
        both.into_iter()
            .all(|(is, should)| is.eq_ignore_ascii_case(should))
    };
    let mut from = 0;
    let mut line_token = None;
    if begins(TOKEN_LINE) {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return match bytes.len() {
                ..MAX_GREETING_BYTES => Verdict::More,
                _ => refused(Refusal::NoGreeting),
            };
        };
        let value = bytes.get(TOKEN_LINE.len()..end).unwrap_or_default();
        line_token = Some(String::from_utf8_lossy(value.trim_ascii()).into_owned());
        from = end + 1;
    } else if !begins(HEADER_START) {
        let line = bytes.split(|byte| *byte == b'\n').next();
        let line = String::from_utf8_lossy(line.unwrap_or_default());
        // The line may contain a terminal's escape sequences.
        let shown = line.trim_end().escape_debug().take(80).collect();
        return refused(FrameError::NotAHeader(shown).into());
    }
    let mut buffer = BytesMut::from(bytes.get(from..).unwrap_or_default());
    let message = match Codec::default().decode(&mut buffer) {
        Ok(Some(message)) => message,
        Ok(None) if bytes.len() < MAX_GREETING_BYTES => return Verdict::More,
        Ok(None) => return refused(Refusal::NoGreeting),
        Err(error) => return refused(error.into()),
    };
    let Ok(Incoming::Request(request)) = read_message(&message) else {
        return refused(Refusal::NoGreeting);
    };
    if request.command != "initialize" {
        let why = Refusal::TooEarly(request.command.clone());
        return Verdict::Refused(why, Some(request));
    }
    let argument = request.arguments.get("token");
    // A value that is not a string is a wrong token.
    let argument = argument.map(|token| token.as_str().unwrap_or_default());
    let given = line_token.as_deref().or(argument);
    let (token, demanded) = match demand {
        Authentication::Nothing(token) => (token.as_ref(), false),
        Authentication::Token(token) => (Some(token), true),
    };
    match (given, token) {
        (None, _) if demanded => Verdict::Refused(Refusal::NoToken, Some(request)),
        (Some(given), Some(token)) if !token.is(given) => {
            Verdict::Refused(Refusal::WrongToken, Some(request))
        }
        _ => Verdict::Admitted(from),
    }
}

/// Reads a client's greeting. Returns the bytes for the session, which start with `initialize`.
///
/// # Errors
/// The client is refused; it has got an error response, if it sent a request.
pub fn greet(stream: &Stream, demand: &Authentication) -> Result<BytesMut, Refusal> {
    let refused = match read_until_decided(stream, |bytes| judge(bytes, demand)) {
        Ok(bytes) => return Ok(bytes),
        Err(refused) => refused,
    };
    Err(refuse(stream, refused))
}

/// Rejects a client because there are too many sessions, once its greeting has arrived.
pub fn reject(stream: &Stream, sessions: usize) {
    // Any `initialize` is enough.
    let demand = Authentication::Nothing(None);
    let refused = read_until_decided(stream, |bytes| match judge(bytes, &demand) {
        Verdict::Admitted(from) => {
            let mut rest = BytesMut::from(bytes.get(from..).unwrap_or_default());
            let message = Codec::default().decode(&mut rest).ok().flatten();
            let message = message.and_then(|message| read_message(&message).ok());
            let request = message.and_then(|message| match message {
                Incoming::Request(request) => Some(request),
                Incoming::Response(_) | Incoming::Event { .. } => None,
            });
            Verdict::Refused(Refusal::Full(sessions), request)
        }
        other => other,
    });
    if let Err(refused) = refused {
        refuse(stream, refused);
    }
}

/// Why a client is refused, and the request to answer.
type Refused = (Refusal, Option<Request>);

/// Reads until the decision is clear.
fn read_until_decided(
    stream: &Stream,
    judge: impl Fn(&[u8]) -> Verdict,
) -> Result<BytesMut, Refused> {
    let deadline = Instant::now() + GREETING_TIMEOUT;
    let mut bytes = BytesMut::new();
    loop {
        match wait(stream, deadline) {
            Ok(true) => {}
            Ok(false) => return Err((Refusal::Silent, None)),
            Err(error) => return Err((error.into(), None)),
        }
        let mut portion = [0; 4096];
        match stream.read(&mut portion) {
            Ok(0) => return Err((Refusal::Gone, None)),
            Ok(count) => bytes.put_slice(&portion[..count]),
            Err(error) if is_temporary(&error) => continue,
            Err(error) => return Err((error.into(), None)),
        }
        match judge(&bytes) {
            Verdict::More => {}
            Verdict::Admitted(from) => return Ok(bytes.split_off(from)),
            Verdict::Refused(why, request) => return Err((why, request)),
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind())
}

/// Waits for input until the deadline. Returns false if there is none.
fn wait(stream: &Stream, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let left = PollTimeout::try_from(left + Duration::from_millis(1));
        let mut files = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
        match poll(&mut files, left.unwrap_or(PollTimeout::ZERO)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Answers the request, if there is one, with an error, and closes the connection.
fn refuse(stream: &Stream, (why, request): Refused) -> Refusal {
    let Some(request) = request else {
        return why;
    };
    let answer = json!({
        "seq": 1, "type": "response", "request_seq": request.seq, "success": false,
        "command": request.command, "message": why.to_string(),
        "body": {"error": {"id": 1, "format": why.to_string(), "showUser": true}},
    });
    let mut frame = BytesMut::new();
    let framed = Codec::default().encode(answer.to_string().as_bytes(), &mut frame);
    // The response fits into the buffer of a new connection, unless the client reads nothing.
    if framed.is_ok() && stream.write(&frame).is_ok() {
        let _ = shutdown(stream.as_fd().as_raw_fd(), Shutdown::Write);
        // Closing a connection with unread bytes resets it, and the response may be lost.
        let deadline = Instant::now() + REFUSAL_TIMEOUT;
        let mut left = MAX_GREETING_BYTES;
        while left > 0 && wait(stream, deadline).unwrap_or(false) {
            match stream.read(&mut [0; 4096]) {
                Ok(0) => break,
                Ok(count) => left = left.saturating_sub(count),
                Err(error) if is_temporary(&error) => {}
                Err(_) => break,
            }
        }
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &str = r#"{"seq":7,"type":"request","command":"initialize","arguments":{}}"#;

    fn frame(message: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{message}", message.len())
    }

    fn with_token(token: &str) -> String {
        INITIALIZE.replace("{}", &format!("{{\"token\":{token}}}"))
    }

    fn demands() -> [Authentication; 2] {
        let token = Token::new("secret").expect("a token");
        [
            Authentication::Nothing(Some(token.clone())),
            Authentication::Token(token),
        ]
    }

    #[test]
    fn other_protocols_are_refused_by_their_first_byte() {
        let [demand, _] = demands();
        for first in [
            "GET / HTTP/1.1\r\n",
            "POST /a:b HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
            "\u{16}\u{3}\u{1}",
            "\0",
            "\r\n",
            " Content-Length: 2",
            "{\"seq\":1}",
        ] {
            for length in 1..=first.len() {
                let verdict = judge(&first.as_bytes()[..length], &demand);
                assert!(
                    matches!(verdict, Verdict::Refused(_, None)),
                    "{first:?} {length}"
                );
            }
        }
        // As soon as it is clear.
        let verdict = judge(b"Connect", &demand);
        assert!(matches!(verdict, Verdict::Refused(_, None)));
        let options = "CONNECT evil.example:80 HTTP/1.1\r\n\r\n";
        assert!(matches!(
            judge(options.as_bytes(), &demand),
            Verdict::Refused(..)
        ));
        let split = "Content-Length: 2\r\nHost: evil\r\n\r\n{}";
        assert!(matches!(
            judge(split.as_bytes(), &demand),
            Verdict::Refused(..)
        ));
    }

    #[test]
    fn a_greeting_may_come_in_pieces() {
        let [_, demand] = demands();
        let text = format!("stillpoint-TOKEN:secret\r\n{}", frame(INITIALIZE));
        for length in 0..text.len() {
            let verdict = judge(&text.as_bytes()[..length], &demand);
            assert!(matches!(verdict, Verdict::More), "{length}: {verdict:?}");
        }
        let behind = format!("{text}Content-Length: 1");
        let verdict = judge(behind.as_bytes(), &demand);
        assert!(matches!(verdict, Verdict::Admitted(25)), "{verdict:?}");
    }

    #[test]
    fn tokens_are_required_and_compared() {
        let [same_user, other] = demands();
        let by_line = |token: &str| format!("Stillpoint-Token: {token}\n{}", frame(INITIALIZE));
        let none = frame(INITIALIZE);
        for (text, wanted, given) in [
            (none, [true, false], false),
            (frame(&with_token("\"secret\"")), [true, true], true),
            (by_line("secret"), [true, true], true),
            (frame(&with_token("\"Secret\"")), [false, false], true),
            (frame(&with_token("7")), [false, false], true),
            (frame(&with_token("null")), [false, false], true),
            (by_line("secrets"), [false, false], true),
            (by_line(""), [false, false], true),
        ] {
            for (demand, wanted) in [&same_user, &other].into_iter().zip(wanted) {
                match judge(text.as_bytes(), demand) {
                    Verdict::Admitted(_) => assert!(wanted, "{text}"),
                    Verdict::Refused(why, Some(request)) => {
                        assert!(!wanted, "{text}");
                        assert_eq!(request.seq, 7);
                        assert_eq!(matches!(why, Refusal::WrongToken), given, "{why}");
                    }
                    verdict => panic!("{text}: {verdict:?}"),
                }
            }
        }
    }

    #[test]
    fn nothing_comes_before_initialize() {
        let [demand, _] = demands();
        for command in ["launch", "attach", "threads"] {
            let text = frame(&INITIALIZE.replace("initialize", command));
            let verdict = judge(text.as_bytes(), &demand);
            let Verdict::Refused(Refusal::TooEarly(named), Some(_)) = verdict else {
                panic!("{verdict:?}");
            };
            assert_eq!(named, command);
        }
        for message in ["[]", "{}", r#"{"type":"event"}"#, "nonsense"] {
            let verdict = judge(frame(message).as_bytes(), &demand);
            assert!(matches!(
                verdict,
                Verdict::Refused(Refusal::NoGreeting, None)
            ));
        }
    }

    #[test]
    fn a_greeting_has_a_bound() {
        let [demand, _] = demands();
        let long = format!(
            "Content-Length: {}\r\n\r\n{}",
            1 << 20,
            "x".repeat(MAX_GREETING_BYTES)
        );
        assert!(matches!(
            judge(long.as_bytes(), &demand),
            Verdict::Refused(..)
        ));
        let line = format!("Stillpoint-Token: {}", "x".repeat(MAX_GREETING_BYTES));
        assert!(matches!(
            judge(line.as_bytes(), &demand),
            Verdict::Refused(..)
        ));
    }
}
