//! Locations of variables and members in a frame (DWARF 5 §2.6).

use crate::entries::constant::{constant, fit};
use crate::entries::units::{Value as Attribute, flag};
use crate::file::R;
use crate::file::symbol_table::thread_local_of_file;
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::addr::{FileAddr, LoadAddr};
use crate::ids::error::Error;
use crate::ids::register::Register;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::locations::captured::is_passed;
use crate::locations::evaluate::{MAX_DEPTH, Scope, simple_address, unit_of};
use crate::locations::{FrameContext, Location, Piece, undescribed_bits};
use crate::module::Module;
use crate::names::statics::{in_function, linked};
use gimli::{Expression, Value};
use std::cell::Cell;

/// Returns the location of a variable in a frame.
pub(super) fn locate(
    module: &Module,
    variable: &Variable,
    frame: &FrameContext<'_>,
) -> Result<Location, Error> {
    let info = no_info(module)?;
    let simple = variable.place;
    if let Some(addr) = simple.and_then(|place| simple_address(place, frame)) {
        return Ok(Location::Memory(addr));
    }
    locate_entry(module, info, variable, frame, 0)
        .map_err(|error| info.error_at(variable.id, error))
}

pub(super) fn no_info(module: &Module) -> Result<&DebugInfo, Error> {
    module
        .info()
        .ok_or_else(|| Error::Corrupt("no debug info".into()))
}

fn locate_entry(
    module: &Module,
    info: &DebugInfo,
    variable: &Variable,
    frame: &FrameContext<'_>,
    depth: u32,
) -> Result<Location, Error> {
    let (unit, entry) = info.entry(variable.id)?;
    let ty = variable.ty.and_then(|ty| module.ty(ty).ok());
    let size = ty.and_then(|ty| ty.size);
    if let Some((holder, value)) = info.inherited(unit, &entry, gimli::DW_AT_location) {
        let unit = unit_of(info, holder)?;
        let scope = Scope {
            module,
            info,
            unit,
            frame,
            expressions: &Cell::new(0),
            is_passed: is_passed(info, variable),
        };
        let Some(expression) = scope.expression_at(value)? else {
            return Ok(Location::OptimizedOut);
        };
        return match scope.locate(expression, size, depth) {
            // A call clobbered the register, and no unwind rule restores it.
            Err(Error::RegisterUnavailable(_)) if frame.cfa.is_some() => {
                match scope.spilled_at(value)? {
                    Some(spilled) => scope.locate(spilled, size, depth),
                    None => Ok(Location::OptimizedOut),
                }
            }
            location => location,
        };
    }
    if let Some((holder, value)) = info.constant_of(unit, &entry) {
        let bytes = constant(info, unit_of(info, holder)?, value, size);
        return Ok(bytes.map_or(Location::OptimizedOut, Location::Implicit));
    }
    if let Some(offset) = module.thread_local_offset(variable) {
        let addr = (frame.tls)(offset);
        return addr.map(Location::Memory).ok_or_else(unknown_storage);
    }
    if depth >= MAX_DEPTH {
        return Ok(Location::OptimizedOut);
    }
    if variable.kind == VariableKind::Static
        && let Some(linked) = linked(module, info, variable.id)
    {
        return locate_entry(module, info, &linked, frame, depth + 1);
    }
    if !flag(&entry, gimli::DW_AT_declaration) {
        return Ok(Location::OptimizedOut);
    }
    match definition_of(module, info, variable)? {
        Definition::Variable(definition) => {
            locate_entry(module, info, &definition, frame, depth + 1)
        }
        Definition::Symbol(addr) => Ok(Location::Memory(frame.bias.load(addr))),
    }
}

/// Why the address of a thread-local variable is unknown.
pub(super) fn unknown_storage() -> Error {
    Error::Unsupported("unknown thread-local storage of this module".into())
}

impl Module {
    /// Returns the offset of a thread-local variable in the image's thread-local storage, by its
    /// symbol: of one without a location, on machines where gcc gives it none.
    pub fn thread_local_offset(&self, variable: &Variable) -> Option<u64> {
        if !self.machine().facts().thread_locals_by_symbol {
            return None;
        }
        let info = self.info()?;
        let (unit, entry) = info.entry(variable.id).ok()?;
        let has_place = || {
            info.inherited(unit, &entry, gimli::DW_AT_location)
                .is_some()
        };
        if has_place() || info.constant_of(unit, &entry).is_some() {
            return None;
        }
        let name = &*variable.name;
        let symbols = self.symbol_table();
        if !in_function(info, variable.id) || flag(&entry, gimli::DW_AT_external) {
            if unit.language == Language::Cpp && !variable.is_external {
                let path = unit.raw.name.as_ref()?.slice();
                let file = path.rsplit(|byte| *byte == b'/').next()?;
                let fits = |symbol: &str| is_internal(symbol, &variable.namespace, name);
                return thread_local_of_file(&self.image, self.debug_image(), file, fits);
            }
            let symbol = info.mangled_name(unit, &entry);
            let symbol = symbol.as_deref().unwrap_or(name);
            return symbols.thread_local(|it| it == symbol);
        }
        // Of an optimized function, it may as well be a variable that was optimized out.
        if unit.optimized || variable.kind == VariableKind::Parameter {
            return None;
        }
        symbols.thread_local(|symbol| is_in_function(symbol, name))
    }
}

/// Returns whether a symbol is of a variable of C++ with internal linkage: `_ZL4name`, `_ZN5spaceL4nameE`; there
/// is no `L` if only an unnamed namespace gives it that linkage (Itanium C++ ABI, 5.1.2).
fn is_internal(symbol: &str, namespace: &str, name: &str) -> bool {
    if namespace.is_empty() {
        return symbol.strip_prefix("_ZL") == Some(&format!("{}{name}", name.len()));
    }
    let part = |it: &str| match it {
        "(anonymous namespace)" => "12_GLOBAL__N_1".to_owned(),
        _ => format!("{}{it}", it.len()),
    };
    let spaces: String = namespace.split("::").map(part).collect();
    let inside = symbol.strip_prefix("_ZN");
    let inside = inside.and_then(|it| it.strip_prefix(&*spaces)?.strip_suffix('E'));
    inside.is_some_and(|it| it.strip_prefix('L').unwrap_or(it) == part(name))
}

/// Returns whether a symbol is of a static variable in a function: `name.0` (gcc), or `_ZZ`, the
/// function, `E4name`, and perhaps a number (Itanium C++ ABI, 5.1.4).
fn is_in_function(symbol: &str, name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let number = symbol
        .strip_prefix(name)
        .and_then(|it| it.strip_prefix('.'));
    if number.is_some_and(is_number) {
        return true;
    }
    let Some(local) = symbol.strip_prefix("_ZZ") else {
        return false;
    };
    let ending = format!("E{}{name}", name.len());
    let behind = local.rfind(&ending).map(|at| &local[at + ending.len()..]);
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('_'))
}

/// The definition of a variable that is only declared in its unit (`extern`).
pub(super) enum Definition {
    /// In another unit.
    Variable(Variable),
    /// In a unit without debug info: the address of its symbol.
    Symbol(FileAddr),
}

/// Finds the definition of a variable that is only declared in its unit.
pub(super) fn definition_of(
    module: &Module,
    info: &DebugInfo,
    variable: &Variable,
) -> Result<Definition, Error> {
    let (unit, entry) = info.entry(variable.id)?;
    let qualified = info.qualified_name_of(unit, &entry);
    // An `extern` declaration in a C function refers to an object of file scope.
    for name in [&qualified, &variable.name] {
        let mut found = module.statics_named(name, None).into_iter();
        let is_other =
            |it: &Variable| it.id != variable.id && it.name == variable.name && it.is_external;
        if let Some(definition) = found.find(is_other) {
            return Ok(Definition::Variable(definition));
        }
    }
    let symbol = info.mangled_name(unit, &entry);
    let symbol = symbol.as_deref().unwrap_or(&variable.name);
    match module.global_object(symbol) {
        Some(addr) => Ok(Definition::Symbol(addr)),
        None => Err(Error::Unsupported(format!(
            "{} is only declared here; another module defines it",
            variable.name
        ))),
    }
}

/// Returns the address of a member whose offset is an expression.
pub(super) fn locate_member(
    module: &Module,
    member: DieRef,
    object: LoadAddr,
    frame: &FrameContext<'_>,
) -> Result<LoadAddr, Error> {
    let info = no_info(module)?;
    locate_member_in(module, info, member, object, frame)
        .map_err(|error| info.error_at(member, error))
}

fn locate_member_in(
    module: &Module,
    info: &DebugInfo,
    member: DieRef,
    object: LoadAddr,
    frame: &FrameContext<'_>,
) -> Result<LoadAddr, Error> {
    let (unit, entry) = info.entry(member)?;
    let scope = Scope {
        module,
        info,
        unit,
        frame,
        expressions: &Cell::new(0),
        is_passed: false,
    };
    let value = entry
        .attr_value(gimli::DW_AT_data_member_location)
        .ok_or_else(|| Error::Corrupt("a member without a location".into()))?;
    if let Some(offset) = value.udata_value() {
        return Ok(object + offset);
    }
    let Some(expression) = scope.expression_at(value)? else {
        return Err(Error::Unsupported(
            "a member without a location at this address".into(),
        ));
    };
    scope.address_in(object, expression)
}

impl Scope<'_> {
    fn locate(
        &self,
        expression: Expression<R>,
        size: Option<u64>,
        depth: u32,
    ) -> Result<Location, Error> {
        if let Some(address) = self.simple_address(expression, depth)? {
            return Ok(Location::Memory(LoadAddr(address)));
        }
        self.location(&self.pieces(expression, depth)?, size)
    }

    fn location(&self, pieces: &[gimli::Piece<R>], size: Option<u64>) -> Result<Location, Error> {
        if let [piece] = pieces
            && piece.size_in_bits.is_none()
        {
            return self.piece_location(&piece.location, size);
        }
        let mut pieces = pieces
            .iter()
            .map(|piece| {
                let bits = piece.size_in_bits.unwrap_or(0);
                Ok(Piece {
                    bits,
                    bit_offset: piece.bit_offset.unwrap_or(0),
                    location: self.piece_location(&piece.location, None)?,
                })
            })
            .collect::<Result<Vec<Piece>, Error>>()?;
        if pieces
            .iter()
            .all(|piece| piece.location == Location::OptimizedOut)
        {
            return Ok(Location::OptimizedOut);
        }
        if let Some(bits) = undescribed_bits(pieces.iter().map(|it| it.bits), size) {
            pieces.push(Piece {
                bits,
                bit_offset: 0,
                location: Location::OptimizedOut,
            });
        }
        Ok(Location::Pieces(pieces))
    }

    fn piece_location(
        &self,
        location: &gimli::Location<R>,
        size: Option<u64>,
    ) -> Result<Location, Error> {
        Ok(match location {
            gimli::Location::Empty => Location::OptimizedOut,
            gimli::Location::Register { register } => Location::Register(Register(register.0)),
            gimli::Location::Address { address } => Location::Memory(LoadAddr(*address)),
            gimli::Location::Value { value } => Location::Implicit(fit(value_bytes(*value), size)),
            gimli::Location::Bytes { value } => Location::Implicit(value.slice().to_vec()),
            gimli::Location::ImplicitPointer { value, byte_offset } => {
                let target = self
                    .info
                    .reference(self.unit, Attribute::DebugInfoRef(*value))
                    .ok_or_else(|| Error::Corrupt("an implicit pointer without a target".into()))?;
                Location::ImplicitPointer {
                    target,
                    offset: *byte_offset,
                }
            }
        })
    }
}

fn value_bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Generic(value) | Value::U64(value) => value.to_le_bytes().to_vec(),
        Value::I8(value) => value.to_le_bytes().to_vec(),
        Value::U8(value) => value.to_le_bytes().to_vec(),
        Value::I16(value) => value.to_le_bytes().to_vec(),
        Value::U16(value) => value.to_le_bytes().to_vec(),
        Value::I32(value) => value.to_le_bytes().to_vec(),
        Value::U32(value) => value.to_le_bytes().to_vec(),
        Value::I64(value) => value.to_le_bytes().to_vec(),
        Value::F32(value) => value.to_le_bytes().to_vec(),
        Value::F64(value) => value.to_le_bytes().to_vec(),
        #[allow(unreachable_patterns)]
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_in_function;

    #[test]
    fn symbols_of_variables_in_functions() {
        for symbol in [
            "inner.0",
            "inner.12",
            "_ZZ4workPvE5inner",
            "_ZZN1a1fEvE5inner_0",
        ] {
            assert!(is_in_function(symbol, "inner"), "{symbol}");
        }
        for symbol in [
            "inner",
            "inner.",
            "inner.x",
            "winner.0",
            "_ZZ4workPvE6sinner",
            "_ZZ4work",
        ] {
            assert!(!is_in_function(symbol, "inner"), "{symbol}");
        }
    }
}
