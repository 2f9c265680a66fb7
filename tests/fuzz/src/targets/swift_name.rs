use super::parts;

/// A mangled name of Swift, of which the prefix may be missing, and a name that a user typed.
pub fn swift_name(data: &[u8]) {
    let [mangled, typed] = parts(data).map(String::from_utf8_lossy);
    let is_whole = ["$", "_$", "_T0"].iter().any(|it| mangled.starts_with(it));
    let symbol = match is_whole {
        true => mangled.into_owned(),
        false => format!("$s{mangled}"),
    };
    let full = dwarf::demangle(&symbol);
    assert!(full.len() <= symbol.len().max(1 << 16));
    let path = dwarf::demangle_function(&symbol);
    for readable in [&full, &path, &dwarf::demangle_short(&symbol)] {
        dwarf::name_matches(readable, &typed);
        dwarf::name_matches(readable, readable);
    }
}
