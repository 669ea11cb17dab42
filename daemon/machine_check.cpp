// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "daemon/memory_plan.hpp"
#include "daemon/words.hpp"
#include "transport/outbox/spool.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t least_share_told = 50; // of the memory plan: one in so many

std::string wrong_with_spool(const spool_settings& s) {
  if (s.folder.empty()) return {};
  const std::string wrong = wrong_with_spool_folder(s.folder);
  return wrong.empty() ? wrong : fmt::format("spool.folder = {}: {}", s.folder, wrong);
}

/// The configuration key that determines the size of an entry of the memory plan.
std::string_view key_behind(std::string_view use) {
  struct rule {
    std::string_view begins;
    std::string_view key;
  };
  static constexpr std::array rules{
      rule{"shadow menu", "selection.shadow"},
      rule{"outbox", "outbox.memory"},
      rule{"blocks on their way", "outbox.block"},
      rule{"index of blocks on disk", "spool.size"},
      rule{"connections of senders", "tcp.max_connections"},
      rule{"histograms", "histograms.one_in"},
      rule{"parked events", "building.parked_events"},
      rule{"tables of event building", "building.max_events_per_spill"},
  };
  for (const rule& r : rules)
    if (use.starts_with(r.begins)) return r.key;
  return "frames.count and frames.events";
}

} // namespace

std::string wrong_with_memory(const daemon_settings& s, const found_devices& devices,
                              const memory_limit& limit) {
  const std::vector<memory_use> plan = memory_plan_of(s, devices);
  const std::uint64_t needed = sum_of(plan);
  if (needed <= limit.bytes) return {};
  std::vector<memory_use> by_key;
  for (const memory_use& use : plan) {
    const std::string_view key = key_behind(use.what);
    const auto same = std::ranges::find(by_key, key, &memory_use::what);
    if (same != by_key.end())
      same->bytes += use.bytes;
    else
      by_key.push_back({std::string(key), use.bytes});
  }
  std::ranges::stable_sort(by_key, std::ranges::greater{}, &memory_use::bytes);
  std::string list;
  for (const memory_use& use : by_key)
    if (use.bytes >= needed / least_share_told)
      list +=
          fmt::format("{}{} for {}", list.empty() ? "" : ", ", size_in_words(use.bytes), use.what);
  return fmt::format("the configuration needs {} of memory or more ({}), and {} has {}: lower {}",
                     size_in_words(needed), list, limit.whose, size_in_words(limit.bytes),
                     by_key.front().what);
}

std::vector<std::string> wrong_with_node(const daemon_settings& s) {
  std::vector<std::string> wrong{wrong_with_outbox(s), wrong_with_spool(s.spool)};
  std::erase(wrong, "");
  return wrong;
}

} // namespace l3
