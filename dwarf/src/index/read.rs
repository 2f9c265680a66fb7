//! Names read from the entries of units.

use super::IndexEntries;
use crate::entries::units::{MAX_HOPS, MAX_NAME, Unit, Value};
use crate::entries::walk::{Shapes, Visited, Visitor};
use crate::file::mapping;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::naming::{Key, key};
use gimli::{Abbreviation, DwAt, Section};
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: u8 = 0;
/// The entry that this one is an instance or completion of.
const ORIGIN: u8 = 1;
const LOW_PC: u8 = 2;
const RANGES: u8 = 3;
const DECLARATION: u8 = 4;

fn slot(at: DwAt) -> Option<u8> {
    Some(match at {
        gimli::DW_AT_name => NAME,
        gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => ORIGIN,
        gimli::DW_AT_low_pc => LOW_PC,
        gimli::DW_AT_ranges => RANGES,
        gimli::DW_AT_declaration => DECLARATION,
        _ => return None,
    })
}

fn may_have_name(abbreviation: &Abbreviation) -> bool {
    let mut attributes = abbreviation.attributes().iter();
    attributes.any(|spec| matches!(slot(spec.name()), Some(NAME | ORIGIN)))
}

/// The state of one thread that reads names.
#[derive(Default)]
pub(super) struct State {
    pub(super) found: IndexEntries,
    shapes: Shapes,
}

/// Keys of strings in `.debug_str` by offset: most names occur in many units, and those of
/// templates are long. All threads share the table; an overwritten key is computed again.
pub(super) struct Keys {
    section: &'static [u8],
    /// Offset and key in one word.
    known: Vec<AtomicU64>,
    /// The number of bits to shift a 32-bit hash to the right.
    shift: u32,
}

/// Maximum number of keys in the table.
const MAX_KEYS: usize = 1 << 18;
/// Bytes of debug info per slot of the table.
const BYTES_A_KEY: usize = 512;

impl Keys {
    /// Returns a table for names in `bytes` bytes of debug info.
    pub(super) fn new(info: &DebugInfo, bytes: usize) -> Keys {
        let count = (bytes / BYTES_A_KEY).clamp(1, MAX_KEYS).next_power_of_two();
        let free = || AtomicU64::new(0);
        Keys {
            section: info.main.dwarf.debug_str.reader().slice(),
            known: std::iter::repeat_with(free).take(count).collect(),
            shift: u32::BITS - count.trailing_zeros(),
        }
    }

    /// Returns the key of the string at an offset of the section; `None` if it is empty.
    #[inline]
    fn at(&self, offset: usize) -> Option<u32> {
        let place = u32::try_from(offset).ok().filter(|offset| *offset != 0);
        let known = place.and_then(|offset| {
            // Fibonacci hashing: neighbors get different slots.
            let hash = offset.wrapping_mul(0x9e37_79b9).checked_shr(self.shift);
            self.known.get(hash.unwrap_or(0) as usize)
        });
        // Relaxed: offset and key are one number, and no other memory depends on it.
        if let Some(known) = known.map(|known| known.load(Ordering::Relaxed))
            && (known >> 32) as usize == offset
            && offset != 0
        {
            return Some(known as u32);
        }
        let string = self.section.get(offset..)?;
        let string = string.get(..memchr::memchr(0, string)?.min(MAX_NAME))?;
        if string.is_empty() {
            return None;
        }
        let key = key(string);
        if let Some(known) = known {
            known.store((offset as u64) << 32 | u64::from(key), Ordering::Relaxed);
        }
        Some(key)
    }
}

/// Reader of entries' names.
pub(super) struct NameReader<'a> {
    pub(super) info: &'a DebugInfo,
    pub(super) keys: &'a Keys,
}

impl NameReader<'_> {
    /// Returns the key of an entry's name, its own or that of the entry it is an instance of.
    pub(super) fn key<V: Visitor>(&self, entry: &Visited<'_>, shapes: &mut Shapes) -> Option<u32> {
        if let Some(name) = entry.value(NAME) {
            return self.key_of_string(entry.unit, name);
        }
        let origin = entry.value(ORIGIN)?;
        // Most origins are in the same unit and have the name.
        if let Value::UnitRef(offset) = origin
            && let Some(origin) = self.info.visited::<V>(entry.unit, shapes, offset.0)
            && let Some(name) = origin.value(NAME)
        {
            return self.key_of_string(entry.unit, name);
        }
        let name = self.info.name_of_origin(entry.unit, origin)?;
        (!name.is_empty()).then(|| key(name))
    }

    fn key_of_string(&self, unit: &Unit, value: Value) -> Option<u32> {
        let info = self.info;
        let string = |value| {
            let name = info.string(unit, value).filter(|name| !name.is_empty())?;
            Some(key(name))
        };
        let dwarf = info.dwarf_of(unit);
        let offset = match value {
            Value::DebugStrRef(offset) => offset,
            Value::DebugStrOffsetsIndex(index) => {
                let (format, base) = (unit.raw.header.format(), unit.raw.str_offsets_base);
                let offsets = &dwarf.debug_str_offsets;
                offsets.get_str_offset(format, base, index).ok()?
            }
            other => return string(other),
        };
        // Split units have their own strings.
        match std::ptr::eq(dwarf.debug_str.reader().slice(), self.keys.section) {
            true => self.keys.at(offset.0),
            false => string(Value::DebugStrRef(offset)),
        }
    }
}

/// Collects the entries of the index.
struct Indexing<'a> {
    names: NameReader<'a>,
    found: &'a mut IndexEntries,
    /// Depth of the outermost function around the entries.
    in_function: Option<isize>,
}

impl Visitor for Indexing<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        match abbreviation.tag() {
            // Variables of functions are recognised by the enclosing entry.
            gimli::DW_TAG_subprogram => abbreviation.has_children() || may_have_name(abbreviation),
            gimli::DW_TAG_variable => may_have_name(abbreviation),
            tag => super::is_type(tag) && may_have_name(abbreviation),
        }
    }

    fn slot(at: DwAt) -> Option<u8> {
        slot(at)
    }

    fn entry(&mut self, entry: &Visited<'_>, shapes: &mut Shapes) -> Result<(), Error> {
        let is_declaration = || matches!(entry.value(DECLARATION), Some(Value::Flag(true)));
        let found = &mut *self.found;
        let entries = match entry.tag {
            gimli::DW_TAG_subprogram => {
                if entry.has_children && self.in_function.is_none() {
                    self.in_function = Some(entry.depth);
                }
                if is_code(self.names.info, entry) {
                    &mut found.functions
                } else if is_declaration() {
                    return Ok(());
                } else {
                    // Abstract instances; gcc's link-time optimization omits DW_AT_inline.
                    &mut found.inlined
                }
            }
            gimli::DW_TAG_variable if self.in_function.is_some() || is_declaration() => {
                return Ok(());
            }
            gimli::DW_TAG_variable => &mut found.statics,
            _ => &mut found.types,
        };
        // Offsets in units have 32 bits, as in a walk.
        if let Some(key) = self.names.key::<Self>(entry, shapes)
            && let Ok(offset) = u32::try_from(entry.offset)
        {
            entries.push(key, entry.unit.index, offset);
        }
        Ok(())
    }

    fn end_of_list(&mut self, depth: isize, _offset: usize) {
        if self
            .in_function
            .is_some_and(|function| depth <= function + 1)
        {
            self.in_function = None;
        }
    }
}

/// Returns whether a function has code.
fn is_code(info: &DebugInfo, entry: &Visited<'_>) -> bool {
    let is_code = |low| {
        let addr = info.address(entry.unit, low);
        addr.is_some_and(|addr| info.is_code(addr))
    };
    entry.has(RANGES) || entry.value(LOW_PC).is_some_and(is_code)
}

/// Finds entries that have a name, or that refer to entries that have it.
struct StandingFor<'a> {
    names: NameReader<'a>,
    wanted: u32,
    /// Their offsets in `.debug_info`.
    found: &'a mut Vec<u32>,
}

impl Visitor for StandingFor<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        let is_meant = matches!(
            abbreviation.tag(),
            gimli::DW_TAG_subprogram | gimli::DW_TAG_variable | gimli::DW_TAG_member
        );
        is_meant && may_have_name(abbreviation)
    }

    fn slot(at: DwAt) -> Option<u8> {
        slot(at).filter(|slot| matches!(*slot, NAME | ORIGIN))
    }

    fn entry(&mut self, entry: &Visited<'_>, shapes: &mut Shapes) -> Result<(), Error> {
        if self.names.key::<Self>(entry, shapes) == Some(self.wanted) {
            let start = entry.unit.raw.header.offset().0;
            self.found.extend(u32::try_from(start + entry.offset));
        }
        Ok(())
    }
}

impl DebugInfo {
    /// Collects the names of a unit.
    pub(super) fn index_unit(&self, index: u32, keys: &Keys, state: &mut State) {
        self.with_unit_once(index, |unit| {
            let mut indexing = Indexing {
                names: NameReader { info: self, keys },
                found: &mut state.found,
                in_function: None,
            };
            if let Err(error) = self.walk(unit, &mut state.shapes, &mut indexing) {
                tracing::debug!(unit = index, %error, "corrupt entries; the rest of the unit has no names");
            }
        });
        if self.is_large() {
            mapping::give_back(self.bytes_of_unit(index));
        }
    }

    /// Collects the offsets in `.debug_info` of a unit's entries that have a name or refer to one.
    pub(super) fn entries_standing_for(&self, unit: u32, name: Key<'_>, found: &mut Vec<u32>) {
        let Some(unit) = self.whole(unit) else {
            return;
        };
        if unit.raw.header.section() != gimli::SectionId::DebugInfo {
            return;
        }
        let keys = Keys::new(self, unit.raw.header.length_including_self());
        let mut visitor = StandingFor {
            names: NameReader {
                info: self,
                keys: &keys,
            },
            wanted: name.hash,
            found,
        };
        if let Err(error) = self.walk(unit, &mut Shapes::default(), &mut visitor) {
            tracing::debug!(unit = unit.index, %error, "corrupt entries");
        }
    }

    /// Returns the name of the entry that a reference leads to, read with minimum cost.
    fn name_of_origin(&self, unit: &Unit, origin: Value) -> Option<&'static [u8]> {
        let mut die = self.reference(unit, origin)?;
        for _ in 0..MAX_HOPS {
            let unit = match die.unit == unit.index {
                true => unit,
                false => self.whole(die.unit)?,
            };
            if let Some(name) = self.peek(unit, die.offset, gimli::DW_AT_name) {
                return self.string(unit, name);
            }
            let next = self
                .peek(unit, die.offset, gimli::DW_AT_specification)
                .or_else(|| self.peek(unit, die.offset, gimli::DW_AT_abstract_origin))?;
            die = self.reference(unit, next)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DieRef;
    use crate::index::{NameIndex, Names, is_type};
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::Command;

    type Plain = [BTreeMap<u32, Vec<DieRef>>; 4];

    /// Collects the index entries of a unit with gimli, which reads all attributes of all entries.
    fn read_plainly(info: &DebugInfo, unit: &Unit, plain: &mut Plain) {
        let mut entries = unit.raw.entries_raw(None).unwrap();
        let mut in_function: Option<isize> = None;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset().0 as u64, entries.next_depth());
            in_function = in_function.filter(|function| depth > *function);
            let Some(abbreviation) = entries.read_abbreviation().unwrap() else {
                continue;
            };
            let tag = abbreviation.tag();
            let mut attrs = Vec::new();
            let specs = abbreviation.attributes();
            entries.read_attributes(specs, &mut attrs).unwrap();
            let value = |at| {
                let mut with = attrs.iter().filter(|attr| attr.name() == at);
                with.next_back().map(gimli::Attribute::value)
            };
            let is_variable = tag == gimli::DW_TAG_variable && in_function.is_none();
            let is_function = tag == gimli::DW_TAG_subprogram;
            if is_function && abbreviation.has_children() && in_function.is_none() {
                in_function = Some(depth);
            }
            let has_code = value(gimli::DW_AT_ranges).is_some()
                || value(gimli::DW_AT_low_pc).is_some_and(|low| {
                    let addr = info.address(unit, low);
                    addr.is_some_and(|addr| info.is_code(addr))
                });
            let is_declaration = value(gimli::DW_AT_declaration) == Some(Value::Flag(true));
            let table = match (is_function, has_code, is_declaration) {
                (true, true, _) => 0,
                (true, false, false) => 1,
                (false, ..) if is_type(tag) => 2,
                (false, _, false) if is_variable => 3,
                _ => continue,
            };
            let origin = value(gimli::DW_AT_specification);
            let origin = origin.or_else(|| value(gimli::DW_AT_abstract_origin));
            let name = match value(gimli::DW_AT_name) {
                Some(name) => info.string(unit, name),
                None => origin.and_then(|origin| info.name_of_origin(unit, origin)),
            };
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                let entries = plain[table].entry(key(name)).or_default();
                let unit = unit.index;
                entries.push(DieRef { unit, offset });
            }
        }
    }

    fn tables(index: &NameIndex) -> [&Names; 4] {
        [
            &index.functions,
            &index.inlined,
            &index.types,
            &index.statics,
        ]
    }

    fn compare(what: &str, program: &Path) {
        let module = crate::Module::open(program).unwrap();
        let info = module.info().unwrap();
        let index = info.build_index();
        let mut plain = Plain::default();
        for unit in 0..info.all_units() {
            read_plainly(info, info.whole(unit).unwrap(), &mut plain);
        }
        for (kind, (names, plain)) in tables(&index).into_iter().zip(&mut plain).enumerate() {
            let count: usize = plain.values().map(Vec::len).sum();
            println!("{what}: {count} names in table {kind}");
            assert_eq!(names.len(), count, "{what}: table {kind}");
            for (key, entries) in plain {
                entries.sort_unstable();
                let found: Vec<DieRef> = names.get(*key).collect();
                assert_eq!(found, *entries, "{what}: table {kind}, key {key:#x}");
            }
        }
        assert!(plain[0].contains_key(&key(b"main")), "{what}");
    }

    const CPP: &str = r#"
#include <map>
#include <string>
namespace ns {
struct Node { int v; Node *next; int get() const; static int count; enum Kind { A, B } kind; };
int Node::count = 3;
int Node::get() const { struct Local { int v; }; Local local{v}; return local.v; }
template <class T, class... Rest> T twice(T x, Rest...) { static T calls; calls += x; return x + calls; }
}
extern "C" { int outside = 1; }
static inline __attribute__((always_inline)) int inlined(int *x) { *x += 3; return *x; }
thread_local int mine = 2;
int main(int argc, char **argv) {
    std::map<std::string, int> map;
    map[argv[0]] = ns::twice(argc, 1.5, "x") + inlined(&argc) + mine + outside;
    auto lambda = [&](long by) { ns::Node n{argc, nullptr}; return n.get() + by + ns::Node::count; };
    { int block = 3; argc += block; }
    return map.size() + lambda(argc);
}
"#;

    const RUST: &str = r#"
static TOTAL: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
trait Shape { fn area(&self) -> f64; }
#[derive(Debug)] enum Kind { Square(f64), Circle { radius: f64 }, Nothing }
impl Shape for Kind {
    fn area(&self) -> f64 {
        match self { Kind::Square(a) => a * a, Kind::Circle { radius } => 3.0 * radius, Kind::Nothing => 0.0 }
    }
}
fn main() {
    let kinds = vec![Kind::Square(1.0), Kind::Circle { radius: 2.0 }, Kind::Nothing];
    let sum: f64 = kinds.iter().map(|kind| kind.area()).sum();
    println!("{sum} {kinds:?} {}", TOTAL.load(std::sync::atomic::Ordering::Relaxed));
}
"#;

    /// The index has the same entries as a read of every attribute of every entry.
    #[test]
    fn index_equals_a_plain_walk() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program.cpp"), CPP).unwrap();
        std::fs::write(folder.path().join("program.rs"), RUST).unwrap();
        let program = folder.path().join("program");
        for command in [
            "g++ -O0 -gdwarf-4 program.cpp",
            "g++ -O2 -gdwarf-5 program.cpp",
            "g++ -O2 -g -flto program.cpp",
            "g++ -g -fdebug-types-section -gdwarf-4 program.cpp",
            "g++ -g -fdebug-types-section -gdwarf-5 program.cpp",
            "g++ -g -gsplit-dwarf program.cpp",
            "g++ -g -gdwarf64 program.cpp",
            "clang++ -O1 -gdwarf-5 program.cpp",
            "clang++ -O0 -gdwarf-4 program.cpp",
            "rustc -g program.rs",
            "rustc -g -O -Cdwarf-version=5 program.rs",
        ] {
            let mut words = command.split(' ');
            let mut built = Command::new(words.next().unwrap());
            built.args(words).arg("-o").arg(&program);
            if !built
                .current_dir(folder.path())
                .status()
                .is_ok_and(|it| it.success())
            {
                skips::skip(command);
                continue;
            }
            compare(command, &program);
            std::fs::remove_file(&program).unwrap();
        }
    }
}
