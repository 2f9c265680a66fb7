//! Tests as tables: a function as rows of a line table, and the rows where a step from one of them
//! ends.
//!
//! `1 nop je 2`: a row of line 1 with two instructions, the second one a jump to row 2. After the
//! line, `-` marks a row that is not a statement, `.5` is column 5; line 0 is compiler-generated
//! code. `[2: … ]` contains a call on line 2 that was inlined.

use super::Region;
use crate::arch::Arch;
use crate::stops::step::filter::StepFilters;
use crate::stops::step::start::Start;
use crate::stops::step::step_range::{Mode, StepRange};
use dwarf::{
    AddrRange, DieRef, FileAddr, Function, InlinedSubroutine, Language, LineRow, LoadAddr,
    LoadBias, Scope, ScopeKind, SourceFile, SourceLocation,
};
use std::sync::Arc;

/// A function at address 0.
struct Code {
    bytes: Vec<u8>,
    rows: Vec<LineRow>,
    function: Arc<Function>,
}

fn location(line: u32, column: u32) -> SourceLocation {
    let file = Arc::new(SourceFile {
        path: "/a.c".into(),
        md5: None,
    });
    SourceLocation { file, line, column }
}

fn range(start: u64, end: u64) -> AddrRange<FileAddr> {
    AddrRange::new(FileAddr(start), FileAddr(end))
}

fn scope(kind: ScopeKind, start: u64, end: u64) -> Scope {
    Scope {
        kind,
        id: DieRef::default(),
        ranges: vec![range(start, end)],
        variables: Vec::new(),
        declarations: Vec::new(),
        is_instance: false,
        children: Vec::new(),
    }
}

fn assembled(text: &str) -> Code {
    let (mut bytes, mut rows) = (Vec::new(), Vec::<LineRow>::new());
    let (mut jumps, mut inlined) = (Vec::new(), Vec::new());
    let mut open = None;
    for row in text.split(';') {
        let mut words = row.split_whitespace().peekable();
        if let Some(word) = words.peek()
            && let Some(line) = word.strip_prefix('[')
        {
            let line: u32 = line.trim_end_matches(':').parse().expect("a line");
            open = Some((line, bytes.len() as u64));
            words.next();
        }
        let line = words.next().expect("a line");
        let (line, is_stmt) = match line.strip_suffix('-') {
            Some(line) => (line, false),
            None => (line, true),
        };
        let (line, column) = line.split_once('.').unwrap_or((line, "0"));
        let start = bytes.len() as u64;
        while let Some(word) = words.next() {
            match word {
                "nop" => bytes.push(0x90),
                "ret" => bytes.push(0xc3),
                // A target far away.
                "call" => bytes.extend([0xe8, 0, 0x10, 0, 0]),
                "leave" => bytes.extend([0xe9, 0, 0x10, 0, 0]),
                "switch" => bytes.extend([0xff, 0xe0]),
                "jmp" | "je" => {
                    bytes.extend([if word == "jmp" { 0xeb } else { 0x74 }, 0]);
                    let to = words.next().expect("a row");
                    // `2+1`: the second byte of row 2.
                    let (row, more) = to.split_once('+').unwrap_or((to, "0"));
                    let number = |text: &str| text.parse::<usize>().expect("a number");
                    jumps.push((bytes.len(), number(row), number(more)));
                }
                "]" => {
                    let (line, start) = open.take().expect("what is open");
                    inlined.push((line, start, bytes.len() as u64));
                }
                other => panic!("no instruction {other}"),
            }
        }
        let line: u32 = line.parse().expect("a line");
        rows.push(LineRow {
            range: range(start, bytes.len() as u64),
            location: (line > 0).then(|| location(line, column.parse().expect("a column"))),
            is_stmt,
            prologue_end: false,
        });
    }
    for (behind, row, more) in jumps {
        let to = rows[row].range.start.0 as i64 + more as i64;
        bytes[behind - 1] = (to - behind as i64) as i8 as u8;
    }
    let end = bytes.len() as u64;
    let mut body = scope(ScopeKind::Function, 0, end);
    let calls = inlined.into_iter().map(|(line, start, end)| {
        let call = InlinedSubroutine {
            name: "inlined".into(),
            origin: DieRef::default(),
            coroutine: None,
            call_site: Some(location(line, 0)),
            declaration: None,
            entry: FileAddr(start),
        };
        scope(ScopeKind::Inlined(Box::new(call)), start, end)
    });
    body.children = calls.collect();
    let function = Function {
        id: DieRef::default(),
        name: "f".into(),
        linkage_name: None,
        ranges: vec![range(0, end)],
        entry: FileAddr(0),
        declaration: None,
        language: Language::C,
        coroutine: None,
        return_type: None,
        is_external: true,
        noreturn: false,
        optimized: false,
        scope: body,
        frame_base: None,
    };
    Code {
        bytes,
        rows,
        function: Arc::new(function),
    }
}

impl Code {
    fn row_at(&self, addr: FileAddr) -> Option<LineRow> {
        self.rows
            .iter()
            .find(|row| row.range.contains(addr))
            .cloned()
    }

    /// Returns the row that begins at an address.
    fn row_of(&self, addr: LoadAddr) -> usize {
        let begins = |row: &LineRow| row.range.start.0 == addr.0;
        self.rows
            .iter()
            .position(begins)
            .expect("where a row begins")
    }

    /// Returns a step from a row.
    fn step(&self, row: usize, mode: Mode, statements: bool) -> StepRange {
        let from = self.rows[row].range.start;
        let start = Start {
            line: self.rows[row].location.clone(),
            function: Arc::clone(&self.function),
            bias: LoadBias(0),
            inlined: crate::stops::step::start::inlined_at(&self.function, from),
            awaits: Vec::new(),
        };
        let mut step = StepRange::new(start, mode, StepFilters::none().of_step(false));
        step.statements = statements;
        step
    }

    fn region(&self, row: usize, step: &StepRange) -> Region {
        let rows = |addr| self.row_at(addr);
        let filters = StepFilters::none();
        let filters = filters.of_step(false);
        let place = |addr: LoadAddr| step.place_among(&rows, filters, FileAddr(addr.0));
        let from = LoadAddr(self.rows[row].range.start.0);
        let mut region = Region::of(
            from,
            |at| {
                let rest = self
                    .bytes
                    .get(at.0 as usize..)
                    .filter(|it| !it.is_empty())?;
                Arch::X86_64.decode(rest, at)
            },
            |at| (at.0 as usize) < self.bytes.len(),
            |at| place(at).is_none(),
        );
        region.find_passes(
            from,
            (None, true),
            |_, _| true,
            |at| step.part_among(&rows, FileAddr(at.0)),
        );
        region
    }

    /// Returns the rows where a step from a row may end.
    fn exits(&self, row: usize, mode: Mode, statements: bool) -> Vec<usize> {
        let region = self.region(row, &self.step(row, mode, statements));
        let mut exits: Vec<usize> = region.exits.iter().map(|at| self.row_of(*at)).collect();
        exits.sort_unstable();
        exits
    }
}

#[test]
fn exits_of_lines_are_found() {
    for (what, text, from, expected) in [
        ("the next line", "1 nop; 2 nop ret", 0, &[1][..]),
        ("rows of one line are one", "1 nop; 1 nop; 2 ret", 0, &[2]),
        (
            "a split line, gone through",
            "1 nop; 2 nop; 1 nop; 3 ret",
            0,
            &[1],
        ),
        ("its second part", "1 nop; 2 nop; 1 nop; 3 ret", 2, &[3]),
        (
            "a branch over another line into it",
            "1 je 2; 2 nop; 1 nop; 3 ret",
            0,
            &[1, 3],
        ),
        (
            "code of the compiler's is no line",
            "1 nop; 0 nop; 2 ret",
            0,
            &[2],
        ),
        (
            "nor between two parts",
            "1 nop; 0 nop; 1 nop; 2 ret",
            0,
            &[3],
        ),
        (
            "what is no statement is gone through",
            "1 nop; 2- nop; 3 ret",
            0,
            &[2],
        ),
        (
            "the middle of a row as well",
            "1 jmp 1+1; 2 nop nop; 3 ret",
            0,
            &[2],
        ),
        ("a loop on one line", "1 nop; 1 nop je 0; 2 ret", 0, &[2]),
        ("a loop of two lines", "1 nop; 2 je 0; 3 ret", 1, &[0, 2]),
        (
            "a loop that nothing comes after",
            "1 nop jmp 0; 2 ret",
            0,
            &[0],
        ),
        (
            "a loop that returns on its line",
            "1 nop je 1+2; 1 jmp 0 ret; 2 ret",
            0,
            &[],
        ),
    ] {
        let code = assembled(text);
        assert_eq!(code.exits(from, Mode::Over, false), expected, "{what}");
        assert_eq!(
            code.exits(from, Mode::Into, false),
            expected,
            "into: {what}"
        );
    }
}

#[test]
fn loop_leaving_the_line_returns_to_it() {
    for (what, text, from, expected) in [
        (
            "by a header that is no statement",
            "1 nop; 2- je 3; 3 jmp 1; 4 ret",
            2,
            &[2, 3][..],
        ),
        (
            "with its test at the end",
            "1 nop; 2- nop je 0; 3 ret",
            0,
            &[0, 2],
        ),
        (
            "with its test in the middle",
            "1 nop; 2- nop; 1- je 0; 3 ret",
            0,
            &[0, 3],
        ),
        (
            "from the middle of the line",
            "2- nop; 1 nop; 0 nop; 1- nop jmp 0; 4 ret",
            3,
            &[1],
        ),
        (
            "its second part is none",
            "2- je 4; 1 nop; 2- nop; 1 jmp 0; 4 ret",
            1,
            &[1, 4],
        ),
        (
            "a line before it is no loop",
            "1 nop; 2- nop; 1 nop; 1 je 2; 3 ret",
            0,
            &[4],
        ),
        (
            "at the end of the pass, a statement of it",
            "1 nop; 2- je 3; 1 nop jmp 0; 3 ret",
            2,
            &[2, 3],
        ),
        (
            "a loop on one line in a loop",
            "2- je 3; 1 nop; 1- je 2 jmp 0; 3 ret",
            1,
            &[1, 3],
        ),
        (
            "what the line inlines is the line",
            "1 nop; [1: 10- nop ]; 1- je 0; 3 ret",
            0,
            &[3],
        ),
    ] {
        let code = assembled(text);
        assert_eq!(code.exits(from, Mode::Over, false), expected, "{what}");
    }
    // The second statement of line 1 is passed on the way, and is the target of the loop.
    let code = assembled("1 nop; 1 nop; 2- nop je 1; 3 ret");
    let region = code.region(0, &code.step(0, Mode::Over, false));
    assert_eq!(region.passes.statements, []);
    assert_eq!(region.unclear, [LoadAddr(3)], "the jump decides");
    // A loop that ends elsewhere does not affect a line without one.
    let code = assembled("1 nop; 2 nop; 3 je 1; 4 ret");
    let region = code.region(0, &code.step(0, Mode::Over, false));
    assert_eq!((region.exits.len(), region.unclear.len()), (1, 0));
}

#[test]
fn inlined_calls_are_stepped_over_or_into() {
    // Row 1 is inlined, called on line 1.
    let code = assembled("1 nop; [1: 10 nop ]; 1 nop; 2 ret");
    assert_eq!(code.exits(0, Mode::Over, false), [3]);
    assert_eq!(code.exits(0, Mode::Into, false), [1]);
    assert_eq!(
        code.exits(1, Mode::Over, false),
        [2],
        "back to the caller's line"
    );

    let code = assembled("[1: 10 nop; 11 nop ]; 1- nop; 2 ret");
    assert_eq!(code.exits(0, Mode::Over, false), [1]);
    assert_eq!(
        code.exits(1, Mode::Over, false),
        [2],
        "in the middle of a line, too"
    );

    // The call is shown on its own line first, not entered yet.
    let code = assembled("1 nop; [2: 10 nop ]; 2 nop; 3 ret");
    assert_eq!(code.exits(0, Mode::Over, false), [1]);
    let step = code.step(0, Mode::Over, false);
    let rows = |addr| code.row_at(addr);
    let begins = code.rows[1].range.start;
    let place = step.place_among(&rows, StepFilters::none().of_step(false), begins);
    assert_eq!(place, Some(1), "one call is left out");
}

#[test]
fn statements_are_locations_if_requested() {
    let code = assembled("1.3 nop; 1.3- nop; 1.8- nop call; 0 nop; 1.3 nop; 2.1 ret");
    assert_eq!(code.exits(0, Mode::Over, false), [5]);
    assert_eq!(code.exits(0, Mode::Over, true), [2]);
    assert_eq!(code.exits(2, Mode::Over, true), [4], "a loop comes back");
    let code = assembled("1 nop; 1.8 nop; 2 ret");
    assert_eq!(
        code.exits(0, Mode::Over, true),
        [2],
        "without columns there are lines"
    );
}

#[test]
fn other_exits_are_distinguished() {
    let code = assembled("1 call je 1 switch; 1 leave; 2 ret; 1 ret");
    let region = code.region(0, &code.step(0, Mode::Over, false));
    let at = |offset: u64| LoadAddr(offset);
    assert_eq!(region.calls.len(), 1);
    assert_eq!((region.calls[0].at, region.calls[0].back), (at(0), at(5)));
    assert_eq!(region.unclear, [at(7)], "only the processor knows");
    assert_eq!(region.jumps, [at(9)]);
    assert_eq!(region.returns, [], "nothing leads there");
    assert_eq!(region.instructions, [at(0), at(5), at(7), at(9)]);
    let region = code.region(3, &code.step(3, Mode::Over, false));
    assert_eq!(region.returns, [at(15)]);
}

/// Plans do not depend on an instruction set: these instructions have four bytes each.
#[test]
fn the_region_of_a_line_in_another_instruction_set() {
    use crate::arch::fixed::{CALL, CALL_REGISTER, JUMP_IF, NOP, RETURN, TRAP, to, with};
    // 0: nop; 4: call 0x100; 8: jump_if 16; 12: call_at; 16: (another line) trap; 20: return
    let code = [
        to(NOP, 0),
        to(CALL, 0xfc),
        to(JUMP_IF, 8),
        with(CALL_REGISTER, 3, 0),
        to(TRAP, 0),
        to(RETURN, 0),
    ];
    let code = code.concat();
    let instruction = |at: LoadAddr| Arch::Fixed.decode(code.get(at.0 as usize..)?, at);
    let is_ours = |at: LoadAddr| (at.0 as usize) < code.len();
    let region = Region::of(LoadAddr(0), instruction, is_ours, |at| at.0 < 16);
    assert_eq!(region.exits, [LoadAddr(16)]);
    let calls: Vec<_> = region.calls.iter().map(|it| (it.at.0, it.back.0)).collect();
    assert_eq!(calls, [(4, 8), (12, 16)]);
    let targets = region.calls.iter().map(|it| it.instruction.direct_target());
    assert_eq!(targets.collect::<Vec<_>>(), [Some(LoadAddr(0x100)), None]);
    assert!(region.unclear.is_empty() && region.returns.is_empty());
    let region = Region::of(LoadAddr(16), instruction, is_ours, |at| at.0 >= 16);
    assert_eq!(region.returns, [LoadAddr(20)]);
}
