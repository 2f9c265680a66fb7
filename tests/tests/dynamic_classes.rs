//! Objects of C++ that are seen as one of their bases; static members and variables.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Runs `check` at the mark, with the program of each compiler.
fn each(check: impl Fn(&mut DapClient)) {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let fixture = Fixture::build("cpp/hierarchy.cpp", Flags::new(compiler));
        if let Some(fixture) = fixture {
            let mut client = DapClient::stopped_at(&fixture, "looked");
            check(&mut client);
            client.disconnect();
        }
    }
}

/// Nothing has read an index of names before.
#[test]
fn variables_show_the_dynamic_class_at_the_first_stop() {
    each(|client| {
        let locals = client.local_variables();
        for (name, class, member, value) in [
            ("circle", "→ Circle {", "radius", "3"),
            ("quiet", "→ Quiet {", "quiet", "6"),
            ("kept", "→ Kept {", "kept", "7"),
            ("named", "→ Kept {", "kept", "7"),
            ("sides", "→ Sides {", "id", "10"),
            ("local", "::Local {", "local", "11"),
            ("owned", "Circle {", "radius", "3"),
        ] {
            let variable = &locals[name];
            let text = variable["value"].as_str().unwrap_or_default();
            assert!(text.contains(class), "{name} = {text}");
            let children = client.children(variable);
            assert_eq!(
                children.get(member).map(String::as_str),
                Some(value),
                "{name}: {children:?}"
            );
        }
        let found = client.child(&locals["sides"], "id")["evaluateName"].clone();
        assert_eq!(found, "static_cast<Sides *>(sides)->id");
    });
}

#[test]
fn expressions_keep_the_class_of_the_declaration() {
    each(|client| {
        for (expression, value) in [
            ("owned->id", "2"),
            ("(*owned).id", "2"),
            ("owned->area()", "3"),
            ("owned->radius", "3"),
            ("owned->tag", "1"),
            ("sides->id", "2"),
            ("static_cast<Sides *>(sides)->id", "10"),
            ("local->local", "11"),
            ("dynamic_cast<Circle *>(circle)->radius", "3"),
            ("dynamic_cast<Named *>(circle)->tag", "1"),
            ("dynamic_cast<Quiet *>(circle)", "0x0"),
            ("dynamic_cast<Quiet *>(quiet)->quiet", "6"),
            ("dynamic_cast<Named *>(kept)", "0x0"),
            ("dynamic_cast<Kept *>(named)", "0x0"),
            ("dynamic_cast<Kept *>(kept)->kept", "7"),
            ("dynamic_cast<Right *>(sides)->side", "9"),
            (
                "dynamic_cast<void *>(circle) == dynamic_cast<Named *>(circle)",
                "true",
            ),
        ] {
            assert_eq!(
                client.try_evaluate(expression).as_deref(),
                Ok(value),
                "{expression}"
            );
        }
        for (expression, why) in [
            ("((Spread *)plain)->spread", "does not show where"),
            ("dynamic_cast<Quiet &>(*circle)", "the object is no `Quiet`"),
            ("sides->side", "`side` is ambiguous"),
        ] {
            let error = client.try_evaluate(expression).expect_err(expression);
            assert!(error.contains(why), "{expression}: {error}");
        }
    });
}

/// clang describes the first value of a member in its declaration.
#[test]
fn static_members_have_their_present_values() {
    each(|client| {
        for (expression, value) in [
            ("Counted::count", "101"),
            ("*&Counted::count", "101"),
            ("Counted::limit", "5"),
            ("Counted::fixed", "3"),
            ("Counted::mine", "21"),
            ("Counted::count == 101 && Counted::limit == 5", "true"),
        ] {
            assert_eq!(
                client.try_evaluate(expression).as_deref(),
                Ok(value),
                "{expression}"
            );
        }
    });
}

/// gcc's link-time optimization describes variables in units without code.
#[test]
fn variables_of_optimized_links_have_values() {
    let flags = Flags {
        extra: &["-flto"],
        ..Flags::new(Compiler::Gcc)
    };
    let Some(fixture) = Fixture::build("cpp/hierarchy.cpp", flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition = "own == 42 && inner::within == 53 && shared == 31";
    client.set_breakpoints_with(&fixture, vec![("looked", json!({"condition": condition}))]);
    client.configure();
    client.expect_stopped("breakpoint");
    for (expression, value) in [
        ("shared", "31"),
        ("own", "42"),
        ("inner::within", "53"),
        ("unnamed", "64"),
        ("*&own", "42"),
        ("Counted::count", "101"),
    ] {
        assert_eq!(
            client.try_evaluate(expression).as_deref(),
            Ok(value),
            "{expression}"
        );
    }
    client.disconnect();
}
