# What the scripts of this folder share. Sourced by tests/aarch64.sh.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)"
CACHE="${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint-aarch64}"
TARGET=aarch64-unknown-linux-gnu
MUSL=aarch64-unknown-linux-musl

say() { echo "aarch64: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }
# Ends the script: exit code 77 says that something is missing that cannot be had here.
missing() {
    say "missing: $1"
    exit 77
}
