// SPDX-License-Identifier: Apache-2.0
// The cases of the decoder, which must give the same output on every executor and with every set of
// techniques. A program that includes this header names the executors it tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/decode/run.hpp"
#include "tests/gpu/decode/decode_memory.hpp"
#include "tests/gpu/decode/decode_textbook.hpp"
#include "tests/gpu/executors/on_executor.hpp"

namespace l3::test {

inline constexpr int poison = 0xa5;

/// Calls f with a type for each of the values, so that the values can be template arguments.
template <class F>
void with_constants(F&& f) {
  f();
}
template <class F, class... Rest>
void with_constants(F&& f, bool first, Rest... rest) {
  const auto bind = [&](auto value) {
    with_constants([&](auto... others) { f(value, others...); }, rest...);
  };
  if (first) {
    bind(std::true_type{});
  } else {
    bind(std::false_type{});
  }
}

/// The decoder's results, back on the host, with the hits of each event in rising order.
class decoded_on_host {
public:
  template <class Queue>
  decoded_on_host(Queue& queue, const lent_batch<Queue>& batch, const decode_techniques& how,
                  std::uint32_t threshold, std::uint32_t at_once) {
    const auto take = [&](region from) {
      batch_ = decoded_batch::take(from, batch.host().events.size(), batch.host().boards.size());
      return from.used();
    };
    lent_memory<Queue> memory(queue, take(region()));
    memory_.assign(memory.bytes().size(), static_cast<std::byte>(poison));
    memory.write(memory_.data(), memory_.size());
    const auto list = decode_work(batch.host(), how);
    lent_memory<Queue> work(queue, list.size() * sizeof list[0]);
    work.write(list.data(), list.size() * sizeof list[0]);
    const column<const std::uint32_t> work_there(
        reinterpret_cast<const std::uint32_t*>(work.bytes().data()),
        static_cast<std::uint32_t>(list.size()));

    take(region(memory.bytes()));
    with_constants( // the other two techniques act on `list` only
        [&](auto table, auto aggregation, auto shorts, auto opportunistic) {
          constexpr decode_techniques kernel{table.value, true,         aggregation.value,
                                             true,        shorts.value, opportunistic.value};
          run_decoder<kernel>(queue, batch.there(), work_there, threshold, batch_, at_once);
        },
        how.table_by_source, how.warp_aggregation, how.short_registers, how.opportunistic);
    memory.read(memory_.data());
    take(region(buffer(memory_.data(), memory_.size(), [](std::byte*, std::size_t) {})));
    for (std::uint32_t e = 0; e < batch.host().events.size(); ++e) {
      std::uint32_t* const hits = first_hit(batch.host().events[e]);
      std::sort(hits, hits + std::min(batch_.hit_counts[e], room(batch.host().events[e])));
    }
    batch_.cursor[0] = 0; // where the work ended depends on the techniques
  }

  void expect(const std::vector<made_event>& events, const batch_view& host,
              std::uint32_t threshold) const {
    std::uint32_t board = 0;
    for (std::uint32_t e = 0; e < events.size(); ++e) {
      std::vector<std::uint32_t> hits;
      for (const made_fragment& f : events[e].fragments) {
        for (const made_board& b : f.boards) {
          expect_board(board, textbook_decode(b), threshold, hits);
          if (testing::Test::HasFatalFailure()) return;
          ++board;
        }
      }
      std::sort(hits.begin(), hits.end());
      ASSERT_EQ(batch_.hit_counts[e], hits.size()) << "event " << e;
      const std::uint32_t* const found = first_hit(host.events[e]);
      ASSERT_TRUE(std::equal(hits.begin(), hits.end(), found)) << "event " << e;
    }
  }

  [[nodiscard]] const bytes& memory() const { return memory_; }
  [[nodiscard]] const decoded_batch& batch() const { return batch_; }

private:
  std::uint32_t* first_hit(const event_entry& e) const {
    return batch_.hits.data() + std::size_t{16} * e.first_board;
  }
  static std::uint32_t room(const event_entry& e) { return 16 * e.boards; }

  void expect_board(std::uint32_t i, const textbook_board& expected, std::uint32_t threshold,
                    std::vector<std::uint32_t>& hits) const {
    const board_state state = expected.samples.empty() ? board_state::not_decoded
                              : expected.sound         ? board_state::sound
                                                       : board_state::damaged;
    ASSERT_EQ(batch_.boards[i], state) << "board " << i;
    constexpr std::uint16_t untouched = poison << 8 | poison;
    for (std::uint32_t s = 0; s < 1024; ++s) {
      const std::uint16_t sample = expected.samples.empty() ? untouched : expected.samples[s];
      ASSERT_EQ(batch_.samples[1024 * i + s], sample) << "board " << i << ", sample " << s;
    }
    for (std::uint32_t r = 0; r < 16; ++r) {
      const std::uint32_t record = 16 * i + r;
      ASSERT_EQ(batch_.minimum[record], expected.sound ? expected.minimum[r] : untouched);
      ASSERT_EQ(batch_.bits[record], expected.sound ? bits_of(expected.range[r]) : poison);
      if (expected.sound && expected.range[r] > threshold) hits.push_back(record);
    }
  }

  bytes memory_;
  decoded_batch batch_;
};

inline decode_techniques techniques_of(unsigned mask) {
  const auto bit = [mask](unsigned i) { return (mask >> i & 1U) != 0; };
  return {bit(0), bit(1), bit(2), bit(3), bit(4), bit(5)};
}
inline constexpr unsigned all_techniques = 64;

template <class Executor>
class decoder : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(decoder);

inline std::vector<made_event> admitted_events(std::uint32_t n, std::uint32_t fragments,
                                               randomness& r) {
  std::vector<made_event> events;
  for (std::uint32_t k = 0; k < n; ++k) events.push_back(make_admitted_event(1 + k, fragments, r));
  return events;
}

TYPED_TEST_P(decoder, gives_what_the_page_says) {
  auto queue = TypeParam::make();
  randomness r(1);
  for (const std::uint32_t piece_bytes : {0U, 8000U, 1400U, 4U}) {
    const auto events = admitted_events(TypeParam::slow ? 1 : 4, 3, r);
    const lent_batch batch(queue, events, piece_bytes, r);
    for (const std::uint32_t threshold : {0U, 100U, 0x3ffeU, 0x3fffU}) {
      const decoded_on_host d(queue, batch, {}, threshold, 7);
      d.expect(events, batch.host(), threshold);
      if (this->HasFatalFailure()) FAIL() << piece_bytes << " " << threshold;
    }
  }
}

TYPED_TEST_P(decoder, gives_the_same_bytes_with_any_techniques) {
  auto queue = TypeParam::make();
  randomness r(2);
  for (int again = 0; again < (TypeParam::slow ? 1 : 3); ++again) {
    const auto events = admitted_events(TypeParam::slow ? 1 : 3, 3, r);
    const lent_batch batch(queue, events, again == 0 ? 8000 : 1400, r);
    const std::uint32_t threshold = below(r, 2000);
    const decoded_on_host first(queue, batch, no_technique, threshold, 1);
    first.expect(events, batch.host(), threshold);
    if (this->HasFatalFailure()) return;
    for (unsigned mask = 0; mask < all_techniques; ++mask) {
      const decoded_on_host d(queue, batch, techniques_of(mask), threshold, 1 + below(r, 9));
      ASSERT_EQ(d.memory(), first.memory()) << "techniques " << mask;
    }
  }
}

TYPED_TEST_P(decoder, takes_what_no_receiver_would_admit) {
  // Packets of any length and content, whose borders only the table gives.
  auto queue = TypeParam::make();
  randomness r(3);
  std::vector<made_board> boards;
  for (std::uint8_t k = 0; k < 8; ++k) {
    const auto slot = static_cast<std::uint8_t>(l2::first_slot + k);
    boards.push_back(
        make_board(k % 2 == 0 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz, slot,
                   1, 2, 3, make_records(r)));
    bytes& packet = boards.back().packet;
    if (k < 2) {
      for (std::byte& x : packet) x = static_cast<std::byte>(r());
    }
    if (k == 2) packet.resize(2 * below(r, 1036));
    if (k == 3) packet.resize(0);
    if (k == 4) packet[1] ^= std::byte{1};    // another header,
    if (k == 5) packet[0] ^= std::byte{0x40}; // and a wrong one
    if (k == 6) boards.back() = make_opaque_board(slot, 1036, r);
  }
  const std::vector<made_event> events{{1, 2, 0, 3, {}},
                                       {1, 2, 0, 3, {make_fragment(0, 2, boards)}}};
  const lent_batch batch(queue, events, 1400, r);
  for (unsigned mask = 0; mask < all_techniques; ++mask) {
    decode_techniques how = techniques_of(mask);
    if (!how.table_by_source) continue;
    const decoded_on_host d(queue, batch, how, 50, 3);
    d.expect(events, batch.host(), 50);
    if (this->HasFatalFailure()) FAIL() << "techniques " << mask;
  }
}

TYPED_TEST_P(decoder, walks_through_anything_and_not_beyond) {
  auto queue = TypeParam::make();
  randomness r(4);
  for (int again = 0; again < (TypeParam::slow ? 4 : 40); ++again) {
    std::vector<made_event> events = admitted_events(1, 1, r);
    for (made_fragment& f : events[0].fragments) {
      for (int k = 0; k < 20 && !f.content.empty(); ++k)
        f.content[below(r, static_cast<std::uint32_t>(f.content.size()))] =
            static_cast<std::byte>(r());
      f.content.resize(below(r, static_cast<std::uint32_t>(f.content.size() + 1)) / 4 * 4);
    }
    const lent_batch batch(queue, events, 0, r);
    const decoded_on_host d(queue, batch, no_technique, 0, 1);
    for (std::uint32_t e = 0; e < events.size(); ++e)
      EXPECT_LE(d.batch().hit_counts[e], 16 * batch.host().events[e].boards);
  }
}

TYPED_TEST_P(decoder, may_have_nothing_to_do) {
  auto queue = TypeParam::make();
  randomness r(5);
  const std::vector<made_event> events{{1, 1, 0, 0, {}}, {1, 2, 0, 0, {make_fragment(3, 2, {})}}};
  const lent_batch batch(queue, events, 0, r);
  for (unsigned mask = 0; mask < all_techniques; ++mask) {
    const decoded_on_host d(queue, batch, techniques_of(mask), 0, 4);
    d.expect(events, batch.host(), 0);
  }
}

REGISTER_TYPED_TEST_SUITE_P(decoder, gives_what_the_page_says,
                            gives_the_same_bytes_with_any_techniques,
                            takes_what_no_receiver_would_admit,
                            walks_through_anything_and_not_beyond, may_have_nothing_to_do);

} // namespace l3::test
