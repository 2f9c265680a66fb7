//! Functions with their scopes, from their entries.

use crate::entries::budget::EntryBudget;
use crate::entries::constant::udata;
use crate::entries::units::{Entry, Ranges, Unit, Value, flag};
use crate::file::R;
use crate::functions::variable::{SimpleLocation, Variable, VariableKind};
use crate::functions::{Function, InlinedSubroutine, Scope, ScopeKind};
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::ids::source::SourceLocation;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::types::TypeId;
use gimli::{EntriesRaw, Operation, UnitOffset};

/// Maximum nesting of scopes; deeper ones are omitted. Compilers do not reach it.
const MAX_DEPTH: usize = 256;

impl DebugInfo {
    /// Returns the entry of the concrete function that covers `addr`.
    pub(crate) fn function_die_at(&self, addr: u64) -> Option<DieRef> {
        let unit = self.whole(self.unit_at(addr)?)?;
        let offset = self.scan(unit).function_at(addr)?;
        Some(DieRef {
            unit: unit.index,
            offset: u64::from(offset),
        })
    }

    /// Reads a concrete function and its scopes.
    pub(crate) fn read_function(&self, die: DieRef) -> Result<Function, Error> {
        let (unit, entry) = self.entry(die)?;
        if entry.tag() != gimli::DW_TAG_subprogram {
            return Err(Error::Corrupt("not a function".into()));
        }
        let ranges = self.die_ranges(unit, &entry);
        let Some(lowest) = ranges.first().map(|range| range.start) else {
            return Err(Error::Corrupt("a function without code".into()));
        };
        let mut allowance = EntryBudget::of(&entry);
        allowance.take(entry.offset(), size_of_val(&*ranges))?;
        let mut scope = Scope {
            kind: ScopeKind::Function,
            id: die,
            ranges: ranges.to_vec(),
            variables: Vec::new(),
            declarations: Vec::new(),
            is_instance: is_instance(&entry),
            children: Vec::new(),
        };
        if entry.has_children() {
            let mut entries = unit
                .raw
                .entries_raw(Some(UnitOffset(die.offset as usize)))?;
            let mut current = Entry::null();
            entries.read_entry(&mut current)?;
            let read = self
                .read_children(unit, &mut entries, 1, &mut allowance, &mut scope)
                .and_then(|()| self.add_unmentioned(unit, &entry, &mut allowance, &mut scope));
            if let Err(error) = read {
                tracing::debug!(unit = unit.index, %error, "the rest of a function's scopes is lost");
            }
        }
        Ok(Function {
            id: die,
            name: self.qualified_name_of(unit, &entry),
            linkage_name: self.linkage_name(unit, &entry).map(str::to_owned),
            entry: self.entry_pc(unit, &entry, &ranges).unwrap_or(lowest),
            declaration: self.declaration(unit, &entry),
            language: unit.language,
            coroutine: self.coroutine(unit, &entry),
            return_type: self
                .inherited_reference(unit, &entry, gimli::DW_AT_type)
                .map(TypeId),
            is_external: self
                .inherited(unit, &entry, gimli::DW_AT_external)
                .is_some(),
            noreturn: self
                .inherited(unit, &entry, gimli::DW_AT_noreturn)
                .is_some(),
            optimized: unit.optimized
                || self
                    .inherited(unit, &entry, gimli::DW_AT_APPLE_optimized)
                    .is_some(),
            ranges: ranges.to_vec(),
            scope,
            frame_base: self.plain_place(unit, &entry, gimli::DW_AT_frame_base),
        })
    }

    /// Reads entries up to the null entry that ends the children of `scope`'s entry.
    fn read_children(
        &self,
        unit: &Unit,
        entries: &mut EntriesRaw<'_, R>,
        depth: usize,
        allowance: &mut EntryBudget,
        scope: &mut Scope,
    ) -> Result<(), Error> {
        let level = entries.next_depth();
        let mut entry = Entry::null();
        while !entries.is_empty() {
            let here = entries.next_depth();
            if here < level {
                return Ok(());
            }
            if !entries.read_entry(&mut entry)? {
                if here == level {
                    return Ok(());
                }
                continue;
            }
            // In a subtree that was skipped: types, nested functions, calls.
            if here > level {
                continue;
            }
            match entry.tag() {
                gimli::DW_TAG_formal_parameter => {
                    let variable = self.read_variable(unit, &entry, VariableKind::Parameter);
                    allowance.take(entry.offset(), memory_of(variable.as_ref()))?;
                    scope.variables.extend(variable);
                }
                gimli::DW_TAG_variable => {
                    let variable = self.read_variable(unit, &entry, VariableKind::Local);
                    allowance.take(entry.offset(), memory_of(variable.as_ref()))?;
                    scope.variables.extend(variable);
                }
                gimli::DW_TAG_lexical_block
                | gimli::DW_TAG_inlined_subroutine
                | gimli::DW_TAG_try_block
                | gimli::DW_TAG_catch_block
                | gimli::DW_TAG_GNU_formal_parameter_pack
                    if entry.has_children() && depth < MAX_DEPTH =>
                {
                    let inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
                    let ranges = self.die_ranges(unit, &entry);
                    if ranges.is_empty() && !inlined {
                        // A block without ranges is transparent (as in gdb).
                        self.read_children(unit, entries, depth + 1, allowance, scope)?;
                        continue;
                    }
                    let mut child = self.scope(unit, &entry, &ranges, allowance)?;
                    self.read_children(unit, entries, depth + 1, allowance, &mut child)?;
                    self.add_unmentioned(unit, &entry, allowance, &mut child)?;
                    if child.ranges.is_empty() {
                        // gcc's link-time optimization emits calls without ranges around inlined
                        // calls that have some.
                        let inner = child.children.iter().flat_map(|scope| &scope.ranges);
                        child.ranges = inner.copied().collect();
                        allowance.take(entry.offset(), size_of_val(&*child.ranges))?;
                    }
                    if !child.ranges.is_empty() {
                        scope.children.push(child);
                    }
                }
                gimli::DW_TAG_inlined_subroutine => {
                    let ranges = self.die_ranges(unit, &entry);
                    if !ranges.is_empty() {
                        let mut child = self.scope(unit, &entry, &ranges, allowance)?;
                        self.add_unmentioned(unit, &entry, allowance, &mut child)?;
                        scope.children.push(child);
                    }
                }
                tag if declares(tag) => {
                    allowance.take(entry.offset(), size_of::<DieRef>())?;
                    scope.declarations.push(unit.die(entry.offset()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the variables of a scope's abstract instance that the scope omits. Compilers drop a
    /// variable from an inlined copy when nothing is left of it (DWARF 5 §3.3.8.2), but users
    /// expect to see it.
    fn add_unmentioned(
        &self,
        unit: &Unit,
        entry: &Entry,
        allowance: &mut EntryBudget,
        scope: &mut Scope,
    ) -> Result<(), Error> {
        let Some(origin) = entry
            .attr_value(gimli::DW_AT_abstract_origin)
            .and_then(|value| self.reference(unit, value))
        else {
            return Ok(());
        };
        let declared = match self.declared_in(origin) {
            Ok(declared) => declared,
            Err(error) => {
                tracing::debug!(?origin, %error, "corrupt abstract instance");
                return Ok(());
            }
        };
        if declared.is_empty() {
            return Ok(());
        }
        let mut mentioned = Vec::new();
        self.origins_of_variables(scope, &mut mentioned);
        let before = scope.variables.len();
        for variable in &declared {
            if !mentioned.contains(&variable.id) {
                allowance.take(entry.offset(), memory_of(Some(variable)))?;
                scope.variables.push(variable.clone());
            }
        }
        if scope.variables.len() > before {
            // Sort in source order.
            let place = |variable: &Variable| {
                let origin = self.variable_origin(variable).unwrap_or(variable.id);
                declared.iter().position(|declared| declared.id == origin)
            };
            scope
                .variables
                .sort_by_cached_key(|variable| place(variable).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    /// Returns the variables that are direct children of an entry.
    fn declared_in(&self, die: DieRef) -> Result<Vec<Variable>, Error> {
        let (unit, _) = self.entry(die)?;
        let mut entries = unit
            .raw
            .entries_raw(Some(UnitOffset(die.offset as usize)))?;
        let mut entry = Entry::null();
        let mut found = Vec::new();
        entries.read_entry(&mut entry)?;
        if !entry.has_children() {
            return Ok(found);
        }
        let mut allowance = EntryBudget::of(&entry);
        let level = entries.next_depth();
        while !entries.is_empty() && entries.next_depth() >= level {
            let here = entries.next_depth();
            if !entries.read_entry(&mut entry)? {
                if here == level {
                    break;
                }
                continue;
            }
            let kind = match entry.tag() {
                _ if here > level => continue,
                gimli::DW_TAG_formal_parameter => VariableKind::Parameter,
                gimli::DW_TAG_variable => VariableKind::Local,
                _ => continue,
            };
            let variable = self.read_variable(unit, &entry, kind);
            allowance.take(entry.offset(), memory_of(variable.as_ref()))?;
            found.extend(variable);
        }
        Ok(found)
    }

    fn variable_origin(&self, variable: &Variable) -> Option<DieRef> {
        let (unit, entry) = self.entry(variable.id).ok()?;
        self.origin(unit, &entry)
    }

    /// Collects the origins of the variables of a scope and its blocks.
    fn origins_of_variables(&self, scope: &Scope, origins: &mut Vec<DieRef>) {
        origins.extend(
            scope
                .variables
                .iter()
                .filter_map(|variable| self.variable_origin(variable)),
        );
        for child in &scope.children {
            if !matches!(child.kind, ScopeKind::Inlined(_)) {
                self.origins_of_variables(child, origins);
            }
        }
    }

    /// Reads a block or inlined copy without its contents.
    fn scope(
        &self,
        unit: &Unit,
        entry: &Entry,
        ranges: &Ranges,
        allowance: &mut EntryBudget,
    ) -> Result<Scope, Error> {
        let kind = self.scope_kind(unit, entry, ranges);
        let name = match &kind {
            ScopeKind::Inlined(call) => call.name.len(),
            ScopeKind::Function | ScopeKind::Block => 0,
        };
        let bytes = size_of::<Scope>() + size_of_val(&**ranges) + name;
        allowance.take(entry.offset(), bytes)?;
        Ok(Scope {
            kind,
            id: unit.die(entry.offset()),
            ranges: ranges.to_vec(),
            variables: Vec::new(),
            declarations: Vec::new(),
            is_instance: is_instance(entry),
            children: Vec::new(),
        })
    }

    fn scope_kind(&self, unit: &Unit, entry: &Entry, ranges: &Ranges) -> ScopeKind {
        if entry.tag() != gimli::DW_TAG_inlined_subroutine {
            return ScopeKind::Block;
        }
        let number = |at| entry.attr_value(at).and_then(|value| udata(&value));
        let call_site = number(gimli::DW_AT_call_file).and_then(|file| {
            self.source_location(
                unit,
                file,
                number(gimli::DW_AT_call_line)?,
                number(gimli::DW_AT_call_column).unwrap_or(0),
            )
        });
        ScopeKind::Inlined(Box::new(InlinedSubroutine {
            name: self.qualified_name_of(unit, entry),
            origin: self.origin(unit, entry).unwrap_or(unit.die(entry.offset())),
            coroutine: self.coroutine(unit, entry),
            call_site,
            declaration: self.declaration(unit, entry),
            entry: self
                .entry_pc(unit, entry, ranges)
                .or_else(|| ranges.iter().map(|range| range.start).min())
                .unwrap_or_default(),
        }))
    }

    /// Reads `DW_AT_entry_pc`: an address, or since version 5 an offset from the base address.
    fn entry_pc(&self, unit: &Unit, entry: &Entry, ranges: &Ranges) -> Option<FileAddr> {
        let value = entry.attr_value(gimli::DW_AT_entry_pc)?;
        let entry = match self.dwarf_of(unit).attr_address(&unit.raw, value) {
            Ok(Some(address)) => FileAddr(self.linked(unit, address)?),
            _ => ranges.first()?.start + udata(&value)?,
        };
        ranges
            .iter()
            .any(|range| range.contains(entry))
            .then_some(entry)
    }

    /// Returns the position of the declaration of an entry or of its origin.
    pub(crate) fn declaration(&self, unit: &Unit, entry: &Entry) -> Option<SourceLocation> {
        let (_, line) = self.inherited(unit, entry, gimli::DW_AT_decl_line)?;
        let (file_holder, file) = self.inherited(unit, entry, gimli::DW_AT_decl_file)?;
        // A definition in the same file as its declaration may have only a line.
        let column = self
            .inherited(unit, entry, gimli::DW_AT_decl_column)
            .and_then(|(_, value)| udata(&value));
        self.source_location(
            self.whole(file_holder)?,
            udata(&file)?,
            udata(&line)?,
            column.unwrap_or(0),
        )
    }

    /// Reads a variable; `None` if it has no name, or if the linker left it out. Unnamed parameters
    /// of Rust are patterns, and the state of a coroutine.
    pub(crate) fn read_variable(
        &self,
        unit: &Unit,
        entry: &Entry,
        kind: VariableKind,
    ) -> Option<Variable> {
        let name = self.inherited_string(unit, entry, gimli::DW_AT_name);
        let name = name.unwrap_or_default();
        // Unnamed parameters are kept: overloads are matched by number and types of parameters.
        if name.is_empty() && kind != VariableKind::Parameter || self.is_left_out(unit, entry) {
            return None;
        }
        let mut kind = kind;
        let mut namespace = String::new();
        if kind == VariableKind::Local && self.is_static(unit, entry) {
            kind = VariableKind::Static;
        } else if kind == VariableKind::Static && unit.language != Language::C {
            namespace = self.enclosing_name(unit, entry);
        }
        let is_static = kind == VariableKind::Static;
        let is_external = is_static && self.inherited(unit, entry, gimli::DW_AT_external).is_some();
        let has_place = || self.inherited(unit, entry, gimli::DW_AT_location).is_some();
        let with_arguments = is_static.then(|| self.name_with_arguments(unit, entry, name));
        Some(Variable {
            id: unit.die(entry.offset()),
            name: (with_arguments.flatten())
                .unwrap_or_else(|| String::from_utf8_lossy(name).into_owned()),
            namespace,
            ty: self
                .inherited_reference(unit, entry, gimli::DW_AT_type)
                .map(TypeId),
            kind,
            declaration: self.declaration(unit, entry),
            artificial: flag(entry, gimli::DW_AT_artificial)
                || self
                    .inherited(unit, entry, gimli::DW_AT_artificial)
                    .is_some(),
            is_external,
            is_only_declared: is_static
                && (is_external || flag(entry, gimli::DW_AT_declaration))
                && !has_place()
                && self.constant_of(unit, entry).is_none(),
            mangled_name: match is_external {
                true => self.mangled_name(unit, entry),
                false => None,
            },
            place: self.plain_place(unit, entry, gimli::DW_AT_location),
        })
    }

    /// Returns the location in an entry's own attribute if it is a single operation.
    fn plain_place(&self, unit: &Unit, entry: &Entry, at: gimli::DwAt) -> Option<SimpleLocation> {
        let expression = entry.attr_value(at)?.exprloc_value()?;
        SimpleLocation::of(self, unit, expression)
    }

    /// Returns whether a variable in a function has static storage: a fixed or thread-local
    /// address, or declared `extern`.
    fn is_static(&self, unit: &Unit, entry: &Entry) -> bool {
        match self.inherited(unit, entry, gimli::DW_AT_location) {
            Some((_, Value::Exprloc(expression))) => {
                let mut operations = expression.operations(unit.raw.encoding());
                let mut fixed = false;
                for _ in 0..4 {
                    match operations.next() {
                        Ok(Some(
                            Operation::Address { .. }
                            | Operation::AddressIndex { .. }
                            | Operation::TLS,
                        )) => fixed = true,
                        // `DW_OP_addr x; DW_OP_stack_value` is a constant without storage.
                        Ok(Some(Operation::StackValue)) => return false,
                        Ok(Some(_)) => {}
                        _ => break,
                    }
                }
                fixed
            }
            Some(_) => false,
            None => flag(entry, gimli::DW_AT_external) && flag(entry, gimli::DW_AT_declaration),
        }
    }
}

fn is_instance(entry: &Entry) -> bool {
    entry.has_attr(gimli::DW_AT_abstract_origin) || entry.has_attr(gimli::DW_AT_specification)
}

/// Returns whether an entry of this tag declares names other than variables in a function.
pub(crate) fn declares(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_typedef
            | gimli::DW_TAG_template_alias
            | gimli::DW_TAG_imported_declaration
            | gimli::DW_TAG_imported_module
            | gimli::DW_TAG_template_type_parameter
            | gimli::DW_TAG_template_value_parameter
    )
}

/// Returns the memory that a variable takes, in bytes.
fn memory_of(variable: Option<&Variable>) -> usize {
    variable.map_or(0, |variable| {
        size_of::<Variable>() + variable.name.len() + variable.namespace.len()
    })
}
