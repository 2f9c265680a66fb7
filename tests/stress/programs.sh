#!/bin/sh
# Fetches and builds real programs with test-suites of their own, for `cargo bench --bench stress`:
#
#     tests/stress/programs.sh [PART...]
#
# Sources come from Debian (apt-get source, without root and without touching the machine's own
# lists) and from crates.io (cargo vendor). Everything is below $STRESS_CACHE, by default
# ~/.cache/stillpoint-stress; each program has a description in its `programs` folder, which is
# what the stress test reads. Parts are the names of the functions below; what is built already
# is not built again.
#
# For another machine, by cross compilers: STRESS_TARGET=aarch64-linux-gnu, with a cache that it
# can read, too.
set -eu

cache=${STRESS_CACHE:-$HOME/.cache/stillpoint-stress}
jobs=${STRESS_JOBS:-2}
target=${STRESS_TARGET-}
mkdir -p "$cache/src" "$cache/build" "$cache/programs"

# compiler NAME: the command of one, gcc, g++, clang or clang++.
compiler() {
    case $target,$1 in
    ,*) echo "$1" ;;
    *,clang*) echo "$1 --target=$target" ;;
    *) echo "$target-$1" ;;
    esac
}

# for_target: what configure needs to know of it.
for_target() { echo ${target:+--host=$target}; }

# cargo_target: the variables of cargo for it, as arguments of `env`.
cargo_target() {
    [ -n "$target" ] || return 0
    triple=${target%%-*}-unknown-${target#*-}
    variable=$(echo "CARGO_TARGET_${triple}_LINKER" | tr 'a-z-' 'A-Z_')
    echo "CARGO_BUILD_TARGET=$triple $variable=$target-gcc"
}

# describe NAME FOLDER ORDERED PROGRAM ARGUMENT...: a program, and whether its output has an order.
describe() {
    description=$cache/programs/$1.json folder=$2 ordered=$3
    shift 3
    words=
    for word; do
        words="$words${words:+, }\"$word\""
    done
    printf '{"folder": "%s", "ordered": %s, "command": [%s]}\n' "$folder" "$ordered" "$words" \
        >"$description"
}

# source_of PACKAGE: unpacks Debian's source of it; sets $source.
source_of() {
    apt=$cache/apt
    if [ ! -e "$cache/src/$1.fetched" ]; then
        mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
        echo "deb-src http://deb.debian.org/debian bookworm main" >"$apt/sources.list"
        set -- "$1" -q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
            -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache"
        package=$1
        shift
        [ -e "$apt/updated" ] || apt-get "$@" update
        touch "$apt/updated"
        (cd "$cache/src" && apt-get "$@" source --only-source "$package")
        touch "$cache/src/$package.fetched"
        set -- "$package"
    fi
    for source in "$cache/src/$1"-*/; do
        source=${source%/}
    done
}

# begin NAME: its folder, empty, as the current one; fails where it is built already.
begin() {
    [ ! -e "$cache/build/$1/built" ] || return 1
    rm -rf "$cache/build/$1"
    mkdir -p "$cache/build/$1"
    cd "$cache/build/$1"
    echo "building $1"
}

# compile COMPILER PROGRAM FLAGS... -- SOURCE...: all sources, in parallel, linked.
compile() {
    compiler=$(compiler "$1") program=$2
    shift 2
    flags=
    while [ "$1" != -- ]; do
        flags="$flags $1"
        shift
    done
    shift
    for file; do
        echo "$file"
    done | nice xargs -P "$jobs" -I FILE sh -c \
        "$compiler -g -w $flags -c FILE -o object\$(echo FILE | tr '/' '_').o"
    $compiler -g $flags -o "$program" ./*.o $LIBRARIES
}

zlib() {
    source_of zlib
    for kind in gcc-O0 gcc-O2 clang-O2; do
        build=zlib-$kind
        if begin "$build"; then
            LIBRARIES= compile "${kind%-*}" infcover "-${kind#*-}" "-I$source" -- \
                "$source"/*.c "$source/test/infcover.c"
            rm -f ./*infcover.c.o
            LIBRARIES= compile "${kind%-*}" minigzip "-${kind#*-}" "-I$source" -- "$source/test/minigzip.c"
            head -c 6000000 infcover minigzip "$source"/*.c >corpus 2>/dev/null || true
            touch built
        fi
        describe "$build-infcover" "$cache/build/$build" true "$cache/build/$build/infcover"
        describe "$build-minigzip" "$cache/build/$build" true "$cache/build/$build/minigzip" -c -9 corpus
    done
}

bzip2() {
    source_of bzip2
    for kind in gcc-O2 clang-O0; do
        build=bzip2-$kind
        if begin "$build"; then
            LIBRARIES= compile "${kind%-*}" bzip2 "-${kind#*-}" -- "$source"/blocksort.c \
                "$source"/huffman.c "$source"/crctable.c "$source"/randtable.c "$source"/compress.c \
                "$source"/decompress.c "$source"/bzlib.c "$source"/bzip2.c
            cp "$source"/sample* .
            touch built
        fi
        describe "$build-compress" "$cache/build/$build" true "$cache/build/$build/bzip2" -1 -k -c sample1.ref
        describe "$build-decompress" "$cache/build/$build" true "$cache/build/$build/bzip2" -d -c -k sample2.bz2
    done
}

pugixml() {
    source_of pugixml
    for kind in g++-O0 clang++-O2; do
        build=pugixml-$kind
        if begin "$build"; then
            ls "$source"/tests/test*.cpp "$source"/tests/*r.cpp "$source/tests/main.cpp" |
                sort -u >files
            LIBRARIES= compile "${kind%-*}" tests "-${kind##*-}" -std=c++11 -- \
                "$source/src/pugixml.cpp" $(cat files)
            touch built
        fi
        describe "$build" "$source" true "$cache/build/$build/tests"
    done
}

googletest() {
    source_of googletest
    tests=$source/googletest/test
    for kind in g++-O0 g++-O2 clang++-O2; do
        build=googletest-$kind
        if begin "$build"; then
            options="-${kind##*-} -std=c++14 -I$source/googletest -I$source/googletest/include"
            LIBRARIES=-pthread
            compile "${kind%-*}" unit $options -- "$source/googletest/src/gtest-all.cc" "$tests/gtest_unittest.cc" "$source/googletest/src/gtest_main.cc"
            rm -f ./*gtest_unittest*.o
            compile "${kind%-*}" death $options -- "$tests/googletest-death-test-test.cc"
            touch built
        fi
        describe "$build-unit" "$cache/build/$build" true "$cache/build/$build/unit" --gtest_color=no --gtest_death_test_style=threadsafe
        describe "$build-death" "$cache/build/$build" true "$cache/build/$build/death" --gtest_color=no
    done
}

re2() {
    source_of re2
    for kind in g++-O2 clang++-O0; do
        build=re2-$kind
        if begin "$build"; then
            options="-${kind##*-} -std=c++14 -I$source"
            LIBRARIES=-pthread
            ls "$source"/re2/*.cc | grep -v fuzz >files
            for file in re2_test search_test dfa_test parse_test simplify_test set_test compile_test mimics_pcre_test; do
                echo "$source/re2/testing/$file.cc"
            done >>files
            for file in backtrack dump exhaustive_tester null_walker regexp_generator string_generator tester; do
                echo "$source/re2/testing/$file.cc"
            done >>files
            compile "${kind%-*}" tests $options -- $(cat files) "$source"/util/pcre.cc \
                "$source"/util/rune.cc "$source"/util/strutil.cc "$source"/util/test.cc
            touch built
        fi
        describe "$build" "$cache/build/$build" true "$cache/build/$build/tests"
    done
}

sqlite() {
    source_of sqlite3
    if begin sqlite-source; then
        "$source/configure" --disable-tcl >log 2>&1
        make sqlite3.c shell.c >>log 2>&1
        touch built
    fi
    amalgamation=$cache/build/sqlite-source
    for kind in gcc-O2 clang-O0; do
        build=sqlite-$kind
        if begin "$build"; then
            cp "$source"/test/threadtest3.c "$source"/test/tt3_*.c "$source"/src/test_multiplex.* .
            LIBRARIES="-pthread -lm -ldl"
            compile "${kind%-*}" speedtest1 "-${kind#*-}" "-I$amalgamation" -- \
                "$amalgamation/sqlite3.c" "$source/test/speedtest1.c"
            touch built
        fi
        describe "$build-speedtest1" "$cache/build/$build" true "$cache/build/$build/speedtest1" --size 3 --verify :memory:
    done
}

bash() {
    source_of bash
    for kind in gcc-O2 clang-O0; do
        build=bash-$kind
        if begin "$build"; then
            "$source/configure" --without-bash-malloc --disable-nls $(for_target) CC="$(compiler "${kind%-*}") -w" CFLAGS="-g -${kind#*-}" >log 2>&1
            nice make -j "$jobs" bash recho zecho printenv xcase >>log 2>&1
            touch built
        fi
        for suite in arith array assoc exp-tests func trap cond builtins comsub posixexp redir; do
            script=./${suite%-tests}.tests
            [ -e "$source/tests/$script" ] || script=./$suite
            describe "$build-$suite" "$source/tests" true "$cache/build/$build/bash" "$script"
        done
    done
}

tcl() {
    source_of tcl8.6
    for kind in gcc-O0 clang-O2; do
        build=tcl-$kind
        if begin "$build"; then
            "$source/unix/configure" --disable-shared $(for_target) CC="$(compiler "${kind%-*}") -w" CFLAGS="-g -${kind#*-}" >log 2>&1
            nice make -j "$jobs" tcltest >>log 2>&1
            touch built
        fi
        for suite in coroutine oo namespace-old binary string nre error thread compile lsort pid unixForkEvent; do
            [ -e "$source/tests/$suite.test" ] || continue
            describe "$build-$suite" "$source/tests" true "$cache/build/$build/tcltest" "./$suite.test"
        done
    done
}

# crate NAME TEST FLAGS...: a test binary of a crate, at two levels.
crate() {
    crate=$1 test=$2
    shift 2
    for level in 0 2; do
        build=crate-$crate-$test-O$level
        if begin "$build"; then
            which=--lib
            [ "$test" = lib ] || which="--test $test"
            env $(cargo_target) CARGO_PROFILE_TEST_OPT_LEVEL=$level CARGO_PROFILE_TEST_DEBUG=2 CARGO_INCREMENTAL=0 \
                nice cargo test --quiet --no-run --message-format=json -j "$jobs" \
                --manifest-path "$cache/crates/vendor/$crate/Cargo.toml" \
                --target-dir "$cache/crates/target-O$level" $which >built.json 2>log ||
                { tail -5 log; return 0; }
            path=$(sed -n 's/.*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1/p' built.json | tail -1)
            cp "$path" tests
            touch built
        fi
        describe "$build" "$cache/crates/vendor/$crate" false "$cache/build/$build/tests" --test-threads 4 "$@"
    done
}

crates() {
    if [ ! -e "$cache/crates/fetched" ]; then
        mkdir -p "$cache/crates/src"
        cd "$cache/crates"
        touch src/lib.rs
        cat >Cargo.toml <<'TOML'
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
arrayvec = "=0.7.8"
bytes = "=1.12.1"
crossbeam-channel = "=0.5.17"
crossbeam-deque = "=0.8.8"
indexmap = "=2.14.2"

nix = "=0.31.3"
rayon = "=1.12.0"
serde_json = "=1.0.154"
signal-hook = "=0.3.18"
smallvec = "=1.16.5"
[workspace]
exclude = ["vendor"]
TOML
        cargo vendor --quiet vendor >/dev/null
        # The cache may lie in a workspace.
        for manifest in vendor/*/Cargo.toml; do
            grep -q '^\[workspace' "$manifest" || printf '\n[workspace]\n' >>"$manifest"
        done
        touch fetched
    fi
    crate crossbeam-channel array
    crate crossbeam-channel mpsc
    crate crossbeam-deque fifo
    crate smallvec lib
    crate arrayvec tests
    crate bytes test_bytes
    crate indexmap lib
    crate signal-hook iterator
    crate rayon collect
    crate rayon sort-panic-safe
    crate serde_json test
}

[ $# -gt 0 ] || set -- zlib bzip2 crates googletest pugixml re2 sqlite bash tcl
for part; do
    ("$part")
done
ls "$cache/programs" | wc -l
