//! Names of port rights, and how many references to each there are.

use super::super::mach::Port;
use std::collections::BTreeMap;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    Receive,
    /// A task, by its process.
    Task(i32),
    /// A thread.
    Thread(i32),
    /// The reply that a thread waits for.
    Reply(i32),
    /// The receiver is gone.
    Dead,
}

/// All names of this process.
#[derive(Default)]
pub struct Ports {
    names: BTreeMap<Port, (Right, u32)>,
    last: u32,
}

impl Ports {
    /// Makes a name with one reference. Names look like XNU's, and are not used twice.
    pub fn allocate(&mut self, right: Right) -> Port {
        self.last += 0x100;
        let port = Port(self.last | 3);
        self.names.insert(port, (right, 1));
        port
    }

    /// Returns what a name stands for.
    pub fn get(&self, port: Port) -> Option<Right> {
        self.names.get(&port).map(|(right, _)| *right)
    }

    /// Adds a reference to a name, or makes the name of a right.
    pub fn give(&mut self, known: Option<Port>, right: Right) -> Port {
        if let Some(port) = known
            && let Some((_, references)) = self.names.get_mut(&port)
        {
            *references += 1;
            return port;
        }
        self.allocate(right)
    }

    /// Gives up a reference.
    pub fn deallocate(&mut self, port: Port) {
        let Some((_, references)) = self.names.get_mut(&port) else {
            panic!("{port:?} is given up, and is not a right");
        };
        *references -= 1;
        if *references == 0 {
            self.names.remove(&port);
        }
    }

    /// Records that the receiver of a right is gone.
    pub fn die(&mut self, port: Port) {
        if let Some((right, _)) = self.names.get_mut(&port) {
            *right = Right::Dead;
        }
    }

    /// Takes the right to send a reply, which is used up.
    pub fn take_reply(&mut self, port: Port) -> Option<i32> {
        let Some(Right::Reply(tid)) = self.get(port) else {
            return None;
        };
        self.names.remove(&port);
        Some(tid)
    }
}
