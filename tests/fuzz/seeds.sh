#!/usr/bin/env bash
# Makes the seeds of corpus/ anew, from small sources: gcc, g++, rustc, binutils; clang, lld and llvm
# for Mach-O. What they are made of is pinned by the files that are committed; findings there are left
# alone.
set -euo pipefail
cd "$(dirname "$0")"
corpus=$PWD/corpus
mark='-=8<=-'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p "$corpus"/{line,info,location,cfi,names_cache,object,property_list,swift_name}

cat >seed.cpp <<'END'
namespace ns {
template <class T> struct Box { T value; unsigned bits : 3; T get() const { return value; } };
enum class Kind { A, B = 7 };
struct Base { virtual ~Base(); int id = 1; };
struct Derived : virtual Base { int more[3]; union { int i; float f; }; static int shared; };
int Derived::shared = 3;
}
static inline int twice(int x) { int y = x * 2; return y; }
__attribute__((noinline)) int work(int n, ns::Derived &d) {
    int total = 0;
    for (int i = 0; i < n; i++) { int v = twice(i) + d.more[i % 3]; total += v; }
    auto lambda = [&](int x) { return x + total; };
    return lambda(n) + ns::Derived::shared;
}
int run(int argc, ns::Derived &d) {
    ns::Box<int> box{argc, 1}; ns::Kind kind = ns::Kind::B;
    return work(argc, d) + box.get() + (int)kind;
}
END
cat >seed.c <<'END'
struct point { int x, y; };
static struct point origin = { 1, 2 };
static const char *names[] = { "one", "two" };
extern int outside(struct point *, const char *);
int sum(struct point *p, int n) {
    int total = p->x + p->y;
    for (int i = 0; i < n; i++)
        total += outside(p, names[i & 1]);
    return total;
}
int work(int n) { return sum(&origin, n) * 2; }
END
cat >seed.rs <<'END'
#![no_std]
pub enum Shape { Circle(u32), Square { side: u64 }, Nothing }
pub static TOTAL: [u16; 2] = [1, 2];
#[inline(always)]
fn area(shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Circle(r) => Some(3 * u64::from(*r)),
        Shape::Square { side } => side.checked_mul(*side),
        Shape::Nothing => None,
    }
}
#[unsafe(no_mangle)]
pub fn work(shapes: &[Shape; 3]) -> u64 {
    let mut sum = u64::from(TOTAL[0]);
    for shape in shapes { if let Some(area) = area(shape) { sum ^= area; } }
    sum
}
END

# A shared library whose sections are where the targets have them.
library() { # NAME COMPILER… SOURCE (`true` where seed.o is there already)
    local name=$1
    shift
    "$@" -c -o seed.o
    gcc -nostdlib -shared -o "$name" seed.o -Wl,--build-id=sha1 -Wl,-z,noseparate-code \
        -Wl,-z,norelro -Wl,-z,max-page-size=0x100 -Wl,-Ttext=0x1000 -Wl,--section-start=.eh_frame_hdr=0x3000 \
        -Wl,--section-start=.eh_frame=0x4000
}
section() { # FILE NAME
    rm -f section
    objcopy --dump-section "$2=section" "$1" copy 2>/dev/null || true
    if [ -e section ]; then cat section; fi
}
# The sections of a file as parts of one input.
parts() { # FILE SECTION…
    local file=$1 between= part
    shift
    for part in "$@"; do
        printf '%s' "$between"
        between=$mark
        section "$file" "$part"
    done
}
flags=(-g -fPIC -ffile-prefix-map="$work"=/src -fno-stack-protector)
library plain-5 g++ "${flags[@]}" -O0 -gdwarf-5 seed.cpp
library optimized-5 g++ "${flags[@]}" -O2 -gdwarf-5 seed.cpp
library optimized-4 g++ "${flags[@]}" -O2 -gdwarf-4 -fdebug-types-section -fno-dwarf2-cfi-asm seed.cpp
library c-4 gcc "${flags[@]}" -O1 -gdwarf-4 seed.c
library c-5 gcc "${flags[@]}" -O2 -gdwarf-5 seed.c
if command -v clang >/dev/null; then
    library clang-5 clang "${flags[@]}" -O1 -gdwarf-5 -gpubnames seed.c
    library clang-4 clang "${flags[@]}" -O1 -gdwarf-4 -gdwarf-aranges seed.c
fi
if command -v gdb-add-index >/dev/null; then gdb-add-index c-4; fi
rustc --edition 2024 --crate-type lib --emit obj -g -O -Cpanic=abort -Crelocation-model=pic \
    --remap-path-prefix "$work=/src" -o seed.o seed.rs
library rust-4 true
libraries=(plain-5 optimized-5 optimized-4 c-4 c-5 rust-4)
for extra in clang-5 clang-4; do if [ -e $extra ]; then libraries+=("$extra"); fi; done

for name in "${libraries[@]}"; do
    parts "$name" .debug_line .debug_line_str .debug_str >"$corpus/line/$name"
    parts "$name" .debug_abbrev .debug_info .debug_str .debug_line .debug_line_str \
        .debug_str_offsets .debug_addr .debug_aranges .debug_ranges .debug_rnglists .debug_loc \
        .debug_loclists .debug_types .debug_names .gdb_index >"$corpus/info/$name"
    {
        parts "$name" .eh_frame .eh_frame_hdr .debug_frame .text
        printf '%s\x40\x10\0\0\0\0\0\0\x20\x10\0\0\0\0\0\0%s' "$mark" "$mark"
    } >"$corpus/cfi/$name"
done
# The same rules without a search table, and in .debug_frame alone.
gcc "${flags[@]}" -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -c seed.c -o seed.o
library debug_frame true
parts debug_frame .eh_frame .nothing .debug_frame .text >"$corpus/cfi/debug_frame"
parts c-5 .eh_frame .nothing .nothing .text >"$corpus/cfi/scanned"
parts c-5 .nothing .nothing .nothing .text >"$corpus/cfi/no-rules"

# Whole files: as they are, compressed, split, in two.
cp plain-5 c-4 "$corpus/object/"
for kind in zlib zlib-gnu zstd; do
    objcopy --compress-debug-sections=$kind c-5 "$corpus/object/compressed-$kind" || true
done
for version in 4 5; do
    gcc "${flags[@]}" -O1 -gdwarf-$version -gsplit-dwarf -c seed.c -o seed.o
    library split-$version true
    { cat split-$version; printf '%s' "$mark"; cat seed.dwo; } >"$corpus/object/split-$version"
    # binutils' dwp knows version 4 only.
    dwp=$([ $version = 4 ] && echo dwp || echo llvm-dwp)
    if command -v "$dwp" >/dev/null; then
        "$dwp" seed.dwo -o seed.dwp
        { cat split-$version; printf '%s' "$mark"; cat seed.dwp; } >"$corpus/object/package-$version"
    fi
done
objcopy --only-keep-debug c-5 image.debug
objcopy --strip-debug --add-gnu-debuglink=image.debug c-5 stripped
{ cat stripped; printf '%s' "$mark"; cat image.debug; } >"$corpus/object/debuglink"

# Mach-O, by clang and lld.
if command -v ld64.lld >/dev/null && command -v clang >/dev/null; then
    cat >libSystem.tbd <<'END'
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _outside, dyld_stub_binder ]
...
END
    for machine in arm64 x86_64; do
        clang -target $machine-apple-macos11 -g -O1 -ffile-prefix-map="$work=/src" -c seed.c -o seed.o
        ld64.lld -arch $machine -platform_version macos 11.0 14.0 -dylib -oso_prefix "$work/" \
            -o "macho-$machine" seed.o libSystem.tbd
        cp "macho-$machine" "$corpus/object/"
    done
    # All kinds of frames, and an exception table.
    cat >frames.cpp <<'END'
extern "C" int outside(void *, const char *);
struct Guard { ~Guard() { outside(this, "guard"); } };
int leaf(int x) { return x + 1; }
int many(int a, int b, int c, int d) { return outside(&a, "") * b + outside(&b, "") * c + outside(&c, "") + d; }
int large(int a) { char buffer[20000]; return outside(buffer, "") + buffer[a]; }
int cleaning(int a) { Guard guard; return many(a, 1, 2, 3) + large(a); }
END
    for machine in arm64 x86_64; do
        for pointer in omit no-omit; do
            clang -target $machine-apple-macos11 -O1 -fexceptions -f$pointer-frame-pointer -c frames.cpp -o frames.o
            ld64.lld -arch $machine -platform_version macos 11.0 14.0 -dylib -undefined dynamic_lookup -S \
                -o "$corpus/cfi/macho-$machine-$pointer" frames.o libSystem.tbd
        done
    done
    llvm-lipo -create macho-x86_64 -output "$corpus/object/universal"
    dsymutil --oso-prepend-path="$work" -o companion.dSYM macho-x86_64
    {
        cat macho-x86_64
        printf '%s' "$mark"
        cat companion.dSYM/Contents/Resources/DWARF/macho-x86_64
    } >"$corpus/object/companion"
    # Debug info in an object file: variables that are left out, with an address of the linker, and
    # of a thread.
    cat >image.c <<'END'
int common;
static int counter = 3;
int dropped_variable;
_Thread_local int own = 5;
int dropped(int x) { return dropped_variable + x; }
static inline __attribute__((always_inline)) int twice(int x) { int y = x * 2; return y; }
__attribute__((noinline)) static int count(int x) { static int calls; calls += x; return counter += calls; }
int work(int n) { for (int i = 0; i < n; i++) common += twice(count(i)) + own; return common; }
END
    for machine in arm64 x86_64; do
        for version in 4 5; do
            clang -target $machine-apple-macos11 -g -gdwarf-$version -O1 -fcommon \
                -ffile-prefix-map="$work=/src" -c image.c -o image.o
            link=(ld64.lld -arch $machine -platform_version macos 11.0 14.0 -dylib -dead_strip
                -exported_symbol _work -undefined dynamic_lookup -oso_prefix "$work/")
            "${link[@]}" -o mapped image.o libSystem.tbd
            { cat mapped; printf '%s' "$mark"; cat image.o; } >"$corpus/object/map-$machine-$version"
        done
        rm -f libimage.a
        llvm-ar --format=darwin rcs libimage.a image.o
        "${link[@]}" -o mapped libimage.a -u _work libSystem.tbd
        { cat mapped; printf '%s' "$mark"; cat libimage.a; } >"$corpus/object/map-$machine-library"
    done
fi

# Expressions, one a line: version, frame base, location, parameter, value, member, lists,
# addresses, memory, registers.
location() { # NAME PART…
    local name=$1 between=
    shift
    for part in "$@"; do
        printf '%s%b' "$between" "$part"
        between=$mark
    done >"$corpus/location/$name"
}
memory='\x40\x10\0\0\0\0\0\0'
location fbreg '\x05' '\x9c' '\x91\x70' '' '' '\x23\x08' '' '' "$memory"
location list-5 '\x05' '\x56' '\x50' '' '' '' '\x04\x00\x10\x01\x50\x05\x02\x30\x9f\x00' '' "$memory"
location list-4 '\x04' '\x56' '\x50' '' '' '' '\0\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x01\0\x50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' '' "$memory"
location entry_value '\x05' '\x9c' '\xa3\x01\x55\x9f' '\x55' '\x76\x70\x06' '' '' '' "$memory"
# Each value takes the next register's twice, the last one's is a number.
location chained '\x05' '\x9c' '\xa3\x01\x50\x9f' '\x50' '\xa3\x01\x51\xa3\x01\x51\x22' '' '' '' "$memory" '' \
    '\x51' '\xa3\x01\x52\xa3\x01\x52\x22' '\x52' '\xa3\x01\x53\xa3\x01\x53\x22' '\x53' '\x31'
location entry_value-4 '\x04' '\x9c' '\xf3\x01\x55\x9f' '\x55' '\xf3\x01\x55' '' '' '' "$memory"
location pieces '\x05' '\x9c' '\x50\x93\x04\x93\x04\x30\x9f\x93\x02\x9d\x09\x03' '' '' '' '' '' "$memory"
location typed '\x05' '\x9c' '\xa5\x05\x21\xa8\x24\x76\x00\xa6\x04\x21\xa8\x24\x1e\xa8\x00\x9f' '' '' '' '' '' "$memory"
location loop '\x05' '\x9c' '\x31\x12\x1c\x2f\xfb\xff\x9f' '' '' '\x28\x01\x00\x06' '' '' "$memory"
location addrx '\x05' '\x9c' '\xa1\x00\x06\xa2\x01\x22' '' '' '' '\x08\x00\x00\x10\x00' '\x00\x20\0\0\0\0\0\0\x08\0\0\0\0\0\0\0' "$memory"
location implicit '\x05' '\x9c' '\x9e\x04abcd' '' '' '' '\x02\x01\x02\x01\x50' '' "$memory"
location called '\x05' '\x9c' '\x98\x59\x00\x99\x59\x00\0\0' '' '' '' '' '' "$memory"
location implicit_pointer '\x05' '\x9c' '\xa0\x59\0\0\0\x01' '' '' '' '' '' "$memory"
location parameter_ref '\x05' '\x9c' '\xfa\x59\0\0\0\x9f' '\x55' '\x76\x70\x06' '' '' '' "$memory"
location tls '\x05' '\x9c' '\x0e\x10\0\0\0\0\0\0\0\x9b\x0e\x10\0\0\0\0\0\0\0\xe0\x1a' '' '' '' '' '' "$memory"

# Bits of offsets and units, counts, and words; without those the file as a whole.
word='\x0b\0\0\0\x02\0\0\0'
printf "\x20\x02\x02\x01\x01%s$word$word$word$word$word" "$mark" >"$corpus/names_cache/tables"
printf "\xff\x20\xff\0\xff%s$word$word" "$mark" >"$corpus/names_cache/counts"
printf '%sstillpoint.nam.2' "$mark" >"$corpus/names_cache/magic"

# A list of moved sources, in both formats.
python3 - "$corpus/property_list" <<'END'
import plistlib, sys
it = {"DBGVersion": "3", "DBGBuildSourcePath": "/b", "DBGSourcePath": "~/\u00e9",
    "DBGSourcePathRemapping": {"/src": "/s\u00e9\U0001f600", "./": "/w"}, "many": ["x"] * 20, "n": 2, "t": True}
for name, kind in ("binary", plistlib.FMT_BINARY), ("xml", plistlib.FMT_XML):
    with open(sys.argv[1] + "/" + name, "wb") as file:
        plistlib.dump(it, file, fmt=kind)
END
# Mangled names of Swift, each with a name that a user typed.
while read -r name mangled typed; do
    printf '%s%s%s' "$mangled" "$mark" "$typed" >"$corpus/swift_name/$name"
done <<'END'
method 4main4StopV4area2ofS2i_tF Stop.area(of:)
getter 4main4StopV4areaSivg main.Stop.area.getter
operator 4main4StopV2eeoiySbAC_ACtFZ Stop.==
closure 4main1fyySaySiG_SDySSSiGtFySiXEfU_ f
generic 4main1fyyxAA1PRzlF f(_:)
private 4main3foo4_ABCLLyyF foo()
local 4main1fyyF3FooL_V3baryyF bar
punycode 4main0012vergenza_JFayyF vergüenza
words 4main11StopVisitorC06rotateC02byS2i_tF rotateVisitor
thunk S2SSbIegxxd_S2SSbIegnnd_TR thunk
witness 4main1SVyxGAA1PA2aERzlWP S
specialized 4main1fyyF1a1bTf3pfpg_n f
nested 4main1fyyF013B4main1gyyFTf3pf_n g
existential 4main1fyyAA1P_pSi1AAaCPRts_XPSgF f
opaque 4test3fooV4blahyAA1SV1fQryFQOy_Qo_AHF blah
substituted xq_s5Error_pIegnrzo_xq_sAA_pIegnrzo_r0_lTR x
swift4 _T04main4StopV4areaSiSi2of_tF area(of:)
embedded $e4main4StopV4area2ofS2i_tF area
END
du -sh "$corpus"/*
