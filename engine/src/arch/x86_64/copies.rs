//! What instructions copy: moves between registers and memory, of all widths, also of vectors and strings.

use super::super::RegisterFile;
use super::super::copies::{Copying, Held, Holder};
use super::Decoded;
use super::decode::{dwarf_register, is_call, register_value};
use dwarf::register::x86_64::{FS_BASE, GS_BASE, RAX, RBP, RDI, RFLAGS, RSI};
use dwarf::{LoadAddr, Register};
use iced_x86::{
    ConditionCode, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register as Named,
};

/// The DWARF number of xmm0; those of xmm0 to xmm15 follow each other (psABI, figure 3.36).
const XMM: u16 = 17;
/// The DWARF number of xmm16.
const XMM_16: u16 = 67;

/// A register, or a part of one: its number, the first byte, and the size in bytes.
fn part(named: Named) -> Option<(Register, u64, u64)> {
    let size = named.size() as u64;
    if named.is_gpr() {
        let from = matches!(named, Named::AH | Named::BH | Named::CH | Named::DH);
        return Some((dwarf_register(named)?, from.into(), size));
    }
    if !named.is_vector_register() {
        return None;
    }
    let number = u16::try_from(named.number()).ok()?;
    let number = match number {
        0..16 => XMM + number,
        _ => XMM_16 + number - 16,
    };
    Some((Register(number), 0, size))
}

/// Returns whether an instruction may set a register, or a part of it. What a call sets is not its own.
pub fn sets(code: &Decoded, register: Register) -> bool {
    let writes = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    if code.mnemonic() == Mnemonic::Syscall && register == RAX {
        return true;
    }
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(code).used_registers().iter();
    let mut written = used.filter(|it| writes(it.access()));
    written.any(|it| part(it.register()).is_some_and(|it| it.0 == register))
}

/// Returns the address of its memory operand.
fn address(code: &Decoded, registers: &impl RegisterFile) -> Option<u64> {
    let operand = (0..code.op_count()).find(|it| code.op_kind(*it) == OpKind::Memory)?;
    code.virtual_address(operand, 0, |register, _, _| match register {
        Named::FS => registers.get(FS_BASE),
        Named::GS => registers.get(GS_BASE),
        register if register.is_segment_register() => Some(0),
        register => register_value(register, registers),
    })
}

/// Returns the bytes of a source that wanted ones come from, which begin `offset` bytes behind its begin. `size`:
/// of the source.
fn of_source(wanted: Held, offset: i128, size: u64, source: impl Fn(u64, u64) -> Held) -> Copying {
    let (first, behind) = (
        offset.max(0),
        (offset + i128::from(wanted.size)).min(size.into()),
    );
    if first >= behind {
        return Copying::Untouched;
    }
    Copying::Copied {
        from: source(first as u64, (behind - first) as u64),
        at: (first - offset) as u64,
    }
}

/// Returns where bytes of memory were before an instruction that has just stored there, by the registers behind
/// it.
pub fn stored(code: &Decoded, wanted: Held, behind: &impl RegisterFile) -> Copying {
    let Holder::Memory(addr) = wanted.holder else {
        return Copying::Untouched;
    };
    stored_at(code, wanted, addr, behind).unwrap_or(Copying::Computed)
}

fn stored_at(
    code: &Decoded,
    wanted: Held,
    addr: LoadAddr,
    behind: &impl RegisterFile,
) -> Option<Copying> {
    if code.is_string_instruction() {
        return stored_string(code, wanted, addr, behind);
    }
    // What is below the top of the stack before it, it has pushed.
    let (at, source) = match code.mnemonic() {
        Mnemonic::Push => (behind.sp(), 0),
        _ if code.op0_kind() == OpKind::Memory => (address(code, behind)?, 1),
        _ => return None,
    };
    let size = match code.mnemonic() {
        Mnemonic::Push => 8,
        _ => code.memory_size().size() as u64,
    };
    let offset = i128::from(addr.0) - i128::from(at);
    if source == 0 {
        return match code.op0_kind() {
            OpKind::Register if code.op0_register() != Named::RSP => {
                let (register, from, size) = part(code.op0_register())?;
                let held = |first, size| Held::register(register, from + first, size);
                Some(of_source(wanted, offset, size, held))
            }
            _ => None,
        };
    }
    // A mask leaves elements out.
    let is_masked = code.has_op_mask();
    if is_masked || !is_move(code.mnemonic()) || code.op1_kind() != OpKind::Register {
        return None;
    }
    let (register, first_of_part, _) = part(code.op1_register())?;
    let skipped = match code.mnemonic() {
        Mnemonic::Movhps | Mnemonic::Movhpd | Mnemonic::Vmovhps | Mnemonic::Vmovhpd => 8,
        Mnemonic::Vextracti128 | Mnemonic::Vextractf128 => u64::from(code.immediate8() & 1) * 16,
        _ => first_of_part,
    };
    let held = |first, size| Held::register(register, skipped + first, size);
    Some(of_source(wanted, offset, size, held))
}

/// Of `movs`, which copies from memory, and `stos`, whose repetitions keep the distance of both addresses.
fn stored_string(
    code: &Decoded,
    wanted: Held,
    addr: LoadAddr,
    behind: &impl RegisterFile,
) -> Option<Copying> {
    let has_other_segment = matches!(code.segment_prefix(), Named::FS | Named::GS);
    let to = behind.get(RDI)?;
    match code.mnemonic() {
        Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq
            if !has_other_segment =>
        {
            let distance = to.wrapping_sub(behind.get(RSI)?);
            Some(Copying::Copied {
                from: Held::memory(addr.0.wrapping_sub(distance), wanted.size),
                at: 0,
            })
        }
        Mnemonic::Stosb | Mnemonic::Stosw | Mnemonic::Stosd | Mnemonic::Stosq => {
            let size = code.memory_size().size() as u64;
            let first = addr.0.wrapping_sub(to) % size;
            let fits = first + wanted.size <= size;
            fits.then(|| Copying::Copied {
                from: Held::register(RAX, first, wanted.size),
                at: 0,
            })
        }
        _ => None,
    }
}

/// Returns whether it copies its second operand, as it is, to its first one, or to a part of that.
fn is_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Mov
            | M::Movnti
            | M::Movd
            | M::Movq
            | M::Movss
            | M::Movsd
            | M::Movaps
            | M::Movups
            | M::Movapd
            | M::Movupd
            | M::Movdqa
            | M::Movdqu
            | M::Lddqu
            | M::Movntdq
            | M::Movntdqa
            | M::Movntps
            | M::Movntpd
            | M::Movlps
            | M::Movlpd
            | M::Movhps
            | M::Movhpd
            | M::Vmovd
            | M::Vmovq
            | M::Vmovss
            | M::Vmovsd
            | M::Vmovaps
            | M::Vmovups
            | M::Vmovapd
            | M::Vmovupd
            | M::Vmovdqa
            | M::Vmovdqu
            | M::Vlddqu
            | M::Vmovntdq
            | M::Vmovntdqa
            | M::Vmovntps
            | M::Vmovntpd
            | M::Vmovlps
            | M::Vmovlpd
            | M::Vmovhps
            | M::Vmovhpd
            | M::Vmovdqa32
            | M::Vmovdqa64
            | M::Vmovdqu8
            | M::Vmovdqu16
            | M::Vmovdqu32
            | M::Vmovdqu64
            | M::Vextracti128
            | M::Vextractf128
    )
}

/// Returns where bytes of a register were before an instruction, by the registers before it.
pub fn loaded(code: &Decoded, wanted: Held, before: &impl RegisterFile) -> Copying {
    let Holder::Register(register, from) = wanted.holder else {
        return Copying::Untouched;
    };
    if !sets(code, register) {
        return Copying::Untouched;
    }
    let copied = match is_call(code) || code.has_op_mask() {
        true => None,
        false => loaded_from(code, wanted, register, from, before),
    };
    copied.unwrap_or(Copying::Computed)
}

fn loaded_from(
    code: &Decoded,
    wanted: Held,
    register: Register,
    from: u64,
    before: &impl RegisterFile,
) -> Option<Copying> {
    let is_repeated = code.has_rep_prefix() || code.has_repne_prefix();
    let in_memory = |at: u64, size| {
        let held = |first: u64, size| Held::memory(at.wrapping_add(first), size);
        extended(wanted, from, size, held)
    };
    let is_wanted = |operand| part(code.op_register(operand)).is_some_and(|it| it.0 == register);
    match code.mnemonic() {
        // Other registers are those that it reads its address from.
        Mnemonic::Pop if code.op0_kind() == OpKind::Register && is_wanted(0) => {
            Some(in_memory(before.sp(), 8))
        }
        Mnemonic::Leave if register == RBP => Some(in_memory(before.get(RBP)?, 8)),
        Mnemonic::Lodsb | Mnemonic::Lodsw | Mnemonic::Lodsd | Mnemonic::Lodsq
            if register == RAX && !is_repeated =>
        {
            Some(in_memory(
                before.get(RSI)?,
                code.memory_size().size() as u64,
            ))
        }
        Mnemonic::Xchg if code.op1_kind() == OpKind::Register => {
            let other = u32::from(is_wanted(0));
            match code.op_kind(other) {
                OpKind::Register => {
                    let (other, first, size) = part(code.op_register(other))?;
                    let held = |at, size| Held::register(other, first + at, size);
                    Some(extended(wanted, from, size, held))
                }
                _ => Some(in_memory(
                    address(code, before)?,
                    code.memory_size().size() as u64,
                )),
            }
        }
        Mnemonic::Cwde | Mnemonic::Cdqe => {
            let size = if code.mnemonic() == Mnemonic::Cwde {
                2
            } else {
                4
            };
            let held = |first, size| Held::register(RAX, first, size);
            Some(extended(wanted, from, size, held))
        }
        Mnemonic::Vzeroupper => (from + wanted.size <= 16).then_some(Copying::Untouched),
        _ if !is_wanted(0) => None,
        mnemonic => match pieces(code, mnemonic) {
            Some(pieces) => from_piece(code, &pieces, wanted, from, before),
            None => assigned(code, mnemonic, wanted, from, before),
        },
    }
}

/// Of bytes that a source is extended to, `from` bytes behind its begin: those of the source. What is only behind
/// it is computed.
fn extended(wanted: Held, from: u64, size: u64, source: impl Fn(u64, u64) -> Held) -> Copying {
    match size.checked_sub(from).filter(|left| *left > 0) {
        Some(left) => Copying::Copied {
            from: source(from, left.min(wanted.size)),
            at: 0,
        },
        None => Copying::Computed,
    }
}

/// Of an instruction that sets its first operand to the second one, perhaps extended, perhaps on a condition.
fn assigned(
    code: &Decoded,
    mnemonic: Mnemonic,
    wanted: Held,
    from: u64,
    before: &impl RegisterFile,
) -> Option<Copying> {
    let (_, first, size) = part(code.op0_register())?;
    let is_conditional = is_conditional_move(mnemonic);
    let extends = matches!(
        mnemonic,
        Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
    );
    if !(is_move(mnemonic) || is_conditional || extends) || code.op_count() != 2 {
        return None;
    }
    // Parts of 8 and 16 bits leave the rest as it is; all others extend to the whole register.
    if size < 4 {
        if from + wanted.size <= first || from >= first + size {
            return Some(Copying::Untouched);
        }
        if from < first || from + wanted.size > first + size {
            return None;
        }
    }
    if is_conditional && !holds(code.condition_code(), before.get(RFLAGS)?) {
        let is_kept = size != 4 || from + wanted.size <= 4;
        return is_kept.then_some(Copying::Untouched);
    }
    let offset = from - first;
    match code.op1_kind() {
        OpKind::Register => {
            let (register, skipped, size) = part(code.op1_register())?;
            let size = match mnemonic {
                Mnemonic::Movd | Mnemonic::Vmovd => size.min(4),
                Mnemonic::Movq | Mnemonic::Vmovq => size.min(8),
                _ => size,
            };
            let held = |first, size| Held::register(register, skipped + first, size);
            Some(extended(wanted, offset, size, held))
        }
        OpKind::Memory => {
            let at = address(code, before)?;
            let size = code.memory_size().size() as u64;
            let held = |first: u64, size| Held::memory(at.wrapping_add(first), size);
            Some(extended(wanted, offset, size, held))
        }
        _ => None,
    }
}

/// A part of a vector register behind an instruction: where it was in an operand before.
#[derive(Clone, Copy)]
struct Piece {
    /// Its first byte in the register.
    at: u64,
    len: u64,
    operand: u32,
    /// Its first byte in the operand.
    first: u64,
}

/// Returns the pieces that an instruction makes a vector register of; `None`: of one, or of other ones.
fn pieces(code: &Decoded, mnemonic: Mnemonic) -> Option<Vec<Piece>> {
    use Mnemonic as M;
    let count = code.op_count();
    let piece = |at, len, operand, first| Piece {
        at,
        len,
        operand,
        first,
    };
    // Without an operand of its own for what it keeps, it keeps that of the register.
    let (kept, other) = if count >= 3 { (1, 2) } else { (0, 1) };
    let of_registers = code.op_kind(count.saturating_sub(1)) == OpKind::Register;
    let pieces = match mnemonic {
        M::Movss if of_registers => vec![piece(0, 4, 1, 0), piece(4, 12, 0, 4)],
        M::Movsd if of_registers => vec![piece(0, 8, 1, 0), piece(8, 8, 0, 8)],
        M::Vmovss if count == 3 => vec![piece(0, 4, 2, 0), piece(4, 12, 1, 4)],
        M::Vmovsd if count == 3 => vec![piece(0, 8, 2, 0), piece(8, 8, 1, 8)],
        M::Movlps | M::Movlpd | M::Vmovlps | M::Vmovlpd => {
            vec![piece(0, 8, other, 0), piece(8, 8, kept, 8)]
        }
        M::Movhps
        | M::Movhpd
        | M::Vmovhps
        | M::Vmovhpd
        | M::Movlhps
        | M::Vmovlhps
        | M::Punpcklqdq
        | M::Vpunpcklqdq
        | M::Unpcklpd
        | M::Vunpcklpd => {
            vec![piece(0, 8, kept, 0), piece(8, 8, other, 0)]
        }
        M::Punpckldq | M::Vpunpckldq | M::Unpcklps | M::Vunpcklps => vec![
            piece(0, 4, kept, 0),
            piece(4, 4, other, 0),
            piece(8, 4, kept, 4),
            piece(12, 4, other, 4),
        ],
        M::Pinsrd | M::Vpinsrd | M::Pinsrq | M::Vpinsrq => {
            let len = match mnemonic {
                M::Pinsrd | M::Vpinsrd => 4,
                _ => 8,
            };
            let (kept, other) = if count == 4 { (1, 2) } else { (0, 1) };
            let at = u64::from(code.immediate8()) * len % 16;
            vec![
                piece(at, len, other, 0),
                piece(0, at, kept, 0),
                piece(at + len, 16 - at - len, kept, at + len),
            ]
        }
        M::Vinserti128 | M::Vinsertf128 => {
            let at = u64::from(code.immediate8() & 1) * 16;
            vec![piece(at, 16, 2, 0), piece(16 - at, 16, 1, 16 - at)]
        }
        _ => return None,
    };
    Some(pieces)
}

fn from_piece(
    code: &Decoded,
    pieces: &[Piece],
    wanted: Held,
    from: u64,
    before: &impl RegisterFile,
) -> Option<Copying> {
    let mut pieces = pieces.iter();
    let piece = pieces.find(|it| (it.at..it.at + it.len).contains(&from))?;
    let size = wanted.size.min(piece.at + piece.len - from);
    let first = piece.first + (from - piece.at);
    if piece.operand == 0 && first == from && size == wanted.size {
        return Some(Copying::Untouched);
    }
    let from = match code.op_kind(piece.operand) {
        OpKind::Register => {
            let (register, skipped, _) = part(code.op_register(piece.operand))?;
            Held::register(register, skipped + first, size)
        }
        OpKind::Memory => Held::memory(address(code, before)?.wrapping_add(first), size),
        _ => return None,
    };
    Some(Copying::Copied { from, at: 0 })
}

fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Cmova
            | M::Cmovae
            | M::Cmovb
            | M::Cmovbe
            | M::Cmove
            | M::Cmovg
            | M::Cmovge
            | M::Cmovl
            | M::Cmovle
            | M::Cmovne
            | M::Cmovno
            | M::Cmovnp
            | M::Cmovns
            | M::Cmovo
            | M::Cmovp
            | M::Cmovs
    )
}

/// Returns whether a condition holds by `rflags` (Intel SDM vol. 1, appendix B).
fn holds(condition: ConditionCode, flags: u64) -> bool {
    let flag = |bit: u32| flags >> bit & 1 != 0;
    let (carry, parity, zero, sign, overflow) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    match condition {
        ConditionCode::None => true,
        ConditionCode::o => overflow,
        ConditionCode::no => !overflow,
        ConditionCode::b => carry,
        ConditionCode::ae => !carry,
        ConditionCode::e => zero,
        ConditionCode::ne => !zero,
        ConditionCode::be => carry || zero,
        ConditionCode::a => !carry && !zero,
        ConditionCode::s => sign,
        ConditionCode::ns => !sign,
        ConditionCode::p => parity,
        ConditionCode::np => !parity,
        ConditionCode::l => sign != overflow,
        ConditionCode::ge => sign == overflow,
        ConditionCode::le => zero || sign != overflow,
        ConditionCode::g => !zero && sign == overflow,
    }
}

#[cfg(test)]
mod tests;
