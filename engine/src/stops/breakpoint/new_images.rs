//! Breakpoints in newly loaded images. A program may load thousands of images: only the new ones
//! are searched, unless they change the result for the others.

use super::resolve::{Resolved, resolve_line_in};
use super::{Breakpoint, Search, Spec};
use crate::images::modules::Loaded;
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// The effect of new images on a breakpoint.
pub(crate) enum Outlook {
    /// Nothing.
    Nothing,
    /// It also binds there; nothing else changes.
    Also(Resolved),
    /// It has to be resolved again in all images.
    Anew,
}

/// Whether any new image was compiled from a source file, by that file.
pub(crate) type Mentions = FxHashMap<PathBuf, bool>;

impl Breakpoint {
    pub(crate) fn outlook(&mut self, new: &[&Loaded], mentions: &mut Mentions) -> Outlook {
        if self.spent {
            return Outlook::Nothing;
        }
        // System libraries matter only if no other image has a location.
        let is_bound = !self.bound.is_empty();
        let searched = || new.iter().filter(|it| !is_bound || !it.is_of_the_system());
        match (&mut self.search, &self.spec) {
            (Search::Function(named), _) if is_bound => {
                let mut also = Resolved {
                    note: self.note.clone(),
                    ..Resolved::default()
                };
                for loaded in new {
                    named.add_places(loaded, &mut also);
                }
                let is_nothing =
                    also.bound.is_empty() && also.unread.is_empty() && also.choosers.is_empty();
                match is_nothing {
                    true => Outlook::Nothing,
                    false => Outlook::Also(also),
                }
            }
            (Search::Function(named), _) => {
                // Query each one: its result is cached.
                let concerned = new.iter().filter(|loaded| named.concerns(loaded)).count();
                match concerned {
                    0 => Outlook::Nothing,
                    _ => Outlook::Anew,
                }
            }
            (Search::Functions(pattern), _) => {
                match searched().any(|loaded| pattern.matches_in(loaded)) {
                    true => Outlook::Anew,
                    false => Outlook::Nothing,
                }
            }
            (
                Search::Line,
                Spec::Line {
                    source,
                    line,
                    column,
                },
            ) => {
                let mentioned = match mentions.get(source) {
                    // Fewer images were searched without system libraries.
                    Some(mentioned) if is_bound => *mentioned,
                    _ => {
                        let mut searched = searched();
                        searched.any(|it| !it.module.similar_sources(source).is_empty())
                    }
                };
                if is_bound {
                    mentions.insert(source.clone(), mentioned);
                }
                if !mentioned {
                    return Outlook::Nothing;
                }
                // An exact match of the line stays exact.
                let is_exact = self.note.is_none()
                    && self.bound.iter().any(|bound| {
                        let place = bound.source.as_ref();
                        place.is_some_and(|(_, have, _)| have == line)
                    });
                match is_exact {
                    true => Outlook::Also(Resolved {
                        bound: resolve_line_in(searched().copied(), source, *line, *column),
                        ..Resolved::default()
                    }),
                    false => Outlook::Anew,
                }
            }
            (Search::Line, Spec::Instruction(addr)) if !is_bound => {
                match new.iter().any(|loaded| loaded.range.contains(*addr)) {
                    true => Outlook::Anew,
                    false => Outlook::Nothing,
                }
            }
            (Search::Line, Spec::Code(..)) if !is_bound => Outlook::Anew,
            (Search::Line, Spec::FramePlaces) => Outlook::Anew,
            (Search::Line, _) => Outlook::Nothing,
        }
    }
}
