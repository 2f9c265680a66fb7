//! A query at one of its sites: what each function has of its own.

use super::{Query, Source, Subject};
use crate::expr::Expression;
use dwarf::Language;

/// Stands for the result of a function that returns nothing.
pub const NOTHING: &str = "nothing";

/// A query whose record has the values of one site: a parameter each instead of all arguments, and no
/// result of a function that has none.
#[derive(Clone, Debug)]
pub struct SiteQuery {
    /// The query.
    pub query: Query,
    /// How many of its recorded values are those of each recorded value of the original.
    counts: Vec<usize>,
}

impl SiteQuery {
    /// Returns the query at a site. `parameters`: the names of the function's parameters;
    /// `is_returning`: whether it returns a value.
    pub fn new(
        query: &Query,
        parameters: &[String],
        is_returning: bool,
        language: Language,
    ) -> SiteQuery {
        let mut own = query.clone();
        own.record.clear();
        if !is_returning {
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
                Source::Arguments => own.record.extend(
                    parameters
                        .iter()
                        .filter_map(|name| parameter(name, language)),
                ),
                Source::Returned if !is_returning => {}
                _ => own.record.push(subject.clone()),
            }
            own.record.len() - before
        });
        let counts = counts.collect();
        SiteQuery { query: own, counts }
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
                    group.next().unwrap_or_else(|| NOTHING.to_owned())
                }
            }
        };
        groups.map(group).collect()
    }
}

fn parameter(name: &str, language: Language) -> Option<Subject> {
    Some(Subject {
        text: name.to_owned(),
        value: Source::Expression(Expression::parse(name, language).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_of_a_site_is_regrouped() {
        let query = Query::parse("arguments, returned, function", Language::C).expect("a query");
        let names = ["a".to_owned(), "b".to_owned()];
        let site = SiteQuery::new(&query, &names, false, Language::C);
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

        let site = SiteQuery::new(&query, &[], true, Language::C);
        let values = ["7", "f"].map(str::to_owned).to_vec();
        assert_eq!(site.regroup(&query.record, values), ["", "7", "f"]);
    }
}
