#!/usr/bin/env bash
# The host's side of guest/compile: reads the number of words, the folder, the compiler's name and its
# arguments, each ended by a null character; answers with the exit code, the sizes of what the compiler wrote
# to stdout and stderr, and both. SYSROOT: what the guest's packages have beyond the cross compiler's.
set -u
# The guest has no locales; tests read what compilers say.
export LC_ALL=C
cross=aarch64-linux-gnu
read -r -d '' count || exit
words=()
while [ "${#words[@]}" -lt "$count" ]; do
    IFS= read -r -d '' word || exit
    words+=("$word")
done
folder="${words[0]}" name="${words[1]}" arguments=("${words[@]:2}")

case $name in
gcc | cc) command=("$cross-gcc") ;;
g++ | c++) command=("$cross-g++") ;;
clang | clang++)
    command=("$name" "--target=$cross")
    if [[ " ${arguments[*]} " == *' -stdlib=libc++ '* ]]; then
        llvm="$(echo "$SYSROOT"/usr/lib/llvm-*)"
        command+=(-nostdinc++ -isystem "$llvm/include/c++/v1" "-L$SYSROOT/usr/lib/$cross" "-L$llvm/lib")
    fi
    ;;
rustc)
    # Of the releases of rustc, the default one alone has the guest's standard library.
    if [[ ${arguments[0]-} == +* ]]; then
        command=(false)
    else
        command=(rustc --target aarch64-unknown-linux-gnu -C "linker=$cross-gcc")
    fi
    ;;
esac

answer="$(mktemp -d)"
trap 'rm -rf "$answer"' EXIT
touch "$answer"/{out,err}
code=127
if [ -n "${command[*]-}" ] && command -v "${command[0]}" >/dev/null && cd "$folder" 2>"$answer/err"; then
    "${command[@]}" "${arguments[@]}" </dev/null >"$answer/out" 2>"$answer/err"
    code=$?
fi
echo "$code $(stat -c %s "$answer/out") $(stat -c %s "$answer/err")"
cat "$answer/out" "$answer/err"
