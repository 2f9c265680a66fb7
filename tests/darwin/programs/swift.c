// Functions with the symbols that Swift's compiler gives to `Stop.area(of:)`, `Stop.total` and a closure in
// `run(_:)`.
struct services;

__attribute__((noinline)) int area(int side) __asm__("_$s4main4StopV4area2ofS2i_tF");
__attribute__((noinline)) int total(int side) __asm__("_$s4main4StopV5totalSivg");
__attribute__((noinline)) int closure(int side) __asm__("_$s4main3runyyS2iXEFS2iXEfU_");
__attribute__((noinline)) int run(int side) __asm__("_$s4main3runyyS2iXEF");

int area(int side) {
    return side * side; // area
}

int total(int side) {
    return area(side) + 1; // total
}

int closure(int side) {
    return total(side) + 1; // closure
}

int run(int side) {
    return closure(side) + 1; // run
}

int program(struct services *services) {
    return run(services ? 3 : 4) + 1; // program
}
