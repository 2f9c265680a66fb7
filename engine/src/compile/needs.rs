//! Register needs of a computation: each pending number has a register of its own, so operands that
//! need most are computed first.

use super::code::{Address, Base, BoolExpr, Float, Int, Loop};

/// Number of registers needed at once, and amount of code.
#[derive(Clone, Copy, Default, Debug)]
pub struct Needs {
    /// General-purpose registers.
    pub general: usize,
    /// Vector registers.
    pub vectors: usize,
    /// Number of nodes.
    pub parts: usize,
}

impl Needs {
    fn and(self, other: Needs) -> Needs {
        Needs {
            general: self.general.max(other.general),
            vectors: self.vectors.max(other.vectors),
            parts: self.parts + other.parts,
        }
    }

    /// Returns the needs of `other` computed while `self` is kept in a general-purpose register.
    pub fn then(self, other: Needs) -> Needs {
        self.and(Needs {
            general: other.general + 1,
            ..other
        })
    }

    /// Returns the needs of two numbers in the better order; `true`: the second first.
    pub fn both(a: Needs, b: Needs) -> (Needs, bool) {
        let second_first = b.general > a.general;
        let needs = if second_first { b.then(a) } else { a.then(b) };
        (needs, second_first)
    }

    fn plus(self, general: usize, vectors: usize) -> Needs {
        Needs {
            general: self.general.max(general),
            vectors: self.vectors.max(vectors),
            parts: self.parts + 1,
        }
    }
}

impl Int {
    /// Returns the needs of computing it.
    pub fn needs(&self) -> Needs {
        let inner = match self {
            Int::Constant(_) | Int::Register(..) | Int::Index(_) => Needs::default(),
            Int::First(all) => all.needs(),
            Int::Vector(..) => Needs::default().plus(0, 1),
            Int::Load(address, _) | Int::Address(address) => address.needs(),
            Int::Convert(inner, _) | Int::Field(inner, ..) => inner.needs(),
            Int::Binary(_, a, b, ..) => Needs::both(a.needs(), b.needs()).0,
            Int::BoolExpr(truth) => truth.needs(),
            Int::Choice(truth, a, b) => truth.needs().and(a.needs()).and(b.needs()),
            Int::Float(float, _) => float.needs(),
            Int::Unless(truth, int) => truth.needs().and(int.needs()),
        };
        inner.plus(1, 0)
    }
}

impl Address {
    /// Returns the needs of computing it.
    pub fn needs(&self) -> Needs {
        let base = match &self.base {
            Base::Int(int) => int.needs(),
            _ => Needs::default().plus(1, 0),
        };
        match &self.index {
            Some((index, _)) => Needs::both(base, index.needs()).0,
            None => base,
        }
    }
}

impl Float {
    /// Returns the needs of computing it.
    pub fn needs(&self) -> Needs {
        let inner = match self {
            Float::Constant(_) | Float::Register(..) => Needs::default(),
            Float::Load(address, _) => address.needs(),
            Float::Int(int, _) => int.needs().plus(1, 2),
            Float::Binary(_, a, b) => float_pair(a, b),
            Float::Negated(inner) | Float::Single(inner) => inner.needs(),
            Float::Choice(truth, a, b) => truth.needs().and(a.needs()).and(b.needs()),
        };
        inner.plus(0, 1)
    }
}

fn float_pair(a: &Float, b: &Float) -> Needs {
    let (a, b) = (a.needs(), b.needs());
    a.and(Needs {
        vectors: b.vectors + 1,
        ..b
    })
}

impl Loop {
    /// Returns the needs of computing it: index and count are kept in registers.
    pub fn needs(&self) -> Needs {
        let holds = self.holds.needs();
        let holds = Needs {
            general: holds.general + 2,
            ..holds
        };
        self.count.needs().plus(2, 0).and(holds)
    }
}

impl BoolExpr {
    /// Returns the needs of computing it.
    pub fn needs(&self) -> Needs {
        let inner = match self {
            BoolExpr::Constant(_) | BoolExpr::Deopt => Needs::default(),
            BoolExpr::Not(inner) => inner.needs(),
            BoolExpr::And(a, b) | BoolExpr::Or(a, b) => a.needs().and(b.needs()),
            BoolExpr::Choice(truth, a, b) => truth.needs().and(a.needs()).and(b.needs()),
            BoolExpr::Compare(_, _, a, b) => Needs::both(a.needs(), b.needs()).0,
            BoolExpr::CompareFloats(_, a, b) => float_pair(a, b),
            BoolExpr::Any(all) => all.needs(),
            BoolExpr::Bytes(address, bytes) => Needs {
                parts: bytes.len() / 8,
                ..Needs::default()
            }
            .and(address.needs()),
        };
        inner.plus(0, 0)
    }
}
