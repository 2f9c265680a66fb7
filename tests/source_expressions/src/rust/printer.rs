//! The library that a crate's copy with probes prints by. It is compiled with the copy, not with this tool.
//!
//! A value is printed by its `Debug`, if the compiler knows one where the probe stands: of the traits below, it
//! takes the one with the fewest references.

use std::any::type_name;
use std::cell::Cell;
use std::fmt::{Debug, Error, Result, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The most characters of a value.
const MOST: usize = 2000;

/// The most statements.
const STATEMENTS: usize = 1 << 17;

/// The statements that have been reached. Loops ask for them millions of times.
static REACHED: [AtomicBool; STATEMENTS] = [const { AtomicBool::new(false) }; STATEMENTS];
static FILE: Mutex<Option<File>> = Mutex::new(None);

thread_local! {
    /// Whether a probe of this thread is evaluated: what it calls has probes, too.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

fn print(text: &str) {
    let mut file = FILE.lock().unwrap_or_else(|it| it.into_inner());
    if file.is_none() {
        let path = std::env::var_os("SOURCE_EXPRESSIONS_TRUTH");
        let open = |path| File::options().append(true).create(true).open(path).ok();
        *file = path.and_then(open);
    }
    if let Some(file) = &mut *file {
        let _ = file.write_all(text.as_bytes());
    }
}

/// Returns true the first time that a statement is reached.
#[inline(never)]
pub fn first(statement: usize) -> bool {
    let Some(reached) = REACHED.get(statement) else {
        return false;
    };
    if reached.load(Relaxed) {
        return false;
    }
    // A panic while another one ends functions would end the program.
    if std::thread::panicking() || BUSY.try_with(Cell::get).unwrap_or(true) {
        return false;
    }
    if reached.swap(true, Relaxed) {
        return false;
    }
    print(&format!("stop {statement}\n"));
    true
}

/// Evaluates a probe; a panic is printed as such.
pub fn probe(id: u32, evaluate: impl Fn()) {
    BUSY.with(|it| it.set(true));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    if catch_unwind(AssertUnwindSafe(evaluate)).is_err() {
        print(&format!("trap {id}\n"));
    }
    std::panic::set_hook(hook);
    BUSY.with(|it| it.set(false));
}

/// A text that takes no more than [`MOST`] characters.
struct Short(String);

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> Result {
        for letter in text.chars() {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                '\r' => self.0.push_str("\\r"),
                '\t' => self.0.push_str("\\t"),
                other => self.0.push(other),
            }
        }
        if self.0.len() > MOST { Err(Error) } else { Ok(()) }
    }
}

/// The value of a probe.
pub struct Shown<'a, T: ?Sized>(pub &'a T);

/// Values with `Debug`.
pub trait Readable {
    /// Prints type and value.
    fn show_probe(&self, id: u32);
}

impl<T: Debug + ?Sized> Readable for &Shown<'_, T> {
    fn show_probe(&self, id: u32) {
        let text = AssertUnwindSafe(|| {
            let mut text = Short(String::new());
            if write!(text, "{:?}", self.0).is_err() {
                text.0.push('…');
            }
            text.0
        });
        match catch_unwind(text) {
            Ok(text) => print(&format!("value {id}\t{}\t{text}\n", type_name::<T>())),
            // Not the expression panics, but its `Debug`.
            Err(_) => Opaque::show_probe(*self, id),
        }
    }
}

/// Other values.
pub trait Opaque {
    /// Prints the type.
    fn show_probe(&self, id: u32);
}

impl<T: ?Sized> Opaque for Shown<'_, T> {
    fn show_probe(&self, id: u32) {
        print(&format!("opaque {id}\t{}\n", type_name::<T>()));
    }
}
