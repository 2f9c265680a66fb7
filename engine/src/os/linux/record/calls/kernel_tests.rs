//! Compares rows of the table with what the running kernel writes.

use super::{Class, Plan, row};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{Child, Command};

/// What memory contains before a call.
const FILL: u8 = 0xa5;
/// Size of the area of each argument.
const AREA: usize = 4096;

/// An argument of a call.
#[derive(Clone, Copy)]
enum Arg {
    Number(u64),
    /// The address of its own area, of bytes that no call leaves by chance.
    Area,
    /// The address of its own area, which begins with these words.
    Words(&'static [u64]),
    /// The address of its own area, which is an array of one `struct iovec` for each area given.
    Vectors(&'static [(usize, u64)]),
    /// The same for one `struct msghdr` with a name and control data in the next areas.
    Message,
    /// The address of its own area, which is two `struct mmsghdr` with vectors in the next area and buffers of 40 bytes
    /// in the one behind that.
    Messages,
    /// The address of a path.
    Path(&'static [u8]),
    File,
    Folder,
    Pipe,
    /// The end of a pipe that can be written to.
    Writer,
    Socket,
    /// A socket with two messages to receive.
    Datagrams,
    /// A socket to which another one wants to connect.
    Listening,
    /// What waits for the pipe, which has input.
    Epoll,
    /// A timer as a descriptor.
    TimerFd,
    /// A timer of the process.
    Timer,
    /// A child that has ended.
    Child,
    /// A file that can be written to, and has attributes if the file system allows it.
    Own,
    Terminal,
    /// A set of two semaphores.
    Semaphores,
    /// A queue with a message of five bytes.
    Queue,
    /// A segment of memory of System V.
    Segment,
    /// The address of an aligned page, which was written to.
    Page,
    /// A thread: this one.
    Me,
}
use Arg::{Area, Folder, Message, Number, Path, Pipe, Socket, Terminal, Vectors, Words};

const SIX: usize = 6;
const HERE: Arg = Number(libc::AT_FDCWD as u64);
const ZERO: Arg = Number(0);

/// Calls that succeed, and change nothing but the memory of this thread.
const CALLS: &[(libc::c_long, &[Arg])] = &[
    (libc::SYS_read, &[Arg::File, Area, Number(100)]),
    (libc::SYS_pread64, &[Arg::File, Area, Number(100), ZERO]),
    (
        libc::SYS_readv,
        &[Arg::File, Vectors(&[(4, 10), (5, 50)]), Number(2)],
    ),
    (
        libc::SYS_preadv,
        &[Arg::File, Vectors(&[(4, 3), (5, 9)]), Number(2), ZERO],
    ),
    (libc::SYS_stat, &[Path(b"/proc/self/exe\0"), Area]),
    (libc::SYS_lstat, &[Path(b"/proc/self/exe\0"), Area]),
    (libc::SYS_fstat, &[Arg::File, Area]),
    (libc::SYS_newfstatat, &[HERE, Path(b"/\0"), Area, ZERO]),
    (
        libc::SYS_statx,
        &[HERE, Path(b"/\0"), ZERO, Number(0xfff), Area],
    ),
    (libc::SYS_statfs, &[Path(b"/\0"), Area]),
    (libc::SYS_fstatfs, &[Arg::File, Area]),
    (libc::SYS_getdents64, &[Folder, Area, Number(1000)]),
    (
        libc::SYS_readlink,
        &[Path(b"/proc/self/exe\0"), Area, Number(300)],
    ),
    (
        libc::SYS_readlinkat,
        &[HERE, Path(b"/proc/self/exe\0"), Area, Number(300)],
    ),
    (libc::SYS_getcwd, &[Area, Number(1000)]),
    (libc::SYS_poll, &[Words(&[1 << 32]), Number(1), ZERO]),
    (
        libc::SYS_ppoll,
        &[
            Words(&[1 << 32]),
            Number(1),
            Words(&[0, 1]),
            ZERO,
            Number(8),
        ],
    ),
    (
        libc::SYS_select,
        &[
            Number(3),
            Words(&[0]),
            Words(&[6]),
            Words(&[0]),
            Words(&[0, 1]),
        ],
    ),
    (
        libc::SYS_pselect6,
        &[
            Number(3),
            Words(&[0]),
            Words(&[6]),
            Words(&[0]),
            Words(&[0, 1]),
            ZERO,
        ],
    ),
    (libc::SYS_getrusage, &[ZERO, Area]),
    (libc::SYS_times, &[Area]),
    (libc::SYS_sysinfo, &[Area]),
    (libc::SYS_uname, &[Area]),
    (libc::SYS_getitimer, &[Number(1), Area]),
    (libc::SYS_setitimer, &[Number(1), Words(&[0; 4]), Area]),
    (libc::SYS_clock_gettime, &[ZERO, Area]),
    (libc::SYS_clock_getres, &[ZERO, Area]),
    (libc::SYS_gettimeofday, &[Area, Area]),
    (libc::SYS_time, &[Area]),
    (libc::SYS_nanosleep, &[Words(&[0, 1]), Area]),
    (
        libc::SYS_clock_nanosleep,
        &[ZERO, ZERO, Words(&[0, 1]), Area],
    ),
    (libc::SYS_rt_sigaction, &[Number(12), ZERO, Area, Number(8)]),
    (libc::SYS_rt_sigprocmask, &[ZERO, ZERO, Area, Number(8)]),
    (libc::SYS_rt_sigpending, &[Area, Number(8)]),
    (libc::SYS_sigaltstack, &[ZERO, Area]),
    (libc::SYS_sched_getparam, &[ZERO, Area]),
    (libc::SYS_sched_rr_get_interval, &[ZERO, Area]),
    (libc::SYS_sched_getattr, &[ZERO, Area, Number(56), ZERO]),
    (libc::SYS_getcpu, &[Area, Area, ZERO]),
    (libc::SYS_getsockname, &[Socket, Area, Words(&[100])]),
    (libc::SYS_getpeername, &[Socket, Area, Words(&[1])]),
    (
        libc::SYS_getsockopt,
        &[Socket, Number(1), Number(3), Area, Words(&[16])],
    ),
    (
        libc::SYS_recvfrom,
        &[Socket, Area, Number(5), ZERO, Area, Words(&[60])],
    ),
    (libc::SYS_recvmsg, &[Socket, Message, ZERO]),
    (libc::SYS_getrandom, &[Area, Number(50), ZERO]),
    (libc::SYS_getresuid, &[Area, Area, Area]),
    (libc::SYS_getresgid, &[Area, Area, Area]),
    (libc::SYS_getgroups, &[Number(500), Area]),
    (libc::SYS_getrlimit, &[Number(7), Area]),
    (libc::SYS_prlimit64, &[ZERO, Number(7), ZERO, Area]),
    (libc::SYS_capget, &[Words(&[0x2008_0522]), Area]),
    (libc::SYS_get_robust_list, &[ZERO, Area, Area]),
    (libc::SYS_ioctl, &[Pipe, Number(0x541b), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x5401), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x5413), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x802c_542a), Area]),
    (libc::SYS_ioctl, &[Terminal, Number(0x8004_5430), Area]),
    (libc::SYS_fcntl, &[Arg::File, Number(16), Area]),
    (
        libc::SYS_fcntl,
        &[Arg::File, Number(libc::F_OFD_GETLK as u64), Words(&[0; 4])],
    ),
    (libc::SYS_prctl, &[Number(libc::PR_GET_NAME as u64), Area]),
    (
        libc::SYS_prctl,
        &[Number(libc::PR_GET_PDEATHSIG as u64), Area],
    ),
    (libc::SYS_arch_prctl, &[Number(0x1003), Area]),
    (libc::SYS_getdents, &[Folder, Area, Number(1000)]),
    (
        libc::SYS_preadv2,
        &[
            Arg::File,
            Vectors(&[(4, 3), (5, 9)]),
            Number(2),
            ZERO,
            ZERO,
            ZERO,
        ],
    ),
    (libc::SYS_fgetxattr, &[Arg::Own, NAME, Area, Number(90)]),
    (libc::SYS_flistxattr, &[Arg::Own, Area, Number(900)]),
    (libc::SYS_epoll_wait, &[Arg::Epoll, Area, Number(9), ZERO]),
    (
        libc::SYS_epoll_pwait,
        &[Arg::Epoll, Area, Number(9), ZERO, ZERO, ZERO],
    ),
    (
        libc::SYS_epoll_pwait2,
        &[Arg::Epoll, Area, Number(9), Words(&[0, 1]), ZERO, ZERO],
    ),
    (libc::SYS_wait4, &[Arg::Child, Area, ZERO, Area]),
    (
        libc::SYS_waitid,
        &[Number(1), Arg::Child, Area, Number(4), Area],
    ),
    (libc::SYS_timer_create, &[ZERO, ZERO, Area]),
    (
        libc::SYS_timer_settime,
        &[Arg::Timer, ZERO, Words(&[0, 0, 900, 0]), Area],
    ),
    (libc::SYS_timer_gettime, &[Arg::Timer, Area]),
    (
        libc::SYS_timerfd_settime,
        &[Arg::TimerFd, ZERO, Words(&[0, 0, 900, 0]), Area],
    ),
    (libc::SYS_timerfd_gettime, &[Arg::TimerFd, Area]),
    (libc::SYS_adjtimex, &[Words(&[0; 26])]),
    (libc::SYS_clock_adjtime, &[ZERO, Words(&[0; 26])]),
    (libc::SYS_pipe, &[Area]),
    (libc::SYS_pipe2, &[Area, ZERO]),
    (libc::SYS_socketpair, &[Number(1), Number(1), ZERO, Area]),
    (libc::SYS_accept, &[Arg::Listening, Area, Words(&[60])]),
    (
        libc::SYS_accept4,
        &[Arg::Listening, Area, Words(&[60]), ZERO],
    ),
    (
        libc::SYS_recvmmsg,
        &[Arg::Datagrams, Arg::Messages, Number(2), ZERO, ZERO],
    ),
    (
        libc::SYS_recvmmsg,
        &[
            Arg::Datagrams,
            Arg::Messages,
            Number(1),
            ZERO,
            Words(&[9, 0]),
        ],
    ),
    (
        libc::SYS_sendmmsg,
        &[Arg::Datagrams, Arg::Messages, Number(2), ZERO],
    ),
    (
        libc::SYS_sendfile,
        &[Arg::Writer, Arg::File, Words(&[7]), Number(9)],
    ),
    (
        libc::SYS_copy_file_range,
        &[
            Arg::File,
            Words(&[7]),
            Arg::Own,
            Words(&[8]),
            Number(9),
            ZERO,
        ],
    ),
    (
        libc::SYS_splice,
        &[Arg::File, Words(&[7]), Arg::Writer, ZERO, Number(9), ZERO],
    ),
    (libc::SYS_mincore, &[Arg::Page, Number(4096), Area]),
    (CACHESTAT, &[Arg::File, Words(&[0, 4096]), Area, ZERO]),
    (
        libc::SYS_get_mempolicy,
        &[Area, Area, Number(1024), ZERO, ZERO],
    ),
    (
        libc::SYS_move_pages,
        &[ZERO, Number(1), Arg::Page, ZERO, Area, ZERO],
    ),
    (
        libc::SYS_process_vm_readv,
        &[
            Arg::Me,
            Vectors(&[(3, 10), (4, 9)]),
            Number(2),
            Vectors(&[(5, 15)]),
            Number(1),
            ZERO,
        ],
    ),
    (
        libc::SYS_name_to_handle_at,
        &[HERE, Path(b"/proc/self/exe\0"), Words(&[128]), Area, ZERO],
    ),
    (libc::SYS_semctl, &[Arg::Semaphores, ZERO, Number(2), Area]),
    (libc::SYS_semctl, &[Arg::Semaphores, ZERO, Number(13), Area]),
    (libc::SYS_semctl, &[ZERO, ZERO, Number(3), Area]),
    (libc::SYS_semctl, &[ZERO, ZERO, Number(19), Area]),
    (libc::SYS_msgctl, &[Arg::Queue, Number(2), Area]),
    (libc::SYS_msgctl, &[ZERO, Number(3), Area]),
    (libc::SYS_msgctl, &[ZERO, Number(12), Area]),
    (
        libc::SYS_msgrcv,
        &[Arg::Queue, Area, Number(90), ZERO, ZERO],
    ),
    (libc::SYS_shmctl, &[Arg::Segment, Number(2), Area]),
    (libc::SYS_shmctl, &[ZERO, Number(3), Area]),
    (libc::SYS_shmctl, &[ZERO, Number(14), Area]),
];

const NAME: Arg = Path(b"user.stillpoint\0");
const CACHESTAT: libc::c_long = 451;

/// Calls that fail, and write all the same.
const FAILING: &[(libc::c_long, &[Arg])] = &[
    (libc::SYS_capget, &[Words(&[1]), Area]),
    (libc::SYS_capset, &[Words(&[1]), Area]),
    (libc::SYS_sched_setattr, &[ZERO, Words(&[9999]), ZERO]),
    (
        libc::SYS_name_to_handle_at,
        &[HERE, Path(b"/proc/self/exe\0"), Words(&[0]), Area, ZERO],
    ),
    (libc::SYS_nanosleep, &[Words(&[0, 2_000_000_000]), Area]),
];

/// Rows with outputs that no call here has: a signal has to be waited for, the log of the system is for few, and
/// queues of POSIX need a file system of their own. Those with paths have the same outputs as those with descriptors.
const NOT_CALLED: &[libc::c_long] = &[
    libc::SYS_rt_sigtimedwait,
    libc::SYS_syslog,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_getsetattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
];

#[test]
fn each_row_with_outputs_is_called() {
    let called = |number| {
        let mut all = CALLS.iter().chain(FAILING).map(|(number, _)| *number);
        all.any(|it| it == number)
    };
    for row in super::table::ROWS {
        let has_outputs = match row.class {
            Class::Log(outputs) | Class::Own(_, outputs) => !outputs.is_empty(),
            Class::LogBy(_) => true,
            _ => false,
        };
        assert!(
            !has_outputs || called(row.number) || NOT_CALLED.contains(&row.number),
            "{} is not compared with the kernel",
            row.name
        );
    }
}

fn read_own(addr: u64, bytes: &mut [u8]) -> usize {
    let memory = File::open("/proc/thread-self/mem").expect("own memory");
    std::os::unix::fs::FileExt::read_at(&memory, bytes, addr).unwrap_or(0)
}

/// What the arguments of a call stand for. All ends with it.
struct World {
    file: File,
    folder: File,
    own: File,
    terminal: File,
    reader: std::io::PipeReader,
    writer: std::io::PipeWriter,
    socket: UnixStream,
    _other: UnixStream,
    datagrams: UnixDatagram,
    _sender: UnixDatagram,
    listening: UnixListener,
    _connecting: UnixStream,
    epoll: OwnedFd,
    timer_fd: OwnedFd,
    timer: u64,
    child: Child,
    objects: [i32; 3],
    pages: Box<Page>,
}

#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only its address is used")] [u8; 4096]);

impl World {
    fn new() -> World {
        let terminal = File::options().read(true).write(true).open("/dev/ptmx");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"12345").expect("room in the pipe");
        let (socket, mut other) = UnixStream::pair().expect("sockets");
        other.write_all(b"1234567").expect("room in the socket");
        let (datagrams, sender) = UnixDatagram::pair().expect("sockets");
        for text in [b"first".as_slice(), b"the second"] {
            sender.send(text).expect("room in the socket");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listening = UnixListener::bind(&path).expect("a socket");
        let connecting = UnixStream::connect(&path).expect("a socket");
        let own = tempfile::tempfile().expect("a file");
        let child = Command::new("true").spawn().expect("true");
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: integers, and pointers to what lives; the descriptors are new and have no other owner.
        unsafe {
            let epoll = libc::epoll_create1(0);
            let mut event = libc::epoll_event {
                events: libc::EPOLLIN as u32,
                u64: 7,
            };
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, reader.as_raw_fd(), &mut event);
            let timer_fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
            let made = libc::syscall(
                libc::SYS_timer_create,
                libc::CLOCK_MONOTONIC,
                0,
                &raw mut timer,
            );
            assert_eq!(made, 0, "a timer");
            let private = libc::IPC_PRIVATE;
            let access = libc::IPC_CREAT | 0o600;
            let objects = [
                libc::semget(private, 2, access),
                libc::msgget(private, access),
                libc::shmget(private, 4096, access),
            ];
            libc::fsetxattr(
                own.as_raw_fd(),
                c"user.stillpoint".as_ptr(),
                b"value".as_ptr().cast(),
                5,
                0,
            );
            let message = [1_u64, u64::from_le_bytes(*b"12345678")];
            libc::msgsnd(objects[1], message.as_ptr().cast(), 5, 0);
            // It is left to be waited for.
            let mut information: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOWAIT;
            let waited = libc::waitid(libc::P_PID, child.id(), &mut information, flags);
            assert_eq!(waited, 0, "a child");
            World {
                file: File::open("/proc/self/exe").expect("a file"),
                folder: File::open("/").expect("a folder"),
                own,
                terminal: terminal.expect("a terminal"),
                reader,
                writer,
                socket,
                _other: other,
                datagrams,
                _sender: sender,
                listening,
                _connecting: connecting,
                epoll: OwnedFd::from_raw_fd(epoll),
                timer_fd: OwnedFd::from_raw_fd(timer_fd),
                timer: timer as usize as u64 & 0xffff_ffff,
                child,
                objects,
                pages: Box::new(Page([1; 4096])),
            }
        }
    }

    fn descriptor(&self, argument: Arg) -> u64 {
        let descriptor = match argument {
            Arg::File => self.file.as_raw_fd(),
            Folder => self.folder.as_raw_fd(),
            Arg::Own => self.own.as_raw_fd(),
            Pipe => self.reader.as_raw_fd(),
            Arg::Writer => self.writer.as_raw_fd(),
            Socket => self.socket.as_raw_fd(),
            Arg::Datagrams => self.datagrams.as_raw_fd(),
            Arg::Listening => self.listening.as_raw_fd(),
            Arg::Epoll => self.epoll.as_raw_fd(),
            Arg::TimerFd => self.timer_fd.as_raw_fd(),
            _ => self.terminal.as_raw_fd(),
        };
        descriptor as u64
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let [semaphores, queue, segment] = self.objects;
        // SAFETY: integers only, but for null pointers.
        unsafe {
            libc::semctl(semaphores, 0, libc::IPC_RMID);
            libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
            libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
            libc::syscall(libc::SYS_timer_delete, self.timer);
        }
        // A call may have waited for it.
        let _ = self.child.wait();
    }
}

/// Makes a call, and compares what is written. Returns its result.
fn compare(number: libc::c_long, wanted: &[Arg]) -> i64 {
    let row = row(number).expect("a row");
    let world = World::new();
    let mut memory = vec![FILL; AREA * SIX];
    let start = memory.as_mut_ptr() as u64;
    let area = |nth: usize| start + (nth * AREA) as u64;
    let mut arguments = [0; SIX];
    for (nth, argument) in wanted.iter().enumerate() {
        let mut words: Vec<u64> = Vec::new();
        arguments[nth] = match *argument {
            Number(number) => number,
            Area => area(nth),
            Words(given) => {
                words.extend(given);
                area(nth)
            }
            Vectors(areas) => {
                words.extend(areas.iter().flat_map(|(nth, len)| [area(*nth), *len]));
                area(nth)
            }
            Message => {
                let vector = area(nth) + 56;
                words.extend([area(3), 60, vector, 1, area(4), 64, 0, area(5), 6]);
                area(nth)
            }
            Arg::Messages => {
                for message in 0..2 {
                    let vector = area(nth) + 128 + 16 * message;
                    words.extend([0, 0, vector, 1, 0, 0, 0, u64::MAX]);
                }
                words.extend([area(5), 40, area(5) + 40, 40]);
                area(nth)
            }
            Arg::Page => {
                words.push(&raw const *world.pages as u64);
                match number {
                    libc::SYS_mincore => words.swap_remove(0),
                    _ => area(nth),
                }
            }
            Path(path) => path.as_ptr() as u64,
            Arg::Timer => world.timer,
            Arg::Child => u64::from(world.child.id()),
            Arg::Semaphores => world.objects[0] as u64,
            Arg::Queue => world.objects[1] as u64,
            Arg::Segment => world.objects[2] as u64,
            Arg::Me => u64::from(std::process::id()),
            descriptor => world.descriptor(descriptor),
        };
        for (word, bytes) in words.iter().zip(memory[nth * AREA..].chunks_mut(8)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    let outputs = match row.class {
        Class::Log(outputs) | Class::Own(_, outputs) => outputs,
        Class::LogBy(outputs) => outputs(&arguments).expect("a known request"),
        _ => panic!("{} has outputs", row.name),
    };
    let plan = Plan::of(outputs, &arguments, &read_own);
    let before = memory.clone();
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the pointers among the arguments are to areas that are larger than what the call may
    // write, or to constant paths; the calls change nothing else.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let written = plan.written(result, &read_own).expect("small outputs");
    for (at, (now, then)) in memory.iter().zip(&before).enumerate() {
        let addr = start + at as u64;
        let is_listed = written
            .iter()
            .any(|(from, len)| (*from..*from + *len as u64).contains(&addr));
        assert!(
            now == then || is_listed,
            "{} has written to byte {} of argument {}",
            row.name,
            at % AREA,
            at / AREA
        );
    }
    close_new(number, result, &memory);
    result
}

/// Closes the descriptors that a call has returned.
fn close_new(number: libc::c_long, result: i64, memory: &[u8]) {
    let pair = |nth: usize| {
        let words = memory[nth * AREA..].chunks_exact(4).take(2);
        let words = words.map(|word| word.try_into().map_or(-1, i32::from_le_bytes));
        words.collect()
    };
    let all: Vec<i32> = match number {
        _ if result < 0 => Vec::new(),
        libc::SYS_pipe | libc::SYS_pipe2 => pair(0),
        libc::SYS_socketpair => pair(3),
        libc::SYS_accept | libc::SYS_accept4 => vec![result as i32],
        _ => Vec::new(),
    };
    for descriptor in all {
        // SAFETY: it is new and has no other owner.
        unsafe { libc::close(descriptor) };
    }
}

#[test]
fn kernel_writes_nothing_but_the_outputs() {
    for (number, wanted) in CALLS {
        let result = compare(*number, wanted);
        let error = std::io::Error::last_os_error();
        let code = error.raw_os_error();
        // What a machine may lack: attributes of files, and calls of newer kernels or of NUMA.
        let may_lack = [libc::ENODATA, libc::ENOTSUP, libc::ENOSYS].map(Some);
        let name = super::name(*number);
        assert!(result >= 0 || may_lack.contains(&code), "{name}: {error}");
    }
}

#[test]
fn kernel_writes_nothing_else_where_calls_fail() {
    for (number, wanted) in FAILING {
        assert!(compare(*number, wanted) < 0, "{}", super::name(*number));
    }
}
