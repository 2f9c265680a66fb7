#!/usr/bin/env bash
# Drives `stillpoint mcp` ($STILLPOINT, or the workspace's newest) with the official Python client of
# the Model Context Protocol (PyPI: mcp), which checks every message against the protocol.
# $MCP_PYTHON names a python that has it; otherwise it is installed into $CACHE.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
MCP_PYTHON="${MCP_PYTHON:-$(python_with mcp 'mcp==2.3.0')}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
source="$root/tests/fixtures/c/loop.c"
gcc -g -O0 "$source" -o "$work/loop"
line="$(line_of body_return "$source")"
timeout 60 "$MCP_PYTHON" "$here/mcp_client.py" "$STILLPOINT" "$work/loop" "loop.c:$line"
echo "mcp: all went well"
