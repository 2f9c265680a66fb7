//! Deep stacks in parts: the innermost frames, the rounds of a recursion, and the outermost frames, which
//! began it.

use engine::Frame;

/// A stack with more frames than this is deep.
pub const DEEP: usize = 128;
/// Maximum number of frames that are read of a stack.
pub const DEEPEST: usize = 1 << 18;
/// Maximum number of frames of one round of a recursion.
const LONGEST_ROUND: usize = 32;
/// Number of frames shown before the rounds, and at least of each end.
const SHOWN: usize = 4;
/// Maximum number of frames shown at either end.
const MOST: usize = 64;

/// A part of a stack.
#[derive(Debug)]
pub enum Part<'a> {
    /// Frames that are shown.
    Shown(&'a [Frame]),
    /// Calls that repeat.
    Rounds {
        /// The frames of the first round.
        round: &'a [Frame],
        /// The number of rounds.
        count: usize,
    },
    /// Frames that are left out.
    Gap(&'a [Frame]),
}

/// Divides a stack, innermost frame first. One that is not deep is one part.
pub fn parts(frames: &[Frame]) -> Vec<Part<'_>> {
    if frames.len() <= DEEP {
        return vec![Part::Shown(frames)];
    }
    let is_same = |one: &Frame, other: &Frame| one.pc == other.pc && one.name == other.name;
    let mut parts = Vec::new();
    match repeated(frames, is_same) {
        Some((start, round, count)) => {
            let (inner, rest) = frames.split_at(start);
            // Some frames of the recursion are shown with their arguments.
            let first = SHOWN.div_ceil(round).min(count.saturating_sub(1)) * round;
            let (before, rest) = rest.split_at(first);
            let (rounds, outer) = rest.split_at(count * round - first);
            match start + first <= MOST {
                true => parts.push(Part::Shown(&frames[..start + first])),
                false => {
                    parts.extend(ends(inner));
                    parts.push(Part::Shown(before));
                }
            }
            parts.push(Part::Rounds {
                round: &rounds[..round.min(rounds.len())],
                count: rounds.len() / round,
            });
            parts.extend(ends(outer));
        }
        None => parts.extend(ends(frames)),
    }
    parts
}

/// Shows the two ends of a run of frames.
fn ends(frames: &[Frame]) -> Vec<Part<'_>> {
    match frames.len() <= MOST {
        true if frames.is_empty() => Vec::new(),
        true => vec![Part::Shown(frames)],
        false => {
            let (first, rest) = frames.split_at(MOST / 2);
            let (gap, last) = rest.split_at(rest.len() - MOST / 2);
            vec![Part::Shown(first), Part::Gap(gap), Part::Shown(last)]
        }
    }
}

/// Finds the longest run of items that repeat, if it is half of all: where it begins, the length of a round and
/// the number of whole rounds.
fn repeated<T>(items: &[T], is_same: impl Fn(&T, &T) -> bool) -> Option<(usize, usize, usize)> {
    let mut best: Option<(usize, usize, usize)> = None;
    for round in 1..=LONGEST_ROUND.min(items.len() / 4) {
        let mut begin = 0;
        for at in 0..=items.len() - round {
            let goes_on = match items.get(at + round) {
                Some(later) => is_same(&items[at], later),
                None => false,
            };
            if goes_on {
                continue;
            }
            // The items `begin..at + round` repeat. A longer round has to explain more of them.
            let length = at + round - begin;
            let is_better =
                |(_, round, count): (usize, usize, usize)| length > round * count + items.len() / 8;
            if best.is_none_or(is_better) && length / round >= 4 {
                best = Some((begin, round, length / round));
            }
            begin = at + 1;
        }
        if best.is_some_and(|(_, round, count)| round * count >= items.len() / 4 * 3) {
            break;
        }
    }
    best.filter(|(_, round, count)| round * count >= items.len() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_run_that_repeats_is_found() {
        let found = |items: &[u8]| repeated(items, |one, other| one == other);
        assert_eq!(found(b"xyaaaaaaaam"), Some((2, 1, 8)));
        assert_eq!(found(b"xabcabcabcabcabm"), Some((1, 3, 4)));
        assert_eq!(found(b"abcdefghijkl"), None);
        assert_eq!(found(b""), None);
        assert_eq!(found(b"aaaabcdefghijklmnop"), None);
    }
}
