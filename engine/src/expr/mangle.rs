//! Mangled names of types, as `typeid(T).name()` returns them (Itanium C++ ABI, §5.1.5).

use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::TypeKind;

/// Maximum nesting of pointers and parameters.
const DEPTH: usize = 16;

/// Returns the mangled name of a type without its qualifiers; `None` if it cannot be derived from the
/// debug info.
pub(super) fn of_type(ty: &Ty) -> Option<String> {
    let mut classes = Vec::new();
    let name = mangled(&ty.strip(), &mut classes, 0)?;
    // A class that occurs twice is abbreviated.
    let count = classes.len();
    classes.sort();
    classes.dedup();
    (count == classes.len()).then_some(name)
}

fn mangled(ty: &Ty, classes: &mut Vec<String>, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    if let Ty::Dwarf(outer) = ty {
        let inner = |id: Option<_>| outer.related_or_void(id);
        match outer.ty.kind {
            TypeKind::Typedef(of) => return mangled(&inner(of), classes, depth + 1),
            TypeKind::Const(of) => {
                let of = mangled(&inner(of), classes, depth + 1)?;
                return Some(format!("K{of}"));
            }
            TypeKind::Volatile(of) => {
                let of = mangled(&inner(of), classes, depth + 1)?;
                // `volatile` comes before `const`.
                return Some(format!("V{of}"));
            }
            TypeKind::Reference(of) => {
                return Some(format!(
                    "R{}",
                    mangled(&outer.related(of), classes, depth + 1)?
                ));
            }
            TypeKind::RvalueReference(of) => {
                return Some(format!(
                    "O{}",
                    mangled(&outer.related(of), classes, depth + 1)?
                ));
            }
            _ => {}
        }
    }
    if let Some((class, member)) = ty.member_pointer() {
        let class = mangled(&class, classes, depth + 1)?;
        return Some(format!("M{class}{}", mangled(&member, classes, depth + 1)?));
    }
    match ty.shape() {
        Shape::Void => Some("v".into()),
        Shape::Scalar(_) => built_in(&ty.strip().name()).map(str::to_owned),
        Shape::Pointer(of, _) if ty.name().contains("nullptr") && matches!(of, Ty::Void) => {
            Some("Dn".into())
        }
        Shape::Pointer(of, _) => Some(format!("P{}", mangled(&of, classes, depth + 1)?)),
        Shape::Array(array) => {
            let count = array.count.map_or(String::new(), |count| count.to_string());
            Some(format!(
                "A{count}_{}",
                mangled(&array.element, classes, depth + 1)?
            ))
        }
        Shape::Function => {
            let function = ty.signature()?;
            let mut name = format!("F{}", mangled(&function.returns, classes, depth + 1)?);
            for parameter in &function.parameters {
                name += &mangled(parameter, classes, depth + 1)?;
            }
            if function.is_variadic {
                name.push('z');
            } else if function.parameters.is_empty() {
                name.push('v');
            }
            Some(name + "E")
        }
        Shape::Composite(class) | Shape::Enumeration(class) => {
            let name = of_class(&class)?;
            classes.push(name.clone());
            Some(name)
        }
        _ => None,
    }
}

fn built_in(name: &str) -> Option<&'static str> {
    let mut words: Vec<&str> = name.split_ascii_whitespace().collect();
    words.retain(|word| *word != "int" || name == "int");
    words.sort_unstable();
    Some(match words[..] {
        ["void"] => "v",
        ["bool"] | ["_Bool"] => "b",
        ["char"] => "c",
        ["char", "signed"] | ["int8_t"] => "a",
        ["char", "unsigned"] | ["uint8_t"] => "h",
        ["short"] | ["int16_t"] => "s",
        ["short", "unsigned"] | ["uint16_t"] => "t",
        ["int"] | ["int32_t"] => "i",
        ["unsigned"] | ["uint32_t"] => "j",
        ["long"] | ["int64_t" | "ptrdiff_t" | "intptr_t"] => "l",
        ["long", "unsigned"] | ["uint64_t" | "size_t" | "uintptr_t"] => "m",
        ["long", "long"] => "x",
        ["long", "long", "unsigned"] => "y",
        ["__int128"] => "n",
        ["__int128", "unsigned"] => "o",
        ["float"] => "f",
        ["double"] => "d",
        ["double", "long"] => "e",
        ["__float128"] => "g",
        ["wchar_t"] => "w",
        ["char8_t"] => "Du",
        ["char16_t"] => "Ds",
        ["char32_t"] => "Di",
        _ => return None,
    })
}

fn of_class(class: &DwarfTy) -> Option<String> {
    let name = &class.ty.name;
    if name.is_empty() {
        return None;
    }
    by_methods(class).or_else(|| {
        let is_local = class.module().is_local_type(class.ty.id);
        (!is_local && !name.contains(['<', '{'])).then(|| of_path(name))
    })
}

/// Mangles a qualified name without template arguments.
fn of_path(name: &str) -> String {
    let parts: Vec<&str> = name.split("::").collect();
    let component = |part: &&str| match *part {
        "std" => "St".to_owned(),
        "(anonymous namespace)" => "12_GLOBAL__N_1".to_owned(),
        part => format!("{}{part}", part.len()),
    };
    let mangled: String = parts.iter().map(component).collect();
    match (parts.len(), parts.first()) {
        (1, _) | (2, Some(&"std")) => mangled,
        _ => format!("N{mangled}E"),
    }
}

/// Finds the name of a class in that of one of its member functions.
fn by_methods(class: &DwarfTy) -> Option<String> {
    let wanted = format!("typeinfo name for {}", class.ty.name).replace(' ', "");
    let is_it = |name: &str| {
        let symbol = format!("_ZTS{name}");
        dwarf::demangle(&symbol).replace(' ', "") == wanted
    };
    let methods = class.module().methods(class.ty.id);
    methods.iter().find_map(|method| {
        let symbol = method.linkage_name.as_deref()?.strip_prefix("_ZN")?;
        let nested = symbol.trim_start_matches(['K', 'V', 'R', 'O']);
        let own = format!("{}{}", method.name.len(), method.name);
        let ends = ["C1", "C2", "C4", "D0", "D1", "D2", "D4", &own];
        let positions = ends.iter().flat_map(|end| nested.match_indices(end));
        positions.into_iter().find_map(|(at, _)| {
            let scope = nested.get(..at)?;
            let names = [scope.to_owned(), format!("N{scope}E")];
            names.into_iter().find(|name| is_it(name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{built_in, of_path};

    #[test]
    fn names_of_types() {
        for (name, mangled) in [
            ("int", "i"),
            ("unsigned int", "j"),
            ("long unsigned int", "m"),
            ("unsigned long", "m"),
            ("long long int", "x"),
            ("short unsigned int", "t"),
            ("unsigned char", "h"),
            ("long double", "e"),
        ] {
            assert_eq!(built_in(name), Some(mangled), "{name}");
        }
        assert_eq!(built_in("complex float"), None);
        for (name, mangled) in [
            ("Outer", "5Outer"),
            ("a::B", "N1a1BE"),
            ("std::type_info", "St9type_info"),
            ("std::filesystem::path", "NSt10filesystem4pathE"),
            ("(anonymous namespace)::X", "N12_GLOBAL__N_11XE"),
        ] {
            assert_eq!(of_path(name), mangled, "{name}");
        }
    }
}
