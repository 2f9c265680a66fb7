//! Debug info that is compressed, shared between files, or in a file of its own says what it
//! says in the plain program.

mod common;

use common::{FakeMemory, Fixture, compile};
use dwarf::{
    Declaration, LoadAddr, LoadBias, Member, Module, Scope, ScopeKind, SymbolStatus, TypeId,
    TypeKind, Variable,
};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const SOURCE: &str = "
struct point { int x, y; };
union number { long whole; double real; };
enum colour { RED, GREEN = 5, BLUE };
struct shape {
    struct point corners[4];
    union number area;
    enum colour colour : 4;
    struct shape *next;
    const char *name;
};
typedef struct shape shape_with_a_long_name;
static inline int width_of(const shape_with_a_long_name *measured_shape) {
    int width = measured_shape->corners[1].x - measured_shape->corners[0].x; //@ inlined
    return width;
}
static shape_with_a_long_name only_shape = { .name = \"only\" };
int sum(shape_with_a_long_name *shape, enum colour colour) {
    int total = width_of(shape) + shape->corners[0].y + colour; //@ total
    return total;
}
int main(void) { return sum(&only_shape, BLUE); } //@ main
";

/// All that a debugger would ask about the program.
fn description(fixture: &Fixture, module: &Module) -> String {
    let mut text = String::new();
    let sources = module.find_sources(&fixture.source);
    assert_eq!(sources.len(), 1, "{}: {sources:?}", module.path().display());
    for mark in ["inlined", "total", "main"] {
        let places = module.line_locations(&sources[0], fixture.line(mark));
        let places: Vec<_> = places.iter().map(|place| place.addr).collect();
        writeln!(text, "{mark}: {places:?}").unwrap();
    }
    for name in ["sum", "main"] {
        for function in module.functions_named(name) {
            let line = function.declaration.as_ref().map(|it| it.line);
            writeln!(text, "{name}: {:?} {line:?}", function.ranges).unwrap();
            scope(module, &function.scope, &mut text);
        }
    }
    writeln!(text, "inlined: {:?}", module.inlined_named("width_of")).unwrap();
    for variable in module.statics_named("only_shape", None) {
        variable_text(module, &variable, &mut text);
    }
    for name in [
        "struct shape",
        "union number",
        "enum colour",
        "struct point",
    ] {
        let types = module.types_named(name, None);
        let kinds: Vec<String> = types.iter().map(|id| ty(module, *id, 3)).collect();
        writeln!(text, "{name}: {:?}", kinds.first()).unwrap();
    }
    text
}

fn scope(module: &Module, scope_of: &Scope, text: &mut String) {
    if let ScopeKind::Inlined(call) = &scope_of.kind {
        let line = call.call_site.as_ref().map(|it| it.line);
        writeln!(text, "{} inlined at {line:?}", call.name).unwrap();
    }
    for variable in &scope_of.variables {
        variable_text(module, variable, text);
    }
    for child in &scope_of.children {
        scope(module, child, text);
    }
}

fn variable_text(module: &Module, variable: &Variable, text: &mut String) {
    let line = variable.declaration.as_ref().map(|it| it.line);
    let ty = variable.ty.map(|id| ty(module, id, 4));
    writeln!(text, "{} {line:?} {ty:?}", variable.name).unwrap();
}

fn ty(module: &Module, id: TypeId, depth: u32) -> String {
    if depth == 0 {
        return "…".into();
    }
    let found = module.ty(id).unwrap();
    let below = |id: TypeId| ty(module, id, depth - 1);
    let kind = match &found.kind {
        TypeKind::Pointer(Some(id)) => format!("*{}", below(*id)),
        TypeKind::Const(Some(id)) => format!("const {}", below(*id)),
        TypeKind::Typedef(Some(id)) => format!("= {}", below(*id)),
        TypeKind::Array(array) => format!("[{}; {:?}]", below(array.element), array.counts),
        TypeKind::Composite(composite) => composite
            .members
            .iter()
            .map(|member| {
                let Member {
                    name, offset, bits, ..
                } = member;
                format!("{name} {offset:?} {bits:?} {}; ", below(member.ty))
            })
            .collect(),
        TypeKind::Enumeration(enumeration) => format!("{:?}", enumeration.enumerators),
        other => format!("{other:?}"),
    };
    format!("{} {:?} {{{kind}}}", found.name, found.size)
}

#[track_caller]
fn run(folder: &Path, command: &str) {
    let mut words = command.split_whitespace();
    let output = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
}

fn folder(fixture: &Fixture) -> &Path {
    fixture.binary.parent().unwrap()
}

/// The description of the plain program, after a look whether it says anything.
#[track_caller]
fn expected(fixture: &Fixture) -> String {
    let text = description(fixture, &fixture.module);
    for word in [
        "corners",
        "GREEN",
        "width_of inlined at",
        "total",
        "only_shape Some",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    text
}

fn open(fixture: &Fixture, name: &str) -> Arc<Module> {
    Module::open(&folder(fixture).join(name)).unwrap()
}

fn compilers() -> impl Iterator<Item = &'static str> {
    ["gcc -g -O1", "gcc -g -O1 -gdwarf-4", "clang -g -O1"]
        .into_iter()
        .filter(|command| skips::has_command(command.split(' ').next().unwrap()))
}

#[test]
fn compressed() {
    for compiler in compilers() {
        let fixture = compile(compiler, "separate.c", SOURCE);
        let expected = expected(&fixture);
        for way in ["zlib", "zlib-gnu", "zstd"] {
            let name = format!("fixture-{way}");
            let output = Command::new("objcopy")
                .arg(format!("--compress-debug-sections={way}"))
                .args(["fixture", &name])
                .current_dir(folder(&fixture))
                .output()
                .unwrap();
            if !output.status.success() {
                skips::skip(&format!("objcopy --compress-debug-sections={way}"));
                continue;
            }
            let compressed = open(&fixture, &name);
            assert!(
                compressed.debug_size() < fixture.module.debug_size(),
                "{way}"
            );
            assert_eq!(
                description(&fixture, &compressed),
                expected,
                "{compiler} {way}"
            );
        }
    }
}

/// A second program with the same types, for dwz to find something to share.
fn add_sibling(fixture: &Fixture, compiler: &str) {
    let text = SOURCE.replace("sum", "product");
    std::fs::write(folder(fixture).join("other.c"), text).unwrap();
    run(folder(fixture), &format!("{compiler} other.c -o other"));
}

#[test]
fn shared_within_a_file() {
    if !skips::has_command("dwz") {
        return;
    }
    let fixture = compile("gcc -g -O1", "separate.c", SOURCE);
    let folder = folder(&fixture);
    let text = SOURCE.replace("sum", "product").replace("main(", "side(");
    std::fs::write(folder.join("other.c"), text).unwrap();
    run(folder, "gcc -g -O1 separate.c other.c -o both");
    run(folder, "dwz both -o smaller");
    let [both, smaller] = ["both", "smaller"].map(|name| open(&fixture, name));
    assert!(smaller.debug_size() < both.debug_size());
    assert_eq!(
        description(&fixture, &smaller),
        description(&fixture, &both)
    );
}

#[test]
fn shared_between_files() {
    if !skips::has_command("dwz") {
        return;
    }
    for (compiler, dwz, link) in [
        ("gcc -g -O1 -gdwarf-4", "dwz", ".gnu_debugaltlink"),
        ("gcc -g -O1 -gdwarf-5", "dwz", ".gnu_debugaltlink"),
        ("gcc -g -O1 -gdwarf-5", "dwz --dwarf-5", ".debug_sup"),
    ] {
        let fixture = compile(compiler, "separate.c", SOURCE);
        let expected = expected(&fixture);
        add_sibling(&fixture, compiler);
        // The plain program is mapped: dwz gets another name.
        run(folder(&fixture), "cp fixture program");
        run(
            folder(&fixture),
            &format!("{dwz} -m common -M common program other"),
        );
        let smaller = std::fs::read(folder(&fixture).join("program")).unwrap();
        let named = memchr::memmem::find(&smaller, link.as_bytes());
        assert!(named.is_some(), "{dwz} made no {link}");
        let shared = open(&fixture, "program");
        assert_eq!(description(&fixture, &shared), expected, "{compiler} {dwz}");

        // Another file of that name is not taken for it.
        run(folder(&fixture), "mv common away");
        run(folder(&fixture), "cp other common");
        run(folder(&fixture), "cp program alone");
        let alone = open(&fixture, "alone");
        assert_eq!(alone.functions_named("sum").len(), 1);
        assert_ne!(description(&fixture, &alone), expected);
    }
}

const NAMESPACES: &str = "
namespace application { namespace inner {
enum class kind_of_an_item { first, second, third, fourth };
enum size_of_an_item { size_of_small_items, size_of_large_items = 4 };
struct item_with_a_long_name {
    struct nested_with_a_long_name { int number_of_the_item, size_of_the_item; };
    nested_with_a_long_name nested_of_the_item;
    kind_of_an_item kind_of_the_item;
    size_of_an_item size_of_the_whole_item;
    virtual ~item_with_a_long_name();
};
template <class Type> struct holder_of_an_item { Type held_by_the_holder; Type *next_of_the_holder; };
} }
";
/// Of one file with these types; dwz takes those of several files for the same only if a header has them.
const USES: &str = "
#include \"shared.h\"
using namespace application::inner;
int sum(item_with_a_long_name &item, holder_of_an_item<item_with_a_long_name *> holder) {
    return item.nested_of_the_item.number_of_the_item + (holder.next_of_the_holder != nullptr);
}
";

/// Returns the whole names of types and functions, and an enumerator that a function sees.
fn names(module: &Module) -> Vec<String> {
    let types = [
        "kind_of_an_item",
        "item_with_a_long_name",
        "nested_with_a_long_name",
        "holder_of_an_item<application::inner::item_with_a_long_name *>",
    ];
    let types = types.iter().flat_map(|name| module.types_named(name, None));
    let types = types.map(|id| module.ty(id).unwrap().name.clone());
    let mut names: Vec<String> = types.collect();
    let functions = module.functions_named("~item_with_a_long_name");
    names.extend(functions.iter().map(|it| it.name.clone()));
    let sum = &module.functions_named("sum")[0];
    let value = module.value_around("size_of_large_items", &[&sum.scope], sum.entry);
    if let Some(Declaration::Enumerator { name, .. }) = value {
        names.push(name);
    }
    names.sort();
    names.dedup();
    names
}

/// The units with what is shared tell no language: that of those that import them counts.
#[test]
fn namespaces_of_what_is_shared() {
    if !skips::has_command("dwz") {
        return;
    }
    let fixture = compile("g++ -g", "empty.cpp", "int main() {}");
    let folder = folder(&fixture);
    let rest = "application::inner::item_with_a_long_name::~item_with_a_long_name() {}
int main() {}";
    std::fs::write(folder.join("shared.h"), NAMESPACES).unwrap();
    std::fs::write(folder.join("shared.cpp"), format!("{USES}{rest}")).unwrap();
    run(folder, "g++ -g shared.cpp -o plain");
    let expected = names(&open(&fixture, "plain"));
    let destructor = "application::inner::item_with_a_long_name::~item_with_a_long_name";
    assert!(expected.len() == 6 && expected.contains(&destructor.to_owned()));

    let unit = USES.replace("sum(", "product(");
    std::fs::write(folder.join("unit.cpp"), &unit).unwrap();
    run(folder, "g++ -g shared.cpp unit.cpp -o both");
    run(folder, "dwz both -o smaller");
    let within = open(&fixture, "smaller");
    assert!(within.debug_size() < open(&fixture, "both").debug_size());
    assert_eq!(names(&within), expected);

    std::fs::write(folder.join("other.cpp"), format!("{unit}{rest}")).unwrap();
    run(folder, "g++ -g other.cpp -o other");
    run(folder, "cp plain program");
    run(folder, "dwz -m common -M common program other");
    assert_eq!(names(&open(&fixture, "program")), expected);
}

#[test]
fn in_a_file_of_its_own() {
    for compiler in compilers() {
        // With a build-id the two are compared by it, without one by the checksum.
        for id in ["", "-Wl,--build-id=none"] {
            let fixture = compile(&format!("{compiler} {id}"), "separate.c", SOURCE);
            let expected = expected(&fixture);
            let folder = folder(&fixture);
            run(folder, "objcopy --only-keep-debug fixture symbols");
            run(folder, "cp fixture linked");
            run(folder, "strip linked");
            run(folder, "objcopy --add-gnu-debuglink=symbols linked");
            for place in ["beside", "beside/.debug"] {
                std::fs::create_dir_all(folder.join(place)).unwrap();
                run(folder, "cp linked beside");
                run(folder, &format!("mv symbols {place}"));
                let linked = open(&fixture, "beside/linked");
                let found = linked.debug_file().map(Path::to_path_buf);
                assert_eq!(found, Some(folder.join(place).join("symbols")));
                assert_eq!(description(&fixture, &linked), expected, "{compiler} {id}");
                run(folder, &format!("mv {place}/symbols ."));
                run(folder, "rm beside/linked");
            }

            // The file of another build is not taken for it.
            run(folder, "mv symbols other-name");
            std::fs::write(folder.join("other.c"), SOURCE.replace("sum", "difference")).unwrap();
            run(folder, &format!("{compiler} {id} other.c -o symbols"));
            let stripped = open(&fixture, "linked");
            assert_eq!(stripped.debug_file(), None);
            assert_ne!(stripped.symbol_status(), SymbolStatus::DebugInfo);
        }
    }
}

#[test]
fn memory_is_matched_to_its_file() {
    let fixture = compile("gcc -g", "separate.c", SOURCE);
    let memory = FakeMemory {
        base: 0x5000_0000,
        bytes: std::fs::read(&fixture.binary).unwrap(),
    };
    let is_it = |module: &Module| module.is_loaded_at(LoadBias(memory.base), &memory);
    assert!(is_it(&fixture.module));
    run(folder(&fixture), "strip fixture -o stripped");
    assert!(is_it(&open(&fixture, "stripped")));
    add_sibling(&fixture, "gcc -g");
    assert!(!is_it(&open(&fixture, "other")));
    // Memory that cannot be read proves nothing.
    assert!(open(&fixture, "other").is_loaded_at(LoadBias(0), &memory));

    // Without its file there are no symbols, but the way to the caller is known.
    let start = LoadAddr(memory.base);
    let loaded = Module::from_memory(Path::new("gone"), start, &memory).unwrap();
    assert_eq!(loaded.build_id(), fixture.module.build_id());
    assert_eq!(loaded.symbol_status(), SymbolStatus::Stripped);
    let code = fixture.function("sum").entry;
    let at = |module: &Module| {
        let mut bytes = [0; 16];
        module.read_image(code, &mut bytes).map(|()| bytes)
    };
    assert!(at(&loaded).is_some());
    assert_eq!(at(&loaded), at(&fixture.module));
    assert!(Module::from_memory(Path::new("gone"), LoadAddr(0), &memory).is_err());
}
