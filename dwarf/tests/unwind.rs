//! Unwinding over made-up stacks, and rules of every function of real libraries.

mod common;

use common::{FakeMemory, argument, compile, has_link_register};
use dwarf::{
    FileAddr, FrameAddress, LoadAddr, LoadBias, Machine, Memory, Module, ModuleMap, Register,
    Registers, Unreadable, Unwinder,
};
use std::path::Path;
use std::sync::Arc;

struct One {
    module: Arc<Module>,
    bias: LoadBias,
}

impl ModuleMap for One {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        self.module
            .load_range()
            .contains(self.bias.file(addr))
            .then_some((&*self.module, self.bias))
    }
}

const STACK: u64 = 0x7ffd_0000_0000;
/// x30 of aarch64.
const LINK: Register = Register(30);

fn registers(machine: Machine, pc: u64, sp: u64) -> Registers {
    let mut registers = Registers::new(machine);
    let general = match machine {
        Machine::X86_64 => 16,
        _ => 31,
    };
    for number in 0..general {
        registers.set(Register(number), 0x1111 * u64::from(number));
    }
    registers.set_sp(sp);
    registers.set_pc(pc);
    registers
}

fn stack(words: &[u64]) -> FakeMemory {
    FakeMemory {
        base: STACK,
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    }
}

/// A stack, and code.
struct Both(FakeMemory, FakeMemory);

impl Memory for Both {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        self.0
            .read(addr, buffer)
            .or_else(|_| self.1.read(addr, buffer))
    }
}

/// A stack whose words all are an address in the module, so that any CFA finds a return
/// address.
fn full_stack(word: u64) -> FakeMemory {
    stack(&vec![word; 1 << 16])
}

#[test]
fn every_function_of_libc_and_of_this_test() {
    let own = std::env::current_exe().expect("this executable");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let libc = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("libc.so"))
        .expect("libc is loaded")
        .to_owned();
    for (path, stride) in [(Path::new(&libc), 64), (own.as_path(), 1024)] {
        let module = Module::open(path).expect("open");
        let bias = LoadBias(0x5555_0000_0000);
        let map = One {
            module: module.clone(),
            bias,
        };
        let memory = full_stack(bias.load(module.entry()).0);
        let mut unwinder = Unwinder::new();
        let mut found = 0;
        let mut bare = 0;
        for segment in module
            .segments()
            .iter()
            .filter(|segment| segment.executable)
        {
            let mut addr = segment.range.start;
            while addr < segment.range.end {
                // Every 16th byte of libc starts a function or is in one.
                let in_function = module.symbol_at(addr).is_some();
                addr = addr + stride;
                if !in_function {
                    continue;
                }
                let pc = bias.load(addr);
                let mut frame = registers(module.machine(), pc.0, STACK + 0x1000);
                frame.set(module.machine().frame_pointer(), STACK + 0x4000);
                let unwound = unwinder.unwind(&map, &memory, FrameAddress::Pc(pc), &frame);
                match unwound {
                    Ok(unwound) => {
                        assert!(unwound.cfa.0 > 0);
                        if let Some((_, caller)) = unwound.caller {
                            found += 1;
                            assert!(unwound.signal_frame || caller.sp() == Some(unwound.cfa.0));
                        }
                    }
                    // Frames that keep the CFA in another register read where nothing is.
                    Err(dwarf::Error::Unreadable(_)) => {}
                    // Start-up code of the C library's crt files has no rules.
                    Err(dwarf::Error::Unsupported(_)) => bare += 1,
                    Err(error) => panic!("{addr}: {error}"),
                }
            }
        }
        assert!(found > 1000, "{}: {found}", path.display());
        assert!(bare < 20, "{}: {bare}", path.display());
    }
}

const CODE: &str = r#"
int leaf(int x) { return x * 2; }
int caller(int x) { return leaf(x) + 1; }
int main(int argc, char **argv) { return caller(argc); }
"#;

#[test]
fn a_frame_in_all_its_states() {
    for flags in ["gcc -g -O0", "gcc -g -O0 -fno-asynchronous-unwind-tables"] {
        let fixture = compile(flags, "frames.c", CODE);
        let bias = LoadBias(0x5555_5555_4000);
        let map = One {
            module: fixture.module.clone(),
            bias,
        };
        let mut unwinder = Unwinder::new();
        let machine = fixture.module.machine();
        let frame_pointer = machine.frame_pointer();
        let leaf = fixture.function("leaf");
        let caller = fixture.function("caller");
        let body = fixture.module.body_start(&caller);
        let back = bias.load(caller.entry + 20).0;
        // At the entry: the return address is on top, or in a register.
        let memory = stack(&[0, back, 7]);
        let mut frame = registers(machine, bias.load(leaf.entry).0, STACK + 8);
        let (pushed, kept, frame_bytes) = match has_link_register(machine) {
            true => {
                frame.set(LINK, back);
                (0, Register(19), 32)
            }
            false => (8, Register(12), 16),
        };
        let unwound = unwinder
            .unwind(
                &map,
                &memory,
                FrameAddress::Pc(bias.load(leaf.entry)),
                &frame,
            )
            .expect("unwind at entry");
        let (address, above) = unwound.caller.expect("a caller");
        assert_eq!(
            address,
            FrameAddress::ReturnAddress(LoadAddr(back)),
            "{flags}"
        );
        assert_eq!(above.sp(), Some(STACK + 8 + pushed));
        let as_before = |register: Register| Some(0x1111 * u64::from(register.0));
        assert_eq!(above.get(frame_pointer), as_before(frame_pointer));
        let of_callee = argument(machine, 0);
        assert_eq!(above.get(of_callee), None, "an argument is the callee's");
        assert_eq!(above.get(kept), as_before(kept));
        // In the body: the frame pointer is saved below the return address.
        let memory = stack(&[0, 0, STACK + 0x100, back, 7]);
        let mut frame = registers(machine, bias.load(body).0, STACK + 16);
        frame.set(frame_pointer, STACK + 16);
        let unwound = unwinder
            .unwind(&map, &memory, FrameAddress::Pc(bias.load(body)), &frame)
            .expect("unwind in the body");
        assert_eq!(unwound.cfa, LoadAddr(STACK + 16 + frame_bytes), "{flags}");
        let (address, above) = unwound.caller.expect("a caller");
        assert_eq!(address, FrameAddress::ReturnAddress(LoadAddr(back)));
        assert_eq!(above.get(frame_pointer), Some(STACK + 0x100));
        // The frame pointer does not say where the frame is.
        if has_link_register(machine) {
            continue;
        }
        // A stack that does not grow ends the walk.
        let mut frame = registers(machine, back, STACK + 64);
        frame.set(frame_pointer, STACK);
        assert!(
            unwinder
                .unwind(
                    &map,
                    &full_stack(back),
                    FrameAddress::ReturnAddress(LoadAddr(back)),
                    &frame
                )
                .is_err()
        );
    }
}

#[test]
fn calls_through_null_and_the_end_of_the_stack() {
    let fixture = compile("gcc -g -O0", "frames.c", CODE);
    let bias = LoadBias(0x5555_5555_4000);
    let map = One {
        module: fixture.module.clone(),
        bias,
    };
    let mut unwinder = Unwinder::new();
    let machine = fixture.module.machine();
    let back = bias.load(fixture.function("caller").entry + 20).0;
    let mut nowhere = registers(machine, 0, STACK);
    if has_link_register(machine) {
        nowhere.set(LINK, back);
    }
    let unwound = unwinder
        .unwind(
            &map,
            &stack(&[back, 0]),
            FrameAddress::Pc(LoadAddr(0)),
            &nowhere,
        )
        .expect("unwind");
    assert_eq!(
        unwound.caller.map(|caller| caller.0),
        Some(FrameAddress::ReturnAddress(LoadAddr(back)))
    );
    // `_start` says behind its landing pad that its return address is undefined.
    let start = bias.load(fixture.module.entry()) + 8;
    let unwound = unwinder
        .unwind(
            &map,
            &full_stack(back),
            FrameAddress::ReturnAddress(start),
            &registers(machine, start.0, STACK),
        )
        .expect("unwind");
    assert!(unwound.caller.is_none());
    // Garbage leads nowhere, and says so.
    let garbage = LoadAddr(0x1234_5678);
    assert!(
        unwinder
            .unwind(
                &map,
                &stack(&[1, 2, 3]),
                FrameAddress::Pc(garbage),
                &registers(machine, garbage.0, STACK)
            )
            .is_err()
    );
}

/// The code that a signal handler returns to: of libc, or, where that is the kernel's, the same in a
/// program.
#[test]
fn a_signal_trampoline() {
    const LIKE_THE_KERNELS: &str = r#"
__asm__(".text; nop; give_back: mov x8, #139; svc #0");
int main(void) { return 0; }
"#;
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let path = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("libc.so"))
        .expect("libc is loaded")
        .to_owned();
    let libc = Module::open(Path::new(&path)).expect("open libc");
    let machine = libc.machine();
    // mov $15, %rax; syscall; or mov x8, #139; svc #0
    let (restore, module): (&[u8], _) = match machine {
        Machine::X86_64 => (&[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05], libc),
        _ => {
            let flags = "gcc -g -O0 -fno-asynchronous-unwind-tables -fno-unwind-tables";
            let fixture = compile(flags, "trampoline.c", LIKE_THE_KERNELS);
            (
                &[0x68, 0x11, 0x80, 0xd2, 1, 0, 0, 0xd4],
                fixture.module.clone(),
            )
        }
    };
    let code = module
        .segments()
        .iter()
        .find(|segment| segment.executable)
        .expect("code");
    let mut bytes = vec![0; code.file_size as usize];
    module
        .read_image(code.range.start, &mut bytes)
        .expect("its bytes");
    let offset = bytes
        .windows(restore.len())
        .position(|window| window == restore)
        .expect("the trampoline");
    let trampoline: FileAddr = code.range.start + offset as u64;
    let bias = LoadBias(0x7f00_0000_0000);
    let map = One {
        module: module.clone(),
        bias,
    };
    // Where the context's registers are, and what follows which: r8 to r15, rdi, rsi, rbp, rbx, rdx,
    // rax, rcx, rsp, rip from 40 on; x0 to x30, the stack pointer, the pc behind the signal's data.
    let (first, general, argument, sp, pc) = match machine {
        Machine::X86_64 => (5, (Register(8), 5), (Register(5), 13), 20, 21),
        _ => (39, (Register(0), 39), (Register(30), 69), 70, 71),
    };
    let mut words = vec![0; 128];
    for (index, word) in words.iter_mut().enumerate().skip(first) {
        *word = 0x1000 + index as u64;
    }
    let code = FakeMemory {
        base: bias.load(code.range.start).0,
        bytes,
    };
    let memory = Both(stack(&words), code);
    let address = FrameAddress::ReturnAddress(bias.load(trampoline));
    let frame = registers(machine, address.addr().0, STACK);
    let unwound = Unwinder::new()
        .unwind(&map, &memory, address, &frame)
        .expect("unwind");
    assert!(unwound.signal_frame);
    let (address, interrupted) = unwound.caller.expect("the interrupted frame");
    assert_eq!(address, FrameAddress::Pc(LoadAddr(0x1000 + pc)));
    assert_eq!(interrupted.sp(), Some(0x1000 + sp));
    for (register, index) in [general, argument] {
        assert_eq!(interrupted.get(register), Some(0x1000 + index));
    }
}

/// As glibc's `_dl_runtime_resolve` begins: the stub that jumps there has saved `x30`, and the rules say
/// so behind the landing pad.
const ENTERED_BY_STUB: &str = r"
    .text
    .globl resolve
    .type resolve, %function
resolve:
    .cfi_startproc
    nop
    .cfi_offset x30, 8
    stp x8, x9, [sp, #-208]!
    .cfi_adjust_cfa_offset 208
    nop
    .cfi_endproc
";

#[test]
fn what_a_stub_has_saved_is_known_from_the_entry_on() {
    if !skips::has_command("clang") || !skips::has_command("ld.lld") {
        return;
    }
    let command = "clang --target=aarch64-linux-gnu -fuse-ld=lld -shared -nostdlib";
    let fixture = compile(command, "resolve.s", ENTERED_BY_STUB);
    let bias = LoadBias(0x5555_0000_0000);
    let map = One {
        module: fixture.module.clone(),
        bias,
    };
    let start = fixture.module.symbols_named("resolve")[0].addr;
    const AT_ENTRY: u64 = STACK + 0x200;
    for (offset, sp) in [(0, AT_ENTRY), (4, AT_ENTRY), (8, AT_ENTRY - 208)] {
        let mut frame = Registers::new(Machine::Aarch64);
        let pc = bias.load(start + offset);
        frame.set_pc(pc.0);
        frame.set_sp(sp);
        frame.set(Register(30), 0x1234);
        let memory = full_stack(0x5678);
        let unwound = Unwinder::new().unwind(&map, &memory, FrameAddress::Pc(pc), &frame);
        let (caller, registers) = unwound.expect("unwind").caller.expect("a caller");
        assert_eq!(caller.addr(), LoadAddr(0x5678), "{offset}");
        assert_eq!(registers.sp(), Some(AT_ENTRY + 16), "{offset}");
    }
}

/// Functions whose return addresses are signed in each way. In most places their code says nothing
/// of where the return address is, so that only the rules can tell.
const SIGNED: &str = r#"
.macro function name, sections:vararg
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
.endm
.macro frame
    nop
    mov x9, sp
    .cfi_def_cfa x9, 0
    str x30, [x9, #-16]
    .cfi_offset x30, -16
    nop
    nop
    ret
    .cfi_endproc
.endm
    .cfi_sections .eh_frame, .debug_frame
    .text
function plain
    .cfi_negate_ra_state
    frame
function with_pc
    .cfi_escape 0x2c
    frame
function second_key
    .cfi_b_key_frame
    .cfi_escape 0x2c
    frame
function set_state
    .cfi_escape 0x2b, 0x02, 0x7c
    frame
function unknown
    .cfi_escape 0x3a
    frame
"#;

#[test]
fn signed_return_addresses_of_every_form_have_rules() {
    if !skips::has_command("clang") || !skips::has_command("ld.lld") {
        return;
    }
    let sections = [
        ".cfi_sections .eh_frame",
        ".cfi_sections .debug_frame",
        ".cfi_sections .eh_frame, .debug_frame",
    ];
    // The order decides which entry a search meets first.
    for (section, table) in sections.iter().flat_map(|it| [(it, true), (it, false)]) {
        let command = format!(
            "clang --target=aarch64-linux-gnu -fuse-ld=lld -shared -nostdlib -Wl,{}",
            if table {
                "--eh-frame-hdr"
            } else {
                "--no-eh-frame-hdr"
            }
        );
        let text = SIGNED.replace(".cfi_sections .eh_frame, .debug_frame", section);
        let fixture = compile(&command, "signed.s", &text);
        let bias = LoadBias(0x5555_0000_0000);
        let map = One {
            module: fixture.module.clone(),
            bias,
        };
        let mut unwinder = Unwinder::new();
        for name in ["plain", "with_pc", "second_key", "set_state", "unknown"] {
            let start = fixture.module.symbols_named(name)[0].addr;
            let mut rules = Vec::new();
            for offset in [0, 8, 16] {
                let mut frame = Registers::new(Machine::Aarch64);
                let pc = bias.load(start + offset);
                frame.set_pc(pc.0);
                frame.set_sp(STACK + 0x100);
                frame.set(Register(9), STACK + 0x100);
                frame.set(Register(30), pc.0);
                let memory = full_stack(bias.load(start).0 | 0x7f << 48);
                let unwound = unwinder.unwind(&map, &memory, FrameAddress::Pc(pc), &frame);
                let caller = unwound
                    .ok()
                    .filter(|it| it.from_cfi)
                    .and_then(|it| it.caller);
                rules.push(caller.map(|it| it.0.addr() - bias.load(start)));
            }
            let expected = match name {
                "unknown" => [None; 3],
                _ => [Some(0), Some(8), Some(0)],
            };
            assert_eq!(rules, expected, "{name}, {section}, a table: {table}");
        }
    }
}
