#pragma once
/// What the host needs to know of a compiled kernel. A plan works on these, so that what it does is compiled once and
/// not for each kernel of its list.
#include <kiln/core/fixed_text.hpp>
#include <kiln/kernel/gemm/choose.hpp>

namespace kiln::detail {

/// "warp_specialized 128x256x64, 4 stages, cluster 2, sm90"
template <class Kernel>
inline constexpr fixed_text name_of_kernel = [] {
  fixed_text t;
  t.add(Kernel::schedule_name).add(" ").add(Kernel::tile_m / Kernel::cluster_m);
  t.add("x").add(Kernel::tile_n / Kernel::cluster_n).add("x").add(Kernel::tile_k);
  t.add(", ").add(Kernel::slot_count).add(Kernel::slot_count == 1 ? " stage" : " stages");
  if (Kernel::cluster > 1) t.add(", cluster ").add(Kernel::cluster_m);
  if (Kernel::cluster_n > 1) t.add("x").add(Kernel::cluster_n);
  return t.add(", ").add(Kernel::instructions_name);
}();

struct kernel_facts : configuration_facts {
  const char* name;
  bool is_hopper;
  int walkers;  ///< blocks of a multiprocessor that walk the tiles side by side
  index_t row_parts_of_tile, column_parts_of_tile;  ///< of reductions
};

/// Those of the kernel that serves a table's entry.
template <class Arguments, class Kernel, class Entry>
constexpr kernel_facts facts_of() {
  constexpr int elements = 2 / static_cast<int>(sizeof(typename Arguments::a_type));
  return {{Kernel::tile_m, Kernel::tile_n, Kernel::tile_k, Kernel::cluster, Arguments::products, Entry::resident,
           static_cast<double>(Entry::rate * (elements > 1 ? elements : 1)), static_cast<double>(Entry::overhead),
           Kernel::is_hopper, Kernel::tile_k * static_cast<int>(sizeof(typename Arguments::a_type)),
           Kernel::most_together},
          name_of_kernel<Kernel>.text(),
          Kernel::is_hopper,
          Kernel::resident,
          Kernel::row_parts_of_tile,
          Kernel::column_parts_of_tile};
}

}  // namespace kiln::detail
