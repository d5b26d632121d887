#pragma once
/// What every public call returns: a code and a sentence that names the argument, the value seen and the value needed.
#include <kiln/version.hpp>

#include <kiln/core/sentence.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace kiln {

enum class errc {
  ok,
  bad_shape,            ///< extents of two operands disagree, or an extent is negative
  bad_stride,           ///< a stride overlaps rows or is not what a pinned configuration needs
  bad_alignment,        ///< an address or a stride is not a multiple of what a pinned configuration needs
  null_pointer,         ///< a view with elements has no data
  overlap,              ///< an output shares memory with something it may not share with
  bad_option,           ///< an option outside its range
  unsupported,          ///< this build or this GPU cannot run the configuration asked for
  workspace_too_small,  ///< the executor's workspace has fewer bytes than the problem needs
  not_finite,           ///< a result that must be finite is not
  protocol,             ///< a watched host run saw a race, a missing fence, or roles that wait for each other
  cuda_error,           ///< the CUDA runtime or driver refused; the text carries its name
};

constexpr std::string_view name_of(errc code) {
  switch (code) {
    case errc::ok: return "ok";
    case errc::bad_shape: return "bad shape";
    case errc::bad_stride: return "bad stride";
    case errc::bad_alignment: return "bad alignment";
    case errc::null_pointer: return "null pointer";
    case errc::overlap: return "overlap";
    case errc::bad_option: return "bad option";
    case errc::unsupported: return "unsupported";
    case errc::workspace_too_small: return "workspace too small";
    case errc::not_finite: return "not finite";
    case errc::protocol: return "protocol";
    case errc::cuda_error: return "cuda error";
  }
  return "unknown";
}

class [[nodiscard]] status {
 public:
  status() = default;
  status(errc code, std::string text) : code_(code), text_(std::move(text)) {}
  status(const status&) = default;
  status(status&&) = default;
  // nvcc takes the reference that an assignment returns for a status thrown away, so assignments return nothing.
  void operator=(const status& s) { code_ = s.code_, text_ = s.text_; }
  void operator=(status&& s) noexcept { code_ = s.code_, text_ = std::move(s.text_); }

  bool ok() const { return code_ == errc::ok; }
  explicit operator bool() const { return ok(); }
  errc code() const { return code_; }
  /// "bad shape: operand `b` has 48 rows, needs 64 (the columns of `a`)"; empty when ok.
  const std::string& message() const { return text_; }

  /// For those who want exceptions.
  template <class Any = void>
  void or_throw() const {
#if defined(__cpp_exceptions)
    if (!ok()) throw std::runtime_error(text_);
#else
    static_assert(sizeof(Any*) == 0, "or_throw needs exceptions: compile with -fexceptions, or look at ok()");
#endif
  }

 private:
  errc code_ = errc::ok;
  std::string text_;
};

namespace detail {
/// Failures are rare and many: inlined, they would be most of a call's code.
[[gnu::cold, gnu::noinline]] inline status failure(errc code, sentence parts) {
  return {code, say({name_of(code), ": "}) + say(parts)};
}
}  // namespace detail

/// Makes a failure: `fail(errc::bad_shape, "operand `b` has ", n, " rows, needs ", k)`. By value, so that literals are
/// one type whatever their length, and a unit compiles a handful of these instead of one a sentence.
template <class... Parts>
[[gnu::cold, gnu::noinline]] status fail(errc code, Parts... parts) {
  return detail::failure(code, {detail::sentence_part(parts)...});
}

/// A failure as one of this call: "bad shape: softmax: operand `out`: ...".
inline status in_call(std::string_view call, const status& s) {
  if (s.ok()) return s;
  std::string text = s.message();
  text.insert(name_of(s.code()).size() + 2, std::string(call) + ": ");
  return {s.code(), std::move(text)};
}

}  // namespace kiln

/// Returns the status of `expression` from the enclosing function unless it is ok.
#define KILN_TRY(expression)                                        \
  do {                                                              \
    if (::kiln::status kiln_s = (expression); !kiln_s) return kiln_s; \
  } while (0)
