//! [`PastView`]: a stop of the past, as a process that nothing can change. Its memory is that of a
//! copy; its registers were read at the stop.

use super::copies::{Copies, CopyId};
use super::{
    AddressSpace, Backend, Block, Duty, ExtendedPart, ExtendedReader, GuardedPatch, MappedFile,
    Mapping, OpenStdio, Patience, Processes, Ready, Recordings, RegisterSet, Resume, Safekeeping,
    SeizeAs, Shared, SignalData, SignalMask, ThreadEvent, ThreadState, WaitInterest, Waker,
};
use crate::arch::ExtendedRegisters;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{OutputStream, Signal, ThreadId};
use dwarf::LoadAddr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// What a process has of a thread besides memory.
pub struct ThreadImage {
    /// The general-purpose registers.
    pub registers: RegisterSet,
    /// All others.
    pub extended: Option<ExtendedRegisters>,
    /// The signal that it was stopped with.
    pub signal: Option<SignalData>,
}

/// The threads of a process at a stop.
pub type ThreadImages = BTreeMap<ThreadId, ThreadImage>;

/// The backend of the process while a past stop is shown.
type Host = Rc<RefCell<Option<Box<dyn Backend>>>>;

/// The backend while a past stop is shown. The one of the process, which is stopped meanwhile, waits
/// for the client.
pub struct PastView {
    host: Host,
    waker: Waker,
    copy: CopyId,
    threads: Rc<ThreadImages>,
}

/// The way back from a past stop.
pub struct Present(Host);

impl PastView {
    /// Replaces the backend of a process by one that shows a past stop.
    pub fn show(os: &mut Box<dyn Backend>, copy: CopyId, threads: Rc<ThreadImages>) -> Present {
        let host = Host::default();
        let view = Self {
            host: Rc::clone(&host),
            waker: os.waker(),
            copy,
            threads,
        };
        let shown = std::mem::replace(os, Box::new(view));
        host.replace(Some(shown));
        Present(host)
    }

    fn ask<T: Default>(&self, question: impl FnOnce(&dyn Backend) -> T) -> T {
        let host = self.host.borrow();
        host.as_deref().map(question).unwrap_or_default()
    }
}

impl Present {
    /// Restores the backend of the process.
    pub fn restore(self, os: &mut Box<dyn Backend>) {
        if let Some(host) = self.0.take() {
            *os = host;
        }
    }
}

const PAST: Error = Error::InThePast("it cannot be run");

impl Recordings for PastView {
    fn hide_jumps(&self, addr: LoadAddr, bytes: &mut [u8]) {
        self.ask(|host| host.hide_jumps(addr, bytes));
    }
}

impl Backend for PastView {
    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error> {
        let mut host = self.host.borrow_mut();
        let host = host.as_mut().ok_or(PAST)?;
        host.wait(deadline, besides)
    }

    fn launch(&mut self, _: &Launch, _: Option<OpenStdio>) -> Result<i32, Error> {
        Err(PAST)
    }

    fn seize(&mut self, _: i32, _: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        Err(PAST)
    }

    fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        None
    }

    fn stop_of(&mut self, _: ThreadId, _: Patience) -> Option<ThreadEvent> {
        None
    }

    fn resume(&mut self, _: ThreadId, _: Resume, _: Signal) {}

    fn keep_group_stop(&mut self, _: ThreadId) -> bool {
        false
    }

    fn interrupt(&mut self, _: ThreadId) {}

    fn detach(&mut self, _: ThreadId, _: Signal) {}

    fn signal(&mut self, _: i32, _: Signal) {}

    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        self.host.borrow_mut().as_mut()?.read_output()
    }

    fn output_open(&self) -> bool {
        self.ask(|host| host.output_open())
    }
}

impl Copies for PastView {
    fn shown_copy(&self) -> Option<CopyId> {
        Some(self.copy)
    }

    fn read_copy(&self, copy: CopyId, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.ask(|host| host.read_copy(copy, addr, buffer))
    }
}

impl ThreadState for PastView {
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        Some(self.threads.get(&thread)?.registers)
    }

    fn set_registers(&mut self, _: ThreadId, _: &RegisterSet) -> bool {
        false
    }

    fn extended_reader(&self, thread: ThreadId, _: ExtendedPart) -> ExtendedReader {
        let image = self.threads.get(&thread);
        ExtendedReader::known(image.and_then(|image| image.extended.clone()))
    }

    fn set_extended_registers(&mut self, _: ThreadId, _: &ExtendedRegisters) -> bool {
        false
    }

    fn set_watchpoints(&mut self, _: ThreadId, _: &[Option<Slot>; MAX_SLOTS]) -> bool {
        false
    }

    fn triggered_watchpoints(&self, _: ThreadId) -> u8 {
        0
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        self.threads.get(&thread)?.signal
    }

    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}

    fn memory_tag(&self, _: ThreadId, _: LoadAddr) -> Option<u8> {
        None
    }

    fn block_signals(&mut self, _: ThreadId, _: Block<'_>) -> Option<SignalMask> {
        None
    }

    fn keep_system_call(&mut self, _: ThreadId) {}
}

impl AddressSpace for PastView {
    fn open_memory(&mut self, _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn close_memory(&mut self) {}

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.ask(|host| host.read_copy(self.copy, addr, buffer))
    }

    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }

    fn write_memory_partly(&self, _: LoadAddr, _: &[u8]) -> usize {
        0
    }

    fn shared(&self, _: i32, _: i32, _: u64) -> Option<Shared> {
        None
    }

    fn read_memory_of(&self, _: i32, _: LoadAddr, _: &mut [u8]) -> usize {
        0
    }

    fn write_memory_of(&self, _: i32, _: &[(LoadAddr, u8)]) {}
}

impl Processes for PastView {
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        self.ask(|host| host.auxiliary(pid, key))
    }

    fn image_infos(&self, pid: i32) -> Option<LoadAddr> {
        self.ask(|host| host.image_infos(pid))
    }

    fn mappings(&self, _: i32) -> Vec<Mapping> {
        self.ask(|host| host.mappings(self.copy.0))
    }

    fn executable(&self, pid: i32) -> Option<MappedFile> {
        self.ask(|host| host.executable(pid))
    }

    fn mapped_file(&self, _: i32, addr: LoadAddr) -> Option<MappedFile> {
        self.ask(|host| host.mapped_file(self.copy.0, addr))
    }

    fn processes(&self) -> Vec<i32> {
        self.ask(|host| host.processes())
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<std::path::PathBuf> {
        self.ask(|host| host.program_named(pid, name))
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        self.ask(|host| host.thread_name(pid, thread))
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        self.ask(|host| host.process_of(thread))
    }

    fn confinement(&self, pid: i32) -> Option<&'static str> {
        self.ask(|host| host.confinement(pid))
    }
}

impl Safekeeping for PastView {
    fn guard(&self, _: LoadAddr, _: Option<GuardedPatch<'_>>) {}

    fn restore_code(&mut self, _: i32, _: LoadAddr, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn set_duty(&mut self, _: i32, _: Option<Duty>) {}

    fn kill_left(&mut self, _: i32) {}
}
