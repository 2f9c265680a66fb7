//! Names of templates without their arguments, which clang writes to save space
//! (`-gsimple-template-names`): `vector` for `vector<int>`. The arguments are restored from the
//! parameters' entries.

use crate::entries::children::Children;
use crate::entries::constant::integer;
use crate::entries::units::{Entry, MAX_HOPS, MAX_NAME, Unit, Value, flag};
use crate::file::demangle::demangle;
use crate::ids::error::Error;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::naming::parameters::Parameters;
use crate::naming::path::components;
use std::cell::Cell;

/// Number of templates to examine to find out how a unit writes their names. The names of some can
/// only be written in full, so one is not enough.
const MAX_EXAMINED_TEMPLATES: usize = 8;
/// Maximum nesting of types in arguments.
const MAX_DEPTH: usize = 24;
/// Maximum number of parameters of a function to compare.
const MAX_PARAMETERS: usize = 256;

/// Work done for the arguments of one name; arguments of arguments may be infinite.
#[derive(Default)]
pub(crate) struct ArgumentBudget {
    types: Cell<u32>,
    /// Entries examined for parameters.
    entries: Cell<u32>,
}

impl ArgumentBudget {
    fn one_more_type(&self) -> bool {
        self.types.set(self.types.get() + 1);
        self.types.get() <= 64
    }

    fn one_more_entry(&self) -> bool {
        self.entries.set(self.entries.get() + 1);
        self.entries.get() <= 1 << 11
    }
}

/// Returns whether an entry of this tag may be a template.
fn may_be_template(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_subprogram
    )
}

fn is_parameter(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_template_type_parameter
            | gimli::DW_TAG_template_value_parameter
            | gimli::DW_TAG_GNU_template_template_param
            | gimli::DW_TAG_GNU_template_parameter_pack
    )
}

impl DebugInfo {
    /// Returns whether a unit writes names of templates without arguments.
    fn has_bare_templates(&self, unit: &Unit) -> bool {
        let unit = self.whole_of(unit);
        *unit.bare_templates.get_or_init(|| {
            unit.language == Language::Cpp && self.find_bare_templates(unit).unwrap_or(false)
        })
    }

    fn find_bare_templates(&self, unit: &Unit) -> Result<bool, Error> {
        let mut entries = unit.raw.entries_raw(None)?;
        let mut entry = Entry::null();
        // The open classes: their depth, and whether their name lacks arguments.
        let mut open: Vec<(isize, bool)> = Vec::new();
        let mut seen = 0;
        while !entries.is_empty() && seen < MAX_EXAMINED_TEMPLATES {
            let depth = entries.next_depth();
            if !entries.read_entry(&mut entry)? {
                continue;
            }
            while open.last().is_some_and(|(class, _)| *class >= depth) {
                open.pop();
            }
            let tag = entry.tag();
            if is_parameter(tag) {
                if let Some((class, is_bare)) = open.last_mut()
                    && *class == depth - 1
                {
                    if *is_bare {
                        return Ok(true);
                    }
                    seen += 1;
                    // One parameter of the class is enough.
                    *class = isize::MIN;
                }
            } else if may_be_template(tag) && tag != gimli::DW_TAG_subprogram {
                let name = self.own_name(unit, &entry);
                open.push((depth, name.is_some_and(|name| !name.contains(&b'<'))));
            }
        }
        Ok(false)
    }

    /// Appends the arguments of a template to its name if the name lacks them.
    pub(crate) fn write_arguments(
        &self,
        unit: &Unit,
        entry: &Entry,
        name: &[u8],
        depth: usize,
        budget: &ArgumentBudget,
        out: &mut String,
    ) {
        let is_bare = may_be_template(entry.tag())
            && entry.has_children()
            && !name.contains(&b'<')
            && self.has_bare_templates(unit);
        if is_bare {
            let start = out.len();
            out.push('<');
            let _ = self.write_parameters(unit, entry, start + 1, depth, budget, out);
            match out.len() == start + 1 {
                true => out.truncate(start),
                false => out.push('>'),
            }
        }
    }

    /// Returns a name with the arguments that the entry's name lacks: of a template where a unit
    /// writes names without them, or of a variable template, of which no compiler writes them.
    pub(crate) fn name_with_arguments(
        &self,
        unit: &Unit,
        entry: &Entry,
        name: &[u8],
    ) -> Option<String> {
        let mut full = String::from_utf8_lossy(name).into_owned();
        let bare = full.len();
        if entry.tag() == gimli::DW_TAG_variable {
            full.push_str(self.arguments_of_variable(unit, entry, name)?.as_str());
        } else {
            let budget = ArgumentBudget::default();
            self.write_arguments(unit, entry, name, 0, &budget, &mut full);
        }
        (full.len() > bare).then_some(full)
    }

    /// Returns the arguments of an instance of a variable template, which only its symbol has.
    pub(crate) fn arguments_of_variable(
        &self,
        unit: &Unit,
        entry: &Entry,
        name: &[u8],
    ) -> Option<String> {
        if unit.language != Language::Cpp || entry.tag() != gimli::DW_TAG_variable {
            return None;
        }
        let symbol = self.linkage_name(unit, entry)?;
        let name = std::str::from_utf8(name).ok().filter(|it| !it.is_empty())?;
        // `I` begins a list of arguments (Itanium C++ ABI §5.1.5.9).
        let (_, behind) = symbol.split_once(name)?;
        if !symbol.starts_with("_Z") || !behind.starts_with('I') {
            return None;
        }
        let readable = demangle(symbol);
        let last = components(&readable).pop()?;
        let arguments = last.strip_prefix(name)?;
        arguments.starts_with('<').then(|| arguments.to_owned())
    }

    fn write_parameters(
        &self,
        unit: &Unit,
        entry: &Entry,
        first: usize,
        depth: usize,
        budget: &ArgumentBudget,
        out: &mut String,
    ) -> Result<(), Error> {
        let Some(mut children) = Children::of(unit, entry)? else {
            return Ok(());
        };
        while let Some(child) = children.next()?
            && out.len() < MAX_NAME
            && depth < MAX_DEPTH
            && budget.one_more_entry()
        {
            if !is_parameter(child.tag()) {
                continue;
            }
            if child.tag() == gimli::DW_TAG_GNU_template_parameter_pack {
                self.write_parameters(unit, child, first, depth + 1, budget, out)?;
                continue;
            }
            if out.len() > first {
                out.push_str(", ");
            }
            match child.tag() {
                gimli::DW_TAG_template_type_parameter => {
                    let ty = child.attr_value(gimli::DW_AT_type);
                    let ty = ty.and_then(|ty| self.reference(unit, ty));
                    let (before, behind) = self.spelled(ty, depth + 1, budget);
                    out.push_str(&before);
                    out.push_str(&behind);
                }
                gimli::DW_TAG_template_value_parameter => self.write_value(unit, child, out),
                _ => {
                    let name = child.attr_value(gimli::DW_AT_GNU_template_name);
                    let name = name.and_then(|name| self.string(unit, name));
                    out.push_str(&String::from_utf8_lossy(name.unwrap_or(b"...")));
                }
            }
        }
        Ok(())
    }

    /// Returns whether a function's parameter types match a typed list.
    pub(crate) fn has_parameters(&self, unit: &Unit, entry: &Entry, typed: &Parameters) -> bool {
        let (unit, entry) = match self.origin(unit, entry) {
            Some(origin) => match self.entry(self.root_origin(origin)) {
                Ok(declared) => declared,
                Err(_) => return false,
            },
            None => (unit, entry.clone()),
        };
        let types = self.parameter_types(unit, &entry).unwrap_or_default();
        typed.select(&Parameters::of(types))
    }

    fn parameter_types(&self, unit: &Unit, entry: &Entry) -> Result<Vec<String>, Error> {
        let mut types = Vec::new();
        let Some(mut children) = Children::of(unit, entry)? else {
            return Ok(types);
        };
        while let Some(child) = children.next()?
            && types.len() < MAX_PARAMETERS
        {
            match child.tag() {
                gimli::DW_TAG_formal_parameter if !flag(child, gimli::DW_AT_artificial) => {
                    let ty = child.attr_value(gimli::DW_AT_type);
                    let ty = ty.and_then(|ty| self.reference(unit, ty));
                    let (before, behind) = self.spelled(ty, 0, &ArgumentBudget::default());
                    types.push(before + &behind);
                }
                gimli::DW_TAG_unspecified_parameters => types.push("...".to_owned()),
                _ => {}
            }
        }
        Ok(types)
    }

    fn write_value(&self, unit: &Unit, parameter: &Entry, out: &mut String) {
        let number = parameter.attr_value(gimli::DW_AT_const_value);
        let mut ty = parameter.attr_value(gimli::DW_AT_type);
        let mut unit = unit;
        let mut encoding = None;
        for _ in 0..MAX_HOPS {
            let Some(die) = ty.take().and_then(|ty| self.reference(unit, ty)) else {
                break;
            };
            let Ok((at, entry)) = self.entry(die) else {
                break;
            };
            unit = at;
            encoding = entry.attr_value(gimli::DW_AT_encoding);
            ty = entry.attr_value(gimli::DW_AT_type);
        }
        let encoding = match encoding {
            Some(Value::Encoding(encoding)) => encoding,
            _ => gimli::DW_ATE_unsigned,
        };
        let signed = matches!(encoding, gimli::DW_ATE_signed | gimli::DW_ATE_signed_char);
        let number = number.and_then(|number| integer(&number, None, signed));
        match (number, encoding) {
            (None, _) => out.push_str("..."),
            (Some(number), gimli::DW_ATE_boolean) => out.push_str(match number {
                0 => "false",
                _ => "true",
            }),
            (Some(number), _) => out.push_str(&number.to_string()),
        }
    }

    /// Returns the text before and after a name that declares it with a type.
    fn spelled(
        &self,
        ty: Option<DieRef>,
        depth: usize,
        budget: &ArgumentBudget,
    ) -> (String, String) {
        let Some(ty) = ty else {
            return ("void".to_owned(), String::new());
        };
        let Some((unit, entry)) = self
            .entry(ty)
            .ok()
            .filter(|_| depth < MAX_DEPTH && budget.one_more_type())
        else {
            return ("...".to_owned(), String::new());
        };
        let target = || {
            let target = entry.attr_value(gimli::DW_AT_type);
            target.and_then(|target| self.reference(unit, target))
        };
        let tag = entry.tag();
        let is_pointer = |tag| {
            matches!(
                tag,
                gimli::DW_TAG_pointer_type
                    | gimli::DW_TAG_reference_type
                    | gimli::DW_TAG_rvalue_reference_type
            )
        };
        let tag_of = |die: Option<DieRef>| {
            let entry = die.and_then(|die| self.entry(die).ok());
            entry.map(|(_, entry)| entry.tag())
        };
        match tag {
            gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                let (before, behind) = self.spelled(target(), depth + 1, budget);
                let word = match tag {
                    gimli::DW_TAG_const_type => "const",
                    _ => "volatile",
                };
                match tag_of(target()).is_some_and(is_pointer) {
                    true => (format!("{before}{word}"), behind),
                    false => (format!("{word} {before}"), behind),
                }
            }
            tag if is_pointer(tag) => {
                let (before, behind) = self.spelled(target(), depth + 1, budget);
                let sign = match tag {
                    gimli::DW_TAG_pointer_type => "*",
                    gimli::DW_TAG_reference_type => "&",
                    _ => "&&",
                };
                match before.ends_with(['*', '&', '(']) {
                    true => (format!("{before}{sign}"), behind),
                    false if !behind.is_empty() => {
                        (format!("{before} ({sign}"), format!("){behind}"))
                    }
                    false => (format!("{before} {sign}"), behind),
                }
            }
            gimli::DW_TAG_subroutine_type => {
                let (before, behind) = self.spelled(target(), depth + 1, budget);
                let mut parameters = String::from("(");
                let mut children = Children::of(unit, &entry).ok().flatten();
                while let Some(Ok(Some(child))) = children.as_mut().map(Children::next)
                    && parameters.len() < MAX_NAME
                {
                    if parameters.len() > 1 {
                        parameters.push_str(", ");
                    }
                    let ty = child.attr_value(gimli::DW_AT_type);
                    let (before, behind) = match ty.and_then(|ty| self.reference(unit, ty)) {
                        Some(ty) => self.spelled(Some(ty), depth + 1, budget),
                        None => ("...".to_owned(), String::new()),
                    };
                    parameters.push_str(&before);
                    parameters.push_str(&behind);
                }
                parameters.push(')');
                (before, parameters + &behind)
            }
            gimli::DW_TAG_array_type => {
                let (before, behind) = self.spelled(target(), depth + 1, budget);
                (before, format!("[]{behind}"))
            }
            _ => {
                let mut name = String::new();
                self.write_name(unit, &entry, None, depth + 1, budget, &mut name);
                (name, String::new())
            }
        }
    }
}
