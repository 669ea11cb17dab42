// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/front_end.hpp"

#include <algorithm>
#include <cmath>

#include "selection/detector/calibration.hpp"
#include "selection/detector/random.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

namespace {

constexpr std::uint64_t counters_stream = 1; // separate stream: inputs draw the same numbers

constexpr double least_factor = 0.05; // of a gain or a noise: keeps it positive at a large spread

input_fault::kind kind_of(double u, const simulated_effects& e) {
  if (u < e.dead) return input_fault::kind::dead;
  if (u < e.dead + e.hot) return input_fault::kind::hot;
  if (u < e.dead + e.hot + e.stuck) return input_fault::kind::stuck;
  return input_fault::kind::none;
}

/// All inputs of a counter have the same delay. The calorimeter has none, because it defines the
/// event's time.
void delay_counters(const detector& d, double spread, random_source random,
                    std::vector<input_fault>& all) {
  for (const veto& v : d.vetoes()) {
    const double later = spread * random.gaussian();
    for (const input_address at : v.inputs) all[d.number_of(at)].time += later;
  }
}

} // namespace

std::vector<input_fault> draw_input_faults(const detector& d, const simulated_effects& effects,
                                           std::uint64_t seed) {
  random_source random(seed);
  std::vector<input_fault> all(d.input_count());
  for (auto& f : all) {
    const auto factor = [&](double spread) {
      return std::max(1 + spread * random.gaussian(), least_factor);
    };
    f.what = kind_of(random.uniform(), effects);
    f.noise = effects.noise_factor * factor(effects.noise_spread);
    f.gain = factor(effects.gain_spread);
    f.time = effects.time_spread * random.gaussian();
    const double form = nominal_form + 2 * random.gaussian();
    f.form = static_cast<std::uint8_t>(
        std::clamp(std::floor(form + 0.5), 0.0, static_cast<double>(pulse_forms - 1)));
  }
  delay_counters(d, effects.counter_time_spread, random_source(splitmix(seed + counters_stream)),
                 all);
  return all;
}

namespace {

constexpr int time_stamp_step = 8; // ns
constexpr std::uint32_t time_stamp_mask = (1U << 28) - 1;
constexpr std::uint64_t effects_stream = 2;
constexpr double clock = 8; // ns, of the electronics

// An undershoot grows within this time in ns after the pulse.
constexpr double undershoot_rise = 60;

// Pulses of a hot input in a waveform.
constexpr double hot_pulses = 10;
constexpr double hot_height = 300;
constexpr double waveform_length = 512; // ns

/// Fraction of an amplifier's maximum output up to which it is linear.
constexpr double linear_part = 0.8;

/// −n … n clocks, in ns.
double clocks(double n, random_source& random) {
  return clock * (static_cast<double>(random.below(2 * static_cast<std::uint32_t>(n) + 1)) - n);
}

std::byte* put(std::byte* p, std::uint16_t word) {
  store_big(p, word);
  return p + sizeof word;
}

} // namespace

front_end::front_end(const detector& d, std::uint64_t seed, const simulated_effects& effects)
    : detector_(d), effects_(effects), effects_seed_(splitmix(seed + effects_stream)),
      trigger_board_(d.number_of(d.trigger_board()) / detector::inputs_per_board),
      slow_noise_(splitmix(seed), noise_table::correlation::neighbours),
      fast_noise_(splitmix(seed + 1), noise_table::correlation::none),
      faults_(draw_input_faults(d, effects, effects_seed_)) {
  const auto add_forms = [&](const pulse_form& form, board_kind kind,
                             std::vector<pulse_shape>& to) {
    for (int k = 0; k < pulse_forms; ++k) {
      const double width = width_of(k, effects.pulse_spread);
      to.emplace_back(pulse_form{form.width * width, form.skew}, sample_length(kind));
    }
  };
  add_forms(slow_pulse_form, board_kind::sampling_125_mhz, slow_pulses_);
  for (const auto& form : fast_pulse_forms)
    add_forms(form, board_kind::sampling_500_mhz, fast_pulses_);
  // Constants belong to the detector: the same for all events.
  for (const auto& c : draw_input_constants(d)) {
    const double noise = c.noise * faults_[constants_.size()].noise;
    constants_.push_back(
        {static_cast<std::uint16_t>(c.pedestal), noise_table::scale_for(noise), c.time});
  }
}

void front_end::add_noise(std::uint32_t board, board_kind kind, random_source& random,
                          board_samples& samples) const {
  const bool slow = kind == board_kind::sampling_125_mhz;
  const auto noise = (slow ? slow_noise_ : fast_noise_).at_random(random);
  // Sixteen consecutive channels, or four channels four times, so that every sixteen words use the
  // same constants.
  constexpr std::uint32_t row = detector::inputs_per_board;
  std::array<std::int16_t, row> pedestals{};
  std::array<std::int16_t, row> scales{};
  const auto channels = static_cast<std::uint32_t>(channels_of(kind));
  for (std::uint32_t i = 0; i < row; ++i) {
    const auto& c = constants_[board * row + i % channels];
    pedestals[i] = static_cast<std::int16_t>(c.pedestal);
    scales[i] = c.noise_scale;
  }
  for (std::size_t s = 0; s < samples.size(); s += row)
    for (std::uint32_t i = 0; i < row; ++i) {
      const int more = (noise[s + i] * scales[i]) >> 16;
      samples[s + i] = pedestals[i] + more;
    }
}

int front_end::top_of(board_kind kind) const {
  return static_cast<int>(std::floor(effects_.full_scale * highest_sample(kind) + 0.5));
}

double front_end::time_in_waveform(const signal& s, double shift) const {
  return detector_.signals().pulse_time + constants_[s.input].time_offset + faults_[s.input].time +
         s.time + shift;
}

void front_end::add_pulse(const signal& s, double shift, bool faulty, board_kind kind,
                          random_source& random, board_samples& samples) const {
  const auto& fault = faults_[s.input];
  const int channels = channels_of(kind);
  const bool slow = kind == board_kind::sampling_125_mhz;
  // Drawn for dead inputs, too, so that the other inputs get the same pulses.
  const auto length = slow ? 0 : random.below(static_cast<std::uint32_t>(fast_pulse_forms.size()));
  if (faulty && fault.what == input_fault::kind::dead) return;
  const auto& shape = (slow ? slow_pulses_ : fast_pulses_)[pulse_forms * length + fault.form];
  shape.add(samples.data() + s.input % detector::inputs_per_board, l2::sample_words / channels,
            channels, s.height * fault.gain, time_in_waveform(s, shift));
}

void front_end::add_undershoot(const signal& s, double shift, bool faulty, board_kind kind,
                               board_samples& to) const {
  if (faulty && faults_[s.input].what == input_fault::kind::dead) return;
  const auto channels = static_cast<std::size_t>(channels_of(kind));
  const double depth = effects_.undershoot * s.height * faults_[s.input].gain;
  const double peak = time_in_waveform(s, shift);
  for (std::size_t k = 0; k < to.size() / channels; ++k) {
    const double since = static_cast<double>(k) * sample_length(kind) - peak;
    if (since <= 0) continue;
    const double level = depth * (1 - exp_of_minus(since / undershoot_rise)) *
                         exp_of_minus(since / effects_.recovery_time);
    to[k * channels + s.input % detector::inputs_per_board] -=
        static_cast<int>(std::floor(level + 0.5));
  }
}

void front_end::saturate(std::uint32_t board, board_kind kind, board_samples& samples) const {
  const auto channels = static_cast<std::uint32_t>(channels_of(kind));
  const double knee = linear_part * effects_.saturation;
  const double rest = effects_.saturation - knee;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    const double pedestal = constants_[board * detector::inputs_per_board + i % channels].pedestal;
    const double over = samples[i] - pedestal - knee;
    if (over <= 0) continue;
    samples[i] = static_cast<int>(pedestal + knee + rest * (1 - exp_of_minus(over / rest)));
  }
}

void front_end::spoil(std::uint32_t board, board_kind kind, random_source& random,
                      board_samples& samples) const {
  const auto channels = static_cast<std::uint32_t>(channels_of(kind));
  for (std::uint32_t c = 0; c < channels; ++c) {
    const std::uint32_t input = board * detector::inputs_per_board + c;
    const auto what = faults_[input].what;
    if (what == input_fault::kind::hot) {
      double at = 0;
      while ((at += random.exponential()) < hot_pulses) {
        const double time = at / hot_pulses * waveform_length - detector_.signals().pulse_time;
        add_pulse({input, hot_height * random.exponential(), time}, 0, false, kind, random,
                  samples);
      }
    }
    if (what == input_fault::kind::stuck) {
      // Stuck at the pedestal, or at either end of the range.
      const std::array<int, 3> levels{constants_[input].pedestal, 0, top_of(kind)};
      for (std::uint32_t i = c; i < samples.size(); i += channels)
        samples[i] = levels[input % levels.size()];
    }
  }
}

template <class MakeSamples>
void front_end::assemble(const true_event& e, const moment& when, std::span<std::byte> to,
                         const MakeSamples& make) const {
  const auto time =
      static_cast<std::uint32_t>(when.since_spill.count() / time_stamp_step) & time_stamp_mask;
  std::byte* p = to.data();
  std::uint32_t board = 0;
  board_samples samples;
  for (const auto& crate : detector_.crates().crates) {
    store_big(p, l2::fragment_header(when.key.number));
    p += l2::fragment_header_bytes;
    for (std::uint32_t b = 0; b < crate.boards; ++b, ++board) {
      for (int w = 0; w < l2::header_words; ++w) {
        auto word =
            l2::expected_header_word(w, when.key.spill, when.key.number, l2::first_slot + b, time);
        if (w == 0 && board == trigger_board_)
          word = static_cast<std::uint16_t>(word | (e.trigger_bits & l2::payload_mask));
        p = put(p, word);
      }
      make(board, b == 0, crate.kind, samples);
      for (const auto s : samples) p = put(p, static_cast<std::uint16_t>(l2::sample_tag | s));
      // All sums for the older trigger are zero.
      for (int w = 0; w < l2::footer_words; ++w) p = put(p, l2::footer_tag);
    }
    store_big(p, l2::fragment_trailer);
    p += l2::fragment_trailer_bytes;
  }
}

void front_end::digitize(true_event& e, const moment& when, random_source& random,
                         std::span<std::byte> to) const {
  // By board, with pulses of one input in a fixed order, so that 500 MHz pulses get the same forms.
  std::stable_sort(e.signals.begin(), e.signals.end(),
                   [](const signal& a, const signal& b) { return a.input < b.input; });
  random_source effects(effects_seed_, when.key.spill, when.key.number);
  const double event_shift = effects_.event_shift + clocks(effects_.event_jitter, effects);
  const bool faulty = static_cast<double>(when.before) + 1 >= effects_.faulty_from;
  const bool spoils = faulty && effects_.hot + effects_.stuck > 0;
  baselines under(effects_, slow_noise_, fast_noise_);
  double shift = 0;
  std::size_t next = 0;
  assemble(e, when, to,
           [&](std::uint32_t board, bool begins_crate, board_kind kind, board_samples& samples) {
             if (begins_crate) {
               shift = event_shift + clocks(effects_.crate_jitter, effects);
               under.begin_crate(kind, effects);
             }
             add_noise(board, kind, random, samples);
             const std::size_t first = next;
             const std::uint32_t end = (board + 1) * detector::inputs_per_board;
             while (next < e.signals.size() && e.signals[next].input < end) ++next;
             const auto signals = std::span<const signal>(e.signals).subspan(first, next - first);
             if (under.any()) under.add(kind, effects, samples);
             if (effects_.undershoot != 0)
               for (const auto& s : signals) add_undershoot(s, shift, faulty, kind, samples);
             for (const auto& s : signals) add_pulse(s, shift, faulty, kind, random, samples);
             if (effects_.saturation > 0) saturate(board, kind, samples);
             if (spoils) spoil(board, kind, effects, samples);
             for (auto& s : samples) s = std::clamp(s, 0, top_of(kind));
           });
}

void front_end::carry(const recordings& r, std::uint64_t first, const true_event& e,
                      const moment& when, std::span<std::byte> to) const {
  assemble(e, when, to, [&](std::uint32_t, bool, board_kind kind, board_samples& samples) {
    const int channels = channels_of(kind);
    const int pieces = l2::waveforms_per_board / channels;
    for (int c = 0; c < channels; ++c)
      for (int j = 0; j < pieces; ++j) {
        const auto piece = r.piece(first++);
        for (int s = 0; s < l2::waveform_samples; ++s)
          samples[static_cast<std::size_t>(j * l2::waveform_samples + s) *
                      static_cast<std::size_t>(channels) +
                  static_cast<std::size_t>(c)] = piece[static_cast<std::size_t>(s)];
      }
  });
}

std::vector<crate_fragment> front_end::fragments_of(std::span<const std::byte> event) const {
  std::vector<crate_fragment> fragments;
  for (const auto& crate : detector_.crates().crates) {
    const auto bytes = l2::fragment_bytes(crate.boards);
    fragments.push_back({static_cast<std::uint16_t>(fragments.size()), event.first(bytes)});
    event = event.subspan(bytes);
  }
  return fragments;
}

} // namespace l3
