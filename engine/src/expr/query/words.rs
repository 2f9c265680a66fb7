//! The words of queries in places where they are none: inside of expressions, and in conditions.

/// Why a word of queries has no value in an expression, or in a condition (`is_filter`); `None`: it is no such word.
pub(crate) fn why_no_value(name: &str, is_filter: bool) -> Option<String> {
    let evaluated = match is_filter {
        true => "a condition is",
        false => "expressions are",
    };
    Some(match name {
        "elapsed" | "returned" => {
            let remedy = match (is_filter, name) {
                (false, _) => format!("use `{name}` alone, as a value, a key or in `hist({name})`"),
                (true, "elapsed") => {
                    "`hist(elapsed)` shows which calls are slow, `elapsed, arguments keep all` each call".to_owned()
                }
                (true, _) => {
                    "`count() by returned` has a row for each result, `returned, arguments keep all` each call"
                        .to_owned()
                }
            };
            format!(
                "`{name}` is known when a call returns, and {evaluated} evaluated when it begins; {remedy}"
            )
        }
        "function" | "arguments" | "stack" | "call_path" | "call_depth" | "since" => {
            let place = if is_filter {
                "a condition"
            } else {
                "an expression"
            };
            format!("`{name}` is a value or a key by itself, and no part of {place}")
        }
        "thread" => {
            "`thread` is a value or a key by itself; in expressions it is `$thread`".to_owned()
        }
        "count" | "rate" if !is_filter => {
            format!("`{name}()` takes no value; `distinct(x)` counts each value of `x`")
        }
        "count" | "rate" | "sum" | "min" | "max" | "mean" | "avg" | "hist" | "distinct" | "top"
        | "last"
            if is_filter =>
        {
            format!(
                "`{name}` is computed of many hits, and a condition is about one; use an expression"
            )
        }
        "sum" | "mean" | "avg" | "hist" | "distinct" | "top" | "last" => {
            format!("`{name}(…)` is an item of a query by itself, and no part of an expression")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_where_they_have_a_value() {
        for (name, is_filter, part) in [
            (
                "elapsed",
                true,
                "known when a call returns, and a condition is evaluated",
            ),
            ("returned", false, "use `returned` alone"),
            ("call_depth", true, "no part of a condition"),
            ("thread", true, "`$thread`"),
            ("count", false, "takes no value"),
            ("sum", true, "a condition is about one"),
        ] {
            let why = why_no_value(name, is_filter).unwrap_or_default();
            assert!(why.contains(part), "{name}: {why}");
        }
        assert_eq!(why_no_value("order", true), None);
    }
}
