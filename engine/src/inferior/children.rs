//! Processes that the debuggee creates. Most are detached as soon as our traps are removed from
//! their memory; one that is followed becomes the debuggee, or is held for another debugger.

use super::Notice;
use super::handover::{Given, UnclaimedHandover};
use super::{Inferior, State};
use crate::ids::{Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::os::{RegisterSet, Resume, ThreadEvent, WaitInterest};
use dwarf::LoadAddr;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process (or a thread of one) created by the debuggee, until it is detached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Child {
    /// It has a copy of the memory, with our traps in it.
    Fork,
    /// It shares the memory until it execs.
    Vfork,
    /// There is nothing of ours in its memory; it is followed once it runs a wanted program.
    Watched,
    /// It is to be followed, and is held; the signal is delivered to it on resume.
    Held(Signal),
}

/// Which processes created by the debuggee are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Follow {
    /// None.
    #[default]
    Parent,
    /// The first one becomes the debuggee; its parent is detached.
    Child,
    /// All, each held for a debugger of its own (`Event::ChildHeld`).
    Both,
}

/// The settings for processes that the debuggee creates.
#[derive(Default)]
pub struct FollowFork {
    follow: Follow,
    /// Names of programs to follow; empty: any program, from its first instruction.
    programs: Vec<Regex>,
}

impl FollowFork {
    /// Returns settings to follow children that run a program which a pattern matches. `*` stands
    /// for any characters, `?` for one; a pattern with a slash is matched against the whole path,
    /// another against the file's name. Without patterns, children are followed from their first
    /// instruction.
    ///
    /// # Errors
    /// A pattern that is too long.
    pub fn new(follow: Follow, programs: &[String]) -> Result<Self, String> {
        let compile = |pattern: &String| {
            let escaped = regex::escape(pattern);
            let text = escaped.replace(r"\*", ".*").replace(r"\?", ".");
            let text = format!("(?s)^{text}$");
            Regex::new(&text).map_err(|error| format!("`{pattern}`: {error}"))
        };
        let programs = programs.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { follow, programs })
    }

    /// Returns whether any children are followed.
    pub fn follows(&self) -> bool {
        self.follow != Follow::Parent
    }

    fn wants(&self, program: &Path) -> bool {
        let path = program.to_string_lossy();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        self.programs.is_empty()
            || self.programs.iter().any(|pattern| match pattern {
                of_path if of_path.as_str().contains('/') => of_path.is_match(&path),
                of_name => of_name.is_match(&name),
            })
    }
}

/// The processes that the debuggee creates, and those that left the session.
#[derive(Default)]
pub struct Following {
    /// The settings for processes that the debuggee creates.
    pub follow: FollowFork,
    /// Launched processes that were detached when we switched to a child; they are our children.
    pub released: Vec<i32>,
    /// Processes that were detached for another debugger, which may not have seized them yet.
    pub given: Vec<Given>,
    /// Processes that were detached for a debugger that has not taken them over.
    pub lost: Vec<UnclaimedHandover>,
}

/// Maximum number of children held at once; further ones are detached.
const MAX_HELD_CHILDREN: usize = 64;
/// Maximum time for children to stop when they are detached.
pub(super) const CHILD_STOP_TIMEOUT: Duration = Duration::from_secs(2);

impl Inferior {
    pub(crate) fn expect_child(&mut self, child: i32, kind: Child) {
        let Some(process) = &mut self.process else {
            return;
        };
        process.children.insert(child, kind);
        let mut status = process.unclaimed_stops.remove(&ThreadId(child));
        let becomes = kind == Child::Fork
            && self.following.follow.follow == Follow::Child
            && self.following.follow.programs.is_empty();
        if status.is_none() && becomes {
            // At once: its parent must not run ahead of it.
            status = self.os.wait_for_stop(ThreadId(child));
        }
        if let Some(status) = status {
            self.on_child(ThreadId(child), kind, status);
        }
    }

    pub(crate) fn set_child(&mut self, child: ThreadId, kind: Option<Child>) {
        if let Some(process) = &mut self.process {
            match kind {
                Some(kind) => process.children.insert(child.0, kind),
                None => process.children.remove(&child.0),
            };
        }
    }

    /// Moves a child that has executed a trap of ours back to it. Returns the signal that it is to get.
    fn leave_trap(&mut self, child: ThreadId, signal: Signal) -> Signal {
        let arch = self.arch;
        if signal == Signal::TRAP
            && let Some(mut registers) = self.os.registers(child)
            && let trap = arch.breakpoint_address(registers.pc())
            && self.sites.get(trap).is_some()
        {
            registers.set_pc(trap);
            self.os.set_registers(child, &registers);
            return Signal(0);
        }
        signal
    }

    /// Removes all our traps and jumps from the code of a child that has a copy of the memory.
    fn clean(&self, child: ThreadId) {
        let read = |addr, bytes: &mut [u8]| self.os.read_memory_of(child.0, addr, bytes);
        let is_ours = |target| self.jumps.holds(target);
        let mut originals = self.sites.originals(read, is_ours);
        // The child may have been created by a function called for an expression. At that
        // function's return address there is nothing to execute: without the trap the child would
        // run the program once more. The call may have ended by now.
        let call_return = self.process.as_ref().and_then(|it| it.call_return);
        let back = call_return.filter(|back| {
            let site = self.sites.get(*back);
            site.is_none_or(|it| it.owners().iter().any(Owner::is_of_a_call))
        });
        if let Some(back) = back {
            let trap = back..back + self.arch.breakpoint().len() as u64;
            originals.retain(|(addr, _)| !trap.contains(addr));
        }
        self.os.write_memory_of(child.0, &originals);
    }

    /// Waits for forked children that have not stopped yet: the data needed to clean their memory
    /// is about to be dropped.
    fn wait_unseen_children(&mut self) -> Vec<(ThreadId, ThreadEvent)> {
        let children = self.process.iter().flat_map(|process| &process.children);
        let unseen = children.filter(|(_, kind)| **kind == Child::Fork);
        let unseen: Vec<ThreadId> = unseen.map(|(child, _)| ThreadId(*child)).collect();
        let born = unseen.into_iter();
        born.filter_map(|child| Some((child, self.os.wait_for_stop(child)?)))
            .collect()
    }

    /// Handles forked children that have not stopped yet.
    pub(crate) fn handle_unseen_children(&mut self) {
        for (child, status) in self.wait_unseen_children() {
            self.on_child(child, Child::Fork, status);
        }
    }

    /// Cleans and detaches forked children that have not stopped yet.
    pub(crate) fn detach_unseen_children(&mut self) {
        for (child, status) in self.wait_unseen_children() {
            self.set_child(child, None);
            let signal = match status {
                ThreadEvent::Exited(_) | ThreadEvent::Killed(_) => continue,
                ThreadEvent::Signal(signal) => signal,
                _ => Signal(0),
            };
            self.clean(child);
            self.os.detach(child, signal);
        }
    }

    pub(super) fn detach_child(&mut self, child: ThreadId, signal: Signal) {
        self.os.detach(child, signal);
        self.set_child(child, None);
    }

    /// Handles a stop of a child.
    pub(crate) fn on_child(&mut self, child: ThreadId, kind: Child, status: ThreadEvent) {
        let signal = match status {
            ThreadEvent::Signal(signal) => signal,
            _ => Signal(0),
        };
        match (kind, status) {
            (_, ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) => self.set_child(child, None),
            (Child::Held(_), _) => {}
            (Child::Fork, _) => {
                let signal = self.leave_trap(child, signal);
                self.clean(child);
                if self.following.follow.follow == Follow::Parent {
                    self.detach_child(child, signal);
                } else if self.following.follow.programs.is_empty() {
                    self.follow_child(child, signal);
                } else {
                    self.set_child(child, Some(Child::Watched));
                    self.os.resume(child, Resume::Continue, signal);
                }
            }
            (Child::Vfork | Child::Watched, ThreadEvent::Execed(_)) => {
                if self.following.follow.follow == Follow::Parent {
                    self.detach_child(child, Signal(0));
                } else if self
                    .program_of(child)
                    .is_some_and(|it| self.following.follow.wants(&it))
                {
                    self.follow_child(child, Signal(0));
                } else {
                    self.set_child(child, Some(Child::Watched));
                    self.os.resume(child, Resume::Continue, Signal(0));
                }
            }
            (Child::Vfork, ThreadEvent::Signal(signal)) => {
                // It runs in the debuggee's memory: it is moved past our traps, like a thread.
                let registers = self.os.registers(child);
                let arch = self.arch;
                let site = registers.map(|registers| arch.breakpoint_address(registers.pc()));
                match (registers, site) {
                    (Some(mut registers), Some(site))
                        if signal == Signal::TRAP && self.sites.get(site).is_some() =>
                    {
                        registers.set_pc(site);
                        self.over_in_child(child, site, registers);
                    }
                    (Some(mut registers), Some(trap))
                        if signal == Signal::TRAP && self.jumps.trap(trap).is_some() =>
                    {
                        registers.set_pc(arch.behind_breakpoint(trap));
                        self.os.set_registers(child, &registers);
                        self.os.resume(child, Resume::Continue, Signal(0));
                    }
                    (Some(registers), _) if self.is_condition_fault(child, signal) => {
                        // Its condition is not evaluated: its hits are not the debuggee's.
                        match self.registers_past_condition(child, &registers) {
                            Some(registers) => {
                                self.os.set_registers(child, &registers);
                                self.os.resume(child, Resume::Continue, Signal(0));
                            }
                            None => self.os.resume(child, Resume::Continue, signal),
                        }
                    }
                    _ => self.os.resume(child, Resume::Continue, signal),
                }
            }
            (
                _,
                ThreadEvent::Forked(new)
                | ThreadEvent::Vforked(new)
                | ThreadEvent::Created(ThreadId(new)),
            ) => {
                let of_new = match (kind, status) {
                    (Child::Vfork, ThreadEvent::Forked(_)) => Child::Fork,
                    (Child::Vfork, _) => Child::Vfork,
                    _ => Child::Watched,
                };
                self.expect_child(new, of_new);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
            (Child::Watched, ThreadEvent::GroupStop(_)) if self.os.keep_group_stop(child) => {}
            (Child::Vfork | Child::Watched, _) => {
                self.os.resume(child, Resume::Continue, signal);
            }
        }
    }

    pub(crate) fn over_in_child(
        &mut self,
        child: ThreadId,
        site: LoadAddr,
        registers: RegisterSet,
    ) {
        match self.registers_past_site(child, site, &registers) {
            Some(registers) => {
                self.os.set_registers(child, &registers);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
            None => {
                self.os.set_registers(child, &registers);
                self.sites.lift(site, &*self.os);
                self.os.resume(child, Resume::Step, Signal(0));
                self.os.wait_for_stop(child);
                self.sites.plant(site, &*self.os);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
        }
    }

    fn program_of(&self, child: ThreadId) -> Option<PathBuf> {
        self.os.executable(child.0).map(|file| file.path)
    }

    /// Follows a stopped child that matches the settings.
    fn follow_child(&mut self, child: ThreadId, signal: Signal) {
        let Some(process) = &mut self.process else {
            return;
        };
        let held = |kind: &&Child| matches!(kind, Child::Held(_));
        let most = match self.following.follow.follow {
            // One child becomes the debuggee; later ones are detached.
            Follow::Child => 1,
            _ => MAX_HELD_CHILDREN,
        };
        if process.children.values().filter(held).count() >= most {
            self.detach_child(child, signal);
            return;
        }
        process.children.insert(child.0, Child::Held(signal));
        if self.following.follow.follow == Follow::Both {
            let event = Notice::ChildHeld {
                pid: child.0,
                program: self.program_of(child).unwrap_or_default(),
            };
            self.notices.push(event);
        }
    }

    /// Returns whether a process that has ended is kept because of its children: one may still
    /// become the debuggee, or is about to be handed over.
    pub(crate) fn waits_for_children(&self) -> bool {
        let mut children = self.process.iter().flat_map(|it| it.children.values());
        match self.following.follow.follow {
            Follow::Parent => false,
            Follow::Child => children.next().is_some(),
            Follow::Both => children.any(|kind| matches!(kind, Child::Held(_))),
        }
    }

    /// Returns whether a child has to become the debuggee now: not while a stop of its parent is
    /// reported.
    pub(crate) fn is_child_due(&self) -> bool {
        let Some(process) = &self.process else {
            return false;
        };
        self.following.follow.follow == Follow::Child
            && matches!(process.state, State::Running | State::Ended)
            && !process
                .threads
                .values()
                .any(|thread| thread.is_stopped_for_client())
            && process
                .children
                .values()
                .any(|kind| matches!(kind, Child::Held(_)))
    }

    /// Forgets a process that was detached when we switched to its child, and has ended.
    pub(crate) fn forget_released(&mut self, process: ThreadId) {
        let mut released = self.following.released.iter();
        if let Some(index) = released.position(|pid| *pid == process.0) {
            self.following.released.swap_remove(index);
            self.os.set_duty(process.0, None);
        }
    }

    /// Kills launched processes that are not traced any more: parents that were left for a child,
    /// and children that no debugger has taken over.
    pub(crate) fn kill_left(&mut self) {
        for parent in std::mem::take(&mut self.following.released) {
            self.os.kill_left(parent);
        }
        let (launched, lost): (Vec<_>, _) = std::mem::take(&mut self.following.lost)
            .into_iter()
            .partition(|it| it.handover.launched);
        self.following.lost = lost;
        for UnclaimedHandover { handover, .. } in launched {
            self.os.kill_left(handover.pid);
        }
    }

    /// Detaches children of a process that is no longer the debuggee.
    pub(crate) fn release_children(&mut self, children: BTreeMap<i32, Child>) {
        let mut running = Vec::new();
        for (child, kind) in children {
            let child = ThreadId(child);
            match kind {
                Child::Held(signal) => self.os.detach(child, signal),
                Child::Fork | Child::Vfork | Child::Watched => {
                    self.os.interrupt(child);
                    running.push(child);
                }
            }
        }
        let patience = Instant::now() + CHILD_STOP_TIMEOUT;
        while !running.is_empty() && Instant::now() < patience {
            let Some((child, status)) = self.os.next_stop() else {
                match self.os.wait(Some(patience), WaitInterest::default()) {
                    Ok(ready) => self.remember(ready),
                    Err(_) => return,
                }
                continue;
            };
            match status {
                ThreadEvent::Forked(new)
                | ThreadEvent::Vforked(new)
                | ThreadEvent::Created(ThreadId(new)) => running.push(ThreadId(new)),
                _ => {}
            }
            let signal = match status {
                ThreadEvent::Signal(signal) => signal,
                _ => Signal(0),
            };
            running.retain(|it| *it != child);
            self.os.detach(child, signal);
        }
    }

    pub(super) fn held_child(&self, pid: i32) -> Option<Signal> {
        match self.process.as_ref()?.children.get(&pid) {
            Some(Child::Held(signal)) => Some(*signal),
            _ => None,
        }
    }

    /// Detaches a held child. Does nothing if it is not held.
    pub(crate) fn release_child(&mut self, pid: i32) {
        if let Some(signal) = self.held_child(pid) {
            self.detach_child(ThreadId(pid), signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_names_and_of_paths() {
        let wants = |pattern: &str, path: &str| {
            FollowFork::new(Follow::Child, &[pattern.to_owned()])
                .unwrap()
                .wants(Path::new(path))
        };
        assert!(wants("worker", "/opt/bin/worker"));
        assert!(!wants("worker", "/opt/worker/sh"));
        assert!(wants("work*", "/opt/bin/worker") && wants("w?rker", "/worker"));
        assert!(wants("/opt/*", "/opt/bin/worker") && !wants("/usr/*", "/opt/x"));
        assert!(!wants("wor.er", "/worker"), "a dot is a dot");
        let all = FollowFork::new(Follow::Both, &[]).unwrap();
        assert!(all.wants(Path::new("/any")));
    }
}
