// Adds up the durations of a recording's frames.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct frame {
    uint16_t ticks;
    uint8_t repeats;
};

struct recording {
    struct frame *frames;
    size_t count;
    uint32_t rate; // ticks in a second
};

static struct recording record(size_t count) {
    struct recording recording = {calloc(count, sizeof(struct frame)), count, 90000};
    for (size_t i = 0; i < count; i++) {
        recording.frames[i].ticks = (uint16_t)(3000 + 10 * i);
        recording.frames[i].repeats = (uint8_t)(i % 7 == 0 ? 24 : 2);
    }
    return recording;
}

static uint32_t frame_ticks(const struct frame *frame) {
    uint16_t ticks = frame->ticks * frame->repeats;
    return ticks;
}

static uint64_t total_ticks(const struct recording *recording) {
    uint64_t total = 0;
    for (size_t i = 0; i < recording->count; i++) {
        total += frame_ticks(&recording->frames[i]);
    }
    return total;
}

static double seconds(const struct recording *recording) {
    return (double)total_ticks(recording) / recording->rate;
}

int main(void) {
    struct recording recording = record(50);
    printf("%.3f s\n", seconds(&recording));
    free(recording.frames);
    return 0;
}
