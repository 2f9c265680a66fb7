// Settles the orders of a day: what each customer owes, and how much was earned.
#include <stdio.h>

struct order {
    const char *customer;
    int items;
    int price;
    int owed;
};

static struct order orders[] = {{"Ada", 3, 120, 0}, {"Grace", 1, 450, 0}, {"Linus", 5, 80, 0}};
static int settled;
static int earned;

static void settle(struct order *order) {
    int sum = order->items * order->price;
    int discount = 0;
    if (order->items > 2)
        discount = sum / 10;
    order->owed = sum - discount;
    earned += order->owed;
    settled++;
}

int main(void) {
    for (int i = 0; i < 3; i++)
        settle(&orders[i]);
    printf("%d orders, %d earned\n", settled, earned);
    return 0;
}
