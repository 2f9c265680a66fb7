//! Heuristic unwind rules from the instructions ahead of the pc, for code without call frame
//! information and possibly without symbols.
//!
//! Every path to a `ret` pops what the function has pushed, so the effects of those instructions on
//! `rsp` give the position of the return address, and their pops the caller's registers. The start
//! of the function need not be known. If it is known, the instructions from there to the pc give
//! the same, also in functions that align the stack or never return.

use super::decode::{decoded, is_call};
use super::{Decoded as Instruction, MAX_INSTRUCTION_BYTES};
use dwarf::{
    CfaLocation, FileAddr, HeuristicUnwind, LoadAddr, Module, RegisterOffset, ReturnAddress,
    register::x86_64 as number,
};
use iced_x86::{Code, FlowControl, InstructionInfoFactory, OpAccess, OpKind, Register};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Maximum number of instructions to examine: functions without unwind information are small.
const MAX_INSTRUCTIONS: usize = 2048;
/// Maximum number of different results.
const MAX_UNWINDS: usize = 4;

/// The machine's state at an address ahead, in terms of the present registers.
#[derive(Clone)]
struct State {
    sp: RegisterOffset,
    bp: Option<RegisterOffset>,
    saved: Vec<(dwarf::Register, RegisterOffset)>,
}

/// Returns candidate unwind rules: first that of the path from the function's start to `addr`, if
/// the start is known, then those of the paths to a return, shortest first. `is_return`: `addr` is
/// a return address.
pub(crate) fn unwinds(module: &Module, addr: FileAddr, is_return: bool) -> Vec<HeuristicUnwind> {
    let start = State::new();
    let symbol = if is_return { addr - 1 } else { addr };
    let mut ways: Vec<HeuristicUnwind> = from_start(module, symbol, addr).into_iter().collect();
    let mut todo = VecDeque::from([(addr.0, start)]);
    let mut seen = FxHashSet::default();
    let mut effects = InstructionInfoFactory::new();
    while let Some((ip, mut state)) = todo.pop_front() {
        if ways.len() >= MAX_UNWINDS || seen.len() >= MAX_INSTRUCTIONS {
            break;
        }
        if !seen.insert(ip) {
            continue;
        }
        let Some(instruction) = instruction_at(module, FileAddr(ip)) else {
            continue;
        };
        match instruction.flow_control() {
            FlowControl::Return => {
                leave(&mut ways, state);
                continue;
            }
            // The stub of an imported function, which will return.
            FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                leave(&mut ways, state);
                continue;
            }
            _ => {}
        }
        // Jumps may lead to another function, which restores the stack.
        let next = successors(&instruction);
        if !state.pass(&instruction, &mut effects) {
            continue;
        }
        for next in next.into_iter().flatten() {
            todo.push_back((next, state.clone()));
        }
    }
    ways
}

/// A path through a function from its start.
#[derive(Clone)]
struct Walk {
    state: State,
    /// Whether the stack was aligned, so that `rsp` no longer has a known offset.
    aligned: bool,
    /// Value that a function that aligns its stack keeps in `r10`, as an offset from `rsp` at the
    /// start.
    kept: Option<i64>,
    /// Offset from the frame pointer at which `r10` is saved; and from `rsp`, while that is
    /// tracked.
    kept_at: Option<i64>,
    sp_from_bp: Option<i64>,
}

/// Walks from the start of the function of `symbol` to `addr`.
fn from_start(module: &Module, symbol: FileAddr, addr: FileAddr) -> Option<HeuristicUnwind> {
    let function = module.symbol_at(symbol)?;
    let inside = function.addr.0..function.addr.0.saturating_add(function.size.max(1));
    let start = Walk {
        state: State::new(),
        aligned: false,
        kept: None,
        kept_at: None,
        sp_from_bp: None,
    };
    let mut todo = VecDeque::from([(function.addr.0, start)]);
    let mut seen = FxHashSet::default();
    let mut effects = InstructionInfoFactory::new();
    while let Some((ip, mut walk)) = todo.pop_front() {
        if ip == addr.0 {
            return walk.way_back();
        }
        if seen.len() >= MAX_INSTRUCTIONS || !inside.contains(&ip) || !seen.insert(ip) {
            continue;
        }
        let Some(instruction) = instruction_at(module, FileAddr(ip)) else {
            continue;
        };
        if walk.pass(&instruction, &mut effects) {
            for next in successors(&instruction).into_iter().flatten() {
                todo.push_back((next, walk.clone()));
            }
        }
    }
    None
}

impl Walk {
    fn pass(&mut self, instruction: &Instruction, effects: &mut InstructionInfoFactory) -> bool {
        let state = &mut self.state;
        match (instruction.code(), instruction.op0_register()) {
            (Code::Push_r64, register) if !self.aligned => {
                state.sp = moved(state.sp, -8);
                if let Some(register) = preserved(register)
                    && state.saved.iter().all(|(saved, _)| *saved != register)
                {
                    state.saved.push((register, state.sp));
                }
                true
            }
            (Code::Lea_r64_m, Register::R10) if !self.aligned => {
                self.kept = state.address(instruction).map(|at| at.offset);
                true
            }
            (Code::And_rm64_imm8 | Code::And_rm64_imm32, Register::RSP) => {
                self.aligned = true;
                true
            }
            (Code::Mov_r64_rm64 | Code::Mov_rm64_r64, Register::RBP) if self.aligned => {
                state.bp = None;
                self.sp_from_bp = Some(0);
                true
            }
            (Code::Push_r64, register) => {
                self.sp_from_bp = self.sp_from_bp.map(|sp| sp - 8);
                if register == Register::R10 && self.kept.is_some() {
                    self.kept_at = self.sp_from_bp;
                }
                true
            }
            _ => state.pass(instruction, effects),
        }
    }

    fn way_back(&self) -> Option<HeuristicUnwind> {
        // If `rbp` is known relative to `rsp` at the start, it is a frame pointer.
        let bp = self.state.bp.filter(|bp| bp.register == number::RSP);
        let from = match (bp, self.kept, self.kept_at) {
            _ if !self.aligned => self.state.sp,
            (Some(bp), ..) => RegisterOffset {
                register: number::RBP,
                ..bp
            },
            (_, Some(kept), None) => RegisterOffset {
                register: dwarf::Register(10),
                offset: kept,
            },
            // The frame pointer is the caller's, saved after the frame's own data.
            (_, Some(8), Some(at)) => {
                return Some(HeuristicUnwind {
                    cfa: CfaLocation::SavedAt(RegisterOffset {
                        register: number::RBP,
                        offset: at,
                    }),
                    return_address: ReturnAddress::BelowCfa,
                    saved: vec![(number::RBP, place(number::RBP))],
                });
            }
            _ => return None,
        };
        // Offsets are relative to `rsp` at the start; convert them to the present registers.
        let now = |place: RegisterOffset| RegisterOffset {
            register: from.register,
            offset: place.offset.wrapping_sub(from.offset),
        };
        let saved = self.state.saved.iter();
        Some(HeuristicUnwind {
            cfa: CfaLocation::At(moved(now(place(number::RSP)), 8)),
            return_address: ReturnAddress::BelowCfa,
            saved: saved.map(|(saved, at)| (*saved, now(*at))).collect(),
        })
    }
}

/// Returns the successors of an instruction.
fn successors(instruction: &Instruction) -> [Option<u64>; 2] {
    let target =
        (instruction.op0_kind() == OpKind::NearBranch64).then(|| instruction.near_branch64());
    match instruction.flow_control() {
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => [None, None],
        FlowControl::UnconditionalBranch => [None, target],
        FlowControl::ConditionalBranch => [Some(instruction.next_ip()), target],
        _ => [Some(instruction.next_ip()), None],
    }
}

fn place(register: dwarf::Register) -> RegisterOffset {
    RegisterOffset {
        register,
        offset: 0,
    }
}

fn leave(ways: &mut Vec<HeuristicUnwind>, state: State) {
    let way = HeuristicUnwind {
        cfa: CfaLocation::At(moved(state.sp, 8)),
        return_address: ReturnAddress::BelowCfa,
        saved: state.saved,
    };
    if ways.iter().all(|other| other.cfa != way.cfa) {
        ways.push(way);
    }
}

fn moved(place: RegisterOffset, by: i64) -> RegisterOffset {
    RegisterOffset {
        offset: place.offset.wrapping_add(by),
        ..place
    }
}

fn instruction_at(module: &Module, addr: FileAddr) -> Option<Instruction> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    // Fewer bytes are available near the end of a segment.
    let len = (1..=MAX_INSTRUCTION_BYTES)
        .rev()
        .find(|len| module.read_image(addr, &mut bytes[..*len]).is_some())?;
    let instruction = decoded(&bytes[..len], LoadAddr(addr.0));
    (!instruction.is_invalid()).then_some(instruction)
}

/// Returns the number of a callee-saved register.
fn preserved(register: Register) -> Option<dwarf::Register> {
    Some(match register {
        Register::RBX => number::RBX,
        Register::RBP => number::RBP,
        Register::R12 => dwarf::Register(12),
        Register::R13 => dwarf::Register(13),
        Register::R14 => dwarf::Register(14),
        Register::R15 => dwarf::Register(15),
        _ => return None,
    })
}

impl State {
    fn new() -> Self {
        State {
            sp: place(number::RSP),
            bp: Some(place(number::RBP)),
            saved: Vec::new(),
        }
    }

    /// Applies an instruction; `false` if the stack pointer becomes unknown.
    fn pass(&mut self, instruction: &Instruction, effects: &mut InstructionInfoFactory) -> bool {
        // A call pops what it has pushed.
        if is_call(instruction) {
            return true;
        }
        match (instruction.code(), instruction.op0_register()) {
            (Code::Leaveq, _) => {
                let Some(bp) = self.bp else { return false };
                self.restore(Register::RBP, bp);
                self.sp = moved(bp, 8);
                return true;
            }
            (Code::Pop_r64, register) => {
                self.restore(register, self.sp);
                self.sp = moved(self.sp, 8);
                return register != Register::RSP;
            }
            (Code::Mov_r64_rm64 | Code::Mov_rm64_r64, Register::RSP) => {
                let from_bp = instruction.op1_kind() == OpKind::Register
                    && instruction.op1_register() == Register::RBP;
                return self.set_sp(self.bp.filter(|_| from_bp));
            }
            (Code::Mov_r64_rm64 | Code::Mov_rm64_r64, Register::RBP)
                if instruction.op1_kind() == OpKind::Register
                    && instruction.op1_register() == Register::RSP =>
            {
                self.bp = Some(self.sp);
                return true;
            }
            (Code::Lea_r64_m, Register::RSP) => return self.set_sp(self.address(instruction)),
            (Code::Lea_r64_m, Register::RBP) => {
                self.bp = self.address(instruction);
                return true;
            }
            (Code::Add_rm64_imm8 | Code::Add_rm64_imm32, Register::RSP) => {
                self.sp = moved(self.sp, instruction.immediate(1) as i64);
                return true;
            }
            (Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32, Register::RSP) => {
                let by = (instruction.immediate(1) as i64).wrapping_neg();
                self.sp = moved(self.sp, by);
                return true;
            }
            _ => {}
        }
        if instruction.is_stack_instruction() {
            let by = i64::from(instruction.stack_pointer_increment());
            self.sp = moved(self.sp, by);
            return true;
        }
        for used in effects.info(instruction).used_registers() {
            let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            match used.register().full_register() {
                Register::RSP if writes => return false,
                Register::RBP if writes => self.bp = None,
                _ => {}
            }
        }
        true
    }

    fn set_sp(&mut self, sp: Option<RegisterOffset>) -> bool {
        if let Some(sp) = sp {
            self.sp = sp;
        }
        sp.is_some()
    }

    /// Returns the operand of `lea` if it is a stack address.
    fn address(&self, instruction: &Instruction) -> Option<RegisterOffset> {
        let base = match instruction.memory_base() {
            Register::RSP => self.sp,
            Register::RBP => self.bp?,
            _ => return None,
        };
        let offset = instruction.memory_displacement64() as i64;
        (instruction.memory_index() == Register::None).then(|| moved(base, offset))
    }

    /// Records that a register is restored from the stack.
    fn restore(&mut self, register: Register, from: RegisterOffset) {
        if register == Register::RBP {
            self.bp = None;
        }
        let Some(register) = preserved(register) else {
            return;
        };
        // A register that is pushed only later still has its value.
        if from.register != number::RSP || from.offset >= 0 {
            self.saved.retain(|(saved, _)| *saved != register);
            self.saved.push((register, from));
        }
    }
}
