//! Programs of several sources whose debug info the linker leaves in object files.
#![allow(dead_code)]

use dwarf::Module;
use std::path::Path;
use std::sync::Arc;

const HEADER: &str = r#"
enum color { RED, GREEN = 5 };
union both { int whole; char part[4]; };
struct node { struct node *next; enum color color; union both both; unsigned bits : 3, more : 7; };
struct hidden;
extern int shared;
int use(struct hidden *);
int sum(struct node *);
static inline __attribute__((always_inline)) int twice(int x) { int y = x * 2; return y + 1; }
"#;
const MAIN: &str = r#"
#include "node.h"
int puts(const char *);
int common;
int initialized = 3;
static int counter;
static const double ratio = 0.5;
int dropped_variable = 9;
_Thread_local int own = 5;
static _Thread_local int own_hidden;
int dropped(int x) { return x + dropped_variable; }
static __attribute__((noinline)) int count(int x) {
    static int calls = 2;
    calls += x;
    counter += calls;
    own += x;
    own_hidden += x;
    return (int)(counter * ratio);
}
int also_dropped(int x) { int kept = twice(x); return kept; }
void abort(void);
__attribute__((noinline, noreturn)) static void fail(int x) {
    puts("too many");
    counter = x;
    abort();
}
int main(int argc, char **argv) {
    if (argc > 100)
        fail(argc);
    struct node node = { 0, GREEN, { argc }, 1, 2 };
    for (int i = 0; i < argc; i++) {
        int inner = count(i);
        common += twice(inner);
    }
    initialized += shared;
    puts(argv[0]);
    return sum(&node) + use(0) + initialized;
}
"#;
const NODE: &str = r#"
#include "node.h"
int unused_before(void) { return shared; }
int shared = 4;
struct hidden { int secret; struct node node; };
static struct hidden only = { 7 };
int use(struct hidden *hidden) { return (hidden ? hidden : &only)->secret; }
int sum(struct node *node) {
    int all = 0;
    for (; node; node = node->next) {
        int color = node->color;
        if (color == GREEN)
            all += twice(color);
        all += node->both.whole;
    }
    return all;
}
int unused_behind(void) { return sum(0); }
"#;
pub const C: [(&str, &str); 3] = [("main.c", MAIN), ("node.c", NODE), ("node.h", HEADER)];

const CPP_HEADER: &str = r#"
namespace shapes {
struct Base { virtual ~Base() {} virtual int area() const { return base; } int base = 1; static int made; };
template<class T> struct Box : Base {
    T value;
    static T last;
    static constexpr int size = 8;
    Box(T v) : value(v) { last = v; made++; }
    int area() const override { return static_cast<int>(value) * 2; }
};
template<class T> T Box<T>::last{};
template<class T> T biggest(T a, T b) { T best = a < b ? b : a; return best; }
inline int numbered() { static int number = 10; return ++number; }
inline int global_inline = 12;
enum class Kind : char { Small, Large };
}
int other(shapes::Base &);
"#;
const CPP_MAIN: &str = r#"
#include "shapes.h"
using namespace shapes;
int Base::made;
namespace { int hidden = 6; struct Local { int a; int get() const { return a + hidden; } }; }
void operator delete(void *, unsigned long) noexcept {}
void operator delete(void *) noexcept {}
extern "C" void __cxa_pure_virtual() {}
int never(int x) { return biggest(x, 3); }
int main(int argc, char **) {
    Box<int> box(argc);
    Box<double> other_box(argc * 0.5);
    Local local{argc};
    auto lambda = [&](int by) { int sum = by + local.get(); return sum; };
    Kind kind = argc > 1 ? Kind::Large : Kind::Small;
    return other(box) + other(other_box) + biggest(argc, 2) + numbered() + lambda(3)
        + (kind == Kind::Large) + global_inline;
}
"#;
const CPP_OTHER: &str = r#"
#include "shapes.h"
__attribute__((noinline)) int other(shapes::Base &base) {
    shapes::Box<long> box(5);
    int own = shapes::numbered() + shapes::biggest(3, base.area()) + shapes::global_inline;
    return own + box.area() + (int)shapes::biggest(2.0, 1.0);
}
"#;
pub const CPP: [(&str, &str); 3] = [
    ("main.cpp", CPP_MAIN),
    ("other.cpp", CPP_OTHER),
    ("shapes.h", CPP_HEADER),
];

/// Opens a file as an image of its own, whatever was opened before.
pub fn open(path: &Path) -> Arc<Module> {
    Module::from_bytes(path, std::fs::read(path).unwrap()).unwrap()
}
