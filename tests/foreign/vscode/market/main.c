// Sells fruit at two counters until the market is closed: until there is a file of that name.
#include <stdio.h>
#include <unistd.h>

enum kind { APPLE, PEAR, PLUM, KINDS };
struct order {
    enum kind kind;
    int n;
    const char *customer;
};

static const char *const customers[] = {"Ada", "Grace", "Linus", "Margaret"};
static volatile long sold[KINDS];

static void serve(const struct order *order) {
    sold[order->kind] += order->n;
}

static void sell_inside(const struct order *order) {
    serve(order);
}

static void sell_outside(const struct order *order) {
    if (order->n > 0)
        serve(order);
}

static struct order made(unsigned i) {
    unsigned mixed = i * 2654435761u;
    int n = 1 + (int)((mixed >> 8) % 97) * (int)((mixed >> 16) % 13) / 13;
    struct order order = {mixed % 8 < 5 ? APPLE : mixed % 8 < 7 ? PEAR : PLUM, n, customers[mixed >> 30]};
    return order;
}

int main(int argc, char **argv) {
    const char *closed = argc > 1 ? argv[1] : "closed";
    long orders = 0;
    while (access(closed, F_OK) != 0) {
        for (unsigned i = 0; i < 20000; i++) {
            struct order order = made(orders++);
            if (i % 4 == 0)
                sell_outside(&order);
            else
                sell_inside(&order);
        }
        usleep(10000 + orders / 20000 % 7 * 3000);
    }
    printf("%ld orders: %ld apples, %ld pears, %ld plums\n", orders, sold[APPLE], sold[PEAR], sold[PLUM]);
    return 0;
}
