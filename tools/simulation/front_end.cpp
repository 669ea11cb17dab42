// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/front_end.hpp"

#include <algorithm>

#include "selection/detector/input_constants.hpp"
#include "transport/format/l2.hpp"

namespace l3 {
namespace {

constexpr int time_stamp_step = 8; // ns
constexpr std::uint32_t time_stamp_mask = (1U << 28) - 1;

std::byte* put(std::byte* p, std::uint16_t word) {
  store_big(p, word);
  return p + sizeof word;
}

} // namespace

front_end::front_end(const detector& d, std::uint64_t seed)
    : detector_(d), trigger_board_(d.number_of(d.trigger_board()) / detector::inputs_per_board),
      slow_noise_(splitmix(seed), noise_table::correlation::neighbours),
      fast_noise_(splitmix(seed + 1), noise_table::correlation::none),
      slow_pulse_(slow_pulse_form, sample_length(board_kind::sampling_125_mhz)) {
  for (const auto& form : fast_pulse_forms)
    fast_pulses_.emplace_back(form, sample_length(board_kind::sampling_500_mhz));
  // Constants belong to the detector, not to the events: other events, same pedestals.
  for (const auto& c : draw_input_constants(d))
    constants_.push_back(
        {static_cast<std::uint16_t>(c.pedestal), noise_table::scale_for(c.noise), c.time});
}

void front_end::add_noise(std::uint32_t board, board_kind kind, random_source& random,
                          board_samples& samples) const {
  const bool slow = kind == board_kind::sampling_125_mhz;
  const auto noise = (slow ? slow_noise_ : fast_noise_).at_random(random);
  // Sixteen channels in a row, or four channels four times: then every sixteen words use the same
  // constants.
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
      samples[s + i] = static_cast<std::uint16_t>(std::clamp(pedestals[i] + more, 0, 0x3fff));
    }
}

void front_end::add_pulse(const signal& s, board_kind kind, random_source& random,
                          board_samples& samples) const {
  const int channels = channels_of(kind);
  const bool slow = kind == board_kind::sampling_125_mhz;
  const auto& shape =
      slow ? slow_pulse_
           : fast_pulses_[random.below(static_cast<std::uint32_t>(fast_pulses_.size()))];
  const double time = detector_.signals().pulse_time + constants_[s.input].time_offset + s.time;
  shape.add(samples.data() + s.input % detector::inputs_per_board, l2::sample_words / channels,
            channels, s.height, time, highest_sample(kind));
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
      make(board, crate.kind, samples);
      for (const auto s : samples) p = put(p, static_cast<std::uint16_t>(l2::sample_tag | s));
      // The sums of the older trigger are all zero.
      for (int w = 0; w < l2::footer_words; ++w) p = put(p, l2::footer_tag);
    }
    store_big(p, l2::fragment_trailer);
    p += l2::fragment_trailer_bytes;
  }
}

void front_end::digitize(true_event& e, const moment& when, random_source& random,
                         std::span<std::byte> to) const {
  // By board; pulses of one input in a fixed order, for each is cut off at the limit.
  std::stable_sort(e.signals.begin(), e.signals.end(),
                   [](const signal& a, const signal& b) { return a.input < b.input; });
  auto next = e.signals.cbegin();
  assemble(e, when, to, [&](std::uint32_t board, board_kind kind, board_samples& samples) {
    add_noise(board, kind, random, samples);
    const std::uint32_t end = (board + 1) * detector::inputs_per_board;
    for (; next != e.signals.cend() && next->input < end; ++next)
      add_pulse(*next, kind, random, samples);
  });
}

void front_end::carry(const recordings& r, std::uint64_t first, const true_event& e,
                      const moment& when, std::span<std::byte> to) const {
  assemble(e, when, to, [&](std::uint32_t, board_kind kind, board_samples& samples) {
    const int channels = channels_of(kind);
    const int pieces = l2::waveforms_per_board / channels;
    for (int c = 0; c < channels; ++c)
      for (int j = 0; j < pieces; ++j) {
        const auto piece = r.piece(first++);
        for (int s = 0; s < l2::waveform_samples; ++s)
          samples[static_cast<std::size_t>((j * l2::waveform_samples + s) * channels + c)] =
              piece[static_cast<std::size_t>(s)];
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
