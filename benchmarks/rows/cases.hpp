#pragma once
/// The cases of kiln-bench-rows: their names, `<operation>/<type>/<rows>x<columns>`, and shapes. Decode sizes stand
/// behind `decode/`.
#include <benchmarks/measure/memory_case.hpp>

namespace bench {

struct row_shape {
  std::int64_t rows, columns;
  std::int64_t size() const { return rows * columns; }
};

/// 2^25 elements in rows of 1,024 to 131,072, and the other three shapes of a common table of peers.
inline std::vector<row_shape> large_shapes() {
  std::vector<row_shape> shapes;
  constexpr std::int64_t elements = 1 << 25;
  for (std::int64_t columns = 1024; columns <= 131072; columns *= 2) shapes.push_back({elements / columns, columns});
  shapes.insert(shapes.end(), {{16384, 1024}, {4096, 16384}, {1024, 131072}});
  return shapes;
}
/// The same with few shapes: for a second element type, or where the shape matters little.
inline std::vector<row_shape> few_large_shapes() { return {{16384, 1024}, {8192, 4096}, {1024, 131072}}; }
inline std::vector<row_shape> decode_shapes() {
  std::vector<row_shape> shapes;
  for (const std::int64_t columns : {4096, 8192})
    for (const std::int64_t rows : {1, 8, 32}) shapes.push_back({rows, columns});
  return shapes;
}

inline std::string name_of_case(const std::string& operation, element e, row_shape s) {
  return operation + "/" + name_of(e) + "/" + std::to_string(s.rows) + "x" + std::to_string(s.columns);
}

/// `body(state, shape, decode)`; it ends with `finish`.
template <class Body>
void register_shapes(const std::string& operation, element e, const std::vector<row_shape>& shapes, bool decode,
                     Body body) {
  for (const row_shape& s : shapes)
    register_case(name_of_case(decode ? "decode/" + operation : operation, e, s),
                  [=](benchmark::State& state) { body(state, s, decode); });
}
inline void finish(memory_case& c, benchmark::State& state, bool decode) {
  if (decode)
    c.run_beside_nothing(state);
  else
    c.run_beside_copy(state);
}

void register_softmax();
void register_norms();
void register_quantise();
void register_reductions();
void register_logits();
void register_elementwise();
void register_rotary();

}  // namespace bench
