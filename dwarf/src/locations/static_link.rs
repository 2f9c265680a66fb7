//! Nested functions of GNU C: they find the variables of the function around them by a link to its frame
//! (DWARF 5 §3.3.5).

use crate::functions::Function;
use crate::ids::Language;
use crate::ids::addr::LoadAddr;
use crate::ids::error::Error;
use crate::locations::FrameContext;
use crate::locations::evaluate::{Scope, unit_of};
use crate::locations::locate::no_info;
use crate::module::Module;
use std::cell::Cell;
use std::sync::Arc;

/// Maximum number of blocks around a function.
const BLOCKS: usize = 256;

impl Module {
    /// Returns whether a function gets a link to the frame of the function around it, as an argument that its
    /// parameters do not show. Cost: reads its entry.
    pub fn is_linked_to_frame(&self, function: &Function) -> bool {
        let read = || {
            let info = self.info()?;
            let (unit, entry) = info.entry(function.id).ok()?;
            info.inherited(unit, &entry, gimli::DW_AT_static_link)
        };
        // In C++ and Rust, functions in functions have no such link.
        function.language == Language::C && read().is_some()
    }

    /// Returns the function around a function that has a link to that one's frame. Cost: reads the entries
    /// around it, and parses that function.
    pub fn enclosing_function(&self, function: &Function) -> Option<Arc<Function>> {
        if !self.is_linked_to_frame(function) {
            return None;
        }
        let info = self.info()?;
        let mut at = function.id;
        for _ in 0..BLOCKS {
            at = info.parent(at)?;
            let (_, entry) = info.entry(at).ok()?;
            match entry.tag() {
                gimli::DW_TAG_lexical_block => {}
                gimli::DW_TAG_subprogram => return self.function_of(info, at),
                _ => return None,
            }
        }
        None
    }

    /// Returns whether a function around a nested one, to which its frame is linked, has a variable of a name.
    /// Cost: that of [`Module::enclosing_function`], also for most other functions.
    pub fn encloses(&self, function: &Function, name: &str) -> bool {
        let mut enclosing = self.enclosing_function(function);
        for _ in 0..BLOCKS {
            let Some(around) = enclosing else {
                return false;
            };
            if around.scope.declares_variable(name) {
                return true;
            }
            enclosing = self.enclosing_function(&around);
        }
        false
    }

    /// Returns the canonical frame address of the frame that the frame of a nested function is linked to.
    ///
    /// # Errors
    /// The function has no link here, or it needs memory that cannot be read.
    pub fn frame_of_enclosing(
        &self,
        function: &Function,
        frame: &FrameContext<'_>,
    ) -> Result<LoadAddr, Error> {
        let info = no_info(self)?;
        let (unit, entry) = info.entry(function.id)?;
        let none = || Error::Unsupported("no link to the function around it here".into());
        let link = info.inherited(unit, &entry, gimli::DW_AT_static_link);
        let (holder, value) = link.ok_or_else(none)?;
        let scope = Scope {
            module: self,
            info,
            unit: unit_of(info, holder)?,
            frame,
            expressions: &Cell::new(0),
            is_passed: false,
        };
        let expression = scope.expression_at(value)?.ok_or_else(none)?;
        scope.address(expression)
    }
}
