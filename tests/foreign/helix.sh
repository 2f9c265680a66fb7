#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with Helix in a terminal of tmux:
# a breakpoint, :debug-start, the line, the variables, a step, the end.
# $HX names Helix (hx or helix in PATH otherwise). Where there is none, Debian's of trixie is unpacked
# into $CACHE, from package lists of its own: nothing is installed, /etc/apt stays as it is.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
CACHE="${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint-foreign}"
STILLPOINT="${STILLPOINT:-$(ls -t "$root"/target/{release,debug}/stillpoint 2>/dev/null | head -n 1)}"
[ -x "$STILLPOINT" ] || { echo "no stillpoint: build it, or name it by STILLPOINT" >&2; exit 1; }
command -v tmux >/dev/null || { echo "no tmux: apt-get install tmux" >&2; exit 1; }

unpack_trixie() {
    local to="$CACHE/trixie" key=/usr/share/keyrings/debian-archive-keyring.gpg package
    [ ! -x "$to/hx" ] || return 0
    [ -e "$key" ] || { echo "no Helix: name it by HX" >&2; exit 1; }
    mkdir -p "$to/apt/state/lists/partial" "$to/apt/cache/archives/partial"
    touch "$to/apt/status"
    echo "deb [signed-by=$key] http://deb.debian.org/debian trixie main" >"$to/apt/sources.list"
    cat >"$to/apt/apt.conf" <<CONFIG
Dir::State "$to/apt/state";
Dir::State::status "$to/apt/status";
Dir::Cache "$to/apt/cache";
Dir::Etc::sourcelist "$to/apt/sources.list";
Dir::Etc::sourceparts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
CONFIG
    (
        export APT_CONFIG="$to/apt/apt.conf"
        cd "$to"
        apt-get -qq update
        apt-get -qq -y --download-only install hx
        for package in apt/cache/archives/*.deb; do dpkg -x "$package" root; done
    ) >&2
    # Its own libc: the one here may be older.
    cat >"$to/hx" <<RUN
#!/bin/sh
libraries="$to/root/usr/lib/x86_64-linux-gnu"
export HELIX_RUNTIME="$to/root/usr/lib/hx/runtime"
exec "\$libraries/ld-linux-x86-64.so.2" --library-path "\$libraries" "$to/root/usr/lib/hx/hx" "\$@"
RUN
    chmod +x "$to/hx"
}
HX="${HX:-$(command -v hx || command -v helix || true)}"
if [ -z "$HX" ]; then
    unpack_trixie
    HX="$CACHE/trixie/hx"
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
cat >"$work/config/helix/languages.toml" <<CONFIG
[[language]]
name = "c"

[language.debugger]
name = "stillpoint"
transport = "stdio"
command = "$STILLPOINT"

[[language.debugger.templates]]
name = "binary"
request = "launch"
completion = [{ name = "binary", completion = "filename" }]
args = { program = "{0}" }
CONFIG
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/loop"
line_of() { grep -n "//@ .*\b$1\b" "$work/loop.c" | head -n 1 | cut -d: -f1; }

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
    "${terminal[@]}" new-session -d -x 120 -y 40 "$HX loop.c:$(line_of body)"
shows "the file is open" "int product"
debug b
keys ":debug-start binary $work/loop" Enter
shows "the program stops" "stopped"
shows "the cursor is where it stops" "$(line_of body):"
debug v "scale: int = 10"
pgrep -f "^$work/loop" >/dev/null || { echo "FAILED: no program runs"; exit 1; }
debug n
shows "a step" "$(line_of body_return):"
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
