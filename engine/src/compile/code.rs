//! The intermediate code of conditions, between tree and instructions: 64-bit numbers, floats and
//! truth values, without types other than widths.
//!
//! A number is *canonical*: an integer of a width, sign- or zero-extended to 64 bits. So a
//! conversion to a width that includes all values of the old one costs nothing.

pub use crate::expr::tree::Order;

use dwarf::Register;

/// Size and signedness of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether it is signed (two's complement).
    pub signed: bool,
}

impl Width {
    /// Addresses, and other unsigned 64-bit numbers.
    pub const WORD: Width = Width {
        size: 8,
        signed: false,
    };

    /// Returns the canonical number of the low bits.
    pub fn canonical(self, bits: u64) -> u64 {
        let unused = 64 - u32::from(self.size) * 8;
        match self.signed {
            true => ((bits << unused) as i64 >> unused) as u64,
            false => bits << unused >> unused,
        }
    }

    /// Returns whether a canonical number of the other width is canonical for this width, too.
    pub fn holds(self, other: Width) -> bool {
        self.size == 8 || self == other || self.size > other.size && (self.signed || !other.signed)
    }
}

/// An operation on two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`; deopt on a division by zero or by minus one
    Div,
    /// `%`; likewise
    Rem,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`; deopt on a negative count, or one of the width or more
    Shl,
    /// `>>`; likewise
    Shr,
}

/// A canonical integer.
#[derive(Clone, Debug)]
pub enum Int {
    /// A constant.
    Constant(u64),
    /// A load from memory.
    Load(Box<Address>, Width),
    /// A register of the interrupted program, from a byte offset on.
    Register(Register, u8, Width),
    /// A vector register of the interrupted program by its number, from a byte offset on.
    Vector(u8, u8, Width),
    /// Truncated and extended to a width.
    Convert(Box<Int>, Width),
    /// A bit-field: number of bits below it, and its size in bits.
    Field(Box<Int>, u8, Width, u8),
    /// An operation on two integers of one width; `true`: deopt on overflow.
    Binary(Operation, Box<Int>, Box<Int>, Width, bool),
    /// 1 or 0.
    BoolExpr(Box<BoolExpr>),
    /// One of two integers.
    Choice(Box<BoolExpr>, Box<Int>, Box<Int>),
    /// A float, truncated; deopt beyond 64 bits.
    Float(Box<Float>, Width),
    /// An address.
    Address(Box<Address>),
    /// The integer; deopt if the condition holds.
    Unless(Box<BoolExpr>, Box<Int>),
    /// The index of the current pass of a loop around it, by the loop's number.
    Index(u8),
    /// The first index for which a loop's condition holds; [`u64::MAX`]: there is none.
    First(Box<Loop>),
}

/// A condition on the indices below a count.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The number of indices, which are examined from 0 on; deopt above [`MAX_PASSES`].
    pub count: Int,
    /// Its number, which no other loop of the expression has.
    pub number: u8,
    /// The condition.
    pub holds: BoolExpr,
}

/// Maximum number of passes of a loop. A thread that is stopped in a loop goes back to the line: the code
/// has no effect before its end.
pub const MAX_PASSES: u64 = 4096;

/// An address in memory.
#[derive(Clone, Debug)]
pub struct Address {
    /// The base.
    pub base: Base,
    /// An index and its stride in bytes.
    pub index: Option<(Int, u64)>,
    /// An offset in bytes.
    pub offset: i64,
    /// Whether it may be any number: if it cannot be an address, deopt before the access.
    pub guarded: bool,
}

/// The base of an address.
#[derive(Clone, Debug)]
pub enum Base {
    /// Zero.
    Zero,
    /// The value of a register of the interrupted program.
    Register(Register),
    /// The thread pointer (`fs`).
    Thread,
    /// A number.
    Int(Int),
}

/// A float, computed in 64 bits.
#[derive(Clone, Debug)]
pub enum Float {
    /// A constant.
    Constant(f64),
    /// A load from memory; `true`: 32 bits.
    Load(Box<Address>, bool),
    /// A vector register of the interrupted program, by its number; `true`: 32 bits.
    Register(u8, bool),
    /// A converted integer.
    Int(Box<Int>, Width),
    /// `+`, `-`, `*`, `/`.
    Binary(Operation, Box<Float>, Box<Float>),
    /// `-`
    Negated(Box<Float>),
    /// Rounded to 32 bits.
    Single(Box<Float>),
    /// One of two floats.
    Choice(Box<BoolExpr>, Box<Float>, Box<Float>),
}

/// A truth value.
#[derive(Clone, Debug)]
pub enum BoolExpr {
    /// A constant.
    Constant(bool),
    /// Deopt: cannot be decided in compiled code.
    Deopt,
    /// Negation.
    Not(Box<BoolExpr>),
    /// Conjunction; the second is computed only if the first holds.
    And(Box<BoolExpr>, Box<BoolExpr>),
    /// Disjunction; the second is computed only if the first does not hold.
    Or(Box<BoolExpr>, Box<BoolExpr>),
    /// One of two truth values.
    Choice(Box<BoolExpr>, Box<BoolExpr>, Box<BoolExpr>),
    /// A comparison of canonical integers; `true`: signed.
    Compare(Order, bool, Int, Int),
    /// A comparison of floats; for NaN only `!=` holds.
    CompareFloats(Order, Float, Float),
    /// Whether memory has these bytes.
    Bytes(Box<Address>, Box<[u8]>),
    /// Whether a loop's condition holds for an index.
    Any(Box<Loop>),
}

impl Int {
    /// Truncates and extends to a width; `have` is the width that it is canonical for.
    pub fn converted(self, have: Width, to: Width) -> Int {
        match self {
            int if to.holds(have) => int,
            Int::Constant(bits) => Int::Constant(to.canonical(bits)),
            int => Int::Convert(Box::new(int), to),
        }
    }

    /// Returns one of two integers.
    pub fn choice(condition: BoolExpr, yes: Int, no: Int) -> Int {
        match condition {
            BoolExpr::Constant(true) => yes,
            BoolExpr::Constant(false) => no,
            condition => Int::Choice(Box::new(condition), Box::new(yes), Box::new(no)),
        }
    }

    /// Returns an integer whose computation is a deopt.
    pub fn deopt() -> Int {
        Int::Unless(
            Box::new(BoolExpr::Constant(true)),
            Box::new(Int::Constant(0)),
        )
    }

    /// Returns the integer; deopt if the condition holds.
    pub fn unless(self, wrong: BoolExpr) -> Int {
        match wrong {
            BoolExpr::Constant(false) => self,
            BoolExpr::Constant(true) => Int::deopt(),
            wrong => Int::Unless(Box::new(wrong), Box::new(self)),
        }
    }

    /// Returns an operation on two integers of one width.
    pub fn binary(operation: Operation, a: Int, b: Int, width: Width, checked: bool) -> Int {
        match (operation, a, b) {
            // Fold constants in the terms of debug info.
            (Operation::Add, Int::Constant(a), Int::Constant(b)) if !checked => {
                Int::Constant(width.canonical(a.wrapping_add(b)))
            }
            (operation, a, b) => Int::Binary(operation, Box::new(a), Box::new(b), width, checked),
        }
    }
}

impl Address {
    /// Returns an unguarded address at an offset from a base.
    pub fn of(base: Base, offset: i64) -> Address {
        Address {
            base,
            index: None,
            offset,
            guarded: false,
        }
    }

    /// Returns the address in a pointer, guarded unless it is known to be valid.
    pub fn pointed(pointer: Int) -> Address {
        match pointer {
            // `&x` and similar expressions.
            Int::Address(address) => *address,
            pointer => Address {
                guarded: true,
                ..Address::of(Base::Int(pointer), 0)
            },
        }
    }

    /// Adds an offset in bytes.
    pub fn plus(mut self, bytes: u64) -> Address {
        self.offset = self.offset.wrapping_add(bytes as i64);
        self
    }

    /// Adds an index times a stride in bytes.
    pub fn indexed(self, index: Int, stride: u64) -> Address {
        match (index, self.index.is_some()) {
            (Int::Constant(index), _) => self.plus(index.wrapping_mul(stride)),
            (index, false) => Address {
                index: Some((index, stride)),
                guarded: true,
                ..self
            },
            (index, true) => Address {
                base: Base::Int(Int::Address(Box::new(self))),
                index: Some((index, stride)),
                offset: 0,
                guarded: true,
            },
        }
    }

    /// Returns the address as a number.
    pub fn number(self) -> Int {
        match self {
            Address {
                base: Base::Int(int),
                index: None,
                offset: 0,
                ..
            } => int,
            Address {
                base: Base::Zero,
                index: None,
                offset,
                ..
            } => Int::Constant(offset as u64),
            address => Int::Address(Box::new(address)),
        }
    }
}

impl BoolExpr {
    /// Returns whether a number is not zero.
    pub fn of(int: Int) -> BoolExpr {
        match int {
            Int::Constant(bits) => BoolExpr::Constant(bits != 0),
            Int::BoolExpr(truth) => *truth,
            int => BoolExpr::Compare(Order::Ne, false, int, Int::Constant(0)),
        }
    }

    /// Returns the negation.
    pub fn not(self) -> BoolExpr {
        match self {
            BoolExpr::Constant(known) => BoolExpr::Constant(!known),
            BoolExpr::Not(inner) => *inner,
            BoolExpr::Compare(order, signed, a, b) => {
                BoolExpr::Compare(order.negated(), signed, a, b)
            }
            other => BoolExpr::Not(Box::new(other)),
        }
    }

    /// Returns the conjunction.
    pub fn and(self, other: BoolExpr) -> BoolExpr {
        match (self, other) {
            (BoolExpr::Constant(false), _) => BoolExpr::Constant(false),
            (BoolExpr::Constant(true), truth) | (truth, BoolExpr::Constant(true)) => truth,
            (a, b) => BoolExpr::And(Box::new(a), Box::new(b)),
        }
    }

    /// Returns the disjunction.
    pub fn or(self, other: BoolExpr) -> BoolExpr {
        match (self, other) {
            (BoolExpr::Constant(true), _) => BoolExpr::Constant(true),
            (BoolExpr::Constant(false), truth) | (truth, BoolExpr::Constant(false)) => truth,
            (a, b) => BoolExpr::Or(Box::new(a), Box::new(b)),
        }
    }

    /// Returns one of two truth values.
    pub fn choice(self, yes: BoolExpr, no: BoolExpr) -> BoolExpr {
        match self {
            BoolExpr::Constant(true) => yes,
            BoolExpr::Constant(false) => no,
            truth => BoolExpr::Choice(Box::new(truth), Box::new(yes), Box::new(no)),
        }
    }

    /// Compares canonical integers.
    pub fn compare(order: Order, signed: bool, a: Int, b: Int) -> BoolExpr {
        match (a, b) {
            (Int::Constant(a), Int::Constant(b)) => BoolExpr::Constant(order.of(match signed {
                true => (a as i64).cmp(&(b as i64)),
                false => a.cmp(&b),
            })),
            (Int::Constant(a), b) => {
                BoolExpr::Compare(order.mirrored(), signed, b, Int::Constant(a))
            }
            (a, b) => BoolExpr::Compare(order, signed, a, b),
        }
    }
}
