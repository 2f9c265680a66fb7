use super::*;

const BASE: Position = Position {
    frame: 1000,
    levels: 1,
};

fn line(number: u32) -> Line {
    Line { file: 0, number }
}

fn recorder() -> Recorder {
    let frame = Frame {
        name: "f".to_owned(),
        arguments: "n=1".to_owned(),
    };
    Recorder::new(BASE, frame)
}

/// Begins a line where variables (name, line of the declaration) have these values.
fn at(recorder: &mut Recorder, number: u32, variables: &[(&str, u32, &str)]) {
    let seen = variables.iter().map(|(name, declared, _)| Seen {
        name: (*name).to_owned(),
        is_parameter: *declared == 0,
        declared: Some(line(*declared)),
        print: None,
    });
    recorder.begin_line(line(number), seen.collect(), |index, _| {
        Some(Snapshot {
            text: variables[index].2.to_owned(),
            exact: variables[index].2.to_owned(),
            ..Snapshot::default()
        })
    });
}

/// Writes the changes of each line.
fn written(nodes: &[Node]) -> Vec<String> {
    let steps = nodes.iter().map(|node| match node {
        Node::Step(step) => {
            let changes = step.changes.iter().map(|it| match &it.before {
                Some(before) => format!(" {}:{before}>{}", it.name, it.after),
                None => format!(" {}={}", it.name, it.after),
            });
            let inner = step.inner.iter().map(|inner| match inner {
                Inner::Call(call) => format!(" [{} {:?}]", call.name, written(&call.lines)),
                Inner::Remark(text) => format!(" [{text}]"),
            });
            let all: String = changes.chain(inner).collect();
            format!("{}{all}", step.line.number)
        }
        Node::Loop(folded) => format!("{}*", folded.count),
    });
    steps.collect()
}

#[test]
fn variable_has_a_value_once_its_declaration_ran() {
    let mut it = recorder();
    // The stack has 9 where `x` and `y` will be.
    let vars = |n, x, y| [("n", 0, n), ("x", 2, x), ("y", 9, y)];
    at(&mut it, 1, &vars("1", "9", "9"));
    at(&mut it, 2, &vars("1", "9", "9"));
    at(&mut it, 3, &vars("1", "9", "9"));
    at(&mut it, 4, &vars("5", "8", "9"));
    at(&mut it, 5, &vars("5", "8", "6"));
    it.leave(Outcome::Returned(None));
    let (nodes, outcome) = it.finish();
    assert_eq!(
        written(&nodes),
        ["1", "2 x=9", "3 n:1>5 x:9>8", "4 y=6", "5"]
    );
    assert_eq!(outcome, Outcome::Returned(None));
}

#[test]
fn variable_of_another_block_is_another_one() {
    let mut it = recorder();
    at(&mut it, 1, &[("i", 1, "0")]);
    at(&mut it, 2, &[("i", 1, "3")]);
    at(&mut it, 3, &[("i", 3, "3")]);
    at(&mut it, 4, &[("i", 3, "0")]);
    let (nodes, outcome) = it.finish();
    assert_eq!(written(&nodes), ["1 i=3", "2", "3 i=0", "4"]);
    assert_eq!(outcome, Outcome::Open);
}

#[test]
fn variable_that_comes_into_scope_again_begins_anew() {
    let mut it = recorder();
    let all = |x| [("n", 0, "1"), ("x", 2, x)];
    at(&mut it, 2, &all("9"));
    at(&mut it, 3, &all("1"));
    at(&mut it, 4, &[("n", 0, "1")]);
    // The stack may have been used for something else.
    at(&mut it, 5, &all("7"));
    at(&mut it, 6, &all("7"));
    let (nodes, _) = it.finish();
    assert_eq!(written(&nodes), ["2 x=1", "3", "4", "5", "6"]);
}

#[test]
fn position_tells_callees_from_callers() {
    let it = recorder();
    let position = |frame, levels| Position { frame, levels };
    assert_eq!(it.relation(BASE), Relation::Same);
    assert_eq!(it.relation(position(900, 1)), Relation::Callee);
    assert_eq!(it.relation(position(1000, 2)), Relation::Callee);
    assert_eq!(it.relation(position(1001, 5)), Relation::Left(1));
    let mut it = it;
    it.enter(position(900, 2), Frame::default());
    assert_eq!(it.relation(position(900, 1)), Relation::Left(1));
    assert_eq!(it.relation(BASE), Relation::Left(1));
    assert_eq!(it.relation(position(2000, 1)), Relation::Left(2));
}

#[test]
fn lines_of_a_callee_belong_to_the_line_of_its_call() {
    let mut it = recorder();
    at(&mut it, 1, &[]);
    let callee = Position {
        frame: 900,
        levels: 1,
    };
    let frame = Frame {
        name: "g".to_owned(),
        arguments: String::new(),
    };
    it.enter(callee, frame);
    at(&mut it, 10, &[]);
    it.leave(Outcome::Returned(Some("3".to_owned())));
    it.remark("caught".to_owned());
    at(&mut it, 2, &[]);
    let (nodes, _) = it.finish();
    assert_eq!(written(&nodes), [r#"1 [g ["10"]] [caught]"#, "2"]);
}
