//! `stillpoint dap`: the debug adapter.

use crate::server::stream::{SavedFlags, Stream};
use crate::server::{self, ListenAddress, ListenerOptions, TOKEN_VARIABLE, Token, listen};
use crate::service::{ServiceError, serve, serve_after};
use clap::Args;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

/// Maximum number of sessions of a listener, unless the user sets another.
const DEFAULT_SESSIONS: usize = 64;

// No doc comment: it would become the text of `--help`.
#[derive(Args)]
pub struct Dap {
    /// Serve on a Unix socket or on TCP (port 0 takes a free port); without a value on a Unix
    /// socket in `$XDG_RUNTIME_DIR`. The address is printed
    #[arg(
        long,
        value_name = "PATH|ADDRESS:PORT",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = ListenAddress::parse
    )]
    pub listen: Option<ListenAddress>,
    /// With `--listen`: the token that clients must send. Other users can see it here; they cannot
    /// see STILLPOINT_TOKEN
    #[arg(long, value_name = "TOKEN", value_parser = Token::new)]
    token: Option<Token>,
    /// With `--listen`: maximum number of simultaneous sessions
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SESSIONS)]
    max_sessions: usize,
    #[arg(long, hide = true)]
    socket_on_stdin: bool,
    #[arg(long, hide = true)]
    same_user: bool,
}

impl Default for Dap {
    /// Returns the options of a command line without any.
    fn default() -> Self {
        Self {
            listen: None,
            token: None,
            max_sessions: DEFAULT_SESSIONS,
            socket_on_stdin: false,
            same_user: false,
        }
    }
}

/// Returns the token that the user has set: on the command line, else in the environment.
fn set_token(option: Option<Token>) -> Result<Option<Token>, ServiceError> {
    let variable = std::env::var(TOKEN_VARIABLE).ok();
    let variable = variable.filter(|token| !token.is_empty());
    let token = option
        .map(Ok)
        .or_else(|| variable.map(|text| Token::new(&text)));
    let wrong = |error| io::Error::other(format!("{TOKEN_VARIABLE}: {error}"));
    Ok(token.transpose().map_err(wrong)?)
}

/// Serves one client on stdin and stdout, or each client of a listener in a process of its own, which writes to the
/// same log.
pub fn dap(options: Dap, log: Option<&Path>) -> ExitCode {
    let end = match options.listen {
        Some(at) => {
            let log = log.iter().map(|log| format!("--log={}", log.display()));
            let forwarded_arguments = log.collect();
            set_token(options.token).and_then(|token| {
                let how = ListenerOptions {
                    at,
                    token,
                    max_sessions: options.max_sessions,
                    forwarded_arguments,
                };
                listen(how).map_err(ServiceError::from)
            })
        }
        None if options.socket_on_stdin => serve_socket(options.same_user),
        None => serve_stdio(),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "session ended");
            complain!("stillpoint: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves the client on stdin and stdout.
fn serve_stdio() -> Result<(), ServiceError> {
    // Restores the flags of the pipes for other processes that share them.
    let _as_they_were = [SavedFlags::of(io::stdin()), SavedFlags::of(io::stdout())];
    serve([Stream::of(io::stdin())?, Stream::of(io::stdout())?])
}

/// Serves the client on the socket that is stdin, once it is admitted. `same_user`: the listener
/// admits clients of this user without a token.
fn serve_socket(same_user: bool) -> Result<(), ServiceError> {
    let demand = server::required_authentication(same_user)?;
    let streams = Stream::both_of(io::stdin().as_fd().try_clone_to_owned()?)?;
    let early_bytes = server::greet(&streams[0], &demand).map_err(ServiceError::Refused)?;
    server::admitted();
    serve_after(streams, early_bytes)
}
