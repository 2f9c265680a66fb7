//! Numbers for the targets of pointers. A text identifies an object by its number, as addresses
//! differ from run to run, and shows cycles by it.

use super::Ty;
use dwarf::LoadAddr;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Maximum number of objects.
const MAX_NUMBERS: usize = 1 << 16;

/// Address and type name: a struct and its first member share an address.
type Key = (LoadAddr, Arc<str>);

/// The objects that texts have named so far. A number belongs to an address and a type, and does
/// not change.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    numbers: FxHashMap<Key, u32>,
    /// The first object at an address, for pointers without a target type.
    first: FxHashMap<LoadAddr, u32>,
    reply: Reply,
}

/// The state of the reply under construction.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Variables, which are called by their names.
    variables: FxHashMap<Key, String>,
    /// Objects that have been written.
    written: FxHashSet<u32>,
}

/// The name of an object in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Called {
    /// The variable that is the object.
    Variable(String),
    /// The object's number.
    Number(u32),
}

impl Objects {
    /// Begins a reply without variables and written objects. Returns the previous one.
    pub fn begin(&mut self) -> Reply {
        std::mem::take(&mut self.reply)
    }

    /// Restores a reply that another one has interrupted.
    pub fn resume(&mut self, reply: Reply) {
        self.reply = reply;
    }

    /// Adds a variable of the reply: pointers to it show its name.
    pub fn name(&mut self, value: &super::Value, name: &str) {
        if let Some(addr) = value.address() {
            let key = (addr, value.ty.strip().name());
            self.reply.variables.insert(key, name.to_owned());
        }
    }

    /// Returns the name of the object of a type at an address; `None` if there are too many.
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

    /// Marks an object as written. Returns false if it was already.
    pub(super) fn write(&mut self, number: u32) -> bool {
        self.reply.written.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::value::Value;
    use crate::inspect::value::scalar::{Scalar, ScalarKind};
    use crate::inspect::value::{Ty, ValueLocation};

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
        objects.name(
            &Value::new(int.clone(), ValueLocation::Memory(at, None)),
            "first",
        );
        let variable = Called::Variable("first".to_owned());
        assert_eq!(objects.called(at, &int), Some(variable));
        objects.begin();
        assert_eq!(objects.called(at, &int), Some(Called::Number(1)));
    }
}
