//! Sanitizer reports: the summary that the run-time library passes to a function, and the printed
//! text.

use super::ExceptionInfo;
use super::cpp::Reader;
use crate::inspect::value::text::read_terminated;
use dwarf::LoadAddr;

/// A sanitizer's report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SanitizerReport {
    /// Its last line: sanitizer, kind of error, position.
    pub summary: String,
    /// Whether it has been printed completely.
    pub is_printed: bool,
}

impl Reader<'_> {
    /// Finds the text of a report of undefined behaviour on the stack: `struct
    /// UndefinedBehaviorReport { const char *kind; Location &at; InternalScopedString text; }`, the
    /// last one beginning with the address of its characters.
    pub fn mistake(&self, stack: &[u64]) -> Option<String> {
        let text = |at: u64| {
            let (bytes, cut) = read_terminated(self.memory, LoadAddr(at), 1, 1024).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let is_text = text.len() > 3 && !text.contains(char::is_control);
            (is_text && !cut).then_some(text)
        };
        let is_kind = |text: &str| {
            text.contains('-') && text.bytes().all(|it| it.is_ascii_lowercase() || it == b'-')
        };
        stack.windows(3).find_map(|words| {
            text(words[0]).filter(|kind| is_kind(kind))?;
            text(words[2])
        })
    }
}

impl SanitizerReport {
    /// Returns the details of a report from its summary (`AddressSanitizer: heap-use-after-free
    /// /tmp/a.c:5 in main`) and the end of stderr.
    pub fn info(&self, stderr: &[u8]) -> ExceptionInfo {
        let (tool, what) = match self.summary.split_once(": ") {
            Some((tool, what)) => (tool, what),
            None => ("sanitizer", &*self.summary),
        };
        let output = match self.is_printed {
            true => String::from_utf8_lossy(stderr),
            false => "".into(),
        };
        let line_before = |at: usize| output[..at].rfind('\n').map_or(0, |end| end + 1);
        let begins = output
            .rfind("==================\n")
            .map(|at| &output[line_before(at)..]);
        // Each report of undefined behaviour is a single line.
        let mistake = output.rfind("runtime error: ").map(|at| {
            let line = output[at..].lines().next().unwrap_or_default();
            (&line["runtime error: ".len()..], &output[line_before(at)..])
        });
        let (text, message) = match (tool, mistake) {
            ("UndefinedBehaviorSanitizer", Some((line, all))) => (line, Some(all)),
            _ => (what, begins),
        };
        ExceptionInfo {
            id: tool.to_owned(),
            reason: tool.to_owned(),
            text: text.to_owned(),
            message: message.map(|text| text.trim().to_owned()),
            ..ExceptionInfo::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports() {
        let report = |summary: &str, stderr: &str| {
            let report = SanitizerReport {
                summary: summary.into(),
                is_printed: true,
            };
            report.info(stderr.as_bytes())
        };
        let info = report(
            "AddressSanitizer: heap-use-after-free /a.c:5 in main",
            "before\n====================\n==1==ERROR: it\nSUMMARY: x\n",
        );
        assert_eq!(info.id, "AddressSanitizer");
        assert_eq!(info.text, "heap-use-after-free /a.c:5 in main");
        let message = info.message.unwrap();
        assert!(
            message.starts_with("====") && message.contains("==1==ERROR: it"),
            "{message}"
        );
        let info = report(
            "UndefinedBehaviorSanitizer: undefined-behavior a.c:3:7 in ",
            "x\na.c:3:7: runtime error: division by zero\nSUMMARY",
        );
        assert_eq!(info.text, "division by zero");
        assert!(info.message.unwrap().starts_with("a.c:3:7: runtime error"));
        assert_eq!(report("odd", "").text, "odd");
    }
}
