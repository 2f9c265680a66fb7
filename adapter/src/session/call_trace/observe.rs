//! Reads what a trace shows of a stopped program: variables, arguments, the targets of pointers.

use super::Inside;
use crate::call_trace::{Change, Leaf, Seen, Snapshot, cut, differences};
use crate::session::Session;
use engine::value::ChildPath;
use engine::value::scalar::NumberFormat;
use engine::{Child, ChildFilter, Frame, FrameKey, Limits, Named, Objects, ThreadId, Value};

/// Maximum number of parts of a value that are compared.
const MAX_LEAVES: usize = 128;
/// Maximum depth of members in members.
const MAX_DEPTH: usize = 4;
/// Number of pointers followed from a variable, and from an argument at the return.
const POINTERS: (usize, usize) = (1, 2);
/// Maximum length of the text of one argument, and of all.
const MAX_ARGUMENT_BYTES: (usize, usize) = (80, 240);
/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 120;

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
        pointees: true,
    }
}

impl Reading<'_> {
    fn text(&mut self, value: &Value, bytes: usize) -> Option<String> {
        let limits = limits(self.session.settings.limits.numbers, bytes);
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
            pointees: false,
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
        let is_long = text.len() >= 300;
        if former.is_some_and(|it| !is_long && it.text == text && it.exact == exact) {
            return None;
        }
        Some(Snapshot {
            leaves: self.leaves(value, &named.name, POINTERS.0),
            text,
            exact,
        })
    }

    /// Returns the parts of a value; empty if it has none.
    fn leaves(&mut self, value: &Value, name: &str, pointers: usize) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.collect(value, name, pointers, 0, &mut leaves);
        match leaves.as_slice() {
            [only] if only.path == name => Vec::new(),
            _ => leaves,
        }
    }

    fn collect(
        &mut self,
        value: &Value,
        path: &str,
        pointers: usize,
        depth: usize,
        leaves: &mut Vec<Leaf>,
    ) {
        if leaves.len() >= MAX_LEAVES {
            return;
        }
        let mut range = 0..MAX_LEAVES as u64;
        let debugger = &mut self.session.debugger;
        let children = match depth < MAX_DEPTH {
            true => debugger.next_children(value, ChildFilter::All, &mut range),
            false => Ok(engine::ChildBatch::Children(Vec::new())),
        };
        let children = children.map(|batch| batch.children()).unwrap_or_default();
        let of_pointer = children.first().is_some_and(is_of_pointer);
        if children.is_empty() || (of_pointer && pointers == 0) {
            if let Some(text) = self.text(value, 100) {
                let exact = format!("{text} {}", self.exact(value, &text));
                let (path, text) = (cut(path, MAX_NAME_BYTES), text);
                leaves.push(Leaf { path, text, exact });
            }
            return;
        }
        let pointers = pointers - usize::from(of_pointer);
        for child in children {
            if child.name == "[raw]" {
                continue;
            }
            let path = path_of(path, &child);
            if let Ok(value) = &child.value {
                self.collect(value, &path, pointers, depth + 1, leaves);
            }
        }
    }
}

/// Returns whether a child is the target of its parent, or a member of that.
fn is_of_pointer(child: &Child) -> bool {
    match &child.path {
        Some(ChildPath::Prefix(_)) => true,
        Some(ChildPath::Suffix(suffix)) => suffix.starts_with("->"),
        _ => false,
    }
}

/// Returns the path of a child.
fn path_of(parent: &str, child: &Child) -> String {
    match &child.path {
        Some(ChildPath::Same) => parent.to_owned(),
        Some(ChildPath::Prefix(prefix)) => format!("{prefix}{parent}"),
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

/// Returns the arguments of a frame's function as text.
pub(super) fn arguments(session: &mut Session, objects: &mut Objects, frame: FrameKey) -> String {
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
        let value = value.and_then(|value| reading.text(value, MAX_ARGUMENT_BYTES.0));
        let value = value.as_deref().unwrap_or("<unknown>");
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
            (!before.leaves.is_empty()).then_some(Watched {
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
        Some(Snapshot {
            text: self.text(value, 400)?,
            exact: String::new(),
            leaves: self.leaves(value, name, POINTERS.1),
        })
    }

    /// Returns what has changed of the targets of arguments.
    pub fn changes(&mut self, targets: &[Watched]) -> Vec<Change> {
        let mut changes = Vec::new();
        for target in targets {
            if let Some(after) = self.whole(&target.value, &target.name) {
                changes.extend(differences(&target.name, &target.before, &after));
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
