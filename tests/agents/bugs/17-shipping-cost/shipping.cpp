// What a basket costs to ship, by the kind of each parcel.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

class Parcel {
public:
    Parcel(std::string name, int grams) : name_(std::move(name)), grams_(grams) {}
    virtual ~Parcel() = default;
    virtual int cost(int zone) const { return 300 + grams_ / 100 * zone; }
    int grams() const { return grams_; }

protected:
    std::string name_;
    int grams_;
};

class Fragile : public Parcel {
public:
    Fragile(std::string name, int grams) : Parcel(std::move(name), grams) {}
    int cost(int zone) const override { return Parcel::cost(zone) + 250; }
};

class Bulky : public Parcel {
public:
    Bulky(std::string name, int grams, int litres)
        : Parcel(std::move(name), grams), litres_(litres) {}
    virtual int cost(long zone) const { return Parcel::cost(static_cast<int>(zone)) + litres_ * 10; }

private:
    int litres_;
};

static int total(const std::vector<std::unique_ptr<Parcel>> &basket, int zone) {
    int sum = 0;
    for (const auto &parcel : basket) {
        int cost = parcel->cost(zone);
        if (parcel->grams() > 20000) {
            cost += 500;
        }
        sum += cost;
    }
    return sum;
}

int main() {
    std::vector<std::unique_ptr<Parcel>> basket;
    basket.push_back(std::make_unique<Parcel>("book", 400));
    basket.push_back(std::make_unique<Fragile>("vase", 1200));
    basket.push_back(std::make_unique<Bulky>("tent", 3500, 60));
    std::printf("total %d\n", total(basket, 2));
}
