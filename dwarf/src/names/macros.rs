//! Macros of C and C++ at a line (`-g3`, clang's `-fdebug-macro`): `.debug_macro` (DWARF 5 §6.3, and
//! its GNU predecessor for version 4) and `.debug_macinfo`. A lookup reads the entries of one unit up to
//! the line. Which definition it found is kept: a condition asks for the same names at each hit.

use crate::entries::units::{Unit, Value};
use crate::file::R;
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::ids::source::SourceFile;
use crate::lines::DebugInfo;
use crate::module::Module;
use gimli::{
    DebugMacinfo, DebugMacinfoOffset, DebugMacro, DebugMacroOffset, LittleEndian, MacroEntry,
    MacroIter, MacroString,
};

/// Maximum number of entries that a lookup reads; imported ones count each time.
const MAX_ENTRIES: usize = 1 << 20;
/// Maximum nesting of imported units. Compilers import only from the outermost one.
const MAX_IMPORTS: usize = 8;
/// Maximum nesting of included files, as of compilers.
const MAX_FILES: usize = 1 << 10;

/// A definition of a macro.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Macro {
    /// The parameters of a function-like macro; the last may be `...` or end in it.
    pub parameters: Option<Vec<String>>,
    /// The replacement text.
    pub body: String,
}

impl Macro {
    /// Parses a definition as debug info has it: the name, the parameters without spaces, a space
    /// and the text.
    fn parse(definition: &[u8], name: &str) -> Option<Macro> {
        let rest = definition.strip_prefix(name.as_bytes())?;
        let rest = String::from_utf8_lossy(rest);
        let Some(list) = rest.strip_prefix('(') else {
            return (rest.is_empty() || rest.starts_with(' ')).then(|| Macro {
                parameters: None,
                body: rest.trim().to_owned(),
            });
        };
        let (list, body) = list.split_once(')')?;
        let parameters = list.split(',').map(|it| it.trim().to_owned());
        Some(Macro {
            parameters: Some(parameters.filter(|it| !it.is_empty()).collect()),
            body: body.trim().to_owned(),
        })
    }
}

impl Module {
    /// Returns whether the compiler recorded the macros of the unit that covers an address.
    pub fn has_macros(&self, addr: FileAddr) -> bool {
        let unit = self
            .info()
            .and_then(|info| info.whole(info.unit_at(addr.0)?));
        unit.is_some_and(|unit| unit.has_macros)
    }

    /// Returns the definition that a macro has at a line of a file, in the unit that covers `addr`;
    /// without a line, at that of the address. A file that was not included counts as the unit's
    /// end.
    pub fn macro_at(
        &self,
        addr: FileAddr,
        line: Option<(&SourceFile, u32)>,
        name: &str,
    ) -> Option<Macro> {
        let of_line = line.map(|(file, line)| (file.path.clone(), line));
        let key = (addr, of_line, name.to_owned());
        let definition = self.definition(key, || self.read_definition(addr, line, name))?;
        Macro::parse(definition, name)
    }

    fn read_definition(
        &self,
        addr: FileAddr,
        line: Option<(&SourceFile, u32)>,
        name: &str,
    ) -> Option<&'static [u8]> {
        let info = self.info()?;
        let unit = info.whole(info.unit_at(addr.0)?)?;
        let row = match line {
            Some(_) => None,
            None => info.row_at(addr.0),
        };
        let of_row = row.as_ref().and_then(|row| {
            let place = row.location.as_ref()?;
            Some((&*place.file, place.line))
        });
        let mut reading = Reading {
            info,
            unit,
            module: self,
            name: name.as_bytes(),
            place: line.or(of_row),
            files: Vec::new(),
            read: 0,
            found: None,
        };
        let entries = reading.entries().ok()??;
        if let Err(error) = reading.read(entries, 0) {
            tracing::debug!(unit = unit.index, %error, "corrupt macro information");
        }
        reading.found
    }
}

/// Whether the line was reached.
#[derive(PartialEq, Eq)]
enum Reached {
    Yes,
    No,
}

struct Reading<'a> {
    info: &'a DebugInfo,
    unit: &'a Unit,
    module: &'a Module,
    name: &'a [u8],
    /// The line to stop at.
    place: Option<(&'a SourceFile, u32)>,
    /// For each open file, whether it is the one of `place`.
    files: Vec<bool>,
    read: usize,
    found: Option<&'static [u8]>,
}

impl Reading<'_> {
    /// Returns the entries of the unit.
    fn entries(&self) -> Result<Option<MacroIter<R>>, Error> {
        let root = self.unit.raw.entry(self.unit.raw.header.root_offset())?;
        let offset = |value: Value| match value {
            Value::DebugMacroRef(offset) => Some(offset.0),
            Value::DebugMacinfoRef(offset) => Some(offset.0),
            Value::SecOffset(offset) => Some(offset),
            _ => None,
        };
        let of = |at| root.attr_value(at).and_then(offset);
        let macros = of(gimli::DW_AT_macros).or_else(|| of(gimli::DW_AT_GNU_macros));
        if let Some(offset) = macros {
            let macros = self.macros();
            return Ok(Some(macros.get_macros(DebugMacroOffset(offset))?));
        }
        let Some(offset) = of(gimli::DW_AT_macro_info) else {
            return Ok(None);
        };
        let split = self.info.dwarf_of(self.unit);
        let section = match gimli::Section::reader(&split.debug_macinfo).is_empty() {
            true => self.section(".debug_macinfo"),
            false => *gimli::Section::reader(&split.debug_macinfo),
        };
        let macros = DebugMacinfo::from(section);
        Ok(Some(macros.get_macinfo(DebugMacinfoOffset(offset))?))
    }

    fn macros(&self) -> DebugMacro<R> {
        // Split units have a section of their own, which was read with them.
        let split = self.info.dwarf_of(self.unit);
        match gimli::Section::reader(&split.debug_macro).is_empty() {
            true => DebugMacro::from(self.section(".debug_macro")),
            false => split.debug_macro,
        }
    }

    fn section(&self, name: &'static str) -> R {
        R::new(self.module.lazy_section(self.unit, name), LittleEndian)
    }

    fn read(&mut self, entries: MacroIter<R>, depth: usize) -> Result<Reached, Error> {
        let mut entries = entries;
        while let Some(entry) = entries.next()? {
            self.read += 1;
            if self.read > MAX_ENTRIES {
                return Err(Error::Limit("too many macros".into()));
            }
            match entry {
                MacroEntry::Define { line, text } => {
                    if self.is_reached(line) {
                        return Ok(Reached::Yes);
                    }
                    if let Some(text) = self.string(&text)
                        && self.is_named(text)
                    {
                        self.found = Some(text);
                    }
                }
                MacroEntry::Undef { line, name } => {
                    if self.is_reached(line) {
                        return Ok(Reached::Yes);
                    }
                    if self.string(&name).is_some_and(|name| self.is_named(name)) {
                        self.found = None;
                    }
                }
                MacroEntry::StartFile { line, file } => {
                    if self.is_reached(line) {
                        return Ok(Reached::Yes);
                    }
                    if self.files.len() >= MAX_FILES {
                        return Err(Error::Limit("files nested too deeply".into()));
                    }
                    let is_place = self.is_of_place(file);
                    self.files.push(is_place);
                }
                MacroEntry::EndFile => {
                    if self.files.pop() == Some(true) {
                        return Ok(Reached::Yes);
                    }
                }
                MacroEntry::Import { offset } if depth < MAX_IMPORTS => {
                    let imported = self.macros().get_macros(offset)?;
                    if self.read(imported, depth + 1)? == Reached::Yes {
                        return Ok(Reached::Yes);
                    }
                }
                MacroEntry::Import { .. }
                | MacroEntry::ImportSup { .. }
                | MacroEntry::VendorExt { .. } => {}
            }
        }
        Ok(Reached::No)
    }

    /// Returns whether an entry at a line of the innermost file is behind the place.
    fn is_reached(&self, line: u64) -> bool {
        let place = self.place.map(|(_, line)| u64::from(line));
        self.files.last() == Some(&true) && place.is_some_and(|place| line > place)
    }

    fn is_of_place(&self, file: u64) -> bool {
        let Some((place, _)) = self.place else {
            return false;
        };
        let found = self.info.source_location(self.unit, file, 1, 0);
        found.is_some_and(|found| found.file.path == place.path)
    }

    fn is_named(&self, definition: &[u8]) -> bool {
        let behind = definition.strip_prefix(self.name);
        behind.is_some_and(|behind| matches!(behind.first(), None | Some(b' ' | b'(')))
    }

    fn string(&self, text: &MacroString<R>) -> Option<&'static [u8]> {
        let dwarf = self.info.dwarf_of(self.unit);
        let string = match text {
            MacroString::Direct(text) => *text,
            MacroString::StringPointer(offset) => dwarf.string(*offset).ok()?,
            MacroString::IndirectStringPointer(index) => {
                let offset = dwarf.string_offset(&self.unit.raw, *index).ok()?;
                dwarf.string(offset).ok()?
            }
            MacroString::Supplementary(offset) => dwarf.sup_string(*offset).ok()?,
        };
        Some(string.slice())
    }
}

#[cfg(test)]
mod tests {
    use super::Macro;

    #[test]
    fn definitions() {
        let parse = |text: &str, name| Macro::parse(text.as_bytes(), name);
        let plain = |body: &str| Macro {
            parameters: None,
            body: body.into(),
        };
        assert_eq!(parse("LIMIT 40", "LIMIT"), Some(plain("40")));
        assert_eq!(parse("EMPTY ", "EMPTY"), Some(plain("")));
        assert_eq!(parse("EMPTY", "EMPTY"), Some(plain("")));
        assert_eq!(parse("IN (a)", "IN"), Some(plain("(a)")));
        let add = parse("ADD(a,b) ((a) + (b))", "ADD").unwrap();
        assert_eq!(add.parameters, Some(vec!["a".into(), "b".into()]));
        assert_eq!(add.body, "((a) + (b))");
        assert_eq!(parse("F() 1", "F").unwrap().parameters, Some(vec![]));
        assert_eq!(parse("LIMITS 40", "LIMIT"), None);
    }
}
