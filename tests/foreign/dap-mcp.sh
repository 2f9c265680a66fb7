#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with dap-mcp (PyPI), a bridge from the
# Model Context Protocol to adapters: breakpoint, launch, step, evaluate, continue to the end.
# $DAP_MCP_PYTHON names a python that has it; otherwise it is installed into target/foreign.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
STILLPOINT="${STILLPOINT:-$(ls -t "$root"/target/{release,debug}/stillpoint 2>/dev/null | head -n 1)}"
[ -x "$STILLPOINT" ] || { echo "no stillpoint: build it, or name it by STILLPOINT" >&2; exit 1; }
if [ -z "${DAP_MCP_PYTHON:-}" ]; then
    DAP_MCP_PYTHON="$root/target/foreign/dap-mcp/bin/python"
    if [ ! -x "$DAP_MCP_PYTHON" ]; then
        mkdir -p "$root/target/foreign"
        python3 -m venv "$root/target/foreign/dap-mcp"
        # It does not run with the second edition of its library.
        "$DAP_MCP_PYTHON" -m pip install --quiet 'dap-mcp==0.1.5' 'mcp<2'
    fi
fi
"$DAP_MCP_PYTHON" -c 'import dap_mcp' || { echo "no python package dap-mcp" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
source="$root/tests/fixtures/c/loop.c"
gcc -g -O0 "$source" -o "$work/loop"
line="$(grep -n '//@ .*\bbody_return\b' "$source" | head -n 1 | cut -d: -f1)"
cat >"$work/config.json" <<CONFIG
{
  "type": "lldb", "name": "loop", "request": "launch", "program": "$work/loop",
  "debuggerPath": "$STILLPOINT", "debuggerArgs": ["dap"], "sourceDirs": ["$(dirname "$source")"]
}
CONFIG
timeout 60 "$DAP_MCP_PYTHON" "$here/dap_mcp_client.py" "$work/config.json" "$source" "$line"
