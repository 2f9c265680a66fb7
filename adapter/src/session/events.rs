//! Reports the debuggee's events to the client: the one place that converts engine events to DAP.

use super::describe::{describe_breakpoint, list_of_hops, origin};
use crate::protocol::{
    Breakpoint, BreakpointEventBody, BreakpointEventReason, CapabilitiesEventBody,
    ChangedCapabilities, ContinuedEventBody, ExitedEventBody, Module, ModuleEventBody,
    OutputCategory, ProcessEventBody, StoppedEventBody, ThreadEventBody, ThreadEventReason,
};
use crate::session::Session;
use crate::session::children;
use crate::session::debuginfod::Debuginfod;
use crate::session::own_breakpoints;
use crate::session::past;
use crate::session::recording_file;
use crate::session::traces;
use crate::sources::Habits;
use engine::{
    BreakpointId, Event, ExitStatus, ModuleId, ModuleInfo, OutputStream, Signal, Stop, StopReason,
    SymbolStatus, ThreadId, Value,
};
use std::collections::{HashMap, HashSet};

/// What has been reported of the debuggee.
#[derive(Debug, Default)]
pub struct ReportedState {
    announced: bool,
    threads: HashSet<ThreadId>,
    modules: HashMap<ModuleId, Module>,
    stdout: Utf8Carry,
    stderr: Utf8Carry,
    ended: bool,
}

/// Reports an event of the engine. During a launch or attach, `startup` sees events first.
pub fn report(session: &mut Session, event: Event) {
    match event {
        // The session's loop handles the request that made the call again.
        Event::Launched | Event::Attached | Event::CallEnded => {}
        Event::LaunchFailed(text) => session.important_note(&format!("{text}\n")),
        Event::AttachFailed(error) => session.important_note(&format!("{error}\n")),
        Event::ThreadStarted(id) => thread_started(session, id),
        Event::ThreadExited(id) => {
            if session.reported.threads.remove(&id) {
                thread_event(session, ThreadEventReason::Exited, id);
            }
        }
        Event::ModuleLoaded(info) => module_loaded(session, &info),
        Event::ModuleUnloaded(id) => module_unloaded(session, id),
        // The client does not know these.
        Event::BreakpointChanged(id)
            if session.own_breakpoints.has(id) || session.debugger.is_own_tracepoint(id) =>
        {
            own_breakpoints::changed(session);
        }
        Event::BreakpointChanged(id) => breakpoint_changed(session, id),
        Event::BreakpointRemoved(id, why) => breakpoint_removed(session, id, why),
        Event::Output { stream, bytes } => output(session, stream, &bytes),
        Event::Log(text) | Event::Note(text) => session.console(&text),
        Event::Records(id, records) => traces::report_records(session, id, records),
        Event::Stopped(stop) => stopped(session, stop),
        Event::ChildHeld { pid, program } => children::offer_child(session, pid, &program),
        Event::Followed { parent } => {
            session.console(&format!(
                "Process {parent} detached: the session follows its child.\n"
            ));
            session.handles.clear();
            process(session);
        }
        Event::Exec => {
            session.handles.clear();
            process(session);
        }
        Event::Exited(status) => exited(session, status),
    }
}

/// Reports the process, its threads and its modules, before it resumes.
pub fn announce(session: &mut Session) {
    session.reported.announced = true;
    process(session);
    if session.debugger.is_post_mortem() {
        let capabilities = ChangedCapabilities::of_core_file();
        session.event("capabilities", &CapabilitiesEventBody { capabilities });
    }
    for thread in session.debugger.threads() {
        thread_started(session, thread.id);
    }
    for module in session.debugger.modules() {
        module_loaded(session, &module);
    }
}

fn process(session: &mut Session) {
    let program = session.debugger.program();
    session.event(
        "process",
        &ProcessEventBody {
            name: program.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
            // Another process may have the id of a process that has ended.
            system_process_id: (!session.debugger.is_post_mortem())
                .then(|| session.debugger.pid().unwrap_or_default().into()),
            is_local_process: true,
            start_method: session.startup.method(),
            pointer_size: i64::from(session.debugger.pointer_size()) * 8,
        },
    );
}

/// Reports that threads and modules of the former process are gone.
pub fn forget_process(session: &mut Session) {
    let before = std::mem::take(&mut session.reported);
    let mut threads: Vec<ThreadId> = before.threads.into_iter().collect();
    threads.sort_unstable();
    for thread in threads {
        thread_event(session, ThreadEventReason::Exited, thread);
    }
    let mut modules: Vec<ModuleId> = before.modules.keys().copied().collect();
    modules.sort_unstable();
    session.reported.modules = before.modules;
    for module in modules {
        module_unloaded(session, module);
    }
}

fn thread_started(session: &mut Session, id: ThreadId) {
    if session.reported.announced && session.reported.threads.insert(id) {
        thread_event(session, ThreadEventReason::Started, id);
    }
}

fn thread_event(session: &mut Session, reason: ThreadEventReason, id: ThreadId) {
    let thread_id = id.0.into();
    session.event("thread", &ThreadEventBody { reason, thread_id });
}

fn module_loaded(session: &mut Session, info: &ModuleInfo) {
    if let Some(folder) = info.path.parent().filter(|_| info.is_program) {
        session.sources.add_root(folder);
    }
    if !session.reported.announced {
        return;
    }
    let module = describe_module(info);
    let reason = match session.reported.modules.insert(info.id, module.clone()) {
        None => "new",
        // The module was reported with all others before this event arrived.
        Some(reported) if reported == module => return,
        Some(_) => "changed",
    };
    session.event("module", &ModuleEventBody { reason, module });
    let is_fetched = session.debuginfod.request(info);
    // A missing executable of a core file was reported already.
    let is_here = !session.debugger.is_post_mortem() || info.path.exists();
    if info.is_program && info.symbols != SymbolStatus::DebugInfo && !is_fetched && is_here {
        session.console(&format!(
            "{} has no debug info; compile it with -g to see lines and variables\n",
            info.name
        ));
    }
}

/// Describes a module for the client.
pub fn describe_module(info: &ModuleInfo) -> Module {
    Module {
        id: info.id.0,
        name: info.name.clone(),
        path: Some(info.path.to_string_lossy().into_owned()),
        version: info.build_id.clone(),
        symbol_status: Some(match info.symbols {
            SymbolStatus::DebugInfo => "Debug info loaded",
            SymbolStatus::SymbolsOnly => "Symbols only",
            SymbolStatus::Stripped => "No symbols",
        }),
        symbol_file_path: info
            .symbol_file
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned()),
        address_range: Some(format!("{}-{}", info.range.start, info.range.end)),
    }
}

fn module_unloaded(session: &mut Session, id: ModuleId) {
    if session.reported.modules.remove(&id).is_some() {
        let module = Module {
            id: id.0,
            ..Module::default()
        };
        let reason = "removed";
        session.event("module", &ModuleEventBody { reason, module });
    }
}

fn breakpoint_changed(session: &mut Session, id: BreakpointId) {
    if let Some(info) = session.debugger.breakpoint(id) {
        let breakpoint = describe_breakpoint(session, &info);
        let reason = BreakpointEventReason::Changed;
        session.event("breakpoint", &BreakpointEventBody { reason, breakpoint });
    }
}

fn breakpoint_removed(session: &mut Session, id: BreakpointId, why: String) {
    let breakpoint = Breakpoint {
        id: Some(id.0),
        message: Some(why),
        ..Breakpoint::default()
    };
    let reason = BreakpointEventReason::Removed;
    session.event("breakpoint", &BreakpointEventBody { reason, breakpoint });
}

fn output(session: &mut Session, stream: OutputStream, bytes: &[u8]) {
    let (carry, category) = match stream {
        OutputStream::Stdout => (&mut session.reported.stdout, OutputCategory::Stdout),
        OutputStream::Stderr => (&mut session.reported.stderr, OutputCategory::Stderr),
    };
    let text = carry.push(bytes);
    if !text.is_empty() {
        session.program_output(category, text);
    }
}

fn stopped(session: &mut Session, stop: Stop) {
    let thread = stop.thread.0;
    let span = tracing::debug_span!("stop", thread, reason = tracing::field::Empty);
    let _entered = span.enter();
    if let Some(why) = &stop.abandoned {
        session.call_abandoned(why.clone());
        // It has run since the client saw it, so its stack has changed.
        session.forget_thread_stop(stop.thread);
        let body = ContinuedEventBody {
            thread_id: stop.thread.0.into(),
            all_threads_continued: Some(stop.all),
        };
        session.event("continued", &body);
    }
    session.prefetch.stopped(&stop);
    past::announce(session);
    let (reason, ids, description, text) = match stop.reason {
        StopReason::Entry => ("entry", Vec::new(), None, None),
        StopReason::Step => ("step", Vec::new(), None, None),
        StopReason::Visit { number, is_present } => {
            let (what, text) = past::describe_visit(session, number, is_present);
            ("goto", Vec::new(), Some(what), Some(text))
        }
        StopReason::Goto => ("goto", Vec::new(), None, None),
        StopReason::Restart => ("restart", Vec::new(), None, None),
        StopReason::Exiting(code) => {
            let what = format!("Exiting with code {code}");
            let text = match session.debugger.is_recording_stored() {
                true => "the recording ends here; step back or run back",
                false => "step back, or continue to let the program exit",
            };
            ("exit", Vec::new(), Some(what), Some(text.to_owned()))
        }
        StopReason::EndOfRecording(why) => {
            let what = "The recording ends here".to_owned();
            let text = match why.as_str() {
                "" => "step back or run back".to_owned(),
                why => why.to_owned(),
            };
            ("end of recording", Vec::new(), Some(what), Some(text))
        }
        StopReason::Pause => ("pause", Vec::new(), None, None),
        StopReason::Breakpoint(ids) => match own_breakpoints::hit(session, ids) {
            (ids, true) if ids.is_empty() => ("entry", ids, None, None),
            (mut ids, _) => {
                let reason = session.breakpoints.reason(&ids);
                // A place that is shown again may be that of one that was removed since.
                ids.retain(|id| session.debugger.breakpoint(*id).is_some());
                let is_removed = ids.is_empty();
                let reason = if is_removed { "breakpoint" } else { reason };
                (reason, ids, None, None)
            }
        },
        StopReason::CallEnded { name, outcome } => {
            let text = match outcome {
                Ok(value) => returned(session, &name, &value),
                Err(error) => error.to_string(),
            };
            session.console(&format!("{text}\n"));
            let what = "function called from the console has ended".to_owned();
            ("step", Vec::new(), Some(what), Some(text))
        }
        StopReason::Data(ids, what) => ("data breakpoint", ids, Some(what.clone()), Some(what)),
        StopReason::BreakpointError(ids, why) => {
            session.important_note(&format!("{why}\n"));
            ("breakpoint", ids, None, Some(why))
        }
        reason @ (StopReason::Signal { .. } | StopReason::Exception { .. } | StopReason::Trap) => {
            let ids = match reason {
                StopReason::Signal { ids, .. } | StopReason::Exception { ids, .. } => ids,
                _ => Vec::new(),
            };
            let info = session.debugger.exception_info(stop.thread, false);
            let info = info.unwrap_or_default();
            let text = match session.debugger.is_post_mortem() {
                true => format!("the program was killed by {}: {}", info.id, info.text),
                false => info.text,
            };
            ("exception", ids, Some(info.reason), Some(text))
        }
    };
    span.record("reason", reason);
    let replayed = past::describe_replay(session, reason, description.as_deref());
    let description = replayed.or(description);
    if session.debugger.take_new_origin()
        && session.client.habits != Habits::Agent
        && let Ok(origin) = origin(session)
    {
        session.console(&list_of_hops(&origin));
    }
    let body = StoppedEventBody {
        reason: reason.into(),
        description,
        thread_id: stop.thread.0.into(),
        preserve_focus_hint: false,
        text,
        all_threads_stopped: stop.all,
        hit_breakpoint_ids: ids.into_iter().map(|id| id.0).collect(),
    };
    session.history.stopped(stop.thread, &body);
    session.event("stopped", &body);
}

/// Formats the value returned by a function called from the console.
fn returned(session: &mut Session, name: &str, value: &Value) -> String {
    let limits = session.settings.limits.clone();
    let shown = session.debugger.present(value, &limits);
    match shown.text.as_str() {
        "" | "void" | "()" => format!("`{name}` has returned"),
        text => format!("`{name}` has returned {text}"),
    }
}

/// SIGKILL is sent from outside, mostly by the debugger.
const KILLED: Signal = Signal(9);

/// Reports the end of the debuggee, once, after all its output.
pub fn exited(session: &mut Session, status: ExitStatus) {
    if std::mem::replace(&mut session.reported.ended, true) {
        return;
    }
    for (category, rest) in [
        (OutputCategory::Stdout, session.reported.stdout.finish()),
        (OutputCategory::Stderr, session.reported.stderr.finish()),
    ] {
        if !rest.is_empty() {
            session.output(category, rest);
        }
    }
    recording_file::write_of_ended(session);
    traces::report_at_end(session);
    session.handles.clear();
    session.debuginfod = Debuginfod::default();
    if status != ExitStatus::Detached {
        let exit_code = status.shell_code().into();
        if let ExitStatus::Signal(signal) = status
            && !session.startup.is_termination_requested()
            && signal != KILLED
        {
            let text = format!(
                "The program was killed by {} (exit code {exit_code}).\n",
                signal.name()
            );
            session.output(OutputCategory::Console, text);
        }
        session.event("exited", &ExitedEventBody { exit_code });
    }
    session.event("terminated", &());
}

/// Decodes UTF-8 that arrives in pieces, which may end inside a character.
#[derive(Debug, Default)]
struct Utf8Carry {
    rest: Vec<u8>,
}

impl Utf8Carry {
    /// Returns the text up to the last complete character; invalid bytes become U+FFFD.
    fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let cut_off = chunks.peek().is_none() && is_cut_off(chunk.invalid());
            if cut_off {
                self.rest = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Returns the rest after the last piece.
    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

/// Returns true if `bytes` are the start of a character.
fn is_cut_off(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_survive_any_cut() {
        let text = "aü€😀\u{0}z";
        for cut in 0..text.len() {
            let mut carry = Utf8Carry::default();
            let (first, second) = text.as_bytes().split_at(cut);
            let mut joined = carry.push(first);
            joined.push_str(&carry.push(second));
            assert_eq!(joined, text);
            assert_eq!(carry.finish(), "");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        let mut carry = Utf8Carry::default();
        assert_eq!(carry.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(carry.push(b"x"), "\u{fffd}x");
        assert_eq!(carry.push(b"\xe2"), "");
        assert_eq!(carry.finish(), "\u{fffd}");
    }
}
