//! Each test runs in a tier: `.ci/run` for every change, or a heavy part of `.ci/parts` that `.ci/full` runs.

use std::collections::BTreeSet;
use std::fs;
use stillpoint_tests::repository;

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The parts with their paths.
fn parts() -> Vec<(String, Vec<String>)> {
    let text = read(".ci/parts");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| {
        let (name, paths) = line.split_once(": ").expect("`PART: PATH…`");
        let paths = paths.split(' ').map(str::to_owned).collect();
        (name.to_owned(), paths)
    });
    parts.collect()
}

#[test]
fn each_file_of_tests_is_a_module_of_the_program() {
    let folder = repository().join("tests/tests");
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("the folder").flatten() {
        let name = entry.file_name().into_string().expect("UTF-8");
        match name.strip_suffix(".rs") {
            Some(name) => files.insert(name.to_owned()),
            None => files.insert(name),
        };
    }
    // A program of its own, and the list itself.
    assert!(files.remove("stepping_levels") && files.remove("main"));
    let text = read("tests/tests/main.rs");
    let modules = text.lines().filter_map(|line| line.strip_prefix("mod "));
    let modules: BTreeSet<String> = modules
        .map(|it| it.trim_end_matches(';').to_owned())
        .collect();
    assert_eq!(modules, files);
}

#[test]
fn all_test_programs_run_for_every_change() {
    let run = read("tests/run.sh");
    for kind in ["--lib --bins", "--doc", "--test '*'"] {
        assert!(
            run.contains(&format!("cargo test --workspace {kind}"))
                || run.contains(&format!("cargo test --quiet --workspace {kind}")),
            "{kind}"
        );
    }
    let shared = read(".ci/lib.sh");
    assert!(shared.contains("\n    tests/run.sh\n"));
    for tier in [".ci/run", ".ci/full"] {
        assert!(read(tier).contains("\nof_every_change\n"), "{tier}");
    }
}

#[test]
fn each_heavy_part_has_paths_and_runs_in_full() {
    let shared = read(".ci/lib.sh");
    let parts = parts();
    assert!(parts.len() > 4);
    for (name, paths) in &parts {
        for path in paths {
            assert!(repository().join(path).exists(), "{name}: {path}");
        }
        let mut cases = shared.lines().filter_map(|line| line.split_once(')'));
        let runs = cases.any(|(names, _)| names.trim().split(" | ").any(|it| it == name));
        assert!(name == "every" || runs, "{name}");
    }
    for tier in [".ci/run", ".ci/full"] {
        assert!(
            read(tier).contains(".ci/parts)"),
            "{tier} does not read the list"
        );
    }
    // It runs the tests of aarch64 and aarch64-code, and more.
    assert!(read(".ci/full").contains("\npart aarch64-wide\n"));
    assert!(shared.contains(" | aarch64-wide)"));
}

#[test]
fn each_ignored_test_belongs_to_a_heavy_part() {
    let shared = read(".ci/lib.sh");
    let mut folders = vec![repository().join("tests/tests")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            for line in text.lines().filter(|line| line.starts_with("#[ignore")) {
                let command = line.split('`').nth(1).unwrap_or_default();
                let is_run = !command.is_empty() && shared.contains(command);
                assert!(is_run, "{}: {line}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 0);
}
