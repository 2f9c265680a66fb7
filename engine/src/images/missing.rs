//! Files with debug info that are needed and cannot be used.

use dwarf::Module;

/// Returns a note about files with debug info of an image that were needed so far and are missing or
/// of another build; `None` if there are none.
pub(crate) fn note(module: &Module) -> Option<String> {
    let image = module.path().display();
    let missing = module.missing_split_units();
    if let Some(first) = missing.first() {
        let (first, count) = (first.display(), missing.len());
        return Some(format!(
            "{image} lacks variables and inlined calls for some of its code: cannot read {first} \
             ({count} such files). Put the .dwo files or a .dwp package beside it.\n"
        ));
    }
    let rejected = module.rejected_debug_files();
    let first = rejected.first()?;
    let count = rejected.len();
    Some(format!(
        "{image} lacks lines and variables for some of its code: {first} ({count} such files).\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of Mach-O that was linked from `image.o` beside it.
    const MAPPED: &[u8] = include_bytes!("../../../tests/fuzz/corpus/object/map-arm64-4");

    #[test]
    fn object_files_that_are_needed_are_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let module = Module::from_bytes(&image, MAPPED.to_vec()).unwrap();
        assert_eq!(note(&module), None, "none was needed");
        let work = module.exported("work").unwrap();
        assert!(module.function_at(work).is_none());
        let note = note(&module).unwrap();
        let image = image.display();
        assert_eq!(
            note,
            format!(
                "{image} lacks lines and variables for some of its code: cannot use the object file \
                 image.o: no such file; build the program again, and keep its object files (1 such \
                 files).\n"
            )
        );
    }
}
