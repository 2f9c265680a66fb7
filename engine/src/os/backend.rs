//! [`Backend`]: control of a process and its threads. What concerns the state of one thread, the
//! memory, queries, and the debugger's own end is in the traits that it includes.

use super::address_space::AddressSpace;
use super::copies::Copies;
use super::event::{Patience, Ready, Resume, SeizeAs, ThreadEvent, WaitInterest};
use super::processes::Processes;
use super::recording::Recordings;
use super::registers::ExtendedPart;
use super::safekeeping::Safekeeping;
use super::thread_state::ThreadState;
use super::{Core, OpenStdio, Waker};
use crate::arch::ExtendedRegisters;
use crate::ids::error::Error;
use crate::ids::{Launch, OutputStream, Signal, SignalInfo, ThreadId};
use dwarf::LoadAddr;
use std::time::Instant;

/// Control of a process. All calls must come from the thread that created the backend. Calls about
/// a thread that has vanished return `Ok` or a plain "gone" result: [`Backend::next_stop`] reports
/// its end.
pub trait Backend:
    ThreadState + AddressSpace + Processes + Safekeeping + Copies + Recordings
{
    /// Returns a handle that wakes [`Backend::wait`].
    fn waker(&self) -> Waker;
    /// Launches a program. Returns its pid; it is stopped before its first instruction.
    ///
    /// # Errors
    /// The program cannot be started.
    fn launch(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<i32, Error>;
    /// Seizes all threads of a process; they keep running. Returns them.
    ///
    /// # Errors
    /// The process is gone or may not be traced.
    fn seize(&mut self, pid: i32, role: SeizeAs) -> Result<Vec<ThreadId>, Error>;
    /// Sleeps until something is ready.
    ///
    /// # Errors
    /// The system refuses to wait.
    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error>;
    /// Returns the next stop of any thread, if one is available.
    fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)>;
    /// Returns the stop of one thread; `None` if it does not come within `patience`, or the thread
    /// is gone. This is cheaper than [`Backend::next_stop`].
    fn stop_of(&mut self, thread: ThreadId, patience: Patience) -> Option<ThreadEvent>;
    /// Resumes a stopped thread, delivering a signal (0 for none).
    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal);
    /// Leaves a thread in the group-stop of its process, whose end is reported. Returns false if it
    /// is not in one.
    fn keep_group_stop(&mut self, thread: ThreadId) -> bool;
    /// Interrupts a running thread; [`ThreadEvent::Interrupted`] follows.
    fn interrupt(&mut self, thread: ThreadId);
    /// Detaches from a stopped thread, delivering a signal (0 for none). It runs on untraced.
    fn detach(&mut self, thread: ThreadId, signal: Signal);
    /// Sends a signal to the process.
    fn signal(&mut self, pid: i32, signal: Signal);
    /// Reads available output of the debuggee; never blocks.
    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)>;
    /// Returns whether output may still come.
    fn output_open(&self) -> bool;
    /// Returns the core file of a post-mortem session.
    fn core(&self) -> Option<&Core> {
        None
    }
}

/// Conveniences that are the same for all backends.
impl dyn Backend + '_ {
    /// Waits for the stop of a thread that is about to stop. `None`: it is gone.
    pub fn wait_for_stop(&mut self, thread: ThreadId) -> Option<ThreadEvent> {
        self.stop_of(thread, Patience::UntilStopped)
    }

    /// Returns the details of the signal that a thread is stopped with.
    pub fn signal_info(&self, thread: ThreadId) -> Option<SignalInfo> {
        self.signal_data(thread).map(|data| data.info)
    }

    /// Returns all registers of a stopped thread besides the general-purpose ones; `None` if it is
    /// gone.
    pub fn extended_registers(&self, thread: ThreadId) -> Option<ExtendedRegisters> {
        self.extended_reader(thread, ExtendedPart::All).read()
    }

    /// Writes memory despite its protection; false if not all of it could be written.
    pub fn write_memory(&self, addr: LoadAddr, bytes: &[u8]) -> bool {
        self.write_memory_partly(addr, bytes) == bytes.len()
    }
}
