//! Core files: opened immediately, or unpacked first on a thread of its own if they are compressed.

use super::reports::{Inbox, Report, UnpackResult};
use crate::config::CorePlan;
use crate::protocol::RequestError;
use crate::session::Session;
use crate::session::work::Work;
use engine::CoreFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

/// A core file that is being unpacked; dropping it cancels the unpacking.
#[derive(Debug)]
pub struct Unpacking {
    program: Option<PathBuf>,
    attached: bool,
    name: String,
    began: Instant,
    percentage: Arc<AtomicU32>,
    cancelled: Arc<AtomicBool>,
}

impl Unpacking {
    fn start(
        file: CoreFile,
        plan: CorePlan,
        attached: bool,
        inbox: Inbox,
    ) -> std::io::Result<Self> {
        let name = plan.core.file_name().unwrap_or_default();
        let unpacking = Self {
            program: plan.program,
            attached,
            name: name.to_string_lossy().into_owned(),
            began: Instant::now(),
            percentage: Arc::default(),
            cancelled: Arc::default(),
        };
        let (percentage, of) = (unpacking.percentage.clone(), unpacking.cancelled.clone());
        thread::Builder::new()
            .name("unpack".into())
            .spawn(move || {
                let file = file.unpack(&|done, all| {
                    let part = (done.saturating_mul(100)).checked_div(all).unwrap_or(0);
                    percentage.store(part.min(100) as u32, Ordering::Relaxed);
                    !of.load(Ordering::Relaxed)
                });
                inbox.put(Report::Core(UnpackResult { of, file }));
            })?;
        Ok(unpacking)
    }

    /// Describes the unpacking for progress reports.
    pub fn work(&self) -> Work {
        Work {
            title: format!("Unpacking {}", self.name),
            began: self.began,
            percentage: Some(self.percentage.load(Ordering::Relaxed)),
            cancellable: true,
        }
    }
}

impl Drop for Unpacking {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Opens a core file, immediately or when it is unpacked; `attached`: the request was `attach`.
///
/// # Errors
/// There is no such file, or it is not a core file.
pub fn open(session: &mut Session, plan: CorePlan, attached: bool) -> Result<(), RequestError> {
    let file = CoreFile::open(&plan.core)?;
    if file.compression().is_none() {
        return use_file(session, file, plan.program.as_deref(), attached);
    }
    let failed =
        |error| RequestError::Start(format!("cannot start a thread to unpack it: {error}"));
    let unpacking = Unpacking::start(file, plan, attached, session.inbox.clone());
    let unpacking = unpacking.map_err(failed)?;
    session.startup.unpacking(unpacking);
    Ok(())
}

fn use_file(
    session: &mut Session,
    file: CoreFile,
    program: Option<&Path>,
    attached: bool,
) -> Result<(), RequestError> {
    session.debugger.open_core(file, program)?;
    session.startup.held(attached);
    Ok(())
}

/// Handles the result of unpacking: opens the file. Returns the result of the launch or attach;
/// `None` if it was cancelled.
pub fn on_report(session: &mut Session, report: UnpackResult) -> Option<Result<(), RequestError>> {
    let unpacking = session.startup.being_unpacked();
    let unpacking = unpacking.filter(|it| Arc::ptr_eq(&it.cancelled, &report.of))?;
    let (program, attached) = (unpacking.program.clone(), unpacking.attached);
    let used = report.file.map_err(RequestError::from);
    Some(used.and_then(|file| use_file(session, file, program.as_deref(), attached)))
}
