//! Suggestions in errors about names.

use super::evaluate::{DEREFERENCES, Evaluator, error};
use super::lex;
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty, Value, members};
use std::ops::Range;

/// Maximum number of names listed in a message.
const LISTED: usize = 12;

/// Returns the name most similar to `name`; `None` if none is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    // About a third of the letters may differ; one of very short names.
    let most = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter(|it| !it.is_empty() && *it != name && it.len() < name.len() + 2 + most)
        .map(|it| (strsim::damerau_levenshtein(&wanted, &it.to_lowercase()), it))
        .filter(|(distance, it)| *distance <= most && *distance < it.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, it)| it)
}

impl Evaluator<'_> {
    pub(super) fn no_variable(&self, node: &Node) -> Error {
        let name = match &node.kind {
            Kind::Name(name) => name.as_str(),
            _ => "",
        };
        if self.language != dwarf::Language::Rust && self.context.data_of_symbol(name).is_some() {
            return Error::UnknownName {
                message: super::messages::untyped_data(name),
                span: node.span.clone(),
            };
        }
        let mut message = format!("no variable `{name}` in this frame");
        let known = self.context.names();
        let own: Vec<String> = self.own_members();
        let all = known.iter().chain(&own).map(String::as_str);
        if name.len() <= 256
            && let Some(nearest) = nearest(name, all)
        {
            message += &format!("; did you mean `{nearest}`?");
        } else if self.language != dwarf::Language::Rust
            && let Some((written, library)) = self.context.static_of_the_system(name)
        {
            message += &format!("; {library} has a `static` one: `{written}`");
        }
        Error::UnknownName {
            message,
            span: node.span.clone(),
        }
    }

    /// Returns the names of the members of `this` or `self`.
    fn own_members(&self) -> Vec<String> {
        let own = match self.language {
            dwarf::Language::Cpp => "this",
            dwarf::Language::Rust => "self",
            dwarf::Language::C => return Vec::new(),
        };
        match self.context.variable(own) {
            Ok(Some(object)) => members::names(self.context.as_target(), &self.holder(&object)),
            _ => Vec::new(),
        }
    }

    /// Follows pointers and references to the last target.
    pub(super) fn holder(&self, value: &Value) -> Value {
        let mut holder = value.clone();
        for _ in 0..DEREFERENCES {
            let Shape::Pointer(of, _) = holder.ty.shape() else {
                break;
            };
            match holder.pointee(self.context.as_target(), of) {
                Ok(next) => holder = next,
                Err(_) => break,
            }
        }
        holder
    }

    pub(super) fn no_member(&self, value: &Value, name: &str, object: &Node, node: &Node) -> Error {
        let names = members::names(self.context.as_target(), &self.holder(value));
        let source = self.source_text(object);
        let ty = value.ty.name();
        let span = self.last_name(node, name);
        if names.is_empty() {
            return error(format!("`{source}` ({ty}) has no members"), &span);
        }
        let message = super::messages::no_member("member", name, source, &value.ty);
        error(with_suggestion(message, name, &names), &span)
    }

    /// Returns the position of `name` in a node: after its last dot.
    fn last_name(&self, node: &Node, name: &str) -> Range<usize> {
        match self.source_text(node).rfind(name) {
            Some(at) => {
                let start = node.span.start + at;
                start..start + name.len()
            }
            None => node.span.clone(),
        }
    }
}

/// Returns the names of the methods that reading answers for objects of a type.
pub(super) fn method_names(ty: &Ty) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        names.extend(library::names(&ty));
        ty = match (ty.shape(), library::contents(&ty)) {
            (Shape::Pointer(of, _), _) => of,
            (_, Some(Contents::Pointee(of) | Contents::Wrapped(of))) => of,
            _ => break,
        };
    }
    names
}

/// Returns the error for a method that the class of an object, or of what it points to, lacks.
pub(super) fn no_method(ty: &Ty, name: &str, source: &str, span: Range<usize>) -> Error {
    let mut class = ty.clone();
    for _ in 0..DEREFERENCES {
        let Shape::Pointer(of, _) = class.shape() else {
            break;
        };
        class = of;
    }
    let names = method_names(&class);
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let ty = ty.name();
    if names.iter().any(|it| it == name) {
        let message = format!("no method `{name}` of `{source}` ({ty}) that takes these arguments");
        return error(message, &span);
    }
    let message =
        format!("no method `{name}` of `{source}` ({ty}) can be evaluated without a call");
    error(with_suggestion(message, name, &names), &span)
}

/// Appends a suggestion to a message: the most similar name, or a list of all.
pub(crate) fn with_suggestion(mut message: String, name: &str, names: &[String]) -> String {
    match nearest(name, names.iter().map(String::as_str)) {
        Some(nearest) => message += &format!("; did you mean `{nearest}`?"),
        None if names.is_empty() => {}
        None => {
            message += "; it has ";
            message += &names[..names.len().min(LISTED)].join(", ");
            if names.len() > LISTED {
                message += ", …";
            }
        }
    }
    message
}

/// Returns an error's message with the source below it, and marks below the position of the error.
pub fn with_marks(error: &Error, text: &str) -> String {
    let message = error.to_string();
    let Some(span) = error.span() else {
        return message;
    };
    // Long texts and those with several lines would not line up.
    let fits = text.len() <= 200 && !text.contains(['\n', '\t']);
    let (Some(before), true) = (
        text.get(..span.start),
        fits && text.len() < lex::MAX_EXPRESSION_BYTES,
    ) else {
        return message;
    };
    let marked = text.get(span.clone()).unwrap_or_default().chars().count();
    let indent = before.chars().count();
    format!(
        "{message}\n  {text}\n  {}{}",
        " ".repeat(indent),
        "^".repeat(marked.max(1))
    )
}
