use super::{parts, replace};
use dwarf::{FileAddr, Module};
use std::fs::create_dir_all;
use std::os::unix::fs::symlink;

thread_local! {
    static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// Under these names the second file is found: as a split unit, a package of them, a separate
/// debug file, a supplementary one, in the bundle of a Mach-O image, an object file that this was
/// linked from, and a static library with one.
const NAMES: [&str; 7] = [
    "seed.dwo",
    "image.dwp",
    "image.debug",
    "image.sup",
    "image.dSYM/Contents/Resources/DWARF/image",
    "image.o",
    "libimage.a",
];

/// A whole file of ELF or Mach-O, and a second one that it may refer to.
pub fn object(data: &[u8]) {
    let [image, beside] = parts(data);
    let module = FOLDER.with(|folder| {
        let [first, rest @ ..] = NAMES.map(|name| folder.path().join(name));
        replace(&first, beside);
        for name in rest {
            // There already but for the first time.
            let _ = create_dir_all(name.parent().expect("a folder"));
            let _ = symlink(&first, name);
        }
        Module::from_bytes(&folder.path().join("image"), image.to_vec())
    });
    let Ok(module) = module else {
        return;
    };
    module.symbol_status();
    module.debug_size();
    module.debug_file();
    module.rejected_debug_files();
    module.program_headers();
    module.interpreter();
    module.linked_libraries();
    module.thread_storage();
    module.read_image(module.entry(), &mut [0; 64]);
    module.exported("work");
    module.symbols_named("work");
    module.function_slots("get", None);
    module.functions_called(&["work"], &["or"]);
    module.function_symbols("get");
    let range = module.load_range();
    for at in 0..32 {
        let addr = FileAddr(range.start.0.wrapping_add(at * 0x81));
        module.symbol_at(addr);
    }
    for symbol in module.functions_by_symbol().iter().take(16) {
        super::info::ask_at(&module, symbol.addr);
    }
    super::line::ask(&module);
    super::info::ask(&module);
    super::cfi::ask(&module, b"\x40\x10\0\0\0\0\0\0", &[]);
    module.missing_split_units();
    module.rejected_debug_files();
    module.object_files();
}
