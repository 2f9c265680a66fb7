# The virtual machine's kernel and disk, from Debian's arm64 packages. Nothing is installed on this machine:
# the packages are unpacked into an image. Sourced by tests/aarch64.sh.

GUEST_PACKAGES=(bash binutils busybox-static coreutils dash dwz findutils gdb grep gzip libasan8 libc++1 libc++abi1
    libc6 liblsan0 libstdc++6 libtsan2 libubsan1 lz4 mount procps sed strace tar util-linux zstd)
# What gcc, clang and rustc need on this machine to compile for the guest, beside the cross compiler's own.
SYSROOT_PACKAGES=(libc++-dev libc++abi-dev)
# The kernel's modules that find the disk and the shared folder, without those that they depend on.
MODULES=(drivers/virtio/virtio_mmio drivers/block/virtio_blk fs/ext4/ext4 fs/overlayfs/overlay
    drivers/net/virtio_net net/9p/9pnet_virtio fs/9p/9p crypto/crc32c_generic)

# Makes $CACHE/{Image,initrd.gz,disk.ext4,sysroot} unless they are as this file says.
make_image() {
    local stamp
    stamp="$(cat "${BASH_SOURCE[0]}" "$here/guest/"* | sha256sum | cut -c1-16)"
    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    flock 9
    if [ "$(cat "$CACHE/stamp" 2>/dev/null)" != "$stamp" ]; then
        rm -rf "$CACHE"/{stamp,apt,guest,kernel,ram,sysroot}
        fetch_packages
        make_disk
        make_initrd
        rm -rf "$CACHE"/{apt,guest,kernel,ram}
        echo "$stamp" >"$CACHE/stamp"
        say "image ready: $(du -sh "$CACHE" | cut -f1) in $CACHE"
    fi
    exec 9>&-
}

# Packages by lists of their own, so that /etc/apt stays as it is.
fetch_packages() {
    local apt="$CACHE/apt" sources=/etc/apt/sources.list.d/debian.sources kernel
    has apt-get || missing "apt-get: the image is made of Debian's packages"
    [ -f "$sources" ] || sources=/etc/apt/sources.list
    mkdir -p "$apt"/{lists,guest,sysroot,kernel}/partial
    cat >"$apt/conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
Debug::NoLocking "1";
Dir::Etc::sourcelist "$sources";
Dir::Etc::sourceparts "-";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache::pkgcache "$apt/pkgcache.bin";
Dir::Cache::srcpkgcache "$apt/srcpkgcache.bin";
CONF
    : >"$apt/status"
    say "fetching packages"
    (
        export APT_CONFIG="$apt/conf" DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -d -y -qq --no-install-recommends -o Dir::Cache::archives="$apt/guest" "${GUEST_PACKAGES[@]}" >/dev/null
        apt-get install -d -y -qq --no-install-recommends -o Dir::Cache::archives="$apt/sysroot" "${SYSROOT_PACKAGES[@]}" >/dev/null
        kernel="$(apt-cache depends linux-image-arm64 | awk '/Depends:/ {print $2; exit}')"
        cd "$apt/kernel" && apt-get download -qq "$kernel"
    ) || missing "Debian's arm64 packages cannot be fetched"
    unpack guest "$CACHE/guest"
    unpack sysroot "$CACHE/sysroot"
    unpack kernel "$CACHE/kernel"
    cp "$CACHE"/kernel/boot/vmlinuz-* "$CACHE/Image"
}

unpack() {
    local package
    for package in "$CACHE/apt/$1"/*.deb; do dpkg -x "$package" "$2"; done
    rm -rf "$CACHE/apt/$1"
}

make_disk() {
    local guest="$CACHE/guest" folder applet used
    for folder in bin sbin lib; do # as Debian's usrmerge leaves it
        cp -a "$guest/$folder/." "$guest/usr/$folder/"
        rm -rf "${guest:?}/$folder"
        ln -s "usr/$folder" "$guest/$folder"
    done
    ln -sf dash "$guest/usr/bin/sh"
    for applet in awk ip md5sum nc poweroff which; do
        [ -e "$guest/usr/bin/$applet" ] || ln -s busybox "$guest/usr/bin/$applet"
    done
    mkdir -p "$guest"/{dev,proc,sys,tmp,run,root,home/user}
    printf '%s\n' 'root:x:0:0:root:/root:/bin/bash' 'user:x:1000:1000::/home/user:/bin/bash' >"$guest/etc/passwd"
    printf '%s\n' 'root:x:0:' 'user:x:1000:' >"$guest/etc/group"
    echo '127.0.0.1 localhost aarch64' >"$guest/etc/hosts"
    install -m 755 "$here/guest/boot" "$here/guest/work" "$guest/usr/sbin/"
    for folder in cc gcc g++ c++ clang clang++ musl-gcc rustc; do
        install -D -m 755 "$here/guest/compile" "$guest/usr/local/bin/$folder"
    done
    used="$(du -sm --apparent-size "$guest" | cut -f1)"
    rm -f "$CACHE/disk.ext4"
    /sbin/mke2fs -q -F -t ext4 -O '^has_journal,^metadata_csum,^resize_inode' -m 0 -E root_owner=0:0 \
        -d "$guest" "$CACHE/disk.ext4" "$((used + used / 5 + 64))M"
}

make_initrd() {
    local ram="$CACHE/ram" modules module
    modules="$(echo "$CACHE"/kernel/lib/modules/*/kernel)"
    mkdir -p "$ram"/{bin,proc,sys,dev,lower,over,new}
    cp "$CACHE/guest/usr/bin/busybox" "$ram/bin/busybox"
    install -m 755 "$here/guest/init" "$ram/init"
    : >"$ram/modules"
    for module in "${MODULES[@]}"; do
        # Those that are missing are part of the kernel itself.
        [ ! -f "$modules/$module.ko" ] || add_module "$modules" "$modules/$module.ko"
    done
    (cd "$ram" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$CACHE/initrd.gz"
}

# Adds a module behind those that it depends on.
add_module() {
    local name dependency
    name="$(basename "$2")"
    if grep -qx "$name" "$CACHE/ram/modules"; then return; fi
    for dependency in $(tr '\0' '\n' <"$2" | sed -n 's/^depends=//p' | tr ',' ' '); do
        add_module "$1" "$(find "$1" -name "$dependency.ko" -o -name "${dependency//_/-}.ko" | head -n 1)"
    done
    cp "$2" "$CACHE/ram/$name"
    echo "$name" >>"$CACHE/ram/modules"
}
