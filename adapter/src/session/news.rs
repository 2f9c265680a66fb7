//! Reports from other threads of the adapter.

use super::{Session, children, core_file, debuginfod, handover, opening, startup, terminal};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// A report from another thread.
#[derive(Debug)]
pub enum News {
    /// From the launcher in a terminal.
    Terminal(terminal::LauncherEvent),
    /// The folder of the sources of Rust's standard library, if there is one.
    RustSources(Option<PathBuf>),
    /// About a child process on offer.
    Child(handover::HandoverEvent),
    /// The child process that this session attaches to.
    Given(handover::Given),
    /// Settings that changed in the parent's session.
    Settings(Map<String, Value>),
    /// The result of fetching debug info.
    DebugFile(debuginfod::FetchResult),
    /// The result of unpacking a core file.
    Core(core_file::UnpackResult),
    /// The result of opening the files of a program's standard streams.
    Stdio(opening::OpenResult),
}

/// Dispatches a report to its handler.
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
