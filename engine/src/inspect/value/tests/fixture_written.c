#include <complex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
struct fields { unsigned a : 3; int b : 5; bool c : 1; };
enum color { RED, GREEN = 5 };
int i = 42, numbers[4] = {10, 20, 30, 40}, *pointer = numbers; unsigned u = 7; unsigned char uc = 200; signed char sc = 100;
short s16 = 5; bool yes = true; float f = 1.5f; double d = 0.1; long double ld = 0.1L, third = 1.0L / 3; __int128 big = 1;
struct fields fields = {1, 2, 0}; enum color color = RED; _Atomic int count = 5; atomic_long total = 6; char text[8] = "abc"; void *anything = 0; const char *name = "name";
double complex z = 1.0, other = 2.0 + 3.0 * I;
static int one(void) { return 1; }
static int two(void) { return 2; }
int (*function)(void) = one;
int main(void) {
  puts("ready"); fflush(stdout); getchar();
  printf("%d %u %d %d %d %d %.8g %.18g %d %d\n", i, u, uc, sc, s16, yes, f, d, ld == 0.1L + 0.2L, third == 1.0L / 3 * 3);
  printf("%d %d %d %d %d %ld %s %d %td %g %d\n", fields.a, fields.b, fields.c, color, count, total, text, anything == &i, pointer - numbers, cimag(z), function() + two());
  for (int n = 0; n < 4; n++) printf("%d ", numbers[n]);
}
