//! The secret by which clients of a TCP port show that they may use it.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

/// The environment variable that may hold it.
pub const VARIABLE: &str = "STILLPOINT_TOKEN";
/// Random bytes of one that we make.
const BYTES: usize = 16;

/// A secret; never printed by accident.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// One that the user has chosen: visible characters of ASCII.
    ///
    /// # Errors
    /// It cannot stand in a line.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token consists of visible ASCII characters".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// A random one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut text = String::new();
        for byte in bytes {
            // Writing to memory does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// For those that are to know it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same, found out in a time that tells no more than their lengths.
    pub fn is(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let pairs = ours.iter().zip(theirs);
        let difference = pairs.fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        ours.len() == theirs.len() && black_box(difference) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_text_is_the_same() {
        let token = Token::new("open-sesame").unwrap();
        assert!(token.is("open-sesame"));
        for other in [
            "",
            "open-sesam",
            "open-sesame!",
            "open-sesamf",
            "Open-sesame",
        ] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn random_ones_differ() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.reveal().len(), 2 * BYTES);
        assert!(!one.is(two.reveal()));
    }

    #[test]
    fn a_token_fits_in_a_line() {
        for wrong in ["", "two words", "line\n", "ü"] {
            assert!(Token::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
