use super::*;
use crate::call_trace::Range;

fn line(number: u32) -> Line {
    Line { file: 0, number }
}

fn step(number: u32, changed: &[(&str, &str, &str)]) -> Node {
    let changes = changed.iter().map(|(name, before, after)| Change {
        name: (*name).to_owned(),
        before: (!before.is_empty()).then(|| (*before).to_owned()),
        after: (*after).to_owned(),
    });
    Node::Step(Step {
        line: line(number),
        changes: changes.collect(),
        inner: Vec::new(),
        more: 0,
    })
}

fn traced(lines: Vec<Node>) -> Traced {
    let source = [(2, "int x = 1;"), (3, "x += n;"), (4, "return x;")];
    Traced {
        head: vec!["f(n=3), a.c:1".to_owned()],
        lines,
        tail: vec!["returned 4".to_owned()],
        source: Source {
            lines: source
                .iter()
                .map(|(number, text)| (line(*number), (*text).to_owned()))
                .collect(),
            files: vec!["a.c".to_owned(), "b.h".to_owned()],
        },
    }
}

fn repeated(count: u64) -> Node {
    let iteration = |from: u64| {
        let (before, after) = (from.to_string(), (from + 1).to_string());
        vec![step(3, &[("x", &before, &after)]), step(5, &[])]
    };
    Node::Loop(Loop {
        line: line(3),
        last_line: line(5),
        count,
        kept: vec![(1, iteration(0)), (2, iteration(1))],
        last: Some((count, iteration(count - 1))),
        rest: vec![step(3, &[])],
        ranges: vec![Range {
            name: "x".to_owned(),
            first: "0".to_owned(),
            last: count.to_string(),
        }],
    })
}

#[test]
fn lines_show_source_once_and_changes() {
    let text = traced(vec![
        step(2, &[("x", "", "1")]),
        step(3, &[("x", "1", "4"), ("y", "0", "2")]),
        step(3, &[]),
    ]);
    assert_eq!(
        text.text(4000),
        "f(n=3), a.c:1\n    \
             2  int x = 1;                           x = 1\n    \
             3  x += n;                              x: 1 → 4, y: 0 → 2\n    \
             3\n\
         returned 4\n"
    );
}

#[test]
fn loop_shows_first_and_last_iterations_and_ranges() {
    let text = traced(vec![repeated(1000)]).text(4000);
    let expected = [
        " loop of lines 3-5, 1000 iterations:",
        " #1     3  x += n;                          x: 0 → 1",
        "        5",
        " #2     3   x: 1 → 2",
        "        5",
        " … 997 iterations",
        " #1000  3   x: 999 → 1000",
        "        5",
        " then   3",
        " in all: x: 0 → 1000",
    ];
    let body: Vec<&str> = text.lines().skip(1).take(expected.len()).collect();
    assert_eq!(body, expected, "{text}");
}

#[test]
fn three_iterations_are_shown_as_lines() {
    let text = traced(vec![repeated(3)]).text(4000);
    assert!(
        !text.contains("loop") && text.contains("x: 2 → 3"),
        "{text}"
    );
}

#[test]
fn text_never_exceeds_its_limit() {
    let call = Inner::Call(Call {
        name: "g".to_owned(),
        arguments: "ü".repeat(200),
        outcome: Outcome::Returned(Some("1".to_owned())),
        lines: vec![step(9, &[("long", "", &"ä".repeat(60))]); 50],
    });
    let mut nodes = Vec::new();
    for number in 1..200 {
        nodes.push(step(number, &[("x", "1", "2")]));
        nodes.push(repeated(5));
    }
    if let Node::Step(step) = &mut nodes[0] {
        step.inner = vec![call; 8];
    }
    let all = traced(nodes);
    let whole = all.text(1 << 20);
    assert!(whole.contains("… 2 iterations"), "{whole}");
    for limit in (10..6000).step_by(97).chain([whole.len(), whole.len() - 1]) {
        let text = all.text(limit);
        assert!(text.len() <= limit, "{limit}: {}", text.len());
        if (400..whole.len()).contains(&limit) {
            assert!(text.starts_with("f(n=3)") && text.contains("returned 4\n"));
        }
    }
    assert!(all.text(2000).contains("lines left out"));
}

#[test]
fn file_is_named_where_it_is_not_the_calls() {
    let mut nodes = vec![step(2, &[])];
    if let Node::Step(step) = &mut nodes[0] {
        step.line.file = 1;
    }
    assert!(traced(nodes).text(4000).contains("b.h:2"));
}

#[test]
fn what_is_left_out_is_said_with_the_limit_that_has_all() {
    let nodes = || vec![step(2, &[("x", "", "1")]), repeated(40), step(4, &[])];
    let whole = traced(nodes()).text(usize::MAX);
    assert!(!whole.contains("left out"), "{whole}");
    let text = traced(nodes()).text(whole.len() - 1);
    let remark = format!(
        "left out for want of room; `limit` {} has all\n",
        whole.len()
    );
    assert!(text.ends_with(&remark), "{text}");
    assert_eq!(traced(nodes()).text(whole.len()), whole);
}

#[test]
fn line_without_changes_is_shown_whole() {
    let long = format!("if (a && {}) {{", "b && ".repeat(20));
    let shown = |changes: &[(&str, &str, &str)]| {
        let mut traced = traced(vec![step(2, changes)]);
        traced.source.lines.insert(line(2), long.clone());
        traced.text(usize::MAX)
    };
    assert!(shown(&[]).contains(&long));
    assert!(!shown(&[("x", "1", "2")]).contains(&long));
}
