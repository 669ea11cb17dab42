// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "selection/detector/detector.hpp"
#include "selection/detector/pulse_form.hpp"
#include "transport/format/l2.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

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
