// A program of macOS that needs no library: what it needs, tests/fixtures/darwin/loader.c gives it.
struct services {
    int (*late)(int);
    void (*load)(struct services *);
};

struct item {
    int weight;
    const char *name;
    struct {
        int x, y;
    } at;
};

int visits;

__attribute__((noinline)) static int leaf(const struct item *item, int depth) {
    visits += 1;
    return item->weight + depth * item->at.y; // leaf
}

__attribute__((noinline)) static int walk(const struct item *item, int depth) {
    if (depth == 0) return leaf(item, 3); // bottom
    int below = walk(item, depth - 1);
    return below + depth; // back
}

int twice(int number) { return 2 * number; }

int program(struct services *services) {
    struct item item = {7, "seven", {1, 2}};
    int total = 0;
    for (int round = 0; round < 4; ++round) {
        total += walk(&item, round); // round
    }
    services->load(services); // load
    if (services->late) total += services->late(total); // late
    return total; // end
}
