//! The names of a program's threads. The kernel knows those of live threads only, so they are noted when a thread
//! begins, names itself or exits, and where the recording ends.

use super::super::recorder::Recorder;
use crate::os::linux::procfs;
use std::collections::BTreeMap;

/// The most names that are kept.
pub const MOST: usize = 1 << 16;

/// The most bytes of a name (TASK_COMM_LEN, without the zero).
const LONGEST: usize = 15;

/// Names by the ids of threads.
#[derive(Default)]
pub struct Names(BTreeMap<i32, String>);

impl Names {
    /// Takes names over.
    pub fn of(all: Vec<(i32, String)>) -> Names {
        Names(all.into_iter().collect())
    }

    /// Returns all names, by the ids of the threads.
    pub fn all(&self) -> Vec<(i32, String)> {
        let all = self.0.iter().map(|(id, name)| (*id, name.clone()));
        all.collect()
    }

    /// Returns the name of a thread, if it is known.
    pub fn get(&self, thread: i32) -> Option<&str> {
        self.0.get(&thread).map(String::as_str)
    }

    fn set(&mut self, thread: i32, name: String) {
        if self.0.len() < MOST || self.0.contains_key(&thread) {
            self.0.insert(thread, name);
        }
    }
}

impl Recorder {
    /// Notes the names that the threads have now.
    pub(in super::super) fn note_names(&mut self) {
        for thread in self.others.keys().chain([&self.running.tracee.pid]) {
            (self.names).set(*thread, procfs::thread_name(self.pid, *thread));
        }
    }

    /// Notes the name that the running thread gives itself, which is at this address.
    pub(super) fn note_new_name(&mut self, addr: u64) {
        let bytes = self.running.tracee.read(addr, LONGEST);
        let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        self.names.set(self.running.tracee.pid, name);
    }

    /// Notes the name that a live thread has now.
    pub(super) fn note_name_of(&mut self, thread: i32) {
        (self.names).set(thread, procfs::thread_name(self.pid, thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_change() {
        let all = (0..=MOST as i32).map(|id| (id, "a".to_owned()));
        let mut names = Names::default();
        for (id, name) in all {
            names.set(id, name);
        }
        names.set(3, "b".to_owned());
        assert_eq!(names.get(3), Some("b"));
        assert_eq!(names.get(MOST as i32), None);
        assert_eq!(names.all().len(), MOST);
        assert_eq!(Names::of(names.all()).get(3), Some("b"));
    }
}
