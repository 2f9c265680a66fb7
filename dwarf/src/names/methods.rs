//! What a class declares to be done with its objects: its member functions, as far as debug info
//! lists them.

use crate::entries::children::Children;
use crate::entries::units::flag;
use crate::functions::Function;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::types::TypeId;

/// The most member functions that are listed of a class.
const MAX_METHODS: usize = 1 << 14;

/// A member function as its class declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// Its name, without the class.
    pub name: String,
    /// The symbol's name, where the compiler recorded it.
    pub linkage_name: Option<String>,
    /// Whether the program wrote it: neither made by the compiler, defaulted in the class, nor
    /// deleted.
    pub written: bool,
    /// Declared never to be called (`= delete`).
    pub deleted: bool,
}

impl Module {
    /// The class that a function is a member of.
    pub fn class_of(&self, function: &Function) -> Option<TypeId> {
        crate::names::search::class_of_entry(self.info()?, function.id)
    }

    /// The member functions that a class declares, those of its bases apart.
    pub fn methods(&self, class: TypeId) -> Vec<Method> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        info.read_methods(class).unwrap_or_else(|error| {
            tracing::debug!(?class, %error, "cannot list member functions");
            Vec::new()
        })
    }

    /// Whether a type is declared inside a function.
    pub fn is_local_type(&self, ty: TypeId) -> bool {
        let Some(info) = self.info() else {
            return false;
        };
        let mut at = ty.0;
        while let Some(parent) = info.parent(at) {
            match info.entry(parent) {
                Ok((_, entry)) if entry.tag() == gimli::DW_TAG_subprogram => return true,
                Ok(_) => at = parent,
                Err(_) => return false,
            }
        }
        false
    }
}

impl DebugInfo {
    fn read_methods(&self, class: TypeId) -> Result<Vec<Method>, Error> {
        let (mut unit, mut entry) = self.entry(class.0)?;
        // A type of a type unit is declared here by its signature (DWARF 5 §3.1.4).
        if let Some(definition) = entry
            .attr_value(gimli::DW_AT_signature)
            .and_then(|value| self.reference(unit, value))
        {
            (unit, entry) = self.entry(definition)?;
        }
        let mut methods = Vec::new();
        let Some(mut children) = Children::of(unit, &entry)? else {
            return Ok(methods);
        };
        while let Some(child) = children.next()? {
            if child.tag() != gimli::DW_TAG_subprogram || methods.len() >= MAX_METHODS {
                continue;
            }
            let name = self.own_name(unit, child).unwrap_or_default();
            methods.push(Method {
                name: String::from_utf8_lossy(name).into_owned(),
                linkage_name: self.linkage_name(unit, child).map(str::to_owned),
                deleted: flag(child, gimli::DW_AT_deleted),
                written: !flag(child, gimli::DW_AT_artificial)
                    && !flag(child, gimli::DW_AT_deleted)
                    && !crate::types::read::is_defaulted(child),
            });
        }
        Ok(methods)
    }
}
