//! Recording on processors where it is not supported.

use crate::ids::Launch;
use crate::ids::error::Error;
use crate::os::recording::{self, HashEvents, Report};

/// # Errors
/// Always.
pub fn record(launch: &Launch, _: HashEvents) -> Result<Report, Error> {
    Err(recording::refusal(launch))
}
