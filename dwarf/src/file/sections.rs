//! The DWARF sections of an image.

use crate::file::R;
use crate::file::compressed;
use crate::file::object::Image;
use gimli::{LittleEndian, SectionId};
use std::path::Path;

/// Sections that [`load_sections`] loads. Macros are not used, and indexes are loaded separately.
const READ: [SectionId; 13] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// Loads the debug sections of an image or a separate debug file. Decompressed contents are cached
/// in `folder`, if given.
pub(crate) fn load_sections(image: &Image, folder: Option<&Path>) -> gimli::Dwarf<R> {
    compressed::inflate(image, &READ.map(|id| id.name()), folder);
    load(image, |id| READ.contains(&id).then(|| id.name()))
}

/// Loads the sections of a split file (DWARF 5 §7.3.2). gcc puts each type unit into a section of
/// its own in an ELF group, so the result has one element per section with units. Not in parallel:
/// this runs inside parallel walks over units.
pub(crate) fn load_split(image: &Image, parent: &gimli::Dwarf<R>) -> Vec<gimli::Dwarf<R>> {
    let units = |name: &str| matches!(name, ".debug_info.dwo" | ".debug_types.dwo");
    let with_units = image.sections.iter().filter(|section| units(section.name));
    with_units
        .map(|section| {
            let name = |id: SectionId| id.dwo_name().filter(|name| !units(name));
            let mut dwarf = load(image, name);
            let data = image.contents(section);
            if section.name == ".debug_info.dwo" {
                dwarf.debug_info = gimli::DebugInfo::new(data, LittleEndian);
            } else {
                dwarf.debug_types = gimli::DebugTypes::new(data, LittleEndian);
            }
            dwarf.make_dwo(parent);
            dwarf
        })
        .collect()
}

fn load(image: &Image, name: impl Fn(SectionId) -> Option<&'static str>) -> gimli::Dwarf<R> {
    let load = |id: SectionId| -> Result<R, std::convert::Infallible> {
        let data = name(id).map_or(&[][..], |name| image.section_data(name));
        Ok(R::new(data, LittleEndian))
    };
    match gimli::Dwarf::load(load) {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

/// Loads the sections of a package of split files (DWARF 5 §7.3.5).
pub(crate) fn load_package(image: &Image) -> Result<gimli::DwarfPackage<R>, gimli::Error> {
    let load = |id: SectionId| -> Result<R, gimli::Error> {
        let data = id
            .dwo_name()
            .map_or(&[][..], |name| image.section_data(name));
        Ok(R::new(data, LittleEndian))
    };
    gimli::DwarfPackage::load(load, R::new(&[], LittleEndian))
}
