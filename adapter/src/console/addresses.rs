//! Commands about addresses: memory mappings, symbols, the code of lines.

use super::text::{Lines, columns};
use super::{Call, Command, Complete};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use engine::{LineCode, LoadAddr, Mapping, SymbolInfo, SymbolKind};
use std::path::Path;

/// Maximum number of lines shown by each command.
const MAX_ROWS: usize = 200;

pub const MAPS: Command = Command {
    name: "maps",
    arguments: "[EXPRESSION|TEXT]",
    help: "list memory mappings, or those that contain an address or have TEXT in their name",
    more: "`:maps p` shows the mapping that `p` points into, `:maps libc` those of libc.",
    when: RequiredState::Process,
    run: maps,
    complete: Complete::Expression,
};

fn maps(call: &mut Call<'_>) -> Result<String, RequestError> {
    let mappings = call.session.debugger.mappings();
    let wanted = call.arguments.to_owned();
    let named = |mapping: &&Mapping| mapping.path.to_string_lossy().contains(wanted.as_str());
    let found: Vec<&Mapping> = mappings.iter().filter(named).collect();
    let found = match found.is_empty() {
        false => found,
        true => {
            let addr = call.address(&wanted)?;
            let holds = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&addr);
            let found: Vec<&Mapping> = mappings.iter().filter(holds).collect();
            if found.is_empty() {
                return Err(RequestError::Other(format!(
                    "no memory is mapped at {addr}"
                )));
            }
            found
        }
    };
    let rows: Vec<Vec<String>> = found.iter().map(|it| mapping_row(it)).collect();
    let mut lines = Lines::at_most(MAX_ROWS);
    columns(&rows).iter().for_each(|row| lines.push(row));
    let how = format!("`{}maps TEXT`", call.session.settings.command_prefix);
    Ok(lines.finish(&how))
}

fn mapping_row(mapping: &Mapping) -> Vec<String> {
    let flag = |is: bool, char: char| if is { char } else { '-' };
    let access: String = [
        flag(mapping.readable, 'r'),
        flag(mapping.writable, 'w'),
        flag(mapping.executable, 'x'),
    ]
    .iter()
    .collect();
    vec![
        format!("{}-{}", mapping.start, mapping.end),
        access,
        format!("{:#x}", mapping.offset),
        mapping.path.display().to_string(),
    ]
}

pub const SYMBOL: Command = Command {
    name: "sym",
    arguments: "NAME|EXPRESSION",
    help: "list symbols by name, or the symbol at an address",
    more: "NAME is mangled, demangled, or the end of a demangled name: `:sym push_back`. An \
           expression is an address: `:sym $rip`.",
    when: RequiredState::Process,
    run: symbol,
    complete: Complete::Expression,
};

fn symbol(call: &mut Call<'_>) -> Result<String, RequestError> {
    let wanted = call.arguments;
    if wanted.is_empty() {
        return Err(call.usage_error(&SYMBOL, "missing name or address"));
    }
    let is_name =
        wanted.starts_with(|char: char| char.is_alphabetic() || matches!(char, '_' | '<'));
    let found = match is_name {
        true => call.session.debugger.symbols_named(wanted)?,
        false => Vec::new(),
    };
    if !found.is_empty() {
        let rows: Vec<Vec<String>> = found.iter().map(symbol_row).collect();
        let mut lines = Lines::at_most(MAX_ROWS);
        columns(&rows).iter().for_each(|row| lines.push(row));
        return Ok(lines.finish("write a longer name"));
    }
    let addr = call
        .address(wanted)
        .map_err(|error| match (is_name, error) {
            (_, RequestError::Cancelled) => RequestError::Cancelled,
            (true, error) => RequestError::Other(format!(
                "no module has a symbol `{wanted}`; as an expression: {error}"
            )),
            (false, error) => error,
        })?;
    symbol_at(call, addr)
}

fn symbol_row(symbol: &SymbolInfo) -> Vec<String> {
    let kind = match symbol.kind {
        SymbolKind::Function => "function",
        SymbolKind::Object => "object",
        SymbolKind::IndirectFunction => "indirect function",
        SymbolKind::ThreadLocal => "thread-local at offset",
    };
    let size = match symbol.size {
        0 => String::new(),
        size => format!("{size} bytes"),
    };
    vec![
        symbol.address.to_string(),
        kind.to_owned(),
        size,
        format!("{} in {}", symbol.name, symbol.module),
    ]
}

fn symbol_at(call: &mut Call<'_>, addr: LoadAddr) -> Result<String, RequestError> {
    let debugger = &call.session.debugger;
    if let Some(symbol) = debugger.symbol_at(addr) {
        let offset = match addr.0.wrapping_sub(symbol.address.0) {
            0 => String::new(),
            offset => format!("+{offset:#x}"),
        };
        let text = format!("{addr} is {}{offset} in {}", symbol.name, symbol.module);
        let line = debugger.line_at(addr);
        return Ok(match line {
            Some(line) => {
                let path = call.session.sources.local(&line.location.file.path);
                format!("{text}, {}:{}", path.display(), line.location.line)
            }
            None => text,
        });
    }
    let mappings = debugger.mappings();
    let holds = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&addr);
    match mappings.iter().find(holds) {
        Some(mapping) => Ok(format!(
            "no symbol at {addr}; offset {:#x} of {}",
            addr.0.wrapping_sub(mapping.start.0),
            match mapping.path.as_os_str().is_empty() {
                true => "anonymous memory".into(),
                false => mapping.path.display().to_string(),
            }
        )),
        None => Err(RequestError::Other(format!(
            "no memory is mapped at {addr}"
        ))),
    }
}

pub const INFO: Command = Command {
    name: "info",
    arguments: "line FILE:LINE|EXPRESSION",
    help: "show the code of a source line, or the line of an address",
    more: "`:info line main.c:12` shows the addresses of that line's code, `:info line $rip` the \
           line of that instruction.",
    when: RequiredState::Process,
    run: info,
    complete: Complete::Words(|_, before| match before {
        [] => vec!["line".to_owned()],
        _ => Vec::new(),
    }),
};

fn info(call: &mut Call<'_>) -> Result<String, RequestError> {
    let (what, wanted) = super::split(call.arguments);
    if what != "line" || wanted.is_empty() {
        return Err(call.usage_error(&INFO, "missing argument"));
    }
    if let Some((file, line)) = file_and_line(wanted) {
        return code_of(call, file, line);
    }
    let addr = call.address(wanted)?;
    match call.session.debugger.line_at(addr) {
        Some(code) => Ok(code_row(call, &code).join(" ")),
        None => match call.session.debugger.module_at(addr) {
            Some(_) => Err(RequestError::Other(format!(
                "no line information for {addr}; compile with -g"
            ))),
            None => Err(RequestError::Other(format!("no module at {addr}"))),
        },
    }
}

/// Splits `FILE:LINE`; `None` for anything else, as `a::b`.
fn file_and_line(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    let is_file = !file.is_empty() && !file.ends_with(':');
    Some((file, line.trim().parse().ok()?)).filter(|_| is_file)
}

fn code_of(call: &mut Call<'_>, file: &str, line: u32) -> Result<String, RequestError> {
    let path = call.session.sources.to_debug_info(Path::new(file));
    let found = call.session.debugger.addresses_of_line(&path, line);
    if found.is_empty() {
        let near = call
            .session
            .debugger
            .breakpoint_locations(&path, 1, u32::MAX);
        let after = near.iter().find(|place| place.0 > line);
        return Err(RequestError::Other(match (near.is_empty(), after) {
            (true, _) => format!("no source file `{file}` in debug info"),
            (false, Some((next, _))) => {
                format!("no code at line {line} of {file}; the next line with code is {next}")
            }
            (false, None) => format!("no code at line {line} of {file} or after it"),
        }));
    }
    let rows: Vec<Vec<String>> = found.iter().map(|code| code_row(call, code)).collect();
    let mut lines = Lines::at_most(MAX_ROWS);
    columns(&rows).iter().for_each(|row| lines.push(row));
    Ok(lines.finish("not shown"))
}

fn code_row(call: &mut Call<'_>, code: &LineCode) -> Vec<String> {
    let path = call.session.sources.local(&code.location.file.path);
    let column = match code.location.column {
        0 => String::new(),
        column => format!(":{column}"),
    };
    let function = code.function.as_ref();
    vec![
        format!("{}-{}", code.range.start, code.range.end),
        format!("{}:{}{column}", path.display(), code.location.line),
        function.map_or_else(String::new, |name| format!("in {name}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::file_and_line;

    #[test]
    fn files_and_expressions() {
        assert_eq!(file_and_line("a.c:12"), Some(("a.c", 12)));
        assert_eq!(file_and_line("/x y/a.c: 3"), Some(("/x y/a.c", 3)));
        for expression in ["a::b", "main", "a::7", ":3", "$rip"] {
            assert_eq!(file_and_line(expression), None, "{expression}");
        }
    }
}
