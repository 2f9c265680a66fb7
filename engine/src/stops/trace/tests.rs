use super::*;
use dwarf::Language;

fn query(text: &str) -> Query {
    Query::parse(text, Language::C).expect("a query")
}

fn addition(keys: &[&str], numbers: &[Option<Number>]) -> Addition {
    Addition {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        numbers: numbers.to_vec(),
    }
}

#[test]
fn hits_are_added_by_their_keys() {
    let query = query("count(), sum(x), min(x), max(x), mean(x) by k");
    let mut collected = Collected::new(&query);
    for (key, number) in [("a", 3), ("b", -7), ("a", 5)] {
        let number = Some(Number::Int(number));
        let numbers = [None, number, number, number, number];
        collected.add(&query, vec![addition(&[key], &numbers)]);
    }
    let report = collected.report(&query, 10, 10);
    assert_eq!(report.hits, 3);
    let number = |number| Cell::Number(Some(Number::Int(number)));
    let row = |key: &str, hits, cells| Row {
        keys: vec![key.to_owned()],
        hits,
        cells,
    };
    assert_eq!(
        report.tables[0].rows,
        [
            row(
                "a",
                2,
                vec![
                    Cell::Count(2),
                    number(8),
                    number(3),
                    number(5),
                    Cell::Mean(Number::Int(8), 2)
                ]
            ),
            row(
                "b",
                1,
                vec![
                    Cell::Count(1),
                    number(-7),
                    number(-7),
                    number(-7),
                    Cell::Mean(Number::Int(-7), 1)
                ]
            ),
        ]
    );
}

#[test]
fn further_keys_share_a_row() {
    let query = query("count() by k");
    let mut collected = Collected::new(&query);
    for key in 0..MAX_ROWS + 5 {
        collected.add(&query, vec![addition(&[&key.to_string()], &[None])]);
    }
    let report = collected.report(&query, 3, 10);
    let table = &report.tables[0];
    assert_eq!((table.rows.len(), table.all_rows), (3, MAX_ROWS));
    assert_eq!(table.others.as_ref().map(|row| row.hits), Some(5));
    assert_eq!(report.hits, MAX_ROWS as u64 + 5);
}

#[test]
fn the_last_records_are_kept() {
    let query = query("x keep 2");
    let mut collected = Collected::new(&query);
    let record = |time| Record {
        time: Duration::from_secs(time),
        thread: None,
        values: vec![time.to_string()],
    };
    for time in [1, 5] {
        collected.record(record(time));
    }
    collected.merge_records(vec![record(3), record(9)], 40);
    let report = collected.report(&query, 10, 10);
    let values: Vec<&str> = report
        .records
        .iter()
        .map(|it| it.values[0].as_str())
        .collect();
    assert_eq!(values, ["5", "9"]);
    assert_eq!((report.all_records, report.hits), (42, 42));
}

#[test]
fn buckets_have_bounds() {
    let mut histogram = Histogram::new(Scale::Log2);
    for number in [0, 1, 2, 3, 4, -1, -3] {
        histogram.add(Number::Int(number));
    }
    let buckets: Vec<(f64, f64, u64)> = (histogram.buckets().into_iter())
        .map(|(from, to, count)| (from.unwrap(), to.unwrap(), count))
        .collect();
    assert_eq!(
        buckets,
        [
            (-2.0, -4.0, 1),
            (-1.0, -2.0, 1),
            (0.0, 1.0, 1),
            (1.0, 2.0, 1),
            (2.0, 4.0, 2),
            (4.0, 8.0, 1)
        ]
    );
    let scale = Scale::Linear {
        from: 10,
        to: 25,
        step: 10,
    };
    let mut histogram = Histogram::new(scale);
    for number in [9, 10, 19, 20, 24, 25] {
        histogram.add(Number::Int(number));
    }
    assert_eq!(
        histogram.buckets(),
        [
            (None, Some(10.0), 1),
            (Some(10.0), Some(20.0), 2),
            (Some(20.0), Some(25.0), 2),
            (Some(25.0), None, 1)
        ]
    );
    let mut histogram = Histogram::new(Scale::Log2);
    for number in [
        0.0,
        0.75,
        1.0,
        1.5,
        1e300,
        f64::INFINITY,
        1e-300,
        -1e30,
        f64::NAN,
    ] {
        histogram.add(Number::Float(number));
    }
    let filled: Vec<_> = (histogram.buckets().into_iter())
        .filter(|it| it.2 > 0)
        .collect();
    // The outermost have no bound, and the innermost lead to 0.
    let [most, least] = [2f64.powi(63), 2f64.powi(-63)];
    let expected = [
        (Some(-most), None, 1),
        (Some(0.0), Some(0.0), 1),
        (Some(0.0), Some(least), 1),
        (Some(0.5), Some(1.0), 1),
        (Some(1.0), Some(2.0), 2),
        (Some(most), None, 2),
        (None, None, 1),
    ];
    assert_eq!(filled, expected);
}
