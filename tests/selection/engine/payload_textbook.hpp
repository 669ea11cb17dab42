// SPDX-License-Identifier: Apache-2.0
// What is kept of an event by lines that limit it, by the rules of docs/formats.md and
// docs/selection.md, in plain loops over all samples and inputs; and the packed event that follows.
// It shares no code with keep_waveforms and the packing kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "selection/trigger/line_id.hpp"
#include "tests/selection/algorithms/pulses_textbook.hpp"
#include "tests/selection/engine/oracle.hpp"
#include "tests/selection/engine/selection_cases.hpp"
#include "transport/format/prescale.hpp"
#include "transport/store/event_view.hpp"

namespace l3::test {

/// Lines of every payload, on the detector of small_detector.hpp.
inline std::string limiting_selection() {
  std::string text = small_selection;
  const std::map<std::string, std::string> keys{
      {"two", "payload = \"suppressed\"\ncontrol = 3\n"},
      {"far", "payload = \"suppressed\"\n"},
      {"vertex", "payload = \"features\"\n"},
      {"barrel", "payload = \"summary\"\n"},
      {"triggered", "payload = \"features\"\ncontrol = 5\n"},
      {"opaque", "payload = \"summary\"\n"}};
  for (const auto& [line, with] : keys) {
    const std::string name = "[[line]]\nname = \"" + line + "\"\n";
    text.insert(text.find(name) + name.size(), with);
  }
  return text + R"(
[suppression]
sigma = 60.0
seed_sigma = 150.0
exempt = ["wall"]
[[counter]]
name = "beam"
kept_neighbours = 0
)";
}

class payload_textbook {
public:
  explicit payload_textbook(const loaded_selection& s, codec_id codec)
      : s_(s), codec_(codec), calibration_(nominal_calibration(s.what)) {}

  /// What an event that these lines keep has, and which of them asked for it and took it for
  /// their control samples.
  struct choice {
    event_payload payload = event_payload::all;
    std::uint32_t asked = 0;
    std::uint32_t control = 0;
  };
  [[nodiscard]] choice choose(const made_event& e, std::uint32_t kept_by) const {
    choice c;
    if (kept_by == 0) return c;
    int most = 3;
    for (std::size_t n = 0; n < s_.settings.lines.size(); ++n) {
      if ((kept_by >> n & 1) == 0) continue;
      const line_settings& line = s_.settings.lines[n];
      const std::uint32_t id = line_id(line.name.value) ^ 0x6374726cU;
      if (line.control != 0 && survives_prescale(5, e.spill, e.number, id, line.control))
        c.control |= 1U << n;
      most = std::min(most, static_cast<int>(line.payload.value));
    }
    if (c.control != 0) most = 0;
    c.payload = static_cast<event_payload>(most);
    for (std::size_t n = 0; n < s_.settings.lines.size(); ++n)
      if ((kept_by >> n & 1) != 0 && static_cast<int>(s_.settings.lines[n].payload.value) == most)
        c.asked |= 1U << n;
    return c;
  }

  /// The hash of the levels in force, for crystals that are one step away.
  [[nodiscard]] std::uint32_t levels() const {
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint32_t> neighbours;
    const auto counts = [](std::int64_t steps, bool up) {
      const double n = static_cast<double>(steps) / 65536;
      return static_cast<std::uint32_t>(
          std::clamp(up ? std::ceil(n) : std::floor(n), 0.0, 16383.0));
    };
    for (std::uint32_t n = 0; n < s_.what.input_count(); ++n) {
      const element& e = s_.what.at(n);
      const std::int64_t pedestal = -over_pedestal(n, 0);
      const std::int64_t loud = spread(n, s_.settings.suppression.sigma);
      const bool known = calibration_[n].noise != 0;
      const bool quiet = known && !is_exempt(e);
      const std::int64_t seed = pedestal + spread(n, s_.settings.suppression.seed_sigma);
      numbers.push_back(quiet ? counts(pedestal - loud, true) : 65535);
      numbers.push_back(quiet ? counts(pedestal + loud, false) : 0);
      numbers.push_back(known && !calibration_[n].dead ? counts(seed, true) : 65535);
      numbers.push_back(static_cast<std::uint32_t>(neighbours.size()));
      for (std::uint32_t other = 0; other < s_.what.input_count(); ++other)
        if (are_neighbours(e, s_.what.at(other))) neighbours.push_back(other);
    }
    numbers.insert(numbers.end(), neighbours.begin(), neighbours.end());
    std::uint32_t hash = 2166136261U;
    for (const std::uint32_t number : numbers)
      for (int shift = 0; shift < 32; shift += 8)
        hash = (hash ^ (number >> shift & 0xff)) * 16777619U;
    return hash;
  }

  /// The packed event with this summary.
  [[nodiscard]] bytes pack(const made_event& e, const choice& c, const bytes& summary,
                           std::uint32_t levels) const {
    const std::vector<line_settings>& lines = s_.settings.lines;
    little_endian_writer payload;
    payload.put(1, 1);
    payload.put(static_cast<std::uint64_t>(c.payload), 1);
    payload.put(16 + 8 * lines.size(), 2);
    little_endian_writer table;
    table.put(levels, 4);
    table.put(c.asked, 4);
    table.put(c.control, 4);
    table.put(0, 4);
    for (const line_settings& line : lines) {
      table.put(static_cast<std::uint64_t>(line.payload.value), 1);
      table.put(0, 3);
      table.put(line.control, 4);
    }
    return expect_event(e, limited_boards(e, c.payload), payload.out, summary, table.out);
  }

private:
  struct seen_board {
    const made_board* board = nullptr;
    std::uint32_t number = 0; ///< in the readout
    textbook_board read;
    textbook_board_pulses pulses;
  };

  [[nodiscard]] std::vector<expected_board> limited_boards(const made_event& e,
                                                           event_payload payload) const {
    std::vector<seen_board> seen;
    for (const made_fragment& f : e.fragments)
      for (const made_board& b : f.boards) {
        seen_board& s = seen.emplace_back();
        s.board = &b;
        s.number = s_.what.number_of({f.crate, b.slot, 0}) / 16;
        s.read = textbook_decode(b);
        s.pulses = textbook_pulses(b, static_cast<std::uint16_t>(s.number),
                                   &s_.tables.inputs[std::size_t{16} * s.number]);
      }
    std::vector<expected_board> boards;
    for (const seen_board& s : seen) {
      expected_board x = expect_board(e, *s.board, codec_id::koto);
      if (payload != event_payload::all && (x.form & 8) == 0) limit(x, s, seen, payload);
      if ((x.form & 16) == 0) x = expect_board(e, *s.board, codec_);
      boards.push_back(std::move(x));
    }
    return boards;
  }

  void limit(expected_board& x, const seen_board& s, const std::vector<seen_board>& all,
             event_payload payload) const {
    const bool slow = s.board->kind == board_kind::sampling_125_mhz;
    std::uint32_t kept = 0;
    for (std::uint32_t r = 0; payload == event_payload::suppressed && r < 16; ++r)
      if (is_kept(s, slow ? r : r / 4, all)) kept |= 1U << r;
    if (kept == 0xffff) return;
    little_endian_writer data;
    data.put(kept, 2);
    std::size_t at = ((x.form & 2) != 0 ? 12U : 0U) + ((x.form & 4) != 0 ? 12U : 0U);
    const auto copy = [&](std::size_t from, std::size_t n) {
      const auto first = x.data.begin() + static_cast<std::ptrdiff_t>(from);
      data.put(bytes(first, first + static_cast<std::ptrdiff_t>(n)));
    };
    copy(0, at);
    for (std::uint32_t r = 0; r < 16; ++r) {
      const std::size_t length = 3 + 8 * std::to_integer<std::size_t>(x.data[at]);
      if ((kept >> r & 1) != 0) copy(at, length);
      at += length;
    }
    x.form |= 16;
    if (payload == event_payload::features) {
      x.form |= 32;
      data.put(s.pulses.lit, 2);
      for (std::uint32_t r = 0; r < 16; ++r) {
        if ((s.pulses.lit >> r & 1) == 0) continue;
        const pulse& p = s.pulses.rows[r];
        data.put(p.pedestal, 2);
        data.put(p.peak, 2);
        data.put(p.time, 2);
        data.put(p.peak_sample, 1);
        data.put(p.flags, 1);
        data.put(static_cast<std::uint32_t>(p.sum), 4);
      }
    }
    x.data = data.out;
  }

  [[nodiscard]] bool is_kept(const seen_board& s, std::uint32_t channel,
                             const std::vector<seen_board>& all) const {
    const bool slow = s.board->kind == board_kind::sampling_125_mhz;
    const std::uint32_t rows = slow ? 1U << channel : 0xfU << 4 * channel;
    if ((s.pulses.lit & rows) != 0) return true;
    const std::uint32_t input = 16 * s.number + channel;
    const element& e = s_.what.at(input);
    if (is_exempt(e) || calibration_[input].noise == 0) return true;
    const auto samples = channel_samples(s.read.samples, channel, slow ? 64 : 256);
    for (const int sample : samples)
      if (std::abs(over_pedestal(input, sample)) > spread(input, s_.settings.suppression.sigma))
        return true;
    for (const seen_board& other : all) {
      if (!other.read.sound) continue;
      const bool other_slow = other.board->kind == board_kind::sampling_125_mhz;
      for (std::uint32_t c = 0; c < (other_slow ? 16U : 4U); ++c)
        if (are_neighbours(e, s_.what.at(16 * other.number + c)) && is_seed(other, c)) return true;
    }
    return false;
  }

  /// In 1/65536 count.
  [[nodiscard]] std::int64_t over_pedestal(std::uint32_t input, int sample) const {
    return std::int64_t{65536} * sample - 16384 * std::llround(4 * calibration_[input].pedestal);
  }
  [[nodiscard]] std::int64_t spread(std::uint32_t input, double sigmas) const {
    return std::llround(256 * calibration_[input].noise) * std::llround(256 * sigmas);
  }

  [[nodiscard]] bool is_seed(const seen_board& b, std::uint32_t channel) const {
    const std::uint32_t input = 16 * b.number + channel;
    const auto& c = calibration_[input];
    if (c.dead || c.noise == 0) return false;
    const bool slow = b.board->kind == board_kind::sampling_125_mhz;
    for (const int sample : channel_samples(b.read.samples, channel, slow ? 64 : 256))
      if (over_pedestal(input, sample) >= spread(input, s_.settings.suppression.seed_sigma))
        return true;
    return false;
  }

  [[nodiscard]] bool are_neighbours(const element& a, const element& b) const {
    if (a.what != b.what) return false;
    if (a.what == element::kind::crystal) {
      const crystal& one = s_.what.crystals()[a.index];
      const crystal& other = s_.what.crystals()[b.index];
      return a.index != b.index && std::abs(one.x - other.x) < 25.5 &&
             std::abs(one.y - other.y) < 25.5;
    }
    if (a.what == element::kind::veto && a.index == b.index) {
      const veto& v = s_.what.vetoes()[a.index];
      int apart = std::abs(int{a.module} - int{b.module});
      if (v.name == "barrel") apart = std::min(apart, 8 - apart); // its modules are a ring
      const int most = v.name == "beam" ? 0 : 1;
      return apart <= most && (apart != 0 || a.end != b.end);
    }
    return false;
  }

  [[nodiscard]] bool is_exempt(const element& e) const {
    return e.what == element::kind::veto && s_.what.vetoes()[e.index].name == "wall";
  }

  const loaded_selection& s_;
  codec_id codec_;
  calibration calibration_;
};

/// Runs the events on the executor, and compares each kept one with the textbook. Returns how many
/// events have each payload, the last the number of control events.
inline std::array<std::uint64_t, 5>
expect_payloads(const chosen_engine& where, const std::vector<made_event>& events,
                std::uint32_t batch, std::uint64_t seed, codec_id codec = codec_id::koto,
                const std::string& menu = limiting_selection()) {
  const small_selecting s(menu);
  const payload_textbook textbook(s.loaded(), codec);
  const std::uint32_t levels = s.loaded().tables.constants.levels;
  EXPECT_EQ(levels, textbook.levels());
  const auto found = s.select(where, events, batch, 2, seed, {}, codec);
  std::array<std::uint64_t, 5> count{};
  for (std::size_t k = 0; k < events.size(); ++k) {
    const outcome& o = found[k];
    if (o.summary.kept == 0) continue;
    const auto expected = textbook.choose(events[k], o.summary.kept_by);
    EXPECT_EQ(o.summary.payload, expected.payload) << "event " << k;
    EXPECT_EQ(o.summary.asked, expected.asked) << "event " << k;
    EXPECT_EQ(o.summary.control, expected.control) << "event " << k;
    const auto view = packed_event_view::parse(o.packed);
    if (!view) {
      ADD_FAILURE() << "event " << k << " is no packed event";
      continue;
    }
    const auto summary = view->summary();
    EXPECT_EQ(o.packed,
              textbook.pack(events[k], expected, {summary.begin(), summary.end()}, levels))
        << "event " << k << ", " << name_of(expected.payload);
    ++count[static_cast<std::size_t>(expected.payload)];
    count[4] += expected.control != 0 ? 1 : 0;
  }
  return count;
}

} // namespace l3::test
