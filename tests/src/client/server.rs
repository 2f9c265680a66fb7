//! An adapter that listens for clients.

use super::DapClient;
use super::wire::listen;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// A `stillpoint dap --listen` that clients connect to; killed when dropped.
pub struct Server {
    process: Child,
    address: String,
    token: Option<String>,
}

impl Server {
    /// Starts a listener on a free port.
    pub fn start() -> Self {
        Self::start_with(&["--listen", "127.0.0.1:0"], |_| {})
    }

    /// Starts a listener with these arguments and a command that `adjust` has changed.
    pub fn start_with(arguments: &[&str], adjust: impl FnOnce(&mut Command)) -> Self {
        let mut command = crate::binary::command();
        command
            .arg("dap")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        adjust(&mut command);
        let mut process = command.spawn().expect("the adapter starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("the address");
        let address = line.trim_end().strip_prefix("listening on ");
        let mut words = address.unwrap_or_default().split(' ');
        let address = words.next().filter(|address| !address.is_empty());
        let address = address.unwrap_or_else(|| panic!("no address: {line:?}"));
        let token = words.next().and_then(|word| word.strip_prefix("token="));
        Self {
            address: address.to_owned(),
            token: token.map(str::to_owned),
            process,
        }
    }

    /// Returns its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the token that it has printed.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the process id of the listener.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Returns the process, to wait for its end.
    pub fn process(&mut self) -> &mut Child {
        &mut self.process
    }

    /// Connects as a further client.
    pub fn connect(&self) -> DapClient {
        let socket = TcpStream::connect(&self.address).expect("a connection");
        self.client_of(socket)
    }

    /// Creates a client on an existing connection.
    pub fn client_of(&self, socket: TcpStream) -> DapClient {
        let reader = socket.try_clone().expect("a second handle");
        let writer = socket.try_clone().expect("a third handle");
        let (sender, incoming) = mpsc::channel();
        listen(reader, sender);
        DapClient::new(None, Box::new(writer), Some(socket), incoming)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
