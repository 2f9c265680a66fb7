# What .ci/run and .ci/full share. Sourced in the root of the repository.
source tests/section.sh

# Where this is set, a test that leaves something out fails unless tests/skips.txt lists it.
STILLPOINT_SKIPS="$(mktemp)"
# What the tests ask for of the fixtures.
STILLPOINT_FIXTURES="$(mktemp)"
SECTIONS="$(mktemp)"
export STILLPOINT_SKIPS STILLPOINT_FIXTURES SECTIONS
trap 'rm -f "$STILLPOINT_SKIPS" "$STILLPOINT_FIXTURES" "$SECTIONS"' EXIT
# Nothing is built twice here, and the files for that take gigabytes.
export CARGO_INCREMENTAL=0
target="${CARGO_TARGET_DIR:-target}"

# or_skip WHAT COMMAND…: runs a command; its exit code 77 says that something is missing, which is a skip.
or_skip() {
    local what="$1" code=0
    shift
    "$@" || code=$?
    if [ $code = 77 ]; then
        printf '%s\t.ci\n' "$what" >>"$STILLPOINT_SKIPS"
        code=0
    fi
    return $code
}

# paths_of PART: prints the paths that .ci/parts lists.
paths_of() { sed -n "s/^$1: //p" .ci/parts; }

# is_touched PART: whether the change touches what a part tests, or that is not known.
is_touched() {
    local passed
    passed="$(cat .ci/full-passed 2>/dev/null)" || return 0
    git merge-base --is-ancestor "$passed" HEAD 2>/dev/null || return 0
    # shellcheck disable=SC2046
    ! git diff --quiet "$passed" -- $(paths_of every) $(paths_of "$1") ||
        [ -n "$(git status --porcelain -- $(paths_of every) $(paths_of "$1"))" ]
}

# What every run does.
of_every_change() {
    section "style"
    if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        rustup component add rustfmt clippy
    fi
    cargo fmt --all --check
    cargo fmt --manifest-path tests/fuzz/Cargo.toml --check
    cargo fmt --manifest-path tests/schema/compare/Cargo.toml --check
    cargo fmt --manifest-path tests/source_expressions/Cargo.toml --check
    cargo clippy --quiet --workspace --all-targets -- -D warnings
    section ""
    # Apple's headers, which a unit test compares structures with. It is skipped where they cannot be had.
    tests/run.sh packages
    or_skip "builds for macOS" tests/darwin.sh tools
    # The README's command.
    tests/run.sh
    "$target/debug/fixtures" check "$STILLPOINT_FIXTURES"
    section "commands of the README"
    "$target/debug/stillpoint" demo >/dev/null
    section "other clients"
    # Other people's clients that are soon fetched; the others by command.
    LIMIT=120 tests/foreign/run-all.sh testsupport mcp neovim
    section "types on other systems"
    or_skip "builds for aarch64" tests/aarch64.sh check
    or_skip "builds for macOS" env TARGET=aarch64-apple-darwin tests/darwin.sh check
}

# The heavy parts of .ci/parts.
part() {
    section "$1"
    case "$1" in
    aarch64 | aarch64-code | aarch64-wide)
        # The other architecture, in a virtual machine; where that cannot be had, it is only built.
        local code=0 what="${1#aarch64}"
        what="${what#-}"
        tests/aarch64.sh "${what:-selection}" || code=$?
        if [ $code = 77 ]; then
            printf 'a virtual machine of aarch64\t.ci\n' >>"$STILLPOINT_SKIPS"
            code=0
            or_skip "builds for aarch64" tests/aarch64.sh build || code=$?
        fi
        return $code
        ;;
    simulated-mach)
        # The other system: its backend over simulated calls, a selection of the tests.
        tests/darwin.sh simulated attach breakpoints calls data_breakpoints exceptions macho_programs \
            process_control session signals stepping threads values
        ;;
    # Compiled and linked, not run.
    darwin-link) or_skip "builds for macOS" tests/darwin.sh link ;;
    fuzz) tests/fuzz/run.sh 15 ;;
    schema) cargo run --quiet --release --manifest-path tests/schema/compare/Cargo.toml --target-dir "$target/schema" ;;
    source-expressions)
        local manifest=tests/source_expressions/Cargo.toml built="$target/source_expressions"
        cargo clippy --quiet --release --all-targets --manifest-path $manifest --target-dir "$built" -- -D warnings
        cargo test --quiet --release --manifest-path $manifest --target-dir "$built"
        # Always the same packages: a release does not wait for what a night finds.
        or_skip "packages of other projects" env STILLPOINT="$target/debug/stillpoint" \
            SOURCE_EXPRESSIONS_CACHE="$built/packages" \
            cargo run --quiet --release --manifest-path $manifest --target-dir "$built" -- --seconds 240 \
            rust:lexopt rust:shell-words gcc:giflib clang:yajl
        ;;
    *)
        echo "no part of that name: $1" >&2
        return 1
        ;;
    esac
}

# Prints how long each section took, and those that have grown by half against .ci/times; keeps the times.
end() {
    section ""
    mkdir -p "$target"
    cp "$SECTIONS" "$target/ci-times"
    echo "== times, in seconds, and what .ci/times has"
    awk 'FILENAME == ARGV[1] {known[substr($0, 8)] = $1; next}
        {
            name = substr($0, 8)
            was = name in known ? known[name] : "-"
            printf "%6d %6s  %s\n", $1, was, name
            total += $1
            if (was != "-" && $1 > 20 && $1 > 1.5 * known[name]) grown = grown "\n  " name ": " known[name] " s, now " $1
        }
        END {
            printf "%6d         all\n", total
            if (grown) print "grown by half:" grown
        }' .ci/times "$SECTIONS"
    echo "skipped: $(wc -l <"$STILLPOINT_SKIPS"), all listed in tests/skips.txt"
    cut -f1 "$STILLPOINT_SKIPS" | sort | uniq -c
}
