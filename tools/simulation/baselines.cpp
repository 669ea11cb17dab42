// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "selection/detector/detector.hpp"
#include "selection/detector/pulse_form.hpp"
#include "transport/format/l2.hpp"
#include "transport/system/input_file.hpp"

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

namespace {

constexpr double shortest_wander = 300; // period in ns
constexpr double longest_wander = 3000;

/// sin(2π x) for any x, accurate to 1e-4 (Bhaskara's approximation), enough for whole counts.
double sine(double turns) {
  const double part = turns - std::floor(turns);
  const double half = part < 0.5 ? part : part - 0.5; // 0 … ½
  const double bow = 2 * half * (1 - 2 * half);       // 0 … ¼
  const double s = 16 * bow / (5 - 4 * bow);
  return part < 0.5 ? s : -s;
}

int whole(double counts) { return static_cast<int>(std::floor(counts + 0.5)); }

} // namespace

bool baselines::any() const {
  return effects_.noise_white > 0 || effects_.noise_filtered > 0 || effects_.noise_board > 0 ||
         effects_.noise_crate > 0 || effects_.slope > 0 || effects_.wander > 0 ||
         effects_.recovering > 0;
}

void baselines::begin_crate(board_kind kind, random_source& random) {
  if (effects_.noise_crate <= 0) return;
  const auto noise = (kind == board_kind::sampling_125_mhz ? slow_ : fast_).at_random(random);
  std::copy(noise.begin(), noise.end(), crate_.begin());
}

void baselines::add(board_kind kind, random_source& random, board& to) {
  const bool slow = kind == board_kind::sampling_125_mhz;
  if (effects_.noise_white > 0) add_noise(fast_, effects_.noise_white, random, to);
  if (effects_.noise_filtered > 0)
    add_noise(slow ? slow_ : fast_, effects_.noise_filtered, random, to);
  if (effects_.noise_board > 0)
    add_common(kind, effects_.noise_board, (slow ? slow_ : fast_).at_random(random), to);
  if (effects_.noise_crate > 0) add_common(kind, effects_.noise_crate, crate_, to);
  if (effects_.slope > 0 || effects_.wander > 0 || effects_.recovering > 0)
    add_slow_parts(kind, random, to);
}

void baselines::add_noise(const noise_table& table, double counts, random_source& random,
                          board& to) const {
  const auto noise = table.at_random(random);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += whole(noise[i] * counts / noise_table::unit);
}

void baselines::add_common(board_kind kind, double counts,
                           std::span<const std::int16_t, 1024> noise, board& to) const {
  const auto channels = static_cast<std::size_t>(channels_of(kind));
  // At 125 MHz adjacent noise samples are 16 entries apart; at 500 MHz the noise is white.
  const std::size_t step = kind == board_kind::sampling_125_mhz ? channels : 1;
  for (std::size_t s = 0; s < to.size() / channels; ++s) {
    const int more = whole(noise[s * step] * counts / noise_table::unit);
    for (std::size_t c = 0; c < channels; ++c) to[s * channels + c] += more;
  }
}

void baselines::add_slow_parts(board_kind kind, random_source& random, board& to) const {
  const auto channels = static_cast<std::size_t>(channels_of(kind));
  const std::size_t samples = to.size() / channels;
  const double length = sample_length(kind);
  const double step_down = exp_of_minus(length / effects_.recovery_time);
  for (std::size_t c = 0; c < channels; ++c) {
    // Every number is drawn, used or not, so that other effects get the same ones.
    const double slope = effects_.slope * random.gaussian();
    const double amplitude = effects_.wander * random.gaussian();
    const double phase = random.uniform();
    const double period = random.uniform(shortest_wander, longest_wander);
    double below = random.chance(effects_.recovering) ? effects_.recovery_depth : 0;
    for (std::size_t s = 0; s < samples; ++s, below *= step_down) {
      const auto at = static_cast<double>(s);
      double level = slope * (at / static_cast<double>(samples - 1) - 0.5) - below;
      if (amplitude != 0) level += amplitude * sine(phase + at * length / period);
      to[s * channels + c] += whole(level);
    }
  }
}

namespace {

/// They are kept in memory: 2^31 samples.
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

} // namespace

recordings::recordings(const std::filesystem::path& file, std::uint32_t samples) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) throw std::runtime_error(file.string() + " " + in.refusal);
  const std::uint64_t bytes = in.bytes;
  if (bytes > most_bytes)
    throw std::runtime_error(
        fmt::format("{} has {} bytes; at most {} are read", file.string(), bytes, most_bytes));
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  if (bytes == 0 || bytes % waveform_bytes != 0)
    throw std::runtime_error(
        fmt::format("{}: {} bytes are not a whole number of waveforms of {} samples", file.string(),
                    bytes, samples));
  samples_.resize(bytes / sizeof(std::uint16_t));
  // Reads 16-bit words directly: hosts are little-endian.
  if (const auto error = read_all(in.file.get(), 0, std::as_writable_bytes(std::span(samples_))))
    throw std::runtime_error(file.string() + " " + cannot_be_read(error));
  for (std::size_t i = 0; i < samples_.size(); ++i)
    if (samples_[i] > l2::payload_mask)
      throw std::runtime_error(
          fmt::format("{}: waveform {}, sample {} is {}: a board packet has 14 bits, up to {}",
                      file.string(), i / samples, i % samples, samples_[i], l2::payload_mask));
  pieces_ = samples_.size() / l2::waveform_samples;
}

} // namespace l3
