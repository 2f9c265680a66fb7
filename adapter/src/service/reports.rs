//! Dispatches reports of other threads.

use crate::session::news::News;
use crate::session::{Session, children, core_file, debuginfod, opening, settings, startup};

/// Dispatches a report to its handler.
pub fn on_news(session: &mut Session, news: News) {
    let started = match news {
        News::Core(report) => core_file::on_report(session, report),
        News::Stdio(report) => opening::on_report(session, report),
        News::Given(given) => children::on_handover(session, given),
        News::Terminal(report) => return startup::on_report(session, report),
        News::RustSources(folder) => return session.on_rust_sources(folder),
        News::Child(report) => return children::on_report(session, report),
        News::DebugFile(report) => return debuginfod::on_report(session, report),
        News::Settings(changes) => {
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
