//! The options of a breakpoint, as the client set them.

/// The options of a breakpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BreakpointOptions {
    /// Stop only if this expression is true.
    pub condition: Option<String>,
    /// Stop only at these hits: `N`, `== N`, `>= N`, `> N`, `<= N`, `< N`, `% N`; `once`: at the
    /// first, and never again.
    pub hit_condition: Option<String>,
    /// Log this message and do not stop; `{expression}` is replaced by its value.
    pub log_message: Option<String>,
    /// Record this at each hit and do not stop: values and aggregates, as in
    /// `count(), max(n) by kind where n > 3`.
    pub trace: Option<String>,
    /// Use the processor's debug registers: nothing is written into the code.
    pub hardware: bool,
    /// Count the hits at which the condition is false, also where the program evaluates it: some 5 ns each.
    pub counts_passes: bool,
}

/// The hits at which a breakpoint stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HitCondition {
    /// `N`, `== N`, `= N`: the N-th hit only.
    Exactly(u64),
    /// `>= N`.
    AtLeast(u64),
    /// `> N`.
    MoreThan(u64),
    /// `<= N`.
    AtMost(u64),
    /// `< N`.
    LessThan(u64),
    /// `% N`: every N-th.
    Every(u64),
    /// `once`: the first hit; the breakpoint is disabled after it.
    Once,
}

impl HitCondition {
    /// Parses a hit condition; accepts the notations common among users of VS Code.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("once") {
            return Ok(Self::Once);
        }
        let digits = trimmed
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (operator, number) = trimmed.split_at(digits);
        let wrong = || {
            format!(
                "invalid hit condition `{text}`; expected N, == N, >= N, > N, <= N, < N, % N or \
                 once"
            )
        };
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        let condition = match operator.trim() {
            "" | "==" | "=" => Self::Exactly(number),
            ">=" => Self::AtLeast(number),
            ">" => Self::MoreThan(number),
            "<=" => Self::AtMost(number),
            "<" => Self::LessThan(number),
            "%" if number > 0 => Self::Every(number),
            _ => return Err(wrong()),
        };
        match condition {
            Self::Exactly(0) | Self::AtMost(0) | Self::LessThan(0 | 1) => Err(format!(
                "hit condition `{text}` never holds: the first hit is number 1"
            )),
            condition => Ok(condition),
        }
    }

    /// Returns whether to stop at the `hits`-th hit, counted from 1.
    pub fn holds(self, hits: u64) -> bool {
        match self {
            Self::Exactly(number) => hits == number,
            Self::AtLeast(number) => hits >= number,
            Self::MoreThan(number) => hits > number,
            Self::AtMost(number) => hits <= number,
            Self::LessThan(number) => hits < number,
            Self::Every(number) => hits.is_multiple_of(number),
            Self::Once => hits == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_conditions_accept_common_spellings() {
        let stops = |text: &str| -> Vec<u64> {
            let condition = HitCondition::parse(text).unwrap();
            (1..=6).filter(|hits| condition.holds(*hits)).collect()
        };
        assert_eq!(stops("3"), [3]);
        assert_eq!(stops(" == 3"), [3]);
        assert_eq!(stops(">=5"), [5, 6]);
        assert_eq!(stops("> 5"), [6]);
        assert_eq!(stops("<= 2"), [1, 2]);
        assert_eq!(stops("< 2"), [1]);
        for never in ["0", "== 0", "<= 0", "< 1"] {
            let refused = HitCondition::parse(never).unwrap_err();
            assert!(refused.contains("never holds"), "{refused}");
        }
        assert_eq!(stops("% 2"), [2, 4, 6]);
        assert_eq!(stops("once "), [1]);
        for wrong in ["", "x", "% 0", "3 4", "!= 3", "-1", "99999999999999999999"] {
            assert!(HitCondition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
