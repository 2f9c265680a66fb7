#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with @debugmcp/mcp-debugger (npm), a
# bridge from the Model Context Protocol to adapters: breakpoint, start, stack, locals, expression, steps,
# output, the end. It knows C++ debuggers as CodeLLDB, by a port: its own copy of that is taken away, so
# that it takes the one that CODELLDB_PATH names, which is ours.
# $MCP_PYTHON names a python that has the official client (PyPI: mcp); else it is installed into $CACHE.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
command -v node >/dev/null || missing "node"
MCP_PYTHON="${MCP_PYTHON:-$(python_with mcp 'mcp==2.3.0')}"
bridge="$(npm_with mcp-debugger @debugmcp/mcp-debugger@0.24.2)/node_modules/@debugmcp/mcp-debugger/dist"
rm -rf "$bridge/vendor/codelldb"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cat >"$work/codelldb" <<RUN
#!/bin/sh
while [ "\$1" != --port ]; do shift; done
exec "$STILLPOINT" dap --listen "127.0.0.1:\$2"
RUN
chmod +x "$work/codelldb"
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/loop"
cd "$work"
CODELLDB_PATH="$work/codelldb" timeout 120 "$MCP_PYTHON" "$here/mcp_debugger_client.py" \
    "$bridge/cli.mjs" "$work/loop" "$work/loop.c"
echo "mcp-debugger: all went well"
