// Tasks that run later, in the order of their delays.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

struct Task {
    int delay;
    std::function<int()> action;
};

class Scheduler {
public:
    void after(int delay, std::function<int()> action) {
        tasks_.push_back({delay, std::move(action)});
    }

    int run() {
        std::stable_sort(tasks_.begin(), tasks_.end(),
                         [](const Task &a, const Task &b) { return a.delay < b.delay; });
        int sum = 0;
        for (const Task &task : tasks_) {
            sum += task.action();
        }
        tasks_.clear();
        return sum;
    }

private:
    std::vector<Task> tasks_;
};

// Repeats a request three times, each time with a longer timeout.
static void schedule_retries(Scheduler &scheduler, int base) {
    int timeout = base;
    for (int attempt = 1; attempt <= 3; ++attempt) {
        timeout = base * attempt;
        scheduler.after(attempt * 10, [&timeout, attempt] { return timeout + attempt; });
    }
}

static long digest(int seed) {
    volatile long block[32];
    long sum = 0;
    for (int i = 0; i < 32; ++i) {
        block[i] = seed * 1000003L + i;
        sum ^= block[i];
    }
    return sum;
}

int main() {
    Scheduler scheduler;
    schedule_retries(scheduler, 100);
    long key = digest(7);
    int waited = scheduler.run();
    std::printf("key %ld, waited %d of 606\n", key, waited);
    return waited == 606 ? 0 : 1;
}
