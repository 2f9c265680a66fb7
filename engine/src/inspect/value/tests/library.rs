//! Methods, comparisons and truth of the libraries' classes, answered by reading.

use super::cpp_std::has_libcxx;
use super::harness::{Program, with_each_rustc};
use dwarf::Language;

fn cpp(compiler: &[&str]) {
    let program = Program::start(compiler, "fixture_std.cpp", Language::Cpp);
    let Some(mut program) = program else { return };
    let program = &mut program;
    program.check(&[TEXTS, ROWS, KEYS, OWNERS, VALUES, COMPARISONS].concat());
    for (text, expected) in TYPES {
        assert_eq!(program.type_of(text), *expected, "{text}");
    }
}

#[test]
fn libstdcxx() {
    cpp(&["g++", "-std=c++20", "-g", "-w"]);
    cpp(&["clang++", "-std=c++20", "-g", "-w"]);
}

#[test]
fn libcxx() {
    if !has_libcxx() {
        return skips::skip("libc++");
    }
    cpp(&["clang++", "-std=c++20", "-stdlib=libc++", "-g", "-w"]);
}

const TEXTS: &[(&str, &str)] = &[
    ("small.size() + small.length()", "10"),
    ("none.empty() && !small.empty()", "true"),
    ("small.front()", "115 's'"),
    ("small.back()", "108 'l'"),
    ("small[1]", "109 'm'"),
    ("small.at(9)", "error: index 9 is out of range: length is 5"),
    ("small.find(\"al\")", "2"),
    ("small.find('l')", "3"),
    ("small.find('l', 4)", "4"),
    ("small.rfind('l')", "4"),
    ("small.find(\"x\")", "18446744073709551615"),
    ("small.find(\"x\") == -1", "true"),
    ("large.find_first_of(\"xyz\")", "4"),
    ("small.find_last_not_of(\"l\")", "2"),
    ("small.substr(1, 3)", "\"mal\""),
    ("small.substr(3)", "\"ll\""),
    ("small.substr(1).size()", "4"),
    ("small.substr(1) == \"mall\"", "true"),
    (
        "small.substr(9)",
        "error: position 9 is out of range: length is 5",
    ),
    (
        "small.starts_with(\"sm\") && !small.starts_with('m')",
        "true",
    ),
    ("small.ends_with(\"ll\")", "true"),
    ("small.compare(\"smart\") < 0", "true"),
    ("small.compare(small)", "0"),
    (
        "small.capacity() >= 5 && large.capacity() >= large.size()",
        "true",
    ),
    ("small.c_str()", "~\"small\""),
    ("view.substr(1, 2)", "\"ee\""),
    ("view.substr(1).find('e')", "0"),
    ("view.data()[0]", "115 's'"),
    ("wide.find(L'd')", "2"),
    ("s16.size()", "7"),
    ("path.string()", "\"/usr/lib/x\""),
    ("path.empty()", "false"),
];

const ROWS: &[(&str, &str)] = &[
    ("numbers.size()", "100000"),
    ("numbers.front() + numbers.back()", "499995"),
    (
        "numbers.at(100000)",
        "error: index 100000 is out of range: length is 100000",
    ),
    ("numbers.capacity() >= 100000", "true"),
    ("nothing.empty()", "true"),
    (
        "nothing.front()",
        "error: no element: the container is empty",
    ),
    ("*numbers.data() + numbers.data()[2]", "10"),
    ("bits.size()", "3"),
    ("bits.back() && !bits[1]", "true"),
    ("triple.size() + triple.back()", "6"),
    ("zeros.empty()", "true"),
    ("deque.at(1) + deque.front()", "5"),
    ("span.size() + span.front()", "13"),
    ("span.size_bytes()", "12"),
    ("initial.size()", "3"),
    ("list.size() + list.back()", "6"),
    ("forward.front()", "97 'a'"),
    ("stack.top() + stack.size()", "4"),
    ("queue.front()", "3"),
    ("heap.top()", "9"),
    ("strings.back().size()", "3"),
];

const KEYS: &[(&str, &str)] = &[
    ("map.at(2)", "\"two\""),
    ("map.at(3)", "error: key not found"),
    ("map.count(1) + map.count(5)", "1"),
    ("map.contains(2)", "true"),
    ("nested.at(\"k\").size()", "2"),
    ("multi.count('a')", "2"),
    ("set.contains(\"b\") && !set.contains(\"c\")", "true"),
    ("multiset.count(3)", "2"),
    ("table.at(\"k\")", "11"),
    ("multi_set.count(\"m\")", "2"),
    ("large_table.contains(99999)", "true"),
];

const OWNERS: &[(&str, &str)] = &[
    ("*unique.get()", "5"),
    ("unique_point.get()->y", "6"),
    ("array.get()[2]", "9"),
    ("array[1]", "8"),
    ("shared.use_count()", "2"),
    ("weak.use_count()", "2"),
    ("weak.expired()", "false"),
    ("weak_gone.expired()", "true"),
    ("no_shared.use_count()", "0"),
    ("no_unique.get() == nullptr", "true"),
    (
        "*no_unique",
        "error: cannot dereference: the pointer is null",
    ),
    ("wrapper.get() + 1", "5"),
    // As conditions.
    ("unique ? 1 : 2", "1"),
    ("no_unique ? 1 : 2", "2"),
    ("!no_unique && !!shared", "true"),
    ("unique && opt", "true"),
    ("unique == nullptr", "false"),
    ("no_unique == 0 && shared != 0", "true"),
    ("nullptr != shared", "true"),
    ("no_shared == nullptr", "true"),
    ("shared == copy", "true"),
    ("shared == apart", "false"),
    ("function && !no_function", "true"),
    ("function != nullptr", "true"),
];

const VALUES: &[(&str, &str)] = &[
    ("opt.has_value() && !no_opt.has_value()", "true"),
    ("opt.value() + *opt", "154"),
    ("no_opt.value()", "error: no value: the optional is empty"),
    ("*no_opt", "error: no value: the optional is empty"),
    ("no_opt.value_or(3)", "3"),
    ("opt && !no_opt", "true"),
    ("no_opt == std::nullopt && opt != std::nullopt", "true"),
    ("opt ? 1 : 0", "1"),
    ("opt_text->size()", "5"),
    ("opt_point->y", "2"),
    ("var.index()", "1"),
    ("std::get<0>(tuple) + std::get<0>(pair)", "2"),
    ("std::get<1>(tuple)", "\"t\""),
    ("std::get<double>(tuple)", "2.5"),
    ("std::get<2>(triple)", "3"),
    ("std::get<1>(var).size()", "3"),
    ("std::get<int>(var_int)", "5"),
    (
        "std::get<0>(var)",
        "error: the variant holds alternative 1, not 0",
    ),
    ("std::holds_alternative<int>(var_int)", "true"),
    ("bool(opt) && !bool(no_unique)", "true"),
    ("var_int.index()", "0"),
    ("valueless.valueless_by_exception()", "true"),
    ("any.has_value() && !any_none.has_value()", "true"),
    ("atomic.load() + 1", "7"),
    ("atomic + 1", "7"),
    ("complex.real() + complex.imag()", "-0.5"),
    ("ms.count()", "1500"),
    ("time_point.time_since_epoch().count()", "1700000000"),
    ("set_bits.count()", "3"),
    ("set_bits.size()", "10"),
    ("set_bits.test(2) && !set_bits[1]", "true"),
    (
        "set_bits.any() && !set_bits.all() && no_bits.none()",
        "true",
    ),
    ("set_bits.to_ulong()", "517"),
    ("set_bits.to_string()", "\"1000000101\""),
    ("wide_bits.test(70)", "true"),
    ("*vector_at", "15"),
    ("list_at == list_const", "~"),
];

const COMPARISONS: &[(&str, &str)] = &[
    ("small == \"small\" && small != large", "true"),
    ("small < \"tiny\"", "true"),
    ("view == \"seen\"", "true"),
    ("strings == strings", "true"),
    ("deque < long_deque", "false"),
    ("list == no_list", "false"),
    ("map != large_map", "true"),
    ("map == map", "true"),
    ("table == table", "true"),
    ("opt == 77", "true"),
    ("opt != no_opt", "true"),
    ("no_opt < opt", "true"),
    ("pair == pair && tuple == tuple", "true"),
    ("var == var", "true"),
    ("s < h && ms < s && s == s", "true"),
    ("atomic == 6", "true"),
    ("wrapper == 4", "true"),
];

const TYPES: &[(&str, &str)] = &[
    ("small.find('l')", "unsigned long"),
    ("small.compare(\"x\")", "int"),
    ("numbers.size()", "unsigned long"),
    ("numbers.front()", "int"),
    ("numbers.data()", "int *"),
    ("small.substr(1)", "std::string"),
    ("small.front()", "char"),
    ("opt.value()", "int"),
    ("shared.use_count()", "long"),
    ("unique_point.get()", "Point *"),
    ("array.get()", "int *"),
    ("map.contains(1)", "bool"),
];

with_each_rustc!("fixture_std.rs": rust);

fn rust(program: &mut Program) {
    program.check(RUST);
    for (text, expected) in RUST_TYPES {
        let name = program.type_of(text);
        assert!(name.ends_with(expected), "{text}: {name}");
    }
}

const RUST: &[(&str, &str)] = &[
    // Sequences.
    ("wrapped.len() + wrapped.capacity()", "14"),
    ("wrapped.front()", "Some(7)"),
    ("wrapped.back().is_some()", "true"),
    ("*wrapped.back().unwrap() + 1", "15"),
    ("wrapped.back().unwrap() + 1", "15"),
    ("wrapped.get(1)", "Some(10)"),
    ("wrapped.get(9)", "None"),
    ("wrapped.get(9).is_none()", "true"),
    ("empty_deque.front() == None", "true"),
    ("wrapped.contains(&12) && !wrapped.contains(&99)", "true"),
    ("list.front().unwrap().len()", "3"),
    ("heap.peek()", "Some(3)"),
    ("rc_slice.first().unwrap() == 1", "true"),
    ("rc_slice.last()", "Some(2)"),
    ("rc_slice.starts_with(&rc_slice)", "true"),
    ("cow_slice.binary_search(&3)", "Ok(2)"),
    ("cow_slice.binary_search(&0).unwrap_err()", "0"),
    ("cow_slice.is_sorted()", "true"),
    // Keys.
    ("map.get(\"one\")", "Some(1)"),
    ("map.get(\"two\")", "None"),
    ("map.get(\"one\").unwrap() + 1", "2"),
    ("map.contains_key(\"one\")", "true"),
    ("number_map.get(&5).unwrap().y", "2"),
    ("tree.get(&2).unwrap().len()", "3"),
    ("tree.first_key_value()", "Some((1, \"one\"))"),
    ("tree_set.first()", "Some(1)"),
    ("tree_set.last().unwrap() + 0", "3"),
    ("number_map[&5].y", "2"),
    ("set.contains(&7) && set.len() == 1", "true"),
    ("big_map.get(&7).copied()", "Some(14)"),
    ("empty_map.is_empty()", "true"),
    // Text.
    ("owned_cow.len()", "3"),
    ("owned_cow.to_uppercase()", "\"OWN\""),
    ("owned_cow.trim() == \"own\"", "true"),
    ("rc_text.find('a')", "Some(2)"),
    ("rc_text.find(\"zz\").is_none()", "true"),
    ("rc_text.strip_prefix(\"sh\")", "Some(\"ared\")"),
    ("rc_text.strip_prefix(\"sh\").unwrap().len()", "4"),
    ("rc_text.as_bytes().len()", "6"),
    ("rc_text.as_bytes()[0]", "115"),
    ("rc_text.starts_with('s')", "true"),
    ("rc_text.replace(\"sh\", \"c\")", "\"cared\""),
    ("\" x \".trim()", "\"x\""),
    ("rc_text.chars().count()", "6"),
    ("rc_text.chars().nth(1)", "Some('h')"),
    ("rc_text.bytes().nth(9)", "None"),
    ("rc_text.split_once('a')", "Some((\"sh\", \"red\"))"),
    ("rc_text.split_once('a').unwrap().1.len()", "3"),
    ("words.as_deref().unwrap().len()", "2"),
    ("rc_slice.iter().max()", "Some(2)"),
    ("rc_slice.iter().count() + cow_slice.iter().len()", "5"),
    ("cow_slice.iter().min().unwrap() + 1", "2"),
    ("keyed_by_point.get(&1)", "~that takes these arguments"),
    ("c_string.as_bytes().len()", "8"),
    // Cells.
    ("cell.get() + 1", "4"),
    ("ref_cell.borrow()", "4"),
    ("*ref_cell.borrow() + 1", "5"),
    (
        "mut_borrowed.borrow()",
        "error: cannot borrow: the cell is mutably borrowed",
    ),
    ("shared_cell.borrow().x", "5"),
    ("once.get()", "None"),
    ("once_set.get().unwrap().x", "7"),
    ("once_lock.get()", "Some(\"set\")"),
    ("poisoned.is_poisoned() && !mutex.is_poisoned()", "true"),
    ("Rc::strong_count(&rc)", "1"),
    ("Rc::weak_count(&rc)", "1"),
    ("Rc::ptr_eq(&rc, &rc)", "true"),
    ("weak.strong_count()", "1"),
    ("never.strong_count()", "0"),
    ("atomic.load(Relaxed)", "-5"),
    ("atomic.load(std::sync::atomic::Ordering::SeqCst) + 1", "-4"),
    ("atomic_bool.load(Relaxed)", "true"),
    ("non_zero.get() + 1", "13"),
    ("some_non_zero.unwrap().get()", "-3"),
    // Times and ranges.
    ("duration.as_secs()", "1"),
    ("duration.as_millis()", "1500"),
    ("duration.subsec_nanos()", "500000000"),
    ("duration.as_secs_f64()", "1.5"),
    ("duration > millis", "true"),
    ("range.contains(&3) && !range.contains(&4)", "true"),
    ("inclusive.contains(&4)", "true"),
    ("range.len()", "3"),
    ("range.is_empty()", "false"),
    // Options and results.
    ("words.is_some()", "true"),
    ("words.unwrap().len()", "2"),
    ("no_non_zero.is_none()", "true"),
    (
        "no_non_zero.unwrap()",
        "error: cannot unwrap: the value is `None`",
    ),
    (
        "no_non_zero.expect(\"why\")",
        "error: why; cannot unwrap: the value is `None`",
    ),
    ("words.as_ref().unwrap().len()", "2"),
    // Numbers.
    ("arc.abs() + 1", "67"),
    ("arc.pow(2)", "4356"),
    ("arc.wrapping_add(2147483647)", "-2147483583"),
    ("arc.checked_add(2147483647)", "None"),
    ("arc.checked_add(4).unwrap()", "70"),
    ("arc.checked_div(0).is_none()", "true"),
    ("arc.saturating_mul(2147483647)", "2147483647"),
    ("arc.overflowing_add(1)", "(67, false)"),
    ("arc.overflowing_add(1).0", "67"),
    ("arc.overflowing_add(1) == arc.overflowing_add(1)", "true"),
    ("arc.rem_euclid(-5)", "1"),
    ("(-7i32).rem_euclid(5)", "3"),
    ("(-7i32).div_euclid(5)", "-2"),
    ("7u8.leading_zeros()", "5"),
    ("7u8.count_ones() + 0u8.trailing_zeros()", "11"),
    ("7u8.rotate_left(6)", "193"),
    ("200u8.wrapping_mul(2)", "144"),
    ("200u8.saturating_add(100)", "255"),
    ("(-128i8).wrapping_abs()", "-128"),
    ("(-128i8).checked_abs()", "None"),
    ("(-128i8).unsigned_abs()", "128"),
    ("3i32.abs_diff(-4)", "7"),
    ("10i32.min(3).max(5)", "5"),
    ("10i32.clamp(1, 4)", "4"),
    ("6u32.next_power_of_two()", "8"),
    ("0x1234u16.swap_bytes()", "13330"),
    ("1000u32.ilog10()", "3"),
    ("3i32.cmp(&4)", "Less"),
    ("3i32.cmp(&4).is_lt()", "true"),
    ("2f64.sqrt()", "1.4142135623730951"),
    ("2f32.powi(3)", "8.0"),
    ("(-2.5f64).floor()", "-3.0"),
    ("1.0f64.is_nan()", "false"),
    ("'7'.to_digit(10)", "Some(7)"),
    ("'x'.is_alphabetic() && !'x'.is_ascii_digit()", "true"),
    ("'ä'.len_utf8()", "2"),
    // Comparisons.
    ("wrapped == wrapped", "true"),
    ("&deque == &empty_deque", "false"),
    ("list != empty_list", "~"),
    ("tree_set == tree_set", "true"),
    ("map == map", "true"),
    ("words == words", "true"),
    ("owned_cow == \"own\"", "true"),
    ("&wrapped == &wrapped && &deque != &wrapped", "true"),
    (
        "wrapped.front() == Some(&7) && wrapped.front() != Some(&8)",
        "true",
    ),
    ("map.get(\"two\") == Some(&1)", "false"),
    ("cow_slice.binary_search(&3) == Ok(2)", "true"),
    ("Err(0) == cow_slice.binary_search(&0)", "true"),
    ("words == Some(\"rc\")", "true"),
    ("3i32.clone() + wrapped.front().clone().unwrap()", "10"),
    ("\"ab\" == rc_text.trim()", "false"),
];

const RUST_TYPES: &[(&str, &str)] = &[
    ("wrapped.front()", "Option<&i32>"),
    ("wrapped.front().unwrap()", "&i32"),
    ("wrapped.len()", "usize"),
    ("map.get(\"one\")", "Option<&i32>"),
    ("rc_text.find('a')", "Option<usize>"),
    ("rc_text.trim()", "&str"),
    ("rc_text.as_bytes()", "&[u8]"),
    ("owned_cow.to_uppercase()", "alloc::string::String"),
    ("arc.checked_add(1)", "Option<i32>"),
    ("arc.overflowing_add(1)", "(i32, bool)"),
    ("cell.get()", "i32"),
    ("duration.as_millis()", "u128"),
    ("3i32.cmp(&4)", "core::cmp::Ordering"),
];
