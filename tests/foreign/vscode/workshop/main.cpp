#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

static int increase(int n) {
    return n + 1;
}

static int twice(int n) {
    return n * 2;
}

static int fill(int amount) {
    int level = amount;
    for (int i = 0; i < 3; i++) {
        std::printf("pass %d\n", i);
        if (i == 1) {
            level += 10;
        }
    }
    return level;
}

static void work(int *jobs) {
    for (int done = 0; done < 600; done++) {
        usleep(50000);
        *jobs += 1;
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "plain";
    const char *color = std::getenv("COLOR");
    std::printf("mode %s, color %s\n", mode, color ? color : "none");
    std::fflush(stdout);
    if (std::strcmp(mode, "crash") == 0) {
        std::abort();
    }
    if (std::strcmp(mode, "wait") == 0) {
        for (int turns = 0; turns < 600; turns++) {
            usleep(100000);
        }
        return 0;
    }
    if (std::strcmp(mode, "threads") == 0) {
        int jobs = 0;
        std::thread worker(work, &jobs);
        std::thread other([] { usleep(60000000); });
        worker.join();
        other.join();
        return jobs;
    }
    int sum = twice(increase(20));
    int level = fill(sum);
    std::printf("level %d\n", level);
    return 0;
}
