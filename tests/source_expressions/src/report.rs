//! What came out: counts for each package, wrong answers, refusals by their reasons.

use crate::ask::Session;
use crate::compare::Verdict;
use crate::known;
use crate::probe::{Answer, Level, Run, Statement, Truth, common_order};
use regex::Regex;
use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;

/// The exit code where no package could be had.
const SKIPPED: u8 = 77;
/// How many examples stand beside a reason.
const EXAMPLES: usize = 3;

/// Numbers of expressions.
#[derive(Default, Clone)]
struct Counts {
    equal: usize,
    wrong: usize,
    known: usize,
    refused: usize,
    not_comparable: usize,
}

impl Counts {
    fn all(&self) -> usize {
        self.equal + self.wrong + self.known + self.refused + self.not_comparable
    }

    fn add(&mut self, other: &Self) {
        self.equal += other.equal;
        self.wrong += other.wrong;
        self.known += other.known;
        self.refused += other.refused;
        self.not_comparable += other.not_comparable;
    }
}

/// What came out of a package.
pub struct Package {
    name: String,
    level: Level,
    /// Expressions without calls, and with calls.
    counts: [Counts; 2],
    /// Statements that the debugger stopped at, in the order of the program.
    stops: usize,
    /// Statements whose line has no code.
    without_code: usize,
    /// Statements that the two programs reach in another order, and those that the debugger did not stop at.
    other_order: Vec<String>,
    missed: Vec<String>,
    wrong: Vec<String>,
    known: Vec<String>,
    /// Answers that differ in a program that depends on chance.
    by_chance: Vec<String>,
    /// `(with calls, the message, place and text)`.
    refused: Vec<(bool, String, String)>,
    notes: Vec<String>,
    lost: usize,
}

impl Package {
    /// A package of which nothing is known.
    pub fn new(name: &str, level: Level) -> Self {
        Self {
            name: name.to_owned(),
            level,
            counts: Default::default(),
            stops: 0,
            without_code: 0,
            other_order: Vec::new(),
            missed: Vec::new(),
            wrong: Vec::new(),
            known: Vec::new(),
            by_chance: Vec::new(),
            refused: Vec::new(),
            notes: Vec::new(),
            lost: 0,
        }
    }

    /// Adds a line for the reader.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Returns the lines for the reader.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A session broke off.
    pub fn lose(&mut self, program: &str, why: &str) {
        self.lost += 1;
        self.notes
            .push(format!("{program}: THE SESSION IS LOST: {why}"));
    }

    /// Compares the answers of a session with the truth.
    pub fn judge(
        &mut self,
        program: &str,
        asked: &[&Statement],
        truth: &Run<Truth>,
        session: &Session,
        compare: impl Fn(&Truth, &Answer) -> Verdict,
    ) {
        if !session.ended {
            self.note(format!("{program}: it did not end in time at the debugger"));
        } else if !truth.varies && session.run.output != truth.output {
            let mut lines = session.run.output.lines().zip(truth.output.lines());
            let (there, here) = lines.find(|(one, two)| one != two).unwrap_or_default();
            self.note(format!(
                "{program}: its output at the debugger has {there:?}, the copy's {here:?}"
            ));
        }
        self.without_code += session.without_code.len();
        let in_order = common_order(&truth.reached, &session.run.reached);
        let reached: HashSet<usize> = session.run.reached.iter().copied().collect();
        for statement in asked {
            let place = format!("{}:{}", statement.file.display(), statement.line);
            if in_order.contains(&statement.id) {
                self.stops += 1;
                self.judge_statement(statement, &place, truth, session, &compare);
            } else if reached.contains(&statement.id) {
                self.other_order.push(place);
            } else if session.ended
                && !truth.varies
                && !session.without_code.contains(&statement.id)
            {
                self.missed.push(place);
            }
        }
    }

    fn judge_statement(
        &mut self,
        statement: &Statement,
        place: &str,
        truth: &Run<Truth>,
        session: &Session,
        compare: &impl Fn(&Truth, &Answer) -> Verdict,
    ) {
        for probe in &statement.probes {
            let (Some(value), Some(answer)) = (
                truth.values.get(&probe.id),
                session.run.values.get(&probe.id),
            ) else {
                continue;
            };
            let counts = &mut self.counts[usize::from(probe.calls)];
            let text = &probe.text;
            match (compare(value, answer), answer) {
                (Verdict::Equal, _) => counts.equal += 1,
                (Verdict::NotComparable, _) => counts.not_comparable += 1,
                (_, Answer::Refused(why)) => {
                    // To refuse is right where the program has no value.
                    if *value == Truth::Trap {
                        counts.equal += 1;
                        continue;
                    }
                    counts.refused += 1;
                    let example = format!("{place}: `{text}`");
                    self.refused.push((probe.calls, why.clone(), example));
                }
                (_, Answer::Value(shown, ty)) => {
                    let expected = match value {
                        Truth::Trap => "a panic".to_owned(),
                        Truth::Value(ty, it) => format!("{} ({ty})", it.as_deref().unwrap_or("?")),
                    };
                    let line =
                        format!("{place}: `{text}` is {expected}; the debugger: {shown} ({ty})");
                    if truth.varies {
                        counts.not_comparable += 1;
                        self.by_chance.push(line);
                        continue;
                    }
                    match known::reason(&self.name, text, shown) {
                        Some(why) => {
                            counts.known += 1;
                            self.known.push(format!("{line}: {why}"));
                        }
                        None => {
                            counts.wrong += 1;
                            self.wrong.push(line);
                        }
                    }
                }
            }
        }
    }
}

/// What came out of all packages.
pub struct Report {
    verbose: bool,
    packages: Vec<Package>,
    left_out: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(verbose: bool) -> Self {
        Self {
            verbose,
            packages: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Says that nothing was compared of a package.
    pub fn leave_out(&mut self, name: &str, why: &str) {
        println!("{name}: left out: {why}");
        self.left_out.push(name.to_owned());
    }

    /// Adds a package, and prints what came out of it.
    pub fn add(&mut self, package: Package) {
        let mut both = package.counts[0].clone();
        both.add(&package.counts[1]);
        println!(
            "{}{}: {} expressions at {} statements: {} equal, {} wrong, {} known to be wrong, {} not comparable, {} of {} refused without calls, {} of {} with; {} statements in another order, {} missed, {} lines without code",
            package.name,
            if package.level == Level::Optimized {
                " -O2"
            } else {
                ""
            },
            both.all(),
            package.stops,
            both.equal,
            both.wrong,
            both.known,
            both.not_comparable,
            package.counts[0].refused,
            package.counts[0].all(),
            package.counts[1].refused,
            package.counts[1].all(),
            package.other_order.len(),
            package.missed.len(),
            package.without_code,
        );
        for line in &package.notes {
            println!("  note: {line}");
        }
        for line in &package.wrong {
            println!("  WRONG: {line}");
        }
        for line in &package.known {
            println!("  known: {line}");
        }
        if !package.by_chance.is_empty() {
            let count = package.by_chance.len();
            println!("  note: {count} answers differ in programs that depend on chance");
        }
        if self.verbose {
            for line in &package.by_chance {
                println!("  by chance: {line}");
            }
            for (_, why, example) in &package.refused {
                println!("  refused: {example}: {why}");
            }
            for place in &package.missed {
                println!("  missed: {place}");
            }
            for place in &package.other_order {
                println!("  another order: {place}");
            }
        }
        self.packages.push(package);
    }

    /// Prints the sums; the exit code says whether all is well.
    pub fn end(self) -> ExitCode {
        let mut sums: [Counts; 2] = Default::default();
        for package in &self.packages {
            sums[0].add(&package.counts[0]);
            sums[1].add(&package.counts[1]);
        }
        self.print_reasons();
        for (what, sum) in ["without calls", "with calls"].iter().zip(&sums) {
            let answered = 100.0 * (sum.all() - sum.refused) as f64 / sum.all().max(1) as f64;
            println!(
                "{what}: {} expressions, {} equal, {} wrong, {} known to be wrong, {} not comparable, {} refused: {answered:.1} % answered",
                sum.all(),
                sum.equal,
                sum.wrong,
                sum.known,
                sum.not_comparable,
                sum.refused
            );
        }
        let lost: usize = self.packages.iter().map(|it| it.lost).sum();
        println!(
            "{} packages, {} left out, {lost} sessions lost",
            self.packages.len(),
            self.left_out.len()
        );
        // A line of optimized code may begin behind code that stands after it: its answers are only listed.
        let plain = self.packages.iter().filter(|it| it.level == Level::Plain);
        let wrong: usize = plain.flat_map(|it| &it.counts).map(|it| it.wrong).sum();
        match wrong + lost {
            0 if self.packages.is_empty() => ExitCode::from(SKIPPED),
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn print_reasons(&self) {
        let mut reasons: BTreeMap<(bool, String), Vec<&str>> = BTreeMap::new();
        for (calls, why, example) in self.packages.iter().flat_map(|it| &it.refused) {
            let key = (*calls, without_names(why));
            reasons.entry(key).or_default().push(example);
        }
        let mut sorted: Vec<_> = reasons.into_iter().collect();
        sorted.sort_by_key(|it| std::cmp::Reverse(it.1.len()));
        for ((calls, why), examples) in sorted {
            let kind = if calls { "with calls" } else { "without calls" };
            println!("refused {kind}: {}: {why}", examples.len());
            for example in examples.iter().take(EXAMPLES) {
                println!("    {example}");
            }
        }
    }
}

/// Makes one reason of messages that differ in names and numbers.
fn without_names(message: &str) -> String {
    let names = Regex::new("`[^`]*`|\"[^\"]*\"").expect("a pattern");
    let numbers = Regex::new(r"0x[0-9a-f]+|\d+|/\S+").expect("a pattern");
    let text = names.replace_all(message, "`…`");
    let text = numbers.replace_all(&text, "N");
    let lists = Regex::new("(`…`,? (and |or )?)+`…`").expect("a pattern");
    let text = lists.replace_all(&text, "`…`");
    text.chars().take(140).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_do_not_depend_on_names() {
        let one = without_names("no variable `a` in 0x12");
        assert_eq!(one, without_names("no variable `b` in 0x34"));
    }
}
