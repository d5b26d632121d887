#pragma once
#include <kiln/version.hpp>

namespace kiln {

/// What a reduction makes of its values; `amax` is the largest magnitude. In max, min and amax a NaN wins.
enum class reduction { sum, mean, max, min, amax };

}  // namespace kiln
