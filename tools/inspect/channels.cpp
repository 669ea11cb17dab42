// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/channels.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tools/command_error.hpp"

namespace l3 {
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
  c.least = sorted.front();
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
