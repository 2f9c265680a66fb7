//! Statement lines of a program as LLVM reads them, to compare bound breakpoints with.

use crate::client::DapClient;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Lowest address of code. Linkers move the rows of discarded functions to address 0 or 1.
const LOWEST_CODE: u64 = 0x100;

/// Lines of one source file.
pub type Lines = BTreeMap<PathBuf, BTreeSet<u64>>;

/// Returns the lines of each source file that have a recommended place with code, as
/// `llvm-dwarfdump` reads the line tables of an image.
///
/// # Panics
/// `llvm-dwarfdump` cannot be run.
pub fn statement_lines(image: &Path) -> Lines {
    let mut reader = Command::new("llvm-dwarfdump")
        .arg("--debug-line")
        .arg(image)
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-dwarfdump of LLVM");
    let mut table = Table::default();
    let mut lines = Lines::new();
    let output = BufReader::new(reader.stdout.take().expect("piped"));
    for line in output.split(b'\n') {
        let line = line.expect("its output");
        table.read(&String::from_utf8_lossy(&line), &mut lines);
    }
    reader.wait().expect("it ends");
    lines
}

/// State of the parser within one line table.
#[derive(Default)]
struct Table {
    folders: BTreeMap<u64, PathBuf>,
    /// Name and number of the folder.
    files: BTreeMap<u64, (PathBuf, u64)>,
    file: u64,
    /// The address at which the sequence of rows begins.
    sequence: Option<u64>,
    /// Address, line and file of the last recommended row.
    last: Option<(u64, u64, u64)>,
}

impl Table {
    fn read(&mut self, text: &str, lines: &mut Lines) {
        if text.starts_with("debug_line[") {
            *self = Table::default();
        } else if let Some((number, name)) = numbered(text, "include_directories[") {
            self.folders.insert(number, quoted(name).into());
        } else if let Some((number, _)) = numbered(text, "file_names[") {
            self.file = number;
            self.files.insert(number, Default::default());
        } else if let Some(name) = text.trim_start().strip_prefix("name: ") {
            self.files.entry(self.file).or_default().0 = quoted(name).into();
        } else if let Some(folder) = text.trim_start().strip_prefix("dir_index: ") {
            self.files.entry(self.file).or_default().1 = folder.trim().parse().unwrap_or(0);
        } else if text.starts_with("0x") {
            self.read_row(text, lines);
        }
    }

    fn read_row(&mut self, text: &str, lines: &mut Lines) {
        let columns: Vec<&str> = text.split_whitespace().collect();
        let addr = u64::from_str_radix(&columns[0][2..], 16).expect("an address");
        let sequence = *self.sequence.get_or_insert(addr);
        let number = |column: usize| columns[column].parse::<u64>().expect("a number");
        if let Some((start, line, file)) = self.last
            && start < addr
            && sequence >= LOWEST_CODE
            && let Some((name, folder)) = self.files.get(&file)
        {
            let folder = self.folders.get(folder).cloned().unwrap_or_default();
            let base = self.folders.get(&0).cloned().unwrap_or_default();
            let path = base.join(folder).join(name);
            lines.entry(path).or_default().insert(line);
        }
        let is_end = columns.contains(&"end_sequence");
        if is_end {
            self.sequence = None;
        }
        let is_place = columns.contains(&"is_stmt") && !is_end;
        let row = (addr, number(1), number(3));
        self.last = Some(row).filter(|(_, line, _)| is_place && *line > 0);
    }
}

fn numbered<'a>(text: &'a str, head: &str) -> Option<(u64, &'a str)> {
    let (number, rest) = text.strip_prefix(head)?.split_once(']')?;
    Some((number.trim().parse().ok()?, rest))
}

fn quoted(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '=']);
    text.trim_matches('"')
}

/// Launches a program and sets a breakpoint on every statement line. Returns the breakpoints that do not
/// bind, with the reason. A breakpoint that binds to a later line counts as bound: the adapter moves one on a
/// function's first line into the body.
pub fn unbound_lines(program: &Path) -> Vec<String> {
    let mut client = DapClient::spawn();
    client.launch_program(program, json!({}));
    let mut unbound = Vec::new();
    for (path, lines) in statement_lines(program) {
        let file = path.to_str().expect("UTF-8");
        let wanted = lines.iter().map(|line| json!({"line": line})).collect();
        let set = client.set_source_breakpoints(file, wanted);
        for (line, found) in lines.iter().zip(set) {
            if found["verified"] != true {
                unbound.push(format!("{file}:{line}: {found}"));
            }
        }
        client.set_source_breakpoints(file, Vec::new());
    }
    client.disconnect();
    unbound
}
