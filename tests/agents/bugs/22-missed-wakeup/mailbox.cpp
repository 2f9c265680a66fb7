// A mailbox between two threads.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

class Mailbox {
public:
    void put(std::string letter) {
        std::unique_lock<std::mutex> guard(lock_);
        letters_.push_back(std::move(letter));
        arrived_.notify_one();
    }

    std::string take() {
        std::unique_lock<std::mutex> guard(lock_);
        arrived_.wait(guard);
        std::string letter = std::move(letters_.front());
        letters_.pop_front();
        return letter;
    }

    bool empty() {
        std::unique_lock<std::mutex> guard(lock_);
        return letters_.empty();
    }

private:
    std::mutex lock_;
    std::condition_variable arrived_;
    std::deque<std::string> letters_;
};

static void write_letters(Mailbox &mailbox) {
    mailbox.put("first");
    mailbox.put("second");
}

int main() {
    Mailbox mailbox;
    std::thread writer(write_letters, std::ref(mailbox));
    // The reader has other work first.
    while (mailbox.empty()) {
        std::this_thread::yield();
    }
    writer.join();
    std::printf("%s\n", mailbox.take().c_str());
    std::printf("%s\n", mailbox.take().c_str());
}
