// A registry that is loaded at its first use, by threads.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Registry {
public:
    static Registry &instance() {
        if (!instance_) {
            instance_ = load();
        }
        return *instance_;
    }

    int next_id() {
        std::lock_guard<std::mutex> guard(lock_);
        return ++last_id_;
    }

private:
    static Registry *load() {
        auto *registry = new Registry;
        // As long as the file takes to be read.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return registry;
    }

    static Registry *instance_;
    std::mutex lock_;
    int last_id_ = 0;
};

Registry *Registry::instance_ = nullptr;

static void worker(int count, std::vector<int> &ids) {
    for (int i = 0; i < count; ++i) {
        ids.push_back(Registry::instance().next_id());
    }
}

int main() {
    std::vector<int> ids[2];
    std::thread first(worker, 3, std::ref(ids[0]));
    std::thread second(worker, 3, std::ref(ids[1]));
    first.join();
    second.join();
    int highest = Registry::instance().next_id();
    std::printf("highest id %d after %zu\n", highest, ids[0].size() + ids[1].size());
    return highest == 7 ? 0 : 1;
}
