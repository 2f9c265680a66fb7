//! Versions of dynamic symbols (`.gnu.version`, `.gnu.version_d`) in a user's notation: `name@@V2`
//! is the default, which programs are linked with, `name@V1` may be an older one.

use super::symbols;
use crate::file::object::{Image, Section, string_at, u16_at, u32_at};
use crate::ids::symbol::Symbol;

const SHT_GNU_VERDEF: u32 = 0x6fff_fffd;
const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;
/// Flag in an entry of `.gnu.version`: not the default version.
const HIDDEN: u16 = 0x8000;
/// Maximum number of versions that an entry can number.
const MAX_VERSIONS: usize = 1 << 15;

/// A name with a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Versioned<'a> {
    name: &'a str,
    version: &'a str,
    /// Whether it was typed with `@@`.
    is_default: bool,
}

impl<'a> Versioned<'a> {
    /// Parses a name; `None` without a version.
    pub(crate) fn typed(name: &'a str) -> Option<Self> {
        let (name, behind) = name.trim().split_once('@')?;
        let version = behind.strip_prefix('@');
        let is_default = version.is_some();
        let version = version.unwrap_or(behind);
        let fits = !name.is_empty() && !version.is_empty() && !version.contains('@');
        // `name@plt` is a stub.
        (fits && version != "plt").then_some(Self {
            name,
            version,
            is_default,
        })
    }
}

/// Returns the functions that an image exports under a name and a version.
pub(crate) fn functions(image: &Image, wanted: Versioned<'_>) -> Vec<Symbol> {
    let of_kind = |kind| {
        image
            .sections
            .iter()
            .find(|it: &&Section| it.elf.kind == kind)
    };
    let Some(numbers) = of_kind(SHT_GNU_VERSYM).map(|section| image.contents(section)) else {
        return Vec::new();
    };
    let Some(wanted_number) = number_of(image, wanted.version) else {
        return Vec::new();
    };
    let symbols = symbols::exported_symbols(image);
    let found = symbols.filter_map(|(index, symbol)| {
        let number = u16_at(numbers, index.checked_mul(2)?)?;
        let is_hidden = number & HIDDEN != 0;
        let fits = number & !HIDDEN == wanted_number && !(wanted.is_default && is_hidden);
        (fits && symbol.name == wanted.name && symbol.is_code()).then_some(symbol)
    });
    found.collect()
}

/// Returns the number of a version that the image defines.
fn number_of(image: &Image, version: &str) -> Option<u16> {
    let mut sections = image.sections.iter();
    let section = sections.find(|section| section.elf.kind == SHT_GNU_VERDEF)?;
    let strings = image.contents(image.sections.get(section.elf.link as usize)?);
    let data = image.contents(section);
    // struct Elf64_Verdef { u16 version, flags, ndx, cnt; u32 hash, aux, next; }
    let mut at = 0usize;
    for _ in 0..MAX_VERSIONS {
        let number = u16_at(data, at.checked_add(4)?)?;
        let (names, next) = (u32_at(data, at + 12)?, u32_at(data, at + 16)?);
        // The first name is that of the version, the others are those of its parents.
        let name = u32_at(data, at.checked_add(names as usize)?)?;
        if string_at(strings, name as usize) == Some(version) {
            return Some(number & !HIDDEN);
        }
        if next == 0 {
            break;
        }
        at = at.checked_add(next as usize)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Versioned;

    #[test]
    fn version_follows_one_or_two_at_signs() {
        let typed = Versioned::typed(" foo@@V2").unwrap();
        assert_eq!(
            (typed.name, typed.version, typed.is_default),
            ("foo", "V2", true)
        );
        let typed = Versioned::typed("foo@GLIBC_2.2.5").unwrap();
        assert_eq!((typed.version, typed.is_default), ("GLIBC_2.2.5", false));
        for other in [
            "foo", "foo@plt", "foo@", "foo@@", "@V1", "foo@@@V1", "a@b@c",
        ] {
            assert_eq!(Versioned::typed(other), None, "{other}");
        }
    }
}
