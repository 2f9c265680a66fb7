// Sums lengths that are given with their units, in millimetres.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    long millimetres;
};

static const struct unit units[] = {
    {"mm", 1}, {"cm", 10}, {"m", 1000}, {"in", 25}, {"ft", 305}, {"km", 1000000},
};
static const size_t unit_count = sizeof units / sizeof units[0];

// Returns the unit of this name, or NULL.
static const struct unit *find_unit(const char *name) {
    size_t low = 0, high = unit_count - 1;
    for (size_t i = low; i < high; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

// Splits "12km" into its number and its unit.
static long parse_length(const char *text) {
    char name[8] = "";
    size_t length = 0;
    char *rest;
    long number = strtol(text, &rest, 10);
    while (isspace((unsigned char)*rest)) {
        rest++;
    }
    while (isalpha((unsigned char)*rest) && length + 1 < sizeof name) {
        name[length++] = (char)tolower((unsigned char)*rest++);
    }
    const struct unit *unit = find_unit(name);
    return number * unit->millimetres;
}

int main(void) {
    const char *route[] = {"350 m", "80cm", "3 ft", "12 KM", "5 in"};
    long sum = 0;
    for (size_t i = 0; i < sizeof route / sizeof route[0]; i++) {
        sum += parse_length(route[i]);
    }
    printf("%ld mm\n", sum);
    return 0;
}
