// A ring of the last samples of a sensor, with their mean.
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY = 8 };

struct ring {
    int samples[CAPACITY];
    unsigned head;
    unsigned count;
    long sum;
};

static void ring_push(struct ring *ring, int sample) {
    unsigned tail = (ring->head + ring->count) % CAPACITY;
    if (ring->count == CAPACITY) {
        ring->sum -= ring->samples[tail];
        ring->head = (ring->head + 1) % CAPACITY;
    } else {
        ring->count++;
    }
    ring->samples[tail] = sample;
    ring->sum += sample;
}

// Drops the samples from the oldest on that are below a floor.
static unsigned ring_drop_below(struct ring *ring, int floor) {
    unsigned dropped = 0;
    while (ring->count > 0 && ring->samples[ring->head] < floor) {
        ring->head = (ring->head + 1) % CAPACITY;
        ring->sum -= ring->samples[ring->head];
        ring->count--;
        dropped++;
    }
    return dropped;
}

static double ring_mean(const struct ring *ring) {
    return ring->count == 0 ? 0.0 : (double)ring->sum / ring->count;
}

int main(void) {
    struct ring ring = {0};
    int readings[] = {41, 44, 12, 15, 47, 52, 50, 49, 51, 48};
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        ring_push(&ring, readings[i]);
    }
    unsigned dropped = ring_drop_below(&ring, 40);
    printf("dropped %u, mean of %u: %.2f\n", dropped, ring.count, ring_mean(&ring));
    return 0;
}
