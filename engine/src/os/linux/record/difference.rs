//! The first difference between the memory of two copies of a program.

use super::super::{procfs, ptrace};
use super::buffer;
use super::hash::{FLOATS, NT_PRFPREG, RED_ZONE};
use super::tracee::Tracee;
use crate::os::recording::{OtherState, Word};
use dwarf::LoadAddr;

/// Bytes compared at once.
const PORTION: usize = 1 << 18;
/// More writable memory is not compared: 1 GiB.
const MOST: u64 = 1 << 30;
/// More words of stacks are not looked for.
const MOST_WORDS: usize = 33;

/// Returns how a copy of a program differs from it, outside of these ranges of memory. The stack, which
/// differs most often, comes first; what of it is not in use is not compared (`has_red_zone`: the red zone
/// is), nor what is not mapped in both. `others`: the stack pointers of the program's other threads, and those that
/// ended threads have left. Where a stack differs, all
/// words of stacks that do are looked for, up to a limit. The last word is that which tells the system calls apart that were
/// made without a stop. Cost: that of reading all writable memory twice, about 1 ms for each 5 MB.
pub fn of(
    program: &Tracee,
    copy: &Tracee,
    others: &[u64],
    except: &[(LoadAddr, u64)],
    has_red_zone: bool,
) -> Option<OtherState> {
    let words = other_words(program, copy, others, except, has_red_zone);
    if !words.is_empty() {
        return Some(OtherState::Words(words));
    }
    let floats = |tracee: &Tracee| {
        let mut bytes = [0; FLOATS];
        ptrace::read_register_bytes(tracee.thread(), NT_PRFPREG, &mut bytes)?;
        Some(bytes)
    };
    (floats(program) != floats(copy)).then_some(OtherState::Registers)
}

/// A range of memory that is compared.
#[derive(Clone, Copy)]
struct Compared {
    start: u64,
    end: u64,
    is_stack: bool,
}

fn other_words(
    program: &Tracee,
    copy: &Tracee,
    others: &[u64],
    except: &[(LoadAddr, u64)],
    has_red_zone: bool,
) -> Vec<Word> {
    let Some(ranges) = compared(program, others, has_red_zone) else {
        return Vec::new();
    };
    let is_excepted = |at: u64| {
        let mut all = except.iter();
        all.any(|(start, len)| (start.0..start.0.saturating_add(*len)).contains(&at))
    };
    let mut all = Vec::new();
    let (mut wanted, mut found) = (vec![0; PORTION], vec![0; PORTION]);
    let mut left = MOST;
    for range in ranges {
        // What is found on stacks may be what functions have not initialised: then all of it is of interest.
        if !range.is_stack && !all.is_empty() {
            break;
        }
        let most = if range.is_stack { MOST_WORDS } else { 1 };
        let mut at = range.start;
        while at < range.end && left > 0 && all.len() < most {
            let len = PORTION.min((range.end - at) as usize);
            let read = program.read_into(at, &mut wanted[..len]);
            let read = copy.read_into(at, &mut found[..read]);
            if wanted[..read] != found[..read] {
                let words = wanted[..read].chunks(8).zip(found[..read].chunks(8));
                let other = words.enumerate().filter(|(nth, (wanted, found))| {
                    wanted != found && !is_excepted(at + 8 * *nth as u64)
                });
                let other = other.map(|(nth, (bytes, _))| {
                    let mut word = [0; 8];
                    word[..bytes.len()].copy_from_slice(bytes);
                    Word {
                        addr: LoadAddr(at + 8 * nth as u64),
                        value: u64::from_le_bytes(word),
                    }
                });
                all.extend(other.take(most - all.len()));
            }
            at += len as u64;
            left = left.saturating_sub(len as u64);
        }
    }
    if all.is_empty() {
        all.extend(other_count(program, copy));
    }
    all
}

/// Returns the memory that is compared: the stack of the thread, those of the others, and the rest.
fn compared(program: &Tracee, others: &[u64], has_red_zone: bool) -> Option<Vec<Compared>> {
    let sp = program.registers().ok()?.sp();
    let below = if has_red_zone { RED_ZONE } else { 0 };
    let (mut own, mut stacks, mut rest) = (None, Vec::new(), Vec::new());
    for mapping in procfs::mappings(program.pid) {
        if !mapping.writable || mapping.shared || buffer::is_own(mapping.start.0) {
            continue;
        }
        let (start, end) = (mapping.start.0, mapping.end.0);
        let range = |start, is_stack| Compared {
            start,
            end,
            is_stack,
        };
        // The other threads are at events, so nothing below is needed to tell their places apart.
        let others = others.iter().filter(|sp| (start..end).contains(*sp));
        match others.min() {
            _ if (start..end).contains(&sp) => {
                own = Some(range(sp.saturating_sub(below).max(start) & !7, true));
            }
            Some(sp) => stacks.push(range((sp & !7).max(start), true)),
            None => rest.push(range(start, false)),
        }
    }
    Some(own.into_iter().chain(stacks).chain(rest).collect())
}

/// Returns the number of calls that were made without a stop, if it is another one.
fn other_count(program: &Tracee, copy: &Tracee) -> Option<Word> {
    let addr = buffer::NEXT_RECORD;
    let found = copy.word(addr);
    let value = program.word(addr).filter(|value| found != Some(*value))?;
    tracing::debug!(value, found, "another number of calls without a stop");
    Some(Word {
        addr: LoadAddr(addr),
        value,
    })
}
