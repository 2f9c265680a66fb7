//! Variables of the C library that programs use without a declaration in their debug info, by their
//! symbols: `errno`, which is a macro, and `environ`.

use super::FrameScope;
use crate::ids::error::Error;
use crate::images::names::is_c_library_variable;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Ty, Value, ValueLocation};
use dwarf::{Language, SymbolKind};

impl FrameScope<'_> {
    /// Returns a variable of the C library.
    ///
    /// # Errors
    /// The thread has no storage for it yet.
    pub(super) fn c_library_variable(&self, name: &str) -> Result<Option<Value>, Error> {
        let is_rust = self
            .function()
            .is_some_and(|it| it.language == Language::Rust);
        if is_rust || !is_c_library_variable(name) {
            return Ok(None);
        }
        let (kind, ty) = match name {
            "errno" => {
                let int = Scalar::new(ScalarKind::Signed, 4);
                (SymbolKind::ThreadLocal, Ty::Builtin(int, "int"))
            }
            _ => {
                let char = Scalar::new(ScalarKind::SignedChar, 1);
                let text = Ty::Builtin(char, "char").pointer();
                (SymbolKind::Object, text.pointer())
            }
        };
        // The program first: it may have a copy.
        for loaded in self.modules.loaded.iter().filter(|it| !it.is_loader()) {
            let mut symbols = loaded.module.symbols_named(name).into_iter();
            let Some(symbol) = symbols.find(|symbol| symbol.kind == kind) else {
                continue;
            };
            let addr = match kind {
                SymbolKind::ThreadLocal => self.thread_storage(loaded.bias)? + symbol.addr.0,
                _ => loaded.bias.load(symbol.addr),
            };
            return Ok(Some(Value::new(ty, ValueLocation::Memory(addr, None))));
        }
        Ok(None)
    }
}
