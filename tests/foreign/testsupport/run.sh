#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with
# @vscode/debugadapter-testsupport. $NODE_MODULES names a folder that has it already.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
STILLPOINT="${STILLPOINT:-$(ls -t "$root"/target/{release,debug}/stillpoint 2>/dev/null | head -n 1)}"
[ -x "$STILLPOINT" ] || { echo "no stillpoint: build it, or name it by STILLPOINT" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$here"/package.json "$here"/test.js "$work"
if [ -d "${NODE_MODULES:-}" ]; then
    ln -s "$NODE_MODULES" "$work/node_modules"
else
    (cd "$work" && npm install --silent --no-audit --no-fund)
fi
SOURCE="$root/tests/fixtures/c/loop.c"
PROGRAM="$work/loop"
gcc -g -O0 "$SOURCE" -o "$PROGRAM"
export STILLPOINT PROGRAM SOURCE
cd "$work"
npx mocha --timeout 30000 test.js
