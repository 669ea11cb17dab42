// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/event_display.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <boost/json.hpp>

#include "gpu/codec/decode_all.hpp"
#include "monitor/http_server.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::size_t words_of_board = l2::sample_words;

/// Height of the highest sample above the median.
int height_of(std::span<const std::uint16_t> samples) {
  std::vector<std::uint16_t> sorted(samples.begin(), samples.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return std::max(0, *std::ranges::max_element(samples) - *middle);
}

json::array photons_in(const summary_view& s) {
  constexpr double tenth = 0.1;  // mm
  constexpr double mega = 0.001; // from keV
  json::array all;
  for (const photon_summary& p : s.photons)
    all.push_back(json::array{p.x * tenth, p.y * tenth, p.energy * mega});
  return all;
}

template <class Number>
void append(std::string& to, Number n) {
  static_assert(std::endian::native == std::endian::little);
  to.append(reinterpret_cast<const char*>(&n), sizeof n);
}

} // namespace

struct event_display::samples {
  event_key key;
  json::array lines;
  json::array photons;
  std::vector<std::uint16_t> words; ///< 1024 of each board, input after input
  std::vector<int> heights;         ///< by input; -1: not read out, or its waveform was not kept
};

event_display::samples event_display::samples_of(std::span<const std::byte> packed) const {
  const readout& crates = detector_.crates();
  samples s;
  s.words.resize(crates.boards() * words_of_board);
  s.heights.assign(detector_.input_count(), -1);
  const auto event = packed_event_view::parse(packed);
  if (!event) return s;
  s.key = event->key();
  if (const auto summary = summary_view::parse(event->summary())) {
    s.photons = photons_in(*summary);
    for (std::size_t n = 0; n < lines_.size() && n < summary->lines.size(); ++n)
      if ((summary->head.kept_by >> n & 1) != 0) s.lines.emplace_back(lines_[n]);
  }
  std::uint32_t board = 0;
  for (std::uint32_t f = 0; f < event->fragments(); ++f) {
    const packed_fragment fragment = event->fragment(f);
    const std::uint32_t first_board = std::exchange(board, board + fragment.boards);
    if (fragment.crate >= crates.size()) continue;
    const crate_readout& crate = crates.crates[fragment.crate];
    const auto channels = static_cast<unsigned>(channels_of(crate.kind));
    for (std::uint32_t b = first_board; b < board; ++b) {
      const input_address at{crate.number, event->board(b).slot, 0};
      const auto waveforms = unpack_board(*event, b, strong::decode_all);
      if (!waveforms || !detector_.exists(at)) continue;
      const std::uint32_t first = detector_.number_of(at);
      std::uint16_t* const words =
          s.words.data() + first / detector::inputs_per_board * words_of_board;
      std::ranges::copy(waveforms->samples, words);
      for (unsigned c = 0; c < channels; ++c)
        if (const auto trace = waveforms->channel(c, channels); !trace.empty())
          s.heights[first + c] = height_of(trace);
    }
  }
  return s;
}

std::string event_display::detector_json() const {
  json::array crystals;
  for (const crystal& c : detector_.crystals())
    crystals.push_back(json::array{c.x, c.y, c.size, detector_.number_of(c.at)});
  json::array inputs(detector_.input_count());
  json::array wide;
  for (const crate_readout& crate : detector_.crates().crates)
    for (int slot = l2::first_slot; slot <= l2::last_slot; ++slot) {
      const input_address board{crate.number, static_cast<std::uint8_t>(slot), 0};
      if (!detector_.exists(board)) break;
      if (crate.kind != board_kind::sampling_125_mhz)
        wide.push_back(detector_.number_of(board) / detector::inputs_per_board);
      for (int c = 0; c < channels_of(crate.kind); ++c) {
        const input_address at{crate.number, board.slot, static_cast<std::uint8_t>(c)};
        const std::uint32_t number = detector_.number_of(at);
        const element& e = detector_.at(number);
        const std::string address = to_string(at);
        inputs[number] =
            e.what == element::kind::none ? address : detector_.name_of(e) + ", " + address;
      }
    }
  return json::serialize(json::object{
      {"crystals", std::move(crystals)}, {"inputs", std::move(inputs)}, {"wide", std::move(wide)}});
}

std::string event_display::event_json() const {
  const auto latest = kept_.latest().front();
  if (!latest) return "null";
  samples s = samples_of(*latest);
  json::array heights;
  for (const int h : s.heights) heights.push_back(h < 0 ? json::value() : json::value(h));
  return json::serialize(json::object{{"spill", s.key.spill},
                                      {"event", s.key.number},
                                      {"lines", std::move(s.lines)},
                                      {"photons", std::move(s.photons)},
                                      {"heights", std::move(heights)}});
}

std::string event_display::waveforms() const {
  std::string all;
  for (const auto& event : kept_.latest()) {
    if (!event) continue;
    const samples s = samples_of(*event);
    append(all, s.key.spill);
    append(all, s.key.number);
    for (const std::uint16_t word : s.words) append(all, word);
  }
  return all;
}

void event_display::add_pages(const event_display* display, http_pages& to) {
  if (display == nullptr) {
    to["/detector"] = to["/event"] = [] { return json_text(std::string("null")); };
    return;
  }
  to["/detector"] = [text = shared_text(display->detector_json())] { return json_text(text); };
  const kept_events& kept = display->kept_;
  to["/event"] = [page = page_of_kept(kept, [display] {
                    return display->event_json();
                  })]() mutable { return json_text(page.text()); };
  to["/waveforms"] =
      [page = page_of_kept(kept, [display] { return display->waveforms(); })]() mutable {
        return http_response{200, "application/octet-stream", page.text()};
      };
}

} // namespace l3
