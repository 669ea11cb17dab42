// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {

// Where a pulse falls below 1e-5 of its height, in widths.
constexpr double reach_before = 3.8;
constexpr double reach_after = 9.0; // longer, because of the skew

constexpr std::int64_t most_counts = 1 << 30; // far beyond any digitizer's range

} // namespace

pulse_shape::pulse_shape(const pulse_form& form, double sample_length)
    : sample_length_(sample_length),
      before_(static_cast<int>(reach_before * form.width / sample_length) + 1),
      length_(before_ + static_cast<int>(reach_after * form.width / sample_length) + 2),
      table_(static_cast<std::size_t>(phases * length_)) {
  for (int p = 0; p < phases; ++p)
    for (int s = 0; s < length_; ++s) {
      // The peak is p / 64 of a sample after sample `before_`.
      const double t = (s - before_ - static_cast<double>(p) / phases) * sample_length;
      table_[static_cast<std::size_t>(p) * static_cast<std::size_t>(length_) +
             static_cast<std::size_t>(s)] =
          static_cast<std::int32_t>(std::lround(form.at(t) * (1 << shift)));
    }
}

void pulse_shape::add(int* first, int samples, int stride, double height, double time) const {
  constexpr int height_shift = 8;
  const auto ticks = static_cast<std::int64_t>(std::floor(time / sample_length_ * phases + 0.5));
  const auto phase = static_cast<int>(((ticks % phases) + phases) % phases);
  const auto start = static_cast<int>((ticks - phase) / phases) - before_;
  const std::int64_t fixed_height = std::lround(height * (1 << height_shift));
  const std::int32_t* shape = table_.data() + static_cast<std::ptrdiff_t>(phase) * length_;
  constexpr std::int64_t half = std::int64_t{1} << (shift + height_shift - 1);
  const int end = std::min(samples, start + length_);
  for (int s = std::max(0, start); s < end; ++s) {
    const auto more = (shape[s - start] * fixed_height + half) >> (shift + height_shift);
    auto& sample = first[s * stride];
    sample = static_cast<int>(std::clamp<std::int64_t>(sample + more, -most_counts, most_counts));
  }
}

double pulse_shape::sum() const {
  return static_cast<double>(std::accumulate(table_.begin(), table_.begin() + length_, 0LL)) /
         (1 << shift);
}

} // namespace l3
