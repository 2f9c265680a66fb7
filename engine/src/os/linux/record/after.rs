//! The end of a recording before that of the program, which runs on.

use super::buffer::Buffer;
use super::family::{Birth, complete_time_stamp};
use super::recorder::Recorder;
use super::tracee::Stop;
use crate::ids::{Signal, ThreadId};
use crate::os::ThreadEvent;
use crate::os::linux::{procfs, ptrace};
use crate::os::recording::ProgramEnd;
use std::io;

impl Recorder {
    /// Ends the recording since the system has refused something; the program runs on.
    pub fn fail(&mut self, error: &io::Error) {
        tracing::warn!(%error, "the recording ends");
        if self.ended.is_none() {
            self.end_recording(error.to_string());
        }
    }

    /// Ends the recording at a stop of the program, which runs on.
    pub(super) fn end_recording(&mut self, reason: String) {
        self.look_for_woken();
        self.send_held();
        self.running.restore_mask();
        self.buffer.free();
        self.ended = Some(reason);
        self.running.call = None;
        self.family.processors().set_for(self.running.tracee.pid);
        let is_stepping = self.running.is_stepping;
        self.threads.insert(self.running.tracee.pid, is_stepping);
        self.running.tracee.go(is_stepping, 0);
        self.release_others();
    }

    /// Lets the other threads run on after the end of the recording.
    pub(super) fn release_others(&mut self) {
        for (pid, thread) in std::mem::take(&mut self.others) {
            self.family.processors().set_for(pid);
            self.threads.insert(pid, thread.is_stepping);
            thread.release(self.pid);
        }
    }

    /// Returns whether a thread is one of the program.
    pub(super) fn is_of_head(&self, pid: i32) -> bool {
        pid == self.pid
            || self.threads.contains_key(&pid)
            || procfs::status_number(pid, "Tgid") == Some(self.pid)
    }

    /// Handles a stop of a thread of the program after the end of the recording. Returns what the debugger
    /// sees of it.
    pub(super) fn on_free_stop(&mut self, pid: i32, stop: Stop) -> Option<ThreadEvent> {
        let thread = ThreadId(pid);
        let is_stepping = *self.threads.entry(pid).or_default();
        let run = |signal| drop(ptrace::resume(thread, is_stepping, Signal(signal)));
        match stop {
            Stop::Exited(_) | Stop::Killed(_) => {
                self.threads.remove(&pid);
                if pid == self.pid {
                    self.has_ended(stop);
                }
            }
            Stop::Created(child) => {
                let birth = Birth {
                    call: None,
                    borrows: false,
                    shares_buffer: false,
                };
                self.family.created(child, Some(birth));
                run(0);
            }
            Stop::CreatedThread(new) => {
                self.threads.insert(new, false);
            }
            Stop::Signal(libc::SIGSEGV) if complete_time_stamp(pid) => {
                if is_stepping {
                    return Some(ThreadEvent::Signal(Signal::TRAP));
                }
                run(0);
                return None;
            }
            Stop::Execed => {
                self.buffer = Buffer::default();
                return Some(ThreadEvent::Execed(thread));
            }
            Stop::Call => {
                let freed = (self.buffer).on_free_call(pid, &mut self.log, &self.patches);
                if let Err(error) = freed {
                    tracing::debug!(%error, pid, "a thread has ended at a call");
                }
                run(0);
            }
            Stop::CallEnd | Stop::Late | Stop::Other => run(0),
            Stop::Signal(libc::SIGTRAP)
                if self.buffer.repeats_replaced(pid)
                    || is_stepping && self.buffer.is_in_free_code(pid) =>
            {
                run(0);
                return None;
            }
            Stop::Signal(_) | Stop::Group(_) | Stop::Interrupted => {
                self.buffer.show_site(pid);
            }
        }
        stop.seen()
    }

    /// The program has ended while the recorder waited for something else.
    pub(super) fn has_ended(&mut self, stop: Stop) {
        match stop {
            Stop::Exited(code) => self.end = Some(ProgramEnd::Exited(code)),
            Stop::Killed(signal) => self.end = Some(ProgramEnd::Killed(signal)),
            _ => {}
        }
    }
}
