#pragma once
/// Particles as fields, as a struct, and in guarded arrays.
#include <kiln/copy.hpp>
#include <kiln/view/aos.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {

struct position {
  using type = float[3];
};
struct velocity {
  using type = float[3];
};
struct mass {
  using type = float;
};
struct particle {
  float x[3], v[3], m;
};

template <class E>
class particle_test : public on_executor<E> {
 public:
  /// Seven guarded arrays of small integers.
  struct arrays {
    std::vector<std::vector<float>> start;
    std::vector<guarded_output<float, typename E::space>*> now;
  };
  arrays make(std::size_t n, std::uint64_t seed, std::size_t misalign = 0) {
    arrays a;
    for (int k = 0; k < 7; ++k) {
      a.start.push_back(small_integers<float>(n, seed + static_cast<std::uint64_t>(k)));
      const auto& from = this->input(a.start.back());
      a.now.push_back(&this->template output<float>(n, prefill::nan, misalign));
      EXPECT_TRUE(copy(this->executor(), view_on<E>(from.data(), n), view_on<E>(a.now.back()->data(), n)).ok());
    }
    return a;
  }
  static auto view(const arrays& a, std::size_t n) {
    return soa_on<E, position, velocity, mass>({a.now[0]->data(), a.now[1]->data(), a.now[2]->data()},
                                               {a.now[3]->data(), a.now[4]->data(), a.now[5]->data()}, a.now[6]->data(),
                                               static_cast<index_t>(n));
  }
};

}  // namespace kiln::test
