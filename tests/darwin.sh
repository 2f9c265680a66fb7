#!/usr/bin/env bash
# Compiles for macOS on this x86-64 Linux machine, for both of its processors. Nothing is run: that is
# tests/macos.sh, on a Mac.
#   darwin.sh check    type-checks the whole workspace
#   darwin.sh link     builds and links the debugger, and looks at the executables
#   darwin.sh tools    only installs Zig's compiler, which has Apple's headers
#   darwin.sh simulated [FILE…]   runs these files of the black-box tests, or all, with the backend for
#                      macOS over Mach calls that are simulated on Linux, but for darwin/left-out.txt
# $TARGET: only this one. $CACHE: where the tools are kept. $CARGO_TARGET_DIR: where to build.
# Needs python3 with pip, and rustup or Debian's packages.
set -euo pipefail
source "$(cd "$(dirname "$0")" && pwd -P)/darwin/toolchain.sh"

targets=("${TARGETS[@]}")
[ -z "${TARGET-}" ] || targets=("$TARGET")

# build TARGET SUBCOMMAND ARGUMENTS…
build() {
    local target="$1" variable linker
    shift
    linker="$(linker "$target")"
    variable="$(tr a-z- A-Z_ <<<"$target")"
    env "CARGO_TARGET_${variable}_LINKER=$linker" "CC_${target//-/_}=$linker" CARGO_PROFILE_DEV_DEBUG=false \
        "${cargo[@]}" "$@" --target "$target" "${cargo_flags[@]}"
}

# expect_executable FILE TARGET: fails unless it is an executable of 64-bit Mach-O for that processor.
expect_executable() {
    local processor=0000000c header
    [ "$2" = aarch64-apple-darwin ] || processor=00000007
    # The magic number, the low half of the processor's number, and the type of the file (MH_EXECUTE).
    header="$(od -An -v -tx4 -N16 "$1" | awk '{print $1, $2, $4}')"
    if [ "$header" != "feedfacf 01${processor#00} 00000002" ]; then
        say "$1 is no executable for $2: $header"
        return 1
    fi
    say "$1: $(wc -c <"$1") bytes"
}

# left_out FILE: prints the arguments that leave out what left-out.txt lists of a file of tests.
left_out() {
    sed -n "s/^$1::\([a-z0-9_:]*\): .*/--skip \1/p" "$root/tests/darwin/left-out.txt" | tr '\n' ' '
}

# simulated [FILE…]: one line per file of tests, and the names of those that fail. Exits with 1 if any does.
simulated() {
    local target="${CARGO_TARGET_DIR:-$root/target}" file name log failed=0
    cd "$root"
    # With the features of the whole workspace, the dependencies are those of `cargo test --workspace`.
    cargo build --quiet --workspace --bins --features stillpoint/simulated-mach --target-dir "$target"
    mkdir -p "$target/simulated-mach"
    cp "$target/debug/stillpoint" "$target/simulated-mach/"
    cargo build --quiet --workspace --bins --target-dir "$target"
    log="$(mktemp)"
    if [ $# = 0 ]; then
        for file in tests/tests/*.rs tests/tests/*/main.rs; do
            name="${file#tests/tests/}" name="${name%/main.rs}" name="${name%.rs}"
            grep -q "^$name: " tests/darwin/left-out.txt || set -- "$@" "$name"
        done
    fi
    # Only these: a file takes seconds to link.
    cargo test --quiet -p stillpoint-tests --no-run "${@/#/--test=}"
    for name; do
        # shellcheck disable=SC2046
        if STILLPOINT="$target/simulated-mach/stillpoint" cargo test --quiet -p stillpoint-tests \
            --test "$name" -- --include-ignored $(left_out "$name") >"$log" 2>&1; then
            printf '%-24s %s\n' "$name" "$(sed -n 's/^test result: ok. \([0-9]* passed\).*filtered.*/\1/p' "$log" | tail -n 1)"
        else
            failed=1
            printf '%-24s FAILED\n' "$name"
            sed -n 's/^    \([a-z0-9_:]*\)$/    \1/p' "$log" | sort -u
            cp "$log" "$target/simulated-mach/$name.log"
        fi
    done
    rm -f "$log"
    return $failed
}

case "${1-}" in
check)
    install_zig
    rust
    cd "$root"
    for target in "${targets[@]}"; do build "$target" check --workspace; done
    ;;
link)
    install_zig
    rust
    cd "$root"
    for target in "${targets[@]}"; do
        build "$target" build -p stillpoint
        expect_executable "$CARGO_TARGET_DIR/$target/debug/stillpoint" "$target"
    done
    ;;
tools) install_zig ;;
simulated)
    shift
    simulated "$@"
    ;;
*)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
    ;;
esac
