//! Addresses of an image and of a process, kept apart by type.

use std::fmt;
use std::ops::{Add, Sub};

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl Add<u64> for $name {
            type Output = Self;
            /// Wraps at 2^64: both operands may come from a debuggee or a file.
            fn add(self, bytes: u64) -> Self {
                Self(self.0.wrapping_add(bytes))
            }
        }

        impl Sub<u64> for $name {
            type Output = Self;
            fn sub(self, bytes: u64) -> Self {
                Self(self.0.wrapping_sub(bytes))
            }
        }

        impl Sub for $name {
            type Output = u64;
            fn sub(self, other: Self) -> u64 {
                self.0.wrapping_sub(other.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}

address! {
    /// An address in the image's file (LLDB's "file address").
    FileAddr
}
address! {
    /// An address in a process (LLDB's "load address").
    LoadAddr
}

/// Where an image was loaded, minus where it was linked to be; in bytes, modulo 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct LoadBias(pub u64);

impl LoadBias {
    /// Returns the address in the process for an address of the image.
    pub fn load(self, addr: FileAddr) -> LoadAddr {
        LoadAddr(addr.0.wrapping_add(self.0))
    }

    /// Returns the address in the image for an address of the process.
    pub fn file(self, addr: LoadAddr) -> FileAddr {
        FileAddr(addr.0.wrapping_sub(self.0))
    }
}

/// A half-open range of addresses: `start` is in it, `end` is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AddrRange<A> {
    /// First address of the range.
    pub start: A,
    /// First address after the range.
    pub end: A,
}

impl<A: Copy + Ord> AddrRange<A> {
    /// Returns the range from `start` to just before `end`.
    pub fn new(start: A, end: A) -> Self {
        Self { start, end }
    }

    /// Returns whether `addr` is in the range.
    pub fn contains(&self, addr: A) -> bool {
        self.start <= addr && addr < self.end
    }

    /// Returns whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}
