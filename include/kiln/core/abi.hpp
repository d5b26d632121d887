#pragma once
/// The inline namespace around kernels and their launchers.
///
/// `__global__` templates have weak linkage, so two objects built for different architectures or Kiln versions would
/// share one of their kernels. The version and the architecture list in the name keep them apart.
#include <kiln/version.hpp>

#define KILN_CAT2_(a, b) a##_##b
#define KILN_CAT2(a, b) KILN_CAT2_(a, b)
#define KILN_CAT3(a, b, c) KILN_CAT2(KILN_CAT2(a, b), c)
#define KILN_LIST_1(a) a
#define KILN_LIST_2(a, b) KILN_CAT2(a, b)
#define KILN_LIST_3(a, ...) KILN_CAT2(a, KILN_LIST_2(__VA_ARGS__))
#define KILN_LIST_4(a, ...) KILN_CAT2(a, KILN_LIST_3(__VA_ARGS__))
#define KILN_LIST_5(a, ...) KILN_CAT2(a, KILN_LIST_4(__VA_ARGS__))
#define KILN_LIST_6(a, ...) KILN_CAT2(a, KILN_LIST_5(__VA_ARGS__))
#define KILN_LIST_7(a, ...) KILN_CAT2(a, KILN_LIST_6(__VA_ARGS__))
#define KILN_LIST_8(a, ...) KILN_CAT2(a, KILN_LIST_7(__VA_ARGS__))
#define KILN_LIST_9(a, ...) KILN_CAT2(a, KILN_LIST_8(__VA_ARGS__))
#define KILN_LIST_10(a, ...) KILN_CAT2(a, KILN_LIST_9(__VA_ARGS__))
#define KILN_LIST_11(a, ...) KILN_CAT2(a, KILN_LIST_10(__VA_ARGS__))
#define KILN_LIST_12(a, ...) KILN_CAT2(a, KILN_LIST_11(__VA_ARGS__))
#define KILN_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define KILN_LIST(...)                                                                                              \
  KILN_PICK_(__VA_ARGS__, KILN_LIST_12, KILN_LIST_11, KILN_LIST_10, KILN_LIST_9, KILN_LIST_8, KILN_LIST_7,          \
             KILN_LIST_6, KILN_LIST_5, KILN_LIST_4, KILN_LIST_3, KILN_LIST_2, KILN_LIST_1, none)(__VA_ARGS__)

#if defined(__CUDA_ARCH_LIST__)
#define KILN_ABI                                                                      \
  KILN_CAT3(v, KILN_CAT3(KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH), \
            KILN_CAT2(sm, KILN_LIST(__CUDA_ARCH_LIST__)))
#else
#define KILN_ABI KILN_CAT3(v, KILN_CAT3(KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH), host)
#endif
