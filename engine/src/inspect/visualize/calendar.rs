//! Dates for clocks that count from 1970.

/// Formats seconds since 1970-01-01 as `2023-11-14 22:13:20` (UTC, Gregorian calendar).
pub fn date_and_time(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Returns year, month and day for days since 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    const IN_400_YEARS: i64 = 146_097;
    /// Days before each month, in a year that begins in March.
    const BEFORE: [i64; 12] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
    // Count from 0000-03-01, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(IN_400_YEARS), days.rem_euclid(IN_400_YEARS));
    let centuries = (day / 36_524).min(3);
    let day = day - centuries * 36_524;
    let fours = day / 1461;
    let day = day - fours * 1461;
    let years = (day / 365).min(3);
    let day = day - years * 365;
    let month = BEFORE.partition_point(|before| *before <= day) as i64 - 1;
    let year = era * 400 + centuries * 100 + fours * 4 + years;
    let in_month = day - BEFORE[month as usize] + 1;
    match month {
        0..=9 => (year, month + 3, in_month),
        _ => (year + 1, month - 9, in_month),
    }
}

#[cfg(test)]
mod tests {
    use super::{date, date_and_time};

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_778, (2026, 11, 21)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
            (-25_509, (1900, 2, 28)),
            (-25_508, (1900, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }

    #[test]
    fn times_of_day() {
        assert_eq!(date_and_time(0), "1970-01-01 00:00:00");
        assert_eq!(date_and_time(-1), "1969-12-31 23:59:59");
        assert_eq!(date_and_time(1_735_689_599), "2024-12-31 23:59:59");
        for ends in [i64::MIN, i64::MAX] {
            assert!(date_and_time(ends).contains(':'));
        }
    }
}
