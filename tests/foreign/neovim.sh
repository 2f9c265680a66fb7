#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) from within Neovim, without a window:
# a client in Lua on Neovim's own event loop sends what nvim-dap sends, in its order (nvim-dap itself:
# nvim-dap.sh), in a session with past stops and in a recorded one. $NVIM names Neovim (0.10 or later); where there is none, Debian 13's is unpacked.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
find_neovim
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/loop"
cd "$work"
for session in client recorded; do
    STILLPOINT="$STILLPOINT" timeout 60 \
        "$NVIM" --clean --headless -l "$here/neovim/$session.lua" "$work/loop" "$work/loop.c"
done
echo "neovim: all went well"
