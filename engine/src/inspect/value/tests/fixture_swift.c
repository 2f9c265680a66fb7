// Variables of Swift, as its standard library lays them out. Compiled without debug info.
#include <stdint.h>
#include <stdio.h>

int64_t an_int = -5;
uint8_t a_bool = 1, a_byte = 200, color_of = 2, some_bool = 0, no_bool = 2;
double a_double = 0.1;
float a_float = 0.1f;

// The number of bytes is in the last byte, beside the flags of a small string.
struct string { uint64_t counts, object; };
#define BYTE(at, of) ((uint64_t)(uint8_t)(of) << 8 * (at))
struct string small = {BYTE(0, 'o') | BYTE(1, 'n') | BYTE(2, 'e'), BYTE(7, 0xe3)};
struct string small_utf8 = {BYTE(0, 'g') | BYTE(1, 'r') | BYTE(2, 0xc3) | BYTE(3, 0xbc) | BYTE(4, 'n'), BYTE(7, 0xa5)};
struct string native, bridged = {0x1000000000000005, 0x4000000000001000};
struct string wild = {0x1000000000000005, 0x1000}, some_string, no_string;
static struct { uint64_t head[4]; char text[32]; } text = {{0}, "a string that is not small"};

void *object = &text, *some_object = &text, *no_object;
static struct { uint64_t head[2], count, capacity; int64_t elements[3]; } buffer = {{0}, 3, 6, {7, -8, 9}};
void *numbers = &buffer, *no_numbers, *words = &buffer;
uint64_t kept_numbers = 0xc000000000001000;
struct { int64_t value; uint8_t none; } some_int = {0, 0}, no_int = {0, 1};
struct { int64_t first; float second; } pair;
struct { int64_t x; double y; } a_point = {3, 2.5};

int main(void) {
    native.counts = 0xf000000000000000 | 26, native.object = 0x8000000000000000 | (uintptr_t)&text;
    some_string = native;
    static uint64_t empty[5];
    no_numbers = empty;
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
