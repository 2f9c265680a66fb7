//! Details of the exception that a thread stopped for.

use super::{Exception, Panic, Point, Subject, Thrown};

/// Details of an exception, panic, signal or sanitizer report, for display.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionInfo {
    /// The type, the signal's name, or the sanitizer.
    pub id: String,
    /// The reason of the stop, in a few words.
    pub reason: String,
    /// The message or explanation, in a sentence.
    pub text: String,
    /// Whether the program will not handle it.
    pub unhandled: bool,
    /// The type of the exception object.
    pub type_name: Option<String>,
    /// The text of `what()` or of the panic, or the whole report of a sanitizer.
    pub message: Option<String>,
    /// The expression that evaluates to it.
    pub expression: Option<&'static str>,
}

pub(crate) fn sentence(info: &ExceptionInfo) -> String {
    match (&info.type_name, &info.message) {
        (Some(name), Some(message)) => format!("{name}: {message}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => info.reason.clone(),
    }
}

pub(crate) fn describe(exception: &Exception, stderr: &[u8]) -> ExceptionInfo {
    let mut info = match &exception.subject {
        Some(Subject::Cpp(thrown)) => of_cpp(thrown),
        Some(Subject::Panic(panic)) => of_panic(panic),
        Some(Subject::Report(report)) => return report.info(stderr),
        Some(Subject::Signal(_)) | None => ExceptionInfo {
            id: "std::terminate".to_owned(),
            message: Some("std::terminate was called".to_owned()),
            ..ExceptionInfo::default()
        },
    };
    let reason = match exception.point {
        Point::Raise | Point::Throw => "C++ exception thrown",
        Point::Rethrow => "C++ exception rethrown",
        Point::Catch | Point::CatchOrEnd => "C++ exception caught",
        Point::Terminate if exception.subject.is_some() => "uncaught C++ exception",
        Point::Terminate => "the C++ run-time library ends the program",
        Point::Panic | Point::PanicBegins => "Rust panic",
        Point::Report | Point::Mistake => "report",
    };
    info.reason = reason.to_owned();
    info.unhandled = exception.point == Point::Terminate;
    info.text = match exception.subject {
        Some(Subject::Panic(_)) if info.message.is_none() && info.type_name.is_none() => {
            "a payload that is not text".to_owned()
        }
        _ => sentence(&info),
    };
    info
}

fn of_cpp(thrown: &Thrown) -> ExceptionInfo {
    let name = thrown.readable();
    ExceptionInfo {
        id: name.clone(),
        type_name: Some(name),
        message: thrown.message.clone(),
        expression: Some(super::condition::NAME),
        ..ExceptionInfo::default()
    }
}

fn of_panic(panic: &Panic) -> ExceptionInfo {
    ExceptionInfo {
        id: "panic".to_owned(),
        message: panic.message.clone(),
        type_name: panic.type_name.clone(),
        expression: Some(super::condition::NAME),
        ..ExceptionInfo::default()
    }
}
