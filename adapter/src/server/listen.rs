//! Listening for clients. Each client gets a process of its own: SIGCHLD belongs to a process, so a
//! session does, too, and a crash ends one session only.

use super::greeting::{self, Authentication};
use super::token::{self, Token};
use crate::files::private::{self, Unusable};
use crate::server::stream::Stream;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Maximum number of clients at once that have not shown a token yet: each costs a process.
const MAX_UNAUTHENTICATED: usize = 8;
/// Maximum number of rejected clients at once that get an error response.
const MAX_REJECTED: usize = 16;
/// Byte that a session's process writes to its stdout once its client is admitted.
const ADMITTED: u8 = b'+';

/// The address to listen at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListenAddress {
    /// A Unix socket in the user's runtime folder.
    RuntimeFolder,
    /// A Unix socket.
    Path(PathBuf),
    /// TCP.
    Addresses(Vec<SocketAddr>),
}

impl ListenAddress {
    /// Parses the value of `--listen`: nothing, a path, a port of this machine, or an address with
    /// a port.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(ListenAddress::RuntimeFolder);
        }
        if text.contains('/') {
            return Ok(ListenAddress::Path(text.into()));
        }
        let port = text.strip_prefix(':').unwrap_or(text);
        let text = match port.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => text.to_owned(),
        };
        match text.to_socket_addrs() {
            Ok(addresses) => Ok(ListenAddress::Addresses(addresses.collect())),
            Err(error) => Err(format!(
                "expected ADDRESS:PORT or a path with a `/` ({error})"
            )),
        }
    }
}

/// Options of the listener.
#[derive(Debug)]
pub struct ListenerOptions {
    /// The address.
    pub at: ListenAddress,
    /// The token that the user has set.
    pub token: Option<Token>,
    /// Maximum number of simultaneous sessions.
    pub max_sessions: usize,
    /// Arguments for the sessions' processes.
    pub forwarded_arguments: Vec<String>,
}

/// Serves clients until SIGTERM, SIGINT or SIGHUP.
///
/// # Errors
/// The address cannot be used or is not safe, or the executable is not found.
pub fn listen(how: ListenerOptions) -> io::Result<()> {
    // Signals are blocked before threads start; child processes start with none blocked.
    let end = engine::os::host::block_end_signals()?;
    let (door, token) = ListenerSocket::open(&how)?;
    let porter = SessionStarter {
        program: env::current_exe()?,
        token_required: how.token.is_some(),
        token,
        forwarded_arguments: how.forwarded_arguments,
        max_sessions: how.max_sessions,
        counts: Arc::default(),
    };
    let printed = match (&porter.token, porter.token_required) {
        (Some(token), false) => format!(" token={}", token.reveal()),
        _ => String::new(),
    };
    // stdout may be closed.
    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "listening on {}{printed}", door.name()?);
    let _ = stdout.flush();
    loop {
        let mut files = [
            PollFd::new(door.as_fd(), PollFlags::POLLIN),
            PollFd::new(end.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut files, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            other => other?,
        };
        if files[1].any().unwrap_or(false) {
            tracing::info!("received SIGTERM");
            return Ok(());
        }
        match door.accept() {
            Ok(Some((socket, peer))) => porter.start_session(socket, peer),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "accept");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// The user of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    /// This user, according to the kernel.
    SameUser,
    /// Perhaps another user, perhaps on another machine.
    Unknown,
}

/// The listening socket.
enum ListenerSocket {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// A socket in a folder; removed when dropped.
pub(super) struct SocketFile {
    path: PathBuf,
    /// A temporary folder that is removed with it.
    _folder: Option<TempDir>,
}

impl SocketFile {
    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl ListenerSocket {
    /// Opens the socket. Returns it with the token that clients of other users must show.
    fn open(how: &ListenerOptions) -> io::Result<(Self, Option<Token>)> {
        let (path, folder) = match &how.at {
            ListenAddress::Addresses(addresses) => {
                let door = ListenerSocket::Tcp(tcp(addresses, how.token.is_some())?);
                let token = how.token.clone().map_or_else(Token::random, Ok)?;
                return Ok((door, Some(token)));
            }
            ListenAddress::Path(path) => (path.clone(), None),
            ListenAddress::RuntimeFolder => runtime_path("")?,
        };
        let (listener, file) = socket_at(path, folder)?;
        Ok((ListenerSocket::Unix(listener, file), how.token.clone()))
    }

    /// Returns the address as text.
    fn name(&self) -> io::Result<String> {
        Ok(match self {
            ListenerSocket::Tcp(listener) => listener.local_addr()?.to_string(),
            ListenerSocket::Unix(_, file) => file.path.display().to_string(),
        })
    }

    /// Accepts a client; `None` if there is none, or its user is not allowed.
    fn accept(&self) -> io::Result<Option<(OwnedFd, Peer)>> {
        let us = geteuid().as_raw();
        let accepted: io::Result<(OwnedFd, Peer)> = match self {
            ListenerSocket::Tcp(listener) => listener.accept().and_then(|(socket, peer)| {
                // Messages are small, and each is awaited: do not delay them.
                socket.set_nodelay(true)?;
                let user = engine::os::user_of_peer(socket.local_addr()?, peer);
                let client = match peer.ip().to_canonical().is_loopback() && user == Some(us) {
                    true => Peer::SameUser,
                    false => Peer::Unknown,
                };
                tracing::info!(%peer, user, "connected");
                Ok((socket.into(), client))
            }),
            ListenerSocket::Unix(listener, _) => listener.accept().and_then(|(socket, _)| {
                let user = engine::os::user_of_unix_peer(&socket)?;
                tracing::info!(user, "connected");
                let client = match user == us {
                    true => Peer::SameUser,
                    false => Peer::Unknown,
                };
                Ok((socket.into(), client))
            }),
        };
        match accepted {
            // The permissions of the socket admit this user and root only.
            Ok((_, Peer::Unknown)) if matches!(self, ListenerSocket::Unix(..)) => Ok(None),
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for ListenerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            ListenerSocket::Tcp(listener) => listener.as_fd(),
            ListenerSocket::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// Listens on TCP. Other machines are admitted only if the user has set a token.
fn tcp(addresses: &[SocketAddr], token_set: bool) -> io::Result<TcpListener> {
    let public = addresses
        .iter()
        .find(|address| !address.ip().to_canonical().is_loopback());
    if let (Some(public), false) = (public, token_set) {
        return Err(io::Error::other(format!(
            "{public} is reachable from other machines; set a token with --token or {}, or listen \
             on 127.0.0.1",
            token::TOKEN_VARIABLE
        )));
    }
    let listener = TcpListener::bind(addresses)?;
    // A client that has already disconnected must not block `accept`.
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Listens on a Unix socket for this user only, in the folder for such.
///
/// # Errors
/// There is no folder that only this user can write to.
pub(super) fn private_socket(purpose: &str) -> io::Result<(UnixListener, SocketFile)> {
    let (path, folder) = runtime_path(&format!("{purpose}-"))?;
    socket_at(path, folder)
}

/// Returns the sockets for a purpose of all processes of this user, the newest first.
pub(super) fn private_sockets(purpose: &str) -> Vec<PathBuf> {
    let prefix = format!("stillpoint-{purpose}-");
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let name_begins = |path: &PathBuf, prefix: &str| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    };
    // Those of `runtime_path`, wherever this process would put its own.
    let temporary = in_folder(&env::temp_dir()).into_iter();
    let temporary = temporary.filter(|path| name_begins(path, "stillpoint-"));
    let folders = runtime.into_iter().chain(temporary);
    let us = geteuid().as_raw();
    let mut sockets: Vec<(SystemTime, PathBuf)> = folders
        .flat_map(|folder| in_folder(&folder))
        .filter(|path| name_begins(path, &prefix))
        .filter_map(|path| {
            let metadata = fs::symlink_metadata(&path).ok()?;
            let is_ours = metadata.uid() == us && metadata.file_type().is_socket();
            is_ours.then_some((metadata.modified().ok()?, path))
        })
        .collect();
    sockets.sort_by(|one, other| other.cmp(one));
    sockets.into_iter().map(|(_, path)| path).collect()
}

fn socket_at(path: PathBuf, folder: Option<TempDir>) -> io::Result<(UnixListener, SocketFile)> {
    let listener = unix(&path)?;
    let file = SocketFile {
        path: std::path::absolute(path)?,
        _folder: folder,
    };
    Ok((listener, file))
}

/// Returns the default path of a socket, and the folder to remove with it.
fn runtime_path(purpose: &str) -> io::Result<(PathBuf, Option<TempDir>)> {
    let name = format!("stillpoint-{purpose}{}.sock", std::process::id());
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute() && folder.is_dir()) {
        Some(folder) => {
            private::folder(&folder).map_err(unsafe_folder)?;
            Ok((folder.join(name), None))
        }
        None => {
            let folder = private::temporary_folder()?;
            Ok((folder.path().join(name), Some(folder)))
        }
    }
}

fn unsafe_folder(unusable: Unusable) -> io::Error {
    match unusable {
        Unusable::Io(error) => error,
        Unusable::Unsafe(..) => io::Error::other(format!(
            "{unusable}; use a folder that only you can write to"
        )),
    }
}

/// Listens on a Unix socket for this user only. Replaces the socket of a listener that was killed.
fn unix(path: &Path) -> io::Result<UnixListener> {
    let folder = std::path::absolute(path)?;
    let folder = folder.parent().unwrap_or(Path::new("/"));
    if !folder.exists() {
        private::folder(folder).map_err(unsafe_folder)?;
    }
    private::in_safe_folder(path).map_err(unsafe_folder)?;
    // Set before `bind`: no other user may connect in between.
    let usual = umask(Mode::from_bits_truncate(0o177));
    let mut bound = UnixListener::bind(path);
    if let Err(error) = &bound
        && error.kind() == io::ErrorKind::AddrInUse
        && is_left_over(path)
    {
        bound = fs::remove_file(path).and_then(|()| UnixListener::bind(path));
    }
    umask(usual);
    let listener = bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::other(format!("{} is in use", path.display())),
        _ => error,
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Returns true for a socket without a listener.
fn is_left_over(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refused)
}

/// Numbers of clients.
#[derive(Debug, Default)]
struct Counts {
    sessions: AtomicUsize,
    /// Sessions whose client has not shown the token yet.
    unauthenticated: AtomicUsize,
    rejected: AtomicUsize,
}

/// A client counted until this is dropped.
struct CountedClient(Arc<Counts>, fn(&Counts) -> &AtomicUsize);

impl CountedClient {
    /// Counts a client; `None` if there are `most` already.
    fn of(counts: &Arc<Counts>, which: fn(&Counts) -> &AtomicUsize, most: usize) -> Option<Self> {
        let before = which(counts).fetch_add(1, Ordering::SeqCst);
        let one = CountedClient(Arc::clone(counts), which);
        (before < most).then_some(one)
    }
}

impl Drop for CountedClient {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Starts a session for each client.
struct SessionStarter {
    program: PathBuf,
    token: Option<Token>,
    /// Whether clients of the same user need the token, too.
    token_required: bool,
    forwarded_arguments: Vec<String>,
    max_sessions: usize,
    counts: Arc<Counts>,
}

impl SessionStarter {
    fn start_session(&self, socket: OwnedFd, peer: Peer) {
        let Some(session) = CountedClient::of(&self.counts, |it| &it.sessions, self.max_sessions)
        else {
            return self.reject(socket);
        };
        let unauthenticated = match peer {
            Peer::SameUser => None,
            Peer::Unknown => {
                match CountedClient::of(&self.counts, |it| &it.unauthenticated, MAX_UNAUTHENTICATED)
                {
                    None => return self.reject(socket),
                    unauthenticated => unauthenticated,
                }
            }
        };
        let mut command = Command::new(&self.program);
        command
            .args(["dap", "--socket-on-stdin"])
            .args(&self.forwarded_arguments)
            .stdin(Stdio::from(socket))
            .stdout(Stdio::piped());
        match &self.token {
            Some(token) => command.env(token::TOKEN_VARIABLE, token.reveal()),
            None => command.env_remove(token::TOKEN_VARIABLE),
        };
        if peer == Peer::SameUser && !self.token_required {
            command.arg("--same-user");
        }
        let child = command.spawn();
        // The child has the socket now: the connection closes only when the child exits.
        drop(command);
        match child {
            Ok(mut child) => {
                thread::spawn(move || {
                    let mut word = [0];
                    let stdout = child.stdout.take();
                    let received = stdout.map(|mut stdout| stdout.read_exact(&mut word));
                    if matches!(received, Some(Ok(()))) && word == [ADMITTED] {
                        drop(unauthenticated);
                    }
                    let _ = child.wait();
                    drop(session);
                });
            }
            Err(error) => tracing::error!(%error, "cannot start a process for a connection"),
        }
    }

    /// Rejects a client with an error response: there are too many sessions.
    fn reject(&self, socket: OwnedFd) {
        let Some(one) = CountedClient::of(&self.counts, |it| &it.rejected, MAX_REJECTED) else {
            return;
        };
        let sessions = self.max_sessions;
        thread::spawn(move || {
            if let Ok([stream, _]) = Stream::both_of(socket) {
                greeting::reject(&stream, sessions);
            }
            drop(one);
        });
    }
}

/// Returns what the client of a session's process must prove, from the listener's environment.
///
/// # Errors
/// The listener has set no token, and the client may belong to another user.
pub fn required_authentication(same_user: bool) -> io::Result<Authentication> {
    let token = env::var(token::TOKEN_VARIABLE).ok();
    let token = token.and_then(|token| Token::new(&token).ok());
    match (same_user, token) {
        (true, token) => Ok(Authentication::Nothing(token)),
        (false, Some(token)) => Ok(Authentication::Token(token)),
        (false, None) => Err(io::Error::other("no token was set for this socket")),
    }
}

/// Reports to the listener that the client is admitted.
pub fn admitted() {
    let mut stdout = io::stdout();
    // The listener may have exited.
    let _ = stdout.write_all(&[ADMITTED]);
    let _ = stdout.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_ports_or_hosts() {
        let address =
            |text: &str| ListenAddress::Addresses(vec![text.parse().expect("an address")]);
        assert_eq!(ListenAddress::parse(""), Ok(ListenAddress::RuntimeFolder));
        assert_eq!(
            ListenAddress::parse("/run/x.sock"),
            Ok(ListenAddress::Path("/run/x.sock".into()))
        );
        assert_eq!(
            ListenAddress::parse("./x"),
            Ok(ListenAddress::Path("./x".into()))
        );
        for port in ["4711", ":4711", "127.0.0.1:4711"] {
            assert_eq!(ListenAddress::parse(port), Ok(address("127.0.0.1:4711")));
        }
        assert_eq!(ListenAddress::parse("[::1]:0"), Ok(address("[::1]:0")));
        for wrong in ["x.sock", "127.0.0.1", "127.0.0.1:99999"] {
            assert!(ListenAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_machines_need_a_token() {
        let at = |text: &str| [text.parse::<SocketAddr>().expect("an address")];
        for public in ["0.0.0.0:0", "[::]:0"] {
            let refused = tcp(&at(public), false).expect_err("refused");
            assert!(refused.to_string().contains("--token"), "{refused}");
        }
        assert!(tcp(&at("127.0.0.1:0"), false).is_ok());
        assert!(tcp(&at("0.0.0.0:0"), true).is_ok());
    }

    #[test]
    fn sockets_are_private_and_left_over_ones_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("new/socket");
        let first = unix(&path).expect("a listener");
        let mode = |path: &Path| fs::metadata(path).expect("it").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&place.path().join("new")), 0o700);
        assert!(unix(&path).is_err(), "in use");
        drop(first);
        unix(&path).expect("left over");
        let file = place.path().join("file");
        fs::write(&file, "").expect("a file");
        assert!(unix(&file).is_err(), "no socket");
    }

    #[test]
    fn number_of_clients_is_limited() {
        let counts = Arc::<Counts>::default();
        let one = |counts| CountedClient::of(counts, |it| &it.sessions, 2);
        let (first, second) = (one(&counts), one(&counts));
        assert!(first.is_some() && second.is_some());
        assert!(one(&counts).is_none());
        drop(first);
        assert!(one(&counts).is_some());
    }
}
