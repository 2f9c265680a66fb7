//! Exceptions, panics, signals and sanitizer reports: which of them stop the program, and their
//! details. Exceptions are read from memory; nothing is called in the debuggee.

pub(crate) mod condition;
pub(crate) mod cpp;
pub(crate) mod info;
pub(crate) mod report;
pub(crate) mod rust;
pub(crate) mod signal;

pub use info::ExceptionInfo;
pub use signal::SignalRule;
pub(crate) use signal::SignalRules;

use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::ids::{Signal, ThreadId};
use crate::images::modules::Loaded;
use crate::stops::breakpoint::BreakpointInfo;
use crate::stops::breakpoint::ProblemKind;
use crate::stops::event::StopReason;
use condition::Condition;
pub(crate) use cpp::{Reader, Thrown};
use dwarf::LoadAddr;
use report::SanitizerReport;
pub(crate) use rust::{Panic, Payload};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An event besides breakpoints that may stop the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExceptionFilter {
    /// A C++ exception is thrown or rethrown.
    CppThrow,
    /// A C++ exception is rethrown: `throw;` or `std::rethrow_exception`.
    CppRethrow,
    /// A C++ handler is entered.
    CppCatch,
    /// A C++ program terminates because of an uncaught exception (`std::terminate`).
    CppUncaught,
    /// A Rust panic begins to unwind.
    RustPanic,
    /// An uncaught C++ exception, or a Rust panic.
    Uncaught,
    /// A sanitizer has reported an error.
    Sanitizer,
    /// Any signal; without a condition, signals of normal operation (SIGCHLD, timers) are excluded.
    Signals,
    /// This signal.
    Signal(Signal),
}

impl ExceptionFilter {
    /// The filters in force until others are set.
    pub const DEFAULT: [ExceptionFilter; 3] = [
        ExceptionFilter::CppUncaught,
        ExceptionFilter::RustPanic,
        ExceptionFilter::Sanitizer,
    ];

    /// Returns whether conditions match the message rather than a name.
    fn is_by_text(self) -> bool {
        matches!(self, Self::RustPanic | Self::Uncaught | Self::Sanitizer)
    }

    pub(crate) fn wants(self, point: Point) -> bool {
        match self {
            Self::CppThrow => matches!(point, Point::Raise | Point::Throw | Point::Rethrow),
            Self::CppRethrow => matches!(point, Point::Raise | Point::Rethrow),
            Self::CppCatch => matches!(point, Point::Catch | Point::CatchOrEnd),
            Self::CppUncaught => matches!(point, Point::Terminate | Point::CatchOrEnd),
            Self::RustPanic => matches!(point, Point::Panic | Point::PanicBegins),
            Self::Uncaught => matches!(
                point,
                Point::Terminate | Point::CatchOrEnd | Point::Panic | Point::PanicBegins
            ),
            Self::Sanitizer => matches!(point, Point::Report | Point::Mistake),
            Self::Signals | Self::Signal(_) => false,
        }
    }
}

/// A filter with its condition, as requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExceptionBreakpoint {
    /// The event.
    pub filter: ExceptionFilter,
    /// Stop only for these types or signals (names, `*` and `?`), for a message with this text, or
    /// if an expression with `$exception` is true.
    pub condition: Option<String>,
}

/// A function of a run-time library that all events of a kind pass through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    /// Entered by both first throws and rethrows: `Throw` or `Rethrow` depending on the exception's
    /// state.
    Raise,
    Throw,
    Rethrow,
    Catch,
    /// libc++abi enters a handler also before it terminates a program.
    CatchOrEnd,
    Terminate,
    Panic,
    /// Before the panic hook runs. A panic that cannot unwind (a failed check for undefined
    /// behaviour, or one out of a destructor or of `extern "C"`) then aborts.
    PanicBegins,
    Report,
    /// A report of undefined behaviour, before it is printed.
    Mistake,
}

/// Names of these functions. `_Unwind_RaiseException` rather than `__cxa_throw`: `throw;` and
/// `std::rethrow_exception` call it, too, and its argument is the exception itself.
const FUNCTIONS: [(&str, Point); 9] = [
    ("_Unwind_RaiseException", Point::Raise),
    ("__cxa_begin_catch", Point::Catch),
    ("_ZSt9terminatev", Point::Terminate),
    (TERMINATE_HANDLER, Point::Terminate),
    ("rust_panic", Point::Panic),
    ("panic_with_hook", Point::PanicBegins),
    // Before Rust 1.92 or so.
    ("rust_panic_with_hook", Point::PanicBegins),
    ("__sanitizer_report_error_summary", Point::Report),
    (UBSAN, Point::Mistake),
];
/// gcc's library for undefined behaviour prints reports without a summary.
const UBSAN: &str = "__ubsan_on_report";
const UBSAN_LIBRARY: &str = "libubsan.so";
/// libsupc++ calls it for a violation of `noexcept` unless the program has set another handler.
const TERMINATE_HANDLER: &str = "_ZN9__gnu_cxx27__verbose_terminate_handlerEv";
/// Strings that an image contains if it has such functions without exporting them.
const MARKS: [&str; 3] = [
    "_Unwind_RaiseException",
    "rust_panic",
    "__sanitizer_report_error_summary",
];

/// The exception, panic, report or signal.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    Cpp(Thrown),
    Panic(Box<Panic>),
    Report(SanitizerReport),
    Signal(Signal),
}

/// The exception that a thread stopped for.
#[derive(Clone, Debug)]
pub struct Exception {
    pub(crate) point: Point,
    /// `None` if `std::terminate` was called without an exception, or it was not found.
    pub(crate) subject: Option<Subject>,
}

/// What a stop shows: why each thread has stopped, and the value of `$exception`.
pub(crate) type ShownExceptions = BTreeMap<ThreadId, (StopReason, Option<Subject>)>;

/// A filter in force.
pub(crate) struct Watched {
    pub(crate) filter: ExceptionFilter,
    /// `None` for the default filters.
    pub(crate) id: Option<BreakpointId>,
    pub(crate) condition_text: Option<String>,
    pub(crate) condition: Option<Condition>,
    /// The reason why it can never stop.
    pub(crate) failure: Option<String>,
}

impl Watched {
    pub(crate) fn new(
        filter: ExceptionFilter,
        id: Option<BreakpointId>,
        condition: Option<String>,
    ) -> Self {
        let condition_text = condition.filter(|text| !text.trim().is_empty());
        let parsed = condition_text
            .as_ref()
            .map(|text| Condition::parse(text, filter));
        let (condition, failure) = match parsed {
            Some(Ok(condition)) => (Some(condition), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        Self {
            filter,
            id,
            condition_text,
            condition,
            failure,
        }
    }
}

/// Position of a thread when the end of the program was reported: later events of the same call are
/// not reported again.
pub(crate) struct Doomed {
    pub(crate) thread: ThreadId,
    /// The stack pointer at the function's entry, and the return address there, while the function
    /// runs. `None`: the thread does not return from it.
    pub(crate) sp: u64,
    pub(crate) back: Option<u64>,
}

/// A panic whose hook is running.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    /// The payload, a trait object.
    pub(crate) payload: (u64, u64),
    /// As in [`Doomed`].
    pub(crate) sp: u64,
    pub(crate) back: u64,
}

/// All filters, and the addresses that they are bound to.
pub(crate) struct Exceptions {
    pub(crate) watched: Vec<Watched>,
    pub(crate) found: FxHashMap<ModuleId, Vec<(Point, LoadAddr)>>,
    pub(crate) points: FxHashMap<LoadAddr, Point>,
    pub(crate) doomed: Option<Doomed>,
    /// The last panic of each thread that has begun, but not yet unwinds.
    pub(crate) begun: FxHashMap<ThreadId, Begun>,
    /// The value of `$exception` while a condition is evaluated.
    pub(crate) evaluated: Option<Subject>,
    /// The reasons of the threads' stops.
    pub(crate) shown: ShownExceptions,
    /// The end of the debuggee's stderr, kept while a sanitizer may write there.
    pub(crate) stderr: Vec<u8>,
}

impl Default for Exceptions {
    fn default() -> Self {
        let usual = ExceptionFilter::DEFAULT.into_iter();
        Self {
            watched: usual.map(|it| Watched::new(it, None, None)).collect(),
            found: FxHashMap::default(),
            points: FxHashMap::default(),
            doomed: None,
            begun: FxHashMap::default(),
            evaluated: None,
            shown: BTreeMap::new(),
            stderr: Vec::new(),
        }
    }
}

impl Exceptions {
    /// Returns whether any filter needs traps at functions of run-time libraries.
    pub(crate) fn wants_functions(&self) -> bool {
        let mut points = FUNCTIONS.iter().map(|(_, point)| *point);
        points.any(|point| self.watched.iter().any(|it| it.filter.wants(point)))
    }

    pub(crate) fn is_conditional(&self, index: usize) -> bool {
        let watched = self.watched.get(index);
        watched.is_some_and(|watched| watched.condition.is_some())
    }

    pub(crate) fn wants(&self, point: Point) -> bool {
        let mut watched = self.watched.iter();
        watched.any(|it| it.failure.is_none() && it.filter.wants(point))
    }

    /// Resets the state for another process.
    pub(crate) fn start_anew(&mut self) {
        self.doomed = None;
        self.begun.clear();
        self.stderr.clear();
    }

    /// Drops the state of the stop when the process resumes.
    pub(crate) fn forget_stop(&mut self) {
        self.shown.clear();
    }

    /// Drops the state of the stop of one thread when it resumes.
    pub(crate) fn forget_stop_of(&mut self, thread: ThreadId) {
        self.shown.remove(&thread);
    }

    /// Returns the value of `$exception` for a thread.
    pub(crate) fn subject_of(&self, thread: ThreadId) -> Option<&Subject> {
        let shown = self.shown.get(&thread);
        self.evaluated.as_ref().or_else(|| shown?.1.as_ref())
    }

    pub(crate) fn info(&self, watched: &Watched, has_process: bool) -> Option<BreakpointInfo> {
        // No filter stops at the begin of a panic itself.
        let wants = |point: &Point| *point != Point::PanicBegins && watched.filter.wants(*point);
        let of_signals = matches!(
            watched.filter,
            ExceptionFilter::Signals | ExceptionFilter::Signal(_)
        );
        let places = self.points.values().filter(|point| wants(point)).count();
        let verified = watched.failure.is_none() && (of_signals || places > 0);
        let pending = || {
            Some(match has_process {
                false => "pending: the program is not loaded yet".to_owned(),
                true => format!(
                    "pending: no loaded module has {}",
                    match watched.filter {
                        ExceptionFilter::RustPanic => "Rust's panics",
                        ExceptionFilter::Sanitizer => "a sanitizer",
                        ExceptionFilter::Uncaught => "C++ exceptions or Rust's panics",
                        _ => "C++ exceptions",
                    }
                ),
            })
        };
        Some(BreakpointInfo {
            id: watched.id?,
            verified,
            failed: watched.failure.is_some(),
            problem: match (&watched.failure, verified) {
                (Some(_), _) => Some(ProblemKind::Condition),
                (None, true) => None,
                (None, false) => Some(ProblemKind::Other),
            },
            message: match (&watched.failure, verified) {
                (Some(failure), _) => Some(failure.clone()),
                (None, true) => None,
                (None, false) => pending(),
            },
            is_in_program: false,
            place: None,
            bound_addresses: places,
            passes: (0, true),
            lacks_names: false,
        })
    }
}

/// Returns the addresses of these functions in a module.
pub(crate) fn find(image: &Loaded) -> Vec<(Point, LoadAddr)> {
    let names = FUNCTIONS.map(|(name, _)| name);
    let found = image.module.functions_called(&names, &MARKS);
    let is_gnu = found
        .iter()
        .any(|(index, _)| names[*index] == TERMINATE_HANDLER);
    let file = image.module.path().file_name().unwrap_or_default();
    let has_no_summary = file.to_string_lossy().starts_with(UBSAN_LIBRARY);
    let point = |index: usize| match FUNCTIONS[index].1 {
        Point::Catch if !is_gnu => Some(Point::CatchOrEnd),
        Point::Mistake if !has_no_summary => None,
        Point::Report if has_no_summary => None,
        point => Some(point),
    };
    found
        .into_iter()
        .filter_map(|(index, addr)| Some((point(index)?, image.bias.load(addr))))
        .collect()
}
