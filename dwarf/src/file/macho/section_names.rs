//! Names of sections.

/// Sections of the segment `__DWARF` and how ELF calls them. In Mach-O a name has at most 16 bytes,
/// so that the end of a few is missing.
const DEBUG: [(&str, &str); 22] = [
    ("__debug_abbrev", ".debug_abbrev"),
    ("__debug_addr", ".debug_addr"),
    ("__debug_aranges", ".debug_aranges"),
    ("__debug_cu_index", ".debug_cu_index"),
    ("__debug_frame", ".debug_frame"),
    ("__debug_info", ".debug_info"),
    ("__debug_line", ".debug_line"),
    ("__debug_line_str", ".debug_line_str"),
    ("__debug_loc", ".debug_loc"),
    ("__debug_loclists", ".debug_loclists"),
    ("__debug_macinfo", ".debug_macinfo"),
    ("__debug_macro", ".debug_macro"),
    ("__debug_names", ".debug_names"),
    ("__debug_pubnames", ".debug_pubnames"),
    ("__debug_pubtypes", ".debug_pubtypes"),
    ("__debug_ranges", ".debug_ranges"),
    ("__debug_rnglists", ".debug_rnglists"),
    ("__debug_str", ".debug_str"),
    ("__debug_str_offs", ".debug_str_offsets"),
    ("__debug_tu_index", ".debug_tu_index"),
    ("__debug_types", ".debug_types"),
    ("__gdb_index", ".gdb_index"),
];

/// Returns how ELF calls a section with these contents; others keep their names.
pub(super) fn elf_name(segment: &'static str, name: &'static str) -> &'static str {
    match (segment, name) {
        ("__TEXT", "__eh_frame") => ".eh_frame",
        ("__TEXT", "__text") => ".text",
        ("__DATA" | "__DATA_CONST", "__got") => ".got",
        ("__DWARF", _) => {
            let found = DEBUG.binary_search_by_key(&name, |(name, _)| name);
            found.map_or(name, |index| DEBUG[index].1)
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        for (name, elf) in DEBUG {
            assert_eq!(elf_name("__DWARF", name), elf);
            let rest = name.trim_start_matches('_');
            assert!(elf.trim_start_matches('.').starts_with(rest), "{name}");
            assert!(name.len() <= 16, "{name}");
        }
        assert_eq!(elf_name("__DWARF", "__apple_names"), "__apple_names");
        assert_eq!(elf_name("__TEXT", "__debug_info"), "__debug_info");
    }
}
