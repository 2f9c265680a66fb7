//! The instruction before one that a call returns to: the last of the function that was called. The program
//! does not step through all of it.

use crate::arch::Flow;
use crate::debugger::{Debugger, StepKind, Vote};
use crate::ids::ThreadId;
use crate::os::KeptFor;
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::travel::Goal;
use dwarf::LoadAddr;
use std::collections::BTreeMap;

impl Debugger {
    /// The thread is at the instruction of its frame before the end of a search for an instruction, which may
    /// go into calls. If that is a call, returns the vote to run to where the function returns.
    pub(super) fn run_to_return(&mut self, thread: ThreadId) -> Option<Vote> {
        let searching = self.travel.search.as_ref()?;
        let is_wanted = searching.search.goal == Goal::Instruction
            && searching.searched.steps.0 == StepKind::Into
            && searching.search.is_stepping()
            && !searching.search.goes_into_calls();
        let end = searching.search.end;
        let registers = self.inferior.registers(thread).filter(|_| is_wanted)?;
        let memory = self.inferior.memory();
        let call = self.inferior.arch.read(&memory, registers.pc())?;
        let returns_there = call.next() == end.registers.pc();
        if !call.is_call() || !returns_there || registers.sp() != end.registers.sp() {
            return None;
        }
        let callee = call.target(&registers, &memory)?;
        let cfa = LoadAddr(end.registers.sp());
        let returns = self.returns_of(self.behind_stubs(callee)).into_iter();
        let places: Vec<FramePlace> = returns
            .filter_map(|addr| {
                let frame = Some(self.frame_at(addr, cfa)?);
                Some(FramePlace { addr, frame })
            })
            .collect();
        if let Err(why) = self.inferior.keep_replay(KeptFor::Steps) {
            return Some(self.cannot_show(&why));
        }
        self.cancel_steps();
        self.clear_stop_state();
        self.mark_passed(thread);
        let ids = self.set_frame_places(&[places]);
        self.pause_at(&end);
        if let Some(searching) = &mut self.travel.search {
            searching.search.seek_return();
        }
        let targets: BTreeMap<_, _> = ids.into_iter().map(|id| (id, 1)).collect();
        self.begin_counting(targets);
        Some(Vote::Run)
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
