//! Data that the client may set breakpoints on.

use engine::Watchable;
use std::collections::{HashMap, VecDeque};

/// Data ids that are remembered; the oldest ones go.
const MOST: usize = 10_000;

/// What the client asked about, by the ids it was given.
#[derive(Debug, Default)]
pub struct WatchableData {
    known: HashMap<String, (Watchable, bool)>,
    order: VecDeque<String>,
}

impl WatchableData {
    /// Remembers what an id stands for; `by_steps`: without a debug register.
    pub fn insert(&mut self, id: String, data: Watchable, by_steps: bool) {
        if self.known.insert(id.clone(), (data, by_steps)).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// What an id stands for.
    pub fn get(&self, id: &str) -> Option<&(Watchable, bool)> {
        self.known.get(id)
    }
}
