//! A compiled program that stops itself after it has set its statics; /proc stands in for the
//! debugger.

use super::built::built;
use crate::expr::{EvalContext, Expression, Purpose};
use crate::ids::error::Error;
use crate::inspect::value::scalar::NumberFormat;
use crate::inspect::value::{
    Child, ChildBatch, ChildFilter, ChildPath, Limits, Numbers, RegisterPlace, Target, Ty, Value,
    members, next_children, present,
};
use dwarf::{
    FileAddr, FrameContext, Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, Registers,
    TypeId, Unreadable,
};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child as Process, Command, Stdio};
use std::sync::Arc;

pub struct Program {
    process: Process,
    memory: ProcessMemory,
    module: Arc<Module>,
    bias: LoadBias,
    language: Language,
    /// A pointer to a struct whose members are used like variables.
    locals: Option<Value>,
    pub register: std::cell::Cell<u64>,
    /// Whether it was built with `--cfg lazy`.
    pub lazy: bool,
}

struct ProcessMemory(File, std::cell::Cell<u64>);

impl Memory for ProcessMemory {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        self.1.set(self.1.get() + 1);
        self.0
            .read_exact_at(buffer, addr.0)
            .map_err(|_| Unreadable {
                addr,
                len: buffer.len(),
            })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl ModuleMap for Program {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        let file = self.bias.file(addr);
        (self.module.load_range().contains(file)).then_some((&*self.module, self.bias))
    }
}

impl Target for Program {
    fn memory(&self) -> &dyn Memory {
        &self.memory
    }
    fn modules(&self) -> &dyn ModuleMap {
        self
    }
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        ModuleMap::module_at(self, addr).map(|_| (self.module.clone(), self.bias))
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        vec![(self.module.clone(), self.bias)]
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        let written = self.memory.0.write_all_at(bytes, addr.0);
        written.map_err(|_| Error::Unwritable {
            addr,
            len: bytes.len(),
        })
    }
    fn write_register(&mut self, _: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        let bits = crate::inspect::value::scalar::bits_of(bytes);
        self.register.set(bits as u64);
        Ok(())
    }
}

impl EvalContext for Program {
    fn language(&self) -> Language {
        self.language
    }
    fn local(&self, name: &str) -> Result<Option<Value>, Error> {
        match &self.locals {
            Some(locals) => members::find(self, locals, name),
            None => Ok(None),
        }
    }
    fn global(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some(variable) = self.module.statics_named(name, None).into_iter().next() else {
            let function = self.module.functions_named(name).into_iter().next();
            return Ok(function.map(|function| {
                let entry = self.bias.load(function.entry);
                Value::from_function(&self.module, self.bias, &function.name, entry)
            }));
        };
        let registers = Registers::new(self.module.machine());
        let context = FrameContext {
            memory: &self.memory,
            registers: &registers,
            cfa: None,
            pc: FileAddr(0),
            bias: self.bias,
            function: None,
            tls: &|_| None,
            caller: &|_| None,
            is_spilled: &|_| false,
        };
        let location = self.module.locate(&variable, &context)?;
        Ok(Some(Value::from_location(
            Ty::of(&self.module, self.bias, variable.ty),
            location,
            &registers,
            crate::FrameKey {
                thread: crate::ThreadId(1),
                level: 0,
            },
        )))
    }
    fn register(&self, name: &str) -> Option<Value> {
        let place = RegisterPlace {
            thread: crate::ThreadId(1),
            level: 0,
            register: dwarf::Register(0),
        };
        (name == "rax").then(|| Value::from_register(place, name, self.register.get()))
    }
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        let id = self.module.types_named(name, None).into_iter().next()?;
        Some((self.module.clone(), self.bias, id))
    }
    fn as_target(&self) -> &dyn Target {
        self
    }
}

impl Program {
    /// Compiles and starts a fixture; `None` if the compiler is not installed.
    pub fn start(compiler: &[&str], fixture: &str, language: Language) -> Option<Program> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/inspect/value/tests")
            .join(fixture);
        let path = built(compiler, &source)?;
        let mut process = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        let pid = process.id();
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .unwrap();
        let module = Module::open(&path).unwrap();
        let start = first_mapping(pid, &path);
        let first = module.load_range().start;
        let mut program = Program {
            process,
            memory: ProcessMemory(memory, std::cell::Cell::new(0)),
            bias: LoadBias(start.wrapping_sub(first.0 & !4095)),
            module,
            language,
            locals: None,
            register: std::cell::Cell::new(0x1_0000_0002),
            lazy: compiler.contains(&"lazy"),
        };
        program.locals = program
            .variable("POINTER")
            .unwrap()
            .filter(|_| language == Language::Rust)
            .map(|pointer| match pointer.ty.shape() {
                crate::inspect::value::Shape::Pointer(of, _) => {
                    pointer.pointee(&program, of).unwrap()
                }
                _ => pointer,
            });
        Some(program)
    }

    /// Returns a Rust fixture built by a release (`+1.70`; empty: the default `rustc`). `None` if
    /// that release is not installed, or is the default.
    pub fn rust(release: &str, level: &str, fixture: &str) -> Option<Program> {
        let version = |release: &str| {
            let mut rustc = Command::new("rustc");
            rustc.args((!release.is_empty()).then_some(release));
            // rustup would download a missing release.
            let output = rustc.arg("-V").env("RUSTUP_AUTO_INSTALL", "0").output();
            let output = output.ok().filter(|output| output.status.success())?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let Some(this) = version(release) else {
            skips::skip(&format!("rustc {release}"));
            return None;
        };
        if !release.is_empty() && version("").as_ref() == Some(&this) {
            println!("{release} is the usual rustc");
            return None;
        }
        let minor = this.split('.').nth(1).and_then(|it| it.parse::<u32>().ok());
        let level = format!("opt-level={level}");
        let mut compiler = vec!["rustc"];
        compiler.extend((!release.is_empty()).then_some(release));
        compiler.extend(["-g", "-C", &level, "--edition", "2021", "-A", "warnings"]);
        if minor.is_some_and(|minor| minor >= 80) {
            compiler.extend(["--cfg", "lazy"]);
        }
        Program::start(&compiler, fixture, Language::Rust)
    }

    /// Returns the names of the program's variables.
    pub fn names(&self) -> Vec<String> {
        if let Some(locals) = &self.locals {
            return members::names(self, locals);
        }
        let main = self.module.functions_named("main");
        let unit = main
            .first()
            .map(|main| self.module.unit_statics(main.entry));
        let variables = unit.unwrap_or_default().into_iter();
        variables
            .map(|it| it.name)
            .filter(|it| !it.is_empty())
            .collect()
    }

    /// Lets the program continue to its end, and returns what it prints.
    pub fn finish(&mut self) -> String {
        drop(self.process.stdin.take());
        let mut seen = String::new();
        if let Some(mut output) = self.process.stdout.take() {
            output.read_to_string(&mut seen).unwrap();
        }
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {seen}");
        seen
    }

    pub fn reads(&self) -> u64 {
        self.memory.1.get()
    }

    pub fn try_eval(&mut self, text: &str) -> Result<Value, Error> {
        Expression::parse(text, self.language)?.evaluate(self, Purpose::Change)
    }

    pub fn eval(&mut self, text: &str) -> Value {
        match self.try_eval(text) {
            Ok(value) => value,
            Err(error) => panic!("{text}: {error}"),
        }
    }

    pub fn show(&mut self, text: &str) -> String {
        match self.try_eval(text) {
            Ok(value) => present(self, &value, &Limits::default()).text,
            Err(error) => format!("error: {error}"),
        }
    }

    pub fn type_of(&mut self, text: &str) -> String {
        let value = self.eval(text);
        present(self, &value, &Limits::default())
            .type_name
            .to_string()
    }

    pub fn children(&mut self, text: &str) -> Vec<Child> {
        let value = self.eval(text);
        let shown = present(self, &value, &Limits::default());
        let children = children_of(self, &value, ChildFilter::All, 0..u64::MAX).unwrap();
        assert_eq!(
            shown.named + shown.indexed,
            children.len() as u64,
            "counts of {text}"
        );
        children
    }

    /// Returns `name = text` for each child but the raw view, and asserts that the child's path has
    /// the same text: of each of the first children, and of one in fifty behind them.
    pub fn opened(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let children = self.children(text).into_iter();
        let children = children.filter(|child| child.name != "[raw]");
        for (nth, child) in children.enumerate() {
            let shown = match &child.value {
                Ok(value) => present(self, value, &Limits::default()).text,
                Err(error) => format!("error: {error}"),
            };
            let path = match child.path {
                Some(ChildPath::Suffix(suffix)) => Some(format!("({text}){suffix}")),
                Some(ChildPath::Name) => Some(format!("({text}){}", child.name)),
                Some(ChildPath::Prefix(prefix)) => Some(format!("{prefix}({text})")),
                Some(ChildPath::Around(before, behind)) => {
                    Some(format!("{before}({text}){behind}"))
                }
                Some(ChildPath::Same) | None => None,
            };
            if let Some(path) = path
                && child.value.is_ok()
                && (nth < 100 || nth % 50 == 0)
            {
                assert_eq!(self.show(&path), shown, "{path}");
            }
            lines.push(format!("{} = {shown}", child.name));
        }
        lines
    }

    /// Asserts the texts of expressions.
    pub fn check(&mut self, expected: &[(&str, &str)]) {
        let mut wrong = Vec::new();
        for (text, expected) in expected {
            let shown = self.show(text);
            let fits = match expected.strip_prefix("~") {
                Some(part) => shown.contains(part),
                None => shown == *expected,
            };
            if !fits {
                wrong.push(format!("{text}\n   is  {shown}\n   not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

fn first_mapping(pid: u32, path: &Path) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps
        .lines()
        .find(|line| line.ends_with(&*path.to_string_lossy()))
        .unwrap();
    u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
}

/// Defines a test per release of rustc with another layout of its types, without and with
/// optimization.
macro_rules! with_each_rustc {
    ($fixture:literal: $($part:ident)+) => {
        fn with(release: &str) {
            for level in ["0", "2"] {
                if let Some(mut program) = Program::rust(release, level, $fixture) {
                    eprintln!("at opt-level {level}:");
                    $($part(&mut program);)+
                }
            }
        }

        #[test]
        fn usual_rustc() {
            with("");
        }

        #[test]
        fn rustc_1_70() {
            with("+1.70");
        }

        #[test]
        fn rustc_1_80() {
            with("+1.80");
        }

        #[test]
        fn rustc_1_95() {
            with("+1.95.0");
        }

        #[test]
        fn rustc_nightly() {
            with("+nightly");
        }
    };
}

pub(super) use with_each_rustc;

/// Numbers written at once have the same text as each of them.
fn expect_same_text(target: &dyn Target, numbers: &Numbers) {
    for (index, child) in numbers.indices().zip(numbers.children()) {
        let value = child.value.expect("a number");
        for format in [NumberFormat::Natural, NumberFormat::Hex] {
            let limits = Limits {
                numbers: format,
                ..Limits::default()
            };
            let mut text = String::new();
            numbers.write(index, format, &mut text);
            let presented = present(target, &value, &limits);
            assert_eq!(text, presented.text);
            assert_eq!(numbers.type_name(), presented.type_name);
            assert_eq!(Some(numbers.address(index)), presented.memory);
            assert!(presented.writable && presented.error.is_none());
        }
    }
}

/// Returns all children of a range, portion by portion.
pub fn children_of(
    target: &dyn Target,
    value: &Value,
    which: ChildFilter,
    mut range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    let mut all = Vec::new();
    // A length in memory may be garbage.
    while !range.is_empty() && all.len() < 1 << 20 {
        let next = next_children(target, value, which, &mut range)?;
        if let ChildBatch::Numbers(numbers) = &next {
            expect_same_text(target, numbers);
        }
        all.extend(next.children());
    }
    Ok(all)
}
