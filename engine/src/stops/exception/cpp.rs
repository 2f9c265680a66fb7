//! C++ exceptions in memory: Itanium C++ ABI, "Exception Handling" §2.2, in the 64-bit layout of
//! libsupc++ and libc++abi. Nothing is called in the debuggee.

use crate::images::modules::Modules;
use crate::inspect::language::template::readable;
use crate::inspect::value::text::read_terminated;
use dwarf::{LoadAddr, Memory, ModuleMap};

/// `exception_class` of the two vendors. The low byte is 1 for a dependent exception, whose object
/// belongs to another one.
const GNU: u64 = u64::from_be_bytes(*b"GNUCC++\0");
const LLVM: u64 = u64::from_be_bytes(*b"CLNGC++\0");
/// Size of `_Unwind_Exception` in bytes; the object follows.
const HEADER: u64 = 32;
/// Bytes from `exceptionType` to the header.
const TYPE_BEFORE_HEADER: u64 = 80;
const TYPE_BEFORE_OBJECT: u64 = TYPE_BEFORE_HEADER + HEADER;
/// Bytes from `handlerCount` and from `catchTemp` (the landing pad) to the header.
const HANDLERS_BEFORE_HEADER: u64 = 40;
const LANDING_BEFORE_HEADER: u64 = 16;
/// Bytes from the start of libsupc++'s and libc++abi's structures to the header; a register may
/// point to such a start.
const BEGINNINGS: [u64; 4] = [0, 80, 96, 128];

const MAX_NAME_BYTES: usize = 4096;
const MAX_MESSAGE_BYTES: usize = 1 << 16;
/// Maximum number of bases to follow, in case the hierarchy is corrupt.
const MAX_BASES: usize = 64;

/// An exception object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thrown {
    /// Its type, as in symbols.
    pub type_name: String,
    /// All its bases, as in symbols.
    pub bases: Vec<String>,
    /// Address of the object.
    pub object: LoadAddr,
    /// The text of `what()`, if the object contains it.
    pub message: Option<String>,
}

impl Thrown {
    /// Returns the name of its type for display.
    pub fn readable(&self) -> String {
        readable(&self.type_name).into_owned()
    }
}

/// Reads exceptions from memory and modules.
pub struct Reader<'a> {
    pub memory: &'a dyn Memory,
    pub modules: &'a Modules,
}

impl Reader<'_> {
    fn word(&self, addr: u64) -> Option<u64> {
        self.memory.read_uint(LoadAddr(addr), 8).ok()
    }

    /// Returns the exception of a `_Unwind_Exception`; `None` if it is not a C++ exception.
    pub fn thrown(&self, header: u64) -> Option<Thrown> {
        let class = self.word(header)?;
        let before = |bytes: u64| self.word(header.wrapping_sub(bytes));
        let (object, info) = match (class & !0xff, class & 0xff) {
            (GNU | LLVM, 0) => (header.wrapping_add(HEADER), before(TYPE_BEFORE_HEADER)?),
            (GNU, 1) => {
                let object = before(TYPE_BEFORE_HEADER)?;
                (object, self.word(object.wrapping_sub(TYPE_BEFORE_OBJECT))?)
            }
            (LLVM, 1) => (before(TYPE_BEFORE_HEADER + 8)?, before(TYPE_BEFORE_HEADER)?),
            _ => return None,
        };
        let mut bases = Vec::new();
        self.bases(info, 0, &mut bases);
        Some(Thrown {
            type_name: self.type_name(info)?,
            message: self.message(&bases, info, object),
            bases: bases
                .into_iter()
                .filter_map(|(base, _)| self.type_name(base))
                .collect(),
            object: LoadAddr(object),
        })
    }

    /// Returns whether the exception that is being raised was thrown before. `throw;` negates its
    /// handler count, which is zero at a first throw, and `std::rethrow_exception` raises a
    /// dependent exception.
    pub fn is_rethrown(&self, header: u64) -> bool {
        let handlers = LoadAddr(header.wrapping_sub(HANDLERS_BEFORE_HEADER));
        let handlers = self.memory.read_uint(handlers, 4);
        self.word(header).is_some_and(|class| class & 0xff == 1)
            || handlers.is_ok_and(|count| count != 0)
    }

    /// Returns whether a handler of the program is about to get the exception, rather than the
    /// run-time library that found none.
    pub fn has_handler(&self, header: u64) -> bool {
        self.word(header.wrapping_sub(LANDING_BEFORE_HEADER))
            .is_some_and(|landing| landing != 0)
    }

    /// Returns the exception that is being handled, if one of these words (registers and stack)
    /// points to its header, its structure or its object.
    pub fn among(&self, words: impl IntoIterator<Item = u64>) -> Option<Thrown> {
        words.into_iter().find_map(|word| {
            let headers = BEGINNINGS.iter().map(|bytes| word.wrapping_add(*bytes));
            let mut headers = headers.chain([word.wrapping_sub(HEADER)]);
            headers.find_map(|header| {
                let class = self.word(header)? & !0xff;
                let handlers = header.wrapping_sub(HANDLERS_BEFORE_HEADER);
                // Memory of a freed exception may still look like one.
                let is_handled = matches!(class, GNU | LLVM)
                    && self.memory.read_uint(LoadAddr(handlers), 4).ok()? != 0;
                is_handled.then(|| self.thrown(header))?
            })
        })
    }

    /// Returns the name in a `std::type_info`.
    fn type_name(&self, info: u64) -> Option<String> {
        let raw = self.raw_name(info)?;
        let symbol = format!("_ZTI{raw}");
        let readable = dwarf::demangle(&symbol);
        let name = readable
            .strip_prefix("typeinfo for ")
            .or_else(|| readable.strip_prefix("{typeinfo(")?.strip_suffix(")}"));
        Some(name.unwrap_or(&raw).to_owned())
    }

    fn raw_name(&self, info: u64) -> Option<String> {
        let name = LoadAddr(self.word(info.wrapping_add(8))?);
        let (bytes, cut) = read_terminated(self.memory, name, 1, MAX_NAME_BYTES).ok()?;
        let name = String::from_utf8(bytes).ok()?;
        let name = name.strip_prefix('*').unwrap_or(&name);
        (!cut && !name.is_empty()).then(|| name.to_owned())
    }

    /// Collects the bases of a class with their offsets in it (`None` for a virtual one), from the
    /// layout of its `type_info` (Itanium C++ ABI §2.9.5).
    fn bases(&self, info: u64, at: u64, found: &mut Vec<(u64, Option<u64>)>) {
        let mut open = vec![(info, Some(at))];
        while let Some((info, at)) = open.pop() {
            if found.len() >= MAX_BASES {
                return;
            }
            let mut add = |base: u64, offset: Option<u64>| {
                let known = found.iter().any(|(known, _)| *known == base);
                if !known && found.len() < MAX_BASES {
                    let place = at.zip(offset).map(|(at, offset)| at.wrapping_add(offset));
                    found.push((base, place));
                    open.push((base, place));
                }
            };
            match self.kind_of(info) {
                Some("si") => {
                    if let Some(base) = self.word(info.wrapping_add(16)) {
                        add(base, Some(0));
                    }
                }
                Some("vmi") => {
                    let count = self.memory.read_uint(LoadAddr(info.wrapping_add(20)), 4);
                    for index in 0..count.unwrap_or(0).min(MAX_BASES as u64) {
                        let entry = info.wrapping_add(24 + 16 * index);
                        let (Some(base), Some(flags)) =
                            (self.word(entry), self.word(entry.wrapping_add(8)))
                        else {
                            break;
                        };
                        // Bit 0: virtual; the offset is in the bits above the flags.
                        let offset = (flags & 1 == 0).then_some((flags as i64 >> 8) as u64);
                        add(base, offset);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the kind of a `type_info`: `si` has one base, `vmi` several.
    fn kind_of(&self, info: u64) -> Option<&'static str> {
        let vtable = LoadAddr(self.word(info)?.wrapping_sub(16));
        let (module, bias) = self.modules.module_at(vtable)?;
        let name = module.symbol_at(bias.file(vtable))?.name;
        match name {
            "_ZTVN10__cxxabiv120__si_class_type_infoE" => Some("si"),
            "_ZTVN10__cxxabiv121__vmi_class_type_infoE" => Some("vmi"),
            _ => None,
        }
    }

    /// Returns the text of a `std::runtime_error` or `std::logic_error`: in both libraries the
    /// pointer to its characters follows the vtable pointer.
    fn message(&self, bases: &[(u64, Option<u64>)], info: u64, object: u64) -> Option<String> {
        let whole = (info, Some(0));
        let offset = bases.iter().chain([&whole]).find_map(|(info, at)| {
            let name = self.raw_name(*info)?;
            let has_text = matches!(name.as_str(), "St13runtime_error" | "St11logic_error");
            has_text.then_some(*at)?
        })?;
        let text = self.word(object.wrapping_add(offset).wrapping_add(8))?;
        let read = read_terminated(self.memory, LoadAddr(text), 1, MAX_MESSAGE_BYTES);
        let (bytes, _) = read.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
