//! Memory views of the client.

use super::Session;
use crate::protocol::MemoryEventBody;
use engine::LoadAddr;
use std::collections::VecDeque;

/// Maximum number of references reported when memory changes.
const MAX_VIEWS: usize = 16;

/// Memory that the client has read, with the references that it used: it identifies views by them.
#[derive(Debug, Default)]
pub struct MemoryViews(VecDeque<(String, LoadAddr)>);

impl MemoryViews {
    /// Records that the client has read memory by this reference.
    pub fn add(&mut self, reference: &str, addr: LoadAddr) {
        if self.0.iter().any(|(known, _)| known == reference) {
            self.0.retain(|(known, _)| known != reference);
        }
        self.0.truncate(MAX_VIEWS - 1);
        self.0.push_front((reference.to_owned(), addr));
    }
}

/// Reports memory that a request of the client changed, under each reference of a view that shows
/// it: clients identify views by them only.
pub fn memory_changed(session: &mut Session, addr: LoadAddr, len: u64) {
    if len == 0 {
        return;
    }
    session.variables_changed = true;
    session.codes.forget_lines();
    if !session.client.memory_events {
        return;
    }
    let own = addr.to_string();
    let views = session.memory_views.0.iter().cloned();
    let mut changed: Vec<_> = views.filter(|(reference, _)| *reference != own).collect();
    changed.push((own, addr));
    for (memory_reference, base) in changed {
        let body = MemoryEventBody {
            memory_reference,
            offset: addr.0.wrapping_sub(base.0) as i64,
            count: i64::try_from(len).unwrap_or(i64::MAX),
        };
        session.event("memory", &body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_views_are_kept_each_once() {
        let mut views = MemoryViews::default();
        for number in [1, 2, 1] {
            views.add(&format!("0x{number}"), LoadAddr(number));
        }
        let references: Vec<_> = views.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(references, ["0x1", "0x2"]);
        for number in 0..100 {
            views.add(&number.to_string(), LoadAddr(number));
        }
        assert_eq!(views.0.len(), MAX_VIEWS);
    }
}
