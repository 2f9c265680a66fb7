use super::find::Finder;
use super::outline::outline;
use super::{SourceValue, names_of};

/// Returns the value of a constant at the line that has `//@`, in the function `f`.
fn value(text: &str, name: &str) -> Result<Option<SourceValue>, String> {
    let line = text.lines().position(|it| it.contains("//@")).unwrap_or(0);
    let outline = outline(text)?;
    Finder::at(text, &outline, "f", line as u32 + 1)?.value(name)
}

/// Returns the text of a value: `12 u8`, `none` or the reason.
fn shown(text: &str, name: &str) -> String {
    match value(text, name) {
        Ok(Some(SourceValue::Number(value))) => format!("{} {}", value.bits, value.ty),
        Ok(Some(value)) => format!("{value:?}"),
        Ok(None) => "none".to_owned(),
        Err(why) => why,
    }
}

/// Returns what `const A: ..;` is worth.
fn computed(declared: &str) -> String {
    shown(&format!("const A: {declared};\nfn f() {{\n//@\n}}"), "A")
}

#[test]
fn expressions_are_computed_as_rustc_does() {
    for (declared, expected) in [
        ("u8 = 255", "255 u8"),
        ("u32 = 1_0 + 0x1f * 0b11 - 0o7", "96 u32"),
        ("u64 = 1 << 40", "1099511627776 u64"),
        ("u8 = !1 & 0xf | 0x40 ^ 1", "79 u8"),
        ("i8 = -128", "128 i8"),
        ("i64 = -7 / 2", "18446744073709551613 i64"),
        ("i32 = -7 % 3", "4294967295 i32"),
        ("i32 = -8 >> 1", "4294967292 i32"),
        ("i32 = -1i64 as i32", "4294967295 i32"),
        ("u32 = 'a' as u32 + true as u32", "98 u32"),
        ("char = b'x' as char", "120 char"),
        ("char = '\\u{1F_600}'", "128512 char"),
        ("u8 = b'\\xff'", "255 u8"),
        ("u8 = b';' /* ; */", "59 u8"),
        ("usize = usize::MAX - 1", "18446744073709551614 usize"),
        ("u32 = (u64::BITS << 2) / 8", "32 u32"),
        ("u32 = 2 + 3 * 4 - (2 + 3) * 4 / 5", "10 u32"),
        ("bool = !true | (true & true)", "1 bool"),
        ("u8 = 300u16 as u8", "44 u8"),
        (
            "usize = core::mem::size_of::<u32>() * 2 + std::mem::size_of::<char>()",
            "12 usize",
        ),
        (
            "usize = core::mem::size_of::<[u16; 2 + 1]>() + 1",
            "7 usize",
        ),
        ("f32 = 0.1", "1036831949 f32"),
        ("f64 = 1e3f64 / -2.0", "13870875746068594688 f64"),
        (
            "u128 = u128::MAX",
            "340282366920938463463374607431768211455 u128",
        ),
        (
            "i128 = i128::MIN",
            "170141183460469231731687303715884105728 i128",
        ),
    ] {
        assert_eq!(computed(declared), expected, "{declared}");
    }
}

#[test]
fn aliases_of_types_are_followed() {
    let text = "type Byte = u8;\ntype Row = [Byte; N * 2];\ntype Loop = [Loop; core::mem::size_of::<Loop>()];\n\
                const N: usize = 3;\nconst A: Row = [1, 2, 3, 4, 5, 6];\nconst B: usize = std::mem::size_of::<Row>();\n\
                const C: usize = core::mem::size_of::<Loop>();\nfn f() {\n//@\n}";
    assert_eq!(shown(text, "B"), "6 usize");
    let row = shown(text, "A");
    assert!(
        row.starts_with("Row([Number(Constant { ty: \"u8\", bits: 1 })"),
        "{row}"
    );
    let endless = shown(text, "C");
    assert!(
        endless.contains("size of a type that is not known"),
        "{endless}"
    );
}

#[test]
fn what_is_not_certain_is_refused() {
    for (declared, why) in [
        ("u8 = 256", "does not fit into `u8`"),
        (
            "usize = core::mem::size_of::<S>()",
            "the size of a type that is not known",
        ),
        (
            "usize = mem::size_of::<u8>()",
            "the root of the file's crate is not known",
        ),
        ("usize = size_of::<u8>()", "no literal"),
        ("u8 = 200 + 100", "does not fit into `u8`"),
        ("u8 = 1 - 2", "does not fit"),
        ("u32 = 1 / 0", "does not fit"),
        ("i8 = -128 / -1", "does not fit"),
        ("i8 = -128 % -1", "does not fit"),
        ("i128 = i128::MIN / -1", "does not fit"),
        ("u32 = 1 << 32", "does not fit"),
        ("u32 = 1 << -1", "does not fit"),
        ("u64 = (1 << 40) as u64", "does not fit into `i32`"),
        ("u8 = -1", "does not fit"),
        ("u16 = 1u8", "not a `u16`"),
        ("u16 = 1u8 + 1u16", "combines a `u8` with a `u16`"),
        ("f32 = 1", "a number is no `f32`"),
        ("u8 = 1.0", "no `u8`"),
        ("f64 = 0.0 / 0.0", "of `f64`"),
        ("u8 = f(1)", "`(` in its expression"),
        ("u8 = a.b", "`a` is no constant"),
        ("u8 = 1 == 1", "`==` in its expression"),
        ("u8 = if true { 1 } else { 2 }", "is no literal"),
        ("u8 = A", "too many others"),
        ("Vec<u8> = 1", "the type of its numbers is not known"),
        ("[Unknown; 1] = [1]", "the type of its numbers is not known"),
        (
            "(u8, Unknown) = (1, -2)",
            "the type of its numbers is not known",
        ),
        ("[u8; 2] = [1, 300]", "does not fit into `u8`"),
        ("Unknown = 1u8", "its type `Unknown` is not known"),
        ("u8 = \"a\"", "its value is no `u8`"),
        ("u8 = (1u8, 2u8)", "its value is no `u8`"),
        ("u8 = [1u8, 2u8][2]", "the element 2 is not known"),
        ("u8 = (1u8, 2u8).2", "`.2` of its value is not known"),
        (
            "u8 = X { a: 1 }.a",
            "the root of the file's crate is not known",
        ),
        ("usize = 1.len()", "the type of its numbers is not known"),
        ("u8 = \"a\".x()", "is no literal"),
        ("fn() = f", "its type `fn` is not computed"),
        ("&dyn T = &1", "its type `dyn` is not computed"),
        ("u8 = ", "not complete"),
        ("u8 = 1 +", "not complete"),
        ("u8 = (1", "a bracket has no end"),
        ("u8 = 1x", "`1x` is no number"),
        ("u8 = 0x", "`0x` is no number"),
        ("u8 = 0b12", "is no number"),
        ("u8 = 1 2", "`2` in its expression"),
    ] {
        let found = computed(declared);
        assert!(found.contains(why), "{declared}: {found}");
    }
    let sum = format!("u64 = {}1", "1 + ".repeat(100));
    assert!(computed(&sum).contains("too long"));
    let groups = format!("u64 = {}1{}", "(".repeat(100), ")".repeat(100));
    assert!(computed(&groups).contains("too long"));
    let signs = format!("u64 = {}1", "!".repeat(2000));
    assert!(computed(&signs).contains("too long"));
}

#[test]
fn values_are_made_of_others() {
    let number = |ty: &str, bits: u32| format!("Number(Constant {{ ty: {ty:?}, bits: {bits} }})");
    let (one, two) = (number("u8", 1), number("u8", 2));
    for (declared, expected) in [
        ("&str = \"a\\n\"", "Text(\"a\\n\")".to_owned()),
        (
            "&'static [u8] = b\"a\\xff\"",
            "Slice(Bytes([97, 255]))".to_owned(),
        ),
        ("&[u8; 1] = b\"a\"", "Bytes([97])".to_owned()),
        ("[u8; 2] = [1, 2]", format!("Row([{one}, {two}])")),
        ("[u8; 9] = [1; 3 * 3]", format!("Filled({one}, 9)")),
        ("&[u8] = &[1, 2,]", format!("Slice(Row([{one}, {two}]))")),
        ("&[u8; 1] = &[1]", format!("Reference(Row([{one}]))")),
        (
            "(u8, &str) = (1, \"\")",
            format!("Tuple([{one}, Text(\"\")])"),
        ),
        ("(u8,) = (1,)", format!("Tuple([{one}])")),
        ("() = ()", "Tuple([])".to_owned()),
        (
            "Range<u8> = 1..2",
            format!("Range(Some({one}), Some({two}), false)"),
        ),
        (
            "RangeInclusive<u8> = 1..=2",
            format!("Range(Some({one}), Some({two}), true)"),
        ),
        ("Option<u8> = Some(2)", format!("Optional(Some({two}))")),
        ("Option<Vec<u8>> = None", "Optional(None)".to_owned()),
        ("u8 = (7u8, [1u8, 2u8]).1[1] - 1", "1 u8".to_owned()),
        (
            "usize = \"\u{e9}a\".len() + [0u8; 4].len()",
            "7 usize".to_owned(),
        ),
        ("u8 = b\"az\"[1] - b'a'", "25 u8".to_owned()),
        ("[(u8, char); 1] = [(2, 'a')]", {
            format!("Row([Tuple([{two}, {}])])", number("char", 97))
        }),
    ] {
        assert_eq!(computed(declared), expected, "{declared}");
    }
}

#[test]
fn values_do_not_grow_without_bound() {
    let mut text = "const A0: [u8; 1] = [1];\n".to_owned();
    for level in 1..8 {
        let row = format!("A{},", level - 1).repeat(64);
        text += &format!("const A{level}: [X; 64] = [{row}];\n");
    }
    text += "fn f() {\n//@\n}";
    assert!(
        shown(&text, "A7").contains("its value is too large"),
        "{}",
        shown(&text, "A7")
    );
}

#[test]
fn scopes_decide() {
    let function = "\nfn f() {\n//@\n}";
    for (before, name, expected) in [
        ("const A: u8 = B + 1; const B: u8 = 2;", "A", "3 u8"),
        ("mod m { const A: u8 = 1; }", "A", "none"),
        (
            "mod m { pub const A: u8 = super::B; } const B: u8 = 3;",
            "m::A",
            "3 u8",
        ),
        ("#[cfg(a)] const A: u8 = 1;", "A", "`#[cfg]` decides on it"),
        (
            "#[cfg_attr(all(a, b), doc(cfg(c)), allow(d),)] const A: u8 = 1;",
            "A",
            "1 u8",
        ),
        (
            "#[cfg_attr(a, allow(b), x)] const A: u8 = 1;",
            "A",
            "`#[cfg_attr]` may change it",
        ),
        ("#[cfg_attr(a)] const A: u8 = 1;", "A", "may change it"),
        (
            "#[x::y(\"]\")] const A: u8 = 1;",
            "A",
            "`#[x]` may change it",
        ),
        (
            "#[allow(a)] /// x\npub(in a::b) const A: u8 = 1;",
            "A",
            "1 u8",
        ),
        (
            "#[cfg(a)] mod m { pub const A: u8 = 1; }",
            "m::A",
            "decides on its module",
        ),
        ("const A: u8 = 1; const A: u8 = 2;", "A", "several times"),
        (
            "x! { const A: u8 = 1; }",
            "A",
            "a macro at line 1 may declare `A`",
        ),
        ("x! { } const A: u8 = 1;", "A", "1 u8"),
        (
            "macro_rules! m { () => { const A: u8 = 1; } } const A: u8 = 2;",
            "A",
            "may declare",
        ),
        ("fn g() { const A: u8 = 1; }", "A", "none"),
        ("const fn A() -> u8 { 1 }", "A", "something else"),
        ("static A: u8 = 1;", "A", "something else"),
        ("use b::{c, A};", "A", "brings it from another place"),
        ("use b::*; const A: u8 = 1;", "A", "1 u8"),
        ("struct S; impl S { const A: u8 = 1; }", "S::A", "1 u8"),
        ("struct S; impl S { const A: u8 = 1; }", "A", "none"),
        (
            "struct S; impl T for S { const A: u8 = 1; }",
            "S::A",
            "1 u8",
        ),
        (
            "struct S; #[cfg(a)] impl S { const A: u8 = 1; }",
            "S::A",
            "decides on its `impl`",
        ),
        ("impl S { const A: u8 = 1; }", "S::A", "none"),
        ("extern \"C\" { fn x(); } const A: u8 = 1;", "A", "1 u8"),
        ("const B: [u8; 2] = [1; 2]; const A: u8 = 4;", "A", "4 u8"),
        (
            "fn g() where x: y<{ 1 }>, { } const A: u8 = 4;",
            "A",
            "4 u8",
        ),
        (
            "enum E { X = { const A: u8 = 1; A } } const A: u8 = 4;",
            "A",
            "4 u8",
        ),
        (
            "const A: u8 = B; use c::B;",
            "A",
            "brings it from another place",
        ),
    ] {
        // The outline alone knows what is not reached.
        let found = shown(&format!("{before}{function}"), name);
        assert!(found.contains(expected), "{before}: {found}");
    }
    for (text, name, expected) in [
        (
            "const A: u8 = 1;\nfn f() {\nconst A: u8 = 2;\n//@\n}",
            "A",
            "2 u8",
        ),
        (
            "const A: u8 = 1;\nfn f() {\nx! {\n const A: u8 = 2; //@\n}\n}",
            "A",
            "a macro at line 3",
        ),
        (
            "const A: u8 = 1;\nfn f() {\nuse x::*;\n//@\n}",
            "A",
            "a `use ..::*` in a block",
        ),
        (
            "const A: u8 = 1;\nfn f<const A: u8>() {\n//@\n}",
            "A",
            "generic code",
        ),
        (
            "const A: u8 = 1;\nimpl<'a, const A: u8> X<A> {\nfn f() {\n//@\n}\n}",
            "A",
            "generic code",
        ),
        (
            "impl<T: B<C> + D> X<T> {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}",
            "Self::A",
            "1 u8",
        ),
        (
            "impl<T> B for X<T> {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}",
            "Self::A",
            "1 u8",
        ),
        (
            "impl<T> B for X<T> {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}\nimpl X<u8> { const A: u8 = 2; } struct X<T>(T);",
            "Self::A",
            "2 u8",
        ),
        (
            "trait X {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}",
            "Self::A",
            "each `impl`",
        ),
        (
            "mod m {\nuse super::*;\nfn f() {\n//@\n}\n}\nconst A: u8 = 1;",
            "A",
            "1 u8",
        ),
        (
            "mod m {\nuse super::A;\nfn f() {\n//@\n}\n}\nconst A: u8 = 1;",
            "A",
            "1 u8",
        ),
        (
            "mod m {\nfn f() {\n//@\n}\n}\nconst A: u8 = 1;",
            "A",
            "none",
        ),
        (
            "#[cfg(test)]\nmod m {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}",
            "A",
            "1 u8",
        ),
        (
            "#[x]\nmod m {\nconst A: u8 = 1;\nfn f() {\n//@\n}\n}",
            "A",
            "`#[x]` may change its module",
        ),
        (
            "const A: u8 = 1;\nmacro_rules! m { () => {\nfn f() {\n//@\n}\n} }",
            "A",
            "definition of a macro",
        ),
        (
            "const A: u8 = 1;\nm! {\nfn f() {\n//@\n}\n}",
            "A",
            "a macro may have made it",
        ),
        ("const A: u8 = 1;\nfn f() {} fn f() {\n//@\n}", "A", "1 u8"),
        (
            "const A: u8 = 1;\nfn f() { } fn f() { //@\n}",
            "A",
            "a macro may have made it",
        ),
    ] {
        let found = shown(text, name);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn hostile_sources_end() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for text in [
        deep("{", "}"),
        deep("(", ""),
        "}".repeat(10),
        "mod a {".repeat(300),
        "mod a { use super::*;".repeat(200) + "fn f() {\n//@\n}" + &"}".repeat(200),
        "a!".repeat(100_000),
        "#[".repeat(100_000),
        "#[a]".repeat(100_000),
        "pub(".repeat(100_000),
        "fn f<".repeat(100_000),
        "impl<".repeat(100_000),
        "use ".repeat(100_000),
        "{}".repeat(100_000),
        "const A: u8 = 1;".repeat(100_000),
        format!(
            "const A: u8 = {};fn f() {{\n//@\n}}",
            "A + ".repeat(1 << 18)
        ),
        format!("const A: u8 = {};fn f() {{\n//@\n}}", "1".repeat(1 << 20)),
        "const".to_owned(),
        "impl".to_owned(),
        "use".to_owned(),
        "fn f() {\n//@\n".to_owned(),
        "const A: u8 = \"".to_owned(),
        "é\u{feff}'é".to_owned(),
    ] {
        let shown: String = text.chars().take(40).collect();
        let found = value(&text, "A");
        assert!(!matches!(found, Ok(Some(_))), "{shown}");
    }
    // Each is computed from the one before twice.
    let chain = (1..40).map(|it| format!("const A{it}: u64 = A{} + A{};", it - 1, it - 1));
    let text = format!(
        "const A0: u64 = 1;{}fn f() {{\n//@\n}}",
        chain.collect::<String>()
    );
    assert!(shown(&text, "A39").contains("too many others"));
    assert_eq!(shown(&text, "A9"), "512 u64");
}

#[test]
fn names_of_functions() {
    for (path, name) in [
        ("a::b::f", "f"),
        ("a::f<fn(u8) -> c::d, 3>", "f"),
        ("<a::X<u8> as b::T>::f", "f"),
        ("a::{impl#0}::f", "f"),
        ("a::f::{closure#0}", "f"),
        ("a::f::{async_fn#0}::{closure_env#1}<u8>", "f"),
        ("", ""),
    ] {
        let found = names_of(path).pop().unwrap_or_default();
        assert_eq!(found, name, "{path}");
    }
}

#[test]
fn names_of_crates() {
    for (path, expected) in [
        ("a::b::f<c::D>", "a"),
        ("<a::X<u8> as core::fmt::Debug>::fmt", "a"),
        (
            "<alloc::vec::Vec<a::X> as b::T<core::u8>>::f::{{closure}}",
            "a b",
        ),
        ("<&[u8] as b::T>::f", "b"),
        ("main", ""),
        ("", ""),
    ] {
        assert_eq!(super::crate_names(path).join(" "), expected, "{path}");
    }
}

#[test]
fn constants_of_traits_are_those_of_the_type() {
    let text = "trait Size { const N: u8; const D: u8 = 7; const E: u8 = Self::N; }
                trait Other { const N: u8; }
                struct Own; struct Both; struct Two; struct Of<T>(T);
                impl Size for Own { const N: u8 = 1; }
                impl Size for Both { const N: u8 = 2; const D: u8 = 9; }
                impl Both { const N: u8 = 3; }
                impl Size for Two { const N: u8 = 4; } impl Other for Two { const N: u8 = 5; }
                impl Size for Of<u8> { const N: u8 = 10; }
                mod n { impl super::Own { pub const IN_N: u8 = 6; } }
                mod p { pub trait Size { const N: u8; } pub struct Own; impl Size for Own { const N: u8 = 8; } }
                fn f() {
                    //@
                }";
    for (name, expected) in [
        ("Own::N", "1 u8"),
        ("Own::D", "7 u8"),
        ("Own::IN_N", "6 u8"),
        ("Both::N", "3 u8"),
        ("Both::D", "9 u8"),
        ("<Both as Size>::N", "2 u8"),
        ("<Two as Other>::N", "5 u8"),
        ("Two::N", "declared several times"),
        ("Own::E", "each `impl` of a trait"),
        ("Of::N", "none"),
        ("Own::NONE", "none"),
    ] {
        let found = shown(text, name);
        assert!(found.contains(expected), "{name}: {found}");
    }
}
