//! Names with known answers, and malformed ones.

use super::{Shown, demangle};

const NAMES: &str = include_str!("names.txt");

#[test]
fn names_are_those_of_swift_demangle() {
    let mut compared = 0;
    for line in NAMES.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [mangled, full, short] = fields[..] else {
            panic!("{line}");
        };
        let shown = |shown| demangle(mangled, shown);
        assert_eq!(shown(Shown::Full).as_deref(), Some(full), "{mangled}");
        assert_eq!(shown(Shown::Short).as_deref(), Some(short), "{mangled}");
        compared += 1;
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn paths_say_which_function_it_is() {
    for (mangled, path) in [
        ("$s4main4StopV4area2ofS2i_tF", "main.Stop.area(of:)"),
        ("$s4main4StopV4areaSivg", "main.Stop.area.getter"),
        (
            "$s4main4StopV2eeoiySbAC_ACtFZ",
            "static main.Stop.== infix(_:_:)",
        ),
        ("$s4main3foo4_ABCLLyyF", "main.foo()"),
        ("$s4main1fyyxAA1PRzlF", "main.f<A>(_:)"),
        ("$sSi5otherE1xSivg", "Swift.Int.x.getter"),
        // Copies of a function are that function; parts of it are not.
        ("$s4main1fyyFSi_Tg5", "main.f()"),
        ("$s4main1fyyFTf4nd_n", "main.f()"),
        ("$s4main1fyyFTm", "main.f()"),
        (
            "$s4main1fyyYaFTY1_",
            "(2) suspend resume partial function for main.f()",
        ),
        ("$s4main1fyyFTA", "partial apply for main.f()"),
    ] {
        assert_eq!(demangle(mangled, Shown::Path).as_deref(), Some(path));
    }
}

#[test]
fn types_have_no_modules() {
    for (mangled, name) in [
        ("$s4main4StopVD", "Stop"),
        ("$s4main5OuterV5InnerVySiGD", "Outer.Inner<Int>"),
        ("$sSi_SSSg5labeltD", "(Int, label: String?)"),
        ("$sSi_SStyYaKcD", "() async throws -> (Int, String)"),
        ("$sS2icD", "(Int) -> Int"),
        ("$s4main1P_pD", "P"),
        ("$sytD", "()"),
    ] {
        assert_eq!(
            demangle(mangled, Shown::Type).as_deref(),
            Some(name),
            "{mangled}"
        );
    }
}

#[test]
fn what_is_no_name_is_left() {
    let nested = format!("$s{}Si{}D", "Say".repeat(2000), "G".repeat(2000));
    let bomb = format!("$s4main1fyy{}F", "Si_A_t".repeat(500));
    let doubled = format!("$s1aSi{}D", "_AAtA".repeat(900));
    // Each tuple has the one before it twice.
    let tuples: String = (0..60).map(|_| "_ABt").collect();
    let words = format!("$s4main{}D", "03aaA".repeat(400));
    for symbol in [
        "",
        "$s",
        "$S",
        "_$s",
        "_T0",
        "$sD",
        "$s4mainX",
        "$s4main1f",
        "$s99a",
        "$s0aV",
        "$s0099999999999999999999a",
        "$sA_",
        "$sAA",
        "$sAz",
        "$sS99999999999999999999i",
        "$sS2147483647i",
        "$sBi99999999999999999_",
        "$s4main1fyyFTf",
        "$s4main1fyyFTf4",
        "$s4main1fyyFTf4nn",
        "$s4main1fyyFTQ",
        "$s4main1fyyFT",
        "$sSiSSSdF",
        "$sSi_",
        "$sSay_",
        "$sSi\u{1}abcd",
        "$s4maiñ1aV",
        "$s3añV",
        "$ño",
        "main",
        "async_Maintain",
        "_ZN4main1fEv",
        "_T0s3SetVyxGs10CollectiotySivm",
        "$sSD5IndexVy__GD",
        "$s4main4StopV4areaSivgSi",
        &nested,
        &bomb,
        &doubled,
        &format!("$s1aVAC{tuples}D"),
        &words,
    ] {
        for shown in [Shown::Full, Shown::Short, Shown::Path, Shown::Type] {
            let name = demangle(symbol, shown);
            assert!(name.is_none(), "{symbol}: {name:?}");
        }
    }
}

#[test]
fn each_part_of_a_name_is_bounded() {
    for line in NAMES.lines() {
        let mangled = line.split('\t').next().unwrap_or_default();
        for end in (0..mangled.len()).filter(|end| mangled.is_char_boundary(*end)) {
            let _ = demangle(&mangled[..end], Shown::Full);
            let without = format!(
                "{}{}",
                &mangled[..end],
                mangled.get(end + 1..).unwrap_or("")
            );
            let _ = demangle(&without, Shown::Short);
        }
    }
}

#[test]
fn classes_of_the_runtime_have_old_names() {
    for (mangled, full, short) in [
        ("_TtC4main4Stop", "main.Stop", "Stop"),
        ("_TtCV4main5Outer5Inner", "main.Outer.Inner", "Outer.Inner"),
        ("_TtCs12_SwiftObject", "Swift._SwiftObject", "_SwiftObject"),
        ("_TtC4mainP4_ABC4Stop", "main.(Stop in _ABC)", "Stop"),
        ("_TtC4mainX12vergenza_JFa", "main.vergüenza", "vergüenza"),
        ("_TtP4main1P_", "main.P", "P"),
    ] {
        assert_eq!(demangle(mangled, Shown::Full).as_deref(), Some(full));
        assert_eq!(demangle(mangled, Shown::Short).as_deref(), Some(short));
    }
    let deep = format!("_Tt{}4main{}", "C".repeat(1000), "1a".repeat(1000));
    for mangled in [
        "_Tt",
        "_TtC",
        "_TtC4main",
        "_TtC4main4",
        "_TtC4main99a",
        "_TtC4main4Stop_",
        "_TtP4main1P",
        "_Tt4main",
        "_TtGC4main3BoxSi_",
        "_TtC4maiñ4Stop",
        &deep,
    ] {
        assert_eq!(demangle(mangled, Shown::Full), None, "{mangled}");
    }
}

/// Threads that read symbols have stacks of 2 MiB, and callers of their own.
#[test]
fn a_deep_name_takes_little_stack() {
    let demangle_on_small_stack = || {
        let deepest = |depth: usize| {
            let symbol = format!("$s{}Si{}D", "Say".repeat(depth), "G".repeat(depth));
            demangle(&symbol, Shown::Full)
        };
        let shown = (1..200).filter(|depth| deepest(*depth).is_some());
        assert!(shown.count() > 50);
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    let thread = thread.spawn(demangle_on_small_stack).unwrap();
    assert!(thread.join().is_ok());
}
