// Decides from the settings of a service how often a request is repeated.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy {
    int retries;
    int delay_ms;
    int jitter;
};

struct setting {
    const char *key, *value;
};

static long checksum(const struct setting *settings, size_t count) {
    unsigned char block[64];
    long sum = 0;
    for (size_t i = 0; i < count; i++) {
        memset(block, (int)(strlen(settings[i].key) * 16 + i), sizeof block);
        for (size_t k = 0; k < sizeof block; k++) {
            sum += block[k];
        }
    }
    return sum;
}

static struct policy read_policy(const struct setting *settings, size_t count) {
    struct policy policy;
    policy.retries = 3;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(settings[i].key, "retries") == 0) {
            policy.retries = atoi(settings[i].value);
        } else if (strcmp(settings[i].key, "delay") == 0) {
            policy.delay_ms = atoi(settings[i].value);
            policy.jitter = policy.delay_ms / 10;
        }
    }
    return policy;
}

static long longest_wait(const struct policy *policy) {
    long wait = 0;
    for (int i = 0; i < policy->retries; i++) {
        wait += (long)policy->delay_ms + policy->jitter;
    }
    return wait;
}

int main(void) {
    const struct setting settings[] = {{"retries", "5"}, {"host", "db"}};
    long sum = checksum(settings, 2);
    struct policy policy = read_policy(settings, 2);
    printf("sum %ld, waits at most %ld ms\n", sum, longest_wait(&policy));
    return 0;
}
