// SPDX-License-Identifier: Apache-2.0
// The code that docs/adding-a-column.md shows: the page quotes what stands between "// show NAME"
// and "// end", and a test compares the two.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "gpu/columns/soa.hpp"
#include "gpu/executors/block.hpp"

namespace l3::test {

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

// show shapes
template <template <class> class column>
struct gain_fields {
  column<float> gain;
  column<vector_of<float, 3>> position;     // mm: the place of the crystal
  column<matrix_of<float, 2, 2>> crosstalk; // between two neighbours
  column<scalar<std::int32_t>> delay;       // 1/256 sample, for all channels
};
using gains = soa<gain_fields>;
// end

// show kernel
struct calibrate {
  static constexpr std::uint32_t width = 128;
  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, pulses::view found, gains::const_view known) const {
    for_each(b, found.size(), [&](std::uint32_t i) {
      const float gain = known.gain[found.channel[i]];
      found[i].energy = static_cast<std::int32_t>(gain * static_cast<float>(found[i].energy));
      found[i].time -= *known.delay;
    });
  }
};
// end

inline void fill_example(pulses::view found, gains::view known) {
  // show rows
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    found[i] = {.channel = i % known.size(), .energy = 256, .time = 512, .samples = 9};
  }
  for (std::uint32_t i = 0; i < known.size(); ++i) {
    known.gain[i] = static_cast<float>(i);
    known[i].position[2] = 6148.F;
    known.crosstalk[i](0, 1) = 0.5F;
  }
  *known.delay = 12;
  // end
}

inline void check_example(pulses::const_view found) {
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].energy, static_cast<std::int32_t>(256 * (i % 10)));
    ASSERT_EQ(found[i].time, 500);
    ASSERT_EQ(found[i].samples, 9);
  }
}

} // namespace l3::test
