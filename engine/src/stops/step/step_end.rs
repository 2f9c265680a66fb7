//! Where in its function a step ends.

use super::filter::StepFilter;
use super::region::Part;
use super::start::inlined_at;
use super::step_range::{Mode, StepRange};
use super::view::View;
use crate::inspect::inlined::calls_begun;
use dwarf::{FileAddr, LineRow, LoadAddr, SourceLocation};

impl StepRange {
    /// Returns whether an address is in the function of the step.
    pub(super) fn is_ours(&self, view: &View<'_>, addr: LoadAddr) -> bool {
        let bias = self.start.bias;
        view.modules.at(addr).is_some_and(|it| it.bias == bias)
            && self.start.function.contains(bias.file(addr))
    }

    /// Returns whether the step ends on arrival at `addr` in its function; if so, the number of
    /// inlined calls that begin there and are not entered.
    pub(super) fn place(&self, view: &View<'_>, addr: LoadAddr) -> Option<usize> {
        let loaded = view.modules.at(addr)?;
        let rows = |addr| loaded.module.row_at(addr);
        self.place_among(&rows, view.filters, loaded.bias.file(addr))
    }

    /// Like [`Self::place`], for an address of the file that has these rows.
    pub(super) fn place_among(
        &self,
        rows: &dyn Fn(FileAddr) -> Option<LineRow>,
        filters: StepFilter<'_>,
        addr: FileAddr,
    ) -> Option<usize> {
        if self.arguments.is_some_and(|it| it.contains(addr)) {
            return None;
        }
        let row = rows(addr)?;
        let inlined = inlined_at(&self.start.function, addr);
        let begins = row.range.start == addr;
        let beginning = self.begun_calls(&inlined, addr);
        if let Mode::IntoInlined(at, hidden) = self.mode
            && self.start.bias.file(at) == addr
        {
            return Some(hidden.min(beginning));
        }
        if beginning > 0
            && let Some(done) = self.before_inlined_calls(filters, &row, &inlined, addr, beginning)
        {
            return done;
        }
        let outside = !inlined.starts_with(&self.start.inlined);
        let deeper = !outside && inlined.len() > self.start.inlined.len();
        let at_start = row.is_stmt && begins;
        // Compiler-generated code belongs to the code around it.
        let line = row.location.as_ref()?;
        // A resumed future first executes the dispatch to its suspension point.
        let resumes = self.coroutine.is_some()
            && self.entry_line(rows) == Some(line.line)
            && inlined.is_empty();
        let resumes = resumes || self.resumes_inlined(addr, line);
        if resumes || self.is_filtered(filters, line) || self.awaits_on(&inlined, line) {
            return None;
        }
        let Some(start_line) = &self.start.line else {
            // Stepping out of an inlined call.
            return outside.then_some(0);
        };
        if deeper {
            return (self.mode == Mode::Into && at_start).then_some(0);
        }
        if !outside && line.line == start_line.line && line.file == start_line.file {
            let columns = (line.column, start_line.column);
            let another = columns.0 != columns.1 && columns.0 != 0 && columns.1 != 0;
            // Compilers mark only the first statement of a line.
            return (self.statements && another && begins).then_some(0);
        }
        (at_start || outside).then_some(0)
    }

    /// Returns how many of the inlined calls at an address begin there. Calls in which the step
    /// begins do not count: a loop in them leads back to their entry.
    pub(super) fn begun_calls(&self, inlined: &[dwarf::DieRef], addr: FileAddr) -> usize {
        let both = inlined.iter().zip(&self.start.inlined);
        let kept = both.take_while(|(here, start)| here == start).count();
        match inlined.len() - kept {
            0 => 0,
            more => more.min(calls_begun(&self.start.function, addr, addr)),
        }
    }

    /// Classifies an address of the function where no step ends, relative to the line of the step.
    pub(super) fn part(&self, view: &View<'_>, addr: LoadAddr) -> Part {
        match view.modules.at(addr) {
            Some(loaded) => {
                let rows = |addr| loaded.module.row_at(addr);
                self.part_among(&rows, loaded.bias.file(addr))
            }
            None => Part::Line,
        }
    }

    /// Like [`Self::part`], for an address of the file that has these rows.
    pub(super) fn part_among(
        &self,
        rows: &dyn Fn(FileAddr) -> Option<LineRow>,
        addr: FileAddr,
    ) -> Part {
        let (Some(ours), Some(row)) = (&self.start.line, rows(addr)) else {
            return Part::Line;
        };
        let function = &self.start.function;
        let inlined = inlined_at(function, addr);
        let Some(deeper) = inlined.strip_prefix(self.start.inlined.as_slice()) else {
            return Part::Elsewhere;
        };
        match self.start.line_shown(&row, addr) {
            Some(line) if line.line != ours.line || line.file != ours.file => Part::Elsewhere,
            Some(_) => {
                let begun = self.begun_calls(&inlined, addr);
                let is_statement = match begun {
                    0 => row.is_stmt && row.range.start == addr,
                    _ => true,
                };
                match is_statement && begun == deeper.len() {
                    true => Part::Statement,
                    false => Part::Line,
                }
            }
            // Compiler-generated code belongs to the code around it.
            None => Part::Line,
        }
    }

    /// Returns whether two addresses are in one range of the function.
    pub(super) fn are_joined(&self, one: LoadAddr, other: LoadAddr) -> bool {
        let bias = self.start.bias;
        let (one, other) = (bias.file(one), bias.file(other));
        let mut ranges = self.start.function.ranges.iter();
        ranges.any(|range| range.contains(one) && range.contains(other))
    }

    /// Returns whether the inlined body of an `async fn` dispatches to its suspension point at
    /// `addr`.
    fn resumes_inlined(&self, addr: FileAddr, line: &SourceLocation) -> bool {
        let frames = self.start.function.frames_at(addr);
        let innermost = frames.first().and_then(|frame| frame.inlined);
        innermost
            .filter(|call| call.coroutine.is_some())
            .is_some_and(|call| {
                let declaration = call.declaration.as_ref();
                declaration.is_some_and(|it| it.line == line.line && it.file == line.file)
            })
    }

    /// Returns whether this line, in these inlined calls, awaits the future that the step has left:
    /// it may be suspended, and continues when it is polled again.
    fn awaits_on(&self, inlined: &[dwarf::DieRef], line: &SourceLocation) -> bool {
        let both = inlined.iter().zip(&self.start.inlined);
        let kept = both.take_while(|(here, start)| here == start).count();
        let left = self.start.awaits.get(kept).and_then(Option::as_ref);
        left.is_some_and(|it| it.line == line.line && it.file == line.file)
    }

    /// Returns the line of the function's entry; that of its declaration if the first instruction
    /// has none.
    fn entry_line(&self, rows: &dyn Fn(FileAddr) -> Option<LineRow>) -> Option<u32> {
        let function = &self.start.function;
        let entry = rows(function.entry).and_then(|row| row.location);
        let line = entry.as_ref().or(function.declaration.as_ref());
        line.map(|line| line.line)
    }

    fn is_filtered(&self, filters: StepFilter<'_>, location: &dwarf::SourceLocation) -> bool {
        let file = &location.file;
        filters.lacks(file) || self.filtered && filters.skips(file)
    }

    /// Decides at an address where `beginning` inlined calls begin: the user sees the line of the
    /// call. Returns the number of calls to hide if the step ends here, `Some(None)` if it
    /// continues, and `None` if that cannot be determined.
    fn before_inlined_calls(
        &self,
        filters: StepFilter<'_>,
        row: &LineRow,
        inlined: &[dwarf::DieRef],
        addr: FileAddr,
        beginning: usize,
    ) -> Option<Option<usize>> {
        let outer = inlined.get(..inlined.len().checked_sub(beginning)?)?;
        let outside = !outer.starts_with(&self.start.inlined);
        let frames = self.start.function.frames_at(addr);
        // The line of the frame with this number.
        let location = |level: usize| match level.checked_sub(1) {
            Some(inner) => frames.get(inner)?.inlined?.call_site.as_ref(),
            None => row.location.as_ref(),
        };
        let outermost = location(beginning)?;
        if outside {
            let passed = self.is_filtered(filters, outermost) || self.awaits_on(outer, outermost);
            return (!passed).then_some(Some(beginning));
        }
        let start = self.start.line.as_ref()?;
        let elsewhere = outermost.line != start.line || outermost.file != start.file;
        let is_deeper = outer.len() > self.start.inlined.len();
        if elsewhere
            && !self.is_filtered(filters, outermost)
            && !(is_deeper && self.mode != Mode::Into)
        {
            return Some(Some(beginning));
        }
        if self.mode != Mode::Into {
            return Some(None);
        }
        // `step in` enters the outermost one with source to show.
        let mut levels = (0..beginning).rev();
        let shown =
            |level: &usize| location(*level).is_some_and(|it| !self.is_filtered(filters, it));
        Some(levels.find(shown))
    }
}
