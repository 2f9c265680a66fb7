//! A program under the debugger, from the beginning of its function `walk` on.

use crate::oracle::{Command, describe};
use dwarf::{FileAddr, Module};
use engine::{
    BreakpointOptions, Debugger, Event, Granularity, InstructionBreakpoint, Launch, LoadAddr,
    ResumeScope, StdioTarget, StepFilters, StepKind, ThreadId, Wait,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The stopped program.
pub struct Walk {
    debugger: Debugger,
    thread: ThreadId,
    module: Arc<Module>,
}

/// One instruction that the program passed.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Where.
    pub pc: FileAddr,
    /// How many calls are under way that `walk` has made.
    pub depth: usize,
}

/// What an instruction does to the stack of calls.
#[derive(PartialEq, Eq)]
enum Kind {
    Call(Option<FileAddr>),
    Return,
    Other,
}

impl Walk {
    /// Runs a program to the body of its function `walk`; `None`: clang has marked a place as its
    /// body that this run does not pass.
    pub fn begin(program: &Path) -> Option<Self> {
        let module = Module::open(program).expect("an image");
        let functions = module.functions_named("walk");
        let function = functions.first().expect("the function `walk`");
        let body = module.body_start(function);
        let mut debugger = Debugger::new().expect("a debugger");
        debugger.set_step_filters(StepFilters::default());
        debugger.set_instruction_breakpoints(&[InstructionBreakpoint {
            address: LoadAddr(body.0),
            options: BreakpointOptions::default(),
        }]);
        let launch = Launch {
            program: program.to_path_buf(),
            args: Vec::new(),
            cwd: program.parent().expect("a folder").to_path_buf(),
            env: Vec::new(),
            stdio: [StdioTarget::Null, StdioTarget::Null, StdioTarget::Null],
            disable_aslr: true,
            record: false,
            chaos: None,
        };
        debugger.launch(&launch).expect("the program starts");
        debugger
            .release(engine::FirstStop::None)
            .expect("the program runs");
        let mut walk = Self {
            debugger,
            thread: ThreadId(0),
            module,
        };
        let is_reached = walk.is_stopped();
        walk.debugger.set_instruction_breakpoints(&[]);
        is_reached.then_some(walk)
    }

    /// Waits for a stop; false: the program has ended.
    fn is_stopped(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.debugger.wait(Some(deadline), None).expect("waiting") {
                Wait::Event(Event::Stopped(stop)) => {
                    self.thread = stop.thread;
                    return true;
                }
                Wait::Event(Event::Exited(_)) => return false,
                Wait::Deadline => panic!("no stop"),
                _ => {}
            }
        }
    }

    fn pc(&mut self) -> FileAddr {
        let stack = self.debugger.stack(self.thread, 0, Some(1));
        FileAddr(stack.expect("a stack").frames[0].pc.0)
    }

    fn kind_at(&self, pc: FileAddr) -> Kind {
        // The last instruction of a section has less behind it.
        let mut code = [0; 16];
        let mut lengths = (1..=code.len()).rev();
        let is_read = |length: usize| self.module.read_image(pc, &mut code[..length]).is_some();
        match lengths.any(is_read) {
            true => kind_of(&code, pc),
            false => Kind::Other,
        }
    }

    /// Steps by instructions until `walk` returns, or so many have been made.
    pub fn instructions(&mut self, most: usize) -> Vec<Passed> {
        let mut all = Vec::new();
        let mut depth = 0_usize;
        while all.len() < most {
            let pc = self.pc();
            all.push(Passed { pc, depth });
            let kind = self.kind_at(pc);
            let is_known = |target: &FileAddr| self.module.function_at(*target).is_some();
            let how = match &kind {
                Kind::Call(Some(target)) if !is_known(target) => StepKind::Over,
                Kind::Call(_) => {
                    depth += 1;
                    StepKind::Into
                }
                Kind::Return => match depth.checked_sub(1) {
                    Some(less) => {
                        depth = less;
                        StepKind::Into
                    }
                    None => break,
                },
                Kind::Other => StepKind::Into,
            };
            let step =
                self.debugger
                    .step(self.thread, how, Granularity::Instruction, ResumeScope::All);
            step.expect("a step by an instruction");
            if !self.is_stopped() {
                break;
            }
        }
        all
    }

    /// Steps by lines; returns the end of the step in the format of
    /// [`crate::oracle::Oracle::text`].
    pub fn step(&mut self, command: Command) -> Option<String> {
        let kind = match command {
            Command::Next => StepKind::Over,
            Command::StepIn => StepKind::Into,
            Command::StepOut => StepKind::Out,
        };
        let step = self
            .debugger
            .step(self.thread, kind, Granularity::Line, ResumeScope::All);
        step.expect("a step by a line");
        if !self.is_stopped() {
            return None;
        }
        let stack = self.debugger.stack(self.thread, 0, Some(1));
        let frame = stack.expect("a stack").frames.remove(0);
        let line = frame.location.map(|it| it.line);
        Some(describe(FileAddr(frame.pc.0), &frame.name, line))
    }
}

/// What an instruction does, by its bytes.
#[cfg(target_arch = "x86_64")]
fn kind_of(code: &[u8; 16], pc: FileAddr) -> Kind {
    let is_prefix = |byte: &&u8| matches!(**byte, 0x3e | 0xf2 | 0xf3 | 0x40..=0x4f | 0x66);
    let prefixes = code.iter().take_while(is_prefix).count();
    let distance = |at: usize| {
        let bytes: [u8; 4] = code[at..at + 4].try_into().expect("four bytes");
        i64::from(i32::from_le_bytes(bytes))
    };
    match (code[prefixes], code[prefixes + 1]) {
        (0xe8, _) => {
            let next = pc.0 + prefixes as u64 + 5;
            Kind::Call(Some(FileAddr(
                next.wrapping_add_signed(distance(prefixes + 1)),
            )))
        }
        (0xff, more) if (more >> 3) & 7 == 2 => Kind::Call(None),
        (0xc3 | 0xc2, _) => Kind::Return,
        _ => Kind::Other,
    }
}

/// What an instruction does, by its word.
#[cfg(target_arch = "aarch64")]
fn kind_of(code: &[u8; 16], pc: FileAddr) -> Kind {
    let word = u32::from_le_bytes([code[0], code[1], code[2], code[3]]);
    if word & 0xfc00_0000 == 0x9400_0000 {
        // The distance in words is signed, of 26 bits.
        let distance = i64::from((word << 6).cast_signed() >> 4);
        return Kind::Call(Some(FileAddr(pc.0.wrapping_add_signed(distance))));
    }
    match word & !0x3e0 {
        0xd63f_0000 => Kind::Call(None),
        0xd65f_0000 => Kind::Return,
        _ => Kind::Other,
    }
}
