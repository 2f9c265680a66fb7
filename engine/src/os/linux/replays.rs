//! Recordings of the debuggee, and replays shown in its place.

use super::super::AddressSpace;
use super::LinuxBackend;
use super::record::{Recording, made_without_stop};
use crate::ids::ThreadId;
use crate::os::RegisterSet;
use crate::os::recording::{
    CallWithoutStop, KeptFor, OtherState, RecordFrom, RecordedCall, RecordingState, Recordings,
    RunDifference, SaveTo, Saved, SystemWrite,
};
use dwarf::LoadAddr;
use std::path::Path;

impl LinuxBackend {
    /// Records, or shows a recording, from now on. Copies that the recorder makes and those of past stops are kept
    /// apart from the debuggee together.
    pub(super) fn record_by(&mut self, recording: Recording) {
        let copies = recording.recorder.copies();
        copies.take_over(&self.copies);
        self.copies = copies.clone();
        self.recording = Some(Box::new(recording));
    }

    /// Opens the memory of the process that is shown.
    fn open_shown(&mut self) {
        let pid = self.recording.as_ref().map(|it| it.shown_pid());
        if let Some(pid) = pid
            && let Err(error) = self.open_memory(pid)
        {
            tracing::warn!(%error, pid, "the memory of a replay cannot be opened");
        }
    }
}

impl Recordings for LinuxBackend {
    fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    fn is_recording(&self) -> bool {
        let recording = self.recording.as_ref();
        recording.is_some_and(|recording| recording.is_going_on())
    }

    fn give_way(&self, addr: LoadAddr, len: usize) {
        if let Some(recording) = &self.recording {
            recording.give_way(addr, len);
        }
    }

    fn hide_jumps(&self, addr: LoadAddr, bytes: &mut [u8]) {
        if let Some(recording) = &self.recording {
            recording.hide_jumps(addr, bytes);
        }
    }

    fn own_system_call(&self) -> Option<LoadAddr> {
        self.recording.as_ref()?;
        Some(super::record::OWN_CALL)
    }

    fn can_execute_copy(&self, at: LoadAddr) -> bool {
        let recording = self.recording.as_ref();
        recording.is_none_or(|recording| recording.can_execute_copy(at))
    }

    fn is_turn_of(&self, thread: ThreadId) -> bool {
        let recording = self.recording.as_ref();
        recording.is_none_or(|recording| recording.is_turn_of(thread))
    }

    fn resume_at_turn(&mut self, thread: ThreadId) {
        if let Some(recording) = &mut self.recording {
            recording.resume_at_turn(thread);
        }
    }

    fn mapped_later(&self) -> Vec<(LoadAddr, LoadAddr)> {
        let recording = self.recording.as_ref();
        recording.map_or_else(Vec::new, |recording| recording.mapped_later())
    }

    fn begin_recording(&mut self, from: &RecordFrom<'_>) -> Result<(), String> {
        let recording = super::record::begin_at_stop(from)?;
        self.record_by(recording);
        Ok(())
    }

    fn recording(&self) -> Option<RecordingState> {
        Some(self.recording.as_ref()?.state())
    }

    fn begin_replay(&mut self, snapshot: usize, pause_at: Option<usize>) -> Result<(), String> {
        let recording = self.recording.as_mut();
        let recording = recording.ok_or("the process is not recorded")?;
        recording.begin_replay(snapshot, pause_at)?;
        self.open_shown();
        Ok(())
    }

    fn keep_replay(&mut self, purpose: KeptFor) -> Result<(), String> {
        match &mut self.recording {
            Some(recording) => recording.keep_replay(purpose),
            None => Ok(()),
        }
    }

    fn begin_kept_replay(
        &mut self,
        purpose: KeptFor,
        pause_at: Option<usize>,
    ) -> Result<(), String> {
        if let Some(recording) = &mut self.recording {
            recording.begin_kept_replay(purpose, pause_at)?;
        }
        self.open_shown();
        Ok(())
    }

    fn end_kept_replay(&mut self, purpose: KeptFor) {
        if let Some(recording) = &mut self.recording {
            recording.end_kept_replay(purpose);
        }
    }

    fn see_mappings(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.see_mappings();
        }
    }

    fn pause_before(&mut self, event: Option<usize>) {
        if let Some(recording) = &mut self.recording {
            recording.pause_before(event);
        }
    }

    fn end_before_next(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.end_before_next();
        }
    }

    fn end_aside(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.end_aside();
        }
    }

    fn restore_aside(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.restore_aside();
        }
        self.open_shown();
    }

    fn show_head(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.show_head();
        }
        self.open_shown();
    }

    fn difference(&self, except: &[(LoadAddr, u64)], has_red_zone: bool) -> Option<OtherState> {
        self.recording.as_ref()?.difference(except, has_red_zone)
    }

    fn running_thread(&self) -> Option<ThreadId> {
        Some(self.recording.as_ref()?.running_thread())
    }

    fn replay_threads(&self) -> Option<Vec<ThreadId>> {
        self.recording.as_ref()?.replay_threads()
    }

    fn places_of_changes(&self) -> Vec<LoadAddr> {
        let recording = self.recording.as_ref();
        recording.map_or_else(Vec::new, |recording| recording.places_of_changes())
    }

    fn next_event(&self) -> usize {
        let recording = self.recording.as_ref();
        recording.map_or(0, |recording| recording.position())
    }

    fn registers_at_event(&self, thread: ThreadId) -> Option<RegisterSet> {
        self.recording.as_ref()?.registers_at_event(thread)
    }

    fn begin_trial(&mut self, thread: ThreadId) -> Result<(), String> {
        if let Some(recording) = &mut self.recording {
            recording.begin_trial(thread)?;
        }
        self.open_shown();
        Ok(())
    }

    fn end_trial(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.end_trial();
        }
        self.open_shown();
    }

    fn restart_recording(&mut self) {
        if let Some(recording) = &mut self.recording
            && let Err(error) = recording.recorder.restart()
        {
            recording.recorder.fail(&error);
        }
    }

    fn open_recording(&mut self, path: &Path, program: Option<&Path>) -> Result<i32, String> {
        let file = dwarf::open_regular(path).map_err(|error| format!("cannot be read: {error}"))?;
        let recording = Recording::open(file, program).map_err(|error| error.to_string())?;
        let pid = recording.shown_pid();
        self.record_by(recording);
        self.guarded = false;
        self.open_memory(pid).map_err(|error| error.to_string())?;
        Ok(pid)
    }

    fn stored_end(&self) -> Option<String> {
        self.recording.as_ref()?.stored_end()
    }

    fn stored_threads(&self) -> Vec<ThreadId> {
        let recording = self.recording.as_ref();
        recording.map_or_else(Vec::new, |recording| recording.stored_threads())
    }

    fn is_at_stored_end(&self) -> bool {
        let recording = self.recording.as_ref();
        recording.is_some_and(|recording| recording.is_stored() && !recording.is_replay_shown())
    }

    fn call_without_stop(&self, pc: LoadAddr) -> Option<CallWithoutStop> {
        let read =
            |addr: u64, bytes: &mut [u8]| self.read_memory(LoadAddr(addr), bytes) == bytes.len();
        self.recording.as_ref()?;
        made_without_stop(pc, read)
    }

    fn last_system_write(
        &mut self,
        addr: LoadAddr,
        size: u64,
        before: usize,
    ) -> Option<SystemWrite> {
        self.recording.as_ref()?.last_write(addr, size, before)
    }

    fn recorded_calls(&mut self, from: usize, most: usize) -> Vec<RecordedCall> {
        let recording = self.recording.as_mut();
        recording.map_or_else(Vec::new, |recording| recording.calls(from, most))
    }

    fn calls_before_shown(&mut self) -> usize {
        let recording = self.recording.as_mut();
        recording.map_or(0, |recording| recording.calls_before_shown())
    }

    fn difference_of_runs(
        &self,
        file: Option<&Path>,
    ) -> Result<(usize, Option<RunDifference>), String> {
        let recording = self.recording.as_ref();
        let recording = recording.ok_or("the program is not recorded")?;
        match (file, &self.run_before) {
            (Some(path), _) => {
                let name = path.display();
                let file = dwarf::open_regular(path);
                let file = file.map_err(|error| format!("{name} cannot be read: {error}"))?;
                recording
                    .difference_from_file(file)
                    .map_err(|error| format!("the file {name} {error}"))
            }
            (None, Some(before)) => Ok(recording.difference_from(before)),
            (None, None) => Err(
                "no run before is kept; name a recording, or restart the recorded program"
                    .to_owned(),
            ),
        }
    }

    fn save_recording(&mut self, to: &SaveTo) -> Result<Saved, String> {
        let recording = self.recording.as_mut();
        let recording = recording.ok_or("the program is not recorded")?;
        recording.save(&to.path, to.limit)
    }

    fn keep_end_of_recording(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.keep_end();
        }
    }

    fn save_ended_recording(&mut self, to: &SaveTo) -> Result<Saved, String> {
        let recording = self.recording.as_mut();
        let recording = recording.ok_or("the program was not recorded")?;
        recording.save_ended(&to.path, to.limit)
    }
}
