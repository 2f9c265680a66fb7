//! Thread-local storage: by the data that glibc provides for thread libraries (`_thread_db_*`), and by the
//! descriptors that macOS's dynamic loader fills in.

use crate::arch::{Arch, TlsTemplate};
use crate::ids::error::Error;
use crate::images::modules::{Loaded, Modules};
use dwarf::{LoadAddr, Memory, Registers};

/// Maximum plausible number of generations and modules in a dtv.
const MAX_MODULES: u64 = 1 << 20;

/// Returns the address of a thread's copy of an image's thread-local variables, for the thread with
/// these registers.
///
/// # Errors
/// The thread has none yet, or its address is unknown.
pub(crate) fn block(
    modules: &Modules,
    memory: &dyn Memory,
    registers: &Registers,
    image: &Loaded,
) -> Result<LoadAddr, Error> {
    let unknown = |what: &str| Error::Unsupported(format!("thread-local storage: {what}"));
    let arch = modules.arch();
    let thread = arch
        .thread_pointer(registers)
        .ok_or_else(|| unknown("unknown thread pointer"))?;
    if thread == 0 {
        return Err(no_storage());
    }
    let storage = image
        .module
        .thread_storage()
        .ok_or_else(|| unknown("the module has none"))?;
    if image.is_program {
        let align = storage.align.max(1);
        return match align.is_power_of_two() {
            true => {
                let template = TlsTemplate {
                    start: storage.addr.0,
                    size: storage.size,
                    align,
                };
                Ok(LoadAddr(arch.tls_of_program(thread, template)))
            }
            false => Err(unknown("the alignment is not a power of two")),
        };
    }
    let read = |addr: LoadAddr| {
        memory
            .read_uint(addr, 8)
            .map_err(|_| unknown("cannot read the loader's data"))
    };
    let glibc = Glibc::find(modules, memory).ok_or_else(|| unknown("unsupported C library"))?;
    let map = modules
        .link_map(memory, image.bias)
        .ok_or_else(|| unknown("the loader does not list the module"))?;
    let id = read(map + glibc.module_id)?;
    let table = LoadAddr(read(LoadAddr(arch.tls_table_pointer(thread, glibc.table)))?);
    if id == 0 || id > MAX_MODULES || table.0 == 0 {
        return Err(no_storage());
    }
    // Entry -1 holds the number of entries.
    let entry = |index: u64| LoadAddr(table.0.wrapping_add(index.wrapping_mul(glibc.entry_size)));
    let known = read(entry(u64::MAX) + glibc.counter)?;
    let at = match id <= known.min(MAX_MODULES) {
        true => read(entry(id) + glibc.pointer)?,
        false => u64::MAX,
    };
    if at != 0 && at != u64::MAX {
        return Ok(LoadAddr(at));
    }
    // The loader may have reserved static storage for the image without an access so far.
    match read(map + glibc.offset)? {
        0 | u64::MAX => Err(no_storage()),
        offset if offset as i64 == -2 => Err(no_storage()),
        offset => Ok(LoadAddr(arch.tls_at(thread, offset))),
    }
}

/// Returns the image to which the loader gave a number for its thread-local variables.
pub(crate) fn image_with_number<'a>(
    modules: &'a Modules,
    memory: &dyn Memory,
    number: u64,
) -> Option<&'a Loaded> {
    if number == 0 {
        return None;
    }
    let glibc = Glibc::find(modules, memory)?;
    let maps = modules.link_maps(memory);
    let has_number = |map: &LoadAddr| memory.read_uint(*map + glibc.module_id, 8) == Ok(number);
    let (_, bias) = maps.into_iter().find(|(map, _)| has_number(map))?;
    let with_storage = |it: &&Loaded| it.bias == bias && it.module.thread_storage().is_some();
    modules.loaded.iter().find(with_storage)
}

/// Maximum plausible key of thread-specific data of macOS.
const MAX_KEY: u64 = 1 << 16;

/// Returns the address of a thread's copy of the variable that a descriptor of macOS describes (dyld's
/// `ThreadLocalVariables.h`): a function, a key of thread-specific data and an offset in what the thread
/// has under that key. The function reads the same when the program refers to the variable.
///
/// # Errors
/// The thread has none yet, or its data is not found.
pub(crate) fn described(
    arch: Arch,
    memory: &dyn Memory,
    registers: &Registers,
    descriptor: LoadAddr,
) -> Result<LoadAddr, Error> {
    let unknown = |what: &str| Error::Unsupported(format!("thread-local storage: {what}"));
    let read = |addr: u64| {
        memory
            .read_uint(LoadAddr(addr), 8)
            .map_err(|_| unknown("cannot read the loader's data"))
    };
    let (second, third) = (
        read(descriptor.0.wrapping_add(8))?,
        read(descriptor.0.wrapping_add(16))?,
    );
    // Since macOS 15, key and offset share a word, and the size of the initial contents is in the upper
    // half of the next one. Before that each has a word, and no offset is that large.
    let (key, offset) = match third >> 32 {
        0 => (second, third),
        _ => (second & 0xffff_ffff, second >> 32),
    };
    if key == 0 {
        // The loader has not prepared the image, or key and offset are those of the linker.
        return Err(no_storage());
    }
    if key > MAX_KEY {
        return Err(unknown("a descriptor of an unknown release of macOS"));
    }
    let data = arch
        .thread_data_of_apple(registers)
        .ok_or_else(|| unknown("unknown thread pointer"))?;
    match read(data.wrapping_add(key * 8))? {
        0 => Err(no_storage()),
        block => Ok(LoadAddr(block.wrapping_add(offset))),
    }
}

fn no_storage() -> Error {
    Error::Unsupported("not allocated in this thread yet".into())
}

/// Offsets in structures of glibc, in bytes.
struct Glibc {
    /// Of an image's module number, in its `link_map`.
    module_id: u64,
    /// Of an image's offset from the thread pointer, in its `link_map`.
    offset: u64,
    /// Of the pointer to the dtv, in the structure of a thread.
    table: u64,
    entry_size: u64,
    /// Of the address in an entry of the dtv.
    pointer: u64,
    /// Of the number of entries in entry -1 of the dtv.
    counter: u64,
}

impl Glibc {
    fn find(modules: &Modules, memory: &dyn Memory) -> Option<Glibc> {
        // uint32_t[3]: bits of an element, number of elements, offset in bytes (nptl_db's
        // db_info.c).
        let words = |name: &str| {
            let symbol = modules.loaded.iter().find_map(|loaded| {
                let symbol = loaded.module.exported(name)?;
                Some(loaded.bias.load(symbol))
            })?;
            let bits = memory.read_uint(symbol, 4).ok()?;
            Some((bits / 8, memory.read_uint(symbol + 8, 4).ok()?))
        };
        Some(Glibc {
            module_id: words("_thread_db_link_map_l_tls_modid")?.1,
            offset: words("_thread_db_link_map_l_tls_offset")?.1,
            table: words("_thread_db_pthread_dtvp")?.1,
            entry_size: words("_thread_db_dtv_dtv")?.0,
            pointer: words("_thread_db_dtv_t_pointer_val")?.1,
            counter: words("_thread_db_dtv_t_counter")?.1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::register::aarch64::TPIDRRO;
    use dwarf::register::x86_64::GS_BASE;
    use dwarf::{Machine, Unreadable};

    /// Words by address.
    struct Words(&'static [(u64, u64)]);

    impl Memory for Words {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            let found = self.0.iter().find(|(at, _)| *at == addr.0 && len == 8);
            let (_, word) = found.ok_or(Unreadable { addr, len })?;
            buffer.copy_from_slice(&word.to_le_bytes());
            Ok(())
        }
    }

    fn address(words: &'static [(u64, u64)]) -> Result<u64, String> {
        let mut found = Vec::new();
        for (arch, machine, register, number) in [
            (Arch::X86_64, Machine::X86_64, GS_BASE, 0x7000),
            // With the number of a processor.
            (Arch::Aarch64, Machine::Aarch64, TPIDRRO, 0x7005),
        ] {
            let mut registers = Registers::new(machine);
            registers.set(register, number);
            let at = described(arch, &Words(words), &registers, LoadAddr(0x1000));
            found.push(at.map(|at| at.0).map_err(|error| error.to_string()));
        }
        assert_eq!(found[0], found[1]);
        found.swap_remove(0)
    }

    #[test]
    fn descriptors_of_macos_have_a_key_and_an_offset() {
        const SLOT: (u64, u64) = (0x7000 + 8 * 300, 0x9000);
        let of_words = address(&[(0x1008, 300), (0x1010, 24), SLOT]);
        assert_eq!(of_words, Ok(0x9018));
        let packed = address(&[
            (0x1008, 300 | 24 << 32),
            (0x1010, 0x40 << 32 | 0xffff_ff00),
            SLOT,
        ]);
        assert_eq!(packed, Ok(0x9018));
        // The offset is 0.
        let first = address(&[(0x1008, 300), (0x1010, 0x40 << 32), SLOT]);
        assert_eq!(first, Ok(0x9000));
    }

    #[test]
    fn storage_that_is_not_there_is_an_error() {
        let unused = "not allocated in this thread yet";
        for (words, part) in [
            (&[(0x1008, 300), (0x1010, 24), (0x7960, 0)][..], unused),
            // As the linker writes it.
            (&[(0x1008, 0), (0x1010, 24)], unused),
            (
                &[(0x1008, 1 << 20), (0x1010, 24)],
                "unknown release of macOS",
            ),
            (&[(0x1008, 300)], "cannot read"),
            (&[(0x1008, 300), (0x1010, 24)], "cannot read"),
        ] {
            let error = address(words).expect_err("no address");
            assert!(error.contains(part), "{error}");
        }
    }
}
