//! Substitutions: of what was read before, and of the standard library's types.

use super::super::node::{Id, Kind};
use super::{MAX_REPEATED, Parser};

impl Parser<'_> {
    /// Reads one or more references to what was read before. All but the last are put on the stack.
    pub(super) fn substitution(&mut self) -> Option<Id> {
        let mut repeated = None;
        loop {
            match self.next()? {
                letter @ b'a'..=b'z' => {
                    let node = self.repeated(letter - b'a', repeated)?;
                    self.push(node)?;
                    repeated = None;
                }
                letter @ b'A'..=b'Z' => return self.repeated(letter - b'A', repeated),
                b'_' => {
                    let index = usize::try_from(repeated.map_or(26, |it: u64| it + 27)).ok()?;
                    return self.substitutions.get(index).copied();
                }
                _ => {
                    self.at -= 1;
                    repeated = Some(self.natural()?);
                }
            }
        }
    }

    /// Pushes a substitution once less than it is repeated, and returns it.
    fn repeated(&mut self, index: u8, times: Option<u64>) -> Option<Id> {
        let node = *self.substitutions.get(usize::from(index))?;
        self.push_repeated(node, times)?;
        Some(node)
    }

    fn push_repeated(&mut self, node: Id, times: Option<u64>) -> Option<()> {
        let times = times.unwrap_or(1);
        if times > MAX_REPEATED {
            return None;
        }
        for _ in 1..times {
            self.push(node)?;
        }
        Some(())
    }

    /// Reads a module or type that has letters of its own.
    pub(super) fn standard_substitution(&mut self) -> Option<Id> {
        match self.next()? {
            b'o' => self.tree.text(Kind::Module, "__C"),
            b'C' => self.tree.text(Kind::Module, "__C_Synthesized"),
            b'g' => {
                let wrapped = self.pop(Kind::Type)?;
                let optional = self.of_library(Kind::Enum, "Optional")?;
                let arguments = self.node(Kind::TypeList, &[wrapped])?;
                let bound = self.typed(Kind::BoundGeneric, &[optional, arguments])?;
                self.substitutable(bound)
            }
            _ => {
                self.at -= 1;
                let repeated = match self.peek()? {
                    b'0'..=b'9' => Some(self.natural()?),
                    _ => None,
                };
                let (kind, name) = match self.take(b'c') {
                    true => of_concurrency(self.next()?)?,
                    false => of_core(self.next()?)?,
                };
                let ty = self.of_library(kind, name)?;
                self.push_repeated(ty, repeated)?;
                Some(ty)
            }
        }
    }

    fn of_library(&mut self, kind: Kind, name: &'static str) -> Option<Id> {
        let module = self.tree.text(Kind::Module, "Swift")?;
        let name = self.tree.text(Kind::Identifier, name)?;
        self.typed(kind, &[module, name])
    }
}

fn of_core(letter: u8) -> Option<(Kind, &'static str)> {
    use Kind::{Enum, Protocol, Structure};
    Some(match letter {
        b'A' => (Structure, "AutoreleasingUnsafeMutablePointer"),
        b'a' => (Structure, "Array"),
        b'B' => (Protocol, "BinaryFloatingPoint"),
        b'b' => (Structure, "Bool"),
        b'D' => (Structure, "Dictionary"),
        b'd' => (Structure, "Double"),
        b'E' => (Protocol, "Encodable"),
        b'e' => (Protocol, "Decodable"),
        b'F' => (Protocol, "FloatingPoint"),
        b'f' => (Structure, "Float"),
        b'G' => (Protocol, "RandomNumberGenerator"),
        b'H' => (Protocol, "Hashable"),
        b'h' => (Structure, "Set"),
        b'I' => (Structure, "DefaultIndices"),
        b'i' => (Structure, "Int"),
        b'J' => (Structure, "Character"),
        b'j' => (Protocol, "Numeric"),
        b'K' => (Protocol, "BidirectionalCollection"),
        b'k' => (Protocol, "RandomAccessCollection"),
        b'L' => (Protocol, "Comparable"),
        b'l' => (Protocol, "Collection"),
        b'M' => (Protocol, "MutableCollection"),
        b'm' => (Protocol, "RangeReplaceableCollection"),
        b'N' => (Structure, "ClosedRange"),
        b'n' => (Structure, "Range"),
        b'O' => (Structure, "ObjectIdentifier"),
        b'P' => (Structure, "UnsafePointer"),
        b'p' => (Structure, "UnsafeMutablePointer"),
        b'Q' => (Protocol, "Equatable"),
        b'q' => (Enum, "Optional"),
        b'R' => (Structure, "UnsafeBufferPointer"),
        b'r' => (Structure, "UnsafeMutableBufferPointer"),
        b'S' => (Structure, "String"),
        b's' => (Structure, "Substring"),
        b'T' => (Protocol, "Sequence"),
        b't' => (Protocol, "IteratorProtocol"),
        b'U' => (Protocol, "UnsignedInteger"),
        b'u' => (Structure, "UInt"),
        b'V' => (Structure, "UnsafeRawPointer"),
        b'v' => (Structure, "UnsafeMutableRawPointer"),
        b'W' => (Structure, "UnsafeRawBufferPointer"),
        b'w' => (Structure, "UnsafeMutableRawBufferPointer"),
        b'X' => (Protocol, "RangeExpression"),
        b'x' => (Protocol, "Strideable"),
        b'Y' => (Protocol, "RawRepresentable"),
        b'y' => (Protocol, "StringProtocol"),
        b'Z' => (Protocol, "SignedInteger"),
        b'z' => (Protocol, "BinaryInteger"),
        _ => return None,
    })
}

fn of_concurrency(letter: u8) -> Option<(Kind, &'static str)> {
    use Kind::{Class, Protocol, Structure};
    Some(match letter {
        b'A' => (Protocol, "Actor"),
        b'C' => (Structure, "CheckedContinuation"),
        b'c' => (Structure, "UnsafeContinuation"),
        b'E' => (Structure, "CancellationError"),
        b'e' => (Structure, "UnownedSerialExecutor"),
        b'F' => (Protocol, "Executor"),
        b'f' => (Protocol, "SerialExecutor"),
        b'G' => (Structure, "TaskGroup"),
        b'g' => (Structure, "ThrowingTaskGroup"),
        b'h' => (Protocol, "TaskExecutor"),
        b'I' => (Protocol, "AsyncIteratorProtocol"),
        b'i' => (Protocol, "AsyncSequence"),
        b'J' => (Structure, "UnownedJob"),
        b'M' => (Class, "MainActor"),
        b'P' => (Structure, "TaskPriority"),
        b'S' => (Structure, "AsyncStream"),
        b's' => (Structure, "AsyncThrowingStream"),
        b'T' => (Structure, "Task"),
        b't' => (Structure, "UnsafeCurrentTask"),
        _ => return None,
    })
}
