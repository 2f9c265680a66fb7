//! Units and their entries, those of split files too: what an entry refers to, and which unit and
//! function hold an address.

pub(crate) mod abbreviations;
pub(crate) mod budget;
pub(crate) mod children;
pub(crate) mod constant;
pub(crate) mod ranges;
pub(crate) mod scan;
pub(crate) mod split;
pub(crate) mod units;
pub(crate) mod walk;
