//! An adapter that listens for clients.

use super::DapClient;
use super::wire::listen;
use crate::binary::stillpoint;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// A `stillpoint dap --listen` that clients connect to; killed when dropped.
pub struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts one on a free port.
    pub fn start() -> Self {
        let mut process = Command::new(stillpoint())
            .args(["dap", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("the address");
        let from = line.find("127.0.0.1:").unwrap_or_else(|| {
            panic!("no address: {line:?}");
        });
        let address = line[from..]
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == ':'))
            .next()
            .expect("a first part");
        Self {
            address: address.to_owned(),
            process,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the listener.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Connects as one more client.
    pub fn connect(&self) -> DapClient {
        let socket = TcpStream::connect(&self.address).expect("a connection");
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
