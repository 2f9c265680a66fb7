//! The names of the arguments of system calls, as their manual pages have them.

/// Calls that many programs make.
const NAMED: &[(libc::c_long, &[&str])] = &[
    (libc::SYS_read, &["fd", "buf", "count"]),
    (libc::SYS_write, &["fd", "buf", "count"]),
    (libc::SYS_open, &["pathname", "flags", "mode"]),
    (libc::SYS_openat, &["dirfd", "pathname", "flags", "mode"]),
    (libc::SYS_close, &["fd"]),
    (libc::SYS_stat, &["pathname", "statbuf"]),
    (libc::SYS_fstat, &["fd", "statbuf"]),
    (libc::SYS_lstat, &["pathname", "statbuf"]),
    (
        libc::SYS_newfstatat,
        &["dirfd", "pathname", "statbuf", "flags"],
    ),
    (
        libc::SYS_statx,
        &["dirfd", "pathname", "flags", "mask", "statxbuf"],
    ),
    (libc::SYS_lseek, &["fd", "offset", "whence"]),
    (libc::SYS_pread64, &["fd", "buf", "count", "offset"]),
    (libc::SYS_pwrite64, &["fd", "buf", "count", "offset"]),
    (libc::SYS_readv, &["fd", "iov", "iovcnt"]),
    (libc::SYS_writev, &["fd", "iov", "iovcnt"]),
    (
        libc::SYS_mmap,
        &["addr", "length", "prot", "flags", "fd", "offset"],
    ),
    (libc::SYS_munmap, &["addr", "length"]),
    (libc::SYS_mprotect, &["addr", "len", "prot"]),
    (
        libc::SYS_mremap,
        &["old_address", "old_size", "new_size", "flags"],
    ),
    (libc::SYS_madvise, &["addr", "length", "advice"]),
    (libc::SYS_brk, &["addr"]),
    (libc::SYS_ioctl, &["fd", "request", "argp"]),
    (libc::SYS_fcntl, &["fd", "cmd", "arg"]),
    (libc::SYS_access, &["pathname", "mode"]),
    (libc::SYS_faccessat, &["dirfd", "pathname", "mode"]),
    (libc::SYS_readlink, &["pathname", "buf", "bufsiz"]),
    (
        libc::SYS_readlinkat,
        &["dirfd", "pathname", "buf", "bufsiz"],
    ),
    (libc::SYS_getdents64, &["fd", "dirp", "count"]),
    (libc::SYS_getcwd, &["buf", "size"]),
    (libc::SYS_chdir, &["path"]),
    (libc::SYS_mkdir, &["pathname", "mode"]),
    (libc::SYS_unlink, &["pathname"]),
    (libc::SYS_unlinkat, &["dirfd", "pathname", "flags"]),
    (libc::SYS_rename, &["oldpath", "newpath"]),
    (libc::SYS_pipe, &["pipefd"]),
    (libc::SYS_pipe2, &["pipefd", "flags"]),
    (libc::SYS_dup, &["oldfd"]),
    (libc::SYS_dup2, &["oldfd", "newfd"]),
    (libc::SYS_socket, &["domain", "type", "protocol"]),
    (libc::SYS_connect, &["sockfd", "addr", "addrlen"]),
    (libc::SYS_accept4, &["sockfd", "addr", "addrlen", "flags"]),
    (
        libc::SYS_sendto,
        &["sockfd", "buf", "len", "flags", "dest_addr", "addrlen"],
    ),
    (
        libc::SYS_recvfrom,
        &["sockfd", "buf", "len", "flags", "src_addr", "addrlen"],
    ),
    (libc::SYS_poll, &["fds", "nfds", "timeout"]),
    (libc::SYS_rt_sigaction, &["signum", "act", "oldact"]),
    (libc::SYS_rt_sigprocmask, &["how", "set", "oldset"]),
    (libc::SYS_kill, &["pid", "sig"]),
    (libc::SYS_tgkill, &["tgid", "tid", "sig"]),
    (libc::SYS_wait4, &["pid", "wstatus", "options"]),
    (libc::SYS_execve, &["pathname", "argv", "envp"]),
    (libc::SYS_clock_gettime, &["clockid", "tp"]),
    (libc::SYS_nanosleep, &["req", "rem"]),
    (libc::SYS_getrandom, &["buf", "buflen", "flags"]),
    (
        libc::SYS_prlimit64,
        &["pid", "resource", "new_limit", "old_limit"],
    ),
    (libc::SYS_futex, &["uaddr", "op", "val"]),
    (libc::SYS_exit_group, &["status"]),
];

/// Returns the names of the arguments of a call; none: they are not known, and not shown.
pub fn arguments(number: i64) -> &'static [&'static str] {
    let mut rows = NAMED.iter();
    rows.find(|(known, _)| *known == number)
        .map_or(&[], |(_, names)| names)
}
