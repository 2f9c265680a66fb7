//! Locations of variables without a process: terms that code running in the debuggee can compute
//! from its registers (DWARF 5 §2.5, §2.6, without callers and branches).

use crate::cfi::CfaRule;
use crate::entries::constant::{constant, fit};
use crate::entries::units::flag;
use crate::file::R;
use crate::functions::Function;
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::ids::register::{Register, Registers};
use crate::lines::DebugInfo;
use crate::locations::evaluate::{MAX_DEPTH, Scope, unit_of};
use crate::locations::locate::{Definition, definition_of, no_info};
use crate::locations::{FrameContext, undescribed_bits};
use crate::module::Module;
use crate::names::statics::linked;
use gimli::{Expression, Operation, UnwindContext};
use std::cell::Cell;

/// Maximum number of operands of a term; compilers need a handful.
const MAX_OPERANDS: u32 = 64;
/// Maximum number of operations per expression.
const MAX_OPERATIONS: usize = 256;

/// The location of a variable at an address of the code, for any process.
#[derive(Clone, Debug, PartialEq)]
pub enum StaticLocation {
    /// In memory, at the address that the term computes.
    Memory(Term),
    /// In a register.
    Register(Register),
    /// Without storage: the term computes the value.
    Value(Term),
    /// Without storage: the bytes of the value.
    Constant(Vec<u8>),
    /// Split into pieces, least significant first.
    Pieces(Vec<StaticPiece>),
    /// Not available at this address.
    OptimizedOut,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticPiece {
    /// Size in bits.
    pub bits: u64,
    /// Bits to skip at the start of the location.
    pub bit_offset: u64,
    /// Location of the part (never `Pieces`).
    pub location: StaticLocation,
}

/// A 64-bit number computed from the innermost frame's registers and memory; arithmetic wraps
/// around.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A constant.
    Constant(u64),
    /// An address of the image, to which the load bias is added.
    Image(FileAddr),
    /// A register's contents.
    Register(Register),
    /// The address at this offset in the thread's copy of the image's thread-local storage.
    ThreadLocal(u64),
    /// The given number of bytes (1 to 8) at an address, zero-extended.
    Load(Box<Term>, u8),
    /// The sum of a term and a constant.
    Sum(Box<Term>, u64),
    /// An operation on two terms.
    Binary(TermOperator, Box<Term>, Box<Term>),
}

/// An operator of [`Term::Binary`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermOperator {
    /// `DW_OP_plus`
    Add,
    /// `DW_OP_minus`
    Sub,
    /// `DW_OP_mul`
    Mul,
    /// `DW_OP_and`
    And,
    /// `DW_OP_or`
    Or,
    /// `DW_OP_xor`
    Xor,
}

impl Term {
    fn plus(self, number: u64) -> Term {
        match self {
            term if number == 0 => term,
            Term::Constant(value) => Term::Constant(value.wrapping_add(number)),
            Term::Image(addr) => Term::Image(FileAddr(addr.0.wrapping_add(number))),
            Term::Sum(term, before) => Term::Sum(term, before.wrapping_add(number)),
            term => Term::Sum(Box::new(term), number),
        }
    }

    fn binary(operator: TermOperator, left: Term, right: Term) -> Term {
        match (operator, left, right) {
            (TermOperator::Add, term, Term::Constant(number))
            | (TermOperator::Add, Term::Constant(number), term) => term.plus(number),
            (TermOperator::Sub, term, Term::Constant(number)) => term.plus(number.wrapping_neg()),
            (operator, left, right) => Term::Binary(operator, Box::new(left), Box::new(right)),
        }
    }

    fn size(&self) -> u32 {
        match self {
            Term::Load(inner, _) | Term::Sum(inner, _) => inner.size().saturating_add(1),
            Term::Binary(_, left, right) => {
                left.size().saturating_add(right.size()).saturating_add(1)
            }
            _ => 1,
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(format!("{what}: unknown without a process"))
}

impl Module {
    /// Returns the location of a variable at `pc`, from the debug info alone. `function` is the
    /// concrete function there; only parameters and locals need it.
    ///
    /// # Errors
    /// The location is corrupt, or depends on more than the innermost frame's registers.
    pub fn locate_static(
        &self,
        variable: &Variable,
        function: Option<&Function>,
        pc: FileAddr,
    ) -> Result<StaticLocation, Error> {
        let info = no_info(self)?;
        let registers = Registers::new(self.machine());
        let frame = FrameContext::without_process(&registers, pc, function);
        let terms = Terms {
            module: self,
            info,
            frame: &frame,
        };
        terms
            .of(variable, 0)
            .map_err(|error| info.error_at(variable.id, error))
    }
}

/// Executes expressions on terms instead of numbers. gimli's `Evaluation`, which [`Scope`] uses,
/// needs the value of each register and word of memory on the way.
struct Terms<'a> {
    module: &'a Module,
    info: &'a DebugInfo,
    frame: &'a FrameContext<'a>,
}

impl Terms<'_> {
    fn of(&self, variable: &Variable, depth: u32) -> Result<StaticLocation, Error> {
        let (unit, entry) = self.info.entry(variable.id)?;
        let ty = variable.ty.and_then(|ty| self.module.ty(ty).ok());
        let size = ty.and_then(|ty| ty.size);
        if let Some((holder, value)) = self.info.inherited(unit, &entry, gimli::DW_AT_location) {
            let expressions = Cell::new(0);
            let scope = self.scope(holder, &expressions)?;
            return match scope.expression_at(value)? {
                Some(expression) => self.location(&scope, expression, size, depth),
                None => Ok(StaticLocation::OptimizedOut),
            };
        }
        if let Some((holder, value)) = self.info.constant_of(unit, &entry) {
            let bytes = constant(self.info, unit_of(self.info, holder)?, value, size);
            return Ok(bytes.map_or(StaticLocation::OptimizedOut, StaticLocation::Constant));
        }
        if let Some(offset) = self.module.thread_local_offset(variable) {
            return Ok(StaticLocation::Memory(Term::ThreadLocal(offset)));
        }
        if depth >= MAX_DEPTH {
            return Ok(StaticLocation::OptimizedOut);
        }
        if variable.kind == VariableKind::Static
            && let Some(linked) = linked(self.module, self.info, variable.id)
        {
            return self.of(&linked, depth + 1);
        }
        if !flag(&entry, gimli::DW_AT_declaration) {
            return Ok(StaticLocation::OptimizedOut);
        }
        match definition_of(self.module, self.info, variable)? {
            Definition::Variable(definition) => self.of(&definition, depth + 1),
            Definition::Symbol(addr) => Ok(StaticLocation::Memory(Term::Image(addr))),
        }
    }

    fn scope<'a>(&'a self, unit: u32, expressions: &'a Cell<u32>) -> Result<Scope<'a>, Error> {
        Ok(Scope {
            module: self.module,
            info: self.info,
            unit: unit_of(self.info, unit)?,
            frame: self.frame,
            expressions,
            is_passed: false,
        })
    }

    fn location(
        &self,
        scope: &Scope<'_>,
        expression: Expression<R>,
        size: Option<u64>,
        depth: u32,
    ) -> Result<StaticLocation, Error> {
        let mut pieces: Vec<StaticPiece> = Vec::new();
        let mut stack: Vec<Term> = Vec::new();
        let mut done: Option<StaticLocation> = None;
        let mut operations = expression.operations(scope.unit.raw.encoding());
        for _ in 0..MAX_OPERATIONS {
            let Some(operation) = operations.next()? else {
                let last = done.or_else(|| stack.pop().map(StaticLocation::Memory));
                return Ok(match (last, pieces.is_empty()) {
                    (Some(StaticLocation::Constant(bytes)), true) => {
                        StaticLocation::Constant(bytes)
                    }
                    (Some(location), true) => location,
                    (None, true) => StaticLocation::OptimizedOut,
                    (_, false) => whole(pieces, size),
                });
            };
            match operation {
                Operation::Piece {
                    size_in_bits,
                    bit_offset,
                } => {
                    let location = done
                        .take()
                        .or_else(|| stack.pop().map(StaticLocation::Memory))
                        .unwrap_or(StaticLocation::OptimizedOut);
                    stack.clear();
                    pieces.push(StaticPiece {
                        bits: size_in_bits,
                        bit_offset: bit_offset.unwrap_or(0),
                        location,
                    });
                }
                _ if done.is_some() => {
                    return Err(Error::Corrupt("operations after a location".into()));
                }
                Operation::Register { register } => {
                    done = Some(StaticLocation::Register(Register(register.0)));
                }
                Operation::StackValue => {
                    done = Some(match self.pop(&mut stack)? {
                        Term::Constant(value) if pieces.is_empty() => {
                            StaticLocation::Constant(fit(value.to_le_bytes().to_vec(), size))
                        }
                        term => StaticLocation::Value(term),
                    });
                }
                Operation::ImplicitValue { data } => {
                    done = Some(StaticLocation::Constant(data.slice().to_vec()));
                }
                operation => self.step(scope, operation, &mut stack, depth)?,
            }
        }
        Err(Error::Limit(
            "an expression with too many operations".into(),
        ))
    }

    /// Returns the address of the image that an operand is.
    fn image(&self, scope: &Scope<'_>, addr: u64) -> Result<Term, Error> {
        let addr = self.info.placed_operand(scope.unit, addr)?;
        Ok(Term::Image(FileAddr(addr)))
    }

    fn pop(&self, stack: &mut Vec<Term>) -> Result<Term, Error> {
        let term = stack.pop();
        term.ok_or_else(|| Error::Corrupt("an operation without an operand".into()))
    }

    fn step(
        &self,
        scope: &Scope<'_>,
        operation: Operation<R>,
        stack: &mut Vec<Term>,
        depth: u32,
    ) -> Result<(), Error> {
        let binary = match operation {
            Operation::Plus => Some(TermOperator::Add),
            Operation::Minus => Some(TermOperator::Sub),
            Operation::Mul => Some(TermOperator::Mul),
            Operation::And => Some(TermOperator::And),
            Operation::Or => Some(TermOperator::Or),
            Operation::Xor => Some(TermOperator::Xor),
            _ => None,
        };
        let term = match (binary, operation) {
            (Some(operator), _) => {
                let right = self.pop(stack)?;
                Term::binary(operator, self.pop(stack)?, right)
            }
            (_, Operation::Nop) => return Ok(()),
            (_, Operation::Drop) => {
                self.pop(stack)?;
                return Ok(());
            }
            (_, Operation::Address { address }) => self.image(scope, address)?,
            (_, Operation::AddressIndex { index }) => {
                let dwarf = self.info.dwarf_of(scope.unit);
                self.image(scope, dwarf.address(&scope.unit.raw, index)?)?
            }
            (_, Operation::ConstantIndex { index }) => {
                let dwarf = self.info.dwarf_of(scope.unit);
                Term::Constant(dwarf.address(&scope.unit.raw, index)?)
            }
            (_, Operation::UnsignedConstant { value }) => Term::Constant(value),
            (_, Operation::SignedConstant { value }) => Term::Constant(value as u64),
            (
                _,
                Operation::RegisterOffset {
                    register,
                    offset,
                    base_type,
                },
            ) if base_type.0 == 0 => Term::Register(Register(register.0)).plus(offset as u64),
            (_, Operation::FrameOffset { offset }) => {
                self.frame_base(scope, depth + 1)?.plus(offset as u64)
            }
            (_, Operation::CallFrameCFA) => self.cfa()?,
            (_, Operation::PlusConstant { value }) => self.pop(stack)?.plus(value),
            (
                _,
                Operation::Deref {
                    base_type,
                    size,
                    space: false,
                },
            ) if base_type.0 == 0 && (1..=8).contains(&size) => {
                Term::Load(Box::new(self.pop(stack)?), size)
            }
            (_, Operation::Pick { index }) => {
                let at = stack.len().checked_sub(usize::from(index) + 1);
                let term = at.and_then(|at| stack.get(at)).cloned();
                term.ok_or_else(|| Error::Corrupt("an operation without an operand".into()))?
            }
            (_, Operation::Swap) => {
                let (top, below) = (self.pop(stack)?, self.pop(stack)?);
                stack.push(top);
                below
            }
            (_, Operation::TLS) => match self.pop(stack)? {
                Term::Constant(offset) => {
                    Term::ThreadLocal(self.info.linked_operand(scope.unit, offset)?)
                }
                _ => return Err(unsupported("this thread-local location")),
            },
            (_, Operation::EntryValue { .. } | Operation::ParameterRef { .. }) => {
                return Err(unsupported("a value from the caller's frame"));
            }
            _ => return Err(unsupported("this kind of location")),
        };
        if term.size() > MAX_OPERANDS {
            return Err(Error::Limit("a location with too many operands".into()));
        }
        stack.push(term);
        Ok(())
    }

    /// Returns the value of `DW_AT_frame_base` of the frame's function.
    fn frame_base(&self, scope: &Scope<'_>, depth: u32) -> Result<Term, Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::Limit("expressions nested too deeply".into()));
        }
        let (scope, expression) = scope.frame_base_expression()?;
        match self.location(&scope, expression, None, depth)? {
            StaticLocation::Memory(term) | StaticLocation::Value(term) => Ok(term),
            StaticLocation::Register(register) => Ok(Term::Register(register)),
            _ => Err(unsupported("this frame base")),
        }
    }

    /// Returns the canonical frame address by the unwind rules for `pc`.
    fn cfa(&self) -> Result<Term, Error> {
        let mut context = UnwindContext::new();
        let rule = self.module.unwind_rule(self.frame.pc.0, &mut context)?;
        if rule.as_ref().is_some_and(|rule| rule.at_calls) {
            return Err(unsupported(
                "the address of a frame with unwind rules for calls only",
            ));
        }
        match rule.map(|rule| rule.cfa) {
            Some(CfaRule::Offset(register, offset)) => {
                Ok(Term::Register(register).plus(offset as u64))
            }
            Some(CfaRule::Expression(_)) => Err(unsupported("this frame's address")),
            None => Err(unsupported("the address of a frame without unwind rules")),
        }
    }
}

impl Module {
    /// Returns how the canonical frame address is computed at an address of the image: a register of
    /// the frame, and what is added to it; `None`: it takes more, or is unknown.
    pub fn frame_address_at(&self, addr: FileAddr) -> Option<(Register, i64)> {
        let mut context = UnwindContext::new();
        let rule = self.unwind_rule(addr.0, &mut context).ok()??;
        match rule.cfa {
            CfaRule::Offset(register, offset) if !rule.at_calls => Some((register, offset)),
            _ => None,
        }
    }
}

/// Combines a value's pieces; parts that they do not describe are optimized out.
fn whole(mut pieces: Vec<StaticPiece>, size: Option<u64>) -> StaticLocation {
    let nowhere = |piece: &StaticPiece| piece.location == StaticLocation::OptimizedOut;
    if pieces.iter().all(nowhere) {
        return StaticLocation::OptimizedOut;
    }
    if let Some(bits) = undescribed_bits(pieces.iter().map(|it| it.bits), size) {
        pieces.push(StaticPiece {
            bits,
            bit_offset: 0,
            location: StaticLocation::OptimizedOut,
        });
    }
    StaticLocation::Pieces(pieces)
}
