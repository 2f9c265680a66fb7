//! Methods of the standard libraries that are answered by reading, as clients use them: values with
//! the libraries' types, conditions of breakpoints that are hit often.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, has_libcxx};

/// Expects that a condition stops first in the call with that number.
fn stops_at(fixture: &Fixture, cases: &[(&str, i64)]) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &["body"]);
    client.configure();
    client.expect_stopped("breakpoint");
    for (condition, expected) in cases {
        let with = json!({"condition": condition});
        client.set_breakpoints_with(fixture, vec![("body", with)]);
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("i"), expected.to_string(), "{condition}");
    }
    client.set_breakpoints_with(fixture, Vec::new());
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// Expects texts and types at the end of the program.
fn shows(fixture: &Fixture, cases: &[(&str, &str, &str)]) {
    let mut client = DapClient::stopped_at(fixture, "end");
    for (expression, text, ty) in cases {
        let shown = client.evaluated(expression).expect(expression);
        assert_eq!(shown["result"], *text, "{expression}");
        assert_eq!(shown["type"], *ty, "{expression}");
    }
    client.disconnect();
}

fn cpp(fixture: &Fixture) {
    stops_at(
        fixture,
        &[
            ("names.back() == \"n20\"", 20),
            ("map.count(\"k21\")", 21),
            ("names.size() == 31 && names.back().find(\"30\") == 1", 30),
            ("opt", 40),
            ("p", 41),
            ("sp ? sp->value == 5 : 0", 42),
            ("f", 43),
            ("!opt && p == nullptr && !sp && i > 45", 46),
            ("names.at(names.size() - 1).ends_with(\"50\")", 50),
            ("map.at(\"k3\") == 3 && map.size() > 55", 55),
        ],
    );
    shows(
        fixture,
        &[
            ("row.get()[2]", "9", "int"),
            ("row[1]", "8", "int"),
            ("nodes[0]->get()", "4", "int"),
            ("nodes[0].get()->value", "4", "int"),
            ("nodes.size()", "1", "unsigned long"),
            ("names.back().substr(1)", "\"59\"", "std::string"),
            ("names.front().find('0')", "1", "unsigned long"),
            ("names[0] < names[1]", "true", "bool"),
        ],
    );
}

#[test]
fn libstdcxx() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        if let Some(fixture) = Fixture::build("cpp/library.cpp", flags) {
            cpp(&fixture);
        }
    }
}

#[test]
fn libcxx() {
    if !has_libcxx() {
        return;
    }
    let flags = Flags {
        extra: &["-stdlib=libc++"],
        ..Flags::new(Compiler::Clang)
    };
    cpp(&Fixture::build("cpp/library.cpp", flags).expect("clang is installed"));
}

#[test]
fn rust() {
    let fixture = Fixture::of("rust/library.rs");
    stops_at(
        &fixture,
        &[
            (
                "state.numbers.first().is_some() && state.numbers.len() == 20",
                19,
            ),
            ("state.numbers.last().unwrap() == 42", 21),
            ("state.numbers.contains(&44)", 22),
            ("state.map.get(&23).is_some()", 23),
            ("state.map[&24] == \"m24\"", 24),
            ("state.name.trim() == \"name25\"", 25),
            ("state.cell.get() == 26", 26),
            ("*state.ref_cell.borrow() == 27", 27),
            ("state.count.load(Ordering::SeqCst) == 28", 28),
            ("state.last.is_some()", 40),
            ("Rc::strong_count(&state.shared) == 2", 41),
            ("i.rem_euclid(50) == 0", 50),
        ],
    );
    shows(
        &fixture,
        &[
            (
                "state.numbers.first()",
                "Some(0)",
                "core::option::Option<&i64>",
            ),
            (
                "state.numbers.get(99)",
                "None",
                "core::option::Option<&i64>",
            ),
            ("state.numbers.first().unwrap()", "0", "&i64"),
            ("state.cell.get()", "59", "u8"),
            ("state.name.trim()", "\"name59\"", "&str"),
            ("state.name.trim().len()", "6", "usize"),
            ("sum.checked_sub(1).is_some()", "true", "bool"),
            (
                "state.cell.get().checked_add(200)",
                "None",
                "core::option::Option<u8>",
            ),
            ("state.map == state.map", "true", "bool"),
        ],
    );
}

#[test]
fn texts_of_exceptions_come_from_their_classes() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/texts_of_exceptions.cpp", Flags::new(compiler))
        else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "caught");
        for (expression, text) in [
            ("error.what()", "thrown text"),
            ("plain.what()", "plain text"),
            ("inherits.what()", "inherited text"),
            ("second.what()", "second text"),
            ("own.what()", "own text"),
            ("none.what()", "std::bad_alloc"),
            ("reference.what()", "inherited text"),
            ("pointers[0]->what()", "plain text"),
            ("pointers[1]->what()", "inherited text"),
            ("pointers[2]->what()", "second text"),
            ("pointers[3]->what()", "own text"),
        ] {
            let found = client.evaluate(expression);
            assert!(
                found.ends_with(&format!("\"{text}\"")),
                "{compiler:?}, {expression}: {found}"
            );
        }
        assert_eq!(
            client.evaluate("strcmp(error.what(), \"thrown text\")"),
            "0"
        );
        client.disconnect();
    }
}

#[test]
fn iterators_over_pieces_of_memory_have_operators() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/texts_of_exceptions.cpp", Flags::new(compiler))
        else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "caught");
        for (expression, expected) in [
            ("*(first + 130)", "-131"),
            ("first[131]", "-132"),
            ("middle[-140]", "-111"),
            ("*(middle - 140)", "-111"),
            ("*(first + 499)", "299"),
            ("first + 500 == last", "true"),
            ("first + 300 > middle", "true"),
            ("bit < end && bit != end", "true"),
            ("last - first", "500"),
            ("(first + 300) - (middle + 3)", "47"),
            ("last - middle", "250"),
            ("end - bit", "30"),
            ("bit - end", "-30"),
        ] {
            assert_eq!(
                client.evaluate(expression),
                expected,
                "{compiler:?}, {expression}"
            );
        }
        client.disconnect();
    }
}

#[test]
fn traits_of_types_need_no_debug_info() {
    let fixture = Fixture::of("cpp/texts_of_exceptions.cpp");
    let mut client = DapClient::stopped_at(&fixture, "template");
    for (expression, expected) in [
        ("std::is_same<int, int>::value", "true"),
        ("std::is_same<T, int>::value", "true"),
        ("std::is_same_v<T, long>", "false"),
        ("std::is_same<int, const int>::value", "false"),
        ("std::is_same<int, int *>::value", "false"),
        ("std::is_same<char *, const char *>::value", "false"),
        ("std::is_same<long, long long>::value", "false"),
        ("std::is_same<std::runtime_error, Inherits>::value", "false"),
        ("std::is_integral<T>::value && value == 0", "true"),
        ("std::is_floating_point_v<double>", "true"),
        ("std::is_signed<unsigned>::value", "false"),
        ("std::is_pointer<char *>::value", "true"),
        ("std::is_integral<bool>::value", "true"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}

#[test]
fn strings_of_streams_and_texts_are_made() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/texts_of_exceptions.cpp", Flags::new(compiler))
        else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "caught");
        for (expression, expected) in [
            ("out.str()", "\"text5\""),
            ("out.str().size()", "5"),
            ("both.str()", "\"xyb\""),
            ("in.str()", "\"in text\""),
            ("nothing.str().empty()", "true"),
            ("out.str() == \"text5\"", "true"),
            ("std::string(literal)", "\"abc\""),
            ("std::string(literal) == name", "true"),
            ("std::string(\"abd\") > name", "true"),
            ("std::string{literal}.size()", "3"),
            ("(std::string(\"x\") + name).size()", "4"),
            ("std::string(name).substr(1)", "\"bc\""),
        ] {
            assert_eq!(
                client.evaluate(expression),
                expected,
                "{compiler:?}, {expression}"
            );
        }
        client.disconnect();
    }
}
