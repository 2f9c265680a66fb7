//! Where a frame keeps its return address, read from the instructions that lie ahead of it: for
//! code that comes without call frame information, and also without symbols.
//!
//! From where execution is, each way to a `ret` takes off the stack what the function put there,
//! so the effects of those instructions on `rsp` tell how far away the return address is, and
//! their pops where the caller's registers are. The start of the function need not be known. Where
//! it is, the instructions that lead from there say the same, also in functions that align the
//! stack or never return.

use crate::arch::x86_64::{LONGEST, decode, is_call};
use dwarf::{
    CfaPlace, FileAddr, LoadAddr, Module, StackPlace, WayBack, register::x86_64 as number,
};
use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A function of which more has to be read is none of those that lack information.
const MOST_INSTRUCTIONS: usize = 2048;
/// Ways that say different things; more are noise.
const MOST_WAYS: usize = 4;

/// What is known of the machine at a place ahead, in terms of the registers as they are now.
#[derive(Clone)]
struct State {
    sp: StackPlace,
    bp: Option<StackPlace>,
    saved: Vec<(dwarf::Register, StackPlace)>,
}

/// What leads to `addr` from its function's start, where that is known, then the ways from there
/// to a return, the shortest first. `is_return`: execution comes back to `addr` from a call.
pub(crate) fn ways_back(module: &Module, addr: FileAddr, is_return: bool) -> Vec<WayBack> {
    let start = State::new();
    let symbol = if is_return { addr - 1 } else { addr };
    let mut ways: Vec<WayBack> = from_start(module, symbol, addr).into_iter().collect();
    let mut todo = VecDeque::from([(addr.0, start)]);
    let mut seen = FxHashSet::default();
    let mut effects = InstructionInfoFactory::new();
    while let Some((ip, mut state)) = todo.pop_front() {
        if ways.len() >= MOST_WAYS || seen.len() >= MOST_INSTRUCTIONS {
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
            // The stub of an imported function: that one will return.
            FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                leave(&mut ways, state);
                continue;
            }
            _ => {}
        }
        // Of another function as well: that one leaves the stack as it found it.
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

/// A way through a function from its start.
#[derive(Clone)]
struct Walk {
    state: State,
    /// The stack was aligned: `rsp` alone leads nowhere any more.
    aligned: bool,
    /// What a function that aligns its stack keeps in `r10`: so far from `rsp` at the start.
    kept: Option<i64>,
    /// Where it has saved that, from its frame pointer on; and `rsp`, while that is tracked.
    kept_at: Option<i64>,
    sp_from_bp: Option<i64>,
}

/// Walks from the start of the function that holds `symbol` to `addr`.
fn from_start(module: &Module, symbol: FileAddr, addr: FileAddr) -> Option<WayBack> {
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
        if seen.len() >= MOST_INSTRUCTIONS || !inside.contains(&ip) || !seen.insert(ip) {
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

    fn way_back(&self) -> Option<WayBack> {
        // `rbp` in terms of `rsp` at the start: then it is a frame pointer.
        let bp = self.state.bp.filter(|bp| bp.register == number::RSP);
        let from = match (bp, self.kept, self.kept_at) {
            _ if !self.aligned => self.state.sp,
            (Some(bp), ..) => StackPlace {
                register: number::RBP,
                ..bp
            },
            (_, Some(kept), None) => StackPlace {
                register: dwarf::Register(10),
                offset: kept,
            },
            // The frame pointer is the caller's, saved behind the frame's own.
            (_, Some(8), Some(at)) => {
                return Some(WayBack {
                    cfa: CfaPlace::SavedAt(StackPlace {
                        register: number::RBP,
                        offset: at,
                    }),
                    saved: vec![(number::RBP, place(number::RBP))],
                });
            }
            _ => return None,
        };
        // All is told from `rsp` at the start; it has to be told from what there is now.
        let now = |place: StackPlace| StackPlace {
            register: from.register,
            offset: place.offset.wrapping_sub(from.offset),
        };
        let saved = self.state.saved.iter();
        Some(WayBack {
            cfa: CfaPlace::At(moved(now(place(number::RSP)), 8)),
            saved: saved.map(|(saved, at)| (*saved, now(*at))).collect(),
        })
    }
}

/// Where execution goes on after an instruction, in the same function or by a jump.
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

fn place(register: dwarf::Register) -> StackPlace {
    StackPlace {
        register,
        offset: 0,
    }
}

fn leave(ways: &mut Vec<WayBack>, state: State) {
    let way = WayBack {
        cfa: CfaPlace::At(moved(state.sp, 8)),
        saved: state.saved,
    };
    if ways.iter().all(|other| other.cfa != way.cfa) {
        ways.push(way);
    }
}

fn moved(place: StackPlace, by: i64) -> StackPlace {
    StackPlace {
        offset: place.offset.wrapping_add(by),
        ..place
    }
}

fn instruction_at(module: &Module, addr: FileAddr) -> Option<Instruction> {
    let mut bytes = [0; LONGEST];
    // Near the end of a segment fewer bytes are there.
    let len = (1..=LONGEST)
        .rev()
        .find(|len| module.read_image(addr, &mut bytes[..*len]).is_some())?;
    let instruction = decode(&bytes[..len], LoadAddr(addr.0));
    (!instruction.is_invalid()).then_some(instruction)
}

/// The number of a register that calls preserve.
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

    /// Applies an instruction; `false` where the stack pointer is lost.
    fn pass(&mut self, instruction: &Instruction, effects: &mut InstructionInfoFactory) -> bool {
        // A call gives back what it took.
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

    fn set_sp(&mut self, sp: Option<StackPlace>) -> bool {
        if let Some(sp) = sp {
            self.sp = sp;
        }
        sp.is_some()
    }

    /// The address that an operand of `lea` says, if it is one of the stack.
    fn address(&self, instruction: &Instruction) -> Option<StackPlace> {
        let base = match instruction.memory_base() {
            Register::RSP => self.sp,
            Register::RBP => self.bp?,
            _ => return None,
        };
        let offset = instruction.memory_displacement64() as i64;
        (instruction.memory_index() == Register::None).then(|| moved(base, offset))
    }

    /// A register gets its caller's value from the stack.
    fn restore(&mut self, register: Register, from: StackPlace) {
        if register == Register::RBP {
            self.bp = None;
        }
        let Some(register) = preserved(register) else {
            return;
        };
        // What is not pushed yet, the register still has.
        if from.register != number::RSP || from.offset >= 0 {
            self.saved.retain(|(saved, _)| *saved != register);
            self.saved.push((register, from));
        }
    }
}
