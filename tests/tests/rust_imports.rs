//! Variants and structs of Rust that a `use` brings, and `Self`: what the source imports decides.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

fn shows(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(client.evaluate(expression), *expected, "{expression}");
    }
}

fn stopped_at(places: &[&str]) -> DapClient {
    let fixture = Fixture::of("rust/imported_variants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, places);
    client.configure();
    client.expect_stopped("breakpoint");
    client
}

#[test]
fn a_use_decides_on_names_of_variants() {
    let mut client = stopped_at(&["values"]);
    shows(
        &mut client,
        &[
            ("Running", "Running"),
            ("state == Running", "false"),
            ("state == Paused", "true"),
            ("state != Paused", "false"),
            ("(Running, Paused)", "(Running, Waiting)"),
            ("states::State::Idle(3)", "Idle(3)"),
            ("State::Waiting", "Waiting"),
            (
                "[Paused, Running, State::Idle(1)]",
                "[Waiting, Running, Idle(1)]",
            ),
            ("Circle", "Circle"),
            ("shape == Circle", "true"),
            ("Circle == shape", "true"),
            ("shape == Rectangle { wide: 2, high: 3 }", "false"),
            ("Square(4)", "Square(4)"),
            ("Some(Square(4))", "Some(Square(4))"),
            ("Mark(5)", "Mark(5)"),
            ("Mark(5).0", "5"),
            ("Marker", "Marker"),
            ("marker.clone()", "Marker"),
            ("(Marker, 1)", "(Marker, 1)"),
            ("Pair(1, -2)", "Pair(1, -2)"),
            ("order == Less", "true"),
            ("order == Ordering::Less", "true"),
            ("if let Paused = state { 1 } else { 2 }", "1"),
            ("matches!(shape, Circle | Square(_))", "true"),
        ],
    );
    // What no `use` brings here is not taken from elsewhere.
    for name in ["Waiting", "Low", "Busy(1)", "Greater"] {
        let error = client.try_evaluate(name).expect_err(name);
        assert!(
            error.contains(name.trim_end_matches("(1)")),
            "{name}: {error}"
        );
    }
    client.disconnect();
}

#[test]
fn the_types_of_names_are_those_of_the_imported() {
    let mut client = stopped_at(&["values"]);
    for (expression, ty) in [
        (
            "Running",
            "imported_variants::imported_variants::states::State",
        ),
        (
            "Mark(5)",
            "imported_variants::imported_variants::shapes::deeper::Mark",
        ),
        (
            "Circle",
            "imported_variants::imported_variants::shapes::deeper::Shape",
        ),
    ] {
        let shown = client.evaluated(expression).expect(expression);
        assert_eq!(shown["type"], ty, "{expression}");
    }
    client.disconnect();
}

#[test]
fn self_is_the_type_of_the_impl() {
    let mut client = stopped_at(&["method", "generic", "of_struct", "of_fields"]);
    shows(
        &mut client,
        &[
            ("Self::Low", "Low"),
            ("self == Self::Low", "true"),
            ("other == High", "true"),
            ("other as u8 + Low as u8", "10"),
        ],
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("*self == Self::Empty", "false"),
            ("*self == Self::Leaf(3)", "true"),
            ("matches!(self, Self::Leaf(3))", "true"),
        ],
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("other == Self(2, 1)", "true"),
            ("self .0", "1"),
            (
                "match self.0 { 0 => Ok(self.1), _ => Err(true) }",
                "Err(true)",
            ),
            ("if self.0 == 1 { Ok(self.1) } else { Err('a') }", "Ok(2)"),
            ("Self(3, -4)", "Pair(3, -4)"),
        ],
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("other == Self { wide: 4, high: 3 }", "true"),
            ("Self { wide: 9, ..other }.high", "3"),
        ],
    );
    client.disconnect();
}

/// The module is declared twice, for a feature and without it.
#[test]
fn a_use_decides_on_names_of_functions() {
    let mut client = stopped_at(&["functions"]);
    shows(
        &mut client,
        &[
            ("shapes::corners(Square(1))", "4"),
            ("shapes::corners(Circle)", "0"),
            ("counted(Square(1)) + 1", "5"),
            ("Number::new(3)", "Small(Packed(3))"),
        ],
    );
    for function in ["shapes::corners", "counted", "Number::new"] {
        let shown = client.evaluate(function);
        assert!(shown.contains("::"), "{function}: {shown}");
    }
    let error = client.try_evaluate("shapes::edges(Circle)");
    assert!(error.is_err(), "{error:?}");
    client.disconnect();
}

#[test]
fn values_decide_on_instances_of_generic_structs() {
    let mut client = stopped_at(&["packed"]);
    shows(
        &mut client,
        &[
            ("Packed(value)", "Packed(300)"),
            ("Packed(value) == half", "true"),
            ("Packed(7u8)", "Packed(7)"),
            ("Number::Large(Packed(value))", "Large(Packed(300))"),
            ("Number::Small(Packed(7u8))", "Small(Packed(7))"),
            ("Self::new(value)", "Large(Packed(300))"),
            ("Self::new(value) == Self::Large(half)", "true"),
        ],
    );
    let shown = client.evaluate("Self::new");
    assert!(shown.contains("Number::new"), "{shown}");
    client.disconnect();
}

/// There is no `self` whose type would say which instance runs.
#[test]
fn self_is_the_instance_that_runs() {
    let mut client = stopped_at(&["of_instance", "of_chain"]);
    shows(
        &mut client,
        &[
            ("Self::Leaf(value)", "Leaf('a')"),
            ("matches!(leaf, Self::Leaf('a'))", "true"),
            ("matches!(leaf, Self::Empty)", "false"),
            ("size_of::<Tree<T>>() == size_of::<T>()", "true"),
            ("size_of::<Pair>()", "16"),
        ],
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("Self { first, rest }", "Chain {first: 4, rest: None}"),
            ("Self { first: 7, rest: None }.first", "7"),
            ("Self::of(first).first", "4"),
            ("std::mem::size_of::<Chain<T>>()", "16"),
        ],
    );
    client.disconnect();
}

#[test]
fn methods_of_traits_see_what_their_file_imports() {
    let mut client = stopped_at(&["of_trait"]);
    shows(
        &mut client,
        &[
            ("Running", "Running"),
            ("*self == Self::High", "true"),
            ("Self::Low", "Low"),
            ("Circle", "Circle"),
        ],
    );
    client.disconnect();
}

#[test]
fn a_use_in_a_function_is_for_that_function() {
    let mut client = stopped_at(&["block"]);
    shows(
        &mut client,
        &[
            ("local", "Busy(2)"),
            ("local == Idle", "false"),
            ("local == Busy(2)", "true"),
            ("Busy(7)", "Busy(7)"),
            ("state == Running", "true"),
        ],
    );
    client.disconnect();
}

#[test]
fn conditions_name_imported_variants() {
    let fixture = Fixture::of("rust/imported_variants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let conditions = vec![
        ("block", json!({"condition": "state == Paused"})),
        (
            "values",
            json!({"condition": "state == Paused && shape != Square(1)"}),
        ),
    ];
    let set = client.set_breakpoints_with(&fixture, conditions);
    assert_eq!(set[0]["verified"], true, "{set:?}");
    client.configure();
    client.expect_stopped("breakpoint");
    shows(&mut client, &[("state", "Waiting"), ("order", "Less")]);
    client.disconnect();
}
