//! The steps forward by which a step back finds its place: which ones are made, and where they have led.

use super::rows::Inlined;
use crate::debugger::{Debugger, Granularity, ResumeScope, State, StepKind, Vote};
use crate::ids::ThreadId;
use crate::inspect::inlined::calls_beginning_at;
use crate::stops::step::inlined_at;
use crate::stops::travel::{Goal, Led, Next, Phase};
use dwarf::{DieRef, LoadAddr};

/// A frame, as far as it tells those of calls apart from others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StepFrame {
    /// Its canonical frame address.
    cfa: LoadAddr,
    /// The entry of its function.
    function: LoadAddr,
    /// The inlined calls that it is in, outermost first.
    inlined: Vec<DieRef>,
}

impl StepFrame {
    /// Returns its canonical frame address.
    pub(super) fn cfa(&self) -> LoadAddr {
        self.cfa
    }

    /// Returns where another frame is, seen from this one.
    fn place_of(&self, other: &StepFrame) -> Led {
        if other.cfa != self.cfa {
            return match other.cfa > self.cfa {
                true => Led::Outer,
                false => Led::Deeper,
            };
        }
        if other.function != self.function {
            // It has called this one in its place.
            return Led::Outer;
        }
        match self.inlined.starts_with(&other.inlined) {
            true if self.inlined.len() == other.inlined.len() => Led::Own,
            true => Led::Outer,
            false => Led::Deeper,
        }
    }
}

/// Returns which rows steps may begin at.
pub(super) fn rows_for(goal: Goal, kind: StepKind) -> Inlined {
    match (goal, kind) {
        (Goal::Step, StepKind::Over) => Inlined::OfFrame,
        _ => Inlined::Any,
    }
}

impl Debugger {
    /// Returns the innermost frame of a stopped thread that is shown.
    pub(super) fn step_frame(&mut self, thread: ThreadId, hidden: usize) -> Option<StepFrame> {
        self.unwound(thread, 1).ok()?;
        let frame = self.stack_so_far(thread)?.physical.first()?;
        let (function, bias) = frame.function.as_ref()?;
        let mut inlined = inlined_at(function, bias.file(frame.address.lookup()));
        inlined.truncate(inlined.len().saturating_sub(hidden));
        Some(StepFrame {
            cfa: frame.cfa?,
            function: bias.load(function.entry),
            inlined,
        })
    }

    /// Returns where a step of the search has led, seen from the frame that the search has begun in.
    pub(super) fn step_led(&mut self, thread: ThreadId, hidden: usize) -> Led {
        let searching = self.travel.search.as_ref();
        if searching.is_none_or(|it| it.search.goal != Goal::Step || !it.search.is_stepping()) {
            return Led::Own;
        }
        let here = self.step_frame(thread, hidden);
        let searching = self.travel.search.as_ref();
        let end = searching.and_then(|it| it.searched.frame.as_ref());
        end.zip(here)
            .map_or(Led::Own, |(end, here)| end.place_of(&here))
    }

    /// Begins the steps again, if there are any before the end of the search.
    fn step_or_stop(&mut self) -> Vote {
        let search = self.travel.search.as_ref();
        match search.map(|it| &it.search.phase) {
            Some(Phase::StepsAgain(0)) => self.go_on(Next::Found),
            _ => self.step_in_search(),
        }
    }

    /// The steps begin here: at a call that a step over does not enter, if one begins.
    pub(super) fn begin_steps(&mut self) -> Vote {
        let begun = self.inlined_not_entered();
        if let Some(searching) = &mut self.travel.search {
            searching.hidden = begun;
        }
        self.step_or_stop()
    }

    /// Lets a replay whose steps are counted stop at the end of the search.
    pub(super) fn await_end_of_steps(&mut self) {
        if let Some(searching) = &self.travel.search
            && let Phase::Steps(_) = searching.search.phase
        {
            let end = searching.search.end;
            self.pause_at(&end);
        }
    }

    /// Returns how many inlined calls begin where a statement is shown that was searched, and are not entered.
    pub(super) fn inlined_not_entered(&self) -> usize {
        let Some(searching) = &self.travel.search else {
            return 0;
        };
        let is_over = searching.searched.frame.is_some() || searching.search.goal == Goal::Caller;
        let registers = self.inferior.registers(searching.thread);
        let Some(pc) = registers.map(|it| it.pc()).filter(|_| is_over) else {
            return 0;
        };
        let loaded = self.images.modules.at(pc);
        loaded.map_or(0, |loaded| {
            calls_beginning_at(&loaded.module, loaded.bias.file(pc))
        })
    }

    /// Makes a step of the search: of the kind that is wanted in the frame that the search has begun in, into
    /// that from others, and out of those that it has called.
    pub(super) fn step_in_search(&mut self) -> Vote {
        let Some(searching) = &self.travel.search else {
            return Vote::Stay;
        };
        let (thread, (kind, granularity)) = (searching.thread, searching.searched.steps);
        let goes_into_calls = searching.search.goes_into_calls();
        let mut hidden = searching.hidden;
        self.cancel_steps();
        self.clear_stop_state();
        self.mark_passed(thread);
        self.inferior.set_state(State::Stopped);
        self.hide_inlined(thread, hidden);
        let is_by_lines = granularity != Granularity::Instruction;
        let kind = match kind {
            StepKind::Over if is_by_lines => match self.step_led(thread, hidden) {
                Led::Own => StepKind::Over,
                Led::Outer => StepKind::Into,
                Led::Deeper => StepKind::Out,
            },
            StepKind::Into if !is_by_lines && !goes_into_calls => StepKind::Over,
            kind => kind,
        };
        if kind == StepKind::Into && is_by_lines {
            // To enter an inlined call is a step without an instruction, which no replay has to make.
            while let Some(left_out) = self.inlined_to_enter(thread, hidden) {
                hidden = left_out;
            }
            self.hide_inlined(thread, hidden);
        }
        if let Some(searching) = &mut self.travel.search {
            searching.is_step_out = kind == StepKind::Out;
        }
        match self.step(thread, kind, granularity, ResumeScope::All) {
            Ok(()) => Vote::Stay,
            Err(error) => self.cannot_show(&error),
        }
    }

    fn hide_inlined(&mut self, thread: ThreadId, hidden: usize) {
        self.views.stacks.clear();
        if let Some(state) = self.thread_state(thread) {
            state.hidden_inlined = hidden;
        }
    }
}
