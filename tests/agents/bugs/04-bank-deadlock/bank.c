// Two clerks move money between accounts.
#include <pthread.h>
#include <stdio.h>

struct account {
    const char *owner;
    long balance;
    pthread_mutex_t lock;
};

static struct account accounts[] = {
    {"alice", 500, PTHREAD_MUTEX_INITIALIZER},
    {"bob", 300, PTHREAD_MUTEX_INITIALIZER},
    {"carol", 100, PTHREAD_MUTEX_INITIALIZER},
};
static pthread_barrier_t opening;

struct order {
    struct account *from, *to;
    long amount;
};

static int covered(const struct account *account, long amount) {
    // The ledger is asked while the clerk holds the account.
    pthread_barrier_wait(&opening);
    return account->balance >= amount;
}

static int transfer(struct account *from, struct account *to, long amount) {
    int done = 0;
    pthread_mutex_lock(&from->lock);
    if (covered(from, amount)) {
        pthread_mutex_lock(&to->lock);
        from->balance -= amount;
        to->balance += amount;
        done = 1;
        pthread_mutex_unlock(&to->lock);
    }
    pthread_mutex_unlock(&from->lock);
    return done;
}

static void *clerk(void *data) {
    struct order *order = data;
    transfer(order->from, order->to, order->amount);
    return NULL;
}

int main(void) {
    struct order orders[] = {
        {&accounts[0], &accounts[2], 50},
        {&accounts[2], &accounts[0], 20},
    };
    pthread_t clerks[2];
    pthread_barrier_init(&opening, NULL, 2);
    for (int i = 0; i < 2; i++) {
        pthread_create(&clerks[i], NULL, clerk, &orders[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(clerks[i], NULL);
    }
    printf("alice %ld, carol %ld\n", accounts[0].balance, accounts[2].balance);
    return 0;
}
