// What assignments to elements and their fields store, on the host.
#include <gtest/gtest.h>

#include <kiln/view/aos.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using namespace kiln;

struct mass {
  using type = float;
};
struct label {
  using type = std::int32_t;
};
struct place {
  using type = std::uint8_t[2];
};
struct corner {
  double x, y;
};
struct box {
  using type = corner;
};
struct record {
  float m;
  std::int32_t l;
  std::uint8_t p[2];
  corner b;
  bool operator==(const record& r) const {
    return m == r.m && l == r.l && p[0] == r.p[0] && p[1] == r.p[1] && b.x == r.b.x && b.y == r.b.y;
  }
};

const std::vector<record> some{{1, 10, {1, 2}, {0.5, 1.5}}, {2, 20, {3, 4}, {2.5, 3.5}}, {3, 30, {5, 6}, {4.5, 5.5}}};

struct arrays {
  std::vector<float> m;
  std::vector<std::int32_t> l;
  std::vector<std::uint8_t> p, q;
  std::vector<corner> b;
  explicit arrays(const std::vector<record>& of) {
    for (const record& r : of)
      m.push_back(r.m), l.push_back(r.l), p.push_back(r.p[0]), q.push_back(r.p[1]), b.push_back(r.b);
  }
  auto view() {
    return host_soa<mass, label, place, box>(m.data(), l.data(), {p.data(), q.data()}, b.data(),
                                             static_cast<kiln::index_t>(m.size()));
  }
  record at(std::size_t i) const { return {m[i], l[i], {p[i], q[i]}, b[i]}; }
};

TEST(element, assignment_copies_all_fields) {
  arrays a(some);
  const auto p = a.view();
  p[0] = p[1];
  EXPECT_EQ(a.at(0), some[1]);
  EXPECT_EQ(a.at(1), some[1]);
  auto from = p[2];
  const auto to = p[1];
  to = from;
  EXPECT_EQ(a.at(1), some[2]);
  from = p[0];
  EXPECT_EQ(a.at(2), some[1]) << "an element names memory, another copy of it does not";
  p[2] = from;
  EXPECT_EQ(a.at(2), some[1]);

  std::vector<record> r = some;
  const auto s = host_aos<mass, label, place, box>(r.data(), 3);
  s[0] = s[2];
  EXPECT_EQ(r[0], some[2]);
  for (auto e : s) e = p[0];
  for (const record& each : r) EXPECT_EQ(each, some[1]) << "from arrays to structs";
  const auto fixed = host_aos<const mass, const label, const place, box>(r.data(), 3);
  r[1] = some[0];
  p[2] = fixed[1];
  EXPECT_EQ(a.at(2), some[0]) << "from fields that are const";
}

TEST(element, swap_exchanges_all_fields) {
  arrays a(some);
  const auto p = a.view();
  swap(p[0], p[2]);
  EXPECT_EQ(a.at(0), some[2]);
  EXPECT_EQ(a.at(2), some[0]);
  auto x = p[0], y = p[1];
  using std::swap;
  swap(x, y);
  EXPECT_EQ(a.at(0), some[1]);
  EXPECT_EQ(a.at(1), some[2]);
  std::ranges::swap(x, y);
  EXPECT_EQ(a.at(0), some[2]);
}

TEST(field, swap_exchanges_values) {
  arrays a(some);
  const auto p = a.view();
  auto u = get<mass>(p[0]), v = get<mass>(p[1]);
  using std::swap;
  swap(u, v);
  EXPECT_EQ(a.m, (std::vector<float>{2, 1, 3}));
  swap(get<mass>(p[0]), get<mass>(p[2]));
  EXPECT_EQ(a.m, (std::vector<float>{3, 1, 2}));
  auto c = get<place>(p[0]), d = get<place>(p[2]);
  swap(c, d);
  EXPECT_EQ(a.p, (std::vector<std::uint8_t>{5, 3, 1}));
  EXPECT_EQ(a.q, (std::vector<std::uint8_t>{6, 4, 2}));
}

TEST(field, every_operator_stores_as_assignment_does) {
  arrays a(some);
  const auto e = a.view()[0];
  get<place>(e)[0] += 1.6f;
  EXPECT_EQ(a.p[0], 3) << "1 + 1.6, rounded once";
  get<place>(e)[0] += 300;
  EXPECT_EQ(a.p[0], 255);
  get<place>(e)[0] -= 1e10f;
  EXPECT_EQ(a.p[0], 0);
  get<place>(e)[0] /= 0.0f;
  EXPECT_EQ(a.p[0], 0) << "NaN";
  get<label>(e) *= 1e10;
  EXPECT_EQ(a.l[0], INT32_MAX);
  a.p[0] = 1, a.q[0] = 3;
  get<place>(e) *= 1.5f;
  EXPECT_EQ(a.p[0], 2) << "ties to even";
  EXPECT_EQ(a.q[0], 4);
  get<place>(e) = get<place>(e) * 100.0f;
  EXPECT_EQ(a.p[0], 200);
  EXPECT_EQ(a.q[0], 255);
}

TEST(field, wide_and_unsigned_integers_clamp_exactly) {
  std::int64_t wide[1] = {};
  std::uint64_t largest[1] = {};
  std::int16_t narrow[1] = {};
  const auto e = host_soa<std::int64_t, std::uint64_t, std::int16_t>(wide, largest, narrow, 1)[0];
  get<0>(e) = 0x1p63;
  EXPECT_EQ(wide[0], INT64_MAX);
  get<0>(e) = -0x1p63f;
  EXPECT_EQ(wide[0], INT64_MIN);
  get<0>(e) = 0x1.fffffffffffffp62;
  EXPECT_EQ(wide[0], INT64_MAX - 1023);
  get<1>(e) = 0x1p64;
  EXPECT_EQ(largest[0], UINT64_MAX);
  get<0>(e) = UINT64_MAX;
  EXPECT_EQ(wide[0], INT64_MAX);
  get<1>(e) = std::int64_t{-1};
  EXPECT_EQ(largest[0], 0u);
  get<0>(e) = (std::int64_t{1} << 53) + 1;
  get<1>(e) = get<0>(e);
  EXPECT_EQ(largest[0], (std::uint64_t{1} << 53) + 1) << "not through a float";
  get<2>(e) = get<0>(e);
  EXPECT_EQ(narrow[0], INT16_MAX);
  get<2>(e) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(narrow[0], 0);
}

}  // namespace
