// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/incomplete_line.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr std::size_t most_named = 4;

struct share {
  std::uint64_t events;
  unsigned crate;
};

/// The increase per crate, the largest first.
template <class Count>
std::vector<share> shares_of(const Count& count, std::array<std::uint64_t, most_crates>& told,
                             const readout& crates) {
  std::vector<share> all;
  for (std::size_t c = 0; c < crates.size(); ++c) {
    const std::uint64_t now = count(c);
    const std::uint64_t more = now - std::exchange(told[c], now);
    if (more != 0) all.push_back({more, crates.crates[c].number});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &share::events);
  return all;
}

/// "58 lack crate 11, 2 crate 3 and 9 more crates".
std::string text_of(std::span<const share> all, std::string_view verb) {
  std::string text;
  for (const share& s : all.first(std::min(all.size(), most_named)))
    text += fmt::format("{}{}{} crate {}", text.empty() ? "" : ", ", s.events,
                        text.empty() ? verb : "", s.crate);
  if (all.size() > most_named) text += fmt::format(" and {} more crates", all.size() - most_named);
  return text;
}

} // namespace

std::optional<std::string> incomplete_line::look(const building_counters& counted, bool spill_ended,
                                                 time_point now) {
  const std::uint64_t events = counted.events_incomplete;
  if (events == events_) return std::nullopt;
  if (!since_) since_ = now;
  if (!spill_ended && now - *since_ < longest_wait) return std::nullopt;
  since_.reset();
  std::string text = fmt::format("{} events incomplete", events - std::exchange(events_, events));
  auto add = [&, mark = ": "](const auto& count, by_crate& told, std::string_view verb) mutable {
    const std::string more = text_of(shares_of(count, told, crates_), verb);
    if (!more.empty()) text += std::exchange(mark, "; ") + more;
  };
  add([&](std::size_t c) { return counted.fragments_missing[c]; }, missing_, " lack");
  add([&](std::size_t c) { return counted.fragments_malformed.of(c).sum(); }, malformed_,
      " have a malformed fragment of");
  add([&](std::size_t c) { return counted.fragments_alone[c]; }, alone_,
      " were sent by few crates, among them");
  return text;
}

} // namespace l3
