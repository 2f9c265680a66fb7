//! Code at sites of several breakpoints whose hits are only counted, and of none: the end of a search.

use super::install::{FULL, UNMAPPABLE};
use super::served::Served;
use crate::debugger::Debugger;
use crate::ids::HitCondition;
use crate::ids::ThreadId;
use crate::inferior::jump_patch::install::Refusal;
use crate::inferior::jump_patch::trampoline::{Counted, Decision, HitAction, Trampoline};
use crate::inferior::jump_patch::{JumpPatch, PatchedBreakpoint};
use dwarf::LoadAddr;
use smallvec::SmallVec;

/// Why the debugger counts at a site that breakpoints share.
const SEVERAL_THREADS: &str = "several breakpoints are there, and the program has several threads";
const NOT_SEVERAL: &str = "several breakpoints are there";

impl Debugger {
    /// Prepares a trampoline for the jump at a site where hits are only counted; it has yet to be
    /// written. Without breakpoints, it only recognises the end.
    pub(super) fn prepare_counting(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        served: &Served,
    ) -> Result<JumpPatch, Refusal> {
        let is_shared = !served.breakpoints.is_empty();
        if is_shared && !Trampoline::can_count_all(self.inferior.arch) {
            return Err(NOT_SEVERAL.into());
        }
        let threads = self.inferior.process.as_ref().map(|it| it.threads.len());
        if is_shared && threads != Some(1) {
            return Err(Refusal::passing(SEVERAL_THREADS));
        }
        if !self.inferior.find_jump_room(thread, site) {
            return Err(UNMAPPABLE.into());
        }
        let window = self.free_window_at(site)?;
        let end = self.compiled_end().filter(|_| served.end).transpose()?;
        let mut counted = Vec::new();
        let mut breakpoints = SmallVec::new();
        for id in served.breakpoints.iter().copied() {
            let (condition, hit) = self.stops.breakpoints.in_process_check(id)?;
            let condition = self.compiled_condition(site, id, condition.as_deref())?;
            let jumps = &mut self.inferior.jumps;
            let at = jumps
                .counter(id)
                .or_else(|| jumps.new_counter(self.inferior.arch, site))
                .ok_or(FULL)?;
            let target = match hit {
                Some(HitCondition::Exactly(target)) => Some(target).filter(|it| *it > 0),
                _ => None,
            };
            counted.push(Counted {
                condition,
                at,
                target,
            });
            let options = self.stops.breakpoints.options(id).cloned();
            breakpoints.push(PatchedBreakpoint {
                id,
                counter: Some(at),
                options: options.unwrap_or_default(),
            });
        }
        let decision = Decision {
            end: end.as_ref(),
            condition: None,
            passes: None,
        };
        let then = match is_shared {
            true => HitAction::CountAll(&counted),
            false => HitAction::Pass,
        };
        let trampoline = self.build_trampoline(site, &window, decision, then)?;
        Ok(JumpPatch {
            site,
            breakpoints,
            is_for_end: served.end,
            trampoline,
            springboard: None,
            window,
            message: None,
            traces: false,
        })
    }
}
