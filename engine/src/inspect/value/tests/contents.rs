//! What the library's types contain by themselves, compared with the views of values.

use super::harness::{Program, with_each_rustc};
use crate::inspect::library::{Contents, contents};
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize::{self, CollectionKind, View};
use dwarf::Language;

/// Nesting of containers to compare.
const DEPTH: usize = 4;

/// Views whose contents depend on the value: the class behind a vtable or in `std::any`.
const BY_VALUE: &[&str] = &[
    "std::any",
    "std::__1::any",
    "std::function<",
    "std::__1::function<",
    "std::__exception_ptr::exception_ptr",
    "std::exception_ptr",
    "core::net::ip_addr::IpAddr",
    "core::net::socket_addr::SocketAddr",
];

fn agree(program: &Program, name: &str, value: &Value, wrong: &mut Vec<String>, depth: usize) {
    let Some(view) = visualize::view(program, value) else {
        return;
    };
    let whole = value.ty.strip();
    let Ty::Dwarf(class) = &whole else { return };
    let known = contents(&whole);
    let is_dynamic = |ty: &Ty| ty.name().contains("dyn ");
    if BY_VALUE.iter().any(|it| class.ty.name.starts_with(it)) || is_dynamic(&whole) {
        return;
    }
    let mut differ = |what: &str, is: &Ty, declared: &Ty| {
        if !declared.same_as(is) {
            wrong.push(format!(
                "{name} ({}): {what} is {}, declared {}",
                whole.name(),
                is.name(),
                declared.name()
            ));
        }
    };
    let mut inner = Vec::new();
    match (&view, &known) {
        (View::Plain(_) | View::Invalid(_), _) => {}
        (View::Text { unit, .. }, Some(Contents::Text(declared, of))) => {
            assert_eq!(unit, declared, "{name}");
            assert_eq!(of.size(), Some(unit.size() as u64), "{name}");
        }
        (
            View::Sequence { at, element, len },
            Some(Contents::Sequence(of) | Contents::List(of)),
        ) => {
            differ("element", element, of);
            if *len > 0 {
                let place = crate::inspect::value::ValueLocation::Memory(*at, None);
                inner.push(Value::new(element.clone(), place));
            }
        }
        (View::Collection(all), Some(known)) => {
            let (items, _) = all.items(program, 0..1).expect("items");
            let item = items.into_iter().next();
            match (all.kind, known) {
                (CollectionKind::List, Contents::List(of))
                | (CollectionKind::Set, Contents::Set(of)) => {
                    if let Some(item) = item {
                        differ("element", &item.value.ty, of);
                        inner.push(item.value);
                    }
                }
                (CollectionKind::Map, Contents::Map(key, of)) => {
                    if let Some(item) = item {
                        let have = item.key.expect("a key");
                        differ("key", &have.ty, key);
                        differ("value", &item.value.ty, of);
                        inner.extend([have, item.value]);
                    }
                }
                _ => wrong.push(format!("{name}: {known:?}")),
            }
        }
        (View::Fields { fields, .. }, Some(Contents::Tuple(parts))) => {
            assert_eq!(fields.len(), parts.len(), "{name}");
            for ((_, field), part) in fields.iter().zip(parts) {
                differ("part", &field.ty, part);
                inner.push(field.clone());
            }
        }
        (View::Noted(held, _), Some(Contents::Variant(all))) => {
            let is_one = all.iter().any(|it| it.same_as(&held.ty));
            if !is_one {
                wrong.push(format!("{name}: {} is no alternative", held.ty.name()));
            }
        }
        (
            View::Pointee(held) | View::Noted(held, _),
            Some(
                Contents::Pointee(of)
                | Contents::Wrapped(of)
                | Contents::Optional(of)
                | Contents::Either(of, _),
            ),
        ) if !matches!(&known, Some(Contents::Either(..)) if matches!(&view, View::Noted(..))) => {
            let held = inside(program, held, of);
            compare(program, &held, of, &mut differ);
            inner.push(held);
        }
        (View::Pointee(held) | View::Noted(held, _), Some(Contents::Either(_, of))) => {
            differ("error", &held.ty, of);
        }
        // `std::array` is shown as its array, `std::unique_ptr<T[]>` as its pointer.
        (View::Pointee(held), Some(Contents::Sequence(of) | Contents::Unbounded(of)))
        | (View::Noted(held, _), Some(Contents::Unbounded(of))) => match held.ty.shape() {
            Shape::Array(array) => differ("element", &array.element, of),
            Shape::Pointer(target, _) => differ("element", &target, of),
            _ => wrong.push(format!("{name}: {} is no row", held.ty.name())),
        },
        (View::Fields { .. }, None) => {}
        (view, known) => wrong.push(format!(
            "{name} ({}): {known:?}, not {view:?}",
            whole.name()
        )),
    }
    if depth < DEPTH {
        for held in inner {
            agree(program, name, &held, wrong, depth + 1);
        }
    }
}

/// Returns what is inside the wrappers that a library has around the declared contents.
fn inside(program: &Program, held: &Value, declared: &Ty) -> Value {
    let mut held = held.clone();
    while !declared.same_as(&held.ty) {
        let of_library = ["core::", "std::", "alloc::"]
            .iter()
            .any(|it| held.ty.name().starts_with(it));
        match visualize::view(program, &held) {
            Some(View::Pointee(next)) if of_library => held = next,
            _ => break,
        }
    }
    held
}

/// Compares what a wrapper shows with what it declares: a text or row by its contents, a pointer
/// that the view does not follow by its target.
fn compare(program: &Program, held: &Value, of: &Ty, differ: &mut dyn FnMut(&str, &Ty, &Ty)) {
    let is_unsized = matches!(of, Ty::Synthetic(_));
    match (held.ty.shape(), of.shape()) {
        (Shape::Array(have), Shape::Array(declared)) => {
            differ("element", &have.element, &declared.element);
        }
        (_, Shape::Array(declared)) => match visualize::view(program, held) {
            Some(View::Sequence { element, .. }) => differ("element", &element, &declared.element),
            view => panic!("{view:?} is no slice"),
        },
        _ if is_unsized => {
            let view = visualize::view(program, held);
            assert!(
                matches!(view, Some(View::Text { .. })),
                "{view:?} is no text"
            );
        }
        (Shape::Pointer(target, _), shape) if !matches!(shape, Shape::Pointer(..)) => {
            differ("target", &target, of);
        }
        _ => differ("target", &held.ty, of),
    }
}

fn all_agree(program: &mut Program) {
    let names = program.names();
    assert!(names.len() > 60, "{names:?}");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in names {
        let Ok(value) = program.try_eval(&name) else {
            continue;
        };
        seen += usize::from(visualize::view(program, &value).is_some());
        agree(program, &name, &value, &mut wrong, 0);
    }
    assert!(seen > 50, "only {seen} views");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

with_each_rustc!("fixture_std.rs": all_agree);

fn cpp(compiler: &[&str]) {
    if let Some(mut program) = Program::start(compiler, "fixture_std.cpp", Language::Cpp) {
        all_agree(&mut program);
    }
}

#[test]
fn libstdcxx() {
    cpp(&["g++", "-std=c++23", "-g", "-w"]);
    cpp(&["g++", "-std=c++20", "-gdwarf-4", "-O2", "-w"]);
    cpp(&[
        "g++",
        "-std=c++20",
        "-g",
        "-w",
        "-D_GLIBCXX_USE_CXX11_ABI=0",
    ]);
}

#[test]
fn libstdcxx_by_clang() {
    cpp(&["clang++", "-std=c++20", "-g", "-w"]);
    cpp(&[
        "clang++",
        "-std=c++20",
        "-g",
        "-w",
        "-gsimple-template-names",
    ]);
}

#[test]
fn libcxx() {
    if !super::cpp_std::has_libcxx() {
        return skips::skip("libc++");
    }
    for level in ["-O0", "-O2"] {
        cpp(&["clang++", "-std=c++20", "-stdlib=libc++", "-g", level, "-w"]);
    }
}
