//! Functions whose code takes other parameters than their source declares: a compiler that knows all callers removes
//! a parameter, replaces it by its constant, or passes what a pointer points to.

use super::{Module, cached};
use crate::functions::Function;
use crate::functions::variable::{Variable, VariableKind};
use crate::lines::DebugInfo;
use crate::types::{TypeId, TypeKind};

/// Suffixes of symbols by which gcc marks a copy of a function that takes other parameters.
const CLONES: [&str; 3] = [".constprop.", ".isra.", ".part."];
/// Maximum number of typedefs and qualifiers to follow.
const LAYERS: usize = 16;

/// How the parameters of a function's code differ from those that its source declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedParameters {
    /// The only code is a copy under this symbol.
    Copy(&'static str),
    /// The code has a constant in place of the parameter with this name.
    Constant(String),
    /// The code does not take the parameter with this name.
    Removed(String),
    /// The compiler says that the function must not be called from outside (`DW_CC_nocall`).
    NotCallable,
    /// The code takes a link to a frame of the function around it, too.
    Linked,
}

impl Module {
    /// Returns how the parameters of a function's code differ from those of its source; `None` if nothing shows
    /// that they do. Cost: reads the entries of its parameters and its symbol, the first time.
    pub fn changed_parameters(&self, function: &Function) -> Option<ChangedParameters> {
        let find = || self.read_changed_parameters(function);
        cached(&self.changed, function.entry, find)
    }

    fn read_changed_parameters(&self, function: &Function) -> Option<ChangedParameters> {
        let symbol = self.symbol_at(function.entry);
        let symbol = symbol.filter(|it| it.addr == function.entry);
        if let Some(symbol) = symbol
            && CLONES.iter().any(|it| symbol.name.contains(it))
        {
            return Some(ChangedParameters::Copy(symbol.name));
        }
        let info = self.info()?;
        if self.is_linked_to_frame(function) {
            return Some(ChangedParameters::Linked);
        }
        if info.is_not_callable(function) {
            return Some(ChangedParameters::NotCallable);
        }
        let variables = function.scope.variables.iter();
        let mut parameters = variables.filter(|it| it.kind == VariableKind::Parameter);
        parameters.find_map(|parameter| {
            let name = || parameter.name.clone();
            let (has_location, has_constant) = info.storage_of(parameter)?;
            if has_constant {
                return Some(ChangedParameters::Constant(name()));
            }
            // One that is never used may have no location, but code that others can call takes it.
            let is_removed = !has_location && !function.is_external && self.is_passed(parameter.ty);
            is_removed.then(|| ChangedParameters::Removed(name()))
        })
    }

    /// Returns whether a type is one whose values are always passed: a number or a pointer. An empty class is not.
    fn is_passed(&self, ty: Option<TypeId>) -> bool {
        let mut next = ty;
        for _ in 0..LAYERS {
            let Some(ty) = next.and_then(|id| self.ty(id).ok()) else {
                return false;
            };
            next = match ty.kind {
                TypeKind::Typedef(of)
                | TypeKind::Const(of)
                | TypeKind::Volatile(of)
                | TypeKind::Restrict(of)
                | TypeKind::Atomic(of) => of,
                TypeKind::Base(_) | TypeKind::Enumeration(_) => return ty.size != Some(0),
                TypeKind::Pointer(_) | TypeKind::Reference(_) | TypeKind::RvalueReference(_) => {
                    return true;
                }
                _ => return false,
            };
        }
        false
    }
}

impl DebugInfo {
    fn is_not_callable(&self, function: &Function) -> bool {
        let Ok((unit, entry)) = self.entry(function.id) else {
            return false;
        };
        let convention = self.inherited(unit, &entry, gimli::DW_AT_calling_convention);
        let nocall = gimli::AttributeValue::CallingConvention(gimli::DW_CC_nocall);
        convention.is_some_and(|(_, value)| value == nocall)
    }

    /// Returns whether the entry of a variable has a location, and a constant value.
    fn storage_of(&self, variable: &Variable) -> Option<(bool, bool)> {
        let (unit, entry) = self.entry(variable.id).ok()?;
        let has = |at| self.inherited(unit, &entry, at).is_some();
        Some((has(gimli::DW_AT_location), has(gimli::DW_AT_const_value)))
    }
}
