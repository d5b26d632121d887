#include "forward_steps.hpp"

namespace glm {

template class forward<kiln::bf16, kiln::host_executor>;
#if defined(__CUDACC__)
template class forward<kiln::bf16, kiln::device>;
#endif

}  // namespace glm
