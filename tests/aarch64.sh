#!/usr/bin/env bash
# Builds the debugger and its tests for aarch64 Linux on this x86-64 machine, runs the tests in virtual
# machines, and ends with a table: tests passed, failed and left out, per file. Fails if one fails.
#   aarch64.sh                      all files of black-box tests
#   aarch64.sh breakpoints calls    these
#   aarch64.sh unit                 the unit tests of all crates
#   aarch64.sh run COMMAND…         a command in the guest, in the repository's folder, e.g.
#                                   target/aarch64-unknown-linux-gnu/debug/stillpoint --help
#   aarch64.sh shell                a shell in the guest
# $FILTER: only tests whose names contain this. $MACHINES: how many virtual machines (2). $CPU: QEMU's name
# of the processor. $LIMIT: seconds that a file may take (3600). $CACHE: where the image is kept.
# Needs Debian 12 or later, or Ubuntu; installs what is missing of QEMU and cross compilers.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd -P)/aarch64"
source "$here/common.sh"
source "$here/image.sh"
source "$here/vm.sh"

prepare() {
    local packages=() root_rights=()
    has qemu-system-aarch64 || packages+=(qemu-system-arm)
    has aarch64-linux-gnu-gcc || packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    has aarch64-linux-gnu-g++ || packages+=(g++-aarch64-linux-gnu)
    has clang++ || packages+=(clang)
    has cpio || packages+=(cpio)
    if [ ${#packages[@]} != 0 ]; then
        [ "$(id -u)" = 0 ] || root_rights=(sudo)
        "${root_rights[@]}" apt-get update -qq &&
            "${root_rights[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null ||
            missing "${packages[*]}"
    fi
    rustup target add "$TARGET" 2>/dev/null || [ -d "$(rustc --print sysroot)/lib/rustlib/$TARGET" ] ||
        missing "rustc's standard library for $TARGET"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    make_image
}

# build PACKAGE…: builds the debugger and the packages' tests, and prints `NAME EXECUTABLE` of each. The
# debugger is optimized somewhat, since it is emulated.
build() {
    local crate package arguments=(--quiet --target "$TARGET")
    for crate in stillpoint stillpoint-engine stillpoint-dwarf; do
        arguments+=(--config "profile.dev.package.$crate.opt-level=1")
    done
    cd "$root"
    cargo build "${arguments[@]}" -p stillpoint >&2
    for package in "$@"; do arguments+=(-p "$package"); done
    cargo test "${arguments[@]}" --no-run --message-format=json |
        sed -n 's/.*"target":{"kind":.*"name":"\([^"]*\)".*"test":true.*"executable":"\([^"]*\)".*/\1 \2/p'
}

# enqueue NAME: makes a job of the script on stdin.
enqueue() { cat >"$queue/$1.job"; }

environment() {
    cat <<JOB
export RUST_BACKTRACE=1 RUST_LOG="${RUST_LOG-}" TMPDIR="$work/tmp"
export STILLPOINT="$root/target/$TARGET/debug/stillpoint" STILLPOINT_PATIENCE=10
cd "$root/tests"
JOB
}

# Runs the machines until the queue is empty.
work_off() {
    local machine machines=()
    for machine in $(seq "${MACHINES:-2}"); do
        vm "vm$machine" "$queue" </dev/null &
        machines+=($!)
    done
    trap 'kill "${machines[@]}" 2>/dev/null || true' EXIT
    wait "${machines[@]}" || true
    trap - EXIT
}

# One line of the table per job.
report() {
    local job name log code seconds counts failed=0
    printf '%-28s %6s %6s %6s %8s\n' "" passed failed left-out seconds
    for job in "$queue"/*.job; do
        name="$(basename "$job" .job)" log="$queue/$(basename "$job" .job).log"
        code="$(cat "$queue/$name.code" 2>/dev/null || echo none)"
        seconds="$(cat "$queue/$name.taken"/{start,end} 2>/dev/null | awk 'NR == 1 {s = $1} END {printf "%d", $1 - s}')"
        counts="$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored.*/\1 \2 \3/p' "$log" 2>/dev/null | tail -n 1)"
        read -r passed bad ignored <<<"${counts:-0 - 0}"
        printf '%-28s %6s %6s %6s %8s\n' "$name" "$passed" "$bad" "$ignored" "$seconds"
        if [ "$code" != 0 ]; then
            failed=1
            sed -n 's/^test \(.*\) \.\.\. FAILED$/    \1/p' "$log" 2>/dev/null
            [ -n "$counts" ] || echo "    ended without a result (exit code $code): $log"
        fi
    done
    return $failed
}

prepare
work="$root/target/$TARGET/vm"
mkdir -p "$work/tmp"
queue="$(mktemp -d "$work/queue-XXXXXX")"
case ${1-} in
shell)
    vm shell shell
    ;;
run)
    shift
    { environment; printf 'cd %q\n' "$PWD"; printf '%q ' "$@"; } | enqueue run
    MACHINES=1 work_off
    cat "$queue/run.log"
    exit "$(cat "$queue/run.code")"
    ;;
*)
    say "building"
    packages=(stillpoint-tests)
    if [ "${1-}" = unit ]; then
        packages=(stillpoint-dwarf stillpoint-engine stillpoint)
        shift
    fi
    while read -r name executable; do
        [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
        { environment; echo "timeout ${LIMIT:-3600} $executable ${FILTER-}"; } | enqueue "$name"
    done < <(build "${packages[@]}")
    say "logs in $queue"
    work_off
    report
    ;;
esac
