//! The text of a mangled name.

mod entity;
mod function;
mod generic;
mod made;
mod types;

use super::Shown;
use super::node::{Id, Kind, Tree};

/// Maximum nesting of nodes. Each level takes stack.
const MAX_DEPTH: usize = 200;
/// Maximum number of nodes printed: shared subtrees make a small tree print as a huge one, some of
/// them as nothing.
const MAX_PRINTED: usize = 1 << 16;
/// Maximum length of the text.
const MAX_TEXT: usize = 1 << 16;

/// Returns the text of a tree; `None` if a limit is reached or a part cannot be shown.
pub(super) fn print(tree: &Tree<'_>, root: Id, shown: Shown, names: usize) -> Option<String> {
    let mut printer = Printer {
        tree,
        shown,
        names,
        out: String::new(),
        depth: 0,
        printed: 0,
        is_specialized: false,
    };
    printer.node(root)?;
    (!printer.out.is_empty()).then_some(printer.out)
}

struct Printer<'t, 'a> {
    tree: &'t Tree<'a>,
    shown: Shown,
    /// How deeply mangled names in this name are nested.
    names: usize,
    out: String,
    depth: usize,
    printed: usize,
    /// Whether the short form says already that the function is specialized.
    is_specialized: bool,
}

impl Printer<'_, '_> {
    fn is_full(&self) -> bool {
        self.shown == Shown::Full
    }

    fn kind(&self, id: Id) -> Kind {
        self.tree.kind(id)
    }

    fn child(&self, id: Id, index: usize) -> Option<Id> {
        self.tree.child(id, index)
    }

    fn write(&mut self, text: &str) -> Option<()> {
        if self.out.len() + text.len() > MAX_TEXT {
            return None;
        }
        self.out.push_str(text);
        Some(())
    }

    /// Writes a text if it is not the short form.
    fn write_full(&mut self, text: &str) -> Option<()> {
        match self.is_full() {
            true => self.write(text),
            false => Some(()),
        }
    }

    fn list(&mut self, nodes: &[Id], separator: &str) -> Option<()> {
        for (index, node) in nodes.iter().enumerate() {
            if index > 0 {
                self.write(separator)?;
            }
            self.node(*node)?;
        }
        Some(())
    }

    /// Prints the children of a node, one after the other.
    fn children(&mut self, id: Id, separator: &str) -> Option<()> {
        self.list(self.tree.children(id), separator)
    }

    fn node(&mut self, id: Id) -> Option<()> {
        self.in_context(id, false).map(|_| ())
    }

    /// Prints a node. As the prefix of a declaration, a context that must follow the name is not printed
    /// but returned.
    fn in_context(&mut self, id: Id, is_prefix: bool) -> Option<Option<Id>> {
        self.depth += 1;
        self.printed += 1;
        if self.depth > MAX_DEPTH || self.printed > MAX_PRINTED {
            return None;
        }
        let printed = self.dispatch(id, is_prefix);
        self.depth -= 1;
        printed
    }

    fn dispatch(&mut self, id: Id, is_prefix: bool) -> Option<Option<Id>> {
        let tree = self.tree;
        let kind = tree.kind(id);
        match kind {
            Kind::Type => match tree.children(id) {
                [inner] => return self.in_context(*inner, is_prefix),
                _ => return None,
            },
            Kind::Extension => {
                let [module, extended, signature @ ..] = tree.children(id) else {
                    return None;
                };
                if self.is_full() {
                    self.write("(extension in ")?;
                    self.node(*module)?;
                    self.write("):")?;
                }
                self.node(*extended)?;
                self.list(signature, "")?;
            }
            Kind::Static => {
                self.write("static ")?;
                return self.in_context(self.child(id, 0)?, is_prefix);
            }
            Kind::BoundGeneric if !self.child_is_nominal(id) => {
                let [function, arguments] = tree.children(id) else {
                    return None;
                };
                return self.declaration(*function, is_prefix, Some(*arguments));
            }
            _ if entity::is_declaration(kind) => return self.declaration(id, is_prefix, None),
            _ => {
                if self.name(id)? {
                    return Some(None);
                }
                let is_printed = self.type_node(id)? || self.generic_node(id)? || self.made(id)?;
                if !is_printed {
                    return None;
                }
            }
        }
        Some(None)
    }

    fn child_is_nominal(&self, bound: Id) -> bool {
        let Some(of) = self.child(bound, 0) else {
            return false;
        };
        self.kind(self.tree.unwrapped(of)).is_nominal()
    }

    /// Prints a name; `Some(false)` if the node is none.
    fn name(&mut self, id: Id) -> Option<bool> {
        let tree = self.tree;
        let node = tree.get(id);
        match node.kind {
            Kind::Identifier => self.write(&node.text)?,
            Kind::Module => {
                if self.shown.has_modules() {
                    self.write(&node.text)?;
                }
            }
            Kind::Operator(position) => {
                self.write(&node.text)?;
                self.write(position)?;
            }
            Kind::LocalName => {
                let [number, name] = tree.children(id) else {
                    return None;
                };
                self.node(*name)?;
                let number = tree.get(*number).number + 1;
                self.write(&format!(" #{number}"))?;
            }
            Kind::PrivateName => {
                let (file, name) = match tree.children(id) {
                    [file, name] => (*file, Some(*name)),
                    [file] => (*file, None),
                    _ => return None,
                };
                if !self.is_full() {
                    if let Some(name) = name {
                        self.node(name)?;
                    }
                    return Some(true);
                }
                self.write("(")?;
                if let Some(name) = name {
                    self.node(name)?;
                    self.write(" ")?;
                }
                self.write("in ")?;
                self.node(file)?;
                self.write(")")?;
            }
            Kind::RelatedName => {
                self.write("related decl '")?;
                self.write(&node.text)?;
                self.write("' for ")?;
                self.children(id, "")?;
            }
            Kind::Suffix => {
                if self.is_full() {
                    self.write(" with unmangled suffix \"")?;
                    self.write(&node.text.escape_default().to_string())?;
                    self.write("\"")?;
                }
            }
            Kind::Text | Kind::IndexSubset => self.write(&node.text)?,
            Kind::Number => self.write(&node.number.to_string())?,
            Kind::Global => self.children(id, "")?,
            _ => return Some(false),
        }
        Some(true)
    }
}
