// Objects of Objective-C without a runtime: clang lays out classes and constants, the rest is made here as
// the runtime and CoreFoundation make it.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef struct objc_class *Class;
typedef struct objc_object { Class isa; } *id;

__attribute__((objc_root_class)) @interface NSObject { Class isa; }
@end
@interface NSString : NSObject @end
@interface NSNumber : NSObject @end
@interface NSArray : NSObject @end
@interface NSDictionary : NSObject @end
@interface Point : NSObject {
    int x, y;
    unsigned low : 3, high : 5;
}
- (int)sum;
@end
@interface Named : Point {
    NSString *name;
    Point *other;
}
- (id)self;
@end
@interface Hidden : NSObject { int secret; }
@end

@implementation NSObject @end
@implementation Point
- (int)sum { return x + y + low + high; }
@end
@implementation Named
- (id)self { return self; }
@end
@implementation Hidden @end
// A class of Swift.
__attribute__((objc_root_class, objc_runtime_name("_TtC4main4Stop"))) @interface Stop { Class isa; } @end
@implementation Stop @end

#define CLASS(name) \
    __attribute__((objc_root_class)) @interface name { Class isa; } @end @implementation name @end
CLASS(__NSCFConstantString)
CLASS(__NSCFString)
CLASS(NSTaggedPointerString)
CLASS(__NSCFNumber)
CLASS(NSConstantIntegerNumber)
CLASS(NSConstantDoubleNumber)
CLASS(NSConstantFloatNumber)
CLASS(NSConstantArray)
CLASS(NSConstantDictionary)
CLASS(__NSArrayI)
CLASS(__NSArrayM)
CLASS(__NSDictionary0)
CLASS(__NSSingleObjectArrayI)
__asm__(".globl __CFConstantStringClassReference\n"
        ".set __CFConstantStringClassReference, OBJC_CLASS_$___NSCFConstantString");

#define OF(name) extern struct layout name##_class __asm("OBJC_CLASS_$_" #name)
struct description { uint32_t flags, start, size, more; const void *layout; const char *name; };
struct layout { struct layout *isa, *base; void *cache[2]; uintptr_t data; };
OF(Point); OF(Named); OF(Hidden); OF(__NSCFString); OF(NSTaggedPointerString); OF(__NSCFNumber);
OF(NSConstantIntegerNumber); OF(NSConstantDoubleNumber); OF(NSConstantFloatNumber); OF(NSConstantArray);
OF(NSConstantDictionary); OF(__NSArrayI); OF(__NSArrayM); OF(__NSDictionary0); OF(__NSSingleObjectArrayI);
extern struct layout Stop_class __asm("OBJC_CLASS_$__TtC4main4Stop");
#define OFFSET(name, of) extern long of __asm("OBJC_IVAR_$_" name)
OFFSET("Point.x", offset_of_x); OFFSET("Point.y", offset_of_y); OFFSET("Point.low", offset_of_low);
OFFSET("Point.high", offset_of_high); OFFSET("Named.name", offset_of_name); OFFSET("Named.other", offset_of_other);

void *_objc_empty_cache[2];

// The runtime's description of itself, for debuggers.
uintptr_t objc_debug_isa_class_mask = 0x00007ffffffffff8;
uintptr_t objc_debug_taggedpointer_mask = 1ul << 63, objc_debug_taggedpointer_slot_mask = 7;
unsigned objc_debug_taggedpointer_slot_shift = 60, objc_debug_taggedpointer_payload_lshift = 4,
         objc_debug_taggedpointer_payload_rshift = 4;
uintptr_t objc_debug_taggedpointer_obfuscator = 0x0123456789abcdef >> 4;
void *objc_debug_taggedpointer_classes[16];
uintptr_t objc_debug_taggedpointer_ext_mask = 0xful << 60, objc_debug_taggedpointer_ext_slot_mask = 0xff;
unsigned objc_debug_taggedpointer_ext_slot_shift = 52, objc_debug_taggedpointer_ext_payload_lshift = 12,
         objc_debug_taggedpointer_ext_payload_rshift = 12;
void *objc_debug_taggedpointer_ext_classes[256];

// What Point's base has grown by since this was compiled.
enum { GROWN = 24 };
static char point_memory[64], named_memory[64], packed_memory[64];
Point *point, *packed, *none, *wild = (Point *)0x1231, *far = (Point *)0x123456789ab0;
Named *named;
id anything, hidden_object, mutable_array, outside, swift_object;
static struct { void *isa; long rest; } stop_memory;
Point *base;
Class class;

NSString *constant = @"say \"hi\"\n", *wide = @"gr\u00fcn", *empty = @"";
struct cf { void *isa; uint64_t info; char rest[24]; };
struct cf inline_memory = {.info = 0x08}, pascal_memory = {.info = 0x0c};
struct { void *isa; uint64_t info; const void *buffer; uint64_t length, capacity; }
    mutable_memory = {.info = 0x21, .buffer = "changed", .length = 6, .capacity = 8},
    long_memory = {.info = 0x21, .length = 1ul << 40}, broken_memory = {.info = 0x21, .buffer = (void *)16, .length = 4};
NSString *inlined = (id)&inline_memory, *pascal = (id)&pascal_memory, *changed = (id)&mutable_memory;
NSString *longer = (id)&long_memory, *broken = (id)&broken_memory, *short_text;
typedef const struct __CFString *CFStringRef;
CFStringRef bridged;
static char many[512];

struct { void *isa; const char *type; int64_t value; } five_memory = {0, "i", -5}, yes_memory = {0, "B", 1},
    large_memory = {0, "Q", -1};
struct { void *isa; double value; } double_memory = {0, 2.5};
struct { void *isa; float value; } float_memory = {0, 0.1f};
NSNumber *five = (id)&five_memory, *yes = (id)&yes_memory, *large = (id)&large_memory;
NSNumber *real = (id)&double_memory, *single = (id)&float_memory, *tagged, *odd_kind;

id row[3];
struct { void *isa; uint64_t count; id *objects; } array_memory = {0, 3, row}, endless_memory = {0, ~0ul >> 2, row};
struct { void *isa; uint64_t count; id objects[2]; } inline_array_memory = {0, 2};
struct { void *isa; id object; } single_memory;
id keys[2], values[2];
struct { void *isa; uint64_t options, count; id *keys, *values; } map_memory = {0, 1, 2, keys, values};
struct { void *isa; } empty_memory, array_m_memory, hidden_memory;
NSArray *array = (id)&array_memory, *inline_array = (id)&inline_array_memory, *endless = (id)&endless_memory;
NSArray *alone = (id)&single_memory;
NSDictionary *map = (id)&map_memory, *empty_map = (id)&empty_memory;

// What the runtime makes of a class when it is used: flags, the description, and what was added to it.
static struct { uint32_t flags, witness; uintptr_t description; } realized, extended;
static struct { const void *description; } extension;

static uintptr_t tag(unsigned slot, uint64_t payload) {
    // Only the payload is obscured.
    return 1ul << 63 | (uintptr_t)slot << 60 | (payload ^ objc_debug_taggedpointer_obfuscator);
}

int main(void) {
    // clang takes the offsets for constants, since the base is here.
    mprotect((void *)((uintptr_t)&offset_of_x & ~4095ul), 8192, PROT_READ | PROT_WRITE);
    offset_of_x += GROWN, offset_of_y += GROWN, offset_of_low += GROWN, offset_of_high += GROWN;
    offset_of_name += GROWN, offset_of_other += GROWN;
    point = (id)point_memory, named = (id)named_memory, packed = (id)packed_memory;
    *(void **)point = &Point_class;
    *(int *)(point_memory + offset_of_x) = 3;
    *(int *)(point_memory + offset_of_y) = -4;
    point_memory[offset_of_low] = 5 | 17 << 3;
    *(void **)named = &Named_class;
    *(int *)(named_memory + offset_of_x) = 7;
    *(id *)(named_memory + offset_of_name) = (id)constant;
    *(id *)(named_memory + offset_of_other) = (id)point;
    // A class in a word with a reference count.
    *(uintptr_t *)packed = (uintptr_t)&Point_class | 1 | 9ul << 56;
    realized.flags = 1u << 31, realized.description = Named_class.data;
    Named_class.data = (uintptr_t)&realized | 3;
    extension.description = (void *)Hidden_class.data;
    extended.flags = 1u << 31, extended.description = (uintptr_t)&extension | 1;
    Hidden_class.data = (uintptr_t)&extended;
    anything = (id)named, base = named, class = (Class)&Named_class;
    hidden_memory.isa = &Hidden_class, hidden_object = (id)&hidden_memory;
    stop_memory.isa = &Stop_class, swift_object = (id)&stop_memory;
    array_m_memory.isa = &__NSArrayM_class, mutable_array = (id)&array_m_memory;
    inline_memory.isa = pascal_memory.isa = mutable_memory.isa = &__NSCFString_class;
    long_memory.isa = broken_memory.isa = &__NSCFString_class;
    memset(many, 'a', sizeof many), long_memory.buffer = many;
    *(uint64_t *)inline_memory.rest = 3, strcpy(inline_memory.rest + 8, "abcde");
    strcpy(pascal_memory.rest, "\x06" "Pascal");
    bridged = (void *)constant;
    objc_debug_taggedpointer_classes[8 | 2] = objc_debug_taggedpointer_classes[2] = &NSTaggedPointerString_class;
    objc_debug_taggedpointer_classes[3] = &__NSCFNumber_class;
    objc_debug_taggedpointer_ext_classes[5] = &Hidden_class;
    short_text = (id)tag(2, ((uint64_t)'e' << 16 | 'n' << 8 | 'o') << 4 | 3);
    tagged = (id)tag(3, ((uint64_t)-42 << 4 | 2) & ((1ul << 60) - 1)), odd_kind = (id)tag(3, 0x65);
    outside = (id)(0xful << 60 | 5ul << 52 | 0x77);
    five_memory.isa = yes_memory.isa = large_memory.isa = &NSConstantIntegerNumber_class;
    double_memory.isa = &NSConstantDoubleNumber_class, float_memory.isa = &NSConstantFloatNumber_class;
    row[0] = (id)constant, row[1] = (id)five, row[2] = (id)named;
    array_memory.isa = endless_memory.isa = &NSConstantArray_class;
    inline_array_memory.isa = &__NSArrayI_class;
    inline_array_memory.objects[0] = (id)tagged, inline_array_memory.objects[1] = (id)array;
    single_memory.isa = &__NSSingleObjectArrayI_class, single_memory.object = (id)real;
    keys[0] = (id)constant, keys[1] = (id)five, values[0] = (id)yes, values[1] = (id)array;
    map_memory.isa = &NSConstantDictionary_class, empty_memory.isa = &__NSDictionary0_class;
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
