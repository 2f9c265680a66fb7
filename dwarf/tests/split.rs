//! Where split files are searched, and the debug info that is left without them.

mod common;

use common::{Fixture, compile};
use dwarf::{Module, TypeKind};
use std::path::{Path, PathBuf};

const SOURCE: &str = "
struct point { int x, y; };
static struct point origin = { 1, 2 };
int sum(struct point *p) {
    int total = p->x + p->y; //@ total
    return total;
}
int main(void) { return sum(&origin); }
";

/// All split files of a fixture.
fn split_files(fixture: &Fixture) -> Vec<PathBuf> {
    let folder = fixture.binary.parent().unwrap();
    std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "dwo"))
        .collect()
}

#[track_caller]
fn is_whole(module: &Module) {
    let functions = module.functions_named("sum");
    let [function] = functions.as_slice() else {
        panic!("{functions:?}");
    };
    let names: Vec<&str> = function
        .scope
        .variables
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    assert_eq!(names, ["p", "total"]);
    assert_eq!(function.declaration.as_ref().unwrap().line, 4);
    let point = module.types_named("struct point", None);
    let point = module.ty(*point.first().unwrap()).unwrap();
    let TypeKind::Composite(composite) = &point.kind else {
        panic!("{point:?}");
    };
    assert_eq!(composite.members.len(), 2);
    assert_eq!(module.statics_named("origin", None).len(), 1);
    assert!(module.missing_split_units().is_empty());
}

#[track_caller]
fn has_lines_only(module: &Module, fixture: &Fixture) {
    assert!(module.functions_named("sum").is_empty());
    assert_eq!(module.missing_split_units().len(), 1);
    let files = module.find_sources(&fixture.source);
    let places = module.line_locations(&files[0], fixture.line("total"));
    assert_eq!(places.len(), 1);
    assert_eq!(module.symbols_named("sum").len(), 1);
}

/// The program under another name, hence opened anew, in a folder with these files.
fn moved(fixture: &Fixture, folder: &Path, files: &[PathBuf]) -> std::sync::Arc<Module> {
    let binary = folder.join("moved");
    std::fs::copy(&fixture.binary, &binary).unwrap();
    for file in files {
        std::fs::rename(file, folder.join(file.file_name().unwrap())).unwrap();
    }
    Module::open(&binary).unwrap()
}

#[test]
fn beside_the_program_by_name_and_missing() {
    for version in [4, 5] {
        let command = format!("gcc -g -gdwarf-{version} -gsplit-dwarf");
        let fixture = compile(&command, "split.c", SOURCE);
        is_whole(&fixture.module);
        let files = split_files(&fixture);
        assert_eq!(files.len(), 1);
        let folder = tempfile::tempdir().unwrap();
        is_whole(&moved(&fixture, folder.path(), &files));
        let folder = tempfile::tempdir().unwrap();
        has_lines_only(&moved(&fixture, folder.path(), &[]), &fixture);
    }
}

#[test]
fn a_split_file_of_another_build() {
    let fixture = compile("gcc -g -gsplit-dwarf", "split.c", SOURCE);
    let other = SOURCE.replace("total", "other");
    let other = compile("gcc -g -gsplit-dwarf", "split.c", &other);
    let files = split_files(&fixture);
    std::fs::copy(&split_files(&other)[0], &files[0]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    has_lines_only(&moved(&fixture, folder.path(), &files), &fixture);
}

#[test]
fn a_corrupt_split_file() {
    let fixture = compile("gcc -g -gsplit-dwarf", "split.c", SOURCE);
    let file = &split_files(&fixture)[0];
    let whole = std::fs::read(file).unwrap();
    for step in 1..40 {
        let mut torn = whole.clone();
        for at in (step * 7..torn.len()).step_by(step * 13) {
            torn[at] ^= 0xff;
        }
        // A new file: the old one stays mapped.
        std::fs::remove_file(file).unwrap();
        std::fs::write(file, torn).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let module = moved(&fixture, folder.path(), &[]);
        for function in module.functions_named("sum") {
            for variable in &function.scope.variables {
                let _ = variable.ty.map(|ty| module.ty(ty));
            }
        }
        let _ = module.types_named("struct point", None);
        assert_eq!(module.symbols_named("sum").len(), 1);
    }
}
