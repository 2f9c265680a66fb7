//! Words of a text in one buffer; handles refer to their bytes.

use std::collections::BTreeMap;

#[derive(Clone, Copy)]
struct Word {
    bytes: *const u8,
    length: usize,
}

struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    fn add(&mut self, text: &str) -> Word {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(text.as_bytes());
        Word { bytes: self.bytes[begin..].as_ptr(), length: text.len() }
    }

    fn text(&self, word: Word) -> String {
        // Words come from `add` only.
        let bytes = unsafe { std::slice::from_raw_parts(word.bytes, word.length) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn index(arena: &mut Arena, text: &str) -> BTreeMap<usize, Word> {
    text.split_whitespace().enumerate().map(|(at, word)| (at, arena.add(word))).collect()
}

fn main() {
    let mut arena = Arena::with_room(32);
    let words = index(&mut arena, "the quick brown fox jumps over the lazy dog and runs");
    let mut wrong = 0;
    for (at, expected) in [(1, "quick"), (4, "jumps"), (10, "runs")] {
        let found = arena.text(words[&at]);
        println!("{at}: {found:?}");
        wrong += i32::from(found != expected);
    }
    std::process::exit(wrong);
}
