#!/usr/bin/env bash
# Runs all tests of this machine: installs what they need (Debian, Ubuntu; elsewhere it says what is missing),
# builds, compiles the fixtures, and runs the unit tests and the black-box tests.
#   tests/run.sh                     all
#   tests/run.sh breakpoints::hit    the black-box tests whose names contain this
#   tests/run.sh packages            only installs
# $RUST_TEST_THREADS: how many black-box tests run at once (twice the processors; most of the time they wait).
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/section.sh

has() { command -v "$1" >/dev/null 2>&1; }
# Whether clang links a C++ program with more arguments.
clang_links() { echo 'int main() {}' | clang++ "$@" -x c++ -o /dev/null - 2>/dev/null; }
# install PACKAGE…: installs packages, or says that they are missing: a test that needs one is skipped.
install() {
    local root=()
    [ $# != 0 ] || return 0
    if ! has apt-get; then
        echo "missing, in Debian's names: $*; tests that need them are skipped" >&2
        return 0
    fi
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq &&
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" ||
        echo "cannot be installed: $*; tests that need them are skipped" >&2
}

packages() {
    local packages=()
    if ! has gcc || ! has g++ || [ ! -e /usr/include/stdio.h ]; then packages+=(gcc g++ libc6-dev); fi
    has clang++ || packages+=(clang)
    has gdb || packages+=(gdb)
    has ld.lld || packages+=(lld)
    has llvm-objdump && has llvm-dwarfdump || packages+=(llvm)
    has readelf || packages+=(binutils)
    has musl-gcc || packages+=(musl-tools)
    has dwz || packages+=(dwz)
    has zstd || packages+=(zstd)
    has lz4 || packages+=(lz4)
    install "${packages[@]}"
    packages=()
    clang_links -stdlib=libc++ || packages+=(libc++-dev libc++abi-dev)
    clang_links -fsanitize=address || packages+=("libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev")
    install "${packages[@]}"
    # dsymutil of an older release loses names in DWARF 5; not every distribution has this one.
    [ -e /usr/lib/llvm-19/bin/dsymutil ] || install llvm-19
    # An older linker writes no unwind information for some functions.
    [ -e /usr/lib/llvm-19/bin/ld64.lld ] || install lld-19
}

section "packages"
packages
if [ "${1-}" = packages ]; then exit; fi
if ! has cargo; then
    echo "no cargo: install Rust 1.95 or later, from https://rustup.rs" >&2
    exit 1
fi

# All of them name the workspace: what is built has the same features then, and is built once.
section "build"
cargo test --quiet --workspace --no-run
cargo build --quiet --workspace --bins
section "fixtures"
"${CARGO_TARGET_DIR:-target}/debug/fixtures"
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"
if [ $# != 0 ]; then
    section "black-box tests"
    cargo test --quiet --workspace --test black_box -- "$@"
    exit
fi
section "unit tests"
cargo test --quiet --workspace --lib --bins
cargo test --quiet --workspace --doc
section "black-box tests"
# At once: this one keeps one processor busy, and the others wait most of the time.
levels="$(mktemp)"
cargo test --workspace --test stepping_levels >"$levels" 2>&1 &
code=0
cargo test --workspace --test '*' -- --skip lines_are_what_instructions_pass || code=$?
wait $! || code=$?
cat "$levels"
rm "$levels"
exit $code
