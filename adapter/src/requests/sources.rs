//! Sources: their list, and their text.

use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, LoadedSourcesResponse, NoArguments, SourceArguments, SourceResponse,
};
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;
use engine::{CodeName, Listing, open_regular};
use std::fmt::Write as _;
use std::io::{self, Read};

/// Maximum size of a text in bytes.
const MAX_SOURCE_BYTES: u64 = 32 << 20;

/// Returns a source's text; a client usually reads files itself.
pub enum Source {}

impl Request for Source {
    const COMMAND: &'static str = "source";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SourceArguments;
    type Body = SourceResponse;

    fn handle(
        session: &mut Session,
        arguments: SourceArguments,
    ) -> Result<SourceResponse, RequestError> {
        let mut source = arguments.source.unwrap_or_default();
        source.source_reference = source.source_reference.or(arguments.source_reference);
        if let Some(code) = session.codes.code_of_source(&source) {
            return listing(session, &code);
        }
        if let Some(reference @ 1..) = source.source_reference {
            return Err(unknown_source(reference));
        }
        let path = source.path.ok_or_else(|| {
            RequestError::Arguments("source: `source.path` is missing".to_owned())
        })?;
        let path = session.client.path_in(&path);
        let failed =
            |why: String| RequestError::Other(format!("cannot read {}: {why}", path.display()));
        let mut text = Vec::new();
        open_regular(&path)
            .and_then(|file| file.take(MAX_SOURCE_BYTES).read_to_end(&mut text))
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => failed("file not found".to_owned()),
                _ => failed(error.to_string()),
            })?;
        Ok(SourceResponse {
            content: String::from_utf8_lossy(&text).into_owned(),
            mime_type: None,
        })
    }
}

/// Formats machine code as text, one instruction per line.
fn listing(session: &Session, code: &CodeName) -> Result<SourceResponse, RequestError> {
    let Listing { title, rows } = session.debugger.listing(code, session.settings.flavor)?;
    let mut content = format!("{title}:\n");
    for row in rows {
        // Writing to memory does not fail.
        let _ = writeln!(content, "{}  {}", row.address, row.text);
    }
    Ok(SourceResponse {
        content,
        mime_type: Some("text/x-asm".to_owned()),
    })
}

/// Returns the error for an unknown source reference.
pub(super) fn unknown_source(reference: i64) -> RequestError {
    RequestError::StaleId(format!("unknown source reference {reference}"))
}

/// The message if there are too many sources of machine code.
pub(super) const TOO_MUCH_CODE: &str = "too many generated sources in this session";

/// Lists the sources of all modules.
pub enum LoadedSources {}

impl Request for LoadedSources {
    const COMMAND: &'static str = "loadedSources";
    const EFFECT: Effect = Effect::Reads;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = NoArguments;
    type Body = LoadedSourcesResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_loaded_sources_request = true;
    }

    fn handle(
        session: &mut Session,
        _: NoArguments,
    ) -> Result<LoadedSourcesResponse, RequestError> {
        let files = session.debugger.source_files()?;
        let of_system = session.debugger.system_source_files();
        let mut sources = Vec::with_capacity(files.len());
        for file in files {
            if session.is_cancelled() {
                return Err(RequestError::Cancelled);
            }
            let source = session.sources.of_file(&file, &session.client);
            // System sources that do not exist on this machine are of no use to the client.
            if !of_system.contains(&file.path) || session.sources.local(&file.path).is_file() {
                sources.push(source);
            }
        }
        // The map may map two paths to the same one.
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        sources.dedup_by(|a, b| a.path == b.path);
        Ok(LoadedSourcesResponse { sources })
    }
}
