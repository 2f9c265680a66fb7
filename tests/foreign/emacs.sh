#!/usr/bin/env bash
# Drives the built binary ($STILLPOINT, or the workspace's newest) with dape in an Emacs without a
# window, set up as the manual says: breakpoint, start, stop, scope and stack buffers, the REPL, steps, a
# changed value, past stops, restart, the end. $EMACS names an Emacs that finds dape; where it is not set, Debian
# 13's Emacs 30 and dape are unpacked.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/common.sh"
find_stillpoint
if [ -z "${EMACS:-}" ]; then
    EMACS="$CACHE/trixie/emacs"
    if [ ! -x "$EMACS" ]; then
        unpack_trixie emacs-nox elpa-dape
        share="$CACHE/trixie/root/usr/share/emacs"
        private="$CACHE/trixie/root/usr/libexec/emacs/30.1/x86_64-linux-gnu"
        trixie_command emacs usr/bin/emacs-nox \
            "export EMACSLOADPATH=$(echo "$share"/site-lisp/elpa-src/dape-*):$share/30.1/lisp" \
            "export EMACSDATA=$share/30.1/etc EMACSPATH=$private" \
            "set -- --dump-file=$(echo "$private"/emacs-*.pdmp) \"\$@\""
    fi
fi
"$EMACS" --batch --quick --eval '(progn (require (quote dape)) (princ (format "Emacs %s\n" emacs-version)))'
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$root/tests/fixtures/c/loop.c" "$work"
gcc -g -O0 "$work/loop.c" -o "$work/a.out"
mkdir -p "$work/bin"
ln -s "$STILLPOINT" "$work/bin/stillpoint"
manual_block Emacs elisp >"$work/manual.el"
cd "$work"
HOME="$work" PATH="$work/bin:$PATH" timeout 120 "$EMACS" --batch --quick --load "$here/emacs/session.el"
echo "emacs: all went well"
