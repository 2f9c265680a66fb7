#include <stdio.h>
#include <stdlib.h>

#define SLOTS 4

struct batch {
    int count;
    int used[SLOTS];
    int end;
};

static void die(int code) {
    fflush(stdout);
    if (code)
        abort();
}

static void fail(const char *what, int code) {
    fprintf(stderr, "batch: %s (code %d)\n", what, code);
    die(code);
}

static void require(int holds, const char *what) {
    if (!holds)
        fail(what, 7);
}

static void drop_slot(struct batch *batch, int index) {
    require(batch->used[index] == 1, "slot is not used");
    batch->used[index] = 0;
}

static void close_batch(struct batch *batch) {
    for (int index = 0; index <= batch->count; index++)
        drop_slot(batch, index);
}

int main(void) {
    struct batch batch = {.count = SLOTS};
    for (int i = 0; i < SLOTS; i++)
        batch.used[i] = 1;
    close_batch(&batch);
    puts("closed");
    return 0;
}
