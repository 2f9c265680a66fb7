#include <pthread.h>

struct account {
    const char *owner;
    int balance;
    pthread_mutex_t lock;
};

static struct account alice = {"alice", 100, PTHREAD_MUTEX_INITIALIZER};
static struct account bob = {"bob", 50, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both_hold_one;

static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *pay_back(void *unused) {
    transfer(&bob, &alice, 5);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&thread, NULL, pay_back, NULL);
    transfer(&alice, &bob, 10);
    pthread_join(thread, NULL);
    return 0;
}
