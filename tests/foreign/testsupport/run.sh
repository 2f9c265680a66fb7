#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with
# @vscode/debugadapter-testsupport. $NODE_MODULES names a folder that has it already.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/../common.sh"
find_stillpoint

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$here/test.js" "$work"
NODE_MODULES="${NODE_MODULES:-$(npm_with testsupport @vscode/debugadapter-testsupport@1.68.0 mocha@12.0.3)/node_modules}"
ln -s "$NODE_MODULES" "$work/node_modules"
SOURCE="$root/tests/fixtures/c/loop.c"
PROGRAM="$work/loop"
gcc -g -O0 "$SOURCE" -o "$PROGRAM"
export STILLPOINT PROGRAM SOURCE
cd "$work"
node node_modules/mocha/bin/mocha.js --timeout 30000 test.js
echo "testsupport: all went well"
