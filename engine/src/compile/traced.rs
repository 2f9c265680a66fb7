//! What the program computes of a tracepoint's query at a hit: numbers for the columns of tables, and
//! captured values for keys and records.

use super::captured::{Block, Captured, Extent, HEAD, Kept};
use super::code::{Address, Base, BoolExpr, Float, Int, Width};
use super::lower::Compiler;
use super::numbers::{float_at, int_of, width};
use super::set::{self, Uses, Work};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, Scope, check, registers};
use crate::arch::Arch;
use crate::expr::Expression;
use crate::expr::check::scalar;
use crate::expr::query::{Aggregate, Query, Scale, Source, Subject, Table};
use crate::inspect::value::scalar::{Float as FloatKind, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use std::ops::Range;

/// Maximum size of a row's keys in bytes.
const MAX_KEY_BYTES: usize = 192;
/// Bytes available for each text that is a key.
const KEY_TEXT: usize = 64;
/// Maximum size in bytes of all captured values of a hit.
const MAX_BYTES: usize = 640;

/// Stands for no number where there may be none.
pub(crate) const NEVER: i64 = i64::MIN;

/// A compiled query.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    /// The numbers of the columns.
    pub(crate) measured: Vec<Measured>,
    /// The values, in the order in which they are captured: the keys of each table, then the record.
    pub(crate) captured: Vec<Captured>,
    /// The tables.
    pub(crate) tables: Vec<TracedTable>,
    /// The captured values of a record.
    pub(crate) record: Range<usize>,
    /// The numbers and captured values that are known when a call returns.
    pub(crate) late: Late,
    /// The times since passes of other places, in the query's order.
    pub(crate) sinces: Vec<TracedSince>,
}

/// A time since a pass of another place: indices of numbers and of captured values, which get it once
/// the others are known.
#[derive(Clone, Default, Debug)]
pub(crate) struct TracedSince {
    /// The number that is the key.
    pub(crate) key: usize,
    pub(crate) numbers: Vec<usize>,
    pub(crate) values: Vec<usize>,
}

/// What the query's own code does not compute at the entry: indices of numbers and of captured values.
#[derive(Clone, Default, Debug)]
pub(crate) struct Late {
    pub(crate) elapsed_numbers: Vec<usize>,
    pub(crate) elapsed_values: Vec<usize>,
    pub(crate) returned_numbers: Vec<usize>,
    pub(crate) returned_values: Vec<usize>,
    /// The results of a function that returns nothing.
    pub(crate) missing_numbers: Vec<usize>,
    /// The calls in progress: known at the entry, from what the program keeps.
    pub(crate) path_values: Vec<usize>,
}

impl Late {
    /// Returns whether nothing is: no calls are recorded.
    pub(crate) fn is_empty(&self) -> bool {
        let all = [
            &self.elapsed_numbers,
            &self.elapsed_values,
            &self.returned_numbers,
            &self.returned_values,
            &self.missing_numbers,
            &self.path_values,
        ];
        all.iter().all(|it| it.is_empty())
    }
}

/// The function whose calls are recorded.
pub(crate) struct Calls {
    /// The value that it returns, at the instruction by which it returns.
    pub(crate) returned: Result<RuntimeValue, NotCompilable>,
    /// Whether each call has it.
    pub(crate) presence: Presence,
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct TracedTable {
    /// Its captured keys.
    pub(crate) keys: Range<usize>,
    /// What distinguishes each key.
    pub(crate) parts: Vec<KeyPart>,
    /// Maximum size of the keys in bytes.
    pub(crate) key_bytes: usize,
    /// Its columns.
    pub(crate) columns: Vec<TracedColumn>,
}

/// The captured bytes that distinguish a key from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyPart {
    /// Words, from an offset in bytes on.
    Words { from: usize, count: usize },
    /// The text of the block whose header is at this offset.
    Text { head: usize },
}

/// A column: what is computed, and of which number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TracedColumn {
    pub(crate) aggregate: Aggregate,
    pub(crate) number: usize,
    pub(crate) kind: NumberKind,
    pub(crate) presence: Presence,
}

/// Whether a hit has the number of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    Always,
    /// Unless it is [`NEVER`].
    UnlessNever,
    /// Unless the call ends by a jump to another function, which returns the result.
    WithResult,
    /// The function returns nothing.
    Absent,
}

impl TracedColumn {
    /// Returns whether a hit may have no number.
    pub(crate) fn is_optional(self) -> bool {
        self.presence != Presence::Always
    }
}

/// The meaning of a number's 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberKind {
    Signed,
    Unsigned,
    Float,
}

/// A number that is computed at a hit.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(super) number: Number,
    pub(super) uses: Uses,
    kind: NumberKind,
}

#[derive(Clone, Debug)]
pub(super) enum Number {
    Int(Int),
    Float(Float),
}

impl Measured {
    /// Compiles the number in the value of `expression`.
    fn compile(expression: &Expression, scope: &dyn Scope) -> Result<Measured, NotCompilable> {
        let value = Compiler::new(expression, scope).value(expression.root())?;
        Measured::of_value(value, scope)
    }

    fn of_value(mut value: RuntimeValue, scope: &dyn Scope) -> Result<Measured, NotCompilable> {
        if let Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) = value.ty.shape() {
            value = value.pointee(&of)?;
        }
        let encoding = scalar(&value.ty).ok_or_else(|| NotCompilable::not_a_value(&value.ty))?;
        let (number, kind) = match encoding.kind {
            ScalarKind::Float(FloatKind::Single) => {
                (Number::Float(float_at(&value, true)?), NumberKind::Float)
            }
            ScalarKind::Float(FloatKind::Double) => {
                (Number::Float(float_at(&value, false)?), NumberKind::Float)
            }
            ScalarKind::Float(_) | ScalarKind::Complex(_) => {
                return Err("only floats of 32 and 64 bits are added up in the program".into());
            }
            _ => {
                let kind = match encoding.is_signed() {
                    true => NumberKind::Signed,
                    false => NumberKind::Unsigned,
                };
                (Number::Int(int_of(&value, width(encoding)?)?), kind)
            }
        };
        let arch = scope.arch();
        check(
            arch,
            match &number {
                Number::Int(int) => int.needs(),
                Number::Float(float) => float.needs(),
            },
        )?;
        let mut measured = Measured {
            number,
            uses: Uses::default(),
            kind,
        };
        measured.uses = set::uses(arch, Work::Measure(&measured))?;
        Ok(measured)
    }

    /// Compiles the address of the frame at an address of its code: what [`dwarf::Module`] says.
    pub(crate) fn frame_address(
        (register, offset): (dwarf::Register, i64),
        scope: &dyn Scope,
    ) -> Result<Measured, NotCompilable> {
        let address = Address::of(Base::Register(register), offset);
        let place = RuntimeLocation::Int(Int::Address(Box::new(address)), Width::WORD);
        Measured::of_value(RuntimeValue::new(word(), place), scope)
    }

    /// Like [`super::Condition::clobbers`].
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> + use<> {
        registers(self.uses.general)
    }
}

/// Returns the type of a word.
fn word() -> Ty {
    Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 8), "unsigned long")
}

/// Returns a word that is written later.
fn nothing() -> RuntimeValue {
    RuntimeValue::new(word(), RuntimeLocation::Int(Int::Constant(0), Width::WORD))
}

/// Returns a time that is written later, and may be none.
fn no_time() -> RuntimeValue {
    let ty = Ty::Builtin(Scalar::new(ScalarKind::Signed, 8), "long");
    RuntimeValue::new(ty, RuntimeLocation::Int(Int::Constant(0), Width::WORD))
}

fn returned(calls: Option<&Calls>) -> Result<RuntimeValue, NotCompilable> {
    match calls {
        Some(calls) => calls.returned.clone(),
        None => Err("no call is recorded".into()),
    }
}

/// Returns whether a value is captured at all: the name of the function is known without.
fn is_captured(subject: &Subject) -> bool {
    !matches!(subject.value, Source::Function)
}

impl Traced {
    /// Returns whether programs can record by themselves on this processor.
    pub(crate) fn is_possible(arch: Arch) -> bool {
        set::check_tracing(arch).is_ok()
    }

    /// Compiles a query in `scope`.
    ///
    /// # Errors
    /// Why the debugger has to evaluate each hit.
    pub(crate) fn compile(
        query: &Query,
        calls: Option<&Calls>,
        scope: &dyn Scope,
    ) -> Result<Traced, NotCompilable> {
        set::check_tracing(scope.arch())?;
        let mut traced = Traced {
            measured: Vec::new(),
            captured: Vec::new(),
            tables: Vec::new(),
            record: 0..0,
            late: Late::default(),
            sinces: Vec::new(),
        };
        let keys = query.sinces.iter().map(|since| &since.key);
        for key in keys.chain(&query.mark) {
            let measured = Measured::compile(expression_of(key)?, scope)?;
            if measured.kind == NumberKind::Float {
                return Err(NotCompilable::new(format!(
                    "`{}` is not a whole number",
                    key.text
                )));
            }
            traced.sinces.push(TracedSince {
                key: traced.measured.len(),
                ..TracedSince::default()
            });
            traced.measured.push(measured);
        }
        for table in &query.tables {
            traced.add_table(table, calls, scope)?;
        }
        let first = traced.captured.len();
        for subject in query.record.iter().filter(|it| is_captured(it)) {
            traced.capture(subject, calls, scope)?;
        }
        traced.record = first..traced.captured.len();
        let keys: usize = traced.captured[..first].iter().map(Captured::most).sum();
        let recorded = &mut traced.captured[first..];
        let least: usize = recorded.iter().map(|it| it.least()).sum();
        let texts: usize = recorded.iter().map(|it| it.texts()).sum();
        let left = MAX_BYTES.checked_sub(keys + least);
        let left = left.ok_or("the tracepoint has too many values for the program")?;
        // All texts get the same room; a hit with a longer one is a deopt.
        let room = left.checked_div(texts).unwrap_or(0) & !7;
        for captured in recorded {
            captured.set_room(room)?;
        }
        Ok(traced)
    }

    /// Adds a captured value, and returns it.
    fn capture(
        &mut self,
        subject: &Subject,
        calls: Option<&Calls>,
        scope: &dyn Scope,
    ) -> Result<&mut Captured, NotCompilable> {
        let index = self.captured.len();
        let captured = match subject.value {
            Source::Elapsed => {
                self.late.elapsed_values.push(index);
                Captured::of_word(&nothing(), scope)?
            }
            Source::Returned => {
                self.late.returned_values.push(index);
                Captured::of_word(&returned(calls)?, scope)?
            }
            Source::CallPath | Source::CallDepth => {
                self.late.path_values.push(index);
                Captured::of_word(&nothing(), scope)?
            }
            Source::Since(since) => {
                self.since(since)?.values.push(index);
                Captured::of_word(&no_time(), scope)?
            }
            _ => Captured::compile(expression_of(subject)?, scope)?,
        };
        self.captured.push(captured);
        self.captured.last_mut().ok_or_else(|| "no value".into())
    }

    fn since(&mut self, index: usize) -> Result<&mut TracedSince, NotCompilable> {
        let since = self.sinces.get_mut(index);
        since.ok_or_else(|| "the place of a `since` is unknown".into())
    }

    /// Adds a number, and returns its kind.
    fn measure(
        &mut self,
        subject: &Subject,
        calls: Option<&Calls>,
        scope: &dyn Scope,
    ) -> Result<NumberKind, NotCompilable> {
        let index = self.measured.len();
        let measured = match subject.value {
            Source::Elapsed => {
                self.late.elapsed_numbers.push(index);
                Measured::of_value(nothing(), scope)?
            }
            Source::Returned => {
                self.late.returned_numbers.push(index);
                Measured::of_value(returned(calls)?, scope)?
            }
            Source::Since(since) => {
                self.since(since)?.numbers.push(index);
                Measured::of_value(no_time(), scope)?
            }
            Source::Nothing => {
                self.late.missing_numbers.push(index);
                Measured::of_value(nothing(), scope)?
            }
            _ => Measured::compile(expression_of(subject)?, scope)?,
        };
        let kind = measured.kind;
        self.measured.push(measured);
        Ok(kind)
    }

    fn add_table(
        &mut self,
        table: &Table,
        calls: Option<&Calls>,
        scope: &dyn Scope,
    ) -> Result<(), NotCompilable> {
        let first = self.captured.len();
        let mut parts = Vec::new();
        for key in table.keys.iter().filter(|it| is_captured(it)) {
            let captured = self.capture(key, calls, scope)?;
            captured.set_room(KEY_TEXT)?;
            let part = KeyPart::of(captured);
            let refused = |why| NotCompilable::new(format!("`{}` {why}", key.text));
            parts.push(part.map_err(refused)?);
        }
        let key_bytes = self.captured[first..].iter().map(Captured::most).sum();
        if key_bytes > MAX_KEY_BYTES {
            return Err("the keys are too large for the program".into());
        }
        let mut columns = Vec::new();
        for column in &table.columns {
            // Each row counts its hits anyway.
            let Some(subject) = &column.value else {
                columns.push(TracedColumn {
                    aggregate: column.aggregate,
                    number: 0,
                    kind: NumberKind::Unsigned,
                    presence: Presence::Always,
                });
                continue;
            };
            let number = self.measured.len();
            let kind = self.measure(subject, calls, scope)?;
            if kind == NumberKind::Float
                && matches!(column.aggregate, Aggregate::Histogram(Scale::Linear { .. }))
            {
                return Err("a linear histogram of floats is not made in the program".into());
            }
            columns.push(TracedColumn {
                aggregate: column.aggregate,
                number,
                kind,
                presence: match subject.value {
                    Source::Since(_) | Source::Elapsed => Presence::UnlessNever,
                    Source::Nothing => Presence::Absent,
                    Source::Returned => calls.map_or(Presence::Always, |calls| calls.presence),
                    _ => Presence::Always,
                },
            });
        }
        self.tables.push(TracedTable {
            keys: first..self.captured.len(),
            parts,
            key_bytes,
            columns,
        });
        Ok(())
    }

    /// Returns the maximum size of the captured values in bytes.
    pub(crate) fn captured_bytes(&self) -> usize {
        self.captured.iter().map(Captured::most).sum()
    }

    /// Returns the maximum size of a record's values in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        self.captured[self.record.clone()]
            .iter()
            .map(Captured::most)
            .sum()
    }

    /// Like [`super::Condition::clobbers`].
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> {
        let measured = self.measured.iter().flat_map(Measured::clobbers);
        measured.chain(self.captured.iter().flat_map(Captured::clobbers))
    }

    /// Returns whether the values use vector registers, or floats are added up.
    pub(crate) fn uses_vectors(&self) -> bool {
        let adds = |column: &TracedColumn| {
            column.kind == NumberKind::Float
                && matches!(column.aggregate, Aggregate::Sum | Aggregate::Mean)
        };
        self.measured.iter().any(|it| it.uses.vectors)
            || self.captured.iter().any(Captured::uses_vectors)
            || self
                .tables
                .iter()
                .any(|table| table.columns.iter().any(adds))
    }
}

impl KeyPart {
    /// Returns what distinguishes a captured key: not the address of a text or an object.
    ///
    /// # Errors
    /// The program cannot tell such keys apart; why.
    fn of(captured: &Captured) -> Result<KeyPart, &'static str> {
        const TOO_LARGE: &str = "is too large for a key in the program";
        const HAS_PARTS: &str =
            "has a text or elements besides other parts, which is no key in the program";
        let own = captured.own_bytes();
        let always = |block: &Block| matches!(block.when, BoolExpr::Constant(true));
        match (&captured.kept, &captured.blocks[..]) {
            (Kept::Words(..) | Kept::Float(..), []) => Ok(KeyPart::Words {
                from: 0,
                count: own / 8,
            }),
            (Kept::Block, [block]) => match block.extent {
                Extent::Bytes(size) if always(block) => Ok(KeyPart::Words {
                    from: HEAD,
                    count: size.div_ceil(8),
                }),
                _ => Err(TOO_LARGE),
            },
            (_, [.., last]) if last.most().is_some() && !captured.is_one_row() => Err(HAS_PARTS),
            (_, [before @ .., last]) if last.most().is_some() => {
                let mut head = own;
                for block in before {
                    match block.extent {
                        Extent::Bytes(size) if always(block) => {
                            head += HEAD + size.next_multiple_of(8);
                        }
                        _ => return Err(TOO_LARGE),
                    }
                }
                Ok(KeyPart::Text { head })
            }
            _ => Err(TOO_LARGE),
        }
    }
}

fn expression_of(subject: &Subject) -> Result<&Expression, NotCompilable> {
    match &subject.value {
        Source::Expression(expression) => Ok(expression),
        Source::Stack(_) => Err("the debugger unwinds the stack".into()),
        Source::Function
        | Source::Arguments
        | Source::Elapsed
        | Source::Returned
        | Source::CallPath
        | Source::CallDepth
        | Source::Nothing
        | Source::Since(_) => Err(NotCompilable::new(format!(
            "`{}` is known only to the debugger",
            subject.text
        ))),
    }
}
