//! Rust panics at the entry of `rust_panic`: the hook has run, so the payload has the formatted
//! message. Its layout is recognized by the names of its methods.

use super::cpp::Reader;
use crate::inspect::value::Ty;
use dwarf::{LoadAddr, ModuleMap};

const STRING: &str = "alloc::string::String";
const MAX_MESSAGE_BYTES: u64 = 1 << 16;

/// A panic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panic {
    /// Its message, if its payload is text that could be read.
    pub message: Option<String>,
    /// Address and type of the message.
    pub value: Option<(LoadAddr, &'static str)>,
    /// The name of another payload's type, as far as that took no long search.
    pub type_name: Option<String>,
    /// The payload.
    pub payload: Payload,
}

/// The payload of a panic: a trait object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payload {
    /// The object's address.
    pub data: LoadAddr,
    /// The address of its vtable.
    pub vtable: LoadAddr,
    /// Whether the object is the run-time library's, which has the value as `inner`.
    pub is_inside: bool,
}

impl Reader<'_> {
    /// Returns the panic whose payload is the trait object of these two words.
    pub fn panic(&self, data: u64, vtable: u64) -> Panic {
        // `resume_unwind` passes on the payload of an earlier panic.
        let again = self
            .is_rewrapped(vtable)
            .then(|| self.words(data))
            .flatten();
        let (data, vtable, kind) = match again {
            Some([of, vtable, ..]) => (of, vtable, self.type_of_vtable(vtable)),
            None => (data, vtable, self.kind_of_payload(vtable)),
        };
        let read = kind.as_deref().and_then(|kind| self.text_at(data, kind));
        Panic {
            message: read.as_ref().map(|it| it.2.clone()),
            type_name: kind.filter(|_| read.is_none()),
            value: read.map(|(at, ty, _)| (LoadAddr(at), ty)),
            payload: Payload {
                data: LoadAddr(data),
                vtable: LoadAddr(vtable),
                is_inside: again.is_none(),
            },
        }
    }

    /// Returns a payload of text by its address and type: the text, and where it is.
    fn text_at(&self, data: u64, kind: &str) -> Option<(u64, &'static str, String)> {
        match kind {
            "&str" => {
                let text = self.words(data).and_then(|it| self.rust_text(it[0], it[1]));
                text.map(|text| (data, "&str", text))
            }
            STRING => self.string_at(data),
            _ => None,
        }
    }

    /// Returns the type of a payload's text or value.
    fn kind_of_payload(&self, vtable: u64) -> Option<String> {
        let methods = self.methods_of_payload(vtable);
        let is_of = |name: &str| methods.iter().any(|method| method.contains(name));
        if is_of("StaticStrPayload") || is_of("7PayloadReE") {
            return Some("&str".to_owned());
        }
        if is_of("FormatStringPayload") || is_of("5alloc6string6String") {
            return Some(STRING.to_owned());
        }
        // `panic_any` has a generic payload.
        let name = self.type_of_vtable(vtable)?;
        let (_, argument) = name.split_once("Payload<")?;
        let argument = argument.strip_suffix('>')?;
        Some(match argument {
            "String" => STRING.to_owned(),
            other => other.to_owned(),
        })
    }

    /// Returns whether a payload is one of `resume_unwind`: a box of the value.
    fn is_rewrapped(&self, vtable: u64) -> bool {
        let methods = self.methods_of_payload(vtable);
        methods.iter().any(|method| method.contains("RewrapBox"))
    }

    /// Returns the symbols of a payload's methods `take_box` and `get`, which follow drop, size, align and
    /// `Display::fmt`. The code of other methods may be shared.
    fn methods_of_payload(&self, vtable: u64) -> Vec<&str> {
        let methods = [4, 5].into_iter();
        methods
            .filter_map(|it| self.symbol_in(vtable, it))
            .collect()
    }

    /// Returns the symbol of the function at a position of a vtable.
    fn symbol_in(&self, vtable: u64, index: u64) -> Option<&str> {
        let entry = LoadAddr(vtable.wrapping_add(index * 8));
        let entry = LoadAddr(self.memory.read_uint(entry, 8).ok()?);
        let (module, bias) = self.modules.module_at(entry)?;
        let addr = bias.file(entry);
        let symbol = module.symbol_at(addr)?;
        (symbol.addr == addr).then_some(symbol.name)
    }

    /// Returns the text of the panic that a stack is about, which these words are of: the hook has been
    /// passed a `PanicHookInfo` there, which begins with a reference to the payload.
    pub fn panic_text(&self, words: &[u64]) -> Option<String> {
        words.windows(2).find_map(|two| {
            let kind = self.type_by_symbols(two[1])?;
            self.text_at(two[0], &kind).map(|it| it.2)
        })
    }

    /// Returns the name of the type that a vtable belongs to, as far as that takes no long search. The first
    /// question about an image reads where its vtables are.
    fn type_of_vtable(&self, vtable: u64) -> Option<String> {
        self.type_by_symbols(vtable).or_else(|| {
            let loaded = self.modules.at(LoadAddr(vtable))?;
            let known = loaded.module.finds_names_soon().then_some(&loaded.module)?;
            let ty = known.type_of_vtable(loaded.bias.file(LoadAddr(vtable)))?;
            Some(
                Ty::dwarf(&loaded.module, loaded.bias, ty)
                    .name()
                    .to_string(),
            )
        })
    }

    /// Returns the name of the type that a vtable belongs to, by the symbols of its functions: of the one
    /// that drops a value, or of `Any::type_id`.
    fn type_by_symbols(&self, vtable: u64) -> Option<String> {
        let symbol = |index| self.symbol_in(vtable, index).map(dwarf::demangle);
        if let Some(drop) = symbol(0)
            && let Some((function, of)) = drop.split_once('<')
            && function.trim_end_matches("::").ends_with("drop_in_place")
        {
            return Some(of.strip_suffix('>').unwrap_or(of).to_owned());
        }
        let name = symbol(3)?;
        let of = name.strip_suffix(" as core::any::Any>::type_id")?;
        let of = of.strip_prefix('<')?;
        // Symbols of the older kind have the parameter's name.
        (of != "T").then(|| of.to_owned())
    }

    fn words(&self, at: u64) -> Option<[u64; 4]> {
        let mut words = [0; 4];
        for (index, word) in (0..).zip(&mut words) {
            let at = LoadAddr(at.wrapping_add(index * 8));
            *word = self.memory.read_uint(at, 8).ok()?;
        }
        Some(words)
    }

    /// Finds a String, possibly after an address, in any field order of rustc.
    fn string_at(&self, at: u64) -> Option<(u64, &'static str, String)> {
        let words = self.words(at)?;
        words.windows(3).zip(0..).find_map(|(three, index)| {
            let [capacity, text, len] = *three else {
                return None;
            };
            let is_string = len <= capacity && capacity < 1 << 48;
            let text = is_string.then(|| self.rust_text(text, len))??;
            Some((at + 8 * index, STRING, text))
        })
    }

    fn rust_text(&self, at: u64, len: u64) -> Option<String> {
        let mut bytes = vec![0; len.min(MAX_MESSAGE_BYTES) as usize];
        self.memory.read(LoadAddr(at), &mut bytes).ok()?;
        match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            // Cut inside a character.
            Err(error) if len > MAX_MESSAGE_BYTES => {
                Some(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
            Err(_) => None,
        }
    }
}
