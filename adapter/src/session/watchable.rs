//! Data on which the client may set breakpoints.

use engine::Watchable;
use std::collections::{HashMap, VecDeque};

/// Maximum number of data ids; the oldest ones are evicted.
const MAX_ENTRIES: usize = 10_000;

/// The data of `dataBreakpointInfo` responses, by their ids.
#[derive(Debug, Default)]
pub struct WatchableData {
    known: HashMap<String, (Watchable, bool)>,
    order: VecDeque<String>,
}

impl WatchableData {
    /// Stores the data of an id; `by_steps`: watched without a debug register.
    pub fn insert(&mut self, id: String, data: Watchable, by_steps: bool) {
        if self.known.insert(id.clone(), (data, by_steps)).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > MAX_ENTRIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Returns the data of an id.
    pub fn get(&self, id: &str) -> Option<&(Watchable, bool)> {
        self.known.get(id)
    }
}
