// Records as a structure of arrays, and as an array of structs, on the host.
#include <gtest/gtest.h>

#include <kiln/view/aos.hpp>
#include <kiln/view/soa.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <vector>

namespace {

using namespace kiln;

struct position {
  using type = float[3];
};
struct velocity {
  using type = float[3];
};
struct mass {
  using type = f16;
};
struct label {
  using type = std::int32_t;
};
struct corner {
  double x, y;
};
struct box {
  using type = corner;
};

struct particles {
  std::vector<float> x{0, 1, 2, 3}, y{10, 11, 12, 13}, z{20, 21, 22, 23};
  std::vector<float> v{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<f16> m{f16(1.0f), f16(2.0f), f16(3.0f), f16(4.0f)};
  auto view() {
    return host_soa<position, const velocity, mass>({x.data(), y.data(), z.data()}, stacked<3>(v.data(), 4), m.data(),
                                                    4);
  }
};

TEST(soa_view, get_refers_to_the_arrays) {
  particles data;
  const auto p = data.view();
  static_assert(std::is_same_v<decltype(p), const soa<position, const velocity, mass>>);
  EXPECT_EQ(p.size(), 4);
  get<position>(p[1]) += 0.5f * get<velocity>(p[1]);
  EXPECT_EQ(data.x[1], 2.0f);
  EXPECT_EQ(data.y[1], 14.0f);
  EXPECT_EQ(data.z[1], 26.0f);
  get<position>(p[2])[1] = 99;
  EXPECT_EQ(data.y[2], 99.0f);
  get<mass>(p[3]) *= 2.5f;
  EXPECT_EQ(static_cast<float>(data.m[3]), 10.0f);
  EXPECT_EQ(data.x[0], 0.0f) << "others stay";
}

TEST(soa_view, structured_bindings_are_references) {
  particles data;
  for (auto [at, speed, m] : data.view()) {
    at = at + 2.0f * speed;
    m = m + 1.0f;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const float f = static_cast<float>(i);
    EXPECT_EQ(data.x[i], f + 2 * (1 + f));
    EXPECT_EQ(data.y[i], 10 + f + 2 * (5 + f));
    EXPECT_EQ(data.z[i], 20 + f + 2 * (9 + f));
    EXPECT_EQ(static_cast<float>(data.m[i]), f + 2);
  }
}

TEST(soa_view, is_a_range_of_the_standard_library) {
  particles data;
  const auto p = data.view();
  static_assert(std::input_iterator<decltype(p.begin())>);
  static_assert(std::ranges::input_range<decltype(p)>);
  float heaviest = 0;
  std::ranges::for_each(
      p, [&](const auto& e) { heaviest = heaviest > get<mass>(e) ? heaviest : static_cast<float>(get<mass>(e)); });
  EXPECT_EQ(heaviest, 4.0f);
}

TEST(soa_view, values_are_copies) {
  particles data;
  const auto p = data.view();
  const components<float, 3> old = get<position>(p[0]);
  const float m = get<mass>(p[0]);
  get<position>(p[0]) = get<velocity>(p[3]);
  get<mass>(p[0]) = 7;
  EXPECT_EQ(old[1], 10.0f);
  EXPECT_EQ(m, 1.0f);
  EXPECT_EQ(data.x[0], 4.0f);
  EXPECT_EQ(data.z[0], 12.0f);
}

TEST(soa_view, const_fields_are_read_only) {
  particles data;
  const auto p = data.view();
  using speed = decltype(get<velocity>(p[0])[0]);
  static_assert(std::is_same_v<speed, float>);
  using read_only = soa<const mass>;
  static_assert(std::is_same_v<decltype(get<mass>(read_only{}[0])), float>);
  EXPECT_EQ(dot(get<velocity>(p[1]), get<velocity>(p[1])), 4.0f + 36 + 100);
}

TEST(soa_view, slices_and_selections_share_the_arrays) {
  particles data;
  const auto p = data.view();
  const auto middle = slice(p, 1, -1);
  EXPECT_EQ(middle.size(), 2);
  get<position>(middle[1])[0] = 50;
  EXPECT_EQ(data.x[2], 50.0f);
  EXPECT_EQ(slice(p, 3, 2).size(), -1);
  EXPECT_EQ(slice(p, 0, 5).size(), -1);
  EXPECT_EQ(slice(p, -5, 2).size(), -1);
  EXPECT_EQ(slice(p, 2, 2).size(), 0);

  const auto some = select<const mass, position>(p);
  static_assert(std::is_same_v<decltype(some), const soa<const mass, position>>);
  EXPECT_EQ(static_cast<float>(get<0>(some[2])), 3.0f);
  get<position>(some[0])[2] = 77;
  EXPECT_EQ(data.z[0], 77.0f);
  EXPECT_EQ(&column<position>(p, 2)(0), &data.z[0]);
  EXPECT_EQ(column<mass>(p).extent(0), 4);
}

TEST(soa_view, views_are_zipped_and_iterated_in_step) {
  particles data;
  std::vector<double> force{1, 2, 3, 4};
  std::vector<std::int32_t> number{7, 8, 9, 10}, five(5);
  const auto all = zipped(select<position, mass>(data.view()), host_soa<const double>(force.data(), 4),
                          host_soa<label>(number.data(), 4));
  static_assert(std::is_same_v<decltype(all), const soa<position, mass, const double, label>>);
  for (auto [at, m, f, n] : slice(all, 1, 3)) {
    at[0] = m + static_cast<float>(f);
    n = n + static_cast<int>(f);
  }
  EXPECT_EQ(data.x, (std::vector<float>{0, 4, 6, 3}));
  EXPECT_EQ(number, (std::vector<std::int32_t>{7, 10, 12, 10}));
  EXPECT_EQ(zipped(data.view(), host_soa<label>(five.data(), 5)).size(), -1);
}

TEST(soa_view, plain_types_are_fields_by_number) {
  std::vector<float> a{1, 2};
  std::vector<float> b{3, 4};
  std::vector<std::int64_t> c{5, 6};
  const auto p = host_soa<float, float, std::int64_t>(a.data(), b.data(), c.data(), 2);
  get<1>(p[1]) += get<0>(p[1]);
  EXPECT_EQ(b[1], 6.0f);
  get<std::int64_t>(p[0]) = 100;
  EXPECT_EQ(c[0], 100);
}

TEST(soa_view, structs_are_stored_whole_and_given_as_references) {
  std::vector<corner> corners{{1, 2}, {3, 4}};
  std::vector<std::int32_t> labels{7, 8};
  const auto p = host_soa<box, label>(corners.data(), labels.data(), 2);
  get<box>(p[1]).x = 30;
  EXPECT_EQ(corners[1].x, 30);
  static_assert(std::is_same_v<decltype(get<box>(p[0])), corner&>);
  get<label>(p[0]) -= 2;
  EXPECT_EQ(labels[0], 5);
}

TEST(soa_view, one_buffer_holds_all_arrays_each_on_256_bytes) {
  constexpr kiln::index_t n = 5;
  static_assert(soa_bytes<position, mass>(n) == 4 * 256);
  alignas(256) unsigned char memory[4 * 256] = {};
  const auto p = host_soa_in<position, mass>(memory, n);
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(reinterpret_cast<unsigned char*>(column<position>(p, c).data), memory + 256 * c);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(column<mass>(p).data), memory + 768);
}

TEST(soa_view, references_round_once_when_written) {
  std::vector<f16> m{f16(0.0f)};
  std::vector<std::int8_t> q{0};
  const auto p = host_soa<f16, std::int8_t>(m.data(), q.data(), 1);
  get<0>(p[0]) = 2049.0f;
  EXPECT_EQ(static_cast<float>(m[0]), 2048.0f) << "ties to even";
  get<1>(p[0]) = 200.5f;
  EXPECT_EQ(q[0], 127) << "clamped as convert does";
  // Through a reference the bits travel as they are, a NaN's payload too.
  m[0] = f16::from_bits(0x7d23);
  std::vector<f16> other{f16(0.0f)};
  get<0>(host_soa<f16>(other.data(), 1)[0]) = get<0>(p[0]);
  EXPECT_EQ(other[0].bits, 0x7d23);
}

TEST(soa_view, assigning_components_from_themselves_reads_before_it_writes) {
  struct reversed {
    components_ref<float, 3> of;
    float operator[](int i) const { return of[2 - i]; }
  };
  particles data;
  const auto p = data.view();
  get<position>(p[1]) = reversed{get<position>(p[1])};
  EXPECT_EQ(data.x[1], 21.0f);
  EXPECT_EQ(data.z[1], 1.0f);
}

TEST(soa_view, columns_and_slices_that_there_are_not_are_refused) {
  particles data;
  const auto p = data.view();
  EXPECT_EQ(column<position>(p, 2).extent(0), p.count);
  for (const int component : {-1, 3, 1 << 30}) {
    EXPECT_EQ(column<position>(p, component).extent(0), -1);
    EXPECT_EQ(column<position>(p, component).data, nullptr);
  }
  const auto bad = slice(p, 2, 1);
  for (const kiln::index_t at : {INT64_MIN, kiln::index_t{-1}, kiln::index_t{0}}) {
    EXPECT_EQ(slice(bad, at, 0).count, -1);
    EXPECT_EQ(slice(bad, 0, at).count, -1);
  }
  EXPECT_EQ(column<position>(bad).extent(0), -1);
  EXPECT_EQ(select<position>(bad).count, -1);
  EXPECT_EQ(host_soa_in<float>(data.x.data(), -1).count, -1);
  EXPECT_EQ(soa_bytes<float>(-1), 0u);
  EXPECT_EQ((soa_bytes<float, double>(INT64_MAX)), std::size_t{INT64_MAX}) << "more than can be counted";
  EXPECT_EQ((soa_bytes<position, mass>(index_t{1} << 40)), std::size_t{14} << 40);
  float* const none = nullptr;
  EXPECT_EQ(column<position>(slice(host_soa<position>({none, none, none}, 4), 1, 3), 1).data, nullptr);
}

struct particle {
  float position[3];
  f16 mass;
  float velocity[3];
};

TEST(aos_view, members_are_found_where_the_compiler_puts_them) {
  std::vector<particle> ps(3);
  for (std::size_t i = 0; i < 3; ++i) {
    const float f = static_cast<float>(i);
    ps[i] = {{f, f + 10, f + 20}, f16(f + 1), {f + 30, f + 40, f + 50}};
  }
  const auto a = host_aos<position, mass, velocity>(ps.data(), 3);
  static_assert(decltype(a)::record_bytes == sizeof(particle));
  EXPECT_EQ(static_cast<float>(get<velocity>(a[2])[1]), 42.0f);
  get<position>(a[1]) += get<velocity>(a[1]);
  EXPECT_EQ(ps[1].position[2], 21.0f + 51.0f);
  for (auto [at, m, speed] : slice(a, 1, 3)) m = m * 2.0f;
  EXPECT_EQ(static_cast<float>(ps[0].mass), 1.0f);
  EXPECT_EQ(static_cast<float>(ps[2].mass), 6.0f);
  const std::vector<particle>& fixed = ps;
  const auto r = host_aos<const position, const mass, const velocity>(fixed.data(), 3);
  EXPECT_EQ(static_cast<float>(get<mass>(r[2])), 6.0f);
}

TEST(aos_view, layout_follows_the_rules_of_plain_structs) {
  struct odd {
    std::int8_t a;
    double b;
    std::int16_t c;
    float d[2];
  };
  struct d2 {
    using type = float[2];
  };
  using fields = field_list<std::int8_t, double, std::int16_t, d2>;
  static_assert(fields::record_bytes == sizeof(odd) && fields::alignment == alignof(odd));
  static_assert(fields::offset<1> == offsetof(odd, b) && fields::offset<2> == offsetof(odd, c) &&
                fields::offset<3> == offsetof(odd, d));
  static_assert(fields::useful_bytes == 1 + 8 + 2 + 8 && fields::components == 5);
}

}  // namespace
