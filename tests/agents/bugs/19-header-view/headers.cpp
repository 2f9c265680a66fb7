// Headers of a message, as views of their text.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

struct Header {
    std::string_view name;
    std::string_view value;
};

static std::string lower(std::string_view text) {
    std::string result(text);
    for (char &c : result) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

static std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

static std::vector<Header> parse(std::string_view message) {
    std::vector<Header> headers;
    while (!message.empty()) {
        std::size_t end = message.find('\n');
        std::string_view line = message.substr(0, end);
        std::size_t colon = line.find(':');
        if (colon != std::string_view::npos) {
            std::string_view name = lower(trim(line.substr(0, colon)));
            headers.push_back({name, trim(line.substr(colon + 1))});
        }
        message.remove_prefix(end == std::string_view::npos ? message.size() : end + 1);
    }
    return headers;
}

static std::string_view value_of(const std::vector<Header> &headers, std::string_view name) {
    for (const Header &header : headers) {
        if (header.name == name) return header.value;
    }
    return "(none)";
}

int main() {
    auto headers = parse("Host: example.org\r\nContent-Length: 42\r\nX-Request-Identification: 7\r\n");
    std::printf("length %s\n", std::string(value_of(headers, "content-length")).c_str());
    std::printf("id %s\n", std::string(value_of(headers, "x-request-identification")).c_str());
}
