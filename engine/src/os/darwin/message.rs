//! The messages that the kernel sends: exceptions (`mach/mach_exc.defs`, with codes of 64 bits) and
//! notifications (`mach/notify.h`), and the reply to the former. Layouts as MIG makes them, with
//! fields packed to 4 bytes.

use super::mach::{KernReturn, Port};

/// `msgh_id` of `mach_exception_raise`.
pub(super) const EXCEPTION_RAISE: i32 = 2405;
/// Replies have the number of the request and this.
pub(super) const REPLY: i32 = 100;
/// `MACH_NOTIFY_DEAD_NAME`
pub(super) const NOTIFY_DEAD_NAME: i32 = 72;
/// `MACH_MSGH_BITS_REMOTE_MASK`
pub(super) const REMOTE_MASK: u32 = 0x1f;

// `mach_msg_header_t`
pub(super) const BITS: usize = 0;
pub(super) const SIZE: usize = 4;
pub(super) const REMOTE: usize = 8;
pub(super) const ID: usize = 20;
pub(super) const HEADER_BYTES: usize = 24;
// `__Request__mach_exception_raise_t`
pub(super) const THREAD: usize = 28;
pub(super) const TASK: usize = 40;
#[cfg_attr(
    not(any(test, feature = "simulated-mach")),
    allow(dead_code, reason = "tests need it")
)]
pub(super) const NDR: usize = 52;
pub(super) const NDR_BYTES: usize = 8;
pub(super) const KIND: usize = 60;
pub(super) const CODE_COUNT: usize = 64;
pub(super) const CODES: usize = 68;
/// Size of an exception with two codes.
#[cfg_attr(
    not(any(test, feature = "simulated-mach")),
    allow(dead_code, reason = "tests need it")
)]
pub const EXCEPTION_BYTES: usize = 84;
// `mach_dead_name_notification_t`
pub(super) const DEAD_NAME: usize = HEADER_BYTES + NDR_BYTES;
/// Size of that.
#[cfg_attr(
    not(any(test, feature = "simulated-mach")),
    allow(dead_code, reason = "tests need it")
)]
pub const DEAD_NAME_BYTES: usize = 36;
/// Size of the reply to an exception.
pub const REPLY_BYTES: usize = 36;

/// An exception that a thread waits in until it is replied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exception {
    pub thread: Port,
    pub task: Port,
    /// `exception_type_t`
    pub kind: i32,
    pub codes: [u64; 2],
    /// Where the reply is sent, and with which bits of the header.
    reply_to: Port,
    reply_bits: u32,
    id: i32,
}

/// A message of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    Exception(Exception),
    /// The receiver of this port is gone; the right has become a dead name.
    DeadName(Port),
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    let bytes = message.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn long(message: &[u8], at: usize) -> Option<u64> {
    let bytes = message.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

impl Message {
    /// Decodes a message; `None` for one that the kernel does not send here.
    pub fn decode(message: &[u8]) -> Option<Message> {
        let id = word(message, ID)?.cast_signed();
        match id {
            EXCEPTION_RAISE => {
                let count = word(message, CODE_COUNT)?.min(2) as usize;
                let mut codes = [0; 2];
                for (index, code) in codes.iter_mut().enumerate().take(count) {
                    *code = long(message, CODES + 8 * index)?;
                }
                Some(Message::Exception(Exception {
                    thread: Port(word(message, THREAD)?),
                    task: Port(word(message, TASK)?),
                    kind: word(message, KIND)?.cast_signed(),
                    codes,
                    reply_to: Port(word(message, REMOTE)?),
                    reply_bits: word(message, BITS)? & REMOTE_MASK,
                    id,
                }))
            }
            NOTIFY_DEAD_NAME => Some(Message::DeadName(Port(word(message, DEAD_NAME)?))),
            _ => None,
        }
    }
}

fn put(message: &mut [u8], at: usize, value: u32) {
    message[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// `NDR_record`: little-endian, IEEE, ASCII.
pub(super) const NDR_RECORD: [u8; NDR_BYTES] = [0, 0, 0, 0, 1, 0, 0, 0];

impl Exception {
    /// Returns the reply.
    pub fn reply(&self, result: KernReturn) -> [u8; REPLY_BYTES] {
        let mut message = [0; REPLY_BYTES];
        put(&mut message, BITS, self.reply_bits);
        put(&mut message, SIZE, REPLY_BYTES as u32);
        put(&mut message, REMOTE, self.reply_to.0);
        put(&mut message, ID, (self.id + REPLY).cast_unsigned());
        message[HEADER_BYTES..][..NDR_BYTES].copy_from_slice(&NDR_RECORD);
        put(
            &mut message,
            HEADER_BYTES + NDR_BYTES,
            result.0.cast_unsigned(),
        );
        message
    }
}

/// The messages as the kernel makes them.
#[cfg(any(test, feature = "simulated-mach"))]
pub mod kernel {
    use super::*;

    /// `MACH_MSG_TYPE_MOVE_SEND_ONCE`
    pub const MOVE_SEND_ONCE: u32 = 18;

    /// Returns the message of an exception, with this port for the reply.
    pub fn exception(
        thread: Port,
        task: Port,
        kind: i32,
        codes: [u64; 2],
        reply_to: Port,
    ) -> [u8; EXCEPTION_BYTES] {
        let mut message = [0; EXCEPTION_BYTES];
        put(&mut message, BITS, 0x8000_0000 | MOVE_SEND_ONCE);
        put(&mut message, SIZE, EXCEPTION_BYTES as u32);
        put(&mut message, REMOTE, reply_to.0);
        put(&mut message, ID, EXCEPTION_RAISE.cast_unsigned());
        put(&mut message, HEADER_BYTES, 2);
        put(&mut message, THREAD, thread.0);
        put(&mut message, TASK, task.0);
        message[NDR..][..NDR_BYTES].copy_from_slice(&NDR_RECORD);
        put(&mut message, KIND, kind.cast_unsigned());
        put(&mut message, CODE_COUNT, 2);
        for (index, code) in codes.iter().enumerate() {
            message[CODES + 8 * index..][..8].copy_from_slice(&code.to_le_bytes());
        }
        message
    }

    /// Returns the notification that the receiver of a port is gone.
    pub fn dead_name(port: Port) -> [u8; DEAD_NAME_BYTES] {
        let mut message = [0; DEAD_NAME_BYTES];
        put(&mut message, BITS, MOVE_SEND_ONCE);
        put(&mut message, SIZE, DEAD_NAME_BYTES as u32);
        put(&mut message, ID, NOTIFY_DEAD_NAME.cast_unsigned());
        message[HEADER_BYTES..][..NDR_BYTES].copy_from_slice(&NDR_RECORD);
        put(&mut message, DEAD_NAME, port.0);
        message
    }

    /// Returns the port that a reply is for, and the result.
    pub fn result_of(reply: &[u8]) -> Option<(Port, KernReturn)> {
        let is_reply = word(reply, ID)? == (EXCEPTION_RAISE + REPLY).cast_unsigned();
        let result = word(reply, HEADER_BYTES + NDR_BYTES)?.cast_signed();
        let to = Port(word(reply, REMOTE)?);
        is_reply.then_some((to, KernReturn(result)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_and_their_replies() {
        let codes = [0x1_0000_0002, u64::MAX];
        let bytes = kernel::exception(Port(7), Port(8), 6, codes, Port(9));
        let Some(Message::Exception(exception)) = Message::decode(&bytes) else {
            panic!("an exception");
        };
        assert_eq!(exception.thread, Port(7));
        assert_eq!(exception.task, Port(8));
        assert_eq!((exception.kind, exception.codes), (6, codes));
        let reply = exception.reply(KernReturn::FAILURE);
        assert_eq!(
            kernel::result_of(&reply),
            Some((Port(9), KernReturn::FAILURE))
        );
        // Sent by move-send-once, as received, and without descriptors.
        assert_eq!(word(&reply, BITS), Some(18));
    }

    #[test]
    fn dead_names() {
        let bytes = kernel::dead_name(Port(3));
        assert_eq!(Message::decode(&bytes), Some(Message::DeadName(Port(3))));
    }

    #[test]
    fn torn_and_unknown_messages_are_nothing() {
        let bytes = kernel::exception(Port(7), Port(8), 6, [1, 2], Port(9));
        for len in 0..bytes.len() {
            assert_eq!(Message::decode(&bytes[..len]), None, "{len} bytes");
        }
        let mut other = bytes;
        put(&mut other, ID, 2406);
        assert_eq!(Message::decode(&other), None);
        assert_eq!(Message::decode(&[0xff; 600]), None);
    }
}
