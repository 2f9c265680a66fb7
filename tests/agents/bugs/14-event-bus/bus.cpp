// Listeners of events, which may leave while an event is sent.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct Listener {
    int id;
    std::string topic;
    std::unique_ptr<int> received;
    bool once;
};

class Bus {
public:
    void subscribe(int id, const std::string &topic, bool once) {
        listeners_.push_back(Listener{id, topic, std::make_unique<int>(0), once});
    }

    int publish(const std::string &topic) {
        int sent = 0;
        for (auto it = listeners_.begin(); it != listeners_.end(); ++it) {
            if (it->topic != topic) {
                continue;
            }
            ++*it->received;
            ++sent;
            if (it->once) {
                remove(it->id);
            }
        }
        return sent;
    }

    std::size_t size() const { return listeners_.size(); }

private:
    void remove(int id) {
        for (auto it = listeners_.begin(); it != listeners_.end(); ++it) {
            if (it->id == id) {
                listeners_.erase(it);
                return;
            }
        }
    }

    std::vector<Listener> listeners_;
};

int main() {
    Bus bus;
    bus.subscribe(1, "saved", false);
    bus.subscribe(2, "closed", true);
    bus.subscribe(3, "saved", true);
    bus.subscribe(4, "saved", false);
    bus.subscribe(5, "closed", false);
    std::printf("saved: %d of 3\n", bus.publish("saved"));
    std::printf("closed: %d of 2\n", bus.publish("closed"));
    std::printf("%zu left\n", bus.size());
}
