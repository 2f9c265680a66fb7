//! Where variables are: expressions, lists, constants, entry values.

mod common;

use common::{FakeMemory, argument, compile, frame};
use dwarf::{
    CallerFrame, FileAddr, FrameContext, LoadAddr, LoadBias, Location, Machine, Register,
    Registers, StaticLocation, Term,
};
use object::{Object, ObjectSection};

const STACK: u64 = 0x7fff_0000;

fn registers(machine: Machine) -> Registers {
    let general = match machine {
        Machine::X86_64 => 16,
        _ => 31,
    };
    let mut registers = Registers::new(machine);
    for number in 0..general {
        registers.set(Register(number), 0x100 + u64::from(number));
    }
    registers.set_sp(0x200);
    registers
}

static MEMORY: FakeMemory = FakeMemory {
    base: STACK,
    bytes: Vec::new(),
};

#[test]
fn unoptimized_variables_are_in_the_frame() {
    for flags in ["gcc -g -O0", "gcc -g -O0 -gdwarf-4", "gcc -g -O0 -gdwarf-2"] {
        let fixture = compile(
            flags,
            "frame.c",
            r#"
#include <stdio.h>
int global = 5;
static int hidden = 6;
_Thread_local int local = 7;
extern char **environ;
int work(int a, long b) {
    static int calls;
    int sum = a + b + global + hidden + local + calls;
    { int inner = sum; sum += inner; }
    return sum + (environ != 0);
}
int main(int argc, char **argv) { return work(argc, 2); }
"#,
        );
        let module = &fixture.module;
        let work = fixture.function("work");
        let registers = registers(module.machine());
        let context = frame(&MEMORY, &registers, module.body_start(&work), Some(&work));
        let place = |name: &str| {
            module
                .locate(&fixture.variable("work", name), &context)
                .unwrap_or_else(|error| panic!("{flags} {name}: {error}"))
        };
        for name in ["a", "b", "sum", "inner"] {
            let Location::Memory(addr) = place(name) else {
                panic!("{name}: {:?}", place(name))
            };
            // gcc's frame base is the CFA, version 2's is rbp-relative by a list.
            assert!(addr.0 < STACK || flags.ends_with('2'), "{name} {addr}");
        }
        assert_eq!(work.scope.children.len(), 1);
        let calls = fixture.variable("work", "calls");
        assert_eq!(calls.kind, dwarf::VariableKind::Static);
        assert!(matches!(place("calls"), Location::Memory(_)));
        let global = &module.statics_named("global", None)[0];
        let symbol = module.symbols_named("global")[0];
        assert_eq!(
            module.locate(global, &context).expect("global"),
            Location::Memory(LoadAddr(symbol.addr.0))
        );
        let biased = FrameContext {
            bias: LoadBias(0x1000),
            ..frame(&MEMORY, &registers, FileAddr(0), None)
        };
        assert_eq!(
            module.locate(global, &biased).expect("global"),
            Location::Memory(LoadAddr(symbol.addr.0 + 0x1000))
        );
        let local = &module.statics_named("local", None)[0];
        assert_eq!(
            module.locate(local, &context).expect("local"),
            Location::Memory(LoadAddr(0x7000_0000))
        );
        let hidden = &module.statics_named("hidden", Some(work.entry))[0];
        assert!(module.locate(hidden, &context).is_ok());
    }
}

/// Returns the return address of the call at an address, if it is one of a function.
fn call_to(module: &dwarf::Module, at: FileAddr, function: FileAddr) -> Option<FileAddr> {
    let mut code = [0; 5];
    module.read_image(at, &mut code);
    let word = |from: usize| i32::from_le_bytes([0, 1, 2, 3].map(|nth: usize| code[from + nth]));
    let (back, distance) = match module.machine() {
        // call rel32
        Machine::X86_64 => {
            (code[0] == 0xe8).then_some(())?;
            (at + 5, (at + 5, i64::from(word(1))))
        }
        // bl
        _ => {
            let is_call = at.0.is_multiple_of(4) && word(0) as u32 >> 26 == 0b10_0101;
            is_call.then_some(())?;
            (at + 4, (at, i64::from(word(0) << 6 >> 6) * 4))
        }
    };
    (distance.0 + distance.1 as u64 == function).then_some(back)
}

#[test]
fn optimized_variables() {
    for flags in ["gcc -g -O2", "gcc -g -O2 -gdwarf-4"] {
        let fixture = compile(
            flags,
            "optimized.c",
            r#"
#include <stdio.h>
__attribute__((noipa)) int callee(int first, int second) {
    int constant = 42;
    int unused = first * 7;
    puts("x"); //@ after
    return second + constant;
}
__attribute__((noinline)) int caller(int n) {
    return callee(17, n) + 1; //@ call
}
int main(int argc, char **argv) { return caller(argc); }
"#,
        );
        let module = &fixture.module;
        let callee = fixture.function("callee");
        let machine = module.machine();
        let registers = registers(module.machine());
        let at = |pc: FileAddr, name: &str| {
            let context = frame(&MEMORY, &registers, pc, Some(&callee));
            module
                .locate(&fixture.variable("callee", name), &context)
                .unwrap_or_else(|error| panic!("{flags} {name}: {error}"))
        };
        // Parameters come in registers, and a constant is where nothing is.
        assert_eq!(
            at(callee.entry, "first"),
            Location::Register(argument(machine, 0))
        );
        assert_eq!(
            at(callee.entry, "second"),
            Location::Register(argument(machine, 1))
        );
        assert_eq!(
            at(callee.entry, "constant"),
            Location::Implicit(vec![42, 0, 0, 0]),
            "{flags}"
        );
        // After the call the argument's register is another's; the call site in the caller knows what
        // it was.
        let call_end = module
            .rows_in(callee.ranges[0])
            .last()
            .expect("rows")
            .range
            .end
            - 1;
        let caller = fixture.function("caller");
        let body = caller.ranges[0];
        let addrs = (0..body.end - body.start).map(|offset| body.start + offset);
        let back = addrs
            .filter_map(|at| call_to(module, at, callee.entry))
            .next();
        let back = back.expect("the call");
        let tell = |known: bool| {
            let caller_of = |level| {
                (known && level == 0).then(|| CallerFrame {
                    registers: registers.clone(),
                    return_address: LoadAddr(back.0),
                    jump: None,
                    cfa: None,
                })
            };
            let context = FrameContext {
                caller: &caller_of,
                ..frame(&MEMORY, &registers, call_end, Some(&callee))
            };
            module.locate(&fixture.variable("callee", "first"), &context)
        };
        match tell(true) {
            Ok(Location::Implicit(bytes)) => assert_eq!(bytes, [17, 0, 0, 0], "{flags}"),
            other => panic!("{flags}: {other:?}"),
        }
        assert_eq!(tell(false).ok(), Some(Location::OptimizedOut), "{flags}");
    }
}

#[test]
fn pieces_and_implicit_pointers() {
    let fixture = compile(
        "gcc -g -O2",
        "pieces.c",
        r#"
#include <stdio.h>
struct pair { long a, b; };
__attribute__((noinline)) long f(struct pair p) { puts("x"); return p.a + p.b; }
static inline long deref(const int *p) { puts("y"); return *p; }
__attribute__((noinline)) long g(int n) { int local = n + 3; return deref(&local); }
int main(int argc, char **argv) { struct pair p = { argc, 2 }; return f(p) + g(argc); }
"#,
    );
    let module = &fixture.module;
    let f = fixture.function("f");
    let registers = registers(module.machine());
    let context = frame(&MEMORY, &registers, f.entry, Some(&f));
    let Location::Pieces(pieces) = module
        .locate(&fixture.variable("f", "p"), &context)
        .expect("pieces")
    else {
        panic!()
    };
    assert_eq!(pieces.len(), 2);
    assert_eq!((pieces[0].bits, pieces[1].bits), (64, 64));
    let second = argument(module.machine(), 1);
    assert_eq!(pieces[1].location, Location::Register(second));
    let g = fixture.function("g");
    let pointer = fixture.variable("g", "p");
    let implicit = g.ranges.iter().any(|range| {
        (range.start.0..range.end.0).any(|pc| {
            let context = frame(&MEMORY, &registers, FileAddr(pc), Some(&g));
            matches!(
                module.locate(&pointer, &context),
                Ok(Location::ImplicitPointer { offset: 0, .. })
            )
        })
    });
    assert!(implicit);
}

#[test]
fn virtual_bases_are_found_through_the_object() {
    let fixture = compile(
        "g++ -g -O0",
        "virtual.cpp",
        r#"
struct Base { int id = 1; };
struct Left : virtual Base { int l = 2; };
int main() { Left left; return left.id; }
"#,
    );
    let module = &fixture.module;
    let id = module.types_named("Left", None)[0];
    let ty = module.ty(id).expect("Left");
    let dwarf::TypeKind::Composite(class) = &ty.kind else {
        panic!()
    };
    let dwarf::MemberOffset::Expression(place) = class.bases[0].offset else {
        panic!()
    };
    // The object's first word points at its virtual table; the base's distance is 24 bytes
    // before it (Itanium C++ ABI §2.5).
    let words = [STACK + 32, (-16i64) as u64, 0, 0, 0];
    let memory = FakeMemory {
        base: STACK,
        bytes: words
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect(),
    };
    let registers = registers(module.machine());
    let context = frame(&memory, &registers, FileAddr(0), None);
    let found = module.locate_member(place, LoadAddr(STACK), &context);
    assert_eq!(found.expect("a place"), LoadAddr(STACK - 16));
}

/// What a term is in a frame.
fn number(term: &Term, context: &FrameContext<'_>) -> u64 {
    match term {
        Term::Constant(number) => *number,
        Term::Image(addr) => context.bias.load(*addr).0,
        Term::Register(register) => context.registers.get(*register).expect("a register"),
        Term::ThreadLocal(offset) => (context.tls)(*offset).expect("a thread's place").0,
        Term::Sum(term, by) => number(term, context).wrapping_add(*by),
        other => panic!("{other:?}"),
    }
}

/// A location computed without the process, put into a frame, equals the one found in the frame.
#[test]
fn locations_without_a_process() {
    let source = r#"
#include <stdio.h>
int global = 5;
extern char **environ;
_Thread_local int local = 7;
__attribute__((noipa)) int work(int a, long b) {
    static int calls;
    volatile long sum = a + b + global + local + calls;
    int constant = 42;
    for (int i = 0; i < a; i++) { //@ loop
        int twice = 2 * i + constant; //@ twice
        printf("%d %ld\n", twice, sum + b); //@ print
    }
    return sum + (environ != 0); //@ end
}
int main(int argc, char **argv) { return work(argc, 2); }
"#;
    for flags in ["gcc -g -O0", "gcc -g -O2", "clang -g -O0", "clang -g -O2"] {
        if !skips::has_command(flags.split(' ').next().expect("a compiler")) {
            continue;
        }
        let fixture = compile(flags, "static.c", source);
        let module = &fixture.module;
        let work = fixture.function("work");
        let registers = registers(module.machine());
        let mut compared = 0;
        for mark in ["loop", "twice", "print", "end"] {
            for location in fixture.locations(mark) {
                let pc = location.addr;
                // clang has inlined it elsewhere, too.
                if !work.contains(pc) {
                    continue;
                }
                for name in ["a", "b", "sum", "constant", "i", "twice", "calls"] {
                    let variable = fixture.variable("work", name);
                    let Ok(place) = module.locate_static(&variable, Some(&work), pc) else {
                        continue;
                    };
                    compared += 1;
                    let cfa = cfa_of(module, pc, &registers);
                    let context = FrameContext {
                        cfa,
                        bias: LoadBias(0x1000),
                        ..frame(&MEMORY, &registers, pc, Some(&work))
                    };
                    let found = module.locate(&variable, &context).expect("a place");
                    let same = match (&place, &found) {
                        (StaticLocation::Memory(term), Location::Memory(addr)) => {
                            number(term, &context) == addr.0
                        }
                        (StaticLocation::Register(a), Location::Register(b)) => a == b,
                        (StaticLocation::Constant(a), Location::Implicit(b)) => a == b,
                        (StaticLocation::Value(term), Location::Implicit(bytes)) => {
                            number(term, &context).to_le_bytes().starts_with(bytes)
                        }
                        (StaticLocation::OptimizedOut, Location::OptimizedOut) => true,
                        _ => false,
                    };
                    assert!(same, "{flags} {name} at {mark}: {place:?}, not {found:?}");
                }
            }
        }
        assert!(compared >= 20, "{flags}: {compared}");
        let place = |name: &str| {
            let variable = &module.statics_named(name, None)[0];
            module.locate_static(variable, None, FileAddr(0))
        };
        let symbol = module.symbols_named("global")[0].addr;
        assert_eq!(
            place("global").expect("global"),
            StaticLocation::Memory(Term::Image(symbol))
        );
        assert_eq!(
            place("local").expect("local"),
            StaticLocation::Memory(Term::ThreadLocal(0))
        );
    }
}

/// The canonical frame address that the unwinder finds.
fn cfa_of(module: &dwarf::Module, pc: FileAddr, registers: &Registers) -> Option<LoadAddr> {
    struct One<'a>(&'a dwarf::Module);
    impl dwarf::ModuleMap for One<'_> {
        fn module_at(&self, _: LoadAddr) -> Option<(&dwarf::Module, LoadBias)> {
            Some((self.0, LoadBias(0)))
        }
    }
    let stack = FakeMemory {
        base: 0,
        bytes: vec![0; 0x1000],
    };
    let mut unwinder = dwarf::Unwinder::new();
    let address = dwarf::FrameAddress::Pc(LoadAddr(pc.0));
    let unwound = unwinder.unwind(&One(module), &stack, address, registers);
    unwound.ok().map(|unwound| unwound.cfa)
}

/// gcc gives thread-local variables no location on aarch64, and records no symbol for those that only
/// their unit can name. Each is found by its initial value.
#[test]
fn thread_locals_that_only_their_unit_can_name() {
    if !skips::has_command("aarch64-linux-gnu-g++") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let other = "static thread_local int plain = 70; int *of_other() { return &plain; }\n\
                 int *plain_of_function() { static thread_local int slot = 30; return &slot; }\n";
    let locals = r#"
namespace ns {
static thread_local int slot = 3;
thread_local int open = 4;
namespace { thread_local int hidden = 9; static thread_local int hidden_twice = 10; }
}
namespace { thread_local int unnamed = 5; }
static thread_local int plain = 7;
thread_local int known = 8;
struct C { static thread_local int member; };
thread_local int C::member = 1;
int use() {
    int sum = plain++ + ns::slot++ + ns::open++ + ns::hidden + ns::hidden_twice;
    return sum + unnamed + known + C::member;
}
"#;
    for (name, text) in [("locals.cpp", locals), ("other.cpp", other)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let built = std::process::Command::new("aarch64-linux-gnu-g++")
        .args("-g -shared -fPIC -nostdlib other.cpp locals.cpp -o image".split(' '))
        .current_dir(folder.path())
        .status();
    assert!(built.expect("a compiler").success());
    let path = folder.path().join("image");
    let module = dwarf::Module::open(&path).expect("an image");
    let bytes = std::fs::read(&path).expect("the file");
    let file = object::File::parse(&*bytes).expect("an image");
    let initial = file.section_by_name(".tdata").expect("thread-local data");
    let initial = initial.data().expect("its bytes");
    let value = |variable: &dwarf::Variable| {
        let offset = usize::try_from(module.thread_local_offset(variable)?).ok()?;
        let bytes = initial.get(offset..offset + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let known = [
        ("slot", &[3, 30][..]),
        ("open", &[4]),
        ("hidden", &[9]),
        ("hidden_twice", &[10]),
        ("unnamed", &[5]),
        ("plain", &[7, 70]),
        ("known", &[8]),
        ("C::member", &[1]),
    ];
    for (name, expected) in known {
        let found = module.statics_named(name, None);
        for variable in &found {
            let at = variable.declaration.as_ref().expect("a declaration");
            let is_other = at.file.path.ends_with("other.cpp");
            let expected = if is_other {
                expected[expected.len() - 1]
            } else {
                expected[0]
            };
            assert_eq!(value(variable), Some(expected), "{name} of {:?}", at.file);
        }
        assert!(!found.is_empty(), "{name}");
    }
}
