//! Which recorded calls are wanted: `function = price and n > 3`.

use super::Call;

/// Conditions that must all hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter(Vec<Condition>);

/// A comparison of a call's field with a value.
#[derive(Clone, PartialEq, Debug)]
struct Condition {
    field: String,
    operator: Operator,
    value: String,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// Operators as they are written; one that begins with another is before it.
const OPERATORS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Contains),
];

/// A condition cannot be read.
#[derive(thiserror::Error, Debug)]
#[error(
    "`{0}` is no condition; write FIELD OPERATOR VALUE, with one of = != < <= > >= ~ (contains), and \
     `and` between conditions. Fields: function, returned, elapsed (ns), depth, thread, names of arguments"
)]
pub struct FilterError(String);

impl Filter {
    /// Parses conditions with `and` between them. An empty text is none.
    ///
    /// # Errors
    /// The condition that cannot be read.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let parts = split(text).into_iter().map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let conditions = parts.into_iter().map(condition);
        Ok(Filter(conditions.collect::<Result<_, _>>()?))
    }

    /// Returns the fields that it compares.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|condition| &*condition.field)
    }

    /// Returns whether all conditions hold for a call. A field that the call does not have is different
    /// from every value.
    pub fn holds(&self, call: &Call) -> bool {
        self.0.iter().all(|condition| condition.holds(call))
    }
}

/// Splits at the words `and` outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    for (at, char) in text.char_indices() {
        quoted ^= char == '"';
        if !quoted && at >= begin && text[at..].starts_with(" and ") {
            parts.push(&text[begin..at]);
            begin = at + " and ".len();
        }
    }
    parts.push(&text[begin..]);
    parts
}

fn condition(text: &str) -> Result<Condition, FilterError> {
    let wrong = || FilterError(text.to_owned());
    let at = text.find(['=', '!', '<', '>', '~']).ok_or_else(wrong)?;
    let (field, rest) = text.split_at(at);
    let (sign, operator) = OPERATORS
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .ok_or_else(wrong)?;
    let value = rest[sign.len()..].trim();
    let field = field.trim();
    if field.is_empty() || value.is_empty() {
        return Err(wrong());
    }
    Ok(Condition {
        field: field.to_owned(),
        operator,
        value: value.to_owned(),
    })
}

impl Condition {
    fn holds(&self, call: &Call) -> bool {
        let Some(found) = call.field(&self.field) else {
            return self.operator == Operator::NotEqual;
        };
        let unquoted = self.value.trim_matches('"');
        let order = match (number(&found), number(&self.value)) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => Some(found.as_str().cmp(&self.value)),
        };
        let is_equal = order.is_some_and(|it| it.is_eq()) || found.trim_matches('"') == unquoted;
        match self.operator {
            Operator::Equal => is_equal,
            Operator::NotEqual => !is_equal,
            Operator::Less => order.is_some_and(|it| it.is_lt()),
            Operator::LessOrEqual => is_equal || order.is_some_and(|it| it.is_lt()),
            Operator::Greater => order.is_some_and(|it| it.is_gt()),
            Operator::GreaterOrEqual => is_equal || order.is_some_and(|it| it.is_gt()),
            Operator::Contains => found.contains(unquoted),
        }
    }
}

/// Returns the number that a value is or begins with, as that of a pointer before its target.
fn number(text: &str) -> Option<f64> {
    let first = text.split_whitespace().next()?;
    match first.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|it| it as f64),
        None => first.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        Call {
            number: 1,
            thread: None,
            depth: 2,
            function: "shop::price".to_owned(),
            arguments: vec![
                ("n".to_owned(), "12".to_owned()),
                ("who".to_owned(), "0x4010 \"Ann and Bob\"".to_owned()),
                ("kind".to_owned(), "APPLE".to_owned()),
            ],
            returned: "-5".to_owned(),
            elapsed: 1500.0,
            is_timed: true,
            began: 0.0,
        }
    }

    #[test]
    fn conditions_compare_numbers_and_texts() {
        for (text, holds) in [
            ("", true),
            ("n > 9", true),
            ("n > 9 and returned < 0", true),
            ("n=12", true),
            ("n == 0xc", true),
            ("n != 12", false),
            ("who ~ \"Ann and\" and n >= 12", true),
            ("who = 0x4010", true),
            ("function ~ price", true),
            ("function = price", false),
            ("kind = APPLE", true),
            ("kind != PEAR", true),
            ("missing = 1", false),
            ("missing != 1", true),
            ("elapsed <= 1500 and depth < 3", true),
            ("thread = 1", false),
        ] {
            let filter = Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(filter.holds(&call()), holds, "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_condition() {
        for text in ["n", "n >", "> 3", "n > 3 and m", "!", "n ! 3"] {
            let error = Filter::parse(text).expect_err(text).to_string();
            assert!(error.contains("is no condition"), "{text}: {error}");
        }
    }
}
