//! Mach-O images of which only the copy in memory is left, compared with their files: symbols and unwind
//! rules.

mod darwin;
#[path = "darwin/frames.rs"]
mod frames;

use darwin::{MACHINES, has_tools, program};
use dwarf::{Error, LoadAddr, Machine, Memory, Module, Unreadable};
use frames::unwound;
use std::path::{Path, PathBuf};

const SOURCE: &str = r#"
int shared = 3;
static __attribute__((noinline)) int leaf(int *p) { p[0] += shared; return p[1]; }
__attribute__((noinline)) int many(int a, int b, int c, int d) {
    volatile int room[40];
    int e = a * b, f = c * d, g = a ^ d, h = b ^ c;
    for (int i = 0; i < 40; i++) room[i] = e + f * i + g;
    return leaf((int *)room) + e * f + g * h + room[a & 31];
}
int main(int argc, char **argv) { return many(argc, 2, 3, argc) + (argv != 0); }
"#;

/// Distance between the addresses of the file and those in memory.
const SLIDE: u64 = 0x7_0000_4000;

/// An image as a loader maps it.
struct Mapped(Vec<(u64, Vec<u8>)>);

impl Mapped {
    fn of(path: &Path) -> Mapped {
        let module = Module::open(path).unwrap();
        let file = std::fs::read(path).unwrap();
        let segments = module.segments().iter().map(|segment| {
            let start = segment.file_offset as usize;
            let mut bytes = file[start..start + segment.file_size as usize].to_vec();
            bytes.resize((segment.range.end.0 - segment.range.start.0) as usize, 0);
            (segment.range.start.0 + SLIDE, bytes)
        });
        Mapped(segments.collect())
    }

    fn start(&self) -> LoadAddr {
        LoadAddr(self.0[0].0)
    }

    fn module(&self) -> Result<std::sync::Arc<Module>, Error> {
        Module::from_memory(Path::new("/usr/lib/gone.dylib"), self.start(), self)
    }
}

impl Memory for Mapped {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        let part = self.0.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(addr.0.checked_sub(*start)?).ok()?;
            bytes.get(at..at.checked_add(len)?)
        });
        buffer.copy_from_slice(part.ok_or(Unreadable { addr, len })?);
        Ok(())
    }
}

fn images(folder: &Path) -> Vec<PathBuf> {
    let sources = [("main.c", SOURCE)];
    let flags = ["-fomit-frame-pointer", "-fno-omit-frame-pointer"];
    let built = flags.map(|flag| {
        let folder = folder.join(flag);
        MACHINES.map(|machine| program(&folder, machine, &sources, &["-O1", flag], &[]).path)
    });
    let named = std::env::var_os("MACHO_PROGRAMS").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|path| path.exists());
    built.into_iter().flatten().chain(named).collect()
}

#[test]
fn symbols_and_rules_are_those_of_the_file() {
    if !has_tools(&["ld64.lld"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        let file = Module::open(&path).unwrap();
        let memory = Mapped::of(&path).module().unwrap();
        assert_eq!(memory.build_id(), file.build_id());
        assert_eq!(memory.machine(), file.machine());
        let ranges = |module: &Module| {
            let segments = module.segments().iter();
            segments
                .map(|it| (it.range, it.executable))
                .collect::<Vec<_>>()
        };
        assert_eq!(ranges(&memory), ranges(&file), "{}", path.display());
        let functions = file.functions_by_symbol();
        assert_eq!(memory.functions_by_symbol(), functions);
        assert!(functions.len() >= 3, "{functions:?}");
        assert_eq!(memory.exported("shared"), file.exported("shared"));
        let (mut same, mut needs_code) = (0, 0);
        for function in functions {
            let inside = function.addr.0 + function.size / 2;
            match (unwound(&memory, inside), unwound(&file, inside)) {
                // Large frames of x86-64: the size is in an instruction.
                (None, Some(_)) if file.machine() == Machine::X86_64 => needs_code += 1,
                (of_memory, of_file) => {
                    assert_eq!(
                        of_memory,
                        of_file,
                        "{} of {}",
                        function.name,
                        path.display()
                    );
                    same += usize::from(of_file.is_some());
                }
            }
        }
        assert!(
            same > needs_code,
            "{}: {same}, {needs_code}",
            path.display()
        );
    }
}

#[test]
fn corrupt_headers_end_in_an_answer() {
    if !has_tools(&["ld64.lld"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sources = [("main.c", SOURCE)];
    for machine in MACHINES {
        let path = program(folder.path(), machine, &sources, &["-O1"], &[]).path;
        let good = Mapped::of(&path);
        let headers = 32 + u32::from_le_bytes(good.0[0].1[20..24].try_into().unwrap()) as usize;
        for at in (0..headers).step_by(4) {
            for value in [0_u32, 1, 0x7fff_ffff, u32::MAX] {
                let mut corrupt = Mapped(good.0.clone());
                corrupt.0[0].1[at..at + 4].copy_from_slice(&value.to_le_bytes());
                if let Ok(module) = corrupt.module() {
                    let _ = (module.functions_by_symbol().len(), module.segments().len());
                }
            }
        }
        // Nothing but the header is there.
        let (start, mut bytes) = good.0[0].clone();
        bytes.truncate(headers);
        let alone = Mapped(vec![(start, bytes)]);
        assert!(alone.module().unwrap().functions_by_symbol().is_empty());
    }
}
