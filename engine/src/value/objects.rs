//! Objects that pointers lead to, each with a number: a text names an object by it where an address
//! would differ from run to run, and shows a cycle by it.

use super::Ty;
use dwarf::LoadAddr;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Numbers that are given.
const MAX_NUMBERS: usize = 1 << 16;

/// Where an object begins, and its type's name: a struct and its first member share an address.
type Key = (LoadAddr, Arc<str>);

/// The objects that texts have named so far. A number belongs to a place and a type, and stays.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    numbers: FxHashMap<Key, u32>,
    /// The first object of an address, for pointers without a type.
    first: FxHashMap<LoadAddr, u32>,
    reply: Reply,
}

/// What the reply under way has shown.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Variables, under their own names.
    variables: FxHashMap<Key, String>,
    /// Objects that are written already.
    written: FxHashSet<u32>,
}

/// What a text calls an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Called {
    /// The variable that it is.
    Variable(String),
    /// Its number.
    Number(u32),
}

impl Objects {
    /// A reply begins: nothing of it is written yet, and it has no variables. Gives the one
    /// before.
    pub fn begin(&mut self) -> Reply {
        std::mem::take(&mut self.reply)
    }

    /// Returns to a reply that another one has interrupted.
    pub fn resume(&mut self, reply: Reply) {
        self.reply = reply;
    }

    /// A variable that the reply shows: pointers to it name it.
    pub fn name(&mut self, value: &super::Value, name: &str) {
        if let Some(addr) = value.address() {
            let key = (addr, value.ty.strip().name());
            self.reply.variables.insert(key, name.to_owned());
        }
    }

    /// What to call the object of a type at an address. None: there are too many.
    pub(super) fn called(&mut self, addr: LoadAddr, of: &Ty) -> Option<Called> {
        let ty = of.strip();
        if matches!(ty, Ty::Void)
            && let Some(number) = self.first.get(&addr)
        {
            return Some(Called::Number(*number));
        }
        let key = (addr, ty.name());
        if let Some(name) = self.reply.variables.get(&key) {
            return Some(Called::Variable(name.clone()));
        }
        if let Some(number) = self.numbers.get(&key) {
            return Some(Called::Number(*number));
        }
        if self.numbers.len() >= MAX_NUMBERS {
            return None;
        }
        let number = u32::try_from(self.numbers.len()).ok()? + 1;
        self.numbers.insert(key, number);
        self.first.entry(addr).or_insert(number);
        Some(Called::Number(number))
    }

    /// Notes that an object is being written. False: it has been.
    pub(super) fn write(&mut self, number: u32) -> bool {
        self.reply.written.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use crate::value::scalar::{Scalar, ScalarKind};
    use crate::value::{Place, Ty};

    #[test]
    fn numbers_stay_and_variables_have_their_names() {
        let number = |kind| Ty::Builtin(Scalar::new(kind, 4), "i32");
        let int = number(ScalarKind::Signed);
        let mut objects = Objects::default();
        let at = LoadAddr(0x1000);
        assert_eq!(objects.called(at, &int), Some(Called::Number(1)));
        assert_eq!(objects.called(at, &Ty::Void), Some(Called::Number(1)));
        assert_eq!(objects.called(at + 4, &int), Some(Called::Number(2)));
        assert!(objects.write(1) && !objects.write(1));
        objects.begin();
        assert!(objects.write(1));
        objects.name(&Value::new(int.clone(), Place::Memory(at, None)), "first");
        let variable = Called::Variable("first".to_owned());
        assert_eq!(objects.called(at, &int), Some(variable));
        objects.begin();
        assert_eq!(objects.called(at, &int), Some(Called::Number(1)));
    }
}
