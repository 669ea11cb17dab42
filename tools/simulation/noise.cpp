// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/noise.hpp"

#include <algorithm>

#include "transport/format/l2.hpp"

namespace l3 {

noise_table::noise_table(std::uint64_t seed, correlation c) : values_(starts + l2::sample_words) {
  random_source random(seed);
  std::vector<std::int32_t> white(values_.size());
  for (auto& w : white) w = random.gaussian_16();

  // The filter 1 2 1 over time: correlation 2/3 between neighbours, 1/6 to the next; it multiplies
  // the rms by √6.
  constexpr std::size_t stride = l2::waveforms_per_board;
  constexpr double sqrt6 = 2.449489742783178;
  const bool filtered = c == correlation::neighbours;
  const double scale = unit / (65536.0 * (filtered ? sqrt6 : 1.0));
  for (std::size_t i = 0; i < values_.size(); ++i) {
    double v = white[i];
    if (filtered) {
      const auto before = white[(i + values_.size() - stride) % values_.size()];
      const auto after = white[(i + stride) % values_.size()];
      v = 2.0 * white[i] + before + after;
    }
    values_[i] = static_cast<std::int16_t>(std::clamp(v * scale, -32767.0, 32767.0));
  }
}

} // namespace l3
