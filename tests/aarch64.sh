#!/usr/bin/env bash
# Builds the debugger and its tests for aarch64 Linux on this x86-64 machine, runs the tests in virtual
# machines, and ends with a table: tests passed, failed and left out, per file. Fails if one fails.
#   aarch64.sh                      all modules of black-box tests
#   aarch64.sh breakpoints calls    these
#   aarch64.sh unit                 the unit tests of all crates
#   aarch64.sh selection            some of the files, with two builds of each program instead of six; also type-checks
#                                   the debugger with musl: what CI runs of a change
#   aarch64.sh code                 the unit tests that execute machine code
#   aarch64.sh wide                 what CI runs at night instead of these two: all unit tests of machine code and more
#                                   of the files; also builds the debugger with musl
#   aarch64.sh run COMMAND…         a command in the guest, in the repository's folder, e.g.
#                                   target/aarch64-unknown-linux-gnu/debug/stillpoint --help
#   aarch64.sh stress zlib bzip2    rounds of tests/benches/stress.rs, whose variables apply, with these parts of
#                                   tests/stress/programs.sh: some that are short also where they are emulated
#   aarch64.sh shell                a shell in the guest
#   aarch64.sh check                type-checks everything
#   aarch64.sh build                only builds the debugger, with glibc and with musl
# $FILTER: only tests whose names contain this. $MACHINES: how many virtual machines (2). $CPU: QEMU's name
# of the processor, $MACHINE: of the machine. $LIMIT: seconds that a file may take (3600). $CACHE: where the image is kept.
# Needs Debian 12 or later, or Ubuntu; installs what is missing of QEMU and cross compilers.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd -P)/aarch64"
source "$here/common.sh"
source "$here/../modules.sh"
source "$here/image.sh"
source "$here/vm.sh"

# What CI runs of the black-box tests: each reaches another part of the machine.
SELECTION=(jump_patches data_breakpoints calls unwinding disassembly exclusive_sequences landing_pads registers)
# What it runs at night besides: the same code as on every machine, over other instructions.
AT_NIGHT=(stepping_tables stepping)

# install_packages PACKAGE…: installs packages of the system.
install_packages() {
    local root_rights=()
    [ $# != 0 ] || return 0
    [ "$(id -u)" = 0 ] || root_rights=(sudo)
    "${root_rights[@]}" apt-get update -qq &&
        "${root_rights[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qq -y --no-install-recommends "$@" >/dev/null || missing "$*"
}

# standard_library TARGET: installs Rust's.
standard_library() {
    rustup target add "$1" 2>/dev/null || [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] ||
        missing "rustc's standard library for $1"
}

# What compiles for the guest.
cross_tools() {
    local packages=()
    has aarch64-linux-gnu-gcc || packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    has clang || packages+=(clang)
    has ld.lld || packages+=(lld)
    install_packages "${packages[@]}"
    standard_library "$TARGET"
    # Flags for this machine would replace those for the other.
    unset RUSTFLAGS
    # LLVM's linker takes a tenth of the time, of a hundred programs.
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=clang
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C link-arg=--target=aarch64-linux-gnu -C link-arg=-fuse-ld=lld"
}

# What runs the guest, and compiles its tests' programs.
machine_tools() {
    local packages=()
    has qemu-system-aarch64 || packages+=(qemu-system-arm)
    has aarch64-linux-gnu-g++ || packages+=(g++-aarch64-linux-gnu)
    has cpio || packages+=(cpio)
    install_packages "${packages[@]}"
    make_image
}

# Arguments of cargo for what runs in the guest. The debugger is optimized somewhat, since it is emulated.
emulated() {
    local crate
    echo --quiet --target "$TARGET"
    for crate in stillpoint stillpoint-engine stillpoint-dwarf; do
        echo --config "profile.dev.package.$crate.opt-level=1"
    done
}

# build PACKAGES TARGETS…: builds the debugger and the tests of packages, only these targets of cargo if there
# are any, and prints `NAME EXECUTABLE` of each.
build() {
    local name packages=() arguments
    mapfile -t arguments < <(emulated | tr ' ' '\n')
    # One set of packages, so that features are the same and nothing is built twice.
    for name in stillpoint $1; do packages+=(-p "$name"); done
    shift
    cd "$root"
    export CARGO_PROFILE_DEV_DEBUG=line-tables-only
    cargo build "${arguments[@]}" "${packages[@]}" >&2
    cargo test "${arguments[@]}" "${packages[@]}" "$@" --no-run --message-format=json |
        sed -n 's/.*"target":{"kind":.*"name":"\([^"]*\)".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1 \2/p'
}

# build_stress PARTS…: builds the debugger, the programs and the stress test, and prints its path.
build_stress() {
    local arguments
    mapfile -t arguments < <(emulated | tr ' ' '\n')
    [ $# != 0 ] || set -- zlib bzip2 crates
    # Its linker is another one.
    env -u CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS STRESS_TARGET=aarch64-linux-gnu \
        sh "$root/tests/stress/programs.sh" "$@" >&2
    cd "$root"
    export CARGO_PROFILE_DEV_DEBUG=line-tables-only
    cargo build "${arguments[@]}" -p stillpoint -p stillpoint-tests >&2
    cargo test "${arguments[@]}" -p stillpoint -p stillpoint-tests --bench stress --no-run \
        --message-format=json | sed -n 's/.*"executable":"\([^"]*\/stress-[^"]*\)".*/\1/p'
}

# enqueue NAME: makes a job of the script on stdin. Machines take jobs in the order in which they were made.
enqueue() { cat >"$(printf '%s/%03d-%s.job' "$queue" "$(find "$queue" -name '*.job' | wc -l)" "$1")"; }

# of_job NAME KIND: prints the file of a job, such as its log.
of_job() { echo "$queue"/[0-9][0-9][0-9]-"$1.$2"; }

# What tests write is in the shared folder, since the host compiles it. The debugger's own files are the
# guest's: in that folder an unlinked file has no length.
environment() {
    cat <<JOB
export RUST_BACKTRACE=1 RUST_LOG="${RUST_LOG-}" TMPDIR="$work/tmp" STILLPOINT_TMPDIR=/tmp
export STILLPOINT="$root/target/$TARGET/debug/stillpoint" STILLPOINT_PATIENCE=5
export STILLPOINT_BUILDS="${STILLPOINT_BUILDS-}"
cd "$root/tests"
JOB
}

# enqueue_modules EXECUTABLE [MODULE…]: makes a job for each of these modules of the black-box tests, or for all.
enqueue_modules() {
    local executable="$1" name file
    shift
    if [ $# = 0 ]; then
        for file in "$root"/tests/tests/*.rs "$root"/tests/tests/*/mod.rs; do
            name="${file#"$root"/tests/tests/}" name="${name%/mod.rs}" name="${name%.rs}"
            [ "$name" = main ] || set -- "$@" "$name"
        done
    fi
    for name; do
        {
            environment
            echo "source '$root/tests/modules.sh'"
            echo "tests=\$(tests_of $executable '$here/left-out.txt' $name | grep -F -e '${FILTER-}')"
            echo "timeout ${LIMIT:-3600} $executable --exact \${tests:-none}"
        } | enqueue "$name"
    done
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
        printf '%-28s %6s %6s %6s %8s\n' "${name#*-}" "$passed" "$bad" "$ignored" "$seconds"
        if [ "$code" != 0 ]; then
            failed=1
            sed -n 's/^test \(.*\) \.\.\. FAILED$/    \1/p' "$log" 2>/dev/null
            [ -n "$counts" ] || echo "    ended without a result (exit code $code): $log"
        fi
    done
    return $failed
}

# build_only TARGET…: builds the debugger for these; nothing of it is run. Debug info and optimization would
# double the time.
build_only() {
    cd "$root"
    musl
    CARGO_PROFILE_DEV_DEBUG=0 cargo build --quiet "${@/#/--target=}" \
        --config 'profile.dev.package."*".opt-level=0' -p stillpoint
}

# Rust's standard library brings musl's own; what C code the dependencies have needs no headers of it.
musl() {
    standard_library "$MUSL"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc
}

# check_musl: type-checks the debugger with musl, whose `libc` and `nix` have less.
check_musl() {
    musl
    cd "$root"
    cargo check --quiet --target "$MUSL" -p stillpoint
}

main() {
    if [ "${1-}" = check ]; then
        standard_library "$TARGET"
        unset RUSTFLAGS
        cd "$root"
        cargo check --quiet --workspace --all-targets --target "$TARGET"
        return
    fi
    if [ "${1-}" = build ]; then
        cross_tools
        build_only "$TARGET" "$MUSL"
        return
    fi
    cross_tools
    machine_tools
    work="$root/target/$TARGET/vm"
    mkdir -p "$work/tmp"
    queue="$(mktemp -d "$work/queue-XXXXXX")"
    case ${1-} in
    shell)
        vm shell shell
        ;;
    stress)
        local executable
        shift
        # In the shared folder.
        export STRESS_CACHE="${STRESS_CACHE:-$root/target/$TARGET/stress}"
        say "building"
        executable="$(build_stress "$@")"
        { environment; export -p | grep ' STRESS_'; echo "$executable"; } | enqueue stress
        say "log in $(of_job stress log)"
        MACHINES=1 work_off
        cat "$(of_job stress log)"
        exit "$(cat "$(of_job stress code)")"
        ;;
    run)
        shift
        { environment; printf 'cd %q\n' "$PWD"; printf '%q ' "$@"; } | enqueue run
        MACHINES=1 work_off
        cat "$(of_job run log)"
        exit "$(cat "$(of_job run code)")"
        ;;
    *)
        local name executable skipped packages=stillpoint-tests targets=() tier=""
        local -A filters=()
        # The same packages in all of them: others could have other features, and be built anew.
        local in_ci="stillpoint-engine stillpoint-tests"
        case ${1-} in
        unit)
            packages="stillpoint-dwarf stillpoint-engine"
            shift
            ;;
        selection)
            tier=selection packages="$in_ci"
            export STILLPOINT_BUILDS=few
            set -- "${SELECTION[@]}"
            ;;
        code)
            # The other unit tests say the same on every machine.
            packages="$in_ci" targets=(--lib) filters[engine]="execution_tests jump_patch::aarch64"
            shift
            ;;
        wide)
            tier=wide packages="$in_ci" targets=(--lib) filters[engine]=aarch64
            set -- "${AT_NIGHT[@]}" "${SELECTION[@]}"
            ;;
        esac
        if [ $# != 0 ]; then targets+=(--test black_box); fi
        say "building"
        while read -r name executable; do
            if [ "$name" = black_box ]; then
                enqueue_modules "$executable" "$@"
                continue
            fi
            skipped="$(left_out "$here/left-out.txt" "$name" | sed "s/^$name::/--skip /" | tr '\n' ' ')"
            # A job for each filter: machines share them.
            local filter part
            for filter in ${filters[$name]-"${FILTER:-::}"}; do
                part="${filter##*::}"
                { environment; echo "timeout ${LIMIT:-3600} $executable $filter $skipped"; } |
                    enqueue "$name${part:+-$part}"
            done
        done < <(build "$packages" "${targets[@]}")
        [ -n "$(ls "$queue")" ] || { say "nothing was built"; exit 1; }
        say "logs in $queue"
        work_off
        report
        case $tier in
        selection) check_musl ;;
        wide) build_only "$MUSL" ;;
        esac
        ;;
    esac
}

# The shell has read all of this file before it runs: it may be edited meanwhile.
main "$@"
exit
