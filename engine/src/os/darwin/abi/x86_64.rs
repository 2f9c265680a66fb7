//! x86-64: `x86_thread_state64_t`, `x86_avx_state64_t`, `x86_debug_state64_t`
//! (`mach/i386/_structs.h`), and the codes of `mach/i386/exception.h`.

use super::{DarwinAbi, SeparateRegister, StepBit, Trapped, VectorState};
use crate::arch::Arch;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::arch::x86_64::watch::{control, hits};
use crate::os::TrapCause;
use crate::os::darwin::exception::Codes;
use crate::os::darwin::flavors::code::{I386_BPT, I386_SGL};
use crate::os::darwin::flavors::x86_64::{
    AVX_STATE64, AVX512_STATE64, DEBUG_STATE64, FLOAT_STATE64, THREAD_FULL_STATE64, THREAD_STATE64,
    avx::{K0, YMM_HIGH},
    debug,
    float::{FXSAVE, FXSAVE_BYTES},
    thread,
};
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

/// `EFLAGS_TF`
pub const TRAP_FLAG: u64 = 1 << 8;

/// Size of the header that `xsave` writes behind the area of `fxsave`.
const HEADER_BYTES: usize = 64;
/// Where an area says which components are enabled, in bytes that the processor does not use.
const ENABLED: usize = 464;
/// Size of the high halves of `ymm0` to `ymm15`.
const HIGH_BYTES: usize = 256;
/// Size of the masks, of the high halves of 16 vectors, and of 16 more vectors.
const MASKS_BYTES: usize = 64 + 512 + 1024;
/// Their offset in an area (Intel SDM volume 1, §13.4.3: as processors have them).
const AREA_MASKS: usize = 1088;
/// The components of an area (Intel SDM volume 1, §13.1): x87 and SSE; AVX; those of AVX-512.
const LEGACY: u64 = 0b11;
const AVX: u64 = 1 << 2;
const AVX512: u64 = 0b111 << 5;

fn area(state: &[u8]) -> Option<Vec<u8>> {
    let legacy = state.get(FXSAVE..FXSAVE + FXSAVE_BYTES)?;
    let high = state.get(YMM_HIGH..YMM_HIGH + HIGH_BYTES);
    let masks = state.get(K0..K0 + MASKS_BYTES);
    let components = match (high, masks) {
        (Some(_), Some(_)) => LEGACY | AVX | AVX512,
        (Some(_), None) => LEGACY | AVX,
        (None, _) => LEGACY,
    };
    let mut area = legacy.to_vec();
    area[ENABLED..ENABLED + 8].copy_from_slice(&components.to_le_bytes());
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
    // What follows is not the processor's.
    to[..ENABLED].copy_from_slice(area.get(..ENABLED)?);
    if let Some(to) = state.get_mut(YMM_HIGH..YMM_HIGH + HIGH_BYTES) {
        let high = FXSAVE_BYTES + HEADER_BYTES;
        to.copy_from_slice(area.get(high..high + HIGH_BYTES)?);
    }
    if let Some(to) = state.get_mut(K0..K0 + MASKS_BYTES) {
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
    set(debug::DR6 / 8, 0);
    set(debug::DR7 / 8, control(slots));
}

fn slots_hit(state: &[u32], _: &[Option<Slot>; MAX_SLOTS], _: &Codes) -> u8 {
    hits(u64::from(state[debug::DR6 / 4]))
}

fn trap_cause(trapped: &Trapped<'_>) -> Option<TrapCause> {
    Some(match trapped.codes.0[0] {
        I386_BPT => TrapCause::Breakpoint,
        I386_SGL if trapped.hits != 0 => TrapCause::Watchpoint,
        I386_SGL if trapped.is_stepping => TrapCause::Step,
        // The program has set the trap flag, or executed `icebp`.
        _ => TrapCause::Other,
    })
}

pub const ABI: DarwinAbi = DarwinAbi {
    registers: RegisterLayout::new(Arch::X86_64, WORDS, RIP, RSP),
    flavor: THREAD_STATE64,
    handle: None,
    separate: &[SeparateRegister {
        flavor: THREAD_FULL_STATE64,
        word: thread::GS_BASE / 4,
        register: GS_BASE,
    }],
    vectors: &[
        VectorState {
            flavor: AVX512_STATE64,
            area,
            put,
        },
        VectorState {
            flavor: AVX_STATE64,
            area,
            put,
        },
        VectorState {
            flavor: FLOAT_STATE64,
            area,
            put,
        },
    ],
    debug_flavor: DEBUG_STATE64,
    step: StepBit::Register(RFLAGS, TRAP_FLAG),
    set_slots,
    hits: slots_hit,
    trap_cause,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::registers::RegisterSet;

    #[test]
    fn vectors_survive_the_way_through_the_area() {
        for flavor in [FLOAT_STATE64, AVX_STATE64, AVX512_STATE64] {
            let bytes = flavor.bytes();
            let state: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            let made = area(&state).unwrap();
            let mut other = vec![0; bytes];
            put(&mut other, &made).unwrap();
            let same = |range: std::ops::Range<usize>| state.get(range.clone()) == other.get(range);
            assert!(same(FXSAVE..FXSAVE + ENABLED));
            assert!(same(YMM_HIGH..YMM_HIGH + HIGH_BYTES));
            assert!(same(K0..K0 + MASKS_BYTES));
        }
        assert_eq!(area(&[0; 100]), None);
        assert_eq!(put(&mut vec![0; AVX_STATE64.bytes()], &[0; 500]), None);
    }

    #[test]
    fn registers_are_where_the_headers_have_them() {
        let bytes: Vec<u8> = (0..21_u64).flat_map(|at| (8 * at).to_le_bytes()).collect();
        let set = RegisterSet::from_bytes(&ABI.registers, &bytes).unwrap();
        let places = [
            (RAX, thread::RAX),
            (RBX, thread::RBX),
            (RCX, thread::RCX),
            (RDX, thread::RDX),
            (RDI, thread::RDI),
            (RSI, thread::RSI),
            (RBP, thread::RBP),
            (RSP, thread::RSP),
            (RIP, thread::RIP),
            (RFLAGS, thread::RFLAGS),
            (Register(51), thread::CS),
            (Register(54), thread::FS),
            (Register(55), thread::GS),
        ];
        let numbered = (8..16).map(|it| (Register(it), thread::R8 + 8 * (usize::from(it) - 8)));
        for (register, place) in places.into_iter().chain(numbered) {
            assert_eq!(set.get(register), Some(place as u64), "{register:?}");
        }
        assert_eq!(ABI.registers.bytes(), THREAD_STATE64.bytes());
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
        assert_eq!(cause(I386_BPT, true, 0), Some(TrapCause::Breakpoint));
        assert_eq!(cause(I386_SGL, true, 0), Some(TrapCause::Step));
        assert_eq!(cause(I386_SGL, true, 2), Some(TrapCause::Watchpoint));
        assert_eq!(cause(I386_SGL, false, 0), Some(TrapCause::Other));
    }
}
