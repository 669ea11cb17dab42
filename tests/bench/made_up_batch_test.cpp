// SPDX-License-Identifier: Apache-2.0
// That the events which the engine is measured with are good ones, and that the limit beside it
// copies what it says.
#include "bench/harness/made_up_batch.hpp"

#include <gtest/gtest.h>

#include "bench/pipeline/arrivals.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/stream_queue.hpp"
#include "transport/format/block.hpp"

namespace l3::test {
namespace {

TEST(made_up_batch, is_full_of_whole_events_that_decode) {
  constexpr std::uint32_t events = 16; // until the waveforms come again
  const auto e = make_engine({backend::serial, 0}, {bench::made_up_capacity(events), 1});
  frame& f = *e->frames()[0];
  bench::make_up_batch(f.input);
  EXPECT_EQ(f.input.used_events, events);
  EXPECT_EQ(bench::fragment_bytes(f.input), events * readout::koto().event_bytes());
  EXPECT_LE(f.input.used_bytes, f.input.bytes.size());
  e->start(f);
  ASSERT_TRUE(e->wait(f)) << f.error;
  for (const event_result& r : f.results) {
    EXPECT_TRUE(r.kept);
    EXPECT_EQ(r.boards_damaged + r.boards_opaque, 0U);
    EXPECT_EQ(r.original_bytes, readout::koto().event_bytes());
    // As detectors give it, not as a constant would: between 2 and 4 to 1.
    EXPECT_GT(r.original_bytes, 2U * r.bytes);
    EXPECT_LT(r.original_bytes, 4U * r.bytes);
    // Header and footer words are the predicted ones: nothing of them is stored.
    const std::byte* const boards = f.output.data() + r.offset + sizeof(packed_event) +
                                    readout::koto().size() * sizeof(packed_fragment);
    for (std::uint32_t k = 0; k < readout::koto().boards(); ++k) {
      const auto form = load<packed_board>(boards + k * sizeof(packed_board)).form;
      EXPECT_EQ(form & ~board_256_samples, 0) << k;
    }
  }
}

TEST(arrivals, copies_every_buffer_in_turn) {
  std::vector<std::vector<std::byte>> from(3, std::vector<std::byte>(1000, std::byte{1}));
  const std::vector<std::span<const std::byte>> spans(from.begin(), from.end());
  std::vector<std::shared_ptr<stream_control>> streams;
  bench::arrivals<stream_queue<serial_queue>> a(
      [&] {
        streams.push_back(std::make_shared<stream_control>());
        return stream_queue<serial_queue>(serial_queue(), streams.back());
      },
      spans);
  a.run(7);
  ASSERT_EQ(streams.size(), 3U);
  EXPECT_EQ(streams[0]->copies().size(), 3U);
  EXPECT_EQ(streams[1]->copies().size(), 2U);
  EXPECT_EQ(streams[2]->copies().size(), 2U);
  for (const auto& s : streams) EXPECT_EQ(s->waits(), static_cast<int>(s->copies().size()));
  streams[1]->fail("gone");
  EXPECT_THROW(a.run(3), std::runtime_error);
}

} // namespace
} // namespace l3::test
