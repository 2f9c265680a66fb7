//! The state of the Scalable Matrix Extension (SME): streaming mode, in which vectors have another
//! length, and the matrix ZA. Of a thread that uses one of them, the area of extended registers goes
//! on behind the vectors. Without it, a thread is in neither mode.
//!
//! Behind the vectors are `struct user_za_header` and the matrix (`NT_ARM_ZA`), the second thread
//! pointer, which says whether the matrix waits to be saved, and a mark, which no other area ends
//! with: the last words of those are reserved and zero.

use std::ops::Range;

/// Size of `struct user_za_header`.
pub const HEADER: usize = 16;
/// Largest size of `NT_ARM_ZA`: vectors of 256 bytes.
#[allow(dead_code, reason = "for processors of this set")]
pub const LARGEST: usize = HEADER + 256 * 256;
/// The end of an area, if it is followed by eight bytes with the length of the vectors, and the mode.
const MARK: [u8; 8] = *b"matrices";
const END: usize = 24;

/// The parts of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State<'a> {
    /// The vectors, in their own layout.
    pub vectors: &'a [u8],
    /// Whether they are those of streaming mode.
    pub is_streaming: bool,
    /// `NT_ARM_ZA`
    pub matrix: &'a [u8],
    pub second_thread_pointer: u64,
}

/// Returns the area of a thread.
pub fn join(state: &State<'_>) -> Vec<u8> {
    let mut area = [state.vectors, state.matrix].concat();
    area.extend_from_slice(&state.second_thread_pointer.to_le_bytes());
    let len = state.vectors.len() as u32;
    area.extend_from_slice(&len.to_le_bytes());
    area.extend_from_slice(&u32::from(state.is_streaming).to_le_bytes());
    area.extend_from_slice(&MARK);
    area
}

/// Returns the parts of an area; `None` if it has vectors only.
pub fn split(area: &[u8]) -> Option<State<'_>> {
    let (parts, end) = area.split_at_checked(area.len().checked_sub(END)?)?;
    let (pointer, end) = end.split_first_chunk()?;
    let (len, end) = end.split_first_chunk()?;
    let (mode, mark) = end.split_first_chunk()?;
    let (vectors, matrix) = parts.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    (mark == MARK).then_some(State {
        vectors,
        is_streaming: u32::from_le_bytes(*mode) != 0,
        matrix,
        second_thread_pointer: u64::from_le_bytes(*pointer),
    })
}

/// Returns the part of an area that has the vectors.
pub fn vectors(area: &[u8]) -> &[u8] {
    split(area).map_or(area, |state| state.vectors)
}

impl State<'_> {
    /// Returns whether the matrix is in use.
    pub fn has_matrix(&self) -> bool {
        self.matrix.len() > HEADER
    }

    /// Returns the size of a row of the matrix in bytes; it has as many rows.
    pub fn row_bytes(&self) -> usize {
        match self.matrix.get(8..10) {
            Some(size) if self.has_matrix() => usize::from(u16::from_le_bytes([size[0], size[1]])),
            _ => 0,
        }
    }

    /// Returns where a row of the matrix is in the area.
    pub fn row(&self, number: usize) -> Option<Range<usize>> {
        let size = self.row_bytes();
        let start = self.vectors.len() + HEADER + size * number;
        (number < size).then_some(start..start + size)
    }

    /// Returns the register that has the modes, the streaming vector control register.
    pub fn modes(&self) -> u64 {
        u64::from(self.is_streaming) | u64::from(self.has_matrix()) << 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::extended;
    use super::*;
    use crate::arch::{Arch, ExtendedRegisters};

    /// An area of scalable vectors, in which each byte of z3 is 3.
    fn scalable(size: u8) -> Vec<u8> {
        let size = usize::from(size);
        let predicates = HEADER + 32 * size;
        let end = (predicates + 17 * size / 8).next_multiple_of(16) + 16;
        let mut area = vec![0; end];
        area[8] = size as u8;
        area[12] = 1;
        for (number, vector) in area[HEADER..predicates].chunks_mut(size).enumerate() {
            vector.fill(number as u8);
        }
        area[end - 16..end - 8].fill(9);
        area
    }

    #[test]
    fn functions_begin_in_no_mode() {
        let vectors = scalable(64);
        let state = State {
            vectors: &vectors,
            is_streaming: true,
            matrix: &[0; HEADER],
            second_thread_pointer: 0,
        };
        let mut area = ExtendedRegisters::from(join(&state));
        assert_eq!(extended::vectors(Some(&area)).len(), 32 + 16 + 1 + 1);
        extended::leave_modes(&mut area);
        assert_eq!(area.len(), 528);
        let read = |name| extended::read(extended::named(name).unwrap(), &area).unwrap();
        assert_eq!(read("q3")[..], [3; 16]);
        assert_eq!(read("fpcr")[..], [9; 4]);
        // Vectors of the other mode remain as they are.
        let state = State {
            is_streaming: false,
            ..state
        };
        let mut area = ExtendedRegisters::from(join(&state));
        extended::leave_modes(&mut area);
        assert_eq!(area[..], vectors);
    }

    #[test]
    fn arguments_are_put_into_scalable_vectors() {
        let mut area = ExtendedRegisters::from(scalable(32));
        let before = area.clone();
        let set = crate::os::RegisterSet::zeroed();
        Arch::Aarch64.set_arguments(&mut { set }, &mut area, &[], &[[5; 16], [6; 16]]);
        assert_eq!(area[..HEADER], before[..HEADER]);
        assert_eq!(area[HEADER..][..16], [5; 16]);
        assert_eq!(area[HEADER + 32..][..16], [6; 16]);
        assert_eq!(area[HEADER + 64..], before[HEADER + 64..]);
    }

    #[test]
    fn rows_of_the_matrix_are_registers() {
        let mut matrix: Vec<u8> = (0..HEADER + 16 * 16).map(|at| (at / 16) as u8).collect();
        matrix[8] = 16;
        let state = State {
            vectors: &[0; 528],
            is_streaming: false,
            matrix: &matrix,
            second_thread_pointer: 0,
        };
        let mut area = ExtendedRegisters::from(join(&state));
        let register = |name: &str| extended::named(name).unwrap();
        assert_eq!(
            extended::matrix_name(register("za0hb15")).unwrap(),
            "za0hb15"
        );
        let read = |name: &str, area: &[u8]| extended::read(register(name), area);
        assert_eq!(read("za0hb15", &area).unwrap()[..], [16; 16]);
        assert_eq!(read("za0hb16", &area), None);
        assert_eq!(read("svcr", &area).unwrap()[..], 2_u64.to_le_bytes());
        assert!(extended::write(register("za0hb2"), &mut area, &[1; 16]));
        assert_eq!(read("za0hb2", &area).unwrap()[..], [1; 16]);
        assert_eq!(read("za0hb2", &[0; 528]), None);
        assert_eq!(extended::vectors(Some(&area)).len(), 32 + 1 + 16);
    }

    #[test]
    fn parts_of_an_area_are_found_again() {
        let mut matrix = vec![0; HEADER + 16 * 16];
        matrix[8] = 16;
        let state = State {
            vectors: &[7; 528],
            is_streaming: true,
            matrix: &matrix,
            second_thread_pointer: 5,
        };
        let area = join(&state);
        assert_eq!(split(&area), Some(state));
        assert_eq!(state.modes(), 3);
        assert_eq!(state.row(15), Some(784..800));
        assert_eq!(state.row(16), None);
        let off = State {
            matrix: &matrix[..HEADER],
            ..state
        };
        assert_eq!((off.modes(), off.row(0)), (1, None));
        for len in 0..area.len() {
            assert_eq!(split(&area[..len]), None);
        }
        let mut wrong = area;
        let at = wrong.len() - 16;
        wrong[at + 3] = 0xff;
        assert_eq!(split(&wrong), None, "longer vectors than the area");
    }
}
