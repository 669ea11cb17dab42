// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/inspect/found_event.hpp"
#include "transport/building/fragment_index.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

namespace {

std::uint16_t word(const std::byte* packet, std::size_t index) {
  return load_big<std::uint16_t>(packet + 2 * index);
}

board_samples board_of(const std::byte* packet, const board_entry& entry) {
  board_samples board;
  board.slot = entry.slot;
  board.kind = entry.kind;
  board.opaque = entry.opaque != 0;
  board.trigger = word(packet, 0) & l2::payload_mask;
  board.time = (std::uint32_t{word(packet, 2)} & l2::payload_mask) << 14 |
               (word(packet, 3) & l2::payload_mask);
  if (board.opaque) return board;
  const std::size_t channels = board.kind == board_kind::sampling_125_mhz ? 16 : 4;
  board.channels.resize(channels);
  for (auto& samples : board.channels) samples.reserve(l2::sample_words / channels);
  for (std::size_t i = 0; i < l2::sample_words; ++i) {
    const std::uint16_t sample = word(packet, l2::header_words + i);
    if ((sample & l2::wide_tag_mask) != l2::sample_tag) ++board.wrong_words;
    board.channels[i % channels].push_back(sample & l2::payload_mask);
  }
  return board;
}

} // namespace

fragment_boards read_boards(std::span<const std::byte> fragment, const crate_readout& crate,
                            event_key key) {
  const auto bytes = static_cast<std::uint32_t>(fragment.size());
  const piece_offset whole = 0;
  const auto piece_bytes = (std::max(bytes, 1U) + 3) / 4 * 4;
  std::vector<board_entry> entries(crate.boards);
  const fragment_index found =
      index_fragment({fragment.data(), &whole, piece_bytes, bytes}, crate, key, entries);
  fragment_boards all;
  all.problem = found.problem;
  for (std::size_t b = 0; !found.problem && b < found.boards; ++b)
    all.boards.push_back(board_of(fragment.data() + entries[b].offset, entries[b]));
  return all;
}

namespace {

/// Removes the samples of channels whose waveforms were not kept.
void take_out(board_samples& board, std::uint32_t kept) {
  const std::size_t records =
      l2::waveforms_per_board / std::max<std::size_t>(board.channels.size(), 1);
  for (std::size_t c = 0; c < board.channels.size(); ++c) {
    if ((kept >> c * records & 1) != 0) continue;
    board.wrong_words -= static_cast<std::uint32_t>(board.channels[c].size());
    board.channels[c].clear();
  }
}

} // namespace

std::vector<inspected_crate> crates_of(const found_event& event) {
  std::vector<inspected_crate> all;
  for (const found_fragment& f : event.fragments) {
    const crate_readout& crate = event.crates.crates[f.place];
    inspected_crate& to = all.emplace_back();
    to.number = crate.number;
    to.bytes = static_cast<std::uint32_t>(f.bytes.size());
    fragment_boards found = read_boards(f.bytes, crate, event.key);
    if (found.problem) to.problem = name_of(*found.problem);
    to.boards = std::move(found.boards);
    for (std::size_t b = 0; b < std::min(to.boards.size(), f.kept.size()); ++b)
      take_out(to.boards[b], f.kept[b]);
  }
  return all;
}

std::string why_no_summary(const found_event& event) {
  return !event.block                      ? "none in level-2 data: koto-l3 select shows a decision"
         : event.packed->summary_bytes > 0 ? "its summary has another version or is damaged"
                                           : "none ran";
}

std::vector<std::uint8_t> missing_crates(const found_event& event) {
  std::vector<std::uint8_t> missing;
  for (std::size_t place = 0; place < event.crates.size(); ++place)
    if (std::ranges::find(event.fragments, place, &found_fragment::place) == event.fragments.end())
      missing.push_back(event.crates.crates[place].number);
  return missing;
}

namespace {

inspected_channel channel_of(input_address at, const board_samples& board,
                             std::span<const std::uint16_t> samples, const detector* names) {
  inspected_channel c;
  c.at = at;
  c.kind = board.kind;
  c.samples = samples;
  if (names != nullptr && names->exists(at)) {
    const element& e = names->at(names->number_of(at));
    if (e.what != element::kind::none) c.name = names->name_of(e);
  }
  std::vector<std::uint16_t> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  c.most = sorted.back();
  c.pedestal = (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2.0;
  c.peak = static_cast<std::size_t>(std::ranges::max_element(samples) - samples.begin());
  return c;
}

bool begins_with_words(std::string_view name, std::string_view words) {
  return name.starts_with(words) && (name.size() == words.size() || name[words.size()] == ' ');
}

bool is_meant(const inspected_channel& c, const std::string& text) {
  const std::array levels{fmt::to_string(c.at.crate), fmt::format("{}/{}", c.at.crate, c.at.slot),
                          to_string(c.at)};
  return std::ranges::find(levels, text) != levels.end() ||
         (!c.name.empty() && begins_with_words(c.name, text));
}

} // namespace

std::vector<inspected_channel> channels_of(const std::vector<inspected_crate>& crates,
                                           const detector* names) {
  std::vector<inspected_channel> all;
  for (const inspected_crate& crate : crates)
    for (const board_samples& board : crate.boards)
      for (std::size_t c = 0; c < board.channels.size(); ++c) {
        if (board.channels[c].empty()) continue; // not kept
        all.push_back(channel_of({crate.number, board.slot, static_cast<std::uint8_t>(c)}, board,
                                 board.channels[c], names));
      }
  return all;
}

event_picture picture_of(const found_event& event, const std::vector<inspected_crate>& boards,
                         const detector& what) {
  if (const auto stored = packed_event_view::parse(event.stored))
    return picture_of(*stored, event.run, what);
  event_picture to{event.run, event.key};
  if (!missing_crates(event).empty()) to.flags |= event_incomplete;
  to.no_summary = why_no_summary(event);
  to.boards.resize(what.crates().boards());
  for (const inspected_crate& crate : boards)
    for (const board_samples& board : crate.boards) {
      if (board.opaque || board.wrong_words != 0) to.flags |= event_damaged;
      const input_address at{crate.number, board.slot, 0};
      if (board.opaque || board.wrong_words != 0 || !what.exists(at)) continue;
      board_waveforms& waveforms = to.boards[what.number_of(at) / detector::inputs_per_board];
      const std::size_t records = l2::waveforms_per_board / board.channels.size();
      for (std::size_t c = 0; c < board.channels.size(); ++c) {
        if (board.channels[c].empty()) continue;
        std::ranges::copy(board.channels[c],
                          waveforms.samples.data() + c * records * l2::waveform_samples);
        waveforms.records |= ((1U << records) - 1) << c * records;
      }
    }
  return to;
}

std::vector<inspected_channel> chosen_channels(const std::vector<inspected_channel>& all,
                                               const std::vector<std::string>& wanted) {
  std::vector<bool> chosen(all.size());
  for (const std::string& text : wanted) {
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_meant(all[i], text)) continue;
      chosen[i] = any = true;
    }
    if (!any)
      throw command_error(fmt::format("the event has no channel {}, or did not keep its waveform: "
                                      "give CRATE, CRATE/SLOT, CRATE/SLOT/CHANNEL, or a name of "
                                      "the detector such as \"crystal 17\" or CBAR",
                                      text));
  }
  std::vector<inspected_channel> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) result.push_back(all[i]);
  return result;
}

std::vector<inspected_channel> highest_channels(const std::vector<inspected_channel>& all,
                                                std::size_t count) {
  std::vector<inspected_channel> result = all;
  std::ranges::stable_sort(result, [](const inspected_channel& a, const inspected_channel& b) {
    return a.height() > b.height();
  });
  result.resize(std::min(count, result.size()));
  return result;
}

} // namespace l3
