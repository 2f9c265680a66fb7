//! The constants of types: `Self::NAME`, `Type::NAME`.

use super::find::{Finder, Found};
use super::scopes::{ItemKind, ScopeKind};

impl<'a> Finder<'a> {
    /// Returns the constant that `Self::NAME` means.
    pub(super) fn of_self(&self, name: &str, around: &[usize]) -> Found<'a> {
        for number in around {
            let scope = self.scope(*number)?;
            match scope.kind {
                ScopeKind::Trait => {
                    return Err("each `impl` of a trait may have another value".to_owned());
                }
                ScopeKind::Impl { of_trait } => {
                    let own = self.level(*number, name)?.0;
                    let ty = self.text_of(&scope.name);
                    return match (own, of_trait) {
                        (Some(own), false) => Ok(Some(own)),
                        // An own constant of the type comes before the trait's.
                        (own, _) => match (self.inherent(scope.parent, ty, name)?, own) {
                            (None, Some(_)) => Err("it is a constant of a trait".to_owned()),
                            (found, _) => Ok(found),
                        },
                    };
                }
                ScopeKind::Module => break,
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns a constant of a type that the module of the line declares.
    pub(super) fn of_type(&self, ty: &str, name: &str, around: &[usize]) -> Found<'a> {
        for number in around {
            let scope = self.scope(*number)?;
            let mut items = self.outline.items.iter().filter(|it| it.scope == *number);
            if self.has_parameter(scope, ty)? {
                return Ok(None);
            }
            if scope.kind == ScopeKind::Module {
                let is_declared =
                    items.any(|it| it.kind == ItemKind::Type && self.text_of(&it.name) == ty);
                return match is_declared {
                    true => self.inherent(*number, ty, name),
                    false => Ok(None),
                };
            }
            // A type of a block may hide that of the module.
            if self.mentions(*number, ty)?
                || items.any(|it| it.kind == ItemKind::Use && self.text_of(&it.name).contains('*'))
            {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the constant of a name in those `impl` of a type, without parameters, that a scope has.
    fn inherent(&self, scope: usize, ty: &str, name: &str) -> Found<'a> {
        if ty.contains('<') {
            return Ok(None);
        }
        let scopes = self.outline.scopes.iter().enumerate();
        let all = scopes.filter(|(_, it)| {
            it.parent == scope
                && it.kind == ScopeKind::Impl { of_trait: false }
                && self.text_of(&it.name) == ty
        });
        let mut found = None;
        for (number, _) in all {
            if let Some(item) = self.level(number, name)?.0
                && found.replace(item).is_some()
            {
                return Err(format!("`{name}` is declared several times"));
            }
        }
        Ok(found)
    }
}
