//! Names of signals, for people.

/// The name of a signal by its number (signal(7); the numbers are those of x86 and Arm).
pub fn name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let index = usize::try_from(signal).ok().and_then(|n| n.checked_sub(1));
    match index.and_then(|index| NAMES.get(index)) {
        Some(name) => format!("SIG{name}"),
        None if signal == 34 => "SIGRTMIN".to_owned(),
        None if signal > 34 => format!("SIGRTMIN+{}", signal - 34),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names() {
        assert_eq!(name(11), "SIGSEGV");
        assert_eq!(name(31), "SIGSYS");
        assert_eq!(name(37), "SIGRTMIN+3");
        assert_eq!(name(0), "signal 0");
    }
}
