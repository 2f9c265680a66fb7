//! Opens files of `stdio` whose opening may block, as that of a FIFO does until its other end
//! opens: on a thread of its own, before the program is launched.

use super::reports::{OpenResult, Report};
use crate::protocol::RequestError;
use crate::session::Session;
use crate::session::work::Work;
use engine::{Launch, OpenStdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Files that are being opened. If this is dropped, they are closed as soon as they are open.
#[derive(Debug)]
pub struct Opening {
    launch: Launch,
    began: Instant,
    of: Arc<()>,
}

impl Opening {
    /// Describes the opening for progress reports.
    pub fn work(&self) -> Work {
        Work {
            title: "Waiting for a process to open the other end of `stdio`".to_owned(),
            began: self.began,
            percentage: None,
            cancellable: true,
        }
    }
}

/// Launches a program, immediately or as soon as its files are open.
///
/// # Errors
/// The program cannot be launched.
pub fn launch(session: &mut Session, launch: &Launch) -> Result<(), RequestError> {
    if !OpenStdio::may_wait(launch) {
        session.debugger.launch(launch)?;
        session.startup.held(false);
        return Ok(());
    }
    // The other end of a FIFO would be opened for a program that does not exist.
    launch.check_program()?;
    let of = Arc::new(());
    let report = Arc::clone(&of);
    let (inbox, settings) = (session.inbox.clone(), launch.clone());
    let open = move || {
        let files = OpenStdio::open(&settings);
        inbox.put(Report::Stdio(OpenResult { of: report, files }));
    };
    let failed =
        |error| RequestError::Start(format!("cannot start a thread to open `stdio`: {error}"));
    let opening = thread::Builder::new().name("stdio".into()).spawn(open);
    opening.map_err(failed)?;
    session.startup.opening(Opening {
        launch: launch.clone(),
        began: Instant::now(),
        of,
    });
    Ok(())
}

/// Handles the result: launches the program. Returns the result of the launch; `None` if it was
/// cancelled, and the files are closed.
pub fn on_report(session: &mut Session, report: OpenResult) -> Option<Result<(), RequestError>> {
    let opening = session.startup.being_opened();
    let opening = opening.filter(|opening| Arc::ptr_eq(&opening.of, &report.of))?;
    let launch = opening.launch.clone();
    let launched = report
        .files
        .and_then(|files| session.debugger.launch_with(&launch, files));
    if launched.is_ok() {
        session.startup.held(false);
    }
    Some(launched.map_err(RequestError::from))
}
