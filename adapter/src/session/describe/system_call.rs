//! System calls of recordings as text.

use engine::os::CallOfRun;

/// Arguments that are larger are written as addresses.
const ADDRESSES: u64 = 1 << 32;

/// Describes a call: its arguments, its result, and what it has read.
pub fn text_of_call(call: &CallOfRun) -> String {
    let arguments = match &call.arguments {
        None => "…".to_owned(),
        Some(arguments) => {
            let named = arguments.iter().map(|(name, value)| match *value {
                value if (ADDRESSES..1 << 63).contains(&value) => format!("{name} = {value:#x}"),
                // Descriptors and flags are 32 bits, also negative ones.
                value if value >> 32 == 0 => format!("{name} = {}", value as u32 as i32),
                value => format!("{name} = {}", value as i64),
            });
            named.collect::<Vec<_>>().join(", ")
        }
    };
    let mut text = format!("{}({arguments}) = {}", call.name, result(call.result));
    if !call.read.is_empty() {
        let read = call.read.escape_ascii();
        text += &match call.read_from {
            0 => format!(", read \"{read}\""),
            from => format!(", read from byte {from} on \"{read}\""),
        };
    }
    text
}

fn result(result: i64) -> String {
    match result {
        error @ -4095..0 => std::io::Error::from_raw_os_error(-error as i32).to_string(),
        address if address as u64 >= ADDRESSES => format!("{address:#x}"),
        number => number.to_string(),
    }
}
