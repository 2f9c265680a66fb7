#!/usr/bin/env bash
# Builds the debugger on this Mac, signs it, runs all tests, and writes one report.
#   macos.sh                       everything
#   macos.sh breakpoints calls     the build, and these files of black-box tests
# $REPORT: the report (target/macos/report.txt; the outputs of the tests are beside it). $LIMIT: seconds that a
# file may take (600). Needs Xcode's command line tools and Rust. Attaching needs the developer mode, which
# `sudo DevToolsSecurity -enable` turns on; without it macOS asks for a password.
# Exit code: 0 if all tests passed.
set -uo pipefail
root="$(cd "$(dirname "$0")/.." && pwd -P)"
REPORT="${REPORT:-$root/target/macos/report.txt}"
LIMIT="${LIMIT:-600}"
logs="$(dirname "$REPORT")"
failed=0

if [ "$(uname -s)" != Darwin ]; then
    echo "macos.sh: this is $(uname -s); on Linux tests/darwin.sh compiles and links" >&2
    exit 2
fi
mkdir -p "$logs"
cd "$root"

# The report's first part: what machine this is. A command that fails shows that it does.
facts() {
    echo "commit: $(git rev-parse HEAD 2>/dev/null) $(git status --porcelain 2>/dev/null | wc -l) changes"
    echo "system: $(sw_vers -productVersion) ($(sw_vers -buildVersion)) $(uname -m), $(sysctl -n machdep.cpu.brand_string)"
    echo "user: $(id -un), groups: $(id -Gn)"
    echo "developer mode: $(DevToolsSecurity -status 2>&1)"
    echo "integrity protection: $(csrutil status 2>&1)"
    echo "compiler: $(clang --version 2>&1 | head -n 1)"
    echo "dsymutil: $(xcrun dsymutil --version 2>&1 | head -n 1)"
    echo "rust: $(rustc --version 2>&1)"
    echo "registers: $(sysctl hw.optional.breakpoint hw.optional.watchpoint 2>&1 | tr '\n' ' ')"
    echo "signature of the debugger:"
    codesign --display --verbose=2 --entitlements - "$STILLPOINT" 2>&1 | sed 's/^/    /'
}

# run NAME COMMAND…: runs a command with a limit, and adds a line to the report.
run() {
    local name="$1" log code=0 counts start
    shift
    log="$logs/$name.log"
    start="$(date +%s)"
    # The alarm outlasts exec; macOS has no timeout(1).
    perl -e 'alarm shift; exec @ARGV or die "$!"' "$LIMIT" "$@" >"$log" 2>&1 </dev/null || code=$?
    counts="$(awk '/^test result:/ {passed += $4; failed += $6; ignored += $8}
        END {printf "%d %d %d", passed, failed, ignored}' "$log")"
    # shellcheck disable=SC2086
    printf '%-28s %6s %6s %6s %8s  %s\n' "$name" $counts "$(($(date +%s) - start))" \
        "$(case $code in 0) ;; 142) echo "ended after $LIMIT s" ;; *) echo "exit code $code" ;; esac)" | tee -a "$REPORT"
    [ "$code" = 0 ] || failed=1
}

# black_box NAME: the black-box tests of one module.
black_box() { run "$1" cargo test -p stillpoint-tests --test black_box "$1::"; }

export STILLPOINT="$root/target/debug/stillpoint" RUST_BACKTRACE=1
if ! cargo build -p stillpoint >"$logs/build.log" 2>&1; then
    { echo "the build failed:"; cat "$logs/build.log"; } | tee "$REPORT"
    exit 1
fi
# Ad hoc: valid on this machine only.
codesign --force --sign - --entitlements "$root/engine/src/os/darwin/debugger.entitlements" "$STILLPOINT" \
    >"$logs/codesign.log" 2>&1 || failed=1
facts | tee "$REPORT"

printf '\n%-28s %6s %6s %6s %8s\n' "" passed failed ignored seconds | tee -a "$REPORT"
if [ $# = 0 ]; then
    run unit-dwarf cargo test -p stillpoint-dwarf
    run unit-engine cargo test -p stillpoint-engine
    # Its tests do not start the debugger, so that the signature that this build removes is not missed.
    run unit-adapter cargo test -p stillpoint
    codesign --force --sign - --entitlements "$root/engine/src/os/darwin/debugger.entitlements" "$STILLPOINT" \
        >>"$logs/codesign.log" 2>&1
    for file in tests/tests/*.rs; do
        [ "$file" = tests/tests/main.rs ] || black_box "$(basename "$file" .rs)"
    done
else
    for name in "$@"; do black_box "$name"; done
fi

# What failed, and the end of what each test printed.
for log in "$logs"/*.log; do
    awk -v name="$(basename "$log" .log)" '
        /^test .* FAILED$/ {print "failed: " name "::" $2}
        /^---- .* stdout ----$/ {lines = 40; print "\n" name " " $0; next}
        lines > 0 {print "    " $0; lines--}' "$log"
done >>"$REPORT"
echo "report: $REPORT"
exit $failed
