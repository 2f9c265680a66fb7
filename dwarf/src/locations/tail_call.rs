//! Functions that are missing on the stack because they ended in a tail call (DWARF 5 §3.4.1,
//! `DW_AT_call_tail_call`). If the caller's call site names a function other than the one that
//! runs, the functions in between are inferred from their own call sites.

use crate::entries::units::{Entry, Unit};
use crate::functions::Function;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::lines::DebugInfo;
use crate::locations::call_site::address_of;
use crate::module::Module;
use gimli::UnitOffset;
use std::sync::Arc;

/// The target function of a call or jump.
pub struct Callee {
    /// Identity of the module whose entries name it.
    module: u64,
    /// The entry that all instances of the function originate from.
    root: DieRef,
    name: String,
    linkage_name: Option<String>,
}

/// A function that left the stack by a tail call.
#[derive(Clone, Debug)]
pub struct TailCall {
    /// The function.
    pub function: Arc<Function>,
    /// Address of its jump.
    pub address: JumpAddress,
}

/// The address of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JumpAddress {
    /// The jump is at this address.
    At(FileAddr),
    /// The jump instruction ends at this address.
    Before(FileAddr),
}

/// A call site that is a jump (a tail call).
struct Jump {
    address: JumpAddress,
    called: Callee,
}

/// Maximum number of functions to visit: a longer chain would be ambiguous anyway.
const MAX_FUNCTIONS: usize = 64;

impl Module {
    /// Returns the target of the call that returns to `return_address`; `None` if its call site
    /// does not name one.
    pub fn callee_at(&self, return_address: FileAddr) -> Option<Callee> {
        let info = self.info()?;
        let caller = info.function_die_at(return_address.0.checked_sub(1)?)?;
        let mut found = None;
        call_sites(info, caller, |unit, site| {
            let back = [gimli::DW_AT_call_return_pc, gimli::DW_AT_low_pc];
            if found.is_none()
                && !is_tail_call(site)
                && address_of(info, unit, site, &back) == Some(return_address.0)
            {
                found = Some(self.called(info, unit, site));
            }
        })?;
        found?
    }

    /// Returns the functions that ended in tail calls between the call of `called` and `running`,
    /// innermost first. Empty if `called` itself runs, if no chain leads from it to `running`, or
    /// if several do.
    pub fn tail_calls(&self, called: &Callee, running: &Function) -> Vec<TailCall> {
        let mut search = Search {
            module: self,
            running,
            visited: 0,
            path: Vec::new(),
            found: Vec::new(),
        };
        if let Some(info) = self.info()
            && !search.runs(info, called)
            && let Some(first) = self.function_called(info, called)
        {
            search.visit(info, first);
        }
        match &mut *search.found {
            // If the search was cut off, there may be further chains.
            [only] if search.visited <= MAX_FUNCTIONS => {
                only.reverse();
                std::mem::take(only)
            }
            _ => Vec::new(),
        }
    }

    fn called(&self, info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<Callee> {
        // The call site of a call through a pointer names no function.
        let origin = site
            .attr_value(gimli::DW_AT_call_origin)
            .or_else(|| site.attr_value(gimli::DW_AT_abstract_origin))
            .and_then(|value| info.reference(unit, value))?;
        let (unit, entry) = info.entry(origin).ok()?;
        Some(Callee {
            module: self.identity,
            root: info.root_origin(origin),
            name: info.qualified_name_of(unit, &entry),
            linkage_name: info.linkage_name(unit, &entry).map(str::to_owned),
        })
    }

    /// Returns the concrete function that a callee refers to, if it is in this module.
    fn function_called(&self, info: &DebugInfo, called: &Callee) -> Option<Arc<Function>> {
        if called.module == self.identity
            && let Some(die) = info.instance_of(called.root)
        {
            return self.function_of(info, die);
        }
        let name = called.linkage_name.as_deref().unwrap_or(&called.name);
        let entry = self.exported(name).or_else(|| {
            let symbols = self.symbols_named(name);
            let first = symbols.first()?.addr;
            // Functions of one name in several files cannot be distinguished.
            symbols
                .iter()
                .all(|other| other.addr == first)
                .then_some(first)
        })?;
        self.function_at(entry).filter(|found| found.entry == entry)
    }
}

struct Search<'a> {
    module: &'a Module,
    running: &'a Function,
    visited: usize,
    path: Vec<TailCall>,
    found: Vec<Vec<TailCall>>,
}

impl Search<'_> {
    fn runs(&self, info: &DebugInfo, called: &Callee) -> bool {
        if called.module == self.module.identity && called.root == info.root_origin(self.running.id)
        {
            return true;
        }
        match (&self.running.linkage_name, &called.linkage_name) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.running.name == called.name,
        }
    }

    fn visit(&mut self, info: &DebugInfo, function: Arc<Function>) {
        let entered = |call: &TailCall| call.function.entry == function.entry;
        if self.path.iter().any(entered) || self.found.len() > 1 {
            return;
        }
        self.visited += 1;
        if self.visited > MAX_FUNCTIONS {
            return;
        }
        let mut jumps = Vec::new();
        call_sites(info, function.id, |unit, site| {
            let called = is_tail_call(site).then(|| self.module.called(info, unit, site));
            if let (Some(Some(called)), Some(address)) = (called, jump_address(info, unit, site)) {
                jumps.push(Jump { address, called });
            }
        });
        for jump in jumps {
            self.path.push(TailCall {
                function: function.clone(),
                address: jump.address,
            });
            if self.runs(info, &jump.called) {
                self.found.push(self.path.clone());
            } else if let Some(next) = self.module.function_called(info, &jump.called) {
                self.visit(info, next);
            }
            self.path.pop();
        }
    }
}

impl DebugInfo {
    /// Returns a concrete function that originates from `root`: the entry itself, or one in its
    /// unit.
    fn instance_of(&self, root: DieRef) -> Option<DieRef> {
        let unit = self.whole(root.unit)?;
        let functions = &self.scan(unit).functions;
        let offsets = functions.iter().map(|function| u64::from(function.offset));
        let mut found = offsets.filter(|offset| {
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
            *offset == root.offset
                || origin.into_iter().any(|at| {
                    let value = self.peek(unit, *offset, at);
                    value.and_then(|value| self.reference(unit, value)) == Some(root)
                })
        });
        found.next().map(|offset| DieRef {
            unit: unit.index,
            offset,
        })
    }
}

fn is_tail_call(site: &Entry) -> bool {
    [gimli::DW_AT_call_tail_call, gimli::DW_AT_GNU_tail_call]
        .into_iter()
        .any(|at| crate::entries::units::flag(site, at))
}

/// Returns the address of a jump. gcc records the address after it, clang its own.
fn jump_address(info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<JumpAddress> {
    let behind = [gimli::DW_AT_call_return_pc, gimli::DW_AT_low_pc];
    if let Some(addr) = address_of(info, unit, site, &behind) {
        return Some(JumpAddress::Before(FileAddr(addr)));
    }
    let addr = address_of(info, unit, site, &[gimli::DW_AT_call_pc])?;
    Some(JumpAddress::At(FileAddr(addr)))
}

/// Calls `each` for the call sites of a function, including those in inlined calls. Returns `None`
/// if the function has no entries below its own, or they are corrupt.
fn call_sites(info: &DebugInfo, die: DieRef, mut each: impl FnMut(&Unit, &Entry)) -> Option<()> {
    let unit = info.whole(die.unit)?;
    let start = UnitOffset(usize::try_from(die.offset).ok()?);
    let mut entries = unit.raw.entries_raw(Some(start)).ok()?;
    let mut entry = Entry::null();
    entries.read_entry(&mut entry).ok()?;
    if !entry.has_children() {
        return None;
    }
    while !entries.is_empty() && entries.next_depth() > 0 {
        if entries.read_entry(&mut entry).ok()?
            && matches!(
                entry.tag(),
                gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site
            )
        {
            each(unit, &entry);
        }
    }
    Some(())
}
