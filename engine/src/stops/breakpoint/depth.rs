//! The frame at an address that a line belongs to: the function's own, or that of an inlined call.
//! Compilers give one instruction line table rows of several frames.

use dwarf::{FileAddr, Function, FunctionFrame, SourceFile, SourceLocation};

/// A requested line.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub file: &'a SourceFile,
    pub line: u32,
}

impl Line<'_> {
    pub fn is_at(self, location: &SourceLocation) -> bool {
        location.line == self.line && location.file.path == self.file.path
    }

    /// Returns whether the function of a frame may contain the line, judging by its declaration.
    fn may_be_in(self, function: &Function, frame: &FunctionFrame<'_>) -> bool {
        let declared = declaration(function, frame);
        declared.is_some_and(|it| it.line <= self.line && it.file.path == self.file.path)
    }
}

/// Returns where the function of a frame was declared.
pub fn declaration<'a>(
    function: &'a Function,
    frame: &FunctionFrame<'a>,
) -> Option<&'a SourceLocation> {
    match frame.inlined {
        Some(call) => call.declaration.as_ref(),
        None => function.declaration.as_ref(),
    }
}

/// Returns how many inlined calls to hide at `addr`, innermost first, so that the remaining frame
/// is the one that the line belongs to. `row`: the line table's row for `addr`.
pub fn depth_of(
    function: &Function,
    addr: FileAddr,
    row: Option<&SourceLocation>,
    line: Line<'_>,
) -> usize {
    let frames = function.frames_at(addr);
    let Some(innermost) = frames.first().filter(|_| frames.len() > 1) else {
        return 0;
    };
    let is_code_of_line = row.is_some_and(|row| line.is_at(row));
    // A lambda may be called on the line that contains its body.
    if is_code_of_line && line.may_be_in(function, innermost) {
        return 0;
    }
    let calls = frames.iter().filter_map(|frame| frame.inlined);
    let sites = calls.map(|call| call.call_site.as_ref());
    let made_there = sites
        .enumerate()
        .find(|(_, site)| site.is_some_and(|site| line.is_at(site)));
    if let Some((call, _)) = made_there {
        return call + 1;
    }
    // Of nested functions, the inner one is declared further down.
    let fitting = frames.iter().enumerate();
    let fitting = fitting.filter(|(_, frame)| line.may_be_in(function, frame));
    let closest = fitting.max_by_key(|(depth, frame)| {
        let declared = declaration(function, frame).map_or(0, |it| it.line);
        (declared, std::cmp::Reverse(*depth))
    });
    closest.map_or(0, |(depth, _)| depth)
}
