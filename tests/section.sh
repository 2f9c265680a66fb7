# Names the sections of a script, and how long each took. Sourced.
# $SECTIONS: a file; the lines `SECONDS NAME` are appended there.
SECTION="" SECTION_BEGAN=0 SECTIONS_BEGAN="${SECTIONS_BEGAN:-$(date +%s)}"
export SECTIONS_BEGAN

# section NAME: ends the section before, and begins this one. Without a name, only ends it.
section() {
    local now
    now="$(date +%s)"
    if [ -n "$SECTION" ]; then
        printf '%6d %s\n' $((now - SECTION_BEGAN)) "$SECTION" >>"${SECTIONS:-/dev/null}"
    fi
    SECTION="${1-}" SECTION_BEGAN=$now
    [ -z "$SECTION" ] || printf '== %s (at %d s)\n' "$SECTION" $((now - SECTIONS_BEGAN))
}
trap 'section' EXIT
