// Sums orders by the region of their country.
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Order {
    std::string country;
    int cents;
};

static std::vector<Order> read_orders(const std::string &text) {
    std::vector<Order> orders;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        std::size_t comma = line.find(',');
        if (comma == std::string::npos) {
            continue;
        }
        orders.push_back({line.substr(comma + 1), std::stoi(line.substr(0, comma))});
    }
    return orders;
}

class Regions {
public:
    const std::string &of(const std::string &country) const { return regions_.at(country); }

private:
    std::map<std::string, std::string> regions_ = {
        {"AT", "europe"}, {"BR", "america"}, {"FR", "europe"}, {"JP", "asia"}};
};

static std::map<std::string, int> sums(const std::vector<Order> &orders, const Regions &regions) {
    std::map<std::string, int> result;
    for (const Order &order : orders) {
        result[regions.of(order.country)] += order.cents;
    }
    return result;
}

int main() {
    auto orders = read_orders("1200,AT\n800,JP\n450,FR\r\n99,BR\n");
    for (const auto &[region, cents] : sums(orders, Regions())) {
        std::printf("%s %d\n", region.c_str(), cents);
    }
}
