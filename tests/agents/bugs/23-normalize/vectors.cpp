// Scales series so that their first value becomes one.
#include <cstdio>
#include <numeric>
#include <vector>

class Series {
public:
    explicit Series(std::vector<double> values) : values_(std::move(values)) {}

    double &operator[](std::size_t i) { return values_[i]; }
    std::size_t size() const { return values_.size(); }

    Series &operator/=(const double &divisor) {
        for (double &value : values_) {
            value /= divisor;
        }
        return *this;
    }

    double mean() const {
        return std::accumulate(values_.begin(), values_.end(), 0.0) / values_.size();
    }

private:
    std::vector<double> values_;
};

static void normalize(Series &series) {
    if (series.size() > 0 && series[0] != 0) {
        series /= series[0];
    }
}

int main() {
    Series sales({4, 8, 12, 16});
    normalize(sales);
    std::printf("first %g, mean %g\n", sales[0], sales.mean());
    return sales.mean() == 2.5 ? 0 : 1;
}
