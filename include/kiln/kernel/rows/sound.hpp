#pragma once
/// Elements that row kernels take, for view/sound.hpp.
#include <cstdint>
#include <kiln/core/numeric.hpp>
#include <kiln/view/sound.hpp>

namespace kiln::rows {

using kiln::detail::elements_like;
using kiln::detail::elements_of;
using kiln::detail::fault;
using kiln::detail::first_fault;
using kiln::detail::rank_of;
using kiln::detail::reads;
using kiln::detail::space_of;
using kiln::detail::writes;

using numbers = elements_of<float, f16, bf16>;

}  // namespace kiln::rows
