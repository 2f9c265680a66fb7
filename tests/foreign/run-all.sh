#!/usr/bin/env bash
# Runs other people's clients against the built binary ($STILLPOINT, or the workspace's newest) and ends
# with a table: what each showed, or what is missing here for it to run. Fails if one of them does.
#   run-all.sh                    all of them
#   run-all.sh neovim emacs       these
# $LIMIT: how many seconds each may take, with what it fetches (900); what takes longer is cut off, which
# is told and is no failure: a session that hangs ends earlier. $LOGS: a folder for what they say.
# $STILLPOINT_SKIPS: clients that are missing or cut off are appended there, and fail if
# tests/skips.txt does not list them.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
export STILLPOINT
LIMIT="${LIMIT:-900}"
LOGS="${LOGS:-$CACHE/logs}"

# Name, script, what it shows if it goes well.
clients=(
    "testsupport|testsupport/run.sh|VS Code's test client: breakpoint, stack, variables, step, output, exit code"
    "mcp|mcp.sh|the official MCP client with \`stillpoint mcp\`: all tools, errors, the end"
    "dap-mcp|dap-mcp.sh|an MCP bridge: breakpoint before launch, step out, evaluate, the end"
    "mcp-debugger|mcp-debugger.sh|an MCP bridge, by TCP: breakpoint, stack, locals, evaluate, steps, output, the end"
    "debugger-cli|debugger-cli.sh|a command line for agents: start --break, context, locals, steps, stop"
    "neovim|neovim.sh|a client in Neovim's Lua: breakpoint, cursor, locals, console, steps forward and back, the end"
    "nvim-dap|nvim-dap.sh|Neovim with nvim-dap: breakpoint, scopes, steps forward and back, REPL, terminate, the end"
    "helix|helix.sh|Helix in a terminal: breakpoint, variables, step, past stop, the end"
    "emacs|emacs.sh|Emacs with dape: breakpoint, scope and stack buffers, REPL, set, past stop, restart, the end"
    "vscode|vscode/run.sh|VS Code in a browser: F5 with cargo and CMake, launch.json, attach, core file, non-stop, data breakpoint, disassembly, tracepoints, past stops"
)

wanted=("$@")
for name in "${wanted[@]}"; do
    printf '%s\n' "${clients[@]}" | grep -q "^$name|" || { echo "no client of that name: $name" >&2; exit 1; }
done
mkdir -p "$LOGS"
table=()
failed=0
for client in "${clients[@]}"; do
    IFS='|' read -r name script shows <<<"$client"
    if [ ${#wanted[@]} != 0 ] && ! printf '%s\n' "${wanted[@]}" | grep -qx "$name"; then continue; fi
    log="$LOGS/$name.log"
    echo "running $name ($log)" >&2
    began=$SECONDS
    code=0
    timeout --kill-after=10 "$LIMIT" "$here/$script" >"$log" 2>&1 </dev/null || code=$?
    # Scripts have limits of their own, for sessions: those are kept.
    if [ $code = 124 ] && [ $((SECONDS - began)) -lt "$LIMIT" ]; then code=1; fi
    case $code in
        0) result=ok ;;
        77) result=missing shows="$(grep '^missing: ' "$log" | tail -n 1 | cut -d' ' -f2-)" ;;
        124 | 137) result="cut off" shows="took longer than $LIMIT s, see $log" ;;
        *)
            result=FAILED shows="see $log"
            failed=1
            tail -n 40 "$log" >&2
            ;;
    esac
    if [ -n "${STILLPOINT_SKIPS:-}" ] && [[ $code = 77 || $code = 124 || $code = 137 ]]; then
        if grep -q "^client $name: ." "$root/tests/skips.txt"; then
            printf 'client %s\ttests/foreign/%s\n' "$name" "$script" >>"$STILLPOINT_SKIPS"
        else
            failed=1
        fi
    fi
    table+=("$(printf '%-13s %-8s %4d s  %s' "$name" "$result" $((SECONDS - began)) "$shows")")
done
printf '%s\n' "${table[@]}"
exit $failed
