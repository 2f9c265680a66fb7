//! Builds programs of macOS with clang and lld, and asks llvm's tools about them.
#![allow(dead_code)]

use skips::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machines, by clang's names.
pub const MACHINES: [&str; 2] = ["arm64", "x86_64"];

/// What programs need of libSystem.
const LIBRARY: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _puts, _abort, _malloc, _memcpy, _memset, dyld_stub_binder, ___stack_chk_fail,
      ___stack_chk_guard, __tlv_bootstrap, ___gxx_personality_v0, ___cxa_begin_catch,
      ___cxa_end_catch, ___cxa_allocate_exception, ___cxa_throw, ___cxa_rethrow, __ZTIi,
      __Unwind_Resume, __ZSt9terminatev ]
...
";

/// Returns the path of one of llvm's tools, of the newest release; skips what needs it otherwise.
#[track_caller]
pub fn tool(name: &str) -> Option<PathBuf> {
    // Where Debian has the tools of each release.
    let releases = (11..30).rev();
    let releases = releases.map(|release| PathBuf::from(format!("/usr/lib/llvm-{release}/bin")));
    let folders = ["/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    let found = releases.chain(folders);
    let found = found
        .map(|folder| folder.join(name))
        .find(|path| path.exists());
    if found.is_none() {
        skip(name);
    }
    found
}

/// Whether there are all of some tools.
#[track_caller]
pub fn has_tools(names: &[&str]) -> bool {
    names.iter().all(|name| tool(name).is_some())
}

/// Runs a command to its end and returns what it prints.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("a command that starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs one of llvm's tools, which is there, on a file.
#[track_caller]
pub fn asked(name: &str, arguments: &[&str], file: &Path) -> String {
    let tool = tool(name).expect("a tool that was looked for");
    output(Command::new(tool).args(arguments).arg(file))
}

/// A program of several sources, for one machine.
pub struct Program {
    pub machine: &'static str,
    /// The folder with its sources and object files.
    pub folder: PathBuf,
    pub path: PathBuf,
}

/// Compiles and links a program in a folder; `flags` are clang's.
#[track_caller]
pub fn program(
    folder: &Path,
    machine: &'static str,
    sources: &[(&str, &str)],
    flags: &[&str],
    linker_flags: &[&str],
) -> Program {
    let folder = folder.join(machine);
    std::fs::create_dir_all(&folder).expect("a folder");
    let folder = folder.canonicalize().expect("the folder's real path");
    let mut objects = Vec::new();
    for (name, text) in sources {
        std::fs::write(folder.join(name), text).expect("write a source");
    }
    for (name, _) in sources {
        let is_unit = [".c", ".cpp"].iter().any(|suffix| name.ends_with(suffix));
        if is_unit {
            objects.push(compile(&folder, machine, name, flags));
        }
    }
    let path = link(&folder, machine, &objects, linker_flags);
    Program {
        machine,
        folder,
        path,
    }
}

/// Compiles a source in a folder to an object file beside it; `flags` are clang's.
#[track_caller]
pub fn compile(folder: &Path, machine: &str, name: &str, flags: &[&str]) -> PathBuf {
    let object = folder.join(name).with_extension("o");
    let target = format!("{machine}-apple-macos11");
    let clang = tool("clang").expect("a compiler that was looked for");
    let mut compile = Command::new(clang);
    compile.args(["-target", &target, "-c", "-g"]).args(flags);
    compile.arg(name).arg("-o").arg(&object).current_dir(folder);
    output(&mut compile);
    object
}

/// Links object files and libraries to a program in a folder.
#[track_caller]
pub fn link(folder: &Path, machine: &str, inputs: &[PathBuf], flags: &[&str]) -> PathBuf {
    let library = folder.join("libSystem.tbd");
    std::fs::write(&library, LIBRARY).expect("write the library's list");
    let path = folder.join("program");
    let mut link = Command::new(tool("ld64.lld").expect("a linker that was looked for"));
    link.args(["-arch", machine]);
    link.args(["-platform_version", "macos", "11.0", "14.0", "-o"]);
    link.arg(&path).args(flags).args(inputs).arg(library);
    output(link.current_dir(folder));
    path
}

/// Makes the bundle with a program's debug info; returns the file in it.
#[track_caller]
pub fn make_bundle(path: &Path) -> PathBuf {
    let bundle = path.with_extension("dSYM");
    let tool = tool("dsymutil").expect("a tool that was looked for");
    output(Command::new(tool).arg(path).arg("-o").arg(&bundle));
    let file = bundle.join("Contents/Resources/DWARF");
    file.join(path.file_name().expect("a name"))
}

/// Makes a static library of an object file in a folder.
#[track_caller]
pub fn library(folder: &Path, name: &str, flags: &[&str], member: &str) -> PathBuf {
    let path = folder.join(name);
    let mut archive = Command::new(tool("llvm-ar").expect("a tool that was looked for"));
    archive.args(flags).arg("rcs").arg(&path).arg(member);
    output(archive.current_dir(folder));
    path
}
