//! Where a thread has its copies of thread-local variables: x86-64, with what glibc says of
//! itself for thread libraries (`_thread_db_*`).

use crate::ids::error::Error;
use crate::images::modules::{Loaded, Modules};
use dwarf::{LoadAddr, Memory, Registers, register::x86_64};

/// Generations and modules that a dtv has entries for; more is garbage.
const MAX_MODULES: u64 = 1 << 20;

/// Where the copy of an image's thread-local variables begins, of the thread with these
/// registers.
///
/// # Errors
/// The thread has none yet, or nobody says where it is.
pub(crate) fn block(
    modules: &Modules,
    memory: &dyn Memory,
    registers: &Registers,
    image: &Loaded,
) -> Result<LoadAddr, Error> {
    let unknown = |what: &str| Error::Unsupported(format!("thread-local storage: {what}"));
    let thread = registers
        .get(x86_64::FS_BASE)
        .ok_or_else(|| unknown("the thread pointer is not known here"))?;
    if thread == 0 {
        return Err(no_storage());
    }
    let storage = image
        .module
        .thread_storage()
        .ok_or_else(|| unknown("the image has none"))?;
    if image.is_program {
        // The program's copy ends where the thread's own data begin (ELF Handling For
        // Thread-Local Storage, variant II), as aligned as the variables want to be.
        let mask = storage.align.max(1).wrapping_sub(1);
        if storage.align.max(1).is_power_of_two() {
            let end = storage.addr.0.wrapping_add(storage.size);
            let padding = end.wrapping_neg() & mask;
            let below = storage.size.wrapping_add(padding);
            return Ok(LoadAddr(thread.wrapping_sub(below)));
        }
        return Err(unknown("the alignment is no power of two"));
    }
    let read = |addr: LoadAddr| {
        memory
            .read_uint(addr, 8)
            .map_err(|_| unknown("the loader's data cannot be read"))
    };
    let glibc = Glibc::find(modules, memory)
        .ok_or_else(|| unknown("this C library does not say where its copies are"))?;
    let map = modules
        .link_map(memory, image.bias)
        .ok_or_else(|| unknown("the loader does not list the image"))?;
    let id = read(map + glibc.module_id)?;
    let table = LoadAddr(read(LoadAddr(thread.wrapping_add(glibc.table)))?);
    if id == 0 || id > MAX_MODULES || table.0 == 0 {
        return Err(no_storage());
    }
    // Entry -1 says how many there are.
    let entry = |index: u64| LoadAddr(table.0.wrapping_add(index.wrapping_mul(glibc.entry_size)));
    let known = read(entry(u64::MAX) + glibc.counter)?;
    let at = match id <= known.min(MAX_MODULES) {
        true => read(entry(id) + glibc.pointer)?,
        false => u64::MAX,
    };
    if at != 0 && at != u64::MAX {
        return Ok(LoadAddr(at));
    }
    // A place next to the program's may be the image's own without anybody having asked for it.
    match read(map + glibc.offset)? {
        0 | u64::MAX => Err(no_storage()),
        offset if offset as i64 == -2 => Err(no_storage()),
        offset => Ok(LoadAddr(thread.wrapping_sub(offset))),
    }
}

fn no_storage() -> Error {
    Error::Unsupported("the thread has no storage for it yet".into())
}

/// Offsets in structures of glibc, in bytes.
struct Glibc {
    /// Of an image's number, in its `link_map`.
    module_id: u64,
    /// Of an image's distance from the thread pointer, in its `link_map`.
    offset: u64,
    /// Of the table of copies, from the thread pointer.
    table: u64,
    entry_size: u64,
    /// Of the address in an entry of the table.
    pointer: u64,
    /// Of the number of entries in the table's entry -1.
    counter: u64,
}

impl Glibc {
    fn find(modules: &Modules, memory: &dyn Memory) -> Option<Glibc> {
        // uint32_t[3]: bits of an element, how many, offset in bytes (nptl_db's db_info.c).
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
