//! Breakpoints on instructions: an address is where one begins, or is refused.

use super::Bound;
use super::resolve::{Resolved, bind};
use crate::arch::x86_64;
use crate::debugger::ModuleId;
use crate::modules::{Loaded, Modules};
use crate::os::Mapping;
use dwarf::{Language, LoadAddr, Memory};

/// Code of no image (made at run time) belongs to this one, which is never unloaded.
const NO_IMAGE: ModuleId = ModuleId(u32::MAX);

/// The longest function whose instructions are counted from its entry, in bytes.
const LONGEST: u64 = 1 << 20;

/// The place itself, if an instruction may begin there.
pub fn resolve(
    addr: LoadAddr,
    modules: &Modules,
    memory: &dyn Memory,
    mappings: &[Mapping],
) -> Resolved {
    let refused = |why: String| Resolved {
        why: Some(why),
        ..Resolved::default()
    };
    let is_code = |map: &&Mapping| map.executable && (map.start..map.end).contains(&addr);
    if mappings.iter().find(is_code).is_none() {
        return refused(format!("there is no code at {addr}"));
    }
    let Some(loaded) = modules.at(addr) else {
        return Resolved {
            bound: vec![Bound {
                addr,
                module: NO_IMAGE,
                source: None,
                language: Language::default(),
                hidden: 0,
            }],
            ..Resolved::default()
        };
    };
    if let Some(begin) = covered_by(addr, loaded, memory) {
        return refused(format!(
            "{addr} is inside of the instruction that begins at {begin}"
        ));
    }
    Resolved {
        bound: vec![bind(loaded, loaded.bias.file(addr))],
        ..Resolved::default()
    }
}

/// The instruction that holds an address it does not begin at.
fn covered_by(addr: LoadAddr, loaded: &Loaded, memory: &dyn Memory) -> Option<LoadAddr> {
    let here = loaded.bias.file(addr);
    let function = loaded.module.function_at(here)?;
    let range = function.ranges.iter().find(|it| it.contains(here))?;
    let mut at = loaded.bias.load(range.start);
    if addr.0.abs_diff(at.0) > LONGEST {
        return None;
    }
    while at < addr {
        let next = LoadAddr(x86_64::read(memory, at)?.next_ip());
        if next > addr {
            return Some(at);
        }
        at = next;
    }
    None
}
