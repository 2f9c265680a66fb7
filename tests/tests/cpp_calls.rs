//! Which function a bare name means in a call of C++, as its compilers decide: one of the frame's own
//! class, one around it, or one in a namespace of the arguments; and what hides it.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, matrix};

const MEMBERS: &str = "cpp/own_members.cpp";
const ARGUMENTS: &str = "cpp/argument_lookup.cpp";

/// A line, and expressions there with their values; `!` is before a part of an error.
type Stop = (&'static str, &'static [(&'static str, &'static str)]);

/// Calls in member functions, by the line of the stop.
const OWN_MEMBERS: &[Stop] = &[
    (
        "member",
        &[
            ("add(3)", "8"),
            ("add(n) + 1", "11"),
            ("add(k) == this->add(k)", "true"),
            ("Box::add(3)", "8"),
            ("::add(3)", "1003"),
            ("which()", "1"),
            ("square(3)", "9"),
            ("Box::square(3)", "9"),
            ("inherited(1)", "8"),
            ("fourfold(3)", "12"),
            ("overloaded(1.5)", "2"),
            ("Base::overloaded(1.5)", "1"),
            ("dynamic(3)", "103"),
            ("Box::dynamic(3)", "15"),
            ("Box::Base::dynamic(3)", "4"),
            ("Base::dynamic(3)", "4"),
            ("scaled(k)", "10"),
            ("scaled(0.5)", "2.5"),
            ("scaled<int>(4)", "20"),
            ("operator==(other)", "false"),
            ("operator==(*this)", "true"),
            ("callback(k)", "3"),
            ("::callback(k)", "2002"),
            ("global(1)", "4001"),
            ("::global(1)", "3001"),
            ("add()", "!1 argument is missing"),
            ("missing(1)", "!no variable `missing`"),
        ],
    ),
    (
        "const",
        &[
            ("which()", "2"),
            ("square(k)", "9"),
            ("add(1)", "!not `const`"),
        ],
    ),
    ("captured", &[("which()", "2"), ("add(1)", "!not `const`")]),
    (
        "static",
        &[
            ("square(3)", "9"),
            ("fourfold(3)", "12"),
            ("add(1)", "!needs an object"),
        ],
    ),
    (
        "hidden",
        &[
            ("add(1)", "!cannot call"),
            ("square(2)", "-2"),
            ("Box::square(2)", "4"),
            ("Box::add(1)", "6"),
            ("this->add(1)", "6"),
        ],
    ),
    (
        "pointer",
        &[
            ("add(1)", "51"),
            ("which()", "1"),
            ("Base::fourfold(1)", "4"),
            ("dynamic(1)", "101"),
        ],
    ),
    (
        "copy",
        &[
            ("which()", "2"),
            ("square(3)", "9"),
            ("n", "5"),
            ("this->n", "5"),
            ("(*this).n", "5"),
            ("add(1)", "!not `const`"),
        ],
    ),
    ("value", &[("add(1)", "51"), ("which()", "1"), ("k", "2")]),
    ("nested", &[("add(1)", "51"), ("which() + x", "3")]),
    (
        "container",
        &[
            ("size()", "3"),
            ("size() > 2 && !empty()", "true"),
            ("front() + at(1)", "9"),
        ],
    ),
    ("template", &[("at(1)", "9"), ("at(index) * 2", "18")]),
    (
        "second",
        &[("side()", "1"), ("far()", "2"), ("Right::far()", "2")],
    ),
];

/// Calls whose functions are in the namespaces of their arguments, by the line of the stop.
const BY_ARGUMENTS: &[Stop] = &[
    (
        "all",
        &[
            ("hidden(p)", "5"),
            ("p == q", "false"),
            ("p != q", "true"),
            ("twice(p)", "8"),
            ("twice(ref)", "8"),
            ("twice(*pointer)", "10"),
            ("twice(row[1])", "4"),
            ("take(p, 1)", "21"),
            ("take(p, 1.0f)", "20"),
            ("take(p, 1.0)", "22"),
            ("(take)(p, 1)", "22"),
            ("::take(p, 1)", "22"),
            ("take(p, 'a')", "21"),
            ("of_pointer(pointer)", "35"),
            ("of_pointer(&p)", "34"),
            ("of_row(row)", "3"),
            ("of_member(member)", "31"),
            ("of_function(maker)", "37"),
            ("nested(inner)", "6"),
            ("named(color)", "42"),
            ("named(level)", "51"),
            ("named(first::GREEN)", "41"),
            ("named(1L)", "-4"),
            ("wrapped(p)", "64"),
            ("unwrap(holder)", "79"),
            ("(p + q).x", "9"),
            ("(-p).x", "-4"),
            ("color + 1", "RED"),
            ("color * 2", "4"),
            ("level == first::Level::LOW", "true"),
            ("level | first::Level::HIGH", "BOTH"),
            ("~level", "HIGH"),
            ("(p && q)", "405"),
            ("inside(version)", "87"),
            ("outside(version)", "97"),
            ("sibling(version)", "102"),
            ("from_outer(part)", "1"),
            ("twice(part)", "16"),
            ("only(global)", "110"),
            ("of_unnamed(unnamed)", "131"),
            ("operator==(p, q)", "false"),
            ("operator+(p, q).x", "9"),
            ("operator-(p).x", "-4"),
            ("first::operator+(p, q).x", "9"),
            ("twice(1)", "!no variable `twice`"),
        ],
    ),
    (
        "inner",
        &[
            ("only(global)", "110"),
            ("only(1)", "-5"),
            ("take(point, 1)", "21"),
        ],
    ),
    (
        "member",
        &[
            ("take(1)", "111"),
            ("take(point, 1)", "!takes"),
            ("twice(point)", "8"),
        ],
    ),
    ("hidden", &[("twice(1)", "131"), ("twice(point)", "!")]),
];

fn error_of(response: &Value) -> &str {
    response["body"]["error"]["format"]
        .as_str()
        .unwrap_or_default()
}

fn check(client: &mut DapClient, cases: &[(&str, &str)], at: &str) {
    for (expression, expected) in cases {
        match (client.evaluated(expression), expected.strip_prefix('!')) {
            (Ok(shown), None) => assert_eq!(shown["result"], **expected, "{expression} {at}"),
            (Err(error), Some(why)) => {
                let error = error_of(&error);
                assert!(error.contains(why), "{expression} {at}: {error}");
            }
            (Ok(shown), Some(_)) => panic!("{expression} {at}: {shown}"),
            (Err(error), None) => panic!("{expression} {at}: {}", error_of(&error)),
        }
    }
}

fn check_all(source: &str, stops: &[Stop]) {
    for flags in matrix(source) {
        let Some(fixture) = Fixture::build(source, flags) else {
            continue;
        };
        for (marker, cases) in stops {
            let mut client = DapClient::stopped_at(&fixture, marker);
            check(&mut client, cases, &format!("at {marker} {flags:?}"));
            client.disconnect();
        }
    }
}

#[test]
fn members_of_the_own_object() {
    check_all(MEMBERS, OWN_MEMBERS);
}

#[test]
fn functions_of_the_namespaces_of_arguments() {
    check_all(ARGUMENTS, BY_ARGUMENTS);
}

/// In optimized code a member function whose calls are all inlined still hides the one outside.
#[test]
fn what_has_no_code_hides_too() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build(MEMBERS, Flags::new(compiler).optimized("2")) else {
            continue;
        };
        for marker in ["static", "pointer", "value", "nested"] {
            let mut client = DapClient::stopped_at(&fixture, marker);
            let found = client.evaluated("add(1)");
            assert!(found.is_err(), "{marker} {compiler:?}: {found:?}");
            client.disconnect();
        }
    }
}

#[test]
fn conditions_call_members_of_the_own_object() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build(MEMBERS, Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let when = |condition: &str| json!({"condition": condition});
        let set = client.set_breakpoints_with(
            &fixture,
            vec![
                ("member", when("add(k) == 8")),
                ("const", when("which() == 2 && square(k) == 9")),
                ("pointer", when("add(x) == 7 || which() == 2")),
                ("nested", when("add(y) == 52 && which() == 1")),
            ],
        );
        for breakpoint in &set {
            let message = breakpoint["message"].as_str().unwrap_or_default();
            let calls = "evaluated by the debugger at each hit: it calls `";
            assert!(message.starts_with(calls), "{compiler:?}: {message}");
        }
        client.configure();
        for marker in ["const", "nested"] {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, marker);
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

/// A condition on a line that is passed often is compiled, unless it calls: the operator's result is not
/// that of the numbers.
#[test]
fn operators_of_enumerations_in_hot_conditions() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build(ARGUMENTS, Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let when = json!({"condition": "i > 100 && color + 1 == first::RED"});
        client.set_breakpoints_with(&fixture, vec![("often", when)]);
        client.configure();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("i"), "101", "{compiler:?}");
        client.disconnect();
    }
}

/// The types of functions and of pointers to members decide between overloads, as the parts of a type that another
/// module has, too.
#[test]
fn functions_and_pointers_to_members_as_arguments() {
    const CALLS: &[(&str, &str)] = &[
        ("pick(int_function)", "101"),
        ("pick(long_function)", "202"),
        ("pick(void_function)", "300"),
        ("only(int_function)", "4"),
        ("only(of_int)", "4"),
        ("call(&object, data, constant)", "87"),
        ("call(&object, &Member::kept, constant)", "87"),
        ("look(&opaque) == (long)&opaque", "true"),
        ("only((int (*)(int))void_function) * 0", "0"),
        ("only(void_function)", "!expected a pointer to"),
        ("only(long_function)", "!expected a pointer to"),
        ("call(&object, data, changing)", "!takes Member *"),
    ];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/function_types.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "here");
        let mut wrong = Vec::new();
        for (expression, expected) in CALLS {
            let found = client.try_evaluate(expression);
            let fits = match (expected.strip_prefix('!'), &found) {
                (Some(message), Err(error)) => error.contains(message),
                (None, Ok(value)) => value == expected,
                _ => false,
            };
            if !fits {
                wrong.push(format!("{compiler:?}: {expression} is {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        client.disconnect();
    }
}

/// Without a call, the type of the pointer chooses among functions of one name.
#[test]
fn overloads_are_chosen_by_the_type_of_the_pointer() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/overload_pointers.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, expected) in [
            ("first == over", "true"),
            ("second == over", "true"),
            ("second == &over", "true"),
            ("over != second", "false"),
            ("fourth == space::in", "true"),
            ("fifth == Holder::fixed", "true"),
            ("third == single", "true"),
            ("take(over)", "6"),
            ("take(&over)", "6"),
            ("((double (*)(double))over)(4)", "8"),
            ("static_cast<long (*)(long)>(space::in)(1)", "3"),
        ] {
            let found = client.evaluate(expression);
            assert_eq!(found, expected, "{compiler:?}, {expression}");
        }
        client.evaluate("third = over");
        assert_eq!(client.evaluate("third == first"), "true");
        client.evaluate("second = over");
        assert_eq!(client.evaluate("second(4)"), "8");
        for (expression, parts) in [
            ("over", ["int over(int)", "double over(double)"]),
            ("&over", ["int over(int)", "double over(double)"]),
            ("fifth == over", ["has the type", "double over(double)"]),
            ("fifth = space::in", ["has the type", "int space::in(int)"]),
        ] {
            let error = client.try_evaluate(expression).expect_err(expression);
            for part in parts {
                assert!(error.contains(part), "{compiler:?}, {expression}: {error}");
            }
        }
        client.disconnect();
    }
}
