#pragma once
/// The program that draws one column of each row: from the likeliest few (top-k, top-p), by their probabilities.
///
/// Nothing is sorted. Weights exp((x - largest) / temperature) are integers in units of 2^-31 or finer, so that their
/// sums are exact and the same in any order. A search asks the row one question after the other (`sampling_search`):
/// how many elements, or how much weight, lies above a value; each answer is one reduction.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/keys.hpp>
#include <kiln/kernel/rows/philox.hpp>

namespace kiln::rows {

/// Keys of a type's values in as few bits as they need: each bit of a key may cost a reduction.
template <class X>
struct compact_keys {
  static constexpr int unused = std::is_same_v<X, bf16> ? 16 : std::is_same_v<X, f16> ? 13 : 0;
  KILN_FN static std::uint32_t of(float v) { return ordered_bits(v) >> unused; }
  KILN_FN static float value_of(std::uint32_t key) {
    const std::uint32_t bits = key << unused;
    return unordered((bits >> 31) != 0 ? bits : bits | ((1u << unused) - 1));
  }
};

/// Weights of which a row of `n` adds up to less than 2^63.
struct sampling_weights {
  float top, temperature, one;

  KILN_FN static sampling_weights of(float top, float temperature, index_t n) {
    float one = 0x1p40f;
    while (one * static_cast<float>(n) > 0x1p62f) one *= 0.5f;
    return {top, temperature, one};
  }
  KILN_FN std::uint64_t operator()(float v) const {
    // By halves: the distance of two values may be more than a float holds, and over the temperature it is not.
    return static_cast<std::uint64_t>(exponential((v * 0.5f - top * 0.5f) / temperature * 2) * one);
  }
};

/// What a row is asked for: a sum over columns [begin, end).
struct sampling_question {
  enum kind { count_above, count_equal, weight_left } what;
  std::uint32_t key, begin, end;
  std::uint32_t limit;  ///< weight is that of keys above `key`, and of equal ones before this column

  /// What an element in these columns adds.
  KILN_FN std::uint64_t of(std::uint32_t its_key, float value, std::uint32_t column,
                           const sampling_weights& weights) const {
    if (what == count_above) return its_key > key ? 1 : 0;
    if (what == count_equal) return its_key == key ? 1 : 0;
    return its_key > key || (its_key == key && column < limit) ? weights(value) : 0;
  }
};

/// The steps of one draw.
///
/// The elements that may be drawn are those above a key and, lowest columns first, some of those that equal it. Both
/// limits, of number and of probability, look for the lowest key above which the sum (of elements, of weight) is less
/// than wanted; an element whose predecessors reach that sum is out. Then the last column of the equal ones is found,
/// and in the end the first column at which the weight up to it exceeds a random number in [0, all weight left).
template <class Keys>
class sampling_search {
 public:
  /// `k` in [1, n] and `p` at least 0; `random` has 64 even bits.
  KILN_FN sampling_search(const sampling_weights& weights, std::uint32_t n, std::uint32_t k, float p,
                          std::uint64_t random)
      : weights_(weights), n_(n), p_(p), random_(random), top_(Keys::of(weights.top)), step_(weigh) {
    if (k < n) find_key(few, 0, k);
  }

  /// False if the draw is done; else the question whose answer goes to `answer`.
  KILN_FN bool ask(sampling_question& q) {
    while (step_ != weigh && high_ - low_ <= 1) {
      if (step_ == draw) return false;
      settle();
    }
    middle_ = low_ + (high_ - low_) / 2;
    const bool of_keys = step_ == few || step_ == likely;
    q.what = step_ == few     ? sampling_question::count_above
             : step_ == equal ? sampling_question::count_equal
                              : sampling_question::weight_left;
    q.key = of_keys ? middle_ : key_;
    q.begin = of_keys || step_ == weigh ? 0 : low_;
    q.end = of_keys || step_ == weigh ? n_ : middle_;
    q.limit = step_ == draw ? limit_ : 0;
    return true;
  }

  KILN_FN void answer(std::uint64_t sum) {
    if (step_ == weigh) {
      above_ = sum, all_ = sum + ties_ * weight_of_key();
      if (p_ < 1)
        find_key(likely, ties_ > 0 ? key_ - 1 : key_, share_of(all_));
      else
        find_limit();
    } else if (step_ == equal || step_ == draw) {
      if (wanted_ < sum)
        high_ = middle_;
      else
        low_ = middle_, wanted_ -= sum;
    } else if (sum > wanted_) {
      low_ = middle_;
    } else {
      high_ = middle_, above_ = sum;
      if (sum == wanted_) low_ = high_ - 1;  // a cut between two keys
    }
  }

  KILN_FN std::uint32_t result() const { return low_; }

  /// The next questions are after a key above which lies less weight than this.
  KILN_FN bool weighs_keys() const { return step_ == likely; }
  KILN_FN std::uint64_t wanted() const { return wanted_; }
  /// Above `key` lies as much as the search for a key wants, or more: it need not look further down.
  KILN_FN void skip_to(std::uint32_t key) { low_ = max_of(low_, key); }

  /// The weight of all that the first limit leaves: what the answers said, if they have, and `found` otherwise.
  KILN_FN std::uint64_t weighed(std::uint64_t found) const { return all_ > 0 ? all_ : found; }
  /// Of `all` weight, what the second limit keeps.
  KILN_FN std::uint64_t share_of(std::uint64_t all) const {
    if (!(p_ < 1)) return all;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(all) * static_cast<double>(p_));
    return share < 1 ? 1 : share < all ? share : all;
  }
  /// The place in `all` weight left that is drawn.
  KILN_FN std::uint64_t drawn_of(std::uint64_t all) const { return scaled_to(random_, all); }

 private:
  enum step { few, weigh, likely, equal, draw };

  KILN_FN std::uint64_t weight_of_key() const { return key_ == 0 ? 0 : weights_(Keys::value_of(key_)); }

  /// Keys in (low, top] come into question; nothing lies above the top.
  KILN_FN void find_key(step next, std::uint32_t low, std::uint64_t sum) {
    step_ = next, low_ = low, high_ = top_, above_ = 0, wanted_ = sum;
  }
  KILN_FN void find_column(step next, std::uint64_t sum) { step_ = next, low_ = 0, high_ = n_, wanted_ = sum; }
  KILN_FN void find_limit() {
    if (ties_ > 0)
      find_column(equal, ties_ - 1);
    else
      find_drawn();
  }
  KILN_FN void find_drawn() { find_column(draw, scaled_to(random_, above_ + ties_ * weight_of_key())); }

  /// A search has come to its end.
  KILN_FN void settle() {
    if (step_ == equal) {
      limit_ = low_ + 1;
      find_drawn();
      return;
    }
    key_ = high_;
    ties_ = wanted_ - above_;
    if (step_ == few) {
      step_ = weigh;
    } else {
      if (ties_ > 0) ties_ = (ties_ - 1) / weight_of_key() + 1;
      find_limit();
    }
  }

  sampling_weights weights_;
  std::uint32_t n_;
  float p_;
  std::uint64_t random_;
  std::uint32_t top_, key_ = 0;         ///< no element has key 0
  std::uint64_t above_ = 0, ties_ = 0;  ///< sum above the key; how many that equal it are left
  std::uint64_t wanted_ = 0, all_ = 0;
  std::uint32_t limit_ = 0, low_ = 0, high_ = 0, middle_ = 0;
  step step_;
};

template <class X>
struct sampling_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 80;
  static constexpr bool fits_wide_block = false;  // the search needs the registers that would hold the row
  struct lines {
    line<const X> x;
    std::int32_t* out;
    index_t number;
  };
  operand<const X> x;
  operand<std::int32_t> out;
  float temperature, top_p;
  index_t top_k;
  std::uint64_t seed, draw;
  std::int32_t* flag;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), out.data + out.offset(r), r}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    using keys = compact_keys<X>;
    const later_of later;
    const std::uint64_t best = one.reduce(
        std::uint64_t{0}, [=](std::uint64_t a, float v, index_t c) { return later(a, key_of(v, c)); }, later);
    index_t chosen = column_of(best);
    const bool sound = is_finite_key(best);
    if (sound && temperature > 0 && top_k != 1) {
      const auto n = static_cast<std::uint32_t>(one.length());
      const auto k = top_k < 1 || top_k > one.length() ? n : static_cast<std::uint32_t>(top_k);
      const auto weights = sampling_weights::of(unordered(static_cast<std::uint32_t>(best >> 32)), temperature, n);
      sampling_search<keys> search(weights, n, k, top_p,
                                   random_bits(seed, draw, static_cast<std::uint64_t>(one.lines.number)));
      sampling_question q;
      while (search.ask(q)) {
        search.answer(one.reduce_within(
            q.begin, q.end, std::uint64_t{0},
            [=](std::uint64_t a, float v, index_t c) {
              return a + q.of(keys::of(v), v, static_cast<std::uint32_t>(c), weights);
            },
            sum_of{}));
      }
      chosen = search.result();
    }
    one.once([&] {
      *one.lines.out = static_cast<std::int32_t>(chosen);
      if (flag != nullptr && !sound) *flag = 1;
    });
  }
};

}  // namespace kiln::rows
