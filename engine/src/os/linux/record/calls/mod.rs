//! What a system call does to the memory of the program, as data: a row for each call in `table`.
//! A call without a row ends a recording.

#[cfg(test)]
mod kernel_tests;
mod names;
mod outputs;
mod requests;
mod table;

pub use names::arguments;
pub use outputs::{Plan, TooMuch};

use super::own::Own;
use std::sync::LazyLock;

/// How the recorder treats a system call.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// The kernel does not get it. The program gets this result.
    Answer(i64),
    /// It is executed; its result and outputs are logged. A replay only writes them.
    Log(&'static [Output]),
    /// The recorder answers it if it can; else as [`Class::Log`].
    Own(Own, &'static [Output]),
    /// As [`Class::Log`], with outputs that depend on the arguments; `None`: the recording ends if
    /// the call succeeds.
    LogBy(fn(&[u64; 6]) -> Option<&'static [Output]>),
    /// It changes nothing but the address space of the process: a replay executes it.
    Repeat,
    /// It has a rule of its own.
    Special(Special),
    /// It ends the recording if it succeeds, for this reason: one that fails has no outputs.
    Refuse(&'static str),
}

/// A system call with a rule of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// mmap(2).
    Map,
    /// madvise(2).
    Advise,
    /// fork(2), vfork(2), clone(2).
    Fork,
    /// sched_getaffinity(2).
    Processors,
    /// sched_setaffinity(2).
    SetProcessors,
    /// execve(2), execveat(2).
    Execute,
    /// exit(2), exit_group(2).
    Exit,
    /// rt_sigreturn(2).
    SignalReturn,
    /// restart_syscall(2), which the kernel makes the program execute.
    Restart,
    /// futex(2).
    Futex,
    /// sched_yield(2).
    Yield,
    /// rseq(2), which is refused but to some.
    Sequences,
}

/// Memory that a system call writes. Arguments are counted from 0.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// A buffer at the address in an argument, if that is not 0.
    Buffer(usize, Length),
    /// The same, written also if the call fails: what is left of a time, events that a signal has ended the wait for.
    Always(usize, Length),
    /// The buffers of an array of `struct iovec`; its address, and its length, are arguments.
    Vectors(usize, usize),
    /// A `struct msghdr`, and what it points to.
    Message(usize),
    /// An array of `struct mmsghdr`, of which the result says how many were received; its length is another argument.
    Messages(usize, usize),
    /// The same, of which only the lengths were written: the messages were sent.
    SentLengths(usize, usize),
}

/// The length of a buffer in bytes.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// Always the same.
    Bytes(u64),
    /// An argument.
    Argument(usize),
    /// An argument times this.
    Times(usize, u64),
    /// The result, at most an argument.
    ResultWithin(usize),
    /// The result, at most an argument, behind so many bytes.
    ResultBehind(usize, u64),
    /// The result, at most an argument, times this.
    ResultTimes(usize, u64),
    /// What the 32 bits are, before the call, that an argument points to.
    At(usize),
    /// A set of as many bits as an argument says, in words of 64.
    Bits(usize),
    /// A byte for each page of a length in an argument.
    Pages(usize),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub number: libc::c_long,
    pub name: &'static str,
    pub class: Class,
    /// What it may wait for.
    pub waits: Waits,
}

/// What a system call may wait for while other threads have to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// Nothing, or not for long.
    Never,
    /// Input of the descriptor in an argument.
    Input(usize),
    /// Room for output to the descriptor in an argument.
    Output(usize),
    /// poll(2), ppoll(2).
    Poll,
    /// select(2), pselect6(2).
    Select,
    /// epoll_wait(2) and its successors.
    Epoll,
    /// The time that the argument points to.
    Sleep(usize),
    /// A child.
    Child,
    /// The kernel knows for what: it makes the call meanwhile, which writes no memory.
    Kernel,
    /// The kernel knows for what: the call is interrupted, and made again.
    Again,
}

/// The row of calls that are not listed.
pub const UNLISTED: Row = Row {
    number: -1,
    name: "",
    class: Class::Refuse("it is not listed"),
    waits: Waits::Again,
};

/// Numbers of calls are below this.
const NUMBERS: usize = 512;

/// Returns the row of a system call.
pub fn row(number: i64) -> Option<&'static Row> {
    static BY_NUMBER: LazyLock<Vec<Option<&'static Row>>> = LazyLock::new(|| {
        let mut rows = vec![None; NUMBERS];
        for row in table::ROWS {
            if let Some(place) = rows.get_mut(row.number as usize) {
                *place = Some(row);
            }
        }
        rows
    });
    *BY_NUMBER.get(usize::try_from(number).ok()?)?
}

/// Returns the name of a system call for messages.
pub fn name(number: i64) -> String {
    match row(number) {
        Some(row) => row.name.to_owned(),
        None => format!("system call {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_one_row() {
        let mut numbers: Vec<_> = table::ROWS.iter().map(|row| row.number).collect();
        numbers.sort_unstable();
        for pair in numbers.windows(2) {
            assert_ne!(pair[0], pair[1], "{}", name(pair[0]));
        }
        assert!(numbers.iter().all(|number| (*number as usize) < NUMBERS));
    }
}
