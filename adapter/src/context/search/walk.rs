//! The values in reach of a frame, nearest first, each object once.

use crate::protocol::RequestError;
use crate::session::Session;
use crate::session::describe::child_expression;
use engine::value::scalar::NumberFormat;
use engine::{
    Child, ChildBatch, ChildFilter, FrameKey, Limits, LoadAddr, Named, Pointees, Presentation,
    Value,
};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Maximum number of values visited.
const MAX_PARTS: u64 = 50_000;
/// Maximum number of children of one value.
const MAX_CHILDREN: u64 = 5_000;
/// Maximum number of values that wait to be visited.
const MAX_WAITING: usize = 100_000;
/// Maximum number of members and pointers between a variable and a value.
const MAX_DEPTH: usize = 12;
/// Length of a string that is compared, in bytes.
const STRING_BYTES: usize = 4096;

/// A value.
pub struct Part {
    /// An expression for it, or its path.
    pub path: String,
    /// Its text, with addresses, without its members.
    pub shown: Presentation,
    /// The value itself; `None` for a number in an array of numbers, which has no parts.
    pub value: Option<Value>,
    expression: Option<String>,
    depth: usize,
}

impl Part {
    /// Returns the address of the object.
    pub fn place(&self) -> Option<LoadAddr> {
        match &self.value {
            Some(value) => value.address(),
            None => self.shown.memory,
        }
    }

    /// Returns the target of a pointer.
    pub fn target(&self) -> Option<LoadAddr> {
        let memory = self.shown.memory?;
        (self.place() != Some(memory)).then_some(memory)
    }
}

/// A value that is to be visited.
struct Waiting {
    path: String,
    expression: Option<String>,
    value: Result<Value, Presentation>,
    depth: usize,
}

/// A walk through the values in reach of a frame, breadth first.
pub struct Walk {
    frame: FrameKey,
    waiting: VecDeque<Waiting>,
    /// Places and types of objects that were visited.
    seen: HashSet<(LoadAddr, Arc<str>)>,
    visited: u64,
    complete: bool,
}

impl Walk {
    /// Begins a walk at the variables of a frame and those of static storage.
    ///
    /// # Errors
    /// Not stopped, no such frame, cancelled.
    pub fn of(session: &mut Session, frame: FrameKey) -> Result<Self, RequestError> {
        let mut roots = session.debugger.locals(frame)?;
        // Inner scopes first.
        roots.reverse();
        roots.extend(session.debugger.globals(frame).unwrap_or_default());
        let waiting = roots.into_iter().filter_map(|named| {
            let Named {
                name,
                expression,
                value,
                ..
            } = named;
            Some(Waiting {
                path: expression.clone().unwrap_or(name),
                expression,
                value: Ok(value.ok()?),
                depth: 0,
            })
        });
        Ok(Self {
            frame,
            waiting: waiting.collect(),
            seen: HashSet::new(),
            visited: 0,
            complete: true,
        })
    }

    /// Returns the number of values visited so far.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Returns whether all values in reach were visited, up to the maximum depth.
    pub fn is_complete(&self) -> bool {
        self.complete && self.waiting.is_empty()
    }

    /// Returns the next value; `None` at the end.
    ///
    /// # Errors
    /// Cancelled.
    pub fn next(&mut self, session: &mut Session) -> Result<Option<Part>, RequestError> {
        let limits = Limits {
            text: STRING_BYTES,
            string: STRING_BYTES,
            elements: 0,
            depth: 0,
            numbers: NumberFormat::Natural,
            addresses: true,
            pointees: Pointees::Hidden,
        };
        while let Some(next) = self.waiting.pop_front() {
            if session.is_cancelled() {
                return Err(RequestError::Cancelled);
            }
            if self.visited >= MAX_PARTS {
                self.complete = false;
                return Ok(None);
            }
            self.visited += 1;
            let (value, shown) = match next.value {
                Err(number) => (None, number),
                Ok(value) => {
                    let shown = session.debugger.present(&value, &limits);
                    if shown.error.is_some() {
                        continue;
                    }
                    if let Some(place) = value.address()
                        && !self.seen.insert((place, Arc::clone(&shown.type_name)))
                    {
                        continue;
                    }
                    (Some(value), shown)
                }
            };
            return Ok(Some(Part {
                path: next.path,
                shown,
                value,
                expression: next.expression,
                depth: next.depth,
            }));
        }
        Ok(None)
    }

    /// Continues with the members, elements and targets of a value later.
    ///
    /// # Errors
    /// Cancelled.
    pub fn open(&mut self, session: &mut Session, part: Part) -> Result<(), RequestError> {
        let Some(value) = part.value else {
            return Ok(());
        };
        let count = part.shown.named.saturating_add(part.shown.indexed);
        // The characters of a string are no further values.
        let is_string = part.shown.text.ends_with('"');
        if count == 0 || is_string {
            return Ok(());
        }
        if part.depth == MAX_DEPTH {
            return Ok(());
        }
        let mut range = 0..count.min(MAX_CHILDREN);
        self.complete &= count <= MAX_CHILDREN;
        while !range.is_empty() {
            let batch = session.debugger.next_children(
                &value,
                Some(self.frame),
                ChildFilter::All,
                &mut range,
            );
            let batch = match batch {
                Ok(batch) => batch,
                Err(engine::Error::Cancelled) => return Err(RequestError::Cancelled),
                Err(_) => break,
            };
            match batch {
                ChildBatch::Numbers(numbers) => {
                    let type_name: Arc<str> = numbers.type_name();
                    for index in numbers.indices() {
                        let mut text = String::new();
                        numbers.write(index, NumberFormat::Natural, &mut text);
                        let number = Presentation {
                            text,
                            type_name: Arc::clone(&type_name),
                            memory: Some(numbers.address(index)),
                            ..Presentation::default()
                        };
                        let name = format!("[{index}]");
                        let path = self.path(&part.path, &name);
                        self.push(path, None, Err(number), part.depth + 1);
                    }
                }
                ChildBatch::Children(children) => {
                    for Child { name, value, path } in children {
                        let Some(value) = value.ok().filter(|_| name != "[raw]") else {
                            continue;
                        };
                        let parent = part.expression.as_deref();
                        let expression = child_expression(parent, path, &name);
                        let path = match &expression {
                            Some(expression) => expression.clone(),
                            None => self.path(&part.path, &name),
                        };
                        self.push(path, expression, Ok(value), part.depth + 1);
                    }
                }
            }
        }
        Ok(())
    }

    fn path(&self, parent: &str, name: &str) -> String {
        match name.starts_with('[') {
            true => format!("{parent}{name}"),
            false => format!("{parent}.{name}"),
        }
    }

    fn push(
        &mut self,
        path: String,
        expression: Option<String>,
        value: Result<Value, Presentation>,
        depth: usize,
    ) {
        if self.waiting.len() >= MAX_WAITING {
            self.complete = false;
            return;
        }
        self.waiting.push_back(Waiting {
            path,
            expression,
            value,
            depth,
        });
    }
}
