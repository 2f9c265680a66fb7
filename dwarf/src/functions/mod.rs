//! Functions and the scopes in them.

pub(crate) mod scopes;
pub(crate) mod variable;

use crate::functions::variable::{SimpleLocation, Variable};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::source::SourceLocation;
use crate::ids::{DieRef, Language};
use crate::naming::Coroutine;
use crate::types::TypeId;

/// A concrete (out-of-line) function with all its scopes; parsed on demand.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its debug info entry.
    pub id: DieRef,
    /// Qualified name for display (`ns::Class::method`, `crate::module::function<T>`).
    pub name: String,
    /// The mangled name, if the compiler recorded it.
    pub linkage_name: Option<String>,
    /// Address ranges; the first one contains the entry point.
    pub ranges: Vec<AddrRange<FileAddr>>,
    /// The entry point (`DW_AT_entry_pc`, else the lowest address of the first range).
    pub entry: FileAddr,
    /// Position of its declaration.
    pub declaration: Option<SourceLocation>,
    /// The unit's language.
    pub language: Language,
    /// The kind of coroutine that it is the body of, if any.
    pub coroutine: Option<Coroutine>,
    /// Return type; `None` is void (or unit in Rust).
    pub return_type: Option<TypeId>,
    /// Whether its name has external linkage (`DW_AT_external`).
    pub is_external: bool,
    /// Whether it never returns (`DW_AT_noreturn`).
    pub noreturn: bool,
    /// Whether its unit was compiled with optimization, as far as the producer string shows.
    pub optimized: bool,
    /// Its parameters, variables and inner scopes.
    pub scope: Scope,
    /// Base of its variables' locations, if it is a single operation.
    pub frame_base: Option<SimpleLocation>,
}

/// A scope: the function itself, a lexical block, or an inlined call.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The kind of scope.
    pub kind: ScopeKind,
    /// The debug info entry (a concrete one).
    pub id: DieRef,
    /// Address ranges of the scope.
    pub ranges: Vec<AddrRange<FileAddr>>,
    /// Parameters and variables declared directly in it, in order.
    pub variables: Vec<Variable>,
    /// Entries of the types, enumerations, imports and template arguments declared directly in it, in
    /// order.
    pub declarations: Vec<DieRef>,
    /// Whether it is a copy of another entry, which may declare more.
    pub is_instance: bool,
    /// Scopes directly in it.
    pub children: Vec<Scope>,
}

impl Scope {
    /// Returns whether the scope, or one in it, declares a variable or parameter of a name.
    pub fn declares_variable(&self, name: &str) -> bool {
        let mut scopes = vec![self];
        while let Some(scope) = scopes.pop() {
            if scope.variables.iter().any(|it| it.name == name) {
                return true;
            }
            scopes.extend(&scope.children);
        }
        false
    }

    /// Returns the direct child scope that covers `addr`. If several do (gcc's link-time
    /// optimization makes siblings of nested scopes), it is the one with the shortest range.
    pub fn child_at(&self, addr: FileAddr) -> Option<&Scope> {
        let holding = self.children.iter().filter_map(|child| {
            let ranges = child.ranges.iter().filter(|range| range.contains(addr));
            let shortest = ranges.map(|range| range.end.0 - range.start.0).min()?;
            Some((shortest, child))
        });
        let (_, child) = holding.min_by_key(|(length, _)| *length)?;
        Some(child)
    }
}

/// The kind of a scope.
#[derive(Clone, Debug)]
pub enum ScopeKind {
    /// The function's own scope.
    Function,
    /// `DW_TAG_lexical_block`.
    Block,
    /// `DW_TAG_inlined_subroutine`.
    Inlined(Box<InlinedSubroutine>),
}

/// An inlined call.
#[derive(Clone, Debug)]
pub struct InlinedSubroutine {
    /// Qualified name of the inlined function for display.
    pub name: String,
    /// The abstract instance, which all copies share.
    pub origin: DieRef,
    /// The kind of coroutine that the function is the body of, if any.
    pub coroutine: Option<Coroutine>,
    /// Position of the call in the caller.
    pub call_site: Option<SourceLocation>,
    /// Position of the inlined function's declaration.
    pub declaration: Option<SourceLocation>,
    /// Entry point of the copy (`DW_AT_entry_pc`, else its lowest address).
    pub entry: FileAddr,
}

/// A frame to display at an address: the function, or an inlined call in it.
#[derive(Clone, Debug)]
pub struct FunctionFrame<'a> {
    /// Qualified name for display.
    pub name: &'a str,
    /// The inlined call, unless this is the function itself.
    pub inlined: Option<&'a InlinedSubroutine>,
    /// The scopes of this frame at the address, outermost (the frame's own) first.
    pub scopes: Vec<&'a Scope>,
}

impl Function {
    /// Returns the frames at `addr`: innermost inlined call first, the function last.
    pub fn frames_at(&self, addr: FileAddr) -> Vec<FunctionFrame<'_>> {
        let mut frames = vec![FunctionFrame {
            name: &self.name,
            inlined: None,
            scopes: vec![&self.scope],
        }];
        let mut scope = &self.scope;
        while let Some(child) = scope.child_at(addr) {
            match &child.kind {
                ScopeKind::Inlined(call) => frames.push(FunctionFrame {
                    name: &call.name,
                    inlined: Some(call),
                    scopes: vec![child],
                }),
                ScopeKind::Function | ScopeKind::Block => {
                    if let Some(frame) = frames.last_mut() {
                        frame.scopes.push(child);
                    }
                }
            }
            scope = child;
        }
        frames.reverse();
        frames
    }

    /// Returns whether `addr` is in the function.
    pub fn contains(&self, addr: FileAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(addr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(offset: u64, ranges: &[(u64, u64)]) -> Scope {
        let range = |(start, end): &(u64, u64)| AddrRange::new(FileAddr(*start), FileAddr(*end));
        Scope {
            kind: ScopeKind::Block,
            id: DieRef { unit: 0, offset },
            ranges: ranges.iter().map(range).collect(),
            variables: Vec::new(),
            declarations: Vec::new(),
            is_instance: false,
            children: Vec::new(),
        }
    }

    #[test]
    fn shorter_of_overlapping_scopes_wins() {
        let mut scope = block(1, &[(0, 100)]);
        scope.children = vec![
            block(2, &[(10, 50), (60, 70)]),
            block(3, &[(20, 30)]),
            block(4, &[(60, 70)]),
        ];
        let at = |addr| Some(scope.child_at(FileAddr(addr))?.id.offset);
        assert_eq!(at(25), Some(3));
        assert_eq!(at(30), Some(2));
        assert_eq!(at(65), Some(2), "of equals the first");
        assert_eq!(at(5), None);
    }
}
