//! Commands about modules and their symbols.

use super::text::{Lines, columns};
use super::{Call, Command, Complete};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use crate::session::Session;
use engine::{ModuleInfo, NamesStatus, SymbolStatus};

/// Maximum number of modules shown.
const MAX_ROWS: usize = 500;

pub const MODULES: Command = Command {
    name: "modules",
    arguments: "[TEXT]",
    help: "list modules with addresses and build-ids",
    more: "With TEXT, only modules whose path contains it.",
    when: RequiredState::Process,
    run: |call| list(call, "modules", module_row),
    complete: Complete::Words(names),
};

pub const SYMBOLS: Command = Command {
    name: "symbols",
    arguments: "[TEXT]",
    help: "show symbol status by module",
    more: "Names of functions, variables and types are indexed in the background on demand, and \
           cached for the next session (setting `symbolCache`).",
    when: RequiredState::Process,
    run: |call| list(call, "symbols", symbols_row),
    complete: Complete::Words(names),
};

fn names(session: &Session, before: &[&str]) -> Vec<String> {
    match before {
        [] => {
            let modules = session.debugger.modules().into_iter();
            modules.map(|module| module.name).collect()
        }
        _ => Vec::new(),
    }
}

fn list(
    call: &mut Call<'_>,
    name: &str,
    row: fn(&Session, &ModuleInfo) -> Vec<String>,
) -> Result<String, RequestError> {
    let modules = call.session.debugger.modules();
    let text = call.arguments;
    let has_text = |it: &&ModuleInfo| it.path.to_string_lossy().contains(text);
    let rows = modules.iter().filter(has_text);
    let rows: Vec<Vec<String>> = rows.map(|module| row(call.session, module)).collect();
    if rows.is_empty() {
        return Err(RequestError::Other(match text {
            "" => "no modules loaded".to_owned(),
            text => format!("none of {} modules has `{text}` in its path", modules.len()),
        }));
    }
    let mut lines = Lines::at_most(MAX_ROWS);
    columns(&rows).iter().for_each(|row| lines.push(row));
    let how = format!("`{}{name} TEXT`", call.session.settings.command_prefix);
    Ok(lines.finish(&how))
}

fn module_row(_: &Session, module: &ModuleInfo) -> Vec<String> {
    vec![
        format!("{}-{}", module.range.start, module.range.end),
        module.path.display().to_string(),
        module.build_id.clone().unwrap_or_default(),
    ]
}

fn symbols_row(session: &Session, module: &ModuleInfo) -> Vec<String> {
    let known = match module.symbols {
        SymbolStatus::DebugInfo => format!("debug info, {} KiB", module.debug_size.div_ceil(1024)),
        SymbolStatus::SymbolsOnly => "symbols only".to_owned(),
        SymbolStatus::Stripped => "no symbols".to_owned(),
    };
    let names = match session.debugger.names_status(module.id) {
        _ if module.symbols != SymbolStatus::DebugInfo => String::new(),
        NamesStatus::None => String::new(),
        NamesStatus::Unread => "names not indexed".to_owned(),
        NamesStatus::Reading(_, 0) => "names queued for indexing".to_owned(),
        NamesStatus::Reading(read, all) => format!("names: {read} of {all} units indexed"),
        NamesStatus::Ready => "names indexed".to_owned(),
        NamesStatus::Partial(read, all) => {
            format!("names of {read} of {all} units indexed; the rest was cancelled")
        }
    };
    let file = module.symbol_file.as_ref();
    vec![
        module.name.clone(),
        known,
        names,
        file.map_or_else(String::new, |file| format!("from {}", file.display())),
    ]
}
