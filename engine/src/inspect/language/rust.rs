//! Rust: names as rustc writes them, and the primitive types.

use super::DEPTH;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use dwarf::TypeKind;

/// Returns a type's name.
pub fn spell(ty: &Ty, depth: usize) -> String {
    if depth > DEPTH {
        return "…".into();
    }
    match ty {
        Ty::Builtin(_, name) => (*name).to_owned(),
        Ty::Text => "&str".into(),
        Ty::Void => "()".into(),
        Ty::Function(_) => "fn".into(),
        Ty::Broken(_) => "<unknown type>".into(),
        Ty::Synthetic(synthetic) => synthetic.name().to_string(),
        Ty::Pointer(target) => format!("*mut {}", spell(target, depth + 1)),
        Ty::Array(array) => match array.count {
            Some(count) => format!("[{}; {count}]", spell(&array.element, depth + 1)),
            None => format!("[{}]", spell(&array.element, depth + 1)),
        },
        Ty::Dwarf(dwarf) if !dwarf.ty.name.is_empty() => dwarf.ty.name.clone(),
        Ty::Dwarf(dwarf) => match &dwarf.ty.kind {
            TypeKind::Pointer(target) => {
                format!("*mut {}", spell(&dwarf.related_or_void(*target), depth + 1))
            }
            TypeKind::Array(array) => {
                let element = spell(&dwarf.related(array.element), depth + 1);
                array
                    .counts
                    .iter()
                    .rev()
                    .fold(element, |inner, count| match count {
                        Some(count) => format!("[{inner}; {count}]"),
                        None => format!("[{inner}]"),
                    })
            }
            TypeKind::Subroutine(_) => "fn".into(),
            _ => super::c::spell(ty, dwarf::Language::Cpp),
        },
    }
}

/// Returns whether `name` is that of a primitive type.
pub fn is_primitive(name: &str) -> bool {
    matches!(
        name,
        "i8" | "i16"
            | "i32"
            | "i64"
            | "i128"
            | "isize"
            | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "u128"
            | "usize"
            | "f16"
            | "f32"
            | "f64"
            | "f128"
            | "bool"
            | "char"
            | "()"
            | "!"
    )
}

/// Returns a primitive type by its name.
pub fn builtin(name: &str) -> Option<Ty> {
    use ScalarKind::{Bool, Signed, Unsigned, Utf};
    let (kind, size, name) = match name {
        "i8" => (Signed, 1, "i8"),
        "i16" => (Signed, 2, "i16"),
        "i32" => (Signed, 4, "i32"),
        "i64" => (Signed, 8, "i64"),
        "i128" => (Signed, 16, "i128"),
        "isize" => (Signed, 8, "isize"),
        "u8" => (Unsigned, 1, "u8"),
        "u16" => (Unsigned, 2, "u16"),
        "u32" => (Unsigned, 4, "u32"),
        "u64" => (Unsigned, 8, "u64"),
        "u128" => (Unsigned, 16, "u128"),
        "usize" => (Unsigned, 8, "usize"),
        "f32" => (ScalarKind::Float(Float::Single), 4, "f32"),
        "f64" => (ScalarKind::Float(Float::Double), 8, "f64"),
        "bool" => (Bool, 1, "bool"),
        "char" => (Utf, 4, "char"),
        _ => return None,
    };
    Some(Ty::Builtin(Scalar::new(kind, size), name))
}
