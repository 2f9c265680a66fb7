#!/usr/bin/env bash
# Drives `stillpoint mcp` ($STILLPOINT, or the workspace's newest) with the official Python client of
# the Model Context Protocol (PyPI: mcp), which checks every message against the protocol.
# $MCP_PYTHON names a python that has it; otherwise it is installed into target/foreign.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
STILLPOINT="${STILLPOINT:-$(ls -t "$root"/target/{release,debug}/stillpoint 2>/dev/null | head -n 1)}"
[ -x "$STILLPOINT" ] || { echo "no stillpoint: build it, or name it by STILLPOINT" >&2; exit 1; }
if [ -z "${MCP_PYTHON:-}" ]; then
    MCP_PYTHON="$root/target/foreign/mcp/bin/python"
    if [ ! -x "$MCP_PYTHON" ]; then
        mkdir -p "$root/target/foreign"
        python3 -m venv "$root/target/foreign/mcp"
        "$MCP_PYTHON" -m pip install --quiet 'mcp==2.3.0'
    fi
fi
"$MCP_PYTHON" -c 'import mcp' || { echo "no python package mcp: pip install mcp" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
source="$root/tests/fixtures/c/loop.c"
gcc -g -O0 "$source" -o "$work/loop"
line="$(grep -n '//@ .*\bbody_return\b' "$source" | head -n 1 | cut -d: -f1)"
timeout 60 "$MCP_PYTHON" "$here/mcp_client.py" "$STILLPOINT" "$work/loop" "loop.c:$line"
