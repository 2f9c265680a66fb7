//! Completion of expressions.

use super::evaluate::{DEREFERENCES, Evaluator};
use super::suggest::method_names;
use super::tree::{Kind, Node};
use super::{EvalContext, Purpose, lex, parse, types};
use crate::inspect::value::{Shape, Value, members};
use crate::inspect::visualize::objc::class::is_instance;
use crate::inspect::visualize::{self, View};
use dwarf::Language;
use std::ops::Range;

/// The kind of a completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    /// A variable.
    Variable,
    /// A member of a struct, class or union.
    Member,
    /// A method.
    Method,
    /// A register.
    Register,
    /// An enumerator or variant.
    Enumerator,
}

/// A completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// Its kind.
    pub kind: CompletionKind,
}

/// Maximum length of a text to complete, in bytes, and maximum number of completions.
const MAX_TEXT_BYTES: usize = 1024;
const MAX_COMPLETIONS: usize = 500;

/// Returns the completions at byte `at` of `text`, and the bytes that they replace.
pub fn complete(
    context: &mut dyn EvalContext,
    text: &str,
    at: usize,
) -> (Range<usize>, Vec<Completion>) {
    let typed = text.get(..at).unwrap_or(text);
    let start = typed
        .char_indices()
        .rev()
        .take_while(|(_, char)| lex::is_name_part(*char))
        .last()
        .map_or(typed.len(), |(start, _)| start);
    let (before, prefix) = typed.split_at(start);
    let mut found = Vec::new();
    if typed.len() <= MAX_TEXT_BYTES {
        let before = before.trim_end();
        if before.ends_with('$') {
            add(&mut found, context.registers(), CompletionKind::Register);
        } else if let Some(object) = before.strip_suffix("->").or(before.strip_suffix('.')) {
            of_object(context, object, &mut found);
        } else if let Some(path) = before.strip_suffix("::") {
            of_path(context, path, &mut found);
        } else if !prefix.starts_with(|char: char| char.is_ascii_digit()) {
            add(&mut found, context.names(), CompletionKind::Variable);
            of_own_object(context, &mut found);
        }
    }
    let begins = |it: &Completion| {
        let head = it.text.get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    found.retain(begins);
    let mut seen = std::collections::HashSet::new();
    found.retain(|it| seen.insert(it.text.clone()));
    found.truncate(MAX_COMPLETIONS);
    (start..typed.len(), found)
}

fn add(
    found: &mut Vec<Completion>,
    names: impl IntoIterator<Item = impl Into<String>>,
    kind: CompletionKind,
) {
    found.extend(names.into_iter().map(|name| Completion {
        text: name.into(),
        kind,
    }));
}

/// Collects members and methods of the object whose expression ends at the end of `text`.
fn of_object(context: &mut dyn EvalContext, text: &str, found: &mut Vec<Completion>) {
    let language = context.language();
    // The longest suffix of the text that is one object: `b.c` in `a + b.c`.
    let starts = text
        .char_indices()
        .map(|(start, _)| start)
        .filter(|start| !text[..*start].ends_with(lex::is_name_part));
    let object = starts
        .filter_map(|start| {
            let part = &text[start..];
            let (root, _) = parse::parse(part, language).ok()?;
            is_object(&root).then_some((root, part))
        })
        .next();
    let Some((root, part)) = object else { return };
    let mut run = Evaluator::new(context, Purpose::Look, language, part);
    if let Ok(value) = run.evaluate(&root) {
        of_value(context, &value, found);
    }
}

fn is_object(node: &Node) -> bool {
    matches!(
        node.kind,
        Kind::Name(_)
            | Kind::Member(..)
            | Kind::Index(..)
            | Kind::Paren(_)
            | Kind::Call(..)
            | Kind::Register(_)
    )
}

fn of_value(context: &dyn EvalContext, value: &Value, found: &mut Vec<Completion>) {
    let target = context.as_target();
    let mut value = value.clone();
    add(found, method_names(&value.ty), CompletionKind::Method);
    for _ in 0..DEREFERENCES {
        match value.ty.shape() {
            Shape::Pointer(of, _) => match value.pointee(target, of) {
                Ok(next) => value = next,
                Err(_) => return,
            },
            _ => match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => value = next,
                _ => break,
            },
        }
    }
    let own = members::names(target, &value);
    let whole = visualize::in_truth(target, value.clone());
    let mut others = match whole.ty.same_as(&value.ty) {
        true => Vec::new(),
        false => members::names(target, &whole),
    };
    others.retain(|it| !own.contains(it));
    add(found, own, CompletionKind::Member);
    add(found, others, CompletionKind::Member);
}

fn of_own_object(context: &dyn EvalContext, found: &mut Vec<Completion>) {
    let own = match context.language() {
        Language::Cpp => "this",
        // In a method of Objective-C.
        Language::C => "self",
        // Rust's members need `self.`.
        Language::Rust => return,
    };
    if let Ok(Some(object)) = context.variable(own)
        && (own == "this" || is_instance(&object.ty))
    {
        let mut members = Vec::new();
        of_value(context, &object, &mut members);
        members.retain(|it| it.kind == CompletionKind::Member);
        found.extend(members);
    }
}

/// Collects enumerators and static members of a type.
fn of_path(context: &dyn EvalContext, text: &str, found: &mut Vec<Completion>) {
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, char)| lex::is_name_part(*char) || *char == ':')
        .last()
        .map_or(text.len(), |(start, _)| start);
    let Some(ty) = types::named(context, &text[start..]) else {
        return;
    };
    match ty.shape() {
        Shape::Enumeration(ty) => {
            let all = ty.enumeration().map(|it| &*it.enumerators);
            let names = all.unwrap_or_default().iter().map(|it| it.name.clone());
            add(found, names, CompletionKind::Enumerator);
        }
        Shape::Composite(ty) => {
            let Some(composite) = ty.composite() else {
                return;
            };
            let statics = composite.statics.iter().map(|it| it.name.clone());
            add(found, statics, CompletionKind::Member);
            let variants = composite.variants.iter().flat_map(|it| &it.variants);
            let names = variants.filter_map(|it| Some(it.members.first()?.name.clone()));
            add(found, names, CompletionKind::Enumerator);
        }
        _ => {}
    }
}
