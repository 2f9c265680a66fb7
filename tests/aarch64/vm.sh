# Virtual machines that work on a queue of jobs. Sourced by tests/aarch64.sh.

# The default has pointer authentication, BTI, LSE atomics and SVE with vectors of 32 bytes (longer ones are slow
# to emulate); cortex-a72 has none of them.
CPU="${CPU:-max,pauth-impdef=on,sve-max-vq=2}"
# QEMU's machine; that with memory tags (MTE) needs a processor that has them.
case "$CPU" in
    max*) MACHINE="${MACHINE:-virt,mte=on}" ;;
    *) MACHINE="${MACHINE:-virt}" ;;
esac

# Sockets, FIFOs and owners of the guest are attributes of plain files in the shared folder.
# vm NAME QUEUE [QEMU ARGUMENTS…]: runs one machine that shares the repository, until its queue is empty.
# What the guest's console prints goes to QUEUE/NAME.console, or to the terminal if the queue is `shell`.
vm() {
    local name="$1" queue="$2" console="-serial file:$2/$1.console"
    shift 2
    if [ "$queue" = shell ]; then console="-serial mon:stdio"; fi
    export SYSROOT="$CACHE/sysroot"
    # shellcheck disable=SC2086
    qemu-system-aarch64 -name "$name" -machine "$MACHINE" -accel tcg,thread=multi -cpu "$CPU" -smp "${CORES:-1}" \
        -m "${MEMORY:-2048}" -nodefaults -display none -no-reboot $console \
        -kernel "$CACHE/Image" -initrd "$CACHE/initrd.gz" \
        -append "console=ttyAMA0 quiet panic=-1 mitigations=off kpti=off share=$root queue=$queue now=$(date +%s)" \
        -drive "file=$CACHE/disk.ext4,if=none,id=root,format=raw,readonly=on" -device virtio-blk-device,drive=root \
        -netdev "user,id=net,restrict=on,guestfwd=tcp:10.0.2.100:7-cmd:$here/compile-for-guest.sh" \
        -device virtio-net-device,netdev=net \
        -fsdev "local,id=share,path=$root,security_model=mapped-xattr,multidevs=remap" \
        -device virtio-9p-device,fsdev=share,mount_tag=share "$@"
}
