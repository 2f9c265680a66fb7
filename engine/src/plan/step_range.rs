//! Over or into, by lines: instruction by instruction through the ranges of the line, at full
//! speed through calls, until another line begins in the same frame, or the frame is left.

use super::{Plan, Target, Verdict, View};
use crate::arch::x86_64;
use crate::modules::{Loaded, Modules};
use crate::stack::{calls_at_body, calls_beginning_at};
use dwarf::{AddrRange, Function, LoadAddr, LoadBias, ScopeKind, SourceLocation};
use iced_x86::Instruction;
use std::sync::Arc;

/// The line, or the inlined call, that a step is to leave.
#[derive(Clone, Debug)]
pub struct Start {
    /// The line; `None`: only leaving the scope counts.
    pub line: Option<SourceLocation>,
    /// The concrete function.
    pub function: Arc<Function>,
    /// Where it is loaded.
    pub bias: LoadBias,
    /// The inlined calls the step begins in, by their entries' ids, outermost first.
    pub inlined: Vec<dwarf::DieRef>,
}

impl Start {
    /// Where a thread is at `pc`, `hidden` inlined calls not entered yet; `None` without a
    /// function known there.
    pub fn at(modules: &Modules, pc: LoadAddr, hidden: usize) -> Option<Start> {
        let loaded = modules.at(pc)?;
        let addr = loaded.bias.file(pc);
        let function = loaded.module.function_at(addr)?;
        let mut inlined = inlined_at(&function, addr);
        let mut line = loaded.module.row_at(addr)?.location;
        if hidden > 0 {
            inlined.truncate(inlined.len().saturating_sub(hidden));
            let frames = function.frames_at(addr);
            let entered = frames.get(hidden - 1).and_then(|frame| frame.inlined);
            line = entered.and_then(|call| call.call_site.clone());
        }
        Some(Start {
            line,
            function,
            bias: loaded.bias,
            inlined,
        })
    }
}

/// The inlined calls at an address, outermost first.
fn inlined_at(function: &Function, addr: dwarf::FileAddr) -> Vec<dwarf::DieRef> {
    let mut chain: Vec<dwarf::DieRef> = function
        .frames_at(addr)
        .iter()
        .filter(|frame| frame.inlined.is_some())
        .filter_map(|frame| frame.scopes.first())
        .filter(|scope| matches!(scope.kind, ScopeKind::Inlined(_)))
        .map(|scope| scope.id)
        .collect();
    chain.reverse();
    chain
}

/// What a person calls `next` and `step in`.
pub struct StepRange {
    start: Start,
    into: bool,
    /// Addresses known to belong to what is being left.
    ranges: Vec<AddrRange<LoadAddr>>,
    /// The instruction that the thread is about to execute.
    about: Option<(Instruction, u64)>,
    /// On the way through a call.
    phase: Phase,
    /// Where the call comes back to.
    back: Option<Target>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Instruction by instruction.
    Stepping,
    /// Until a call returns.
    InCall,
    /// To the body of a function that was stepped into; or back, if it is never entered.
    Entering(LoadAddr),
    /// Until the function that replaced ours by a jump returns.
    InTailCall,
    /// To where the handler of an exception goes on.
    Catching,
}

impl StepRange {
    /// The plan and its first verdict.
    pub fn begin(start: Start, into: bool, view: &View<'_>) -> (Self, Verdict) {
        let mut plan = Self {
            start,
            into,
            ranges: Vec::new(),
            about: None,
            phase: Phase::Stepping,
            back: None,
        };
        let pc = view.registers.pc();
        if let Some(loaded) = view.modules.at(pc)
            && plan.start.line.is_some()
            && let Some(row) = loaded.module.row_at(loaded.bias.file(pc))
        {
            plan.add(row.range);
        }
        plan.look(view);
        let verdict = plan.before_instruction(view);
        (plan, verdict)
    }

    fn add(&mut self, range: AddrRange<dwarf::FileAddr>) {
        let bias = self.start.bias;
        self.ranges
            .push(AddrRange::new(bias.load(range.start), bias.load(range.end)));
    }

    /// Remembers the instruction that comes next.
    fn look(&mut self, view: &View<'_>) {
        self.about =
            x86_64::read(view.memory, view.registers.pc()).map(|it| (it, view.registers.sp()));
    }

    /// Steps, or runs over a call without stepping into it first.
    fn before_instruction(&mut self, view: &View<'_>) -> Verdict {
        let Some((instruction, sp)) = &self.about else {
            return Verdict::Step;
        };
        let Some(call) = x86_64::call(instruction, view.registers, view.memory) else {
            return Verdict::Step;
        };
        let back = Target {
            addr: call.return_address,
            sp: *sp,
        };
        self.back = Some(back);
        if self.into
            && let Some(body) = body_of(view, call.target)
        {
            self.phase = Phase::Entering(body);
            return view.run_to([Target { addr: body, sp: 0 }, back]);
        }
        self.phase = Phase::InCall;
        view.run_to([back])
    }

    fn step_on(&mut self, view: &View<'_>) -> Verdict {
        self.look(view);
        self.before_instruction(view)
    }

    /// The thread is at `pc`, in our frame or one that it returned to.
    fn arrived(&mut self, view: &View<'_>, returned: bool) -> Verdict {
        let pc = view.registers.pc();
        if self.ranges.iter().any(|range| range.contains(pc)) {
            return self.step_on(view);
        }
        let addr = self.start.bias.file(pc);
        let ours = view
            .modules
            .at(pc)
            .is_some_and(|loaded| loaded.bias == self.start.bias)
            && self.start.function.contains(addr);
        if !ours {
            return if returned {
                self.left(view)
            } else {
                self.jumped_away(view)
            };
        }
        if returned {
            // A recursion came back into an older frame of the same function.
            return Verdict::Done { hidden: 0 };
        }
        let Some(row) = view
            .modules
            .at(pc)
            .and_then(|loaded| loaded.module.row_at(addr))
        else {
            return self.step_on(view);
        };
        let inlined = inlined_at(&self.start.function, addr);
        let module = view.modules.at(pc).map(|loaded| &loaded.module);
        let beginning = module.map_or(0, |module| calls_beginning_at(module, addr));
        if beginning > 0
            && let Some(verdict) = self.before_inlined_call(&inlined, addr, beginning)
        {
            return match verdict {
                Some(hidden) => Verdict::Done { hidden },
                None => {
                    self.add(row.range);
                    self.step_on(view)
                }
            };
        }
        let deeper =
            inlined.len() > self.start.inlined.len() && inlined.starts_with(&self.start.inlined);
        let outside = !inlined.starts_with(&self.start.inlined);
        let at_start = row.is_stmt && row.range.start == addr;
        let Some(line) = &row.location else {
            // Compiler-made code belongs to what surrounds it.
            self.add(row.range);
            return self.step_on(view);
        };
        let Some(start_line) = &self.start.line else {
            // Stepping out of an inlined call.
            return if outside {
                Verdict::Done { hidden: 0 }
            } else {
                self.step_on(view)
            };
        };
        if deeper {
            if self.into && at_start {
                return Verdict::Done { hidden: 0 };
            }
            if !self.into {
                self.add(row.range);
            }
            return self.step_on(view);
        }
        if !outside && line.line == start_line.line && line.file == start_line.file {
            self.add(row.range);
            return self.step_on(view);
        }
        if at_start || outside {
            return Verdict::Done { hidden: 0 };
        }
        self.step_on(view)
    }

    /// At an address where `beginning` inlined calls begin: the person sees the line they are
    /// called on. Gives what to hide if the step ends here, `None` if it goes on; nothing if
    /// that cannot be told.
    fn before_inlined_call(
        &self,
        inlined: &[dwarf::DieRef],
        addr: dwarf::FileAddr,
        beginning: usize,
    ) -> Option<Option<usize>> {
        let start = self.start.line.as_ref()?;
        let outer = inlined.get(..inlined.len().checked_sub(beginning)?)?;
        if outer != self.start.inlined.as_slice() {
            return None;
        }
        let frames = self.start.function.frames_at(addr);
        let outermost = frames.get(beginning - 1)?.inlined?;
        let line = outermost.call_site.as_ref()?;
        if line.line != start.line || line.file != start.file {
            return Some(Some(beginning));
        }
        // Called on the line that is being left: `step in` enters it, and only it.
        Some(self.into.then_some(beginning - 1))
    }

    /// The handler of an exception has begun, in our frame or an older one.
    fn caught(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        let has_lines = view.modules.at(pc).is_some_and(|loaded| {
            let row = loaded.module.row_at(loaded.bias.file(pc - 1));
            row.is_some_and(|row| row.location.is_some())
        });
        if has_lines {
            Verdict::Done { hidden: 0 }
        } else {
            self.phase = Phase::Stepping;
            Verdict::Abandon
        }
    }

    /// The frame returned to its caller.
    fn left(&self, view: &View<'_>) -> Verdict {
        let loaded = view.modules.at(view.registers.pc());
        let from_system = view
            .modules
            .loaded
            .iter()
            .any(|loaded| loaded.bias == self.start.bias && loaded.is_of_the_system());
        let visible = loaded.is_some_and(|loaded| {
            let call = loaded.bias.file(view.registers.pc()) - 1;
            if from_system {
                let row = loaded.module.row_at(call);
                row.is_some_and(|row| row.location.is_some())
            } else {
                is_visible(loaded, call)
            }
        });
        if visible {
            Verdict::Done { hidden: 0 }
        } else {
            // main returned to the C library: there is nothing more to see.
            Verdict::Abandon
        }
    }

    /// A jump left the function: a tail call, or a jump through a procedure linkage table.
    fn jumped_away(&mut self, view: &View<'_>) -> Verdict {
        let sp = view.registers.sp();
        let Ok(back) = view.memory.read_uint(LoadAddr(sp), 8) else {
            return Verdict::Done { hidden: 0 };
        };
        let back = Target {
            addr: LoadAddr(back),
            sp: sp.wrapping_add(8),
        };
        self.back = Some(back);
        if self.into
            && let Some(body) = body_of(view, view.registers.pc())
        {
            if body == view.registers.pc() {
                return entered(view);
            }
            self.phase = Phase::Entering(body);
            return view.run_to([Target { addr: body, sp: 0 }, back]);
        }
        self.phase = Phase::InTailCall;
        view.run_to([back])
    }
}

impl Plan for StepRange {
    fn on_stop(&mut self, view: &View<'_>) -> Verdict {
        let pc = view.registers.pc();
        if self.phase != Phase::Stepping
            && let Some(back) = self.back
            && view.is_catching()
        {
            return match view.handler(back.sp) {
                Some(handler) => {
                    self.phase = Phase::Catching;
                    Verdict::RunTo(vec![handler])
                }
                // Caught below us: the call goes on.
                None => view.run_to([back]),
            };
        }
        match std::mem::replace(&mut self.phase, Phase::Stepping) {
            Phase::Catching => return self.caught(view),
            Phase::Entering(body) if body == pc => return entered(view),
            Phase::InTailCall => return self.left(view),
            // Back from a call: an older frame only if the call was the last one's.
            Phase::Entering(_) | Phase::InCall => return self.arrived(view, false),
            Phase::Stepping => {}
        }
        let returned = self.about.as_ref().is_some_and(|(instruction, sp)| {
            x86_64::is_return(instruction) && view.registers.sp() > *sp
        });
        self.arrived(view, returned)
    }
}

/// A function was stepped into: it is seen as itself, although its first line may be that of an
/// inlined call.
fn entered(view: &View<'_>) -> Verdict {
    let pc = view.registers.pc();
    let hidden = view.modules.at(pc).and_then(|loaded| {
        let addr = loaded.bias.file(pc);
        Some(calls_at_body(&*loaded.module.function_at(addr)?, addr))
    });
    Verdict::Done {
        hidden: hidden.unwrap_or(0),
    }
}

/// Whether there is anything to see at an address: not in the system's own code, unless its
/// sources are at hand.
fn is_visible(loaded: &Loaded, addr: dwarf::FileAddr) -> bool {
    let Some(location) = loaded.module.row_at(addr).and_then(|row| row.location) else {
        return false;
    };
    !loaded.is_of_the_system() || location.file.path.exists()
}

/// Where a function that is called at `target` is stepped into: its body, if it has lines,
/// also behind procedure linkage tables.
fn body_of(view: &View<'_>, target: LoadAddr) -> Option<LoadAddr> {
    let mut target = target;
    for _ in 0..4 {
        let loaded = view.modules.at(target)?;
        let addr = loaded.bias.file(target);
        if let Some(function) = loaded.module.function_at(addr) {
            if addr != function.entry {
                return None;
            }
            let body = loaded.module.body_start(&function);
            return is_visible(loaded, body).then(|| loaded.bias.load(body));
        }
        target = behind_stub(view, target)?;
    }
    None
}

/// Where a stub (PLT entry, thunk) jumps to in the end.
fn behind_stub(view: &View<'_>, stub: LoadAddr) -> Option<LoadAddr> {
    let mut at = stub;
    for _ in 0..4 {
        let instruction = x86_64::read(view.memory, at)?;
        match instruction.flow_control() {
            iced_x86::FlowControl::UnconditionalBranch | iced_x86::FlowControl::IndirectBranch => {
                // Only jumps that do not depend on registers can be foreseen.
                let target = x86_64::target(&instruction, view.registers, view.memory)?;
                let loaded = view.modules.at(stub)?;
                if view
                    .modules
                    .at(target)
                    .is_some_and(|other| other.id == loaded.id)
                    && loaded
                        .module
                        .function_at(loaded.bias.file(target))
                        .is_none()
                {
                    // Not bound yet: the jump goes back into the table. By name, then.
                    return by_name(view, stub);
                }
                return Some(target);
            }
            iced_x86::FlowControl::Next => at = LoadAddr(instruction.next_ip()),
            _ => return None,
        }
    }
    None
}

fn by_name(view: &View<'_>, stub: LoadAddr) -> Option<LoadAddr> {
    let loaded = view.modules.at(stub)?;
    let symbol = loaded.module.symbol_at(loaded.bias.file(stub))?;
    let name = symbol.name.strip_suffix("@plt")?;
    view.modules.loaded.iter().find_map(|loaded| {
        let symbol = loaded
            .module
            .symbols_named(name)
            .into_iter()
            .find(|symbol| symbol.kind == dwarf::SymbolKind::Function && symbol.addr.0 != 0)?;
        Some(loaded.bias.load(symbol.addr))
    })
}
