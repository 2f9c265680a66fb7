//! Units that may have a name, found at the speed of memory: the name is searched in the string
//! sections, and the offsets of the matching strings in the bytes of the units. Nothing is parsed,
//! so a unit may match by accident; the few matching units are read then.

use crate::file::mapping;
use crate::file::merged_strings::{Text, start_of_string};
use crate::lines::DebugInfo;
use crate::naming::{Key, key};
use gimli::{Section, UnitType};
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Maximum number of strings to compare: beyond it, the name is a part of nearly all others.
const MAX_STRINGS: usize = 1 << 14;
/// Number of bytes that one thread searches at a time.
const PORTION: usize = 1 << 20;
/// Minimum size in bytes of a `.debug_info` that is not kept in memory as a whole.
const LARGE: usize = 8 << 20;
/// Up to this number, needles are searched one after the other.
const FEW: usize = 3;
/// Maximum length of a chain of references between units.
const MAX_ROUNDS: usize = 3;

/// The units that may have a name.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Mentions {
    /// At most these units have it, sorted.
    Units(Vec<u32>),
    /// All units have to be read to decide.
    Unknown,
}

impl DebugInfo {
    /// Returns the units that have an entry of this name, or entries that refer to one.
    pub(crate) fn units_mentioning(&self, name: Key<'_>) -> Mentions {
        let base = name.base;
        // Names with spaces have several spellings.
        if base.is_empty() || base.contains(' ') {
            return Mentions::Unknown;
        }
        if self.objects.is_some() {
            return Mentions::Units(self.units_of_objects_with(base));
        }
        if !self.has_plain_strings() {
            return Mentions::Unknown;
        }
        let mut needles = FxHashSet::default();
        let strings = self.main.dwarf.debug_str.reader().slice();
        let in_lines = self.main.dwarf.debug_line_str.reader().slice();
        for section in [strings, in_lines] {
            if !strings_of_name(section, name, &mut needles) {
                return Mentions::Unknown;
            }
        }
        let needles: Vec<u32> = needles.into_iter().collect();
        let mut units = FxHashSet::default();
        if !needles.is_empty() {
            self.units_with(&needles, &mut units);
            self.units_with_indexed(&needles, &mut units);
        }
        if self.may_have(gimli::DW_AT_name, gimli::DW_FORM_string) {
            self.units_with_text(base, &mut units);
        }
        if !self.add_referring(name, &mut units) {
            return Mentions::Unknown;
        }
        let mut units: Vec<u32> = units.into_iter().collect();
        units.sort_unstable();
        Mentions::Units(units)
    }

    /// Returns the units of object files that contain a name as text: each has strings of its own,
    /// and mostly one unit.
    fn units_of_objects_with(&self, base: &str) -> Vec<u32> {
        let text = Text::new(base);
        let has = |section: &[u8]| has_name(section, &text, base);
        let files = self.files().into_par_iter();
        let fitting = files.filter(|file| {
            let dwarf = &file.dwarf;
            has(dwarf.debug_str.reader().slice()) || has(dwarf.debug_info.reader().slice())
        });
        let units = fitting.flat_map_iter(|file| file.units());
        let mut units: Vec<u32> = units.collect();
        units.sort_unstable();
        units
    }

    /// Returns the size of some units in `.debug_info` and `.debug_types`, in bytes.
    pub(crate) fn bytes_of(&self, units: &[u32]) -> usize {
        let headers = units.iter().filter_map(|unit| self.header(*unit));
        headers.map(|header| header.length_including_self()).sum()
    }

    /// Returns whether all names are in the sections of this file.
    fn has_plain_strings(&self) -> bool {
        let large = |section: &[u8]| u32::try_from(section.len()).is_err();
        let split = |index| {
            let header = self.header(index);
            header.is_some_and(|header| matches!(header.type_(), UnitType::Skeleton(_)))
        };
        self.main.dwarf.sup().is_none()
            && !large(self.main.dwarf.debug_str.reader().slice())
            && !large(self.main.dwarf.debug_info.reader().slice())
            && !(0..self.unit_count()).any(split)
            // The split DWARF extension to DWARF 4 has skeletons in ordinary units
            // (DW_AT_GNU_dwo_name).
            && memmem::find(self.main.dwarf.debug_abbrev.reader().slice(), &[0xb0, 0x42]).is_none()
    }

    /// Returns whether some abbreviation has an attribute in a form, or bytes that look like it.
    fn may_have(&self, at: gimli::DwAt, form: gimli::DwForm) -> bool {
        let (Ok(at), Ok(form)) = (u8::try_from(at.0), u8::try_from(form.0)) else {
            return true;
        };
        memmem::find(self.main.dwarf.debug_abbrev.reader().slice(), &[at, form]).is_some()
    }

    /// Returns the bytes of a unit in its section; empty for a unit of another file.
    pub(crate) fn bytes_of_unit(&self, index: u32) -> &'static [u8] {
        let bytes = self.header(index).and_then(|header| {
            let dwarf = &self.file_of(index)?.dwarf;
            let section = match header.section() {
                gimli::SectionId::DebugTypes => dwarf.debug_types.reader().slice(),
                _ => dwarf.debug_info.reader().slice(),
            };
            let start = header.offset().0;
            section.get(start..start.checked_add(header.length_including_self())?)
        });
        bytes.unwrap_or_default()
    }

    /// Returns the bytes of all units.
    fn unit_bytes(&self) -> impl IndexedParallelIterator<Item = (u32, &'static [u8])> + '_ {
        let units = (0..self.unit_count()).into_par_iter();
        units.map(|index| (index, self.bytes_of_unit(index)))
    }

    /// Returns whether searched pages have to be released from memory. Those of object files are
    /// not: finding the mapping of each takes longer.
    pub(crate) fn is_large(&self) -> bool {
        self.main.debug_info_size() >= LARGE
    }

    fn units_with(&self, needles: &[u32], units: &mut FxHashSet<u32>) {
        let needles = Needles::new(needles);
        let has = |bytes: &'static [u8]| {
            let starts = (0..bytes.len()).step_by(PORTION).collect::<Vec<_>>();
            let portion = |start: usize| {
                // The last needle of a piece may end in the next one.
                let end = bytes.len().min(start + PORTION + 3);
                bytes.get(start..end).unwrap_or_default()
            };
            starts
                .into_par_iter()
                .any(|start| needles.are_in(portion(start)))
        };
        let found = self.unit_bytes().filter(|(_, bytes)| {
            let found = has(bytes);
            if self.is_large() {
                mapping::give_back(bytes);
            }
            found
        });
        units.par_extend(found.map(|(unit, _)| unit));
    }

    /// Adds the units that refer to names by their indexes in `.debug_str_offsets`.
    fn units_with_indexed(&self, needles: &[u32], units: &mut FxHashSet<u32>) {
        let offsets = self.main.dwarf.debug_str_offsets.reader().slice();
        if offsets.is_empty() {
            return;
        }
        let mut bases: Vec<(usize, u32)> = (0..self.unit_count())
            .into_par_iter()
            .filter_map(|unit| Some((self.unit(unit)?.raw.str_offsets_base.0, unit)))
            .collect();
        bases.sort_unstable();
        for needle in needles {
            let needle = needle.to_le_bytes();
            for at in Text::new(&needle).occurrences(offsets) {
                let behind = bases.partition_point(|(base, _)| *base <= at);
                let nearest = bases
                    .get(..behind)
                    .and_then(<[_]>::last)
                    .map(|(base, _)| *base);
                let before = bases.get(..behind).unwrap_or_default().iter().rev();
                units.extend(
                    before
                        .take_while(|(base, _)| Some(*base) == nearest)
                        .map(|(_, unit)| *unit),
                );
            }
        }
    }

    /// Adds the units that contain a name as text.
    fn units_with_text(&self, base: &str, units: &mut FxHashSet<u32>) {
        let text = Text::new(base);
        let found = self.unit_bytes();
        let found = found.filter(|(_, bytes)| has_name(bytes, &text, base));
        units.par_extend(found.map(|(unit, _)| unit));
    }

    /// Adds the units whose entries refer to entries of that name in other units, as after
    /// link-time optimization. Returns false if these cannot be determined.
    fn add_referring(&self, name: Key<'_>, units: &mut FxHashSet<u32>) -> bool {
        let refers = |at| self.may_have(at, gimli::DW_FORM_ref_addr);
        if !refers(gimli::DW_AT_abstract_origin) && !refers(gimli::DW_AT_specification) {
            return true;
        }
        let mut fresh: Vec<u32> = units.iter().copied().collect();
        for _ in 0..MAX_ROUNDS {
            if fresh.is_empty() {
                return true;
            }
            if self.bytes_of(&fresh) > self.debug_info_size() / 2 {
                return false;
            }
            let entries = fresh.par_iter().flat_map_iter(|unit| {
                let mut found = Vec::new();
                self.entries_standing_for(*unit, name, &mut found);
                found
            });
            let needles: Vec<u32> = entries.collect();
            let mut referring = FxHashSet::default();
            if !needles.is_empty() {
                self.units_with(&needles, &mut referring);
            }
            fresh = referring.difference(units).copied().collect();
            units.extend(&fresh);
        }
        true
    }
}

/// Returns whether a byte may follow the last component of a name.
fn may_follow(byte: u8) -> bool {
    matches!(byte, 0 | b'<' | b' ' | b'(' | b':')
}

/// Returns whether a name is somewhere in these bytes, as text that may be its end.
fn has_name(bytes: &[u8], text: &Text<'_>, base: &str) -> bool {
    let ends = |at: usize| bytes.get(at + base.len()).copied().is_some_and(may_follow);
    text.occurrences(bytes).any(ends)
}

/// Collects the offsets of strings whose last component is the name. Returns false if there are too
/// many.
fn strings_of_name(section: &[u8], name: Key<'_>, found: &mut FxHashSet<u32>) -> bool {
    let mut compared = 0;
    for at in Text::new(name.base).occurrences(section) {
        let behind = section.get(at + name.base.len()).copied();
        if !behind.is_some_and(may_follow) {
            continue;
        }
        let rest = section.get(at..).unwrap_or_default();
        let len = memchr::memchr(0, rest).unwrap_or(rest.len());
        let string = rest.get(..len).unwrap_or_default();
        compared += 1;
        if compared > MAX_STRINGS {
            return false;
        }
        if key(string) != name.hash {
            continue;
        }
        found.extend(u32::try_from(at));
        if section.get(..at).unwrap_or_default().ends_with(b"::") {
            // Any of the longer ends of a path may be a name, too.
            let starts = start_of_string(section, at)..at;
            let starts = starts.filter(|start| section.get(*start) != Some(&b':'));
            compared += starts.clone().count();
            if compared > MAX_STRINGS {
                return false;
            }
            found.extend(starts.filter_map(|start| u32::try_from(start).ok()));
        }
    }
    true
}

/// Four-byte numbers to search, in the byte order of the files.
struct Needles {
    few: Vec<memmem::Finder<'static>>,
    many: FxHashSet<u32>,
    /// A set of the lower halves, as a bit map.
    halves: Vec<u64>,
}

impl Needles {
    fn new(needles: &[u32]) -> Needles {
        let few: Vec<_> = match needles.len() <= FEW {
            true => needles
                .iter()
                .map(|needle| memmem::Finder::new(&needle.to_le_bytes()).into_owned())
                .collect(),
            false => Vec::new(),
        };
        let mut halves = Vec::new();
        if few.is_empty() {
            halves.resize((1 << 16) / 64, 0);
            for needle in needles {
                let half = *needle as u16;
                if let Some(bits) = halves.get_mut(usize::from(half / 64)) {
                    *bits |= 1u64 << (half % 64);
                }
            }
        }
        Needles {
            few,
            many: needles.iter().copied().collect(),
            halves,
        }
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        if self.halves.is_empty() {
            return self.few.iter().any(|finder| finder.find(bytes).is_some());
        }
        bytes.array_windows::<4>().any(|window| {
            let value = u32::from_le_bytes(*window);
            let half = value as u16;
            let bits = self.halves.get(usize::from(half / 64));
            bits.is_some_and(|bits| bits >> (half % 64) & 1 == 1) && self.many.contains(&value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::merged_strings::tests::{all_strings, random_section};

    fn found(section: &[u8], name: &str) -> Vec<u32> {
        let mut all = FxHashSet::default();
        assert!(strings_of_name(section, Key::of(name), &mut all));
        let mut all: Vec<u32> = all.into_iter().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn strings_are_found_by_their_last_component() {
        let section = b"\0twice<int>\0twice\0ntwice\0twices\0ns::twice<a::b>\0";
        // A linker may store `twice` as the end of `ntwice`, and `s::twice` as that of `ns::twice`.
        assert_eq!(found(section, "twice"), [1, 12, 19, 32, 33, 36]);
        assert_eq!(found(section, "once"), []);
        assert_eq!(found(section, "b"), [], "an argument is no name");
    }

    #[test]
    fn each_string_of_a_name_is_found_in_random_sections() {
        for seed in 1..200 {
            let section = random_section(seed, b"ab:<");
            for base in ["a", "aa", "ab", "bab"] {
                let found = found(&section, base);
                for (at, string) in all_strings(&section) {
                    // No name has lone colons, or begins with some.
                    let path = format!("::{base}");
                    let is_path = string.ends_with(path.as_bytes()) && !string.starts_with(b":");
                    let is_name = string == base.as_bytes() || is_path;
                    if is_name && key(string) == Key::of(base).hash {
                        assert!(found.contains(&(at as u32)), "seed {seed}: {base} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_found_behind_the_letters_they_begin_with() {
        for bytes in [&b"\0aaa\0"[..], b"aaaa\0"] {
            assert!(has_name(bytes, &Text::new("aa"), "aa"), "{bytes:?}");
        }
    }

    #[test]
    fn needles_are_found_wherever_they_lie() {
        let mut bytes = vec![0u8; 1000];
        bytes[501..505].copy_from_slice(&0x1234_5678u32.to_le_bytes());
        let many: Vec<u32> = (0..10).map(|n| 0x1234_5670 + n).collect();
        for needles in [&[0x1234_5678][..], &many] {
            let needles = Needles::new(needles);
            assert!(needles.are_in(&bytes));
            assert!(!needles.are_in(&bytes[..504]));
            assert!(!needles.are_in(&bytes[502..]));
        }
    }

    const FIRST: &str = "static inline __attribute__((always_inline)) int shared(int n) { volatile int k = n; return k; }
int only_first(int n) { return shared(n) + 1; }
int go(int n) { return n + 2; }
struct of_first { int a; } first_value;
";
    const SECOND: &str = "extern int only_first(int); extern int go(int);
static inline __attribute__((always_inline)) int shared(int n) { volatile int k = n; return k; }
__attribute__((noinline)) int only_second(int n) { return shared(n) + only_first(n) + go(n); }
";
    const MAIN: &str =
        "int only_second(int); int only_main; int main(void) { return only_second(only_main); }
";

    /// A search finds the same entries for each name as the index of all names.
    #[test]
    fn search_equals_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let mut sources = Vec::new();
        let mut write = |name: String, text: &str| {
            std::fs::write(folder.path().join(&name), text).unwrap();
            sources.push(name);
        };
        write("first.c".into(), FIRST);
        write("second.c".into(), SECOND);
        write("main.c".into(), MAIN);
        // More units: a search is abandoned if most units have the name.
        for index in 0..8 {
            write(
                format!("other{index}.c"),
                &format!(
                    "int other{index}(int a, int b, int c) {{ int sum = a + b + c; return sum * {index}; }}\n"
                ),
            );
        }
        for (compiler, flags) in [
            ("gcc", &["-O0", "-gdwarf-4"][..]),
            ("gcc", &["-O2", "-gdwarf-5"]),
            ("gcc", &["-O2", "-flto", "-gdwarf-5"]),
            ("clang", &["-O2", "-gdwarf-5"]),
        ] {
            let program = folder.path().join("program");
            let mut command = std::process::Command::new(compiler);
            command.arg("-g").args(flags).arg("-o").arg(&program);
            let built = command.args(&sources).current_dir(folder.path()).status();
            let Ok(status) = built else {
                skips::skip(compiler);
                continue;
            };
            assert!(status.success(), "{compiler} {flags:?}");
            let module = crate::Module::open(&program).unwrap();
            let info = module.info().unwrap();
            let all = info.index_of(info.units());
            for name in [
                "shared",
                "only_first",
                "only_second",
                "go",
                "of_first",
                "first_value",
                "main",
                "only_main",
                "other3",
                "absent",
            ] {
                let key = Key::of(name);
                let Some(named) = info.named(key) else {
                    println!("{compiler} {flags:?}: {name} would be searched in all units");
                    // Where the linker puts a name first, its offset is a number that is everywhere.
                    let may_be_first = ["shared", "only_first", "go"].contains(&name);
                    assert!(may_be_first || flags.contains(&"-flto"));
                    continue;
                };
                let entries = |index: &crate::index::NameIndex| {
                    [
                        &index.functions,
                        &index.inlined,
                        &index.types,
                        &index.statics,
                    ]
                    .map(|names| names.get(key.hash).collect::<Vec<_>>())
                };
                assert_eq!(
                    entries(&named.index),
                    entries(&all),
                    "{compiler} {flags:?}: {name}"
                );
            }
        }
    }
}
