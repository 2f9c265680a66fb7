//! The begin of a call: the state that it interrupts, and the registers and the stack that the
//! function finds.

use super::{ERRNO_BYTES, PendingCall, PreparedCall, Standing, refused, unwritable};
use crate::debugger::argument_passing::HandedOver;
use crate::debugger::{Debugger, Vote};
use crate::expr::{Call, Purpose, ResultPlace};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::site::Owner;
use crate::inspect::abi;
use dwarf::{LoadAddr, Memory};
use std::time::Instant;

impl Debugger {
    /// Starts a call; [`Event::CallEnded`] reports its end.
    pub(crate) fn begin_call(
        &mut self,
        thread: ThreadId,
        call: Call,
        purpose: Purpose,
    ) -> Result<(), Error> {
        self.can_change("functions cannot be called")?;
        if self.calls.pending.is_some() {
            return refused("another call is in progress");
        }
        self.begin_trial(thread)?;
        // In a copy it cannot stop, as that ends with the next resume.
        let purpose = match self.inferior.is_trial() {
            true => Purpose::Look,
            false => purpose,
        };
        let mut reserved = self.calls.replay.reserved;
        let call = self.prepare_call(thread, call, &mut reserved)?;
        self.calls.replay.reserved = reserved;
        let counted = match (purpose, self.inferior.non_stop) {
            // Breakpoints in it count as hit.
            (Purpose::Command, _) => None,
            (_, false) => Some(self.counted_so_far()),
            (_, true) => {
                self.count_no_calls();
                None
            }
        };
        let Some(before) = self.take_standing(thread) else {
            return Err(Error::NoSuchThread(thread.0));
        };
        self.plant_return_trap(call.back.0, Owner::Call);
        let is_ready = self.send_into(thread, &call);
        self.calls.pending = Some(PendingCall {
            thread,
            call,
            before,
            deadline: Instant::now() + self.calls.limit,
            cancel: self.views.cancel.clone(),
            abort: None,
            purpose,
            counted,
        });
        match is_ready {
            true => self.carry_out(thread, Vote::Run),
            false => self.end_call(Err(unwritable())),
        }
        Ok(())
    }

    /// Removes the state that a call interrupts from a thread, and returns it.
    pub(super) fn take_standing(&mut self, thread: ThreadId) -> Option<Standing> {
        let shown = self.thread_state(thread)?;
        let (hidden, requested) = (shown.hidden_inlined, shown.requested.clone());
        let state = self.inferior.thread_mut(thread)?;
        state.release();
        let mut before = Standing {
            passed: state.passed_site.take(),
            is_hit_shown: state.is_hit_shown,
            signal: std::mem::take(&mut state.signal),
            signal_data: None,
            hidden,
            requested,
        };
        if before.signal.0 != 0 {
            before.signal_data = self.inferior.os().signal_data(thread);
        }
        Some(before)
    }

    /// Writes a function's arguments and return address below the stack of a thread.
    /// `reserved`: the bytes of the stack that hold results of earlier calls, and then those of
    /// this one, too.
    pub(crate) fn prepare_call(
        &mut self,
        thread: ThreadId,
        call: Call,
        reserved: &mut u64,
    ) -> Result<PreparedCall, Error> {
        let Some(back) = self.images.modules.entry() else {
            return refused("the program has no entry point to return to");
        };
        if let Some(why) = self.inferior.syscall_refusal(thread) {
            return refused(why);
        }
        self.inferior.write_registers(thread);
        let (Some(saved), Some(extended)) = (
            self.inferior.registers(thread),
            self.inferior.os().extended_registers(thread),
        ) else {
            return refused("cannot read the registers");
        };
        let mut registers = saved.outside_system_call();
        let mut vectors = extended.clone();
        let arch = self.images.modules.arch();
        let convention = self.images.modules.convention();
        let base = saved.sp().wrapping_sub(convention.red_zone) & !15;
        let mut top = base.wrapping_sub(*reserved);
        let mut result = None;
        let mut copies: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut keep = |bytes: Vec<u8>, len: u64, alignment: u64| {
            top = top.wrapping_sub(len) & !(alignment.max(16) - 1);
            copies.push((top, bytes));
            top
        };
        let mut handed = HandedOver::new(arch, convention);
        if call.result != ResultPlace::Registers {
            let len = call
                .returns
                .size()
                .unwrap_or(0)
                .min(crate::inspect::value::MAX_VALUE_BYTES);
            let at = keep(Vec::new(), len, abi::copy_alignment(&call.returns));
            result = Some(LoadAddr(at));
            // The result must survive later calls.
            *reserved = base.wrapping_sub(at);
            match call.result {
                ResultPlace::Object => handed.word(at),
                _ => handed.result_address(at),
            }
        }
        for argument in call.arguments {
            handed.add(argument, |bytes, alignment| {
                let len = bytes.len() as u64;
                keep(bytes, len, alignment)
            });
        }
        // Aligned before the return address is pushed.
        top = top.wrapping_sub(handed.stack.len() as u64) & !(handed.stack_alignment - 1);
        copies.push((top, std::mem::take(&mut handed.stack)));
        let after = top;
        registers.set_sp(top);
        if let Some((at, word)) = arch.set_return_address(&mut registers, back) {
            copies.push((at.0, word.to_le_bytes().to_vec()));
        }
        for (addr, bytes) in &copies {
            if self.inferior.write_memory(LoadAddr(*addr), bytes) < bytes.len() {
                return refused("not enough stack space");
            }
        }
        registers.set_pc(call.entry);
        handed.write(&mut registers, &mut vectors);
        let errno = call.errno.and_then(|addr| {
            let value = self.inferior.memory().read_uint(addr, ERRNO_BYTES);
            Some((addr, value.ok()?))
        });
        Ok(PreparedCall {
            errno,
            name: call.name,
            span: call.span,
            returns: call.returns,
            language: call.language,
            result,
            back: (back, after),
            begin: (registers, (vectors != extended).then_some(vectors)),
            saved,
            extended,
        })
    }

    /// Sets a thread's registers for a call. Returns false if they cannot be written.
    pub(crate) fn send_into(&mut self, thread: ThreadId, call: &PreparedCall) -> bool {
        let (registers, vectors) = &call.begin;
        let vectors = vectors.as_ref();
        vectors.is_none_or(|vectors| self.inferior.set_extended_registers(thread, vectors))
            && self.inferior.set_registers_of(thread, *registers)
    }

    /// Inserts the traps at which calls end.
    pub(crate) fn plant_return_trap(&mut self, back: LoadAddr, owner: Owner) {
        self.inferior.add_site(back, owner);
        if let Some(process) = &mut self.inferior.process {
            process.call_return = Some(back);
        }
        for addr in self.terminators() {
            self.inferior.add_site(addr, owner);
        }
    }

    /// Returns the functions by which C++ terminates a program with an uncaught exception.
    pub(super) fn terminators(&self) -> Vec<LoadAddr> {
        let images = self.images.modules.loaded.iter();
        images
            .filter_map(|it| Some(it.bias.load(it.module.exported("_ZSt9terminatev")?)))
            .collect()
    }
}
