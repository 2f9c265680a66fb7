use super::*;
use crate::arch::Arch;
use crate::arch::x86_64::decoded;
use crate::os::RegisterSet;
use dwarf::register::x86_64::{RBX, RCX, RDX};

const AT: u64 = 0x7000;

/// `rdi` is 0x7000, `rsi` 0x5000, `rbp` 0x9000, `rsp` 0x8000.
fn registers() -> RegisterSet {
    let mut registers = RegisterSet::zeroed_of(Arch::X86_64);
    for (register, value) in [(RDI, AT), (RSI, 0x5000), (RBP, 0x9000)] {
        registers.set(register, value);
    }
    registers.set_sp(0x8000);
    registers
}

fn code(bytes: &[u8]) -> Decoded {
    let code = decoded(bytes, LoadAddr(0x1000));
    assert!(!code.is_invalid() && code.len() == bytes.len(), "{code}");
    code
}

/// What an instruction has stored at 0x7000 and behind.
fn store(bytes: &[u8], from: u64, size: u64) -> Copying {
    stored(&code(bytes), Held::memory(AT + from, size), &registers())
}

fn load(bytes: &[u8], register: Register, from: u64, size: u64) -> Copying {
    let wanted = Held::register(register, from, size);
    loaded(&code(bytes), wanted, &registers())
}

fn copied(from: Held) -> Copying {
    Copying::Copied { from, at: 0 }
}

const XMM0: Register = Register(17);
const XMM1: Register = Register(18);

#[test]
fn stores_of_registers_are_copies_of_their_parts() {
    let of = |register, from, size| copied(Held::register(register, from, size));
    // mov [rdi], eax; mov [rdi], rax
    assert_eq!(store(&[0x89, 0x07], 0, 4), of(RAX, 0, 4));
    assert_eq!(store(&[0x48, 0x89, 0x07], 4, 4), of(RAX, 4, 4));
    // mov [rdi], ah
    assert_eq!(store(&[0x88, 0x27], 0, 1), of(RAX, 1, 1));
    // movups [rdi], xmm1; movhps [rdi], xmm0
    assert_eq!(store(&[0x0f, 0x11, 0x0f], 12, 4), of(XMM1, 12, 4));
    assert_eq!(store(&[0x0f, 0x17, 0x07], 4, 4), of(XMM0, 12, 4));
    // vmovdqu [rdi], ymm0; vextracti128 [rdi], ymm0, 1
    assert_eq!(store(&[0xc5, 0xfe, 0x7f, 0x07], 24, 8), of(XMM0, 24, 8));
    let extract = [0xc4, 0xe3, 0x7d, 0x39, 0x07, 0x01];
    assert_eq!(store(&extract, 8, 8), of(XMM0, 24, 8));
    // Only what it has stored: mov [rdi], eax of eight bytes, and of those from two before.
    assert_eq!(store(&[0x89, 0x07], 0, 8), of(RAX, 0, 4));
    let before = Held::memory(AT - 2, 4);
    let half = stored(&code(&[0x89, 0x07]), before, &registers());
    let from = Held::register(RAX, 0, 2);
    assert_eq!(half, Copying::Copied { from, at: 2 });
    assert_eq!(store(&[0x89, 0x07], 4, 4), Copying::Untouched);
}

#[test]
fn stores_that_compute_are_no_copies() {
    // mov dword [rdi], 5; add [rdi], eax; xchg [rdi], eax; inc dword [rdi]
    for bytes in [
        &[0xc7, 0x07, 5, 0, 0, 0][..],
        &[0x01, 0x07],
        &[0x87, 0x07],
        &[0xff, 0x07],
    ] {
        assert_eq!(store(bytes, 0, 4), Copying::Computed, "{bytes:x?}");
    }
    // A call pushes its return address.
    let wanted = Held::memory(0x8000, 8);
    let call = stored(&code(&[0xe8, 0, 0, 0, 0]), wanted, &registers());
    assert_eq!(call, Copying::Computed);
}

#[test]
fn pushes_and_strings_are_copies() {
    let wanted = Held::memory(0x8000, 8);
    // push rbx
    let push = stored(&code(&[0x53]), wanted, &registers());
    assert_eq!(push, copied(Held::register(RBX, 0, 8)));
    // rep movsb, which has made all repetitions: rdi and rsi are behind the copied bytes.
    let moved = |bytes: &[u8]| stored(&code(bytes), Held::memory(AT - 16, 4), &registers());
    assert_eq!(moved(&[0xf3, 0xa4]), copied(Held::memory(0x5000 - 16, 4)));
    assert_eq!(
        moved(&[0xf3, 0x48, 0xa5]),
        copied(Held::memory(0x5000 - 16, 4))
    );
    // rep stosq: elements of eight bytes, which end at rdi.
    let held = Held::register(RAX, 4, 4);
    let filled = stored(
        &code(&[0xf3, 0x48, 0xab]),
        Held::memory(AT - 12, 4),
        &registers(),
    );
    assert_eq!(filled, copied(held));
    let bytes = stored(&code(&[0xf3, 0xaa]), Held::memory(AT - 12, 4), &registers());
    assert_eq!(bytes, Copying::Computed, "four elements");
}

#[test]
fn loads_are_copies_with_their_extension() {
    let memory = |addr, size| copied(Held::memory(addr, size));
    // mov eax, [rsi]; mov rax, [rsi + 8]
    assert_eq!(load(&[0x8b, 0x06], RAX, 0, 4), memory(0x5000, 4));
    assert_eq!(load(&[0x8b, 0x06], RAX, 0, 8), memory(0x5000, 4));
    assert_eq!(load(&[0x8b, 0x06], RAX, 4, 4), Copying::Computed, "zeros");
    assert_eq!(load(&[0x48, 0x8b, 0x46, 8], RAX, 2, 2), memory(0x500a, 2));
    // movzx eax, byte [rsi]; movsxd rax, dword [rsi]
    assert_eq!(load(&[0x0f, 0xb6, 0x06], RAX, 0, 4), memory(0x5000, 1));
    assert_eq!(load(&[0x48, 0x63, 0x06], RAX, 0, 8), memory(0x5000, 4));
    // mov al, [rsi]: a part of a wider value; the rest is as it was.
    assert_eq!(load(&[0x8a, 0x06], RAX, 0, 1), memory(0x5000, 1));
    assert_eq!(load(&[0x8a, 0x06], RAX, 1, 1), Copying::Untouched);
    assert_eq!(load(&[0x8a, 0x06], RAX, 0, 4), Copying::Computed);
    // pop rbx; leave
    assert_eq!(load(&[0x5b], RBX, 0, 8), memory(0x8000, 8));
    assert_eq!(load(&[0xc9], RBP, 0, 8), memory(0x9000, 8));
    // mov ebx, ecx; cdqe
    let of = |register, size| copied(Held::register(register, 0, size));
    assert_eq!(load(&[0x89, 0xcb], RBX, 0, 4), of(RCX, 4));
    assert_eq!(load(&[0x48, 0x98], RAX, 0, 8), of(RAX, 4));
}

#[test]
fn what_computes_a_register_is_no_copy() {
    // lea eax, [rsi + 4]; add eax, ecx; mov eax, 5; xor eax, eax; imul edx, ecx
    for bytes in [
        &[0x8d, 0x46, 4][..],
        &[0x01, 0xc8],
        &[0xb8, 5, 0, 0, 0],
        &[0x31, 0xc0],
        &[0x0f, 0xaf, 0xd1],
    ] {
        let register = if bytes[0] == 0x0f { RDX } else { RAX };
        assert!(sets(&code(bytes), register), "{bytes:x?}");
        assert_eq!(load(bytes, register, 0, 4), Copying::Computed, "{bytes:x?}");
        assert_eq!(load(bytes, RBX, 0, 4), Copying::Untouched);
    }
    // An address of a string, which lods moves on.
    assert_eq!(load(&[0xad], RSI, 0, 8), Copying::Computed);
    // syscall: the kernel sets rax.
    assert!(sets(&code(&[0x0f, 0x05]), RAX));
    assert_eq!(load(&[0x0f, 0x05], RAX, 0, 8), Copying::Computed);
}

#[test]
fn conditional_moves_copy_if_their_condition_holds() {
    // cmove eax, ecx
    let cmove = code(&[0x0f, 0x44, 0xc1]);
    let wanted = Held::register(RAX, 0, 4);
    let mut before = registers();
    assert_eq!(loaded(&cmove, wanted, &before), Copying::Untouched);
    before.set(RFLAGS, 1 << 6);
    let from = Held::register(RCX, 0, 4);
    assert_eq!(loaded(&cmove, wanted, &before), copied(from));
    assert!(holds(ConditionCode::l, 1 << 7) && !holds(ConditionCode::l, 1 << 7 | 1 << 11));
}

#[test]
fn parts_of_vectors_are_found_in_their_operands() {
    let of = |register, from, size| copied(Held::register(register, from, size));
    // movd xmm0, ecx; movq rax, xmm1
    assert_eq!(load(&[0x66, 0x0f, 0x6e, 0xc1], XMM0, 0, 4), of(RCX, 0, 4));
    assert_eq!(
        load(&[0x66, 0x48, 0x0f, 0x7e, 0xc8], RAX, 0, 8),
        of(XMM1, 0, 8)
    );
    // punpcklqdq xmm0, xmm1; punpckldq xmm0, xmm1
    let quads = [0x66, 0x0f, 0x6c, 0xc1];
    assert_eq!(load(&quads, XMM0, 12, 4), of(XMM1, 4, 4));
    assert_eq!(load(&quads, XMM0, 0, 8), Copying::Untouched);
    let doubles = [0x66, 0x0f, 0x62, 0xc1];
    assert_eq!(load(&doubles, XMM0, 4, 4), of(XMM1, 0, 4));
    assert_eq!(load(&doubles, XMM0, 8, 4), of(XMM0, 4, 4));
    // movhps xmm0, [rsi]
    let high = [0x0f, 0x16, 0x06];
    assert_eq!(load(&high, XMM0, 8, 8), copied(Held::memory(0x5000, 8)));
    // vmovdqu ymm0, [rsi]
    let wide = [0xc5, 0xfe, 0x6f, 0x06];
    assert_eq!(load(&wide, XMM0, 16, 8), copied(Held::memory(0x5010, 8)));
    // vinserti128 ymm0, ymm1, [rsi], 1
    let insert = [0xc4, 0xe3, 0x75, 0x38, 0x06, 0x01];
    assert_eq!(load(&insert, XMM0, 20, 4), copied(Held::memory(0x5004, 4)));
    assert_eq!(load(&insert, XMM0, 4, 4), of(XMM1, 4, 4));
}
