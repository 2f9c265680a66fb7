//! Evaluates DWARF expressions by gimli's resumable evaluation (DWARF 5 §2.5): in a frame, or for
//! call frame information.

use crate::entries::units::{Unit, Value as Attribute};
use crate::file::R;
use crate::functions::variable::SimpleLocation;
use crate::ids::addr::{LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::{Register, Registers};
use crate::lines::DebugInfo;
use crate::locations::FrameContext;
use crate::locations::entry_value;
use crate::locations::locate::unknown_storage;
use crate::locations::spill::{Hole, ListEntry};
use crate::module::Module;
use gimli::{
    DebugAddrIndex, DieReference, EndianSlice, Evaluation, EvaluationResult, Expression,
    LittleEndian, UnitOffset, Value, ValueType,
};
use std::cell::Cell;

/// Maximum number of operations per expression; compilers emit a few dozen.
const MAX_OPERATIONS: u32 = 10_000;
/// Maximum nesting of expressions: frame base, entry value, the caller's frame base.
pub(super) const MAX_DEPTH: u32 = 8;
/// Maximum number of expressions per location: each may refer to several others.
const MAX_EXPRESSIONS: u32 = 256;

/// The module, unit and frame that an expression is evaluated in.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) info: &'a DebugInfo,
    pub(super) unit: &'a Unit,
    pub(super) frame: &'a FrameContext<'a>,
    /// Expressions evaluated so far for this location.
    pub(super) expressions: &'a Cell<u32>,
    /// Whether the location is of what is passed to the frame's function: of a parameter, or of what a closure has
    /// captured.
    pub(super) is_passed: bool,
}

/// The inputs of an expression.
struct Inputs<'a> {
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
    let inputs = Inputs {
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
    let pieces = inputs.run(evaluation)?;
    inputs.value(&pieces)
}

/// Evaluates a single-operation location; `None` if it needs the full evaluation.
pub(super) fn simple_address(place: SimpleLocation, frame: &FrameContext<'_>) -> Option<LoadAddr> {
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

pub(super) fn unit_of(info: &DebugInfo, index: u32) -> Result<&Unit, Error> {
    info.whole(index)
        .ok_or_else(|| Error::Corrupt(format!("cannot read unit {index}")))
}

impl<'a> Scope<'a> {
    fn inputs(&self, depth: u32) -> Inputs<'a> {
        Inputs {
            registers: self.frame.registers,
            memory: self.frame.memory,
            bias: self.frame.bias,
            scope: Some(*self),
            depth,
        }
    }

    /// Returns the expression for the frame's address: the attribute's only one, or the entry of
    /// its location list. `None` if no entry covers the address, and the code does not tell either.
    pub(super) fn expression_at(&self, value: Attribute) -> Result<Option<Expression<R>>, Error> {
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
            } else if self.info.is_in(self.unit, entry.range, pc) {
                return Ok((!entry.data.0.is_empty()).then_some(entry.data));
            }
        }
        match default {
            Some(default) => Ok((!default.0.is_empty()).then_some(default)),
            None => self.spilled_at(value),
        }
    }

    /// Returns the expression of a location list for an object behind a pointer that the frame keeps in a word
    /// at its address, although no entry says so: none covers the address, or that which does names a register
    /// that a call has overwritten.
    pub(super) fn spilled_at(&self, value: Attribute) -> Result<Option<Expression<R>>, Error> {
        let dwarf = self.info.dwarf_of(self.unit);
        let Some(mut list) = dwarf.attr_locations(&self.unit.raw, value)? else {
            return Ok(None);
        };
        let mut hole = Hole::default();
        while let Some(entry) = list.next()? {
            let expression = entry.data;
            if let Some(begin) = self.info.linked(self.unit, entry.range.begin) {
                hole.add(ListEntry { begin, expression }, self.frame.pc.0);
            }
        }
        let spilled = hole.spill(self.unit.raw.encoding(), self.is_passed);
        let spilled = spilled.filter(|(spill, _)| (self.frame.is_spilled)(spill));
        Ok(spilled.map(|it| it.1))
    }

    /// Returns the address that a single-operation expression gives. Most locations in unoptimized
    /// code are such, and need no expression machine.
    pub(super) fn simple_address(
        &self,
        expression: Expression<R>,
        depth: u32,
    ) -> Result<Option<u64>, Error> {
        Ok(match SimpleLocation::of(self.info, self.unit, expression) {
            Some(SimpleLocation::FrameOffset(offset)) if depth < MAX_DEPTH => Some(
                self.frame_base(depth + 1)?
                    .wrapping_add(offset.cast_unsigned()),
            ),
            Some(SimpleLocation::FrameOffset(_) | SimpleLocation::Register(_)) | None => None,
            Some(place) => simple_address(place, self.frame).map(|place| place.0),
        })
    }

    /// Evaluates an expression in this scope to an address or number.
    pub(super) fn value(&self, expression: Expression<R>, depth: u32) -> Result<Value, Error> {
        let pieces = self.pieces(expression, depth)?;
        if let [
            gimli::Piece {
                location: gimli::Location::Value { value },
                ..
            },
        ] = pieces.as_slice()
        {
            return Ok(*value);
        }
        self.inputs(depth).value(&pieces).map(Value::Generic)
    }

    /// Evaluates an expression in this scope to an address.
    pub(super) fn address(&self, expression: Expression<R>) -> Result<LoadAddr, Error> {
        let pieces = self.pieces(expression, 0)?;
        self.inputs(0).value(&pieces).map(LoadAddr)
    }

    /// Evaluates an expression in this scope.
    pub(super) fn pieces(
        &self,
        expression: Expression<R>,
        depth: u32,
    ) -> Result<Vec<gimli::Piece<R>>, Error> {
        let evaluation = Evaluation::new(expression.0, self.unit.raw.encoding());
        self.inputs(depth).run(evaluation)
    }

    /// Evaluates an expression that computes the address of a member from that of its object.
    pub(super) fn address_in(
        &self,
        object: LoadAddr,
        expression: Expression<R>,
    ) -> Result<LoadAddr, Error> {
        let inputs = self.inputs(0);
        let mut evaluation = Evaluation::new(expression.0, self.unit.raw.encoding());
        // DWARF 5 §5.7.6: the object's address is initially on the stack.
        evaluation.set_initial_value(object.0);
        evaluation.set_object_address(object.0);
        let pieces = inputs.run(evaluation)?;
        inputs.value(&pieces).map(LoadAddr)
    }

    /// Returns `DW_AT_frame_base` of the frame's function, and the scope to evaluate it in.
    pub(super) fn frame_base_expression(&self) -> Result<(Scope<'a>, Expression<R>), Error> {
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
        match scope.expression_at(value)? {
            Some(expression) => Ok((scope, expression)),
            None => Err(Error::Unsupported("no frame base at this address".into())),
        }
    }

    /// Returns the value of `DW_AT_frame_base` of the frame's function.
    fn frame_base(&self, depth: u32) -> Result<u64, Error> {
        let (scope, expression) = self.frame_base_expression()?;
        if let Some(base) = scope.simple_address(expression, depth)? {
            return Ok(base);
        }
        let pieces = scope.pieces(expression, depth)?;
        scope.inputs(depth).value(&pieces)
    }
}

impl Inputs<'_> {
    fn scope(&self) -> Result<&Scope<'_>, Error> {
        self.scope.as_ref().ok_or_else(|| {
            Error::Corrupt("an operation that is invalid in call frame information".into())
        })
    }

    fn register(&self, register: gimli::Register) -> Result<u64, Error> {
        let register = Register(register.0);
        self.registers.get(register).ok_or_else(|| {
            Error::RegisterUnavailable(self.registers.machine().register_name(register))
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
                    let scope = self.scope()?;
                    let offset = scope.info.linked_operand(scope.unit, offset)?;
                    let tls = scope.frame.tls;
                    let address = tls(offset).ok_or_else(unknown_storage)?;
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
                    let value =
                        entry_value::entry_value(self.scope()?, expression, self.depth + 1)?;
                    evaluation.resume_with_entry_value(value)
                }
                EvaluationResult::RequiresParameterRef(offset) => {
                    let scope = self.scope()?;
                    let value = entry_value::parameter_value(
                        scope,
                        scope.unit.die(offset),
                        self.depth + 1,
                    )?;
                    evaluation.resume_with_parameter_ref(value.to_u64(!0)?)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    // Expressions of unwind rules have no scope, and addresses of the image.
                    let address = match self.scope {
                        Some(scope) => scope.info.placed_operand(scope.unit, address)?,
                        None => address,
                    };
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias.0))
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let mut address = self.indexed(index)?;
                    // An indexed constant may be a thread-local offset, which is not relocated.
                    if relocate {
                        let scope = self.scope()?;
                        let linked = scope.info.placed_operand(scope.unit, address)?;
                        address = linked.wrapping_add(self.bias.0);
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
