//! The manual: each example in the tables of docs/expressions.md is evaluated, and links are followed.

use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use stillpoint_tests::{DapClient, Fixture, repository};

/// Programs that have the names of the tables.
#[derive(Clone, Copy, PartialEq, Debug)]
enum In {
    C,
    Cpp,
    /// In a member function.
    This,
    Rust,
}
use In::{C, Cpp, Rust, This};

const PAGE: &str = "docs/expressions.md";

/// The examples of the tables, the input for each (empty: the example itself), and the expected
/// result: the text shown, or, after `~`, a part of it or of the error. They run in this order, in
/// one session per program.
const CASES: &[(&str, In, &str, &str)] = &[
    ("$1", C, "21 * 2", "42"),
    ("$1", C, "", "42"),
    ("$2", C, "$2 + 1", "43"),
    ("$_", C, "", "43"),
    ("0x1fu", C, "", "31"),
    ("0x1fu", Cpp, "", "31"),
    ("017", C, "", "15"),
    ("017", Rust, "", "17"),
    ("0b101", C, "", "5"),
    ("0b101", Rust, "", "5"),
    ("1'000", Cpp, "", "1000"),
    ("1_000u16", Rust, "", "1000"),
    ("1e3f32", Rust, "", "1000.0"),
    ("'a'", C, "", "97"),
    ("'a'", Cpp, "", "97 'a'"),
    ("'a'", Rust, "", "'a'"),
    ("b'a'", Rust, "", "97"),
    ("0x1.8p3", C, "", "12"),
    ("1.f", C, "1.f / 2", "0.5"),
    ("1.5L", C, "1.5L", "1.5"),
    ("p == 0x7ffe10", C, "", "0"),
    ("L'x'", C, "", "120"),
    ("L'x'", Cpp, "", "120 U'x'"),
    ("\"s\"", C, "", "\"s\""),
    ("\"s\"", Rust, "", "\"s\""),
    ("u8\"s\"", Cpp, "", "\"s\""),
    ("R\"(s)\"", Cpp, "", "\"s\""),
    ("r#\"s\"#", Rust, "", "\"s\""),
    ("true", C, "", "true"),
    ("true", Cpp, "", "true"),
    ("true", Rust, "", "true"),
    ("nullptr", Cpp, "", "0x0"),
    ("NULL", C, "", "0x0"),
    ("as", Rust, "x as u8", "3"),
    ("if c {a} else {b}", Rust, "", "Part {b: 7}"),
    ("!bits", Rust, "", "95"),
    ("i32 + u8", Rust, "minus + small", "~as i32"),
    ("this", This, "own + this->own", "18"),
    ("a::b", Cpp, "", "5"),
    ("a::b", Rust, "", "5"),
    ("Color::Red", Cpp, "color == Color::Red", "true"),
    ("Color::Red", Rust, "color == Color::Red", "true"),
    ("i32::MAX", Rust, "", "2147483647"),
    ("LIMIT", Rust, "", "7"),
    ("inner::LIMIT", Rust, "", "8"),
    ("$rip", C, "", "~main"),
    (
        "$rax",
        C,
        "$rax = 0x1122334455667788",
        "1234605616436508552",
    ),
    (
        "$rax",
        Rust,
        "$rax = 0x1122334455667788",
        "1234605616436508552",
    ),
    ("$eax", C, "$eax,x", "0x55667788"),
    ("$al", C, "$al,x", "0x88"),
    ("$al = 1", C, "", "1"),
    ("$al = 1", Rust, "", "1"),
    ("$eflags.ZF = true", C, "", "true"),
    ("$eflags.ZF", C, "", "true"),
    ("$xmm0.f64[1] = 2.5", C, "", "2.5"),
    ("$xmm0.f64[1] = 2.5", Rust, "", "2.5"),
    ("$xmm0", C, "$xmm0[1]", "2.5"),
    ("$xmm0.u32[1]", C, "($xmm0.u32[1] = 7, $xmm0.u32[1])", "7"),
    (".f64", C, "$rax = 0x3ff0000000000000, $rax.f64", "{1}"),
    (".f64", Rust, "$xmm0.f64[1]", "2.5"),
    (".i8", C, "$xmm0.i8[4]", "7"),
    ("$st0", C, "$st0 = 1.25", "1.25"),
    ("$x0", C, "$x0 = 0x1122334455667788", "1234605616436508552"),
    ("$w0", C, "$w0,x", "0x55667788"),
    ("$lr", C, "$lr == $x30", "1"),
    ("$pstate.Z", C, "$pstate.Z = true", "true"),
    ("$v0", C, "($v0.u32[1] = 7, $v0.u32[1])", "7"),
    (".f64", C, "$x0 = 0x3ff0000000000000, $x0.f64", "{1}"),
    ("$pc", C, "", "~main"),
    ("a.b", C, "", "7"),
    ("a.b", Cpp, "", "7"),
    ("a.b", Rust, "", "7"),
    ("p->b", C, "", "0"),
    ("p->b", Cpp, "", "0"),
    ("t.0", Rust, "", "1"),
    ("v[i]", C, "", "30"),
    ("v[i]", Cpp, "", "30"),
    ("v[i]", Rust, "", "30"),
    ("map[\"key\"]", Cpp, "", "11"),
    ("map[\"key\"]", Rust, "", "11"),
    ("v[1..4]", C, "", "{20, 30, 40}"),
    ("v[1..4]", Cpp, "", "{20, 30, 40}"),
    ("v[1..4]", Rust, "", "(3) [20, 30, 40]"),
    ("*p", C, "", "{b = 0}"),
    ("*p", Rust, "", "Part {b: 0}"),
    ("&x", C, "*&x", "65539"),
    ("&x", Rust, "*&x", "65539"),
    (".", C, "p.b", "0"),
    (".", Cpp, "p.b + owned.b + other.other", "12"),
    (".", Rust, "p.b + boxed.b", "8"),
    ("p@10", C, "(p@10)[9].b", "9"),
    ("p@10", Rust, "(p@10)[9].b", "9"),
    ("*p@10", C, "(*p@10)[9].b", "9"),
    ("*p@10", Cpp, "(*p@10)[9].b", "9"),
    ("(T)x", C, "", "3"),
    ("(T)x", Cpp, "", "3"),
    ("T(x)", Cpp, "", "3"),
    ("static_cast<T>(x)", Cpp, "", "3"),
    (
        "static_cast<T>(x)",
        Cpp,
        "static_cast<Derived *>(base)->own",
        "9",
    ),
    (
        "static_cast<T>(x)",
        Cpp,
        "static_cast<Base &>(derived).kept",
        "3",
    ),
    (
        "dynamic_cast<T *>(x)",
        Cpp,
        "dynamic_cast<Derived *>(base)->own",
        "9",
    ),
    (
        "dynamic_cast<T *>(x)",
        Cpp,
        "dynamic_cast<Derived &>(other).own",
        "9",
    ),
    (
        "reinterpret_cast<T>(x)",
        Cpp,
        "reinterpret_cast<T *>(&x)[1]",
        "1",
    ),
    ("x as T", Rust, "x as i16", "3"),
    ("sizeof", C, "sizeof(T) + sizeof x", "10"),
    ("sizeof", Cpp, "sizeof(Part)", "4"),
    ("name == \"bob\"", C, "", "1"),
    ("name == \"bob\"", Cpp, "", "true"),
    ("name == \"bob\"", Rust, "", "true"),
    ("char *", Cpp, "text == \"bob\"", "true"),
    ("char[]", C, "letters == \"bob\"", "1"),
    (
        "char[]",
        Cpp,
        "letters == \"bob\" && letters != \"Bob\"",
        "true",
    ),
    ("std::string", Cpp, "name == \"bo\"", "false"),
    ("&str", Rust, "name != \"bo\"", "true"),
    ("String", Rust, "string == \"bob\"", "true"),
    ("option == None", Rust, "", "true"),
    ("option = Some(3)", Rust, "", "Some(3)"),
    ("option = Some(3)", Rust, "option", "Some(3)"),
    ("option = 5", Cpp, "", "5"),
    ("option = nullopt", Cpp, "", "nullopt"),
    ("option = 5", Cpp, "option = 6", "6"),
    ("pair = (2, 'b')", Rust, "", "(2, 'b')"),
    ("(1, 2)", Rust, "(1, 2).1", "2"),
    ("[1, 2]", Rust, "[1, 2][1]", "2"),
    ("[0; 4]", Rust, "[0; 4].len()", "4"),
    ("1..4", Rust, "", "1..4"),
    ("Some(3)", Rust, "option == Some(3)", "true"),
    ("Shape::Circle(1.0)", Rust, "", "Circle(1.0)"),
    ("Part { b: 1 }", Rust, "Part { b: 1 }.b", "1"),
    ("&2", Rust, "set.contains(&2)", "false"),
    ("unsafe { x }", Rust, "", "65539"),
    ("match c { true => 1, false => 2 }", Rust, "", "1"),
    ("matches!(option, Some(1..=3))", Rust, "", "true"),
    (
        "if let Some(n) = some && n > 2 { n } else { 0 }",
        Rust,
        "",
        "6",
    ),
    ("shape == Circle", C, "", "1"),
    ("shape == Circle", Cpp, "", "true"),
    ("shape == Circle", Rust, "", "true"),
    ("shape = Empty", C, "", "Empty"),
    ("shape = Empty", Cpp, "", "Empty"),
    ("shape = Circle(2.5)", Rust, "", "Circle(2.5)"),
    ("shape = Empty", Rust, "", "Empty"),
    ("=", C, "letters = \"Al\"", "\"Al\""),
    ("=", Cpp, "x = 65540", "65540"),
    ("=", Rust, "v[0] = 11", "11"),
    ("+=", C, "i += 2", "4"),
    ("+=", Rust, "i += 2", "4"),
    ("++", C, "i++ + i", "9"),
    ("--", Cpp, "--i", "1"),
    (
        "len",
        Rust,
        "v.len() + name.len() + map.len() + row.len()",
        "12",
    ),
    (
        "size",
        Cpp,
        "v.size() + name.size() + map.size() + row.size()",
        "13",
    ),
    ("length", Cpp, "name.length()", "3"),
    ("empty", Cpp, "nothing.empty() && !v.empty()", "true"),
    (
        "is_empty",
        Rust,
        "nothing.is_empty() && !v.is_empty()",
        "true",
    ),
    ("at", Cpp, "v.at(1) + row.at(2) + map.at(\"key\")", "34"),
    ("at", Cpp, "v.at(5)", "~index 5 is out of range"),
    ("get", Rust, "v.get(1)", "Some(20)"),
    (
        "get",
        Rust,
        "tree.get(\"other\").unwrap() + v.get(0).unwrap()",
        "24",
    ),
    ("get", Cpp, "owned.get()->b + shared.get()->b", "17"),
    ("front", Cpp, "v.front() + row.front()", "11"),
    ("back", Cpp, "v.back() + row.back()", "53"),
    ("first", Rust, "v.first()", "Some(11)"),
    ("last", Rust, "v.last().unwrap() + 1", "51"),
    ("data", Cpp, "v.data()[1]", "20"),
    ("as_ptr", Rust, "*v.as_ptr()", "11"),
    (
        "contains",
        Rust,
        "v.contains(20) && !v.contains(21) && set.contains(4)",
        "true",
    ),
    ("contains", Cpp, "set.contains(4)", "true"),
    (
        "contains_key",
        Rust,
        "map.contains_key(\"key\") && !tree.contains_key(\"x\")",
        "true",
    ),
    ("count", Cpp, "map.count(\"key\") + set.count(6)", "1"),
    ("capacity", Cpp, "v.capacity() + name.capacity()", "20"),
    ("capacity", Rust, "v.capacity() + string.capacity()", "8"),
    ("c_str", Cpp, "name.c_str()[1]", "111 'o'"),
    ("as_str", Rust, "string.as_str()", "\"bob\""),
    (
        "starts_with",
        Rust,
        "name.starts_with(\"bo\") && !string.starts_with('o')",
        "true",
    ),
    ("ends_with", Rust, "string.ends_with(\"ob\")", "true"),
    ("find", Cpp, "name.find('b', 1)", "2"),
    ("find", Rust, "name.find('x')", "None"),
    ("substr", Cpp, "name.substr(1)", "\"ob\""),
    ("compare", Cpp, "name.compare(\"bob\")", "0"),
    ("trim", Rust, "string.trim()", "\"bob\""),
    ("to_uppercase", Rust, "name.to_uppercase()", "\"BOB\""),
    ("use_count", Cpp, "shared.use_count()", "1"),
    ("Rc::strong_count(&counted)", Rust, "", "1"),
    ("borrow", Rust, "*cell.borrow() + 1", "8"),
    ("load", Rust, "atomic.load(Relaxed)", "9"),
    ("as_millis", Rust, "duration.as_millis()", "1500"),
    ("wrapping_add", Rust, "small.wrapping_add(255)", "4"),
    ("checked_add", Rust, "small.checked_add(255)", "None"),
    ("option && !none", Cpp, "", "true"),
    ("owned == nullptr", Cpp, "", "false"),
    ("std::function", Cpp, "function && !no_function", "true"),
    ("v == v", Cpp, "", "true"),
    ("v == v", Rust, "", "true"),
    ("option == 6", Cpp, "", "true"),
    ("Option", Rust, "some", "Some(6)"),
    ("Result", Rust, "good", "Ok(1)"),
    ("std::optional", Cpp, "*option", "6"),
    ("is_some", Rust, "some.is_some()", "true"),
    ("is_none", Rust, "some.is_none()", "false"),
    ("is_ok", Rust, "good.is_ok()", "true"),
    ("is_err", Rust, "good.is_err()", "false"),
    ("unwrap", Rust, "some.unwrap() + good.unwrap()", "7"),
    (
        "unwrap",
        Rust,
        "bad.unwrap()",
        "~cannot unwrap: the value is `Err`",
    ),
    ("unwrap_err", Rust, "bad.unwrap_err()", "\"bad\""),
    (
        "unwrap_or",
        Rust,
        "bad.unwrap_or(4) + some.unwrap_or(1)",
        "10",
    ),
    (
        "has_value",
        Cpp,
        "option.has_value() && !none.has_value()",
        "true",
    ),
    ("value", Cpp, "option.value()", "6"),
    (
        "value_or",
        Cpp,
        "none.value_or(4) + option.value_or(4)",
        "10",
    ),
    ("abs", Rust, "minus.abs()", "3"),
    ("min", Rust, "minus.min(2) + 3.min(4)", "0"),
    ("max", Rust, "minus.max(2)", "2"),
    ("pow", Rust, "minus.pow(3)", "-27"),
    ("count_ones", Rust, "bits.count_ones()", "2"),
    ("is_power_of_two", Rust, "bits.is_power_of_two()", "false"),
    ("sqrt", Rust, "root.sqrt()", "2.5"),
    ("floor", Rust, "root.floor()", "6.0"),
    ("ceil", Rust, "root.ceil()", "7.0"),
    ("round", Rust, "root.round()", "6.0"),
    ("is_nan", Rust, "root.is_nan()", "false"),
    ("it != v.end()", Cpp, "", "true"),
    ("it - v.begin()", Cpp, "", "0"),
    ("it[1]", Cpp, "", "20"),
    ("name + \"s\"", Cpp, "", "\"bobs\""),
    ("std::min(a, b)", Cpp, "std::min(v[0], 3)", "3"),
    ("std::move(x)", Cpp, "std::move(v[1])", "20"),
    ("std::next(it)", Cpp, "*std::next(it)", "20"),
    ("std::numeric_limits<T>::max()", Cpp, "", "32767"),
    (
        "std::is_same<T, U>::value",
        Cpp,
        "std::is_same<T, short>::value",
        "true",
    ),
    ("error.what()", Cpp, "", "~\"text\""),
    ("std::string::npos", Cpp, "", "18446744073709551615"),
    ("L\"s\"", C, "wide = L\"s\"", "L\"s\""),
    ("u\"s\"", C, "wide16 = u\"s\"", "u\"s\""),
    ("U\"s\"", C, "wide32 = U\"s\"", "U\"s\""),
    ("buffer,[16],s", C, "", "\"a\\0b\""),
    ("v,[4],x", C, "", "{0xa, 0x14, 0x1e, 0x28}"),
    ("v,[4],x", Cpp, "", "{0xa, 0x14, 0x1e, 0x28}"),
    (",x", C, "v[1],x", "0x14"),
    (",x", Rust, "v[1],x", "0x14"),
    (",d", C, "'a',d", "97"),
    (",o", C, "8,o", "0o10"),
    (",o", Rust, "8,o", "0o10"),
    (",b", Rust, "5,b", "0b101"),
    (",c", C, "65,c", "'A'"),
    (",s", C, "bytes,s", "\"abcd\""),
    (",10", C, "p,10", "~{b = 9}"),
    (",[n]", C, "v,[2]", "{10, 20}"),
    (",[n]", Rust, "v,[2]", "[11, 20]"),
    (",raw", Cpp, "owned,raw", "~_M_t"),
    ("(a, x)", C, "(a, x)", "65539"),
];

/// Returns the code spans of the tables on the page of expressions, and of the text between them.
fn examples() -> BTreeSet<String> {
    let text = fs::read_to_string(repository().join(PAGE)).expect(PAGE);
    let tables = text.split("\n## Function calls\n").next();
    let (_, tables) = tables
        .and_then(|it| it.split_once("| | |"))
        .expect("tables");
    let spans = tables.split('`').skip(1).step_by(2);
    spans.map(str::to_owned).collect()
}

#[test]
fn each_example_has_a_case() {
    let cases: BTreeSet<String> = CASES.iter().map(|(it, ..)| (*it).to_owned()).collect();
    let examples = examples();
    let without: Vec<_> = examples.difference(&cases).collect();
    assert!(without.is_empty(), "{PAGE} has more: {without:?}");
    let gone: Vec<_> = cases.difference(&examples).collect();
    assert!(gone.is_empty(), "{PAGE} has no such examples: {gone:?}");
}

/// Registers in the examples, of the machines that these tests do not run on.
#[cfg(target_arch = "x86_64")]
const ELSEWHERE: [&str; 5] = ["$x0", "$w0", "$lr", "$pstate", "$v0"];
#[cfg(target_arch = "aarch64")]
const ELSEWHERE: [&str; 7] = ["$rip", "$rax", "$eax", "$al", "$eflags", "$xmm0", "$st0"];

/// Runs the inputs in one of the programs; reports all failures at once.
fn holds(program: In, fixture: &str, marker: &str) {
    let fixture = Fixture::of(fixture);
    let mut client = DapClient::stopped_at(&fixture, marker);
    let mut wrong = String::new();
    for (example, _, typed, expected) in CASES.iter().filter(|it| it.1 == program) {
        let typed = if typed.is_empty() { example } else { typed };
        if ELSEWHERE.iter().any(|register| typed.contains(register)) {
            continue;
        }
        let frame = client.top_frame()["id"].clone();
        let answer = client.request(
            "evaluate",
            json!({"expression": typed, "frameId": frame, "context": "repl"}),
        );
        let shown = match &answer {
            Ok(body) => &body["result"],
            Err(response) => &response["body"]["error"]["format"],
        };
        let shown = shown.as_str().unwrap_or_default();
        let fits = match expected.strip_prefix('~') {
            Some(part) => shown.contains(part),
            None => answer.is_ok() && shown == *expected,
        };
        if !fits {
            wrong += &format!("\n`{typed}` is {shown}, not {expected}");
        }
    }
    assert!(wrong.is_empty(), "{program:?}: {wrong}");
    client.disconnect();
}

#[test]
fn examples_hold_in_c() {
    holds(C, "c/manual.c", "all");
}

#[test]
fn examples_hold_in_cpp() {
    holds(Cpp, "cpp/manual.cpp", "all");
    holds(This, "cpp/manual.cpp", "member");
}

#[test]
fn examples_hold_in_rust() {
    holds(Rust, "rust/manual.rs", "all");
}

/// Returns the pages whose links are checked.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README",
        "ARCHITECTURE",
        "CONTRIBUTING",
        "CHANGELOG",
        "SECURITY",
    ]
    .map(|name| repository().join(name).with_extension("md"))
    .into();
    pages.push(repository().join("vscode-extension/README.md"));
    let mut folders = vec![repository().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    pages
}

/// Returns the anchor that a heading gets where the pages are shown.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let heading = heading.replace(' ', "-");
    heading.replace(
        |char: char| !char.is_alphanumeric() && char != '-' && char != '_',
        "",
    )
}

#[test]
fn links_lead_to_pages_and_headings() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            if link.starts_with("http") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().expect("a folder").join(file),
            };
            let leads = match heading {
                "" => target.exists(),
                heading => fs::read_to_string(&target).is_ok_and(|text| {
                    text.lines()
                        .any(|line| line.starts_with('#') && anchor(line) == heading)
                }),
            };
            if !leads {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn readme_is_short() {
    let text = fs::read_to_string(repository().join("README.md")).expect("README.md");
    assert!(text.lines().count() <= 120);
}
