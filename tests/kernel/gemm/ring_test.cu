// Pinned configurations of the block-wide schedules, small enough for the host's model of a block, where every access
// to shared memory is watched.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_ring);

constexpr std::initializer_list<product_extents> few = {
    {1, 1, 1, 1}, {33, 7, 65, 1}, {65, 33, 7, 2}, {70, 66, 200, 1}, {7, 65, 0, 1}};

// Boxes inside aligned operands, which are loaded in parts: fewer steps than slots, as many, and more; edges and rests
// of K.
constexpr std::initializer_list<product_extents> whole = {
    {64, 64, 64, 1}, {70, 65, 192, 1}, {128, 64, 330, 2}, {33, 66, 200, 1}};

TYPED_TEST(gemm_ring, boxes_in_parts) {
  using pinned = config<tile<32, 64, 64>, warp_tile<32, 32>, stages<3>>;
  expect_pinned<f16, f16, f16, by_rows, by_columns, pinned>(*this, watched(this->executor()), whole, 50, true);
  expect_pinned<f16, f16, f16, by_columns, by_rows, pinned>(*this, watched(this->executor()), whole, 51, true);
}
TYPED_TEST(gemm_ring, boxes_of_integers_in_parts) {
  using pinned = config<tile<32, 64, 128>, warp_tile<32, 32>, stages<2>>;
  expect_pinned<std::int8_t, std::int8_t, std::int32_t, by_rows, by_columns, pinned>(*this, watched(this->executor()),
                                                                                      whole, 52, true);
}
TYPED_TEST(gemm_ring, boxes_of_scalars) {
  using pinned = config<tile<32, 64, 32>, warp_tile<16, 32>, stages<3>, instructions::simt>;
  expect_pinned<float, float, float, by_rows, by_columns, pinned>(*this, watched(this->executor()), whole, 53, true);
}
TYPED_TEST(gemm_ring, serial_scalars) {
  using pinned = config<tile<32, 32, 32>, warp_tile<16, 16>, serial, instructions::simt>;
  expect_pinned<float, float, float, by_rows, by_rows, pinned>(*this, watched(this->executor()), few, 41);
}
TYPED_TEST(gemm_ring, multistage_scalars) {
  using pinned = config<tile<32, 64, 32>, warp_tile<16, 32>, stages<3>, instructions::simt>;
  expect_pinned<float, f16, f16, by_columns, by_rows, pinned>(*this, watched(this->executor()), few, 42);
}
TYPED_TEST(gemm_ring, serial_tensor_cores) {
  using pinned = config<tile<32, 32, 64>, warp_tile<16, 16>, serial>;
  expect_pinned<f16, f16, float, by_rows, by_columns, pinned>(*this, watched(this->executor()), few, 43);
}
TYPED_TEST(gemm_ring, multistage_tensor_cores_on_transposed_tiles) {
  using pinned = config<tile<64, 64, 32>, warp_tile<32, 32>, stages<2>>;
  expect_pinned<bf16, bf16, bf16, by_columns, by_rows, pinned>(*this, watched(this->executor()), few, 44);
}
TYPED_TEST(gemm_ring, four_stages) {
  using pinned = config<tile<64, 32, 64>, warp_tile<32, 16>, stages<4>>;
  expect_pinned<bf16, bf16, float, by_rows, by_rows, pinned>(*this, watched(this->executor()), few, 45);
}
TYPED_TEST(gemm_ring, integers_on_tensor_cores) {
  using pinned = config<tile<32, 64, 128>, warp_tile<32, 32>, stages<3>>;
  expect_pinned<std::int8_t, std::int8_t, std::int32_t, by_rows, by_columns, pinned>(*this, watched(this->executor()),
                                                                                     few, 46);
  expect_pinned<std::int8_t, std::int8_t, std::int32_t, by_columns, by_rows, pinned>(*this, watched(this->executor()),
                                                                                     few, 47);
}
TYPED_TEST(gemm_ring, eight_bit_floats_on_tensor_cores) {
  using pinned = config<tile<32, 64, 64>, warp_tile<32, 32>, stages<2>>;
  expect_pinned<e4m3, e4m3, float, by_rows, by_columns, pinned>(*this, watched(this->executor()), few, 48);
  expect_pinned<e4m3, e5m2, float, by_columns, by_columns, pinned>(*this, watched(this->executor()), few, 49);
}

}  // namespace
}  // namespace kiln::test
