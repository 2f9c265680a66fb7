//! Framing: `Content-Length: N\r\n\r\n` and N bytes of JSON.

use std::io;
use tokio_util::bytes::{Buf, BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// Maximum length of a message's body in bytes.
const MAX_BODY: usize = 64 << 20;
/// Maximum length of a header in bytes.
const MAX_HEADER: usize = 16 << 10;

/// Maximum length of a header that this codec writes: its name, a number of 20 digits, two line
/// ends.
pub const HEADER_ROOM: usize = "Content-Length: ".len() + 20 + 4;

/// Writes the header of the message that follows [`HEADER_ROOM`] bytes in `frame`, directly before
/// it; `more` further bytes of the message are sent separately. Returns the start of the header.
pub fn put_header(frame: &mut [u8], more: usize) -> usize {
    let header = header(frame.len().saturating_sub(HEADER_ROOM) + more);
    let start = HEADER_ROOM.saturating_sub(header.len());
    frame[start..HEADER_ROOM].copy_from_slice(header.as_bytes());
    start
}

fn header(length: usize) -> String {
    format!("Content-Length: {length}\r\n\r\n")
}

/// An error in the framing; nothing after it can be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A line of the header is not `name: value`.
    #[error("`{0}` is not a header field of a DAP message")]
    NotAHeader(String),
    /// The header does not end.
    #[error("the header of a message is longer than {MAX_HEADER} bytes")]
    LongHeader,
    /// The header does not start with `Content-Length`.
    #[error("a message's header does not begin with Content-Length")]
    NoLength,
    /// The header has a field that DAP does not have.
    #[error("`{0}` is not a header field of a DAP message")]
    UnknownField(String),
    /// The length is not a number.
    #[error("`{0}` is not a Content-Length")]
    BadLength(String),
    /// The message is too long.
    #[error("a message of {0} bytes exceeds the limit")]
    LongBody(usize),
    /// The stream ended inside a message.
    #[error("the stream ended inside a message")]
    Ended,
    /// The stream cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Splits a stream of bytes into messages, and frames messages.
#[derive(Debug, Default)]
pub struct Codec {
    /// Length of the header so far in bytes.
    header: usize,
    /// Its Content-Length, once seen.
    length: Option<usize>,
    /// Whether the header is complete.
    in_body: bool,
}

impl Codec {
    /// Parses a line of the header without its line end.
    fn header_line(&mut self, line: &[u8]) -> Result<(), FrameError> {
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once(':') else {
            let shown: String = line.chars().take(80).collect();
            return Err(FrameError::NotAHeader(shown));
        };
        // Strict: HTTP has these fields, too, but starts with others.
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if self.length.is_some() && !is("content-type") {
            return Err(FrameError::UnknownField(name.chars().take(80).collect()));
        }
        if self.length.is_none() {
            if !is("content-length") {
                return Err(FrameError::NoLength);
            }
            let value = value.trim();
            let length = value
                .parse()
                .map_err(|_| FrameError::BadLength(value.chars().take(80).collect()))?;
            if length > MAX_BODY {
                return Err(FrameError::LongBody(length));
            }
            self.length = Some(length);
        }
        Ok(())
    }
}

impl Decoder for Codec {
    type Item = BytesMut;
    type Error = FrameError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        while !self.in_body {
            let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
                let too_long = self.header + bytes.len() > MAX_HEADER;
                return if too_long {
                    Err(FrameError::LongHeader)
                } else {
                    Ok(None)
                };
            };
            let line = bytes.split_to(end + 1);
            let line = line[..end].strip_suffix(b"\r").unwrap_or(&line[..end]);
            if !line.is_empty() {
                self.header += end + 1;
                if self.header > MAX_HEADER {
                    return Err(FrameError::LongHeader);
                }
                self.header_line(line)?;
            } else if self.length.is_some() {
                self.in_body = true;
            } else {
                return Err(FrameError::NoLength);
            }
        }
        let length = self.length.unwrap_or(0);
        if bytes.len() < length {
            bytes.reserve(length - bytes.len());
            return Ok(None);
        }
        *self = Codec::default();
        Ok(Some(bytes.split_to(length)))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        if let Some(message) = self.decode(bytes)? {
            return Ok(Some(message));
        }
        if self.header > 0 || bytes.has_remaining() {
            return Err(FrameError::Ended);
        }
        Ok(None)
    }
}

impl Encoder<&[u8]> for Codec {
    type Error = FrameError;

    fn encode(&mut self, message: &[u8], bytes: &mut BytesMut) -> Result<(), FrameError> {
        let header = header(message.len());
        bytes.reserve(header.len() + message.len());
        bytes.put_slice(header.as_bytes());
        bytes.put_slice(message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `input` in pieces; `cut` returns the length of the next piece.
    fn decode(input: &[u8], mut cut: impl FnMut() -> usize) -> Result<Vec<Vec<u8>>, FrameError> {
        let (mut codec, mut buffer, mut rest) = (Codec::default(), BytesMut::new(), input);
        let mut messages = Vec::new();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(cut().clamp(1, rest.len()));
            rest = later;
            buffer.put_slice(piece);
            while let Some(message) = codec.decode(&mut buffer)? {
                messages.push(message.to_vec());
            }
        }
        while let Some(message) = codec.decode_eof(&mut buffer)? {
            messages.push(message.to_vec());
        }
        Ok(messages)
    }

    fn whole(input: &str) -> Result<Vec<Vec<u8>>, FrameError> {
        decode(input.as_bytes(), || usize::MAX)
    }

    #[test]
    fn random_splits_change_nothing() {
        let bodies = ["{}", "{\"ü\":\"€\"}", "", "[1,2,3]"];
        let mut stream = BytesMut::new();
        for body in bodies {
            Codec::default()
                .encode(body.as_bytes(), &mut stream)
                .unwrap();
        }
        stream.put_slice(b"content-LENGTH:  2 \r\nContent-Type: json\r\n\r\n{}");
        let mut expected: Vec<Vec<u8>> = bodies.iter().map(|b| b.as_bytes().to_vec()).collect();
        expected.push(b"{}".to_vec());
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..500 {
            let cut = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state % 9) as usize
            };
            assert_eq!(decode(&stream, cut).unwrap(), expected);
        }
    }

    #[test]
    fn the_header_is_exact() {
        let mut bytes = BytesMut::new();
        Codec::default().encode("é".as_bytes(), &mut bytes).unwrap();
        assert_eq!(&bytes[..], "Content-Length: 2\r\n\r\né".as_bytes());
        let mut frame = vec![0; HEADER_ROOM];
        frame.extend_from_slice("é".as_bytes());
        let start = put_header(&mut frame, 0);
        assert_eq!(frame[start..], bytes[..]);
        assert_eq!(header(usize::MAX).len(), HEADER_ROOM);
    }

    #[test]
    fn broken_streams_are_errors() {
        assert!(whole("").unwrap().is_empty());
        assert!(matches!(
            whole("garbage\r\n\r\n"),
            Err(FrameError::NotAHeader(_))
        ));
        assert!(matches!(whole("garbage"), Err(FrameError::Ended)));
        assert!(matches!(whole("Content-Len"), Err(FrameError::Ended)));
        assert!(matches!(
            whole("Content-Length: x\r\n\r\n"),
            Err(FrameError::BadLength(_))
        ));
        assert!(matches!(
            whole("Content-Length: -1\r\n\r\n"),
            Err(FrameError::BadLength(_))
        ));
        assert!(matches!(
            whole("Content-Length: 9\r\n\r\n{}"),
            Err(FrameError::Ended)
        ));
        assert!(matches!(whole("Content-Length: 9"), Err(FrameError::Ended)));
        assert!(matches!(whole("\r\n\r\n"), Err(FrameError::NoLength)));
        assert!(matches!(
            whole("Other: 9\r\n\r\n{}"),
            Err(FrameError::NoLength)
        ));
        for request in [
            "POST /a:b HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
            "Content-Type: json\r\nContent-Length: 2\r\n\r\n{}",
        ] {
            assert!(matches!(whole(request), Err(FrameError::NoLength)));
        }
        for field in ["Host: evil", "Content-Length: 3", "Origin: http://evil"] {
            let request = format!("Content-Length: 2\r\n{field}\r\n\r\n{{}}");
            assert!(matches!(whole(&request), Err(FrameError::UnknownField(_))));
        }
        assert!(matches!(
            whole("Content-Length: 99999999999\r\n\r\n"),
            Err(FrameError::LongBody(_))
        ));
        assert!(matches!(
            whole(&"x".repeat(20_000)),
            Err(FrameError::LongHeader)
        ));
    }
}
