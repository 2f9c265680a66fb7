// A program of macOS in Objective-C that needs no library: its runtime is runtime.c.
#ifdef __cplusplus
extern "C" {
#endif
struct services {
    int (*late)(int);
    void (*load)(struct services *);
};

typedef struct objc_class *Class;
typedef struct objc_object {
    Class isa;
} *id;
typedef struct objc_selector *SEL;

__attribute__((objc_root_class)) @interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
+ (void)initialize;
@end

@interface Point : NSObject {
    int x, y;
}
- (int)sum:(int)more with:(int)last;
+ (int)count;
@end

@interface Point (Other)
- (int)third;
@end

@interface Named : Point {
    id name;
}
- (id)name;
@end

int made;

@implementation NSObject
+ (id)alloc {
    return 0;
}
- (id)init {
    return self; // bare_init
}
+ (void)initialize {
    made += 1; // initialize
}
@end

@implementation Point
- (id)init {
    self = [super init]; // init
    x = 3;
    y = 4; // filled
    return self;
}
- (int)sum:(int)more with:(int)last {
    return x + y + more + last; // sum
}
+ (int)count {
    return made; // count
}
@end

@implementation Point (Other)
- (int)third {
    return [self sum:1 with:2]; // third
}
@end

@implementation Named
- (id)init {
    self = [super init];
    name = @"seven"; // name
    return self;
}
- (id)name {
    return name;
}
@end

// The class of constant strings.
__attribute__((objc_root_class)) @interface __NSCFConstantString {
    Class isa;
}
@end
@implementation __NSCFConstantString
@end
__asm__(".globl ___CFConstantStringClassReference\n"
        ".set ___CFConstantStringClassReference, _OBJC_CLASS_$___NSCFConstantString");

int with_block(int (^)(int));

int program(struct services *services) {
    Point *point = [[Point alloc] init]; // made
    int total = [point sum:5 with:6];    // first
    total += [point sum:7 with:8];       // second
    total += [point third];              // extended
    total += [Point count];              // class
    int before = total;
    total += with_block(^(int number) { // block
        return number - before;         // in_block
    });
    Named *named = [[Named alloc] init];
    id anything = named;
    total += [(Point *)anything third]; // end
    return total;
}
#ifdef __cplusplus
}
#endif
