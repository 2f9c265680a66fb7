# In place of xsavec 0x40(%rsp) and xsave 0x40(%rsp): what it is, is said in loader.rs.
    .pushsection .rodata.stillpoint_loader, "a", @progbits
    .globl stillpoint_compact_begin, stillpoint_compact_end
    .globl stillpoint_standard_begin, stillpoint_standard_end

    .macro stillpoint_clear_area
        push rcx
        push rdi
        lea rdi, [rsp + 0x50]
    2:
        mov qword ptr [rdi], 0
        add rdi, 8
        cmp rdi, rbx
        jb 2b
    .endm

stillpoint_compact_begin:
    stillpoint_clear_area
    xsavec [rsp + 0x50]
    # MXCSR and its mask: they are written only with the vector registers.
    stmxcsr dword ptr [rsp + 0x50 + 24]
    mov dword ptr [rsp + 0x50 + 28], 0
    # XSTATE_BV: all that XCOMP_BV has.
    mov rcx, qword ptr [rsp + 0x50 + 520]
    btr rcx, 63
    mov qword ptr [rsp + 0x50 + 512], rcx
    pop rdi
    pop rcx
stillpoint_compact_end:

stillpoint_standard_begin:
    stillpoint_clear_area
    xsave [rsp + 0x50]
    mov dword ptr [rsp + 0x50 + 28], 0
    # XSTATE_BV: all that was asked for and that the system has enabled.
    push rax
    push rdx
    xor ecx, ecx
    xgetbv
    and eax, dword ptr [rsp + 8]
    and edx, dword ptr [rsp]
    mov dword ptr [rsp + 0x60 + 512], eax
    mov dword ptr [rsp + 0x60 + 516], edx
    pop rdx
    pop rax
    pop rdi
    pop rcx
stillpoint_standard_end:
    .popsection
