#include <stdio.h>
#include <string.h>

struct entry {
    const char *name;
    int price;
    struct entry *next;
};

static struct entry pear = {"pear", 30, NULL};
static struct entry apple = {"apple", 20, &pear};

static struct entry *find(struct entry *first, const char *name) {
    for (struct entry *it = first; it != NULL; it = it->next)
        if (strcmp(it->name, name) == 0)
            return it;
    return NULL;
}

static int total(const char **names, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += find(&apple, names[i])->price;
    return sum;
}

int main(void) {
    const char *basket[] = {"apple", "plum", "pear"};
    printf("%d\n", total(basket, 3));
    return 0;
}
