//! A query at one of its sites: what each function has of its own.

use super::{Query, Source, Subject};
use crate::expr::Expression;
use dwarf::Language;

/// Stands for the result of a function that returns nothing.
pub const NOTHING: &str = "nothing";

/// Stands for the result of a call that is timed, if only the debugger can read it.
const UNREAD: &str = "…";

/// What the function at a site returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returning {
    /// A value.
    Value,
    /// Nothing.
    Nothing,
    /// A value that is not recorded: only the debugger could read it, at a stop that the call's time would contain.
    Unread,
}

/// A query whose record has the values of one site: a parameter each instead of all arguments, and no
/// result of a function that has none.
#[derive(Clone, Debug)]
pub struct SiteQuery {
    /// The query.
    pub query: Query,
    /// How many of its recorded values are those of each recorded value of the original.
    counts: Vec<usize>,
    /// The text of a result that is not recorded.
    no_result: &'static str,
}

impl SiteQuery {
    /// Returns the query at a site. `parameters`: what is recorded of the function's parameters.
    pub fn new(query: &Query, parameters: &[Subject], returning: Returning) -> SiteQuery {
        let mut own = query.clone();
        own.record.clear();
        if returning == Returning::Nothing {
            let tables = own.tables.iter_mut();
            let subjects = tables.flat_map(|table| {
                let columns = table.columns.iter_mut();
                table
                    .keys
                    .iter_mut()
                    .chain(columns.filter_map(|it| it.value.as_mut()))
            });
            for subject in subjects.filter(|it| matches!(it.value, Source::Returned)) {
                subject.value = Source::Nothing;
            }
        }
        let counts = query.record.iter().map(|subject| {
            let before = own.record.len();
            match subject.value {
                Source::Arguments => own.record.extend_from_slice(parameters),
                Source::Returned if returning != Returning::Value => {}
                _ => own.record.push(subject.clone()),
            }
            own.record.len() - before
        });
        let counts = counts.collect();
        let no_result = match returning {
            Returning::Unread => UNREAD,
            Returning::Value | Returning::Nothing => NOTHING,
        };
        SiteQuery {
            query: own,
            counts,
            no_result,
        }
    }

    /// Returns the values of the original's record from those of this one's.
    pub fn regroup(&self, original: &[Subject], values: Vec<String>) -> Vec<String> {
        let mut values = self.query.record.iter().zip(values);
        let groups = original.iter().zip(&self.counts);
        let group = |(subject, count): (&Subject, &usize)| {
            let group = values.by_ref().take(*count);
            match subject.value {
                Source::Arguments => {
                    let all = group.map(|(own, value)| format!("{} = {value}", own.text));
                    all.collect::<Vec<_>>().join(", ")
                }
                _ => {
                    let mut group = group.map(|(_, value)| value);
                    group.next().unwrap_or_else(|| self.no_result.to_owned())
                }
            }
        };
        groups.map(group).collect()
    }
}

impl Subject {
    /// Returns the value of a parameter; `None`: its name is no expression.
    pub fn parameter(name: &str, language: Language) -> Option<Subject> {
        Subject::named(name, name, language)
    }

    /// Returns the address of a parameter, in C and C++, instead of its value.
    pub fn address_of_parameter(name: &str, language: Language) -> Option<Subject> {
        match language {
            Language::C | Language::Cpp => Subject::named(name, &format!("&{name}"), language),
            Language::Rust => Subject::named(name, &format!("&raw const {name}"), language),
        }
    }

    fn named(name: &str, text: &str, language: Language) -> Option<Subject> {
        Some(Subject {
            text: name.to_owned(),
            value: Source::Expression(Expression::parse(text, language).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_of_a_site_is_regrouped() {
        let query = Query::parse("arguments, returned, function", Language::C).expect("a query");
        let parameters = ["a", "b"].map(|name| Subject::parameter(name, Language::C));
        let parameters: Vec<Subject> = parameters.into_iter().flatten().collect();
        let site = SiteQuery::new(&query, &parameters, Returning::Nothing);
        let texts: Vec<&str> = site
            .query
            .record
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(texts, ["a", "b", "function"]);
        let values = ["1", "2", "f"].map(str::to_owned).to_vec();
        let regrouped = site.regroup(&query.record, values);
        assert_eq!(regrouped, ["a = 1, b = 2", "nothing", "f"]);

        let site = SiteQuery::new(&query, &parameters, Returning::Unread);
        let values = ["1", "2", "f"].map(str::to_owned).to_vec();
        let regrouped = site.regroup(&query.record, values);
        assert_eq!(regrouped, ["a = 1, b = 2", "…", "f"]);

        let site = SiteQuery::new(&query, &[], Returning::Value);
        let values = ["7", "f"].map(str::to_owned).to_vec();
        assert_eq!(site.regroup(&query.record, values), ["", "7", "f"]);
    }
}
