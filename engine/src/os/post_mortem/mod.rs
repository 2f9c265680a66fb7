//! Post-mortem debugging of core files. [`CoreFile`] is the file, [`Core`] its contents, and
//! [`PostMortem`] the backend that answers from it.

mod images;
mod notes;
mod reader;
#[cfg(test)]
mod tests;
mod unpack;

pub use reader::Core;
pub use unpack::CoreFile;

use super::linux_abi;
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
use std::path::PathBuf;
use std::time::Instant;

/// The error of requests that need a live process.
const ENDED: Error = Error::PostMortem("the program has ended and cannot be run");

/// A process in a core file: nothing runs, nothing can be changed.
pub struct PostMortem {
    core: Core,
    /// The backend of this machine, only for waiting on the client.
    host: Box<dyn Backend>,
}

impl PostMortem {
    pub fn new(core: Core, host: Box<dyn Backend>) -> Self {
        Self { core, host }
    }
}

impl Recordings for PostMortem {}

impl Backend for PostMortem {
    fn core(&self) -> Option<&Core> {
        Some(&self.core)
    }

    fn waker(&self) -> Waker {
        self.host.waker()
    }

    fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error> {
        self.host.wait(deadline, besides)
    }

    fn launch(&mut self, _: &Launch, _: Option<OpenStdio>) -> Result<i32, Error> {
        Err(ENDED)
    }

    fn seize(&mut self, _: i32, _: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        Err(ENDED)
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
        None
    }

    fn output_open(&self) -> bool {
        false
    }
}

impl ThreadState for PostMortem {
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        Some(self.core.thread(thread)?.registers)
    }

    fn set_registers(&mut self, _: ThreadId, _: &RegisterSet) -> bool {
        false
    }

    fn extended_reader(&self, thread: ThreadId, part: ExtendedPart) -> ExtendedReader {
        let Some(thread) = self.core.thread(thread) else {
            return ExtendedReader::known(None);
        };
        let area = match part {
            ExtendedPart::Vectors => thread.vectors.or(thread.extended).map(<[u8]>::to_vec),
            ExtendedPart::All => {
                let joined = thread.joined(linux_abi::of(self.core.arch()));
                joined.or_else(|| thread.extended.or(thread.vectors).map(<[u8]>::to_vec))
            }
        };
        ExtendedReader::known(area.map(Into::into))
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

    fn memory_tag(&self, _: ThreadId, _: LoadAddr) -> Option<u8> {
        None
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        let info = self.core.thread(thread)?.signal?;
        Some(SignalData::described(info, None))
    }

    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}

    fn block_signals(&mut self, _: ThreadId, _: Block<'_>) -> Option<SignalMask> {
        None
    }

    fn keep_system_call(&mut self, _: ThreadId) {}
}

impl AddressSpace for PostMortem {
    fn open_memory(&mut self, _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn close_memory(&mut self) {}

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let addr = self.core.arch().untagged(addr);
        let at = |addr| {
            let dumped = self.core.dumped_at(addr);
            dumped.or_else(|| self.core.images.bytes_at(&self.core, addr))
        };
        reader::read_by(at, addr, buffer)
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

impl Processes for PostMortem {
    fn auxiliary(&self, _: i32, key: u64) -> Option<u64> {
        self.core.auxiliary(key)
    }

    fn mappings(&self, _: i32) -> Vec<Mapping> {
        self.core.parts().collect()
    }

    fn executable(&self, _: i32) -> Option<MappedFile> {
        Some(MappedFile {
            path: self.core.images.program.clone()?,
            replaced: None,
        })
    }

    fn mapped_file(&self, _: i32, addr: LoadAddr) -> Option<MappedFile> {
        Some(MappedFile {
            path: self.core.file_part(addr)?.path.clone(),
            replaced: None,
        })
    }

    fn processes(&self) -> Vec<i32> {
        Vec::new()
    }

    fn program_named(&self, _: i32, _: &str) -> Option<PathBuf> {
        None
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        // A core file has the name of the process only.
        match thread.0 == pid {
            true => self.core.decoded.name.clone(),
            false => String::new(),
        }
    }

    fn process_of(&self, _: ThreadId) -> Option<i32> {
        Some(self.core.pid())
    }

    fn confinement(&self, _: i32) -> Option<&'static str> {
        None
    }
}

impl super::Copies for PostMortem {}

impl Safekeeping for PostMortem {
    fn guard(&self, _: LoadAddr, _: Option<GuardedPatch<'_>>) {}

    fn restore_code(&mut self, _: i32, _: LoadAddr, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn set_duty(&mut self, _: i32, _: Option<Duty>) {}

    fn kill_left(&mut self, _: i32) {}
}
