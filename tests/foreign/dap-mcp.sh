#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with dap-mcp (PyPI), a bridge from the
# Model Context Protocol to adapters: breakpoint, launch, step, evaluate, continue to the end.
# $DAP_MCP_PYTHON names a python that has it; otherwise it is installed into $CACHE.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
# It does not run with the second edition of its library.
DAP_MCP_PYTHON="${DAP_MCP_PYTHON:-$(python_with dap-mcp 'dap-mcp==0.1.5' 'mcp<2')}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
source="$root/tests/fixtures/c/loop.c"
gcc -g -O0 "$source" -o "$work/loop"
line="$(line_of body_return "$source")"
cat >"$work/config.json" <<CONFIG
{
  "type": "lldb", "name": "loop", "request": "launch", "program": "$work/loop",
  "debuggerPath": "$STILLPOINT", "debuggerArgs": ["dap"], "sourceDirs": ["$(dirname "$source")"]
}
CONFIG
timeout 60 "$DAP_MCP_PYTHON" "$here/dap_mcp_client.py" "$work/config.json" "$source" "$line"
echo "dap-mcp: all went well"
