#pragma once
/// Random operands in so many copies that each visit finds its own out of the L2, and what else the cases launch beside
/// Kiln's kernels.
#include <benchmarks/measure/device_memory.hpp>
#include <benchmarks/measure/timing.hpp>
#include <cstdint>

namespace bench {

enum class element { bf16, f16, e4m3, int8, int32, f32 };

constexpr std::size_t size_of(element e) {
  return e == element::e4m3 || e == element::int8 ? 1 : e == element::int32 || e == element::f32 ? 4 : 2;
}
constexpr const char* name_of(element e) {
  constexpr const char* names[] = {"bf16", "f16", "e4m3", "int8", "int32", "f32"};
  return names[static_cast<int>(e)];
}

/// Copies of operands that take `bytes` each: as many as hold three times the L2 of an H200, 2 to 64 of them. So those
/// below 3 MiB stay in the L2, where the kernel before them would have left them.
int copies_for(double bytes);

/// Bytes rounded up, so that the next copy begins on a line of memory.
constexpr std::size_t padded_to_line(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Fills with values uniform in [low, high], rounded to the type; int8 takes all of [-127, 127].
void fill(const memory&, element, float low, float high, std::uint64_t seed);

/// How many of the first `count` elements have all bits set, as `poison` leaves them.
std::uint64_t count_poison(const void* data, element, std::int64_t count);
void poison(void* data, std::size_t bytes);

/// A kernel of one warp that does nothing: what any launch costs.
void launch_nothing(cudaStream_t);

/// Copies within the device that read and write `bytes` together, rotating like the kernels beside them.
class copy_of_equal_bytes {
 public:
  copy_of_equal_bytes(double bytes, int sets);
  launcher launch() const;

 private:
  std::size_t half_;
  memory from_, to_;
};

/// Bytes per microsecond, read plus written, of a copy of 1 GiB; measured once.
double copy_rate();

}  // namespace bench
