//! Texts against texts that the expression has: their order, and the functions of the C library that compare or
//! measure texts. Of what these functions return only the sign is defined.

use super::code::{Address, BoolExpr, Int, Loop, MAX_PASSES, Order, Width};
use super::containers::compare;
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::ir::{Call, Callee, Expr, Kind};
use crate::inspect::library;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// Maximum length in bytes of a text that others are ordered by: the code examines each byte.
const MAX_ORDERED: usize = 24;

const BYTE: Width = Width {
    size: 1,
    signed: false,
};

/// A text that ends before the first byte that is zero.
enum Terminated {
    /// A literal, without its end.
    Literal(Vec<u8>),
    At(Int),
}

/// Returns a byte behind an address.
fn byte(at: &Int, index: Int) -> Int {
    let address = Address::pointed(at.clone()).indexed(index, 1);
    Int::Load(Box::new(address), BYTE)
}

/// Returns whether a text that goes on with the bytes of `at` is in an order to a known one. `has_ended`: whether
/// there is no byte at an index; `at_end`: the result where the texts are alike as far as the known one goes.
fn ordered(
    order: Order,
    known: &[u8],
    at: &Int,
    has_ended: &dyn Fn(u64) -> BoolExpr,
    at_end: BoolExpr,
) -> BoolExpr {
    let of_shorter = BoolExpr::Constant(matches!(order, Order::Lt | Order::Le | Order::Ne));
    let known = known.iter().enumerate().rev();
    known.fold(at_end, |rest, (index, wanted)| {
        let index = index as u64;
        let unit = byte(at, Int::Constant(index));
        let wanted = Int::Constant(u64::from(*wanted));
        let same = compare(Order::Eq, &unit, &wanted);
        let here = same.choice(rest, compare(order, &unit, &wanted));
        has_ended(index).choice(of_shorter.clone(), here)
    })
}

/// Returns a call of a function of the C library that compares texts, under conversions of its result.
fn comparison<'e, 't>(of: &'e Expr<'t>) -> Option<&'e Call<'t>> {
    match &of.kind {
        Kind::Convert(inner) => comparison(inner),
        Kind::Call(call) if is_of_library(call) => {
            matches!(&*call.name, "strcmp" | "strncmp" | "memcmp").then_some(&**call)
        }
        _ => None,
    }
}

fn is_of_library(call: &Call<'_>) -> bool {
    matches!(call.callee, Callee::CLibrary(_))
}

impl Compiler<'_> {
    /// Returns whether a text of the program is in an order to a known one.
    #[inline(never)]
    pub(super) fn order_of_text(
        &self,
        order: Order,
        value: &RuntimeValue,
        known: &[u8],
    ) -> Result<BoolExpr, NotCompilable> {
        if known.len() > MAX_ORDERED {
            return Err(NotCompilable::new(format!(
                "the string is longer than {MAX_ORDERED} bytes"
            )));
        }
        if let Some(at) = self.terminated(value)? {
            if known.contains(&0) {
                return Err("the string contains a NUL".into());
            }
            return Ok(order_to(order, &at, known));
        }
        let row = self.row(value)?.filter(|row| row.text == Some(1));
        let Some(row) = row else {
            return Err(NotCompilable::new(format!(
                "ordering a `{}` and a string is not supported",
                value.ty.name()
            )));
        };
        let has_ended = |index: u64| compare(Order::Le, &row.len, &Int::Constant(index));
        let at_end = compare(order, &row.len, &Int::Constant(known.len() as u64));
        let truth = ordered(order, known, &row.at, &has_ended, at_end);
        Ok(row.decided(truth))
    }

    /// Returns the address of a text of C that is in the program; `None`: it is another value.
    fn terminated(&self, value: &RuntimeValue) -> Result<Option<Int>, NotCompilable> {
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Raw) if library::is_narrow(&of) => {
                super::numbers::address_in(value).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Lowers a comparison with zero of what compares texts: `strcmp(a, b) < 0`, `s.compare(t) == 0`; `None`: it is
    /// something else.
    #[inline(never)]
    pub(super) fn sign_of_comparison(
        &self,
        order: Order,
        of: &Expr<'_>,
    ) -> Result<Option<BoolExpr>, NotCompilable> {
        if let Some(call) = comparison(of) {
            return self.compared_by_c(order, call).map(Some);
        }
        match &of.kind {
            Kind::Convert(inner) => self.sign_of_comparison(order, inner),
            Kind::Answer(method, operands) if method.name() == "compare" => match &operands[..] {
                [text, other] if text.ty.language() == Language::Cpp => {
                    let is_literal = matches!(other.kind, Kind::Text(_));
                    let (text, mut other) = (self.lower(text)?, self.lower(other)?);
                    if let (true, RuntimeLocation::Bytes(bytes)) = (is_literal, &other.place) {
                        // It is passed by its address.
                        other.place = RuntimeLocation::Bytes(Bytes::new(up_to_end(bytes)));
                    }
                    self.compare_c_texts(order, &text, &other).map(Some)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Lowers a function of the C library that changes nothing.
    #[inline(never)]
    pub(super) fn c_library_call(
        &self,
        call: &Call<'_>,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let name = &call.name;
        match (&**name, &call.arguments[..]) {
            _ if !is_of_library(call) => Err(NotCompilable::new(format!("it calls `{name}`"))),
            ("strlen", [text]) => {
                let len = match self.text_of_c(text)? {
                    Terminated::Literal(bytes) => Int::Constant(bytes.len() as u64),
                    Terminated::At(at) => {
                        let is_end =
                            |index| Ok(compare(Order::Eq, &byte(&at, index), &Int::Constant(0)));
                        found(Int::First(self.over(Int::Constant(MAX_PASSES), &is_end)?))
                    }
                };
                let like = crate::expr::arith::size(0, self.language);
                let place = RuntimeLocation::Int(len, Width::WORD);
                Ok(RuntimeValue::new(like.ty, place))
            }
            ("abs" | "labs" | "llabs" | "fabs" | "fabsf", [number]) => {
                self.stored(self.magnitude_of(number)?, of)
            }
            ("strcmp" | "strncmp" | "memcmp", _) => Err(NotCompilable::new(format!(
                "only the sign of what `{name}` returns is defined: compare it with 0"
            ))),
            _ => Err(NotCompilable::new(format!("it calls `{name}`"))),
        }
    }

    fn compared_by_c(&self, order: Order, call: &Call<'_>) -> Result<BoolExpr, NotCompilable> {
        let (a, b, count) = match (&*call.name, &call.arguments[..]) {
            ("memcmp", [a, b, count]) => return self.memory_compared(order, a, b, count),
            (_, [a, b]) => (a, b, None),
            (_, [a, b, count]) => match self.word(count)? {
                Int::Constant(count) => (a, b, Some(count)),
                _ => return Err("a number of bytes that is not constant".into()),
            },
            _ => return Err("unexpected arguments".into()),
        };
        use Terminated::{At, Literal};
        match (self.text_of_c(a)?, self.text_of_c(b)?) {
            (Literal(a), Literal(b)) => {
                let cut = |text: &[u8]| match count {
                    Some(count) => text[..text.len().min(count as usize)].to_vec(),
                    None => text.to_vec(),
                };
                Ok(BoolExpr::Constant(order.of(cut(&a).cmp(&cut(&b)))))
            }
            (At(at), Literal(known)) => begins(order, &at, &known, count),
            (Literal(known), At(at)) => begins(order.mirrored(), &at, &known, count),
            (At(a), At(b)) => self.both_terminated(order, &a, &b, count),
        }
    }

    /// Compares two texts of the program, each of which has an end.
    fn both_terminated(
        &self,
        order: Order,
        a: &Int,
        b: &Int,
        count: Option<u64>,
    ) -> Result<BoolExpr, NotCompilable> {
        let decides = |index: Int| {
            let unit = byte(a, index.clone());
            let differ = compare(Order::Ne, &unit, &byte(b, index));
            Ok(differ.or(compare(Order::Eq, &unit, &Int::Constant(0))))
        };
        let most = count.unwrap_or(MAX_PASSES).min(MAX_PASSES);
        let first = || self.over(Int::Constant(most), &decides).map(Int::First);
        let at = |index: Int| compare(order, &byte(a, index.clone()), &byte(b, index));
        if count.is_some_and(|count| count <= MAX_PASSES) {
            // Alike as far as they are compared.
            let none = compare(Order::Eq, &first()?, &Int::Constant(u64::MAX));
            let alike = BoolExpr::Constant(order.of(std::cmp::Ordering::Equal));
            return Ok(none.choice(alike, at(first()?)));
        }
        Ok(at(found(first()?)))
    }

    fn memory_compared(
        &self,
        order: Order,
        a: &Expr<'_>,
        b: &Expr<'_>,
        count: &Expr<'_>,
    ) -> Result<BoolExpr, NotCompilable> {
        use Terminated::{At, Literal};
        let count = self.word(count)?;
        let with_end = |mut text: Vec<u8>| -> Result<Vec<u8>, NotCompilable> {
            text.push(0);
            match count {
                Int::Constant(count) if count <= text.len() as u64 => {
                    text.truncate(count as usize);
                    Ok(text)
                }
                _ => Err("more bytes than the literal has".into()),
            }
        };
        let never = |_| BoolExpr::Constant(false);
        let alike = BoolExpr::Constant(order.of(std::cmp::Ordering::Equal));
        let known = |order: Order, at: &Int, text: Vec<u8>| -> Result<BoolExpr, NotCompilable> {
            let text = with_end(text)?;
            match (is_equality(order), text.len() <= MAX_ORDERED) {
                (Some(is_equal), _) => Ok(same_bytes(at, &text, is_equal)),
                (None, true) => Ok(ordered(order, &text, at, &never, alike.clone())),
                (None, false) => Err("ordering by so long a literal is not supported".into()),
            }
        };
        match (self.text_of_c(a)?, self.text_of_c(b)?) {
            (Literal(_), Literal(_)) => Err("two literals".into()),
            (At(at), Literal(text)) => known(order, &at, text),
            (Literal(text), At(at)) => known(order.mirrored(), &at, text),
            (At(a), At(b)) => {
                let differ = |index: Int| {
                    Ok(compare(
                        Order::Ne,
                        &byte(&a, index.clone()),
                        &byte(&b, index),
                    ))
                };
                let search =
                    || -> Result<Box<Loop>, NotCompilable> { self.over(count.clone(), &differ) };
                if let Some(is_equal) = is_equality(order) {
                    let any = BoolExpr::Any(search()?);
                    return Ok(if is_equal { any.not() } else { any });
                }
                let none = compare(Order::Eq, &Int::First(search()?), &Int::Constant(u64::MAX));
                let first = Int::First(search()?);
                let here = compare(order, &byte(&a, first.clone()), &byte(&b, first));
                Ok(none.choice(alike, here))
            }
        }
    }

    /// Returns an argument that is a text.
    fn text_of_c(&self, of: &Expr<'_>) -> Result<Terminated, NotCompilable> {
        let is_address = matches!(of.kind, Kind::Decay(_) | Kind::AddressOf(_));
        if !is_address {
            let value = self.lower(of)?;
            if let (Ty::Text, RuntimeLocation::Bytes(bytes)) = (&value.ty, &value.place) {
                return Ok(Terminated::Literal(up_to_end(bytes).to_vec()));
            }
            if let (Shape::Array(_), RuntimeLocation::Memory(address)) =
                (value.ty.shape(), &value.place)
            {
                return Ok(Terminated::At(address.clone().number()));
            }
        }
        self.word(of).map(Terminated::At)
    }
}

/// Returns a text up to its first byte that is zero.
fn up_to_end(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Returns an index that a search must find; deopt if it does not.
fn found(first: Int) -> Int {
    let none = compare(Order::Eq, &first, &Int::Constant(u64::MAX));
    first.unless(none)
}

/// Returns `Some(true)` for `==` and `Some(false)` for `!=`.
fn is_equality(order: Order) -> Option<bool> {
    match order {
        Order::Eq => Some(true),
        Order::Ne => Some(false),
        _ => None,
    }
}

fn same_bytes(at: &Int, bytes: &[u8], is_equal: bool) -> BoolExpr {
    let same = match bytes {
        [] => BoolExpr::Constant(true),
        _ => BoolExpr::Bytes(Box::new(Address::pointed(at.clone())), bytes.into()),
    };
    if is_equal { same } else { same.not() }
}

/// Compares a text that has an end with a known one, as far as `count` bytes.
fn begins(
    order: Order,
    at: &Int,
    known: &[u8],
    count: Option<u64>,
) -> Result<BoolExpr, NotCompilable> {
    let cut = count.filter(|count| *count <= known.len() as u64);
    let known = &known[..cut.map_or(known.len(), |count| count as usize)];
    if let Some(is_equal) = is_equality(order) {
        let mut bytes = known.to_vec();
        if cut.is_none() {
            bytes.push(0);
        }
        return Ok(same_bytes(at, &bytes, is_equal));
    }
    if known.len() > MAX_ORDERED {
        return Err("ordering by so long a literal is not supported".into());
    }
    if cut.is_none() {
        return Ok(order_to(order, at, known));
    }
    let has_ended = |index: u64| {
        compare(
            Order::Eq,
            &byte(at, Int::Constant(index)),
            &Int::Constant(0),
        )
    };
    let alike = BoolExpr::Constant(order.of(std::cmp::Ordering::Equal));
    Ok(ordered(order, known, at, &has_ended, alike))
}

/// Compares a text that has an end with a known one.
fn order_to(order: Order, at: &Int, known: &[u8]) -> BoolExpr {
    let ends = |index: u64| {
        compare(
            Order::Eq,
            &byte(at, Int::Constant(index)),
            &Int::Constant(0),
        )
    };
    let goes_on = matches!(order, Order::Gt | Order::Ge | Order::Ne);
    let alike = BoolExpr::Constant(order.of(std::cmp::Ordering::Equal));
    let at_end = ends(known.len() as u64).choice(alike, BoolExpr::Constant(goes_on));
    ordered(order, known, at, &ends, at_end)
}
