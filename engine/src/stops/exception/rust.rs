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
    /// Its message, if it could be read.
    pub message: Option<String>,
    /// Address and type of the message.
    pub value: Option<(LoadAddr, &'static str)>,
}

impl Reader<'_> {
    /// Returns the panic whose payload is the trait object of these two words.
    pub fn panic(&self, data: u64, vtable: u64) -> Panic {
        let kind = self.kind_of_payload(vtable);
        let read = match &kind {
            Some(kind) if kind == "&str" => {
                let text = self.words(data).and_then(|it| self.rust_text(it[0], it[1]));
                text.map(|text| (data, "&str", text))
            }
            Some(kind) if kind == STRING => self.string_at(data),
            _ => None,
        };
        let unread = || kind.map(|kind| format!("<{kind}>"));
        Panic {
            message: read.as_ref().map(|it| it.2.clone()).or_else(unread),
            value: read.map(|(at, ty, _)| (LoadAddr(at), ty)),
        }
    }

    /// Returns the type of a payload's text or value.
    fn kind_of_payload(&self, vtable: u64) -> Option<String> {
        let symbol = |index: u64| {
            let entry = LoadAddr(vtable.wrapping_add(index * 8));
            let entry = LoadAddr(self.memory.read_uint(entry, 8).ok()?);
            let (module, bias) = self.modules.module_at(entry)?;
            let addr = bias.file(entry);
            let symbol = module.symbol_at(addr)?;
            (symbol.addr == addr).then_some(symbol.name)
        };
        // After drop, size, align and Display::fmt: take_box and get. The code of other methods may
        // be shared.
        let methods: Vec<&str> = [4, 5].into_iter().filter_map(symbol).collect();
        let is_of = |name: &str| methods.iter().any(|method| method.contains(name));
        if is_of("StaticStrPayload") || is_of("7PayloadReE") {
            return Some("&str".to_owned());
        }
        if is_of("FormatStringPayload") || is_of("5alloc6string6String") {
            return Some(STRING.to_owned());
        }
        // `panic_any` has a generic payload, whose vtable is in the debug info.
        let loaded = self.modules.at(LoadAddr(vtable))?;
        let known = loaded.module.has_names().then_some(&loaded.module)?;
        let ty = known.type_of_vtable(loaded.bias.file(LoadAddr(vtable)))?;
        let name = Ty::dwarf(&loaded.module, loaded.bias, ty).name();
        let (_, argument) = name.split_once("Payload<")?;
        let argument = argument.strip_suffix('>')?;
        Some(match argument {
            "String" => STRING.to_owned(),
            other => other.to_owned(),
        })
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
