//! Merges ranges of lines that were changed.

#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    begin: u32,
    end: u32,
}

fn parse(text: &str) -> Vec<Range> {
    text.split(',')
        .filter_map(|part| {
            let (begin, end) = part.trim().split_once('-')?;
            Some(Range { begin: begin.parse().ok()?, end: end.parse().ok()? })
        })
        .collect()
}

fn merge(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_by_key(|range| range.begin);
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.begin <= last.end => {
                last.end = range.end;
            }
            _ => merged.push(range),
        }
    }
    merged
}

fn lines(ranges: &[Range]) -> u32 {
    ranges.iter().map(|range| range.end - range.begin).sum()
}

fn main() {
    let ranges = parse("40-52, 3-9, 45-48, 8-11, 60-61");
    let merged = merge(ranges);
    println!("{} lines in {} ranges", lines(&merged), merged.len());
    std::process::exit(i32::from(lines(&merged) != 21));
}
