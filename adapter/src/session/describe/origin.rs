//! The way to the origin of a value, as data and as text.

use super::text_of_call;
use crate::protocol::{OriginHop, OriginHops, RequestError};
use crate::session::Session;
use engine::{Hop, HopKind};
use std::fmt::Write as _;

/// Returns the way to the origin that was found last.
///
/// # Errors
/// None was searched.
pub fn origin(session: &mut Session) -> Result<OriginHops, RequestError> {
    let Some(origin) = session.debugger.origin().cloned() else {
        let prefix = &session.settings.command_prefix;
        return Err(RequestError::Other(format!(
            "no origin was searched; `{prefix}origin EXPRESSION` searches that of a value"
        )));
    };
    let hops = (1..).zip(&origin.hops);
    let hops = hops.map(|(number, hop)| described(session, number, hop));
    Ok(OriginHops {
        hops: hops.collect(),
        name: origin.name,
    })
}

fn described(session: &mut Session, number: i64, hop: &Hop) -> OriginHop {
    let place = hop.location.as_ref();
    let source = place.map(|place| session.sources.of_file(&place.file, &session.client));
    let (kind, from) = match &hop.kind {
        HopKind::Stored => ("stored", None),
        HopKind::Copied { from, .. } => ("copied", Some(from.to_string())),
        HopKind::Argument => ("argument", None),
        HopKind::Returned(_) => ("returned", None),
        HopKind::Computed => ("computed", None),
        HopKind::SystemCall(_) => ("systemCall", None),
        HopKind::Initial => ("initial", None),
    };
    OriginHop {
        number,
        kind: kind.to_owned(),
        text: match &hop.kind {
            HopKind::SystemCall(call) => format!("from the kernel: {}", text_of_call(call)),
            kind => kind.to_string(),
        },
        value: hop.value.clone(),
        function: hop.function.clone(),
        path: source.and_then(|source| source.path),
        line: place.map(|place| session.client.line_out(place.line)),
        instruction_pointer_reference: hop.address.map(|it| it.to_string()),
        memory_reference: from,
        can_be_shown: hop.can_be_shown(),
    }
}

/// Lists the places, a line each. `addresses`: those of memory are shown.
pub fn list_of_hops(origin: &OriginHops) -> String {
    let mut text = format!("{}, from its last write back:\n", origin.name);
    for hop in &origin.hops {
        let _ = write!(text, "  {:>2}  {}  {}", hop.number, hop.value, hop.text);
        let file = hop
            .path
            .as_ref()
            .and_then(|it| it.rsplit(['/', '\\']).next());
        let _ = match (&hop.function, file, hop.line) {
            (Some(function), Some(file), Some(line)) => {
                writeln!(text, " in {function}, {file}:{line}")
            }
            (Some(function), ..) => writeln!(text, " in {function}"),
            _ => writeln!(text),
        };
    }
    if origin.hops.is_empty() {
        text.push_str("  no write was found\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_listed_with_what_has_happened_there() {
        let hop = |number, text: &str, line: Option<i64>| OriginHop {
            number,
            text: text.to_owned(),
            value: "7".to_owned(),
            function: line.map(|_| "add".to_owned()),
            path: line.map(|_| "/home/ada/a.c".to_owned()),
            line,
            ..OriginHop::default()
        };
        let origin = OriginHops {
            name: "total".to_owned(),
            hops: vec![
                hop(1, "copied from i (0x10)", Some(4)),
                hop(2, "there from the start", None),
            ],
        };
        assert_eq!(
            list_of_hops(&origin),
            "total, from its last write back:\n   1  7  copied from i (0x10) in add, a.c:4\n   \
             2  7  there from the start\n"
        );
    }
}
