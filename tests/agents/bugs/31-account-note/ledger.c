#include <stdio.h>
#include <string.h>

#define ACCOUNTS 4

struct account {
    char note[16];
    long balance;
};

static struct account accounts[ACCOUNTS];

static void set_note(struct account *account, const char *text) {
    for (int at = 0; text[at]; at++)
        account->note[at] = text[at];
}

static void deposit(struct account *account, long amount) {
    account->balance += amount;
}

static void report_wrong(const struct account *account, long expected) {
    printf("account %d: balance %ld, expected %ld\n", (int)(account - accounts), account->balance, expected);
}

int main(void) {
    static const char *const notes[ACCOUNTS] = {"rent", "travel", "insurance of cars", "books"};
    for (int i = 0; i < ACCOUNTS; i++)
        deposit(&accounts[i], 100 * (i + 1));
    for (int i = 0; i < ACCOUNTS; i++)
        set_note(&accounts[i], notes[i]);
    for (int i = 0; i < ACCOUNTS; i++)
        if (accounts[i].balance != 100 * (i + 1))
            report_wrong(&accounts[i], 100 * (i + 1));
    return 0;
}
