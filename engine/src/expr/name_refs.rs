//! The names in an expression that must be defined where it is evaluated.

use super::Expression;
use super::evaluate::inner;
use super::parse_cpp as cpp;
use super::tree::{Kind, Node};
use super::tree_rust::Form;
use super::types::TypeName;
use crate::arch::Arch;
use crate::inspect::language::c;
use std::ops::Range;

/// A name in an expression.
#[derive(Clone, Debug)]
pub(crate) struct NameRef<'a> {
    /// The name as written.
    pub(crate) name: &'a str,
    /// The possible kinds of definitions.
    pub(crate) what: Meaning,
    /// Its position in bytes.
    pub(crate) span: Range<usize>,
}

/// The possible kinds of a name's definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A variable, a function, an enumerator.
    Value,
    /// A type.
    Type,
    /// Either.
    ValueOrType,
    /// A function, or a type as in `int(x)`.
    Callee,
    /// A name after `$`.
    Register,
}

impl Expression {
    /// Returns the free names: without members, and without enumerators that only the target type
    /// of a conversion defines.
    pub(crate) fn mentioned(&self) -> Vec<NameRef<'_>> {
        let mut all = Vec::new();
        collect(self.root(), &mut all);
        all
    }

    /// Returns the first `$name` that is never defined.
    pub(crate) fn unknown_register(&self) -> Option<NameRef<'_>> {
        let mut all = self.mentioned().into_iter();
        all.find(|it| it.what == Meaning::Register && !is_register(it.name))
    }
}

// The parser limits the depth of trees.
fn collect<'a>(node: &'a Node, all: &mut Vec<NameRef<'a>>) {
    match &node.kind {
        Kind::Literal(..)
        | Kind::Character(..)
        | Kind::LongDouble(_)
        | Kind::Number(..)
        | Kind::Float(_)
        | Kind::Text(_) => {}
        Kind::Name(name) => all.push(named(node, name, Meaning::Value)),
        Kind::Register(name) => all.push(named(node, name, Meaning::Register)),
        // `&Class::member` is a pointer to a member, which is no variable.
        Kind::AddressOf(of) if matches!(&of.kind, Kind::Name(name) if name.contains("::")) => {}
        Kind::Paren(of)
        | Kind::Unary(_, of)
        | Kind::Deref(of)
        | Kind::AddressOf(of)
        | Kind::Member(of, _)
        | Kind::Step(_, of, _) => collect(of, all),
        Kind::Binary(_, left, right)
        | Kind::And(left, right)
        | Kind::Or(left, right)
        | Kind::Index(left, right)
        | Kind::Repeat(left, right)
        | Kind::Sequence(left, right) => {
            collect(left, all);
            collect(right, all);
        }
        Kind::Choice(condition, yes, no) => {
            for part in [condition, yes, no] {
                collect(part, all);
            }
        }
        Kind::Range(from, to, _) => {
            for end in [from, to].into_iter().flatten() {
                collect(end, all);
            }
        }
        Kind::Cast(_, ty, of) => {
            // `(f)(x)` may be a call.
            let what = match matches!(of.kind, Kind::Paren(_)) && !ty.is_pointer_to_any() {
                true => Meaning::ValueOrType,
                false => Meaning::Type,
            };
            type_in(ty, what, all);
            let is_number = c::builtin_name(&ty.base).is_some();
            match is_number || !ty.layers.is_empty() {
                true => collect(of, all),
                false => converted(of, all),
            }
        }
        Kind::Assign(_, to, value) => {
            collect(to, all);
            converted(value, all);
        }
        // `T<int>::value` may be a variable.
        Kind::SizeOfType(ty) => type_in(ty, Meaning::ValueOrType, all),
        Kind::Unparsed(_) => {}
        Kind::Rust(form) => collect_form(form, all),
        Kind::SizeOf(of) => value_or_type(of, Meaning::ValueOrType, all),
        Kind::Cpp(form, operands) => {
            let what = match form {
                cpp::Form::AlignOfType(_) | cpp::Form::TypeIdOfType(_) => Meaning::ValueOrType,
                _ => Meaning::Type,
            };
            form.types().for_each(|ty| type_in(ty, what, all));
            for operand in operands {
                match form.may_name_type() {
                    true => value_or_type(operand, Meaning::ValueOrType, all),
                    false => collect(operand, all),
                }
            }
        }
        Kind::Call(callee, arguments) => {
            // A function about callers, such as `$caller_is("f")`.
            if !matches!(&inner(callee).kind, Kind::Register(_)) {
                value_or_type(callee, Meaning::Callee, all);
            }
            for argument in arguments {
                collect(argument, all);
            }
        }
    }
}

/// What a pattern binds is no free name in its arm.
fn collect_form<'a>(form: &'a Form, all: &mut Vec<NameRef<'a>>) {
    if let Form::Closure(parameters, body) = form {
        let mut inside = Vec::new();
        collect(body, &mut inside);
        inside.retain(|it| !parameters.iter().any(|by| by.names().contains(&it.name)));
        return all.extend(inside);
    }
    let Form::Match(of, arms) = form else {
        return form.parts().into_iter().for_each(|part| collect(part, all));
    };
    collect(of, all);
    for arm in arms {
        let mut inside = Vec::new();
        for node in arm.guard.iter().chain([&arm.body]) {
            collect(node, &mut inside);
        }
        let bound = arm.pattern.names();
        inside.retain(|it| !bound.contains(&it.name));
        all.extend(inside);
    }
}

/// The operand of a conversion may be an enumerator of the type.
fn converted<'a>(node: &'a Node, all: &mut Vec<NameRef<'a>>) {
    if !matches!(inner(node).kind, Kind::Name(_)) {
        collect(node, all);
    }
}

fn value_or_type<'a>(node: &'a Node, what: Meaning, all: &mut Vec<NameRef<'a>>) {
    match &inner(node).kind {
        Kind::Name(name) => all.push(named(node, name, what)),
        Kind::Index(base, index) if what == Meaning::ValueOrType => {
            value_or_type(base, what, all);
            collect(index, all);
        }
        _ => collect(node, all),
    }
}

fn named<'a>(node: &Node, name: &'a str, what: Meaning) -> NameRef<'a> {
    NameRef {
        name,
        what,
        span: node.span.clone(),
    }
}

fn type_in<'a>(ty: &'a TypeName, what: Meaning, all: &mut Vec<NameRef<'a>>) {
    if let Some(of) = &ty.of {
        return collect(&of.0, all);
    }
    all.push(NameRef {
        name: &ty.base,
        what,
        span: ty.span.clone(),
    });
}

/// Returns whether a name after `$` may be defined: a register, an earlier result, a property of
/// the thread.
fn is_register(name: &str) -> bool {
    const OTHERS: [&str; 7] = ["_", "exception", "thread", "thread_name", "pc", "sp", "fp"];
    let is_of = |arch: &Arch| {
        let mut names = arch.machine().register_names().iter();
        arch.register_part(name).is_some()
            || arch.vector_register(name).is_some()
            || arch.extended_register_named(name).is_some()
            || arch.register_alias(name).is_some()
            || names.any(|(_, known)| *known == name)
    };
    name.parse::<usize>().is_ok() || OTHERS.contains(&name) || Arch::ALL.iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_found() {
        let found = |text: &str| {
            let expression = Expression::parse(text, dwarf::Language::Cpp).unwrap();
            let all = expression.mentioned();
            let all = all.iter().map(|it| format!("{:?} {}", it.what, it.name));
            all.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(found("a.b->c[i] == 3"), "Value a, Value i");
        assert_eq!(found("(color)RED"), "Type color");
        assert_eq!(found("(int)x == !y"), "Type int, Value x, Value y");
        assert_eq!(found("sizeof(node) * n"), "ValueOrType node, Value n");
        assert_eq!(found("v.size() > limit(1)"), "Value v, Callee limit");
        assert_eq!(
            found("$caller_is(\"f\") || $rax ? ns::a : *p"),
            "Register rax, Value ns::a, Value p"
        );
    }

    #[test]
    fn names_after_dollar_are_known() {
        for name in [
            "rax",
            "eax",
            "al",
            "ah",
            "r8d",
            "r15b",
            "xmm0",
            "ymm3",
            "zmm31",
            "st0",
            "k1",
            "rip",
            "pc",
            "rflags",
            "fs_base",
            "mxcsr",
            "1",
            "_",
            "exception",
            "thread",
        ] {
            assert!(is_register(name), "{name}");
        }
        for name in ["rxa", "eaxx", "xmm99", "", "count"] {
            assert!(!is_register(name), "{name}");
        }
    }
}
