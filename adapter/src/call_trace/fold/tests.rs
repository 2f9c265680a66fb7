use super::*;

fn line(number: u32) -> Line {
    Line { file: 0, number }
}

/// Executes these lines; the line 7 counts `i`.
fn folded(lines: impl IntoIterator<Item = u32>) -> Vec<Node> {
    let mut folder = Folder::default();
    let (mut i, mut last) = (0, 0);
    for number in lines {
        let mut changes = Vec::new();
        if last == 7 {
            changes.push(Change {
                name: "i".to_owned(),
                before: Some(i.to_string()),
                after: (i + 1).to_string(),
            });
            i += 1;
        }
        folder.begin(line(number), changes);
        last = number;
    }
    folder.finish(Vec::new())
}

/// Writes nodes as `1 2 3*(2 4|2 4|…)+2`: loops with their count, the kept iterations, the last one,
/// and what follows the last complete one.
fn written(nodes: &[Node]) -> String {
    let texts = nodes.iter().map(|node| match node {
        Node::Step(step) => step.line.number.to_string(),
        Node::Loop(folded) => {
            let kept = folded.kept.iter();
            let mut kept: Vec<String> = kept
                .map(|(number, nodes)| format!("{number}: {}", written(nodes)))
                .collect();
            if let Some((number, nodes)) = &folded.last {
                kept.push(format!("last {number}: {}", written(nodes)));
            }
            let rest = match written(&folded.rest) {
                rest if rest.is_empty() => rest,
                rest => format!("+{rest}"),
            };
            format!("{}*({}){rest}", folded.count, kept.join(" | "))
        }
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Returns the lines that nodes stand for, if no iteration was left out.
fn unfolded(nodes: &[Node], lines: &mut Vec<u32>) {
    for node in nodes {
        match node {
            Node::Step(step) => lines.push(step.line.number),
            Node::Loop(folded) => {
                let kept = folded.kept.iter().chain(&folded.last);
                kept.for_each(|(_, nodes)| unfolded(nodes, lines));
                unfolded(&folded.rest, lines);
            }
        }
    }
}

#[test]
fn straight_code_is_a_list_of_lines() {
    assert_eq!(written(&folded([1, 2, 4, 3])), "1 2 4 3");
    assert_eq!(written(&folded([])), "");
}

#[test]
fn loop_keeps_two_first_iterations_and_the_last() {
    let lines = [1].into_iter().chain([5, 7].repeat(1000)).chain([5, 9]);
    let nodes = folded(lines);
    assert_eq!(
        written(&nodes),
        "1 1000*(1: 5 7 | 2: 5 7 | last 1000: 5 7)+5 9"
    );
    let Node::Loop(found) = &nodes[1] else {
        panic!("no loop: {nodes:?}");
    };
    assert_eq!((found.line, found.last_line), (line(5), line(7)));
    let range = &found.ranges[0];
    assert_eq!((&*range.first, &*range.last), ("0", "1000"));
}

#[test]
fn range_of_a_loop_ends_with_the_loop() {
    let mut folder = Folder::default();
    let change = |before: u32, after: u32| {
        vec![Change {
            name: "i".to_owned(),
            before: Some(before.to_string()),
            after: after.to_string(),
        }]
    };
    for i in 0..9 {
        folder.begin(line(5), Vec::new());
        folder.begin(line(6), change(i, i + 1));
    }
    folder.begin(line(8), Vec::new());
    folder.begin(line(9), change(9, 70));
    let nodes = folder.finish(Vec::new());
    let Node::Loop(found) = &nodes[0] else {
        panic!("no loop: {nodes:?}");
    };
    let range = &found.ranges[0];
    assert_eq!((&*range.first, &*range.last), ("0", "9"), "{nodes:?}");
}

#[test]
fn iteration_on_another_path_is_kept() {
    let usual = [5, 7].repeat(10);
    let lines = usual.iter().chain(&[5, 6, 7]).chain(&usual).chain(&[5]);
    assert_eq!(
        written(&folded(lines.copied())),
        "21*(1: 5 7 | 2: 5 7 | 11: 5 6 7 | last 21: 5 7)+5"
    );
}

#[test]
fn nested_loop_is_folded_inside_its_iteration() {
    let inner = [3].into_iter().chain([5, 7].repeat(10)).chain([5]);
    let outer: Vec<u32> = inner.collect();
    let lines = [1].into_iter().chain(outer.repeat(9)).chain([3, 9]);
    let inner = "3 10*(1: 5 7 | 2: 5 7 | last 10: 5 7)+5";
    assert_eq!(
        written(&folded(lines)),
        format!("1 9*(1: {inner} | 2: {inner} | last 9: {inner})+3 9")
    );
}

#[test]
fn loops_in_sequence_stay_apart() {
    let lines = [5, 7].repeat(3).into_iter().chain([5, 10, 11]);
    let lines = lines.chain([10, 11].repeat(3)).chain([10, 12]);
    assert_eq!(
        written(&folded(lines)),
        "3*(1: 5 7 | 2: 5 7 | last 3: 5 7)+5 4*(1: 10 11 | 2: 10 11 | 3: 10 11 | last 4: 10 11)+10 12"
    );
}

#[test]
fn short_loop_keeps_all_iterations() {
    let kept = |count: usize| {
        let nodes = folded([5, 7].repeat(count).into_iter().chain([5, 9]));
        match nodes.first() {
            Some(Node::Loop(found)) => {
                let kept = found.kept.iter().chain(&found.last);
                kept.map(|(number, _)| *number).collect::<Vec<_>>()
            }
            other => panic!("no loop: {other:?}"),
        }
    };
    assert_eq!(kept(8), [1, 2, 3, 4, 5, 6, 7, 8]);
    // Of a short loop of short loops, the text would be long.
    let nested = [3, 5, 7, 5, 7, 5].repeat(6);
    let inner = "3 2*(1: 5 7 | 2: 5 7)+5";
    assert_eq!(
        written(&folded(nested)),
        format!("6*(1: {inner} | 2: {inner} | last 6: {inner})")
    );
    assert_eq!(kept(9), [1, 2, 9]);
}

#[test]
fn loop_that_ends_with_a_complete_iteration_counts_it() {
    let lines = [1].into_iter().chain([2, 3, 4].repeat(3)).chain([9]);
    assert_eq!(
        written(&folded(lines)),
        "1 3*(1: 2 3 4 | 2: 2 3 4 | last 3: 2 3 4) 9"
    );
}

#[test]
fn short_sequences_lose_nothing() {
    // All sequences of up to seven of three lines: whatever is folded, the order stays.
    for length in 0..8_u32 {
        for number in 0..3_u32.pow(length) {
            let lines: Vec<u32> = (0..length).map(|at| number / 3_u32.pow(at) % 3).collect();
            let nodes = folded(lines.iter().copied());
            let mut found = Vec::new();
            unfolded(&nodes, &mut found);
            let mut omitted = false;
            for_loops(&nodes, &mut |it| {
                omitted |= (it.kept.len() + usize::from(it.last.is_some())) as u64 != it.count;
            });
            assert!(omitted || found == lines, "{lines:?}: {}", written(&nodes));
        }
    }
}

fn for_loops(nodes: &[Node], found: &mut dyn FnMut(&Loop)) {
    for node in nodes {
        if let Node::Loop(inner) = node {
            found(inner);
            let kept = inner.kept.iter().chain(&inner.last);
            kept.for_each(|(_, nodes)| for_loops(nodes, found));
            for_loops(&inner.rest, found);
        }
    }
}

#[test]
fn size_does_not_depend_on_the_number_of_iterations() {
    let mut state = 7_u64;
    let lines = (0..200_000).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 60) as u32
    });
    let nodes = folded(lines);
    let mut count = 0;
    for_lines(&nodes, &mut |_| count += 1);
    assert!(count < 100_000, "{count}");
}
