//! Which call is to be traced.

/// Default and maximum number of levels of calls whose lines are recorded.
const DEPTHS: (usize, usize) = (0, 5);
/// Default, minimum and maximum length of the text in bytes.
const LIMITS: (usize, usize, usize) = (4000, 400, 1 << 20);
/// Default, minimum and maximum number of seconds from the beginning of the call.
const SECONDS: (u64, u64, u64) = (60, 1, 3600);

/// Selects among the calls of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pass {
    /// The next call; the present one, if the program is stopped at its beginning.
    Next,
    /// The call of this number, counted from now.
    Hit(u64),
    /// The first call for which this expression is true.
    If(String),
}

/// A request for a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The function, as a function breakpoint names it.
    pub function: String,
    /// Which of its calls.
    pub pass: Pass,
    /// How many levels of calls are recorded line by line below it.
    pub depth: usize,
    /// Maximum length of the text in bytes.
    pub limit: usize,
    /// After how many seconds the trace ends, from the beginning of the call.
    pub seconds: u64,
}

impl Wanted {
    /// Returns a request with default bounds.
    ///
    /// # Errors
    /// There is no function, or both a hit and a condition.
    pub fn new(function: &str, hit: Option<u64>, condition: Option<&str>) -> Result<Self, String> {
        let function = function.trim();
        if function.is_empty() {
            return Err("missing function name".to_owned());
        }
        let condition = condition.map(str::trim).filter(|it| !it.is_empty());
        let pass = match (hit, condition) {
            (Some(0), _) => return Err("calls are counted from 1".to_owned()),
            (Some(_), Some(_)) => {
                return Err("`hit` and a condition exclude each other".to_owned());
            }
            (Some(number), None) => Pass::Hit(number),
            (None, Some(condition)) => Pass::If(condition.to_owned()),
            (None, None) => Pass::Next,
        };
        Ok(Self {
            function: function.to_owned(),
            pass,
            depth: DEPTHS.0,
            limit: LIMITS.0,
            seconds: SECONDS.0,
        })
    }

    /// Replaces the default bounds by the given ones, as far as their own limits allow.
    #[must_use]
    pub fn with_bounds(
        mut self,
        depth: Option<u64>,
        limit: Option<u64>,
        seconds: Option<u64>,
    ) -> Self {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(depth) = depth {
            self.depth = size(depth).min(DEPTHS.1);
        }
        if let Some(limit) = limit {
            self.limit = size(limit).clamp(LIMITS.1, LIMITS.2);
        }
        if let Some(seconds) = seconds {
            self.seconds = seconds.clamp(SECONDS.1, SECONDS.2);
        }
        self
    }

    /// Parses `FUNCTION [hit N | if EXPRESSION] [depth D] [limit BYTES] [seconds S]`.
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        let (mut depth, mut limit, mut seconds) = (None, None, None);
        while let Some((before, word, number)) = last_option(rest) {
            let place = match word {
                "depth" => &mut depth,
                "limit" => &mut limit,
                "seconds" => &mut seconds,
                _ => break,
            };
            if place.replace(number).is_some() {
                return Err(format!("`{word}` is given twice"));
            }
            rest = before;
        }
        let wanted = if let Some((function, condition)) = rest.split_once(" if ") {
            Self::new(function, None, Some(condition))
        } else if let Some((function, "hit", number)) = last_option(rest) {
            Self::new(function, Some(number), None)
        } else {
            match rest.rsplit_once(char::is_whitespace) {
                Some((_, word @ ("hit" | "if" | "depth" | "limit" | "seconds"))) => {
                    Err(format!("missing value behind `{word}`"))
                }
                _ => Self::new(rest, None, None),
            }
        };
        Ok(wanted?.with_bounds(depth, limit, seconds))
    }
}

/// Splits a text that ends with a word and a number.
fn last_option(text: &str) -> Option<(&str, &str, u64)> {
    let (before, number) = text.rsplit_once(char::is_whitespace)?;
    let number = number.parse().ok()?;
    let (before, word) = before.trim_end().rsplit_once(char::is_whitespace)?;
    Some((before.trim_end(), word, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Pass, usize, usize) {
        let wanted = Wanted::parse(text).unwrap();
        (wanted.function, wanted.pass, wanted.depth, wanted.limit)
    }

    #[test]
    fn options_are_parsed_in_any_number() {
        let all = |function: &str, pass, depth, limit| (function.to_owned(), pass, depth, limit);
        assert_eq!(parsed(" f "), all("f", Pass::Next, 0, 4000));
        assert_eq!(parsed("f hit 3"), all("f", Pass::Hit(3), 0, 4000));
        let condition = || Pass::If("n > 3 && s[0] == ' '".to_owned());
        assert_eq!(
            parsed("f if n > 3 && s[0] == ' ' depth 2"),
            all("f", condition(), 2, 4000)
        );
        assert_eq!(
            parsed("ns::f<int, long>  hit 3 limit 800 depth 1"),
            all("ns::f<int, long>", Pass::Hit(3), 1, 800)
        );
        // A number at the end of a condition is part of it.
        assert_eq!(parsed("f if n == 3").1, Pass::If("n == 3".to_owned()));
        assert_eq!(parsed("operator new").0, "operator new");
    }

    #[test]
    fn bounds_hold_whatever_is_given() {
        assert_eq!(parsed("f depth 99 limit 1"), {
            ("f".to_owned(), Pass::Next, 5, 400)
        });
        let most = Some(u64::MAX);
        let large = Wanted::new("f", None, None).unwrap();
        let large = large.with_bounds(most, most, most);
        assert_eq!((large.limit, large.seconds), (1 << 20, 3600));
        let seconds = |text: &str| Wanted::parse(text).unwrap().seconds;
        assert_eq!(seconds("f"), 60);
        assert_eq!(seconds("f depth 1 seconds 90"), 90);
        assert_eq!(seconds("f seconds 0"), 1);
    }

    #[test]
    fn mistakes_name_their_cause() {
        let mistake = |text: &str| Wanted::parse(text).unwrap_err();
        assert_eq!(mistake(""), "missing function name");
        assert_eq!(mistake("f hit"), "missing value behind `hit`");
        assert_eq!(mistake("f hit 0"), "calls are counted from 1");
        assert_eq!(mistake("f depth 1 depth 2"), "`depth` is given twice");
    }
}
