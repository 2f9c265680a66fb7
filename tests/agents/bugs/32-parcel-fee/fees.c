#include <stdio.h>

static int base_fee(int zone) {
    static const int bases[] = {3, 5, 8, 12};
    return bases[zone];
}

static int weight_fee(int weight) {
    return weight <= 20 ? 0 : (weight - 20) / 10;
}

static int surcharge(int kind, int weight) {
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return 2;
    case 2:
        return weight / 4;
    default:
        return 6;
    }
}

static int fee(int zone, int weight, int kind) {
    return base_fee(zone) + weight_fee(weight) + surcharge(kind, weight);
}

int main(void) {
    int highest = 0;
    for (int parcel = 0; parcel < 120; parcel++) {
        int weight = 5 + parcel * 7 % 260;
        int now = fee(parcel % 4, weight, parcel % 3 ? parcel % 2 : weight > 250 ? 2 : 3);
        if (now > highest)
            highest = now;
    }
    printf("highest fee: %d\n", highest);
    return 0;
}
