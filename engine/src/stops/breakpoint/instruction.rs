//! Breakpoints on instructions, by address or by a line of disassembly. An address at which no
//! instruction begins is refused.

use super::BoundLocation;
use super::resolve::{Resolved, bind};
use crate::arch::Arch;
use crate::ids::ModuleId;
use crate::images::modules::{Loaded, Modules};
use crate::os::Mapping;
use dwarf::{Language, LoadAddr, Memory};

/// The module of code that is in no image (generated at run time); it is never unloaded.
const NO_IMAGE: ModuleId = ModuleId(u32::MAX);

/// Maximum size in bytes of a function whose instructions are decoded from its entry.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

/// Returns the location, if an instruction may begin at the address.
pub(crate) fn resolve(
    addr: LoadAddr,
    modules: &Modules,
    memory: &dyn Memory,
    mappings: &[Mapping],
) -> Resolved {
    let is_code = |map: &&Mapping| map.executable && (map.start..map.end).contains(&addr);
    if mappings.iter().find(is_code).is_none() {
        return refused(format!("no code at {addr}"));
    }
    let inside = |begin| refused(format!("{addr} is inside the instruction at {begin}"));
    let beyond = addr.0 % modules.arch().alignment() as u64;
    if beyond != 0 {
        return inside(LoadAddr(addr.0 - beyond));
    }
    let Some(loaded) = modules.at(addr) else {
        return Resolved {
            bound: vec![BoundLocation {
                addr,
                module: NO_IMAGE,
                source: None,
                language: Language::default(),
                hidden: 0,
                shown: None,
            }],
            ..Resolved::default()
        };
    };
    if let Some(begin) = covered_by(addr, loaded, memory) {
        return inside(begin);
    }
    Resolved {
        bound: vec![bind(loaded, loaded.bias.file(addr))],
        ..Resolved::default()
    }
}

pub(crate) fn refused(why: String) -> Resolved {
    Resolved {
        why: Some(why.into()),
        ..Resolved::default()
    }
}

/// Returns the instruction that contains an address at which none begins.
fn covered_by(addr: LoadAddr, loaded: &Loaded, memory: &dyn Memory) -> Option<LoadAddr> {
    let arch = Arch::of(loaded.module.machine())?;
    let here = loaded.bias.file(addr);
    let function = loaded.module.function_at(here)?;
    let range = function.ranges.iter().find(|it| it.contains(here))?;
    let mut at = loaded.bias.load(range.start);
    if addr.0.abs_diff(at.0) > MAX_FUNCTION_BYTES {
        return None;
    }
    while at < addr {
        let next = arch.read(memory, at)?.next();
        if next > addr {
            return Some(at);
        }
        at = next;
    }
    None
}
