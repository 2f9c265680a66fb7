use super::*;
use crate::os::RegisterSet;
use dwarf::register::x86_64::{RAX, RBX, RDI};

const ARCH: Arch = Arch::X86_64;
const CODE: u64 = 0x1000;

fn instruction(bytes: &[u8]) -> Instruction {
    ARCH.decode(bytes, LoadAddr(CODE)).expect("an instruction")
}

fn registers() -> RegisterSet {
    let mut registers = RegisterSet::zeroed_of(ARCH);
    registers.set(RDI, 0x7000);
    registers.set(RBX, 0x5000);
    registers.set(RAX, 7);
    registers
}

/// Memory that has 7 in four bytes at 0x5000, and zeros behind them.
fn seven(addr: LoadAddr, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    *bytes.first_mut()? = 7;
    (addr == LoadAddr(0x5000)).then_some(bytes)
}

fn in_memory(value: u32) -> Followed {
    Followed {
        held: Held::memory(0x7000, 4),
        bytes: value.to_le_bytes().to_vec(),
    }
}

fn in_register(register: Register, value: u64) -> Followed {
    Followed {
        held: Held::register(register, 0, 8),
        bytes: value.to_le_bytes().to_vec(),
    }
}

fn arrived(followed: &Followed, at: Arrival) -> Found {
    followed.arrived(at, &registers(), seven)
}

#[test]
fn store_of_a_register_is_followed_in_the_frame() {
    // mov [rdi], eax
    let stored = Arrival::Stored(Some(instruction(&[0x89, 0x07])));
    let found = arrived(&in_memory(7), stored);
    assert_eq!(found.way, Way::InFrame);
    assert_eq!(found.followed.held, Held::register(RAX, 0, 4));
    // mov dword [rdi], 7, and what is not known
    let constant = instruction(&[0xc7, 0x07, 7, 0, 0, 0]);
    for at in [Some(constant), None] {
        let found = arrived(&in_memory(7), Arrival::Stored(at));
        assert_eq!(found.way, Way::End(End::Computed));
    }
}

#[test]
fn load_is_a_copy_only_if_the_memory_has_the_value() {
    // mov eax, [rbx], whose upper half becomes 0
    let load = Arrival::Setter(instruction(&[0x8b, 0x03]));
    let found = arrived(&in_register(RAX, 7), load);
    assert_eq!(
        (found.way, found.copied_from),
        (Way::Store, Some(LoadAddr(0x5000)))
    );
    assert_eq!(found.followed.held, Held::memory(0x5000, 4));
    assert_eq!(found.followed.bytes, [7, 0, 0, 0]);
    let other = arrived(&in_register(RAX, 8), load);
    assert_eq!(
        (other.way, other.copied_from),
        (Way::End(End::Computed), None)
    );
    assert_eq!(other.followed, in_register(RAX, 8), "as it was");
}

#[test]
fn registers_are_followed_through_moves_and_calls() {
    let value = in_register(RAX, 7);
    // mov rax, rbx
    let moved = Arrival::Setter(instruction(&[0x48, 0x89, 0xd8]));
    let found = arrived(&in_register(RAX, 0x5000), moved);
    assert_eq!(found.way, Way::InFrame);
    assert_eq!(found.followed.register(), Some(RBX));
    // It is said to have copied what was not there.
    assert_eq!(arrived(&value, moved).way, Way::End(End::Lost));
    assert_eq!(
        arrived(&in_register(RAX, 9), Arrival::Entry).way,
        Way::End(End::Lost)
    );
    // mov ebx, eax leaves it as it is.
    let other = arrived(&value, Arrival::Setter(instruction(&[0x89, 0xc3])));
    assert_eq!((other.way, &other.followed), (Way::InFrame, &value));
    // call; syscall; add eax, 1
    for (bytes, way) in [
        (&[0xe8, 0, 0, 0, 0][..], Way::InCallee),
        (&[0x0f, 0x05], Way::End(End::SystemCall)),
        (&[0x83, 0xc0, 1], Way::End(End::Computed)),
    ] {
        let found = arrived(&value, Arrival::Setter(instruction(bytes)));
        assert_eq!(found.way, way, "{bytes:x?}");
    }
    assert_eq!(arrived(&value, Arrival::Entry).way, Way::InCaller);
}

/// Reads instructions of some code at 0x1000.
fn code(bytes: &'static [u8]) -> impl Fn(LoadAddr) -> Option<Instruction> {
    move |addr| {
        let offset = usize::try_from(addr.0.checked_sub(CODE)?).ok()?;
        ARCH.decode(bytes.get(offset..)?, addr)
    }
}

#[test]
fn setters_are_found_with_calls_that_may_set_it() {
    // mov eax, 1; call; mov ebx, eax; mov al, [rdi]; ret
    let bytes = &[
        0xb8, 1, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x89, 0xc3, 0x8a, 0x07, 0xc3,
    ];
    let found = |register| {
        let end = LoadAddr(CODE + bytes.len() as u64);
        let found = setters(ARCH, register, LoadAddr(CODE), end, code(bytes));
        found.into_iter().map(|it| it.0 - CODE).collect::<Vec<_>>()
    };
    assert_eq!(found(RAX), [0, 5, 12]);
    assert_eq!(found(RBX), [10], "a call preserves it");
}

#[test]
fn the_instruction_before_is_found_from_the_begin() {
    // mov [rdi], eax; rep movsb; nop
    let bytes = &[0x89, 0x07, 0xf3, 0xa4, 0x90];
    let before = |offset| {
        let found = executed_before(LoadAddr(CODE), LoadAddr(CODE + offset), code(bytes));
        found.map(|it| it.addr.0 - CODE)
    };
    assert_eq!(before(4), Some(2));
    assert_eq!(before(5), Some(4));
    assert_eq!(before(3), None, "inside of an instruction");
    // Between two repetitions; the one before it does not store.
    let bytes = &[0x90, 0xf3, 0xa4];
    let repeated = executed_before(LoadAddr(CODE), LoadAddr(CODE + 1), code(bytes));
    assert_eq!(repeated.map(|it| it.addr.0 - CODE), Some(1));
}
