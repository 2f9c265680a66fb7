//! Conditions on objects of C++'s library, casts within hierarchies of classes, and texts of C.

use super::machine::Answer::{Deopt, No, Yes};
use super::programs::{check, load, refuse};
use dwarf::Language;

const SOURCE: &str = r#"
#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
struct Left { int left = 3; virtual ~Left() {} };
struct Right { int right = 4; virtual ~Right() {} };
struct Both : Left, Right { int own = 5; };
struct Shared : virtual Left { int more = 6; };
Both both; Both *pointer = &both; Right *part = &both; Right &as_right = both; Left *nothing = nullptr;
Shared shared; Left *hidden = &shared;
std::array<int, 4> row = { 1, 2, 3, 4 };
std::pair<int, std::string> pair = { 4, "four" };
std::tuple<int, double, std::string> triple = { 1, 2.5, "three" };
std::variant<int, std::string> number = 7, word = "seven";
std::vector<int> numbers = { 1, 2, 3 }; std::vector<int> empty;
std::vector<int>::iterator at = numbers.begin() + 1; std::vector<int>::const_iterator last = numbers.end();
std::map<int, std::string> map = { { 1, "one" }, { 2, "two" } };
std::map<int, std::string>::iterator entry = map.begin();
std::list<int> list = { 8, 9 }; std::list<int>::iterator node = list.begin();
std::set<int> set = { 5, 6 }; std::set<int>::const_iterator least = set.begin();
std::string small = "hello", large(40, 'x'), none, high = "\xff";
std::string_view view = "view";
std::optional<int> some = 5, nobody;
std::shared_ptr<int> owner = std::make_shared<int>(7), lost;
const char *phrase = "text"; const char *other = "texu"; char name[8] = "name"; const char *null = nullptr;
unsigned count = 3; int five = 5;
int keep(const char *a, const char *b) { return std::strcmp(a, b) + int(std::strlen(a)); }
std::vector<int>::iterator uses[] = { numbers.begin(), numbers.end() };
auto ends = std::make_pair(map.begin(), map.end());
auto list_ends = std::make_pair(list.begin(), list.end());
bool is_used = std::get<0>(triple) == 1 && std::holds_alternative<int>(number);
extern "C" void fill() {}
"#;

#[test]
fn library_and_casts() {
    for level in ["-O0", "-O2"] {
        let compiler = ["g++", "-std=c++17", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.cpp", SOURCE, Language::Cpp) else {
            return;
        };
        check(
            &mut machine,
            &[
                ("((Left *)pointer)->left == 3", Yes),
                ("((Right *)pointer)->right == 4", Yes),
                ("((Both *)part)->own == 5", Yes),
                ("static_cast<Both *>(part)->own == 5", Yes),
                ("static_cast<const Both &>(as_right).own == 5", Yes),
                ("((const Both &)as_right).left == 3", Yes),
                ("((Right &)both).right == 4", Yes),
                ("(Both *)part == pointer", Yes),
                ("(Both *)nothing == nullptr", Yes),
                ("((Both *)nothing)->own == 5", Deopt),
                ("(Right *)pointer == part", Yes),
                ("static_cast<const Right &>(both).right == 3", No),
                ("row[1] == 2 && row.size() == 4", Yes),
                ("row.at(3) == 4 && row.front() == 1 && row.back() == 4", Yes),
                ("row[count] == 4", Yes),
                ("row.at(4) == 4", Deopt),
                ("std::get<2>(row) == 3", Yes),
                (
                    "std::get<0>(pair) == 4 && std::get<1>(pair) == \"four\"",
                    Yes,
                ),
                ("std::get<1>(triple) == 2.5", Yes),
                ("std::get<2>(triple) == \"three\"", Yes),
                ("std::get<std::string>(triple) == \"three\"", Yes),
                ("number.index() == 0 && word.index() == 1", Yes),
                ("std::holds_alternative<int>(number)", Yes),
                ("std::holds_alternative<std::string>(number)", No),
                ("std::get<int>(number) == 7", Yes),
                ("std::get<0>(number) == 7", Yes),
                ("std::get<1>(word) == \"seven\"", Yes),
                ("std::get<int>(word) == 7", Deopt),
                (
                    "std::holds_alternative<int>(word) && std::get<int>(word) == 7",
                    No,
                ),
                ("word.valueless_by_exception()", No),
                ("numbers.begin() != numbers.end()", Yes),
                ("empty.begin() == empty.end()", Yes),
                ("*numbers.begin() == 1", Yes),
                ("*at == 2 && at != numbers.end()", Yes),
                ("at - numbers.begin() == 1", Yes),
                ("*(at + 1) == 3 && at[-1] == 1 && *(at - 1) == 1", Yes),
                ("last == numbers.end() && numbers.cend() == last", Yes),
                ("at < numbers.end()", Yes),
                ("entry->first == 1 && entry->second == \"one\"", Yes),
                ("(*entry).second == \"two\"", No),
                ("entry == map.begin() && entry != map.end()", Yes),
                ("map.begin()->second == \"one\"", Yes),
                ("node != list.end() && node == list.begin()", Yes),
                ("*least == 5 && least != set.end()", Yes),
                ("(bool)some && !(bool)nobody", Yes),
                ("(bool)owner && !static_cast<bool>(lost)", Yes),
            ],
        );
        refuse(
            &machine,
            &[
                (
                    "((Shared *)hidden)->more == 6",
                    "`(Shared *)hidden`: only the object shows where a `Shared` is in relation to its `Left`",
                ),
                (
                    "dynamic_cast<Both *>(part) != nullptr",
                    "`dynamic_cast<Both *>(part)`: `dynamic_cast` searches the class of the object",
                ),
                (
                    "small.rfind(\"l\") == 3",
                    "`small.rfind(\"l\")`: only the debugger evaluates `rfind`",
                ),
            ],
        );
    }
}

#[test]
fn texts() {
    for level in ["-O0", "-O2"] {
        let compiler = ["g++", "-std=c++17", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.cpp", SOURCE, Language::Cpp) else {
            return;
        };
        check(
            &mut machine,
            &[
                ("small < \"help\"", Yes),
                ("small < \"hello\"", No),
                ("small <= \"hello\" && small >= \"hello\"", Yes),
                ("small < \"hell\"", No),
                ("small > \"hell\" && \"hell\" < small", Yes),
                ("small < \"hellos\"", Yes),
                ("none < \"a\" && !(none > \"\")", Yes),
                ("high > \"z\"", Yes),
                ("large < \"y\" && large > \"w\"", Yes),
                ("view > \"vid\" && view < \"vif\"", Yes),
                ("small.compare(\"hello\") == 0", Yes),
                (
                    "small.compare(\"help\") < 0 && small.compare(none) > 0",
                    Yes,
                ),
                ("small.find(\"ll\") != std::string::npos", Yes),
                ("small.find(\"ll\") == 2 && small.find('o') == 4", Yes),
                (
                    "small.find(\"\") == 0 && none.find(\"x\") == std::string::npos",
                    Yes,
                ),
                ("small.find(\"hellos\") == std::string::npos", Yes),
            ],
        );
    }
}

/// The interpreter would call these functions; the values are those of the C library.
#[test]
fn texts_of_c() {
    let compiler = ["g++", "-std=c++17", "-g", "-O0", "-shared", "-fPIC"];
    let Some(machine) = load(&compiler, "fixture.cpp", SOURCE, Language::Cpp) else {
        return;
    };
    for (text, expected) in [
        ("strcmp(phrase, \"text\") == 0", Yes),
        ("!strcmp(phrase, \"text\")", Yes),
        (
            "strcmp(phrase, \"tex\") == 0 || strcmp(phrase, \"texts\") == 0",
            No,
        ),
        (
            "strcmp(phrase, \"tex\") > 0 && strcmp(phrase, \"texts\") < 0",
            Yes,
        ),
        (
            "0 > strcmp(phrase, \"u\") && strcmp(\"u\", phrase) > 0",
            Yes,
        ),
        (
            "strcmp(phrase, other) < 0 && strcmp(other, phrase) > 0",
            Yes,
        ),
        ("strcmp(phrase, phrase) == 0 && strcmp(phrase, other)", Yes),
        ("strcmp(name, \"name\") == 0", Yes),
        ("strcmp(null, \"name\") == 0", Deopt),
        ("strncmp(phrase, \"tez\", 2) == 0", Yes),
        ("strncmp(phrase, \"tez\", 3) < 0", Yes),
        ("strncmp(phrase, \"text and more\", 30) < 0", Yes),
        (
            "strncmp(phrase, other, 3) == 0 && strncmp(phrase, other, 4) < 0",
            Yes,
        ),
        ("memcmp(phrase, \"text\", 5) == 0", Yes),
        ("memcmp(phrase, other, 3) == 0", Yes),
        ("memcmp(phrase, other, 4) < 0", Yes),
        ("memcmp(name, \"nama\", 4) > 0", Yes),
        ("strlen(phrase) == 4 && strlen(name) == 4", Yes),
        ("strlen(\"abc\") == 3 && strlen(null + 0) == 1", Deopt),
        (
            "std::strlen(phrase) > 3 && std::strcmp(phrase, other) != 0",
            Yes,
        ),
        ("std::max(five, 9) == 9 && std::min(five, 9) == 5", Yes),
    ] {
        let condition = machine.compiled(text);
        let condition = condition.unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(machine.run(&condition), expected, "{text}");
    }
    refuse(
        &machine,
        &[
            (
                "strcmp(phrase, other) == -1",
                "`strcmp(phrase, other)`: only the sign of what `strcmp` returns is defined: compare it with 0",
            ),
            ("atoi(phrase) == 1", "`atoi(phrase)`: it calls `atoi`"),
        ],
    );
}
