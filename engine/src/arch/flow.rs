//! Control flow within a function, and the addresses of a line that it reaches first.

use super::{Arch, Flow, Instruction, TargetSource};
use dwarf::{FileAddr, LoadAddr};
use rustc_hash::{FxHashMap, FxHashSet};

/// One of several addresses in a function where a line begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The address.
    pub addr: FileAddr,
    /// End of the line's code that begins there.
    pub end: FileAddr,
}

/// Returns those of `candidates` (all in one function with the code `code`) that execution can
/// reach without passing another one first. A line that was split into several ranges then stops
/// once per execution. True alternatives (two arms of a branch) all remain.
///
/// Where a compiler assigns the jump out of a scope to the line of the scope's last statement, that
/// jump is not another execution of the line (see [`Graph::scope_exits`]).
///
/// Execution does not continue after a call for which `returns` is false.
pub fn first_reached(
    arch: Arch,
    code: &[(FileAddr, Vec<u8>)],
    entry: FileAddr,
    candidates: &[Candidate],
    returns: impl FnMut(Callee) -> bool,
) -> Vec<FileAddr> {
    let graph = Graph::new(arch, code, returns);
    let exits = graph.scope_exits((arch, code), entry, candidates);
    let mut kept: Vec<FileAddr> = candidates.iter().map(|it| it.addr).collect();
    kept.retain(|addr| !exits.contains(&addr.0));
    kept.sort_unstable();
    kept.dedup();
    for candidate in kept.clone().into_iter().rev() {
        if kept.len() == 1 {
            break;
        }
        let others: FxHashSet<u64> = kept
            .iter()
            .filter(|other| **other != candidate)
            .map(|other| other.0)
            .collect();
        if !graph.reaches(entry.0, candidate.0, &others) {
            kept.retain(|other| *other != candidate);
        }
    }
    kept
}

/// Returns those of `marks` that execution reaches without passing one of `entered`, nor another mark
/// first, and from which no path leads to one of `entered`.
pub fn on_other_paths(
    (arch, code): (Arch, &[(FileAddr, Vec<u8>)]),
    entry: FileAddr,
    entered: &[FileAddr],
    marks: &[FileAddr],
    returns: impl FnMut(Callee) -> bool,
) -> Vec<FileAddr> {
    let marks: Vec<FileAddr> = (marks.iter().copied())
        .filter(|mark| !entered.contains(mark))
        .collect();
    if marks.is_empty() {
        return marks;
    }
    let graph = Graph::new(arch, code, returns);
    let none = FxHashSet::default();
    let is_apart = |mark: &FileAddr| {
        let others = marks.iter().filter(|other| *other != mark);
        let walls: FxHashSet<u64> = entered.iter().chain(others).map(|it| it.0).collect();
        graph.reaches(entry.0, mark.0, &walls)
            && !entered.iter().any(|at| graph.leads(mark.0, at.0, &none))
    };
    marks.iter().copied().filter(is_apart).collect()
}

/// Returns the addresses to stop at, so that every execution of a line's code stops once. The code
/// begins at `first`, and execution also jumps into it, to `inner`, without passing any of
/// `entered` (all addresses where the line is entered, including `first`).
///
/// Besides `first` these are the jumps to `inner`, if they lead nowhere else and are `own`: of the
/// same function or inlined copy. Otherwise the result is the last of `inner` alone, if the code at
/// `first` leads nowhere else either.
pub fn entered_inside(
    (arch, code): (Arch, &[(FileAddr, Vec<u8>)]),
    entry: FileAddr,
    (first, inner): (FileAddr, &[FileAddr]),
    entered: &[FileAddr],
    own: impl Fn(FileAddr) -> bool,
    returns: impl FnMut(Callee) -> bool,
) -> Vec<FileAddr> {
    let graph = Graph::new(arch, code, returns);
    let walls: FxHashSet<u64> = entered.iter().map(|it| it.0).collect();
    let missed = |addr: &&FileAddr| graph.reaches(entry.0, addr.0, &walls);
    let missed: FxHashSet<u64> = inner.iter().filter(missed).map(|it| it.0).collect();
    if missed.is_empty() {
        return vec![first];
    }
    let passed = graph.reached(entry.0, &walls);
    let leads_in = |addr: &&u64| {
        let within = **addr >= first.0 && inner.iter().any(|it| it.0 > **addr);
        !within && graph.successors(**addr).any(|next| missed.contains(&next))
    };
    let sources: Vec<u64> = passed.iter().filter(leads_in).copied().collect();
    let leads_only_in = |addr: &u64| {
        let mut next = graph.successors(*addr);
        next.next().is_some() && next.next().is_none() && own(FileAddr(*addr))
    };
    if sources.iter().all(leads_only_in) {
        let sources = sources.into_iter().map(FileAddr);
        let mut places: Vec<FileAddr> = std::iter::once(first).chain(sources).collect();
        places.sort_unstable();
        return places;
    }
    let last = inner
        .iter()
        .copied()
        .filter(|it| missed.contains(&it.0))
        .max();
    match last.filter(|last| graph.is_straight(first.0, last.0)) {
        Some(last) => vec![last],
        None => vec![first],
    }
}

/// Returns whether the candidate is a single jump.
fn is_lone_jump((arch, code): (Arch, &[(FileAddr, Vec<u8>)]), candidate: &Candidate) -> bool {
    let instruction = code.iter().find_map(|(start, bytes)| {
        let at = candidate.addr.0.checked_sub(start.0)?;
        let bytes = bytes.get(usize::try_from(at).ok()?..)?;
        arch.decode(bytes, LoadAddr(candidate.addr.0))
    });
    instruction.is_some_and(|it| matches!(it.flow, Flow::Jump(_)) && it.next().0 == candidate.end.0)
}

/// The callee of a call, as far as the instruction determines it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// The function at this address.
    At(FileAddr),
    /// The function whose address is in the word at this address.
    In(FileAddr),
}

fn callee(call: &Instruction) -> Option<Callee> {
    match call.flow {
        Flow::Call(target) => Some(Callee::At(FileAddr(target.0))),
        Flow::IndirectCall(TargetSource::Word(word)) => Some(Callee::In(FileAddr(word.0))),
        _ => None,
    }
}

/// Returns whether a function, whose whole code this is, can return or jump elsewhere.
pub fn returns(arch: Arch, start: FileAddr, code: &[u8]) -> bool {
    let leaves = |target: LoadAddr| target.0.wrapping_sub(start.0) >= code.len() as u64;
    let mut instructions = arch.decode_all(code, LoadAddr(start.0));
    instructions.any(|decoded| match decoded.map(|it| it.flow) {
        Ok(Flow::Return | Flow::IndirectJump(_)) | Err(_) => true,
        Ok(Flow::Jump(target) | Flow::ConditionalJump(target)) => leaves(target),
        Ok(_) => false,
    })
}

/// The control flow graph of a function's instructions.
pub(super) struct Graph {
    /// Successors by instruction address.
    next: FxHashMap<u64, [Option<u64>; 2]>,
    /// Jumps through a table or a register.
    indirect: FxHashSet<u64>,
    /// Their possible targets: code that is reached neither by falling through nor by a direct
    /// jump, such as the arms of a `switch` and the states of an `async fn`. (Landing pads are
    /// among them.)
    orphans: Vec<u64>,
}

impl Graph {
    pub(super) fn new(
        arch: Arch,
        code: &[(FileAddr, Vec<u8>)],
        mut returns: impl FnMut(Callee) -> bool,
    ) -> Self {
        let mut next = FxHashMap::default();
        let (mut indirect, mut orphans) = (FxHashSet::default(), FxHashSet::default());
        let mut targets = FxHashSet::default();
        for (start, bytes) in code {
            for decoded in arch.decode_all(bytes, LoadAddr(start.0)) {
                let instruction = match decoded {
                    Ok(instruction) => instruction,
                    Err(bad) => {
                        orphans.insert(bad.addr.0.wrapping_add(bad.len as u64));
                        next.insert(bad.addr.0, [None, None]);
                        continue;
                    }
                };
                let addr = instruction.addr.0;
                let behind = Some(instruction.next().0);
                let target = instruction.direct_target().map(|target| target.0);
                let successors = match instruction.flow {
                    Flow::Jump(_) => [target, None],
                    Flow::ConditionalJump(_) | Flow::Transaction(_) => [behind, target],
                    Flow::Return | Flow::IndirectJump(_) | Flow::Fault => [None, None],
                    Flow::Call(_) | Flow::IndirectCall(_)
                        if callee(&instruction).is_some_and(|callee| !returns(callee)) =>
                    {
                        [None, None]
                    }
                    _ => [behind, None],
                };
                targets.extend(target);
                if matches!(instruction.flow, Flow::IndirectJump(_)) {
                    indirect.insert(addr);
                }
                if !successors.contains(&behind) {
                    orphans.extend(behind);
                }
                next.insert(addr, successors);
            }
        }
        orphans.retain(|addr| !targets.contains(addr));
        Self {
            next,
            indirect,
            orphans: orphans.into_iter().collect(),
        }
    }

    fn successors(&self, addr: u64) -> impl Iterator<Item = u64> {
        let direct = self.next.get(&addr).into_iter().flatten().flatten();
        let orphans = match self.indirect.contains(&addr) {
            true => &self.orphans[..],
            false => &[],
        };
        direct.chain(orphans).copied()
    }

    fn reaches(&self, from: u64, to: u64, walls: &FxHashSet<u64>) -> bool {
        from == to || !walls.contains(&from) && self.leads(from, to, walls)
    }

    /// Returns the instructions reachable from `from` without passing one of `walls`.
    fn reached(&self, from: u64, walls: &FxHashSet<u64>) -> FxHashSet<u64> {
        let mut seen = FxHashSet::default();
        let mut todo = vec![from];
        while let Some(addr) = todo.pop() {
            if !walls.contains(&addr) && seen.insert(addr) {
                todo.extend(self.successors(addr));
            }
        }
        seen
    }

    /// Returns whether execution continues from `from` to `to` and nowhere else.
    fn is_straight(&self, from: u64, to: u64) -> bool {
        let mut at = from;
        while at < to {
            let mut next = self.successors(at);
            match (next.next(), next.next()) {
                (Some(next), None) if next > at => at = next,
                _ => return false,
            }
        }
        at == to
    }

    /// Returns whether a path leads from the instruction at `from` to `to`, not through `walls`.
    pub(super) fn leads(&self, from: u64, to: u64, walls: &FxHashSet<u64>) -> bool {
        let mut seen = FxHashSet::default();
        let mut todo: Vec<u64> = self.successors(from).collect();
        while let Some(addr) = todo.pop() {
            if addr == to {
                return true;
            }
            if !walls.contains(&addr) && seen.insert(addr) {
                todo.extend(self.successors(addr));
            }
        }
        false
    }

    /// Returns the candidates that only leave a scope: a single jump, reached from another
    /// candidate within the same iteration of the loops around both. Clang assigns the jump out of
    /// a `for` or an `if` without braces to the line of its last statement.
    fn scope_exits(
        &self,
        code: (Arch, &[(FileAddr, Vec<u8>)]),
        entry: FileAddr,
        candidates: &[Candidate],
    ) -> FxHashSet<u64> {
        let jumps: FxHashSet<u64> = candidates
            .iter()
            .filter(|it| candidates.len() > 1 && is_lone_jump(code, it))
            .map(|it| it.addr.0)
            .collect();
        if jumps.is_empty() {
            return jumps;
        }
        let addresses: Vec<u64> = candidates.iter().map(|it| it.addr.0).collect();
        let loops = Loops::around(self, entry.0, &addresses);
        let is_exit = |jump: u64| {
            addresses.iter().any(|statement| {
                // A copy of a loop's body is in a loop of its own, or in the same one.
                loops.enclose(*statement, jump, jumps.contains(statement))
                    && self.leads(*statement, jump, &loops.around_both(*statement, jump))
            })
        };
        jumps.iter().copied().filter(|it| is_exit(*it)).collect()
    }
}

/// The natural loops around some addresses, by header.
struct Loops {
    around: FxHashMap<u64, FxHashSet<u64>>,
}

impl Loops {
    fn around(graph: &Graph, entry: u64, addresses: &[u64]) -> Self {
        let order = Dominators::of(graph, entry);
        let mut around: FxHashMap<u64, FxHashSet<u64>> = FxHashMap::default();
        for (header, ends) in order.back_edges() {
            let mut body = FxHashSet::from_iter([header]);
            let mut todo = ends;
            while let Some(node) = todo.pop() {
                if body.insert(node) {
                    todo.extend(order.before.get(node as usize).into_iter().flatten());
                }
            }
            let header = order.nodes[header as usize];
            for addr in addresses {
                if order.numbers.get(addr).is_some_and(|it| body.contains(it)) {
                    around.entry(*addr).or_default().insert(header);
                }
            }
        }
        Self { around }
    }

    fn around_both(&self, a: u64, b: u64) -> FxHashSet<u64> {
        match (self.around.get(&a), self.around.get(&b)) {
            (Some(a), Some(b)) => a.intersection(b).copied().collect(),
            _ => FxHashSet::default(),
        }
    }

    /// Returns whether all loops around `outer` are also around `inner`; with `strictly`, at least
    /// one more is.
    fn enclose(&self, inner: u64, outer: u64, strictly: bool) -> bool {
        let count = |addr| self.around.get(&addr).map_or(0, FxHashSet::len);
        inner != outer
            && self.around_both(inner, outer).len() == count(outer)
            && (!strictly || count(inner) > count(outer))
    }
}

/// The dominator tree of the instructions (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
/// Algorithm").
struct Dominators {
    /// The instructions reachable from the entry, in reverse postorder.
    nodes: Vec<u64>,
    numbers: FxHashMap<u64, u32>,
    /// Predecessors, by number.
    before: Vec<Vec<u32>>,
    /// Immediate dominator, by number.
    closest: Vec<u32>,
}

impl Dominators {
    fn of(graph: &Graph, entry: u64) -> Self {
        let mut nodes = Vec::new();
        let mut seen = FxHashSet::from_iter([entry]);
        let mut path = vec![(entry, graph.successors(entry))];
        while let Some((addr, successors)) = path.last_mut() {
            match successors.find(|next| seen.insert(*next)) {
                Some(next) => path.push((next, graph.successors(next))),
                None => {
                    nodes.push(*addr);
                    path.pop();
                }
            }
        }
        nodes.reverse();
        let numbers: FxHashMap<u64, u32> = nodes.iter().copied().zip(0..).collect();
        let mut before = vec![Vec::new(); nodes.len()];
        for (addr, number) in nodes.iter().zip(0..) {
            for next in graph.successors(*addr) {
                if let Some(next) = numbers.get(&next) {
                    before[*next as usize].push(number);
                }
            }
        }
        let closest = closest_dominators(&before);
        Self {
            nodes,
            numbers,
            before,
            closest,
        }
    }

    fn dominates(&self, above: u32, mut below: u32) -> bool {
        while below > above {
            below = self.closest[below as usize];
        }
        below == above
    }

    /// Returns the headers of loops, each with the sources of its back edges.
    fn back_edges(&self) -> FxHashMap<u32, Vec<u32>> {
        let mut edges: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (header, before) in (0..).zip(&self.before) {
            for end in before {
                if self.dominates(header, *end) {
                    edges.entry(header).or_default().push(*end);
                }
            }
        }
        edges
    }
}

/// Returns the immediate dominators by number in reverse postorder; the entry (0) is its own.
fn closest_dominators(before: &[Vec<u32>]) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let mut closest = vec![UNKNOWN; before.len()];
    if let Some(entry) = closest.first_mut() {
        *entry = 0;
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (number, before) in before.iter().enumerate().skip(1) {
            let known = before.iter().copied();
            let known = known.filter(|it| closest[*it as usize] != UNKNOWN);
            let common = known.reduce(|mut a, mut b| {
                while a != b {
                    match a > b {
                        true => a = closest[a as usize],
                        false => b = closest[b as usize],
                    }
                }
                a
            });
            if let Some(common) = common
                && closest[number] != common
            {
                closest[number] = common;
                changed = true;
            }
        }
    }
    closest
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of these places (address, end of the line's code) in code at 0 are kept.
    fn kept(code: &[u8], places: &[(u64, u64)]) -> Vec<u64> {
        let code = [(FileAddr(0), code.to_vec())];
        let candidates: Vec<_> = places
            .iter()
            .map(|(addr, end)| Candidate {
                addr: FileAddr(*addr),
                end: FileAddr(*end),
            })
            .collect();
        let kept = first_reached(Arch::X86_64, &code, FileAddr(0), &candidates, |_| true);
        kept.iter().map(|addr| addr.0).collect()
    }

    #[test]
    fn line_with_jump_into_it_stops_once_per_pass() {
        let places = |code: &[u8], first: u64, inner: u64, own: bool| {
            let code = [(FileAddr(0), code.to_vec())];
            let first = FileAddr(first);
            let inside = (first, &[FileAddr(inner)][..]);
            let places = entered_inside(
                (Arch::X86_64, &code),
                FileAddr(0),
                inside,
                &[first],
                |_| own,
                |_| true,
            );
            places.iter().map(|addr| addr.0).collect::<Vec<_>>()
        };
        // 0: jne 4; 2: jmp 6; 4: inc eax; 6: nop; 7: ret
        let code = [0x75, 2, 0xeb, 2, 0xff, 0xc0, 0x90, 0xc3];
        assert_eq!(places(&code, 4, 6, true), [2, 4]);
        // The jump is of another function: a part of the line is run then.
        assert_eq!(places(&code, 4, 6, false), [6]);
        // 0: jne 4; 2: inc eax; 4: nop; 5: ret
        assert_eq!(places(&[0x75, 2, 0xff, 0xc0, 0x90, 0xc3], 2, 4, true), [4]);
        // 0: nop; 1: inc eax; 3: jne 3 (within the line); 5: ret
        assert_eq!(
            places(&[0x90, 0xff, 0xc0, 0x75, 0xfe, 0xc3], 1, 3, true),
            [1]
        );
        // 0: jne 6; 2: jne 7 (within); 4: nop; 5: nop; 6: nop; 7: ret
        assert_eq!(
            places(&[0x75, 4, 0x75, 3, 0x90, 0x90, 0x90, 0xc3], 2, 6, true),
            [2]
        );
    }

    #[test]
    fn a_loop_header_is_entered_once() {
        // 0: jmp 4; 2: nop; 3: nop (increment); 4: jne 2; 6: ret
        let code = [0xeb, 2, 0x90, 0x90, 0x75, 0xfc, 0xc3];
        assert_eq!(kept(&code, &[(0, 2), (3, 4), (4, 6)]), [0]);
    }

    #[test]
    fn both_arms_of_a_branch_stay() {
        // 0: jne 4; 2: nop; 3: ret; 4: nop; 5: ret
        let code = [0x75, 2, 0x90, 0xc3, 0x90, 0xc3];
        assert_eq!(kept(&code, &[(2, 4), (4, 6)]), [2, 4]);
    }

    #[test]
    fn landing_pads_are_dropped() {
        // 0: nop; 1: ret; 2: nop (unreachable); 3: ret
        let code = [0x90, 0xc3, 0x90, 0xc3];
        assert_eq!(kept(&code, &[(0, 2), (2, 4)]), [0]);
    }

    /// 0: jne 12 (outer header); 2: jne 8 (inner header); 4: the body; 6: jmp 2; 8: jmp 10 (out of
    /// the inner loop); 10: jmp 0; 12: ret
    fn nested(body: [u8; 2]) -> Vec<u8> {
        let [a, b] = body;
        vec![
            0x75, 10, 0x75, 4, a, b, 0xeb, 0xfa, 0xeb, 0, 0xeb, 0xf4, 0xc3,
        ]
    }

    #[test]
    fn the_jump_out_of_a_loop_is_no_pass_of_its_body() {
        assert_eq!(kept(&nested([0x90, 0x90]), &[(4, 6), (8, 10)]), [4]);
        // A body that consists of a jump.
        assert_eq!(kept(&nested([0xeb, 0]), &[(4, 6), (8, 10)]), [4]);
        // More than a jump is a statement.
        assert_eq!(kept(&nested([0x90, 0x90]), &[(4, 6), (8, 12)]), [4, 8]);
        // The only code of the line.
        assert_eq!(kept(&nested([0x90, 0x90]), &[(8, 10)]), [8]);
    }

    #[test]
    fn the_jump_out_of_a_condition_is_no_pass_of_its_second_half() {
        // `if (a` / `&& b) x;` in a loop: 0: jne 6 (a); 2: nop, 3: nop (b); 4: jne 6; 6: jmp 0
        let code = [0x75, 4, 0x90, 0x90, 0x75, 0, 0xeb, 0xf8];
        assert_eq!(kept(&code, &[(2, 6), (6, 8)]), [2]);
    }

    #[test]
    fn a_jump_that_is_an_arm_stays() {
        // In a loop: 0: jne 6; 2: nop; 3: nop; 4: jmp 8; 6: jmp 8; 8: jmp 0
        let code = [0x75, 4, 0x90, 0x90, 0xeb, 2, 0xeb, 0, 0xeb, 0xf6];
        assert_eq!(kept(&code, &[(2, 6), (6, 8)]), [2, 6]);
        // Two copies of a jump, one before the other. 0: jne 4; 2: jmp 4; 4: jne 8; 6: jmp 8; 8:
        // jmp 0
        let code = [0x75, 2, 0xeb, 0, 0x75, 2, 0xeb, 0, 0xeb, 0xf6];
        assert_eq!(kept(&code, &[(2, 4), (6, 8)]), [2, 6]);
    }
}
