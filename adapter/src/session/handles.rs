//! The ids of frames, containers and targets for the client. They are valid until the debuggee
//! resumes; an old id causes an error and never refers to another object.

use crate::protocol::RequestError;
use engine::value::scalar::NumberFormat;
use engine::{FrameKey, GotoTarget, RegisterGroup, SourceLocation, StepTarget, ThreadId, Value};
use std::collections::HashMap;
use std::ops::Range;

/// A container of variables.
#[derive(Clone, Debug)]
pub enum Container {
    /// A frame's variables.
    Locals(FrameKey),
    /// The value returned by the function that was stepped out of.
    Returned(FrameKey),
    /// The variables of a frame's compilation unit.
    Globals(FrameKey),
    /// A group of a frame's registers.
    Registers(FrameKey, RegisterGroup),
    /// The parts of a register, which is given by its name.
    RegisterParts(FrameKey, String),
    /// A value's children.
    Value(Opened),
    /// A range of a value's indexed children, for clients without paging.
    Bucket {
        /// The value.
        of: Opened,
        /// The range of its indexed children.
        range: Range<u64>,
    },
}

impl Container {
    /// Returns the frame that it belongs to.
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

/// A value with children.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The value.
    pub value: Value,
    /// The frame that it belongs to.
    pub frame: Option<FrameKey>,
    /// An expression that evaluates to it.
    pub expression: Option<String>,
    /// The format of integers in it, if the expression specified one.
    pub numbers: Option<NumberFormat>,
    /// Number of named children.
    pub named: u64,
    /// Number of indexed children.
    pub indexed: u64,
}

impl Opened {
    /// Returns the number of its children when it was described.
    pub fn described(&self) -> u64 {
        self.named.saturating_add(self.indexed)
    }

    /// Returns the maximum number of its named children. Those of an object may be more than when it
    /// was described: its dynamic class may be known by now.
    pub fn most_named(&self, most: u64) -> u64 {
        match self.indexed {
            0 => self.named.max(most),
            _ => self.named,
        }
    }
}

/// The kind of a frame's scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScopeKind {
    /// Arguments and locals.
    Locals,
    /// The value just returned to the frame.
    Returned,
    /// Variables of the frame's compilation unit.
    Globals,
    /// Registers.
    Registers,
}

/// Objects by id; ids are not reused after [`Table::clear`].
#[derive(Debug)]
struct Table<T> {
    first: i32,
    /// `None`: removed by [`Table::forget`].
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
        // After 2^31 objects the ids start over; no client still holds ids that old.
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
                Err(RequestError::StaleId(format!("unknown {what} {id}")))
            }
            _ => Err(RequestError::StaleId(format!(
                "{what} {id} is no longer valid: it is from an earlier stop, or from before more \
                 debug info was found"
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

/// Converts a DAP thread id.
///
/// # Errors
/// The id is not in the range of thread ids.
pub fn thread_id(id: i64) -> Result<ThreadId, RequestError> {
    i32::try_from(id)
        .map(ThreadId)
        .map_err(|_| RequestError::StaleId(format!("there is no thread {id}")))
}

/// All objects with an id since the last stop.
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
    /// Invalidates all ids: the debuggee resumes.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.frame_ids.clear();
        self.containers.clear();
        self.scope_ids.clear();
        self.places.clear();
        self.step_targets.clear();
        self.goto_targets.clear();
    }

    /// Invalidates the ids of one thread: it resumes, others do not.
    pub fn forget(&mut self, thread: ThreadId) {
        self.frames.forget(|key| key.thread == thread);
        self.frame_ids.retain(|key, _| key.thread != thread);
        self.containers
            .forget(|container| container.frame().is_some_and(|key| key.thread == thread));
        self.scope_ids.retain(|(key, _), _| key.thread != thread);
        self.step_targets.forget(|target| target.thread == thread);
    }

    /// Returns a frame's id, the same one each time.
    pub fn frame_id(&mut self, key: FrameKey) -> i64 {
        let frames = &mut self.frames;
        let id = self
            .frame_ids
            .entry(key)
            .or_insert_with(|| frames.insert(key));
        i64::from(*id)
    }

    /// Returns the frame with an id.
    ///
    /// # Errors
    /// The id is from an earlier stop, or never existed.
    pub fn frame(&self, id: i64) -> Result<FrameKey, RequestError> {
        self.frames.get(id, "frame").copied()
    }

    /// Returns the id of a frame's scope, the same one each time.
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

    /// Creates an id for a source location.
    pub fn location_id(&mut self, place: SourceLocation) -> i64 {
        i64::from(self.places.insert(place))
    }

    /// Returns the location of a `locationReference`.
    ///
    /// # Errors
    /// The id is from an earlier stop, or never existed.
    pub fn location(&self, id: i64) -> Result<SourceLocation, RequestError> {
        self.places.get(id, "location reference").cloned()
    }

    /// Creates an id for a step-in target.
    pub fn step_target_id(&mut self, target: StepTarget) -> i64 {
        i64::from(self.step_targets.insert(target))
    }

    /// Returns the target with the `targetId` of a `stepIn`.
    ///
    /// # Errors
    /// The id is from an earlier stop, or never existed.
    pub fn step_target(&self, id: i64) -> Result<StepTarget, RequestError> {
        self.step_targets.get(id, "step target").cloned()
    }

    /// Creates an id for a goto target.
    pub fn goto_target_id(&mut self, target: GotoTarget) -> i64 {
        i64::from(self.goto_targets.insert(target))
    }

    /// Returns the target with the `targetId` of a `goto`.
    ///
    /// # Errors
    /// The id is from an earlier stop, or never existed.
    pub fn goto_target(&self, id: i64) -> Result<GotoTarget, RequestError> {
        self.goto_targets.get(id, "goto target").cloned()
    }

    /// Creates an id for a container.
    pub fn container_id(&mut self, container: Container) -> i64 {
        i64::from(self.containers.insert(container))
    }

    /// Returns the container of a `variablesReference`.
    ///
    /// # Errors
    /// The id is from an earlier stop, or never existed.
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
    fn resumed_thread_invalidates_only_its_ids() {
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
