// Counts the kinds of characters of a text.
#include <stdio.h>
#include <string.h>

enum kind { LETTER, DIGIT, SPACE, OTHER, KINDS };

static unsigned char kinds[256];
static int counts[KINDS];

static void fill_kinds(void) {
    memset(kinds, OTHER, sizeof kinds);
    for (int c = 'a'; c <= 'z'; c++) {
        kinds[c] = LETTER;
        kinds[c - 'a' + 'A'] = LETTER;
    }
    for (int c = '0'; c <= '9'; c++) {
        kinds[c] = DIGIT;
    }
    // Letters of Latin-1.
    for (int c = 0xc0; c <= 0xff; c++) {
        kinds[c] = LETTER;
    }
    kinds[' '] = kinds['\n'] = kinds['\t'] = SPACE;
}

static unsigned hash(const char *text) {
    unsigned hash = 5381;
    for (const char *at = text; *at; at++) {
        int code = *at;
        if (code > 255) {
            continue;
        }
        hash = hash * 33 + (unsigned)code;
        counts[code < 0 ? OTHER : kinds[code]]++;
    }
    return hash;
}

int main(void) {
    fill_kinds();
    unsigned key = hash("caf\xe9 42");
    printf("letters %d, digits %d, spaces %d, other %d, key %u\n", counts[LETTER], counts[DIGIT],
           counts[SPACE], counts[OTHER], key);
    return key == 2994706366u ? 0 : 1;
}
