// SPDX-License-Identifier: Apache-2.0
// Each sync() of each kernel is left out in turn, and every time ThreadSanitizer must see it. So it
// is known that no kernel can lose one unnoticed, and that none of them stands there for nothing.
//
// A sync() that is left out still lets no lane go ahead of the others, but by means that order
// nothing in the eyes of ThreadSanitizer. So the kernels compute what they always do, and neither
// the memory they reach nor the end of the run is left to chance.
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

// What ThreadSanitizer calls, and what it asks, by these names.
extern "C" void __tsan_on_report(void*) { // NOLINT(bugprone-reserved-identifier)
  ++reports;
}
extern "C" const char* __tsan_default_options() { // NOLINT(bugprone-reserved-identifier)
  return "exitcode=0:symbolize=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

namespace l3::test {

// Of these only what runs a batch is used here.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(both_forms);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(decoder);

namespace {

/// Which sync() is left out: the one of this number, in each block of the kernel of this number.
struct omission {
  std::uint32_t kernel;
  std::uint32_t sync;
};
constexpr std::uint32_t none = 0xffffffff;

/// Lets nobody by before all are here, and makes nothing visible to anybody.
class meeting {
public:
  explicit meeting(std::uint32_t lanes) : lanes_(lanes) {}
  void attend() {
    std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler is to keep the order, too
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
  mutable std::uint32_t syncs_ = 0; // that this lane came to
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

  /// Of each kernel that ran: the most that one of its blocks came to.
  [[nodiscard]] const std::vector<std::uint32_t>& syncs() const { return syncs_; }

private:
  static constexpr std::uint32_t width = 3; // divides nothing: no lane meets only its own items

  omission forgotten_;
  std::vector<std::uint32_t> syncs_;
};

/// `run` takes a queue and runs kernels on it.
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

/// A fragment of each kind of boards, one with two, and one header that is stored.
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
