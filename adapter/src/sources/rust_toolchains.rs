//! Where the sources of Rust's standard library are on this machine.

use engine::read_regular;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the sources in a toolchain.
const LIBRARY: &str = "lib/rustlib/src/rust/library";
/// The file in which rustup keeps what a toolchain consists of, and what stands before its version.
const MANIFEST: &str = "lib/rustlib/multirust-channel-manifest.toml";
const VERSION: &str = "[pkg.rust]\nversion = \"";
/// Maximum number of toolchains that are looked at, size of a manifest, and of a path that `rustc` prints.
const MAX_TOOLCHAINS: usize = 64;
const MAX_MANIFEST_BYTES: u64 = 16 << 20;
const MAX_PATH_BYTES: u64 = 1 << 16;

/// Returns the sources in the toolchain of rustup that has compiled the library: `hash` is the commit in the
/// paths of its debug info. Cost: about a millisecond for each toolchain with sources.
pub fn of_commit(hash: &OsStr) -> Option<PathBuf> {
    let home = match std::env::var_os("RUSTUP_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME")?).join(".rustup"),
    };
    in_home(&home, hash.to_str()?)
}

fn in_home(home: &Path, hash: &str) -> Option<PathBuf> {
    let toolchains = std::fs::read_dir(home.join("toolchains")).ok()?;
    let toolchains = toolchains.take(MAX_TOOLCHAINS).filter_map(Result::ok);
    toolchains.map(|it| it.path()).find_map(|toolchain| {
        let library = toolchain.join(LIBRARY);
        let manifest = library.is_dir().then(|| toolchain.join(MANIFEST))?;
        let text = read_regular(&manifest, MAX_MANIFEST_BYTES).ok()?;
        let commit = commit_of(std::str::from_utf8(&text).ok()?)?;
        hash.starts_with(commit).then_some(library)
    })
}

/// Returns the beginning of the commit in a manifest: `59807616e` of `1.95.0 (59807616e 2026-04-14)`.
fn commit_of(manifest: &str) -> Option<&str> {
    let (_, version) = manifest.split_once(VERSION)?;
    let (version, _) = version.split_once('"')?;
    let (_, commit) = version.split_once('(')?;
    let commit = commit.split(' ').next()?;
    (commit.len() >= 7).then_some(commit)
}

/// Returns the sources of the toolchain that is in use. Runs `rustc`, which takes a while.
pub fn in_use() -> Option<PathBuf> {
    let mut rustc = Command::new("rustc")
        .args(["--print", "sysroot"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut sysroot = Vec::new();
    let read = rustc
        .stdout
        .take()?
        .take(MAX_PATH_BYTES)
        .read_to_end(&mut sysroot);
    let _ = rustc.wait();
    read.ok()?;
    let sysroot = PathBuf::from(OsStr::from_bytes(sysroot.trim_ascii()));
    let folder = sysroot.join(LIBRARY);
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn toolchain_of_a_commit_has_the_sources() {
        let home = tempfile::tempdir().unwrap();
        let make = |name: &str, version: &str, has_sources: bool| {
            let toolchain = home.path().join("toolchains").join(name);
            let folder = match has_sources {
                true => LIBRARY,
                false => "lib/rustlib",
            };
            fs::create_dir_all(toolchain.join(folder)).unwrap();
            let text = format!(
                "[pkg.cargo]\nversion = \"1 (aaaaaaaaa 2026)\"\n\n[pkg.rust]\nversion = \"{version}\"\n"
            );
            fs::write(toolchain.join(MANIFEST), text).unwrap();
            toolchain.join(LIBRARY)
        };
        let stable = make("stable", "1.95.0 (59807616e 2026-04-14)", true);
        make("bare", "1.96.0 (111111111 2026-04-14)", false);
        make("own", "local", true);
        let found = |hash: &str| in_home(home.path(), hash);
        assert_eq!(
            found("59807616e1fa2540724bfbac14d7976d7e4a3860"),
            Some(stable)
        );
        assert_eq!(found("11111111166a2540724bfbac14d7976d7e4a3860"), None);
        assert_eq!(found("e50aa6fba"), None);
        assert_eq!(in_home(Path::new("/nowhere"), "59807616e"), None);
    }
}
