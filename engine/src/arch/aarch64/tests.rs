//! The decoder against objdump.

use super::super::{Arch, Flavor, Formatter, Instruction};
use super::encoding::bits;
use super::{Decoded, own};
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::process::Command;

/// Addresses, words, and what objdump makes of them.
const WORDS: &str = include_str!("words.txt");

/// A line of objdump's answers.
struct Line<'a> {
    addr: u64,
    word: u32,
    /// `None`: it is undefined.
    text: Option<&'a str>,
}

impl Line<'_> {
    fn decoded(&self) -> Option<Instruction> {
        Arch::Aarch64.decode(&self.word.to_le_bytes(), LoadAddr(self.addr))
    }

    /// Returns the address at the end of the text of a direct jump or of `adr`.
    fn target(&self) -> Option<u64> {
        let (mnemonic, operands) = self.text?.split_once([' ', '\t'])?;
        let has_target = matches!(mnemonic, "b" | "bl" | "cbz" | "cbnz" | "tbz" | "tbnz")
            || mnemonic.starts_with("b.")
            || mnemonic.starts_with("bc.")
            || matches!(mnemonic, "adr" | "adrp");
        let target = operands.rsplit([' ', ',']).next().filter(|_| has_target)?;
        u64::from_str_radix(target.trim_start_matches("0x"), 16).ok()
    }
}

/// Parses the fixture.
fn fixture() -> impl Iterator<Item = Line<'static>> {
    let lines = WORDS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut fields = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
        let (addr, word) = (number(), number() as u32);
        let text = fields.next().filter(|text| *text != "-");
        Line { addr, word, text }
    })
}

/// Parses what `objdump -d` prints.
fn listing(output: &str) -> impl Iterator<Item = Line<'_>> {
    output.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let addr = fields.next()?.trim().strip_suffix(':')?;
        let addr = u64::from_str_radix(addr, 16).ok()?;
        let word = fields.next()?.trim();
        let word = (word.len() == 8).then(|| u32::from_str_radix(word, 16).ok())??;
        let text = fields.next()?;
        let text = text.split(" <").next()?.split("\t//").next()?.trim();
        let is_data = text.starts_with(".word");
        let text = Some(text).filter(|text| !text.starts_with(".inst"));
        (!is_data).then_some(Line { addr, word, text })
    })
}

/// Brings texts into one form: white space, number signs, numbers, names of conditions.
fn plain(text: &str) -> String {
    let text = text.replace(['\t', '#'], " ").to_lowercase();
    let mut plain = String::new();
    for token in text.split_inclusive([' ', ',', '[', ']', '{', '}', '-']) {
        let end = token.len()
            - token
                .chars()
                .next_back()
                .map_or(0, |last| usize::from(" ,[]{}-".contains(last)));
        let (body, delimiter) = token.split_at(end);
        let digits = body.strip_prefix("0x");
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let body = match (body, number) {
            (_, Some(number)) => (number as i64).to_string(),
            ("hs", _) => "cs".to_owned(),
            ("lo", _) => "cc".to_owned(),
            (other, _) => other.replace(".hs", ".cs").replace(".lo", ".cc"),
        };
        plain += &body;
        plain += delimiter.trim();
        if delimiter == " " && !plain.ends_with([' ', ',']) {
            plain += " ";
        }
    }
    plain.replace(", ", ",").trim().to_owned()
}

/// Instructions, besides those of scalable extensions, for which there are no texts.
const WITHOUT_TEXT: &[&str] = &[
    "addg",
    "bfdot",
    "bfmlalb",
    "bfmlalt",
    "bfmmla",
    "cpye",
    "cpyen",
    "cpyern",
    "cpyetn",
    "cpyewn",
    "cpyewtn",
    "cpyfmwtn",
    "cpyfpn",
    "cpyfpt",
    "cpyfpwtwn",
    "cpymrt",
    "cpyprtrn",
    "frint32x",
    "setget",
    "setp",
    "smax",
    "smin",
    "smmla",
    "st64bv",
    "st64bv0",
    "stgp",
    "subg",
    "sudot",
    "tcancel",
    "umax",
    "umin",
    "ummla",
    "usdot",
    "usmmla",
];

/// What was found in a comparison with objdump.
#[derive(Default)]
struct Comparison {
    instructions: usize,
    /// Instructions that are not decoded, or without text, by mnemonic.
    missing: BTreeMap<String, usize>,
    nameless: BTreeMap<String, usize>,
    /// Instructions without text of the scalable extensions.
    scalable: usize,
    /// Words that objdump does not know and that are decoded.
    accepted: usize,
    undefined: usize,
    same_texts: usize,
    other_texts: BTreeMap<String, (usize, String)>,
    wrong_targets: Vec<String>,
}

fn compare<'a>(lines: impl Iterator<Item = Line<'a>>) -> Comparison {
    let mut found = Comparison::default();
    let mut formatter = Formatter::new(Arch::Aarch64, Flavor::Intel);
    for line in lines {
        let Some(text) = line.text else {
            found.undefined += 1;
            found.accepted += usize::from(line.decoded().is_some());
            continue;
        };
        let mnemonic = text.split_whitespace().next().unwrap_or_default();
        found.instructions += 1;
        let Some(instruction) = line.decoded() else {
            *found.missing.entry(mnemonic.to_owned()).or_default() += 1;
            continue;
        };
        let target = line.target();
        let ours = match instruction.operand_near_pc() {
            Some(near) => Some(near),
            None => own(&instruction).and_then(Decoded::address).map(LoadAddr),
        };
        let ours = instruction.direct_target().or(ours).map(|target| target.0);
        if target.is_some() && ours != target {
            found
                .wrong_targets
                .push(format!("{:08x} {text}", line.word));
        }
        let ours = formatter.text(&instruction);
        if ours.starts_with(".inst") {
            // The Scalable Vector and Matrix Extensions.
            if matches!(bits(line.word, 28, 25), 0b0000 | 0b0010) {
                found.scalable += 1;
                continue;
            }
            *found.nameless.entry(mnemonic.to_owned()).or_default() += 1;
            continue;
        }
        // The last operand is the target, which is compared already.
        let operands = |text: &str| match target {
            Some(_) => text
                .rsplit_once([' ', ','])
                .map_or("", |it| it.0)
                .to_owned(),
            None => text.to_owned(),
        };
        let (ours, theirs) = (operands(&plain(&ours)), operands(&plain(text)));
        if ours == theirs {
            found.same_texts += 1;
        } else {
            let other = found.other_texts.entry(mnemonic.to_owned()).or_default();
            other.0 += 1;
            other.1 = format!("{:08x} {theirs} | {ours}", line.word);
        }
    }
    found
}

impl Comparison {
    fn print(&self) {
        println!(
            "{} instructions, {} with the same text, {} scalable ones without text; {} of {} undefined \
             words accepted",
            self.instructions, self.same_texts, self.scalable, self.accepted, self.undefined
        );
        println!("not decoded: {:?}", self.missing);
        println!("without text: {:?}", self.nameless);
        for (mnemonic, (count, example)) in &self.other_texts {
            println!("{count:6} {mnemonic}: {example}");
        }
    }
}

#[test]
fn the_decoder_agrees_with_objdump() {
    let found = compare(fixture());
    found.print();
    assert!(found.instructions > 1000);
    assert_eq!(found.missing, BTreeMap::new());
    assert_eq!(found.wrong_targets, [""; 0]);
    let nameless: Vec<_> = found.nameless.keys().map(String::as_str).collect();
    assert_eq!(nameless, WITHOUT_TEXT);
    // Aliases, lists of registers, and extensions by nothing are written in other ways.
    let other: usize = found.other_texts.values().map(|it| it.0).sum();
    assert!(other * 20 < found.instructions, "{other} texts differ");
    assert!(found.accepted * 4 < found.undefined, "unallocated words");
}

/// Of the libraries that a cross compiler has, all instructions.
#[test]
fn libc_is_decoded_as_by_objdump() {
    if !skips::has_command("aarch64-linux-gnu-objdump")
        || !skips::has_command("aarch64-linux-gnu-gcc")
    {
        return;
    }
    let run = |command: &str, arguments: &[&str]| {
        let output = Command::new(command).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for library in ["libc.so.6", "libstdc++.so.6"] {
        let path = run(
            "aarch64-linux-gnu-gcc",
            &[&format!("-print-file-name={library}")],
        );
        let output = run("aarch64-linux-gnu-objdump", &["-d", path.trim()]);
        let found = compare(listing(&output));
        found.print();
        assert!(found.instructions > 100_000, "{path}");
        assert_eq!(found.missing, BTreeMap::new());
        assert_eq!(found.wrong_targets, [""; 0]);
        assert_eq!(found.nameless, BTreeMap::new());
        assert!(
            found.scalable * 1000 < found.instructions,
            "99.9 % have a text"
        );
        let other: usize = found.other_texts.values().map(|it| it.0).sum();
        assert!(other * 100 < found.instructions, "99 % have the same text");
    }
}

/// Random words of each group of encodings (bits 28 to 25). Which of those that objdump does not know
/// are decoded is not compared: later versions of the architecture fill the gaps.
#[test]
fn random_words_are_decoded_as_by_objdump() {
    const OF_A_GROUP: usize = 20_000;
    if !skips::has_command("aarch64-linux-gnu-objdump") {
        return;
    }
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let groups = (0..16).flat_map(|group| std::iter::repeat_n(group, OF_A_GROUP));
    let words = groups.map(|group| random() & !(0xf << 25) | group << 25);
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let output = Command::new("aarch64-linux-gnu-objdump")
        .args(["-D", "-z", "-b", "binary", "-m", "aarch64"])
        .arg(file.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&output.stdout);
    // objdump makes `msr` and `mrs` of those of hints and barriers that are not allocated.
    let is_reserved = |word: u32| word & 0xffd8_0000 == 0xd500_0000;
    let lines = listing(&output).filter(|line| !is_reserved(line.word) || line.decoded().is_some());
    let found = compare(lines);
    found.print();
    assert!(found.instructions > 100_000);
    assert_eq!(found.missing, BTreeMap::new());
    assert_eq!(found.wrong_targets, [""; 0]);
    assert!(found.accepted * 3 < found.undefined);
}
