// SPDX-License-Identifier: Apache-2.0
// Packing in one pass and its look-back, on every executor of the CPU.
#include "tests/selection/packing/look_back_cases.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

namespace l3::test {

// A queue whose blocks learn late what other blocks have published. CPU executors run blocks nearly
// one after the other: without this queue no block would read a word twice, or look further back
// than its neighbour.
//
// The queue knows the words of look_back.hpp. It drops most of the ends that blocks publish, so
// that other blocks read only the lengths of these tiles; and now and then a block reads nothing
// although a word is there.

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

namespace {

using on_cpu = testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<3>,
                              on_pool<1>, on_pool<3>, on_pool<9>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, both_forms, on_cpu);

using all = testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<3>,
                           on_pool<1>, on_pool<3>, on_pool<9>, on_hesitant<on_serial<1>>,
                           on_hesitant<on_serial<128>>, on_hesitant<on_shuffled<32>>,
                           on_hesitant<on_threaded<3>>, on_hesitant<on_pool<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, looking_back, all);

TEST(position_word, says_where_a_fragment_ends) {
  const auto first = position_word::after_previous(10, true);
  const auto second = position_word::after_previous(10, false);
  const auto there = position_word::at(10);
  EXPECT_FALSE(position_word().is_absolute() || position_word().is_relative());
  EXPECT_TRUE(first.is_relative() && second.is_relative() && !there.is_relative());
  EXPECT_TRUE(!first.is_absolute() && !second.is_absolute() && there.is_absolute());
  for (const std::uint64_t before : {0U, 1U, 7U, 8U}) {
    EXPECT_EQ(first.end(before), (before == 0 ? 0 : 8) + 10U);
    EXPECT_EQ(second.end(before), before + 10);
    EXPECT_EQ(there.end(before), 10U);
  }
  EXPECT_TRUE(position_word::at(0).is_absolute());
  EXPECT_TRUE(position_word::after_previous(0, false).is_relative());
  constexpr std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_EQ(position_word::after_previous(large, true).end(large + 1), 2 * large + 8);
}

TEST(position_step, is_the_same_however_steps_are_put_together) {
  randomness r(10);
  for (int again = 0; again < 500; ++again) {
    const std::uint32_t n = 1 + below(r, 30);
    const auto lengths = make_lengths(n, below(r, 5), r);
    std::vector<position_step> steps;
    for (const std::uint64_t word : lengths) steps.emplace_back(position_word(word));
    while (steps.size() > 1) {
      const std::uint32_t k = below(r, static_cast<std::uint32_t>(steps.size() - 1));
      steps[k] = position_step().then(steps[k]).then(steps[k + 1]).then(position_step());
      steps.erase(steps.begin() + k + 1);
    }
    const std::uint64_t from = below(r, 100);
    std::uint64_t end = from;
    for (const std::uint64_t word : lengths) end = position_word(word).end(end);
    ASSERT_EQ(steps[0].end(from), end);
  }
  EXPECT_EQ(position_step(position_word::at(77)).end(0), 77U);
}

} // namespace
} // namespace l3::test
