//! AArch64: `arm_thread_state64_t`, `arm_neon_state64_t`, `arm_debug_state64_t`
//! (`mach/arm/_structs.h`), and the codes of `mach/arm/exception.h`.

use super::{DarwinAbi, StepBit, Trapped, VectorState};
use crate::arch::Arch;
use crate::arch::aarch64::watch::{hits, registers};
use crate::arch::watch::{MAX_SLOTS, Slot, Trigger};
use crate::os::TrapCause;
use crate::os::darwin::exception::Codes;
use crate::os::darwin::flavors::arm64::debug::{BCR, BVR, MDSCR_EL1, MDSCR_SS, WCR, WVR};
use crate::os::darwin::flavors::arm64::{DEBUG_STATE64, NEON_STATE64, THREAD_STATE64};
use crate::os::darwin::flavors::code::{ARM_BREAKPOINT, ARM_DA_DEBUG};
use crate::os::registers::{RegisterLayout, Word};
use dwarf::Register;
use dwarf::register::aarch64::{PC, PSTATE, SP, TPIDRRO};

/// x0 to x30, the stack pointer, the pc; then `cpsr`, whose other half are flags of the kernel; the address
/// of the thread's own data.
const WORDS: &[Word] = &{
    let mut words = [Word::System; 35];
    let mut number = 0;
    while number < 31 {
        words[number as usize] = Word::Register(Register(number));
        number += 1;
    }
    words[31] = Word::Register(SP);
    words[32] = Word::Register(PC);
    words[33] = Word::Register(PSTATE);
    words[34] = Word::Separate(TPIDRRO);
    words
};

/// Size of what Linux has of the vectors, in the same order: 32 of 16 bytes, `fpsr`, `fpcr`, padding.
const NEON_BYTES: usize = 528;
fn area(state: &[u8]) -> Option<Vec<u8>> {
    state.get(..NEON_BYTES).map(<[u8]>::to_vec)
}

fn put(state: &mut [u8], area: &[u8]) -> Option<()> {
    let to = state.get_mut(..NEON_BYTES)?;
    to.copy_from_slice(area.get(..NEON_BYTES)?);
    Some(())
}

fn set_slots(state: &mut [u32], slots: &[Option<Slot>; MAX_SLOTS]) {
    for (index, slot) in slots.iter().enumerate() {
        for (is_code, addresses, controls) in [(true, BVR / 4, BCR / 4), (false, WVR / 4, WCR / 4)]
        {
            let of_kind = |slot: &&Slot| (slot.trigger == Trigger::Execute) == is_code;
            let (addr, control) = match slot.as_ref().filter(of_kind) {
                Some(slot) => registers(slot),
                None => (0, 0),
            };
            state[addresses + 2 * index] = addr as u32;
            state[addresses + 2 * index + 1] = (addr >> 32) as u32;
            state[controls + 2 * index] = control;
            state[controls + 2 * index + 1] = 0;
        }
    }
}

/// The processor does not say which slot it was: they are found by the address of the access, or of
/// the instruction. Some kernels report the number of the register instead of an address.
fn slots_hit(_: &[u32], slots: &[Option<Slot>; MAX_SLOTS], codes: &Codes) -> u8 {
    match codes.0 {
        [ARM_DA_DEBUG, number] if number < MAX_SLOTS as u64 && slots[number as usize].is_some() => {
            1 << number
        }
        [ARM_DA_DEBUG, addr] => hits(slots, addr),
        [ARM_BREAKPOINT, addr] => {
            let is_code = |slot: &Option<Slot>| {
                slot.is_some_and(|it| it.trigger == Trigger::Execute && it.addr.0 == addr)
            };
            slots.iter().position(is_code).map_or(0, |nth| 1 << nth)
        }
        _ => 0,
    }
}

/// A trap instruction, a slot for code and the end of a step have the same code.
fn trap_cause(trapped: &Trapped<'_>) -> Option<TrapCause> {
    match trapped.codes.0[0] {
        ARM_DA_DEBUG => Some(TrapCause::Watchpoint),
        _ if trapped.hits != 0 => Some(TrapCause::Watchpoint),
        _ if trapped.is_stepping && trapped.has_moved => Some(TrapCause::Step),
        _ if trapped.is_at_trap => Some(TrapCause::Breakpoint),
        // A branch to itself.
        _ if trapped.is_stepping => Some(TrapCause::Step),
        // With debug registers set, a thread may report one more step after its last.
        _ => None,
    }
}

pub const ABI: DarwinAbi = DarwinAbi {
    registers: RegisterLayout::new(Arch::Aarch64, WORDS, PC, SP),
    flavor: THREAD_STATE64,
    separate: &[],
    handle: Some(TPIDRRO),
    vectors: &[VectorState {
        flavor: NEON_STATE64,
        area,
        put,
    }],
    debug_flavor: DEBUG_STATE64,
    step: StepBit::Debug(MDSCR_EL1 / 4, MDSCR_SS as u32),
    set_slots,
    hits: slots_hit,
    trap_cause,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::darwin::flavors::arm64::thread;
    use crate::os::registers::RegisterSet;
    use dwarf::LoadAddr;

    fn trapped(
        code: u64,
        is_stepping: bool,
        has_moved: bool,
        is_at_trap: bool,
    ) -> Option<TrapCause> {
        trap_cause(&Trapped {
            codes: &Codes([code, 0x1000]),
            is_stepping,
            has_moved,
            is_at_trap,
            hits: 0,
        })
    }

    #[test]
    fn registers_are_where_the_headers_have_them() {
        let bytes: Vec<u8> = (0..34_u64).flat_map(|at| (8 * at).to_le_bytes()).collect();
        let set = RegisterSet::from_bytes(&ABI.registers, &bytes).unwrap();
        let places = [
            (Register(29), thread::FP),
            (Register(30), thread::LR),
            (SP, thread::SP),
            (PC, thread::PC),
            (PSTATE, thread::CPSR),
        ];
        let numbered = (0..29).map(|it| (Register(it), thread::X0 + 8 * usize::from(it)));
        for (register, place) in places.into_iter().chain(numbered) {
            assert_eq!(set.get(register), Some(place as u64), "{register:?}");
        }
        assert_eq!(ABI.registers.bytes(), THREAD_STATE64.bytes());
    }

    #[test]
    fn causes_of_traps() {
        let breakpoint = Some(TrapCause::Breakpoint);
        assert_eq!(trapped(ARM_BREAKPOINT, false, true, true), breakpoint);
        assert_eq!(trapped(ARM_BREAKPOINT, true, false, true), breakpoint);
        // The step ended in front of a trap.
        assert_eq!(
            trapped(ARM_BREAKPOINT, true, true, true),
            Some(TrapCause::Step)
        );
        assert_eq!(
            trapped(ARM_BREAKPOINT, true, false, false),
            Some(TrapCause::Step)
        );
        assert_eq!(
            trapped(ARM_DA_DEBUG, false, true, false),
            Some(TrapCause::Watchpoint)
        );
        assert_eq!(
            trapped(ARM_BREAKPOINT, false, false, false),
            None,
            "one more step"
        );
    }

    #[test]
    fn slots_are_found_by_address_or_number() {
        let slot = |addr, trigger| {
            let addr = LoadAddr(addr);
            Some(Slot {
                addr,
                len: 8,
                trigger,
            })
        };
        let slots = [
            slot(0x1000, Trigger::Write),
            slot(0x2000, Trigger::Write),
            slot(0x3000, Trigger::Execute),
            None,
        ];
        let hit = |code, second| slots_hit(&[], &slots, &Codes([code, second]));
        assert_eq!(hit(ARM_DA_DEBUG, 0x2000), 0b010);
        assert_eq!(hit(ARM_DA_DEBUG, 1), 0b010);
        assert_eq!(hit(ARM_BREAKPOINT, 0x3000), 0b100);
        assert_eq!(hit(ARM_BREAKPOINT, 0x1000), 0);
    }
}
