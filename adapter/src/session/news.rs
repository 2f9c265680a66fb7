//! Reports of other threads of ours.

use super::{Session, children, core_file, debuginfod, handover, opening, startup, terminal};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What another thread has to report.
#[derive(Debug)]
pub enum News {
    /// Of a program started in a terminal.
    Terminal(terminal::LauncherEvent),
    /// The folder of Rust's own sources, if there is one.
    RustSources(Option<PathBuf>),
    /// Of a child process that is to have a session of its own.
    Child(handover::HandoverEvent),
    /// The child process that this session attaches to.
    Given(handover::Given),
    /// Settings have changed in the session of the parent process.
    Settings(Map<String, Value>),
    /// The result of fetching debug info.
    DebugFile(debuginfod::FetchResult),
    /// A core file is unpacked, or cannot be.
    Core(core_file::UnpackResult),
    /// The files of a program's standard streams are open, or cannot be.
    Stdio(opening::OpenResult),
}

/// Takes a report to what it is about.
pub fn on_news(session: &mut Session, news: News) {
    match news {
        News::Terminal(report) => startup::on_report(session, report),
        News::RustSources(folder) => session.found_rust(folder),
        News::Child(report) => children::on_report(session, report),
        News::Given(given) => children::on_given(session, given),
        News::Settings(changes) => children::on_settings(session, changes),
        News::DebugFile(report) => debuginfod::on_report(session, report),
        News::Core(report) => core_file::on_report(session, report),
        News::Stdio(report) => opening::on_report(session, report),
    }
}
