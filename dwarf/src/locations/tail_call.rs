//! Functions that are missing on the stack because they ended in a tail call (DWARF 5 §3.4.1,
//! `DW_AT_call_tail_call`). If the caller's call site names a function other than the one that
//! runs, the functions in between are inferred from their own call sites.

use crate::entries::units::{Entry, Unit};
use crate::functions::Function;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::lines::DebugInfo;
use crate::locations::call_site::{self, SiteEntry};
use crate::module::Module;
use std::ops::ControlFlow;
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
        let unit = info.whole(caller.unit)?;
        let callee = call_site::walk(unit, caller, |entry| match entry {
            SiteEntry::Site(site)
                if !call_site::is_tail_call(site)
                    && call_site::return_address(info, unit, site) == Some(return_address) =>
            {
                ControlFlow::Break(self.callee(info, unit, site))
            }
            _ => ControlFlow::Continue(()),
        });
        callee.ok()??
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

    fn callee(&self, info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<Callee> {
        let origin = call_site::target(info, unit, site)?;
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
        call_site::is_named(self.running, called.linkage_name.as_deref(), |name| {
            name == called.name
        })
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
        for jump in jumps_of(self.module, info, function.id) {
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

/// Returns the jumps of a function whose target is named; those before corrupt entries if there
/// are some.
fn jumps_of(module: &Module, info: &DebugInfo, function: DieRef) -> Vec<Jump> {
    let mut jumps = Vec::new();
    let Some(unit) = info.whole(function.unit) else {
        return jumps;
    };
    let collect = |entry: SiteEntry<'_>| -> ControlFlow<()> {
        if let SiteEntry::Site(site) = entry
            && call_site::is_tail_call(site)
            && let Some(called) = module.callee(info, unit, site)
            && let Some(address) = jump_address(info, unit, site)
        {
            jumps.push(Jump { address, called });
        }
        ControlFlow::Continue(())
    };
    if let Err(error) = call_site::walk(unit, function, collect) {
        tracing::debug!(?function, %error, "corrupt call sites");
    }
    jumps
}

/// Returns the address of a jump. gcc records the address after it, clang its own.
fn jump_address(info: &DebugInfo, unit: &Unit, site: &Entry) -> Option<JumpAddress> {
    match call_site::return_address(info, unit, site) {
        Some(addr) => Some(JumpAddress::Before(addr)),
        None => call_site::address(info, unit, site).map(JumpAddress::At),
    }
}
