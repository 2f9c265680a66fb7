//! The least ELF image around sections.

use dwarf::{AddrRange, FileAddr, Module};
use std::path::Path;
use std::sync::Arc;

/// Addresses of its code: what fixtures have, and more.
pub(super) const CODE: AddrRange<FileAddr> = AddrRange {
    start: FileAddr(0x1000),
    end: FileAddr(0x1_1000),
};

/// A shared library of these sections: name, address, contents.
pub(super) fn image(sections: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let mut names = vec![0];
    let mut name_offsets = Vec::new();
    for name in sections
        .iter()
        .map(|section| section.0)
        .chain([".shstrtab"])
    {
        name_offsets.push(names.len() as u32);
        names.extend(name.as_bytes());
        names.push(0);
    }
    // Space for the file's header and one program header.
    let mut file = vec![0; 64 + 56];
    let mut headers = vec![0; 64];
    let names = [(".shstrtab", 0, names.as_slice())];
    for ((_, addr, contents), name) in sections.iter().chain(&names).zip(name_offsets) {
        headers.extend(name.to_le_bytes());
        // SHT_PROGBITS, without flags.
        headers.extend(1u32.to_le_bytes());
        let size = contents.len() as u64;
        for field in [0, *addr, file.len() as u64, size, 0, 1, 0] {
            headers.extend(field.to_le_bytes());
        }
        file.extend(*contents);
    }
    let section_headers = file.len() as u64;
    let count = (headers.len() / 64) as u16;
    file.extend(headers);

    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // ET_DYN, EM_X86_64, version.
    header.extend(b"\x03\0\x3e\0\x01\0\0\0");
    for field in [0, 64, section_headers] {
        header.extend(u64::to_le_bytes(field));
    }
    for field in [0u16, 0, 64, 56, 1, 64, count, count - 1] {
        header.extend(field.to_le_bytes());
    }
    // PT_LOAD, readable and executable.
    header.extend(b"\x01\0\0\0\x05\0\0\0");
    let (start, size) = (CODE.start.0, CODE.end - CODE.start);
    for field in [0, start, start, file.len() as u64, size, 0x1000] {
        header.extend(field.to_le_bytes());
    }
    file[..header.len()].copy_from_slice(&header);
    file
}

/// The same, opened.
pub(super) fn module(sections: &[(&str, u64, &[u8])]) -> Arc<Module> {
    Module::from_bytes(Path::new("/fuzz/image"), image(sections)).expect("a plain image")
}
