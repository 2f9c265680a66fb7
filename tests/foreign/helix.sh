#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with Helix in a terminal of tmux:
# a breakpoint, :debug-start, the line, the variables, a step, a past stop, the end.
# $HX names Helix (hx or helix in PATH otherwise); where there is none, Debian 13's is unpacked.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
command -v tmux >/dev/null || missing "tmux: apt-get install tmux"

HX="${HX:-$(command -v hx || command -v helix || true)}"
if [ -z "$HX" ]; then
    HX="$CACHE/trixie/hx"
    if [ ! -x "$HX" ]; then
        unpack_trixie hx
        trixie_command hx usr/lib/hx/hx "export HELIX_RUNTIME=$CACHE/trixie/root/usr/lib/hx/runtime"
    fi
fi
"$HX" --version

work="$(mktemp -d)"
terminal=(tmux -S "$work/tmux")
finish() {
    "${terminal[@]}" kill-server 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/config/helix" "$work/cache"
# The manual's configuration, for the language of the program here and with this binary.
manual_block Helix toml | sed -e 's/^name = "rust"/name = "c"/' -e "s|^command = .*|command = \"$STILLPOINT\"|" \
    >"$work/config/helix/languages.toml"
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/loop"

keys() { "${terminal[@]}" send-keys "$@"; }
# shows WHAT TEXT: waits until the screen has a text.
shows() {
    local tries
    for tries in $(seq 300); do
        if "${terminal[@]}" capture-pane -p | grep -qF -- "$2"; then
            echo "ok $1"
            return
        fi
        sleep 0.1
    done
    "${terminal[@]}" capture-pane -p
    echo "FAILED: $1: no '$2' on the screen within 30 s"
    exit 1
}
# debug KEY [TEXT]: something of the debug menu, which stays open until Escape. What follows an Escape at
# once would be a key with Alt.
debug() {
    local tries
    keys Space G "$1"
    [ "$1" != v ] || shows "variables" "$2"
    for tries in $(seq 20); do
        keys Escape
        sleep 0.2
        "${terminal[@]}" capture-pane -p | grep -qF "End debug session" || return 0
    done
    echo "FAILED: the menu does not close"
    exit 1
}

cd "$work"
XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" TERM=xterm-256color \
    "${terminal[@]}" new-session -d -x 120 -y 40 "$HX loop.c:$(line_of body "$work/loop.c")"
shows "the file is open" "int product"
debug b
keys ":debug-start binary $work/loop" Enter
shows "the program stops" "stopped"
shows "the cursor is where it stops" "$(line_of body "$work/loop.c"):"
debug v "scale: int = 10"
pgrep -f "^$work/loop" >/dev/null || { echo "FAILED: no program runs"; exit 1; }
debug n
shows "a step" "$(line_of body_return "$work/loop.c"):"
keys ":debug-eval :past 1" Enter
shows "a past stop" "$(line_of body "$work/loop.c"):"
keys ":debug-eval :past present" Enter
shows "the present again" "$(line_of body_return "$work/loop.c"):"
debug b
debug t
for _ in $(seq 100); do
    pgrep -f "^$work/loop" >/dev/null || break
    sleep 0.1
done
! pgrep -f "^$work/loop" || { echo "FAILED: the program is still there"; exit 1; }
echo "ok the session ends"
keys ":quit-all!" Enter
echo "helix: all went well"
