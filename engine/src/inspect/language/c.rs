//! C and C++: declarators, and the names of the types every program has.

use super::{DEPTH, template};
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Synthetic, Ty};
use dwarf::{CTypes, CompositeKind, Language, Machine, TypeKind};
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the name of an unnamed class, which includes the position of its declaration.
fn unnamed(ty: &DwarfTy, keyword: &str) -> String {
    let what = match ty.composite() {
        Some(composite) if composite.closure => "lambda",
        _ => keyword,
    };
    let place = ty.module().declaration_of(ty.ty.id);
    let place = place.as_ref().and_then(|place| {
        let file = place.file.path.file_name()?;
        Some(format!(" at {}:{}", file.to_string_lossy(), place.line))
    });
    format!("<{what}{}>", place.unwrap_or_default())
}

/// Returns a type's name: a declaration without the declared identifier (ISO C §6.7.7, type names).
pub fn spell(ty: &Ty, language: Language) -> String {
    declare(ty, String::new(), language, 0)
}

fn declare(ty: &Ty, inner: String, language: Language, depth: usize) -> String {
    if depth > DEPTH * 2 {
        return join("...", &inner);
    }
    let deeper = |ty: &Ty, inner| declare(ty, inner, language, depth + 1);
    match ty {
        Ty::Builtin(_, name) => join(name, &inner),
        Ty::Void => join("void", &inner),
        Ty::Text => join("const char", &format!("{inner}[]")),
        Ty::Function(_) => join("<code>", &inner),
        Ty::Broken(_) => join("<unknown type>", &inner),
        Ty::Synthetic(synthetic) => declare_synthetic(synthetic, inner, language, depth),
        Ty::Pointer(target) => deeper(target, wrap("*", &inner, target)),
        Ty::Array(array) => {
            let suffix = match array.count {
                Some(count) => format!("{inner}[{count}]"),
                None => format!("{inner}[]"),
            };
            deeper(&array.element, suffix)
        }
        Ty::Dwarf(dwarf) => {
            let named = |keyword: &str| {
                let name = &*readable(&dwarf.ty.name, language);
                match (name.is_empty(), language) {
                    (true, Language::Cpp) => join(&unnamed(dwarf, keyword), &inner),
                    (true, _) => join(&format!("{keyword} {{...}}"), &inner),
                    (false, Language::C) if !name.starts_with(keyword) => {
                        join(&format!("{keyword} {name}"), &inner)
                    }
                    (false, _) => join(name, &inner),
                }
            };
            let target = |id: Option<_>| dwarf.related_or_void(id);
            match &dwarf.ty.kind {
                TypeKind::Pointer(id) => {
                    let target = target(*id);
                    deeper(&target, wrap("*", &inner, &target))
                }
                TypeKind::Reference(id) => {
                    let target = dwarf.related(*id);
                    deeper(&target, wrap("&", &inner, &target))
                }
                TypeKind::RvalueReference(id) => {
                    let target = dwarf.related(*id);
                    deeper(&target, wrap("&&", &inner, &target))
                }
                TypeKind::Const(id) => qualify("const", &target(*id), inner, &deeper),
                TypeKind::Volatile(id) => qualify("volatile", &target(*id), inner, &deeper),
                TypeKind::Restrict(id) => qualify("restrict", &target(*id), inner, &deeper),
                TypeKind::Atomic(id) => qualify("_Atomic", &target(*id), inner, &deeper),
                TypeKind::Array(array) => {
                    let mut suffix = inner;
                    for count in &array.counts {
                        suffix += &count.map_or("[]".into(), |count| format!("[{count}]"));
                    }
                    deeper(&dwarf.related(array.element), suffix)
                }
                TypeKind::Subroutine(function) => {
                    let mut parameters: Vec<String> = function
                        .parameters
                        .iter()
                        .map(|id| deeper(&dwarf.related(*id), String::new()))
                        .collect();
                    if function.variadic {
                        parameters.push("...".into());
                    }
                    if parameters.is_empty() {
                        parameters.push("void".into());
                    }
                    let list = format!("{inner}({})", parameters.join(", "));
                    deeper(&target(function.return_type), list)
                }
                TypeKind::PointerToMember { class, member } => {
                    let class = target(*class);
                    let member = without_object(&dwarf.related(*member));
                    deeper(
                        &member,
                        wrap(&format!("{}::*", class.name()), &inner, &member),
                    )
                }
                // Classes of Objective-C and types of Swift are named without a keyword.
                TypeKind::Composite(it) if it.is_objc_class || it.swift_name.is_some() => {
                    join(&readable(&dwarf.ty.name, language), &inner)
                }
                TypeKind::Composite(composite) => named(match composite.kind {
                    CompositeKind::Struct => "struct",
                    CompositeKind::Class => "class",
                    CompositeKind::Union => "union",
                }),
                TypeKind::Enumeration(_) => named("enum"),
                TypeKind::Base(_) | TypeKind::Typedef(_) | TypeKind::Unspecified => {
                    join(&readable(&dwarf.ty.name, language), &inner)
                }
            }
        }
    }
}

/// Returns the name of a type of C or C++ that the debug info may lack.
pub fn spell_synthetic(ty: &Synthetic, language: Language) -> String {
    declare_synthetic(ty, String::new(), language, 0)
}

fn declare_synthetic(ty: &Synthetic, inner: String, language: Language, depth: usize) -> String {
    let deeper = |ty: &Ty, inner| declare(ty, inner, language, depth + 1);
    match ty {
        Synthetic::Function(function) => {
            let parameters = function.parameters.iter();
            let parameters = parameters.map(|it| deeper(it, String::new()));
            let mut parameters: Vec<String> = parameters.collect();
            if function.is_variadic {
                parameters.push("...".into());
            }
            // A member function without parameters has `()`, as in a source.
            if parameters.is_empty() && !inner.contains("::*") {
                parameters.push("void".into());
            }
            let qualifier = if function.is_const { " const" } else { "" };
            let list = format!("{inner}({}){qualifier}", parameters.join(", "));
            deeper(&function.returns, list)
        }
        Synthetic::MemberPointer(class, member) => deeper(
            member,
            wrap(&format!("{}::*", class.name()), &inner, member),
        ),
        Synthetic::Place(of, is_rvalue) => {
            let mark = if *is_rvalue { "&&" } else { "&" };
            deeper(of, wrap(mark, &inner, of))
        }
        Synthetic::Const(of) => qualify("const", of, inner, &deeper),
        other => join(&other.name(), &inner),
    }
}

/// Returns the type of a member function as a source spells it: the debug info has the object as its
/// first parameter.
fn without_object(member: &Ty) -> Ty {
    let Some(function) = member.signature() else {
        return member.clone();
    };
    let is_synthetic = matches!(member.strip(), Ty::Synthetic(_));
    let (Some((this, rest)), false) = (function.parameters.split_first(), is_synthetic) else {
        return member.clone();
    };
    let is_const = match this.strip() {
        Ty::Dwarf(this) => match this.ty.kind {
            TypeKind::Pointer(of) => match this.related_or_void(of) {
                Ty::Dwarf(of) => matches!(of.ty.kind, TypeKind::Const(_)),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    };
    let rest = rest.to_vec();
    function
        .returns
        .function(rest, function.is_variadic, is_const)
}

fn readable(name: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::C => Cow::Borrowed(name),
        _ => template::readable(name),
    }
}

fn join(name: &str, inner: &str) -> String {
    if inner.is_empty() || inner.starts_with('[') {
        format!("{name}{inner}")
    } else {
        format!("{name} {inner}")
    }
}

/// Prepends `*`, in parentheses if the target is an array or a function.
fn wrap(star: &str, inner: &str, target: &Ty) -> String {
    let composed = match target {
        Ty::Array(_) => true,
        Ty::Synthetic(synthetic) => matches!(**synthetic, Synthetic::Function(_)),
        Ty::Dwarf(dwarf) => matches!(dwarf.ty.kind, TypeKind::Array(_) | TypeKind::Subroutine(_)),
        _ => false,
    };
    if composed {
        format!("({star}{inner})")
    } else {
        format!("{star}{inner}")
    }
}

fn qualify(
    word: &str,
    target: &Ty,
    inner: String,
    deeper: &dyn Fn(&Ty, String) -> String,
) -> String {
    // The elements of an array carry the qualifier (ISO C §6.7.3).
    let says_itself = match target {
        Ty::Dwarf(dwarf) => match dwarf.ty.kind {
            TypeKind::Array(_) => true,
            TypeKind::Const(_) => word == "const",
            _ => false,
        },
        _ => false,
    };
    if says_itself {
        return deeper(target, inner);
    }
    let is_pointer = match target {
        Ty::Pointer(_) => true,
        Ty::Dwarf(dwarf) => matches!(
            dwarf.ty.kind,
            TypeKind::Pointer(_) | TypeKind::Reference(_) | TypeKind::RvalueReference(_)
        ),
        _ => false,
    };
    if is_pointer {
        let inner = if inner.is_empty() || inner.starts_with('[') {
            format!("{word}{inner}")
        } else {
            format!("{word} {inner}")
        };
        deeper(target, inner)
    } else {
        format!("{word} {}", deeper(target, inner))
    }
}

/// Returns the usual spelling of a built-in type of C or C++; `None`: no built-in type has that name.
pub fn builtin_name(name: &str) -> Option<Arc<str>> {
    // Machines differ in formats only.
    builtin(name, Machine::Other(0).c_types()).map(|ty| ty.name())
}

/// Returns a built-in type of C or C++ by its name, with the words in any order.
pub fn builtin(name: &str, types: CTypes) -> Option<Ty> {
    use ScalarKind::{Bool, Signed, SignedChar, Unsigned, UnsignedChar, Utf};
    let mut words: Vec<&str> = name.split_ascii_whitespace().collect();
    words.retain(|word| !matches!(*word, "const" | "volatile"));
    let unsigned = words.contains(&"unsigned");
    let signed = words.contains(&"signed");
    let longs = words.iter().filter(|word| **word == "long").count();
    let short = words.contains(&"short");
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "unsigned" | "signed" | "long" | "short"))
        .collect();
    let modified = unsigned || signed || longs > 0 || short;
    let int = |size, signed_name, unsigned_name| {
        if unsigned {
            Ty::Builtin(Scalar::new(Unsigned, size), unsigned_name)
        } else {
            Ty::Builtin(Scalar::new(Signed, size), signed_name)
        }
    };
    let float =
        |format, size, name| Ty::Builtin(Scalar::new(ScalarKind::Float(format), size), name);
    Some(match rest.as_slice() {
        [] | ["int"] if short => int(2, "short", "unsigned short"),
        [] | ["int"] if longs == 1 => int(8, "long", "unsigned long"),
        [] | ["int"] if longs > 1 => int(8, "long long", "unsigned long long"),
        ["int"] => int(4, "int", "unsigned int"),
        [] if modified => int(4, "int", "unsigned int"),
        ["char"] if unsigned => Ty::Builtin(Scalar::new(UnsignedChar, 1), "unsigned char"),
        ["char"] if signed => Ty::Builtin(Scalar::new(SignedChar, 1), "signed char"),
        ["char"] => Ty::Builtin(Scalar::char(types), "char"),
        ["__int128"] => int(16, "__int128", "unsigned __int128"),
        ["float"] => float(Float::Single, 4, "float"),
        ["double"] if longs > 0 => Ty::Builtin(Scalar::long_double(types), "long double"),
        ["double"] => float(Float::Double, 8, "double"),
        ["bool" | "_Bool"] => Ty::Builtin(Scalar::new(Bool, 1), "bool"),
        ["wchar_t"] => Ty::Builtin(Scalar::new(Utf, 4), "wchar_t"),
        ["char8_t"] => Ty::Builtin(Scalar::new(Utf, 1), "char8_t"),
        ["char16_t"] => Ty::Builtin(Scalar::new(Utf, 2), "char16_t"),
        ["char32_t"] => Ty::Builtin(Scalar::new(Utf, 4), "char32_t"),
        ["void"] => Ty::Void,
        ["int8_t"] => Ty::Builtin(Scalar::new(SignedChar, 1), "int8_t"),
        ["uint8_t"] => Ty::Builtin(Scalar::new(UnsignedChar, 1), "uint8_t"),
        ["int16_t"] => Ty::Builtin(Scalar::new(Signed, 2), "int16_t"),
        ["uint16_t"] => Ty::Builtin(Scalar::new(Unsigned, 2), "uint16_t"),
        ["int32_t"] => Ty::Builtin(Scalar::new(Signed, 4), "int32_t"),
        ["uint32_t"] => Ty::Builtin(Scalar::new(Unsigned, 4), "uint32_t"),
        ["int64_t"] => Ty::Builtin(Scalar::new(Signed, 8), "int64_t"),
        ["uint64_t"] => Ty::Builtin(Scalar::new(Unsigned, 8), "uint64_t"),
        ["size_t"] => Ty::Builtin(Scalar::new(Unsigned, 8), "size_t"),
        ["uintptr_t"] => Ty::Builtin(Scalar::new(Unsigned, 8), "uintptr_t"),
        ["ssize_t" | "ptrdiff_t"] => Ty::Builtin(Scalar::new(Signed, 8), "ptrdiff_t"),
        ["intptr_t"] => Ty::Builtin(Scalar::new(Signed, 8), "intptr_t"),
        _ => return None,
    })
}

/// Returns whether a word can only begin a type.
pub fn is_type_word(word: &str) -> bool {
    matches!(
        word,
        "struct"
            | "union"
            | "enum"
            | "class"
            | "const"
            | "volatile"
            | "unsigned"
            | "signed"
            | "long"
            | "short"
            | "int"
            | "char"
            | "float"
            | "double"
            | "bool"
            | "_Bool"
            | "void"
            | "wchar_t"
            | "char8_t"
            | "char16_t"
            | "char32_t"
            | "__int128"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::LongDouble;

    #[test]
    fn types_that_systems_differ_in_are_those_of_the_program() {
        let elf = Machine::Aarch64.c_types();
        let apple = CTypes {
            char_is_signed: true,
            wchar_is_signed: true,
            long_double: LongDouble::Double,
            headers: dwarf::Headers::Apple,
        };
        let scalar = |name, types| match builtin(name, types) {
            Some(Ty::Builtin(scalar, _)) => (scalar.kind, scalar.size),
            other => panic!("{name} is {other:?}"),
        };
        let float = ScalarKind::Float;
        assert_eq!(scalar("long double", elf), (float(Float::Quad), 16));
        assert_eq!(scalar("long double", apple), (float(Float::Double), 8));
        assert_eq!(scalar("char", elf), (ScalarKind::PlainChar, 1));
        assert_eq!(scalar("char", apple), (ScalarKind::SignedChar, 1));
    }
}
