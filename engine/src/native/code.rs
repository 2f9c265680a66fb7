//! What a condition computes, between its tree and its instructions: numbers of 64 bits, floats
//! and truths, without any type but widths.
//!
//! A number is kept *canonical*: an integer of a width lies in 64 bits, extended by its sign or
//! by zeros. So a conversion to a width that holds all values of the old one costs nothing.

use dwarf::Register;

/// Bytes of an integer, and how it is extended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// 1, 2, 4 or 8.
    pub size: u8,
    /// Two's complement.
    pub signed: bool,
}

impl Width {
    /// Addresses, and whatever is 64 bits without a sign.
    pub const WORD: Width = Width {
        size: 8,
        signed: false,
    };

    /// The number that the low bits are, canonical.
    pub fn canonical(self, bits: u64) -> u64 {
        let unused = 64 - u32::from(self.size) * 8;
        match self.signed {
            true => ((bits << unused) as i64 >> unused) as u64,
            false => bits << unused >> unused,
        }
    }

    /// Whether a canonical number of the other width is one of this width, too.
    pub fn holds(self, other: Width) -> bool {
        self.size == 8 || self == other || self.size > other.size && (self.signed || !other.signed)
    }
}

/// What is done with two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`; by zero, or by minus one: asks
    Div,
    /// `%`; the same
    Rem,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`; by less than zero, or by the width or more: asks
    Shl,
    /// `>>`; the same
    Shr,
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Order {
    /// The same of the sides swapped.
    pub fn mirrored(self) -> Order {
        match self {
            Order::Lt => Order::Gt,
            Order::Le => Order::Ge,
            Order::Gt => Order::Lt,
            Order::Ge => Order::Le,
            same => same,
        }
    }

    /// What holds where this does not.
    pub fn negated(self) -> Order {
        match self {
            Order::Eq => Order::Ne,
            Order::Ne => Order::Eq,
            Order::Lt => Order::Ge,
            Order::Le => Order::Gt,
            Order::Gt => Order::Le,
            Order::Ge => Order::Lt,
        }
    }

    /// Whether it holds of an ordering.
    pub fn of(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Order::Eq => ordering.is_eq(),
            Order::Ne => ordering.is_ne(),
            Order::Lt => ordering.is_lt(),
            Order::Le => ordering.is_le(),
            Order::Gt => ordering.is_gt(),
            Order::Ge => ordering.is_ge(),
        }
    }
}

/// An integer, canonical.
#[derive(Clone, Debug)]
pub enum Int {
    /// Known.
    Constant(u64),
    /// In memory.
    Load(Box<Address>, Width),
    /// So many bytes into a register of the interrupted program.
    Register(Register, u8, Width),
    /// So many bytes into a vector register of the interrupted program, by its number.
    Vector(u8, u8, Width),
    /// Cut and extended.
    Convert(Box<Int>, Width),
    /// Some bits: how many are below them, how many they are.
    Field(Box<Int>, u8, Width, u8),
    /// Of two of one width; `true`: a result that is none of the width asks.
    Binary(Operation, Box<Int>, Box<Int>, Width, bool),
    /// 1 or 0.
    Truth(Box<Truth>),
    /// One of two.
    Choice(Box<Truth>, Box<Int>, Box<Int>),
    /// A float, cut; beyond 64 bits it asks.
    Float(Box<Float>, Width),
    /// An address.
    Address(Box<Address>),
    /// Where the first holds, it asks.
    Unless(Box<Truth>, Box<Int>),
}

/// A place in memory.
#[derive(Clone, Debug)]
pub struct Address {
    /// From where.
    pub base: Base,
    /// So many times so many bytes from there.
    pub index: Option<(Int, u64)>,
    /// And so many bytes.
    pub offset: i64,
    /// Whether the program could have any address here: what cannot be memory asks, before it
    /// is touched.
    pub guarded: bool,
}

/// From where an address counts.
#[derive(Clone, Debug)]
pub enum Base {
    /// From 0.
    Zero,
    /// From what a register of the interrupted program holds.
    Register(Register),
    /// From the thread pointer (`fs`).
    Thread,
    /// From a number.
    Int(Int),
}

/// A float, as 64 bits.
#[derive(Clone, Debug)]
pub enum Float {
    /// Known.
    Constant(f64),
    /// In memory; `true`: of 32 bits.
    Load(Box<Address>, bool),
    /// In a vector register of the interrupted program, by its number; `true`: of 32 bits.
    Register(u8, bool),
    /// An integer of a sign.
    Int(Box<Int>, Width),
    /// `+`, `-`, `*`, `/`.
    Binary(Operation, Box<Float>, Box<Float>),
    /// `-`
    Negated(Box<Float>),
    /// Rounded to 32 bits.
    Single(Box<Float>),
    /// One of two.
    Choice(Box<Truth>, Box<Float>, Box<Float>),
}

/// What is true or not.
#[derive(Clone, Debug)]
pub enum Truth {
    /// Known.
    Constant(bool),
    /// Nobody knows here.
    Ask,
    /// Not.
    Not(Box<Truth>),
    /// Both; the second is only computed if the first holds.
    And(Box<Truth>, Box<Truth>),
    /// One of both; the second is only computed if the first does not hold.
    Or(Box<Truth>, Box<Truth>),
    /// One of two.
    Choice(Box<Truth>, Box<Truth>, Box<Truth>),
    /// Of canonical numbers; `true`: with their sign.
    Compare(Order, bool, Int, Int),
    /// Of floats; what is no number is not equal, and nothing else.
    CompareFloats(Order, Float, Float),
    /// The bytes there are these.
    Bytes(Box<Address>, Box<[u8]>),
}

impl Int {
    /// Cut and extended to a width; `have` is what it is canonical of.
    pub fn converted(self, have: Width, to: Width) -> Int {
        match self {
            int if to.holds(have) => int,
            Int::Constant(bits) => Int::Constant(to.canonical(bits)),
            int => Int::Convert(Box::new(int), to),
        }
    }

    /// Of two of a width.
    pub fn binary(operation: Operation, a: Int, b: Int, width: Width, checked: bool) -> Int {
        match (operation, a, b) {
            // What a term of debug info is, put together.
            (Operation::Add, Int::Constant(a), Int::Constant(b)) if !checked => {
                Int::Constant(width.canonical(a.wrapping_add(b)))
            }
            (operation, a, b) => Int::Binary(operation, Box::new(a), Box::new(b), width, checked),
        }
    }
}

impl Address {
    /// So many bytes from a base; no pointer that could be anything.
    pub fn of(base: Base, offset: i64) -> Address {
        Address {
            base,
            index: None,
            offset,
            guarded: false,
        }
    }

    /// Where a pointer points to.
    pub fn pointed(pointer: Int) -> Address {
        match pointer {
            // `&x` and the like.
            Int::Address(address) => *address,
            pointer => Address {
                guarded: true,
                ..Address::of(Base::Int(pointer), 0)
            },
        }
    }

    /// So many bytes further.
    pub fn plus(mut self, bytes: u64) -> Address {
        self.offset = self.offset.wrapping_add(bytes as i64);
        self
    }

    /// So many times so many bytes further.
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

    /// The address as a number.
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

impl Truth {
    /// Whether a number is not zero.
    pub fn of(int: Int) -> Truth {
        match int {
            Int::Constant(bits) => Truth::Constant(bits != 0),
            Int::Truth(truth) => *truth,
            int => Truth::Compare(Order::Ne, false, int, Int::Constant(0)),
        }
    }

    /// The other way round.
    pub fn not(self) -> Truth {
        match self {
            Truth::Constant(known) => Truth::Constant(!known),
            Truth::Not(inner) => *inner,
            Truth::Compare(order, signed, a, b) => Truth::Compare(order.negated(), signed, a, b),
            other => Truth::Not(Box::new(other)),
        }
    }

    /// Both.
    pub fn and(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::Constant(false), _) => Truth::Constant(false),
            (Truth::Constant(true), truth) | (truth, Truth::Constant(true)) => truth,
            (a, b) => Truth::And(Box::new(a), Box::new(b)),
        }
    }

    /// One of both.
    pub fn or(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::Constant(true), _) => Truth::Constant(true),
            (Truth::Constant(false), truth) | (truth, Truth::Constant(false)) => truth,
            (a, b) => Truth::Or(Box::new(a), Box::new(b)),
        }
    }

    /// One of two.
    pub fn choice(self, yes: Truth, no: Truth) -> Truth {
        match self {
            Truth::Constant(true) => yes,
            Truth::Constant(false) => no,
            truth => Truth::Choice(Box::new(truth), Box::new(yes), Box::new(no)),
        }
    }

    /// Of canonical numbers.
    pub fn compare(order: Order, signed: bool, a: Int, b: Int) -> Truth {
        match (a, b) {
            (Int::Constant(a), Int::Constant(b)) => Truth::Constant(order.of(match signed {
                true => (a as i64).cmp(&(b as i64)),
                false => a.cmp(&b),
            })),
            (Int::Constant(a), b) => Truth::Compare(order.mirrored(), signed, b, Int::Constant(a)),
            (a, b) => Truth::Compare(order, signed, a, b),
        }
    }
}
