//! The fixtures: small debuggees with named lines. The program `fixtures` compiles the ones in [`list`] before
//! the tests run. A test compiles any other fixture itself.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::binary::{repository, target_directory};

pub mod list;

/// A family of compilers; the language of the source selects its executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiler {
    /// gcc and g++.
    Gcc,
    /// clang and clang++.
    Clang,
    /// rustc.
    Rustc,
}

/// How a fixture is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// The compiler.
    pub compiler: Compiler,
    /// The level, as after `-O`.
    pub optimization: &'static str,
    /// Position-independent executable or not.
    pub pie: bool,
    /// Version of DWARF; 0 for no debug info.
    pub dwarf: u8,
    /// Further arguments of the compiler.
    pub extra: &'static [&'static str],
    /// A release of rustc as rustup names it (`+1.70`); empty: the default `rustc`.
    pub release: &'static str,
}

/// Releases of rustc with different standard libraries; the first is the default. Releases that are
/// not installed are skipped.
pub const RUST_RELEASES: [&str; 5] = ["", "+1.70", "+1.80", "+1.95.0", "+nightly"];

/// Headers of fixtures: of the instructions that they write themselves, of intervals.
const HEADERS: [&str; 2] = ["machine.h", "patience.h"];

impl Flags {
    /// Returns the defaults of the compilers with `-g`: unoptimized, PIE, DWARF 5.
    pub const fn new(compiler: Compiler) -> Self {
        Self {
            compiler,
            optimization: "0",
            pie: true,
            dwarf: 5,
            extra: &[],
            release: "",
        }
    }

    /// Returns the flags of a release of rustc with an optimization level.
    pub const fn rust(release: &'static str, optimization: &'static str) -> Self {
        Self {
            release,
            ..Self::new(Compiler::Rustc).optimized(optimization)
        }
    }

    /// Returns these flags with another optimization level.
    pub const fn optimized(self, optimization: &'static str) -> Self {
        Self {
            optimization,
            ..self
        }
    }

    /// Returns the default flags for the language of a source.
    pub fn of(source: &str) -> Self {
        Self::new(if source.ends_with(".rs") {
            Compiler::Rustc
        } else {
            Compiler::Gcc
        })
    }
}

/// A compiled program of `tests/fixtures`.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Its main source, absolute.
    pub source: PathBuf,
    /// The executable, absolute and without symbolic links.
    pub program: PathBuf,
    markers: HashMap<String, u64>,
}

impl Fixture {
    /// Compiles a source like `c/loop.c` with the default flags of its language.
    pub fn of(source: &str) -> Self {
        Self::build(source, Flags::of(source)).expect("the usual compiler is installed")
    }

    /// Compiles a source like `c/loop.c`. Returns `None`, and prints a note, if the compiler is not
    /// installed.
    ///
    /// A source may have lines with its requirements: `//# flags: -pthread`, `//# library: other.c`
    /// (linked against), `//# plugin: other.c` (built beside it as `libother.so`, to be opened by
    /// name) and `//# bare: other.c` (linked against, and compiled without debug info).
    ///
    /// # Panics
    /// The source does not compile.
    pub fn build(source: &str, flags: Flags) -> Option<Self> {
        list::note(source, flags);
        let path = fixtures().join(source);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{source}: {error}"));
        let markers = markers(&text);
        let directives = Directives::parse(&text);

        let mut hasher = DefaultHasher::new();
        (&path, &text, flags).hash(&mut hasher);
        for header in HEADERS.into_iter().filter(|it| text.contains(it)) {
            fs::read(fixtures().join(header))
                .unwrap_or_else(|error| panic!("{header}: {error}"))
                .hash(&mut hasher);
        }
        for library in directives.all() {
            let library = path.with_file_name(library);
            fs::read(&library)
                .unwrap_or_else(|error| panic!("{}: {error}", library.display()))
                .hash(&mut hasher);
        }
        let stem = path.file_stem().and_then(OsStr::to_str).expect("a name");
        let shelf = target_directory().join("fixtures");
        let folder = shelf.join(format!("{stem}-{:016x}", hasher.finish()));
        if !folder.join(stem).exists() {
            compile(&path, stem, flags, &directives, &shelf, &folder)?;
        } else if let Ok(program) = fs::File::open(folder.join(stem)) {
            // A checkout writes sources anew: the program is of this text, but would look older.
            let _ = program.set_modified(SystemTime::now());
        }
        let program = folder.join(stem).canonicalize();
        Some(Self {
            program: program.expect("the program was just built"),
            source: path,
            markers,
        })
    }

    /// Compiles a source that a test has written. Returns false, and prints a note, if the compiler
    /// is not installed.
    ///
    /// # Panics
    /// The source does not compile.
    pub fn compile_to(source: &Path, program: &Path, flags: Flags) -> bool {
        let done = compiler(source, flags)
            .and_then(|mut command| succeed(command.arg("-o").arg(program).arg(source)));
        done.is_some()
    }

    /// Returns a program that a test has compiled itself.
    pub fn compiled(source: &Path, program: &Path) -> Self {
        let text = fs::read_to_string(source)
            .unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        Self {
            source: source.to_path_buf(),
            program: program.canonicalize().expect("the program was built"),
            markers: markers(&text),
        }
    }

    /// Returns the number of the line with the comment `//@ marker`, from 1.
    pub fn line(&self, marker: &str) -> u64 {
        *self.markers.get(marker).unwrap_or_else(|| {
            panic!("{} has no line `//@ {marker}`", self.source.display());
        })
    }

    /// Returns the markers of a line, for messages.
    pub fn names_of(&self, line: u64) -> String {
        let mut names: Vec<&str> = self
            .markers
            .iter()
            .filter(|(_, marked)| **marked == line)
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names.join(" ")
    }

    /// Returns the fixture with the markers of another source in the same folder.
    pub fn sibling(&self, name: &str) -> Self {
        let source = self.source.with_file_name(name);
        let text = fs::read_to_string(&source).expect("the sibling");
        Self {
            markers: markers(&text),
            source,
            program: self.program.clone(),
        }
    }
}

fn fixtures() -> PathBuf {
    repository().join("tests/fixtures")
}

fn markers(text: &str) -> HashMap<String, u64> {
    let mut markers = HashMap::new();
    for (line, number) in text.lines().zip(1..) {
        let Some((_, names)) = line.split_once("//@ ") else {
            continue;
        };
        for name in names.split_whitespace() {
            let before = markers.insert(name.to_owned(), number);
            assert!(before.is_none(), "two lines are called {name}");
        }
    }
    markers
}

#[derive(Default)]
struct Directives {
    flags: Vec<String>,
    libraries: Vec<String>,
    plugins: Vec<String>,
    bare: Vec<String>,
}

impl Directives {
    /// Iterates over all other sources.
    fn all(&self) -> impl Iterator<Item = &String> {
        let linked = self.libraries.iter().chain(&self.bare);
        linked.chain(&self.plugins)
    }

    fn parse(text: &str) -> Self {
        let mut directives = Self::default();
        for line in text.lines() {
            let Some(directive) = line.strip_prefix("//# ") else {
                continue;
            };
            let (key, words) = directive.split_once(": ").expect("`//# key: words`");
            let words = words.split_whitespace().map(str::to_owned);
            match key {
                "flags" => directives.flags.extend(words),
                "library" => directives.libraries.extend(words),
                "plugin" => directives.plugins.extend(words),
                "bare" => directives.bare.extend(words),
                _ => panic!("no directive `{key}`"),
            }
        }
        directives
    }
}

/// Compiles into a temporary folder that is then renamed: of several processes that do so at once
/// one wins, and none sees a partial result.
fn compile(
    source: &Path,
    stem: &str,
    flags: Flags,
    directives: &Directives,
    shelf: &Path,
    folder: &Path,
) -> Option<()> {
    fs::create_dir_all(shelf).expect("target/fixtures");
    let workshop = tempfile::Builder::new()
        .prefix(".compiling-")
        .tempdir_in(shelf)
        .expect("a temporary folder");
    for file in directives.all() {
        let library = source.with_file_name(file);
        let name = library.file_stem().and_then(OsStr::to_str).expect("a name");
        let dwarf = if directives.bare.contains(file) {
            0
        } else {
            flags.dwarf
        };
        let mut command = compiler(&library, Flags { dwarf, ..flags })?;
        command.args(["-shared", "-fPIC", "-o"]);
        command.arg(workshop.path().join(format!("lib{name}.so")));
        succeed(command.arg(&library))?;
    }
    let mut command = compiler(source, flags)?;
    command
        .arg("-o")
        .arg(workshop.path().join(stem))
        .arg(source);
    if flags.compiler == Compiler::Rustc {
        let model = if flags.pie { "pie" } else { "static" };
        command.arg("-C").arg(format!("relocation-model={model}"));
    } else {
        command.args(if flags.pie {
            ["-fPIE", "-pie"]
        } else {
            ["-fno-pie", "-no-pie"]
        });
        command.arg("-Wl,-rpath,$ORIGIN");
        command.arg("-L").arg(workshop.path());
        for library in directives.libraries.iter().chain(&directives.bare) {
            let name = Path::new(library).file_stem().and_then(OsStr::to_str);
            command.arg(format!("-l{}", name.expect("a name")));
        }
    }
    succeed(command.args(&directives.flags))?;
    match fs::rename(workshop.path(), folder) {
        Ok(()) => {
            // The folder has been renamed: there is nothing to delete.
            let _ = workshop.keep();
        }
        Err(error) => assert!(folder.join(stem).exists(), "{}: {error}", folder.display()),
    }
    Some(())
}

fn compiler(source: &Path, flags: Flags) -> Option<Command> {
    let plus = source.extension().is_some_and(|ending| ending == "cpp");
    let mut command = Command::new(match (flags.compiler, plus) {
        (Compiler::Gcc, false) => "gcc",
        (Compiler::Gcc, true) => "g++",
        (Compiler::Clang, false) => "clang",
        (Compiler::Clang, true) => "clang++",
        (Compiler::Rustc, _) => "rustc",
    });
    command.current_dir(source.parent().expect("a folder"));
    if flags.compiler == Compiler::Rustc && !flags.release.is_empty() {
        // Older releases have neither this edition nor a choice of DWARF versions.
        command.args([flags.release, "--edition", "2021", "-g", "-C"]);
        command.arg(format!("opt-level={}", flags.optimization));
        // Without this, rustup would install a missing release.
        command.env("RUSTUP_AUTO_INSTALL", "0");
        let rustc = Command::new("rustc")
            .args([flags.release, "-V"])
            .env("RUSTUP_AUTO_INSTALL", "0")
            .output();
        if !rustc.is_ok_and(|output| output.status.success()) {
            skips::skip(&format!("rustc {}", flags.release));
            return None;
        }
    } else if flags.compiler == Compiler::Rustc {
        command.args(["--edition", "2024", "-C"]);
        command.arg(format!("opt-level={}", flags.optimization));
        if flags.dwarf > 0 {
            command.args(["-g", "-C"]);
            command.arg(format!("dwarf-version={}", flags.dwarf));
        }
    } else {
        command.arg(format!("-O{}", flags.optimization));
        command.arg(match flags.dwarf {
            0 => "-g0".to_owned(),
            version => format!("-gdwarf-{version}"),
        });
        command.args(["-Wall", if plus { "-std=c++17" } else { "-std=gnu17" }]);
    }
    command.args(flags.extra);
    Some(command)
}

fn succeed(command: &mut Command) -> Option<()> {
    let output = match command.output() {
        Ok(output) => output,
        Err(_) => {
            skips::skip(&command.get_program().to_string_lossy());
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(())
}

/// Writes an executable for the other architecture: only headers, no code.
pub fn foreign_executable(path: &Path) {
    const EM_X86_64: u16 = 62;
    const EM_AARCH64: u16 = 183;
    let machine = match cfg!(target_arch = "x86_64") {
        true => EM_AARCH64,
        false => EM_X86_64,
    };
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    bytes.resize(16, 0);
    let halves = |bytes: &mut Vec<u8>, values: &[u16]| {
        values
            .iter()
            .for_each(|value| bytes.extend(value.to_le_bytes()));
    };
    halves(&mut bytes, &[2, machine, 1, 0]);
    // Entry, program headers at 64, no section headers.
    for word in [0x40_0000_u64, 64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    halves(&mut bytes, &[0, 0, 64, 56, 1, 64, 0, 0]);
    // PT_LOAD, readable and executable.
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(5_u32.to_le_bytes());
    for word in [0_u64, 0x40_0000, 0x40_0000, 120, 120, 0x1000] {
        bytes.extend(word.to_le_bytes());
    }
    fs::write(path, bytes).expect("the file is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is made executable");
}
