//! Thread-local storage, by the data that glibc provides for thread libraries
//! (`_thread_db_*`).

use crate::arch::TlsTemplate;
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
