#pragma once
/// The GLM forward in float64, written from the equations over whole sequences: no cache, no fusion, no tiles.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "examples/glm/config.hpp"
#include "examples/glm/safetensors.hpp"
#include "tests/glm/golden.hpp"

namespace glm_test {

using doubles = std::vector<double>;
using named_weights = std::map<std::string, doubles>;

/// The values of BF16 or F32 tensors.
inline named_weights widened(const std::vector<glm::tensor_to_write>& tensors) {
  named_weights weights;
  for (const auto& t : tensors) {
    doubles& values = weights[t.name];
    const std::size_t size = t.type == "F32" ? 4 : 2;
    for (std::size_t i = 0; i < t.bytes.size(); i += size) {
      std::uint32_t bits = 0;
      std::memcpy(reinterpret_cast<char*>(&bits) + 4 - size, t.bytes.data() + i, size);
      values.push_back(std::bit_cast<float>(bits));
    }
  }
  return weights;
}

/// What one sequence gives: logits [length, vocabulary], and the residual stream behind the embedding and each layer.
struct reference_result {
  doubles logits;
  std::vector<doubles> hidden;  ///< [layers + 1][length * hidden]
  doubles final_norm;
};

class reference {
 public:
  reference(const glm::config& config, named_weights weights) : c(config), w(std::move(weights)) {}

  reference_result run(const sequence& ids) const {
    const std::size_t rows = ids.size(), hidden = size(c.hidden);
    const doubles& embedding = w.at("model.embed_tokens.weight");
    doubles x;
    for (const auto id : ids) {
      const auto row = embedding.begin() + static_cast<std::ptrdiff_t>(size(id) * hidden);
      x.insert(x.end(), row, row + static_cast<std::ptrdiff_t>(hidden));
    }
    reference_result result;
    result.hidden.push_back(x);
    for (std::int64_t n = 0; n < c.layers; ++n) {
      const std::string layer = "model.layers." + std::to_string(n) + ".";
      add(x, attention(norm(x, layer + "input_layernorm"), layer + "self_attn.", rows),
          layer + "post_self_attn_layernorm");
      add(x, mlp(norm(x, layer + "post_attention_layernorm"), layer + "mlp.", rows), layer + "post_mlp_layernorm");
      result.hidden.push_back(x);
    }
    result.final_norm = norm(x, "model.norm");
    result.logits =
        linear(result.final_norm, rows, c.tied_head ? "model.embed_tokens" : "lm_head", c.vocabulary, c.hidden);
    return result;
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  doubles norm(const doubles& x, const std::string& name) const {
    const doubles& weight = w.at(name + ".weight");
    const std::size_t hidden = weight.size();
    doubles y(x.size());
    for (std::size_t row = 0; row < x.size(); row += hidden) {
      double sum = 0;
      for (std::size_t i = 0; i < hidden; ++i) sum += x[row + i] * x[row + i];
      const double scale = 1 / std::sqrt(sum / double(hidden) + c.eps);
      for (std::size_t i = 0; i < hidden; ++i) y[row + i] = x[row + i] * scale * weight[i];
    }
    return y;
  }

  /// Adds a sublayer's output to the residual stream; glm4 norms it first.
  void add(doubles& x, doubles out, const std::string& post_norm) const {
    if (c.sandwich()) out = norm(out, post_norm);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += out[i];
  }

  doubles linear(const doubles& x, std::size_t rows, const std::string& name, std::int64_t out, std::int64_t in) const {
    const doubles& weight = w.at(name + ".weight");
    const auto bias = w.find(name + ".bias");
    doubles y(rows * size(out));
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t o = 0; o < size(out); ++o) {
        double sum = bias == w.end() ? 0 : bias->second[o];
        for (std::size_t i = 0; i < size(in); ++i) sum += x[r * size(in) + i] * weight[o * size(in) + i];
        y[r * size(out) + o] = sum;
      }
    }
    return y;
  }

  /// Neighbouring channels (2j, 2j + 1) of the first rotary_dim turn by position * theta^(-2j / rotary_dim).
  void rotate(doubles& x, std::size_t rows, std::int64_t heads) const {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t head = 0; head < size(heads); ++head) {
        double* v = x.data() + (row * size(heads) + head) * size(c.head_dim);
        for (std::int64_t j = 0; j < c.rotary_dim; j += 2) {
          const double angle = double(row) * std::pow(c.rope_theta, -double(j) / double(c.rotary_dim));
          const double a = v[j], b = v[j + 1];
          v[j] = a * std::cos(angle) - b * std::sin(angle);
          v[j + 1] = b * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
  }

  doubles attention(const doubles& n, const std::string& name, std::size_t rows) const {
    doubles q = linear(n, rows, name + "q_proj", c.q_width(), c.hidden);
    doubles k = linear(n, rows, name + "k_proj", c.kv_width(), c.hidden);
    const doubles v = linear(n, rows, name + "v_proj", c.kv_width(), c.hidden);
    rotate(q, rows, c.heads);
    rotate(k, rows, c.kv_heads);
    const std::size_t dim = size(c.head_dim), width = size(c.q_width()), kv_width = size(c.kv_width());
    doubles context(rows * width);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t head = 0; head < size(c.heads); ++head) {
        const std::size_t kv = head / size(c.heads / c.kv_heads) * dim;
        const double* query = q.data() + row * width + head * dim;
        doubles p(row + 1);
        double largest = -INFINITY, sum = 0;
        for (std::size_t key = 0; key <= row; ++key) {
          double score = 0;
          for (std::size_t d = 0; d < dim; ++d) score += query[d] * k[key * kv_width + kv + d];
          p[key] = score / std::sqrt(double(dim));
          largest = std::max(largest, p[key]);
        }
        for (double& e : p) sum += e = std::exp(e - largest);
        for (std::size_t key = 0; key <= row; ++key) {
          for (std::size_t d = 0; d < dim; ++d)
            context[row * width + head * dim + d] += p[key] / sum * v[key * kv_width + kv + d];
        }
      }
    }
    return linear(context, rows, name + "o_proj", c.hidden, c.q_width());
  }

  doubles mlp(const doubles& n, const std::string& name, std::size_t rows) const {
    const doubles both = linear(n, rows, name + "gate_up_proj", 2 * c.intermediate, c.hidden);
    const std::size_t width = size(c.intermediate);
    doubles act(rows * width);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        const double gate = both[row * 2 * width + i], up = both[row * 2 * width + width + i];
        act[row * width + i] = up * gate / (1 + std::exp(-gate));
      }
    }
    return linear(act, rows, name + "down_proj", c.hidden, c.intermediate);
  }

  glm::config c;
  named_weights w;
};

}  // namespace glm_test
