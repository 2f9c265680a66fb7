//! Launch and attach, and the threads of the task.

use super::mach::{Port, Ptrace};
use super::{DarwinBackend, Platform, Task, mach_error, refusal, signals};
use crate::ids::error::Error;
use crate::ids::{Launch, Signal, ThreadId};
use crate::os::unix::front;
use crate::os::unix::output::Outputs;
use crate::os::unix::stdio::Stdio;
use crate::os::{AddressSpace, OpenStdio, SeizeAs, ThreadEvent};
use std::fs::File;

impl<M: Platform> DarwinBackend<M> {
    pub(super) fn launch_program(
        &mut self,
        launch: &Launch,
        opened: Option<OpenStdio>,
    ) -> Result<i32, Error> {
        let fail = |message: String| Error::Launch {
            program: launch.program.clone(),
            message,
        };
        launch.check_program()?;
        let opened = match opened {
            Some(opened) => opened,
            None => OpenStdio::open_at_once(launch)?,
        };
        let Stdio { child, ours } = Stdio::new(launch, opened).map_err(fail)?;
        let pid = self.mach.posix_spawn(launch, child).map_err(fail)?;
        let begun = self.begin(pid).and_then(|task| {
            for thread in self.threads.of(pid) {
                self.suspend(thread);
            }
            // It was started suspended.
            let resumed = self.mach.task_resume(task);
            resumed.map_err(|error| mach_error("task_resume", error))
        });
        if let Err(error) = begun.and_then(|()| self.open_memory(pid)) {
            let _ = self.mach.ptrace(Ptrace::Kill, pid);
            self.signal_and_forget(pid);
            return Err(match error {
                Error::Attach { message, .. } => fail(message),
                other => other,
            });
        }
        self.outputs = Outputs::new(ours.map(|output| output.map(File::from)));
        Ok(pid)
    }

    pub(super) fn seize_process(
        &mut self,
        pid: i32,
        role: SeizeAs,
    ) -> Result<Vec<ThreadId>, Error> {
        if pid == std::process::id() as i32 || front::is_front(pid) {
            return Err(Error::Attach {
                pid,
                message: "the debugger cannot attach to itself".into(),
            });
        }
        self.begin(pid)?;
        if role != SeizeAs::Launcher
            && let Err(error) = self.open_memory(pid)
        {
            self.detach_process();
            return Err(error);
        }
        Ok(self.threads.of(pid))
    }

    /// Takes control of a process, whose threads run on. Returns its task.
    pub(super) fn begin(&mut self, pid: i32) -> Result<Port, Error> {
        let fail = |message| Error::Attach { pid, message };
        let port = (self.mach.task_for_pid(pid))
            .map_err(|error| fail(refusal::of_process(&self.mach, pid, error)))?;
        let former = (self.mach.task_swap_exception_ports(port, self.port))
            .map_err(|error| fail(refusal::of_process(&self.mach, pid, error)))?;
        self.task = Some(Task {
            pid,
            port,
            former,
            awaits_stop: true,
            sent: Vec::new(),
            is_detaching: false,
            is_gone: false,
        });
        if let Err(error) = self.mach.ptrace(Ptrace::AttachExc, pid) {
            self.restore_exception_ports();
            self.forget_task();
            return Err(fail(refusal::of_tracing(&self.mach, pid, &error)));
        }
        let _ = self.mach.mach_port_request_notification(port, self.port);
        self.add_new_threads(|_, _| {});
        Ok(port)
    }

    pub(super) fn signal_and_forget(&mut self, pid: i32) {
        self.mach
            .kill(pid, signals::to_system(M::SIGNALS, Signal::KILL));
        self.run_to_end(pid);
        self.forget_task();
    }

    /// Adds the threads of the task that are not known yet; `then` gets each.
    pub(super) fn add_new_threads(&mut self, mut then: impl FnMut(&mut Self, ThreadId)) {
        let Some((pid, task)) = self.task.as_ref().map(|task| (task.pid, task.port)) else {
            return;
        };
        for port in self.mach.task_threads(task).unwrap_or_default() {
            if self.threads.id_of(port).is_some() {
                // A second right to the port.
                self.mach.mach_port_deallocate(port);
                continue;
            }
            let unique = self.mach.thread_info_identifier(port).unwrap_or(0);
            let thread = self.threads.add(port, pid, unique);
            if self
                .mach
                .mach_port_request_notification(port, self.port)
                .is_err()
            {
                // It has ended already.
                self.threads.remove(thread);
                self.mach.mach_port_deallocate(port);
                continue;
            }
            then(self, thread);
        }
    }

    /// Finds the threads that were created since, and stops each: its creation is reported by this
    /// stop.
    pub(super) fn list_threads(&mut self) {
        loop {
            let known = self.threads.len();
            self.add_new_threads(|this, thread| {
                if this.suspend(thread) {
                    this.ready.push_back((thread, ThreadEvent::Interrupted));
                }
            });
            // A thread may have created another one until it was suspended.
            if self.threads.len() == known {
                return;
            }
        }
    }
}
