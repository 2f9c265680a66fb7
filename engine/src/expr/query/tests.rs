//! Queries, parsed.

use super::*;
use dwarf::Language;

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
    let query = parse("x by y where z with traps keep all");
    assert!(query.with_traps && query.keeps_all);
    assert!(parse("x keep all").keeps_all && !parse("x keep 7").keeps_all);
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
fn since_names_a_place_and_a_key() {
    let query = parse("mean(since(shop.c:41)), max(since(shop.c:41)), since(begin, order->id)");
    let sinces: Vec<(&str, &str, bool)> = (query.sinces.iter())
        .map(|it| (&*it.place, &*it.key.text, it.is_of_threads()))
        .collect();
    assert_eq!(
        sinces,
        [("shop.c:41", "thread", true), ("begin", "order->id", false)]
    );
    let columns = query.tables[0].columns.iter();
    let indices: Vec<bool> = columns
        .map(|it| {
            matches!(
                it.value.as_ref().map(|it| &it.value),
                Some(Source::Since(0))
            )
        })
        .collect();
    assert_eq!(indices, [true, true]);
    assert!(!query.records_calls());
    // The name of a function of the program.
    assert!(parse("sum((since(x)))").sinces.is_empty());
}

#[test]
fn rates_have_no_value() {
    let query = parse("rate(), count() by kind");
    let aggregates: Vec<Aggregate> = (query.tables[0].columns.iter())
        .map(|it| it.aggregate)
        .collect();
    assert_eq!(aggregates, [Aggregate::Rate, Aggregate::Count]);
    // A function of the program.
    assert_eq!(texts(&parse("rate(x)").record), ["rate(x)"]);
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
        ("since()", "write since(FILE:LINE)"),
        ("since(a, b, c)", "write since(FILE:LINE)"),
        ("since(a:1, b +)", "`b +`"),
        (
            "since(a), since(b), since(c), since(d), since(e)",
            "at most 4 places",
        ),
        ("count() keep all", "no value to record"),
        ("count() with", "`traps` is missing"),
        ("count() with pleasure", "`with pleasure` is unknown"),
        ("x keep many", "`many` is not a number"),
        ("f(", "`f(`"),
        ("x +", "`x +`"),
    ] {
        let error = Query::parse(text, Language::C).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
