//! Declarations in their contexts.

use super::super::node::{Id, Kind};
use super::Printer;

pub(super) fn is_declaration(kind: Kind) -> bool {
    use Kind::*;
    kind.is_nominal()
        || matches!(
            kind,
            Function
                | Variable
                | Subscript
                | Accessor(_)
                | Allocator
                | Constructor
                | Deallocator
                | IsolatedDeallocator
                | Destructor
                | Special(_)
                | Closure(_)
                | DefaultArgument
                | Initializer(_)
                | GenericParameterDecl
                | EnumCase
                | Macro
                | MacroExpansion(_)
        )
}

/// How the type of a declaration is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typed {
    No,
    Function,
    Colon,
}

/// What a declaration is called.
struct Called {
    /// Whether its second child is its name.
    is_named: bool,
    typed: Typed,
    /// A word instead of the name: `subscript`.
    instead: &'static str,
    /// A word behind the name: `getter`, or `closure #1`.
    word: String,
}

impl Called {
    fn by_name(typed: Typed) -> Called {
        Called {
            is_named: true,
            typed,
            instead: "",
            word: String::new(),
        }
    }

    fn by_word(typed: Typed, word: &str) -> Called {
        Called {
            is_named: false,
            typed,
            instead: "",
            word: word.to_owned(),
        }
    }
}

impl Printer<'_, '_> {
    /// Prints a declaration with its context. Returns the context, or as a prefix itself, if that must
    /// follow.
    pub(super) fn declaration(
        &mut self,
        id: Id,
        is_prefix: bool,
        arguments: Option<Id>,
    ) -> Option<Option<Id>> {
        let (entity, called) = self.called(id)?;
        let tree = self.tree;
        let kind = tree.kind(entity);
        let is_local = called.is_named
            && tree
                .child(entity, 1)
                .is_some_and(|name| tree.kind(name) == Kind::LocalName);
        let is_phrase = is_local || called.word.contains(' ');
        if is_prefix && (called.typed != Typed::No || is_phrase) {
            return Some(Some(id));
        }
        let context = tree.child(entity, 0)?;
        let mut following = None;
        if is_phrase {
            following = Some(context);
        } else if self.is_context_shown(context) {
            let start = self.out.len();
            following = self.in_context(context, true)?;
            if self.out.len() > start {
                self.write(".")?;
            }
        }
        let mut word = called.word;
        let start = self.out.len();
        if let Kind::MacroExpansion(_) = kind {
            self.write(&word)?;
            word.clear();
            self.write(" of ")?;
            self.node(tree.child(entity, 1)?)?;
        } else if called.is_named {
            if is_phrase && !word.is_empty() {
                self.write(&std::mem::take(&mut word))?;
                self.write(" of ")?;
            }
            self.node(tree.child(entity, 1)?)?;
        } else {
            self.write(called.instead)?;
            if let Some(private) = tree.child_of(entity, Kind::PrivateName)
                && kind == Kind::Constructor
            {
                self.node(private)?;
            }
        }
        if self.out.len() > start && !word.is_empty() {
            self.write(".")?;
        }
        self.write(&word)?;
        let before = if is_phrase { " " } else { "" };
        self.declared_type(entity, called.typed, before, arguments)?;
        if let Some(following) = following
            && !is_prefix
        {
            self.write(match kind {
                Kind::DefaultArgument | Kind::Initializer(_) => " of ",
                _ => " in ",
            })?;
            self.node(following)?;
            return Some(None);
        }
        Some(following)
    }

    fn is_context_shown(&self, context: Id) -> bool {
        self.kind(context) != Kind::Module || self.shown.has_modules()
    }

    /// Returns the declaration that has the context, and what it is called.
    fn called(&self, id: Id) -> Option<(Id, Called)> {
        let tree = self.tree;
        let numbered = |text: &str, offset: u64| {
            let number = tree.children(id).iter().rev();
            let number = number.map(|child| tree.get(*child));
            let mut number = number.filter(|node| node.kind == Kind::Number);
            number
                .next()
                .map(|it| format!("{text}{}", it.number + offset))
        };
        let is_of_class = |id| {
            let context = tree.child(id, 0);
            context.is_some_and(|context| tree.kind(context) == Kind::Class)
        };
        let called = match tree.kind(id) {
            Kind::Function => Called::by_name(Typed::Function),
            Kind::Variable => Called::by_name(Typed::Colon),
            Kind::GenericParameterDecl | Kind::EnumCase => Called::by_name(Typed::No),
            // The type of a macro without parameters is its value's.
            Kind::Macro => Called::by_name(match tree.child_of(id, Kind::LabelList) {
                Some(_) => Typed::Function,
                None => Typed::Colon,
            }),
            Kind::Subscript => Called {
                instead: "subscript",
                ..Called::by_word(Typed::Function, "")
            },
            Kind::Accessor(word) => {
                let storage = tree.child(id, 0)?;
                let called = match tree.kind(storage) {
                    Kind::Variable => Called {
                        word: word.to_owned(),
                        ..Called::by_name(Typed::Colon)
                    },
                    Kind::Subscript => Called {
                        instead: "subscript",
                        ..Called::by_word(Typed::Colon, word)
                    },
                    _ => return None,
                };
                return Some((storage, called));
            }
            Kind::Allocator if is_of_class(id) => {
                Called::by_word(Typed::Function, "__allocating_init")
            }
            Kind::Allocator | Kind::Constructor => Called::by_word(Typed::Function, "init"),
            Kind::Deallocator if is_of_class(id) => {
                Called::by_word(Typed::No, "__deallocating_deinit")
            }
            Kind::IsolatedDeallocator if is_of_class(id) => {
                Called::by_word(Typed::No, "__isolated_deallocating_deinit")
            }
            Kind::Deallocator | Kind::IsolatedDeallocator | Kind::Destructor => {
                Called::by_word(Typed::No, "deinit")
            }
            Kind::Special(word) | Kind::Initializer(word) => Called::by_word(Typed::No, word),
            Kind::Closure(text) => {
                let typed = match self.is_full() {
                    true => Typed::Function,
                    false => Typed::No,
                };
                Called::by_word(typed, &numbered(text, 1)?)
            }
            Kind::DefaultArgument => Called::by_word(Typed::No, &numbered("default argument ", 0)?),
            Kind::MacroExpansion(text) => {
                let number = tree.last(id)?;
                let number = tree.get(number).number + 1;
                let word = match text {
                    "freestanding" => format!("freestanding macro expansion #{number}"),
                    "unique name" => format!("unique name #{number}"),
                    _ => {
                        let name = tree.child(id, 2)?;
                        format!("{text} macro @{} expansion #{number}", tree.get(name).text)
                    }
                };
                Called::by_word(Typed::No, &word)
            }
            kind if kind.is_nominal() => Called::by_name(Typed::No),
            _ => return None,
        };
        Some((id, called))
    }

    /// Prints the type of a declaration. A function's type follows its name, after `before`; other types
    /// follow a colon.
    fn declared_type(
        &mut self,
        entity: Id,
        typed: Typed,
        before: &str,
        arguments: Option<Id>,
    ) -> Option<()> {
        if typed == Typed::No {
            return Some(());
        }
        let tree = self.tree;
        let ty = tree.child_of(entity, Kind::Type)?;
        let inner = tree.unwrapped(ty);
        let (signature, function) = match tree.kind(inner) {
            Kind::GenericType => {
                let signature = tree.child(inner, 0)?;
                (Some(signature), tree.unwrapped(tree.child(inner, 1)?))
            }
            _ => (None, inner),
        };
        let is_function = matches!(tree.kind(function), Kind::FunctionType(_));
        let has_colon = typed == Typed::Colon || !is_function;
        if has_colon {
            if !self.is_full() {
                return Some(());
            }
            self.write(" : ")?;
        } else {
            self.write(before)?;
        }
        if let Some(arguments) = arguments {
            self.write("<")?;
            self.children(arguments, ", ")?;
            self.write(">")?;
        } else if let Some(signature) = signature {
            self.node(signature)?;
        }
        match is_function {
            true => {
                let labels = tree.child_of(entity, Kind::LabelList);
                self.function_type(function, labels)
            }
            false => {
                if signature.is_some() {
                    self.write(" ")?;
                }
                self.node(function)
            }
        }
    }
}
