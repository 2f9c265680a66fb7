//! Where a system call writes: addresses before the call, lengths after it.

use super::{Length, Output};

/// The most that one call may write, and that is logged of it.
const MAX_BYTES: u64 = 256 << 20;
/// The most elements of an array of buffers (`UIO_MAXIOV`).
const MAX_VECTORS: u64 = 1024;
const PAGE: u64 = 4096;
/// `sizeof(struct mmsghdr)`
const MESSAGE: u64 = 64;
/// The offset of the received length in it, behind its `struct msghdr`.
const RECEIVED: u64 = 56;

/// The outputs of a call are larger than what is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMuch;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// All of it, if the call succeeds.
    All,
    /// All of it.
    Always,
    /// What the result says, behind so many bytes.
    Behind(u64),
    /// As many times this as the result says.
    Result(u64),
    /// What the result says, after so many bytes of other buffers.
    Rest(u64),
    /// All of it, if the result is larger than this.
    Above(u64),
    /// What the received length of a message says, after so many bytes of other buffers, if the result is larger than
    /// the index of the message.
    RestOf { message: u64, nth: u64, before: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Region {
    addr: u64,
    /// The most.
    len: u64,
    extent: Extent,
}

/// Where a system call will write.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Plan(Vec<Region>);

/// Reads memory of the program; returns the number of bytes.
type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> usize;

fn number<const N: usize>(read: Read<'_>, addr: u64) -> u64 {
    let mut bytes = [0; 8];
    let (bytes_read, _) = bytes.split_at_mut(N);
    match read(addr, bytes_read) == N {
        true => u64::from_le_bytes(bytes),
        // The call will fail, too.
        false => 0,
    }
}

impl Plan {
    /// Returns where a call with these arguments will write. `read` reads memory before the call.
    pub fn of(outputs: &[Output], arguments: &[u64; 6], read: Read<'_>) -> Plan {
        let mut plan = Plan::default();
        let argument = |nth: usize| arguments.get(nth).copied().unwrap_or(0);
        for output in outputs {
            match *output {
                Output::Buffer(nth, length) | Output::Always(nth, length) => {
                    let (len, mut extent) = match length {
                        Length::Bytes(len) => (len, Extent::All),
                        Length::Argument(nth) => (argument(nth), Extent::All),
                        Length::Times(nth, size) => {
                            (argument(nth).saturating_mul(size), Extent::All)
                        }
                        Length::ResultWithin(nth) => (argument(nth), Extent::Result(1)),
                        Length::ResultBehind(nth, size) => {
                            (argument(nth).saturating_add(size), Extent::Behind(size))
                        }
                        Length::ResultTimes(nth, size) => {
                            (argument(nth).saturating_mul(size), Extent::Result(size))
                        }
                        Length::At(nth) => (number::<4>(read, argument(nth)), Extent::All),
                        Length::Bits(nth) => {
                            let bits = u64::from(argument(nth) as u32);
                            (bits.div_ceil(64) * 8, Extent::All)
                        }
                        Length::Pages(nth) => (argument(nth).div_ceil(PAGE), Extent::All),
                    };
                    if matches!(output, Output::Always(..)) && extent == Extent::All {
                        extent = Extent::Always;
                    }
                    plan.add(argument(nth), len, extent);
                }
                Output::Vectors(array, count) => {
                    plan.add_vectors(argument(array), argument(count), read, Extent::Rest);
                }
                Output::Message(nth) => {
                    plan.add_message(argument(nth), read, Extent::All, Extent::Rest);
                }
                Output::Messages(array, count) => {
                    for nth in 0..argument(count).min(MAX_VECTORS) {
                        let message = argument(array).wrapping_add(nth * MESSAGE);
                        let received = |before| Extent::RestOf {
                            message,
                            nth,
                            before,
                        };
                        let len = message.wrapping_add(RECEIVED);
                        plan.add(len, 4, Extent::Above(nth));
                        plan.add_message(message, read, Extent::Above(nth), received);
                    }
                }
                Output::SentLengths(array, count) => {
                    for nth in 0..argument(count).min(MAX_VECTORS) {
                        let message = argument(array).wrapping_add(nth * MESSAGE);
                        plan.add(message.wrapping_add(RECEIVED), 4, Extent::Above(nth));
                    }
                }
            }
        }
        plan
    }

    fn add(&mut self, addr: u64, len: u64, extent: Extent) {
        if addr != 0 && len != 0 {
            self.0.push(Region { addr, len, extent });
        }
    }

    /// Adds the buffers of an array of `struct iovec`, which are filled one after the other.
    /// `extent`: of a buffer behind so many bytes of others.
    fn add_vectors(
        &mut self,
        array: u64,
        count: u64,
        read: Read<'_>,
        extent: impl Fn(u64) -> Extent,
    ) {
        let mut before = 0_u64;
        for nth in 0..count.min(MAX_VECTORS) {
            let at = array.wrapping_add(nth * 16);
            let len = number::<8>(read, at.wrapping_add(8));
            self.add(number::<8>(read, at), len, extent(before));
            before = before.saturating_add(len);
        }
    }

    /// Adds a `struct msghdr`: the name and the control data have their present lengths at most. `buffers`: the extents
    /// of its buffers, as of vectors.
    fn add_message(
        &mut self,
        at: u64,
        read: Read<'_>,
        extent: Extent,
        buffers: impl Fn(u64) -> Extent,
    ) {
        let field = |offset: u64| number::<8>(read, at.wrapping_add(offset));
        let name_len = number::<4>(read, at.wrapping_add(8));
        self.add(at, RECEIVED, extent);
        self.add(field(0), name_len, extent);
        self.add_vectors(field(16), field(24), read, buffers);
        self.add(field(32), field(40), extent);
    }

    /// Returns what the call has written: addresses and lengths. `read` reads memory after the call.
    ///
    /// # Errors
    /// It is too much to be logged.
    pub fn written(&self, result: i64, read: Read<'_>) -> Result<Vec<(u64, usize)>, TooMuch> {
        let count = u64::try_from(result).unwrap_or(0);
        let mut total = 0_u64;
        let mut written = Vec::with_capacity(self.0.len());
        for region in &self.0 {
            let len = match region.extent {
                // The kernel refuses lengths that nothing has.
                Extent::Always if result < 0 && region.len > MAX_BYTES => 0,
                Extent::Always => region.len,
                _ if result < 0 => 0,
                Extent::All => region.len,
                Extent::Behind(size) => count.saturating_add(size).min(region.len),
                Extent::Result(size) => count.saturating_mul(size).min(region.len),
                Extent::Rest(before) => count.saturating_sub(before).min(region.len),
                Extent::Above(nth) if count <= nth => 0,
                Extent::Above(_) => region.len,
                Extent::RestOf { nth, .. } if count <= nth => 0,
                Extent::RestOf {
                    message, before, ..
                } => {
                    let received = number::<4>(read, message.wrapping_add(RECEIVED));
                    received.saturating_sub(before).min(region.len)
                }
            };
            total = total.saturating_add(len);
            if total > MAX_BYTES {
                return Err(TooMuch);
            }
            if len != 0 {
                written.push((region.addr, len as usize));
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory with these words from address 0x1000 on.
    fn memory(words: &'static [u64]) -> impl Fn(u64, &mut [u8]) -> usize {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        move |addr, to| {
            let from = addr.wrapping_sub(0x1000) as usize;
            let Some(found) = bytes.get(from..).and_then(|rest| rest.get(..to.len())) else {
                return 0;
            };
            to.copy_from_slice(found);
            to.len()
        }
    }

    fn written(outputs: &[Output], arguments: [u64; 6], result: i64) -> Vec<(u64, usize)> {
        let plan = Plan::of(outputs, &arguments, &memory(&[]));
        plan.written(result, &memory(&[])).expect("a small output")
    }

    #[test]
    fn result_counts_bytes_within_the_buffer() {
        let read = [Output::Buffer(1, Length::ResultWithin(2))];
        assert_eq!(written(&read, [3, 0x50, 10, 0, 0, 0], 4), [(0x50, 4)]);
        assert_eq!(written(&read, [3, 0x50, 10, 0, 0, 0], 99), [(0x50, 10)]);
        assert_eq!(written(&read, [3, 0x50, 10, 0, 0, 0], -4), []);
        assert_eq!(written(&read, [3, 0, 10, 0, 0, 0], 4), [], "no buffer");
    }

    #[test]
    fn remaining_time_is_written_by_a_failed_call() {
        let sleep = [Output::Always(1, Length::Bytes(16))];
        assert_eq!(written(&sleep, [0, 0x50, 0, 0, 0, 0], -516), [(0x50, 16)]);
    }

    #[test]
    fn vectors_are_filled_in_order() {
        let memory = memory(&[0x5000, 4, 0x6000, 0, 0x7000, 10]);
        let plan = Plan::of(&[Output::Vectors(1, 2)], &[0, 0x1000, 3, 0, 0, 0], &memory);
        assert_eq!(plan.written(3, &memory), Ok(vec![(0x5000, 3)]));
        assert_eq!(plan.written(9, &memory), Ok(vec![(0x5000, 4), (0x7000, 5)]));
    }

    #[test]
    fn messages_have_a_name_data_and_control() {
        let memory = memory(&[0x5000, 16, 0x1038, 1, 0x6000, 24, 0, 0x7000, 100]);
        let plan = Plan::of(&[Output::Message(1)], &[0, 0x1000, 0, 0, 0, 0], &memory);
        let all = vec![(0x1000, 56), (0x5000, 16), (0x7000, 7), (0x6000, 24)];
        assert_eq!(plan.written(7, &memory), Ok(all));
    }

    #[test]
    fn each_received_message_has_its_own_length() {
        // Two `struct mmsghdr`, of 5 and 9 bytes, and their vectors.
        let memory = memory(&[
            0, 0, 0x1080, 1, 0, 0, 0, 5, 0, 0, 0x1090, 1, 0, 0, 0, 9, 0x5000, 64, 0x6000, 64,
        ]);
        let plan = Plan::of(&[Output::Messages(1, 2)], &[0, 0x1000, 2, 0, 0, 0], &memory);
        let first = vec![(0x1038, 4), (0x1000, 56), (0x5000, 5)];
        assert_eq!(plan.written(1, &memory), Ok(first.clone()));
        let second = vec![(0x1078, 4), (0x1040, 56), (0x6000, 9)];
        assert_eq!(plan.written(2, &memory), Ok([first, second].concat()));
    }

    #[test]
    fn events_are_written_where_a_signal_ends_the_wait() {
        let poll = [Output::Always(0, Length::Times(1, 8))];
        assert_eq!(written(&poll, [0x50, 2, 0, 0, 0, 0], -514), [(0x50, 16)]);
        let huge = [0x50, u64::MAX, 0, 0, 0, 0];
        assert_eq!(written(&poll, huge, -22), [], "too many for the kernel");
    }

    #[test]
    fn huge_lengths_are_refused_and_not_allocated() {
        let outputs = [Output::Buffer(0, Length::Times(1, 8))];
        let memory = memory(&[]);
        let plan = Plan::of(&outputs, &[0x1000, u64::MAX, 0, 0, 0, 0], &memory);
        assert_eq!(plan.written(0, &memory), Err(TooMuch));
        let plan = Plan::of(
            &[Output::Vectors(0, 1)],
            &[0x1000, u64::MAX, 0, 0, 0, 0],
            &memory,
        );
        assert_eq!(plan.written(1, &memory), Ok(vec![]));
    }

    #[test]
    fn address_is_as_long_as_its_length_was() {
        let accept = [
            Output::Buffer(1, Length::At(2)),
            Output::Buffer(2, Length::Bytes(4)),
        ];
        let memory = memory(&[0xff_0000_0010]);
        let plan = Plan::of(&accept, &[0, 0x5000, 0x1000, 0, 0, 0], &memory);
        assert_eq!(
            plan.written(5, &memory),
            Ok(vec![(0x5000, 16), (0x1000, 4)])
        );
    }
}
