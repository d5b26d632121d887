#include "forward_steps.hpp"

namespace glm {

template class forward<float, kiln::host_executor>;
#if defined(__CUDACC__)
template class forward<float, kiln::device>;
#endif

}  // namespace glm
