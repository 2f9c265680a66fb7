//! Code at the entry of a traced function and where it returns that keeps the thread's calls in
//! progress ([`CallPaths`](super::super::call_paths::CallPaths)). Repeated from its beginning, it has
//! the same effect.

use super::super::call_paths::{
    CALLS, DEPTH, ENTRY, MAX_DEPTH, NODE_PROBES, NODES, NODES_LOG2, PathSite, THREAD_PROBES,
    THREADS_LOG2,
};
use super::super::trace_area::MULTIPLIER;
use iced_x86::IcedError;
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, dword_ptr, edi, edx, ptr, qword_ptr, r8, r9, r10, r10d, rax, rcx,
    rdi, rsi, rsp,
};

type Done = Result<(), IcedError>;

/// The paths of a site, and the offset from the thread pointer to the thread's number.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    pub site: PathSite,
    pub thread: i32,
}

impl Paths {
    /// Emits code that adds a call, whose frame's address is `frame` bytes above the stack pointer, to
    /// those of the thread, and leaves its path in `rax`: 0 if there is no room.
    pub fn enter(self, asm: &mut CodeAssembler, frame: i32) -> Done {
        let (mut none, mut end) = (asm.create_label(), asm.create_label());
        self.thread(asm, none)?;
        asm.mov(rdi, ptr(rsp) + frame)?;
        self.drop_dead(asm)?;
        let (mut root, mut caller) = (asm.create_label(), asm.create_label());
        asm.xor(rsi, rsi)?;
        asm.test(r10, r10)?;
        asm.je(root)?;
        asm.mov(rsi, ptr(rcx + r9) + (CALLS - 8))?;
        asm.shl(rsi, 32_u32)?;
        asm.set_label(&mut root)?;
        asm.mov(rax, u64::from(self.site.site))?;
        asm.or(rsi, rax)?;
        self.node(asm, caller)?;
        asm.set_label(&mut caller)?;
        asm.cmp(r10d, MAX_DEPTH as i32)?;
        asm.jae(end)?;
        asm.shl(r10, 4_u32)?;
        asm.mov(ptr(rcx + r10) + CALLS, rdi)?;
        asm.mov(ptr(rcx + r10) + (CALLS + 8), rax)?;
        asm.inc(qword_ptr(rcx) + DEPTH)?;
        asm.jmp(end)?;
        asm.set_label(&mut none)?;
        asm.xor(rax, rax)?;
        asm.set_label(&mut end)?;
        asm.zero_bytes()
    }

    /// Emits code that takes a call that returns out of those of the thread.
    pub fn leave(self, asm: &mut CodeAssembler, frame: i32) -> Done {
        let mut none = asm.create_label();
        self.thread(asm, none)?;
        asm.mov(rdi, ptr(rsp) + frame)?;
        self.drop_dead(asm)?;
        asm.set_label(&mut none)?;
        asm.zero_bytes()
    }

    /// Leaves the address of the thread's entry in `rcx`.
    fn thread(self, asm: &mut CodeAssembler, none: CodeLabel) -> Done {
        let mut found = asm.create_label();
        asm.mov(edi, dword_ptr(self.thread).fs())?;
        asm.mov(r8, self.site.at.0)?;
        for takes in [false, true] {
            let mut again = asm.create_label();
            asm.mov(r9, MULTIPLIER)?;
            asm.mov(r10, rdi)?;
            asm.imul_2(r10, r9)?;
            asm.shr(r10, 64 - THREADS_LOG2)?;
            asm.mov(edx, THREAD_PROBES)?;
            asm.set_label(&mut again)?;
            asm.and(r10, (1_i32 << THREADS_LOG2) - 1)?;
            asm.imul_3(rcx, r10, ENTRY)?;
            asm.add(rcx, r8)?;
            if takes {
                asm.xor(rax, rax)?;
                asm.lock().cmpxchg(qword_ptr(rcx), rdi)?;
            } else {
                asm.cmp(qword_ptr(rcx), rdi)?;
            }
            asm.je(found)?;
            asm.inc(r10)?;
            asm.dec(edx)?;
            asm.jne(again)?;
        }
        asm.jmp(none)?;
        asm.set_label(&mut found)?;
        asm.zero_bytes()
    }

    /// Drops calls whose frames are not above the one in `rdi`. Leaves the number of the others in
    /// `r10`, and 16 times that in `r9`.
    fn drop_dead(self, asm: &mut CodeAssembler) -> Done {
        let (mut again, mut end) = (asm.create_label(), asm.create_label());
        let mut bounded = asm.create_label();
        asm.mov(r10, ptr(rcx) + DEPTH)?;
        asm.cmp(r10, MAX_DEPTH as i32)?;
        asm.jbe(bounded)?;
        asm.mov(r10d, MAX_DEPTH)?;
        asm.set_label(&mut bounded)?;
        asm.mov(r9, r10)?;
        asm.shl(r9, 4_u32)?;
        asm.set_label(&mut again)?;
        asm.test(r10, r10)?;
        asm.je(end)?;
        asm.cmp(ptr(rcx + r9) + (CALLS - 16), rdi)?;
        asm.ja(end)?;
        asm.dec(r10)?;
        asm.sub(r9, 16)?;
        asm.jmp(again)?;
        asm.set_label(&mut end)?;
        asm.mov(ptr(rcx) + DEPTH, r10)
    }

    /// Leaves the path whose node has the word in `rsi` in `rax`, and jumps to `end`.
    fn node(self, asm: &mut CodeAssembler, end: CodeLabel) -> Done {
        let (mut again, mut next) = (asm.create_label(), asm.create_label());
        let mut found = asm.create_label();
        asm.mov(r9, MULTIPLIER)?;
        asm.mov(r8, rsi)?;
        asm.imul_2(r8, r9)?;
        asm.shr(r8, 64 - NODES_LOG2)?;
        asm.mov(r9, (self.site.at + NODES).0)?;
        asm.mov(edx, NODE_PROBES)?;
        asm.set_label(&mut again)?;
        asm.and(r8, (1_i32 << NODES_LOG2) - 1)?;
        asm.mov(rax, ptr(r9 + r8 * 8))?;
        asm.cmp(rax, rsi)?;
        asm.je(found)?;
        asm.test(rax, rax)?;
        asm.jne(next)?;
        asm.lock().cmpxchg(ptr(r9 + r8 * 8), rsi)?;
        asm.je(found)?;
        asm.cmp(rax, rsi)?;
        asm.je(found)?;
        asm.set_label(&mut next)?;
        asm.inc(r8)?;
        asm.dec(edx)?;
        asm.jne(again)?;
        asm.xor(rax, rax)?;
        asm.jmp(end)?;
        asm.set_label(&mut found)?;
        asm.lea(rax, ptr(r8) + 1)?;
        asm.jmp(end)
    }
}
