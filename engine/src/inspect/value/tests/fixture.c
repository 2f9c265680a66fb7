#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdint.h>
#include <wchar.h>
#include <uchar.h>
#include <complex.h>
#ifdef __aarch64__
#define __float128 long double
#endif
struct node { int v; struct node *l, *r; };
struct inner { int x; double y; };
struct all { int a; long b; struct inner in; int arr[8]; char name[16]; struct node *next; };
union number { int i; float f; };
struct fields { unsigned a : 3; int b : 5; unsigned long c : 40; bool d : 1; };
enum color { RED, GREEN = 5, BLUE };
enum flags { F_A = 1, F_B = 2, F_C = 4 };
typedef enum color color_t;
struct anonymous { int k; union { int u; float f; }; struct { int p, q; } named; };
struct flexible { int n; int data[]; };
static int add(int a, int b) { return a + b; }
int i = 42, negative = -7;
unsigned char uc = 'A'; signed char sc = -1; char c = 'z', newline = '\n';
short s16 = -300; unsigned short u16 = 65000; long l = -5000000000L; unsigned long ul = 18446744073709551615UL;
__int128 big = ((__int128)1 << 100); unsigned __int128 ubig = ~(unsigned __int128)0;
float f = 1.1f; double d = 0.1, whole = 2.0, huge = 1e300, not_a_number = 0.0 / 0.0; long double ld = 1.5L;
#ifdef __clang__
float h = 0.5;
#else
_Float16 h = 0.5;
#endif
 double complex z = 1.0 + 2.0 * I;
bool yes = true, no = false;
wchar_t wide = L'w'; wchar_t wides[] = L"wide"; 
struct node leaf = {3, 0, 0}; struct node root = {1, &leaf, 0}; struct node *root_pointer = &root, *null_node = 0, *bad_node = (struct node *)16;
struct all all = {7, 1000000007, {13, 2.5}, {1, 2, 3, 4, 5, 6, 7, 8}, "hello", &root};
struct all *all_pointer = &all;
union number number = {0x3f800000}; struct fields fields = {5, -3, 0xabcdef0123, 1};
enum color color = GREEN, odd = 77; color_t color2 = BLUE; enum flags both = F_A | F_C; enum flags weird = 9;
struct anonymous anonymous = {1, {2}, {3, 4}};
const char *text = "say \"hi\"\n\x01"; char *bad = (char *)1; char *empty = ""; char *nothing = 0; char longer[600];
const char *const names[] = {"one", "two", 0}; unsigned char bytes[4] = {1, 2, 255, 0};
int matrix[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}; int (*row)[4] = matrix;
int (*function)(int, int) = add; void *anything = &i; int *pointer = &i; int **pointers = &pointer;
int many[100000]; struct flexible *flex; struct inner inners[3] = {{1, 1.5}, {2, 2.5}, {3, 3.5}};
volatile const int qualified = 9; float vec __attribute__((vector_size(16))) = {1, 2, 3, 4};
int (*table[2])(int, int) = {add, add};
struct ring { struct ring *self; int v; } ring = {&ring, 1};
long double third = 1.0L / 3, tiny = 3.6451995318824746025e-4951L, vast = 1e4000L; long double complex lz = 0.1L - 2.0L * I; __float128 quad = (__float128)1 / 3;
#ifdef __clang__
float tenth = 0.1f;
#else
_Float16 tenth = 0.1f16;
#endif
double _Complex conjugate = 1.0 - 2.0 * I; float complex fz = 0.5f + 1.0f * I;
int lanes __attribute__((vector_size(16))) = {1, -2, 3, 4}; char byte_lanes __attribute__((vector_size(8))) = {108, 97, 0, -1};
struct { int n; union { int i; float f; }; struct { short lo, hi; }; enum flags set; } mixed = {1, {2}, {3, 4}, F_B | F_C};
struct flexible *grown; int cube[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}; char lines[2][4] = {"one", "two"};
char full[3] = {'a', 'b', 'c'}; struct { signed low : 4, : 3, high : 5; } packed = {-8, 15};
char16_t c16 = u'x', text16[] = u"sixteen"; char32_t c32 = U'y'; const char32_t *text32 = U"thirty-two"; const wchar_t *wide_text = L"wide\n"; struct hidden *opaque = (struct hidden *)&root; enum flags no_flags = 0;
int main(void) {
  grown = calloc(1, sizeof *grown + 3 * sizeof(int)); grown->n = 3; grown->data[1] = 8;
  for (int n = 0; n < 100000; n++) many[n] = n * 3;
  for (int n = 0; n < 599; n++) longer[n] = 'a' + n % 26;
  puts("ready"); fflush(stdout); getchar();
  return add(i, h) + (int)creal(z);
}
