#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
#include <mutex>
#if __cplusplus > 202002L
#include <expected>
#include <source_location>
std::expected<int, std::string> expected = 5, unexpected = std::unexpected<std::string>("why"); std::expected<void, int> done, undone = std::unexpected(3);
std::source_location here = std::source_location::current(), nowhere;
#endif
using namespace std::chrono_literals;
std::mutex mutex, locked; std::recursive_mutex twice_locked; std::timed_mutex timed;
struct Point { int x, y; };
struct Tree { int key; std::string name; std::unique_ptr<Tree> left, right; };
struct Closer { int state = 7; void operator()(int *) const {} };
struct Sum { int add; int operator()(int x) const { return x + add; } };
struct Broken { int code; };
enum class Side : char { Left, Right };
int twice(int x) { return 2 * x; }
std::unique_ptr<Tree> build(int depth, int key) {
  if (!depth) return nullptr;
  auto tree = std::make_unique<Tree>();
  tree->key = key; tree->name = "n" + std::to_string(key);
  tree->left = build(depth - 1, 2 * key); tree->right = build(depth - 1, 2 * key + 1);
  return tree;
}
// Text.
std::string small = "small", large = "a text that is too long for the small buffer", none;
std::wstring wide = L"wide", wide_long = L"a wide text that is too long for the buffer";
std::u8string s8 = u8"eight"; std::u16string s16 = u"sixteen"; std::u32string s32 = U"thirty-two";
std::string zero("a\0b", 3);
std::string_view view = "seen"; std::u16string_view view16 = u"seen";
// In a row.
std::vector<int> numbers, nothing; std::vector<std::string> strings{"one", "two"};
std::vector<bool> bits{true, false, true}, many_bits(1000); std::array<int, 3> triple{1, 2, 3}; std::array<int, 0> zeros;
std::deque<int> deque{2, 3}, long_deque; std::deque<std::string> deque_texts{"d", "e"};
std::span<int> span; std::span<int, 3> fixed(triple); std::initializer_list<int> initial = {4, 5, 6};
std::bitset<10> set_bits(0b1000000101); std::bitset<100> wide_bits; std::bitset<0> no_bits;
std::stack<int> stack; std::queue<int> queue; std::priority_queue<int> heap;
// Apart.
std::list<int> list{1, 2, 3}, no_list; std::list<std::string> list_texts{"l"}; std::forward_list<char> forward{'a', 'b'}; std::forward_list<long double> forward_wide{1.5L}; std::forward_list<int> long_forward;
std::map<int, std::string> map{{2, "two"}, {1, "one"}}, large_map, no_map; std::map<std::string, std::vector<int>> nested{{"k", {1, 2}}};
std::multimap<char, short> multi{{'a', 1}, {'a', 2}}; std::set<std::string> set{"b", "a"}; std::multiset<int> multiset{3, 3, 1}; std::set<char> set_chars{'x'}; std::set<long double> set_wide{2.5L};
std::unordered_map<std::string, int> table{{"k", 11}}, no_table; std::unordered_map<int, int> large_table; std::unordered_set<int> hash_set{5}; std::unordered_set<char> hash_chars{'c'};
std::unordered_multimap<int, char> multi_table{{1, 'x'}, {1, 'x'}}; std::unordered_multiset<std::string> multi_set{"m", "m"};
// One or none.
std::optional<int> opt = 77, no_opt; std::optional<std::string> opt_text = "there"; std::optional<Point> opt_point = Point{1, 2};
std::variant<int, std::string> var = std::string("alt"), var_int = 5; std::variant<std::monostate, Point> var_mono;
struct Fragile { std::string text; Fragile(int) { throw 1; } Fragile(const Fragile &) {} }; std::variant<int, Fragile> valueless;
std::any any = 5, any_text = std::string("held text that is long enough for the heap"), any_none, any_point = Point{3, 4};
std::unique_ptr<int> unique(new int(5)), no_unique; std::unique_ptr<int[]> array(new int[3]{7, 8, 9}); std::unique_ptr<Point> unique_point(new Point{5, 6});
int closed = 4; std::unique_ptr<int, Closer> custom(&closed); std::unique_ptr<Tree> tree;
std::shared_ptr<int> shared = std::make_shared<int>(99), copy = shared, no_shared, apart(new int(98)); std::weak_ptr<int> weak = shared, weak_gone; std::shared_ptr<Point> shared_point = std::make_shared<Point>();
// Several.
std::pair<int, std::string> pair{1, "p"}; std::tuple<int, std::string, double> tuple{1, "t", 2.5}; std::tuple<> no_tuple;
std::complex<double> complex(1.5, -2); std::complex<float> complex_float(1, 2);
// Others.
std::atomic<int> atomic{6}; std::atomic<bool> atomic_flag{true}; std::atomic<Point *> atomic_pointer{nullptr};
std::reference_wrapper<int> wrapper = closed;
std::function<int(int)> function = twice, no_function, function_sum = Sum{3}; int captured = 9; std::function<int(int)> function_lambda = [c = captured](int x) { return x + c; };
std::function<int()> function_owner = [owned = std::make_shared<int>(41)] { return *owned + 1; }, function_text = [text = std::string("kept on the heap as it is too long")] { return (int)text.size(); }, function_empty = [] { return 1; };
std::any any_lambda = [inside = 6] { return inside; };
namespace { struct Unseen { int sees = 2; }; } std::any any_unseen = Unseen{};
std::weak_ptr<int> no_weak; std::shared_ptr<void> shared_void = shared_point; std::shared_ptr<int[]> shared_array(new int[2]{1, 2}); std::unique_ptr<int, void (*)(int *)> freed(&closed, [](int *) {});
std::wstring_view wide_view = L"seen wide"; std::u8string_view view8 = u8"seen"; std::u32string_view view32 = U"seen"; std::string_view no_view;
auto lambda = [captured = 5, &by_reference = closed](int x) { return x + captured + by_reference; }; [[gnu::used]] auto *lambda_pointer = &lambda;
std::chrono::milliseconds ms = 1500ms; std::chrono::seconds s = 3s; std::chrono::nanoseconds ns = 5ns; std::chrono::minutes min = 2min; std::chrono::hours h = 4h; std::chrono::microseconds us = 7us; std::chrono::duration<double> fractional(0.25);
std::chrono::duration<int, std::ratio<1, 30>> frames(3); std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds> time_point{1700000000s}; std::chrono::steady_clock::time_point steady{1500ns};
std::filesystem::path path = "/usr/lib/x"; std::exception_ptr error, no_error; Broken unbroken{0}; std::runtime_error runtime("it broke");
std::vector<int>::iterator vector_at; std::list<int>::iterator list_at, list_end; std::map<int, std::string>::iterator map_at; std::set<std::string>::iterator set_at; std::unordered_map<std::string, int>::iterator table_at; std::deque<int>::iterator deque_at; std::forward_list<char>::iterator forward_at;
std::vector<int>::const_iterator vector_const, no_vector_at; std::vector<int>::reverse_iterator backwards; std::vector<bool>::iterator bit_at, no_bit_at; std::vector<bool>::const_iterator bit_const; std::string::iterator text_at; std::span<int>::iterator span_at;
std::list<int>::const_iterator list_const; std::map<int, std::string>::const_iterator map_const; std::multiset<int>::const_iterator multiset_at; std::unordered_map<std::string, int>::const_iterator table_const; std::unordered_set<int>::iterator hash_set_at, no_hash_set_at; std::deque<int>::const_iterator deque_const;
std::vector<Point> points{{1, 2}, {3, 4}}; Side side = Side::Right;
void stop() {
  std::puts("ready"); std::fflush(stdout); std::getchar();
  (void)lambda_pointer; (void)lambda(1);
}
int main() {
  locked.lock(); twice_locked.lock(); twice_locked.lock();
  for (int i = 0; i < 100000; i++) numbers.push_back(i * 5);
  for (int i = 0; i < 1000; i++) { large_map[i] = "value" + std::to_string(i); long_deque.push_back(i); }
  for (int i = 0; i < 10; i++) long_deque.push_front(-i);
  for (int i = 0; i < 100000; i++) large_table[i] = i;
  for (int i = 69999; i >= 0; i--) long_forward.push_front(i);
  many_bits[3] = true; wide_bits[70] = true; span = numbers; span = span.subspan(2, 3);
  stack.push(1); stack.push(2); queue.push(3); heap.push(1); heap.push(9);
  try { valueless.emplace<1>(1); } catch (int) {}
  tree = build(4, 1); weak_gone = std::make_shared<int>(1);
  try { throw Broken{8}; } catch (...) { error = std::current_exception(); }
  vector_at = numbers.begin() + 3; list_at = ++list.begin(); list_end = list.end(); map_at = map.begin(); set_at = set.begin(); table_at = table.begin(); deque_at = deque.begin() + 1; forward_at = forward.begin();
  vector_const = vector_at + 1; backwards = numbers.rbegin(); bit_at = bits.begin() + 2; bit_const = many_bits.begin() + 3; text_at = small.begin() + 1; span_at = span.begin() + 1;
  list_const = list_at; map_const = ++map.begin(); multiset_at = multiset.begin(); table_const = table_at; hash_set_at = hash_set.begin(); deque_const = deque_at;
  stop();
  return function(1) + twice(2) + (int)side;
}
