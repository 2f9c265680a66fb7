// Timers in slots by their due time; the clock is simulated.
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 16 };

struct timer {
    const char *name;
    unsigned due, period;
    struct timer *next;
};

struct wheel {
    struct timer *slots[SLOTS];
    unsigned now;
};

static void arm(struct wheel *wheel, struct timer *timer, unsigned due) {
    timer->due = due;
    timer->next = wheel->slots[due % SLOTS];
    wheel->slots[due % SLOTS] = timer;
}

// Fires what is due now; what is due in a later turn of the wheel stays.
static unsigned fire_slot(struct wheel *wheel) {
    struct timer **link = &wheel->slots[wheel->now % SLOTS];
    unsigned fired = 0;
    while (*link) {
        struct timer *timer = *link;
        if (timer->due > wheel->now) {
            link = &timer->next;
            continue;
        }
        *link = timer->next;
        fired++;
        if (timer->period != 1) {
            arm(wheel, timer, wheel->now + timer->period);
        }
    }
    return fired;
}

int main(void) {
    struct wheel wheel = {.now = 0};
    struct timer timers[] = {{"flush", 0, 5, NULL}, {"once", 0, 0, NULL}, {"sync", 0, 24, NULL}};
    arm(&wheel, &timers[0], 2);
    arm(&wheel, &timers[1], 7);
    arm(&wheel, &timers[2], 9);
    unsigned fired = 0;
    for (; wheel.now < 100; wheel.now++) {
        fired += fire_slot(&wheel);
    }
    printf("%u fired\n", fired);
    return 0;
}
