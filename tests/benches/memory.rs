//! What it costs to read 16 MiB of a program's memory, beside a C program that reads the same
//! bytes (`process_vm_readv`, base64) and tells nobody of them; in milliseconds:
//!
//!     cargo bench -p stillpoint-tests --bench memory
//!
//! The best of [`RUNS`] each, in turn. "answered" ends when a client has taken the last byte of the
//! answer; "processor time" is what the adapter has used for it, whoever else was at work.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use stillpoint_tests::{process, repository, stillpoint, target_directory};

const RUNS: usize = 15;
const BYTES: usize = 16 << 20;

fn main() {
    let program = compiled();
    let mut adapter = Adapter::at_here(&program);
    let (mut plain, mut answered, mut used) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..RUNS {
        plain = plain.min(adapter.read_plainly(&program));
        let before = adapter.processor_time();
        let begun = Instant::now();
        let bytes = adapter.read_memory();
        answered = answered.min(begun.elapsed().as_secs_f64() * 1e3);
        used = used.min(adapter.processor_time() - before);
        assert!(bytes > BYTES / 3 * 4, "an answer of {bytes} bytes");
    }
    println!("{plain:>9.2}  ms for process_vm_readv and base64 in C");
    println!(
        "{answered:>9.2}  ms for readMemory, answered ({:.1} ×)",
        answered / plain
    );
    println!(
        "{used:>9.2}  ms for readMemory, processor time ({:.1} ×)",
        used / plain
    );
}

fn compiled() -> PathBuf {
    let program = target_directory().join("read_memory");
    let compiled = Command::new("cc")
        .args(["-O2", "-g", "-o"])
        .arg(&program)
        .arg(repository().join("tests/benches/read_memory.c"))
        .status()
        .expect("a C compiler");
    assert!(compiled.success());
    program
}

/// An adapter with a client that looks at no more than it must.
struct Adapter {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    debuggee: i64,
    addr: String,
    seq: i64,
    portion: Vec<u8>,
}

impl Adapter {
    /// Stopped where the memory is there.
    fn at_here(program: &Path) -> Self {
        let mut process = Command::new(stillpoint())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let mut adapter = Self {
            stdin: process.stdin.take().expect("piped"),
            stdout: BufReader::new(process.stdout.take().expect("piped")),
            process,
            debuggee: 0,
            addr: String::new(),
            seq: 0,
            portion: vec![0; 1 << 20],
        };
        adapter.send("initialize", json!({"adapterID": "stillpoint"}));
        adapter.send("launch", json!({"program": program}));
        adapter.wait(|message| message["event"] == "initialized");
        let here = json!({"breakpoints": [{"name": "here"}]});
        adapter.send("setFunctionBreakpoints", here);
        adapter.send("configurationDone", json!({}));
        let process = adapter.wait(|message| message["event"] == "process");
        adapter.debuggee = process["body"]["systemProcessId"].as_i64().expect("a pid");
        adapter.wait(|message| message["event"] == "stopped");
        let request = adapter.send("evaluate", json!({"expression": "(void *)memory"}));
        let answer = adapter.wait(|message| message["request_seq"] == request);
        let addr = answer["body"]["memoryReference"].as_str();
        adapter.addr = addr.expect("an address").to_owned();
        adapter
    }

    fn send(&mut self, command: &str, arguments: Value) -> i64 {
        self.seq += 1;
        let message = json!({
            "seq": self.seq, "type": "request", "command": command, "arguments": arguments,
        });
        let message = message.to_string();
        write!(
            self.stdin,
            "Content-Length: {}\r\n\r\n{message}",
            message.len()
        )
        .expect("it listens");
        self.seq
    }

    /// The length of the next message.
    fn header(&mut self) -> usize {
        let (mut header, mut end) = (String::new(), String::new());
        self.stdout.read_line(&mut header).expect("a header");
        self.stdout.read_line(&mut end).expect("its end");
        let length = header.trim().strip_prefix("Content-Length: ");
        length.expect("a length").parse().expect("a number")
    }

    fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut message = vec![0; self.header()];
            self.stdout.read_exact(&mut message).expect("a message");
            let message = serde_json::from_slice(&message).expect("JSON");
            if fits(&message) {
                return message;
            }
        }
    }

    /// Has the memory read; the length of the answer, of which nothing is kept.
    fn read_memory(&mut self) -> usize {
        let arguments = json!({"memoryReference": self.addr, "count": BYTES});
        self.send("readMemory", arguments);
        let length = self.header();
        let mut left = length;
        while left > 0 {
            let most = left.min(self.portion.len());
            left -= self.stdout.read(&mut self.portion[..most]).expect("bytes");
        }
        length
    }

    /// The same by the C program, in milliseconds.
    fn read_plainly(&self, program: &Path) -> f64 {
        let output = Command::new(program)
            .args([&self.debuggee.to_string(), &self.addr])
            .output()
            .expect("it runs");
        let text = String::from_utf8(output.stdout).expect("a number");
        text.trim().parse().expect("a number")
    }

    /// What all threads of the adapter have used so far, in milliseconds.
    fn processor_time(&self) -> f64 {
        let tracer = process::tracer_of(self.process.id() as i32);
        let threads = fs::read_dir(format!("/proc/{tracer}/task")).expect("threads");
        let used = threads.map(|thread| {
            let path = thread.expect("a thread").path().join("schedstat");
            let text = fs::read_to_string(path).expect("Linux with CONFIG_SCHED_INFO");
            let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
            nanoseconds.unwrap_or(0.0)
        });
        used.sum::<f64>() / 1e6
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
