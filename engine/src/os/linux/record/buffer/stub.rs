//! The stub: the code that makes a system call of the program without a stop, and what makes it again
//! in a replay.
//!
//! A site in the program jumps, by a slot (`jump`), to one of its three entries:
//!
//! - `record` lets the kernel make the call, with the arguments of the program, and adds a record of the
//!   result and the output. A call that is not in the table, or for which there is no room, is left
//!   to the slot, which makes it with a stop.
//!   FUTEX_WAKE is made by the stub itself: it notes in the table of the waiting threads which are woken, for
//!   the recorder, which lets them run when it is their turn. If that would take threads that are not in
//!   the table, the call is left to the slot.
//! - `replay` takes the next record instead of a call, writes its output to the memory of the
//!   program, and returns its result. Without a record it leaves the call to the slot. So a replay
//!   does not repeat the decisions of the recording: it stops where that has stopped.
//! - `pass` leaves every call to the slot: while a signal is held, and in processes that are not recorded.
//!
//! What the program sees is the same by `record` and `replay`: all registers are as after a system
//! call (`rcx` the next pc, `r11` the flags), the memory below its stack pointer is not touched, and
//! memory is read only where the kernel has just written to it. The state of the stub is in absolute words:
//! the recorder lets no handler of a signal begin here, so it is not entered twice. At the
//! instructions of the slots it has no state.

use super::layout::{
    self, ENTRIES, HEADER, MOST_OUTPUT, PASSED, RECORDS, RECORDS_LEN, STACK_END, STUB, TABLE, word,
    word_at,
};

/// How a call in the table writes to memory.
pub mod kind {
    /// It does not.
    pub const NO_OUTPUT: u8 = 1;
    /// So many bytes as the entry says.
    pub const FIXED: u8 = 2;
    /// An argument times what the entry says.
    pub const BY_ARGUMENT: u8 = 3;
    /// The result times what the entry says, and not more than an argument times that.
    pub const BY_RESULT: u8 = 4;
    /// It does not, if the second argument is one of the requests whose bits the entry has.
    pub const BY_REQUEST: u8 = 5;
    /// It does not. It is futex(2): the stub wakes threads of the table, and the kernel makes no call.
    pub const WAKE: u8 = 6;

    /// Returns the bit of a request, as the stub computes it: there are bits for 0 to 15, and for 1024 to
    /// 1039.
    pub const fn request_bit(request: u64) -> Option<u32> {
        match request {
            0..16 => Some(1 << request),
            1024..1040 => Some(1 << (request - 1024 + 16)),
            _ => None,
        }
    }
}

/// FUTEX_WAKE | FUTEX_PRIVATE_FLAG
pub const WAKE_PRIVATE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

// In registers: ebx the entry of the table (kind, argument of the address, argument of the length,
// mask of arguments that must be 0), rbp the size from the entry, r12 the length of the output.
std::arch::global_asm!(
    r#"
    .pushsection .rodata.stillpoint_stub, "a", @progbits
    .globl stillpoint_stub_begin, stillpoint_stub_end
    .globl stillpoint_stub_record, stillpoint_stub_replay, stillpoint_stub_pass

    .macro stillpoint_enter
        mov qword ptr [{rsp}], rsp
        mov esp, {stack}
        pushfq
        # Without the trap flag, which a step has set.
        and dword ptr [rsp], 0xfffffeff
        cld
        mov qword ptr [{site}], rcx
        mov qword ptr [{stopped}], r11
        mov qword ptr [{number}], rax
        mov qword ptr [{arguments}], rdi
        mov qword ptr [{arguments} + 8], rsi
        mov qword ptr [{arguments} + 16], rdx
        mov qword ptr [{arguments} + 24], r10
        mov qword ptr [{arguments} + 32], r8
        mov qword ptr [{arguments} + 40], r9
        mov qword ptr [{rbx}], rbx
        mov qword ptr [{rbp}], rbp
        mov qword ptr [{r12}], r12
        cmp rax, {entries}
        jae stillpoint_stub_leave
        mov ebx, dword ptr [rax * 8 + {table}]
        mov ebp, dword ptr [rax * 8 + {table} + 4]
        test bl, bl
        jz stillpoint_stub_leave
    .endm

    .macro stillpoint_restore
        mov rbx, qword ptr [{rbx}]
        mov rbp, qword ptr [{rbp}]
        mov r12, qword ptr [{r12}]
        mov rcx, qword ptr [{site}]
    .endm

    .macro stillpoint_unless_zero bit
        test ecx, 1 << \bit
        jz 8f
        cmp qword ptr [{arguments} + 8 * \bit], 0
        jne stillpoint_stub_leave
    8:
    .endm

stillpoint_stub_begin:
    # The filter lets the call pass that is at the beginning.
    syscall
    jmp 7f

stillpoint_stub_record:
    stillpoint_enter
    mov ecx, ebx
    shr ecx, 24
    jz 2f
    stillpoint_unless_zero 0
    stillpoint_unless_zero 1
    stillpoint_unless_zero 2
    stillpoint_unless_zero 3
    stillpoint_unless_zero 4
    stillpoint_unless_zero 5
2:
    xor r12d, r12d
    cmp bl, {no_output}
    je 3f
    cmp bl, {by_request}
    je 9f
    cmp bl, {wake}
    je stillpoint_stub_wake
    mov r12d, ebp
    cmp bl, {fixed}
    je 3f
    mov ecx, ebx
    shr ecx, 16
    movzx ecx, cl
    mov rcx, qword ptr [rcx * 8 + {arguments}]
    cmp rcx, {most}
    ja stillpoint_stub_leave
    imul r12, rcx
    cmp r12, {most}
    ja stillpoint_stub_leave
3:
    mov rcx, qword ptr [{next}]
    lea rcx, [rcx + r12 + {header} + 7]
    cmp rcx, {records_end}
    ja stillpoint_stub_leave
    jmp stillpoint_stub_begin
9:
    mov ecx, dword ptr [{arguments} + 8]
    cmp ecx, 16
    jb 9f
    sub ecx, 1024 - 16
    cmp ecx, 16
    jb stillpoint_stub_leave
    cmp ecx, 32
    jae stillpoint_stub_leave
9:
    bt ebp, ecx
    jnc stillpoint_stub_leave
    jmp 3b
7:
    test rax, rax
    js 4f
    cmp bl, {by_result}
    jne 5f
    mov rcx, rax
    imul rcx, rbp
    cmp rcx, r12
    cmovb r12, rcx
    jmp 5f
4:
    xor r12d, r12d
5:
stillpoint_stub_keep:
    movzx ecx, bh
    mov rsi, qword ptr [rcx * 8 + {arguments}]
    test rsi, rsi
    cmovz r12, rsi
    mov rdi, qword ptr [{next}]
    mov ecx, dword ptr [{number}]
    mov dword ptr [rdi], ecx
    mov dword ptr [rdi + 4], r12d
    mov qword ptr [rdi + 8], rax
    add rdi, {header}
    mov ecx, r12d
    rep movsb
    add rdi, 7
    and rdi, -8
    mov qword ptr [{next}], rdi
6:
    mov rdi, qword ptr [{arguments}]
    mov rsi, qword ptr [{arguments} + 8]
    stillpoint_restore
    mov r11, qword ptr [rsp]
    popfq
    mov rsp, qword ptr [{rsp}]
    jmp rcx

# All but rax, rcx, rbp and r12 is still the program's. The kernel would answer the same: what it
# refuses is left to it.
stillpoint_stub_wake:
    cmp esi, {wake_private}
    jne stillpoint_stub_leave
    test dil, 3
    jnz stillpoint_stub_leave
    mov rax, rdi
    shr rax, 47
    jnz stillpoint_stub_leave
    test edx, edx
    jle stillpoint_stub_leave
    mov rax, qword ptr [{next}]
    add rax, {header}
    cmp rax, {records_end}
    ja stillpoint_stub_leave
    xor eax, eax
    xor ecx, ecx
    mov rbp, qword ptr [{woken}]
2:
    cmp ecx, dword ptr [{waiters}]
    jae 4f
    cmp rdi, qword ptr [rcx * 8 + {waited}]
    jne 3f
    bts rbp, rcx
    jc 3f
    inc eax
    cmp eax, edx
    je 5f
3:
    inc ecx
    jmp 2b
4:
    cmp dword ptr [{waiters} + 4], 0
    jne stillpoint_stub_leave
5:
    # At once, for a recorder that looks meanwhile.
    mov qword ptr [{woken}], rbp
    xor r12d, r12d
    jmp stillpoint_stub_keep

stillpoint_stub_leave:
    stillpoint_restore
    mov rax, qword ptr [{number}]
    mov r11, qword ptr [{stopped}]
    popfq
    mov rsp, qword ptr [{rsp}]
    jmp r11

stillpoint_stub_replay:
    stillpoint_enter
    mov r12, qword ptr [{next}]
    cmp r12, qword ptr [{end}]
    jae stillpoint_stub_leave
    cmp eax, dword ptr [r12]
    jne stillpoint_stub_leave
    movzx ecx, bh
    mov rdi, qword ptr [rcx * 8 + {arguments}]
    mov ecx, dword ptr [r12 + 4]
    mov rax, qword ptr [r12 + 8]
    lea rsi, [r12 + {header}]
    rep movsb
    add rsi, 7
    and rsi, -8
    mov qword ptr [{next}], rsi
    jmp 6b

stillpoint_stub_pass:
    mov qword ptr [{site}], rcx
    mov qword ptr [{stopped}], r11
    jmp r11
stillpoint_stub_end:
    .purgem stillpoint_enter
    .purgem stillpoint_restore
    .purgem stillpoint_unless_zero
    .popsection
    "#,
    stack = const STACK_END,
    table = const TABLE,
    entries = const ENTRIES,
    most = const MOST_OUTPUT,
    header = const HEADER,
    records_end = const RECORDS + RECORDS_LEN,
    no_output = const kind::NO_OUTPUT,
    fixed = const kind::FIXED,
    by_result = const kind::BY_RESULT,
    by_request = const kind::BY_REQUEST,
    wake = const kind::WAKE,
    wake_private = const WAKE_PRIVATE,
    next = const word_at(word::NEXT),
    end = const word_at(word::END),
    site = const word_at(word::SITE),
    stopped = const word_at(word::STOPPED),
    number = const word_at(word::NUMBER),
    arguments = const word_at(word::ARGUMENTS),
    rbx = const word_at(word::RBX),
    rbp = const word_at(word::RBP),
    r12 = const word_at(word::R12),
    rsp = const word_at(word::RSP),
    woken = const word_at(word::WOKEN),
    waiters = const word_at(word::WAITERS),
    waited = const word_at(word::WAITED),
);

unsafe extern "C" {
    static stillpoint_stub_begin: u8;
    static stillpoint_stub_record: u8;
    static stillpoint_stub_replay: u8;
    static stillpoint_stub_pass: u8;
    static stillpoint_stub_end: u8;
}

/// An entry of the stub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    Record,
    Replay,
    Pass,
}

impl Entry {
    /// Returns its address in a recorded program.
    pub fn addr(self) -> u64 {
        let at = match self {
            Entry::Record => &raw const stillpoint_stub_record,
            Entry::Replay => &raw const stillpoint_stub_replay,
            Entry::Pass => &raw const stillpoint_stub_pass,
        };
        STUB + (at as u64 - (&raw const stillpoint_stub_begin) as u64)
    }
}

/// Returns the code of the stub, for the address [`STUB`].
pub fn code() -> &'static [u8] {
    // SAFETY: both are labels of one section of constants, which lives as long as the program.
    unsafe {
        let begin = &raw const stillpoint_stub_begin;
        let end = &raw const stillpoint_stub_end;
        std::slice::from_raw_parts(begin, end as usize - begin as usize)
    }
}

const _: () = assert!(PASSED == STUB && word::NUMBER + 1 == word::ARGUMENTS);
const _: () = assert!(layout::ENTRY_LEN == 8);
