// Reads the addresses that a server listens on.
#include <stdio.h>
#include <string.h>

struct listener {
    char host[16];
    unsigned short port;
    unsigned short backlog;
    unsigned flags;
};

static int read_listener(const char *line, struct listener *listener) {
    char flag[8] = "";
    listener->backlog = 128;
    listener->flags = 0;
    int fields = sscanf(line, "%15[^:]:%u %7s", listener->host, (unsigned *)&listener->port, flag);
    if (strcmp(flag, "tls") == 0) {
        listener->flags |= 1;
    }
    return fields >= 2 ? 0 : -1;
}

static unsigned long memory_needed(const struct listener *listeners, size_t count) {
    unsigned long bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += listeners[i].backlog * 512ul + (listeners[i].flags & 1) * 65536ul;
    }
    return bytes;
}

int main(void) {
    const char *lines[] = {"localhost:8080", "10.0.0.7:443 tls"};
    struct listener listeners[2];
    for (size_t i = 0; i < 2; i++) {
        if (read_listener(lines[i], &listeners[i]) != 0) {
            return 1;
        }
    }
    printf("%lu bytes for connections\n", memory_needed(listeners, 2));
    return 0;
}
