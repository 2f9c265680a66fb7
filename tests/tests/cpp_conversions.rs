//! Conversions, constructors and `const` of C++'s classes, as its compilers have them.

use serde_json::Value;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, has_libcxx, matrix};

const SOURCE: &str = "cpp/conversions.cpp";
const RANKS: &str = "cpp/ranks.cpp";

fn error_of(response: &Value) -> String {
    response["body"]["error"]["format"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Expects texts, or errors after `!`, at a marker of the program of each compiler.
fn answers(marker: &str, cases: &[(&str, &str)]) {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        answers_of(SOURCE, Flags::new(compiler), marker, cases);
    }
}

fn answers_of(source: &str, flags: Flags, marker: &str, cases: &[(&str, &str)]) {
    if let Some(fixture) = Fixture::build(source, flags) {
        let mut client = DapClient::stopped_at(&fixture, marker);
        for (expression, expected) in cases {
            match (client.evaluated(expression), expected.strip_prefix('!')) {
                (Ok(shown), None) => assert_eq!(shown["result"], **expected, "{expression}"),
                (Err(error), Some(why)) => {
                    let error = error_of(&error);
                    assert!(error.contains(why), "{expression}: {error}");
                }
                (Ok(shown), Some(_)) => panic!("{expression}: {shown}"),
                (Err(error), None) => panic!("{expression}: {}", error_of(&error)),
            }
        }
        client.disconnect();
    }
}

#[test]
fn objects_are_converted() {
    answers(
        "end",
        &[
            // Of an operand, where no operator of the class takes the other one.
            ("p - 3", "-2"),
            ("p - i", "-2"),
            ("(p - q).x", "-2"),
            // Of an argument.
            ("truth(p)", "10"),
            ("twice(meters)", "84"),
            ("taken(4)", "8"),
            ("twice(positive)", "14"),
            ("truth(pi)", "10"),
            ("e != f", "true"),
            ("(twice)(4)", "8"),
        ],
    );
}

#[test]
fn objects_are_constructed() {
    answers(
        "end",
        &[
            ("Point(3, 4)", "{x = 3, y = 4}"),
            ("Point(3, 4).sum()", "7"),
            ("Point{5, 6}.y", "6"),
            ("Wide(4).w", "8"),
            ("static_cast<Wide>(5).w", "10"),
            ("Owner(1)", "!nothing would run its destructor"),
            ("Plain{.a = 1, .b = 2}.b", "2"),
            ("Plain{.b = 2}", "!no value for `a`"),
            ("(Plain(meters, 2)).a", "42"),
            (
                "Plain{.a = 1, .b = 2, .a = 3}",
                "!not in the order of declaration",
            ),
        ],
    );
}

#[test]
fn overloads_are_chosen_by_const_and_kind_of_value() {
    answers(
        "end",
        &[
            ("sink(i)", "1"),
            ("sink(3)", "2"),
            ("target(pi)", "1"),
            ("target(pc)", "2"),
            ("target(&limit)", "2"),
            ("target(nullptr)", "!ambiguous"),
            ("rank(true)", "1"),
            ("rank(1.5f)", "2"),
            ("fixed.sum()", "15"),
            ("fixed.move(1)", "!`const`"),
            ("const_cast<Point &>(fixed).sum()", "15"),
            ("hidden_lambda(4)", "12"),
            (
                "(derived.*(int (Derived::*)(double) const)&Derived::overloaded)(2)",
                "102",
            ),
            ("method == &Derived::overloaded", "true"),
        ],
    );
}

#[test]
fn named_casts_do_what_they_may() {
    answers(
        "end",
        &[
            ("const_cast<int>(i)", "!`const_cast` does not convert"),
            ("static_cast<int *>(i)", "!`static_cast` does not convert"),
            ("static_cast<Plain &>(i)", "!`static_cast` does not convert"),
            ("reinterpret_cast<double>(i)", "!`reinterpret_cast`"),
            ("dynamic_cast<Base *>(pi)", "!`dynamic_cast`"),
            ("*const_cast<int *>(pc)", "4"),
            ("(decltype(i))2.5", "2"),
            ("sizeof(decltype(derived))", "28"),
            ("-positive", "-7"),
            ("strong == positive", "!`==` is not defined"),
            ("i ? plain : i", "!the branches have different types"),
            ("i ? strong : i", "!the branches have different types"),
            (
                "i ? numbers : &Base::value",
                "!the branches have different types",
            ),
            ("*&(i ? limit : i) == i ? 1 : 2", "2"),
            (
                "reinterpret_cast<int *>(pc)",
                "!`reinterpret_cast` does not convert",
            ),
            (
                "dynamic_cast<Derived *>((Base *)&derived)",
                "!`dynamic_cast` does not convert",
            ),
            ("static_cast<void>(&Base::value)", "void"),
            ("(Positive)meters", "!a cast does not convert"),
            ("(double)plain", "!a cast does not convert"),
            (
                "(void *)pi - (void *)pc",
                "!`-` is not defined for `void *`",
            ),
            ("noexcept(i)", "!which functions throw"),
            ("'ab'", "24930"),
            ("0x1'F", "31"),
            ("(int).5", "0"),
            ("p.operator-(q).y", "-3"),
        ],
    );
}

#[test]
fn names_of_classes_and_of_the_global_namespace() {
    answers(
        "member",
        &[
            ("Base::value", "5"),
            ("Derived::value", "6"),
            ("this->ONE", "ONE"),
            ("sizeof(Derived)", "28"),
            ("(points[1])(1)", "!`Point`"),
            ("&(this)", "!cannot take the address"),
            ("::only_shop", "!no variable"),
            ("only_shop", "3"),
            // One of two classes' types.
            ("sizeof(inner)", "!`inner`"),
        ],
    );
}

/// Of libstdc++ by its invoker, of libc++ by the virtual function of what it holds.
#[test]
fn functions_and_strings_of_both_libraries() {
    let mut all = vec![Flags::new(Compiler::Gcc)];
    if has_libcxx() {
        all.push(Flags {
            extra: &["-stdlib=libc++"],
            ..Flags::new(Compiler::Clang)
        });
    }
    for flags in all {
        let long = "\"a text that is longer than the capacity of the string\"";
        answers_of(
            "cpp/held.cpp",
            flags,
            "end",
            &[
                ("f(3)", "8"),
                ("g(by)", "10"),
                ("none(1)", "!the `std::function` is empty"),
                // By the program's own `operator=`.
                (&format!("s = {long}"), long),
                ("s", long),
                ("s.size()", "53"),
            ],
        );
    }
}

#[test]
fn code_of_libraries_without_debug_info_is_called() {
    for flags in [Flags::new(Compiler::Gcc), Flags::new(Compiler::Clang)] {
        answers_of(
            "cpp/instances.cpp",
            flags,
            "all",
            &[
                ("other.append(\", appended\").size()", "42"),
                ("other.erase(7, 100).size()", "7"),
                ("(other = \"longer than seven\").size()", "17"),
                ("other", "\"longer than seven\""),
                ("other.resize(6)", "void"),
                ("other", "\"longer\""),
                // That of another instance is not.
                ("pair.box.set(9)", "!only that of `Box<long"),
            ],
        );
    }
}

#[test]
fn results_of_comparisons_and_enumerators_in_names() {
    answers(
        "end",
        &[
            ("i <=> limit < 0", "true"),
            ("(limit <=> i) <= 0", "false"),
            ("0 < (limit <=> i)", "true"),
            ("i <=> limit", "!compared with 0"),
            ("Tagged<SEVEN>::number", "70"),
            ("sizeof(Tagged<SEVEN>)", "1"),
            ("Plain(3, 4).b", "4"),
            ("Strong(pi)", "!a cast does not convert"),
            ("(char *)meters", "!does not convert"),
            ("true ? meters : 1", "42"),
            ("int{meters}", "42"),
            ("static_cast<int *>(false)", "!`static_cast`"),
            ("sizeof(L\"wide\")", "20"),
        ],
    );
}

/// Which overload a conversion's rank chooses, and casts of objects, literals and addresses.
#[test]
fn conversions_are_ranked() {
    let stops: &[(&str, &[(&str, &str)])] = &[
        (
            "end",
            &[
                ("by_value(b)", "42"),
                ("by_value(c)", "42"),
                ("by_value(b, 1)", "43"),
                ("by_value(diamond)", "42"),
                ("taker.take(c)", "43"),
                ("of_copied(from)", "106"),
                ("(A)b", "{a = 42, s = 9}"),
                ("A{c}.a", "42"),
                ("((A)b).a", "42"),
                ("((A)diamond).a", "42"),
                ("A(b).a", "42"),
                ("static_cast<A>(c).a", "42"),
                ("((B)c).b", "1"),
                ("((A &)b).a", "42"),
                ("number_or_base(b)", "12"),
                ("nearer(c)", "14"),
                ("varied(1, 2.5)", "3"),
                ("varied(1, 2, 3)", "3"),
                ("varied(1)", "1"),
                ("text(chars)", "1"),
                ("text(buffer)", "1"),
                ("text(\"x\")", "2"),
                ("text(name)", "2"),
                ("qualified(chars)", "4"),
                ("qualified(unstable)", "3"),
                ("qualified(name)", "4"),
                ("qualified(constant)", "31"),
                ("qualified(changing)", "30"),
                ("qualified(word)", "32"),
                ("qualified(5)", "31"),
                ("moved(b)", "7"),
                ("moved(static_cast<A &&>(b))", "9"),
                ("moved(static_cast<const A &>(b))", "8"),
                ("moved(expiring(b))", "9"),
                ("moved((A &&)b)", "9"),
                ("ref.get()", "1"),
                ("fixed.get()", "3"),
                ("static_cast<const Ref &>(ref).get()", "3"),
                ("static_cast<Ref &&>(ref).get()", "2"),
                ("(x && y)", "12"),
                ("(x || 3)", "23"),
                ("x.f && y.f", "true"),
                ("x.f && y", "!condition"),
                ("((::A *)&b)->a", "42"),
                ("static_cast<::A *>(&b)->a", "42"),
                ("sizeof(::A)", "8"),
                ("(::A::num)70000", "4464"),
                ("(B::num)70000", "4464"),
                ("(uintptr_t)&word - (uintptr_t)&word", "0"),
                ("(uintptr_t)&word == (uintptr_t)&word", "true"),
                ("(A::num)-3 * 2 == -6", "true"),
                ("(uint8_t)-3 / 2", "126"),
                ("(A::num)-70000 / 2", "-2232"),
                ("first(\"x\")", "120"),
                ("first((char *)\"foo\")", "102"),
                ("first_byte((const unsigned char *)\"xy\")", "121"),
                ("((const unsigned char *)\"xy\")[1]", "121 'y'"),
                ("*(const char *)\"xy\"", "120 'x'"),
                ("name ? name : \"none\"", "\"none\""),
                ("small ? \"yes\" : \"no\"", "\"yes\""),
                ("small > 5 ? \"yes\" : \"no\"", "\"no\""),
                ("first(name ? name : \"none\")", "110"),
                ("(anonymous namespace)::unnamed", "13"),
                ("one == other", "false"),
                ("one != other", "true"),
                ("word_at != words.end()", "true"),
                ("word_at == words.end()", "false"),
                ("word_at == words.begin()", "true"),
                ("*word_at == \"b\"", "true"),
                ("*one == *other", "true"),
                ("member = 0", "nullptr"),
                ("member == 0", "true"),
                ("member = &Other::i", "&Other::i"),
                ("method = 0", "nullptr"),
                ("!method", "true"),
            ],
        ),
        (
            "path",
            &[
                ("Base<int>::i", "10"),
                ("Other::i", "20"),
                ("Path::Other::i", "20"),
                ("Path::Base<int>::i", "10"),
                ("this->Path::Other::i", "20"),
                ("here()", "30"),
            ],
        ),
    ];
    for flags in matrix(RANKS) {
        for (marker, cases) in stops {
            answers_of(RANKS, flags, marker, cases);
        }
    }
}
