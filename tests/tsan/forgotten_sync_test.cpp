// SPDX-License-Identifier: Apache-2.0
// The test leaves out each sync() of each kernel in turn, and ThreadSanitizer must report a race
// every time. So no kernel can lose a sync() unnoticed, and none has a sync() that it does not
// need.
//
// In place of the omitted sync() the lanes still wait for each other, but by means that order
// nothing in the model of ThreadSanitizer. So the kernels compute their usual results, and neither
// the memory they access nor the end of the run depends on chance.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/threaded.hpp"
#include "tests/gpu/decode/decode_cases.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

namespace {
std::atomic<std::uint32_t> reports = 0;
} // namespace

// ThreadSanitizer calls the first function for every report, and reads its options from the second.
extern "C" void __tsan_on_report(void*) { // NOLINT(bugprone-reserved-identifier)
  ++reports;
}
extern "C" const char* __tsan_default_options() { // NOLINT(bugprone-reserved-identifier)
  return "exitcode=0:symbolize=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

namespace l3::test {

// This test uses only the parts of these suites that run a batch.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(both_forms);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(decoder);

namespace {

/// The sync() to leave out: its number, and the number of its kernel. Every block omits it.
struct omission {
  std::uint32_t kernel;
  std::uint32_t sync;
};
constexpr std::uint32_t none = 0xffffffff;

/// Lanes wait here for each other without making their writes visible to each other.
class meeting {
public:
  explicit meeting(std::uint32_t lanes) : lanes_(lanes) {}
  void attend() {
    std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler must keep the order, too
    const std::uint32_t before_me = come_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t all = (before_me / lanes_ + 1) * lanes_;
    while (come_.load(std::memory_order_relaxed) < all) std::this_thread::yield();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

private:
  std::uint32_t lanes_;
  std::atomic<std::uint32_t> come_ = 0;
};

class forgetful_block {
public:
  forgetful_block(const threaded_block& inner, std::uint32_t forgotten, meeting& instead)
      : inner_(inner), forgotten_(forgotten), instead_(&instead) {}

  [[nodiscard]] std::uint32_t index() const { return inner_.index(); }
  [[nodiscard]] std::uint32_t threads() const { return inner_.threads(); }
  [[nodiscard]] std::uint32_t lane() const { return inner_.lane(); }
  void sync() const {
    if (syncs_++ == forgotten_) {
      instead_->attend();
    } else {
      inner_.sync();
    }
  }
  [[nodiscard]] std::uint32_t syncs() const { return syncs_; }

private:
  threaded_block inner_;
  std::uint32_t forgotten_;
  meeting* instead_;
  mutable std::uint32_t syncs_ = 0; // calls of sync() by this lane
};

template <class Kernel>
struct forgetful_kernel {
  using shared = typename Kernel::shared;

  template <block B, class... Args>
  void operator()(const B& b, shared& s, const Args&... args) const {
    const forgetful_block forgetful(b, forgotten, *instead);
    kernel(forgetful, s, args...);
    std::atomic_ref most(*syncs);
    for (std::uint32_t seen = most; seen < forgetful.syncs();)
      if (most.compare_exchange_weak(seen, forgetful.syncs(), std::memory_order_relaxed)) break;
  }

  Kernel kernel;
  std::uint32_t forgotten;
  meeting* instead;
  std::uint32_t* syncs;
};

class forgetful_queue {
public:
  using memory = host_memory;

  explicit forgetful_queue(omission forgotten) : forgotten_(forgotten) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    const bool here = syncs_.size() == forgotten_.kernel;
    meeting instead(width);
    std::uint32_t syncs = 0;
    threaded_queue(width).run(
        forgetful_kernel<Kernel>{kernel, here ? forgotten_.sync : none, &instead, &syncs}, blocks,
        args...);
    syncs_.push_back(syncs);
  }

  /// For each kernel that ran, the greatest number of calls of sync() in one of its blocks.
  [[nodiscard]] const std::vector<std::uint32_t>& syncs() const { return syncs_; }

private:
  static constexpr std::uint32_t width = 3; // divides no loop, so lanes read each other's items

  omission forgotten_;
  std::vector<std::uint32_t> syncs_;
};

/// Runs `run`, which enqueues kernels on the queue it gets, once for every sync() of them.
template <class Run>
void expect_that_each_is_missed(Run&& run) {
  const std::uint32_t at_first = reports;
  forgetful_queue whole({none, none});
  run(whole);
  ASSERT_EQ(reports, at_first) << "with every sync()";
  ASSERT_GT(*std::max_element(whole.syncs().begin(), whole.syncs().end()), 0U);
  for (std::uint32_t kernel = 0; kernel < whole.syncs().size(); ++kernel) {
    for (std::uint32_t sync = 0; sync < whole.syncs()[kernel]; ++sync) {
      const std::uint32_t before = reports;
      forgetful_queue forgetful({kernel, sync});
      run(forgetful);
      EXPECT_GT(reports, before) << "kernel " << kernel << ", sync() " << sync;
    }
  }
}

/// One fragment with a 125 MHz board and one with two 500 MHz boards, one of which has a header
/// that packing must store.
std::vector<made_event> event_of_all_sorts() {
  randomness r(6);
  std::vector<made_board> plain;
  std::vector<made_board> others;
  plain.push_back(make_board(board_kind::sampling_125_mhz, 3, 1, 0, 0, make_records(r)));
  others.push_back(make_board(board_kind::sampling_500_mhz, 3, 1, 0, 0, make_records(r)));
  others.push_back(make_board(board_kind::sampling_500_mhz, 4, 1, 0, 0, make_records(r)));
  others[0].packet[1] ^= std::byte{1};
  made_event e;
  e.spill = 1;
  e.fragments.push_back(make_fragment(0, 0, std::move(plain)));
  e.fragments.push_back(make_fragment(1, 0, std::move(others)));
  return {e};
}

template <class Plan>
void pack() {
  const auto events = event_of_all_sorts();
  const std::size_t room = expect_event(events[0]).size();
  expect_that_each_is_missed([&](forgetful_queue& queue) {
    randomness r(7);
    const lent_batch batch(queue, events, 0, r);
    const packed_batch<Plan> packed(queue, batch, room);
  });
}

TEST(forgotten_sync, of_packing_in_two_passes_is_seen) { pack<two_pass_plan<keep_all>>(); }

TEST(forgotten_sync, of_packing_in_one_pass_is_seen) { pack<one_pass_plan>(); }

TEST(forgotten_sync, of_decoding_is_seen) {
  const auto events = event_of_all_sorts();
  constexpr std::uint32_t threshold = 20;
  for (const unsigned techniques : {0U, all_techniques - 1}) {
    expect_that_each_is_missed([&](forgetful_queue& queue) {
      randomness r(8);
      const lent_batch batch(queue, events, 0, r);
      const decoded_on_host decoded(queue, batch, techniques_of(techniques), threshold, 2);
    });
  }
}

} // namespace
} // namespace l3::test
