//! Dispatches reports of other threads.

use crate::session::reports::Report;
use crate::session::{
    Session, children, core_file, debuginfod, guests, opening, settings, startup,
};

/// Dispatches a report to its handler. All concern the process itself, whatever stop is shown.
pub fn on_report(session: &mut Session, report: Report) {
    let shown = session.debugger.put_past_aside();
    dispatch(session, report);
    if let Err(error) = session.debugger.show(shown) {
        tracing::warn!(%error, "the past stop is gone");
    }
}

fn dispatch(session: &mut Session, report: Report) {
    let started = match report {
        Report::Core(report) => core_file::on_report(session, report),
        Report::Stdio(report) => opening::on_report(session, report),
        Report::HandoverReceived(received) => children::on_handover(session, received),
        Report::Terminal(report) => return startup::on_report(session, report),
        Report::RustSources(folder) => return session.on_rust_sources(folder),
        Report::Child(report) => return children::on_report(session, report),
        Report::Guest(socket) => return guests::arrived(session, socket),
        Report::DebugFile(report) => return debuginfod::on_report(session, report),
        Report::Settings(changes) => {
            if let Err(mistake) = settings::change(session, changes) {
                tracing::warn!(mistake, "settings of the parent's session");
            }
            return;
        }
    };
    if let Some(started) = started {
        startup::finish(session, started);
    }
}
