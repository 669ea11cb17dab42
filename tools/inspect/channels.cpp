// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/channels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

namespace {

constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::size_t columns = 64;

/// The highest sample of each column.
std::vector<std::uint16_t> columns_of(const inspected_channel& c) {
  const std::size_t each = (c.samples.size() + columns - 1) / columns;
  std::vector<std::uint16_t> highest;
  for (std::size_t i = 0; i < c.samples.size(); i += each)
    highest.push_back(
        *std::ranges::max_element(c.samples.subspan(i, std::min(each, c.samples.size() - i))));
  return highest;
}

/// Level 0 … steps within the range of the waveform; noise of a few counts does not fill it.
int level_of(double value, const inspected_channel& c, int steps) {
  constexpr double least_range = 16;
  const double range = std::max<double>(c.most - c.least, least_range);
  return static_cast<int>(std::lround((value - c.least) / range * steps));
}

} // namespace

std::string line_drawing(const inspected_channel& c) {
  std::string line;
  for (const std::uint16_t sample : columns_of(c)) {
    const auto level = static_cast<std::size_t>(level_of(sample, c, 7));
    line += blocks[level + 1];
  }
  return line;
}

std::string block_drawing(const inspected_channel& c) {
  constexpr int lines = 8;
  const auto highest = columns_of(c);
  std::string text;
  for (int line = lines - 1; line >= 0; --line) {
    std::string label;
    if (line == lines - 1) label = fmt::to_string(c.most);
    if (line == 0) label = fmt::to_string(c.least);
    text += fmt::format("    {:>6} │", label);
    for (const std::uint16_t sample : highest) {
      const int level = level_of(sample, c, lines * 8 - 1) + 1;
      text += blocks[static_cast<std::size_t>(std::clamp(level - 8 * line, 0, 8))];
    }
    text += '\n';
  }
  return text + fmt::format("           └ 0 … {:.0f} ns\n",
                            c.step() * static_cast<double>(c.samples.size()));
}

} // namespace l3
