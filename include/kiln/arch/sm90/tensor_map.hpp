#pragma once
/// Tensor maps: how TMA is told of a tensor in global memory and of the box that one instruction copies.
/// Source: PTX ISA, "Tensors", "Tensor-map"; CUDA driver API, cuTensorMapEncodeTiled.
#include <cstddef>
#include <cstdint>
#include <kiln/arch/host/tiled_map.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>
#if defined(__CUDACC__)
#include <kiln/core/cuda_error.hpp>
#endif

namespace kiln::sm90 {

/// Pass it to a kernel as (part of) a `const __grid_constant__` parameter. 128 bytes, aligned to 64; the device's holds
/// what the driver encoded, the host's what its twin reads.
template <class Where>
struct tensor_map;
template <>
struct alignas(64) tensor_map<on_device> {
  unsigned char bits[128];
};
template <>
struct alignas(64) tensor_map<on_host> {
  twin::tiled_map tiled;
};
static_assert(sizeof(tensor_map<on_device>) == 128 && sizeof(tensor_map<on_host>) == 128);

/// How far a copy reads ahead into the L2.
enum class l2_promotion { none, bytes64, bytes128, bytes256 };

/// The numbers are those of the driver's CUtensorMapDataType.
enum class element_kind { u8 = 0, u16 = 1, u32 = 2, i32 = 3, f16 = 6, f32 = 7, bf16 = 9 };

template <class T>
constexpr element_kind element_kind_of() {
  using U = std::remove_const_t<T>;
  static_assert(sizeof(U) == 1 || sizeof(U) == 2 || sizeof(U) == 4, "TMA copies elements of 1, 2 or 4 bytes");
  if constexpr (std::is_same_v<U, f16>)
    return element_kind::f16;
  else if constexpr (std::is_same_v<U, bf16>)
    return element_kind::bf16;
  else if constexpr (std::is_same_v<U, float>)
    return element_kind::f32;
  else if constexpr (sizeof(U) == 4)
    return std::is_signed_v<U> ? element_kind::i32 : element_kind::u32;
  else
    return sizeof(U) == 2 ? element_kind::u16 : element_kind::u8;
}

/// What to copy. Dimension 0 is the innermost, its elements neighbours in memory.
struct tensor_request {
  const char* name = "tensor";  ///< the operand's name in messages
  const void* base = nullptr;
  element_kind kind = element_kind::u8;
  int element_bytes = 1;
  int rank = 2;
  index_t extent[5] = {};  ///< elements, each at least 1
  index_t stride[5] = {};  ///< bytes from one element of dimension d to the next; that of dimension 0 is not read
  int box[5] = {1, 1, 1, 1, 1};
  swizzle pattern = swizzle::b128;
  l2_promotion promotion = l2_promotion::bytes256;
};

/// A matrix of `rows` x `cols`, columns contiguous, rows `pitch` elements apart; boxes of `box_rows` x `box_cols`.
template <class T>
tensor_request matrix_request(const char* name, const T* base, index_t rows, index_t cols, index_t pitch, int box_rows,
                              int box_cols, swizzle pattern = swizzle::b128) {
  tensor_request r;
  r.name = name, r.base = base, r.kind = element_kind_of<T>(), r.element_bytes = static_cast<int>(sizeof(T));
  r.extent[0] = cols, r.extent[1] = rows, r.stride[1] = pitch * static_cast<index_t>(sizeof(T));
  r.box[0] = box_cols, r.box[1] = box_rows;
  r.pattern = pattern;
  return r;
}

/// Every rule of TMA, checked before the driver is asked; the sentence names the operand, what was seen and what is
/// needed.
inline status check(const tensor_request& r) {
  const index_t e = r.element_bytes;
  if (r.rank < 1 || r.rank > 5)
    return fail(errc::bad_option, "operand `", r.name, "`: rank ", r.rank, ", TMA needs 1 to 5");
  if (r.base == nullptr) return fail(errc::null_pointer, "operand `", r.name, "` has no data");
  if (const auto off = reinterpret_cast<std::uintptr_t>(r.base) % 16; off != 0) {
    return fail(errc::bad_alignment, "operand `", r.name, "` lies ", off,
                " bytes past a 16-byte boundary, TMA needs a multiple of 16");
  }
  index_t box_bytes = e;
  for (int d = 0; d < r.rank; ++d) {
    if (r.extent[d] < 1 || r.extent[d] > index_t{1} << 32) {
      return fail(errc::bad_shape, "operand `", r.name, "`: dimension ", d, " has extent ", r.extent[d],
                  ", TMA needs 1 to 2^32");
    }
    if (r.box[d] < 1 || r.box[d] > 256) {
      return fail(errc::bad_option, "operand `", r.name, "`: the box has ", r.box[d], " elements in dimension ", d,
                  ", TMA needs 1 to 256");
    }
    box_bytes *= r.box[d];
    if (d == 0) continue;
    if (r.stride[d] < 0 || r.stride[d] >= index_t{1} << 40) {
      return fail(errc::bad_stride, "operand `", r.name, "`: dimension ", d, " has a stride of ", r.stride[d],
                  " bytes, TMA needs 0 to 2^40 - 1");
    }
    if (r.stride[d] % 16 != 0) {
      return fail(errc::bad_stride, "operand `", r.name, "`: dimension ", d, " has a stride of ", r.stride[d],
                  " bytes, TMA needs a multiple of 16");
    }
  }
  const index_t row = r.box[0] * e;
  if (row % 16 != 0) {
    return fail(errc::bad_option, "operand `", r.name, "`: a row of the box has ", row,
                " bytes, TMA needs a multiple of 16");
  }
  // TMA also takes narrower rows; the host's twin does not model them and the matrix instruction cannot read them.
  if (r.pattern != swizzle::none && row != panel_bytes(r.pattern)) {
    return fail(errc::bad_option, "operand `", r.name, "`: a row of the box has ", row, " bytes, its swizzle needs ",
                panel_bytes(r.pattern));
  }
  if (box_bytes > 227 * 1024) {
    return fail(errc::bad_option, "operand `", r.name, "`: the box has ", box_bytes,
                " bytes, shared memory holds at most 232448");
  }
  return {};
}

/// Fills `map`, or says why TMA cannot copy such boxes.
inline status make_tensor_map(tensor_map<on_host>& map, const tensor_request& r) {
  KILN_TRY(check(r));
  twin::tiled_map m{};
  m.base = static_cast<std::byte*>(const_cast<void*>(r.base));
  m.rank = static_cast<std::uint8_t>(r.rank), m.element_bytes = static_cast<std::uint8_t>(r.element_bytes);
  m.pattern = r.pattern;
  for (int d = 0; d < r.rank; ++d) {
    m.extent[d] = r.extent[d], m.box[d] = static_cast<std::uint16_t>(r.box[d]);
    if (d > 0) m.stride[d - 1] = r.stride[d];
  }
  map.tiled = m;
  return {};
}

#if defined(__CUDACC__)
namespace detail {
/// cuTensorMapEncodeTiled with its enumerations as ints, so that neither cuda.h nor the driver library is needed.
using encode_tiled_function = int (*)(void* map, int kind, std::uint32_t rank, void* base, const std::uint64_t* extents,
                                      const std::uint64_t* strides, const std::uint32_t* box,
                                      const std::uint32_t* steps, int interleave, int pattern, int promotion, int fill);

inline encode_tiled_function find_encode_tiled() {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t e = quiet_call([&] {
#if CUDART_VERSION >= 12050
    return cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found);
#else
    return cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &f, cudaEnableDefault, &found);
#endif
  });
  return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<encode_tiled_function>(f)
                                                                  : nullptr;
}
}  // namespace detail

inline status make_tensor_map(tensor_map<on_device>& map, const tensor_request& r) {
  KILN_TRY(check(r));
  static const detail::encode_tiled_function encode = detail::find_encode_tiled();
  if (encode == nullptr)
    return fail(errc::unsupported, "the driver has no cuTensorMapEncodeTiled, needs CUDA 12.0 or newer");
  std::uint64_t extents[5] = {}, strides[4] = {};
  std::uint32_t box[5] = {}, steps[5] = {1, 1, 1, 1, 1};
  for (int d = 0; d < r.rank; ++d) {
    extents[d] = static_cast<std::uint64_t>(r.extent[d]), box[d] = static_cast<std::uint32_t>(r.box[d]);
    if (d > 0) strides[d - 1] = static_cast<std::uint64_t>(r.stride[d]);
  }
  const int pattern = r.pattern == swizzle::b32    ? 1
                      : r.pattern == swizzle::b64  ? 2
                      : r.pattern == swizzle::b128 ? 3
                                                   : 0;
  const int e =
      encode(map.bits, static_cast<int>(r.kind), static_cast<std::uint32_t>(r.rank), const_cast<void*>(r.base), extents,
             strides, box, steps, 0, pattern, static_cast<int>(r.promotion), 0);
  if (e != 0) return fail(errc::cuda_error, "operand `", r.name, "`: cuTensorMapEncodeTiled gives error ", e);
  return {};
}
#endif

}  // namespace kiln::sm90
