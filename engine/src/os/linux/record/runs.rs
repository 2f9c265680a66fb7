//! The first difference between the system calls of two runs of a program.
//!
//! What varies from run to run is not compared: times, random bytes, ids of processes and threads, addresses, and
//! calls that were interrupted and made again. Of the outputs only what was read is compared.

use super::buffer::Record;
use super::calls;
use super::log::{Effect, Event, Log};
use crate::os::recording::{CallOfRun, RecordedCall, RunDifference};

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
