// What the bench `memory` compares with. Without arguments it has memory to read; with a process
// and an address it reads that, makes it base64, and prints how many milliseconds that took.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#define BYTES (16 << 20)

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

unsigned char *memory;

__attribute__((noinline)) void here(void) { __asm__ volatile(""); }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

int main(int count, char **arguments) {
    memory = malloc(BYTES);
    if (count < 3) {
        for (int i = 0; i < BYTES; i++)
            memory[i] = i * 7;
        here();
        return 0;
    }
    char *text = malloc(BYTES / 3 * 4 + 8), *end = text;
    double begun = now();
    struct iovec to = {memory, BYTES};
    struct iovec from = {(void *)strtoul(arguments[2], 0, 16), BYTES};
    if (process_vm_readv(atoi(arguments[1]), &to, 1, &from, 1, 0) != BYTES)
        return 1;
    for (int i = 0; i + 2 < BYTES; i += 3) {
        unsigned three = memory[i] << 16 | memory[i + 1] << 8 | memory[i + 2];
        *end++ = digits[three >> 18];
        *end++ = digits[three >> 12 & 63];
        *end++ = digits[three >> 6 & 63];
        *end++ = digits[three & 63];
    }
    printf("%.3f\n", now() - begun);
    return 0;
}
