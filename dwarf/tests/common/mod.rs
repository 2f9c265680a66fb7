//! Compiles fixtures for the tests.
#![allow(dead_code)]

use dwarf::{
    FileAddr, Function, LoadAddr, LoadBias, Machine, Memory, Module, Register, Registers, Scope,
    Unreadable, Variable,
};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// A fixture compiled into a temporary folder, which lives as long as this does.
pub struct Fixture {
    pub module: Arc<Module>,
    pub binary: PathBuf,
    pub source: PathBuf,
    pub text: String,
    _folder: tempfile::TempDir,
}

/// Compiles `text` with `command` (a compiler and its flags); the suffix tells the language.
#[track_caller]
pub fn compile(command: &str, name: &str, text: &str) -> Fixture {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("its real path");
    let source = root.join(name);
    let binary = root.join("fixture");
    std::fs::write(&source, text).expect("write the source");
    let mut words = command.split_whitespace();
    let status = Command::new(words.next().expect("a compiler"))
        .args(words)
        .arg(&source)
        .arg("-o")
        .arg(&binary)
        .current_dir(&root)
        .status()
        .expect("run the compiler");
    assert!(status.success(), "{command} failed");
    Fixture {
        module: Module::open(&binary).expect("open the fixture"),
        binary,
        source,
        text: text.to_owned(),
        _folder: folder,
    }
}

impl Fixture {
    /// The line with the comment `//@ name`.
    #[track_caller]
    pub fn line(&self, name: &str) -> u32 {
        let mark = format!("//@ {name}");
        (1..)
            .zip(self.text.lines())
            .find(|(_, line)| line.trim_end().ends_with(&mark))
            .unwrap_or_else(|| panic!("no line is marked {name}"))
            .0
    }

    /// The only function of a name.
    #[track_caller]
    pub fn function(&self, name: &str) -> Arc<Function> {
        let mut functions = self.module.functions_named(name);
        assert_eq!(
            functions.len(),
            1,
            "{name}: {:?}",
            functions
                .iter()
                .map(|function| &function.name)
                .collect::<Vec<_>>()
        );
        functions.remove(0)
    }

    /// A variable anywhere in a function.
    #[track_caller]
    pub fn variable(&self, function: &str, name: &str) -> Variable {
        fn find(scope: &Scope, name: &str) -> Option<Variable> {
            scope
                .variables
                .iter()
                .find(|variable| variable.name == name)
                .cloned()
                .or_else(|| scope.children.iter().find_map(|child| find(child, name)))
        }
        find(&self.function(function).scope, name)
            .unwrap_or_else(|| panic!("no variable {name} in {function}"))
    }

    /// Addresses of a marked line.
    pub fn locations(&self, mark: &str) -> Vec<dwarf::LineLocation> {
        let files = self.module.find_sources(&self.source);
        assert_eq!(files.len(), 1, "{files:?}");
        self.module.line_locations(&files[0], self.line(mark))
    }
}

/// The register of an argument that is a number: of the first or the second one.
pub fn argument(machine: Machine, nth: u16) -> Register {
    match machine {
        // rdi, rsi
        Machine::X86_64 => Register(5 - nth),
        Machine::Aarch64 => Register(nth),
        other => panic!("{other:?}"),
    }
}

/// Whether a call leaves the return address in a register.
pub fn has_link_register(machine: Machine) -> bool {
    machine == Machine::Aarch64
}

/// A stack in a vector.
pub struct FakeMemory {
    pub base: u64,
    pub bytes: Vec<u8>,
}

impl Memory for FakeMemory {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let bytes = addr
            .0
            .checked_sub(self.base)
            .and_then(|offset| usize::try_from(offset).ok())
            .and_then(|offset| self.bytes.get(offset..)?.get(..buffer.len()));
        match bytes {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(Unreadable {
                addr,
                len: buffer.len(),
            }),
        }
    }
}

/// A frame context at an address, with nothing else known.
pub fn frame<'a>(
    memory: &'a dyn Memory,
    registers: &'a Registers,
    pc: FileAddr,
    function: Option<&'a Function>,
) -> dwarf::FrameContext<'a> {
    dwarf::FrameContext {
        memory,
        registers,
        cfa: Some(LoadAddr(0x7fff_0000)),
        pc,
        bias: LoadBias(0),
        function,
        tls: &|offset| Some(LoadAddr(0x7000_0000 + offset)),
        caller: &|_| None,
        is_spilled: &|_| false,
    }
}
