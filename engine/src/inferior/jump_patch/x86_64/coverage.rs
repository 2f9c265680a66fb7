//! Statistics of the jumps of x86-64.

use super::super::coverage::{AWAY, Coverage, Image, NOT_RELOCATED, ONE_INSTRUCTION, TRAP_ALONE};
use super::super::trampoline::{Decision, HitAction, Place};
use super::super::window::PatchRefusal;
use super::function_code::FunctionCode;
use super::layout::{Layout, Link, Refused};
use super::springboard::{self, Springboards};
use super::{trampoline, window};
use crate::os::Mapping;
use dwarf::LoadAddr;

/// Adds the outcomes for breakpoints at these sites of a function.
pub fn add(coverage: &mut Coverage, image: &Image<'_>, entry: LoadAddr, sites: &[LoadAddr]) {
    let code = FunctionCode::read(image.module, image.bias, entry, image);
    if let Ok(code) = &code {
        add_together(coverage, sites, code, image);
    }
    for site in sites {
        let code = code.as_ref().map_err(|why| *why);
        match code.and_then(|code| place(*site, code, &image.mappings)) {
            Ok(how) => *coverage.jumps.entry(how).or_default() += 1,
            Err(why) => *coverage.traps.entry(why).or_default() += 1,
        }
    }
}

/// Places jumps at all of these sites, one after the other in the order of execution.
fn add_together(
    coverage: &mut Coverage,
    sites: &[LoadAddr],
    code: &FunctionCode,
    image: &Image<'_>,
) {
    let mut layout = Layout::default();
    for site in sites {
        layout.add_site(*site);
    }
    for site in sites {
        let what = match window::at(*site, code, sites) {
            Err(_) => TRAP_ALONE,
            Ok(window) => {
                let link = Link {
                    site: *site,
                    own: window.own(),
                    trampoline: *site + AWAY,
                    current: None,
                };
                match layout.lay(link, image, &image.mappings) {
                    Ok(()) => "jump",
                    Err(Refused::Neighbors) => "trap: no jump target is free beside its neighbors",
                    Err(Refused::NoMemory) => TRAP_ALONE,
                }
            }
        };
        *coverage.together.entry(what).or_default() += 1;
        let alone = window::at(*site, code, &[]);
        let reaches = alone.map_or(*site, |window| window.reaches_to(*site));
        if sites.iter().any(|other| other > site && *other < reaches) {
            let close = "a jump there shares bytes with the next line";
            *coverage.together.entry(close).or_default() += 1;
        }
    }
}

/// Returns how a jump could be placed at an address.
fn place(
    site: LoadAddr,
    code: &FunctionCode,
    mappings: &[Mapping],
) -> Result<&'static str, PatchRefusal> {
    let window = window::at(site, code, &[])?;
    trampoline::build(
        Place::new(site + AWAY, site),
        &window,
        Decision::default(),
        HitAction::Stop,
    )
    .map_err(|_| NOT_RELOCATED)?;
    if window.overlapped_bytes.is_empty() {
        return Ok(match window.instructions.len() {
            1 => ONE_INSTRUCTION,
            _ => "several instructions are long enough",
        });
    }
    let reach = springboard::reach(site, &window.overlapped_bytes);
    let reach = reach.ok_or("a jump with so few free bytes reaches no user memory")?;
    if Springboards::default()
        .missing_pages(&reach, mappings)
        .is_empty()
    {
        return Err("a jump with so few free bytes reaches only mapped memory");
    }
    Ok(match window.overlapped_bytes.len() {
        1 => "four bytes of the jump are free",
        2 => "three bytes of the jump are free",
        3 => "two bytes of the jump are free",
        _ => "one byte of the jump is free",
    })
}
