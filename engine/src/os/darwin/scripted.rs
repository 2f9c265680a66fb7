//! A Mach whose messages and failures are a script, for tests of the backend without a process. It
//! counts rights and suspensions, and records the calls that change a process.

use super::abi::{self, DarwinAbi};
use super::mach::{
    Awaited, Descriptors, Ended, ExceptionPort, KernReturn, MAX_MESSAGE, Mach, Port, ProcessInfo,
    Ptrace, Region, Result,
};
use super::message::kernel as messages;
use super::{Platform, signals};
use crate::arch::Arch;
use crate::ids::Launch;
use crate::os::processes::ThreadStarts;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// The process under control, its task, and the ports of its threads.
pub const PID: i32 = 70;
pub const TASK: Port = Port(7);
pub const MAIN: Port = Port(11);
pub const OTHER: Port = Port(12);
/// Where exceptions went before.
pub const FORMER: Port = Port(99);
/// The port of the backend.
const OWN: Port = Port(1);

/// The second code of a trap that nothing has asked for, as some kernels report one.
pub const UNASKED: u64 = u64::MAX;

static ABI: DarwinAbi = DarwinAbi {
    trap_cause: |trapped| match trapped.codes.0[1] {
        UNASKED => None,
        _ => (abi::HOST.trap_cause)(trapped),
    },
    ..abi::HOST
};

#[derive(Default)]
pub struct Script {
    /// Messages that have arrived, oldest first.
    pub messages: VecDeque<Vec<u8>>,
    /// The threads of each task, oldest first.
    pub threads: BTreeMap<Port, Vec<Port>>,
    /// The processes of tasks.
    pub tasks: BTreeMap<Port, i32>,
    /// Ports whose receiver is gone.
    pub dead: Vec<Port>,
    /// How often each thread is suspended.
    pub suspended: BTreeMap<Port, i32>,
    /// References to rights.
    pub rights: BTreeMap<Port, i32>,
    /// The general-purpose states of threads.
    pub states: BTreeMap<Port, Vec<u32>>,
    /// How the process has ended.
    pub ended: Option<Ended>,
    /// Messages that arrive when a thread is suspended, by thread: it was on its way to an exception.
    pub on_suspend: BTreeMap<Port, Vec<u8>>,
    /// Messages that arrive when the process gets a signal.
    pub on_kill: VecDeque<Vec<u8>>,
    /// The calls that change a process: `suspend 11`, `reply 21 KERN_SUCCESS`, `ptrace Detach`.
    pub log: Vec<String>,
}

/// The system; a test keeps another handle to the script.
#[derive(Clone, Default)]
pub struct Scripted(pub Rc<RefCell<Script>>);

impl Script {
    /// Sends an exception. `reply`: the port for its reply.
    pub fn exception(&mut self, task: Port, thread: Port, kind: i32, codes: [u64; 2], reply: u32) {
        let message = self.exception_message(task, thread, kind, codes, reply);
        self.messages.push_back(message);
    }

    /// Returns the message of an exception, whose rights count from now on.
    pub fn exception_message(
        &mut self,
        task: Port,
        thread: Port,
        kind: i32,
        codes: [u64; 2],
        reply: u32,
    ) -> Vec<u8> {
        *self.rights.entry(thread).or_default() += 1;
        *self.rights.entry(task).or_default() += 1;
        messages::exception(thread, task, kind, codes, Port(reply)).to_vec()
    }

    /// Ends what a port stands for, with the notice of it.
    pub fn end(&mut self, port: Port) {
        self.dead.push(port);
        for threads in self.threads.values_mut() {
            threads.retain(|thread| *thread != port);
        }
        *self.rights.entry(port).or_default() += 1;
        self.messages.push_back(messages::dead_name(port).to_vec());
    }

    /// Takes the calls so far.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn alive(&self, port: Port) -> Result<()> {
        match self.dead.contains(&port) {
            true => Err(KernReturn::TERMINATED),
            false => Ok(()),
        }
    }
}

impl Platform for Scripted {
    const ABI: &'static DarwinAbi = &ABI;
    const SIGNALS: &'static signals::Numbers = &signals::XNU;
    const THREAD_STARTS: ThreadStarts = ("libsystem_pthread", &["_pthread_start"]);
}

impl Mach for Scripted {
    fn mach_port_allocate(&self) -> Result<Port> {
        Ok(OWN)
    }

    fn mach_port_deallocate(&self, port: Port) {
        let mut script = self.0.borrow_mut();
        let count = script.rights.entry(port).or_default();
        assert!(*count > 0, "{port:?} is given up, and is not a right");
        *count -= 1;
    }

    fn mach_port_request_notification(&self, port: Port, notify: Port) -> Result<()> {
        assert_eq!(notify, OWN);
        self.0.borrow().alive(port)
    }

    fn mach_msg_receive(&self, port: Port, message: &mut [u8; MAX_MESSAGE]) -> Option<usize> {
        assert_eq!(port, OWN);
        let next = self.0.borrow_mut().messages.pop_front()?;
        message[..next.len()].copy_from_slice(&next);
        Some(next.len())
    }

    fn mach_msg_send(&self, message: &[u8]) -> Result<()> {
        let (to, result) = messages::result_of(message).expect("a reply");
        let mut script = self.0.borrow_mut();
        script.log.push(format!("reply {} {result}", to.0));
        Ok(())
    }

    fn kevent(&self, _: Port, _: Descriptors, _: Option<Duration>) -> io::Result<Awaited> {
        let message = !self.0.borrow().messages.is_empty();
        assert!(message, "nothing would end this wait");
        Ok(Awaited {
            message,
            readable: [false; 4],
        })
    }

    fn task_for_pid(&self, pid: i32) -> Result<Port> {
        let mut script = self.0.borrow_mut();
        // The latest task of a process is its own.
        let tasks = script.tasks.iter().rev();
        let mut of_process = tasks.filter(|(port, it)| **it == pid && !script.dead.contains(port));
        let port = *of_process.next().ok_or(KernReturn::FAILURE)?.0;
        *script.rights.entry(port).or_default() += 1;
        Ok(port)
    }

    fn pid_for_task(&self, task: Port) -> Result<i32> {
        let script = self.0.borrow();
        script.alive(task)?;
        script.tasks.get(&task).copied().ok_or(KernReturn::FAILURE)
    }

    fn task_threads(&self, task: Port) -> Result<Vec<Port>> {
        let mut script = self.0.borrow_mut();
        script.alive(task)?;
        let threads = script.threads.get(&task).cloned().unwrap_or_default();
        for thread in &threads {
            *script.rights.entry(*thread).or_default() += 1;
        }
        Ok(threads)
    }

    fn task_suspend(&self, _: Port) -> Result<()> {
        Ok(())
    }

    fn task_resume(&self, _: Port) -> Result<()> {
        Ok(())
    }

    fn task_swap_exception_ports(&self, task: Port, port: Port) -> Result<Vec<ExceptionPort>> {
        let mut script = self.0.borrow_mut();
        script.log.push(format!("swap {} {}", task.0, port.0));
        Ok(vec![ExceptionPort {
            mask: 2,
            port: FORMER,
            behavior: 1,
            flavor: 5,
        }])
    }

    fn task_set_exception_ports(&self, task: Port, port: &ExceptionPort) -> Result<()> {
        let mut script = self.0.borrow_mut();
        script
            .log
            .push(format!("restore {} {}", task.0, port.port.0));
        Ok(())
    }

    fn task_info_dyld(&self, _: Port) -> Result<u64> {
        Err(KernReturn::FAILURE)
    }

    fn thread_suspend(&self, thread: Port) -> Result<()> {
        let mut script = self.0.borrow_mut();
        script.alive(thread)?;
        *script.suspended.entry(thread).or_default() += 1;
        let message = script.on_suspend.remove(&thread);
        script.messages.extend(message);
        script.log.push(format!("suspend {}", thread.0));
        Ok(())
    }

    fn thread_resume(&self, thread: Port) -> Result<()> {
        let mut script = self.0.borrow_mut();
        script.alive(thread)?;
        let count = script.suspended.entry(thread).or_default();
        assert!(*count > 0, "{thread:?} is not suspended");
        *count -= 1;
        script.log.push(format!("resume {}", thread.0));
        Ok(())
    }

    fn thread_abort_safely(&self, thread: Port) -> Result<()> {
        let mut script = self.0.borrow_mut();
        script.alive(thread)?;
        script.log.push(format!("abort {}", thread.0));
        Ok(())
    }

    fn thread_get_state(&self, thread: Port, _: i32, state: &mut [u32]) -> Result<usize> {
        let script = self.0.borrow();
        script.alive(thread)?;
        let empty = vec![0; 42];
        let known = script.states.get(&thread).unwrap_or(&empty);
        state[..known.len()].copy_from_slice(known);
        Ok(known.len())
    }

    fn thread_set_state(&self, thread: Port, flavor: i32, state: &[u32]) -> Result<()> {
        let mut script = self.0.borrow_mut();
        script.alive(thread)?;
        if flavor == abi::HOST.flavor.number {
            script.states.insert(thread, state.to_vec());
        }
        Ok(())
    }

    fn thread_convert_thread_state(&self, _: Port, _: bool, _: i32, _: &mut [u32]) -> Result<()> {
        Ok(())
    }

    fn thread_info_identifier(&self, thread: Port) -> Result<u64> {
        Ok(u64::from(thread.0) * 1000)
    }

    fn thread_info_handle(&self, thread: Port) -> Result<u64> {
        Ok(u64::from(thread.0) << 32)
    }

    fn thread_info_name(&self, _: Port) -> Result<String> {
        Ok(String::new())
    }

    /// Trap instructions are everywhere.
    fn mach_vm_read_overwrite(&self, _: Port, _: u64, buffer: &mut [u8]) -> Result<()> {
        let trap = Arch::HOST.breakpoint().iter().cycle();
        buffer
            .iter_mut()
            .zip(trap)
            .for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn mach_vm_write(&self, _: Port, _: u64, _: &[u8]) -> Result<()> {
        Err(KernReturn::PROTECTION_FAILURE)
    }

    fn mach_vm_protect(&self, _: Port, _: u64, _: u64, _: i32) -> Result<()> {
        Err(KernReturn::INVALID_ADDRESS)
    }

    fn mach_vm_region_recurse(&self, _: Port, _: u64) -> Result<Region> {
        Err(KernReturn::INVALID_ADDRESS)
    }

    fn mach_vm_allocate(&self, _: Port, _: u64, _: u64) -> Result<()> {
        Err(KernReturn::RESOURCE_SHORTAGE)
    }

    fn mach_vm_deallocate(&self, _: Port, _: u64, _: u64) -> Result<()> {
        Ok(())
    }

    fn posix_spawn(&self, _: &Launch, _: [Option<OwnedFd>; 3]) -> std::result::Result<i32, String> {
        Ok(PID)
    }

    fn ptrace(&self, request: Ptrace, _: i32) -> io::Result<()> {
        self.0.borrow_mut().log.push(format!("ptrace {request:?}"));
        Ok(())
    }

    fn kill(&self, _: i32, signal: i32) {
        let mut script = self.0.borrow_mut();
        script.log.push(format!("kill {signal}"));
        let message = script.on_kill.pop_front();
        script.messages.extend(message);
    }

    fn waitpid(&self, _: i32) -> Option<Ended> {
        self.0.borrow().ended
    }

    fn proc_listallpids(&self) -> Vec<i32> {
        vec![PID]
    }

    fn proc_pidpath(&self, _: i32) -> Option<PathBuf> {
        None
    }

    fn proc_regionfilename(&self, _: i32, _: u64) -> Option<PathBuf> {
        None
    }

    fn process_info(&self, _: i32) -> Option<ProcessInfo> {
        Some(ProcessInfo::default())
    }

    fn sysctlbyname(&self, _: &str) -> Option<u64> {
        None
    }
}
