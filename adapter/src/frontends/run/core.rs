//! `stillpoint core`: prints the threads of a core file without an editor.

use super::driver::Driver;
use super::report::StopReport;
use super::{print_report, refuse, settings, show_output};
use crate::client::ClientError;
use crate::files::kind::{FileKind, kind_of};
use crate::protocol::{Event, NoArguments, StoppedEventBody};
use crate::requests::{Attach, Threads};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `stillpoint core`.
#[derive(Args, Debug)]
pub struct Options {
    /// Print this expression in the frame where the program ended; can be repeated
    #[arg(long = "print", value_name = "EXPRESSION")]
    pub prints: Vec<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// The core file; may be compressed with zstd or lz4
    #[arg(value_name = "CORE")]
    pub core: PathBuf,
    /// The executable, if it has moved
    #[arg(value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
}

/// Prints all threads of a core file, starting with the one whose signal ended the process.
pub fn core(options: Options) -> ExitCode {
    if let Some(program) = &options.program
        && kind_of(program) == Some(FileKind::Core)
        && kind_of(&options.core) != Some(FileKind::Core)
    {
        let (core, program) = (program.display(), options.core.display());
        return refuse(vec![format!(
            "the core file stands before the program: `stillpoint core {core} {program}`"
        )]);
    }
    super::serve_client(async move |driver: &mut Driver| session(driver, &options).await)
}

async fn session(driver: &mut Driver, options: &Options) -> Result<u8, ClientError> {
    let attach = json!({"coreFile": options.core, "program": options.program});
    let starting = driver.start::<Attach>(&settings(attach)).await?;
    driver.run_started(starting).await?;
    let stopped = loop {
        match driver.event().await? {
            Event::Output(output) => show_output(&output, options.json),
            Event::Stopped(stopped) => break stopped,
            _ => {}
        }
    };
    let client = &driver.client;
    let report = StopReport::gather(client, &stopped, &options.prints).await?;
    print_report(&report, options.json);
    let threads = client.request::<Threads>(&NoArguments {}).await?.threads;
    for thread in threads.iter().filter(|it| it.id != stopped.thread_id) {
        let there = StoppedEventBody {
            reason: "another thread".into(),
            thread_id: thread.id,
            ..StoppedEventBody::default()
        };
        let report = StopReport::gather(client, &there, &[]).await?;
        print_report(&report, options.json);
    }
    Ok(0)
}
