//! Functions that a macro has made around an `async` body. `#[tokio::main]` and `#[tokio::test]` put the body into
//! an `async` block, and give the code that runs it the position of the last statement: a stop there would be
//! before the first one.

use super::BoundLocation;
use super::depth::{Line, declaration};
use crate::images::modules::Loaded;
use dwarf::{Coroutine, Function, FunctionFrame, LineLocation, Module};
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

/// Removes the entries of such blocks from the locations of a line that is further down in them, where it has
/// other code: the macro may give the block itself the position of the last statement.
pub fn remove_entries(module: &Module, line: u32, locations: &mut Vec<LineLocation>) {
    let is_entry = |it: &LineLocation| {
        let function = module.function_at(it.addr);
        function.is_some_and(|function| {
            let frames = function.frames_at(it.addr);
            let first = frames
                .last()
                .and_then(|it| first_line(module, &function, it));
            it.addr == function.entry
                && function.coroutine == Some(Coroutine::Block)
                && first.is_some_and(|it| it < line)
        })
    };
    let entries: Vec<u64> = locations
        .iter()
        .filter(|it| is_entry(it))
        .map(|it| it.instance)
        .collect();
    for instance in entries {
        if locations
            .iter()
            .filter(|it| it.instance == instance)
            .count()
            > 1
        {
            locations.retain(|it| it.instance != instance || !is_entry(it));
        }
    }
}

/// The frame that a location is in.
struct Frame {
    name: String,
    is_coroutine: bool,
    /// The first line of its code, or that of its declaration above: the macro may give the block the position
    /// of the last statement, too.
    first: Option<u32>,
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
            first: first_line(&loaded.module, &function, frame),
        })
    }

    /// Returns the name of the function around, if this is the body of an `async` block that begins above the
    /// line.
    fn around(&self, line: Line<'_>) -> Option<String> {
        let (around, own) = self.name.rsplit_once("::")?;
        let is_inside = self.first.is_some_and(|it| it < line.line);
        let is_block = self.is_coroutine && own.starts_with("{async_block#");
        (is_block && is_inside).then(|| around.to_owned())
    }
}

/// Returns the first line of a frame of a function, in the file of its declaration, without inlined calls.
fn first_line(module: &Module, function: &Function, frame: &FunctionFrame<'_>) -> Option<u32> {
    let declared = declaration(function, frame)?;
    let is_whole = frame.inlined.is_none();
    let ranges = function.ranges.iter().filter(|_| is_whole);
    let rows = ranges.flat_map(|range| module.rows_in(*range));
    let own = rows.filter(|row| function.frames_at(row.range.start).len() == 1);
    let lines = own.filter_map(|row| row.location);
    let lines = lines.filter(|it| it.file == declared.file && it.line > 0);
    lines.map(|it| it.line).chain([declared.line]).min()
}
