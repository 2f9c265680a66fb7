//! The start of a function's body, and its ends, according to its control flow. A compiler's mark after the
//! prologue may be jumped over, or be in a loop.

use super::flow::Graph;
use super::{Arch, Flow, Instruction, MAX_INSTRUCTION_BYTES, TargetSource};
use dwarf::{FileAddr, LoadAddr};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of instructions in a prologue. Loops in it (stack probes) are decoded once.
const MAX_PROLOGUE: usize = 512;

/// A function's code.
pub struct Code<'a> {
    /// Its instruction set.
    pub arch: Arch,
    /// Reads the bytes from an address of it on, at most those of an instruction. Returns their
    /// number.
    pub read: &'a dyn Fn(FileAddr, &mut [u8; MAX_INSTRUCTION_BYTES]) -> usize,
    /// Returns all of it, in parts.
    pub parts: &'a dyn Fn() -> Vec<(FileAddr, Vec<u8>)>,
    /// Whether its parameters are in the frame only, where the prologue stores them.
    pub spills_parameters: bool,
}

/// The stop address of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Body {
    /// An address that every call passes.
    pub addr: FileAddr,
    /// The function's entry.
    entry: FileAddr,
    /// An instruction before it that every call passes exactly once; `None` if none is known.
    before: Option<FileAddr>,
}

/// Returns `marked` if each call passes it before it leaves the function that begins at `entry`;
/// else the entry.
pub fn passed_by_each_call(code: &Code<'_>, entry: FileAddr, marked: FileAddr) -> Body {
    let at_entry = Body {
        addr: entry,
        entry,
        before: None,
    };
    if marked == entry {
        return at_entry;
    }
    // Instructions between the two, with their predecessors.
    let mut led_from: FxHashMap<u64, Vec<u64>> = FxHashMap::from_iter([(entry.0, Vec::new())]);
    let mut ends = vec![marked.0];
    let mut todo = vec![entry.0];
    while let Some(addr) = todo.pop() {
        let Some(instruction) = code.decode(addr) else {
            return at_entry;
        };
        let next = match next(&instruction) {
            Next::Leaves => return at_entry,
            Next::Fails => {
                ends.push(addr);
                continue;
            }
            Next::To(next) => next,
        };
        for next in next.into_iter().flatten() {
            let is_new = !led_from.contains_key(&next);
            led_from.entry(next).or_default().push(addr);
            if is_new && next != marked.0 {
                todo.push(next);
            }
        }
        if led_from.len() > MAX_PROLOGUE {
            return at_entry;
        }
    }
    let Some(last) = led_from.get(&marked.0) else {
        return at_entry;
    };
    let before = match &last[..] {
        [only] => Some(FileAddr(*only)),
        _ => None,
    };
    // Remove what leads to `marked`; a path into an endless loop never does.
    while let Some(addr) = ends.pop() {
        ends.extend(led_from.remove(&addr).into_iter().flatten());
    }
    match led_from.is_empty() {
        true => Body {
            addr: marked,
            entry,
            before,
        },
        false => at_entry,
    }
}

/// Returns an address that each call passes, exactly once if there is one, and at which arguments
/// can be read. `body` is the start of the function's body.
pub fn passed_once(code: &Code<'_>, body: Body) -> FileAddr {
    // In unoptimized code an argument that is not yet stored has another value.
    let stores = |addr: FileAddr| {
        let instruction = code.decode(addr.0);
        instruction.is_none_or(|it| it.may_store())
    };
    let Some(before) = body.before else {
        return body.addr;
    };
    if code.spills_parameters && stores(before) {
        return body.addr;
    }
    let repeated = Repeated::of(code);
    match repeated.has(body.addr) && !repeated.has(before) {
        true => before,
        false => body.addr,
    }
}

/// Returns an address that each call passes, exactly once if there is one. Unlike at [`passed_once`], arguments may
/// not be readable there.
pub fn counted_once(code: &Code<'_>, body: Body) -> FileAddr {
    let repeated = Repeated::of(code);
    if !repeated.has(body.addr) {
        return body.addr;
    }
    // The instructions that execution passes one after the other from the entry on.
    let mut passed = Vec::new();
    let mut addr = body.entry;
    while addr != body.addr && passed.len() < MAX_PROLOGUE {
        passed.push(addr);
        match code.decode(addr.0) {
            Some(it) if matches!(next(&it), Next::To([Some(to), None]) if to == it.next().0) => {
                addr = FileAddr(it.next().0);
            }
            _ => break,
        }
    }
    let once = passed.into_iter().rev().find(|addr| !repeated.has(*addr));
    once.unwrap_or(body.addr)
}

/// Which instructions of a function a call may pass again.
struct Repeated(Graph);

impl Repeated {
    fn of(code: &Code<'_>) -> Repeated {
        Repeated(Graph::new(code.arch, &(code.parts)(), |_| true))
    }

    fn has(&self, addr: FileAddr) -> bool {
        self.0.leads(addr.0, addr.0, &FxHashSet::default())
    }
}

/// Returns the address behind the landing pad of indirect calls at `addr`, if execution gets there
/// through the pad only; else `addr`.
///
/// A jump cannot replace the pad, but the instruction behind it. Where that is the head of a loop
/// (or of a tail recursion), a breakpoint there would be hit in each pass.
pub fn behind_landing_pad(code: &Code<'_>, addr: FileAddr) -> FileAddr {
    let Some(pad) = code.decode(addr.0).filter(Instruction::must_stay_in_place) else {
        return addr;
    };
    let next = pad.next();
    // The end of the function, or another pad.
    if (code.decode(next.0)).is_none_or(|next| next.must_stay_in_place()) {
        return addr;
    }
    let leads_there =
        |decoded: Result<Instruction, _>| decoded.is_ok_and(|it| it.direct_target() == Some(next));
    let is_target = (code.parts)().iter().any(|(start, bytes)| {
        code.arch
            .decode_all(bytes, LoadAddr(start.0))
            .any(leads_there)
    });
    match is_target {
        true => addr,
        false => FileAddr(next.0),
    }
}

/// The successors of an instruction.
enum Next {
    To([Option<u64>; 2]),
    /// Outside the function, or unknown.
    Leaves,
    /// None: the instruction traps.
    Fails,
}

fn next(instruction: &Instruction) -> Next {
    let behind = Some(instruction.next().0);
    match instruction.flow {
        Flow::Jump(target) => Next::To([Some(target.0), None]),
        Flow::ConditionalJump(target) => Next::To([behind, Some(target.0)]),
        Flow::Transaction(target) => Next::To([behind, target.map(|target| target.0)]),
        Flow::IndirectJump(_) | Flow::Return => Next::Leaves,
        Flow::Fault => Next::Fails,
        _ => Next::To([behind, None]),
    }
}

impl Code<'_> {
    /// Decodes the instruction at an address of the function.
    fn decode(&self, addr: u64) -> Option<Instruction> {
        let mut bytes = [0; MAX_INSTRUCTION_BYTES];
        let len = (self.read)(FileAddr(addr), &mut bytes);
        self.arch.decode(bytes.get(..len)?, LoadAddr(addr))
    }
}

/// How calls leave a function at one of its exits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// By a return.
    Return,
    /// By a jump to another function, which returns to the caller: the result is not known yet.
    Jump,
    /// By such a jump if its condition holds.
    Branch,
}

/// Returns whether an instruction jumps through a register, or by a table: most lead into the function.
pub fn is_computed_jump(instruction: &Instruction) -> bool {
    matches!(instruction.flow, Flow::IndirectJump(TargetSource::Computed))
}

/// Returns addresses in a function's code that each of its calls passes once before it returns: those of
/// returns and of jumps that leave it, or of what restores the caller's registers before them, which has
/// more room for a jump. Jumps that [`is_computed_jump`] means are not among them.
pub fn exits(code: &[Instruction], leaves: impl Fn(LoadAddr) -> bool) -> Vec<(LoadAddr, Leaving)> {
    let targets = code.iter().filter_map(Instruction::direct_target);
    let targets: FxHashSet<LoadAddr> = targets.collect();
    // Where a table of jumps leads is not known here.
    let has_tables = code.iter().any(is_computed_jump);
    let mut exits = Vec::new();
    for (at, instruction) in code.iter().enumerate() {
        let leaving = match instruction.flow {
            Flow::Return => Leaving::Return,
            Flow::Jump(target) if leaves(target) => Leaving::Jump,
            // Through a word of the global offset table, or of an object.
            Flow::IndirectJump(TargetSource::Word(_) | TargetSource::Object) => Leaving::Jump,
            Flow::ConditionalJump(target) if leaves(target) => {
                exits.push((instruction.addr, Leaving::Branch));
                continue;
            }
            _ => continue,
        };
        let mut first = instruction;
        for before in code[..at].iter().rev() {
            let leads_on = before.next() == first.addr && before.releases_frame();
            if has_tables || !leads_on || targets.contains(&first.addr) {
                break;
            }
            first = before;
        }
        exits.push((first.addr, leaving));
    }
    exits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stop address of a function with this code at 0, marked at `marked`.
    fn stop(code: &[u8], marked: u64, spills_parameters: bool) -> u64 {
        let read = |addr: FileAddr, bytes: &mut [u8; MAX_INSTRUCTION_BYTES]| {
            let rest = code.get(addr.0 as usize..).unwrap_or_default();
            let len = rest.len().min(bytes.len());
            bytes[..len].copy_from_slice(&rest[..len]);
            len
        };
        let code = Code {
            arch: Arch::X86_64,
            read: &read,
            parts: &|| vec![(FileAddr(0), code.to_vec())],
            spills_parameters,
        };
        let body = passed_by_each_call(&code, FileAddr(0), FileAddr(marked));
        passed_once(&code, body).0
    }

    /// The exits of code at 0x100, which may jump to 0x1000 outside.
    fn ends(code: &[u8]) -> Vec<u64> {
        leaving(code).into_iter().map(|(at, _)| at).collect()
    }

    fn leaving(code: &[u8]) -> Vec<(u64, Leaving)> {
        let decoded = Arch::X86_64.decode_all(code, LoadAddr(0x100));
        let code: Vec<Instruction> = decoded.filter_map(Result::ok).collect();
        let exits = exits(&code, |target| target.0 >= 0x1000);
        let exits = exits.into_iter();
        exits.map(|(at, leaving)| (at.0 - 0x100, leaving)).collect()
    }

    #[test]
    fn exits_are_returns_and_jumps_to_other_functions() {
        // 0: test edi,edi; 2: je 0x1000; 8: je 11; 10: ret; 11: jmp 0x1000
        let code = [
            0x85, 0xff, 0x0f, 0x84, 0xf8, 0x0e, 0, 0, 0x74, 1, 0xc3, 0xe9, 0xf0, 0x0e, 0, 0,
        ];
        let expected = [
            (2, Leaving::Branch),
            (10, Leaving::Return),
            (11, Leaving::Jump),
        ];
        assert_eq!(leaving(&code), expected);
    }

    #[test]
    fn exits_are_where_the_frame_is_released() {
        // 0: test edi,edi; 2: je 10; 4: add rsp,8; 8: pop rbx; 9: pop rbp; 10: ret
        // The jump passes the pops by.
        let code = [0x85, 0xff, 0x74, 6, 0x48, 0x83, 0xc4, 8, 0x5b, 0x5d, 0xc3];
        assert_eq!(ends(&code), [10]);
        // It leads to their beginning.
        let code = [0x85, 0xff, 0x74, 0, 0x48, 0x83, 0xc4, 8, 0x5b, 0x5d, 0xc3];
        assert_eq!(ends(&code), [4]);
        // 0: mov eax,ebx; 2: pop r12; 4: pop rax; 5: leave; 6: ret: `pop rax` changes the result.
        assert_eq!(ends(&[0x89, 0xd8, 0x41, 0x5c, 0x58, 0xc9, 0xc3]), [5]);
        // 0: pop rbx; 1: jmp 0x1000; 6: pop rbx; 7: jmp 6: the second stays in the function.
        let code = [0x5b, 0xe9, 0xfa, 0x0e, 0, 0, 0x5b, 0xeb, 0xfd];
        assert_eq!(ends(&code), [0]);
        // 0: pop rbx; 1: ret; 2: jmp [rax*8]: a table may lead anywhere.
        let code = [0x5b, 0xc3, 0xff, 0x24, 0xc5, 0, 0, 0, 0];
        assert_eq!(ends(&code), [1]);
    }

    #[test]
    fn body_follows_a_straight_prologue() {
        // push rbp; mov rbp,rsp; nop; pop rbp; ret
        let code = [0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3];
        assert_eq!(stop(&code, 4, true), 4);
        // 0: sub rsp,4; 4: jne 0 (probes the stack); 6: nop; 7: ret
        let code = [0x48, 0x83, 0xec, 4, 0x75, 0xfa, 0x90, 0xc3];
        assert_eq!(stop(&code, 6, true), 6);
        // 0: jne 4; 2: ud2; 4: nop; 5: ret
        let code = [0x75, 2, 0x0f, 0x0b, 0x90, 0xc3];
        assert_eq!(stop(&code, 4, true), 4);
    }

    #[test]
    fn a_mark_that_calls_jump_over_is_not_used() {
        // 0: test edi,edi; 2: je 6; 4: dec edi; 6: ret
        let code = [0x85, 0xff, 0x74, 2, 0xff, 0xcf, 0xc3];
        assert_eq!(stop(&code, 4, false), 0);
        // 0: test edi,edi; 2: je 5; 4: ret; 5: nop; 6: ret
        let code = [0x85, 0xff, 0x74, 1, 0xc3, 0x90, 0xc3];
        assert_eq!(stop(&code, 5, false), 0);
        // 0: jmp rax; 2: nop; 3: ret
        assert_eq!(stop(&[0xff, 0xe0, 0x90, 0xc3], 2, false), 0);
        // 0: jne 4; 2: jmp 2; 4: nop; 5: ret
        let code = [0x75, 2, 0xeb, 0xfe, 0x90, 0xc3];
        assert_eq!(stop(&code, 4, false), 0);
        // Garbage.
        assert_eq!(stop(&[0x06, 0x90, 0xc3], 1, false), 0);
        assert_eq!(stop(&[0x90], 7, false), 0);
    }

    #[test]
    fn landing_pad_is_passed_unless_a_loop_begins_behind_it() {
        let behind = |words: &[u32], addr: u64| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let read = |addr: FileAddr, into: &mut [u8; MAX_INSTRUCTION_BYTES]| {
                let rest = bytes.get(addr.0 as usize..).unwrap_or_default();
                let len = rest.len().min(4);
                into[..len].copy_from_slice(&rest[..len]);
                len
            };
            let code = Code {
                arch: Arch::Aarch64,
                read: &read,
                parts: &|| vec![(FileAddr(0), bytes.clone())],
                spills_parameters: false,
            };
            behind_landing_pad(&code, FileAddr(addr)).0
        };
        const BTI: u32 = 0xd503_245f;
        const NOP: u32 = 0xd503_201f;
        const RET: u32 = 0xd65f_03c0;
        // `bti c`, `bti j`, `bti jc`, `paciasp`, `pacibsp`
        for pad in [BTI, 0xd503_249f, 0xd503_24df, 0xd503_233f, 0xd503_237f] {
            assert_eq!(behind(&[pad, NOP, RET], 0), 4, "{pad:#x}");
        }
        assert_eq!(behind(&[NOP, NOP, RET], 0), 0);
        // 0: bti c; 4: nop; 8: cbnz x0, 4 (then 0); 12: ret
        assert_eq!(behind(&[BTI, NOP, 0xb5ff_ffe0, RET], 0), 0);
        assert_eq!(behind(&[BTI, NOP, 0xb5ff_ffc0, RET], 0), 4);
        // 0: bti c; 4: nop; 8: b 4; the same as a call
        assert_eq!(behind(&[BTI, NOP, 0x17ff_ffff], 0), 0);
        assert_eq!(behind(&[BTI, NOP, 0x97ff_ffff, RET], 0), 0);
        // At the end, before another pad, and outside.
        assert_eq!(behind(&[NOP, BTI], 4), 4);
        assert_eq!(behind(&[BTI, BTI, RET], 0), 0);
        assert_eq!(behind(&[BTI, RET], 8), 8);
    }

    #[test]
    fn mark_in_a_loop_yields_to_its_predecessor() {
        // 0: xor eax,eax; 2: test edi,edi; 4: je 10; 6: dec edi; 8: jmp 2; 10: ret
        let code = [
            0x31, 0xc0, 0x85, 0xff, 0x74, 4, 0xff, 0xcf, 0xeb, 0xf8, 0xc3,
        ];
        assert_eq!(stop(&code, 2, false), 0);
        assert_eq!(stop(&code, 2, true), 0);
        // 0: mov [rsp-8],rdi; 5: dec edi; 7: jne 5; 9: ret
        let code = [0x48, 0x89, 0x7c, 0x24, 0xf8, 0xff, 0xcf, 0x75, 0xfc, 0xc3];
        assert_eq!(stop(&code, 5, false), 0);
        assert_eq!(stop(&code, 5, true), 5, "the argument is to be seen");
        // The whole body is a loop: 0: dec edi; 2: jne 0; 4: ret
        assert_eq!(stop(&[0xff, 0xcf, 0x75, 0xfc, 0xc3], 0, false), 0);
    }
}
