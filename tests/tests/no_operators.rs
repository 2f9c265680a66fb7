//! Operators, functions and constants of C++'s library that the program has no code of: they are computed by the
//! layout of the classes and by their definitions.

use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, has_libcxx};

/// The fixture, as compilers build it with the libraries that there are.
fn built() -> Vec<Fixture> {
    let source = "cpp/no_operators.cpp";
    let built = [Compiler::Gcc, Compiler::Clang].map(|compiler| {
        let flags = Flags {
            extra: &["-std=c++17"],
            ..Flags::new(compiler)
        };
        Fixture::build(source, flags)
    });
    let libcxx = has_libcxx().then(|| {
        let flags = Flags {
            extra: &["-std=c++17", "-stdlib=libc++"],
            ..Flags::new(Compiler::Clang)
        };
        Fixture::build(source, flags).expect("clang is installed")
    });
    built.into_iter().flatten().chain(libcxx).collect()
}

/// Expects results at a line of each build.
fn shows(mark: &str, cases: &[(&str, &str)]) {
    for fixture in built() {
        let mut client = DapClient::stopped_at(&fixture, mark);
        for (expression, expected) in cases {
            let shown = client.evaluate(expression);
            assert_eq!(
                shown,
                *expected,
                "{expression}, {}",
                fixture.program.display()
            );
        }
        client.disconnect();
    }
}

#[test]
fn iterators_are_compared_and_moved() {
    shows(
        "here",
        &[
            ("at != row.end()", "true"),
            ("at == row.begin()", "true"),
            ("at < row.end() && row.end() >= at", "true"),
            ("row.end() - at", "3"),
            ("at - row.begin()", "0"),
            ("*(at + 2)", "6"),
            ("*(2 + at)", "6"),
            ("*(row.end() - 1)", "6"),
            ("at + 3 == row.end()", "true"),
            ("at[1]", "5"),
            // The element of the iterator, not a letter of the first one.
            ("word[1]", "\"c\""),
            ("(word + 2)->size()", "1"),
            ("words.end() - word", "3"),
            ("letter != name.end()", "true"),
            ("name.end() - letter", "4"),
            ("letter[3]", "112 'p'"),
            ("*fixed.begin()", "1"),
            ("fixed.end() - fixed.begin()", "2"),
            ("item != list.end()", "true"),
            ("list.begin() == item", "true"),
            ("*list.begin()", "7"),
            ("*chain.begin()", "9"),
            ("chain.begin() == link", "true"),
            ("chain.begin() == chain.end()", "false"),
            ("found == by.end()", "false"),
            ("found->second", "\"two\""),
            ("missing == by.end()", "true"),
            ("by.begin()->second", "\"one\""),
            ("*keys.begin()", "1"),
            ("keys.begin() == keys.end()", "false"),
            ("none.begin() == none.end()", "true"),
            ("std::distance(at, row.end())", "3"),
            ("*std::next(at)", "5"),
            ("*std::prev(row.end(), 2)", "5"),
            ("std::end(counts) - std::begin(counts)", "3"),
            ("std::size(counts) + std::size(words)", "6"),
        ],
    );
}

#[test]
fn iterators_of_other_containers_are_not_compared() {
    for fixture in built() {
        let mut client = DapClient::stopped_at(&fixture, "here");
        for (expression, why) in [
            ("at == word", "is not defined"),
            ("item < list.end()", "is not defined"),
            ("item - list.begin()", ""),
            ("std::min(number, wide)", "two values of one type"),
            ("std::min(number++, 3)", "assign before the call"),
            ("(int)at", "dereference it"),
            ("(long)owner", "dereference it"),
            ("name + 5", ""),
            ("std::numeric_limits<std::string>::max()", ""),
        ] {
            let error = client.evaluated(expression).expect_err(expression);
            let error = error["body"]["error"]["format"].to_string();
            assert!(error.contains(why), "{expression}: {error}");
        }
        assert_eq!(client.evaluate("number"), "3");
        client.disconnect();
    }
}

#[test]
fn templates_are_computed() {
    shows(
        "here",
        &[
            ("std::move(name)", "\"lamp\""),
            ("std::move(name).size()", "4"),
            ("std::min(number, 5)", "3"),
            ("std::max(number, larger)", "8"),
            ("std::min<long>(number, wide)", "3"),
            ("std::max(name, other)", "\"shade\""),
            ("std::min(name.size(), other.size())", "4"),
            ("name + \"s\"", "\"lamps\""),
            ("\"the \" + name", "\"the lamp\""),
            ("name + other + '!'", "\"lampshade!\""),
            ("'<' + name + \">\"", "\"<lamp>\""),
            ("(name + other).size()", "9"),
            ("name + other == \"lampshade\"", "true"),
            ("name + words[0]", "\"lampb\""),
            ("(name + \"s\\0x\").size()", "5"),
        ],
    );
}

/// The value where two letters differ is that of the program's `memcmp`, which depends on the CPU: its sign is fixed.
#[test]
fn comparison_has_the_sign_of_the_program() {
    for fixture in built() {
        let mut client = DapClient::stopped_at(&fixture, "here");
        let mut number = |expression: &str| -> i32 {
            let shown = client.evaluate(expression);
            shown.parse().expect(expression)
        };
        for (expression, variable) in [
            ("name.compare(\"lump\")", "order"),
            ("name.compare(1, 2, \"\\xe4\")", "part"),
        ] {
            let expected = number(variable).signum();
            assert_eq!(number(expression).signum(), expected, "{expression}");
        }
        assert_eq!(number("name.compare(\"l\")"), number("longer"));
        assert_eq!(client.evaluate("(bool)owner"), "true");
        client.disconnect();
    }
}

#[test]
fn constants_are_those_of_the_standard() {
    shows(
        "here",
        &[
            ("position == std::string::npos", "true"),
            ("std::string_view::npos == -1ul", "true"),
            ("std::numeric_limits<int>::max()", "2147483647"),
            ("std::numeric_limits<int>::min()", "-2147483648"),
            (
                "std::numeric_limits<unsigned long>::max()",
                "18446744073709551615",
            ),
            ("std::numeric_limits<short>::lowest()", "-32768"),
            ("std::numeric_limits<unsigned long>::digits", "64"),
            ("std::numeric_limits<int>::digits10", "9"),
            (
                "std::numeric_limits<double>::epsilon() == 2.220446049250313e-16",
                "true",
            ),
            (
                "std::numeric_limits<double>::max() == 1.7976931348623157e308",
                "true",
            ),
            ("std::numeric_limits<float>::is_signed", "true"),
            ("std::numeric_limits<bool>::max()", "true"),
        ],
    );
    shows(
        "in_template",
        &[
            ("std::numeric_limits<T>::digits", "24"),
            ("value < std::numeric_limits<T>::max()", "true"),
        ],
    );
}
