// expect: host_view takes a pointer to the first element: host_view(v.data(), m, n)
// expect: device_view takes a pointer to the first element, in the device's memory: device_view(p, m, n)
#include <kiln/view/tensor.hpp>
#include <vector>

using namespace kiln;

int main() {
  std::vector<float> v(12);
#ifdef KILN_FAIL
  const auto a = host_view(v, 3, 4);
  const auto b = device_view(v, 12);
#else
  const auto a = host_view(v.data(), 3, 4);
  const auto b = device_view(v.data(), 12);
#endif
  return a.data != nullptr && b.data != nullptr ? 0 : 1;
}
