//! Answers to questions about names. An image does not change, so a question is answered
//! by a search once, however often an expression asks it.

use crate::module::{MAX_NAMES, Module};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of parts that the answers to one kind of question have together.
const MAX_PARTS: usize = 1 << 18;

/// The answers to one kind of question, each a list. At most [`MAX_NAMES`] of them are kept.
pub(crate) struct Answers<Q, T>(RwLock<Kept<Q, T>>);

struct Kept<Q, T> {
    /// Whether they were found in the index of all names, which may know more than what replaces it.
    of_index: bool,
    known: FxHashMap<Q, Arc<[T]>>,
    /// Number of parts of all answers.
    parts: usize,
}

impl<Q, T> Default for Answers<Q, T> {
    fn default() -> Self {
        Answers(RwLock::new(Kept {
            of_index: false,
            known: FxHashMap::default(),
            parts: 0,
        }))
    }
}

impl<Q: Hash + Eq, T: Clone> Answers<Q, T> {
    /// Returns the answer to a question about a module; `find` searches for it, once as long as it
    /// is kept.
    pub(crate) fn answer(
        &self,
        module: &Module,
        question: Q,
        find: impl FnOnce() -> Vec<T>,
    ) -> Vec<T> {
        let of_index = module.knows_names();
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if kept.of_index == of_index
            && let Some(known) = kept.known.get(&question)
        {
            return known.to_vec();
        }
        drop(kept);
        let found = find();
        // The search may have built the index.
        self.keep(module.knows_names(), question, &found);
        found
    }

    fn keep(&self, of_index: bool, question: Q, found: &[T]) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_full = kept.known.len() >= MAX_NAMES || kept.parts + found.len() > MAX_PARTS;
        if kept.of_index != of_index || is_full {
            kept.known.clear();
            kept.parts = 0;
            kept.of_index = of_index;
        }
        if found.len() <= MAX_PARTS {
            kept.parts += found.len();
            kept.known.insert(question, found.into());
        }
    }
}
