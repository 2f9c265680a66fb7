//! Units and entries, including those of split files: references between entries, and lookup of
//! units and functions by address.

pub(crate) mod abbreviations;
pub(crate) mod budget;
pub(crate) mod children;
pub(crate) mod constant;
pub(crate) mod importers;
pub(crate) mod objects;
pub(crate) mod ranges;
mod references;
mod root;
pub(crate) mod scan;
pub(crate) mod split;
pub(crate) mod unit_file;
pub(crate) mod units;
pub(crate) mod walk;
