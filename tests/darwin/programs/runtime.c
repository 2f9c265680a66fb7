// What a program in Objective-C needs of its runtime: objects of the classes that the compiler laid out, and
// messages to them. Compiled without debug info.
typedef unsigned long word;
struct method {
    const char *name, *types;
    void *code;
};
struct methods {
    unsigned size, count;
    struct method all[];
};
struct description {
    unsigned flags, start, size, reserved;
    const char *layout, *name;
    struct methods *methods;
};
struct class {
    struct class *isa, *super;
    word cache[2];
    struct description *described;
};
struct super {
    void *receiver;
    struct class *class;
};
struct category {
    const char *name;
    struct class *class;
    struct methods *methods, *class_methods;
};
extern struct category *categories[] __asm("section$start$__DATA_CONST$__objc_catlist");
extern struct category *categories_end[] __asm("section$end$__DATA_CONST$__objc_catlist");

word _objc_empty_cache[2];

static int equal(const char *one, const char *other) {
    while (*one && *one == *other) ++one, ++other;
    return *one == *other;
}

static void *in(struct methods *methods, const char *name) {
    for (unsigned i = 0; methods && i < methods->count; ++i)
        if (equal(methods->all[i].name, name)) return methods->all[i].code;
    return 0;
}

// The first message of a class sends `initialize` to it. Flags of class_ro_t: 1 for a metaclass.
static struct class *initialized[16];
extern void *objc_msgSend(void *, const char *, ...);
static void initialize(struct class *class) {
    unsigned i = 0;
    for (; initialized[i]; ++i)
        if (initialized[i] == class) return;
    initialized[i] = class;
    objc_msgSend(class, "initialize");
}

void *lookUpImpOrForward(struct class **receiver, const char *name, struct class *class) {
    if (!(class->described->flags & 1)) initialize(class);
    for (; class; class = class->super) {
        for (struct category **it = categories; it != categories_end; ++it) {
            void *code = (*it)->class == class ? in((*it)->methods, name) : 0;
            if (code) return code;
        }
        void *code = in(class->described->methods, name);
        if (code) return code;
    }
    return 0;
}

void *_NSConcreteStackBlock[32];

int with_block(int (^block)(int)) { return block(100); }

static word heap[256];
static unsigned used;

void *objc_alloc_init(struct class *class) {
    word *made = heap + used;
    used += (class->described->size + 15) / 16 * 2;
    made[0] = (word)class;
    return objc_msgSend(made, "init");
}

__asm__(".text\n"
        ".globl _objc_msgSend\n"
        "_objc_msgSend:\n"
        "    test %rdi, %rdi\n"
        "    je 1f\n"
        "    mov (%rdi), %r10\n"
        // A cache of one message.
        "    cmp _last_class(%rip), %r10\n"
        "    jne __objc_msgSend_uncached\n"
        "    cmp _last_name(%rip), %rsi\n"
        "    jne __objc_msgSend_uncached\n"
        "    mov _last_code(%rip), %r11\n"
        "    jmp *%r11\n"
        "1:  xor %eax, %eax\n"
        "    ret\n"
        "__objc_msgSend_uncached:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    push %rdx\n"
        "    push %rcx\n"
        "    push %r10\n"
        "    sub $8, %rsp\n"
        "    mov %r10, %rdx\n"
        "    call _lookUpImpOrForward\n"
        "    add $8, %rsp\n"
        "    pop %r10\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    mov %r10, _last_class(%rip)\n"
        "    mov %rsi, _last_name(%rip)\n"
        "    mov %rax, _last_code(%rip)\n"
        "    mov %rax, %r11\n"
        "    leave\n"
        "    jmp *%r11\n"
        ".globl _objc_msgSendSuper2\n"
        "_objc_msgSendSuper2:\n"
        "    mov 8(%rdi), %r10\n"
        "    mov (%rdi), %rdi\n"
        "    mov 8(%r10), %r10\n"
        "    jmp __objc_msgSend_uncached\n"
        ".data\n"
        "_last_class: .quad 0\n"
        "_last_name: .quad 0\n"
        "_last_code: .quad 0\n");
