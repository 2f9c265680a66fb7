# The stub: what it is, is said in stub.rs.
    .pushsection .rodata.stillpoint_stub, "a", @progbits
    .globl stillpoint_stub_begin, stillpoint_stub_end
    .globl stillpoint_stub_record, stillpoint_stub_replay, stillpoint_stub_pass
    .globl stillpoint_stub_free, stillpoint_stub_park, stillpoint_stub_parked, stillpoint_stub_park_end, stillpoint_stub_stop

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

    .balign 16
stillpoint_stub_begin:
    # The filter lets the call pass that is at the beginning, and that of parked threads.
    syscall
    jmp 7f
    .balign 8
stillpoint_stub_parking:
    syscall
    jmp rbp

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
    je stillpoint_stub_futex
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
    jmp stillpoint_stub_keep
4:
    xor r12d, r12d
5:
    cmp bl, {wake}
    je stillpoint_stub_compared
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
