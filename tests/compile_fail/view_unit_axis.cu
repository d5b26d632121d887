// expect: the unit-stride axis is one of the view's axes, or no_unit
#include <kiln/view/tensor.hpp>

#ifdef KILN_FAIL
using view = kiln::tensor<float, 2, kiln::host_space, 2>;
#else
using view = kiln::tensor<float, 2, kiln::host_space, 1>;
#endif

int main() { return static_cast<int>(view{}.extent(0)); }
