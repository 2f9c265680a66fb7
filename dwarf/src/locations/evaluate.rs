//! Evaluating location descriptions (DWARF 5 §2.5, §2.6) by gimli's resumable evaluation.

use crate::entries::constant::{constant, fit};
use crate::entries::units::{Entry, Unit, Value as Attribute, flag};
use crate::file::R;
use crate::functions::variable::{SimpleLocation, Variable};
use crate::ids::DieRef;
use crate::ids::addr::{LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::register_name;
use crate::ids::register::{Register, Registers};
use crate::lines::DebugInfo;
use crate::locations::call_site;
use crate::locations::{FrameContext, Location, Piece};
use crate::module::Module;
use gimli::{
    DebugAddrIndex, DieReference, EndianSlice, Evaluation, EvaluationResult, Expression,
    LittleEndian, UnitOffset, Value, ValueType,
};
use std::cell::Cell;

/// Maximum number of operations per expression; compilers emit a few dozen.
const MAX_OPERATIONS: u32 = 10_000;
/// Maximum nesting of expressions: frame base, entry value, the caller's frame base.
const MAX_DEPTH: u32 = 8;
/// Maximum number of expressions per location: each may refer to several others.
const MAX_EXPRESSIONS: u32 = 256;

/// The module, unit and frame that an expression is evaluated in.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) module: &'a Module,
    pub(crate) info: &'a DebugInfo,
    pub(crate) unit: &'a Unit,
    pub(crate) frame: &'a FrameContext<'a>,
    /// Expressions evaluated so far for this location.
    pub(crate) expressions: &'a Cell<u32>,
}

/// The inputs of an expression.
struct Machine<'a> {
    registers: &'a Registers,
    memory: &'a dyn Memory,
    bias: LoadBias,
    /// `None` for call frame information.
    scope: Option<Scope<'a>>,
    depth: u32,
}

/// Evaluates an expression of call frame information (DWARF 5 §6.4.2).
pub(crate) fn evaluate_cfi(
    expression: R,
    encoding: gimli::Encoding,
    initial: Option<u64>,
    registers: &Registers,
    memory: &dyn Memory,
    bias: LoadBias,
) -> Result<u64, Error> {
    let machine = Machine {
        registers,
        memory,
        bias,
        scope: None,
        depth: 0,
    };
    let mut evaluation = Evaluation::new(expression, encoding);
    if let Some(initial) = initial {
        evaluation.set_initial_value(initial);
    }
    let pieces = machine.run(evaluation)?;
    machine.value(&pieces)
}

/// Returns the location of a variable in a frame.
pub(crate) fn locate(
    module: &Module,
    variable: &Variable,
    frame: &FrameContext<'_>,
) -> Result<Location, Error> {
    let info = no_info(module)?;
    if let Some(place) = variable.place.and_then(|place| locate_plain(place, frame)) {
        return Ok(Location::Memory(place));
    }
    locate_entry(module, info, variable.id, variable, frame, 0)
        .map_err(|error| info.error_at(variable.id, error))
}

/// Evaluates a single-operation location; `None` if it needs the full evaluation.
fn locate_plain(place: SimpleLocation, frame: &FrameContext<'_>) -> Option<LoadAddr> {
    match place {
        SimpleLocation::FrameOffset(offset) => {
            let base = match frame.function?.frame_base? {
                SimpleLocation::FrameAddress => frame.cfa?.0,
                SimpleLocation::Register(register) => frame.registers.get(register)?,
                SimpleLocation::FrameOffset(_) | SimpleLocation::Address(_) => return None,
            };
            Some(LoadAddr(base.wrapping_add(offset.cast_unsigned())))
        }
        SimpleLocation::FrameAddress => frame.cfa,
        SimpleLocation::Address(address) => Some(LoadAddr(address.wrapping_add(frame.bias.0))),
        SimpleLocation::Register(_) => None,
    }
}

fn no_info(module: &Module) -> Result<&DebugInfo, Error> {
    module
        .info()
        .ok_or_else(|| Error::Corrupt("no debug info".into()))
}

fn locate_entry(
    module: &Module,
    info: &DebugInfo,
    die: DieRef,
    variable: &Variable,
    frame: &FrameContext<'_>,
    depth: u32,
) -> Result<Location, Error> {
    let (unit, entry) = info.entry(die)?;
    let size = variable
        .ty
        .and_then(|ty| module.ty(ty).ok())
        .and_then(|ty| ty.size);
    if let Some((holder, value)) = info.inherited(unit, &entry, gimli::DW_AT_location) {
        let unit = unit_of(info, holder)?;
        let scope = Scope {
            module,
            info,
            unit,
            frame,
            expressions: &Cell::new(0),
        };
        let Some(expression) = scope.expression_at(value)? else {
            return Ok(Location::OptimizedOut);
        };
        return match scope.locate(expression, size, depth) {
            // A call clobbered the register, and no unwind rule restores it.
            Err(Error::RegisterUnavailable(_)) if frame.cfa.is_some() => Ok(Location::OptimizedOut),
            location => location,
        };
    }
    if let Some((holder, value)) = info.inherited(unit, &entry, gimli::DW_AT_const_value) {
        let unit = unit_of(info, holder)?;
        return Ok(
            constant(info, unit, value, size).map_or(Location::OptimizedOut, Location::Implicit)
        );
    }
    if flag(&entry, gimli::DW_AT_declaration) && depth < MAX_DEPTH {
        return locate_declared(module, info, unit, &entry, variable, frame, depth);
    }
    Ok(Location::OptimizedOut)
}

pub(crate) fn unit_of(info: &DebugInfo, index: u32) -> Result<&Unit, Error> {
    info.whole(index)
        .ok_or_else(|| Error::Corrupt(format!("cannot read unit {index}")))
}

/// Returns the location of a variable that is only declared here (`extern`): that of its definition
/// or its symbol.
fn locate_declared(
    module: &Module,
    info: &DebugInfo,
    unit: &Unit,
    entry: &Entry,
    variable: &Variable,
    frame: &FrameContext<'_>,
    depth: u32,
) -> Result<Location, Error> {
    let linkage = info.linkage_name(unit, entry);
    let qualified = info.qualified_name_of(unit, entry);
    // An `extern` declaration in a C function refers to an object of file scope.
    let names = [qualified.as_str(), variable.name.as_str()];
    for name in names {
        let found = module.statics_named(name, None);
        if let Some(definition) = found
            .iter()
            .find(|found| found.id != variable.id && found.name == variable.name)
        {
            return locate_entry(module, info, definition.id, variable, frame, depth + 1);
        }
    }
    let symbol = linkage.unwrap_or(&variable.name);
    let symbol = module
        .symbol_table()
        .named(symbol)
        .find(|symbol| symbol.kind == crate::ids::symbol::SymbolKind::Object);
    match symbol {
        Some(symbol) => Ok(Location::Memory(frame.bias.load(symbol.addr))),
        None => Err(Error::Unsupported(format!(
            "{} is only declared here; another module defines it",
            variable.name
        ))),
    }
}

/// Returns the address of a member whose offset is an expression.
pub(crate) fn locate_member(
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
    let machine = scope.machine(0);
    let mut evaluation = Evaluation::new(expression.0, unit.raw.encoding());
    // DWARF 5 §5.7.6: the object's address is initially on the stack.
    evaluation.set_initial_value(object.0);
    evaluation.set_object_address(object.0);
    let pieces = machine.run(evaluation)?;
    machine.value(&pieces).map(LoadAddr)
}

impl<'a> Scope<'a> {
    fn machine(&self, depth: u32) -> Machine<'a> {
        Machine {
            registers: self.frame.registers,
            memory: self.frame.memory,
            bias: self.frame.bias,
            scope: Some(*self),
            depth,
        }
    }

    /// Returns the expression for the frame's address: the attribute's only one, or the entry of
    /// its location list. `None` if no entry covers the address.
    pub(crate) fn expression_at(&self, value: Attribute) -> Result<Option<Expression<R>>, Error> {
        if let Some(expression) = value.exprloc_value() {
            return Ok((!expression.0.is_empty()).then_some(expression));
        }
        let dwarf = self.info.dwarf_of(self.unit);
        let Some(mut list) = dwarf.attr_locations(&self.unit.raw, value)? else {
            return Err(Error::Unsupported("a location of an unknown form".into()));
        };
        let pc = self.frame.pc.0;
        let mut default = None;
        while let Some(entry) = list.next()? {
            if entry.range.begin == 0 && entry.range.end == u64::MAX {
                // DW_LLE_default_location
                default = Some(entry.data);
            } else if entry.range.begin <= pc && pc < entry.range.end {
                return Ok((!entry.data.0.is_empty()).then_some(entry.data));
            }
        }
        Ok(default.filter(|expression| !expression.0.is_empty()))
    }

    fn locate(
        &self,
        expression: Expression<R>,
        size: Option<u64>,
        depth: u32,
    ) -> Result<Location, Error> {
        if let Some(address) = self.plain_address(expression, depth)? {
            return Ok(Location::Memory(LoadAddr(address)));
        }
        let machine = self.machine(depth);
        let pieces = machine.run(Evaluation::new(expression.0, self.unit.raw.encoding()))?;
        self.location(&pieces, size)
    }

    /// Returns the address that a single-operation expression gives. Most locations in unoptimized
    /// code are such, and need no expression machine.
    fn plain_address(&self, expression: Expression<R>, depth: u32) -> Result<Option<u64>, Error> {
        Ok(
            match SimpleLocation::of(expression, self.unit.raw.encoding()) {
                Some(SimpleLocation::FrameOffset(offset)) if depth < MAX_DEPTH => Some(
                    self.frame_base(depth + 1)?
                        .wrapping_add(offset.cast_unsigned()),
                ),
                Some(SimpleLocation::FrameOffset(_) | SimpleLocation::Register(_)) | None => None,
                Some(place) => locate_plain(place, self.frame).map(|place| place.0),
            },
        )
    }

    /// Evaluates an expression in this scope to an address or number.
    pub(crate) fn value(&self, expression: Expression<R>, depth: u32) -> Result<Value, Error> {
        let machine = self.machine(depth);
        let pieces = machine.run(Evaluation::new(expression.0, self.unit.raw.encoding()))?;
        if let [
            gimli::Piece {
                location: gimli::Location::Value { value },
                ..
            },
        ] = pieces.as_slice()
        {
            return Ok(*value);
        }
        machine.value(&pieces).map(Value::Generic)
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
        // clang omits the piece at the end of a value if it is optimized out.
        let described = pieces
            .iter()
            .fold(0, |sum: u64, it| sum.saturating_add(it.bits));
        let bits = size.map_or(0, |size| size.saturating_mul(8));
        if described < bits {
            pieces.push(Piece {
                bits: bits - described,
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

    /// Returns the value of `DW_AT_frame_base` of the frame's function.
    fn frame_base(&self, depth: u32) -> Result<u64, Error> {
        let function = self
            .frame
            .function
            .ok_or_else(|| Error::Corrupt("a frame's variable outside a function".into()))?;
        let (unit, entry) = self.info.entry(function.id)?;
        let (holder, value) = self
            .info
            .inherited(unit, &entry, gimli::DW_AT_frame_base)
            .ok_or_else(|| Error::Corrupt("a function without a frame base".into()))?;
        let scope = Scope {
            unit: unit_of(self.info, holder)?,
            ..*self
        };
        let Some(expression) = scope.expression_at(value)? else {
            return Err(Error::Unsupported("no frame base at this address".into()));
        };
        if let Some(base) = scope.plain_address(expression, depth)? {
            return Ok(base);
        }
        let machine = scope.machine(depth);
        let pieces = machine.run(Evaluation::new(expression.0, scope.unit.raw.encoding()))?;
        machine.value(&pieces)
    }
}

impl Machine<'_> {
    fn scope(&self) -> Result<&Scope<'_>, Error> {
        self.scope.as_ref().ok_or_else(|| {
            Error::Corrupt("an operation that is invalid in call frame information".into())
        })
    }

    fn register(&self, register: gimli::Register) -> Result<u64, Error> {
        let register = Register(register.0);
        self.registers.get(register).ok_or_else(|| {
            Error::RegisterUnavailable(register_name(self.registers.machine(), register))
        })
    }

    fn run(&self, mut evaluation: Evaluation<R>) -> Result<Vec<gimli::Piece<R>>, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::Limit("expressions nested too deeply".into()));
        }
        if let Some(scope) = &self.scope {
            let expressions = scope.expressions.get() + 1;
            if expressions > MAX_EXPRESSIONS {
                return Err(Error::Limit(
                    "an expression with too many nested expressions".into(),
                ));
            }
            scope.expressions.set(expressions);
        }
        evaluation.set_max_iterations(MAX_OPERATIONS);
        let mut result = evaluation.evaluate().map_err(evaluation_error)?;
        // Each resumption executes at least one operation, or reaches the limit. Calls of empty
        // expressions are the exception, hence this second bound.
        for _ in 0..MAX_OPERATIONS {
            result = match result {
                EvaluationResult::Complete => return Ok(evaluation.result()),
                EvaluationResult::RequiresMemory {
                    address,
                    size,
                    space,
                    base_type,
                } => {
                    if space.is_some() {
                        return Err(Error::Unsupported("address spaces".into()));
                    }
                    let mut bytes = [0; 8];
                    let buffer = bytes
                        .get_mut(..usize::from(size))
                        .ok_or_else(|| Error::Corrupt("a read of more than an address".into()))?;
                    self.memory.read(LoadAddr(address), buffer)?;
                    let value = match self.base_type(base_type)? {
                        ValueType::Generic => Value::Generic(u64::from_le_bytes(bytes)),
                        ty => typed(ty, &bytes)?,
                    };
                    evaluation.resume_with_memory(value)
                }
                EvaluationResult::RequiresRegister {
                    register,
                    base_type,
                } => {
                    let value = match self.base_type(base_type)? {
                        ValueType::Generic => Value::Generic(self.register(register)?),
                        ty => match self.registers.vector(Register(register.0)) {
                            Some(vector) => typed(ty, &vector.to_le_bytes())?,
                            None => typed(ty, &self.register(register)?.to_le_bytes())?,
                        },
                    };
                    evaluation.resume_with_register(value)
                }
                EvaluationResult::RequiresFrameBase => {
                    let base = self.scope()?.frame_base(self.depth + 1)?;
                    evaluation.resume_with_frame_base(base)
                }
                EvaluationResult::RequiresTls(offset) => {
                    let tls = self.scope()?.frame.tls;
                    let address = tls(offset).ok_or_else(|| {
                        Error::Unsupported("unknown thread-local storage of this module".into())
                    })?;
                    evaluation.resume_with_tls(address.0)
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    let cfa = self.scope()?.frame.cfa.ok_or_else(|| {
                        Error::RegisterUnavailable("the canonical frame address".into())
                    })?;
                    evaluation.resume_with_call_frame_cfa(cfa.0)
                }
                EvaluationResult::RequiresAtLocation(reference) => {
                    let bytes = self.called(reference)?;
                    evaluation.resume_with_at_location(bytes)
                }
                EvaluationResult::RequiresEntryValue(expression) => {
                    let value = call_site::entry_value(self.scope()?, expression, self.depth + 1)?;
                    evaluation.resume_with_entry_value(value)
                }
                EvaluationResult::RequiresParameterRef(offset) => {
                    let scope = self.scope()?;
                    let value =
                        call_site::parameter_value(scope, scope.unit.die(offset), self.depth + 1)?;
                    evaluation.resume_with_parameter_ref(value.to_u64(!0)?)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias.0))
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let mut address = self.indexed(index)?;
                    // An indexed constant may be a thread-local offset, which is not relocated.
                    if relocate {
                        address = address.wrapping_add(self.bias.0);
                    }
                    evaluation.resume_with_indexed_address(address)
                }
                EvaluationResult::RequiresBaseType(offset) => {
                    let ty = self.base_type(offset)?;
                    evaluation.resume_with_base_type(ty)
                }
                EvaluationResult::RequiresWasmLocal { .. }
                | EvaluationResult::RequiresWasmGlobal { .. }
                | EvaluationResult::RequiresWasmStack { .. } => {
                    return Err(Error::Unsupported("WebAssembly locations".into()));
                }
            }
            .map_err(evaluation_error)?;
        }
        Err(Error::Limit(
            "an expression with too many operations".into(),
        ))
    }

    fn indexed(&self, index: DebugAddrIndex<usize>) -> Result<u64, Error> {
        let scope = self.scope()?;
        let dwarf = scope.info.dwarf_of(scope.unit);
        Ok(dwarf.address(&scope.unit.raw, index)?)
    }

    fn base_type(&self, offset: UnitOffset<usize>) -> Result<ValueType, Error> {
        if offset.0 == 0 {
            return Ok(ValueType::Generic);
        }
        let scope = self.scope()?;
        let entry = scope.info.entry_in(scope.unit, offset.0 as u64)?;
        ValueType::from_entry(&entry)?
            .ok_or_else(|| Error::Unsupported("an operation on a type of this kind".into()))
    }

    /// Returns the expression that `DW_OP_call*` continues with; an empty one if the entry has
    /// none.
    fn called(&self, reference: DieReference<usize>) -> Result<R, Error> {
        let scope = self.scope()?;
        let die = match reference {
            DieReference::UnitRef(offset) => Some(scope.unit.die(offset)),
            DieReference::DebugInfoRef(offset) => scope
                .info
                .reference(scope.unit, Attribute::DebugInfoRef(offset)),
        };
        let empty = R::new(&[], LittleEndian);
        let Some(die) = die else {
            return Ok(empty);
        };
        let (unit, entry) = scope.info.entry(die)?;
        let Some(value) = entry.attr_value(gimli::DW_AT_location) else {
            return Ok(empty);
        };
        let scope = Scope { unit, ..*scope };
        Ok(scope
            .expression_at(value)?
            .map_or(empty, |expression| expression.0))
    }

    /// Returns the pieces as a number: a computed address, a register's contents, or a value.
    fn value(&self, pieces: &[gimli::Piece<R>]) -> Result<u64, Error> {
        match pieces {
            [piece] => match &piece.location {
                gimli::Location::Address { address } => Ok(*address),
                gimli::Location::Register { register } => self.register(*register),
                gimli::Location::Value { value } => Ok(value.to_u64(!0)?),
                gimli::Location::Bytes { value } => {
                    let mut bytes = [0; 8];
                    for (to, from) in bytes.iter_mut().zip(value.slice()) {
                        *to = *from;
                    }
                    Ok(u64::from_le_bytes(bytes))
                }
                _ => Err(Error::Corrupt("an expression without a value".into())),
            },
            _ => Err(Error::Corrupt("an expression without a value".into())),
        }
    }
}

fn evaluation_error(error: gimli::Error) -> Error {
    match error {
        gimli::Error::TooManyIterations => {
            Error::Limit("an expression with too many operations".into())
        }
        gimli::Error::UnsupportedEvaluation => {
            Error::Unsupported("an operation of location descriptions".into())
        }
        error => error.into(),
    }
}

fn typed(ty: ValueType, bytes: &[u8]) -> Result<Value, Error> {
    Ok(Value::parse(ty, EndianSlice::new(bytes, LittleEndian))?)
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
