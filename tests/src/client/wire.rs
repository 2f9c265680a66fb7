//! Frames of messages from the adapter.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc;
use std::thread;

/// What a thread that reads from the adapter reports.
pub enum Incoming {
    Message(Value),
    Complaint(String),
    Violation(String),
    Closed,
}

/// Reads messages to the end of the stream, on a thread of its own.
pub fn listen(stream: impl Read + Send + 'static, sender: mpsc::Sender<Incoming>) {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let incoming = match read_frame(&mut stream) {
                Ok(Some(message)) => Incoming::Message(message),
                Ok(None) => Incoming::Closed,
                Err(violation) => Incoming::Violation(violation),
            };
            let last = !matches!(incoming, Incoming::Message(_));
            if sender.send(incoming).is_err() || last {
                break;
            }
        }
    });
}

/// Reads one frame; the header must be `Content-Length: N` and nothing else, because dap-mcp
/// accepts no other.
fn read_frame(stream: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut header = String::new();
    match stream.read_line(&mut header) {
        Ok(0) => return Ok(None),
        // The socket of a killed server is reset and not closed.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        Err(error) => return Err(format!("header: {error}")),
        Ok(_) => {}
    }
    let length: usize = header
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| format!("a header that is not `Content-Length: N`: {header:?}"))?;
    let mut blank = String::new();
    if stream.read_line(&mut blank).is_err() || blank != "\r\n" {
        return Err(format!("a second header: {blank:?}"));
    }
    let mut body = vec![0; length];
    stream
        .read_exact(&mut body)
        .map_err(|error| format!("a frame cut short: {error}"))?;
    let text = String::from_utf8(body).map_err(|error| format!("not UTF-8: {error}"))?;
    let message = serde_json::from_str(&text);
    message
        .map(Some)
        .map_err(|error| format!("no JSON: {error}: {text}"))
}
