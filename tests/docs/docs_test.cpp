// What README.md and docs/ quote is what is compiled here or in examples/, and does what they say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#define main quickstart
#include "tests/docs/quickstart.cpp"
#undef main

#include "tests/docs/snippets.hpp"
#include "tests/support/fill.hpp"

namespace {

namespace fs = std::filesystem;
const fs::path root = fs::path(KILN_TEST_DATA).parent_path().parent_path();

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file << " cannot be read";
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

struct block {
  std::string language, text, where;
};

/// The fenced blocks of a page.
std::vector<block> blocks_of(const fs::path& page) {
  std::vector<block> blocks;
  std::istringstream in(text_of(page));
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), "", page.filename().string() + ":" + std::to_string(number)});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  EXPECT_FALSE(inside) << page << " ends inside a block";
  return blocks;
}

std::vector<fs::path> files_in(const fs::path& folder, std::initializer_list<const char*> extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    for (const char* e : extensions)
      if (entry.path().extension() == e) files.push_back(entry.path());
  return files;
}

std::vector<fs::path> pages() {
  auto all = files_in(root / "docs", {".md"});
  all.push_back(root / "README.md");
  return all;
}

/// The text with each line that is not empty moved right.
std::string moved_right(const std::string& text, int columns) {
  std::istringstream in(text);
  std::string moved;
  for (std::string line; std::getline(in, line);)
    moved += (line.empty() ? "" : std::string(static_cast<std::size_t>(columns), ' ')) + line + "\n";
  return moved;
}

TEST(docs, quickstart_of_the_readme_is_the_program_that_is_compiled_here) {
  const auto blocks = blocks_of(root / "README.md");
  const std::string program = text_of(root / "tests/docs/quickstart.cpp");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].text != program) continue;
    ASSERT_LT(i + 1, blocks.size());
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(quickstart(), 0);
    std::fflush(stdout);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), blocks[i + 1].text)
        << "the block behind it says what it prints";
    return;
  }
  FAIL() << "README.md has no block equal to tests/docs/quickstart.cpp";
}

// Each block of C++ stands in a file that is compiled, to the byte but for its indentation as a whole.
TEST(docs, quoted_code_is_compiled) {
  std::string compiled;
  for (const char* folder : {"tests/docs", "examples", "tests/compile_fail"})
    for (const auto& file : files_in(root / folder, {".hpp", ".cpp", ".cu"})) compiled += text_of(file) + '\0';
  int quoted = 0;
  for (const auto& page : pages()) {
    for (const auto& b : blocks_of(page)) {
      if (b.language != "cpp") continue;
      ++quoted;
      bool found = false;
      for (const int columns : {0, 2, 4, 6})
        found = found || compiled.find(moved_right(b.text, columns)) != std::string::npos;
      EXPECT_TRUE(found) << b.where << ": this block stands in no compiled file:\n" << b.text;
    }
  }
  EXPECT_GE(quoted, 2);
}

TEST(docs, files_that_pages_name_exist) {
  for (const auto& page : pages()) {
    const std::string text = text_of(page);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      target = target.substr(0, target.find('#'));
      if (target.empty() || target.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / target)) << page.filename() << " links to " << target;
    }
  }
}

TEST(docs, status_in_the_readme_is_what_a_wrong_call_returns) {
  using namespace kiln;
  std::vector<float> a(100 * 64), b(48 * 72), d(100 * 72);
  const status s =
      gemm(host, host_view(a.data(), 100, 64), host_view(b.data(), 48, 72), store(host_view(d.data(), 100, 72), acc));
  EXPECT_NE(text_of(root / "README.md").find("\n" + s.message() + "\n"), std::string::npos) << s.message();
}

// tests/compile_fail holds the program; the sentence itself is checked there, when it is compiled.
TEST(docs, compile_error_in_the_readme_is_the_librarys) {
  const std::string sentence =
      "an activation needs a float: this expression's value is int32; scale it by a float, or write as_float(acc)";
  EXPECT_NE(text_of(root / "README.md").find(sentence), std::string::npos);
  EXPECT_NE(text_of(root / "include/kiln/epilogue/sink.hpp").find(sentence), std::string::npos);
}

// A missing barrier in examples/05_tile_program.cu is reported in these words.
TEST(docs, report_of_a_missing_barrier_is_the_librarys) {
  EXPECT_NE(text_of(root / "README.md").find("which thread 64 wrote with no barrier between"), std::string::npos);
  EXPECT_NE(text_of(root / "include/kiln/arch/host/shadow.hpp").find(" wrote with no barrier between"),
            std::string::npos);
}

constexpr int m = 33, n = 40, k = 24;
std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Small integers, so that sums are exact.
struct problem {
  std::vector<kiln::bf16> a = kiln::test::small_integers<kiln::bf16>(at(m * k), 1),
                          b = kiln::test::small_integers<kiln::bf16>(at(k * n), 2);
  std::vector<float> d = std::vector<float>(at(m * n));
  auto left() const { return kiln::host_view(a.data(), m, k); }
  auto right() const { return kiln::host_view(b.data(), k, n); }
  auto out() { return kiln::host_view(d.data(), m, n); }
  float product(int i, int j) const {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += float{a[at(i * k + l)]} * float{b[at(l * n + j)]};
    return sum;
  }
  /// `expected` to the bit, or within `relative` of it and `absolute`.
  template <class Expected>
  void expect(const kiln::status& s, Expected expected, double relative = 0, double absolute = 0) const {
    EXPECT_TRUE(s.ok()) << s.message();
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        const double value = static_cast<double>(expected(i, j));
        EXPECT_LE(std::abs(static_cast<double>(d[at(i * n + j)]) - value), relative * std::abs(value) + absolute)
            << i << ", " << j;
      }
    }
  }
};

TEST(docs, fused_epilogue_snippet) {
  problem p;
  const auto bias = kiln::test::small_integers<float>(at(n), 3),
             residual = kiln::test::small_integers<float>(at(m * n), 4);
  const auto s = snippets::fused(kiln::host, p.left(), p.right(), kiln::host_view(bias.data(), n),
                                 kiln::host_view(residual.data(), m, n), p.out());
  // gelu of an argument x is right to 6e-6 + 1e-7 x^2 wherever it is not almost 0 (activations.hpp); the residual is
  // added to it in float32, where it may cancel all but the rounding of the two.
  ASSERT_TRUE(s.ok()) << s.message();
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      const double x = double{p.product(i, j)} + double{bias[at(j)]}, g = 0.5 * x * std::erfc(-x / std::sqrt(2.0)),
                   r = double{residual[at(i * n + j)]};
      EXPECT_LE(std::abs(double{p.d[at(i * n + j)]} - (g + r)),
                std::abs(g) * (6e-6 + 1e-7 * x * x) + (std::abs(g + r) * 0x1p-24) + 1e-14)
          << i << ", " << j;
    }
  }
}

TEST(docs, swiglu_snippet) {
  problem p, up;
  up.b = kiln::test::small_integers<kiln::bf16>(at(k * n), 5);
  const auto s = snippets::swiglu(kiln::host, p.left(), p.right(), up.right(), p.out());
  // silu of x is right to 6e-7 + 8e-8 |x|, or 1e-36 if it is almost 0; here |x| and the other factor are at most 16 k;
  // the product rounds once.
  p.expect(
      s,
      [&](int i, int j) {
        const double x = double{p.product(i, j)};
        return x / (1 + std::exp(-x)) * double{up.product(i, j)};
      },
      6e-7 + 8e-8 * 16 * k + 0x1p-24, 1e-36 * 16 * k);
}

TEST(docs, scaled_int8_snippet) {
  problem p;
  const auto qa = kiln::test::small_integers<std::int8_t>(at(m * k), 6),
             qw = kiln::test::small_integers<std::int8_t>(at(k * n), 7);
  std::vector<float> row(at(m)), column(at(n));
  for (int i = 0; i < m; ++i) row[at(i)] = static_cast<float>(i % 5 + 1) / 4;
  for (int j = 0; j < n; ++j) column[at(j)] = static_cast<float>(j % 7 + 1) / 8;
  const auto s = snippets::scaled(kiln::host, kiln::host_view(qa.data(), m, k), kiln::host_view(qw.data(), k, n),
                                  kiln::host_view(row.data(), m), kiln::host_view(column.data(), n), p.out());
  p.expect(s, [&](int i, int j) {
    int sum = 0;
    for (int l = 0; l < k; ++l) sum += qa[at(i * k + l)] * qw[at(l * n + j)];
    return static_cast<float>(sum) * row[at(i)] * column[at(j)];
  });
}

TEST(docs, axpby_snippet) {
  problem p;
  const auto c = kiln::test::small_integers<float>(at(m * n), 8);
  const auto s = snippets::blas(kiln::host, p.left(), p.right(), kiln::host_view(c.data(), m, n), 2.0f, -0.5f, p.out());
  p.expect(s, [&](int i, int j) { return 2 * p.product(i, j) - 0.5f * c[at(i * n + j)]; });
}

TEST(docs, plan_and_pinned_configuration_snippets) {
  problem p;
  const auto exact = [&](int i, int j) { return p.product(i, j); };
  p.expect(snippets::planned(kiln::host, p.left(), p.right(), p.out()), exact);
  p.d.assign(p.d.size(), -1);
  p.expect(snippets::pinned(kiln::host, p.left(), p.right(), p.out()), exact);
  p.d.assign(p.d.size(), -1);
  p.expect(snippets::watched(p.left(), p.right(), p.out()), exact);
}

}  // namespace
