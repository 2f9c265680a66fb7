//! Which of the frames at an address a line belongs to: the function's own, or that of one of the
//! calls inlined there. Compilers give one instruction rows of several of them.

use dwarf::{FileAddr, Function, FunctionFrame, SourceFile, SourceLocation};

/// A line as it was asked for.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub file: &'a SourceFile,
    pub line: u32,
}

impl Line<'_> {
    pub fn is_at(self, location: &SourceLocation) -> bool {
        location.line == self.line && location.file.path == self.file.path
    }

    /// Whether the function of a frame may have the line, as far as its declaration tells.
    fn may_be_in(self, function: &Function, frame: &FunctionFrame<'_>) -> bool {
        let declared = declaration(function, frame);
        declared.is_some_and(|it| it.line <= self.line && it.file.path == self.file.path)
    }
}

/// Where the function of a frame was declared.
pub fn declaration<'a>(
    function: &'a Function,
    frame: &FunctionFrame<'a>,
) -> Option<&'a SourceLocation> {
    match frame.inlined {
        Some(call) => call.declaration.as_ref(),
        None => function.declaration.as_ref(),
    }
}

/// How many inlined calls to leave out at `addr`, innermost first, so that the frame left is the
/// one that the line belongs to. `row`: what the line table says of the code there.
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
    // A lambda may be called on the line that has its body.
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
    // Of functions in each other the inner one is declared further down.
    let fitting = frames.iter().enumerate();
    let fitting = fitting.filter(|(_, frame)| line.may_be_in(function, frame));
    let closest = fitting.max_by_key(|(depth, frame)| {
        let declared = declaration(function, frame).map_or(0, |it| it.line);
        (declared, std::cmp::Reverse(*depth))
    });
    closest.map_or(0, |(depth, _)| depth)
}
