#!/usr/bin/env bash
# Compiles for macOS on this x86-64 Linux machine, for both of its processors. Nothing is run: that is
# tests/macos.sh, on a Mac.
#   darwin.sh check    type-checks the whole workspace
#   darwin.sh link     builds and links the debugger, and looks at the executables
#   darwin.sh tools    only installs Zig's compiler, which has Apple's headers
#   darwin.sh simulated [MODULE…]   runs these modules of the black-box tests, or all, with the backend for
#                      macOS over Mach calls that are simulated on Linux, but for darwin/left-out.txt
# $TARGET: only this one. $CACHE: where the tools are kept. $CARGO_TARGET_DIR: where to build.
# Needs python3 with pip, and rustup or Debian's packages.
set -euo pipefail
source "$(cd "$(dirname "$0")" && pwd -P)/darwin/toolchain.sh"
source "$root/tests/modules.sh"

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

# simulated [MODULE…]: one line per module of tests, and the names of those that fail. Exits with 1 if any does.
simulated() {
    local target="${CARGO_TARGET_DIR:-$root/target}" list="$root/tests/darwin/left-out.txt" file name log tests failed=0
    cd "$root"
    # With the features of the whole workspace, the dependencies are those of `cargo test --workspace`.
    cargo build --quiet --workspace --bins --features stillpoint/simulated-mach --target-dir "$target"
    mkdir -p "$target/simulated-mach"
    cp "$target/debug/stillpoint" "$target/simulated-mach/"
    cargo build --quiet --workspace --bins --target-dir "$target"
    if [ $# = 0 ]; then
        for file in tests/tests/*.rs tests/tests/*/mod.rs; do
            name="${file#tests/tests/}" name="${name%/mod.rs}" name="${name%.rs}"
            grep -q "^$name: " "$list" || [ "$name" = main ] || set -- "$@" "$name"
        done
    fi
    black_box="$(cargo test --quiet --workspace --test black_box --no-run --message-format=json --target-dir "$target" |
        sed -n 's/.*"executable":"\([^"]*\/black_box-[^"]*\)".*/\1/p')"
    log="$target/simulated-mach/black_box.log"
    mapfile -t tests < <(for name; do tests_of "$black_box" "$list" "$name"; done)
    cd tests
    STILLPOINT="$target/simulated-mach/stillpoint" "$black_box" --include-ignored --exact "${tests[@]}" >"$log" 2>&1 || failed=1
    sed -n 's/^test \([a-z0-9_]*\)::.*\.\.\. \(ok\|FAILED\).*/\1 \2/p' "$log" | sort | uniq -c |
        awk '{printf "%-24s %4d %s\n", $2, $1, $3 == "ok" ? "passed" : "FAILED"}'
    if [ $failed != 0 ]; then
        sed -n 's/^    \([a-z0-9_:]*\)$/    \1/p' "$log" | sort -u
        say "log in $log"
    fi
    return $failed
}

case "${1-}" in
check)
    install_zig
    rust
    cd "$root"
    for target in "${targets[@]}"; do build "$target" check --quiet --workspace; done
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
