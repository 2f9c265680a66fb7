//! Functions of C without a prototype.

use crate::functions::Function;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;

/// Parts of the names of compilers that record which functions have a prototype.
const RECORDING: [&str; 2] = ["GNU C", "clang"];

impl Module {
    /// Returns whether callers of a function promote its arguments, `float` to `double` (ISO C §6.5.2.2): its
    /// source is C without a prototype (`f(x) float x;`). Returns false if the compiler does not record that.
    /// Cost: reads two entries.
    pub fn is_unprototyped(&self, function: &Function) -> bool {
        let Some(info) = self.info().filter(|_| function.language == Language::C) else {
            return false;
        };
        let Ok((unit, entry)) = info.entry(function.id) else {
            return false;
        };
        let is_prototyped = info.inherited(unit, &entry, gimli::DW_AT_prototyped);
        is_prototyped.is_none() && info.records_prototypes(function.id)
    }
}

impl DebugInfo {
    /// Returns whether the compiler of an entry's unit records prototypes.
    fn records_prototypes(&self, die: DieRef) -> bool {
        let producer = || {
            let unit = self.whole(die.unit)?;
            let root = unit.raw.entry(unit.raw.header.root_offset()).ok()?;
            let value = root.attr_value(gimli::DW_AT_producer)?;
            let text = self.dwarf_of(unit).attr_string(&unit.raw, value).ok()?;
            Some(text.slice())
        };
        let producer = producer().map(String::from_utf8_lossy);
        producer.is_some_and(|it| RECORDING.iter().any(|name| it.contains(name)))
    }
}
