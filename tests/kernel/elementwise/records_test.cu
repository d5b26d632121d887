// transform and copy over records, as arrays and as structs, on both executors.
#include <kiln/copy.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/reshape.hpp>

#include <cstring>
#include <string>
#include <tuple>

#include "tests/kernel/elementwise/particles.hpp"

namespace {

using namespace kiln;
using kiln::test::mass;
using kiln::test::particle;
using kiln::test::position;
using kiln::test::prefill;
using kiln::test::velocity;

struct charge {
  using type = bf16;
};
struct label {
  using type = std::int8_t;
};

struct drift {
  float dt;
  KILN_FN void operator()(auto particle) const { get<position>(particle) += dt * get<velocity>(particle); }
};
struct drift_by_bindings {
  float dt;
  KILN_FN void operator()(auto particle) const {
    auto [x, v, m] = particle;
    x += dt * v;
  }
};
struct kick_some {
  KILN_FN void operator()(auto particle) const {
    if (get<mass>(particle) > 0) get<velocity>(particle)[1] = -get<velocity>(particle)[1];
  }
};
struct label_of_charge {
  KILN_FN void operator()(auto p) const { get<label>(p) = static_cast<int>(get<charge>(p) * 4.0f); }
};
struct label_nothing {
  KILN_FN void operator()(auto p) const { get<mass>(p) = 0; }
};
struct swap_velocities {
  KILN_FN void operator()(auto p, auto q) const {
    const auto old = components<float, 3>(get<velocity>(p));
    get<velocity>(p) = get<velocity>(q);
    get<velocity>(q) = old;
  }
};

template <class E>
class records : public kiln::test::particle_test<E> {};
TYPED_TEST_SUITE(records, kiln::test::executors, kiln::test::executor_names);

TYPED_TEST(records, drift_moves_every_particle_and_nothing_else) {
  for (const std::size_t n : {1u, 3u, 4u, 7u, 33u, 65u, 1024u, 1029u})
    for (const std::size_t misalign : {0u, 1u}) {
      auto a = this->make(n, 1, misalign);
      ASSERT_TRUE(transform(this->executor(), this->view(a, n), drift{0.5f}).ok());
      for (std::size_t k = 0; k < 7; ++k) {
        const auto result = a.now[k]->values();
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(result[i], a.start[k][i] + (k < 3 ? 0.5f * a.start[k + 3][i] : 0)) << k << ", " << i << " of " << n;
      }
    }
}

TYPED_TEST(records, arrays_misaligned_differently_take_the_slow_path_and_are_right) {
  using E = TypeParam;
  const std::size_t n = 101;
  const auto m = test::small_integers<float>(n, 5);
  const auto& from = this->input(m, 1);
  std::vector<float> none(n, 0);
  auto& x = this->template output<float>(n, prefill::nan, 2);
  auto& v = this->template output<float>(3 * n, prefill::x55, 3);
  ASSERT_TRUE(fill(this->executor(), view_on<E>(v.data(), 3 * n), 2).ok());
  const auto p = soa_on<E, const mass, velocity>(from.data(), stacked<3>(v.data(), static_cast<kiln::index_t>(n)),
                                                 static_cast<kiln::index_t>(n));
  ASSERT_TRUE(transform(this->executor(), p, kick_some{}).ok());
  const auto result = v.values();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(result[i], 2.0f);
    ASSERT_EQ(result[n + i], m[i] > 0 ? -2.0f : 2.0f);
  }
  EXPECT_TRUE(x.untouched());
}

TYPED_TEST(records, bindings_in_a_functor_are_references) {
  auto a = this->make(70, 2);
  ASSERT_TRUE(transform(this->executor(), this->view(a, 70), drift_by_bindings{2}).ok());
  const auto result = a.now[1]->values();
  for (std::size_t i = 0; i < 70; ++i) ASSERT_EQ(result[i], a.start[1][i] + 2 * a.start[4][i]);
}

TYPED_TEST(records, only_components_that_are_written_are_stored) {
  using view = soa_view<typename TypeParam::space, velocity, const mass>;
  elementwise::staged<view, 1> held{};
  const elementwise::lane<view, 1> one{&held, 0};
  auto& flags = elementwise::staged_field<0>(held).written;
  kick_some{}(one);
  EXPECT_FALSE(flags[0] || flags[1] || flags[2]) << "the mass was 0";
  elementwise::staged_field<1>(held).r[0][0] = 1;
  kick_some{}(one);
  EXPECT_TRUE(!flags[0] && flags[1] && !flags[2]);

  using E = TypeParam;
  const std::size_t n = 100;
  const auto m = test::small_integers<float>(n, 3), v0 = test::small_integers<float>(n, 4),
             v1 = test::small_integers<float>(n, 5);
  const auto& mi = this->input(m);
  const auto& x = this->input(v0);
  const auto& z = this->input(v0);
  auto& y = this->template output<float>(n);
  const auto& from = this->input(v1);
  ASSERT_TRUE(copy(this->executor(), view_on<E>(from.data(), n), view_on<E>(y.data(), n)).ok());
  const auto p = soa_on<E, velocity, const mass>({const_cast<float*>(x.data()), y.data(), const_cast<float*>(z.data())},
                                                 mi.data(), static_cast<kiln::index_t>(n));
  ASSERT_TRUE(transform(this->executor(), p, kick_some{}).ok());
  const auto result = y.values();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], m[i] > 0 ? -v1[i] : v1[i]);
}

TYPED_TEST(records, fields_of_different_widths) {
  using E = TypeParam;
  for (const std::size_t n : {5u, 16u, 100u, 1000u}) {
    const auto c = test::uniform<bf16>(n, 6);
    const auto& from = this->input(c);
    auto& to = this->template output<std::int8_t>(n);
    ASSERT_TRUE(transform(this->executor(),
                          soa_on<E, const charge, label>(from.data(), to.data(), static_cast<kiln::index_t>(n)),
                          label_of_charge{})
                    .ok());
    const auto result = to.values();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], static_cast<int>(static_cast<float>(c[i]) * 4)) << i;
  }
}

TYPED_TEST(records, two_views_at_once) {
  auto a = this->make(37, 7), b = this->make(37, 20);
  ASSERT_TRUE(transform(this->executor(), this->view(a, 37), this->view(b, 37), swap_velocities{}).ok());
  for (std::size_t k = 3; k < 6; ++k) {
    EXPECT_EQ(a.now[k]->values(), b.start[k]);
    EXPECT_EQ(b.now[k]->values(), a.start[k]);
  }
}

TYPED_TEST(records, slices_transform_their_own_elements) {
  auto a = this->make(50, 8);
  ASSERT_TRUE(transform(this->executor(), slice(this->view(a, 50), 7, -11), drift{1}).ok());
  const auto result = a.now[2]->values();
  for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(result[i], a.start[2][i] + (i >= 7 && i < 39 ? a.start[5][i] : 0));
}

TYPED_TEST(records, structs_to_arrays_and_back_are_exact) {
  using E = TypeParam;
  for (const std::size_t n : {1u, 31u, 256u, 1023u, 1024u, 1025u, 3000u})
    for (const std::size_t misalign : {0u, 1u}) {
      std::vector<particle> ps(n);
      const auto values = test::uniform<float>(7 * n, 9);
      std::memcpy(static_cast<void*>(ps.data()), values.data(), n * sizeof(particle));
      const auto& from = this->input(ps, misalign);
      auto& back = this->template output<particle>(n, prefill::x55, misalign);
      auto a = this->make(n, 10, misalign);
      const auto count = static_cast<kiln::index_t>(n);
      ASSERT_TRUE(copy(this->executor(), aos_on<E, const position, const velocity, const mass>(from.data(), count),
                       this->view(a, n))
                      .ok());
      for (std::size_t k = 0; k < 7; ++k) {
        const auto column = a.now[k]->values();
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(column[i], values[7 * i + k]);
      }
      ASSERT_TRUE(
          copy(this->executor(), this->view(a, n), aos_on<E, position, velocity, mass>(back.data(), count)).ok());
      const auto again = back.values();
      ASSERT_EQ(std::memcmp(again.data(), ps.data(), n * sizeof(particle)), 0);
    }
}

struct bytes_of_color {
  using type = std::uint8_t[3];
};
struct alpha {
  using type = std::uint8_t;
};
struct half_vector {
  using type = std::uint16_t[3];
};
struct eight_floats {
  using type = float[8];
};
struct pair_of_doubles {
  using type = double[2];
};
struct number {
  using type = std::uint64_t;
};

/// Packed structs, out into arrays and back, with every count around a block's.
template <class Struct, class... Fields, class Test>
void check_packed(Test& test) {
  using E = std::decay_t<decltype(test.executor())>;
  static_assert(sizeof(Struct) == (sizeof(typename Fields::type) + ...));
  for (const std::size_t n : {1u, 15u, 300u, 1024u, 4099u}) {
    SCOPED_TRACE(std::to_string(sizeof(Struct)) + " bytes, " + std::to_string(n) + " structs");
    std::vector<Struct> structs(n);
    const auto raw = test::uniform<std::int8_t>(n * sizeof(Struct), 21);
    std::memcpy(static_cast<void*>(structs.data()), raw.data(), raw.size());
    const auto count = static_cast<index_t>(n);
    auto& memory = test.template output<unsigned char>(soa_bytes<Fields...>(count), prefill::x55);
    auto& back = test.template output<Struct>(n, prefill::x55);
    const auto arrays = [&] {
      if constexpr (E::on_host)
        return host_soa_in<Fields...>(memory.data(), count);
      else
        return device_soa_in<Fields...>(memory.data(), count);
    }();
    ASSERT_TRUE(copy(test.executor(), aos_on<E, const Fields...>(test.input(structs).data(), count), arrays).ok());
    ASSERT_TRUE(copy(test.executor(), arrays, aos_on<E, Fields...>(back.data(), count)).ok());
    const auto again = back.values();
    ASSERT_EQ(std::memcmp(again.data(), structs.data(), raw.size()), 0);
    // Component c of the first field stands by itself.
    using first = std::tuple_element_t<0, std::tuple<Fields...>>;
    using element = std::remove_all_extents_t<typename first::type>;
    const auto* const begin = reinterpret_cast<const unsigned char*>(arrays.template at<0>(0, 0));
    const auto all = memory.values();
    const auto offset = static_cast<std::size_t>(begin - memory.data());
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(
          std::memcmp(all.data() + offset + i * sizeof(element),
                      reinterpret_cast<const unsigned char*>(structs.data()) + i * sizeof(Struct), sizeof(element)),
          0)
          << i;
  }
}

TYPED_TEST(records, packed_structs_of_every_width) {
  struct color {
    std::uint8_t c[3], a;
  };
  struct halves {
    std::uint16_t h[3];
  };
  struct eight {
    float f[8];
  };
  struct wide {
    double d[2];
    std::uint64_t n;
  };
  check_packed<color, bytes_of_color, alpha>(*this);
  check_packed<halves, half_vector>(*this);
  check_packed<eight, eight_floats>(*this);
  check_packed<wide, pair_of_doubles, number>(*this);
}

TYPED_TEST(records, the_same_functor_runs_on_structs) {
  using E = TypeParam;
  const std::size_t n = 300;
  std::vector<float> values = test::small_integers<float>(7 * n, 11);
  auto& memory = this->template output<float>(7 * n);
  const auto& from = this->input(values);
  ASSERT_TRUE(copy(this->executor(), view_on<E>(from.data(), 7 * n), view_on<E>(memory.data(), 7 * n)).ok());
  ASSERT_TRUE(transform(this->executor(),
                        aos_on<E, position, velocity, mass>(reinterpret_cast<particle*>(memory.data()), 300), drift{2})
                  .ok());
  const auto result = memory.values();
  for (std::size_t i = 0; i < 7 * n; ++i) ASSERT_EQ(result[i], values[i] + (i % 7 < 3 ? 2 * values[i + 3] : 0));
}

struct padded {
  std::int8_t l;
  float m;
  bf16 c;
};

TYPED_TEST(records, structs_with_padding_keep_it_and_fields_convert) {
  using E = TypeParam;
  const std::size_t n = 333;
  const auto l = test::small_integers<std::int8_t>(n, 12);
  const auto m = test::small_integers<float>(n, 13);
  const auto c = test::uniform<bf16>(n, 14);
  const auto& li = this->input(l);
  const auto& mi = this->input(m);
  const auto& ci = this->input(c);
  auto& structs = this->template output<padded>(n, prefill::x55);
  const auto count = static_cast<kiln::index_t>(n);
  const auto fields = soa_on<E, const charge, const label, const mass>(ci.data(), li.data(), mi.data(), count);
  ASSERT_TRUE(copy(this->executor(), fields, aos_on<E, label, mass, charge>(structs.data(), count)).ok());
  const auto result = structs.values();
  for (std::size_t i = 0; i < n; ++i) {
    unsigned char bytes[sizeof(padded)];
    std::memcpy(bytes, static_cast<const void*>(&result[i]), sizeof(padded));
    ASSERT_TRUE(bytes[1] == 0x55 && bytes[3] == 0x55 && bytes[11] == 0x55) << "padding was written";
    ASSERT_TRUE(result[i].l == l[i] && result[i].m == m[i] && result[i].c.bits == c[i].bits);
  }
  auto& again = this->template output<bf16>(n);
  auto& labels = this->template output<std::int8_t>(n);
  auto& masses = this->template output<float>(n);
  const auto back = soa_on<E, mass, label, charge>(masses.data(), labels.data(), again.data(), count);
  ASSERT_TRUE(
      copy(this->executor(), aos_on<E, const label, const mass, const charge>(structs.data(), count), back).ok());
  EXPECT_EQ(masses.values(), m);
  EXPECT_EQ(labels.values(), l);
}

struct limits_of {
  double low, high;
};
struct range {
  using type = limits_of;
};
struct spin {
  using type = std::int16_t[2];
};
struct seed {
  using type = std::uint64_t;
};
/// Eight fields of eight types, and padding between them.
struct many {
  std::int8_t label;
  double low, high;
  float x[3];
  std::int16_t spin[2];
  bf16 charge;
  std::uint64_t seed;
  bool alive;
  std::uint8_t kind;
};
struct age {
  KILN_FN void operator()(auto e) const {
    get<range>(e).high += get<range>(e).low;
    get<spin>(e)[1] = get<spin>(e)[0] + 1;
    get<seed>(e) = get<seed>(e) ^ 1u;
    get<bool>(e) = get<std::uint8_t>(e) > 220;
  }
};

TYPED_TEST(records, any_number_of_fields_of_any_types_between_arrays_and_structs) {
  using E = TypeParam;
  const std::size_t n = 37;
  const index_t count = 37;
  std::vector<many> all(n);
  std::memset(static_cast<void*>(all.data()), 0, n * sizeof(many));
  for (std::size_t i = 0; i < n; ++i) {
    const float f = static_cast<float>(i);
    const auto s = static_cast<std::int16_t>(i);
    all[i].label = static_cast<std::int8_t>(i), all[i].low = 0.5 * static_cast<double>(i), all[i].high = 3;
    for (int c = 0; c < 3; ++c) all[i].x[c] = f + static_cast<float>(c);
    all[i].spin[0] = s, all[i].spin[1] = 100, all[i].charge = bf16(f), all[i].seed = i << 40;
    all[i].kind = static_cast<std::uint8_t>(200 + i);
  }
  const auto bytes = soa_bytes<label, range, position, spin, charge, seed, bool, std::uint8_t>(count);
  auto& memory = this->template output<unsigned char>(bytes, prefill::x55);
  const auto columns = [&] {
    if constexpr (E::on_host)
      return host_soa_in<label, range, position, spin, charge, seed, bool, std::uint8_t>(memory.data(), count);
    else
      return device_soa_in<label, range, position, spin, charge, seed, bool, std::uint8_t>(memory.data(), count);
  }();
  kiln::test::guarded_output<many, typename E::space> back(all);
  const auto from = aos_on<E, const label, const range, const position, const spin, const charge, const seed,
                           const bool, const std::uint8_t>(this->input(all).data(), count);
  const auto to = aos_on<E, label, range, position, spin, charge, seed, bool, std::uint8_t>(back.data(), count);
  ASSERT_TRUE(copy(this->executor(), from, columns).ok());
  ASSERT_TRUE(transform(this->executor(), slice(columns, 1, 36), age{}).ok());
  ASSERT_TRUE(copy(this->executor(), columns, to).ok());
  const auto result = back.values();
  for (std::size_t i = 0; i < n; ++i) {
    many expected = all[i];
    if (i >= 1 && i < 36) {
      expected.high += expected.low;
      expected.spin[1] = static_cast<std::int16_t>(i + 1);
      expected.seed ^= 1u;
      expected.alive = expected.kind > 220;
    }
    ASSERT_EQ(std::memcmp(static_cast<const void*>(&result[i]), static_cast<const void*>(&expected), sizeof(many)), 0)
        << i;
  }
  EXPECT_TRUE(back.intact());
}

TYPED_TEST(records, wrong_arguments_are_named_and_nothing_is_written) {
  using E = TypeParam;
  auto a = this->make(40, 19);
  const auto p = this->view(a, 40);
  const auto ex = this->executor();
  const auto expect = [&](const status& s, errc code, const char* text) {
    EXPECT_EQ(s.code(), code);
    EXPECT_NE(s.message().find(text), std::string::npos) << s.message();
  };
  expect(transform(ex, slice(p, 5, 4), drift{1}), errc::bad_shape, "view 1 has -1 elements");
  expect(transform(ex, p, slice(p, 0, 39), swap_velocities{}), errc::bad_shape,
         "view 2 has 39 elements, needs 40, as many as view 1");
  expect(transform(ex, slice(p, 0, 39), slice(p, 1, 40), swap_velocities{}), errc::overlap, "share memory");
  expect(transform(ex, p, p, swap_velocities{}), errc::overlap, "share memory");
  auto null = p;
  null.arrays = {};
  expect(transform(ex, null, drift{1}), errc::null_pointer,
         "view 1 has 40 elements and null data in component 0 of field 0");
  const auto twice =
      soa_on<E, position, mass>({a.now[0]->data(), a.now[1]->data(), a.now[2]->data()}, a.now[1]->data(), 40);
  expect(transform(ex, twice, label_nothing{}), errc::overlap, "component 1 and component 3");
  const auto odd = soa_on<E, mass>(reinterpret_cast<float*>(reinterpret_cast<char*>(a.now[0]->data()) + 1), 39);
  expect(transform(ex, odd, label_nothing{}), errc::bad_alignment, "component 0 of field 0 of view 1");

  expect(copy(ex, p, aos_on<E, position, velocity, mass>(static_cast<particle*>(nullptr), 40)), errc::null_pointer,
         "the second view");
  expect(transform(ex, soa_on<E, mass>(a.now[0]->data(), INT64_MAX / 2), label_nothing{}), errc::bad_shape,
         "view 1 has 4611686018427387903 elements of 4 bytes, more than a 64-bit index counts");
  for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(a.now[k]->values(), a.start[k]);
}

}  // namespace
