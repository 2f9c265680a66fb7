//! Targets of a function's jumps by tables. No target may be missed: a table is read until a word
//! does not lead into the function, which is at its end or after it.

use super::function_code::CodeRange;
use dwarf::{LoadAddr, Memory};
use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
};
use std::collections::BTreeSet;

/// Maximum number of table entries to read.
const MAX_ENTRIES: u64 = 1 << 16;
/// Maximum number of instructions that compute one jump.
const STEPS: usize = 8;

/// The kind of table of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// 32-bit distances from the beginning of the table.
    Distances,
    /// Addresses, starting at this address.
    Addresses(LoadAddr),
}

/// Returns the possible targets of a function's indirect jumps, `None` if they cannot be
/// determined. `instructions` are those of each range, `branched_to` the targets of its other
/// branches.
pub fn targets(
    runs: &[CodeRange],
    instructions: &[Vec<Instruction>],
    branched_to: &BTreeSet<LoadAddr>,
    memory: &dyn Memory,
) -> Option<BTreeSet<LoadAddr>> {
    let mut targets = BTreeSet::new();
    let mut by_distances = false;
    for run in instructions {
        for (index, jump) in run.iter().enumerate() {
            if jump.flow_control() != FlowControl::IndirectBranch
                // A tail call through the global offset table.
                || jump.is_ip_rel_memory_operand()
            {
                continue;
            }
            match form(&run[..=index], branched_to)? {
                Form::Distances => by_distances = true,
                Form::Addresses(table) => {
                    let word = |place| memory.read_uint(place, 8).ok().map(LoadAddr);
                    targets.extend(read(runs, table, 8, word)?);
                }
            }
        }
    }
    if !by_distances {
        return Some(targets);
    }
    // The table of each jump need not be known: the addresses of all tables are in the function.
    let mut tables = BTreeSet::new();
    for instruction in instructions.iter().flatten() {
        if instruction.code() == Code::Lea_r64_m && instruction.is_ip_rel_memory_operand() {
            let addr = LoadAddr(instruction.ip_rel_memory_address());
            // The distances may be relative to a label if the program has the address of one.
            if is_in(runs, addr) {
                return None;
            }
            tables.insert(addr);
        }
    }
    let read_all = tables.into_iter().filter_map(|table| {
        let distance = |place| {
            let word = memory.read_uint(place, 4).ok()?;
            Some(table + i64::from(word as u32 as i32) as u64)
        };
        read(runs, table, 4, distance)
    });
    let by_distances: BTreeSet<LoadAddr> = read_all.flatten().collect();
    targets.extend(&by_distances);
    (!by_distances.is_empty()).then_some(targets)
}

/// Returns the entries of a table; `None` if there are none.
fn read(
    runs: &[CodeRange],
    table: LoadAddr,
    size: u64,
    entry: impl Fn(LoadAddr) -> Option<LoadAddr>,
) -> Option<Vec<LoadAddr>> {
    let places = (0..MAX_ENTRIES).map(|index| table + index * size);
    let entries: Vec<LoadAddr> = places
        .map_while(|place| entry(place).filter(|target| is_in(runs, *target)))
        .collect();
    let ends = entries.len() < MAX_ENTRIES as usize;
    (ends && !entries.is_empty()).then_some(entries)
}

/// Returns whether an address is in the function or just after it: an unreachable target may be
/// there.
fn is_in(runs: &[CodeRange], addr: LoadAddr) -> bool {
    runs.iter()
        .any(|run| addr - run.start <= run.bytes.len() as u64)
}

/// Returns the table of a jump, the last one of these instructions.
fn form(instructions: &[Instruction], branched_to: &BTreeSet<LoadAddr>) -> Option<Form> {
    let jump = instructions.last()?;
    match jump.op0_kind() {
        OpKind::Memory => addresses(jump),
        OpKind::Register => by_register(instructions, jump.op0_register(), branched_to),
        _ => None,
    }
}

/// Recognises `table(,%index,8)`, a 32-bit address.
fn addresses(instruction: &Instruction) -> Option<Form> {
    let is_table = instruction.memory_base() == Register::None
        && instruction.memory_index() != Register::None
        && instruction.memory_index_scale() == 8
        && instruction.segment_prefix() == Register::None;
    let table = LoadAddr(instruction.memory_displacement64());
    is_table.then_some(Form::Addresses(table))
}

/// Recognises a register's value at the last of these instructions as the sum of a table's address
/// and a word of the table.
fn by_register(
    instructions: &[Instruction],
    register: Register,
    branched_to: &BTreeSet<LoadAddr>,
) -> Option<Form> {
    let mut factory = InstructionInfoFactory::new();
    // Registers whose values are still to be found.
    let mut wanted = vec![register];
    for pair in instructions.windows(2).rev().take(STEPS) {
        let [instruction, next] = pair else {
            return None;
        };
        // Control may enter here with another value.
        if instruction.flow_control() != FlowControl::Next
            || branched_to.contains(&LoadAddr(next.ip()))
        {
            return None;
        }
        let used = factory.info(instruction).used_registers();
        let written = used.iter().find_map(|used| {
            let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            let full = used.register().full_register();
            wanted.iter().copied().find(|it| writes && *it == full)
        });
        let Some(written) = written else {
            continue;
        };
        let is_sum = matches!(instruction.code(), Code::Add_r64_rm64 | Code::Add_rm64_r64)
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == written
            && wanted.len() == 1;
        match instruction.code() {
            _ if is_sum => wanted.push(instruction.op1_register()),
            Code::Mov_r64_rm64 if wanted == [register] => return addresses(instruction),
            Code::Lea_r64_m if wanted.len() == 2 && instruction.is_ip_rel_memory_operand() => {
                wanted.retain(|it| *it != written);
                wanted.push(Register::None);
            }
            Code::Cdqe if wanted.len() == 2 => return Some(Form::Distances),
            Code::Movsxd_r64_rm32 if wanted.len() == 2 => return Some(Form::Distances),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::function_code::FunctionCode;
    use super::*;
    use dwarf::Unreadable;

    const START: u64 = 0x1000;
    const TABLE: u64 = 0x2000;

    /// The bytes of a table.
    struct Words(Vec<u8>);

    impl Words {
        fn distances(offsets: &[u64]) -> Self {
            let distance = |offset: &u64| (START + offset).wrapping_sub(TABLE) as u32;
            Self(
                offsets
                    .iter()
                    .flat_map(|it| distance(it).to_le_bytes())
                    .collect(),
            )
        }

        fn addresses(offsets: &[u64]) -> Self {
            let all = offsets.iter().flat_map(|it| (START + it).to_le_bytes());
            Self(all.collect())
        }
    }

    impl Memory for Words {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            let from = (addr - LoadAddr(TABLE)) as usize;
            let bytes = self.0.get(from..).and_then(|it| it.get(..len));
            buffer.copy_from_slice(bytes.ok_or(Unreadable { addr, len })?);
            Ok(())
        }
    }

    /// Appends `lea addr(%rip)` to the register in a ModR/M byte.
    fn lea(code: &mut Vec<u8>, register: u8, addr: u64) {
        code.extend([0x48, 0x8d, register]);
        let next = START + code.len() as u64 + 4;
        code.extend((addr.wrapping_sub(next) as u32).to_le_bytes());
    }

    /// nop; nop; mov %rsp,%rbp; ret
    const ARMS: [u8; 6] = [0x90, 0x90, 0x48, 0x89, 0xe5, 0xc3];

    /// Returns how many bytes of a jump after `dispatch` may be changed, if two arms begin at these
    /// bytes.
    fn free_at_arms(dispatch: &[u8], memory: &dyn Memory) -> usize {
        let bytes = [dispatch, &ARMS].concat();
        let run = CodeRange {
            start: LoadAddr(START),
            bytes,
            behind: vec![0x90; 15],
            padding: 0,
        };
        let code = FunctionCode::new(vec![run], BTreeSet::new(), memory);
        let site = LoadAddr(START + dispatch.len() as u64);
        5 - super::super::window::at(site, &code, &[])
            .expect("a window")
            .overlapped_bytes
            .len()
    }

    /// Returns the code of clang, rustc and optimizing gcc.
    fn llvm(addr: u64) -> Vec<u8> {
        let mut code = Vec::new();
        // lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax
        lea(&mut code, 0x0d, addr);
        code.extend([0x48, 0x63, 0x04, 0x81, 0x48, 0x01, 0xc8, 0xff, 0xe0]);
        code
    }

    #[test]
    fn table_targets_stay_other_bytes_may_change() {
        let code = llvm(TABLE);
        let arms = code.len() as u64;
        let free = |offsets: &[u64]| free_at_arms(&code, &Words::distances(offsets));
        assert_eq!(free(&[arms, 0]), 5);
        assert_eq!(free(&[arms, arms + 1]), 1);
        assert_eq!(free(&[arms + 2, arms, 0]), 2);
        // An unreachable target may be after the end; the next table belongs to another function.
        assert_eq!(free(&[arms + 6, arms + 2]), 2);
        assert_eq!(free(&[arms, 0x5_0000, arms + 1]), 5);
        // There is no table.
        assert_eq!(free(&[0x5_0000]), 1);
        assert_eq!(free(&[]), 1);
    }

    #[test]
    fn tables_of_unoptimized_code_are_found() {
        let mut code = vec![0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0];
        lea(&mut code, 0x05, TABLE);
        // mov (%rdx,%rax),%eax; cltq; lea table(%rip),%rdx; add %rdx,%rax; notrack jmp *%rax
        code.extend([0x8b, 0x04, 0x02, 0x48, 0x98]);
        lea(&mut code, 0x15, TABLE);
        code.extend([0x48, 0x01, 0xd0, 0x3e, 0xff, 0xe0]);
        let arms = code.len() as u64;
        let free = |offsets: &[u64]| free_at_arms(&code, &Words::distances(offsets));
        assert_eq!(free(&[arms]), 5);
        assert_eq!(free(&[arms, arms + 2]), 2);
    }

    #[test]
    fn tables_of_addresses_are_read_too() {
        // jmp *table(,%rax,8)
        let direct = [0xff, 0x24, 0xc5, 0, 0x20, 0, 0].to_vec();
        // mov table(,%rax,8),%rax; jmp *%rax
        let loaded = [0x48, 0x8b, 0x04, 0xc5, 0, 0x20, 0, 0, 0xff, 0xe0].to_vec();
        for code in [direct, loaded] {
            let arms = code.len() as u64;
            let free = |offsets: &[u64]| free_at_arms(&code, &Words::addresses(offsets));
            assert_eq!(free(&[arms]), 5);
            assert_eq!(free(&[arms, arms + 2]), 2);
            assert_eq!(free(&[0x5_0000]), 1);
        }
    }

    #[test]
    fn jumps_of_other_kinds_may_lead_anywhere() {
        let table = |code: &[u8]| Words::distances(&[code.len() as u64]);
        let none = |code: &[u8]| assert_eq!(free_at_arms(code, &table(code)), 1, "{code:x?}");
        // jmp *%rax; jmp *8(%rax); mov (%rdx,%rax,8),%rax; jmp *%rax
        none(&[0xff, 0xe0]);
        none(&[0xff, 0x60, 0x08]);
        none(&[0x48, 0x8b, 0x04, 0xc2, 0xff, 0xe0]);
        // The sum uses another register.
        let mut other = llvm(TABLE);
        other.splice(7..11, [0x48, 0x89, 0xd0]);
        none(&other);
        // A branch into the middle of it: jmp to the sum.
        let mut entered = llvm(TABLE);
        entered.extend([0xeb, (-7_i8) as u8]);
        none(&entered);
        // Distances from a label.
        let mut label = Vec::new();
        lea(&mut label, 0x15, START + 3);
        lea(&mut label, 0x0d, TABLE);
        label.extend(&llvm(TABLE)[7..]);
        none(&label);
    }
}
