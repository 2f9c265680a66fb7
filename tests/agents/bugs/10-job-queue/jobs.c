// Workers that take jobs from a queue.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 6, WORKERS = 2 };

struct job {
    const char *command;
    int priority;
};

struct queue {
    pthread_mutex_t lock;
    struct job *jobs[JOBS];
    int count;
    int rejected;
};

static struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int finished;

static int submit(struct queue *queue, struct job *job) {
    pthread_mutex_lock(&queue->lock);
    if (job->priority < 0) {
        queue->rejected++;
        return -1;
    }
    queue->jobs[queue->count++] = job;
    pthread_mutex_unlock(&queue->lock);
    return 0;
}

static struct job *take(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    struct job *job = queue->count > 0 ? queue->jobs[--queue->count] : NULL;
    pthread_mutex_unlock(&queue->lock);
    return job;
}

static void *work(void *unused) {
    struct job *job;
    while ((job = take(&queue)) != NULL) {
        __atomic_add_fetch(&finished, (int)strlen(job->command) > 0, __ATOMIC_SEQ_CST);
    }
    return unused;
}

int main(void) {
    static struct job jobs[] = {{"index", 2}, {"mail", 1}, {"purge", -1}};
    pthread_t workers[WORKERS];
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        if (submit(&queue, &jobs[i]) != 0) {
            fprintf(stderr, "rejected: %s\n", jobs[i].command);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_create(&workers[i], NULL, work, NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i], NULL);
    }
    printf("%d jobs finished\n", finished);
    return 0;
}
