// A program of macOS with thread-local variables, prepared as its loader does it: with descriptors of three
// words, or with those of later releases (PACKED).
typedef unsigned long word;
struct services;

_Thread_local int own = 5;
static _Thread_local long further = 40;

struct descriptor {
    void *thunk;
    word key, offset;
};
struct packed {
    void *thunk;
    unsigned key, offset;
    int content, size;
};
extern struct descriptor first[] __asm("section$start$__DATA$__thread_vars");
extern struct descriptor last[] __asm("section$end$__DATA$__thread_vars");
extern char data[] __asm("section$start$__DATA$__thread_data");
extern char data_end[] __asm("section$end$__DATA$__thread_data");

extern void get_address(void);
static word slots[512];
static char storage[64];

static void prepare(void) {
    enum { KEY = 300 };
    for (struct descriptor *it = first; it != last; ++it) {
        it->thunk = get_address;
#ifdef PACKED
        struct packed *packed = (void *)it;
        unsigned offset = (unsigned)it->offset;
        packed->key = KEY, packed->offset = offset;
        packed->content = (int)(data - (char *)&packed->content), packed->size = (int)(data_end - data);
#else
        it->key = KEY;
#endif
    }
    for (char *it = data; it != data_end; ++it) storage[it - data] = *it;
    // arch_prctl(ARCH_SET_GS): where macOS has the thread's data, too.
    word result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(158L), "D"(0x1001L), "S"(slots) : "rcx", "r11", "memory");
    slots[KEY] = (word)storage; // prepared
}

__asm__(".globl _get_address\n"
        "_get_address:\n"
#ifdef PACKED
        "    movl 8(%rdi), %eax\n"
        "    movq %gs:(,%rax,8), %rax\n"
        "    pushq %rdi\n"
        "    movl 12(%rdi), %edi\n"
        "    addq %rdi, %rax\n"
        "    popq %rdi\n"
#else
        "    movq 8(%rdi), %rax\n"
        "    movq %gs:(,%rax,8), %rax\n"
        "    addq 16(%rdi), %rax\n"
#endif
        "    ret\n");

int program(struct services *services) {
    prepare(); // begin
    own += 2;
    further += own;
    return (int)further; // end
}
