// Sessions of users, by name, with a log of who came.
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

struct Session {
    std::string user;
    std::string address;
    int requests = 0;
};

class Registry {
public:
    Session &open(std::string user, std::string address) {
        Session session{std::move(user), std::move(address)};
        auto [place, added] = sessions_.try_emplace(session.user, std::move(session));
        if (added) {
            log_.push_back("open " + session.user);
        }
        return place->second;
    }

    bool close(const std::string &user) {
        log_.push_back("close " + user);
        return sessions_.erase(user) == 1;
    }

    const std::vector<std::string> &log() const { return log_; }

private:
    std::map<std::string, Session> sessions_;
    std::vector<std::string> log_;
};

int main() {
    Registry registry;
    registry.open("margaret", "10.0.0.4").requests += 2;
    registry.open("li", "10.0.0.9").requests += 1;
    registry.open("margaret", "10.0.0.5").requests += 1;
    registry.close("li");
    for (const std::string &line : registry.log()) {
        std::printf("%s\n", line.c_str());
    }
}
