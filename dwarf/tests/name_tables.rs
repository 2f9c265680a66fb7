//! Names from the tables that compilers and linkers make: the same answers as from reading
//! everything, and sooner.

mod common;

use dwarf::Module;
use object::{Object, ObjectSection};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const FIRST: &str = r#"
namespace ns {
struct Node { int v; Node *next; int get() const; static int count; };
int Node::count = 3;
__attribute__((noinline)) int Node::get() const { return v; }
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
enum Color { red, green };
typedef int word;
}
struct Opaque;
Opaque *opaque;
static inline __attribute__((always_inline)) int inlined(int *x) { *x += 3; return *x; }
static int hidden = 4;
int global = 7;
int work(int);
namespace { __attribute__((noinline)) int anonymous(int x) { return x + 5; } }
int main(int argc, char **) {
    static int counter;
    ns::Node n{argc, nullptr};
    counter += ns::twice(argc) + inlined(&n.v) + work(argc) + inlined(&argc) + anonymous(argc);
    ns::word w = n.get();
    return w + counter + ns::red + hidden + ns::Node::count + (opaque != nullptr) + global;
}
"#;

const SECOND: &str = r#"
struct Other { long z; };
Other other;
static int hidden = 5;
extern "C" __attribute__((noinline)) int plain(int a) { return a + hidden; }
int work(int x) { hidden = x; return plain(x) + other.z; }
"#;

struct Built {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

/// Two units, each compiled with its own command, linked by the first one's compiler.
#[track_caller]
fn build(first: &str, second: &str, link: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::write(root.join("first.cpp"), FIRST).unwrap();
    std::fs::write(root.join("second.cpp"), SECOND).unwrap();
    let run = |line: String| {
        let status = Command::new("sh")
            .args(["-c", &line])
            .current_dir(root)
            .status();
        assert!(status.unwrap().success(), "{line}");
    };
    run(format!("{first} -c first.cpp"));
    run(format!("{second} -c second.cpp"));
    let compiler = first.split(' ').next().unwrap();
    run(format!("{compiler} {link} first.o second.o -o program"));
    let binary = root.join("program");
    Built { folder, binary }
}

impl Built {
    /// The same program without its tables.
    fn stripped(&self) -> Arc<Module> {
        let path = self.folder.path().join("without");
        let status = Command::new("objcopy")
            .args(["-R", ".debug_names", "-R", ".gdb_index"])
            .args([&self.binary, &path])
            .status();
        assert!(status.unwrap().success());
        Module::open(&path).unwrap()
    }

    /// The same program with other bytes in it.
    fn patched(&self, name: &str, patch: impl FnOnce(&mut [u8])) -> Arc<Module> {
        let mut bytes = std::fs::read(&self.binary).unwrap();
        patch(&mut bytes);
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Module::open(&path).unwrap()
    }

    fn section(&self, name: &str) -> Range<usize> {
        section(&self.binary, name).unwrap_or_else(|| panic!("no {name}"))
    }
}

fn section(binary: &Path, name: &str) -> Option<Range<usize>> {
    let bytes = std::fs::read(binary).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let (start, size) = file.section_by_name(name)?.file_range()?;
    Some(start as usize..(start + size) as usize)
}

const NAMES: [&str; 24] = [
    "main",
    "work",
    "plain",
    "twice",
    "ns::twice<int>",
    "get",
    "Node::get",
    "anonymous",
    "(anonymous namespace)::anonymous",
    "inlined",
    "count",
    "ns::Node::count",
    "hidden",
    "global",
    "other",
    "counter",
    "Node",
    "struct Other",
    "Color",
    "word",
    "int",
    "opaque",
    "Opaque",
    "nothing",
];

/// What a module says of every name, in words.
fn answers(module: &Module) -> Vec<String> {
    let main = module.functions_named("main");
    let near = main.first().map(|main| main.entry);
    let mut found = Vec::new();
    for name in NAMES {
        for function in module.functions_named(name) {
            found.push(format!(
                "{name}: function {} {:?}",
                function.name, function.entry
            ));
        }
        found.push(format!(
            "{name}: inlined at {:?}",
            module.inlined_named(name)
        ));
        for variable in module.statics_named(name, near) {
            found.push(format!("{name}: variable {}", variable.name));
        }
        for id in module.types_named(name, near) {
            let ty = module.ty(module.complete_type(id)).unwrap();
            found.push(format!("{name}: type {:?} of {:?} bytes", ty.name, ty.size));
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn debug_names_agree_with_a_full_read() {
    if !skips::has_command("clang++") {
        return;
    }
    for level in ["-O0", "-O1"] {
        let with = format!("clang++ -gdwarf-5 -gpubnames {level}");
        let without = format!("clang++ -gdwarf-5 {level}");
        for second in [&with, &without] {
            let built = build(&with, second, "");
            let module = Module::open(&built.binary).unwrap();
            let (found, read) = (answers(&module), answers(&built.stripped()));
            assert!(
                found.iter().any(|line| line.starts_with("work: function")),
                "{found:#?}"
            );
            assert!(
                found.iter().any(|line| line.starts_with("Opaque: type")),
                "{found:#?}"
            );
            assert!(
                !found
                    .iter()
                    .any(|line| line.starts_with("counter: variable")),
                "{found:#?}"
            );
            assert_eq!(found, read, "{level}, second unit by {second}");
        }
    }
}

#[test]
fn debug_names_replace_a_full_read() {
    if !skips::has_command("clang++") {
        return;
    }
    let command = "clang++ -gdwarf-5 -gpubnames";
    let built = build(command, command, "");
    let (strings, names) = (built.section(".debug_str"), built.section(".debug_names"));
    let bytes = std::fs::read(&built.binary).unwrap();
    let at = |text: &[u8]| {
        let strings = &bytes[strings.clone()];
        let at = strings
            .windows(text.len())
            .position(|window| window == text);
        (at.unwrap() as u32 + 1).to_le_bytes()
    };
    let (color, word) = (at(b"\0Color\0"), at(b"\0word\0"));
    let module = Module::open(&built.binary).unwrap();
    assert_eq!(module.types_named("Color", None).len(), 1);
    // The table lacks the name: only the table was read.
    let patched = built.patched("renamed", |bytes| {
        let names = &mut bytes[names];
        let place = names.windows(4).position(|window| window == color).unwrap();
        names[place..place + 4].copy_from_slice(&word);
    });
    assert!(patched.types_named("Color", None).is_empty());
    assert_eq!(patched.types_named("Node", None).len(), 1);
}

#[test]
fn wrong_tables_are_rejected() {
    let mut built = Vec::new();
    if skips::has_command("clang++") {
        let command = "clang++ -gdwarf-5 -gpubnames";
        built.push((".debug_names", build(command, command, "")));
    }
    let command = "g++ -g -ggnu-pubnames";
    built.extend(with_gdb_index(command).map(|built| (".gdb_index", built)));
    for (name, built) in built {
        let section = built.section(name);
        let read = answers(&built.stripped());
        // Cut off in the middle, and a byte of every table wrong: the whole answer all the
        // same, or (where the damage makes sense) less of it, but no panic and no hang.
        let cut = built.patched("cut", |bytes| {
            let middle = section.start + section.len() / 2;
            bytes[middle..section.end].fill(0xff);
        });
        assert_eq!(answers(&cut), read, "{name} cut off");
        for at in section.clone().step_by(section.len() / 60 + 1) {
            let twisted = built.patched("twisted", |bytes| bytes[at] ^= 0x5f);
            let found = answers(&twisted);
            assert!(
                found.iter().any(|line| line.starts_with("main: function")),
                "byte {at}"
            );
        }
    }
}

/// The fixture with `.gdb_index`.
fn with_gdb_index(command: &str) -> Option<Built> {
    skips::has_command("ld.gold").then(|| build(command, command, "-fuse-ld=gold -Wl,--gdb-index"))
}

#[track_caller]
fn answers_before_reading_all(built: &Built) {
    let module = Module::open(&built.binary).unwrap();
    assert!(!built.section(".gdb_index").is_empty());
    let functions = module.functions_named("twice");
    assert_eq!(functions.len(), 1, "{functions:?}");
    assert_eq!(module.types_named("struct Other", None).len(), 1);
    assert_eq!(module.statics_named("hidden", None).len(), 2);
    let twice = module.function_at(functions[0].entry).unwrap();
    assert_eq!(twice.entry, functions[0].entry);
    assert!(!module.has_names(), "all units were read for that");
    // Only all units can say that there is none.
    assert!(module.types_named("nothing", None).is_empty());
    assert!(module.has_names());

    let fresh = built.patched("fresh", |_| ());
    assert_eq!(answers(&fresh), answers(&built.stripped()));
}

#[test]
fn gdb_index_selects_units() {
    let command = "g++ -g -ggnu-pubnames";
    if skips::has_command("ld.gold") {
        answers_before_reading_all(&build(command, command, "-fuse-ld=gold -Wl,--gdb-index"));
    }
    if skips::has_command("ld.lld") && skips::has_command("clang++") {
        let command = "clang++ -gdwarf-5 -ggnu-pubnames";
        answers_before_reading_all(&build(command, command, "-fuse-ld=lld -Wl,--gdb-index"));
    }
}

/// Of statics and types of one name it lists one unit, and says nothing of the others.
#[test]
fn the_index_of_gdb_is_not_trusted() {
    if !skips::has_command("gdb-add-index") {
        return;
    }
    let command = "g++ -g";
    let built = build(command, command, "");
    let status = Command::new("gdb-add-index").arg(&built.binary).status();
    assert!(status.unwrap().success());
    assert!(!built.section(".gdb_index").is_empty());
    let module = Module::open(&built.binary).unwrap();
    assert_eq!(module.statics_named("hidden", None).len(), 2);
    assert_eq!(module.types_named("struct Other", None).len(), 1);
    let fresh = built.patched("fresh", |_| ());
    assert_eq!(answers(&fresh), answers(&built.stripped()));
}
