#include <stdio.h>

static int discount(int quantity) {
    if (quantity >= 10)
        return 5;
    if (quantity >= 100)
        return 20;
    return 0;
}

static int price(int quantity) {
    int full = quantity * 100;
    return full - full * discount(quantity) / 100;
}

int main(void) {
    int sum = 0;
    for (int quantity = 1; quantity <= 1000; quantity *= 5)
        sum += price(quantity);
    printf("total %d, expected 62975\n", sum);
    return 0;
}
