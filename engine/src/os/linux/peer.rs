//! The user at the other end of a connection on this machine.

use nix::sys::socket::{getsockopt, sockopt};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixStream;

/// The kernel's code for an established connection.
const ESTABLISHED: &str = "01";

/// Returns the user that connected the other end of a Unix socket.
///
/// # Errors
/// The system does not say.
pub fn user_of_unix_peer(socket: &UnixStream) -> io::Result<u32> {
    Ok(getsockopt(socket, sockopt::PeerCredentials)?.uid())
}

/// Returns the user that owns the `peer` end of a connection whose `local` end is ours. `None` if
/// the kernel does not know: the peer is on another machine or in another network namespace, or has
/// closed.
pub fn user_of_peer(local: SocketAddr, peer: SocketAddr) -> Option<u32> {
    let (local, peer) = (canonical(local), canonical(peer));
    let table = |file: &str| fs::read_to_string(format!("/proc/self/net/{file}")).ok();
    // An IPv6 socket may have an IPv4 connection.
    let files: &[&str] = match peer.is_ipv4() {
        true => &["tcp", "tcp6"],
        false => &["tcp6"],
    };
    files
        .iter()
        .find_map(|file| user_in(&table(file)?, peer, local))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Returns the owner of the open socket at `from` that is connected to `to`, from the kernel's
/// table.
fn user_in(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    let names = |address: SocketAddr| [written(address, false), written(address, true)];
    let (from, to) = (names(from), names(to));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let fits = |names: &[String; 2], field: &str| names.iter().any(|name| name == field);
        if !fits(&from, local) || !fits(&to, remote) || state != ESTABLISHED {
            return None;
        }
        // The user follows queues, timers and the number of retransmissions.
        let user = fields.nth(3)?.parse().ok()?;
        let inode: u64 = fields.nth(1)?.parse().ok()?;
        // For a socket without a process the kernel shows user 0 and inode 0.
        (inode != 0).then_some(user)
    })
}

/// Formats an address as in the kernel's tables: words in native byte order in hex; IPv4 as such,
/// or (`mapped`) as an IPv6 address.
fn written(address: SocketAddr, mapped: bool) -> String {
    let bytes: &[u8] = match (address.ip(), mapped) {
        (IpAddr::V4(ip), false) => &ip.octets(),
        (IpAddr::V4(ip), true) => &ip.to_ipv6_mapped().octets(),
        (IpAddr::V6(ip), _) => &Ipv6Addr::octets(&ip),
    };
    let mut text = String::new();
    for word in bytes.chunks_exact(4) {
        let word = word.try_into().map_or(0, u32::from_ne_bytes);
        // Writing to a String cannot fail.
        let _ = write!(text, "{word:08X}");
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener, TcpStream};

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20 1 0
   1: 0100007F:1267 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 21 1 0
   2: 0100007F:9C40 0100007F:1267 01 00000000:00000000 00:00000000 00000000  1000        0 22 1 0
   3: 0100007F:9C41 0100007F:1267 06 00000000:00000000 03:00000FA0 00000000     0        0 0 3 0
   4: 0100007F:9C42 0100007F:1267 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0
   5: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:1267 01 0:0 0:0 0 7 0 9
";

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn peer_is_found_in_the_table() {
        let ours = at(0x1267);
        assert_eq!(user_in(TABLE, at(0x9c40), ours), Some(1000));
        // Closed, without a process, or missing.
        for port in [0x9c41, 0x9c42, 0x9c44] {
            assert_eq!(user_in(TABLE, at(port), ours), None, "{port:x}");
        }
        assert_eq!(user_in(TABLE, at(0x9c43), ours), Some(7));
        assert_eq!(user_in("", at(0x9c40), ours), None);
        assert_eq!(user_in("x\ny z\n", at(0x9c40), ours), None);
    }

    #[test]
    fn kernel_reports_our_socket() {
        let us = nix::unistd::getuid().as_raw();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let there = listener.local_addr().unwrap();
            let client = TcpStream::connect(there).unwrap();
            let (_accepted, peer) = listener.accept().unwrap();
            assert_eq!(user_of_peer(there, peer), Some(us), "{address}");
            // A process that another test has just forked may have it open, too.
            client.shutdown(Shutdown::Both).unwrap();
            assert_eq!(user_of_peer(there, peer), None, "{address}");
        }
    }
}
