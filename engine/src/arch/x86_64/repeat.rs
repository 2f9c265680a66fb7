//! String instructions that repeat. A trap in front of one is executed once, and not for each repetition.

use super::super::RegisterFile;
use super::Decoded;
use dwarf::Register;
use dwarf::register::x86_64::RFLAGS;
use iced_x86::{Mnemonic, OpKind};

/// The register that counts the repetitions that are left.
pub const COUNT: Register = Register(2);
const ACCUMULATOR: Register = Register(0);
const SOURCE: Register = Register(4);
const DESTINATION: Register = Register(5);
const ZERO: u64 = 1 << 6;
const BACKWARD: u64 = 1 << 10;

/// Returns whether it is repeated, by `rcx`. One with addresses of 32 bits is not named so.
pub fn is_repeated(code: &Decoded) -> bool {
    let repeats = code.has_rep_prefix() || code.has_repne_prefix();
    let mut operands = code.op_kinds();
    let is_wide = operands.any(|kind| matches!(kind, OpKind::MemoryESRDI | OpKind::MemorySegRSI));
    repeats && code.is_string_instruction() && is_wide
}

/// Returns whether flags end the repetitions, too.
pub fn compares(code: &Decoded) -> bool {
    matches!(
        code.mnemonic(),
        Mnemonic::Cmpsb
            | Mnemonic::Cmpsw
            | Mnemonic::Cmpsd
            | Mnemonic::Cmpsq
            | Mnemonic::Scasb
            | Mnemonic::Scasw
            | Mnemonic::Scasd
            | Mnemonic::Scasq
    )
}

/// Returns how many repetitions may lead from registers at an instruction to others at it; `None`: they
/// cannot, or it is not repeated.
pub fn repetitions<R: RegisterFile>(code: &Decoded, from: &R, to: &R) -> Option<u64> {
    let count = from.get(COUNT)?.checked_sub(to.get(COUNT)?)?;
    if count == 0 || !is_repeated(code) {
        return None;
    }
    let size = code.memory_size().size() as u64;
    let is_backward = from.get(RFLAGS)? & BACKWARD != 0;
    let distance = count.wrapping_mul(size);
    let mut reached = *from;
    reached.set(COUNT, to.get(COUNT)?);
    for (register, kind) in [
        (SOURCE, OpKind::MemorySegRSI),
        (DESTINATION, OpKind::MemoryESRDI),
    ] {
        if code.op_kinds().any(|it| it == kind) {
            let before = from.get(register)?;
            let behind = match is_backward {
                true => before.wrapping_sub(distance),
                false => before.wrapping_add(distance),
            };
            reached.set(register, behind);
        }
    }
    let is_load = code.op1_kind() == OpKind::MemorySegRSI && !compares(code);
    let mut all = (0..super::GENERAL_REGISTERS).map(Register);
    let is_same = all.all(|register| {
        let may_differ = register == ACCUMULATOR && is_load;
        may_differ || reached.get(register) == to.get(register)
    });
    is_same.then_some(count)
}

/// Returns whether flags have ended the repetitions, by the registers behind it.
pub fn has_ended(code: &Decoded, behind: &impl RegisterFile) -> bool {
    let is_zero = behind.get(RFLAGS).is_some_and(|flags| flags & ZERO != 0);
    compares(code) && is_zero == code.has_repne_prefix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use crate::arch::Instruction;
    use crate::os::RegisterSet;
    use dwarf::LoadAddr;

    const STOSQ: &[u8] = &[0xf3, 0x48, 0xab];
    const REPE_CMPSB: &[u8] = &[0xf3, 0xa6];
    const REPNE_SCASB: &[u8] = &[0xf2, 0xae];
    const LODSB: &[u8] = &[0xf3, 0xac];

    fn decoded(bytes: &[u8]) -> Instruction {
        let decoded = Arch::X86_64.decode(bytes, LoadAddr(0x1000));
        decoded.expect("an instruction")
    }

    fn registers(of: &[(Register, u64)]) -> RegisterSet {
        let mut all = RegisterSet::zeroed_of(Arch::X86_64);
        for (register, value) in of {
            all.set(*register, *value);
        }
        all
    }

    #[test]
    fn repetitions_are_counted_by_all_registers() {
        let of = |code: &[u8], from: &[(Register, u64)], to: &[(Register, u64)]| {
            decoded(code).repetitions(&registers(from), &registers(to))
        };
        let at = |count, destination| [(COUNT, count), (DESTINATION, destination)];
        assert_eq!(of(STOSQ, &at(40, 800), &at(37, 824)), Some(3));
        assert_eq!(of(STOSQ, &at(40, 800), &at(37, 816)), None, "other memory");
        assert_eq!(of(STOSQ, &at(37, 824), &at(40, 800)), None, "it is behind");
        assert_eq!(of(STOSQ, &at(40, 800), &at(40, 800)), None, "it is there");
        let back = |count, at| [(COUNT, count), (DESTINATION, at), (RFLAGS, BACKWARD)];
        assert_eq!(of(STOSQ, &back(40, 800), &back(37, 776)), Some(3));
        let loads =
            |count, source, loaded| [(COUNT, count), (SOURCE, source), (ACCUMULATOR, loaded)];
        assert_eq!(of(LODSB, &loads(9, 5, 1), &loads(5, 9, 2)), Some(4));
        let other = [(COUNT, 37), (DESTINATION, 824), (ACCUMULATOR, 1)];
        assert_eq!(of(STOSQ, &at(40, 800), &other), None, "other value");
        assert_eq!(of(&[0x48, 0xab], &at(40, 800), &at(37, 824)), None, "once");
        assert_eq!(of(&[0xf3, 0x90], &at(40, 800), &at(37, 800)), None, "pause");
    }

    #[test]
    fn comparisons_end_repetitions_by_the_zero_flag() {
        let zero = registers(&[(RFLAGS, ZERO)]);
        let other = registers(&[]);
        for (code, ends) in [
            (STOSQ, [false, false]),
            (REPE_CMPSB, [false, true]),
            (REPNE_SCASB, [true, false]),
        ] {
            let ended = [zero, other].map(|it| decoded(code).has_ended_repeating(&it));
            assert_eq!(ended, ends, "{code:x?}");
        }
    }
}
