// SPDX-License-Identifier: Apache-2.0
// The code that docs/adding-a-column.md shows, and the comparison with the page.
#include <gtest/gtest.h>

#include "gpu/executors/serial.hpp"
#include "tests/gpu/columns/host_columns.hpp"
#include "tests/shown_code.hpp"

namespace l3::test {
namespace {

// show layout
template <template <class> class column>
struct pulse_fields {
  column<std::uint32_t> channel;
  column<std::int32_t> energy;   // 1/256 ADC count
  column<std::int32_t> time;     // 1/256 sample
  column<std::uint16_t> samples; // above the threshold
};
using pulses = soa<pulse_fields>;
// end

template <template <class> class column>
struct gain_fields {
  column<float> gain;
  column<std::int32_t> delay; // 1/256 sample
};
using gains = soa<gain_fields>;

// show kernel
struct calibrate {
  static constexpr std::uint32_t width = 128;
  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, pulses::view found, gains::const_view known) const {
    for_each(b, found.size(), [&](std::uint32_t i) {
      const gains::value of_channel = known[found.channel[i]];
      found[i].energy =
          static_cast<std::int32_t>(of_channel.gain * static_cast<float>(found.energy[i]));
      found[i].time -= of_channel.delay;
    });
  }
};
// end

// show arena
struct arena {
  pulses::view found;
  gains::view known;

  static arena take(region& from, std::uint32_t pulses_at_most, std::uint32_t channels) {
    return {pulses::take(from, pulses_at_most), gains::take(from, channels)};
  }
};
// end

TEST(columns_example, runs_in_memory_of_a_frame) {
  region counted;
  static_cast<void>(arena::take(counted, 1000, 10));
  const buffer memory = host_memory::allocate(counted.used());
  region from(memory);
  const arena a = arena::take(from, 1000, 10);
  // show rows
  for (std::uint32_t i = 0; i < a.found.size(); ++i)
    a.found[i] = {.channel = i % 10, .energy = 256, .time = 512, .samples = 9};
  for (std::uint32_t i = 0; i < a.known.size(); ++i) {
    a.known.gain[i] = static_cast<float>(i);
    a.known[i].delay = 12;
  }
  // end
  serial_queue queue;
  queue.run(calibrate{}, 1, a.found, gains::const_view(a.known));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(a.found[i].energy, static_cast<std::int32_t>(256 * (i % 10)));
    ASSERT_EQ(a.found[i].time, 500);
    ASSERT_EQ(a.found[i].samples, 9);
  }
}

TEST(columns_example, is_what_the_page_shows) {
  code_by_name shown;
  compare_page(L3_SOURCE_DIR, "docs/adding-a-column.md",
               {"tests/gpu/columns/columns_example_test.cpp"}, shown);
}

} // namespace
} // namespace l3::test
