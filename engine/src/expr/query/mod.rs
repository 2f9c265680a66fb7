//! What a tracepoint records: `count(), max(n) by kind where n > 3`, parsed once.
//!
//! A query is a list of items, separated by commas: values to record, and aggregates. Behind them
//! may follow `by KEY, ...` (a row for each combination of keys), `where CONDITION`, and
//! `keep N` (records that are kept). Each aggregate that needs rows of its own, as `distinct` does,
//! is a table of its own.

mod at_site;
mod split;

pub use at_site::SiteQuery;

use super::Expression;
use crate::ids::error::Error;
use dwarf::Language;

/// Maximum number of items and keys of a query.
const MAX_ITEMS: usize = 16;
/// Records that are kept if the query does not say how many.
const KEEP: usize = 1024;
/// Maximum number of records that a query may ask to keep.
const MAX_KEEP: usize = 1 << 20;
/// Frames of a stack that is a key.
const STACK: usize = 16;
/// Maximum number of frames of a stack.
const MAX_STACK: usize = 64;
/// Maximum number of buckets of a linear histogram.
const MAX_BUCKETS: u64 = 256;

/// A parsed query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The tables, in the order of their first items.
    pub tables: Vec<Table>,
    /// The values that a record has.
    pub record: Vec<Subject>,
    /// The number of records that are kept: the last ones.
    pub keep: usize,
    /// The text of the condition under which a hit is recorded.
    pub filter: Option<String>,
}

/// A table: a row for each combination of keys.
#[derive(Clone, Debug)]
pub struct Table {
    /// The keys.
    pub keys: Vec<Subject>,
    /// The columns. Each row counts its hits besides.
    pub columns: Vec<Column>,
    /// The number of rows to show, those with the most hits first; `None`: all.
    pub shown: Option<usize>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// What is computed.
    pub aggregate: Aggregate,
    /// Of which value; `count()` has none.
    pub value: Option<Subject>,
}

/// What a column computes of its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// The number of hits.
    Count,
    /// The sum.
    Sum,
    /// The smallest value.
    Least,
    /// The largest value.
    Greatest,
    /// The sum divided by the number of values.
    Mean,
    /// How often values are in each bucket.
    Histogram(Scale),
}

/// The buckets of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// From a value up to another, by steps; two more for what is below and above.
    Linear {
        /// The lower bound of the first bucket.
        from: i64,
        /// The upper bound of the last bucket.
        to: i64,
        /// The width of a bucket, more than 0.
        step: u64,
    },
}

/// A value of a hit, and its text in the query.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The text.
    pub text: String,
    /// The value.
    pub value: Source,
}

/// Where a value is from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An expression.
    Expression(Expression),
    /// The functions on the stack, innermost first, at most this number.
    Stack(usize),
    /// The name of the function.
    Function,
    /// The names and values of the function's parameters.
    Arguments,
    /// How long a call took, from the entry of the function to its return, in nanoseconds.
    Elapsed,
    /// The value that a call returned.
    Returned,
    /// The calls in progress that are traced, outermost first, to the call itself.
    CallPath,
    /// Their number, without the call itself.
    CallDepth,
}

impl Scale {
    /// Returns the number of buckets of a linear scale, without the two outside.
    pub fn buckets(from: i64, to: i64, step: u64) -> u64 {
        to.abs_diff(from).div_ceil(step.max(1))
    }
}

impl Subject {
    /// Returns the expression, if it is one.
    pub fn expression(&self) -> Option<&Expression> {
        match &self.value {
            Source::Expression(expression) => Some(expression),
            _ => None,
        }
    }

    /// Returns whether the value is known only when the call returns.
    pub fn is_late(&self) -> bool {
        matches!(self.value, Source::Elapsed | Source::Returned)
    }

    /// Returns whether these are several values, which differ by function.
    pub fn is_list(&self) -> bool {
        matches!(self.value, Source::Arguments)
    }

    /// Returns whether the value is one of the calls in progress.
    pub fn is_path(&self) -> bool {
        matches!(self.value, Source::CallPath | Source::CallDepth)
    }
}

impl Query {
    /// Returns all values that the query mentions outside of its condition.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        let tables = self.tables.iter().flat_map(|table| {
            let columns = table
                .columns
                .iter()
                .filter_map(|column| column.value.as_ref());
            table.keys.iter().chain(columns)
        });
        tables.chain(&self.record)
    }

    /// Returns whether calls are recorded, when they return, rather than hits.
    pub fn records_calls(&self) -> bool {
        self.subjects().any(|it| it.is_late() || it.is_path())
    }

    /// Returns whether the calls in progress are recorded.
    pub fn records_paths(&self) -> bool {
        self.subjects().any(Subject::is_path)
    }

    /// Parses a query whose expressions are in the syntax of `language`.
    ///
    /// # Errors
    /// [`Error::Eval`] that names the part that is wrong.
    pub fn parse(text: &str, language: Language) -> Result<Query, Error> {
        let parts = split::split(text)?;
        if parts.items.len() + parts.keys.len() > MAX_ITEMS {
            return Err(Error::eval(format!(
                "a tracepoint has at most {MAX_ITEMS} values, aggregates and keys"
            )));
        }
        let parser = Parser { language };
        let keys: Vec<Subject> = (parts.keys.iter())
            .map(|key| parser.subject(key))
            .collect::<Result<_, _>>()?;
        if let Some(key) = keys.iter().find(|it| it.is_list()) {
            return Err(only_recorded(key));
        }
        let mut query = Query {
            tables: Vec::new(),
            record: Vec::new(),
            keep: KEEP,
            filter: parts.filter.map(str::to_owned),
        };
        let mut columns = Vec::new();
        let mut own = Vec::new();
        for item in &parts.items {
            match parser.item(item)? {
                Item::Column(column) => columns.push(column),
                Item::Rows(subject, shown) => own.push((subject, shown)),
                Item::Value(subject) => query.record.push(subject),
                Item::Last(subject, keep) => {
                    query.record.push(subject);
                    query.keep = keep;
                }
            }
        }
        let is_empty = columns.is_empty() && own.is_empty() && query.record.is_empty();
        if is_empty || (!keys.is_empty() && columns.is_empty() && own.is_empty()) {
            columns.push(Column {
                aggregate: Aggregate::Count,
                value: None,
            });
        }
        if !columns.is_empty() {
            query.tables.push(Table {
                keys: keys.clone(),
                columns,
                shown: None,
            });
        }
        if let Some((value, _)) = own.iter().find(|it| it.0.is_list()) {
            return Err(only_recorded(value));
        }
        for (subject, shown) in own {
            query.tables.push(Table {
                keys: keys.iter().cloned().chain([subject]).collect(),
                columns: vec![Column {
                    aggregate: Aggregate::Count,
                    value: None,
                }],
                shown,
            });
        }
        if let Some(keep) = parts.keep {
            query.keep = parser.number(keep, 1, MAX_KEEP as u64)? as usize;
        }
        Ok(query)
    }
}

fn only_recorded(value: &Subject) -> Error {
    let text = &value.text;
    Error::eval(format!(
        "`{text}` are several values; they are only recorded, not a key or a number"
    ))
}

enum Item {
    Column(Column),
    /// A table of its own: the values, and how many of them to show.
    Rows(Subject, Option<usize>),
    Value(Subject),
    Last(Subject, usize),
}

struct Parser {
    language: Language,
}

impl Parser {
    fn item(&self, text: &str) -> Result<Item, Error> {
        let Some((name, arguments)) = split::call(text) else {
            return self.subject(text).map(Item::Value);
        };
        let aggregate = match name {
            "count" if arguments.is_empty() => {
                return Ok(Item::Column(Column {
                    aggregate: Aggregate::Count,
                    value: None,
                }));
            }
            "sum" => Aggregate::Sum,
            "min" => Aggregate::Least,
            "max" => Aggregate::Greatest,
            "mean" | "avg" => Aggregate::Mean,
            "hist" => return self.histogram(&arguments),
            "distinct" => return self.distinct(&arguments),
            "top" => return self.top(&arguments),
            "last" => return self.last(&arguments),
            _ => return self.subject(text).map(Item::Value),
        };
        match arguments[..] {
            [value] => self.column(aggregate, value),
            _ => Err(Error::eval(format!("`{name}` takes one value: `{text}`"))),
        }
    }

    fn column(&self, aggregate: Aggregate, value: &str) -> Result<Item, Error> {
        let value = self.subject(value)?;
        match value.value {
            Source::Arguments => Err(only_recorded(&value)),
            Source::Stack(_) | Source::Function | Source::CallPath | Source::CallDepth => {
                let text = format!("`{}` cannot be added up; use it as a key", value.text);
                Err(Error::eval(text))
            }
            Source::Expression(_) | Source::Elapsed | Source::Returned => {
                Ok(Item::Column(Column {
                    aggregate,
                    value: Some(value),
                }))
            }
        }
    }

    fn histogram(&self, arguments: &[&str]) -> Result<Item, Error> {
        match *arguments {
            [value] => self.column(Aggregate::Histogram(Scale::Log2), value),
            [value, from, to, step] => {
                let from = self.integer(from)?;
                let to = self.integer(to)?;
                let step = self.number(step, 1, u64::MAX)?;
                if to <= from || Scale::buckets(from, to, step) > MAX_BUCKETS {
                    return Err(Error::eval(format!(
                        "a histogram needs 1 to {MAX_BUCKETS} buckets: hist(value, from, to, step)"
                    )));
                }
                let scale = Scale::Linear { from, to, step };
                self.column(Aggregate::Histogram(scale), value)
            }
            _ => Err(Error::eval(
                "write hist(value), or hist(value, from, to, step)",
            )),
        }
    }

    fn distinct(&self, arguments: &[&str]) -> Result<Item, Error> {
        match *arguments {
            [value] => Ok(Item::Rows(self.subject(value)?, None)),
            [value, shown] => {
                let shown = self.number(shown, 1, u64::from(u32::MAX))? as usize;
                Ok(Item::Rows(self.subject(value)?, Some(shown)))
            }
            _ => Err(Error::eval("write distinct(value), or distinct(value, N)")),
        }
    }

    fn top(&self, arguments: &[&str]) -> Result<Item, Error> {
        match *arguments {
            [shown, value] => {
                let shown = self.number(shown, 1, u64::from(u32::MAX))? as usize;
                Ok(Item::Rows(self.subject(value)?, Some(shown)))
            }
            _ => Err(Error::eval("write top(N, value)")),
        }
    }

    fn last(&self, arguments: &[&str]) -> Result<Item, Error> {
        match *arguments {
            [value, keep] => {
                let keep = self.number(keep, 1, MAX_KEEP as u64)? as usize;
                Ok(Item::Last(self.subject(value)?, keep))
            }
            _ => Err(Error::eval("write last(value, N)")),
        }
    }

    /// Parses a value: an expression, or one of the words for what is no variable. In brackets, such a
    /// word is a variable.
    fn subject(&self, text: &str) -> Result<Subject, Error> {
        let value = match split::call(text) {
            Some(("stack", arguments)) if arguments.len() == 1 => {
                Source::Stack(self.number(arguments[0], 1, MAX_STACK as u64)? as usize)
            }
            _ if text == "stack" => Source::Stack(STACK),
            _ if text == "function" => Source::Function,
            _ if text == "arguments" => Source::Arguments,
            _ if text == "elapsed" => Source::Elapsed,
            _ if text == "returned" => Source::Returned,
            _ if text == "call_path" => Source::CallPath,
            _ if text == "call_depth" => Source::CallDepth,
            _ => {
                let text = if text == "thread" { "$thread" } else { text };
                let expression = Expression::parse(text, self.language);
                let expression =
                    expression.map_err(|error| Error::eval(format!("`{text}`: {error}")))?;
                if let Some(unknown) = expression.unknown_register() {
                    let name = &unknown.name;
                    return Err(Error::eval(format!(
                        "no register `${name}` on this machine"
                    )));
                }
                Source::Expression(expression)
            }
        };
        Ok(Subject {
            text: text.to_owned(),
            value,
        })
    }

    fn integer(&self, text: &str) -> Result<i64, Error> {
        let number = text.parse();
        number.map_err(|_| Error::eval(format!("`{text}` is not a whole number")))
    }

    fn number(&self, text: &str, least: u64, most: u64) -> Result<u64, Error> {
        let number: Option<u64> = text.parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        number
            .ok_or_else(|| Error::eval(format!("`{text}` is not a number from {least} to {most}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Query {
        Query::parse(text, Language::Cpp).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn texts(subjects: &[Subject]) -> Vec<&str> {
        subjects.iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn items_become_tables_and_records() {
        let query = parse("count(), max(a.size()), x + f(y, z) by order.kind, thread where n > 3");
        let [table] = &query.tables[..] else {
            panic!("{query:?}");
        };
        assert_eq!(texts(&table.keys), ["order.kind", "thread"]);
        let aggregates: Vec<Aggregate> = table.columns.iter().map(|it| it.aggregate).collect();
        assert_eq!(aggregates, [Aggregate::Count, Aggregate::Greatest]);
        assert_eq!(texts(&query.record), ["x + f(y, z)"]);
        assert_eq!(query.filter.as_deref(), Some("n > 3"));
        assert_eq!(query.keep, 1024);
    }

    #[test]
    fn empty_query_counts() {
        for text in ["", "  ", "by kind", "where x"] {
            let query = parse(text);
            let columns = &query.tables[0].columns;
            assert_eq!(columns[0].aggregate, Aggregate::Count, "{text}");
        }
        let by = parse("x by kind");
        assert_eq!((by.tables.len(), by.record.len()), (1, 1));
    }

    #[test]
    fn values_with_rows_of_their_own() {
        let query = parse("count(), distinct(x), top(3, name) by kind");
        let keys: Vec<Vec<&str>> = query.tables.iter().map(|it| texts(&it.keys)).collect();
        assert_eq!(
            keys,
            [vec!["kind"], vec!["kind", "x"], vec!["kind", "name"]]
        );
        assert_eq!(query.tables[2].shown, Some(3));
        let last = parse("last(x, 5)");
        assert_eq!((texts(&last.record), last.keep), (vec!["x"], 5));
        assert_eq!(parse("x keep 7").keep, 7);
    }

    #[test]
    fn words_are_no_variables() {
        let query = parse("mean(elapsed), returned by function, thread");
        assert!(query.records_calls());
        let keys: Vec<bool> = query.tables[0]
            .keys
            .iter()
            .map(|it| it.expression().is_some())
            .collect();
        assert_eq!(keys, [false, true]);
        assert!(!parse("mean((elapsed)) by (function)").records_calls());
        let query = parse("count() by call_path");
        assert!(query.records_calls() && query.records_paths());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("sum()", "one value"),
            ("sum(a, b)", "one value"),
            ("hist(x, 1, 0, 1)", "1 to 256 buckets"),
            ("hist(x, 0, 1000, 1)", "1 to 256 buckets"),
            ("top(0, x)", "`0` is not a number"),
            ("x by", "a key is missing"),
            ("count() where", "a condition is missing"),
            ("a,,b", "a value is missing"),
            ("sum(arguments)", "only recorded"),
            ("count() by arguments", "only recorded"),
            ("distinct(arguments)", "only recorded"),
            ("sum(stack)", "cannot be added up"),
            ("x keep many", "`many` is not a number"),
            ("f(", "`f(`"),
            ("x +", "`x +`"),
        ] {
            let error = Query::parse(text, Language::C).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
