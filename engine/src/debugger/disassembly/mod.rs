//! Disassembly: any number of instructions around an address, and whole functions.

mod decode;
mod listing;
mod text;

pub use crate::arch::Flavor;
pub use listing::Listing;

use crate::debugger::Debugger;
use crate::ids::error::Error;
use decode::{Row, RowKind};
use dwarf::{AddrRange, LineRow, LoadAddr, LoadBias, SourceLocation};
use std::sync::Arc;
use text::{Names, Writer};

/// Maximum number of instructions per request.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// One instruction, or a byte that is not one.
#[derive(Clone, Debug)]
pub struct Disassembled {
    /// Its address.
    pub address: LoadAddr,
    /// Its bytes without breakpoints; empty if the memory is unreadable.
    pub bytes: Vec<u8>,
    /// Text for display.
    pub text: String,
    /// The function that contains it, if names are requested.
    pub symbol: Option<Arc<str>>,
    /// Its source position.
    pub location: Option<SourceLocation>,
    /// Whether it is an instruction.
    pub is_valid: bool,
}

/// The instructions to disassemble.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The reference address.
    pub addr: LoadAddr,
    /// Index of the first instruction relative to the one at `addr`; negative: before it.
    pub first: i64,
    /// Number of instructions.
    pub count: usize,
    /// Assembly syntax.
    pub flavor: Flavor,
    /// Whether to add symbol names to addresses.
    pub names: bool,
}

impl Debugger {
    /// Returns exactly the requested number of rows; invalid bytes have rows, too. Breakpoints are
    /// not visible in the code. The process may run.
    ///
    /// # Errors
    /// There is no process; more than [`MAX_INSTRUCTIONS`] instructions are requested, or start
    /// farther away.
    pub fn disassemble(&self, wanted: &Wanted) -> Result<Vec<Disassembled>, Error> {
        self.process_with_memory()?;
        let skipped = wanted.first.unsigned_abs();
        if wanted.count > MAX_INSTRUCTIONS || skipped > MAX_INSTRUCTIONS as u64 {
            return Err(Error::Unsupported(format!(
                "too many instructions: at most {MAX_INSTRUCTIONS} per request, and at most as \
                 far from the address"
            )));
        }
        let skipped = skipped as usize;
        let rows = if wanted.first < 0 {
            let mut rows = self.rows_before(wanted.addr, skipped);
            match wanted.count.checked_sub(skipped) {
                Some(more) => rows.extend(self.rows_from(wanted.addr, more)),
                None => rows.truncate(wanted.count),
            }
            rows
        } else {
            let rows = self.rows_from(wanted.addr, skipped.saturating_add(wanted.count));
            rows.into_iter().skip(skipped).collect()
        };
        Ok(self.written(rows, wanted.flavor, wanted.names))
    }

    fn written(&self, rows: Vec<Row>, flavor: Flavor, names: bool) -> Vec<Disassembled> {
        let lines = Lines::of(self, &rows);
        let mut names = names.then(|| Names::new(&self.images.modules));
        let mut writer = Writer::new(self.images.modules.arch(), flavor);
        rows.into_iter()
            .map(|row| Disassembled {
                address: row.addr,
                symbol: names.as_mut().and_then(|it| it.function_at(row.addr)),
                location: lines.at(row.addr),
                text: match &row.kind {
                    RowKind::Instruction(instruction) => writer.text(instruction, names.as_mut()),
                    RowKind::Bad => "(bad)".to_owned(),
                    RowKind::Unreadable => "(unreadable)".to_owned(),
                },
                is_valid: matches!(row.kind, RowKind::Instruction(_)),
                bytes: row.bytes,
            })
            .collect()
    }
}

/// The line table rows for some instructions.
struct Lines(Vec<(LoadBias, Vec<LineRow>)>);

impl Lines {
    fn of(debugger: &Debugger, rows: &[Row]) -> Self {
        let with_memory = rows.iter().filter(|row| !row.bytes.is_empty());
        let mut found: Vec<(LoadBias, Vec<LineRow>)> = Vec::new();
        let mut rows = with_memory.peekable();
        while let Some(first) = rows.next() {
            let Some(loaded) = debugger.images.modules.at(first.addr) else {
                continue;
            };
            let mut end = first.end();
            while let Some(next) = rows.next_if(|next| loaded.range.contains(next.addr)) {
                end = next.end();
            }
            let range = AddrRange::new(loaded.bias.file(first.addr), loaded.bias.file(end));
            found.push((loaded.bias, loaded.module.rows_in(range)));
        }
        Self(found)
    }

    fn at(&self, addr: LoadAddr) -> Option<SourceLocation> {
        self.0.iter().find_map(|(bias, rows)| {
            let addr = bias.file(addr);
            let behind = rows.partition_point(|row| row.range.start <= addr);
            let row = rows.get(behind.checked_sub(1)?)?;
            row.range.contains(addr).then(|| row.location.clone())?
        })
    }
}
