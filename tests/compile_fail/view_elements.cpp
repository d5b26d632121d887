// expect: a view's elements are moved as bytes: their type needs to be trivially copyable, with a default constructor
// expect: a view's elements are moved as bytes: their type needs to be trivially copyable, with a default constructor
// expect: a view's elements are moved as bytes: their type needs to be trivially copyable, with a default constructor
#include <kiln/view/tensor.hpp>
#include <string>

struct at_least_one {
  int n;
  explicit at_least_one(int count) : n(count) {}
};

int main() {
  using namespace kiln;
#ifdef KILN_FAIL
  std::string names[4];
  at_least_one counts[4] = {at_least_one{1}, at_least_one{2}, at_least_one{3}, at_least_one{4}};
  volatile float x[4];
#else
  const char* names[4];
  int counts[4] = {1, 2, 3, 4};
  float x[4];
#endif
  (void)host_view(names, 2);
  (void)host_view(counts, {2}, {1});
  (void)host_view(x, 2);
}
