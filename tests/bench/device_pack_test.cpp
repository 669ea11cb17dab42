// SPDX-License-Identifier: Apache-2.0
// That `koto-l3-bench device` measures what it says, on an imagined device: everything is packed,
// the first kernels give good records, and work that is left out is seen.
#include "bench/device/device_pack.hpp"

#include <gtest/gtest.h>

#include "gpu/executors/serial.hpp"
#include "gpu/executors/shuffled.hpp"
#include "gpu/executors/threaded.hpp"
#include "tests/gpu/codec/textbook.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace bench;
using imagined = stream_queue<serial_queue>;

/// Leaves out the last block of every kernel that writes what is compared and has many,
/// and the last byte of every copy.
struct lazy_queue : imagined {
  lazy_queue() : imagined(serial_queue()) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    constexpr bool writes =
        ((std::is_same_v<Args, output_view> || std::is_same_v<Args, waveform_slots>) || ...);
    imagined::run(kernel, writes && blocks > 1 ? blocks - 1 : blocks, args...);
  }
  void copy_within(void* to, const void* from, std::size_t n) {
    imagined::copy_within(to, from, n - 1);
  }
};

TEST(device_pack, packs_everything_in_every_way) {
  const decode_batch batch(2, 0);
  const device_pack_expected expected(batch);
  const auto rows = device_pack<imagined>(imagined(serial_queue(32)), batch, expected).run(2);
  ASSERT_EQ(rows.size(), 6U);
  for (const device_pack_row& r : rows) {
    EXPECT_TRUE(r.time.right) << r.name;
    EXPECT_EQ(r.time.seconds.size(), 2U) << r.name;
    EXPECT_GT(r.input_bytes, batch.fragment_bytes() * 9 / 10) << r.name;
    EXPECT_LE(r.traffic, 2 * r.input_bytes) << r.name;
  }
}

TEST(device_pack, sees_what_was_left_out) {
  const decode_batch batch(2, 0);
  const device_pack_expected expected(batch);
  const auto rows = device_pack<lazy_queue>(lazy_queue(), batch, expected).run(1);
  for (const device_pack_row& r : rows) EXPECT_FALSE(r.time.right) << r.name;
}

/// Waveforms of every N from 0 to 16.
std::vector<std::uint16_t> waveforms_of_every_n() {
  std::mt19937 random(1);
  std::vector<std::uint16_t> all;
  for (std::uint32_t bits = 0; bits <= 16; ++bits) {
    const std::uint32_t first = static_cast<std::uint32_t>(all.size());
    for (int i = 0; i < 64; ++i) all.push_back(static_cast<std::uint16_t>(random() % (1U << bits)));
    all[first] = 0;
    all[first + 1] = static_cast<std::uint16_t>((1U << bits) - 1);
  }
  return all;
}

template <class Kernel, class Queue>
void expect_textbook(Queue queue, std::uint32_t blocks) {
  const auto samples = waveforms_of_every_n();
  std::vector<std::byte> records(17 * waveform_slots::bytes, std::byte{0xa5});
  queue.run(Kernel{}, blocks, waveform_slots{samples.data(), 17, records.data()});
  for (std::size_t w = 0; w < 17; ++w) {
    std::vector<std::byte> expected = textbook_pack(samples.data() + 64 * w);
    expected.resize(waveform_slots::bytes, std::byte{0xa5});
    const auto first = records.begin() + static_cast<std::ptrdiff_t>(w * waveform_slots::bytes);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), first)) << "N = " << w;
  }
}

TEST(first_kernels, write_good_records) {
  expect_textbook<pack_by_threads>(serial_queue(), 1);
  expect_textbook<pack_by_threads>(shuffled_queue(32, 1), 1);
  expect_textbook<pack_by_blocks>(serial_queue(), 17);
  expect_textbook<pack_by_blocks>(shuffled_queue(32, 2), 17);
  expect_textbook<pack_by_blocks>(threaded_queue(4), 17);
}

} // namespace
} // namespace l3::test
