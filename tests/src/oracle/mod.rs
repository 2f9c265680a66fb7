//! The compiler as the oracle of expressions: a program that prints random expressions over its
//! variables with type and value is compiled and run; the debugger evaluates the same text in the
//! same process. What the compiler rejects, the debugger has to refuse.
//!
//! A program is made of a [`World`]: a source with types, variables and a [`grammar`] of its
//! expressions, in `tests/fixtures/oracle/KIND/`.

mod accepted;
mod compiled;
mod compiler;
mod difference;
mod grammar;
mod names;
mod program;
mod report;
mod session;

pub use difference::{Difference, What};
pub use program::{Language, Program, Verdict, World};
pub use report::Report;

/// How a program is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The expressions are the same for the same seed.
    pub seed: u64,
    /// The number of expressions.
    pub count: usize,
    /// How often the program's loop runs with expressions in log messages and conditions.
    pub runs: usize,
}

impl Trial {
    /// Compares one program with its compiler. Program and session are deleted, or the program is
    /// kept for the next time.
    pub fn run(self, world: &World, keep: Keep) -> Report {
        let program = Program::random(world, self.seed, self.count);
        let report = session::compare(&program, if world.has_state() { 0 } else { self.runs });
        if keep == Keep::Nothing {
            program.delete();
        }
        report
    }
}

/// Which files stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The compiled program: the next run need not compile it.
    Programs,
    /// None.
    Nothing,
}
