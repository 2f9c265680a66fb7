//! Numbers as people read them.

/// Returns a number with few digits.
pub(super) fn rounded(number: f64) -> String {
    let size = number.abs();
    if number.fract() == 0.0 && size < 1e15 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(size as u64));
    }
    match size {
        ..1e-3 | 1e6.. => format!("{number:.2e}"),
        _ => format!("{number:.3}"),
    }
}

/// Returns a whole number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Groups the digits of a text that is a whole number.
pub(super) fn grouped_text(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    match digits.parse() {
        Ok(number) => format!("{sign}{}", grouped(number)),
        Err(_) => text.to_owned(),
    }
}

/// Returns a time in nanoseconds with a unit, and three digits.
pub(super) fn duration(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds.abs() {
        ..999.5 => (nanoseconds, "ns"),
        ..999.5e3 => (nanoseconds / 1e3, "µs"),
        ..999.5e6 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    match number.abs() {
        ..9.995 if unit != "ns" => format!("{number:.2} {unit}"),
        ..99.95 if unit != "ns" => format!("{number:.1} {unit}"),
        _ => format!("{number:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let all = [
            0.0, 999.0, 1000.0, 12_345.0, 123_456.0, 999_900.0, 2.5e6, 61.5e9,
        ];
        let texts = all.map(duration);
        let wanted = [
            "0 ns", "999 ns", "1.00 µs", "12.3 µs", "123 µs", "1.00 ms", "2.50 ms", "61.5 s",
        ];
        assert_eq!(texts, wanted);
    }
}
