// Texts in buffers of their own, and a list of the longest.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

class Buffer {
public:
    explicit Buffer(const char *text) : size_(std::strlen(text) + 1), data_(new char[size_]) {
        std::memcpy(data_, text, size_);
    }
    Buffer(Buffer &&other) noexcept : size_(other.size_), data_(other.data_) {
        other.data_ = nullptr;
        other.size_ = 0;
    }
    Buffer(const Buffer &other) : size_(other.size_), data_(new char[size_]) {
        std::memcpy(data_, other.data_, size_);
    }
    Buffer &operator=(const Buffer &other) {
        if (this != &other) {
            delete[] data_;
            size_ = other.size_;
            data_ = other.data_;
        }
        return *this;
    }
    ~Buffer() { delete[] data_; }

    std::size_t size() const { return size_; }
    const char *text() const { return data_; }

private:
    std::size_t size_;
    char *data_;
};

static Buffer longest(const std::vector<Buffer> &buffers) {
    Buffer best("");
    for (const Buffer &buffer : buffers) {
        if (buffer.size() > best.size()) {
            best = buffer;
        }
    }
    return best;
}

int main() {
    std::vector<Buffer> buffers;
    buffers.emplace_back("north");
    buffers.emplace_back("south-east");
    buffers.emplace_back("west");
    {
        Buffer best = longest(buffers);
        std::printf("longest: %s\n", best.text());
    }
    std::printf("%zu texts\n", buffers.size());
}
