//! Steps. A [`Plan`] is evaluated at each stop of its thread and returns a verdict on how to
//! continue; any other reason to stop wins over it.

pub(crate) mod callee;
pub(crate) mod coroutine;
mod dispatch;
pub(crate) mod filter;
mod into;
pub(crate) mod region;
pub(crate) mod start;
mod statement;
mod step_end;
pub(crate) mod step_instruction;
pub(crate) mod step_out;
pub(crate) mod step_range;
pub(crate) mod targets;
pub(crate) mod view;

pub use callee::Reaches;
pub use coroutine::Coroutine;
pub use filter::StepFilters;
pub use start::{Start, inlined_at};
pub use step_instruction::StepInstruction;
pub use step_out::StepOut;
pub use step_range::{Mode, StepRange};
pub use targets::StepTarget;
pub use view::View;

use dwarf::{Function, LoadAddr, LoadBias, Module};
use std::sync::Arc;

/// A plan's decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Execute one more instruction.
    Step,
    /// Run until one of these is reached.
    RunTo(Vec<Target>),
    /// Not a stop of this step: run on to the same targets.
    KeepRunning,
    /// The step ends here; this number of inlined calls that begin at the pc are not entered.
    Done { hidden: usize },
    /// No end of the step is possible any more: the program runs on.
    Abandon,
}

/// An address to run to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The address.
    pub addr: LoadAddr,
    /// Minimum stack pointer for the target to count: deeper recursions are ignored.
    pub sp: u64,
}

/// A step in progress.
pub trait Plan {
    /// Handles a stop of the thread after a single instruction, or at a target.
    fn on_stop(&mut self, view: &View<'_>) -> Verdict;

    /// Returns the future that some thread has to resume for the step to continue.
    fn awaited(&self) -> Option<Coroutine> {
        None
    }
}

/// The step of a thread: the plan and its targets.
pub struct Stepping {
    pub(crate) plan: Box<dyn Plan>,
    pub(crate) targets: Vec<Target>,
    /// Where a signal interrupted a single step: its handler returns here.
    pub(crate) interrupted_at: Option<Target>,
    /// Whether the step stops only where the source is at hand.
    pub(crate) needs_source: bool,
    /// The function being stepped out of.
    pub(crate) returning: Option<Arc<ReturnedFunction>>,
}

/// A function that is returning, or has just returned.
#[derive(Clone)]
pub struct ReturnedFunction {
    /// Its return address.
    pub(crate) at: LoadAddr,
    /// The function.
    pub function: Arc<Function>,
    /// The image that contains it.
    pub module: Arc<Module>,
    /// The load bias of the image.
    pub bias: LoadBias,
    /// Where its result is, if that is memory and no register tells it.
    pub(crate) place: Option<LoadAddr>,
}
