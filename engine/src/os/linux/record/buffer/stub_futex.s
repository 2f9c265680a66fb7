# The rest of the stub: futex(2), and the parking of threads.

# futex(2). All but rax, rcx, r11, rbp and r12 is still the program's. The kernel would answer the same: what it
# refuses is left to it.
stillpoint_stub_futex:
    cmp esi, {wake_private}
    jne stillpoint_stub_wait
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
    mov r11, rdi
    shl r11, 16
    cmp dword ptr [{waiters} + 4], 0
    je 3f
    # More threads wait than are in the table: are there enough?
    xor eax, eax
    xor ecx, ecx
2:
    cmp ecx, dword ptr [{waiters}]
    jae stillpoint_stub_leave
    mov rbp, qword ptr [rcx * 8 + {waited}]
    inc ecx
    shl rbp, 16
    cmp rbp, r11
    jne 2b
    inc eax
    cmp eax, edx
    jb 2b
3:
    xor eax, eax
    xor ecx, ecx
    xor r12d, r12d
2:
    cmp ecx, dword ptr [{waiters}]
    jae 4f
    mov rbp, qword ptr [rcx * 8 + {waited}]
    inc ecx
    mov rdi, rbp
    shl rdi, 16
    cmp rdi, r11
    jne 3f
    cmp eax, edx
    je 3f
    inc eax
    shr rbp, 48
    mov rdi, qword ptr [{woken_end}]
    mov esi, edi
    and esi, {most_waiters} - 1
    mov byte ptr [rsi + {woken}], bpl
    inc rdi
    mov qword ptr [{woken_end}], rdi
    jmp 2b
3:
    mov qword ptr [r12 * 8 + {waited}], rbp
    inc r12d
    jmp 2b
4:
    mov dword ptr [{waiters}], r12d
    xor r12d, r12d
    jmp stillpoint_stub_keep

# A wait without a time, for any bits. The thread is parked if the one that runs next is, too.
stillpoint_stub_wait:
    cmp dword ptr [{parks}], 0
    je stillpoint_stub_leave
    cmp esi, {wait_private}
    je 3f
    cmp esi, {wait_until_real}
    je 2f
    cmp esi, {wait_until}
    jne stillpoint_stub_leave
2:
    cmp r9d, -1
    jne stillpoint_stub_leave
3:
    test r10, r10
    jnz stillpoint_stub_leave
    test dil, 3
    jnz stillpoint_stub_leave
    mov rax, rdi
    shr rax, 47
    jnz stillpoint_stub_leave
    mov rcx, qword ptr [{woken_first}]
    cmp rcx, qword ptr [{woken_end}]
    je stillpoint_stub_leave
    and ecx, {most_waiters} - 1
    movzx ecx, byte ptr [rcx + {woken}]
    mov rax, qword ptr [{parked}]
    bt rax, rcx
    jnc stillpoint_stub_leave
    mov rax, qword ptr [{next}]
    add rax, {change_len}
    cmp rax, {records_end}
    ja stillpoint_stub_leave
    cmp dword ptr [{waiters}], {most_waiters}
    jae stillpoint_stub_leave
    # The kernel compares the word, which need not be there: it moves no thread to another word.
    mov r9d, edx
    mov esi, {compare_requeue}
    xor edx, edx
    mov r8, qword ptr [{current}]
    mov eax, {futex}
    jmp stillpoint_stub_begin

stillpoint_stub_compared:
    mov rdi, qword ptr [{arguments}]
    mov rsi, qword ptr [{arguments} + 8]
    mov rdx, qword ptr [{arguments} + 16]
    mov r8, qword ptr [{arguments} + 32]
    mov r9, qword ptr [{arguments} + 40]
    xor r12d, r12d
    cmp rax, {again}
    je stillpoint_stub_keep
    test rax, rax
    jnz stillpoint_stub_leave
    # The record of the change.
    mov rbx, qword ptr [{current}]
    mov rdi, qword ptr [{next}]
    mov rbp, qword ptr [{woken_first}]
    mov eax, ebp
    and eax, {most_waiters} - 1
    movzx ebp, byte ptr [rax + {woken}]
    mov dword ptr [rdi], {change}
    mov dword ptr [rdi + 4], 8 * {change_words}
    mov qword ptr [rdi + 8], rbp
    add rdi, {header}
    mov esi, {site}
    mov ecx, {saved}
    rep movsq
    mov rax, qword ptr [rsp]
    mov qword ptr [rdi], rax
    mov qword ptr [rdi + 8], r13
    mov qword ptr [rdi + 16], r14
    mov qword ptr [rdi + 24], r15
    rdfsbase rcx
    mov qword ptr [rdi + 32], rcx
    rdgsbase rcx
    mov qword ptr [rdi + 40], rcx
    lea r12, [rdi + 48]
    # What the thread needs when it runs again.
    lea rdi, [rbx + {block_saved}]
    mov esi, {site}
    mov ecx, {saved}
    rep movsq
    mov qword ptr [rbx + {block_flags}], rax
    mov qword ptr [rbx], rcx
    # It waits, and the next one does not any more.
    mov ecx, dword ptr [{waiters}]
    mov rdx, qword ptr [rbx + {block_number}]
    mov rax, rdx
    or rax, qword ptr [{arguments}]
    mov qword ptr [rcx * 8 + {waited}], rax
    inc ecx
    mov dword ptr [{waiters}], ecx
    inc qword ptr [{woken_first}]
    mov rcx, qword ptr [{parked}]
    btr rcx, rbp
    shr rdx, 48
    bts rcx, rdx
    mov qword ptr [{parked}], rcx
    inc qword ptr [{changes}]
    imul ebp, ebp, {block_len}
    add ebp, {blocks}
    mov qword ptr [{next}], r12
    # From here on the other thread is the one that runs: the words are not this one's.
    mov qword ptr [{current}], rbp
stillpoint_stub_park:
    mov dword ptr [rbp], 1
    mov rdi, rbp
    mov esi, {wake_private}
    mov edx, 1
    mov eax, {futex}
    lea rbp, [rip + stillpoint_stub_parked]
    jmp stillpoint_stub_parking
stillpoint_stub_parked:
    cmp dword ptr [rbx], 0
    jne 2f
    mov rdi, rbx
    mov esi, {wait_private}
    xor edx, edx
    xor r10d, r10d
    mov eax, {futex}
    lea rbp, [rip + stillpoint_stub_parked]
    jmp stillpoint_stub_parking
2:
    mov rcx, qword ptr [rbx + {block_saved}]
    mov rdi, qword ptr [rbx + {block_saved} + 24]
    mov rsi, qword ptr [rbx + {block_saved} + 32]
    mov rdx, qword ptr [rbx + {block_saved} + 40]
    mov r10, qword ptr [rbx + {block_saved} + 48]
    mov r8, qword ptr [rbx + {block_saved} + 56]
    mov r9, qword ptr [rbx + {block_saved} + 64]
    mov rbp, qword ptr [rbx + {block_saved} + 80]
    mov r12, qword ptr [rbx + {block_saved} + 88]
    mov r11, qword ptr [rbx + {block_flags}]
    xor eax, eax
    lea rsp, [rbx + {block_flags}]
    popfq
    mov rsp, qword ptr [rbx + {block_saved} + 96]
    mov rbx, qword ptr [rbx + {block_saved} + 72]
    jmp rcx
stillpoint_stub_park_end:

# Makes a call with a stop for a thread that was parked.
stillpoint_stub_stop:
    syscall
    ud2

# Jumps to the entry of the site, in a program that is not recorded.
stillpoint_stub_free:
    mov r11d, dword ptr [r11 + {free}]
    jmp r11
stillpoint_stub_end:
    .purgem stillpoint_enter
    .purgem stillpoint_restore
    .purgem stillpoint_unless_zero
    .popsection
