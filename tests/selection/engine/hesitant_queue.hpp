// SPDX-License-Identifier: Apache-2.0
// A queue whose blocks learn late what other blocks have published. CPU executors run blocks nearly
// one after the other: without this queue no block would read a word twice, or look further back
// than its neighbour.
//
// The queue knows the words of look_back.hpp. It drops most of the ends that blocks publish, so
// that other blocks read only the lengths of these tiles; and now and then a block reads nothing
// although a word is there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"
#include "selection/packing/look_back.hpp"

namespace l3::test {

/// Counts how often blocks published and read.
struct hesitation {
  static constexpr std::uint32_t ends_heard =
      60; ///< keeps one end in so many: less than the window
  static constexpr std::uint32_t glances_in_vain =
      199; ///< one read in so many finds nothing: more than the window

  std::atomic<std::uint32_t> ends = 0;
  std::atomic<std::uint32_t> glances = 0;
};
static_assert(hesitation::ends_heard < look_back::window &&
              hesitation::glances_in_vain > look_back::window);

template <class Inner>
class hesitant_block {
public:
  hesitant_block(const Inner& inner, hesitation& h) : inner_(inner), hesitation_(&h) {}

  [[nodiscard]] std::uint32_t index() const { return inner_.index(); }
  [[nodiscard]] std::uint32_t threads() const { return inner_.threads(); }
  [[nodiscard]] std::uint32_t lane() const { return inner_.lane(); }
  void sync() const { inner_.sync(); }

  template <class F>
  void for_each(std::uint32_t n, F&& f) const {
    l3::for_each(inner_, n, f);
  }
  template <class F>
  void for_each(std::uint32_t n, std::uint32_t m, F&& f) const {
    l3::for_each(inner_, n, m, f);
  }

  friend void publish(const hesitant_block& b, std::uint64_t* at, std::uint64_t value) {
    const bool is_end = position_word(value).is_absolute();
    if (is_end && b.hesitation_->ends.fetch_add(1, relaxed) % hesitation::ends_heard != 0) return;
    l3::publish(b.inner_, at, value);
  }
  [[nodiscard]] friend std::uint64_t observe(const hesitant_block& b, std::uint64_t* at) {
    const std::uint32_t glance = b.hesitation_->glances.fetch_add(1, relaxed);
    if (glance % hesitation::glances_in_vain == 0) return position_word().word();
    return l3::observe(b.inner_, at);
  }
  friend void give_way(const hesitant_block& b) { l3::give_way(b.inner_); }

private:
  static constexpr auto relaxed = std::memory_order_relaxed; // must not order other accesses

  Inner inner_;
  hesitation* hesitation_;
};

template <class Kernel>
struct hesitant_kernel {
  static constexpr std::uint32_t width = Kernel::width;
  using shared = typename Kernel::shared;

  template <block B, class... Args>
  void operator()(const B& b, shared& s, const Args&... args) const {
    kernel(hesitant_block<B>(b, *how), s, args...);
  }

  Kernel kernel;
  hesitation* how;
};

template <class Inner>
class hesitant_queue {
public:
  using memory = typename Inner::memory;

  explicit hesitant_queue(Inner inner)
      : inner_(std::move(inner)), hesitation_(std::make_unique<hesitation>()) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    inner_.run(hesitant_kernel<Kernel>{kernel, hesitation_.get()}, blocks, args...);
  }

private:
  Inner inner_;
  std::unique_ptr<hesitation> hesitation_;
};

/// For suites of cases: an executor of tests/gpu/executors/cpu_executors.hpp with such a queue.
template <class Executor>
struct on_hesitant {
  static constexpr bool slow = Executor::slow;
  static auto make() { return hesitant_queue(Executor::make()); }
};

} // namespace l3::test
