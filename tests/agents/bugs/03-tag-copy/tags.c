// Counts records by their tags.
#include <stdio.h>
#include <string.h>

struct record {
    char tag[8];
    char owner[8];
    int amount;
};

struct total {
    const char *tag;
    int amount;
};

static void fill(struct record *record, const char *tag, const char *owner, int amount) {
    strncpy(record->tag, tag, sizeof record->tag);
    strncpy(record->owner, owner, sizeof record->owner - 1);
    record->owner[sizeof record->owner - 1] = '\0';
    record->amount = amount;
}

static void add(struct total *totals, size_t count, const struct record *record) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(totals[i].tag, record->tag) == 0) {
            totals[i].amount += record->amount;
            return;
        }
    }
}

int main(void) {
    struct total totals[] = {{"food", 0}, {"rent", 0}, {"salaries", 0}, {"travel", 0}};
    struct record records[4];
    fill(&records[0], "food", "ann", 12);
    fill(&records[1], "salaries", "bob", 900);
    fill(&records[2], "travel", "cy", 40);
    fill(&records[3], "rent", "ann", 300);
    for (size_t i = 0; i < 4; i++) {
        add(totals, 4, &records[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        printf("%s: %d\n", totals[i].tag, totals[i].amount);
    }
    return 0;
}
