#pragma once
/// The namespace of views and of what makes them. With KILN_DEBUG a view is another type, and programs may have units
/// of both modes. Functions that are given no view, but return one by `auto`, have to be told apart as well: what
/// `auto` stands for is no part of a function's name, and a linker would take either for both.
#include <kiln/version.hpp>

#if defined(KILN_DEBUG)
#define KILN_VIEWS_BEGIN inline namespace checked_views {
#define KILN_VIEWS_END }
#else
#define KILN_VIEWS_BEGIN
#define KILN_VIEWS_END
#endif
