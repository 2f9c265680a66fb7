//! The secret with which clients of a TCP port prove that they are allowed.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

/// The environment variable with the token.
pub const TOKEN_VARIABLE: &str = "STILLPOINT_TOKEN";
/// Number of random bytes of a generated token.
const TOKEN_BYTES: usize = 16;

/// A secret, whose `Debug` output does not contain it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Creates the token that the user has chosen: visible ASCII characters.
    ///
    /// # Errors
    /// The text is empty or contains other characters.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token consists of visible ASCII characters".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// Generates a random token.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut text = String::new();
        for byte in bytes {
            // Writing to memory does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Returns the secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares two tokens in a time that depends on their lengths only.
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
        assert_eq!(one.reveal().len(), 2 * TOKEN_BYTES);
        assert!(!one.is(two.reveal()));
    }

    #[test]
    fn a_token_fits_in_a_line() {
        for wrong in ["", "two words", "line\n", "ü"] {
            assert!(Token::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
