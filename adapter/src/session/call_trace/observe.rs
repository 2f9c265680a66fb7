//! Reads what a trace shows of a stopped program: variables, arguments, the targets of pointers.

use super::{Inside, end};
use crate::call_trace::{Change, Group, Leaf, Line, Seen, Snapshot, Use, cut, differences, use_of};
use crate::session::Session;
use engine::value::scalar::NumberFormat;
use engine::value::{ChildPath, Shape};
use engine::{
    Child, ChildFilter, Frame, FrameKey, Limits, Named, Objects, Pointees, ThreadId, Value,
};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of members and elements of a value that are compared, of members with all of their
/// elements, and of elements of one array.
const MAX_LEAVES: usize = 4096;
const MAX_GROUPS: usize = 128;
const MAX_CHILDREN: u64 = 1024;
/// Maximum number of parts of one argument that are named when the call has ended.
const MAX_CHANGES: usize = 12;
/// Maximum depth of members in members.
const MAX_DEPTH: usize = 4;
/// Number of pointers followed from a variable, and from an argument at the return.
const POINTERS: (usize, usize) = (1, 2);
/// Maximum length of the text of one argument, and of all.
const MAX_ARGUMENT_BYTES: (usize, usize) = (80, 240);
/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 120;

/// What is shown for a variable that was moved, once the memory that it owned is another's.
const MOVED: &str = "(moved)";

/// An argument whose targets are compared when the call has ended.
#[derive(Debug)]
pub(super) struct Watched {
    name: String,
    value: Value,
    before: Snapshot,
}

/// Reads values of a stopped program.
pub(super) struct Reading<'a> {
    pub session: &'a mut Session,
    pub objects: &'a mut Objects,
}

/// Returns limits for a value's text of about `text` bytes.
fn limits(numbers: NumberFormat, text: usize) -> Limits {
    Limits {
        text,
        elements: 16,
        string: text,
        depth: 3,
        numbers,
        addresses: false,
        pointees: Pointees::Numbered,
    }
}

impl Reading<'_> {
    fn text(&mut self, value: &Value, bytes: usize) -> Option<String> {
        self.text_of(value, bytes, 3)
    }

    fn text_of(&mut self, value: &Value, bytes: usize, depth: usize) -> Option<String> {
        let limits = Limits {
            depth,
            ..limits(self.session.settings.limits.numbers, bytes)
        };
        // Each value shows its targets itself.
        self.objects.begin();
        let debugger = &mut self.session.debugger;
        let shown = debugger.present_with(value, &limits, self.objects);
        shown.error.is_none().then_some(shown.text)
    }

    /// Returns a pointer's address as text; empty for other values.
    fn exact(&mut self, value: &Value, text: &str) -> String {
        if !(text.starts_with('→') || text.contains("0x…")) {
            return String::new();
        }
        let limits = Limits {
            addresses: true,
            pointees: Pointees::Hidden,
            depth: 0,
            ..limits(NumberFormat::Natural, 100)
        };
        self.session.debugger.present(value, &limits).text
    }

    /// Returns the value of a variable; `None` if it has none, or if it is the former one.
    pub fn snapshot(&mut self, named: &Named, former: Option<&Snapshot>) -> Option<Snapshot> {
        let value = named.value.as_ref().ok()?;
        let text = self.text(value, 400)?;
        let is_pointer = text.starts_with('→') || text.starts_with("0x…");
        let exact = match is_pointer {
            true => self.exact(value, &text),
            false => String::new(),
        };
        let print = self.session.debugger.bytes_print(value);
        let is_same = |it: &Snapshot| it.print == print && it.text == text && it.exact == exact;
        if former.is_some_and(is_same) {
            return None;
        }
        Some(Snapshot {
            groups: self.groups(value, &named.name, POINTERS.0, former, None),
            text,
            exact,
            print,
        })
    }

    /// Returns the value of a variable that a line may have moved, while it was `own`: if what it owns has changed,
    /// the memory is another's.
    pub fn snapshot_of_moved(
        &mut self,
        named: &Named,
        former: Option<&Snapshot>,
        own: Option<u64>,
    ) -> Option<Snapshot> {
        let value = named.value.as_ref().ok()?;
        let stays = own.is_some() && own_print(self.session, value) == own;
        match former {
            Some(former) if stays && former.text == MOVED => None,
            Some(former) if stays => {
                let now = self.snapshot(named, Some(former))?;
                let text = MOVED.to_owned();
                Some(Snapshot {
                    text,
                    groups: Vec::new(),
                    exact: former.exact.clone(),
                    ..now
                })
            }
            former => self.snapshot(named, former),
        }
    }

    /// Returns the parts of a value; none if it has no parts.
    fn groups(
        &mut self,
        value: &Value,
        name: &str,
        pointers: usize,
        former: Option<&Snapshot>,
        own: Option<Range<u64>>,
    ) -> Vec<Arc<Group>> {
        let former = former.map(|it| it.groups.iter().map(|it| (it.path.as_str(), it)).collect());
        let mut parts = Parts {
            former: former.unwrap_or_default(),
            groups: Vec::new(),
            leaves: 0,
            own: None,
        };
        let of_argument = own.is_some();
        parts.own = own;
        self.collect(value, name, (pointers, 0), &mut parts);
        match parts.groups.as_slice() {
            // A variable without parts; the target of a reference is one.
            [only] if only.path == name && only.leaves.len() <= 1 && !of_argument => Vec::new(),
            _ => parts.groups,
        }
    }

    fn collect(
        &mut self,
        value: &Value,
        path: &str,
        (pointers, depth): (usize, usize),
        parts: &mut Parts<'_>,
    ) {
        if parts.is_full() {
            return;
        }
        let own = match lends(value) {
            true => None,
            false => parts.own.clone(),
        };
        let around = std::mem::replace(&mut parts.own, own);
        self.collect_inside(value, path, (pointers, depth), parts);
        parts.own = around;
    }

    fn collect_inside(
        &mut self,
        value: &Value,
        path: &str,
        (pointers, depth): (usize, usize),
        parts: &mut Parts<'_>,
    ) {
        let print = self.session.debugger.fingerprint(value);
        if let Some(former) = parts.former.get(path)
            && print.is_some()
            && former.print == print
        {
            let former = Arc::clone(former);
            parts.push(former);
            return;
        }
        let mut range = 0..MAX_CHILDREN;
        let debugger = &mut self.session.debugger;
        let children = match depth < MAX_DEPTH {
            true => debugger.next_children(value, None, ChildFilter::All, &mut range),
            false => Ok(engine::ChildBatch::Children(Vec::new())),
        };
        let mut children = children.map(|batch| batch.children()).unwrap_or_default();
        // An empty container has nothing else.
        children.retain(|child| child.name != "[raw]");
        let of_pointer = children.first().is_some_and(is_of_pointer);
        if children.is_empty() || (of_pointer && pointers == 0) {
            let leaf = match parts.own {
                Some(_) => None,
                None => self.leaf(value, path),
            };
            parts.push(Arc::new(Group {
                path: path.to_owned(),
                print,
                leaves: leaf.into_iter().collect(),
            }));
            return;
        }
        let children: Vec<(String, Value)> = children
            .into_iter()
            .filter_map(|child| Some((path_of(path, &child), child.value.ok()?)))
            .filter(|(_, child)| parts.may_hold(child))
            .collect();
        if print.is_some() {
            // An array of numbers.
            let leaves = children.iter();
            let leaves = leaves.filter_map(|(path, value)| self.leaf(value, path));
            parts.push(Arc::new(Group {
                path: path.to_owned(),
                print,
                leaves: leaves.collect(),
            }));
            return;
        }
        let inner = (pointers - usize::from(of_pointer), depth + 1);
        // Numbers first: what is left out then are members of members. The order stays.
        let (numbers, others): (Vec<_>, Vec<_>) = children
            .iter()
            .enumerate()
            .partition(|(_, (_, value))| self.session.debugger.fingerprint(value).is_some());
        let first = parts.groups.len();
        let mut read = Vec::with_capacity(children.len());
        for (index, (path, value)) in numbers.into_iter().chain(others) {
            let from = parts.groups.len();
            self.collect(value, path, inner, parts);
            read.push((index, from - first..parts.groups.len() - first));
        }
        read.sort_by_key(|(index, _)| *index);
        let groups = parts.groups.split_off(first);
        let in_order = read.into_iter().flat_map(|(_, range)| range);
        let in_order = in_order.filter_map(|at| groups.get(at).cloned());
        parts.groups.extend(in_order);
    }

    fn leaf(&mut self, value: &Value, path: &str) -> Option<Leaf> {
        let text = self.text(value, 100)?;
        let exact = format!("{text} {}", self.exact(value, &text));
        let path = cut(path, MAX_NAME_BYTES);
        Some(Leaf { path, text, exact })
    }
}

/// The parts of a value as they are read.
struct Parts<'a> {
    /// Those of the snapshot before, by path.
    former: HashMap<&'a str, &'a Arc<Group>>,
    groups: Vec<Arc<Group>>,
    leaves: usize,
    /// The bytes of an argument that is passed by value, unless a pointer has led out of it. What it owns outside
    /// of them (the elements of a vector, the target of a box) belongs to the callee, which may move or free
    /// it; the caller sees only what pointers and references lead to.
    own: Option<Range<u64>>,
}

impl Parts<'_> {
    fn may_hold(&self, child: &Value) -> bool {
        match (&self.own, child.address()) {
            (Some(own), Some(address)) => own.contains(&address.0),
            _ => true,
        }
    }

    fn is_full(&self) -> bool {
        self.groups.len() >= MAX_GROUPS || self.leaves >= MAX_LEAVES
    }

    fn push(&mut self, group: Arc<Group>) {
        self.leaves += group.leaves.len();
        self.groups.push(group);
    }
}

/// Returns whether a value leads to something that it does not own: a pointer or a reference, or Rust's slices.
fn lends(value: &Value) -> bool {
    let name = value.ty.name();
    match value.ty.shape() {
        Shape::Pointer(..) => !name.contains("Box<"),
        _ => name.starts_with(['&', '*']),
    }
}

/// Returns whether a child is the target of its parent, or a member of that.
fn is_of_pointer(child: &Child) -> bool {
    match &child.path {
        Some(ChildPath::Prefix(_)) => true,
        Some(ChildPath::Suffix(suffix)) => suffix.starts_with("->"),
        Some(ChildPath::Around(_, behind)) => behind.contains("->"),
        _ => false,
    }
}

/// Returns the path of a child.
fn path_of(parent: &str, child: &Child) -> String {
    match &child.path {
        Some(ChildPath::Same) => parent.to_owned(),
        Some(ChildPath::Prefix(prefix)) => format!("{prefix}{parent}"),
        Some(ChildPath::Around(before, behind)) => format!("{before}{parent}{behind}"),
        Some(ChildPath::Name) => format!("{parent}{}", child.name),
        Some(ChildPath::Suffix(suffix)) => {
            match (parent.strip_prefix('*'), suffix.strip_prefix('.')) {
                // A member of a target: `(*p).x`.
                (Some(pointer), Some(member)) => format!("{pointer}->{member}"),
                _ => format!("{parent}{suffix}"),
            }
        }
        None if child.name.starts_with('[') => format!("{parent}{}", child.name),
        None => format!("{parent}.{}", child.name),
    }
}

/// Returns whether a variable's name is in the source of its declaration. rustc declares a variable
/// `iter` for each `for` loop, which debug info does not mark.
pub(super) fn is_written(session: &mut Session, inside: &mut Inside, named: &Named) -> bool {
    let Some(place) = &named.declaration else {
        return true;
    };
    let line = inside.line(Some(place));
    if let Some(known) = inside.written.get(&line) {
        return *known;
    }
    let path = session.sources.local(&place.file.path);
    let source = end::read_lines(&path, &BTreeSet::from([place.line]));
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let is_written = source.first().is_none_or(|(_, text)| {
        // A method of the name is another thing.
        let mut words = text.split(|char| !is_word(char) && char != '.');
        words.any(|word| word == named.name)
    });
    inside.written.insert(line, is_written);
    is_written
}

/// Notes which variables the line that was executed may have moved: those that own memory elsewhere.
pub(super) fn note_moves(session: &mut Session, inside: &mut Inside, frame: u64, locals: &[Named]) {
    let Some(source) = inside
        .recorder
        .line()
        .and_then(|line| source_of(session, inside, line))
    else {
        return;
    };
    for named in locals {
        let Some(value) = named.value.as_ref().ok().filter(|value| !lends(value)) else {
            continue;
        };
        match use_of(&source, &named.name) {
            Use::None => {}
            Use::InPlace => drop(inside.moved.remove(&(frame, named.name.clone()))),
            Use::Moves => {
                let own = own_print(session, value);
                inside.moved.insert((frame, named.name.clone()), own);
            }
        }
    }
}

/// Returns a number that differs if a variable's own value does, whatever becomes of what it owns.
fn own_print(session: &mut Session, value: &Value) -> Option<u64> {
    match value.ty.shape() {
        Shape::Pointer(..) => session.debugger.value_address(value).ok().map(|it| it.0),
        _ => session.debugger.bytes_print(value),
    }
}

/// Returns the source of a line that was executed, read once.
fn source_of(session: &mut Session, inside: &mut Inside, line: Line) -> Option<Arc<str>> {
    if let Some(known) = inside.sources.get(&line) {
        return known.clone();
    }
    let file = inside.files.get(usize::try_from(line.file).ok()?)?;
    let path = session.sources.local(&file.path);
    let read = end::read_lines(&path, &BTreeSet::from([line.number]));
    let text: Option<Arc<str>> = read.into_iter().next().map(|(_, text)| text.into());
    inside.sources.insert(line, text.clone());
    text
}

/// Describes a variable at a stop.
pub(super) fn seen(session: &Session, inside: &mut Inside, named: &Named) -> Seen {
    let print = named.value.as_ref().ok();
    Seen {
        name: cut(&named.name, MAX_NAME_BYTES),
        is_parameter: named.is_parameter,
        declared: named
            .declaration
            .as_ref()
            .map(|place| inside.line(Some(place))),
        print: print.and_then(|value| session.debugger.fingerprint(value)),
    }
}

/// How the targets of pointers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Targets {
    /// With their contents.
    Whole,
    /// By their numbers.
    Numbers,
}

/// Returns the arguments of a frame's function as text.
pub(super) fn arguments(
    session: &mut Session,
    objects: &mut Objects,
    frame: FrameKey,
    targets: Targets,
) -> String {
    let parameters = session.debugger.parameters(frame).unwrap_or_default();
    let mut reading = Reading { session, objects };
    let mut text = String::new();
    for named in parameters {
        if !text.is_empty() {
            text.push_str(", ");
        }
        if text.len() > MAX_ARGUMENT_BYTES.1 {
            text.push('…');
            break;
        }
        let value = named.value.as_ref().ok();
        let depth = match targets {
            Targets::Whole => 3,
            Targets::Numbers => 1,
        };
        let value = value.and_then(|value| reading.text_of(value, MAX_ARGUMENT_BYTES.0, depth));
        let value = value.as_deref().unwrap_or("?");
        // The name of a shadowed parameter ends with the line of its declaration.
        let name = named.name.split(" (line ").next().unwrap_or_default();
        match name {
            "" => text.push_str(value),
            name => text.push_str(&format!("{}={value}", cut(name, MAX_ARGUMENT_BYTES.0))),
        }
    }
    text
}

/// Returns the arguments that have targets, with these as they are now.
pub(super) fn targets(
    session: &mut Session,
    objects: &mut Objects,
    frame: FrameKey,
) -> Vec<Watched> {
    let locals = session.debugger.locals(frame).unwrap_or_default();
    let mut reading = Reading { session, objects };
    let parameters = locals.into_iter().filter(|named| named.is_parameter);
    parameters
        .filter_map(|named| {
            let value = reading
                .session
                .debugger
                .with_present_bytes(named.value.as_ref().ok()?);
            let before = reading.whole(&value, &named.name)?;
            let name = named.name;
            (!before.groups.is_empty()).then_some(Watched {
                name,
                value,
                before,
            })
        })
        .collect()
}

impl Reading<'_> {
    /// Returns an argument with the targets of its pointers.
    fn whole(&mut self, value: &Value, name: &str) -> Option<Snapshot> {
        let begin = value.address().map_or(0, |address| address.0);
        let own = begin..begin.saturating_add(value.ty.size().unwrap_or(0));
        Some(Snapshot {
            text: self.text(value, 400)?,
            groups: self.groups(value, name, POINTERS.1, None, Some(own)),
            ..Snapshot::default()
        })
    }

    /// Returns what has changed of the targets of arguments.
    pub fn changes(&mut self, targets: &[Watched]) -> Vec<Change> {
        let mut changes = Vec::new();
        for target in targets {
            if let Some(after) = self.whole(&target.value, &target.name)
                && after.groups != target.before.groups
            {
                changes.extend(differences(
                    &target.name,
                    &target.before,
                    &after,
                    MAX_CHANGES,
                ));
            }
        }
        changes
    }
}

/// Returns the value that a function has just returned; `None` if it has none.
pub(super) fn returned(
    session: &mut Session,
    objects: &mut Objects,
    thread: ThreadId,
) -> Option<String> {
    let named = session.debugger.returned(FrameKey { thread, level: 0 })?;
    let value = named.value.ok()?;
    let text = Reading { session, objects }.text(&value, 200)?;
    (!matches!(text.as_str(), "" | "void" | "()")).then_some(text)
}

/// Describes the call: the function and its line.
pub(super) fn heading(session: &mut Session, frame: &Frame) -> String {
    let Some(location) = &frame.location else {
        return format!("call of {}", frame.name);
    };
    let path = session.sources.local(&location.file.path);
    format!(
        "call of {}, {}:{}",
        frame.name,
        path.display(),
        location.line
    )
}

/// Describes a frame's place: the function, and the line if it is known.
pub(super) fn place(frame: &Frame) -> String {
    let name = match frame.name.starts_with("0x") {
        true => "0x…",
        false => frame.name.as_str(),
    };
    let name = cut(name, MAX_NAME_BYTES);
    match &frame.location {
        Some(location) => {
            let file = location.file.path.file_name().unwrap_or_default();
            format!("{name}, {}:{}", file.to_string_lossy(), location.line)
        }
        None => name,
    }
}
