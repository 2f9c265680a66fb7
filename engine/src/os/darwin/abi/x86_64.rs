//! x86-64: `x86_thread_state64_t`, `x86_avx_state64_t`, `x86_debug_state64_t`
//! (`mach/i386/_structs.h`), and the codes of `mach/i386/exception.h`.

use super::{DarwinAbi, SeparateRegister, StepBit, Trapped, VectorState};
use crate::arch::Arch;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::x86_64::watch::{control, hits};
use crate::os::TrapCause;
use crate::os::darwin::exception::Codes;
use crate::os::registers::{RegisterLayout, Word};
use dwarf::Register;
use dwarf::register::x86_64::{GS_BASE, RAX, RBP, RBX, RCX, RDI, RDX, RFLAGS, RIP, RSI, RSP};

const fn word(register: Register) -> Word {
    Word::Register(register)
}

pub const WORDS: &[Word] = &[
    word(RAX),
    word(RBX),
    word(RCX),
    word(RDX),
    word(RDI),
    word(RSI),
    word(RBP),
    word(RSP),
    word(Register(8)),
    word(Register(9)),
    word(Register(10)),
    word(Register(11)),
    word(Register(12)),
    word(Register(13)),
    word(Register(14)),
    word(Register(15)),
    word(RIP),
    word(RFLAGS),
    // cs, fs, gs
    word(Register(51)),
    word(Register(54)),
    word(Register(55)),
    Word::Separate(GS_BASE),
];

/// `x86_THREAD_STATE64`
pub const THREAD_STATE: i32 = 4;
/// `x86_FLOAT_STATE64`
pub const FLOAT_STATE: i32 = 5;
/// `x86_DEBUG_STATE64`
pub const DEBUG_STATE: i32 = 11;
/// `x86_AVX_STATE64`
pub const AVX_STATE: i32 = 17;
/// `x86_AVX512_STATE64`
pub const AVX512_STATE: i32 = 20;
/// `x86_THREAD_FULL_STATE64`
pub const FULL_STATE: i32 = 23;
/// Offset of `__gsbase` in that, in words.
pub const FULL_GS_BASE: usize = 48;

/// `EFLAGS_TF`
pub const TRAP_FLAG: u64 = 1 << 8;

/// `EXC_I386_SGL`
pub const SINGLE_STEP: u64 = 1;
/// `EXC_I386_BPT`
pub const BREAKPOINT: u64 = 2;

/// Offset of the area that `fxsave` writes in a state with vectors, and its size.
const FXSAVE: usize = 8;
const FXSAVE_BYTES: usize = 512;
/// Size of the header that `xsave` writes behind that.
const HEADER_BYTES: usize = 64;
/// Offset of `__fpu_ymmh0` in `x86_AVX_STATE64`, and size of all 16.
const HIGH_HALVES: usize = 588;
const HIGH_BYTES: usize = 256;
/// Offset of `__fpu_k0` in `x86_AVX512_STATE64`; behind the masks are the high halves of 16 vectors, and
/// 16 more vectors. The size of all.
const MASKS: usize = 844;
const MASKS_BYTES: usize = 64 + 512 + 1024;
/// Their offset in an area (Intel SDM volume 1, §13.4.3: as processors have them).
const AREA_MASKS: usize = 1088;
/// The components of an area (Intel SDM volume 1, §13.1): x87 and SSE; AVX; those of AVX-512.
const LEGACY: u64 = 0b11;
const AVX: u64 = 1 << 2;
const AVX512: u64 = 0b111 << 5;

fn area(state: &[u8]) -> Option<Vec<u8>> {
    let legacy = state.get(FXSAVE..FXSAVE + FXSAVE_BYTES)?;
    let high = state.get(HIGH_HALVES..HIGH_HALVES + HIGH_BYTES);
    let masks = state.get(MASKS..MASKS + MASKS_BYTES);
    let components = match (high, masks) {
        (Some(_), Some(_)) => LEGACY | AVX | AVX512,
        (Some(_), None) => LEGACY | AVX,
        (None, _) => LEGACY,
    };
    let mut area = legacy.to_vec();
    area.extend(components.to_le_bytes());
    area.resize(FXSAVE_BYTES + HEADER_BYTES, 0);
    area.extend(high.unwrap_or_default());
    if let Some(masks) = masks {
        area.resize(AREA_MASKS, 0);
        area.extend(masks);
    }
    Some(area)
}

fn put(state: &mut [u8], area: &[u8]) -> Option<()> {
    let to = state.get_mut(FXSAVE..FXSAVE + FXSAVE_BYTES)?;
    to.copy_from_slice(area.get(..FXSAVE_BYTES)?);
    if let Some(to) = state.get_mut(HIGH_HALVES..HIGH_HALVES + HIGH_BYTES) {
        let high = FXSAVE_BYTES + HEADER_BYTES;
        to.copy_from_slice(area.get(high..high + HIGH_BYTES)?);
    }
    if let Some(to) = state.get_mut(MASKS..MASKS + MASKS_BYTES) {
        to.copy_from_slice(area.get(AREA_MASKS..AREA_MASKS + MASKS_BYTES)?);
    }
    Some(())
}

fn set_slots(state: &mut [u32], slots: &[Option<Slot>; MAX_SLOTS]) {
    let mut set = |register: usize, value: u64| {
        state[2 * register] = value as u32;
        state[2 * register + 1] = (value >> 32) as u32;
    };
    for (index, slot) in slots.iter().enumerate() {
        set(index, slot.map_or(0, |slot| slot.addr.0));
    }
    // The causes of the last traps.
    set(6, 0);
    set(7, control(slots));
}

fn slots_hit(state: &[u32], _: &[Option<Slot>; MAX_SLOTS], _: &Codes) -> u8 {
    hits(u64::from(state[12]))
}

fn trap_cause(trapped: &Trapped<'_>) -> Option<TrapCause> {
    Some(match trapped.codes.0[0] {
        BREAKPOINT => TrapCause::Breakpoint,
        SINGLE_STEP if trapped.hits != 0 => TrapCause::Watchpoint,
        SINGLE_STEP if trapped.is_stepping => TrapCause::Step,
        // The program has set the trap flag, or executed `icebp`.
        _ => TrapCause::Other,
    })
}

pub const ABI: DarwinAbi = DarwinAbi {
    registers: RegisterLayout::new(Arch::X86_64, WORDS, RIP, RSP),
    flavor: THREAD_STATE,
    separate: &[SeparateRegister {
        flavor: FULL_STATE,
        word: FULL_GS_BASE,
        register: GS_BASE,
    }],
    vectors: &[
        VectorState {
            flavor: AVX512_STATE,
            area,
            put,
        },
        VectorState {
            flavor: AVX_STATE,
            area,
            put,
        },
        VectorState {
            flavor: FLOAT_STATE,
            area,
            put,
        },
    ],
    debug_flavor: DEBUG_STATE,
    step: StepBit::Register(RFLAGS, TRAP_FLAG),
    set_slots,
    hits: slots_hit,
    trap_cause,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_survive_the_way_through_the_area() {
        for bytes in [524, 844, 2444] {
            let state: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            let made = area(&state).unwrap();
            let mut other = vec![0; bytes];
            put(&mut other, &made).unwrap();
            let same = |range: std::ops::Range<usize>| state.get(range.clone()) == other.get(range);
            assert!(same(FXSAVE..FXSAVE + FXSAVE_BYTES));
            assert!(same(HIGH_HALVES..HIGH_HALVES + HIGH_BYTES));
            assert!(same(MASKS..MASKS + MASKS_BYTES));
        }
        assert_eq!(area(&[0; 100]), None);
        assert_eq!(put(&mut [0; 844], &[0; 500]), None);
    }

    #[test]
    fn causes_of_traps() {
        let cause = |code, is_stepping, hits| {
            trap_cause(&Trapped {
                codes: &Codes([code, 0]),
                is_stepping,
                has_moved: true,
                is_at_trap: false,
                hits,
            })
        };
        assert_eq!(cause(BREAKPOINT, true, 0), Some(TrapCause::Breakpoint));
        assert_eq!(cause(SINGLE_STEP, true, 0), Some(TrapCause::Step));
        assert_eq!(cause(SINGLE_STEP, true, 2), Some(TrapCause::Watchpoint));
        assert_eq!(cause(SINGLE_STEP, false, 0), Some(TrapCause::Other));
    }
}
