// SPDX-License-Identifier: Apache-2.0
#include "selection/display/event_picture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "gpu/codec/decode_all.hpp"
#include "selection/algorithms/find_clusters.hpp"
#include "selection/algorithms/pulses_of_board.hpp"
#include "selection/display/summary_names.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::uint32_t inputs_per_board = detector::inputs_per_board;

/// Shorter than a double's text.
json::value number(double v) {
  return v == std::floor(v) ? json::value(static_cast<std::int64_t>(v)) : json::value(v);
}

/// A waveform in characters of 6 bits, most significant bit first, as event.js reads it: the steps
/// between samples in a Rice code, whose parameter follows the steps before.
class packed_text {
public:
  explicit packed_text(std::span<const std::uint16_t> samples) {
    constexpr unsigned most_ones = 24;
    put(samples.front(), 14);
    unsigned lately = 32; // four times the mean of the last steps
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const int step = samples[i] - samples[i - 1];
      const auto u = static_cast<unsigned>(step < 0 ? -2 * step - 1 : 2 * step);
      unsigned rest = 0;
      while (20U << rest < 3 * lately) ++rest;
      const unsigned ones = std::min(u >> rest, most_ones);
      for (unsigned n = 0; n < ones; ++n) put(1, 1);
      if (ones == most_ones)
        put(u, 15);
      else
        put(u & ((1U << rest) - 1), rest + 1); // a zero and the rest
      lately += u - lately / 4;
    }
    while (count_ != 0) put(1, 1);
  }

  std::string text;

private:
  void put(unsigned value, unsigned bits) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    while (bits-- > 0) {
      digit_ = digit_ << 1 | (value >> bits & 1U);
      if (++count_ < 6) continue;
      text += digits[digit_];
      digit_ = count_ = 0;
    }
  }

  unsigned digit_ = 0;
  unsigned count_ = 0;
};

struct found_pulse {
  std::uint32_t input = 0;
  packed_pulse pulse;
  std::int32_t energy = 0;
  std::int32_t time = 0;
};

/// Calls f(number, kind) for each board of the readout.
template <class F>
void for_each_board(const readout& crates, F&& f) {
  std::uint32_t number = 0;
  for (const crate_readout& crate : crates.crates)
    for (std::uint32_t b = 0; b < crate.boards; ++b) f(number++, crate, b);
}

std::vector<found_pulse> pulses_in(const event_picture& event, const loaded_selection& by) {
  std::vector<found_pulse> all;
  for_each_board(by.what.crates(), [&](std::uint32_t n, const crate_readout& crate, std::uint32_t) {
    const input_entry* const inputs = by.tables.inputs.data() + inputs_per_board * n;
    const auto rows = event.boards[n].records == 0
                          ? event.boards[n].pulses
                          : pulses_of_board(event.boards[n].samples, crate.kind, inputs);
    for (std::uint32_t r = 0; r < rows.size(); ++r) {
      const std::uint32_t c = measure_pulses::channel_of(r, crate.kind);
      if ((rows[r].flags & pulse_found) == 0 || inputs[c].kind == input_kind::none) continue;
      all.push_back({inputs_per_board * n + c, rows[r], inputs[c].energy_of(rows[r].sum),
                     inputs[c].time_of(rows[r].time)});
    }
  });
  return all;
}

json::array pulses_json(std::span<const found_pulse> pulses, std::int32_t time,
                        const host_tables& tables) {
  json::array all;
  for (const found_pulse& p : pulses) {
    const bool counts = tables.inputs[p.input].kind == input_kind::crystal &&
                        p.energy >= tables.constants.crystal_threshold &&
                        find_clusters::is_in_time(tables.constants, p.time, time);
    const bool has_edge = (p.pulse.flags & pulse_no_edge) == 0;
    all.push_back(json::array{p.input, p.pulse.pedestal, p.pulse.peak,
                              has_edge ? json::value(p.pulse.time) : json::value(), p.energy,
                              p.time, counts ? 1 : 0});
  }
  return all;
}

json::array waveforms_json(const event_picture& event, const readout& crates) {
  json::array all;
  for_each_board(crates, [&](std::uint32_t n, const crate_readout& crate, std::uint32_t) {
    const auto channels = static_cast<unsigned>(channels_of(crate.kind));
    for (unsigned c = 0; c < inputs_per_board; ++c) {
      const auto samples =
          c < channels ? event.boards[n].channel(c, channels) : std::span<const std::uint16_t>{};
      all.push_back(samples.empty() ? json::value() : json::value(packed_text(samples).text));
    }
  });
  return all;
}

json::object object_of(const event_picture& event, const loaded_selection& by) {
  const auto pulses = pulses_in(event, by);
  const std::int32_t time =
      event.summary ? event.summary->value(quantity::event_time) : undefined_quantity;
  const bool is_known = time != undefined_quantity;
  return {{"run", event.run},
          {"spill", event.key.spill},
          {"event", event.key.number},
          {"incomplete", (event.flags & event_incomplete) != 0},
          {"undecodable", (event.flags & (event_damaged | event_opaque)) != 0},
          {"payload", name_of(event.payload)},
          {"time", is_known ? json::value(time) : json::value()},
          {"summary", event.summary ? json::value(summary_json(*event.summary, &by))
                                    : json::value(event.no_summary)},
          {"waveforms", waveforms_json(event, by.what.crates())},
          {"pulses", pulses_json(pulses, is_known ? time : 0, by.tables)}};
}

json::object detector_object(const loaded_selection& by) {
  const detector& d = by.what;
  json::array crystals;
  for (auto first = d.crystals().begin(), c = first; first != d.crystals().end(); first = c) {
    const std::uint32_t input = d.number_of(first->at);
    int n = 0;
    for (; c != d.crystals().end(); ++c, ++n)
      if (c->x != first->x + n * first->size || c->y != first->y || c->size != first->size ||
          d.number_of(c->at) != input + static_cast<std::uint32_t>(n))
        break;
    crystals.push_back(
        json::array{number(first->x), number(first->y), number(first->size), input, n});
  }
  json::array counters;
  for (std::size_t n = 0; n < d.vetoes().size(); ++n) {
    const veto& v = d.vetoes()[n];
    json::array inputs;
    for (const input_address& at : v.inputs) inputs.push_back(d.number_of(at));
    json::object& counter =
        counters.emplace_back(json::object{{"name", v.name}, {"ends", v.ends}}).as_object();
    counter["inputs"] = std::move(inputs);
    if (n < by.tables.vetoes.size()) {
      const veto_entry& cut = by.tables.vetoes[n];
      counter["threshold"] = cut.threshold;
      counter["window"] = json::array{cut.from, cut.to};
    }
    if (v.shape.form != veto_shape::kind::none)
      counter["shape"] =
          json::object{{"form", v.shape.form == veto_shape::kind::barrel ? "barrel" : "wall"},
                       {"inner", v.shape.inner},
                       {"outer", v.shape.outer},
                       {"z", json::array{v.shape.z_from, v.shape.z_to}}};
  }
  json::array boards;
  for_each_board(d.crates(), [&](std::uint32_t, const crate_readout& crate, std::uint32_t b) {
    boards.emplace_back(fmt::format("{}/{}", crate.number, l2::first_slot + b));
  });
  return {{"front", d.front()},
          {"crystals", std::move(crystals)},
          {"counters", std::move(counters)},
          {"boards", std::move(boards)}};
}

} // namespace

event_picture picture_of(const packed_event_view& event, std::uint32_t run, const detector& what) {
  const readout& crates = what.crates();
  event_picture to{run, event.key(), event.header().flags, event.header().payload};
  to.summary = summary_view::parse(event.summary());
  to.no_summary = event.summary().empty() ? "no selection ran" : "its summary cannot be read";
  to.boards.resize(crates.boards());
  std::uint32_t board = 0;
  for (std::uint32_t f = 0; f < event.fragments(); ++f) {
    const packed_fragment fragment = event.fragment(f);
    const std::uint32_t end = board + fragment.boards;
    for (; board < end; ++board) {
      if (fragment.crate >= crates.size()) continue;
      const crate_readout& crate = crates.crates[fragment.crate];
      const packed_board b = event.board(board);
      const bool wide = (b.form & board_256_samples) != 0;
      const input_address at{crate.number, b.slot, 0};
      if (!what.exists(at) || wide != (crate.kind == board_kind::sampling_500_mhz)) continue;
      if (auto waveforms = unpack_board(event, board, strong::decode_all))
        to.boards[what.number_of(at) / inputs_per_board] = *waveforms;
    }
  }
  return to;
}

std::string event_json(const event_picture& event, const loaded_selection& by) {
  return json::serialize(object_of(event, by));
}

std::string detector_json(const loaded_selection& by) {
  return json::serialize(detector_object(by));
}

std::string event_with_detector_json(const event_picture& event, const loaded_selection& by) {
  json::object all = object_of(event, by);
  all["detector"] = detector_object(by);
  return json::serialize(all);
}

std::string event_page(const event_picture& event, const loaded_selection& by) {
  std::string data = event_with_detector_json(event, by);
  for (std::size_t i = data.find('<'); i != data.npos; i = data.find('<', i))
    data.replace(i, 1, "\\u003c"); // a name could close the script element
  std::string page(event_file);
  constexpr std::string_view place = "@DATA@";
  return page.replace(page.find(place), place.size(), data);
}

} // namespace l3
