//! Commands about memory and machine code.

use super::text::{Lines, hex_and_characters};
use super::{Call, Command, Complete, count, split_last};
use crate::protocol::RequestError;
use crate::session::RequiredState;
use engine::{LoadAddr, Wanted};

/// Number of bytes per line.
const BYTES_PER_LINE: usize = 16;
/// Default number of bytes shown.
const DEFAULT_BYTES: usize = 64;
/// Maximum number of bytes shown.
const MAX_BYTES: usize = 16 << 10;
/// Default number of instructions shown.
const DEFAULT_INSTRUCTIONS: usize = 20;
/// Maximum number of instructions shown.
const MAX_INSTRUCTIONS: usize = 2000;

pub const MEMORY: Command = Command {
    name: "mem",
    arguments: "EXPRESSION [N]",
    help: "dump N bytes of memory, breakpoints removed",
    more: "A number or pointer is the address: `:mem p 32` dumps the target of `p`. Any other \
           value is dumped itself: `:mem point`, `:mem &p`. Put an expression that ends in a \
           blank and a number into parentheses: `:mem (p + 4)`. N is 64 by default.",
    when: RequiredState::Process,
    run: memory,
    complete: Complete::Expression,
};

fn memory(call: &mut Call<'_>) -> Result<String, RequestError> {
    let (expression, wanted) = expression_and_count(call.arguments);
    if expression.is_empty() {
        return Err(call.usage_error(&MEMORY, "missing address"));
    }
    let wanted = wanted.unwrap_or(DEFAULT_BYTES);
    let addr = call.address(expression)?;
    let bytes = call
        .session
        .debugger
        .read_memory(addr, wanted.min(MAX_BYTES))?;
    let mut lines = Lines::at_most(MAX_BYTES / BYTES_PER_LINE);
    for (line, start) in bytes
        .chunks(BYTES_PER_LINE)
        .zip((0_u64..).step_by(BYTES_PER_LINE))
    {
        lines.push(bytes_row(LoadAddr(addr.0.wrapping_add(start)), line));
    }
    let mut text = lines.finish("");
    let next = LoadAddr(addr.0.wrapping_add(bytes.len() as u64));
    if bytes.len() < wanted.min(MAX_BYTES) {
        text.push_str(&format!("\ncannot read {next}"));
    } else if bytes.len() < wanted {
        let prefix = &call.session.settings.command_prefix;
        text.push_str(&format!("\n… more: `{prefix}mem {next} {MAX_BYTES}`"));
    }
    Ok(text)
}

fn bytes_row(addr: LoadAddr, bytes: &[u8]) -> String {
    format!("{addr}  {}", hex_and_characters(bytes, BYTES_PER_LINE))
}

/// Splits an expression from a count after its last blank; `None` if no number is there.
fn expression_and_count(text: &str) -> (&str, Option<usize>) {
    match split_last(text) {
        Some((expression, number)) if count(number).is_some() => (expression, count(number)),
        _ => (text, None),
    }
}

pub const DISASSEMBLY: Command = Command {
    name: "disas",
    arguments: "[EXPRESSION] [N]",
    help: "disassemble N instructions at an address or in the selected frame",
    more: "`:disas main 30`, `:disas $rip`, `:disas 5`. `*` marks the instruction of the frame. \
           The setting `disassemblyFlavor` chooses the syntax. N is 20 by default.",
    when: RequiredState::Process,
    run: disassembly,
    complete: Complete::Expression,
};

fn disassembly(call: &mut Call<'_>) -> Result<String, RequestError> {
    let (expression, wanted) = match count(call.arguments) {
        Some(number) => ("", Some(number)),
        None => expression_and_count(call.arguments),
    };
    let here = call.frame().ok().and_then(|frame| {
        let stack = call
            .session
            .debugger
            .stack(frame.thread, frame.level, Some(1));
        Some(stack.ok()?.frames.first()?.pc)
    });
    let addr = match (expression, here) {
        ("", Some(here)) => here,
        ("", None) => return Err(engine::Error::NotStopped.into()),
        (expression, _) => call.address(expression)?,
    };
    let wanted = wanted.unwrap_or(DEFAULT_INSTRUCTIONS);
    let rows = call.session.debugger.disassemble(&Wanted {
        addr,
        first: 0,
        count: wanted.min(MAX_INSTRUCTIONS),
        flavor: call.session.settings.flavor,
        names: true,
    })?;
    let mut lines = Lines::at_most(usize::MAX);
    let mut last = None;
    let mut next = addr;
    for row in rows {
        call.check_cancelled()?;
        let place = row.location.as_ref();
        let place = place.map(|place| {
            let path = call.session.sources.local(&place.file.path);
            format!("{}:{}", path.display(), place.line)
        });
        let symbol = row.symbol.as_deref().unwrap_or_default().to_owned();
        let heading = (symbol, place);
        if last.as_ref() != Some(&heading) {
            let (symbol, place) = &heading;
            let words = [symbol.as_str(), place.as_deref().unwrap_or_default()];
            lines.push(words.join(" ").trim());
            last = Some(heading);
        }
        let mark = match here == Some(row.address) {
            true => '*',
            false => ' ',
        };
        lines.push(format!("{mark} {}  {}", row.address, row.text));
        next = LoadAddr(row.address.0.wrapping_add(row.bytes.len().max(1) as u64));
    }
    let mut text = lines.finish("");
    if wanted > MAX_INSTRUCTIONS {
        let prefix = &call.session.settings.command_prefix;
        text.push_str(&format!(
            "\n… more: `{prefix}disas {next} {MAX_INSTRUCTIONS}`"
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_last_word() {
        assert_eq!(expression_and_count("p 16"), ("p", Some(16)));
        assert_eq!(expression_and_count("a + b  7"), ("a + b", Some(7)));
        assert_eq!(expression_and_count("(p + 4)"), ("(p + 4)", None));
        assert_eq!(expression_and_count("p"), ("p", None));
        assert_eq!(
            expression_and_count("p 18446744073709551616"),
            ("p", Some(usize::MAX))
        );
    }

    #[test]
    fn bytes_stand_below_each_other() {
        let row = bytes_row(LoadAddr(0x10), b"A\0\xff");
        assert!(row.starts_with("0x10  41 00 ff "), "{row}");
        assert!(row.ends_with(" A.."), "{row}");
    }
}
