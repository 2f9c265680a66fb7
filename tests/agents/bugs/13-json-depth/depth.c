// How deeply the lists and objects of a JSON text are nested.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *text;
    size_t at, length;
};

static char peek(struct reader *reader) {
    while (reader->at < reader->length && isspace((unsigned char)reader->text[reader->at])) {
        reader->at++;
    }
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static void skip_string(struct reader *reader) {
    reader->at++;
    while (reader->at < reader->length && reader->text[reader->at] != '"') {
        reader->at += reader->text[reader->at] == '\\' ? 2 : 1;
    }
    reader->at++;
}

static int depth(struct reader *reader) {
    int most = 0;
    char open = peek(reader);
    if (open == '"') {
        skip_string(reader);
        return 0;
    }
    if (open != '[' && open != '{') {
        size_t begin = reader->at;
        while (reader->at < reader->length && !strchr(",:]}", reader->text[reader->at])) {
            reader->at++;
        }
        return reader->at > begin ? 0 : depth(reader);
    }
    reader->at++;
    while (peek(reader) != (open == '[' ? ']' : '}')) {
        int below = depth(reader);
        most = below > most ? below : most;
        char next = peek(reader);
        if (next == ',' || next == ':') {
            reader->at++;
        }
    }
    reader->at++;
    return most + 1;
}

int main(void) {
    const char *texts[] = {"[1, [2, 3], {\"a\": []}]", "{\"ids\": [4, 5, , 6]}"};
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = {texts[i], 0, strlen(texts[i])};
        printf("%d\n", depth(&reader));
    }
    return 0;
}
