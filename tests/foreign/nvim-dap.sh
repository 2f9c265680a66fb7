#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with nvim-dap in a Neovim without a
# window: breakpoint, start, stop, scopes, steps forward and back, the REPL, the end. No package registry
# has nvim-dap: $NVIM_DAP names a copy of its repository, without one this says so and ends with 77.
# $NVIM names Neovim (0.10 or later); where there is none, Debian 13's is unpacked.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
[ -n "${NVIM_DAP:-}" ] || missing "nvim-dap: name a copy of its repository by NVIM_DAP"
NVIM_DAP="$(readlink -f "$NVIM_DAP")"
[ -e "$NVIM_DAP/lua/dap.lua" ] || missing "nvim-dap: there is no lua/dap.lua in $NVIM_DAP"
find_stillpoint
find_neovim
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/loop"
cd "$work"
# The manual's configuration, with this binary.
manual_block Neovim lua >"$work/manual.lua"
# Its log goes below XDG_CACHE_HOME.
STILLPOINT="$STILLPOINT" XDG_CACHE_HOME="$work/cache" XDG_STATE_HOME="$work/state" XDG_DATA_HOME="$work/data" \
    timeout 120 "$NVIM" --clean --headless --cmd "set runtimepath^=$NVIM_DAP" "$work/loop.c" \
    -c "lua vim.g.root = '$work'" -c "luafile $here/neovim/nvim-dap.lua"
echo "nvim-dap: all went well"
