//! Details of the exception that a thread stopped for.

use crate::debugger::Debugger;
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::inspect::value::{Limits, present};
use crate::stops::event::StopReason;
use crate::stops::exception::Subject;
use crate::stops::exception::info::{ExceptionInfo, describe, sentence};

impl Debugger {
    /// Returns the details of a stopped thread's exception, panic, signal or report; `None` if it
    /// stopped for another reason. With `thorough`, objects and payloads without a message are formatted as
    /// values, which may look up names in the index.
    pub fn exception_info(&mut self, thread: ThreadId, thorough: bool) -> Option<ExceptionInfo> {
        let (reason, _) = self.stops.exceptions.shown.get(&thread)?.clone();
        match reason {
            StopReason::Signal { info, .. } => {
                let name = info.signal.name();
                Some(ExceptionInfo {
                    reason: format!("signal {name}"),
                    text: self.explain(thread, &info),
                    unhandled: crate::inferior::is_fatal_signal(info.signal),
                    expression: Some(crate::stops::exception::condition::NAME),
                    id: name,
                    ..ExceptionInfo::default()
                })
            }
            StopReason::Trap => Some(ExceptionInfo {
                id: "SIGTRAP".to_owned(),
                reason: "signal SIGTRAP".to_owned(),
                text: "the program executed a trap instruction".to_owned(),
                expression: Some(crate::stops::exception::condition::NAME),
                ..ExceptionInfo::default()
            }),
            StopReason::Exception { exception, .. } => {
                let mut info = describe(&exception, &self.stops.exceptions.stderr);
                let is_panic = matches!(exception.subject, Some(Subject::Panic(_)));
                let has_object = is_panic || info.type_name.is_some();
                if thorough
                    && info.message.is_none()
                    && has_object
                    && let Some((name, value)) = self.exception_as_value(thread)
                {
                    info.type_name = info.type_name.or(Some(name).filter(|_| is_panic));
                    info.message = Some(value);
                    info.text = sentence(&info);
                }
                Some(info)
            }
            _ => None,
        }
    }

    /// Formats the exception object as a value. Returns the name of its type, and the text.
    fn exception_as_value(&mut self, thread: ThreadId) -> Option<(String, String)> {
        let frame = FrameKey { thread, level: 0 };
        self.in_frame(frame, |scope| {
            if !scope.knows_exception() {
                return Ok(None);
            }
            let value = scope.exception()?;
            let text = present(scope, &value, &Limits::default()).text;
            Ok(Some((value.ty.name().to_string(), text)))
        })
        .ok()?
    }
}
