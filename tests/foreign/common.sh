# What the scripts of this folder share. Sourced: `here` is set to the script's folder then.
# Exit codes: 0 it went well, 1 it did not, 77 something is missing that cannot be had here.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
CACHE="${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint-foreign}"

missing() {
    echo "missing: $1" >&2
    exit 77
}

# Sets STILLPOINT: what it names, or the workspace's newest.
find_stillpoint() {
    local target="${CARGO_TARGET_DIR:-$root/target}"
    STILLPOINT="${STILLPOINT:-$(ls -t "$target"/{release,debug}/stillpoint 2>/dev/null | head -n 1 || true)}"
    if [ ! -x "$STILLPOINT" ]; then
        echo "no stillpoint: build it, or name it by STILLPOINT" >&2
        exit 1
    fi
    STILLPOINT="$(readlink -f "$STILLPOINT")"
}

# line_of MARKER FILE: the line that a fixture marks by `//@ MARKER`.
line_of() { grep -n "//@ .*\b$1\b" "$2" | head -n 1 | cut -d: -f1; }

# python_with NAME PACKAGE…: prints a python of its own in the cache that has these packages of PyPI.
python_with() {
    local to="$CACHE/python/$1"
    shift
    if [ ! -e "$to/done" ]; then
        command -v python3 >/dev/null || missing "python3"
        python3 -m venv "$to" >&2 || missing "python3's venv: apt-get install python3-venv"
        "$to/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 ||
            missing "$* of PyPI cannot be fetched"
        touch "$to/done"
    fi
    echo "$to/bin/python"
}

# npm_with NAME PACKAGE…: prints a folder in the cache whose node_modules has these packages of npm.
npm_with() {
    local to="$CACHE/node/$1"
    shift
    if [ ! -e "$to/done" ]; then
        command -v npm >/dev/null || missing "npm"
        mkdir -p "$to"
        npm install --silent --no-audit --no-fund --prefix "$to" "$@" >&2 ||
            missing "$* of npm cannot be fetched"
        touch "$to/done"
    fi
    echo "$to"
}

# unpack_trixie PACKAGE…: unpacks packages of Debian 13, and what they need, into $CACHE/trixie/root,
# from package lists of its own: nothing is installed, /etc/apt stays as it is.
unpack_trixie() {
    local to="$CACHE/trixie" key=/usr/share/keyrings/debian-archive-keyring.gpg package
    [ "$(uname -m)" = x86_64 ] || missing "packages of Debian for x86-64"
    [ -e "$key" ] || missing "$key (the package debian-archive-keyring)"
    command -v dpkg >/dev/null || missing "dpkg"
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
        apt-get -qq update && apt-get -qq -y --download-only install "$@" || exit 1
        for package in "$to"/apt/cache/archives/*.deb; do dpkg -x "$package" "$to/root" || exit 1; done
    ) >&2 || missing "$* of Debian 13 cannot be fetched"
}

# trixie_command NAME PROGRAM [LINE]…: writes $CACHE/trixie/NAME, which runs an unpacked program with
# the C library of its own Debian (the one here may be older), after the lines.
trixie_command() {
    local to="$CACHE/trixie" name="$1" program="$2"
    local libraries="$to/root/usr/lib/x86_64-linux-gnu"
    shift 2
    {
        printf '#!/bin/sh\n'
        if [ $# != 0 ]; then printf '%s\n' "$@"; fi
        printf 'exec "%s" --library-path "%s" "%s" "$@"\n' \
            "$libraries/ld-linux-x86-64.so.2" "$libraries" "$to/root/$program"
    } >"$to/$name"
    chmod +x "$to/$name"
}

# Sets NVIM: what it names, one in PATH that is new enough, or Debian 13's.
find_neovim() {
    local to="$CACHE/trixie"
    NVIM="${NVIM:-$(command -v nvim || true)}"
    if [ -z "$NVIM" ] || ! "$NVIM" --clean --headless +'exe has("nvim-0.10") ? "qa" : "cq"' 2>/dev/null; then
        NVIM="$to/nvim"
        if [ ! -x "$NVIM" ]; then
            unpack_trixie neovim
            trixie_command nvim usr/bin/nvim \
                "export VIMRUNTIME=$to/root/usr/share/nvim/runtime" \
                "export LUA_CPATH=$to/root/usr/lib/x86_64-linux-gnu/lua/5.1/?.so"
        fi
    fi
    "$NVIM" --version | head -n 1
}

# manual_block EDITOR LANGUAGE: the configuration for an editor in docs/editors.md.
manual_block() {
    awk -v editor="## $1" -v fence="\`\`\`$2" -v end='```' '
        index($0, editor) == 1 { found = 1 }
        code && $0 == end { exit }
        code { print }
        found && $0 == fence { code = 1 }' "$root/docs/editors.md"
}
