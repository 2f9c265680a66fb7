//! Methods of rows of elements and of texts.

use super::code::{Address, BoolExpr, Int, Loop, Operation, Order, Width};
use super::containers::{Row, compare};
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::ir::Expr;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// Maximum length in bytes of a text to search for.
const MAX_SOUGHT: usize = 64;

impl Row {
    /// Returns an integer that is valid only if the container is.
    pub(super) fn checked(&self, int: Int) -> Int {
        int.unless(self.invalid.clone())
    }

    /// Returns a truth value that is valid only if the container is.
    pub(super) fn decided(&self, truth: BoolExpr) -> BoolExpr {
        self.invalid.clone().choice(BoolExpr::Deopt, truth)
    }

    /// Returns an element by an index that is below the length of a valid row.
    pub(super) fn nth(&self, index: Int) -> RuntimeValue {
        let size = self.element.size().unwrap_or(0);
        let address = Address::pointed(self.at.clone()).indexed(index, size);
        RuntimeValue::new(self.element.clone(), RuntimeLocation::Memory(address))
    }
}

fn word(operation: Operation, a: Int, b: Int) -> Int {
    Int::binary(operation, a, b, Width::WORD, false)
}

impl Compiler<'_> {
    /// Returns a loop over the indices below a count.
    ///
    /// # Errors
    /// The condition cannot be compiled; there are too many loops.
    pub(super) fn over(
        &self,
        count: Int,
        holds: &dyn Fn(Int) -> Result<BoolExpr, NotCompilable>,
    ) -> Result<Box<Loop>, NotCompilable> {
        let number = self.loops.get();
        let next = number.checked_add(1).ok_or("too many searches")?;
        self.loops.set(next);
        let holds = holds(Int::Index(number))?;
        Ok(Box::new(Loop {
            count,
            number,
            holds,
        }))
    }

    /// Compiles a method of a row; `None` for other methods.
    pub(super) fn of_row(
        &self,
        row: &Row,
        object: &RuntimeValue,
        (name, arguments): (&str, &[Expr<'_>]),
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let is_rust = object.ty.language() == Language::Rust || object.ty.same_as(&Ty::Text);
        let units = |bytes: Int| match row.text {
            Some(2 | 4) => Err("a wide-character string"),
            _ => Ok(bytes),
        };
        let last = || word(Operation::Sub, row.len.clone(), Int::Constant(1));
        Ok(Some(match (name, arguments) {
            ("len" | "size" | "count" | "length", []) => {
                self.length(row.checked(units(row.len.clone())?))
            }
            ("is_empty" | "empty", []) => {
                let none = compare(Order::Eq, &row.len, &Int::Constant(0));
                self.boolean(row.decided(none))
            }
            ("front", []) => self.element(row, Int::Constant(0))?,
            ("at", [index]) => {
                let by = self.word(index)?;
                self.element(row, by)?
            }
            ("back", []) => {
                let none = compare(Order::Eq, &row.len, &Int::Constant(0));
                row.nth(last().unless(row.invalid.clone().or(none)))
            }
            ("data" | "c_str", []) => RuntimeValue::new(
                returns.clone(),
                RuntimeLocation::Int(row.checked(row.at.clone()), Width::WORD),
            ),
            ("first", []) => self.option_of(row, Int::Constant(0), returns)?,
            ("last", []) => self.option_of(row, last(), returns)?,
            ("get", [index]) if !row.is_text() => {
                let by = self.word(index)?;
                self.option_of(row, by, returns)?
            }
            ("find", [text]) if row.is_text() && !is_rust => {
                return self.position(row, text, returns).map(Some);
            }
            ("starts_with" | "ends_with" | "contains", [text]) if row.is_text() => {
                return self.sought(row, name, text).map(Some);
            }
            ("contains", [wanted]) => {
                let wanted = self.lower(wanted)?;
                let holds = |index| self.equal(&row.nth(index), &wanted);
                let found = BoolExpr::Any(self.over(row.len.clone(), &holds)?);
                self.boolean(row.decided(found))
            }
            (
                "as_str" | "as_slice" | "as_ref" | "as_bytes" | "deref" | "borrow" | "iter"
                | "to_string" | "to_owned" | "clone" | "to_vec" | "into_iter" | "as_mut_str",
                [],
            ) if is_rust => RuntimeValue::new(
                returns.clone(),
                RuntimeLocation::Referent(std::sync::Arc::new(object.clone())),
            ),
            _ => return Ok(None),
        }))
    }

    /// Returns a reference to an element as an option: `None` beyond the end.
    fn option_of(
        &self,
        row: &Row,
        index: Int,
        returns: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let Some(Contents::Optional(inner)) = library::contents(returns) else {
            return Err(NotCompilable::special_layout(returns));
        };
        let is_within = row.decided(compare(Order::Lt, &index, &row.len));
        let some = row.nth(index).referred(inner);
        Ok(RuntimeValue::choice(
            is_within,
            RuntimeValue::some(returns.clone(), some),
            RuntimeValue::none(returns.clone()),
        ))
    }

    /// Returns a known text or character to search for.
    fn wanted(&self, row: &Row, wanted: &Expr<'_>) -> Result<Vec<u8>, NotCompilable> {
        let text = match &self.lower(wanted)?.plain()? {
            RuntimeValue {
                ty: Ty::Text,
                place: RuntimeLocation::Bytes(bytes),
                ..
            } => bytes.to_vec(),
            value => known_char(value).ok_or("searching for a string of the program")?,
        };
        if row.text != Some(1) {
            return Err("a wide-character string".into());
        }
        match text.len() > MAX_SOUGHT {
            true => Err(NotCompilable::new(format!(
                "the string is longer than {MAX_SOUGHT} bytes"
            ))),
            false => Ok(text),
        }
    }

    /// Compiles the search for the position of a known text or character in a string of C++.
    fn position(
        &self,
        row: &Row,
        wanted: &Expr<'_>,
        returns: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let mut text = self.wanted(row, wanted)?;
        if wanted.ty.same_as(&Ty::Text) {
            // It is passed by its address, so it ends at the first zero.
            let end = text.iter().position(|byte| *byte == 0);
            text.truncate(end.unwrap_or(text.len()));
        }
        let size = Int::Constant(text.len() as u64);
        let is_long = compare(Order::Ge, &row.len, &size);
        let room = word(Operation::Sub, row.len.clone(), size);
        let count = word(Operation::Add, room, Int::Constant(1));
        let at = |index: Int| {
            let address = Address::pointed(row.at.clone()).indexed(index, 1);
            Ok(BoolExpr::Bytes(Box::new(address), text.clone().into()))
        };
        let first = match text.is_empty() {
            true => Int::Constant(0),
            false => {
                let first = Int::First(self.over(count, &at)?);
                Int::choice(is_long, first, Int::Constant(u64::MAX))
            }
        };
        let place = RuntimeLocation::Int(row.checked(first), Width::WORD);
        Ok(RuntimeValue::new(returns.clone(), place))
    }

    /// Compiles a search for a known text or character.
    fn sought(
        &self,
        row: &Row,
        name: &str,
        wanted: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let text = self.wanted(row, wanted)?;
        let size = Int::Constant(text.len() as u64);
        let room = || word(Operation::Sub, row.len.clone(), size.clone());
        let is_long = compare(Order::Ge, &row.len, &size);
        let at = |index: Int| {
            let address = Address::pointed(row.at.clone()).indexed(index, 1);
            BoolExpr::Bytes(Box::new(address), text.clone().into())
        };
        let found = match (name, &text[..]) {
            (_, []) => BoolExpr::Constant(true),
            ("starts_with", _) => at(Int::Constant(0)),
            ("ends_with", _) => at(room()),
            _ => {
                let count = word(Operation::Add, room(), Int::Constant(1));
                BoolExpr::Any(self.over(count, &|index| Ok(at(index)))?)
            }
        };
        Ok(self.boolean(row.decided(is_long.and(found))))
    }

    fn length(&self, len: Int) -> RuntimeValue {
        let like = crate::expr::arith::size(0, self.language);
        RuntimeValue::new(like.ty, RuntimeLocation::Int(len, Width::WORD))
    }
}

/// Returns the bytes of a known character: of Rust's `char`, or of one byte in C++.
fn known_char(value: &RuntimeValue) -> Option<Vec<u8>> {
    let known = value.known()?;
    let Shape::Scalar(scalar) = known.ty.shape() else {
        return None;
    };
    let bits = u32::try_from(known.raw(&super::probe::NoProcess).ok()?).ok()?;
    match scalar.kind {
        ScalarKind::Utf => Some(char::from_u32(bits)?.to_string().into_bytes()),
        _ if scalar.is_narrow_character() => Some(vec![bits as u8]),
        _ => None,
    }
}
