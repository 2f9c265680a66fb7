//! Heuristic unwind rules from the instructions ahead of the pc, for code without call frame
//! information and possibly without symbols.
//!
//! Every path to a `ret` restores what the function has saved, so the effects of those instructions
//! on the stack pointer give the caller's, and their loads the caller's registers, with the return
//! address among them. The start of the function need not be known. If it is known, the
//! instructions from there to the pc give the same, also in functions that never return.

use super::decode::decoded;
use super::effects::SP;
use super::encoding::{Kind, LINK, Transfer, signature};
use super::memory::{Base, Direction, WriteBack};
use super::{Decoded, INSTRUCTION_BYTES, dwarf_register};
use dwarf::register::aarch64 as number;
use dwarf::{
    CfaLocation, FileAddr, HeuristicUnwind, LoadAddr, Module, RegisterOffset, ReturnAddress,
};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Maximum number of instructions to examine: functions without unwind information are small.
const MAX_INSTRUCTIONS: usize = 2048;
/// Maximum number of different results.
const MAX_UNWINDS: usize = 4;
/// The number of the frame pointer.
const FRAME: u8 = 29;
/// The number of the stack pointer.
const STACK: u8 = 31;

/// The machine's state at an address, in terms of the registers at the beginning of the path.
#[derive(Clone)]
struct State {
    sp: Option<RegisterOffset>,
    fp: Option<RegisterOffset>,
    /// Where callee-saved registers and the link register are, by number.
    saved: Vec<(u8, RegisterOffset)>,
    /// Whether the link register is as it was at the beginning, when it had the return address.
    has_link: bool,
    /// Whether it had the return address then.
    had_link: bool,
}

/// What a path does with the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// From the function's start: it saves registers.
    Saves,
    /// To its end: it restores them.
    Restores,
}

/// Returns candidate unwind rules: first that of the path from the function's start to `addr`, if
/// the start is known, then those of the paths to a return, shortest first. `is_return`: `addr` is
/// a return address.
pub fn unwinds(module: &Module, addr: FileAddr, is_return: bool) -> Vec<HeuristicUnwind> {
    let symbol = if is_return { addr - 1 } else { addr };
    let word = |at: FileAddr| {
        let mut bytes = [0; INSTRUCTION_BYTES];
        module.read_image(at, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    };
    let code = |at: FileAddr| decoded(word(at)?, LoadAddr(at.0));
    let by_symbol = || module.symbol_at(symbol).map(|it| (it.addr, it.size.max(1)));
    let function = binding_stub(word, addr).or_else(by_symbol);
    of_code(code, function, addr, is_return)
}

/// Returns start and size of the first stub of a procedure linkage table if `addr` is in it. It has no
/// symbol, saves the link register, and the loader restores it.
pub(super) fn binding_stub(
    word: impl Fn(FileAddr) -> Option<u32>,
    addr: FileAddr,
) -> Option<(FileAddr, u64)> {
    /// `bti c`
    const LANDING_PAD: u32 = 0xd503_245f;
    // stp x16, x30, [sp, #-16]!; adrp x16, ..
    const SAVE: u32 = 0xa9bf_7bf0;
    const PAGE: u32 = 0x9000_0010;
    const PAGE_MASK: u32 = 0x9f00_001f;
    const LENGTH: u64 = INSTRUCTION_BYTES as u64;
    // The save, three instructions for the address, and the jump.
    const SIZE: u64 = 5 * LENGTH;
    let is_save = |at: &FileAddr| {
        let page = word(*at + LENGTH);
        word(*at) == Some(SAVE) && page.is_some_and(|page| page & PAGE_MASK == PAGE)
    };
    // From the landing pad, the save is ahead.
    let starts = (0..SIZE).step_by(INSTRUCTION_BYTES);
    let mut starts = starts.map(|offset| addr - offset);
    let ahead = || (word(addr) == Some(LANDING_PAD)).then(|| addr + LENGTH);
    let save = starts.find(is_save).or_else(|| ahead().filter(is_save))?;
    Some(match word(save - LENGTH) {
        Some(LANDING_PAD) => (save - LENGTH, SIZE + LENGTH),
        _ => (save, SIZE),
    })
}

/// Like [`unwinds`], of code that a function returns. `function`: start and size of the function.
pub(super) fn of_code(
    code: impl Fn(FileAddr) -> Option<Decoded>,
    function: Option<(FileAddr, u64)>,
    addr: FileAddr,
    is_return: bool,
) -> Vec<HeuristicUnwind> {
    let known = function.and_then(|(start, size)| {
        let end = start.0.saturating_add(size);
        from_start(&code, start.0..end, addr)?.unwind_at(is_return)
    });
    let mut ways: Vec<HeuristicUnwind> = known.into_iter().collect();
    // A call has overwritten the link register.
    let start = State::new(!is_return);
    let mut todo = VecDeque::from([(addr.0, start)]);
    let mut seen = FxHashSet::default();
    while let Some((at, mut state)) = todo.pop_front() {
        if ways.len() >= MAX_UNWINDS || seen.len() >= MAX_INSTRUCTIONS {
            break;
        }
        if !seen.insert(at) {
            continue;
        }
        let Some(instruction) = code(FileAddr(at)) else {
            continue;
        };
        if leaves(&instruction) {
            let way = state.unwind_behind();
            ways.extend(way.filter(|way| ways.iter().all(|it| it.cfa != way.cfa)));
            continue;
        }
        // Jumps may lead to another function, which restores the stack.
        let next = successors(&instruction);
        if !state.pass(&instruction, Path::Restores) {
            continue;
        }
        for next in next.into_iter().flatten() {
            todo.push_back((next, state.clone()));
        }
    }
    ways
}

/// Walks from the start of a function to `addr`.
fn from_start(
    code: &impl Fn(FileAddr) -> Option<Decoded>,
    inside: std::ops::Range<u64>,
    addr: FileAddr,
) -> Option<State> {
    let mut todo = VecDeque::from([(inside.start, State::new(true))]);
    let mut seen = FxHashSet::default();
    while let Some((at, mut state)) = todo.pop_front() {
        if at == addr.0 {
            return Some(state);
        }
        if seen.len() >= MAX_INSTRUCTIONS || !inside.contains(&at) || !seen.insert(at) {
            continue;
        }
        let Some(instruction) = code(FileAddr(at)) else {
            continue;
        };
        state.pass(&instruction, Path::Saves);
        for next in successors(&instruction).into_iter().flatten() {
            todo.push_back((next, state.clone()));
        }
    }
    None
}

/// Returns whether an instruction returns, or jumps to another function, which will return. Jumps
/// through other registers than x16 and x17 are those of a `switch`.
fn leaves(code: &Decoded) -> bool {
    matches!(
        code.kind,
        Kind::JumpTo {
            transfer: Transfer::Return,
            ..
        } | Kind::JumpTo {
            register: 16 | 17,
            transfer: Transfer::Jump,
        }
    )
}

/// Returns the successors of an instruction.
fn successors(code: &Decoded) -> [Option<u64>; 2] {
    match code.kind {
        Kind::Jump {
            distance,
            links: false,
        } => [None, Some(code.at(distance))],
        Kind::JumpIf { distance, .. } => [Some(code.next()), Some(code.at(distance))],
        Kind::JumpTo {
            transfer: Transfer::Jump | Transfer::Return,
            ..
        }
        | Kind::Trap { .. }
        | Kind::Fault => [None, None],
        _ => [Some(code.next()), None],
    }
}

fn moved(place: RegisterOffset, by: i64) -> RegisterOffset {
    RegisterOffset {
        offset: place.offset.wrapping_add(by),
        ..place
    }
}

fn place(register: dwarf::Register) -> RegisterOffset {
    RegisterOffset {
        register,
        offset: 0,
    }
}

impl State {
    fn new(had_link: bool) -> Self {
        State {
            sp: Some(place(number::SP)),
            fp: Some(place(number::X29)),
            saved: Vec::new(),
            has_link: had_link,
            had_link,
        }
    }

    fn base(&self, register: u8) -> Option<RegisterOffset> {
        match register {
            STACK => self.sp,
            FRAME => self.fp,
            _ => None,
        }
    }

    /// Applies an instruction; `false` if the stack pointer becomes unknown.
    fn pass(&mut self, code: &Decoded, path: Path) -> bool {
        match code.kind {
            // A call returns with the same stack pointer.
            Kind::Jump { links: true, .. }
            | Kind::JumpTo {
                transfer: Transfer::Call,
                ..
            } => {
                self.has_link = false;
                return true;
            }
            Kind::Memory(access) => {
                let base = match access.base {
                    Base::Register(register @ (STACK | FRAME)) => Some(register),
                    _ => None,
                };
                let at = base.and_then(|base| self.base(base));
                let stepped = match access.write_back {
                    Some(WriteBack::By(by)) => at.map(|at| moved(at, by)),
                    _ => None,
                };
                if let (Some(at), None) = (at, access.index) {
                    self.exchange(moved(at, access.offset), &access, path);
                }
                let writes = access.data.writes;
                if writes & 1 << FRAME != 0 {
                    self.fp = None;
                }
                match (base, access.write_back) {
                    (Some(STACK), Some(_)) => self.sp = stepped,
                    (Some(_), Some(_)) => self.fp = stepped,
                    _ => {}
                }
            }
            Kind::AddImmediate {
                to: to @ (STACK | FRAME),
                from,
                value,
                sets_flags: false,
                ..
            } => {
                let result = self.base(from).map(|at| moved(at, value));
                match to {
                    STACK => self.sp = result,
                    _ => self.fp = result,
                }
            }
            // Signing keeps the address, and the unwinder strips the signature.
            kind if signature(code.word, &kind).is_some_and(|it| it.register == LINK) => {}
            _ => {
                let writes = code.effects().writes;
                if writes & SP != 0 {
                    self.sp = None;
                }
                if writes & 1 << FRAME != 0 {
                    self.fp = None;
                }
                if writes & 1 << LINK != 0 {
                    self.has_link = false;
                }
            }
        }
        self.sp.is_some()
    }

    /// Applies the save or restoration of registers at an address.
    fn exchange(
        &mut self,
        first: RegisterOffset,
        access: &super::memory::MemoryAccess,
        path: Path,
    ) {
        let Some(plain) = access.plain.filter(|plain| plain.bytes == 8) else {
            return;
        };
        for (nth, register) in (0..).zip(plain.registers) {
            let Some(register) = register.filter(|it| (19..=LINK).contains(it)) else {
                continue;
            };
            let at = moved(first, 8 * nth);
            let is_known = self.saved.iter().any(|(known, _)| *known == register);
            match (path, access.direction) {
                (Path::Saves, Direction::Store) if !is_known => self.saved.push((register, at)),
                (Path::Saves, Direction::Load) => {
                    self.saved.retain(|(known, _)| *known != register);
                    self.has_link |= register == LINK;
                }
                // A register that is saved only later still has its value.
                (Path::Restores, Direction::Load)
                    if at.register != number::SP || at.offset >= 0 =>
                {
                    self.saved.retain(|(known, _)| *known != register);
                    self.saved.push((register, at));
                }
                (Path::Restores, Direction::Load) if register == LINK => {
                    self.has_link = self.had_link;
                }
                _ => {}
            }
        }
    }

    /// Returns the rule at the end of a path that restores everything.
    fn unwind_behind(&self) -> Option<HeuristicUnwind> {
        self.unwind(self.sp?, |place| place, self.has_link)
    }

    /// Returns the rule at the end of a path from the function's start.
    fn unwind_at(&self, is_return: bool) -> Option<HeuristicUnwind> {
        // The places are relative to the stack pointer at the start; converted to what now has a
        // known distance from it.
        let of_start = |it: &RegisterOffset| it.register == number::SP;
        let (register, distance) = match (self.sp.filter(of_start), self.fp.filter(of_start)) {
            (Some(sp), _) => (number::SP, sp.offset),
            (None, Some(fp)) => (number::X29, fp.offset),
            (None, None) => return None,
        };
        let now = |place: RegisterOffset| RegisterOffset {
            register,
            offset: place.offset.wrapping_sub(distance),
        };
        self.unwind(now(place(number::SP)), now, self.has_link && !is_return)
    }

    fn unwind(
        &self,
        cfa: RegisterOffset,
        now: impl Fn(RegisterOffset) -> RegisterOffset,
        has_link: bool,
    ) -> Option<HeuristicUnwind> {
        let link = self.saved.iter().find(|(register, _)| *register == LINK);
        let return_address = match link {
            Some((_, at)) => ReturnAddress::SavedAt(now(*at)),
            None if has_link => ReturnAddress::In(number::X30),
            None => return None,
        };
        let saved = self.saved.iter().filter(|(register, _)| *register != LINK);
        Some(HeuristicUnwind {
            cfa: CfaLocation::At(cfa),
            return_address,
            saved: saved
                .map(|(register, at)| (dwarf_register(*register), now(*at)))
                .collect(),
        })
    }
}
