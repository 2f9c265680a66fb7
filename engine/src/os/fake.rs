//! A scripted backend for tests: threads are registers, memory is bytes, stops are a script, and
//! the engine's calls are logged.

use super::{
    AddressSpace, Backend, Block, Duty, ExtendedPart, ExtendedReader, GuardedPatch, MappedFile,
    Mapping, OpenStdio, Patience, Processes, Ready, Recordings, RegisterSet, Resume, Safekeeping,
    SeizeAs, Shared, SignalData, SignalMask, ThreadEvent, ThreadState, TrapCause, WaitInterest,
    Waker,
};
use crate::arch::ExtendedRegisters;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::ids::Launch;
use crate::ids::error::Error;
use crate::ids::{OutputStream, Signal, SignalInfo, ThreadId};
use dwarf::LoadAddr;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// Start address of the fake's memory.
pub const BASE: u64 = 0x1000;

/// The state that a test prepares and inspects afterwards.
#[derive(Default)]
pub struct Script {
    /// Stops in the order in which they are collected.
    pub stops: VecDeque<(ThreadId, ThreadEvent)>,
    pub registers: BTreeMap<ThreadId, RegisterSet>,
    /// Why threads are stopped by a trap.
    pub traps: BTreeMap<ThreadId, TrapCause>,
    /// Memory from [`BASE`] on.
    pub memory: Vec<u8>,
    /// Watchpoints that threads have triggered, one bit each.
    pub triggered: BTreeMap<ThreadId, u8>,
    /// Threads of other processes, with their process.
    pub strangers: BTreeMap<ThreadId, i32>,
    /// All processes, with the names of their programs.
    pub named: BTreeMap<i32, String>,
    /// The engine's calls: `continue 7`, `interrupt 8`, `detach 7 signal 10`.
    pub log: Vec<String>,
}

/// The backend; the test keeps another handle to the script.
#[derive(Clone, Default)]
pub struct Fake(pub Rc<RefCell<Script>>);

/// The pid that `attach` simulates.
pub const PID: i32 = 7;

impl Fake {
    fn log(&self, text: String) {
        self.0.borrow_mut().log.push(text);
    }
}

impl Recordings for Fake {}

impl Backend for Fake {
    fn waker(&self) -> Waker {
        unreachable!("a fake is not woken")
    }

    fn launch(&mut self, _: &Launch, _: Option<OpenStdio>) -> Result<i32, Error> {
        Ok(PID)
    }

    fn seize(&mut self, pid: i32, _: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        let script = self.0.borrow();
        let threads = script.registers.keys().copied();
        assert_eq!(pid, PID);
        Ok(threads
            .filter(|thread| !script.strangers.contains_key(thread))
            .collect())
    }

    fn wait(&mut self, _: Option<Instant>, _: WaitInterest<'_>) -> Result<Ready, Error> {
        // A test that waits for more than it scripted runs into the deadline.
        Ok(Ready::default())
    }

    fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        self.0.borrow_mut().stops.pop_front()
    }

    fn stop_of(&mut self, thread: ThreadId, _: Patience) -> Option<ThreadEvent> {
        let mut script = self.0.borrow_mut();
        let mut stops = script.stops.iter();
        let index = stops.position(|(other, _)| *other == thread)?;
        script.stops.remove(index).map(|(_, status)| status)
    }

    fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        let how = match how {
            Resume::Continue => "continue",
            Resume::Step => "step",
        };
        let signal = match signal.0 {
            0 => String::new(),
            number => format!(" signal {number}"),
        };
        self.log(format!("{how} {thread}{signal}"));
    }

    fn keep_group_stop(&mut self, thread: ThreadId) -> bool {
        self.log(format!("keep stopped {thread}"));
        true
    }

    fn interrupt(&mut self, thread: ThreadId) {
        self.log(format!("interrupt {thread}"));
        let mut script = self.0.borrow_mut();
        if !script.stops.iter().any(|(other, _)| *other == thread) {
            script.stops.push_back((thread, ThreadEvent::Interrupted));
        }
    }

    fn detach(&mut self, thread: ThreadId, signal: Signal) {
        self.log(format!("detach {thread} signal {}", signal.0));
    }

    fn signal(&mut self, _: i32, signal: Signal) {
        self.log(format!("kill {}", signal.0));
        if signal == Signal::KILL {
            let mut script = self.0.borrow_mut();
            // The kernel reports the leader last.
            let threads: Vec<ThreadId> = script.registers.keys().rev().copied().collect();
            for thread in threads {
                script
                    .stops
                    .push_back((thread, ThreadEvent::Killed(signal)));
            }
        }
    }

    fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        None
    }

    fn output_open(&self) -> bool {
        false
    }
}

impl ThreadState for Fake {
    fn registers(&self, thread: ThreadId) -> Option<RegisterSet> {
        self.0.borrow().registers.get(&thread).copied()
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &RegisterSet) -> bool {
        self.0.borrow_mut().registers.insert(thread, *registers);
        true
    }

    fn extended_reader(&self, _: ThreadId, _: ExtendedPart) -> ExtendedReader {
        ExtendedReader::known(None)
    }

    fn set_extended_registers(&mut self, _: ThreadId, _: &ExtendedRegisters) -> bool {
        false
    }

    fn set_watchpoints(&mut self, thread: ThreadId, slots: &[Option<Slot>; MAX_SLOTS]) -> bool {
        let addresses = slots.map(|slot| slot.map_or(0, |it| it.addr.0));
        self.log(format!("watch {thread} {addresses:x?}"));
        true
    }

    fn triggered_watchpoints(&self, thread: ThreadId) -> u8 {
        let script = self.0.borrow();
        script.triggered.get(&thread).copied().unwrap_or(0)
    }

    fn memory_tag(&self, _: ThreadId, _: LoadAddr) -> Option<u8> {
        None
    }

    fn signal_data(&self, thread: ThreadId) -> Option<SignalData> {
        let trap = *self.0.borrow().traps.get(&thread)?;
        let info = SignalInfo {
            signal: Signal::TRAP,
            code: 1,
            address: None,
            sender: None,
        };
        Some(SignalData::described(info, Some(trap)))
    }

    fn set_signal_data(&mut self, _: ThreadId, _: &SignalData) {}

    fn block_signals(&mut self, _: ThreadId, _: Block<'_>) -> Option<SignalMask> {
        None
    }

    fn keep_system_call(&mut self, _: ThreadId) {}
}

impl AddressSpace for Fake {
    fn open_memory(&mut self, _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn close_memory(&mut self) {}

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let script = self.0.borrow();
        let Some(bytes) = addr
            .0
            .checked_sub(BASE)
            .and_then(|offset| script.memory.get(offset as usize..))
        else {
            return 0;
        };
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        count
    }

    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }

    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize {
        let mut script = self.0.borrow_mut();
        let Some(offset) = addr.0.checked_sub(BASE) else {
            return 0;
        };
        let place = script.memory.get_mut(offset as usize..).unwrap_or_default();
        let len = place.len().min(bytes.len());
        place[..len].copy_from_slice(&bytes[..len]);
        len
    }

    fn shared(&self, _: i32, _: i32, _: u64) -> Option<Shared> {
        None
    }

    // The copy was made just now, so its memory is the same.
    fn read_memory_of(&self, _: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }

    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]) {
        for (addr, byte) in writes {
            self.log(format!("clean {pid} {addr} {byte:#x}"));
        }
    }
}

impl Processes for Fake {
    fn auxiliary(&self, _: i32, _: u64) -> Option<u64> {
        None
    }

    fn mappings(&self, _: i32) -> Vec<Mapping> {
        vec![Mapping {
            start: LoadAddr(BASE),
            end: LoadAddr(BASE) + self.0.borrow().memory.len() as u64,
            readable: true,
            writable: true,
            executable: true,
            shared: false,
            offset: 0,
            path: PathBuf::new(),
        }]
    }

    fn executable(&self, _: i32) -> Option<MappedFile> {
        None
    }

    fn mapped_file(&self, _: i32, _: LoadAddr) -> Option<MappedFile> {
        None
    }

    fn processes(&self) -> Vec<i32> {
        self.0.borrow().named.keys().copied().collect()
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf> {
        let script = self.0.borrow();
        script
            .named
            .get(&pid)
            .filter(|it| *it == name)
            .map(PathBuf::from)
    }

    fn thread_name(&self, _: i32, _: ThreadId) -> String {
        String::new()
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        Some(*self.0.borrow().strangers.get(&thread).unwrap_or(&PID))
    }

    fn confinement(&self, _: i32) -> Option<&'static str> {
        None
    }
}

impl super::Copies for Fake {}

impl Safekeeping for Fake {
    fn guard(&self, _: LoadAddr, _: Option<GuardedPatch<'_>>) {}

    fn restore_code(&mut self, _: i32, _: LoadAddr, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn set_duty(&mut self, _: i32, _: Option<Duty>) {}

    fn kill_left(&mut self, _: i32) {}
}
