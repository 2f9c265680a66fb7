#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
enum Color { Red, Green = 5 };
enum class Mode { Off, On };
struct First { int a = 1; };
struct Second { int b = 2; };
struct Whole : First, Second { int c = 3; };
struct Plain { int x, y; };
struct Flags { unsigned a : 3; int b : 5; };
std::string small = "small", large(40, 'x'), none, copy = "copy";
std::optional<int> some = 1, nothing; std::optional<std::string> text = "abc", no_text;
std::atomic<int> count{5}; std::atomic<bool> flag{false}; std::atomic<unsigned char> tiny{250};
std::pair<int, double> pair{1, 2.5}, other{3, 4.5}; std::tuple<int, char, long> tuple{1, 'a', 3}; std::pair<int, std::string> owner{1, "one"}, owned{2, "two"};
Flags flags{1, 2}; Color color = Red; Mode mode = Mode::Off; Whole whole; First *first = nullptr; Second *second = nullptr; Whole *derived = &whole;
Plain plain{1, 2}, plain2{3, 4}; int number = 8, numbers[4] = {1, 2, 3, 4}, *pointer = numbers; int &alias = number; bool yes = false; char buffer[8] = "abc"; unsigned char byte = 250;
std::wstring wide = L"wide"; std::vector<bool> bits{true, false, true}; std::vector<std::string> words{"one", "two"}; std::vector<std::pair<int, int>> pairs{{1, 2}};
int main() {
  std::puts("ready"); std::fflush(stdout); std::getchar();
  small += "!"; large += "!"; none += "!";
  std::printf("%s %zu %s %zu %s\n", small.c_str(), small.size(), large.c_str(), large.size(), none.c_str());
  std::printf("%d %d %d %s %d\n", (int)bits[0], (int)bits[1], (int)bits[2], words[1].c_str(), pairs[0].second);
  std::printf("%d %d %s %d\n", some ? *some : -1, nothing ? *nothing : -1, text->c_str(), no_text.has_value());
  std::printf("%d %d %d %d %g %d %c %ld %s\n", count.load(), flag.load(), tiny.load(), pair.first, pair.second, std::get<0>(tuple), std::get<1>(tuple), std::get<2>(tuple), owner.second.c_str());
  std::printf("%d %d %d %d %d %d %d %d %d %s %d\n", flags.a, flags.b, color, (int)mode, second ? second->b : -1, first ? first->a : -1, plain.x, number, *pointer, buffer, byte);
}
