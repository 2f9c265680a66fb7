//! `stillpoint setup`: what the system demands of a debugger.

use std::process::ExitCode;

/// Does it, and says what was done.
pub fn setup() -> ExitCode {
    match engine::os::host::set_up() {
        Ok(done) => {
            print!("{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain!("stillpoint: {error}");
            ExitCode::FAILURE
        }
    }
}
