use super::image::{CODE, module};
use super::parts;
use dwarf::{AddrRange, FileAddr, Module};
use std::path::Path;

/// `.debug_abbrev`: a unit with `DW_AT_stmt_list`, `DW_AT_low_pc`, `DW_AT_high_pc`,
/// `DW_AT_comp_dir`.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0x1b, 0x08, 0, 0, 0,
];

/// A line program: `.debug_line`, `.debug_line_str`, `.debug_str`.
pub fn line(data: &[u8]) {
    let [line, line_strings, strings] = parts(data);
    let mut unit = vec![5, 0, 1, 8, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    unit.extend(CODE.start.0.to_le_bytes());
    unit.extend(((CODE.end - CODE.start) as u32).to_le_bytes());
    unit.extend(b"/fuzz\0");
    let mut info = (unit.len() as u32).to_le_bytes().to_vec();
    info.extend(unit);
    ask(&module(&[
        (".debug_info", 0, &info),
        (".debug_abbrev", 0, ABBREVIATIONS),
        (".debug_line", 0, line),
        (".debug_line_str", 0, line_strings),
        (".debug_str", 0, strings),
    ]));
}

/// The queries about line tables.
pub(super) fn ask(module: &Module) {
    let files = module.source_files();
    for file in files.iter().take(4) {
        for line in module.lines_with_code(file).into_iter().take(20) {
            module.line_locations(file, line);
        }
        module.find_sources(&file.path);
        if let Some(name) = file.path.file_name() {
            module.similar_sources(Path::new(name));
        }
    }
    for addr in (CODE.start.0..CODE.start.0 + 0x600).step_by(0x18) {
        module.row_at(FileAddr(addr));
        module.rows_in(AddrRange::new(FileAddr(addr), FileAddr(addr + 0x40)));
    }
    module.rows_in(module.load_range());
}
