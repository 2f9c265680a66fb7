#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long hits;

static void count(void) {
    hits++;
}

static void *worker(void *unused) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        count();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void flush(void) {
    for (int i = 0; i < 2000; i++)
        count();
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    flush();
    pthread_join(thread, NULL);
    printf("%ld of 4000\n", hits);
    return 0;
}
