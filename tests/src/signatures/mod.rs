//! The compilers as the oracle of calling conventions: a program of random functions, each of which
//! notes which of its arguments are what they should be, and returns a known value. The program calls
//! them itself, the debugger calls them in expressions, and steps out of them.

mod c;
mod rust;

use crate::{Compiler, DapClient, Fixture, Flags, target_directory};
use fastrand::Rng;
use serde_json::json;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// The functions of a program.
pub struct Signatures {
    /// The program.
    pub fixture: Fixture,
    functions: Vec<Function>,
    is_rust: bool,
}

/// A function of a program, as the debugger calls it.
struct Function {
    /// The call.
    call: String,
    /// The expected result; `None`: it has none.
    result: Option<String>,
    /// The bits of the arguments that it should have seen.
    seen: u64,
    /// Its name for breakpoints.
    name: String,
    /// Its prototype, for messages.
    prototype: String,
}

/// A language and its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

/// The debugger's answer to a call, where it is another one than the compiler's.
pub struct Difference {
    /// What was called, and how it was declared.
    pub call: String,
    /// What differs.
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.call, self.what)
    }
}

impl Signatures {
    /// Writes and compiles so many random functions: the same ones for the same seed, once. Returns
    /// `None`, and prints a note, if the compiler is not installed.
    ///
    /// # Panics
    /// They do not compile.
    pub fn random(seed: u64, count: usize, language: Language, flags: Flags) -> Option<Self> {
        let mut random = Rng::with_seed(seed);
        let (text, functions, ending) = match language {
            Language::Rust => {
                let (text, functions) = rust::program(&mut random, count);
                (text, functions, "rs")
            }
            Language::C | Language::Cpp => {
                let (text, functions) = c::program(&mut random, count, language, flags.compiler);
                let ending = if language == Language::C { "c" } else { "cpp" };
                (text, functions, ending)
            }
        };
        let folder = target_directory().join("signatures");
        fs::create_dir_all(&folder).expect("a folder for the programs");
        let mut hasher = DefaultHasher::new();
        (&text, flags, std::env::consts::ARCH).hash(&mut hasher);
        let stem = format!("{language:?}_{seed}_{:016x}", hasher.finish()).to_lowercase();
        let (source, program) = (folder.join(format!("{stem}.{ending}")), folder.join(stem));
        // The tests of calls and the tests of steps share a program, and run at the same time.
        static MADE: Mutex<()> = Mutex::new(());
        let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::read_to_string(&source).ok().as_deref() != Some(&*text) {
            fs::write(&source, text).expect("the source is written");
        }
        if !program.exists() && !Fixture::compile_to(&source, &program, flags) {
            return None;
        }
        drop(made);
        Some(Self {
            fixture: Fixture::compiled(&source, &program),
            functions,
            is_rust: language == Language::Rust,
        })
    }

    /// Returns the number of functions.
    pub fn count(&self) -> usize {
        self.functions.len()
    }

    /// Calls each function.
    pub fn differences_of_calls(&self) -> Vec<Difference> {
        let mut client = DapClient::stopped_at(&self.fixture, "stop");
        assert_eq!(
            client.evaluate("failed"),
            "0",
            "the program checks its calls"
        );
        let mut found = Vec::new();
        for function in &self.functions {
            let mut differs = |what: String| {
                let call = format!("{} of {}", function.call, function.prototype);
                found.push(Difference { call, what });
            };
            let reset = if self.is_rust { "SEEN = 0" } else { "seen = 0" };
            client.evaluate(reset);
            let returned = match client.try_evaluate(&function.call) {
                Ok(returned) => returned,
                Err(why) => {
                    differs(why);
                    continue;
                }
            };
            let seen = client.evaluate(if self.is_rust { "SEEN" } else { "seen" });
            if seen != function.seen.to_string() {
                let expected = function.seen;
                differs(format!("arguments seen are {seen}, expected {expected}"));
            }
            if let Some(result) = &function.result {
                let expected = client.evaluate(result);
                if returned != expected {
                    differs(format!("returned {returned}, expected {expected}"));
                }
            }
        }
        client.disconnect();
        found
    }

    /// Stops in each function as the program calls it, and steps out of it.
    pub fn differences_of_steps(&self) -> Vec<Difference> {
        let mut client = DapClient::spawn();
        client.launch(&self.fixture, json!({}));
        let names: Vec<&str> = self.functions.iter().map(|it| &*it.name).collect();
        client.set_function_breakpoints(&names);
        client.configure();
        let mut found = Vec::new();
        for (nth, function) in self.functions.iter().enumerate() {
            client.expect_stopped("function breakpoint");
            let mut differs = |what: String| {
                let call = format!("{} of {}", function.call, function.prototype);
                found.push(Difference { call, what });
            };
            client.step_out();
            let name = format!("f{nth}()");
            let shown = returned(&mut client, &name);
            if let Some(result) = &function.result {
                let expected = client.evaluate(result);
                match shown {
                    Some(returned) if returned == expected => {}
                    Some(returned) => {
                        differs(format!("stepped out with {returned}, expected {expected}"));
                    }
                    // There, no register tells where a result in memory is, and code may not keep it.
                    None if cfg!(target_arch = "aarch64") => {}
                    None => differs("stepped out without a result".to_owned()),
                }
            }
            client.continue_();
        }
        let exit = client.expect_exit();
        assert_eq!(exit, 0, "the program checks its calls");
        client.disconnect();
        found
    }
}

/// The compilers of a language.
pub fn compilers(language: Language) -> &'static [Compiler] {
    match language {
        Language::C | Language::Cpp => &[Compiler::Gcc, Compiler::Clang],
        Language::Rust => &[Compiler::Rustc],
    }
}

/// Returns the value of the scope of what a function has returned.
fn returned(client: &mut DapClient, name: &str) -> Option<String> {
    let frame = client.top_frame()["id"].clone();
    let scopes = client.request_ok("scopes", json!({"frameId": frame}));
    let scopes = scopes["scopes"].as_array()?;
    let scope = scopes.iter().find(|it| it["name"] == "Return value")?;
    let all = client.variables(scope["variablesReference"].as_i64()?);
    let found = all
        .iter()
        .find(|it| it["name"].as_str().is_some_and(|it| it.ends_with(name)))?;
    Some(found["value"].as_str()?.to_owned())
}

fn pick<T: Copy>(random: &mut Rng, of: &[T]) -> T {
    of[random.usize(..of.len())]
}
