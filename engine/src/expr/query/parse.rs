//! Texts become queries.

use super::{Aggregate, Column, Query, Scale, Since, Source, Subject, Table, split};
use crate::expr::Expression;
use crate::ids::error::Error;
use dwarf::Language;
use std::cell::RefCell;

/// Maximum number of items and keys of a query.
const MAX_ITEMS: usize = 16;
/// Records that are kept if the query does not say how many.
const KEEP: usize = 1024;
/// Maximum number of records that a query may ask to keep.
const MAX_KEEP: usize = 1 << 20;
/// The word for functions that only the debugger can evaluate.
const TRAPS: &str = "traps";
/// The word for all records.
const ALL: &str = "all";
/// The word for the thread, and the expression that it stands for.
pub(super) const THREAD: &str = "thread";
const THREAD_VARIABLE: &str = "$thread";
/// Frames of a stack that is a key.
const STACK: usize = 16;
/// Maximum number of frames of a stack.
const MAX_STACK: usize = 64;
/// Maximum number of buckets of a linear histogram.
const MAX_BUCKETS: u64 = 256;
/// Maximum number of different places and keys of `since` in a query.
const MAX_SINCES: usize = 4;

impl Query {
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
        let parser = Parser::new(language);
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
            keeps_all: false,
            filter: parts.filter.map(str::to_owned),
            sinces: Vec::new(),
            with_traps: false,
            mark: None,
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
        if parts.keep == Some(ALL) {
            if query.record.is_empty() {
                return Err(Error::eval(
                    "`keep all` is for records, and the query has no value to record",
                ));
            }
            query.keep = KEEP;
            query.keeps_all = true;
        } else if let Some(keep) = parts.keep {
            query.keep = parser.number(keep, 1, MAX_KEEP as u64)? as usize;
        }
        query.with_traps = match parts.with {
            None => false,
            Some(TRAPS) => true,
            Some(other) => {
                return Err(Error::eval(format!(
                    "`with {other}` is unknown; `with {TRAPS}` includes functions that only the \
                     debugger can evaluate"
                )));
            }
        };
        query.sinces = parser.sinces.into_inner();
        Ok(query)
    }

    /// Returns what is done at the place of a `since` whose key has this text.
    ///
    /// # Errors
    /// Like those of [`Query::parse`].
    pub fn of_mark(key: &str, language: Language) -> Result<Query, Error> {
        let key = Parser::new(language).key(key)?;
        Ok(Query {
            tables: Vec::new(),
            record: Vec::new(),
            keep: 1,
            keeps_all: false,
            filter: None,
            sinces: Vec::new(),
            with_traps: false,
            mark: Some(key),
        })
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
    sinces: RefCell<Vec<Since>>,
}

impl Parser {
    fn new(language: Language) -> Parser {
        Parser {
            language,
            sinces: RefCell::default(),
        }
    }

    fn item(&self, text: &str) -> Result<Item, Error> {
        let Some((name, arguments)) = split::call(text) else {
            return self.subject(text).map(Item::Value);
        };
        let aggregate = match name {
            "count" | "rate" if arguments.is_empty() => {
                let aggregate = match name {
                    "count" => Aggregate::Count,
                    _ => Aggregate::Rate,
                };
                return Ok(Item::Column(Column {
                    aggregate,
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
            Source::Expression(_)
            | Source::Elapsed
            | Source::Returned
            | Source::Nothing
            | Source::Since(_) => Ok(Item::Column(Column {
                aggregate,
                value: Some(value),
            })),
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
            Some(("since", arguments)) => self.since(&arguments)?,
            _ => Source::Expression(self.expression(text)?),
        };
        Ok(Subject {
            text: text.to_owned(),
            value,
        })
    }

    fn expression(&self, text: &str) -> Result<Expression, Error> {
        let text = if text == THREAD {
            THREAD_VARIABLE
        } else {
            text
        };
        let expression = Expression::parse(text, self.language);
        let expression = expression.map_err(|error| Error::eval(format!("`{text}`: {error}")))?;
        if let Some(unknown) = expression.unknown_register() {
            let name = &unknown.name;
            return Err(Error::eval(format!(
                "no register `${name}` on this machine"
            )));
        }
        Ok(expression)
    }

    /// Parses the key of a `since`.
    fn key(&self, text: &str) -> Result<Subject, Error> {
        Ok(Subject {
            text: text.to_owned(),
            value: Source::Expression(self.expression(text)?),
        })
    }

    fn since(&self, arguments: &[&str]) -> Result<Source, Error> {
        let (place, key) = match *arguments {
            [place] => (place, THREAD),
            [place, key] if !key.is_empty() => (place, key),
            _ => ("", ""),
        };
        if place.is_empty() {
            return Err(Error::eval(
                "write since(FILE:LINE), since(FUNCTION), or since(PLACE, KEY) for work that moves \
                 between threads",
            ));
        }
        let mut sinces = self.sinces.borrow_mut();
        let known = |it: &Since| it.place == place && it.key.text == key;
        if let Some(index) = sinces.iter().position(known) {
            return Ok(Source::Since(index));
        }
        if sinces.len() == MAX_SINCES {
            return Err(Error::eval(format!(
                "a tracepoint measures the time since at most {MAX_SINCES} places"
            )));
        }
        sinces.push(Since {
            place: place.to_owned(),
            key: self.key(key)?,
        });
        Ok(Source::Since(sinces.len() - 1))
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
