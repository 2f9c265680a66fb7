//! Frames as people see them: unwound as deep as asked, inlined calls as frames of their own.

use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::ids::{FrameKey, ThreadId};
use dwarf::{
    FileAddr, FrameAddress, Function, JumpAddress, Language, LoadAddr, LoadBias, Module, Registers,
    SourceLocation, Unwound,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What kind of frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A function with debug info.
    Function,
    /// A call that was inlined into the frame below.
    Inlined,
    /// A function known by symbol only, or not at all.
    NoDebugInfo,
    /// Where the kernel put a signal handler's return.
    Signal,
    /// A function that called the frame above as its last act and is gone: nothing of it is
    /// left but that it must have been there.
    TailCall,
    /// A call from the console that has not returned: the frames behind it are those that the
    /// thread had before the call.
    ConsoleCall,
}

/// One frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Which one.
    pub key: FrameKey,
    /// Function name; the address in hex where nothing is known.
    pub name: String,
    /// Where execution is, or will return to.
    pub pc: LoadAddr,
    /// In the instruction that is being executed: for callers the call.
    pub code: LoadAddr,
    /// The source line; for callers that of the call.
    pub location: Option<SourceLocation>,
    /// The image.
    pub module: Option<ModuleId>,
    /// What kind of frame.
    pub kind: FrameKind,
    /// The source language.
    pub language: Option<Language>,
    /// Compiled with optimization.
    pub optimized: bool,
    /// Whether [`Debugger::restart_frame`] may be able to restart it: what can be told from the
    /// stack alone.
    pub can_restart: bool,
}

/// A part of a thread's stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The frames asked for.
    pub frames: Vec<Frame>,
    /// Frames in all, once the end was seen.
    pub total: Option<usize>,
}

/// No stack is deeper; one that seems so is a loop that the unwinder did not notice.
const DEEPEST: usize = 1 << 20;

/// Reasons that are told of; a program with so many has nothing but broken stacks.
const MAX_BROKEN_STACKS: usize = 100;

/// By return address and entry of the function that runs: where the functions are that tail
/// calls left between the two.
pub(crate) type TailCalls = FxHashMap<(LoadAddr, LoadAddr), Vec<FrameAddress>>;

/// More calls than any stack has are a program that jumps about; start over then.
const MAX_KNOWN_CALLS: usize = 1 << 16;

/// A frame as the machine has it.
pub(crate) struct PhysicalFrame {
    pub address: FrameAddress,
    pub registers: Registers,
    pub function: Option<(Arc<Function>, LoadBias)>,
    /// Its first level, and how many levels it has.
    pub level: usize,
    pub levels: usize,
    /// Inlined calls that begin right here and are not shown as entered yet.
    pub hidden: usize,
    /// The canonical frame address, known once its caller was looked for.
    pub cfa: Option<LoadAddr>,
    pub is_signal: bool,
    /// Its caller's registers are known for certain.
    pub by_rules: bool,
    /// It is gone from the stack; the registers know the address only.
    pub is_tail_call: bool,
    /// It stands for a call from the console: the registers are those that this returns with.
    pub is_console_call: bool,
}

/// A thread's stack as far as it was unwound.
#[derive(Default)]
pub(crate) struct ThreadStack {
    pub physical: Vec<PhysicalFrame>,
    pub levels: usize,
    pub complete: bool,
    /// So many machine frames, from the innermost one on, are functions' that told for certain
    /// what their callers' registers are.
    pub firm: usize,
    /// The caller of the last frame.
    pub next: Option<(FrameAddress, Registers)>,
    /// Inlined calls that the next frame does not show: the innermost one, or the one that a call
    /// from the console was made in.
    hidden: usize,
    /// Lines that levels show, where they are not those of their code.
    shown: Vec<(usize, SourceLocation)>,
    /// Why the caller of the last frame was not found, until that was told.
    broken: Option<String>,
}

impl ThreadStack {
    /// The level that comes next shows this line.
    fn show(&mut self, line: Option<SourceLocation>) {
        self.shown.extend(line.map(|line| (self.levels, line)));
    }

    /// The machine frame that a level belongs to, and the level's place in it (0: innermost
    /// inlined call).
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

/// How many inlined calls, one in the other, begin at exactly this address.
pub(crate) fn calls_beginning_at(module: &Module, addr: FileAddr) -> usize {
    let function = module.function_at(addr);
    function.map_or(0, |function| calls_begun(&function, addr, addr))
}

/// How many inlined calls, one in the other, hold the place where a function's body begins;
/// compilers let them begin in the prologue.
pub(crate) fn calls_at_body(function: &Function, body: FileAddr) -> usize {
    calls_begun(function, function.entry, body)
}

/// How many inlined calls, one in the other, hold `addr` and begin no earlier than `from`.
pub(crate) fn calls_begun(function: &Function, from: FileAddr, addr: FileAddr) -> usize {
    let frames = function.frames_at(addr);
    let calls = frames.iter().map_while(|frame| frame.inlined);
    calls
        .take_while(|call| (from..=addr).contains(&call.entry))
        .count()
}

impl Debugger {
    /// The stack of a stopped thread, unwound at least to hold `levels` levels.
    pub(crate) fn unwound(
        &mut self,
        thread: ThreadId,
        levels: usize,
    ) -> Result<&ThreadStack, Error> {
        let mut stack = self.stacks.remove(&thread).unwrap_or_default();
        if stack.physical.is_empty() {
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
        let stack = self.stacks.entry(thread).or_insert(stack);
        result.map(|()| &*stack)
    }

    /// Where a thread is, with all registers of its innermost frame.
    pub(crate) fn innermost(
        &mut self,
        thread: ThreadId,
    ) -> Result<(FrameAddress, Registers), Error> {
        let set = self
            .user_registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let mut registers = set.to_registers();
        registers.set_vectors_later(self.os.vector_reader(thread));
        Ok((FrameAddress::Pc(set.pc()), registers))
    }

    /// Turns an address with registers into a frame, not yet knowing its caller.
    pub(crate) fn physical_frame(
        &self,
        address: FrameAddress,
        registers: Registers,
        level: usize,
    ) -> PhysicalFrame {
        let function = self.modules.at(address.lookup()).and_then(|loaded| {
            let addr = loaded.bias.file(address.lookup());
            Some((loaded.module.function_at(addr)?, loaded.bias))
        });
        let levels = function.as_ref().map_or(1, |(function, bias)| {
            function.frames_at(bias.file(address.lookup())).len()
        });
        PhysicalFrame {
            address,
            registers,
            function,
            level,
            levels,
            hidden: 0,
            cfa: None,
            is_signal: false,
            by_rules: false,
            is_tail_call: false,
            is_console_call: false,
        }
    }

    /// Looks for the caller of a frame.
    pub(crate) fn caller_of(&self, frame: &PhysicalFrame) -> Result<Unwound, dwarf::Error> {
        self.unwinder.borrow_mut().unwind(
            &self.modules,
            &self.memory(),
            frame.address,
            &frame.registers,
        )
    }

    /// The canonical frame address of a frame.
    pub(crate) fn cfa_of(&self, frame: &PhysicalFrame) -> Result<LoadAddr, dwarf::Error> {
        self.unwinder.borrow_mut().cfa(
            &self.modules,
            &self.memory(),
            frame.address,
            &frame.registers,
        )
    }

    fn unwind_one(&self, thread: ThreadId, stack: &mut ThreadStack) {
        let Some((address, registers)) = stack.next.take() else {
            stack.complete = true;
            return;
        };
        for gone in self.left_by_tail_calls(stack.physical.last(), address) {
            let registers = Registers::new(registers.machine());
            let mut frame = self.physical_frame(gone, registers, stack.levels);
            frame.is_tail_call = true;
            stack.levels += frame.levels;
            stack.physical.push(frame);
        }
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
            stack.broken = Some(format!("after {DEEPEST} frames, which are a loop"));
        }
    }

    /// If a call from the console is what returns to `back`, with this stack pointer: has a frame
    /// stand for it, and the stack go on where the call was made. False: none does.
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

    /// Whether a frame's function has no caller: the kernel begins a program there, with
    /// `argc` where a return address would be, and a C library says so in its call frame information.
    fn is_start_of_all(&self, frame: &PhysicalFrame, caller: FrameAddress) -> bool {
        // Almost always there is code.
        if self.modules.at(caller.lookup()).is_some() {
            return false;
        }
        self.modules
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

    /// Where the functions are that must have run between a frame and the caller that it
    /// returns to, and made room for it by tail calls.
    fn left_by_tail_calls(
        &self,
        callee: Option<&PhysicalFrame>,
        caller: FrameAddress,
    ) -> Vec<FrameAddress> {
        let (Some(callee), FrameAddress::ReturnAddress(back)) = (callee, caller) else {
            return Vec::new();
        };
        let Some((function, bias)) = &callee.function else {
            return Vec::new();
        };
        let entry = bias.load(function.entry);
        if let Some(known) = self.tail_calls.borrow().get(&(back, entry)) {
            return known.clone();
        }
        let called = self.modules.at(caller.lookup()).and_then(|loaded| {
            let back = loaded.bias.file(back);
            loaded.module.callee_at(back)
        });
        let gone = called.zip(self.modules.at(entry)).map(|(called, loaded)| {
            let calls = loaded.module.tail_calls(&called, function);
            let address = |call: dwarf::TailCall| match call.address {
                JumpAddress::At(addr) => FrameAddress::Pc(bias.load(addr)),
                JumpAddress::Before(addr) => FrameAddress::ReturnAddress(bias.load(addr)),
            };
            calls.into_iter().map(address).collect::<Vec<_>>()
        });
        let gone = gone.unwrap_or_default();
        let mut known = self.tail_calls.borrow_mut();
        if known.len() >= MAX_KNOWN_CALLS {
            known.clear();
        }
        known.insert((back, entry), gone.clone());
        gone
    }

    pub(crate) fn stack_page(
        &mut self,
        thread: ThreadId,
        start: usize,
        levels: Option<usize>,
    ) -> Result<Stack, Error> {
        let end = levels.map_or(usize::MAX, |levels| start.saturating_add(levels));
        // One more, so that the end of the stack is known when it is reached.
        self.unwound(thread, end.saturating_add(1))?;
        let Some(stack) = self.stacks.get(&thread) else {
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
        self.tell_of_broken_stack(thread);
        self.tell_of_missing_units(&frames);
        Ok(Stack {
            frames,
            total: complete,
        })
    }

    /// A stack that ends where no program's does: whoever looks should know that there is more.
    fn tell_of_broken_stack(&mut self, thread: ThreadId) {
        let stack = self.stacks.get_mut(&thread);
        let Some(reason) = stack.and_then(|stack| stack.broken.take()) else {
            return;
        };
        if self.told_of_stacks.len() < MAX_BROKEN_STACKS
            && self.told_of_stacks.insert(reason.clone())
        {
            let note = format!(
                "The stack of thread {} cannot be followed further {reason}\n",
                thread.0
            );
            self.events.push_back(Event::Note(note));
        }
    }

    /// Code whose debug info was split off into files that are not there has lines but no
    /// variables: that is said once an image.
    fn tell_of_missing_units(&mut self, frames: &[Frame]) {
        // A deep stack is mostly of one image.
        let mut images: Vec<ModuleId> = frames.iter().filter_map(|frame| frame.module).collect();
        images.dedup();
        images.sort_unstable();
        images.dedup();
        for id in images {
            if self.told_of_units.contains(&id) {
                continue;
            }
            let Some(loaded) = self.modules.get(id) else {
                continue;
            };
            let missing = loaded.module.missing_split_units();
            let Some(first) = missing.first() else {
                continue;
            };
            let note = format!(
                "{} has no variables and inlined calls for some of its code: {} cannot be read ({} such files). Put the .dwo files, or a .dwp package, beside it.\n",
                loaded.module.path().display(),
                first.display(),
                missing.len()
            );
            self.told_of_units.insert(id);
            self.events.push_back(Event::Note(note));
        }
    }

    fn frame(&self, key: FrameKey, physical: &PhysicalFrame, inner: usize) -> Frame {
        let pc = physical.address.addr();
        let lookup = physical.address.lookup();
        let loaded = match physical.is_console_call {
            true => None,
            false => self.modules.at(lookup),
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
            // An outer frame is where the inlined call stands.
            frame.location = match inner.checked_sub(1).and_then(|inner| frames.get(inner)) {
                Some(callee) => callee.inlined.and_then(|call| call.call_site.clone()),
                None => loaded.module.place_at(addr),
            };
            frame.language = Some(function.language);
            frame.optimized = function.optimized;
        } else if let Some(symbol) = loaded.module.symbol_at(addr) {
            frame.name = dwarf::demangle(symbol.name).into_owned();
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
