#pragma once
/// The cases of kiln-bench-soa, `particles/<step>/<useful bytes>`.
#include <benchmarks/measure/memory_case.hpp>
#include <initializer_list>

namespace bench {

/// Bytes [begin, end) of a struct.
struct span {
  int begin, end;
};

/// Bytes that move for each struct of `record` bytes, packed: whole sectors of 32 bytes with anything read in them, and
/// the same for what is written. The pattern repeats after 32 structs.
inline double moved_by_structs(int record, std::initializer_list<span> read, std::initializer_list<span> written) {
  constexpr int sector = 32, structs = 32;
  double bytes = 0;
  for (const auto& spans : {read, written}) {
    for (int s = 0; s * sector < structs * record; ++s) {
      bool touched = false;
      for (int i = 0; i < structs; ++i)
        for (const span& b : spans)
          touched = touched || (i * record + b.begin < (s + 1) * sector && i * record + b.end > s * sector);
      if (touched) bytes += sector;
    }
  }
  return bytes / structs;
}

void register_particles();

}  // namespace bench
