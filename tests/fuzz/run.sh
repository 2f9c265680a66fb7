#!/usr/bin/env bash
# Fuzzes what dwarf reads from files: run.sh [SECONDS for each target [TARGET…]]
#
# Ends with an error at the first finding, which it leaves beside the corpus that grew. Bounds:
# memory as src/lib.rs has it, 10 s of time for an input of at most 64 KiB.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
targets=("${@:2}")
if [ ${#targets[@]} = 0 ]; then
    targets=(line info location cfi names_cache object property_list swift_name)
fi

out=${CARGO_TARGET_DIR:-../../target}/fuzz
coverage=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
)
triple=$(rustc -vV | sed -n 's/^host: //p')
# With --target the flags are not those of build scripts.
RUSTFLAGS="${coverage[*]}" cargo build --quiet --release --locked --target "$triple" --target-dir "$out"

# The second files are rewritten for every input: in memory, where there is such a place.
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Fuzzes one target, and prints a line about it.
fuzz() {
    local target=$1 log=$TMPDIR/$1.log end=$((SECONDS + seconds)) executions=0 edges=0 runs left
    mkdir -p "$out/corpus/$target" "$out/findings"
    # Images stay mapped for the life of a process, so one process does not try all of them.
    case $target in
    line | location | cfi | swift_name) runs=200000 ;;
    *) runs=40000 ;;
    esac
    while left=$((end - SECONDS)) && [ "$left" -gt 0 ]; do
        "$out/$triple/release/$target" "$out/corpus/$target" "corpus/$target" \
            -max_total_time="$left" -runs="$runs" -timeout=10 -rss_limit_mb=4096 -max_len=65536 \
            -dict=mark.dict -artifact_prefix="$out/findings/$target-" \
            -print_final_stats=1 -verbosity=1 >"$log" 2>&1 || {
            tail -n 60 "$log"
            echo "$target: a finding in $out/findings"
            return 1
        }
        executions=$((executions + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
        edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    done
    echo "$target: $seconds s, $executions executions, $edges edges, nothing found"
}

# Two at once: each is one thread.
for ((nth = 0; nth < ${#targets[@]}; nth += 2)); do
    running=()
    for target in "${targets[@]:nth:2}"; do
        fuzz "$target" &
        running+=($!)
    done
    for pid in "${running[@]}"; do wait "$pid"; done
done
