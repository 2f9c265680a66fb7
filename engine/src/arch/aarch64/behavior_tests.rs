//! What the layers above ask, instruction by instruction.

use super::super::convention::TlsTemplate;
use super::super::{
    Arch, DirectCall, Flavor, Flow, Formatter, Instruction, RegisterFile, Simulation,
};
use super::super::{PointerChain, TargetSource};
use super::decode::decoded;
use super::heuristic_unwind::{binding_stub, of_code};
use super::{extended, own, registers, relocate};
use crate::arch::ExtendedRegisters;
use dwarf::register::aarch64::{PC, PSTATE, SP, V0, X29, X30};
use dwarf::{
    CfaLocation, FileAddr, HeuristicUnwind, LoadAddr, Memory, Register, RegisterOffset,
    ReturnAddress, Unreadable,
};

const ARCH: Arch = Arch::Aarch64;
const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;

fn at(word: u32, addr: u64) -> Instruction {
    let instruction = ARCH.decode(&word.to_le_bytes(), LoadAddr(addr));
    instruction.unwrap_or_else(|| panic!("{word:08x} is an instruction"))
}

/// Registers by DWARF number, of which all up to the flags are known.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Plain([u64; 34]);

impl Plain {
    fn zeroed() -> Self {
        Self([0; 34])
    }

    fn with(mut self, values: &[(Register, u64)]) -> Self {
        for (register, value) in values {
            assert!(self.set(*register, *value));
        }
        self
    }
}

impl RegisterFile for Plain {
    fn get(&self, register: Register) -> Option<u64> {
        self.0.get(usize::from(register.0)).copied()
    }

    fn set(&mut self, register: Register, value: u64) -> bool {
        let place = self.0.get_mut(usize::from(register.0));
        place.map(|place| *place = value).is_some()
    }

    fn sp(&self) -> u64 {
        self.0[31]
    }

    fn set_sp(&mut self, sp: u64) {
        self.0[31] = sp;
    }

    fn set_pc(&mut self, pc: LoadAddr) {
        self.0[32] = pc.0;
    }
}

/// Memory in which every word is its address plus one.
struct Addresses;

impl Memory for Addresses {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let word = (addr.0 + 1).to_le_bytes();
        let len = buffer.len().min(8);
        buffer[..len].copy_from_slice(&word[..len]);
        Ok(())
    }
}

/// Code at an address.
fn reading(start: u64, words: &[u32]) -> impl Fn(LoadAddr) -> Option<Instruction> {
    move |addr| {
        let index = usize::try_from(addr.0.checked_sub(start)? / 4).ok()?;
        ARCH.decode(&words.get(index)?.to_le_bytes(), addr)
    }
}

#[test]
fn random_words_do_not_panic() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut formatter = Formatter::new(ARCH, Flavor::Intel);
    let registers = Plain([0x8000_0000_0000_1004; 34]);
    let mut simulation = Simulation::new(ARCH, &registers, &Addresses);
    for count in 0..2_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = (state >> 16) as u32;
        let Some(instruction) = ARCH.decode(&word.to_le_bytes(), LoadAddr(state)) else {
            continue;
        };
        if count % 8 != 0 {
            continue;
        }
        simulation.execute(&instruction);
        let code = [instruction];
        ARCH.pointer_chain(Register((word & 31) as u16), &code, &registers);
        instruction.accesses(&registers);
        instruction.divisor(&registers);
        instruction.emulate(&registers, &Addresses);
        instruction.relocate(LoadAddr(state ^ 0x1000));
        ARCH.arguments_read(instruction.addr, |at| {
            (at == instruction.addr).then_some(instruction)
        });
        assert!(!formatter.text(&instruction).is_empty(), "{word:08x}");
    }
}

#[test]
fn traps_leave_the_pc_in_place() {
    let site = LoadAddr(0x1000);
    assert_eq!(ARCH.breakpoint(), [0, 0, 0x20, 0xd4]);
    assert_eq!(ARCH.breakpoint_address(site), site);
    let flow = |word| at(word, 0x1000).flow;
    assert_eq!(flow(0xd420_0000), Flow::Interrupt);
    // Those of clang and gcc for `__builtin_trap`, of a sanitizer, and `udf`.
    for trap in [0xd420_0020, 0xd420_7d00, 0xd42a_a280, 0x0000_0000] {
        assert_eq!(flow(trap), Flow::Fault);
        assert!(at(trap, 0).is_compiler_trap());
    }
    let system_call = at(
        u32::from_le_bytes(*ARCH.system_call_instruction().first_chunk().unwrap()),
        0,
    );
    assert_eq!(system_call.flow, Flow::SystemCall);
    assert!(!system_call.can_be_stepped());
    assert!(!at(0x885f_fc20, 0).can_be_stepped(), "ldaxr");
    assert!(ARCH.decode(&[0, 0, 0x20], site).is_none(), "three bytes");
    assert_eq!(Arch::of_elf(183), Some(ARCH));
    assert_eq!(Arch::of(dwarf::Machine::Aarch64), Some(ARCH));
}

#[test]
fn flow_of_jumps_to_registers() {
    let computed = TargetSource::Computed;
    for (word, flow) in [
        (0xd61f_0120, Flow::IndirectJump(computed)),
        (0xd63f_0100, Flow::IndirectCall(computed)),
        (RET, Flow::Return),
        // `braa`, `blraa`, `retaa`, `retaasppc`
        (0xd71f_0909, Flow::IndirectJump(computed)),
        (0xd73f_0909, Flow::IndirectCall(computed)),
        (0xd65f_0bff, Flow::Return),
        (0x5500_001f, Flow::Return),
        // `eret`, `hlt`
        (0xd69f_03e0, Flow::Fault),
        (0xd440_0000, Flow::Fault),
    ] {
        assert_eq!(at(word, 0).flow, flow, "{word:08x}");
    }
    let registers = Plain::zeroed().with(&[(Register(8), 0x5000)]);
    let target = at(0xd63f_0100, 0).target(&registers, &Addresses);
    assert_eq!(target, Some(LoadAddr(0x5000)));
}

#[test]
fn texts_have_addresses() {
    let mut formatter = Formatter::new(ARCH, Flavor::Att);
    let mut text = |word, addr| formatter.text(&at(word, addr));
    assert_eq!(text(0x97ff_fffb, 0x1000), "bl 0xfec");
    assert_eq!(text(0x54ff_fc8c, 0x10d0), "b.gt 0x1060");
    assert_eq!(text(0x9000_0003, 0x1084), "adrp x3, 0x1000");
    assert_eq!(text(0x58ff_fe07, 0x10a0), "ldr x7, 0x1060");
    assert_eq!(text(0xd503_245f, 0), "bti c");
    // cmp x21, w2, uxtw; add x27, x21, w27, uxtw #3
    assert_eq!(text(0xeb22_42bf, 0), "cmp x21, w2, uxtw");
    assert_eq!(text(0x8b3b_4ebb, 0), "add x27, x21, w27, uxtw #3");
    assert_eq!(text(0x8b22_63ff, 0), "add sp, sp, x2");
    assert_eq!(text(0xd53b_4401, 0), "mrs x1, fpcr");
    assert_eq!(text(0xd50b_7423, 0), "dc zva, x3");
    assert_eq!(text(0x2522_1ce1, 0), ".inst 0x25221ce1");
    assert_eq!(at(0xd69f_03e0, 0).mnemonic(), "eret");
}

#[test]
fn operands_in_memory() {
    let registers = Plain::zeroed().with(&[
        (Register(1), 0x1000),
        (Register(2), u64::from(u32::MAX)),
        (SP, 0x7000),
    ]);
    let access = |word| {
        let [access] = at(word, 0x2000).accesses(&registers)[..] else {
            panic!("{word:08x} has one operand");
        };
        (access.at, access.size, access.write)
    };
    // ldr x0, [x1, w2, sxtw #3]; str x0, [x1], #8; stp x29, x30, [sp, #-48]!
    assert_eq!(access(0xf862_d820), (0xff8, 8, false));
    assert_eq!(access(0xf800_8420), (0x1000, 8, true));
    assert_eq!(access(0xa9bd_7bfd), (0x6fd0, 16, true));
    // ldr q0, 0x1fc4; ldadd x3, x4, [x5]; casp x0, x1, x2, x3, [x4]
    assert_eq!(access(0x9cff_fe20), (0x1fc4, 16, false));
    assert_eq!(access(0xf823_00a4), (0, 8, true));
    assert_eq!(access(0x4820_7c82), (0, 16, true));
    // dc zva, x1: a block whose size is the processor's
    assert_eq!(access(0xd50b_7421), (0x1000, 0, true));
    let store = at(0xf900_17e0, 0).accesses(&registers)[0];
    assert_eq!((store.base, store.is_plain), (Some((SP, 40)), true));
    assert!(at(0xf900_17e0, 0).may_store());
    assert!(at(0xf980_0000, 0).accesses(&registers).is_empty(), "prfm");
}

#[test]
fn emulated_instructions_write_registers_alone() {
    const CARRY: u64 = 1 << 29;
    let before = Plain::zeroed().with(&[
        (Register(8), 0x9000),
        // With a tag.
        (Register(9), 0xab << 56 | 0x9000),
        (X30, 0x7000),
        (PSTATE, CARRY | 0b11 << 10),
    ]);
    let after = |word: u32, changed: &[(Register, u64)]| {
        let emulated = at(word, 0x1060).emulate(&before, &Addresses).unwrap();
        assert!(emulated.store.is_none());
        let expected = before.with(&[(PSTATE, CARRY)]).with(changed);
        assert_eq!(emulated.registers, expected, "{word:08x}");
    };
    after(NOP, &[(PC, 0x1064)]);
    after(RET, &[(PC, 0x7000)]);
    after(0x97ff_fffb, &[(PC, 0x104c), (X30, 0x1064)]);
    for jump in [0xd61f_0100, 0xd61f_0120] {
        after(jump, &[(PC, 0x9000), (PSTATE, CARRY | 0b01 << 10)]);
    }
    after(0xd65f_0120, &[(PC, 0x9000)]);
    after(
        0xd63f_0100,
        &[(PC, 0x9000), (X30, 0x1064), (PSTATE, CARRY | 0b10 << 10)],
    );
    // cbz w6; tbz x5, #40; tbnz x8, #12; b.cs; b.hi; b.eq; b.ge
    after(0x34ff_fca6, &[(PC, 0xff4)]);
    after(0xb647_fcc5, &[(PC, 0xff8)]);
    after(0x3760_0048, &[(PC, 0x1068)]);
    after(0x5400_0042, &[(PC, 0x1068)]);
    after(0x5400_0048, &[(PC, 0x1068)]);
    after(0x5400_0040, &[(PC, 0x1064)]);
    after(0x5400_004a, &[(PC, 0x1068)]);
    // adr x7; adrp x3; ldr x7; ldrsw x7
    after(0x10ff_fdc7, &[(PC, 0x1064), (Register(7), 0x1018)]);
    after(0x9000_0003, &[(PC, 0x1064), (Register(3), 0x1000)]);
    after(0x58ff_fe07, &[(PC, 0x1064), (Register(7), 0x1021)]);
    after(0x98ff_fde7, &[(PC, 0x1064), (Register(7), 0x101d)]);
    for other in [
        0xd73f_0909,
        0xd65f_0bff,
        0xd503_233f,
        0xf940_0008,
        0xd420_0000,
    ] {
        assert!(
            at(other, 0).emulate(&before, &Addresses).is_none(),
            "{other:08x}"
        );
    }
}

/// Decodes the words of a relocated instruction at `pad`.
fn relocated(word: u32, pad: u64) -> Option<(Vec<Instruction>, u64)> {
    let relocated = at(word, 0x10_1060).relocate(LoadAddr(pad))?;
    let code = ARCH.decode_all(&relocated.bytes, LoadAddr(pad));
    let code: Vec<_> = code.map(Result::unwrap).collect();
    let jump = code
        .iter()
        .find(|it| it.addr.0 == pad + relocated.jump as u64)
        .unwrap();
    assert_eq!(jump.flow, Flow::Jump(relocated.next));
    Some((code, relocated.next.0))
}

#[test]
fn relocated_instructions_have_the_same_targets() {
    const NEXT: u64 = 0x10_1064;
    for pad in [0x12_0000, 0x600_0000] {
        // Addresses are computed in the register that the original writes.
        for (word, register, value) in [
            (0x10ff_fdc7_u32, 7_u16, 0x10_1018_u64),
            (0x9000_0003, 3, 0x10_1000),
            (0x97ff_fffb, 30, NEXT),
            (0xd63f_0100, 30, NEXT),
            (0xd73f_0909, 30, NEXT),
        ] {
            let (code, _) = relocated(word, pad).unwrap();
            let registers = Plain::zeroed();
            let mut simulation = Simulation::new(ARCH, &registers, &Addresses);
            for instruction in code.iter().take_while(|it| it.flow == Flow::Next) {
                simulation.execute(instruction);
            }
            let read = at(0xd61f_0000 | u32::from(register) << 5, 0);
            assert_eq!(
                simulation.target(&read),
                Some(LoadAddr(value)),
                "{word:08x}"
            );
        }
        assert_eq!(relocated(0x97ff_fffb, pad).unwrap().1, 0x10_104c, "bl");
        assert_eq!(relocated(0x17ff_fffb, pad).unwrap().1, 0x10_104c, "b");
        for (word, target) in [
            (0x54ff_fc8c, 0x10_0ff0),
            (0x34ff_fca6, 0x10_0ff4),
            (0xb647_fcc5, 0x10_0ff8),
        ] {
            let (code, next) = relocated(word, pad).unwrap();
            assert_eq!(next, NEXT);
            // The opposite condition leads over the jump to the target.
            assert_eq!(code[0].flow, Flow::ConditionalJump(LoadAddr(pad + 8)));
            assert_eq!(code[1].flow, Flow::Jump(LoadAddr(target)));
            let taken = |instruction: &Instruction| {
                let registers = Plain::zeroed().with(&[(PSTATE, 0)]);
                let after = instruction.emulate(&registers, &Addresses).unwrap();
                after.registers.get(PC) != Some(instruction.next().0)
            };
            assert_ne!(taken(&code[0]), taken(&at(word, 0x10_1060)));
        }
        // Always taken.
        assert_eq!(relocated(0x5400_004e, pad).unwrap().1, 0x10_1068);
        for (word, addr, size) in [(0x58ff_fe07, 0x10_1020, 8), (0x98ff_fde7, 0x10_101c, 4)] {
            let (code, _) = relocated(word, pad).unwrap();
            let load = code.iter().rev().nth(1).unwrap();
            let registers = Plain::zeroed().with(&[(Register(7), addr)]);
            let access = load.accesses(&registers)[0];
            assert_eq!((access.at, access.size), (addr, size));
            assert_eq!(own(load).unwrap().effects().writes, 1 << 7);
        }
        // What does not depend on the pc is the same.
        for word in [NOP, 0xd65f_0bff, 0xf940_0008, 0xd503_233f, 0xd400_0001] {
            assert_eq!(
                relocated(word, pad).unwrap().0[0],
                at(word, pad),
                "{word:08x}"
            );
        }
    }
    // The literal of a vector register, within reach and too far away.
    let (code, _) = relocated(0x9cff_fe20, 0x12_0000).unwrap();
    assert_eq!(code[0].operand_near_pc(), Some(LoadAddr(0x10_1024)));
    assert!(relocated(0x9cff_fe20, 0x600_0000).is_none());
    // Exclusive accesses, traps, signatures with the pc, and jumps that are too long.
    for word in [
        0x885f_fc20,
        0xd420_0000,
        0x5500_001f,
        0xf380_001f,
        0xd65f_0be3,
    ] {
        assert!(relocated(word, 0x12_0000).is_none(), "{word:08x}");
    }
    assert!(relocated(NOP, 0x10_1060 + (129 << 20)).is_none());
    // blr x30
    assert!(relocated(0xd63f_03c0, 0x12_0000).is_none());
}

#[test]
fn exclusive_sequences_end_behind_their_test() {
    let range = |words: &[u32], addr: u64| {
        let found = ARCH.exclusive_sequence(LoadAddr(addr), reading(0x1000, words))?;
        Some((found.start.0, found.end.0))
    };
    // nop; 1: ldaxr w0, [x1]; cmp w0, w2; b.ne 2f; stlxr w3, w4, [x1]; cbnz w3, 1b; 2: ret
    let swap = [
        NOP,
        0x885f_fc20,
        0x6b02_001f,
        0x5400_0061,
        0x8803_fc24,
        0x35ff_ff83,
        RET,
    ];
    for inside in (0x1004..0x1018).step_by(4) {
        assert_eq!(range(&swap, inside), Some((0x1004, 0x1018)), "{inside:x}");
    }
    assert_eq!(range(&swap, 0x1000), None);
    assert_eq!(range(&swap, 0x1018), None);
    // 1: ldxr x0, [x1]; add x0, x0, #1; stxr w2, x0, [x1]; cmp w2, #0; b.ne 1b; ret
    let add = [
        0xc85f_7c20,
        0x9100_0400,
        0xc802_7c20,
        0x7100_005f,
        0x54ff_ff81,
        RET,
    ];
    assert_eq!(range(&add, 0x1008), Some((0x1000, 0x1014)));
    // Without a test, with `clrex` and a jump away before the store, and without a store.
    assert_eq!(
        range(&[0xc85f_7c20, 0xc802_7c20, RET], 0x1004),
        Some((0x1000, 0x1008))
    );
    let out_of_line = [0xc85f_7c20, 0xb400_0060, 0xd503_3f5f, RET, 0xc802_7c20, RET];
    assert_eq!(range(&out_of_line, 0x1010), Some((0x1000, 0x1014)));
    assert_eq!(range(&[0xc85f_7c20, 0xd503_3f5f, RET], 0x1004), None);
    let mut long = vec![NOP; 70];
    (long[0], long[66]) = (0xc85f_7c20, 0xc802_7c20);
    assert_eq!(range(&long, 0x1004), None);
    assert_eq!(
        Arch::X86_64.exclusive_sequence(LoadAddr(0x1000), |_| None),
        None
    );
}

#[test]
fn register_read_before_written_is_an_argument() {
    let read = |words: &[u32]| ARCH.arguments_read(LoadAddr(0), reading(0, words));
    // sdiv x0, x1, x2; fadd d0, d0, d1; fmov d2, x3; ret
    let all = [0x9ac2_0c20, 0x1e61_2800, 0x9e67_0062, RET];
    let v = |nth| Register(V0.0 + nth);
    assert_eq!(
        read(&all),
        [Register(1), Register(2), Register(3), v(0), v(1)]
    );
    // movi v5.2d, #0; fmla v5.2d, v6.2d, v7.2d; eor v3.16b, v3.16b, v3.16b; scvtf d3, w4
    let vectors = [0x6f00_e405, 0x4e67_ccc5, 0x6e23_1c63, 0x1e62_0083, RET];
    assert_eq!(read(&vectors), [Register(4), v(6), v(7)]);
    // mov x9, #0x1234; bl; then x0 is a result
    assert_eq!(read(&[0xd282_4689, 0x9400_0001, 0xf940_0008]), []);
}

#[test]
fn a_prologue_keeps_the_address_for_the_result() {
    let kept = |words: &[u32]| ARCH.result_address_store(LoadAddr(0), reading(0, words));
    // paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp; str x8, [sp, #40]
    let code = [0xd503_233f, 0xa9bd_7bfd, 0x9100_03fd, 0xf900_17e8];
    assert_eq!(kept(&code), Some((LoadAddr(12), SP, 40)));
    // mov x19, x8; ldr x8, [x1, #8]; stp x1, x19, [sp, #8]
    let moved = [0xaa08_03f3, 0xf940_0428, 0xa900_cfe1];
    assert_eq!(kept(&moved), Some((LoadAddr(8), SP, 16)));
    // mov x8, x1 comes first.
    assert_eq!(kept(&[0xaa01_03e8, 0xf900_17e8]), None);
}

#[test]
fn the_stub_that_binds_functions_is_found() {
    // stp x16, x30, [sp, #-16]!; adrp x16; ldr x17, [x16, #..]; add x16; br x17; nop; then a stub
    let words = [
        0xa9bf_7bf0_u32,
        0xf000_00f0,
        0xf947_fe11,
        0x913f_e210,
        0xd61f_0220,
        0xd503_201f,
        0x9000_0110,
    ];
    let word = |addr: FileAddr| {
        words
            .get((addr.0.checked_sub(0x740)? / 4) as usize)
            .copied()
    };
    for (index, is_inside) in [(0, true), (1, true), (4, true), (5, false), (6, false)] {
        let found = binding_stub(word, FileAddr(0x740 + 4 * index));
        assert_eq!(found, is_inside.then_some((FileAddr(0x740), 20)), "{index}");
    }
}

#[test]
fn a_caller_tells_where_it_wants_the_result() {
    let told = |words: &[u32]| {
        let back = LoadAddr(4 * words.len() as u64);
        ARCH.result_address_at_call(back, reading(0, words))
    };
    // add x0, sp, #0x30; mov x8, x0; mov w0, #1; bl
    let copied = [0x9100_c3e0, 0xaa00_03e8, 0x5280_0020, 0x9400_0000];
    assert_eq!(told(&copied), Some((LoadAddr(0), SP, 0x30)));
    // sub x8, x29, #0x20; bl
    let framed = [0xd100_83a8, 0x9400_0000];
    assert_eq!(told(&framed), Some((LoadAddr(0), X29, -0x20)));
    // mov x8, x19; mov x19, x0; bl: x19 is another by now
    assert_eq!(told(&[0xaa13_03e8, 0xaa00_03f3, 0x9400_0000]), None);
    // ldr x8, [x0]; bl
    assert_eq!(told(&[0xf940_0008, 0x9400_0000]), None);
    // add x8, sp, #0x30; bl; bl: the call between has changed it
    assert_eq!(told(&[0x9100_c3e8, 0x9400_0000, 0x9400_0000]), None);
}

/// Returns the rules at an index of code at 0x1000, whose start may be known.
fn rules(words: &[u32], index: u64, is_known: bool, is_return: bool) -> Vec<HeuristicUnwind> {
    let code = |addr: FileAddr| {
        let index = usize::try_from(addr.0.checked_sub(0x1000)? / 4).ok()?;
        decoded(*words.get(index)?, LoadAddr(addr.0))
    };
    let function = is_known.then_some((FileAddr(0x1000), 4 * words.len() as u64));
    of_code(code, function, FileAddr(0x1000 + 4 * index), is_return)
}

#[test]
fn frames_are_unwound_by_their_prologue_and_epilogue() {
    let from = |register, offset| RegisterOffset { register, offset };
    // 0: paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp; stp x19, x20, [sp, #16]; 4: bl; ldp x19,
    // x20, [sp, #16]; ldp x29, x30, [sp], #48; 7: autiasp; ret
    let framed = [
        0xd503_233f,
        0xa9bd_7bfd,
        0x9100_03fd,
        0xa901_53f3,
        0x9400_0000,
        0xa941_53f3,
        0xa8c3_7bfd,
        0xd503_23bf,
        RET,
    ];
    for is_known in [true, false] {
        for index in [0, 1, 7, 8] {
            let rule = &rules(&framed, index, is_known, false)[0];
            assert_eq!(rule.cfa, CfaLocation::At(from(SP, 0)), "{index}");
            assert_eq!(rule.return_address, ReturnAddress::In(X30), "{index}");
        }
        for (index, is_return) in [(4, false), (5, false), (5, true)] {
            let rule = &rules(&framed, index, is_known, is_return)[0];
            assert_eq!(rule.cfa, CfaLocation::At(from(SP, 48)));
            assert_eq!(rule.return_address, ReturnAddress::SavedAt(from(SP, 8)));
            let mut saved = rule.saved.clone();
            saved.sort_unstable_by_key(|(register, _)| *register);
            let expected = [(Register(19), 16), (Register(20), 24), (X29, 0)];
            assert_eq!(
                saved,
                expected.map(|(register, at)| (register, from(SP, at)))
            );
        }
    }
    let rule = &rules(&framed, 2, true, false)[0];
    assert_eq!(rule.return_address, ReturnAddress::SavedAt(from(SP, 8)));
    // sub sp, sp, #32; str x30, [sp, #16]; bl; ldr x30, [sp, #16]; add sp, sp, #32; ret
    let frameless = [
        0xd100_83ff,
        0xf900_0bfe,
        0x9400_0000,
        0xf940_0bfe,
        0x9100_83ff,
        RET,
    ];
    for is_known in [true, false] {
        let rule = &rules(&frameless, 3, is_known, true)[0];
        assert_eq!(rule.cfa, CfaLocation::At(from(SP, 32)));
        assert_eq!(rule.return_address, ReturnAddress::SavedAt(from(SP, 16)));
    }
    assert_eq!(
        rules(&frameless, 1, true, false)[0].return_address,
        ReturnAddress::In(X30)
    );
    // A leaf: an array on the stack.
    let leaf = [0xd100_83ff, NOP, 0x9100_83ff, RET];
    let rule = &rules(&leaf, 1, false, false)[0];
    assert_eq!(rule.cfa, CfaLocation::At(from(SP, 32)));
    assert_eq!(rule.return_address, ReturnAddress::In(X30));
    assert_eq!(
        rules(&leaf, 1, false, true).len(),
        0,
        "no call returns there"
    );
    // stp x29, x30, [sp, #-48]!; mov x29, sp; sub sp, sp, x0; nop
    let dynamic = [0xa9bd_7bfd, 0x9100_03fd, 0xcb20_63ff, NOP];
    let rule = &rules(&dynamic, 3, true, false)[0];
    assert_eq!(rule.cfa, CfaLocation::At(from(X29, 48)));
    assert_eq!(rule.return_address, ReturnAddress::SavedAt(from(X29, 8)));
}

#[test]
fn calls_through_vtables_are_predicted() {
    // ldr x8, [x0]; ldr x8, [x8, #16]; blr x8
    let [table, entry, call] = [0xf940_0008, 0xf940_0908, 0xd63f_0100].map(|word| at(word, 0));
    let registers = Plain::zeroed().with(&[(Register(0), 0x2000)]);
    let mut simulation = Simulation::new(ARCH, &registers, &Addresses);
    simulation.execute(&table);
    simulation.execute(&entry);
    assert_eq!(simulation.target(&call), Some(LoadAddr(0x2012)));
    simulation.execute(&call);
    assert_eq!(simulation.target(&call), None, "x8 is the callee's");
    // mov x9, #0x1234; movk x9, #0x5678, lsl #16; br x9
    simulation.execute(&at(0xd282_4689, 0));
    simulation.execute(&at(0xf2aa_cf09, 0));
    assert_eq!(
        simulation.target(&at(0xd61f_0120, 0)),
        Some(LoadAddr(0x5678_1234))
    );
    simulation.forget();
    assert_eq!(simulation.target(&at(0xd61f_0120, 0)), None);
}

#[test]
fn pointers_are_followed_to_a_variable() {
    let registers = Plain::zeroed().with(&[(SP, 0x7000)]);
    let chain = |words: &[u32], wanted| {
        let code: Vec<_> = (0x2000..)
            .step_by(4)
            .zip(words)
            .map(|(addr, word)| at(*word, addr))
            .collect();
        ARCH.pointer_chain(Register(wanted), &code, &registers)
    };
    let some = |root, offsets: &[i64]| {
        Some(PointerChain {
            root,
            offsets: offsets.to_vec(),
        })
    };
    // ldr x0, [sp, #24]; ldr x1, [x0, #8]; ldr w2, [x1]
    let local = [0xf940_0fe0, 0xf940_0401, 0xb940_0022];
    assert_eq!(chain(&local, 1), some(0x7018, &[8]));
    assert_eq!(chain(&local, 2), None);
    // adrp x3; add x3, x3, #0x18; ldr x4, [x3]; ldur x5, [x4, #-8]
    let global = [0x9000_0003, 0x9100_6063, 0xf940_0064, 0xf85f_8085];
    assert_eq!(chain(&global, 5), some(0x2018, &[-8]));
    // A call in between.
    assert_eq!(chain(&[0xf940_0fe0, 0x9400_0004, 0xf940_0401], 1), None);
}

#[test]
fn stubs_jump_through_a_word_of_the_image() {
    // adrp x16, 0x1a0000; ldr x17, [x16]; add x16, x16, #0; br x17
    let stub = [0xb000_0bd0, 0xf940_0211, 0x9100_0210, 0xd61f_0220];
    let code: Vec<_> = (0x27260..)
        .step_by(4)
        .zip(stub)
        .map(|(addr, word)| at(word, addr))
        .collect();
    let target = |code: &[Instruction]| ARCH.fixed_target(code, &Addresses);
    assert_eq!(target(&code), Some(LoadAddr(0x1a_0001)));
    assert_eq!(target(&code[1..]), None, "x16 is unknown");
    assert_eq!(target(&code[..3]), None, "no jump");
}

#[test]
fn direct_calls_are_found_and_tail_calls_are_not_allowed() {
    let calls = |words: &[u32]| {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        ARCH.direct_calls(&code, FileAddr(0x1000), FileAddr(0x2000))
    };
    let call = DirectCall {
        addr: FileAddr(0x1004),
        back: FileAddr(0x1008),
    };
    assert_eq!(calls(&[NOP, 0x9400_03ff, RET]), Some(vec![call]));
    assert_eq!(calls(&[NOP, 0x1400_03ff]), None);
}

#[test]
fn a_function_is_entered_with_its_arguments() {
    let mut set = Plain::zeroed().with(&[(PSTATE, 0b10 << 10)]);
    let mut area = ExtendedRegisters::from(vec![0xff; 528]);
    let mut first = [0; 16];
    first[..8].copy_from_slice(&1.5_f64.to_le_bytes());
    let words = [(Register(0), 1), (Register(1), 2)];
    ARCH.set_arguments(&mut set, &mut area, &words, &[first]);
    assert_eq!((set.0[0], set.0[1], set.get(PSTATE)), (1, 2, Some(0)));
    let d0 = extended::named("d0").unwrap();
    assert_eq!(
        extended::read(d0, &area).unwrap()[..],
        1.5_f64.to_le_bytes()
    );
    assert_eq!(ARCH.vectors(&area).unwrap()[1], u128::MAX);
    assert_eq!(ARCH.set_return_address(&mut set, LoadAddr(0x4444)), None);
    let landing = ARCH.return_at_entry(&set, &Addresses).unwrap();
    assert_eq!((landing.addr, landing.sp), (LoadAddr(0x4444), 0));
    let template = |start, align| TlsTemplate {
        start,
        size: 4,
        align,
    };
    assert_eq!(ARCH.tls_of_program(0x7000, template(0x100, 8)), 0x7010);
    assert_eq!(ARCH.tls_of_program(0x7000, template(0x100, 64)), 0x7040);
    assert_eq!(ARCH.tls_of_program(0x7000, template(0x108, 16)), 0x7018);
}

#[test]
fn registers_have_names_and_parts() {
    let part = |name| {
        ARCH.register_part(name)
            .map(|it| format!("{}:{}", it.whole, it.size))
    };
    assert_eq!(part("w30").as_deref(), Some("x30:4"));
    assert_eq!(part("wsp").as_deref(), Some("sp:4"));
    for none in ["w31", "w", "w+1", "w01", "x0", "wzr"] {
        assert_eq!(part(none), None, "{none}");
    }
    assert_eq!(ARCH.parts_of_register("x7"), ["w7"]);
    assert_eq!(ARCH.parts_of_register("sp"), ["wsp"]);
    assert!(ARCH.parts_of_register("pc").is_empty());
    assert_eq!(registers::name(Register(V0.0 + 31)), "v31");
    assert_eq!(registers::name(X30), "x30");
    assert_eq!(ARCH.register_alias("lr"), Some(X30));
    assert_eq!(ARCH.vector_register("v32"), None);

    let mut area = ExtendedRegisters::from(vec![0; 528]);
    let register = |name| extended::named(name).unwrap();
    assert!(ARCH.write_extended_register(register("q3"), &mut area, &[7; 16]));
    for (name, len) in [("q3", 16), ("d3", 8), ("s3", 4), ("h3", 2), ("b3", 1)] {
        let bytes = ARCH.extended_register(register(name), &area).unwrap();
        assert_eq!(bytes[..], vec![7; len]);
    }
    assert!(ARCH.write_extended_register(register("fpcr"), &mut area, &[1, 2, 3, 4]));
    assert_eq!(area[516..520], [1, 2, 3, 4]);
    assert_eq!(ARCH.lane_of_register(register("s0")), Some("f32"));
    assert_eq!(ARCH.extended_register(register("fpsr"), &[0; 512]), None);
    assert_eq!(extended::named("d32"), None);
    assert_eq!(relocate::PAD_BYTES % 4, 0);
}

/// The set of a thread that uses scalable vectors of 32 bytes.
#[test]
fn scalable_registers_are_in_a_set_of_their_own() {
    const SIZE: usize = 32;
    let controls = (16 + 32 * SIZE + 17 * SIZE / 8_usize).next_multiple_of(16);
    let mut area: Vec<u8> = (0..controls + 16).map(|at| (at / 4) as u8).collect();
    area[..16].fill(0);
    area[8..10].copy_from_slice(&(SIZE as u16).to_le_bytes());
    area[12] = 1;
    let register = |name| extended::named(name).unwrap();
    let read = |name| ARCH.extended_register(register(name), &area).unwrap();
    assert_eq!(read("z3")[..], area[16 + 3 * SIZE..][..SIZE]);
    assert_eq!(read("q3")[..], area[16 + 3 * SIZE..][..16]);
    assert_eq!(read("p2")[..], area[16 + 32 * SIZE + 8..][..4]);
    assert_eq!(read("ffr")[..], area[16 + 32 * SIZE + 64..][..4]);
    assert_eq!(read("fpcr")[..], area[controls + 4..][..4]);
    assert_eq!(
        ARCH.vectors(&area).unwrap()[1].to_le_bytes(),
        area[16 + SIZE..][..16]
    );
    assert_eq!(ARCH.vector_registers(Some(&area)).len(), 32 + 16 + 1);
    assert_eq!(registers::name(register("p15")), "p15");
    assert_eq!(registers::name(register("z31")), "z31");
    // A thread that uses none of them.
    for name in ["z3", "p2", "ffr"] {
        assert_eq!(ARCH.extended_register(register(name), &[0; 528]), None);
    }
}
