//! Searches in sections of strings that end in NUL.
//!
//! Linkers merge such strings by their ends: where a file is called `stl_vector.h` and another one
//! `vector.h`, the section has the first name only, and references to the second point into it.
//! So a string may begin at any byte. A search visits every occurrence of a text, including occurrences
//! that overlap (`aa` occurs twice in `aaa`).

use memchr::memmem;
use std::ops::Range;

/// A text to search, prepared once for several sections.
pub(crate) struct Text<'a> {
    finder: memmem::Finder<'a>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Text<'a> {
        Text {
            finder: memmem::Finder::new(text),
        }
    }

    /// Returns the offsets of all occurrences in ascending order, overlapping ones included. An empty
    /// text has no occurrence.
    pub(crate) fn occurrences<'s>(&'s self, section: &'s [u8]) -> impl Iterator<Item = usize> + 's {
        let mut from = 0;
        std::iter::from_fn(move || {
            if self.finder.needle().is_empty() {
                return None;
            }
            let at = from + self.finder.find(section.get(from..)?)?;
            from = at + 1;
            Some(at)
        })
    }
}

/// Returns where the stored string that contains `at` begins: behind the NUL before it.
pub(crate) fn start_of_string(section: &[u8], at: usize) -> usize {
    let head = section.get(..at).unwrap_or_default();
    memchr::memrchr(0, head).map_or(0, |nul| nul + 1)
}

/// Returns the offsets at which strings that contain `text` may start: from the start of a stored
/// string to the last occurrence in it.
pub(crate) fn starts_of_strings_with(section: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let mut starts: Vec<Range<usize>> = Vec::new();
    for at in Text::new(text).occurrences(section) {
        // Looks back only as far as the occurrence before: a file may have one string of megabytes.
        let known = starts.last().map_or(0, |last| last.end - 1);
        let between = section.get(known..at).unwrap_or_default();
        match (starts.last_mut(), memchr::memrchr(0, between)) {
            (Some(last), None) => last.end = at + 1,
            (_, nul) => starts.push(nul.map_or(0, |nul| known + nul + 1)..at + 1),
        }
    }
    starts
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Random strings of a few letters, stored as linkers do: sorted by their ends, each that ends
    /// another one left out. Such a section has all shapes of shared ends within some dozen strings.
    pub(crate) fn random_section(seed: u64, letters: &[u8]) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        let mut strings: Vec<Vec<u8>> = (0..30)
            .map(|_| {
                let len = 1 + random(9);
                (0..len).map(|_| letters[random(letters.len())]).collect()
            })
            .collect();
        strings.sort_by(|a, b| b.iter().rev().cmp(a.iter().rev()));
        let mut section = vec![0];
        let mut stored: Option<Vec<u8>> = None;
        for string in strings {
            if stored.as_ref().is_some_and(|it| it.ends_with(&string)) {
                continue;
            }
            section.extend(&string);
            section.push(0);
            stored = Some(string);
        }
        section
    }

    /// All strings that a reference may mean, with their offsets.
    pub(crate) fn all_strings(section: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
        (0..section.len()).map(|at| {
            let rest = &section[at..];
            (at, rest.split(|byte| *byte == 0).next().unwrap())
        })
    }

    #[test]
    fn strings_that_share_their_ends_are_found() {
        let strings = b"\0reprint\0print_all\0other\0";
        let found = starts_of_strings_with(strings, b"print");
        // "reprint" may start at 1, "eprint" at 2, "print" at 3; "rint" does not contain the text.
        assert_eq!(found, [1..4, 9..10]);
        let last = starts_of_strings_with(b"\0aXbXc\0", b"X");
        assert_eq!(last.first(), Some(&(1..5)), "up to the last occurrence");
        assert!(starts_of_strings_with(strings, b"absent").is_empty());
        assert!(starts_of_strings_with(strings, b"").is_empty());
        assert_eq!(starts_of_strings_with(b"print", b"print").len(), 1);
    }

    #[test]
    fn all_strings_with_a_text_are_found_in_random_sections() {
        for seed in 1..200 {
            let section = random_section(seed, b"ab/");
            for text in ["a", "aa", "aba", "b/a", "abab", "/"] {
                let found: Vec<usize> = starts_of_strings_with(&section, text.as_bytes())
                    .into_iter()
                    .flatten()
                    .collect();
                let contains = |string: &[u8]| memmem::find(string, text.as_bytes()).is_some();
                let expected: Vec<usize> = all_strings(&section)
                    .filter(|(_, string)| contains(string))
                    .map(|(at, _)| at)
                    .collect();
                assert_eq!(found, expected, "seed {seed}: {text}");
            }
        }
    }
}
