/* What the copy of a package with probes prints by: lines as truth.rs reads them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATEMENTS (1 << 20)
#define MOST 2000

long source_expressions_place[64];
_Static_assert(sizeof(source_expressions_place) >= sizeof(sigjmp_buf), "a place for a jump");
unsigned char source_expressions_reached[STATEMENTS];
static FILE *file;
static int is_busy;
static struct sigaction before[2];

static void leave(int signal) {
    (void)signal;
    siglongjmp(*(sigjmp_buf *)(void *)source_expressions_place, 1);
}

/* Returns 1 the first time that a statement is reached. */
int source_expressions_first(int statement) {
    if (is_busy)
        return 0;
    source_expressions_reached[statement] = 1;
    if (!file) {
        const char *path = getenv("SOURCE_EXPRESSIONS_TRUTH");
        int descriptor = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
        /* The program's own files have the numbers that they have without probes. */
        int high = fcntl(descriptor, F_DUPFD_CLOEXEC, 500);
        close(descriptor);
        file = high < 0 ? NULL : fdopen(high, "a");
        if (!file)
            return 0;
    }
    is_busy = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = leave;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGFPE, &action, &before[1]);
    fprintf(file, "stop %d\n", statement);
    return 1;
}

void source_expressions_done(void) {
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGFPE, &before[1], NULL);
    fflush(file);
    is_busy = 0;
}

void source_expressions_integer(int id, long long value) {
    fprintf(file, "value %d\tinteger\t%lld\n", id, value);
}

void source_expressions_unsigned(int id, unsigned long long value) {
    fprintf(file, "value %d\tinteger\t%llu\n", id, value);
}

void source_expressions_float(int id, double value) { fprintf(file, "value %d\tfloat\t%.9g\n", id, value); }

void source_expressions_double(int id, double value) { fprintf(file, "value %d\tdouble\t%.17g\n", id, value); }

void source_expressions_pointer(int id, const void *value) {
    fprintf(file, "value %d\tpointer\t%s\n", id, value ? "set" : "null");
}

/* Bytes that are not ASCII are not compared: which encoding they have is not known. */
void source_expressions_text(int id, const char *value) {
    char text[2 * MOST + 8];
    int length = 0;
    if (!value) {
        source_expressions_pointer(id, value);
        return;
    }
    for (int at = 0; value[at]; at++) {
        unsigned char letter = (unsigned char)value[at];
        if (length >= MOST || letter >= 127 || (letter < 32 && !strchr("\n\t\r", letter))) {
            memcpy(text + length, "…", sizeof "…" - 1);
            length += (int)sizeof "…" - 1;
            break;
        }
        static const char plain[] = "\n\t\r\\";
        const char *escaped = strchr(plain, letter);
        if (escaped) {
            text[length++] = '\\';
            letter = (unsigned char)"ntr\\"[escaped - plain];
        }
        text[length++] = (char)letter;
    }
    text[length] = 0;
    fprintf(file, "value %d\ttext\t%s\n", id, text);
}
