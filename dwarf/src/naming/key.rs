//! Keys of names in the name index.

use crate::naming::path::{components, squeeze, strip_parameters, without_arguments};

/// The key of a name in the name index.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    /// The last component without arguments, as in the debug info.
    pub(crate) base: &'a str,
    /// Its hash.
    pub(crate) hash: u32,
}

impl<'a> Key<'a> {
    /// Returns the key of a name that has neither path nor arguments.
    pub(crate) fn of(base: &'a str) -> Key<'a> {
        Key {
            base,
            hash: key(base.as_bytes()),
        }
    }
}

/// Computes the key of a name in the name index: the hash of its last component without arguments.
pub(crate) fn key(name: &[u8]) -> u32 {
    use std::hash::Hasher;
    let hash = |name: &[u8]| {
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(name);
        let hash = hasher.finish();
        (hash ^ (hash >> 32)) as u32
    };
    // Nearly all names are plain.
    let plain = |byte: &u8| !matches!(byte, b'<' | b':' | b'(' | b' ');
    let Some(special) = name.iter().position(|byte| !plain(byte)) else {
        return hash(name);
    };
    // Most of the others are a plain name with arguments.
    if let Some((bare, arguments)) = name.split_at_checked(special)
        && bare
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !bare.is_empty()
        && bare != b"operator"
        && are_arguments(arguments)
    {
        return hash(bare);
    }
    let Ok(name) = std::str::from_utf8(name) else {
        return hash(name);
    };
    let last = components(name).pop().unwrap_or(name);
    hash(squeeze(without_arguments(last)).as_bytes())
}

/// Returns whether all of this is the argument list of one name, not followed by a path.
fn are_arguments(bytes: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut before = 0;
    for byte in bytes {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if before == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return false,
            _ => {}
        }
        before = *byte;
    }
    bytes.first() == Some(&b'<') && bytes.last() == Some(&b'>')
}

/// Computes the key of a qualified name that may have parameters, as in `.gdb_index`.
pub(crate) fn table_key(name: &str) -> u32 {
    key(strip_parameters(name).as_bytes())
}
