//! Functions that a macro has made around an `async` body. `#[tokio::main]` and `#[tokio::test]` put the body into
//! an `async` block, and give the code that runs it the position of the last statement: a stop there would be
//! before the first one.

use super::BoundLocation;
use super::depth::{Line, declaration};
use crate::images::modules::Loaded;
use dwarf::Function;
use std::sync::Arc;

/// Removes the locations of a line in functions around an `async` block that the line is inside of, if the block
/// has one: the source of such a function ends where the block begins.
pub fn remove(loaded: &Loaded, line: Line<'_>, bound: &mut Vec<BoundLocation>) {
    let at = |it: &BoundLocation| Frame::of(loaded, it);
    let bodies: Vec<String> = bound.iter().filter_map(|it| at(it)?.around(line)).collect();
    if !bodies.is_empty() {
        let is_around = |it: &BoundLocation| {
            let frame = at(it).filter(|it| !it.is_coroutine);
            frame.is_some_and(|it| bodies.contains(&it.name))
        };
        bound.retain(|it| !is_around(it));
    }
}

/// The frame that a location is in.
struct Frame {
    name: String,
    is_coroutine: bool,
    /// The line of its declaration.
    declared: Option<u32>,
}

impl Frame {
    fn of(loaded: &Loaded, place: &BoundLocation) -> Option<Frame> {
        let addr = loaded.bias.file(place.addr);
        let function: Arc<Function> = loaded.module.function_at(addr)?;
        let frames = function.frames_at(addr);
        let frame = frames.get(place.hidden)?;
        Some(Frame {
            name: frame.name.to_owned(),
            is_coroutine: match frame.inlined {
                Some(call) => call.coroutine.is_some(),
                None => function.coroutine.is_some(),
            },
            declared: declaration(&function, frame).map(|it| it.line),
        })
    }

    /// Returns the name of the function around, if this is the body of an `async` block that begins above the
    /// line.
    fn around(&self, line: Line<'_>) -> Option<String> {
        let (around, own) = self.name.rsplit_once("::")?;
        let is_inside = self.declared.is_some_and(|it| it < line.line);
        let is_block = self.is_coroutine && own.starts_with("{async_block#");
        (is_block && is_inside).then(|| around.to_owned())
    }
}
