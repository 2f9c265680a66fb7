#!/usr/bin/env bash
# Debugs in VS Code (code-server, in a browser without a window) with the packaged extension: a Rust
# program by F5 alone (`shop`), a C++ program of CMake by F5, launch.json and commands (`workshop`), a C
# program with tracepoints (`market`), one with past stops (`ledger`) and the same recorded (`recorded`).
# $STILLPOINT is the binary in the package; else it is built. $CODE_SERVER names code-server's
# entry.js, $BROWSER a chromium; what is missing of them is installed into $CACHE (npm) or is said.
# $SCREENSHOT is a file for a picture, $PICTURES a folder for those of tracepoints and of the past. Arguments:
# `shop`, `workshop`, `market`, `ledger` or `recorded` for one of them.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/../common.sh"
VERSION=4.100.3

for tool in node npm cargo cmake; do
    command -v "$tool" >/dev/null || missing "$tool"
done
BROWSER="${BROWSER:-$(command -v chromium || command -v chromium-browser || true)}"
[ -n "$BROWSER" ] || missing "chromium: apt-get install chromium, or name a browser by BROWSER"

# code-server without its install scripts, which look for a toolchain of their own: only what is
# native and needed is built, against the headers of the node that is there.
install_code_server() {
    local to="$CACHE/code-server-$VERSION" headers gyp module
    [ ! -e "$to/done" ] || return 0
    headers="$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")"
    [ -e "$headers/include/node/node.h" ] || missing "headers of node in $headers/include/node"
    gyp="$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js"
    mkdir -p "$to"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$to" "code-server@$VERSION" ||
        missing "code-server of npm cannot be fetched"
    (cd "$to" && npm_config_build_from_source=true npm_config_nodedir="$headers" npm rebuild argon2)
    cd "$to/node_modules/code-server/lib/vscode"
    npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev
    for module in @vscode/spdlog native-watchdog node-pty; do
        (cd "node_modules/$module" && node "$gyp" rebuild --nodedir="$headers")
    done
    ln -sfn node_modules node_modules.asar
    touch "$to/done"
}
if [ -z "${CODE_SERVER:-}" ]; then
    (install_code_server) >&2
    CODE_SERVER="$CACHE/code-server-$VERSION/node_modules/code-server/out/node/entry.js"
fi
playwright="$(npm_with playwright playwright-core@1.65.1)"

WORK="$(mktemp -d)"
finish() {
    local code=$?
    if [ "$code" != 0 ] && [ -e "$WORK/failed.png" ]; then
        cp "$WORK/failed.png" "$CACHE/failed.png"
        echo "what was to be seen then: $CACHE/failed.png" >&2
    fi
    if [ -e "$WORK/server.pid" ]; then kill -- "-$(cat "$WORK/server.pid")" 2>/dev/null || true; fi
    rm -rf "$WORK"
}
trap finish EXIT

(cd "$root/vscode-extension" && npm run --silent package) >"$WORK/package.log" 2>&1 ||
    { cat "$WORK/package.log" >&2; exit 1; }
cp -r "$here/shop" "$here/workshop" "$here/market" "$here/ledger" "$here"/*.mjs "$WORK"
cp -r "$here/ledger" "$WORK/recorded"
ln -s "$playwright/node_modules" "$WORK/node_modules"
export CODE_SERVER BROWSER WORK VSIX="$root/vscode-extension/stillpoint.vsix"
cd "$WORK"
# What the package has is to be used, and the project's own target folder.
env -u CARGO_TARGET_DIR -u STILLPOINT node test.mjs "$@"
