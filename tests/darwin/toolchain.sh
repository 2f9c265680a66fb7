# What compiles and links for macOS on Linux. Sourced by tests/darwin.sh.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)"
CACHE="${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint-darwin}"
# The compiler whose wheel has Apple's public headers and the stubs of its libraries. A unit test of the engine
# looks for it here, too.
ZIG_VERSION=0.15.2
zig="$CACHE/zig/ziglang/zig"
TARGETS=(aarch64-apple-darwin x86_64-apple-darwin)

say() { echo "darwin: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }
# Ends the script: exit code 77 says that something is missing that cannot be had here.
missing() {
    say "missing: $1"
    exit 77
}

install_zig() {
    local folder="$CACHE/zig"
    [ -x "$zig" ] && return
    has python3 || missing python3
    mkdir -p "$folder"
    python3 -m pip download -q --no-deps -d "$folder" "ziglang==$ZIG_VERSION" >&2 ||
        missing "ziglang $ZIG_VERSION of PyPI"
    (cd "$folder" && python3 -m zipfile -e "ziglang-$ZIG_VERSION"-*.whl . && rm -f ./*.whl)
    chmod +x "$zig"
}

# linker TARGET: makes a linker of Zig's compiler, and prints its path. What rustc passes for Apple's and Zig's
# does not take is left out.
linker() {
    local path="$CACHE/zig/cc-$1"
    cat >"$path" <<SCRIPT
#!/usr/bin/env bash
arguments=() skip=0
for argument in "\$@"; do
    if [ \$skip = 1 ]; then skip=0; continue; fi
    case "\$argument" in
    -target | -isysroot | -arch) skip=1 ;;
    --target=* | -mmacosx-version-min=* | -Wl,-exported_symbols_list* | -liconv | -lobjc) ;;
    *) arguments+=("\$argument") ;;
    esac
done
exec "$zig" cc -target ${1/apple-darwin/macos} "\${arguments[@]}"
SCRIPT
    chmod +x "$path"
    echo "$path"
}

# Unpacks Debian's newest Rust beside the system's, with the source of the standard library.
install_debian_rust() {
    local version series llvm deb
    [ -x "$CACHE/root/usr/bin/cargo" ] && return
    has apt-get && has dpkg || missing "a standard library for ${TARGETS[*]}"
    mkdir -p "$CACHE/debs"
    version="$(apt-cache madison rustc-web 2>/dev/null | awk '{print $3}' | sort -V | tail -n 1)"
    [ -n "$version" ] || missing "Debian's rustc-web, or rustup"
    series="${version%%.*}.$(cut -d. -f2 <<<"$version")"
    llvm="$(apt-cache depends "libstd-rust-web-$series" | awk '/Depends: libllvm/ {print $2}')"
    (cd "$CACHE/debs" && apt-get download -qq "rustc-web=$version" "cargo-web=$version" \
        "rust-web-src=$version" "libstd-rust-web-dev=$version" "libstd-rust-web-$series" "$llvm" \
        libgit2-1.5 libmbedcrypto7 libmbedtls14 libmbedx509-1 libhttp-parser2.9 libssh2-1 libz3-4 libedit2) ||
        missing "Debian's packages of Rust"
    for deb in "$CACHE/debs"/*.deb; do dpkg -x "$deb" "$CACHE/root"; done
}

# Chooses what compiles: rustup's standard library, or Debian's source of one, which is built with everything else.
# Sets `cargo`, the command with its first arguments after the subcommand in `cargo_flags`.
rust() {
    local target
    cargo=(cargo) cargo_flags=()
    # Flags for this machine would be those for the other.
    unset RUSTFLAGS
    # Not in $CACHE: cargo takes what it has built of another clone for its own, if that is newer.
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target/darwin}"
    for target in "${TARGETS[@]}"; do
        rustup target add "$target" >/dev/null 2>&1 || true
        if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
            install_debian_rust
            cargo=("$CACHE/root/usr/bin/cargo") cargo_flags=(-Zbuild-std=std,panic_abort)
            export LD_LIBRARY_PATH="$CACHE/root/usr/lib/x86_64-linux-gnu:$CACHE/root/usr/lib"
            export RUSTC="$CACHE/root/usr/bin/rustc" RUSTC_BOOTSTRAP=1
            return
        fi
    done
}
