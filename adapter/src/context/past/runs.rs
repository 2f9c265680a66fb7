//! System calls of recordings, and the first difference between two runs, as text.

use crate::protocol::{SystemCall, SystemCalls};
use crate::session::describe::text_of_call as text_of;
use engine::os::{CallOfRun, RecordedCall, RunDifference};

/// What is not compared.
const VARIES: &str = "(not compared: times, random bytes, ids of processes and threads, addresses, and what is written \
                      to memory other than by reading files)";

/// The line of [`difference`] for a run that has ended before the call that differs.
pub const ENDS_HERE: &str = "  this run   ends here\n";

/// Describes the first difference after so many calls that are the same; `None`: there is none.
pub fn difference(same: usize, found: Option<&RunDifference>) -> String {
    let Some(found) = found else {
        return format!("the {same} system calls of both runs are the same\n{VARIES}\n");
    };
    let call = |call: Option<&CallOfRun>| call.map_or("ends here".to_owned(), text_of);
    format!(
        "the first {same} system calls are the same; call {} differs\n  this run   {}\n  other run  {}\n{VARIES}\n",
        same + 1,
        call(found.shown.as_ref()),
        call(found.other.as_ref())
    )
}

/// Describes a system call of a recording.
pub fn described(call: &RecordedCall) -> SystemCall {
    SystemCall {
        number: call.number as u64,
        name: call.call.name.clone(),
        result: call.call.result,
        text: text_of(&call.call),
    }
}

/// Lists system calls by their numbers; the last one before the shown place is marked.
pub fn list_of_calls(listed: &SystemCalls) -> String {
    let line = |it: &SystemCall| {
        let mark = if it.number == listed.before { '*' } else { ' ' };
        format!("{mark} {:>6}  {}\n", it.number, it.text)
    };
    match listed.calls.is_empty() {
        true => "no system calls were recorded there\n".to_owned(),
        false => listed.calls.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fd: u64, result: i64, read: &[u8], from: usize) -> CallOfRun {
        CallOfRun {
            name: "read".to_owned(),
            arguments: Some(vec![("fd", fd), ("buf", 0x7fff_0000_1000)]),
            result,
            read: read.to_vec(),
            read_from: from,
        }
    }

    #[test]
    fn calls_are_shown_with_what_differs() {
        let found = RunDifference {
            index: 7,
            event: Some(3),
            shown: Some(read(3, 5, b"a\nb", 2)),
            other: Some(read(u64::from(u32::MAX), -9, b"", 2)),
        };
        let text = difference(7, Some(&found));
        assert!(text.contains("the first 7 system calls are the same; call 8 differs"));
        assert!(
            text.contains("read(fd = 3, buf = 0x7fff00001000) = 5, read from byte 2 on \"a\\nb\"")
        );
        assert!(text.contains("read(fd = -1, buf = 0x7fff00001000) = Bad file descriptor"));
        let ended = RunDifference {
            shown: None,
            ..found
        };
        assert!(difference(7, Some(&ended)).contains(ENDS_HERE));
        assert!(difference(9, None).contains("the 9 system calls of both runs are the same"));
    }
}
