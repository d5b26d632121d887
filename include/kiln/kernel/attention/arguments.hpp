#pragma once
/// What an attention kernel is given, and which keys a query sees.
#include <cstdint>

#include <kiln/view/reshape.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// Which keys query i of a sequence with `queries` queries and `keys` keys sees.
enum class causal : int {
  none = 1,      ///< all keys
  bottom_right,  ///< keys j <= i + keys - queries: the last query sees all keys, as behind a key/value cache
  top_left,      ///< keys j <= i
};

namespace attn {

/// How many keys, from the first on, a query sees.
KILN_FN constexpr index_t visible_keys(causal mask, index_t query, index_t queries, index_t keys) {
  if (mask == causal::none) return keys;
  const index_t seen = query + 1 + (mask == causal::bottom_right ? keys - queries : 0);
  return seen < 0 ? 0 : seen > keys ? keys : seen;
}

/// Views as the kernels take them: no axis is known to have stride one, so one kernel serves every layout. Whether rows
/// can be read as vectors is a value.
template <class T, class Out, class Space>
struct arguments {
  using value_type = T;
  using out_type = Out;
  tensor<const T, 4, Space, no_unit> q, k, v;
  tensor<Out, 4, Space, no_unit> out;
  tensor<float, 3, Space, no_unit> lse;                                 ///< null: not asked for
  tensor<const std::int32_t, 1, Space, no_unit> key_lengths, query_lengths;  ///< null: all of them

  causal mask;
  float scale;  ///< times log2(e)
  int head_dim, value_dim;
  index_t group;      ///< query heads of one key/value head
  index_t row_tiles;  ///< tiles of one key/value head of one sequence
  bool q_vectors, k_vectors, v_vectors, out_pairs;
};

/// The rows of one tile. Queries of all heads that share a key/value head are packed: row r of a sequence is query
/// r / group of head kv_head * group + r % group. So K and V are read once for the group, and decoding one token with
/// 16 heads a group fills the 16 rows of a matrix instruction.
struct query_tile {
  index_t batch, kv_head;
  index_t first;          ///< number of its first packed row
  int rows;             ///< how many of its rows there are
  index_t queries, keys;  ///< of this sequence
  int visible;          ///< keys that the tile's last row sees; no row sees more
};

template <class Arguments>
KILN_FN int seen_by(const Arguments& p, const query_tile& t, int row) {
  return row < t.rows ? static_cast<int>(visible_keys(p.mask, (t.first + row) / p.group, t.queries, t.keys))
                      : t.visible;
}

/// Tile `number` of the whole problem. The last rows come first: under a causal mask they have the most to do.
template <class Arguments>
KILN_FN query_tile tile_at(const Arguments& p, index_t number, int rows_of_tile) {
  query_tile t{};
  const index_t rest = number / p.row_tiles, kv_heads = p.k.extents[2];
  t.kv_head = rest % kv_heads;
  t.batch = rest / kv_heads;
  const auto length = [&](const auto& lengths, index_t all) {
    return lengths.data == nullptr ? all : min_of(max_of<index_t>(lengths(t.batch), 0), all);
  };
  t.queries = length(p.query_lengths, p.q.extents[1]);
  t.keys = length(p.key_lengths, p.k.extents[1]);
  t.first = (p.row_tiles - 1 - number % p.row_tiles) * rows_of_tile;
  t.rows = static_cast<int>(max_of<index_t>(0, min_of<index_t>(rows_of_tile, t.queries * p.group - t.first)));
  t.visible =
      t.rows == 0 ? 0 : static_cast<int>(visible_keys(p.mask, (t.first + t.rows - 1) / p.group, t.queries, t.keys));
  return t;
}

}  // namespace attn
}  // namespace kiln
