#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with debugger-cli (crates.io):
# start --break, context, locals, print, step, finish, continue, stop.
# $DEBUGGER names its binary; otherwise it is installed into $CACHE.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
DEBUGGER="${DEBUGGER:-$(command -v debugger || echo "$CACHE/debugger-cli/bin/debugger")}"
if [ ! -x "$DEBUGGER" ]; then
    command -v cargo >/dev/null || missing "cargo"
    cargo install --quiet debugger-cli@0.1.3 --root "$CACHE/debugger-cli" ||
        missing "debugger-cli of crates.io cannot be fetched"
fi

work="$(mktemp -d)"
export XDG_CONFIG_HOME="$work/config" XDG_RUNTIME_DIR="$work/run"
mkdir -p "$XDG_CONFIG_HOME/debugger-cli" "$XDG_RUNTIME_DIR"
finish() {
    "$DEBUGGER" stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
cat >"$XDG_CONFIG_HOME/debugger-cli/config.toml" <<CONFIG
[defaults]
adapter = "stillpoint"

[adapters.stillpoint]
path = "$STILLPOINT"
args = ["dap"]
transport = "stdio"

[timeouts]
dap_initialize_secs = 10
dap_request_secs = 10
await_default_secs = 15
CONFIG

source="$root/tests/fixtures/c/loop.c"
gcc -g -O0 "$source" -o "$work/loop"

# expect WORDS COMMAND…: runs the command, which has to succeed and to print each of the words.
failures=0
expect() {
    local words="$1" output word
    shift
    echo "\$ debugger $*"
    if ! output="$("$DEBUGGER" "$@" 2>&1)"; then
        echo "$output"
        echo "FAILED: debugger $*"
        failures=$((failures + 1))
        return
    fi
    echo "$output"
    for word in $words; do
        if ! grep -qF -- "$word" <<<"$output"; then
            echo "FAILED: no '$word' in the output of: debugger $*"
            failures=$((failures + 1))
        fi
    done
}

call="$(line_of call "$source")"
expect "" start --break "loop.c:$call" "$work/loop"
expect "" await --timeout 15
expect "main loop.c" context
expect "total i" locals
expect "0" print "total"
expect "" step
expect "" await --timeout 15
expect "body" backtrace
expect "scale 10" locals
expect "" finish
expect "" await --timeout 15
expect "main" context
expect "" continue
expect "" await --timeout 15
expect "total = 1" print "total"
expect "1" print "i"
expect "" stop

if [ "$failures" != 0 ]; then
    echo "debugger-cli: $failures failures"
    exit 1
fi
echo "debugger-cli: all went well"
