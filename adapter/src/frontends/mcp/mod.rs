//! `stillpoint mcp`: the debugger for agents, with the Model Context Protocol on stdin and stdout.
//! It is a client of the DAP server, like any editor; each session is a process of its own.

mod agent_breakpoint;
mod arguments;
mod breakpoints;
mod calls;
mod error;
mod expect;
mod explain;
mod fresh;
mod inspect;
mod link;
mod meant;
mod output;
mod past;
mod protocol;
mod run;
mod schema;
mod session;
mod test_run;
mod text;
mod tools;
mod traces;

use protocol::{Action, Protocol};
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tools::Tools;

pub use tools::ToolSet;

/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Grace period for calls that still run when the client closes its stream.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves the client on stdin and stdout until it disconnects. The debuggee ends with it. `join`: the
/// socket of another client's session, which is only looked at.
pub fn mcp(tools: ToolSet, join: Option<Option<PathBuf>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(tools, join));
            // Reading from stdin may block for ever; the process ends without it.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(error.to_string()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain!("stillpoint: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(set: ToolSet, join: Option<Option<PathBuf>>) -> Result<(), String> {
    let (tools, set) = match join {
        Some(socket) => (Tools::joining(socket), ToolSet::Looking),
        None => (Tools::default(), set),
    };
    let tools = Arc::new(tools);
    let served = converse(&tools, set).await;
    tools.close().await;
    served
}

/// Handles the client's messages until it closes its stream. Calls run side by side.
async fn converse(tools: &Arc<Tools>, set: ToolSet) -> Result<(), String> {
    let mut input = BufReader::new(tokio::io::stdin());
    let (replies, queue) = unbounded_channel();
    let writer = tokio::spawn(write(queue));
    let mut protocol = Protocol::with(set);
    let mut calls = JoinSet::new();
    let mut running: Vec<(Value, AbortHandle)> = Vec::new();
    loop {
        let line = match read_line(&mut input).await {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(format!("cannot read from the client: {error}")),
        };
        while calls.try_join_next().is_some() {}
        running.retain(|(_, call)| !call.is_finished());
        match protocol.on_line(&line) {
            Action::Ignore => {}
            // Fails only if the client no longer reads.
            Action::Reply(reply) => drop(replies.send(reply)),
            Action::Call(mut call) => {
                let (tools, replies) = (Arc::clone(tools), replies.clone());
                let id = call.id.clone();
                let task = calls.spawn(async move {
                    let arguments = std::mem::take(&mut call.arguments);
                    let called = tools.call(&call.name, arguments).await;
                    let called = called.map_err(|error| error.to_string());
                    let _ = replies.send(call.reply(called));
                });
                running.push((id, task));
            }
            // The program's state does not change.
            Action::Cancel(id) => {
                let cancelled = running.iter().filter(|(running, _)| *running == id);
                cancelled.for_each(|(_, call)| call.abort());
            }
        }
    }
    drop(replies);
    let drained = timeout(DRAIN_TIMEOUT, async {
        while calls.join_next().await.is_some() {}
        writer.await
    });
    if drained.await.is_err() {
        tracing::warn!("the client has left before the end of its calls");
    }
    match protocol.has_begun() {
        true => Ok(()),
        false => Err("the client closed the connection before `initialize`".to_owned()),
    }
}

/// Reads a line; `None` at the end of the stream.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut limited = input.take(MAX_MESSAGE_BYTES);
    if limited.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == MAX_MESSAGE_BYTES && !line.ends_with(b"\n") {
        return Err(io::Error::other("a message is too long"));
    }
    Ok(Some(line))
}

/// Writes messages to the client, a line each.
async fn write(mut queue: UnboundedReceiver<Value>) {
    let mut stdout = tokio::io::stdout();
    while let Some(message) = queue.recv().await {
        let line = format!("{message}\n");
        let written = stdout.write_all(line.as_bytes()).await;
        if let Err(error) = written.and(stdout.flush().await) {
            tracing::info!(%error, "the client reads no more messages");
            break;
        }
    }
}
