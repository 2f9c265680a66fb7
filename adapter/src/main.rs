//! Stillpoint: a native debugger for C, C++ and Rust that is a Debug Adapter Protocol server.

#![forbid(unsafe_code)]

/// Prints a line to stderr. `eprintln!` would panic if stderr is a closed pipe; this ignores the error.
macro_rules! complain {
    ($($part:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}

mod call_trace;
mod client;
mod config;
mod console;
mod context;
mod files;
mod frontends;
mod protocol;
mod requests;
mod server;
mod service;
mod session;
mod sources;

use clap::{Args, Parser, Subcommand};
use engine::os::{Launcher, ProcessGroup};
use files::log;
use frontends::dap::{self, Dap};
use frontends::{advice, demo, mcp, record, run, setup};
use session::terminal;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A native debugger for C, C++ and Rust; without a command it speaks the Debug Adapter
/// Protocol on stdin and stdout.
#[derive(Parser)]
#[command(name = "stillpoint", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    dap: Dap,
    /// Write a log to this file; STILLPOINT_LOG sets its level (`info` if unset)
    #[arg(long, value_name = "FILE", global = true)]
    log: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Speak the Debug Adapter Protocol on stdin and stdout, or on a socket
    Dap(Dap),
    /// Run a program and print each stop: source, stack, variables
    Run(run::Options),
    /// Record values of a program at a line or function, and print tables
    Trace(run::trace::Options),
    /// Run a program and record it; say what was recorded, and whether replays do the same
    Record(record::Options),
    /// Open a recording of a program: print where it ends, or the stops on the way there
    Replay(run::replay::Options),
    /// Print a core file: threads, stacks, variables
    Core(run::core::Options),
    /// Serve agents: the Model Context Protocol on stdin and stdout
    Mcp(Mcp),
    /// Compile a small C program and print a stop in it
    Demo,
    /// Allow this program to debug others: on macOS, sign it; on Linux, say what is allowed
    Setup,
    #[command(hide = true)]
    LaunchInTerminal(LaunchInTerminal),
}

impl Command {
    /// Returns the command of a line without options, `stillpoint` or `stillpoint dap`: editors wait for its
    /// first response, and the parser would first build the options of all commands.
    fn of_editor(mut line: impl Iterator<Item = OsString>) -> Option<Self> {
        line.next();
        let is_dap = line.next().is_none_or(|it| it == "dap");
        (is_dap && line.next().is_none()).then(|| Command::Dap(Dap::default()))
    }

    /// Returns true if this process will have a debuggee. The listener's children will, and a
    /// launcher becomes one.
    fn debugs(&self) -> bool {
        match self {
            Command::Dap(options) => options.listen.is_none(),
            Command::Run(_)
            | Command::Trace(_)
            | Command::Replay(_)
            | Command::Core(_)
            | Command::Demo => true,
            // Its program has the terminal, and dies with it.
            Command::Record(_) => false,
            Command::Mcp(_) | Command::Setup | Command::LaunchInTerminal(_) => false,
        }
    }

    /// Returns the process group for the debugger. A client with pipes may kill the group that it
    /// knows; in a terminal, only the foreground group may read.
    fn process_group(&self) -> ProcessGroup {
        match self {
            Command::Dap(_) if !io::stdin().is_terminal() => ProcessGroup::Own,
            _ => ProcessGroup::Same,
        }
    }
}

#[derive(Args)]
struct Mcp {
    /// Which tools are listed; all can be called
    #[arg(long, value_enum, default_value_t)]
    tools: mcp::ToolSet,
    /// Look on at another client's session, at the socket that `:join` in its console shows, or
    /// without a value at the newest session that allows it; nothing is changed or resumed
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, conflicts_with = "tools")]
    join: Option<Option<PathBuf>>,
}

#[derive(Args)]
struct LaunchInTerminal {
    #[arg(long)]
    connect: PathBuf,
    #[arg(long, action = clap::ArgAction::Set)]
    disable_aslr: bool,
    #[arg(long)]
    stdin: Option<PathBuf>,
    #[arg(long)]
    stdout: Option<PathBuf>,
    #[arg(long)]
    stderr: Option<PathBuf>,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Grace period for cache files to be written after the end of the session.
const CACHE_WRITE_TIMEOUT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let (command, log) = match Command::of_editor(std::env::args_os()) {
        Some(command) => (command, None),
        None => {
            let cli = Cli::try_parse().unwrap_or_else(|error| {
                let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
                if error.use_stderr()
                    && let Some(advice) = advice::advice(&arguments)
                {
                    complain!("stillpoint: {advice}\n");
                }
                error.exit()
            });
            (cli.command.unwrap_or(Command::Dap(cli.dap)), cli.log)
        }
    };
    if command.debugs() {
        // Before the first thread.
        if let Err(error) = engine::os::run_behind_front(command.process_group()) {
            complain!("stillpoint: cannot start the process between client and debugger: {error}");
        }
        engine::os::prepare();
    }
    // A launcher has the program's terminal.
    if !matches!(command, Command::LaunchInTerminal(_)) {
        log::start(log.as_deref());
    }
    let code = match command {
        Command::Dap(options) => dap::dap(options, log.as_deref()),
        Command::Run(options) => run::run(options),
        Command::Trace(options) => run::trace::trace(options),
        Command::Core(options) => run::core::core(options),
        Command::Replay(options) => run::replay::replay(options),
        Command::Record(options) => record::record(options),
        Command::Mcp(options) => mcp::mcp(options.tools, options.join),
        Command::Demo => demo::demo(),
        Command::Setup => setup::setup(),
        Command::LaunchInTerminal(LaunchInTerminal {
            connect,
            disable_aslr,
            stdin,
            stdout,
            stderr,
            command,
        }) => {
            let mut command = command.into_iter();
            let launcher = Launcher {
                program: command.next().unwrap_or_default().into(),
                args: command.collect(),
                disable_aslr,
                stdio: [stdin, stdout, stderr],
            };
            terminal::launch_in_terminal(&connect, launcher)
        }
    };
    engine::finish_cache_writes(CACHE_WRITE_TIMEOUT);
    if engine::os::was_interrupted() && code == ExitCode::from(run::INTERRUPTED) {
        engine::os::end_as_interrupted();
    }
    code
}
