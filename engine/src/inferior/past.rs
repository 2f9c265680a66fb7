//! The process as it was at a stop: kept as a copy, and shown in place of the process.

use super::debug_registers::DebugRegisters;
use super::displaced::DisplacedPads;
use super::jump_patch::JumpPatches;
use super::site::Sites;
use super::thread::{RegisterCache, RunState, StopPoint, Thread};
use super::{Inferior, Process, State};
use crate::ids::ThreadId;
use crate::os::{CopyId, MemoryUse, PastView, Present, ThreadImage, ThreadImages};
use std::rc::Rc;

/// The process at a stop.
pub(crate) struct KeptProcess {
    copy: CopyId,
    threads: Rc<ThreadImages>,
    /// Our traps and jumps in the copy.
    sites: Sites,
}

/// Why a stop was not kept.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// Its thread cannot make a system call.
    Now,
    /// No stop of this process can be kept; for the user.
    Ever(String),
}

/// The process while a past stop is shown.
pub(crate) struct ProcessAside {
    present: Present,
    process: Option<Process>,
    sites: Sites,
    pads: DisplacedPads,
    jumps: JumpPatches,
    debug_registers: DebugRegisters,
    is_single_stepping: bool,
}

impl Inferior {
    /// Copies the process, all of whose threads are stopped. `thread` makes the copy.
    ///
    /// # Errors
    /// What stands against it.
    pub(crate) fn keep_process(&mut self, thread: ThreadId) -> Result<KeptProcess, NotKept> {
        let instruction = self.ready_for_call(thread)?;
        let process = self.process.iter().flat_map(|process| &process.threads);
        let stopped = process.filter(|(_, state)| state.is_stopped());
        let stopped: Vec<ThreadId> = stopped.map(|(thread, _)| *thread).collect();
        let mut threads = ThreadImages::new();
        for other in stopped {
            self.normalize_if_needed(other);
            let Some(registers) = self.registers(other) else {
                continue;
            };
            let image = ThreadImage {
                registers,
                extended: self.os.extended_registers(other),
                signal: self.os.signal_data(other),
            };
            threads.insert(other, image);
        }
        let copied = self.os.copy_process(thread, instruction);
        Ok(KeptProcess {
            copy: copied.map_err(NotKept::Ever)?.ok_or(NotKept::Now)?,
            threads: Rc::new(threads),
            sites: self.sites.clone(),
        })
    }

    /// Returns why the process must not be made to make system calls, if it may be killed for one.
    pub(crate) fn confinement(&self) -> Option<&'static str> {
        let process = self.process.as_ref()?;
        self.os.confinement(process.pid)
    }

    /// Returns the memory of the process and of the system; `None` if it is not known.
    pub(crate) fn memory_use(&self) -> Option<MemoryUse> {
        self.os.memory_use(self.pid?)
    }

    /// Moves a stopped thread out of its system call, if it can make another one. Returns the address
    /// of an instruction for it.
    fn ready_for_call(&mut self, thread: ThreadId) -> Result<dwarf::LoadAddr, NotKept> {
        if let Some(why) = self.confinement() {
            return Err(NotKept::Ever(why.to_owned()));
        }
        let stopped = self.thread(thread).is_some_and(Thread::is_stopped);
        if !stopped || !self.end_system_call(thread) {
            return Err(NotKept::Now);
        }
        self.offer_refuge(thread);
        let instruction = self.system_call_instruction();
        instruction.ok_or_else(|| NotKept::Ever("the program has no vDSO".to_owned()))
    }

    /// Ends what is kept of past stops.
    pub(crate) fn end_kept(&mut self, kept: impl IntoIterator<Item = KeptProcess>) {
        let copies: Vec<CopyId> = kept.into_iter().map(|kept| kept.copy).collect();
        if copies.is_empty() {
            return;
        }
        let process = self.process.as_ref();
        let threads = process.map(|it| it.threads.iter()).into_iter().flatten();
        let thread = threads
            .filter(|(_, state)| {
                state.is_stopped() && !matches!(state.point, StopPoint::SystemCall(_))
            })
            .map(|(thread, _)| *thread)
            .next();
        let reaper = thread.and_then(|thread| Some((thread, self.ready_for_call(thread).ok()?)));
        self.os.end_copies(&copies, reaper);
    }

    /// Shows the process as it was at a past stop, with `current` as the thread of the stop. Nothing
    /// can be changed or resumed until [`Inferior::show_present`].
    pub(crate) fn show_kept(&mut self, kept: &KeptProcess, current: ThreadId) -> ProcessAside {
        self.note_change();
        let mut past = Process::new(self.pid.unwrap_or(current.0), self.launched);
        past.state = State::Stopped;
        past.current = current;
        for (thread, image) in kept.threads.iter() {
            let shown = Thread {
                run: RunState::Stopped,
                registers: RegisterCache::Clean(image.registers),
                changed: self.changes,
                announced: true,
                ..Thread::default()
            };
            past.threads.insert(*thread, shown);
        }
        ProcessAside {
            present: PastView::show(&mut self.os, kept.copy, Rc::clone(&kept.threads)),
            process: self.process.replace(past),
            sites: std::mem::replace(&mut self.sites, kept.sites.clone()),
            pads: std::mem::take(&mut self.pads),
            jumps: std::mem::take(&mut self.jumps),
            debug_registers: std::mem::take(&mut self.debug_registers),
            is_single_stepping: std::mem::take(&mut self.single_stepping),
        }
    }

    /// Shows the process as it is, after [`Inferior::show_kept`].
    pub(crate) fn show_present(&mut self, aside: ProcessAside) {
        aside.present.restore(&mut self.os);
        self.process = aside.process;
        self.sites = aside.sites;
        self.pads = aside.pads;
        self.jumps = aside.jumps;
        self.debug_registers = aside.debug_registers;
        self.single_stepping = aside.is_single_stepping;
        self.note_change();
        // Stops of the process were not collected meanwhile: it may have been killed.
        self.stops_may_be_ready = true;
    }
}
