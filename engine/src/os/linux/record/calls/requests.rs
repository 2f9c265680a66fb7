//! Outputs of calls that depend on a request among the arguments. Requests that are not listed end a
//! recording unless they fail.

use super::{Length, Output};

const NONE: Option<&[Output]> = Some(&[]);

/// A buffer of so many bytes at the third argument.
macro_rules! third {
    ($bytes:expr) => {
        Some(&[Output::Buffer(2, Length::Bytes($bytes))])
    };
}

/// ioctl(2): terminals, files, sockets, network interfaces.
pub fn ioctl(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    match arguments[1] & 0xffff_ffff {
        // TCGETS; TIOCGWINSZ, FIONREAD, TIOCOUTQ, TIOCGPGRP, TIOCGSID, TIOCGPTN, TIOCGPTLCK, TIOCGETD
        0x5401 => third!(36),
        0x5413 | 0x541b | 0x5411 | 0x540f | 0x5429 | 0x8004_5430 | 0x8004_5439 | 0x5424 => {
            third!(8)
        }
        // TCGETS2, TCGETA
        0x802c_542a => third!(44),
        0x5405 => third!(18),
        // TCSETS, TCSETSW, TCSETSF and those of termio and termios2; TCSBRK, TCXONC, TCFLSH, TIOCEXCL,
        // TIOCNXCL, TIOCSCTTY, TIOCSPGRP, TIOCSWINSZ, TIOCNOTTY, TIOCSPTLCK
        0x5402..=0x5404 | 0x5406..=0x540e | 0x5410 | 0x5414 | 0x5422 => NONE,
        0x402c_542b..=0x402c_542d | 0x4004_5431 => NONE,
        // FIONBIO, FIOASYNC, FIOCLEX, FIONCLEX
        0x5421 | 0x5452 | 0x5451 | 0x5450 => NONE,
        // FICLONE, FICLONERANGE
        0x4004_9409 | 0x4020_940d => NONE,
        // FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FIGETBSZ, BLKGETSIZE64, BLKSSZGET
        0x8008_6601 | 0x2 | 0x8008_1272 | 0x1268 => third!(8),
        0x4008_6602 => NONE,
        // SIOCGIFNAME to SIOCGIFHWADDR, SIOCGIFINDEX: `struct ifreq`
        0x8910..=0x8940 => third!(40),
        _ => None,
    }
}

/// fcntl(2).
pub fn fcntl(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    match arguments[1] as i32 {
        libc::F_GETLK | libc::F_OFD_GETLK => third!(32),
        // F_GETOWN_EX, F_GETOWNER_UIDS, F_GET_RW_HINT, F_GET_FILE_RW_HINT
        16 | 17 | 1035 | 1037 => third!(8),
        libc::F_DUPFD
        | libc::F_DUPFD_CLOEXEC
        | libc::F_GETFD
        | libc::F_SETFD
        | libc::F_GETFL
        | libc::F_SETFL
        | libc::F_SETLK
        | libc::F_SETLKW
        | libc::F_OFD_SETLK
        | libc::F_OFD_SETLKW
        | libc::F_SETOWN
        | libc::F_GETOWN
        | libc::F_SETPIPE_SZ
        | libc::F_GETPIPE_SZ
        | libc::F_ADD_SEALS
        | libc::F_GET_SEALS
        | libc::F_GETLEASE
        | libc::F_SETLEASE
        | libc::F_NOTIFY
        // F_DUPFD_QUERY, F_CREATED_QUERY, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_SET_RW_HINT
        | 1027
        | 1028
        | 10
        | 11
        | 15
        | 1036 => NONE,
        _ => None,
    }
}

/// prctl(2).
pub fn prctl(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    const SECOND_WORD: Output = Output::Buffer(1, Length::Bytes(4));
    match arguments[0] as i32 {
        libc::PR_GET_NAME => Some(&[Output::Buffer(1, Length::Bytes(16))]),
        libc::PR_GET_PDEATHSIG | libc::PR_GET_CHILD_SUBREAPER => Some(&[SECOND_WORD]),
        libc::PR_SET_NAME
        | libc::PR_SET_PDEATHSIG
        | libc::PR_SET_CHILD_SUBREAPER
        | libc::PR_SET_DUMPABLE
        | libc::PR_GET_DUMPABLE
        | libc::PR_SET_KEEPCAPS
        | libc::PR_GET_KEEPCAPS
        | libc::PR_CAPBSET_READ
        | libc::PR_CAPBSET_DROP
        | libc::PR_CAP_AMBIENT
        | libc::PR_SET_NO_NEW_PRIVS
        | libc::PR_GET_NO_NEW_PRIVS
        | libc::PR_GET_SECCOMP
        | libc::PR_SET_TIMERSLACK
        | libc::PR_GET_TIMERSLACK
        | libc::PR_SET_PTRACER
        | libc::PR_GET_SECUREBITS
        | libc::PR_SET_SECUREBITS
        | libc::PR_SET_THP_DISABLE
        | libc::PR_GET_THP_DISABLE
        // PR_SET_VMA: names of memory
        | 0x5356_4d41 => NONE,
        _ => None,
    }
}

/// arch_prctl(2): the registers that it sets are in the log as such.
pub fn processor(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    const SET_GS: u64 = 0x1001;
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    const GET_GS: u64 = 0x1004;
    match arguments[0] {
        SET_GS | SET_FS => NONE,
        GET_FS | GET_GS => Some(&[Output::Buffer(1, Length::Bytes(8))]),
        _ => None,
    }
}

/// Information about what a system has of one kind of objects.
const INFO: u64 = 3;

/// What is asked of objects of System V by 32 bits; the version of the request is one of them.
fn object_request(argument: u64) -> u64 {
    const IPC_64: u64 = 0x100;
    argument & 0xffff_ffff & !IPC_64
}

/// semctl(2).
pub fn semaphores(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    /// More semaphores than a set has, of two bytes each.
    const ALL: u64 = 2 << 16;
    macro_rules! fourth {
        ($bytes:expr) => {
            Some(&[Output::Buffer(3, Length::Bytes($bytes))])
        };
    }
    match object_request(arguments[2]) {
        // IPC_STAT, SEM_STAT, SEM_STAT_ANY; SEM_INFO; GETALL
        2 | 18 | 20 => fourth!(104),
        INFO | 19 => fourth!(40),
        13 => fourth!(ALL),
        // IPC_RMID, IPC_SET, GETPID, GETVAL, GETNCNT, GETZCNT, SETVAL, SETALL
        0 | 1 | 11 | 12 | 14 | 15 | 16 | 17 => NONE,
        _ => None,
    }
}

/// msgctl(2).
pub fn messages(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    match object_request(arguments[1]) {
        // IPC_STAT, MSG_STAT, MSG_STAT_ANY; MSG_INFO
        2 | 11 | 13 => third!(120),
        INFO | 12 => third!(32),
        // IPC_RMID, IPC_SET
        0 | 1 => NONE,
        _ => None,
    }
}

/// shmctl(2).
pub fn shared_memory(arguments: &[u64; 6]) -> Option<&'static [Output]> {
    match object_request(arguments[1]) {
        // IPC_STAT, SHM_STAT, SHM_STAT_ANY; SHM_INFO
        2 | 13 | 15 => third!(112),
        INFO => third!(72),
        14 => third!(48),
        // IPC_RMID, IPC_SET, SHM_LOCK, SHM_UNLOCK
        0 | 1 | 11 | 12 => NONE,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_not_listed_have_no_outputs() {
        let with = |nth: usize, request: u64| {
            let mut arguments = [0; 6];
            arguments[nth] = request;
            arguments
        };
        assert!(ioctl(&with(1, 0xc0de_0000)).is_none());
        assert!(
            ioctl(&with(1, 0x5401 | 0xffff_ffff << 32)).is_some(),
            "32 bits"
        );
        assert!(fcntl(&with(1, 9999)).is_none());
        assert!(prctl(&with(0, 22)).is_none(), "PR_SET_SECCOMP");
        assert!(processor(&with(0, 0x5001)).is_none());
    }
}
