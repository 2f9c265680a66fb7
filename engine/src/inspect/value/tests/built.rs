//! Compiled fixtures: each is compiled once for all tests, and kept in the folder of the build.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs};

/// Returns the program that a compiler with these arguments makes of a source. `None` if the compiler is not
/// installed.
///
/// # Panics
/// The source does not compile.
pub fn built(compiler: &[&str], source: &Path) -> Option<PathBuf> {
    type Slots = HashMap<u64, Arc<OnceLock<Option<PathBuf>>>>;
    static SLOTS: Mutex<Option<Slots>> = Mutex::new(None);
    let mut hasher = DefaultHasher::new();
    (compiler, source, fs::read(source).unwrap()).hash(&mut hasher);
    // An argument may be a second source.
    let others = compiler.iter().filter_map(|it| fs::read(it).ok());
    others.for_each(|text| text.hash(&mut hasher));
    let key = hasher.finish();
    let slot = {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        slots
            .get_or_insert_default()
            .entry(key)
            .or_default()
            .clone()
    };
    // Other tests compile other programs in the meantime.
    slot.get_or_init(|| compile(compiler, source, key)).clone()
}

fn compile(compiler: &[&str], source: &Path, key: u64) -> Option<PathBuf> {
    let mut command = Command::new(compiler[0]);
    // A toolchain of rustup is its first argument.
    command.args(compiler.get(1).filter(|it| it.starts_with('+')));
    let Ok(version) = command.arg("--version").output() else {
        skips::skip(compiler[0]);
        return None;
    };
    let mut hasher = DefaultHasher::new();
    (key, version.stdout).hash(&mut hasher);
    // The tests run in the folder `deps` of a profile's folder.
    let deps = env::current_exe().unwrap();
    let shelf = deps.ancestors().nth(2).unwrap().join("values");
    let program = shelf.join(format!("{:016x}", hasher.finish()));
    if program.exists() {
        return Some(program);
    }
    fs::create_dir_all(&shelf).unwrap();
    let workshop = tempfile::tempdir_in(&shelf).unwrap();
    let made = workshop.path().join("program");
    let status = Command::new(compiler[0])
        .args(&compiler[1..])
        .arg("-o")
        .arg(&made)
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success(), "{} does not compile", source.display());
    // Of two runs of the tests at once, one replaces the other's equal program.
    fs::rename(&made, &program).unwrap();
    Some(program)
}
