//! Machine code as text: any number of instructions from an address on or before it, and the
//! whole of a function.

mod decode;
mod listing;
mod text;

pub use listing::{CodeName, Listing};

use crate::debugger::Debugger;
use crate::error::Error;
use decode::{Row, RowKind};
use dwarf::{AddrRange, LineRow, LoadAddr, LoadBias, SourceLocation};
use std::sync::Arc;
use text::{Names, Writer};

/// The most instructions that are looked at for one answer.
pub const MOST: usize = 1 << 18;

/// How instructions are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flavor {
    /// `mov eax, [rbp-0x4]`
    #[default]
    Intel,
    /// `mov -0x4(%rbp), %eax`
    Att,
}

/// One instruction, or a byte that is none.
#[derive(Clone, Debug)]
pub struct Disassembled {
    /// Where it is.
    pub address: LoadAddr,
    /// Its bytes as the program has them; none where there is no memory.
    pub bytes: Vec<u8>,
    /// For people.
    pub text: String,
    /// The function that it is in, where names are wanted.
    pub symbol: Option<Arc<str>>,
    /// The source that it comes from.
    pub location: Option<SourceLocation>,
    /// Whether it is one.
    pub is_valid: bool,
}

/// What is wanted of a disassembly.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Where.
    pub addr: LoadAddr,
    /// The first instruction, counted from the one there; before it if less than 0.
    pub first: i64,
    /// How many.
    pub count: usize,
    /// How they are written.
    pub flavor: Flavor,
    /// Whether addresses in them get names.
    pub names: bool,
}

impl Debugger {
    /// Exactly as many instructions as are wanted; what is none has a row as well. Code is as
    /// the program has it; it may run meanwhile.
    ///
    /// # Errors
    /// There is no process; more than [`MOST`] are wanted, or so far away.
    pub fn disassemble(&self, wanted: &Wanted) -> Result<Vec<Disassembled>, Error> {
        self.process_with_memory()?;
        let skipped = wanted.first.unsigned_abs();
        if wanted.count > MOST || skipped > MOST as u64 {
            return Err(Error::Unsupported(format!(
                "at most {MOST} instructions are disassembled at a time, and as far away; ask for \
                 fewer"
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
        let mut names = names.then(|| Names::new(&self.modules));
        let mut writer = Writer::new(flavor);
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

/// The line tables' rows for some instructions.
struct Lines(Vec<(LoadBias, Vec<LineRow>)>);

impl Lines {
    fn of(debugger: &Debugger, rows: &[Row]) -> Self {
        let with_memory = rows.iter().filter(|row| !row.bytes.is_empty());
        let mut found: Vec<(LoadBias, Vec<LineRow>)> = Vec::new();
        let mut rows = with_memory.peekable();
        while let Some(first) = rows.next() {
            let Some(loaded) = debugger.modules.at(first.addr) else {
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
