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

/// Returns how a copy of a program differs from it, outside of these ranges of memory. The stack, which
/// differs most often, comes first; what of it is not in use is not compared (`has_red_zone`: the red zone
/// is), nor what is not mapped in both. `others`: the stack pointers of the program's other threads. The last word is that which
/// tells the system calls apart that were made without a stop. Cost: that of reading all writable memory twice, about 1 ms for
/// each 5 MB.
pub fn of(
    program: &Tracee,
    copy: &Tracee,
    others: &[u64],
    except: &[(LoadAddr, u64)],
    has_red_zone: bool,
) -> Option<OtherState> {
    if let Some(word) = first_word(program, copy, others, except, has_red_zone) {
        return Some(OtherState::Word(word));
    }
    let floats = |tracee: &Tracee| {
        let mut bytes = [0; FLOATS];
        ptrace::read_register_bytes(tracee.thread(), NT_PRFPREG, &mut bytes)?;
        Some(bytes)
    };
    (floats(program) != floats(copy)).then_some(OtherState::Registers)
}

fn first_word(
    program: &Tracee,
    copy: &Tracee,
    others: &[u64],
    except: &[(LoadAddr, u64)],
    has_red_zone: bool,
) -> Option<Word> {
    let sp = program.registers().ok()?.sp();
    let below = if has_red_zone { RED_ZONE } else { 0 };
    let mut ranges = Vec::new();
    for mapping in procfs::mappings(program.pid) {
        if !mapping.writable || mapping.shared || buffer::is_own(mapping.start.0) {
            continue;
        }
        let (start, end) = (mapping.start.0, mapping.end.0);
        match (start..end).contains(&sp) {
            true => ranges.insert(0, (sp.saturating_sub(below).max(start) & !7, end)),
            false => {
                let stacks = others.iter().filter(|sp| (start..end).contains(*sp));
                // Those threads are at events, so nothing below is needed to tell their places apart.
                let begin = stacks.min().map(|sp| sp & !7);
                ranges.push((begin.unwrap_or(start).max(start), end));
            }
        }
    }
    let is_excepted = |at: u64| {
        let mut all = except.iter();
        all.any(|(start, len)| (start.0..start.0.saturating_add(*len)).contains(&at))
    };
    let (mut wanted, mut found) = (vec![0; PORTION], vec![0; PORTION]);
    let mut left = MOST;
    for (start, end) in ranges {
        let mut at = start;
        while at < end && left > 0 {
            let len = PORTION.min((end - at) as usize);
            let read = program.read_into(at, &mut wanted[..len]);
            let read = copy.read_into(at, &mut found[..read]);
            let words = wanted[..read].chunks(8).zip(found[..read].chunks(8));
            let mut other = words
                .enumerate()
                .filter(|(nth, (wanted, found))| {
                    wanted != found && !is_excepted(at + 8 * *nth as u64)
                })
                .map(|(nth, (wanted, _))| (nth, wanted));
            if wanted[..read] != found[..read]
                && let Some((nth, bytes)) = other.next()
            {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                return Some(Word {
                    addr: LoadAddr(at + 8 * nth as u64),
                    value: u64::from_le_bytes(word),
                });
            }
            at += len as u64;
            left = left.saturating_sub(len as u64);
        }
    }
    let addr = buffer::NEXT_RECORD;
    let found = copy.word(addr);
    let value = program.word(addr).filter(|value| found != Some(*value))?;
    tracing::debug!(value, found, "another number of calls without a stop");
    Some(Word {
        addr: LoadAddr(addr),
        value,
    })
}
