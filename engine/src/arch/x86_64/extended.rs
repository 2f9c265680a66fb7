//! The XSAVE area, in which the kernel keeps registers (Intel SDM volume 1, chapter 13): x87, vectors
//! of all widths, masks and control registers.

use super::super::registers::ExtendedBytes;
use dwarf::Register;
use dwarf::register::x86_64::XMM0;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// DWARF numbers of the top of the x87 stack, of xmm16 and of the first mask (psABI figure 3.36).
const ST0: u16 = 33;
const XMM16: u16 = 67;
const K0: u16 = 118;
/// Numbers for registers without DWARF numbers; all of DWARF's are smaller.
const YMM0: u16 = 0x1000;
const ZMM0: u16 = 0x1100;
const CONTROL: u16 = 0x1200;

/// Offset of XSTATE_BV in the area: the components in use.
const XSTATE_BV: usize = 512;
/// Offset of XCR0, the components that are enabled; the kernel stores it in bytes that the
/// processor does not use.
const XCR0: usize = 464;
/// Offset of MXCSR, of the top of the x87 stack, and of xmm0 in the area's first part (FXSAVE,
/// §10.5.1), which is also an area of its own.
const MXCSR: usize = 24;
const ST: usize = 32;
const XMM: usize = 160;
/// Offset of the upper halves of ymm0 to ymm15.
const AVX: usize = 576;

const X87_PART: u8 = 1 << 0;
const SSE_PART: u8 = 1 << 1;
const AVX_PART: u8 = 1 << 2;
const MASK_PART: u8 = 1 << 5;
const UPPER_PART: u8 = 1 << 6;
const HIGH_PART: u8 = 1 << 7;

/// Control registers in the area's first part (FXSAVE, §10.5.1).
const CONTROLS: [(&str, Range<usize>, u8); 7] = [
    ("mxcsr", MXCSR..MXCSR + 4, SSE_PART),
    ("fctrl", 0..2, X87_PART),
    ("fstat", 2..4, X87_PART),
    ("ftag", 4..5, X87_PART),
    ("fop", 6..8, X87_PART),
    ("fip", 8..16, X87_PART),
    ("fdp", 16..24, X87_PART),
];

/// Offsets of the AVX-512 state: masks, upper halves of zmm0 to zmm15, zmm16 to zmm31.
struct Layout {
    masks: usize,
    uppers: usize,
    high: usize,
}

/// Offsets depend on the vendor; an area of AMD is shorter than any of Intel.
fn layout(area: &[u8]) -> Option<Layout> {
    const MAX_AMD_AREA_BYTES: usize = 2600;
    const END_OF_INTEL: usize = 2688;
    const END_OF_AMD: usize = 2432;
    match area.len() {
        END_OF_INTEL.. => Some(Layout {
            masks: 1088,
            uppers: 1152,
            high: 1664,
        }),
        END_OF_AMD..MAX_AMD_AREA_BYTES => Some(Layout {
            masks: 832,
            uppers: 896,
            high: 1408,
        }),
        _ => None,
    }
}

/// The byte ranges of a register in an area, in order, and the components that they belong to.
type Pieces = (SmallVec<[Range<usize>; 3]>, u8);

fn pieces(register: Register, area: &[u8]) -> Option<Pieces> {
    let number = register.0;
    let within = |first: u16, count: u16| {
        let index = number.checked_sub(first).filter(|index| *index < count);
        index.map(usize::from)
    };
    let part = |start: usize, len: usize| start..start + len;
    let low = |n: usize| part(XMM + 16 * n, 16);
    let (places, components): Pieces = if let Some(n) = within(ST0, 8) {
        (smallvec![part(ST + 16 * n, 16)], X87_PART)
    } else if let Some(n) = within(XMM0.0, 16) {
        (smallvec![low(n)], SSE_PART)
    } else if let Some(n) = within(YMM0, 16) {
        (
            smallvec![low(n), part(AVX + 16 * n, 16)],
            SSE_PART | AVX_PART,
        )
    } else if let Some(n) = within(ZMM0, 16) {
        let upper = part(layout(area)?.uppers + 32 * n, 32);
        let places = smallvec![low(n), part(AVX + 16 * n, 16), upper];
        (places, SSE_PART | AVX_PART | UPPER_PART)
    } else if let Some(n) = within(XMM16, 16) {
        (smallvec![part(layout(area)?.high + 64 * n, 16)], HIGH_PART)
    } else if let Some(n) = within(YMM0 + 16, 16) {
        (smallvec![part(layout(area)?.high + 64 * n, 32)], HIGH_PART)
    } else if let Some(n) = within(ZMM0 + 16, 16) {
        (smallvec![part(layout(area)?.high + 64 * n, 64)], HIGH_PART)
    } else if let Some(n) = within(K0, 8) {
        (smallvec![part(layout(area)?.masks + 8 * n, 8)], MASK_PART)
    } else {
        let (_, place, component) = CONTROLS.get(within(CONTROL, CONTROLS.len() as u16)?)?;
        (smallvec![place.clone()], *component)
    };
    let in_area = places.iter().all(|place| place.end <= area.len());
    // The FXSAVE part is always valid.
    let on = area.get(XCR0).copied().unwrap_or(0) | X87_PART | SSE_PART;
    (in_area && components & !on == 0).then_some((places, components))
}

/// Returns whether a register is in the XSAVE area.
pub fn holds(register: Register) -> bool {
    let number = register.0;
    (ST0..ST0 + 8).contains(&number)
        || (XMM0.0..XMM0.0 + 16).contains(&number)
        || (XMM16..XMM16 + 16).contains(&number)
        || (K0..K0 + 8).contains(&number)
        || number >= YMM0
}

/// Returns the number, by name, of a register that is only in the XSAVE area.
pub fn named(name: &str) -> Option<Register> {
    let index = |prefix: &str, count: u16| {
        let number: u16 = name.strip_prefix(prefix)?.parse().ok()?;
        (number < count && !name[prefix.len()..].starts_with('+')).then_some(number)
    };
    let control = CONTROLS.iter().position(|(it, ..)| *it == name);
    let number = index("st", 8).map(|n| ST0 + n);
    let number = number.or_else(|| index("ymm", 32).map(|n| YMM0 + n));
    let number = number.or_else(|| index("zmm", 32).map(|n| ZMM0 + n));
    let number = number.or_else(|| index("k", 8).map(|n| K0 + n));
    let high = || index("xmm", 32).and_then(|n| Some(XMM16 + n.checked_sub(16)?));
    let number = number.or_else(high);
    number
        .or_else(|| Some(CONTROL + control? as u16))
        .map(Register)
}

/// Returns the bytes of a register in an area; `None` if the area lacks it.
pub fn read(register: Register, area: &[u8]) -> Option<ExtendedBytes> {
    let (places, components) = pieces(register, area)?;
    let mut bytes = ExtendedBytes::new();
    for piece in places {
        bytes.extend_from_slice(area.get(piece)?);
    }
    let used = area.get(XSTATE_BV).copied().unwrap_or(u8::MAX) | X87_PART | SSE_PART;
    // Unused components are zero, whatever the area has.
    if components & !used == AVX_PART && bytes.len() >= 16 {
        bytes[16..].fill(0);
    }
    Some(bytes)
}

/// Returns xmm0 to xmm15.
pub fn low_vectors(area: &[u8]) -> Option<Vec<u128>> {
    let (vectors, _) = area.get(XMM..XMM + 16 * 16)?.as_chunks();
    Some(vectors.iter().copied().map(u128::from_le_bytes).collect())
}

/// Returns st0.
pub fn float_stack_top(area: &[u8]) -> Option<[u8; 10]> {
    area.get(ST..ST + 10)?.try_into().ok()
}

/// Writes the first vector registers and MXCSR into an XSAVE area; false if it is none.
pub fn write_low_vectors(area: &mut [u8], vectors: &[u8], mxcsr: [u8; 4]) -> bool {
    let Some(used) = area.get_mut(XSTATE_BV) else {
        return false;
    };
    *used |= SSE_PART;
    area[MXCSR..MXCSR + 4].copy_from_slice(&mxcsr);
    let len = vectors.len().min(16 * 16);
    area[XMM..XMM + len].copy_from_slice(&vectors[..len]);
    true
}

/// Registers hold several numbers, or bits.
pub fn lane(_: Register) -> Option<&'static str> {
    None
}

/// Returns whether a register holds an 80-bit floating-point number.
pub fn is_extended_float(register: Register) -> bool {
    (ST0..ST0 + 8).contains(&register.0)
}

/// Writes the first bytes of a register into an area; false if the area lacks it.
pub fn write(register: Register, area: &mut [u8], bytes: &[u8]) -> bool {
    let Some((places, components)) = pieces(register, area) else {
        return false;
    };
    let mut rest = bytes;
    for piece in places {
        let Some(slot) = area.get_mut(piece) else {
            return false;
        };
        let (now, later) = rest.split_at(rest.len().min(slot.len()));
        slot[..now.len()].copy_from_slice(now);
        rest = later;
    }
    if let Some(used) = area.get_mut(XSTATE_BV) {
        *used |= components;
    }
    true
}

/// Returns whether a name is that of a vector register, not of a mask.
pub fn is_vector(name: &str) -> bool {
    ["xmm", "ymm", "zmm"]
        .iter()
        .any(|kind| name.starts_with(kind))
}

/// Returns the names of the vector and mask registers in an area; without one, xmm0 to xmm15.
pub fn vectors(area: Option<&[u8]>) -> Vec<String> {
    let Some(area) = area else {
        return (0..16).map(|number| format!("xmm{number}")).collect();
    };
    let all = ["xmm", "ymm", "zmm"].into_iter();
    let all = all.flat_map(|kind| (0..32).map(move |number| format!("{kind}{number}")));
    let masks = (0..8).map(|number| format!("k{number}"));
    all.chain(masks)
        .filter(|name| is_there(name, area))
        .collect()
}

/// Returns the names of the x87 registers and of the control registers of x87 and SSE.
pub fn floats() -> Vec<String> {
    let stack = (0..8).map(|number| format!("st{number}"));
    let controls = CONTROLS.iter().map(|(name, ..)| (*name).to_owned());
    stack.chain(controls).collect()
}

fn is_there(name: &str, area: &[u8]) -> bool {
    let low = || {
        let number: u16 = name.strip_prefix("xmm")?.parse().ok()?;
        Some(Register(XMM0.0 + number))
    };
    let register = named(name).or_else(low);
    register.is_some_and(|register| pieces(register, area).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(name: &str, area: &[u8]) -> Option<Vec<u8>> {
        Some(read(named(name)?, area)?.to_vec())
    }

    #[test]
    fn wide_registers_are_composed_and_split() {
        for (len, high) in [(2696, 1664), (2440, 1408)] {
            let mut area = vec![0; len];
            area[XCR0] = 0xe7;
            let all: Vec<u8> = (1..=64).collect();
            for name in ["zmm3", "zmm20"] {
                assert!(write(named(name).unwrap(), &mut area, &all), "{name}");
                assert_eq!(bytes_of(name, &area).as_deref(), Some(&all[..]));
                let half = name.replace('z', "y");
                assert_eq!(bytes_of(&half, &area).as_deref(), Some(&all[..32]));
            }
            assert_eq!(area[160 + 48..][..16], all[..16]);
            assert_eq!(area[AVX + 48..][..16], all[16..32]);
            assert_eq!(area[high + 4 * 64..][..64], all[..]);
            assert_eq!(
                area[XSTATE_BV],
                SSE_PART | AVX_PART | UPPER_PART | HIGH_PART
            );
            assert!(write(named("k7").unwrap(), &mut area, &[9]));
            assert_eq!(bytes_of("k7", &area), Some(vec![9, 0, 0, 0, 0, 0, 0, 0]));
        }
    }

    #[test]
    fn unsupported_registers_are_absent() {
        let mut area = vec![0; 832];
        area[XCR0] = 7;
        assert_eq!(bytes_of("ymm15", &area).map(|it| it.len()), Some(32));
        for name in ["zmm0", "ymm16", "xmm16", "k0"] {
            assert_eq!(bytes_of(name, &area), None, "{name}");
        }
        area[XCR0] = 3;
        assert_eq!(bytes_of("ymm0", &area), None);
        assert_eq!(bytes_of("st7", &area).map(|it| it.len()), Some(16));
        assert_eq!(bytes_of("st0", &area[..300]).map(|it| it.len()), Some(16));
        assert_eq!(bytes_of("mxcsr", &[0; 20]), None);
        assert_eq!(vectors(Some(&area)).len(), 16);
        for none in ["st8", "k8", "ymm32", "zmm+1", "xmm3", "k", ""] {
            assert_eq!(named(none), None, "{none}");
        }
    }

    #[test]
    fn low_vectors_and_the_float_stack_are_in_the_first_part() {
        let mut area = vec![0; 512];
        area[160 + 16] = 7;
        area[32..42].copy_from_slice(&[9; 10]);
        assert_eq!(low_vectors(&area).unwrap()[1], 7);
        assert_eq!(float_stack_top(&area), Some([9; 10]));
        assert_eq!(low_vectors(&area[..415]), None);
        assert_eq!(float_stack_top(&area[..41]), None);
        assert!(!write_low_vectors(&mut area, &[1; 64], [2; 4]));
        area.resize(576, 0);
        assert!(write_low_vectors(&mut area, &[1; 64], [2; 4]));
        assert_eq!(area[160..224], [1; 64]);
        assert_eq!(bytes_of("mxcsr", &area), Some(vec![2; 4]));
        assert_eq!(area[XSTATE_BV], SSE_PART);
    }

    #[test]
    fn halves_that_were_never_used_are_zero() {
        let mut area = vec![0xff; 832];
        area[XCR0] = 7;
        area[XSTATE_BV] = 3;
        let bytes = bytes_of("ymm1", &area).unwrap();
        assert_eq!(bytes, [[0xff; 16], [0; 16]].concat());
    }
}
