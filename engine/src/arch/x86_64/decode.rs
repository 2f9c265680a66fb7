//! Decoding, and what the layers above ask of an instruction.

use super::super::instruction::{Code as SetCode, Flow, Instruction, TargetSource};
use super::super::{Arch, RegisterFile, Undecodable};
use super::own;
use dwarf::{LoadAddr, Memory, Register};
use iced_x86::{Code, DecoderOptions, FlowControl, Instruction as Decoded, Mnemonic, OpKind};

/// Decodes the instruction at `addr`, which may be invalid.
pub(crate) fn decoded(bytes: &[u8], addr: LoadAddr) -> Decoded {
    iced_x86::Decoder::with_ip(64, bytes, addr.0, DecoderOptions::NONE).decode()
}

/// Reads and decodes the instruction at `addr`.
pub fn read(memory: &dyn Memory, addr: LoadAddr) -> Option<Decoded> {
    let instruction = Arch::X86_64.read(memory, addr)?;
    own(&instruction).copied()
}

/// Decodes one instruction; `None` if the bytes are none.
pub fn decode(bytes: &[u8], addr: LoadAddr) -> Option<Instruction> {
    instruction(decoded(bytes, addr)).ok()
}

/// Decodes parts of code in any order.
pub struct Decoder<'a> {
    decoder: iced_x86::Decoder<'a>,
    start: LoadAddr,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8], start: LoadAddr) -> Self {
        Self {
            decoder: iced_x86::Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE),
            start,
        }
    }

    pub fn at(&mut self, offset: usize) -> Option<Result<Instruction, Undecodable>> {
        self.decoder.set_position(offset).ok()?;
        if !self.decoder.can_decode() {
            return None;
        }
        self.decoder
            .set_ip(self.start.0.wrapping_add(offset as u64));
        Some(instruction(self.decoder.decode()))
    }
}

fn instruction(code: Decoded) -> Result<Instruction, Undecodable> {
    let (addr, len) = (LoadAddr(code.ip()), code.len());
    match code.is_invalid() {
        true => Err(Undecodable { addr, len }),
        false => Ok(Instruction::new(
            addr,
            len,
            flow(&code),
            SetCode::X86_64(code),
        )),
    }
}

fn flow(code: &Decoded) -> Flow {
    let near = || {
        let is_near = code.op0_kind() == OpKind::NearBranch64;
        is_near.then(|| LoadAddr(code.near_branch64()))
    };
    match code.flow_control() {
        FlowControl::Next => Flow::Next,
        FlowControl::UnconditionalBranch => match near() {
            Some(target) => Flow::Jump(target),
            None => Flow::IndirectJump(TargetSource::Computed),
        },
        FlowControl::ConditionalBranch => match near() {
            Some(target) => Flow::ConditionalJump(target),
            None => Flow::IndirectJump(TargetSource::Computed),
        },
        FlowControl::IndirectBranch => Flow::IndirectJump(target_source(code)),
        FlowControl::IndirectCall => Flow::IndirectCall(target_source(code)),
        FlowControl::Call => match near() {
            Some(target) => Flow::Call(target),
            None => Flow::SystemCall,
        },
        FlowControl::Return => Flow::Return,
        FlowControl::Interrupt => Flow::Interrupt,
        FlowControl::XbeginXabortXend => Flow::Transaction(near()),
        FlowControl::Exception => Flow::Fault,
    }
}

fn target_source(code: &Decoded) -> TargetSource {
    if code.op0_kind() != OpKind::Memory {
        return TargetSource::Computed;
    }
    match code.memory_index() {
        _ if code.is_ip_rel_memory_operand() => {
            TargetSource::Word(LoadAddr(code.ip_rel_memory_address()))
        }
        iced_x86::Register::None => TargetSource::Object,
        _ => TargetSource::Computed,
    }
}

/// Returns whether it does nothing but restore the stack pointer, or a register that calls preserve.
pub fn releases_frame(code: &Decoded) -> bool {
    use iced_x86::Register as R;
    let (first, second) = (code.op0_register(), code.op1_register());
    match code.mnemonic() {
        Mnemonic::Pop => matches!(first, R::RBX | R::RBP | R::R12 | R::R13 | R::R14 | R::R15),
        Mnemonic::Add => first == R::RSP && code.op1_kind() != OpKind::Register,
        Mnemonic::Lea => first == R::RSP,
        Mnemonic::Mov => first == R::RSP && second == R::RBP,
        Mnemonic::Leave => true,
        _ => false,
    }
}

/// Returns whether it is a call, which pushes a return address.
pub fn is_call(code: &Decoded) -> bool {
    matches!(
        code.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    ) && !matches!(code.code(), Code::Syscall | Code::Sysenter)
}

/// Returns the target of an indirect branch or call.
pub fn target(
    code: &Decoded,
    registers: &impl RegisterFile,
    memory: &dyn Memory,
) -> Option<LoadAddr> {
    let target = match code.op0_kind() {
        OpKind::Register => register_value(code.op0_register(), registers)?,
        OpKind::Memory => {
            let addr = code.virtual_address(0, 0, |register, _, _| {
                if register.is_segment_register() {
                    return match register {
                        iced_x86::Register::FS => registers.get(dwarf::register::x86_64::FS_BASE),
                        iced_x86::Register::GS => registers.get(dwarf::register::x86_64::GS_BASE),
                        _ => Some(0),
                    };
                }
                register_value(register, registers)
            })?;
            memory.read_uint(LoadAddr(addr), 8).ok()?
        }
        _ => return None,
    };
    Some(LoadAddr(target))
}

/// Returns the DWARF number of a general-purpose register, or of a part of one.
pub fn dwarf_register(register: iced_x86::Register) -> Option<Register> {
    use iced_x86::Register as R;
    Some(Register(match register.full_register() {
        R::RAX => 0,
        R::RDX => 1,
        R::RCX => 2,
        R::RBX => 3,
        R::RSI => 4,
        R::RDI => 5,
        R::RBP => 6,
        R::RSP => 7,
        R::R8 => 8,
        R::R9 => 9,
        R::R10 => 10,
        R::R11 => 11,
        R::R12 => 12,
        R::R13 => 13,
        R::R14 => 14,
        R::R15 => 15,
        R::RIP => 16,
        _ => return None,
    }))
}

/// Returns a general-purpose register's value by iced's name.
pub fn register_value(register: iced_x86::Register, registers: &impl RegisterFile) -> Option<u64> {
    let value = registers.get(dwarf_register(register)?)?;
    Some(match register.size() {
        4 => value & 0xffff_ffff,
        2 => value & 0xffff,
        _ => value,
    })
}

/// Returns whether it writes a word below the stack pointer and moves that there: a push or a call.
pub fn pushes(code: &Decoded) -> bool {
    code.stack_pointer_increment() < 0
}

/// Returns whether a single step executes the whole instruction, promptly, and with the same
/// effect.
pub fn can_be_stepped(code: &Decoded) -> bool {
    let repeats = code.has_rep_prefix() || code.has_repne_prefix();
    let is_long = repeats && code.is_string_instruction();
    // System calls may block; `pushf` would push the trap flag of the step, and Linux takes that flag for the
    // program's own in a step behind `popf`.
    let is_special = matches!(
        code.mnemonic(),
        Mnemonic::Syscall
            | Mnemonic::Sysenter
            | Mnemonic::Hlt
            | Mnemonic::Pushf
            | Mnemonic::Pushfd
            | Mnemonic::Pushfq
            | Mnemonic::Popf
            | Mnemonic::Popfd
            | Mnemonic::Popfq
    );
    !is_long && !is_special && code.flow_control() != FlowControl::Interrupt
}

/// Returns whether it may write to its first operand, in memory.
pub fn may_store(code: &Decoded) -> bool {
    code.op0_kind() == OpKind::Memory && code.mnemonic() != Mnemonic::Cmp
}

/// Returns false: Linux does not enforce `endbr64` in programs.
pub fn must_stay_in_place(_: &Decoded) -> bool {
    false
}

/// Returns whether it is `ud2`.
pub fn is_compiler_trap(code: &Decoded) -> bool {
    code.mnemonic() == Mnemonic::Ud2
}

/// There is no state by which the processor refuses an instruction.
pub fn refusal(_: &Decoded, _: &impl RegisterFile) -> Option<&'static str> {
    None
}

/// Pointers have no tags.
pub const fn untagged(pointer: u64) -> u64 {
    pointer
}

/// Returns the address of a memory operand that is relative to the pc.
pub fn operand_near_pc(code: &Decoded) -> Option<LoadAddr> {
    code.is_ip_rel_memory_operand()
        .then(|| LoadAddr(code.ip_rel_memory_address()))
}

/// Returns its mnemonic in lower case.
pub fn mnemonic(code: &Decoded) -> String {
    format!("{:?}", code.mnemonic()).to_lowercase()
}
