//! The last instruction of a function that was called: the one before that which the call returns to, or before
//! which it has set a register. The program does not step through all of it.

use crate::arch::Flow;
use crate::debugger::{Debugger, StepKind, Vote};
use crate::ids::ThreadId;
use crate::inferior::Mark;
use crate::os::{CallWithoutStop, KeptFor, RegisterSet};
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::travel::Goal;
use dwarf::LoadAddr;
use std::collections::BTreeMap;

impl Debugger {
    /// The thread is at the instruction of its frame before the end of a search for an instruction, which may
    /// go into calls, or at one that may have set a register. If that is a call, returns the vote to run to where
    /// the function returns.
    pub(super) fn run_to_return(&mut self, thread: ThreadId) -> Option<Vote> {
        let searching = self.travel.search.as_ref()?;
        let search = &searching.search;
        let is_step = search.goal == Goal::Instruction;
        let is_wanted = match search.goal {
            Goal::Instruction => {
                searching.searched.steps.0 == StepKind::Into
                    && search.is_stepping()
                    && !search.goes_into_calls()
            }
            Goal::Setter => !search.has_run_on(),
            _ => false,
        };
        let end = searching.search.end;
        let registers = self.inferior.registers(thread).filter(|_| is_wanted)?;
        let memory = self.inferior.memory();
        let call = self.inferior.arch.read(&memory, registers.pc())?;
        let returns_there =
            call.next() == end.registers.pc() && registers.sp() == end.registers.sp();
        if !call.is_call() || (is_step && !returns_there) {
            return None;
        }
        let callee = call.target(&registers, &memory)?;
        let cfa = LoadAddr(registers.sp());
        let returns = self.returns_of(self.behind_stubs(callee)).into_iter();
        let places: Vec<FramePlace> = returns
            .filter_map(|addr| {
                let frame = Some(self.frame_at(addr, cfa)?);
                Some(FramePlace { addr, frame })
            })
            .collect();
        if places.is_empty() && !is_step {
            return None;
        }
        Some(self.run_to_places(thread, places, &end))
    }

    /// Memory whose last write is searched was written by a call of the kernel's that was made without a stop, in
    /// code of the recorder: returns the vote to run to where the function returns to that has made it.
    pub(super) fn run_out_of_call(&mut self, thread: ThreadId) -> Option<Vote> {
        let end = self.travel.search.as_ref()?.search.end;
        let search = self.travel.search.as_ref();
        let has_run = search.is_some_and(|it| it.search.has_run_on());
        let is_write = self.finds_store() && !has_run;
        let registers = self.inferior.registers(thread).filter(|_| is_write)?;
        let made = self.inferior.os().call_without_stop(registers.pc())?;
        let back = self.caller_of_call(&made, &registers);
        if let Some(following) = &mut self.travel.following {
            following.call = Some(made.call);
        } else if let Some(writing) = &mut self.travel.writing {
            writing.call = Some(made.call);
        }
        let frame = None;
        let place = FramePlace { addr: back?, frame };
        Some(self.run_to_places(thread, vec![place], &end))
    }

    /// Returns where the function returns to that makes a call without a stop, if the rules tell it by the stack
    /// pointer. Its own code has a jump there, and may not be stopped in.
    fn caller_of_call(&self, made: &CallWithoutStop, stub: &RegisterSet) -> Option<LoadAddr> {
        const WORD: u64 = 8;
        let (register, below) = self.frame_at(made.back, LoadAddr(0))?;
        stub.get(register).filter(|it| *it == stub.sp())?;
        let mut registers = *stub;
        registers.set_sp(made.sp.wrapping_sub(below).wrapping_sub(WORD));
        let memory = self.inferior.memory();
        let landing = self.inferior.arch.return_at_entry(&registers, &memory)?;
        Some(landing.addr)
    }

    /// Runs on to the first of these places, or to the end of the search.
    fn run_to_places(&mut self, thread: ThreadId, places: Vec<FramePlace>, end: &Mark) -> Vote {
        if let Err(why) = self.inferior.keep_replay(KeptFor::Steps) {
            return self.cannot_show(&why);
        }
        self.cancel_steps();
        self.clear_stop_state();
        self.mark_passed(thread);
        let ids = self.set_frame_places(&[places]);
        self.pause_at(end);
        if let Some(searching) = &mut self.travel.search {
            searching.search.seek_return();
        }
        let targets: BTreeMap<_, _> = ids.into_iter().map(|id| (id, 1)).collect();
        self.begin_counting(targets);
        Vote::Run
    }

    /// Returns the function that a stub of an image jumps to, or the address itself.
    fn behind_stubs(&self, callee: LoadAddr) -> LoadAddr {
        /// A stub has a landing pad and a jump; it may lead to another one.
        const MOST: usize = 6;
        let memory = self.inferior.memory();
        let mut at = callee;
        let mut function = callee;
        for _ in 0..MOST {
            let Some(instruction) = self.inferior.arch.read(&memory, at) else {
                break;
            };
            match (instruction.flow, instruction.fixed_target(&memory)) {
                (Flow::Next, _) => at = instruction.next(),
                (Flow::IndirectJump(_), Some(target)) => {
                    at = target;
                    function = target;
                }
                _ => break,
            }
        }
        function
    }

    /// Returns the instructions by which the function that begins at an address returns.
    fn returns_of(&self, entry: LoadAddr) -> Vec<LoadAddr> {
        /// More instructions are not looked at.
        const MOST: usize = 1 << 16;
        let Some(range) = self.piece_at(entry) else {
            return Vec::new();
        };
        let memory = self.inferior.memory();
        let mut returns = Vec::new();
        let mut at = range.start;
        for _ in 0..MOST {
            let instruction = self.inferior.arch.read(&memory, at);
            let Some(instruction) = instruction.filter(|_| at < range.end) else {
                break;
            };
            if instruction.is_return() {
                returns.push(at);
            }
            at = instruction.next();
        }
        returns
    }
}
