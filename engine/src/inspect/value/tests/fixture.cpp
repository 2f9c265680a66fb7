#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
#include <memory>
namespace ns {
struct Base { int a = 1; virtual ~Base(); }; Base::~Base() {}
struct Other { int o = 2; };
class Derived : public Base, public Other { public: static int count; int x = 3; union { int u = 4; float f; }; int get() const { return x; } };
int Derived::count = 5;
template <class T> struct Box { T value; };
enum class Mode : unsigned char { Off, On = 3 };
}
struct Top { int t = 1; }; struct Left : virtual Top { int l = 2; }; struct Right : virtual Top { int r = 3; }; struct Bottom : Left, Right { int b = 4; };
struct plain { int v; plain *next; };
ns::Derived derived; ns::Derived &reference = derived; ns::Base *base = &derived; const ns::Derived *constant = &derived;
ns::Box<int> box{11}; ns::Box<std::string> text_box{"boxed"}; ns::Mode mode = ns::Mode::On;
int number = 8; int &alias = number; int &&moved = 12; plain p{1, nullptr};
std::string small = "small", large = "a text that is too long for the small buffer", none;
std::string_view view = "seen"; std::vector<int> numbers; std::vector<std::string> strings{"one", "two"}; std::array<int, 3> triple{1, 2, 3};
std::vector<int> nothing; std::vector<ns::Box<int>> boxes{{1}, {2}};
Bottom bottom; int ns::Derived::*member = &ns::Derived::x; int (ns::Derived::*method)() const = &ns::Derived::get;
char16_t c16 = u'x'; char32_t c32 = U'y'; const char16_t *text16 = u"wide"; decltype(nullptr) null = nullptr; wchar_t wc = L'W';
bool flag = true; std::unique_ptr<int> unique(new int(5));
struct Shape { virtual ~Shape() {} virtual int area() const { return 0; } int id = 7; };
struct Named { virtual ~Named() {} std::string name = "square"; };
struct Square : Shape, Named { int side = 3; int area() const override { return side * side; } };
namespace { struct Hidden : Shape { int secret = 5; }; }
Square square; Shape *shape = &square, *plain_shape = new Shape, *gone = nullptr; Named *second_base = &square; Shape &shape_reference = square;
std::unique_ptr<Shape> owned_shape(new Square); Shape *hidden = new Hidden;
int (Shape::*virtual_method)() const = &Shape::area; int Square::*no_member = nullptr; int (Shape::*no_method)() const = nullptr;
struct Tag {}; struct Tagged : Tag { int v = 1; } tagged;
int main() {
  for (int i = 0; i < 100000; i++) numbers.push_back(i * 5);
  std::puts("ready"); std::fflush(stdout); std::getchar();
  return reference.get() + alias + (derived.*member) + (derived.*method)() + square.area() + shape_reference.area();
}
