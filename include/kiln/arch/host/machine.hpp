#pragma once
/// The host's model of one cluster of blocks: shared memories, barriers, and the engines that copy and multiply on
/// their own.
///
/// Who runs when is the driver's part (driver.hpp). A wgmma is done at its wait, with what its warpgroup knew at the
/// issue; until then its accumulators hold NaN.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <kiln/arch/host/copies.hpp>
#include <utility>
#include <vector>

namespace kiln::twin {

class machine final : public copies {
 public:
  machine(cluster_shape shape, order steps, bool checked, turns& driver)
      : copies(shape, steps, checked, driver), warpgroups_(at(shape.ctas * groups())) {}

  /// What a role left undone; called in its last turn.
  void end_of_role(int cta, int first, int threads) {
    for (int t = first; t < first + threads; ++t) drain(cta, t);
    for (int g = (first + 127) / 128; g * 128 < first + threads; ++g) {
      warpgroup& w = warpgroups_[at(cta * groups() + g)];
      if (w.products.empty()) continue;
      fault_here({"ended with a wgmma that it did not wait for, needs wgmma_wait<0>"});
      w.products.clear();
    }
    settle_cluster();
  }
  void end_of_run() {
    check_loads_at_end();
    check_bytes_at_end();
  }

  void product(const product_op& op) override {
    warpgroup& w = group_of(op.first);
    if (!w.fenced) stop_for({"starts a wgmma with no wgmma_fence after its registers were last free to be written"});
    pending_product p{op, open_group, {}};
    if (checked()) {
      p.with = common_knowledge(op.first);
      for (int t = op.first; t < op.first + 128; ++t) watch_->step(actor(cta(), t));
    }
    bool held = false;
    for (const auto& h : w.held) held = held || h.d == op.d;
    if (!held) {
      const auto* d = static_cast<const std::byte*>(op.d);
      w.held.push_back({op.d, std::vector<std::byte>(d, d + op.d_bytes)});
      std::memset(op.d, 0xff, op.d_bytes);
    }
    w.products.push_back(std::move(p));
    driver_.pause();
  }
  void product_fence(int first) override { group_of(first).fenced = true; }
  void product_commit(int first) override {
    warpgroup& w = group_of(first);
    ++w.groups;
    for (auto& p : w.products) p.group = p.group == open_group ? w.groups : p.group;
    driver_.pause();
  }
  void product_wait(int first, int pending) override {
    warpgroup& w = group_of(first);
    std::size_t done = 0;
    for (; done < w.products.size(); ++done) {
      const pending_product& p = w.products[done];
      if (p.group == open_group || p.group > w.groups - pending) break;
      running_ = &p;
      for (auto& h : w.held) {
        if (h.d == p.op.d) p.op.perform(p.op, h.value.data(), *this);
      }
    }
    running_ = nullptr;
    w.products.erase(w.products.begin(), w.products.begin() + static_cast<std::ptrdiff_t>(done));
    std::erase_if(w.held, [&](const held_registers& h) {
      for (const auto& p : w.products) {
        if (p.op.d == h.d) return false;
      }
      std::memcpy(h.d, h.value.data(), h.value.size());
      return true;
    });
    if (w.products.empty()) w.fenced = false;
    if (checked()) {
      learn(first, 128, watch_->of(engine(cta(), first)));
      watch_->step(engine(cta(), first));
    }
    driver_.pause();
  }
  const std::byte* product_read(std::uint32_t address) override {
    if (address + 16 > shape_.shared_bytes) {
      stop_for({"reads shared byte ", address, " by a wgmma descriptor, the block has ", shape_.shared_bytes});
    }
    if (checked()) {
      const int reader = engine(cta(), running_->op.first);
      check_copies(cta(), address, 16, reader, false);
      watch_->read(cta(), address, 16, reader, running_->with, proxy::async);
    }
    return shared(cta()) + address;
  }

 private:
  static constexpr int open_group = -1;
  struct pending_product {
    product_op op;
    int group;
    knowledge with;
  };
  struct held_registers {
    void* d;
    std::vector<std::byte> value;
  };
  struct warpgroup {
    std::vector<pending_product> products;
    std::vector<held_registers> held;
    int groups = 0;
    bool fenced = false;
  };

  warpgroup& group_of(int first) { return warpgroups_[at(cta() * groups() + first / 128)]; }

  /// What all four warps of a warpgroup know.
  knowledge common_knowledge(int first) {
    knowledge k = watch_->of(actor(cta(), first));
    const auto least = [](auto& into, const auto& other) {
      if (into.size() > other.size()) into.resize(other.size());
      for (std::size_t i = 0; i < into.size(); ++i) into[i] = other[i] < into[i] ? other[i] : into[i];
    };
    for (int t = first + 32; t < first + 128; t += 32) {
      least(k.seen, watch_->of(actor(cta(), t)).seen);
      least(k.fenced, watch_->of(actor(cta(), t)).fenced);
    }
    return k;
  }

  std::vector<warpgroup> warpgroups_;
  const pending_product* running_ = nullptr;
};

}  // namespace kiln::twin
