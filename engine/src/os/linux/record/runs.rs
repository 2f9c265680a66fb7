//! The first difference between the system calls of two runs of a program.
//!
//! What varies from run to run is not compared: times, random bytes, ids of processes and threads, addresses, and
//! calls that were interrupted and made again. Of the outputs only what was read is compared.

use super::buffer::{Record, layout};
use super::calls;
use super::log::{Effect, Event, Log};
use crate::os::recording::{CallOfRun, CallWithoutStop, RecordedCall, RunDifference, SystemWrite};
use dwarf::LoadAddr;

/// An argument that is larger is taken for an address.
const ADDRESSES: u64 = 1 << 32;
/// Bytes of what was read that are shown, from the first that differs on.
const SHOWN: usize = 48;

/// A call of a run.
#[derive(Clone, Copy)]
struct Call<'a> {
    number: i64,
    /// `None`: it was made without a stop, and its arguments are not known.
    arguments: Option<[u64; 6]>,
    result: i64,
    /// What it has read.
    read: &'a [u8],
    /// The index of the event that it is, or of the next one.
    event: usize,
}

/// Calls whose results vary: times, ids, addresses.
const VARYING: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mremap,
    libc::SYS_shmat,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgrp,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_setsid,
    libc::SYS_set_tid_address,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_clone,
    libc::SYS_wait4,
    libc::SYS_alarm,
];
/// Calls whose arguments are such ids.
const OF_IDS: &[libc::c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_prlimit64,
    libc::SYS_brk,
];
/// Calls whose outputs are what was read.
const READING: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_recvfrom,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
];

/// Returns the calls of a run.
fn calls_of(log: &Log) -> impl Iterator<Item = Call<'_>> {
    (0..=log.events.len()).flat_map(move |event| {
        let mut bytes = log.segments.before(event);
        let records = std::iter::from_fn(move || {
            let record = Record::first(bytes)?;
            bytes = bytes.get(record.len..)?;
            let number = i64::from(record.number);
            let is_read = READING.contains(&number);
            Some(Call {
                number,
                arguments: None,
                result: record.result,
                read: if is_read { record.output } else { &[] },
                event,
            })
        });
        let own = log.events.get(event).and_then(|it| call_at(event, it));
        records.chain(own)
    })
}

fn call_at(index: usize, event: &Event) -> Option<Call<'_>> {
    let number = event.entry.number;
    let (result, read) = match &event.effect {
        Effect::Call {
            result, outputs, ..
        } => {
            let read = outputs.first().filter(|_| READING.contains(&number));
            (*result, read.map_or(&[][..], |it| &it.1))
        }
        Effect::Repeat { result } | Effect::Map { result } | Effect::MapFile { result, .. } => {
            (*result, &[][..])
        }
        Effect::Execute => (0, &[][..]),
        _ => return None,
    };
    Some(Call {
        number,
        arguments: Some(event.entry.arguments),
        result,
        read,
        event: index,
    })
}

/// Returns whether two calls are the same, as far as they do not vary.
fn is_same(one: &Call<'_>, other: &Call<'_>) -> bool {
    let number = one.number;
    if number != other.number {
        return false;
    }
    let results = [one.result, other.result];
    let is_failure = |result: i64| (-4095..0).contains(&result);
    let is_result_same = match VARYING.contains(&number) {
        true => results.map(is_failure) == [is_failure(results[0]); 2],
        false => results[0] == results[1],
    };
    let is_argument_same = |(one, other): (u64, u64)| {
        one == other || one >= ADDRESSES && other >= ADDRESSES || OF_IDS.contains(&number)
    };
    let mut pairs = one.arguments.into_iter().zip(other.arguments);
    let known = calls::arguments(number).len();
    is_result_same
        && one.read == other.read
        && pairs.all(|(one, other)| {
            let both = one.into_iter().zip(other).take(known);
            both.into_iter().all(is_argument_same)
        })
}

/// Returns calls of a run, from the one of a number on, so many at most.
pub fn calls(log: &Log, from: usize, most: usize) -> Vec<RecordedCall> {
    let numbered = (1..).zip(calls_of(log));
    let wanted = numbered.skip(from.saturating_sub(1)).take(most);
    let shown = wanted.map(|(number, call)| RecordedCall {
        number,
        event: call.event,
        call: described(&call, 0),
    });
    shown.collect()
}

/// Returns the call that the stub makes again at a pc in it. `read` reads memory of the replay.
pub fn made_without_stop(
    pc: LoadAddr,
    read: impl Fn(u64, &mut [u8]) -> bool,
) -> Option<CallWithoutStop> {
    if !layout::CODE.contains(&pc.0) {
        return None;
    }
    let word_at = |addr: u64| {
        let mut bytes = [0; 8];
        read(addr, &mut bytes).then(|| u64::from_le_bytes(bytes))
    };
    let word = |index| word_at(layout::word_at(index));
    let mut arguments = [0; 6];
    for (nth, argument) in arguments.iter_mut().enumerate() {
        *argument = word(layout::word::ARGUMENTS + nth)?;
    }
    let number = word(layout::word::NUMBER)? as i64;
    let record = word(layout::word::NEXT)?;
    let mut output = vec![0; SHOWN];
    let len = word_at(record)? >> 32;
    output.truncate(usize::try_from(len).unwrap_or(SHOWN));
    let has_output =
        READING.contains(&number) && read(record.wrapping_add(layout::HEADER as u64), &mut output);
    let call = Call {
        number,
        arguments: Some(arguments),
        result: word_at(record.wrapping_add(8))? as i64,
        read: if has_output { &output } else { &[] },
        event: 0,
    };
    Some(CallWithoutStop {
        call: described(&call, 0),
        back: LoadAddr(word(layout::word::SITE)?),
        sp: word(layout::word::RSP)?,
    })
}

/// Returns the last call with a stop before an event that has changed memory: so many bytes from an address on, or
/// some of them.
pub fn last_write(log: &Log, addr: LoadAddr, size: u64, before: usize) -> Option<SystemWrite> {
    let wanted = addr.0..addr.0.saturating_add(size);
    let overlaps =
        |start: u64, len: u64| start < wanted.end && start.saturating_add(len) > wanted.start;
    let events = log.events.iter().enumerate().take(before);
    events.rev().find_map(|(index, event)| {
        let [_, second, third, ..] = event.entry.arguments;
        let maps = match (&event.effect, event.entry.number) {
            (Effect::Call { outputs, .. }, _) => {
                let mut outputs = outputs.iter();
                outputs.find(|it| overlaps(it.0, it.1.len() as u64))?;
                false
            }
            (Effect::Map { result } | Effect::MapFile { result, .. }, _) => {
                overlaps(*result as u64, second).then_some(true)?
            }
            (Effect::Repeat { result }, libc::SYS_mremap) => {
                overlaps(*result as u64, third).then_some(true)?
            }
            _ => return None,
        };
        Some(SystemWrite {
            event: index,
            call: described(&call_at(index, event)?, 0),
            maps,
        })
    })
}

/// Returns the number of calls of a run before an event.
pub fn count_before(log: &Log, event: usize) -> usize {
    calls_of(log).take_while(|call| call.event < event).count()
}

/// Returns the first difference between a run and another one, and the number of calls that were compared.
pub fn difference(shown: &Log, other: &Log) -> (usize, Option<RunDifference>) {
    let (mut these, mut others) = (calls_of(shown), calls_of(other));
    let mut index = 0;
    loop {
        let (this, that) = (these.next(), others.next());
        match (&this, &that) {
            (None, None) => return (index, None),
            (Some(this), Some(that)) if is_same(this, that) => index += 1,
            _ => {
                let from = first_other(&this, &that);
                return (
                    index,
                    Some(RunDifference {
                        index,
                        event: this.map(|it| it.event),
                        shown: this.map(|it| described(&it, from)),
                        other: that.map(|it| described(&it, from)),
                    }),
                );
            }
        }
    }
}

/// Returns where what two calls have read differs first.
fn first_other(this: &Option<Call<'_>>, that: &Option<Call<'_>>) -> usize {
    let (Some(this), Some(that)) = (this, that) else {
        return 0;
    };
    let mut pairs = this.read.iter().zip(that.read);
    let shorter = this.read.len().min(that.read.len());
    pairs
        .position(|(one, other)| one != other)
        .unwrap_or(shorter)
}

fn described(call: &Call<'_>, from: usize) -> CallOfRun {
    let names = calls::arguments(call.number);
    let arguments = call.arguments.map(|values| {
        let named = names.iter().zip(values);
        named.map(|(name, value)| (*name, value)).collect()
    });
    let rest = call.read.get(from..).unwrap_or_default();
    CallOfRun {
        name: calls::name(call.number),
        arguments,
        result: call.result,
        read: rest.get(..SHOWN).unwrap_or(rest).to_vec(),
        read_from: from,
    }
}
