//! Constants of the C library that its headers define as macros, for programs whose debug info lacks macros:
//! `INT_MAX`, `DBL_EPSILON`, `ENOENT`. Only those are known whose value and type all C libraries of a system
//! and all options of a compiler agree on: neither `CHAR_MAX` (`-funsigned-char`) nor `BUFSIZ`.

use super::c_library;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::mask;
use dwarf::{CTypes, Headers};

/// What all systems with 64-bit `long` agree on: in each line a type, then names and values; an integer that
/// begins with 0 is octal.
const COMMON: &str = "
int: CHAR_BIT 8, SCHAR_MIN -128, SCHAR_MAX 127, UCHAR_MAX 255, SHRT_MIN -32768, SHRT_MAX 32767
int: USHRT_MAX 65535, INT_MIN -2147483648, INT_MAX 2147483647, INT8_MIN -128, INT8_MAX 127
int: UINT8_MAX 255, INT16_MIN -32768, INT16_MAX 32767, UINT16_MAX 65535, INT32_MIN -2147483648
int: INT32_MAX 2147483647, EOF -1, SEEK_SET 0, SEEK_CUR 1, SEEK_END 2, RAND_MAX 2147483647
int: EXIT_SUCCESS 0, EXIT_FAILURE 1, FLT_RADIX 2, FLT_MANT_DIG 24, FLT_DIG 6, FLT_MIN_EXP -125
int: FLT_MAX_EXP 128, FLT_MIN_10_EXP -37, FLT_MAX_10_EXP 38, DBL_MANT_DIG 53, DBL_DIG 15
int: DBL_MIN_EXP -1021, DBL_MAX_EXP 1024, DBL_MIN_10_EXP -307, DBL_MAX_10_EXP 308, STDIN_FILENO 0
int: STDOUT_FILENO 1, STDERR_FILENO 2
unsigned int: UINT_MAX 4294967295, UINT32_MAX 4294967295
long: LONG_MIN -9223372036854775808, LONG_MAX 9223372036854775807, INTMAX_MIN -9223372036854775808
long: INTMAX_MAX 9223372036854775807, INTPTR_MIN -9223372036854775808
long: INTPTR_MAX 9223372036854775807, PTRDIFF_MIN -9223372036854775808
long: PTRDIFF_MAX 9223372036854775807
unsigned long: ULONG_MAX 18446744073709551615, UINTMAX_MAX 18446744073709551615
unsigned long: UINTPTR_MAX 18446744073709551615, SIZE_MAX 18446744073709551615
long long: LLONG_MIN -9223372036854775808, LLONG_MAX 9223372036854775807
unsigned long long: ULLONG_MAX 18446744073709551615
float: FLT_MAX 3.4028234663852886e+38, FLT_MIN 1.1754943508222875e-38
float: FLT_EPSILON 1.1920928955078125e-07, HUGE_VALF inf, INFINITY inf, NAN nan
double: DBL_MAX 1.7976931348623157e+308, DBL_MIN 2.2250738585072014e-308
double: DBL_EPSILON 2.2204460492503131e-16, HUGE_VAL inf, M_E 2.7182818284590451
double: M_LOG2E 1.4426950408889634, M_LOG10E 0.43429448190325182, M_LN2 0.69314718055994529
double: M_LN10 2.3025850929940459, M_PI 3.1415926535897931, M_PI_2 1.5707963267948966
double: M_PI_4 0.78539816339744828, M_1_PI 0.31830988618379069, M_2_PI 0.63661977236758138
double: M_2_SQRTPI 1.1283791670955126, M_SQRT2 1.4142135623730951, M_SQRT1_2 0.70710678118654757
";

/// Further constants in the headers of Linux, for x86-64 and AArch64.
const LINUX: &str = "
long: INT64_MIN -9223372036854775808, INT64_MAX 9223372036854775807, SSIZE_MAX 9223372036854775807
long: CLOCKS_PER_SEC 1000000
unsigned long: UINT64_MAX 18446744073709551615
int: PATH_MAX 4096, NAME_MAX 255, IOV_MAX 1024, PIPE_BUF 4096, EPERM 1, ENOENT 2, ESRCH 3, EINTR 4
int: EIO 5, ENXIO 6, E2BIG 7, ENOEXEC 8, EBADF 9, ECHILD 10, EAGAIN 11, EWOULDBLOCK 11, ENOMEM 12
int: EACCES 13, EFAULT 14, ENOTBLK 15, EBUSY 16, EEXIST 17, EXDEV 18, ENODEV 19, ENOTDIR 20
int: EISDIR 21, EINVAL 22, ENFILE 23, EMFILE 24, ENOTTY 25, ETXTBSY 26, EFBIG 27, ENOSPC 28
int: ESPIPE 29, EROFS 30, EMLINK 31, EPIPE 32, EDOM 33, ERANGE 34, EDEADLK 35, ENAMETOOLONG 36
int: ENOLCK 37, ENOSYS 38, ENOTEMPTY 39, ELOOP 40, ENOMSG 42, EIDRM 43, ENOSTR 60, ENODATA 61
int: ETIME 62, ENOSR 63, ENOLINK 67, EPROTO 71, EMULTIHOP 72, EBADMSG 74, EOVERFLOW 75, EILSEQ 84
int: EUSERS 87, ENOTSOCK 88, EDESTADDRREQ 89, EMSGSIZE 90, EPROTOTYPE 91, ENOPROTOOPT 92
int: EPROTONOSUPPORT 93, ESOCKTNOSUPPORT 94, ENOTSUP 95, EOPNOTSUPP 95, EPFNOSUPPORT 96
int: EAFNOSUPPORT 97, EADDRINUSE 98, EADDRNOTAVAIL 99, ENETDOWN 100, ENETUNREACH 101, ENETRESET 102
int: ECONNABORTED 103, ECONNRESET 104, ENOBUFS 105, EISCONN 106, ENOTCONN 107, ESHUTDOWN 108
int: ETOOMANYREFS 109, ETIMEDOUT 110, ECONNREFUSED 111, EHOSTDOWN 112, EHOSTUNREACH 113
int: EALREADY 114, EINPROGRESS 115, ESTALE 116, EDQUOT 122, ECANCELED 125, EOWNERDEAD 130
int: ENOTRECOVERABLE 131, SIGHUP 1, SIGINT 2, SIGQUIT 3, SIGILL 4, SIGTRAP 5, SIGABRT 6, SIGBUS 7
int: SIGFPE 8, SIGKILL 9, SIGUSR1 10, SIGSEGV 11, SIGUSR2 12, SIGPIPE 13, SIGALRM 14, SIGTERM 15
int: SIGCHLD 17, SIGCONT 18, SIGSTOP 19, SIGTSTP 20, SIGTTIN 21, SIGTTOU 22, SIGURG 23, SIGXCPU 24
int: SIGXFSZ 25, SIGVTALRM 26, SIGPROF 27, SIGWINCH 28, SIGPOLL 29, SIGSYS 31, O_RDONLY 0
int: O_WRONLY 1, O_RDWR 2, O_CREAT 0100, O_EXCL 0200, O_NOCTTY 0400, O_TRUNC 01000, O_APPEND 02000
int: O_NONBLOCK 04000, O_CLOEXEC 02000000, F_OK 0, R_OK 4, W_OK 2, X_OK 1, S_IFMT 0170000
int: S_IFSOCK 0140000, S_IFLNK 0120000, S_IFREG 0100000, S_IFBLK 060000, S_IFDIR 040000
int: S_IFCHR 020000, S_IFIFO 010000, S_ISUID 04000, S_ISGID 02000, S_ISVTX 01000, S_IRWXU 0700
int: S_IRUSR 0400, S_IWUSR 0200, S_IXUSR 0100, S_IRWXG 070, S_IRGRP 040, S_IWGRP 020, S_IXGRP 010
int: S_IRWXO 07, S_IROTH 04, S_IWOTH 02, S_IXOTH 01, AF_UNSPEC 0, AF_UNIX 1, AF_INET 2, AF_INET6 10
int: POLLIN 1, POLLPRI 2, POLLOUT 4, POLLERR 8, POLLHUP 16, POLLNVAL 32, WNOHANG 1, WUNTRACED 2
int: PROT_NONE 0, PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4, MAP_SHARED 1, MAP_PRIVATE 2, MAP_FIXED 16
int: MAP_ANONYMOUS 32, CLOCK_REALTIME 0, CLOCK_MONOTONIC 1, LOG_EMERG 0, LOG_ALERT 1, LOG_CRIT 2
int: LOG_ERR 3, LOG_WARNING 4, LOG_NOTICE 5, LOG_INFO 6, LOG_DEBUG 7
void *: MAP_FAILED -1
";

/// Further constants in the headers of Apple's systems.
const APPLE: &str = "
long long: INT64_MIN -9223372036854775808, INT64_MAX 9223372036854775807
unsigned long long: UINT64_MAX 18446744073709551615
";

/// Returns whether the headers of some system define a constant of that name.
pub(crate) fn has(name: &str) -> bool {
    let mut all = [COMMON, LINUX, APPLE].into_iter().flat_map(rows);
    all.any(|(_, it, _)| it == name)
}

/// Returns the type and the bits of a constant by its name; `None` if the headers of the program's system
/// define none, or it is not known which they are.
pub(super) fn named(name: &str, types: CTypes) -> Option<(Ty, u128)> {
    let own = match types.headers {
        Headers::Linux => LINUX,
        Headers::Apple => APPLE,
        Headers::Unknown => return None,
    };
    let name = predefined(name).unwrap_or(name);
    let mut rows = rows(COMMON).chain(rows(own));
    let (ty, _, value) = rows.find(|(_, it, _)| *it == name)?;
    let bits = match ty {
        "float" => u128::from(value.parse::<f32>().ok()?.to_bits()),
        "double" => u128::from(value.parse::<f64>().ok()?.to_bits()),
        _ => integer(value)? as u128,
    };
    let ty = c_library::ty(ty, types)?;
    let size = u8::try_from(ty.size()?).ok()?;
    Some((ty, bits & mask(size)))
}

/// Returns the name of the constant that headers define by a compiler's own macro: `INT_MAX` by `__INT_MAX__`. clang
/// records no macros of its own.
pub(super) fn predefined(name: &str) -> Option<&str> {
    let plain = name.strip_prefix("__")?.strip_suffix("__")?;
    let families = ["_MAX", "_MIN", "_BIT", "_DIG", "_EXP", "_EPSILON", "_RADIX"];
    let is_limit = families.iter().any(|it| plain.ends_with(it));
    is_limit.then_some(match plain {
        "LONG_LONG_MAX" => "LLONG_MAX",
        plain => plain,
    })
}

/// Returns the name of the constant that headers define by a function that all compilers compute: `INFINITY` by
/// `__builtin_inff()`.
pub(super) fn computed(function: &str) -> Option<&'static str> {
    Some(match function {
        "__builtin_inff" | "__builtin_huge_valf" => "INFINITY",
        "__builtin_inf" | "__builtin_huge_val" => "HUGE_VAL",
        "__builtin_nanf" => "NAN",
        _ => return None,
    })
}

/// Returns the types, names and values of a table.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = table.lines().filter_map(|line| line.split_once(": "));
    lines.flat_map(|(ty, row)| {
        let pairs = row.split(", ").filter_map(|it| it.split_once(' '));
        pairs.map(move |(name, value)| (ty, name, value))
    })
}

/// Returns the value of an integer in a table.
fn integer(text: &str) -> Option<i128> {
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => i128::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use dwarf::Machine;
    use std::process::Command;

    const HEADERS: [&str; 18] = [
        "errno",
        "fcntl",
        "float",
        "limits",
        "math",
        "poll",
        "signal",
        "stdint",
        "stdio",
        "stdlib",
        "string",
        "syslog",
        "time",
        "unistd",
        "sys/mman",
        "sys/socket",
        "sys/stat",
        "sys/wait",
    ];

    /// The compiler finds these types and bits. `musl-gcc` is asked, too, where there is one.
    #[test]
    #[cfg(target_os = "linux")]
    fn constants_are_those_of_the_headers() {
        let types = Arch::default().machine().c_types();
        let mut source = String::from("#define _GNU_SOURCE\n");
        for header in HEADERS {
            source += &format!("#include <{header}.h>\n");
        }
        source += "int main(void) {\n";
        for (ty, name, value) in rows(COMMON).chain(rows(LINUX)) {
            let (_, bits) = named(name, types).expect(value);
            source += &format!(
                "{{ __typeof__({name}) it = {name}; unsigned long long bits = 0;\n\
                 memcpy(&bits, &it, sizeof it);\n\
                 if (!_Generic(it, {ty}: 1, default: 0) || bits != {bits}ull) puts(\"{name}\"); }}\n"
            );
        }
        source += "}\n";
        let folder = tempfile::tempdir().expect("a folder");
        let (file, program) = (folder.path().join("it.c"), folder.path().join("it"));
        std::fs::write(&file, source).expect("written");
        for compiler in ["gcc", "musl-gcc"] {
            let mut command = Command::new(compiler);
            let built = command.args(["-std=gnu11", "-o"]).arg(&program).arg(&file);
            let Ok(built) = built.output() else {
                continue;
            };
            let said = String::from_utf8_lossy(&built.stderr);
            assert!(built.status.success(), "{compiler}: {said}");
            let ran = Command::new(&program).output().expect("it runs");
            let wrong = String::from_utf8_lossy(&ran.stdout);
            assert!(
                ran.status.success() && wrong.is_empty(),
                "{compiler}: {wrong}"
            );
        }
    }

    #[test]
    fn each_name_is_in_one_row_of_a_system() {
        for own in [LINUX, APPLE] {
            let names: Vec<_> = rows(COMMON).chain(rows(own)).map(|it| it.1).collect();
            let unlike: std::collections::HashSet<_> = names.iter().collect();
            assert_eq!(unlike.len(), names.len());
            assert!(names.iter().all(|it| has(it)));
        }
    }

    #[test]
    fn systems_differ() {
        let types = Arch::default().machine().c_types();
        let of = |name, headers| {
            let (ty, bits) = named(name, CTypes { headers, ..types })?;
            Some(format!("{} {bits}", ty.name()))
        };
        let is = |name, headers, expected: Option<&str>| {
            assert_eq!(of(name, headers).as_deref(), expected, "{name}");
        };
        let most = i64::MAX;
        is("INT64_MAX", Headers::Linux, Some(&format!("long {most}")));
        is(
            "INT64_MAX",
            Headers::Apple,
            Some(&format!("long long {most}")),
        );
        is("EAGAIN", Headers::Linux, Some("int 11"));
        is("EAGAIN", Headers::Apple, None);
        is("S_IFMT", Headers::Linux, Some("int 61440"));
        is("INT_MAX", Headers::Apple, Some("int 2147483647"));
        is("CHAR_MAX", Headers::Linux, None);
        is("__INT_MAX__", Headers::Apple, Some("int 2147483647"));
        let longest = format!("long long {most}");
        is("__LONG_LONG_MAX__", Headers::Linux, Some(&longest));
        is("__EOF__", Headers::Linux, None);
        assert!(named("INT_MAX", Machine::Other(3).c_types()).is_none());
    }
}
