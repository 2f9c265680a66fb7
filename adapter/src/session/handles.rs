//! The numbers by which a client names frames and things that can be opened. They live until
//! the program runs on; an old one is an error that says so, never another object.

use crate::protocol::RequestError;
use engine::value::scalar::NumberFormat;
use engine::{FrameKey, GotoTarget, RegisterGroup, SourceLocation, StepTarget, ThreadId, Value};
use std::collections::HashMap;
use std::ops::Range;

/// Something whose children can be asked for.
#[derive(Clone, Debug)]
pub enum Container {
    /// A frame's variables.
    Locals(FrameKey),
    /// What the function returned that was just stepped out of.
    Returned(FrameKey),
    /// The variables of a frame's unit.
    Globals(FrameKey),
    /// A part of a frame's registers.
    Registers(FrameKey, RegisterGroup),
    /// The parts of a register, by its name.
    RegisterParts(FrameKey, String),
    /// A value's children.
    Value(Opened),
    /// Some of a value's indexed children, for clients that cannot page.
    Bucket {
        /// The value.
        of: Opened,
        /// Which of its indexed children.
        range: Range<u64>,
    },
}

impl Container {
    /// The frame it was found in.
    fn frame(&self) -> Option<FrameKey> {
        match self {
            Self::Locals(frame)
            | Self::Returned(frame)
            | Self::Globals(frame)
            | Self::Registers(frame, _)
            | Self::RegisterParts(frame, _) => Some(*frame),
            Self::Value(of) | Self::Bucket { of, .. } => of.frame,
        }
    }
}

/// A value that can be opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The value.
    pub value: Value,
    /// The frame it was found in.
    pub frame: Option<FrameKey>,
    /// An expression for it.
    pub expression: Option<String>,
    /// How integers in it are written, where it was asked for in the expression.
    pub numbers: Option<NumberFormat>,
    /// Children that have names.
    pub named: u64,
    /// Children that have indices.
    pub indexed: u64,
}

/// What a frame's scope shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScopeKind {
    /// Arguments and locals.
    Locals,
    /// What was just returned to the frame.
    Returned,
    /// Variables of the frame's unit.
    Globals,
    /// Registers.
    Registers,
}

/// Things by number; numbers are not used again after [`Table::clear`].
#[derive(Debug)]
struct Table<T> {
    first: i32,
    /// `None`: forgotten before the others.
    items: Vec<Option<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            first: 1,
            items: Vec::new(),
        }
    }
}

impl<T> Table<T> {
    fn next(&self) -> i32 {
        // At 2^31 things the numbers start over; no client remembers those of so long ago.
        i32::try_from(self.items.len())
            .ok()
            .and_then(|len| self.first.checked_add(len))
            .unwrap_or(1)
    }

    fn insert(&mut self, item: T) -> i32 {
        let id = self.next();
        if id < self.first {
            *self = Self::default();
        }
        self.items.push(Some(item));
        id
    }

    fn get(&self, id: i64, what: &str) -> Result<&T, RequestError> {
        let index = id.saturating_sub(i64::from(self.first));
        let item = usize::try_from(index)
            .ok()
            .and_then(|index| self.items.get(index));
        match item {
            Some(Some(item)) => Ok(item),
            None if !(1..i64::from(self.first)).contains(&id) => {
                Err(RequestError::StaleId(format!("there is no {what} {id}")))
            }
            _ => Err(RequestError::StaleId(format!(
                "{what} {id} is from an earlier stop, or from before more debug info was found"
            ))),
        }
    }

    fn forget(&mut self, is_old: impl Fn(&T) -> bool) {
        for item in &mut self.items {
            item.take_if(|item| is_old(item));
        }
        if self.items.iter().all(Option::is_none) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.first = self.next();
        self.items.clear();
    }
}

/// The engine's id of a thread.
///
/// # Errors
/// No thread can have it.
pub fn thread_id(id: i64) -> Result<ThreadId, RequestError> {
    i32::try_from(id)
        .map(ThreadId)
        .map_err(|_| RequestError::StaleId(format!("there is no thread {id}")))
}

/// Everything that was given a number since the last stop.
#[derive(Debug, Default)]
pub struct Handles {
    frames: Table<FrameKey>,
    frame_ids: HashMap<FrameKey, i32>,
    containers: Table<Container>,
    scope_ids: HashMap<(FrameKey, ScopeKind), i32>,
    places: Table<SourceLocation>,
    step_targets: Table<StepTarget>,
    goto_targets: Table<GotoTarget>,
}

impl Handles {
    /// Forgets everything: the program runs on.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.frame_ids.clear();
        self.containers.clear();
        self.scope_ids.clear();
        self.places.clear();
        self.step_targets.clear();
        self.goto_targets.clear();
    }

    /// Forgets what is a thread's: it runs on, others do not.
    pub fn forget(&mut self, thread: ThreadId) {
        self.frames.forget(|key| key.thread == thread);
        self.frame_ids.retain(|key, _| key.thread != thread);
        self.containers
            .forget(|container| container.frame().is_some_and(|key| key.thread == thread));
        self.scope_ids.retain(|(key, _), _| key.thread != thread);
        self.step_targets.forget(|target| target.thread == thread);
    }

    /// A frame's number, the same one each time.
    pub fn frame_id(&mut self, key: FrameKey) -> i64 {
        let frames = &mut self.frames;
        let id = self
            .frame_ids
            .entry(key)
            .or_insert_with(|| frames.insert(key));
        i64::from(*id)
    }

    /// The frame of a number.
    ///
    /// # Errors
    /// The number is from an earlier stop, or was never given.
    pub fn frame(&self, id: i64) -> Result<FrameKey, RequestError> {
        self.frames.get(id, "frame").copied()
    }

    /// The number of a frame's scope, the same one each time.
    pub fn scope_id(&mut self, frame: FrameKey, kind: ScopeKind) -> i64 {
        let containers = &mut self.containers;
        let id = self.scope_ids.entry((frame, kind)).or_insert_with(|| {
            containers.insert(match kind {
                ScopeKind::Locals => Container::Locals(frame),
                ScopeKind::Returned => Container::Returned(frame),
                ScopeKind::Globals => Container::Globals(frame),
                ScopeKind::Registers => Container::Registers(frame, RegisterGroup::General),
            })
        });
        i64::from(*id)
    }

    /// A new number for a place in a source file.
    pub fn place_id(&mut self, place: SourceLocation) -> i64 {
        i64::from(self.places.insert(place))
    }

    /// What a `locationReference` stands for.
    ///
    /// # Errors
    /// The number is from an earlier stop, or was never given.
    pub fn place(&self, id: i64) -> Result<SourceLocation, RequestError> {
        self.places.get(id, "location reference").cloned()
    }

    /// A new number for a call that can be stepped into.
    pub fn step_target_id(&mut self, target: StepTarget) -> i64 {
        i64::from(self.step_targets.insert(target))
    }

    /// What the `targetId` of a `stepIn` stands for.
    ///
    /// # Errors
    /// The number is from an earlier stop, or was never given.
    pub fn step_target(&self, id: i64) -> Result<StepTarget, RequestError> {
        self.step_targets.get(id, "step target").cloned()
    }

    /// A new number for a place that a thread can be moved to.
    pub fn goto_target_id(&mut self, target: GotoTarget) -> i64 {
        i64::from(self.goto_targets.insert(target))
    }

    /// What the `targetId` of a `goto` stands for.
    ///
    /// # Errors
    /// The number is from an earlier stop, or was never given.
    pub fn goto_target(&self, id: i64) -> Result<GotoTarget, RequestError> {
        self.goto_targets.get(id, "goto target").cloned()
    }

    /// A new number for something that can be opened.
    pub fn container_id(&mut self, container: Container) -> i64 {
        i64::from(self.containers.insert(container))
    }

    /// What a `variablesReference` stands for.
    ///
    /// # Errors
    /// The number is from an earlier stop, or was never given.
    pub fn container(&self, id: i64) -> Result<Container, RequestError> {
        self.containers.get(id, "variables reference").cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(level: usize) -> FrameKey {
        FrameKey {
            thread: ThreadId(7),
            level,
        }
    }

    #[test]
    fn ids_are_stable_within_a_stop_and_stale_after_it() {
        let mut handles = Handles::default();
        let first = handles.frame_id(key(0));
        assert_ne!(first, handles.frame_id(key(1)));
        assert_eq!(first, handles.frame_id(key(0)));
        let scope = handles.scope_id(key(0), ScopeKind::Locals);
        assert_eq!(scope, handles.scope_id(key(0), ScopeKind::Locals));
        assert_ne!(scope, handles.scope_id(key(1), ScopeKind::Locals));
        assert!(matches!(handles.container(scope), Ok(Container::Locals(_))));
        handles.clear();
        let stale = handles.frame(first).unwrap_err().to_string();
        assert!(stale.contains("earlier stop"), "{stale}");
        assert!(handles.container(scope).is_err());
        assert!(handles.frame_id(key(0)) > first);
        assert!(handles.frame(0).is_err());
        assert!(handles.frame(-5).is_err());
        assert!(handles.frame(i64::MIN).is_err());
        assert!(handles.frame(i64::MAX).is_err());
    }

    #[test]
    fn a_thread_that_runs_on_takes_its_ids_with_it_and_leaves_the_others() {
        let mut handles = Handles::default();
        let other = FrameKey {
            thread: ThreadId(8),
            level: 0,
        };
        let (ours, theirs) = (handles.frame_id(key(0)), handles.frame_id(other));
        let scope = handles.scope_id(key(0), ScopeKind::Locals);
        let kept = handles.scope_id(other, ScopeKind::Locals);
        handles.forget(ThreadId(7));
        assert!(handles.frame(ours).is_err() && handles.container(scope).is_err());
        assert_eq!(handles.frame(theirs).unwrap(), other);
        assert!(handles.container(kept).is_ok());
        assert_ne!(handles.frame_id(key(0)), ours);
        assert_eq!(handles.frame_id(other), theirs);
    }

    #[test]
    fn numbers_fit_i32() {
        let mut table = Table {
            first: i32::MAX,
            items: Vec::new(),
        };
        assert_eq!(table.insert('a'), i32::MAX);
        assert_eq!(table.insert('b'), 1);
        assert_eq!(*table.get(1, "x").unwrap(), 'b');
    }
}
