use super::image::{CODE, module};
use super::{Repeating, parts, registers};
use dwarf::{FileAddr, FrameAddress, LoadAddr, LoadBias, Machine, Module, ModuleMap, Unwinder};
use std::path::Path;

/// Where the sections are; `seeds.sh` links them there, for their pointers are relative.
const EH_FRAME: u64 = 0x4000;
const EH_FRAME_HDR: u64 = 0x3000;

struct One<'a>(&'a Module);

impl ModuleMap for One<'_> {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        let inside = self.0.load_range().contains(LoadBias(0).file(addr));
        inside.then_some((self.0, LoadBias(0)))
    }
}

/// Call frame information, and stacks of garbage: `.eh_frame`, `.eh_frame_hdr`,
/// `.debug_frame`, code, memory, registers.
/// Or a whole file of Mach-O, with compact unwind info, on stacks of its own addresses.
pub fn cfi(data: &[u8]) {
    if data.starts_with(&0xfeed_facf_u32.to_le_bytes()) {
        if let Ok(module) = Module::from_bytes(Path::new("/image"), data.to_vec()) {
            ask(&module, b"\x40\x10\0\0\0\0\0\0", &[]);
        }
        return;
    }
    let [eh_frame, eh_frame_hdr, debug_frame, text, memory, values] = parts(data);
    let mut sections = vec![
        (".text", CODE.start.0, text),
        (".debug_frame", 0, debug_frame),
    ];
    if !eh_frame.is_empty() {
        sections.push((".eh_frame", EH_FRAME, eh_frame));
    }
    if !eh_frame_hdr.is_empty() {
        sections.push((".eh_frame_hdr", EH_FRAME_HDR, eh_frame_hdr));
    }
    ask(&module(&sections), memory, values);
}

/// Unwinds from a few places.
pub(super) fn ask(module: &Module, memory: &[u8], values: &[u8]) {
    let memory = Repeating(memory);
    let mut unwinder = Unwinder::new();
    let mut starts: Vec<u64> = (CODE.start.0..CODE.start.0 + 0x200).step_by(0x11).collect();
    // Images of macOS are elsewhere.
    let code = module.instruction_starts(module.load_range());
    starts.extend(code.iter().step_by(1 + code.len() / 32).map(|addr| addr.0));
    for start in &starts {
        let _ = module.landing_pads(FileAddr(*start));
    }
    for machine in [module.machine(), Machine::Aarch64] {
        for start in starts.iter().copied() {
            let mut address = FrameAddress::Pc(LoadAddr(start));
            let mut registers = registers(machine, values);
            // A stack that garbage makes may be as long as the debugger asks.
            for _ in 0..16 {
                let unwound = unwinder.unwind(&One(module), &memory, address, &registers);
                let Ok(Some(caller)) = unwound.map(|unwound| unwound.caller) else {
                    break;
                };
                (address, registers) = caller;
            }
        }
    }
}
