//! Stacks for users: unwound as deep as requested, with inlined calls as frames.

use crate::debugger::Debugger;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::ids::{FrameKey, ThreadId};
use crate::images::{missing, tail_calls};
use crate::os::ExtendedPart;
use crate::stops::event::Event;
use dwarf::{
    FrameAddress, Function, Language, LoadAddr, LoadBias, Registers, SourceLocation, Unwound,
};
use std::sync::Arc;

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A function with debug info.
    Function,
    /// A call that was inlined into the frame below.
    Inlined,
    /// A function known by symbol only, or not at all.
    NoDebugInfo,
    /// The kernel's frame for the return of a signal handler.
    Signal,
    /// The caller of a tail call: its frame is gone from the stack, and only its existence is
    /// known.
    TailCall,
    /// A call from the console that has not returned: the frames after it are those that the thread
    /// had before the call.
    ConsoleCall,
}

/// A frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its key.
    pub key: FrameKey,
    /// Function name; the address in hex if unknown.
    pub name: String,
    /// The pc, or the return address for callers.
    pub pc: LoadAddr,
    /// An address in the instruction being executed; for callers, in the call.
    pub code: LoadAddr,
    /// The source line; for callers that of the call.
    pub location: Option<SourceLocation>,
    /// The image.
    pub module: Option<ModuleId>,
    /// What kind of frame.
    pub kind: FrameKind,
    /// The source language.
    pub language: Option<Language>,
    /// Whether it was compiled with optimization.
    pub optimized: bool,
    /// Whether [`Debugger::restart_frame`] may be able to restart it, judging by the stack alone.
    pub can_restart: bool,
}

/// A part of a thread's stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The requested frames.
    pub frames: Vec<Frame>,
    /// The number of all frames, once the end was reached.
    pub total: Option<usize>,
}

/// Maximum number of frames; a deeper stack is a loop that the unwinder did not detect.
const DEEPEST: usize = 1 << 20;

/// Maximum number of reasons for incomplete stacks that are reported.
const MAX_BROKEN_STACKS: usize = 100;

/// A machine frame.
pub(crate) struct PhysicalFrame {
    pub address: FrameAddress,
    pub registers: Registers,
    pub function: Option<(Arc<Function>, LoadBias)>,
    /// Its first level, and the number of its levels.
    pub level: usize,
    pub levels: usize,
    /// Number of inlined calls that begin at its pc and are not shown as entered.
    pub hidden: usize,
    /// The canonical frame address, known once its caller was searched.
    pub cfa: Option<LoadAddr>,
    /// The word that has its return address; `None` if it is in a register, or unknown.
    pub saved_at: Option<LoadAddr>,
    pub is_signal: bool,
    /// Whether its caller's registers follow from unwind rules, not from a heuristic.
    pub by_rules: bool,
    /// Whether it is the caller of a tail call; only its address is known.
    pub is_tail_call: bool,
    /// The callers of a tail call's caller, from the one that has called it to the first that is still on the
    /// stack: their call sites have the arguments. The others have no known registers.
    pub called_from: Vec<(FrameAddress, Registers)>,
    /// Whether it is a call from the console: its registers are those restored after the call.
    pub is_console_call: bool,
}

impl PhysicalFrame {
    /// Returns the frame of an address and registers, of which nothing else is known.
    pub(crate) fn at(address: FrameAddress, registers: Registers) -> PhysicalFrame {
        PhysicalFrame {
            address,
            registers,
            function: None,
            level: 0,
            levels: 1,
            hidden: 0,
            cfa: None,
            saved_at: None,
            is_signal: false,
            by_rules: false,
            is_tail_call: false,
            called_from: Vec::new(),
            is_console_call: false,
        }
    }
}

/// The state of the process that a stack was unwound in: [`crate::inferior::Inferior::changes_of`] and
/// [`crate::images::modules::Modules::generation`].
type Generation = (u64, u64);

/// A thread's stack as far as it was unwound.
#[derive(Default)]
pub(crate) struct ThreadStack {
    generation: Generation,
    pub physical: Vec<PhysicalFrame>,
    pub levels: usize,
    pub complete: bool,
    /// Number of machine frames, from the innermost one, whose callers' registers follow from
    /// unwind rules.
    pub firm: usize,
    /// The caller of the last frame.
    pub next: Option<(FrameAddress, Registers)>,
    /// Number of inlined calls that the next frame does not show: the innermost frame, or the one
    /// in which a call from the console was made.
    hidden: usize,
    /// Lines that levels show, if these differ from their code's.
    shown: Vec<(usize, SourceLocation)>,
    /// Why the caller of the last frame was not found, until that was reported.
    broken: Option<String>,
}

impl ThreadStack {
    /// Sets the line shown by the next level.
    fn show(&mut self, line: Option<SourceLocation>) {
        self.shown.extend(line.map(|line| (self.levels, line)));
    }

    /// Returns the machine frame of a level, and the level's position in it (0: innermost inlined
    /// call).
    pub fn at(&self, level: usize) -> Option<(usize, usize)> {
        if level >= self.levels {
            return None;
        }
        let index = self
            .physical
            .partition_point(|frame| frame.level <= level)
            .checked_sub(1)?;
        let frame = self.physical.get(index)?;
        Some((index, level - frame.level + frame.hidden))
    }
}

impl Debugger {
    /// Returns the stack of a stopped thread, unwound to at least `levels` levels if it has as
    /// many.
    pub(crate) fn unwound(
        &mut self,
        thread: ThreadId,
        levels: usize,
    ) -> Result<&ThreadStack, Error> {
        let mut stack = self.take_stack(thread).unwrap_or_default();
        if stack.physical.is_empty() {
            stack.generation = self.generation(thread);
            match self.innermost(thread) {
                Ok(start) => {
                    let (pc, sp) = (start.0.addr(), start.1.sp());
                    stack.next = Some(start);
                    let back = sp.map(|sp| (pc, sp));
                    if back.is_none_or(|back| !self.enter_console_call(thread, &mut stack, back)) {
                        stack.hidden = self.hidden_at(thread);
                        stack.show(self.shown_line(thread, pc));
                    }
                }
                Err(error) => {
                    return Err(error);
                }
            }
        }
        let mut result = Ok(());
        while stack.levels < levels && !stack.complete {
            if stack.physical.len() % 64 == 63 && self.cancelled() {
                result = Err(Error::Cancelled);
                break;
            }
            self.unwind_one(thread, &mut stack);
        }
        let stack = self.views.stacks.entry(thread).or_insert(stack);
        result.map(|()| &*stack)
    }

    fn generation(&self, thread: ThreadId) -> Generation {
        let changes = self.inferior.changes_of(thread);
        (changes, self.images.modules.generation())
    }

    /// Returns a thread's stack as far as it was unwound; `None` if that is out of date.
    pub(crate) fn stack_so_far(&self, thread: ThreadId) -> Option<&ThreadStack> {
        let stack = self.views.stacks.get(&thread);
        stack.filter(|stack| stack.generation == self.generation(thread))
    }

    /// Like [`Debugger::stack_so_far`]; the stack is no longer kept.
    pub(crate) fn take_stack(&mut self, thread: ThreadId) -> Option<ThreadStack> {
        let stack = self.views.stacks.remove(&thread);
        stack.filter(|stack| stack.generation == self.generation(thread))
    }

    /// Returns a thread's pc and all registers of its innermost frame.
    pub(crate) fn innermost(
        &mut self,
        thread: ThreadId,
    ) -> Result<(FrameAddress, Registers), Error> {
        let set = self
            .inferior
            .registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let mut registers = set.to_registers();
        let vectors = (self.inferior.os()).extended_reader(thread, ExtendedPart::Vectors);
        let arch = set.arch();
        registers.set_vectors_later(Box::new(move || arch.vectors(&vectors.read()?)));
        Ok((FrameAddress::Pc(set.pc()), registers))
    }

    /// Returns the frame of an address and registers; its caller is not known yet.
    pub(crate) fn physical_frame(
        &self,
        address: FrameAddress,
        registers: Registers,
        level: usize,
    ) -> PhysicalFrame {
        let function = self.images.modules.at(address.lookup()).and_then(|loaded| {
            let addr = loaded.bias.file(address.lookup());
            Some((loaded.module.function_at(addr)?, loaded.bias))
        });
        let levels = function.as_ref().map_or(1, |(function, bias)| {
            function.frames_at(bias.file(address.lookup())).len()
        });
        PhysicalFrame {
            function,
            level,
            levels,
            ..PhysicalFrame::at(address, registers)
        }
    }

    /// Returns the caller of a frame.
    pub(crate) fn caller_of(&self, frame: &PhysicalFrame) -> Result<Unwound, dwarf::Error> {
        let (modules, memory) = (&self.images.modules, self.inferior.memory());
        self.views.unwinder.with(modules, |unwinder| {
            unwinder.unwind(modules, &memory, frame.address, &frame.registers)
        })
    }

    /// Returns a word of the process's memory.
    pub(crate) fn memory_word(&self, addr: LoadAddr) -> Option<u64> {
        dwarf::Memory::read_uint(&self.inferior.memory(), addr, 8).ok()
    }

    /// Returns the canonical frame address of a frame.
    pub(crate) fn cfa_of(&self, frame: &PhysicalFrame) -> Result<LoadAddr, dwarf::Error> {
        let (modules, memory) = (&self.images.modules, self.inferior.memory());
        self.views.unwinder.with(modules, |unwinder| {
            unwinder.cfa(modules, &memory, frame.address, &frame.registers)
        })
    }

    fn unwind_one(&self, thread: ThreadId, stack: &mut ThreadStack) {
        let Some((address, registers)) = stack.next.take() else {
            stack.complete = true;
            return;
        };
        self.push_gone(stack, address, &registers);
        let mut frame = self.physical_frame(address, registers, stack.levels);
        frame.hidden = std::mem::take(&mut stack.hidden).min(frame.levels.saturating_sub(1));
        frame.levels -= frame.hidden;
        stack.levels += frame.levels;
        let mut back = None;
        match self.caller_of(&frame) {
            Ok(unwound) => {
                back = unwound
                    .caller
                    .as_ref()
                    .map(|(caller, _)| (caller.addr(), unwound.cfa.0));
                frame.cfa = Some(unwound.cfa);
                frame.saved_at = unwound.saved_at;
                frame.is_signal = unwound.signal_frame;
                frame.by_rules = unwound.from_cfi;
                stack.next = unwound
                    .caller
                    .filter(|(caller, _)| !self.is_start_of_all(&frame, *caller));
            }
            Err(error) => {
                stack.broken = Some(format!("at {}: {error}", frame.address.addr()));
            }
        }
        let is_firm = frame.by_rules && !frame.is_signal;
        stack.physical.push(frame);
        if is_firm
            && stack.physical[stack.firm..]
                .iter()
                .rev()
                .skip(1)
                .all(|it| it.is_tail_call)
        {
            stack.firm = stack.physical.len();
        }
        if let Some(back) = back {
            self.enter_console_call(thread, stack, back);
        }
        stack.complete = stack.next.is_none() || stack.physical.len() >= DEEPEST;
        if stack.physical.len() >= DEEPEST {
            stack.broken = Some(format!("after {DEEPEST} frames (a loop)"));
        }
    }

    /// Adds a frame for a console call that returns to `back` with this stack pointer, and
    /// continues the stack where the call was made. Returns false if there is no such call.
    fn enter_console_call(
        &self,
        thread: ThreadId,
        stack: &mut ThreadStack,
        back: (LoadAddr, u64),
    ) -> bool {
        let Some(call) = self.console_call_at(thread, back) else {
            return false;
        };
        let registers = match stack.next.take() {
            Some((_, registers)) => registers,
            None => Registers::new(call.caller.1.machine()),
        };
        let mut frame = self.physical_frame(FrameAddress::Pc(back.0), registers, stack.levels);
        frame.function = None;
        frame.levels = 1;
        frame.is_console_call = true;
        stack.levels += 1;
        stack.physical.push(frame);
        stack.next = Some(call.caller);
        stack.hidden = call.hidden;
        stack.show(call.shown);
        true
    }

    /// Returns whether a frame's function has no caller: the kernel starts a program there, with
    /// `argc` in place of a return address, and the C library's call frame information says so.
    fn is_start_of_all(&self, frame: &PhysicalFrame, caller: FrameAddress) -> bool {
        // A caller is almost always in known code.
        if self.images.modules.at(caller.lookup()).is_some() {
            return false;
        }
        self.images
            .modules
            .at(frame.address.lookup())
            .is_some_and(|loaded| {
                let addr = loaded.bias.file(frame.address.lookup());
                let begins = match &frame.function {
                    Some((function, _)) => Some(function.entry),
                    None => loaded.module.symbol_at(addr).map(|symbol| symbol.addr),
                };
                begins == Some(loaded.module.entry())
            })
    }

    /// Adds the frames that left the stack by tail calls, inside of a caller. The caller has called the last.
    fn push_gone(&self, stack: &mut ThreadStack, caller: FrameAddress, registers: &Registers) {
        let callee = stack.physical.last().and_then(|it| it.function.as_ref());
        let Some((function, bias)) = callee else {
            return;
        };
        let modules = &self.images.modules;
        let known = &self.views.tail_calls;
        let gone = tail_calls::between(modules, known, (function, *bias), caller);
        let unknown = || Registers::new(registers.machine());
        for (at, address) in gone.iter().enumerate() {
            let mut frame = self.physical_frame(*address, unknown(), stack.levels);
            frame.is_tail_call = true;
            let outer = gone.iter().skip(at + 1).map(|it| (*it, unknown()));
            frame.called_from = outer.chain([(caller, registers.clone())]).collect();
            stack.levels += frame.levels;
            stack.physical.push(frame);
        }
    }

    pub(crate) fn stack_page(
        &mut self,
        thread: ThreadId,
        start: usize,
        levels: Option<usize>,
    ) -> Result<Stack, Error> {
        let end = levels.map_or(usize::MAX, |levels| start.saturating_add(levels));
        // One more, so that the end of the stack is detected when it is reached.
        self.unwound(thread, end.saturating_add(1))?;
        let Some(stack) = self.stack_so_far(thread) else {
            return Err(Error::NoSuchThread(thread.0));
        };
        let end = end.min(stack.levels);
        let complete = stack.complete.then_some(stack.levels);
        let mut frames = Vec::with_capacity(end.saturating_sub(start));
        for level in start..end {
            if let Some((index, inner)) = stack.at(level)
                && let Some(frame) = stack.physical.get(index)
            {
                let mut frame = self.frame(FrameKey { thread, level }, frame, inner);
                if let Some((_, shown)) = stack.shown.iter().find(|(at, _)| *at == level) {
                    frame.location = Some(shown.clone());
                }
                frame.can_restart = !self.is_post_mortem() && stack.restarts(index, inner).is_ok();
                frames.push(frame);
            }
        }
        self.report_broken_stack(thread);
        self.report_missing_units(&frames);
        Ok(Stack {
            frames,
            total: complete,
        })
    }

    /// Reports a stack that ends too early, so that the user knows that frames are missing.
    fn report_broken_stack(&mut self, thread: ThreadId) {
        let stack = self.views.stacks.get_mut(&thread);
        let Some(reason) = stack.and_then(|stack| stack.broken.take()) else {
            return;
        };
        if self.views.reported_stacks.len() < MAX_BROKEN_STACKS
            && self.views.reported_stacks.insert(reason.clone())
        {
            let note = format!(
                "Cannot unwind the stack of thread {} further {reason}\n",
                thread.0
            );
            self.emit(Event::Note(note));
        }
    }

    /// Reports, once per image, files with debug info that its code needs and that cannot be used.
    fn report_missing_units(&mut self, frames: &[Frame]) {
        // Most frames of a deep stack are in one image.
        let mut images: Vec<ModuleId> = frames.iter().filter_map(|frame| frame.module).collect();
        images.dedup();
        images.sort_unstable();
        images.dedup();
        for id in images {
            if self.views.reported_units.contains(&id) {
                continue;
            }
            let Some(loaded) = self.images.modules.get(id) else {
                continue;
            };
            let Some(note) = missing::note(&loaded.module) else {
                continue;
            };
            self.views.reported_units.insert(id);
            self.emit(Event::Note(note));
        }
    }

    fn frame(&self, key: FrameKey, physical: &PhysicalFrame, inner: usize) -> Frame {
        let pc = physical.address.addr();
        let lookup = physical.address.lookup();
        let loaded = match physical.is_console_call {
            true => None,
            false => self.images.modules.at(lookup),
        };
        let mut frame = Frame {
            key,
            name: format!("{pc}"),
            pc,
            code: lookup,
            location: None,
            module: loaded.map(|loaded| loaded.id),
            kind: FrameKind::NoDebugInfo,
            language: None,
            optimized: false,
            can_restart: false,
        };
        if physical.is_console_call {
            frame.kind = FrameKind::ConsoleCall;
            frame.name = "<function called from the console>".into();
        }
        let Some(loaded) = loaded else {
            return frame;
        };
        let addr = loaded.bias.file(lookup);
        if let Some((function, _)) = &physical.function {
            let frames = function.frames_at(addr);
            if let Some(this) = frames.get(inner) {
                frame.name = this.name.to_owned();
                frame.kind = if this.inlined.is_some() {
                    FrameKind::Inlined
                } else {
                    FrameKind::Function
                };
            }
            // The location of an outer frame is that of the inlined call.
            frame.location = match inner.checked_sub(1).and_then(|inner| frames.get(inner)) {
                Some(callee) => callee.inlined.and_then(|call| call.call_site.clone()),
                None => loaded.module.place_at(addr),
            };
            frame.language = Some(function.language);
            frame.optimized = function.optimized;
        } else if let Some(symbol) = loaded.module.symbol_at(addr) {
            frame.name = dwarf::demangle_short(symbol.name).into_owned();
            frame.location = loaded.module.row_at(addr).and_then(|row| row.location);
        }
        if physical.is_tail_call && frame.kind == FrameKind::Function {
            frame.kind = FrameKind::TailCall;
        }
        if physical.is_signal {
            frame.kind = FrameKind::Signal;
            frame.name = "<signal handler called>".into();
        }
        frame
    }
}
