//! Replays on processors where programs cannot be recorded: there are none.

use super::LinuxBackend;
use crate::os::Recordings;

impl Recordings for LinuxBackend {}
