//! Expressions of what only C++ has, as the program's compilers evaluate them.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const SOURCE: &str = "cpp/language.cpp";

/// The fixture by each compiler, unoptimized and optimized: its variables are in memory.
fn compiled() -> Vec<Fixture> {
    let compilers = [flags(Compiler::Gcc), flags(Compiler::Clang)].into_iter();
    let all = compilers.flat_map(|flags| [flags, flags.optimized("1")]);
    all.filter_map(|flags| Fixture::build(SOURCE, flags))
        .collect()
}

/// Without `-fstandalone-debug` clang describes a class only in units that construct it.
fn flags(compiler: Compiler) -> Flags {
    Flags {
        extra: match compiler {
            Compiler::Clang => &["-fstandalone-debug"],
            _ => &[],
        },
        ..Flags::new(compiler)
    }
}

fn error_of(response: &Value) -> String {
    response["body"]["error"]["format"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Expects texts and types at the end of the program.
fn shows(cases: &[(&str, &str, &str)]) {
    for fixture in compiled() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, text, ty) in cases {
            let shown = client.evaluated(expression);
            let shown = shown.unwrap_or_else(|error| panic!("{expression}: {error}"));
            let result = shown["result"].as_str().unwrap_or_default();
            // Addresses differ; what they point to is behind them.
            let result = match (result.starts_with("0x"), result.split_once(' ')) {
                (true, Some((_, rest))) => rest,
                _ => result,
            };
            assert_eq!(result, *text, "{expression}");
            assert_eq!(shown["type"], *ty, "{expression}");
        }
        client.disconnect();
    }
}

fn refuses(cases: &[(&str, &str)]) {
    for fixture in compiled() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, why) in cases {
            let error = error_of(&client.evaluated(expression).expect_err(expression));
            assert!(error.contains(why), "{expression}: {error}");
        }
        client.disconnect();
    }
}

#[test]
fn operators_spelled_as_words() {
    shows(&[
        ("yes and no", "false", "bool"),
        ("yes or no", "true", "bool"),
        ("not yes", "false", "bool"),
        ("bits bitand 4", "4", "unsigned int"),
        ("bits bitor 3", "15", "unsigned int"),
        ("bits xor 5", "9", "unsigned int"),
        ("compl bits", "4294967283", "unsigned int"),
        ("color not_eq Red", "true", "bool"),
    ]);
}

#[test]
fn sizes_and_alignments() {
    shows(&[
        ("alignof(int)", "4", "unsigned long"),
        ("alignof(Plain)", "8", "unsigned long"),
        ("alignof(plain)", "8", "unsigned long"),
        ("alignof(Packed)", "1", "unsigned long"),
        ("alignof(Wide)", "32", "unsigned long"),
        ("alignof(Both)", "8", "unsigned long"),
        ("alignof(long double)", "16", "unsigned long"),
        ("alignof(int[4])", "4", "unsigned long"),
        ("_Alignof(double)", "8", "unsigned long"),
        ("sizeof(Green)", "4", "unsigned long"),
        ("sizeof(Mode::On)", "2", "unsigned long"),
        ("sizeof \"abc\"", "4", "unsigned long"),
        ("sizeof(std::vector<int>)", "24", "unsigned long"),
        ("sizeof(int (*)(int))", "8", "unsigned long"),
        ("sizeof(int Outer::*)", "8", "unsigned long"),
        ("sizeof(int (Outer::*)(int))", "16", "unsigned long"),
        ("sizeof(Plain[3])", "48", "unsigned long"),
    ]);
}

#[test]
fn type_information() {
    shows(&[
        ("typeid(int).name()", "\"i\"", "char *"),
        ("typeid(bits).name()", "\"j\"", "char *"),
        ("typeid(*pb1).name()", "\"7Derived\"", "char *"),
        ("typeid(Derived).name()", "\"7Derived\"", "char *"),
        ("typeid(item).name()", "\"N4shop4ItemIiEE\"", "char *"),
        ("typeid(*pb1) == typeid(Derived)", "true", "bool"),
        ("typeid(*pb1) == typeid(Base1)", "false", "bool"),
        ("typeid(pb1) == typeid(Base1 *)", "true", "bool"),
        ("typeid(*pb1) != typeid(*pb2)", "false", "bool"),
        ("typeid(const int) == typeid(int)", "true", "bool"),
        ("typeid(vec) == typeid(std::vector<int>)", "true", "bool"),
    ]);
    refuses(&[
        ("typeid(*nothing2)", "the pointer is null"),
        ("typeid(int) < typeid(long)", "`<` is not defined"),
    ]);
}

#[test]
fn casts_to_composed_types() {
    shows(&[
        ("(int (*)(int))code", "<doubled(int)>", "int (*)(int)"),
        ("((int(*)(int))code)(4)", "8", "int"),
        ("reinterpret_cast<int (*)(int)>(code)(5)", "10", "int"),
        ("*(int (*)[4])data", "{1, 2, 3, 4}", "int[4]"),
        ("(*(int (*)[4])data)[2]", "3", "int"),
        ("(*reinterpret_cast<int (*)[2][2]>(data))[1][0]", "3", "int"),
        (
            "*(std::vector<int>*)pvec",
            "(3) {1, 2, 3}",
            "std::vector<int>",
        ),
        (
            "*(std::vector<int, std::allocator<int>> *)pvec",
            "(3) {1, 2, 3}",
            "std::vector<int>",
        ),
        (
            "(std::vector<int, std::allocator<int> > &)vec",
            "(3) {1, 2, 3}",
            "std::vector<int>",
        ),
        (
            "static_cast<std::vector<int>&>(vec)",
            "(3) {1, 2, 3}",
            "std::vector<int>",
        ),
        (
            "static_cast<std::vector<int>*>(pvec)->size()",
            "3",
            "unsigned long",
        ),
        ("((const char *const)text)[0]", "104 'h'", "const char"),
        ("(unsigned long int)3", "3", "unsigned long"),
        ("(int long unsigned)3", "3", "unsigned long"),
        ("((struct Plain *)&plain)->x", "1", "int"),
        ("(enum Color)5", "Green", "Color"),
        ("((shop::Plain const *)&other)->a + 0", "4", "long"),
    ]);
}

/// The words of a type's name, which compilers order in several ways (`long unsigned int`), without
/// qualifiers of values.
fn words(ty: &Value) -> Vec<String> {
    let name = ty.as_str().unwrap_or_default().replace("const", "");
    let words = name.split(' ').map(|word| word.trim().to_owned());
    let mut words: Vec<String> = words
        .filter(|it| !matches!(&**it, "int" | "&" | ""))
        .collect();
    words.sort_unstable();
    words
}

/// Every type that is shown is understood again, and means the same.
#[test]
fn names_of_types_as_shown() {
    for fixture in compiled() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        for variable in [
            "plain",
            "nest",
            "outer",
            "both",
            "pvirt",
            "pb1",
            "fp",
            "code",
            "row",
            "grid",
            "prow",
            "field",
            "method",
            "const_method",
            "of_base",
            "color",
            "mode",
            "yes",
            "bits",
            "word",
            "text",
            "item",
            "other",
            "vec",
            "pvec",
            "rvec",
            "map",
            "pmap",
            "function",
            "pair",
            "name",
        ] {
            let shown = client.evaluated(variable).expect(variable);
            let ty = shown["type"].as_str().unwrap_or_default().to_owned();
            let size = client.evaluate(&format!("sizeof({variable})"));
            assert_eq!(client.evaluate(&format!("sizeof({ty})")), size, "{ty}");
            let pointer = client.evaluated(&format!("&{variable}")).expect(variable);
            let pointer = pointer["type"].as_str().unwrap_or_default().to_owned();
            let cast = client.evaluated(&format!("*({pointer})&{variable}"));
            let cast = cast.unwrap_or_else(|error| panic!("{pointer}: {error}"));
            assert_eq!(words(&cast["type"]), words(&shown["type"]), "{pointer}");
            assert_eq!(cast["result"], shown["result"], "{pointer}");
        }
        client.disconnect();
    }
}

#[test]
fn pointers_to_members() {
    shows(&[
        ("field", "&Outer::n", "int Outer::*"),
        ("&Outer::m", "&Outer::m", "int Outer::*"),
        ("&Outer::add", "<Outer::add(int)>", "int (Outer::*)(int)"),
        (
            "&Outer::get",
            "<Outer::get() const>",
            "int (Outer::*)() const",
        ),
        (
            "&Outer::virt",
            "<virtual function 0 of Outer>",
            "int (Outer::*)(int)",
        ),
        (
            "const_method",
            "<Outer::get() const>",
            "int (Outer::*)() const",
        ),
        ("*&Outer::s", "77", "int"),
        ("outer.*field", "22", "int"),
        ("pvbase->*field", "22", "int"),
        ("both.*field", "22", "int"),
        ("(&outer)->*&Outer::m + 1", "12", "int"),
        ("(outer.*method)(1)", "12", "int"),
        ("(outer.*virtual_method)(2)", "24", "int"),
        ("(pvbase->*virtual_method)(2)", "102", "int"),
        ("(both.*virtual_method)(2)", "102", "int"),
        ("(outer.*const_method)()", "11", "int"),
        ("(derived.*of_base)()", "32", "int"),
        ("(derived.*&Base1::which)()", "11", "int"),
        ("field == &Outer::n", "true", "bool"),
        ("field == &Outer::m", "false", "bool"),
        ("method == &Outer::add", "true", "bool"),
        ("virtual_method == &Outer::virt", "true", "bool"),
        ("no_field == nullptr", "true", "bool"),
        ("field ? 1 : 2", "1", "int"),
        ("!no_field", "true", "bool"),
        (
            "static_cast<int (Derived::*)()>(&Base2::g) == of_base",
            "true",
            "bool",
        ),
    ]);
    refuses(&[
        ("plain.*field", "neither `Outer` nor derived"),
        ("outer.*method", "can only be called"),
        ("outer.*bits", "expected a pointer to a member"),
        ("outer.*no_field", "is null"),
        ("(outer.*method)()", "expected 1 arguments"),
    ]);
}

#[test]
fn hierarchies() {
    shows(&[
        ("pderived->Base1::value", "31", "int"),
        ("pderived->Base2::value", "32", "int"),
        ("derived.Derived::value", "33", "int"),
        ("derived.Base1::f()", "31", "int"),
        ("pderived->Base1::which()", "1", "int"),
        ("pb1->which()", "11", "int"),
        ("pb1->Base1::which()", "1", "int"),
        ("twice.Twice1::value", "31", "int"),
        ("pvbase == pvirt", "true", "bool"),
        ("pb2 == pderived", "true", "bool"),
        ("pb2 == &derived", "true", "bool"),
        ("nothing2 == nothing", "true", "bool"),
        ("(no ? pb2 : pderived)->value", "32", "int"),
        ("(yes ? pderived : pb2) == pb2", "true", "bool"),
        ("static_cast<Derived *>(pb2) == pderived", "true", "bool"),
        ("static_cast<Base2 *>(pderived) == pb2", "true", "bool"),
        (
            "static_cast<Derived *>(nothing2) == nullptr",
            "true",
            "bool",
        ),
        ("dynamic_cast<Derived *>(pb2) == pderived", "true", "bool"),
        ("virt.vid()", "50", "int"),
        ("vbase->vid()", "50", "int"),
        ("vbase->VBase::vid()", "5", "int"),
    ]);
    refuses(&[
        ("pb1 == pb2", "unrelated"),
        ("twice.value", "ambiguous"),
        ("(Base1 *)&twice", "ambiguous"),
        ("derived.Left::l", "no base `Left`"),
    ]);
    let fixture = Fixture::build(SOURCE, flags(Compiler::Gcc)).expect("g++");
    let mut client = DapClient::stopped_at(&fixture, "run");
    assert_eq!(client.evaluate("this->Base1::value"), "31");
    assert_eq!(client.evaluate("this->Base2::g()"), "32");
    client.disconnect();
}

#[test]
fn branches_and_literals() {
    shows(&[
        (
            "&(yes ? derived.Base1::value : derived.Base2::value) == &derived.Base1::value",
            "true",
            "bool",
        ),
        ("yes ? 1l : 1ll", "1", "long long"),
        ("u8\"äx\"[2]", "120 'x'", "char8_t"),
        ("L\"äx\"[1] == L'x'", "true", "bool"),
        ("sizeof(u\"äx\")", "6", "unsigned long"),
        ("(1 < 2) > (0)", "true", "bool"),
        ("(pb1 == __null)", "false", "bool"),
    ]);
}

#[test]
fn objects_in_braces() {
    shows(&[
        ("Plain{1, 2}", "{x = 1, y = 2}", "Plain"),
        ("Plain{1, 2}.y", "2", "double"),
        (
            "Nest{{1, 2}, {3, 4}}",
            "{p = {x = 1, y = 2}, z = {3, 4}}",
            "Nest",
        ),
        ("Nest{1, 2, 3, 4}.z[1]", "4", "int"),
        ("Nest{plain, {3, 4}}.p.y", "2.5", "double"),
        ("int{3}", "3", "int"),
        ("int{}", "0", "int"),
        ("int()", "0", "int"),
        ("int(2.5)", "2", "int"),
        ("double(3)", "3", "double"),
        ("unsigned(-1)", "4294967295", "unsigned int"),
        ("sizeof(Plain{1, 2})", "16", "unsigned long"),
    ]);
    refuses(&[
        ("int{2.5}", "cannot hold"),
        ("char{300}", "cannot hold"),
        ("Plain{1, 2, 3}", "too many values"),
        ("Plain{1}", "no value for `y`"),
        ("Outer{1}", "virtual functions"),
    ]);
}

#[test]
fn operators_of_classes() {
    shows(&[
        ("-va", "{x = -1, y = -2}", "Vec"),
        ("(-va).x", "-1", "int"),
        ("~va", "{x = 2, y = 1}", "Vec"),
        ("!va", "false", "bool"),
        ("va[1]", "2", "int"),
        ("va == vb", "false", "bool"),
        ("Vec{1, 2} == va", "true", "bool"),
        ("(va + vb).y", "6", "int"),
        ("(va + vb).dot(va)", "16", "int"),
        ("va(2)", "2", "int"),
        ("va(2, 3)", "5", "int"),
        ("made(3)[0] + made(4)(2)", "11", "int"),
        ("handle->x", "1", "int"),
        ("handle->y", "2.5", "double"),
        ("handle.x", "99", "int"),
        ("handed()->x", "1", "int"),
        ("around->x", "1", "int"),
        ("(*handle).x", "1", "int"),
        ("*handle", "{x = 1, y = 2.5}", "Plain"),
        ("handle ? 1 : 2", "1", "int"),
        ("empty ? 1 : 2", "2", "int"),
        ("!empty && handle", "true", "bool"),
        ("(bool)handle", "true", "bool"),
        ("num + 1", "42", "int"),
        ("num * num", "1681", "int"),
        ("-num", "-41", "int"),
        ("(long)num", "41", "long"),
        ("static_cast<double>(meters)", "1.5", "double"),
        ("plus_ten(1)", "11", "int"),
        ("lambda(1)", "11", "int"),
        ("function(3)", "6", "int"),
        ("sum_of(2, 3, 4, 1.5f)", "8", "int"),
        ("va += vb", "{x = 4, y = 6}", "Vec"),
        ("++va", "{x = 5, y = 6}", "Vec"),
        ("va.x", "5", "int"),
    ]);
    refuses(&[
        ("handle->z", "no member `z`"),
        ("meters + 1", "`+` is not defined for `Meters` and `int`"),
        ("no_function(1)", "is empty"),
        ("with_default(1)", "does not record default arguments"),
        ("plain(1)", "cannot call a `Plain`"),
        ("-plain", "`-` is not defined for `Plain`"),
    ]);
}

/// Conditions are checked when they are set, and evaluated at each hit.
#[test]
fn conditions() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build(SOURCE, flags(compiler)) else {
            continue;
        };
        for condition in [
            "field == &Outer::n and outer.*field == 22",
            "typeid(*pb1) == typeid(Derived)",
            "pb2 == &derived && alignof(Plain) == 8",
            "derived.Base1::value == 31",
            "handle->x == 1 && num == 41",
            "handle",
            "va[1] == 2 && plus_ten(1) == 11",
        ] {
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({}));
            let with = json!({"condition": condition});
            client.set_breakpoints_with(&fixture, vec![("end", with)]);
            client.configure();
            client.expect_stopped("breakpoint");
            client.disconnect();
        }
    }
}

#[test]
fn arguments_of_templates_by_other_names_of_types() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/template_aliases.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "in_class");
        for (expression, expected) in [
            ("sizeof(Row<item>)", "2"),
            ("((Row<item> *)this)->first", "7"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
        let mut client = DapClient::stopped_at(&fixture, "stop");
        for (expression, expected) in [
            ("sizeof(Row<value_type>)", "8"),
            ("((Row<value_type> *)raw)->first", "2.5"),
            ("((Row<value_type> *)raw)->get()", "2.5"),
            ("*(std::vector<Index> *)raw_vector", "(2) {1, 2}"),
            ("((std::vector<Index> *)raw_vector)->size()", "2"),
            ("((Row<own::P> *)raw_points)->first.y", "4"),
            ("Row<value_type>::make() + 1", "1"),
            ("row.as<Index>()", "2"),
            ("sizeof(std::map<Text, own::P>) == sizeof(map)", "true"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
    }
}
