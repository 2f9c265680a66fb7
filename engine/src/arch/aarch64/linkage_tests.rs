//! Stubs of procedure linkage tables as linkers make them: names, unwinding and targets at each of
//! their instructions.

use super::super::{Arch, Flow, RegisterFile, Simulation};
use super::heuristic_unwind::unwinds;
use dwarf::register::aarch64::{SIGNATURE_MASK, SP, X30};
use dwarf::{
    CfaLocation, FileAddr, HeuristicUnwind, LoadAddr, Memory, Module, Register, RegisterOffset,
    ReturnAddress, Unreadable,
};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const LINKERS: [&str; 2] = [
    "aarch64-linux-gnu-gcc -fuse-ld=bfd",
    "clang --target=aarch64-linux-gnu -fuse-ld=lld",
];
const OPTIONS: [&str; 5] = [
    "",
    "-Wl,-z,force-bti",
    "-Wl,-z,pac-plt",
    "-Wl,-z,force-bti,-z,pac-plt",
    // Stubs whose addresses are taken begin with a landing pad.
    "-Wl,-z,force-bti -no-pie -fno-pic -DTAKES_ADDRESSES",
];
const LIBRARY: &str = "void first(void) {} void second(void) {} void third(void) {}";
const PROGRAM: &str = "
void first(void), second(void), third(void);
#ifdef TAKES_ADDRESSES
void (*taken[])(void) = {first, third};
#endif
void _start(void) { first(); second(); third(); }
";
const NAMES: [&str; 3] = ["first@plt", "second@plt", "third@plt"];
/// Above the bits of addresses, as a signature.
const SIGNED: u64 = 0x002a << 48;
const BOUND: u64 = 0x7000_1234;

/// Links a program or a library from a source and another library.
fn link(command: &str, source: &str, library: Option<&Path>, output: &Path) {
    let file = output.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let mut words = command.split_whitespace();
    let result = Command::new(words.next().unwrap())
        .args(words)
        .args([
            "-nostdlib",
            "-mbranch-protection=standard",
            "-Wl,-z,lazy",
            "-o",
        ])
        .args([output, &file])
        .args(library)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{command}: {errors}");
}

/// The slots of the global offset table, with a signed address each.
struct Slots;

impl Memory for Slots {
    fn read(&self, _: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        buffer.copy_from_slice(&(SIGNED | BOUND).to_le_bytes()[..buffer.len()]);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Unknown;

impl RegisterFile for Unknown {
    fn get(&self, register: Register) -> Option<u64> {
        (register == SIGNATURE_MASK).then_some(0x7f << 48)
    }

    fn set(&mut self, _: Register, _: u64) -> bool {
        false
    }

    fn sp(&self) -> u64 {
        0
    }

    fn set_sp(&mut self, _: u64) {}

    fn set_pc(&mut self, _: LoadAddr) {}
}

/// Returns images of all linkers with all options, with what made them.
fn images(folder: &Path) -> Vec<(String, Arc<Module>)> {
    let is_there = |linker: &&&str| {
        let mut tools = linker.split([' ', '=']);
        skips::has_command(tools.next().unwrap())
            && (tools.next_back() != Some("lld") || skips::has_command("ld.lld"))
    };
    let mut made = Vec::new();
    for linker in LINKERS.iter().filter(is_there) {
        let library = folder.join("library.so");
        link(&format!("{linker} -shared -fPIC"), LIBRARY, None, &library);
        for options in OPTIONS {
            let (command, program) = (format!("{linker} {options}"), folder.join("program"));
            link(&command, PROGRAM, Some(&library), &program);
            // The next one is another file.
            let module = Module::open(&program).unwrap();
            std::fs::remove_file(&program).unwrap();
            made.push((command, module));
        }
    }
    made
}

fn word(module: &Module, at: FileAddr) -> u32 {
    let mut bytes = [0; 4];
    module.read_image(at, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

/// Returns the addresses of a stub's instructions, up to its jump.
fn instructions(module: &Module, start: FileAddr) -> Vec<FileAddr> {
    /// `br x17`
    const JUMP: u32 = 0xd61f_0220;
    let all = (0..8).map(|nth| start + 4 * nth);
    let jump = all.clone().position(|at| word(module, at) == JUMP).unwrap();
    all.take(jump + 1).collect()
}

/// Returns where the most likely rule finds the caller.
fn caller(module: &Module, at: FileAddr) -> (CfaLocation, ReturnAddress) {
    let ways = unwinds(module, at, false);
    let HeuristicUnwind {
        cfa,
        return_address,
        ..
    } = ways[0];
    (cfa, return_address)
}

#[test]
fn stubs_of_all_forms_have_names_and_are_unwound() {
    let folder = tempfile::tempdir().unwrap();
    let from = |offset| RegisterOffset {
        register: SP,
        offset,
    };
    for (command, module) in images(folder.path()) {
        let stubs = NAMES.map(|name| {
            let found = module.symbols_named(name);
            assert_eq!(found.len(), 1, "{name}: {command}");
            found[0]
        });
        let before = (CfaLocation::At(from(0)), ReturnAddress::In(X30));
        for stub in stubs {
            for at in instructions(&module, stub.addr) {
                let symbol = module.symbol_at(at).map(|it| it.name);
                assert_eq!(symbol, Some(stub.name), "{at}: {command}");
                assert_eq!(caller(&module, at), before, "{at}: {command}");
            }
        }
        let first = stubs.iter().map(|stub| stub.addr).min().unwrap();
        let mut saved = false;
        // Of the table, the first stub has 32 bytes.
        for at in instructions(&module, first - 32) {
            let saving = (CfaLocation::At(from(16)), ReturnAddress::SavedAt(from(8)));
            let expected = if saved { saving } else { before };
            assert_eq!(caller(&module, at), expected, "{at}: {command}");
            // stp x16, x30, [sp, #-16]!
            saved |= word(&module, at) == 0xa9bf_7bf0;
        }
        assert!(saved, "{command}");
    }
}

#[test]
fn jumps_of_stubs_are_predicted_without_signatures() {
    let folder = tempfile::tempdir().unwrap();
    for (command, module) in images(folder.path()) {
        let checks = command.contains("pac-plt");
        for stub in NAMES.map(|name| module.symbols_named(name)[0]) {
            let mut simulation = Simulation::new(Arch::Aarch64, &Unknown, &Slots);
            let mut found = None;
            for at in instructions(&module, stub.addr) {
                let bytes = word(&module, at).to_le_bytes();
                let code = Arch::Aarch64.decode(&bytes, LoadAddr(at.0)).unwrap();
                match code.flow {
                    Flow::IndirectJump(_) => found = simulation.target(&code),
                    _ => simulation.execute(&code),
                }
            }
            let expected = if checks { BOUND } else { SIGNED | BOUND };
            assert_eq!(found, Some(LoadAddr(expected)), "{command}");
        }
    }
}
