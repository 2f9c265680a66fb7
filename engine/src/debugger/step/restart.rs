//! Restart of a frame: the thread returns to its function's first instruction, with the present
//! values of the parameters.

use crate::arch::{Arch, Flow};
use crate::debugger::argument_passing::HandedOver;
use crate::debugger::frame::Parameter;
use crate::debugger::stack::{PhysicalFrame, ThreadStack};
use crate::debugger::{Debugger, Shown, Vote};
use crate::expr::arguments_of;
use crate::ids::FrameKey;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::images::body;
use crate::inspect::abi::{self, Passing, Returning};
use crate::inspect::inlined::calls_beginning_at;
use crate::inspect::value::{Ty, Value};
use crate::stops::event::StopReason;
use dwarf::{FrameAddress, Function, LoadAddr, LoadBias, Location, Module, Registers};
use std::sync::Arc;

/// Functions of Rust's library in which a panic is in progress.
const PANICKING: [&str; 3] = ["rust_panic", "begin_panic", "rust_begin_unwind"];

impl ThreadStack {
    /// Returns whether a frame can be restarted, judging by the stack; otherwise why not.
    pub fn restarts(&self, index: usize, inner: usize) -> Result<(), &'static str> {
        let frame = self.physical.get(index).ok_or("no such frame")?;
        if frame.is_signal {
            return Err("it is a signal frame of the kernel");
        }
        if frame.is_console_call {
            return Err("it marks a call from the console");
        }
        if frame.is_tail_call {
            return Err("its frame was replaced by a tail call");
        }
        if frame.function.is_none() {
            return Err("no debug info for its arguments");
        }
        if inner + 1 < frame.hidden + frame.levels {
            return Err("it is inlined; restart the function that contains it");
        }
        if index >= self.firm {
            return Err(match self.physical.get(self.firm) {
                Some(frame) if frame.is_signal => "a younger frame is a signal handler",
                Some(frame) if frame.is_console_call => {
                    "a younger frame is a call from the console"
                }
                _ => "no call frame information for it or a younger frame",
            });
        }
        let mut outer = self.physical.iter().skip(index + 1);
        match self.next.is_some() || outer.any(|frame| !frame.is_tail_call) {
            true => Ok(()),
            false => Err("it has no caller"),
        }
    }
}

/// The state at the entry of a frame's function.
pub(crate) struct Begun {
    function: Arc<Function>,
    module: Arc<Module>,
    bias: LoadBias,
    address: FrameAddress,
    registers: Registers,
    cfa: LoadAddr,
}

impl Debugger {
    /// Discards a frame and its callees, except for what they have written, and moves the thread to
    /// the function's first instruction, with its parameters as they are now;
    /// [`StopReason::Restart`] follows, and no code has run.
    ///
    /// # Errors
    /// Not stopped, no such frame; a parameter is unknown or cannot be passed; the caller's
    /// registers are unknown. The thread is unchanged then.
    pub fn restart_frame(&mut self, key: FrameKey) -> Result<(), Error> {
        self.can_run()?;
        if self.is_in_replay() {
            return Err(Error::InThePast("a frame cannot be restarted"));
        }
        self.prepare_change()?;
        self.stopped_thread(key.thread)?;
        let stack = self.unwound(key.thread, key.level + 2)?;
        let (index, inner) = stack.at(key.level).ok_or(Error::NoSuchFrame(key.level))?;
        let name = match stack
            .physical
            .get(index)
            .and_then(|it| it.function.as_ref())
        {
            Some((function, _)) => format!("`{}`", function.name),
            None => "this frame".to_owned(),
        };
        let refused = |why: &str| Error::Unsupported(format!("cannot restart {name}: {why}"));
        stack.restarts(index, inner).map_err(refused)?;
        self.restart_machine_frame(key, index)
            .map_err(|error| match error {
                Error::Unsupported(why) => refused(&why),
                other => other,
            })
    }

    fn restart_machine_frame(&mut self, key: FrameKey, index: usize) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::Unsupported(why.into()));
        let thread = key.thread;
        let begun = self.begun(thread, index)?;
        let entry = begun.bias.load(begun.function.entry);
        let mut registers = self
            .inferior
            .registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        if index > 0 || registers.pc() != entry {
            self.can_throw_away(thread, index)?;
            let handed = self.handed_again(key, &begun)?;
            let caller =
                self.caller_of(&self.physical_frame(begun.address, begun.registers.clone(), 0))?;
            let Some((back, outer)) = caller.caller else {
                return refuse("it has no caller");
            };
            let arch = self.images.modules.arch();
            registers.set_sp(begun.cfa.0);
            let stored = arch.set_return_address(&mut registers, back.addr());
            if stored.is_some_and(|(at, word)| self.memory_word(at) != Some(word)) {
                return refuse("its return address is not at the expected location");
            }
            let mut extended = self
                .inferior
                .os()
                .extended_registers(thread)
                .unwrap_or_default();
            registers = registers.outside_system_call();
            for register in outer.machine().callee_saved() {
                match outer.get(*register) {
                    Some(value) => drop(registers.set(*register, value)),
                    None => return refuse("some registers of its caller are unknown"),
                }
            }
            handed.write(&mut registers, &mut extended);
            registers.set_pc(entry);
            if self.inferior.write_memory(begun.cfa, &handed.stack) < handed.stack.len() {
                return refuse("cannot write its arguments on the stack");
            }
            if !self.inferior.set_extended_registers(thread, &extended)
                || !self.inferior.set_registers_of(thread, registers)
            {
                return Err(Error::NoSuchThread(thread.0));
            }
            self.end_scopes_up_to(thread, begun.cfa);
        }
        let at_entry = calls_beginning_at(&begun.module, begun.function.entry);
        if let Some(state) = self.inferior.thread_mut(thread)
            && crate::inferior::is_fatal_signal(state.signal)
        {
            // The pending signal was caused by the code that is undone.
            state.signal = Signal(0);
        }
        let shown = Shown {
            hidden: Some(at_entry),
            ..Shown::default()
        };
        self.carry_out(thread, Vote::Stop(StopReason::Restart, shown));
        if let Some(state) = self.inferior.thread_mut(thread) {
            // A breakpoint on the first instruction has to be hit again.
            state.passed_site = None;
        }
        Ok(())
    }

    fn begun(&self, thread: ThreadId, index: usize) -> Result<Begun, Error> {
        let unknown = || Error::Unsupported("its frame is unknown".into());
        let stack = self.stack_so_far(thread).ok_or_else(unknown)?;
        let frame = stack.physical.get(index).ok_or_else(unknown)?;
        let (function, bias) = frame.function.clone().ok_or_else(unknown)?;
        let loaded = self.images.modules.at(frame.address.lookup());
        Ok(Begun {
            module: Arc::clone(&loaded.ok_or_else(unknown)?.module),
            function,
            bias,
            address: frame.address,
            registers: frame.registers.clone(),
            cfa: frame.cfa.ok_or_else(unknown)?,
        })
    }

    /// Checks that no younger frame is panicking: after a restart, the next panic would be taken
    /// for one inside a panic.
    fn can_throw_away(&self, thread: ThreadId, index: usize) -> Result<(), Error> {
        let name = |frame: &PhysicalFrame| {
            let loaded = self.images.modules.at(frame.address.lookup())?;
            let symbol = loaded
                .module
                .symbol_at(loaded.bias.file(frame.address.lookup()))?;
            Some(symbol.name)
        };
        let frames = self.stack_so_far(thread).map(|stack| &stack.physical);
        let mut younger = frames.into_iter().flatten().take(index);
        let panics = |name: &str| PANICKING.iter().any(|of| name.contains(of));
        match younger.any(|frame| name(frame).is_some_and(panics)) {
            true => Err(Error::Unsupported(
                "it is panicking: the next panic would count as a panic inside a panic".into(),
            )),
            false => Ok(()),
        }
    }

    /// Returns the function's arguments with their present values.
    fn handed_again(&mut self, key: FrameKey, begun: &Begun) -> Result<HandedOver, Error> {
        let refuse = |why: String| Err(Error::Unsupported(why));
        let function = &begun.function;
        let lookup = begun.bias.file(begun.address.lookup());
        let body = begun.module.body_start(function);
        if !function.optimized && (function.entry..body).contains(&lookup) {
            return refuse("its arguments are not stored yet; step to its first line".into());
        }
        let arch = self.images.modules.arch();
        let mut handed = HandedOver::new(arch, self.images.modules.convention());
        match begun.returning(arch) {
            Returning::Registers(_) => {}
            Returning::Memory => match self.place_of_result(begun) {
                Some(place) => handed.result_address(place),
                None => return refuse("the address for its result is unknown".into()),
            },
            Returning::Unknown => {
                return refuse("its return convention is unknown".into());
            }
        }
        let parameters = self.in_frame(key, |scope| Ok(scope.parameters()))?;
        for parameter in parameters {
            // gcc names this parameter, but does not pass it.
            if parameter.name == "__in_chrg" {
                continue;
            }
            let name = parameter.name.clone();
            hand_again(arch, parameter, begun, &mut handed)
                .map_err(|why| Error::Unsupported(format!("its parameter `{name}` {why}")))?;
        }
        let memory = self.inferior.memory();
        let inside = |at| function.contains(begun.bias.file(at));
        let code = |at| arch.read(&memory, at).filter(|_| inside(at));
        let taken = arch.arguments_read(begun.bias.load(function.entry), code);
        let used = handed.used();
        match taken.iter().find(|register| !used.contains(register)) {
            Some(register) => refuse(format!(
                "it reads {}, which no known parameter uses",
                arch.register_name(*register)
            )),
            None => Ok(handed),
        }
    }

    /// Returns the address for the result of a function that returns it in memory. Only unoptimized
    /// code is certain to keep it.
    fn result_place(&self, begun: &Begun) -> Option<u64> {
        if begun.function.optimized {
            return None;
        }
        let memory = self.inferior.memory();
        let inside = |at| begun.function.contains(begun.bias.file(at));
        let arch = self.images.modules.arch();
        let code = |at| arch.read(&memory, at).filter(|_| inside(at));
        let entry = begun.bias.load(begun.function.entry);
        let (at, base, offset) = arch.result_address_store(entry, code)?;
        // The registers of the frame equal those of the prologue only if they lead to the same
        // canonical frame address by the unwind rules of that instruction.
        let stored = self.physical_frame(FrameAddress::Pc(at), begun.registers.clone(), 0);
        if self.caller_of(&stored).ok()?.cfa != begun.cfa {
            return None;
        }
        let slot = begun.registers.get(base)?.wrapping_add_signed(offset);
        let own = begun.registers.sp()?..begun.cfa.0;
        let place = self.memory_word(LoadAddr(slot))?;
        (own.contains(&slot) && !own.contains(&place)).then_some(place)
    }

    /// Returns where the function of a thread's innermost frame makes its result, if that is memory
    /// whose address no register tells when it returns.
    pub(super) fn untold_place(&self, thread: ThreadId) -> Option<LoadAddr> {
        let arch = self.images.modules.arch();
        if arch.convention().returned_address.is_some() {
            return None;
        }
        let begun = self.begun(thread, 0).ok()?;
        if begun.returning(arch) != Returning::Memory {
            return None;
        }
        let body = begun.module.body_start(&begun.function);
        let lookup = begun.bias.file(begun.address.lookup());
        let entry = begun.function.entry;
        let is_prologue = !begun.function.optimized && (entry..body).contains(&lookup);
        if is_prologue || lookup == entry {
            // The register still has what the caller set it to.
            let register = arch.convention().result_address?;
            return begun.registers.get(register).map(LoadAddr);
        }
        self.place_of_result(&begun).map(LoadAddr)
    }

    /// Returns the address for a result in memory: as the function has stored it, or as its caller has
    /// set it.
    fn place_of_result(&self, begun: &Begun) -> Option<u64> {
        let stored = self.result_place(begun);
        stored.or_else(|| self.place_by_caller(begun))
    }

    /// Returns the address for a result in memory that the caller has set straight before the call.
    fn place_by_caller(&self, begun: &Begun) -> Option<u64> {
        let arch = self.images.modules.arch();
        let frame = self.physical_frame(begun.address, begun.registers.clone(), 0);
        let (back, registers) = self.caller_of(&frame).ok()?.caller?;
        let loaded = self.images.modules.at(back.lookup())?;
        let function = loaded.module.function_at(loaded.bias.file(back.lookup()))?;
        let memory = self.inferior.memory();
        let inside = |at| function.contains(loaded.bias.file(at));
        let code = |at| arch.read(&memory, at).filter(|_| inside(at));
        let (from, base, offset) = arch.result_address_at_call(back.addr(), code)?;
        // Another path to the call would have set another address.
        let is_between = |target: LoadAddr| from < target && target < back.addr();
        let mut parts = body::code_of(&loaded.module, &function).into_iter();
        let is_joined = parts.any(|(start, bytes)| {
            let instructions = arch.decode_all(&bytes, loaded.bias.load(start));
            instructions.flatten().any(|it| match it.flow {
                Flow::Jump(target) | Flow::ConditionalJump(target) => is_between(target),
                _ => false,
            })
        });
        let place = registers.get(base)?.wrapping_add_signed(offset);
        (!is_joined).then_some(place)
    }
}

impl Begun {
    fn returning(&self, arch: Arch) -> Returning {
        let function = &self.function;
        let ty = Ty::of(&self.module, self.bias, function.return_type);
        abi::returning(arch, &ty, function.language)
    }
}

/// Passes a parameter with its present value; the error says why that is impossible.
fn hand_again(
    arch: Arch,
    parameter: Parameter,
    begun: &Begun,
    handed: &mut HandedOver,
) -> Result<(), String> {
    let language = begun.function.language;
    let value = parameter
        .value
        .map_err(|error| format!("is unknown: {error}"))?;
    let bytes = || match value.ty.size() {
        Some(0) => Ok(Vec::new()),
        _ => match &parameter.bytes {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(error) => Err(format!("is unknown: {error}")),
        },
    };
    let before = handed.used();
    match abi::passing(arch, &value.ty, language) {
        // What C passes in this way is a copy that only the callee uses, as C++'s objects are.
        Passing::Address => {
            bytes()?;
            handed.word(caller_s(&value, begun)?);
        }
        Passing::Unknown => {
            let ty = value.ty.name();
            return Err(format!("has the unsupported type `{ty}`"));
        }
        passing => {
            for argument in arguments_of(arch, &value.ty, passing, bytes()?) {
                handed.add(argument, |_, _| 0);
            }
        }
    }
    let mut used = handed.used();
    used.retain(|register| !before.contains(register));
    let agrees = |at: &Location| match at {
        Location::Register(register) => used == [*register],
        Location::Pieces(pieces) => {
            let mut places = pieces.iter().map(|piece| &piece.location);
            pieces.len() == used.len()
                && used
                    .iter()
                    .all(|it| places.next() == Some(&Location::Register(*it)))
        }
        // The value was stored there.
        Location::Memory(_) => true,
        _ => false,
    };
    match !begun.function.optimized || parameter.at_entry.as_ref().is_some_and(agrees) {
        true => Ok(()),
        false => Err("is not passed by the standard convention: its calls are optimized".into()),
    }
}

/// Returns the address of an object that a caller has made for its callee.
fn caller_s(value: &Value, begun: &Begun) -> Result<u64, String> {
    let own = begun.registers.sp().unwrap_or(0)..begun.cfa.0;
    let place = value.address().filter(|addr| !own.contains(&addr.0));
    place
        .map(|addr| addr.0)
        .ok_or_else(|| "was moved from where its caller put it".into())
}
