//! Messages as they come from the adapter, each in a frame.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc;
use std::thread;

/// What the threads that listen to the adapter report.
pub enum Incoming {
    Message(Value),
    Complaint(String),
    Violation(String),
    Closed,
}

/// Reads messages to the end, on a thread of its own.
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

/// One frame; the header may be `Content-Length: N` and nothing else, as dap-mcp reads no other.
fn read_frame(stream: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut header = String::new();
    match stream.read_line(&mut header) {
        Ok(0) => return Ok(None),
        // A killed server's socket is reset rather than closed.
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
