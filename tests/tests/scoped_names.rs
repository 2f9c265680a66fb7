//! Names in expressions mean what they mean to the compiler at that line: in the frame's blocks,
//! classes, namespaces, and through what these import.

use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, matrix};

/// Returns the expressions with other results than expected.
fn differences(client: &mut DapClient, place: &str, expected: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (expression, value) in expected {
        let found = match client.evaluated(expression) {
            Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
            Err(response) => response["body"]["error"]["format"].to_string(),
        };
        if found != *value {
            wrong.push(format!("{place}: {expression} is {found}, not {value}"));
        }
    }
    wrong
}

#[test]
fn scopes_of_cpp() {
    let mut all_wrong = Vec::new();
    for flags in matrix("cpp/scoped_names.cpp") {
        let Some(fixture) = Fixture::build("cpp/scoped_names.cpp", flags) else {
            continue;
        };
        let mut wrong = Vec::new();
        let mut client = DapClient::spawn();
        client.launch(&fixture, serde_json::json!({}));
        let places = ["member", "inner", "shop", "block", "sum", "main"];
        client.set_breakpoints(&fixture, &places);
        client.configure();
        let mut stop = |place: &str, expected: &[(&str, &str)]| {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, place);
            wrong.extend(differences(&mut client, place, expected));
            client.continue_();
        };
        stop(
            "member",
            &[
                ("EA + 0", "41"),
                ("E::EB + 0", "42"),
                ("Outer::EA + 0", "41"),
                ("K", "42"),
                ("C", "43"),
                ("made", "45"),
                ("member", "44"),
                ("in_base", "52"),
                ("BASE_ENUM + 0", "51"),
                ("Base::in_base", "52"),
                ("Outer::in_base", "52"),
                ("Inner::deep", "46"),
                ("sizeof(Number)", "4"),
                ("(Number)3.5", "3"),
                ("shadow", "1"),
                ("lib::version", "10"),
                ("EA == Outer::EA", "true"),
            ],
        );
        stop(
            "inner",
            &[
                ("EA + 0", "41"),
                ("deep", "46"),
                ("made", "45"),
                ("Inner::deep", "46"),
                ("K + C", "85"),
                ("in_base", "52"),
                ("BASE_ENUM + 0", "51"),
            ],
        );
        stop(
            "shop",
            &[
                ("FA + 0", "11"),
                ("shadow", "3"),
                ("::shadow", "1"),
                ("lib::deep::shadow", "2"),
                ("level", "7"),
                ("version", "10"),
                ("hidden", "12"),
                ("anonymous", "13"),
                ("FAST + 0", "21"),
                ("Veg::VA == shop::Veg::VA", "true"),
                ("alias::level", "7"),
            ],
        );
        stop(
            "block",
            &[
                ("shadow", "5"),
                ("::shadow", "1"),
                ("level", "7"),
                ("short_::shadow", "2"),
                ("short_::SLOW + 0", "22"),
                ("LOCAL_B + 0", "62"),
                ("Local::LOCAL_A + 0", "61"),
                ("alias::level", "7"),
            ],
        );
        stop("sum", &[("N", "6"), ("sizeof(T)", "4"), ("b + N", "17")]);
        stop(
            "main",
            &[
                ("shop::FA + 0", "11"),
                ("FB + 0", "12"),
                ("shop::Veg::VA", "VA"),
                ("Outer::EA + 0", "41"),
                ("Outer::E::EA + 0", "41"),
                ("Outer::K", "42"),
                ("Outer::C", "43"),
                ("Outer::made", "45"),
                ("Outer::Inner::deep", "46"),
                ("Alias::K", "42"),
                ("Alias::EB + 0", "42"),
                ("Alias::Inner::deep", "46"),
                ("Pt::made", "4"),
                ("Pt::X_AXIS + 0", "3"),
                ("lib::Point::Y_AXIS + 0", "4"),
                ("lib::version", "10"),
                ("lib::v1::version", "10"),
                ("lib::f(1)", "11"),
                ("lib::v1::f(2)", "12"),
                ("alias::level", "7"),
                ("alias::SLOW + 0", "22"),
                ("lib::deep::FAST + 0", "21"),
                ("shop::version", "10"),
                ("shop::hidden", "12"),
                ("shop::anonymous", "13"),
                ("hidden", "12"),
                ("global", "100"),
                ("::global", "100"),
                ("::shadow", "1"),
                ("::lib::deep::shadow", "2"),
                ("shop::shadow", "3"),
                ("Tmpl<int, 8>::made", "10"),
                ("Tmpl<int,8>::made", "10"),
                ("sizeof(Alias)", "4"),
                ("Outer::sh(3)", "87"),
                ("Alias::sh(3)", "87"),
                ("buy(3)", "56"),
                ("shop::buy(3)", "56"),
            ],
        );
        all_wrong.extend(wrong.into_iter().map(|it| format!("{flags:?} {it}")));
    }
    assert!(all_wrong.is_empty(), "{all_wrong:#?}");
}

const MAIN: &str = r#"
#include <stdio.h>
extern int counter; extern int copied; extern int only_symbol; extern char **environ;
int helper(void); int other(void); int library(void);
static int own = 5;
int main(void) {
  extern int in_block;
  int sum = in_block + counter + copied + own + helper() + other() + library() + only_symbol;
  printf("%d %d\n", sum, environ != 0);
  copied = 77;
  return sum == 0; //@ main
}
"#;
const OTHER: &str = r#"
static int counter = 1; static int own = 6; static int hidden = 7;
static int helper(void) { return 8; }
int other(void) { return counter + own + hidden + helper(); }
"#;
const BARE: &str = "int only_symbol = 99;\n";
const LIBRARY: &str = r#"
int counter = 100; int copied = 200; int in_block = 500; static int own = 300; static int hidden = 301;
int helper(void) { return 400; }
int library(void) { return counter + copied + own + hidden + helper(); }
"#;

/// A static variable or function of another unit is not what a name means where a library's external
/// one is declared, and a library's variable is where the program's copy of it is.
#[test]
fn linkage_of_other_units() {
    for (compiler, flags) in [
        ("gcc", &["-gdwarf-5", "-no-pie"][..]),
        ("gcc", &["-gdwarf-4"]),
        ("clang", &["-gdwarf-5", "-no-pie"]),
        ("clang", &["-gdwarf-5"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [
            ("main.c", MAIN),
            ("other.c", OTHER),
            ("bare.c", BARE),
            ("library.c", LIBRARY),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        let build = |arguments: &[&str]| {
            let mut command = std::process::Command::new(compiler);
            command.args(arguments).current_dir(folder.path());
            command
                .status()
                .ok()
                .map(|status| assert!(status.success()))
        };
        let mut library = vec!["-g", "-shared", "-fPIC", "library.c", "-o", "liblibrary.so"];
        library.extend(flags.iter().filter(|flag| flag.starts_with("-gdwarf")));
        if build(&library).is_none() {
            println!("no {compiler}");
            continue;
        }
        build(&["-c", "bare.c", "-o", "bare.o"]);
        let rpath = format!("-Wl,-rpath,{}", folder.path().display());
        let mut program = vec![
            "other.c",
            "main.c",
            "bare.o",
            "liblibrary.so",
            &rpath,
            "-o",
            "program",
        ];
        program.extend(flags);
        build(&program);
        let mut client = DapClient::spawn();
        client.launch_program(&at("program"), serde_json::json!({}));
        let line = 1 + MAIN.lines().position(|line| line.contains("//@")).unwrap();
        client.request_ok(
            "setBreakpoints",
            serde_json::json!({"source": {"path": at("main.c")}, "breakpoints": [{"line": line}]}),
        );
        client.configure();
        client.expect_stopped("breakpoint");
        let wrong = differences(
            &mut client,
            "main",
            &[
                ("counter", "100"),
                ("copied", "77"),
                ("own", "5"),
                ("in_block", "500"),
                ("hidden", "7"),
                ("'other.c'::own", "6"),
                ("'library.c'::own", "300"),
                ("'main.c'::own + 'a'", "102"),
                ("helper()", "400"),
                ("other()", "22"),
                ("library()", "1178"),
            ],
        );
        // clang does not describe variables that it does not define.
        let bare: &[_] = match compiler {
            "gcc" => &[
                ("only_symbol", "99"),
                ("environ != 0", "1"),
                ("environ[0] != 0", "1"),
            ],
            _ => &[],
        };
        let wrong: Vec<_> = wrong
            .into_iter()
            .chain(differences(&mut client, "main", bare))
            .collect();
        assert!(wrong.is_empty(), "{compiler} {flags:?} {wrong:#?}");
    }
}

/// Instances of templates by their arguments as users write them, and functions by any of their
/// symbols.
#[test]
fn instances_and_aliases() {
    let simple = Flags {
        extra: &["-gsimple-template-names"],
        ..Flags::new(Compiler::Clang)
    };
    let mut all = matrix("cpp/instances_by_name.cpp");
    all.push(simple);
    let mut all_wrong = Vec::new();
    for flags in all {
        let Some(fixture) = Fixture::build("cpp/instances_by_name.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "values");
        let expected = [
            ("tvar<int>", "5"),
            ("tvar<int> + 1", "6"),
            ("tvar<double>", "5"),
            ("tvar<std::string *> != 0", "true"),
            ("pairvar<int, 9>", "9"),
            ("nt<7>()", "14"),
            ("nt<7u>()", "14"),
            ("nt<8>()", "16"),
            ("ct<'a'>()", "97"),
            ("ct<97>()", "97"),
            ("bt<true>()", "1"),
            ("twice<int>(3)", "6"),
            ("twice<double>(2.5)", "5"),
            ("twice< int >(4)", "8"),
            ("ns::Holder<long>::kept", "8"),
            ("ns::Holder<long int>::size()", "8"),
            ("h.as<int>()", "4"),
            ("ns::half<int>(10)", "5"),
            ("((std::vector<int>*)pv)->size()", "3"),
            (
                "*(std::vector<int, std::allocator<int>>*)pv",
                "(3) {1, 2, 3}",
            ),
            ("(*(std::map<std::string, int>*)pm).size()", "1"),
            ("(*(ns::Holder<long>*)ph).value", "4"),
            ("ali(4)", "5"),
            ("weak_ali(5)", "6"),
            ("impl(6)", "7"),
            ("errno", "2"),
            ("environ[0] != 0", "true"),
        ];
        let wrong = differences(&mut client, "values", &expected).into_iter();
        all_wrong.extend(wrong.map(|it| format!("{flags:?} {it}")));
    }
    assert!(all_wrong.is_empty(), "{all_wrong:#?}");
}

#[test]
fn paths_of_rust() {
    for flags in matrix("rust/paths.rs") {
        let Some(fixture) = Fixture::build("rust/paths.rs", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, serde_json::json!({}));
        client.set_breakpoints(&fixture, &["inside", "outside"]);
        client.configure();
        let mut all_wrong = Vec::new();
        let mut stop = |place: &str, expected: &[(&str, &str)]| {
            client.expect_stopped("breakpoint");
            all_wrong.extend(differences(&mut client, place, expected));
            client.continue_();
        };
        stop(
            "outside",
            &[
                ("outer::LEVEL", "1"),
                ("outer::inner::LEVEL", "2"),
                ("self::outer::LEVEL", "1"),
                ("outer::Point::<i32>::make(6)", "Point {x: 6}"),
                ("outer::twice::<i64>(3)", "6"),
                ("outer::twice::<i32>(3)", "6"),
                ("twice(3i32)", "6"),
                ("Vec::<i32>::new()", "[]"),
                ("c == outer::Color::Red", "true"),
                ("work(1)", "152"),
                ("helper(1)", "4"),
                ("self::helper(1)", "4"),
                ("crate::outer::helper(1)", "3"),
                ("p.x + crate::TOP", "47"),
            ],
        );
        stop(
            "inside",
            &[
                ("LEVEL", "2"),
                ("self::LEVEL", "2"),
                ("super::LEVEL", "1"),
                ("crate::TOP", "42"),
                ("crate::outer::inner::LEVEL", "2"),
                ("super::super::TOP", "42"),
                ("super::helper(1)", "3"),
                ("self::helper(1)", "2"),
                ("helper(1)", "2"),
                ("crate::helper(1)", "4"),
                ("super::Color::Green", "Green"),
                ("LOCAL", "5"),
            ],
        );
        assert!(all_wrong.is_empty(), "{flags:?} {all_wrong:#?}");
    }
}

const USER: &str = r#"
int other();
int main() {
  return other() == 0; //@ main
}
"#;
const DECLARER: &str = r#"
namespace shop { enum Fruit { APPLE = 11, PEAR }; }
struct Outer { enum Kind { FIRST = 21 }; static const int LIMIT = 31; static int made; int x; };
int Outer::made = 41;
Outer object;
shop::Fruit fruit = shop::PEAR;
Outer::Kind kind = Outer::FIRST;
int other() { return fruit + kind + Outer::made + object.x + Outer::LIMIT; }
"#;

/// What only another unit declares is found by its qualified name.
#[test]
fn members_of_other_units() {
    for compiler in ["g++", "clang++"] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("user.cpp"), USER).unwrap();
        std::fs::write(at("declarer.cpp"), DECLARER).unwrap();
        let mut command = std::process::Command::new(compiler);
        command.args(["-g", "user.cpp", "declarer.cpp", "-o", "program"]);
        let Ok(status) = command.current_dir(folder.path()).status() else {
            println!("no {compiler}");
            continue;
        };
        assert!(status.success());
        let mut client = DapClient::spawn();
        client.launch_program(&at("program"), serde_json::json!({}));
        let line = 1 + USER.lines().position(|line| line.contains("//@")).unwrap();
        client.request_ok(
            "setBreakpoints",
            serde_json::json!({"source": {"path": at("user.cpp")}, "breakpoints": [{"line": line}]}),
        );
        client.configure();
        client.expect_stopped("breakpoint");
        let expected = [
            ("shop::APPLE + 0", "11"),
            ("shop::Fruit::PEAR + 0", "12"),
            ("Outer::FIRST + 0", "21"),
            ("Outer::LIMIT", "31"),
            ("Outer::made", "41"),
            ("fruit + 0", "12"),
        ];
        let wrong = differences(&mut client, "main", &expected);
        assert!(wrong.is_empty(), "{compiler} {wrong:#?}");
    }
}

/// Where the C library's debug info is installed, it has functions `arg` and `skip`, and variables `lock`, `name` and
/// `main_arena`.
#[test]
fn names_inside_of_the_c_library_are_not_meant() {
    let mut client = DapClient::stopped_at(&Fixture::of("c/loop.c"), "body");
    for name in [
        "arg",
        "skip == 0",
        "(long)skip",
        "name",
        "main_arena.top",
        "(long)main_arena",
    ] {
        let error = client.try_evaluate(name).expect_err(name);
        assert!(error.contains("no variable"), "{name}: {error}");
        // The error says how to write the variable.
        if let Some((_, written)) = error.split_once(" has a `static` one: `") {
            let written = written.trim_end_matches('`');
            assert!(written.starts_with('\''), "{error}");
            client.evaluate(&format!("&{written}"));
        }
    }
    client.disconnect();
    let mut client = DapClient::stopped_at(&Fixture::of("rust/constants.rs"), "main");
    for name in ["arg as usize", "skip", "lock", "main_arena"] {
        let error = client.try_evaluate(name).expect_err(name);
        assert!(error.contains("no variable"), "{name}: {error}");
    }
    client.disconnect();
}
