//! Which parts of a value differ between two moments.

use super::Change;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A part of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Its path, which begins with the variable's name: `p->items[3].count`.
    pub path: String,
    /// Its value, as text.
    pub text: String,
    /// The same with addresses, for comparison.
    pub exact: String,
}

/// Parts of a value that are read together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The path of what they are parts of.
    pub path: String,
    /// A number that differs if any of them does; `None`: unknown.
    pub print: Option<u64>,
    /// The parts.
    pub leaves: Vec<Leaf>,
}

/// A value at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// The whole value in short form.
    pub text: String,
    /// Its own value with addresses: for a pointer, where it points to.
    pub exact: String,
    /// A number that differs if the bytes of the value or of its target do.
    pub print: Option<u64>,
    /// Its parts, none if it has no parts. Those that have not changed are shared with the snapshot
    /// before.
    pub groups: Vec<Arc<Group>>,
}

/// Maximum length of a value in a change, in bytes.
const MAX_VALUE_BYTES: usize = 60;

/// Returns how a value has changed from one moment to another: the parts that differ if they are
/// `most` or fewer, or the value as a whole.
pub fn differences(name: &str, before: &Snapshot, after: &Snapshot, most: usize) -> Vec<Change> {
    if before.exact == after.exact && !before.groups.is_empty() && !after.groups.is_empty() {
        match parts(&before.groups, &after.groups, most) {
            Some(changes) if !changes.is_empty() => return changes,
            _ => {}
        }
    }
    match before.exact == after.exact && before.text == after.text {
        true => Vec::new(),
        false => vec![change(name, &before.text, &after.text)],
    }
}

/// Returns the parts that differ; `None` if they are more than `most`.
fn parts(before: &[Arc<Group>], after: &[Arc<Group>], most: usize) -> Option<Vec<Change>> {
    let is_shared =
        |group: &&Arc<Group>, others: &HashSet<*const Group>| others.contains(&Arc::as_ptr(group));
    let of = |groups: &[Arc<Group>]| groups.iter().map(Arc::as_ptr).collect::<HashSet<_>>();
    let (old, new) = (of(before), of(after));
    let before = before.iter().filter(|group| !is_shared(group, &new));
    let before: Vec<&Leaf> = before.flat_map(|group| &group.leaves).collect();
    let after = after.iter().filter(|group| !is_shared(group, &old));
    let after: Vec<&Leaf> = after.flat_map(|group| &group.leaves).collect();
    let former: HashMap<&str, &Leaf> = before.iter().map(|it| (it.path.as_str(), *it)).collect();
    let mut changes = Vec::new();
    for leaf in &after {
        match former.get(leaf.path.as_str()) {
            Some(former) if former.exact == leaf.exact => continue,
            Some(former) => changes.push(change(&leaf.path, &former.text, &leaf.text)),
            // An element was added, or the last one removed.
            None => changes.push(Change {
                name: leaf.path.clone(),
                before: None,
                after: shown(&leaf.text),
            }),
        }
        if changes.len() > most {
            return None;
        }
    }
    let later: HashSet<&str> = after.iter().map(|it| it.path.as_str()).collect();
    let mut gone = before.iter().filter(|it| !later.contains(it.path.as_str()));
    // An empty container is a part itself, as are the elements of one that is not empty.
    let is_other_form = |gone: &&Leaf| {
        let mut later = after.iter();
        later.any(|it| it.path.starts_with(&gone.path) || gone.path.starts_with(&it.path))
    };
    gone.all(is_other_form).then_some(changes)
}

/// Describes a change; of long texts, from the first difference on.
fn change(name: &str, before: &str, after: &str) -> Change {
    let (before, after) = match before == after {
        true => (shown(before), format!("{} (another address)", shown(after))),
        false if before.len().max(after.len()) <= MAX_VALUE_BYTES => {
            (before.to_owned(), after.to_owned())
        }
        false => {
            let pairs = before.char_indices().zip(after.chars());
            let same = pairs.take_while(|((_, a), b)| a == b).last();
            let same = same.map_or(0, |((at, c), _)| at + c.len_utf8());
            let from = before.floor_char_boundary(same.saturating_sub(MAX_VALUE_BYTES / 3));
            let lead = if from > 0 { "…" } else { "" };
            let part = |text: &str| format!("{lead}{}", shown(text.get(from..).unwrap_or("")));
            (part(before), part(after))
        }
    };
    Change {
        name: name.to_owned(),
        before: Some(before),
        after,
    }
}

/// Returns the beginning of a text.
pub fn shown(text: &str) -> String {
    cut(text, MAX_VALUE_BYTES)
}

/// Cuts a text off after at most `most` bytes; one that is cut off ends with `…`.
pub fn cut(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(most)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(path: &str, text: &str) -> Leaf {
        Leaf {
            path: path.to_owned(),
            text: text.to_owned(),
            exact: text.to_owned(),
        }
    }

    fn snapshot(text: &str, leaves: &[(&str, &str)]) -> Snapshot {
        Snapshot {
            text: text.to_owned(),
            groups: leaves
                .iter()
                .map(|(path, text)| {
                    Arc::new(Group {
                        path: (*path).to_owned(),
                        print: None,
                        leaves: vec![leaf(path, text)],
                    })
                })
                .collect(),
            ..Snapshot::default()
        }
    }

    fn texts(changes: &[Change]) -> Vec<String> {
        changes.iter().map(Change::to_string).collect()
    }

    #[test]
    fn only_the_member_that_differs_is_named() {
        let before = snapshot("{x = 1, y = 2}", &[("p->x", "1"), ("p->y", "2")]);
        let after = snapshot("{x = 1, y = 3}", &[("p->x", "1"), ("p->y", "3")]);
        assert_eq!(
            texts(&differences("p", &before, &after, 4)),
            ["p->y: 2 → 3"]
        );
        assert!(differences("p", &before, &before, 4).is_empty());
    }

    #[test]
    fn element_that_was_added_is_named() {
        let before = snapshot("{v = {}, n = 0}", &[("s.v", "{}"), ("s.n", "0")]);
        let one = snapshot("{v = {7}, n = 1}", &[("s.v[0]", "7"), ("s.n", "1")]);
        let changes = texts(&differences("s", &before, &one, 4));
        assert_eq!(changes, ["s.v[0] = 7", "s.n: 0 → 1"]);
        let changes = texts(&differences("s", &one, &before, 4));
        assert_eq!(changes, ["s.v = {}", "s.n: 1 → 0"]);
        let two = snapshot("{7, 8}", &[("v[0]", "7"), ("v[1]", "8")]);
        let one = snapshot("{7}", &[("v[0]", "7")]);
        // The element that is gone has no value to show.
        assert_eq!(texts(&differences("v", &two, &one, 4)), ["v: {7, 8} → {7}"]);
    }

    #[test]
    fn shared_parts_are_not_compared() {
        let mut before = snapshot("{1, 2}", &[("s.a", "1"), ("s.b", "2")]);
        let mut after = before.clone();
        // They would differ.
        before.text.clear();
        after.groups[1] = Arc::new(Group {
            path: "s.b".to_owned(),
            print: None,
            leaves: vec![leaf("s.b", "3")],
        });
        assert_eq!(texts(&differences("s", &before, &after, 4)), ["s.b: 2 → 3"]);
    }

    #[test]
    fn pointer_to_another_object_changes_as_a_whole() {
        let before = snapshot("→ #1 {1}", &[("p->x", "1")]);
        let mut after = snapshot("→ #2 {2}", &[("p->x", "2")]);
        after.exact = "0x8".to_owned();
        assert_eq!(
            texts(&differences("p", &before, &after, 4)),
            ["p: → #1 {1} → → #2 {2}"]
        );
    }

    #[test]
    fn many_differences_show_the_value_from_the_first_one() {
        let leaves = |from: usize| -> Vec<(String, String)> {
            let all = 0..30;
            all.map(|at| {
                (
                    format!("a[{at}]"),
                    (at + from * usize::from(at > 9)).to_string(),
                )
            })
            .collect()
        };
        let text = |leaves: &[(String, String)]| {
            let texts: Vec<&str> = leaves.iter().map(|(_, text)| text.as_str()).collect();
            texts.join(", ")
        };
        let of = |from| {
            let leaves = leaves(from);
            let pairs: Vec<(&str, &str)> = leaves
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .collect();
            snapshot(&text(&leaves), &pairs)
        };
        let changes = differences("a", &of(0), &of(100), 4);
        assert_eq!(changes.len(), 1);
        let before = changes[0].before.as_deref().unwrap();
        assert!(
            before.starts_with('…') && before.contains("9, 10, 11"),
            "{before}"
        );
        assert!(changes[0].after.contains("9, 110, 111"), "{changes:?}");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("aüb", 2), "a…");
        assert_eq!(cut("aüb", 4), "aüb");
    }
}
