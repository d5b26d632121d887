#pragma once
/// What the twins of Hopper's instructions ask of the host's model of one SM cluster. The model itself is in
/// driver.hpp.
///
/// Light, since every header of arch/sm90 includes it. Threads are ranks in their block; the model knows which block,
/// and which role of it, runs on this host thread.
#include <cstddef>
#include <cstdint>
#include <kiln/arch/host/tiled_map.hpp>
#include <kiln/core/misuse.hpp>

namespace kiln::twin {

/// One TMA instruction. `barrier` and `cta_mask` belong to loads; a mask of zero means this block alone.
struct copy_op {
  tiled_map map;
  int at[5];
  void* shared;
  std::uint64_t* barrier;
  std::uint32_t cta_mask;
  int thread;
  bool reduce;
};

struct sm_cluster;

/// One wgmma of the warpgroup that starts at thread `first`. `perform` computes into `d`, all threads' registers in a
/// row.
struct product_op {
  int first;
  void* d;
  std::size_t d_bytes;
  const void* a_registers;  // null: A is in shared memory
  std::uint64_t a, b;
  bool accumulate;
  void (*perform)(const product_op& op, void* d, sm_cluster& sm);
};

struct sm_cluster {
  virtual int cta() const = 0;
  virtual int ctas() const = 0;
  /// Offset in this block's shared memory; throws for an address outside it.
  virtual std::uint32_t address(const void* shared) const = 0;
  /// The same place in another block of the cluster.
  virtual void* in_cta(const void* shared, int cta) const = 0;

  virtual void barrier_init(std::uint64_t* word, int arrivals) = 0;
  /// `count` arrivals, one each of the threads from `first` on, at the barrier's twin in block `cta`.
  virtual void barrier_arrive(std::uint64_t* word, int cta, int first, int count) = 0;
  virtual void barrier_expect(std::uint64_t* word, int bytes) = 0;
  virtual void barrier_wait(std::uint64_t* word, int parity, int first, int count) = 0;

  virtual void named_arrive(int name, int first, int count, int expected) = 0;
  virtual void named_sync(int name, int first, int count, int expected) = 0;
  virtual void cluster_arrive(int first, int count) = 0;
  virtual void cluster_wait(int first, int count) = 0;

  virtual void copy_in(const copy_op& op) = 0;
  virtual void copy_out(const copy_op& op) = 0;
  virtual void copy_commit(int thread) = 0;
  /// All but the last `pending` groups of the thread have read their shared memory; `written`: and reached global
  /// memory.
  virtual void copy_wait(int thread, int pending, bool written) = 0;

  virtual void product(const product_op& op) = 0;
  virtual void product_fence(int first) = 0;
  virtual void product_commit(int first) = 0;
  virtual void product_wait(int first, int pending) = 0;
  /// 16 bytes as the product that runs now reads them.
  virtual const std::byte* product_read(std::uint32_t address) = 0;

 protected:
  ~sm_cluster() = default;
};

inline constinit thread_local sm_cluster* current_cluster = nullptr;

/// The model that runs on this host thread.
inline sm_cluster& sm() {
  if (current_cluster == nullptr) {
    kiln::detail::misuse("kiln: a twin of an sm90 instruction runs outside twin::run_roles");
  }
  return *current_cluster;
}

}  // namespace kiln::twin
