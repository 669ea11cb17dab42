// SPDX-License-Identifier: Apache-2.0
#include "config/fault_text.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "config/amount.hpp"

namespace l3 {
namespace {

constexpr std::array<std::pair<std::string_view, fault_kind>, 9> kinds{
    {{"", fault_kind::none},
     {"no_memory", fault_kind::no_memory},
     {"error", fault_kind::error},
     {"no_restart", fault_kind::no_restart},
     {"dead", fault_kind::dead},
     {"lost", fault_kind::lost},
     {"hang", fault_kind::hang},
     {"stall", fault_kind::stall},
     {"wrong_bit", fault_kind::wrong_bit}}};

bool hits_frames(fault_kind k) { return k != fault_kind::none && k != fault_kind::no_memory; }

bool hangs(fault_kind k) { return k == fault_kind::hang || k == fault_kind::stall; }

/// Removes and returns the text before the next colon.
std::string_view next_part(std::string_view& text) {
  const auto colon = text.find(':');
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(colon == text.npos ? text.size() : colon + 1);
  return part;
}

std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n == 0) return std::nullopt;
  return n;
}

} // namespace

std::optional<fault_plan> read_fault(std::string_view text) {
  fault_plan plan;
  const std::string_view kind = next_part(text);
  bool known = false;
  for (const auto& [name, k] : kinds) {
    if (name != kind) continue;
    plan.kind = k;
    known = true;
  }
  if (!known) return std::nullopt;
  while (!text.empty()) {
    const std::string_view part = next_part(text);
    const auto equals = part.find('=');
    if (equals == part.npos) return std::nullopt;
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (name == "for" && hangs(plan.kind) && plan.lasts.count() == 0) {
      const auto time = read_amount(value, dimension::duration);
      if (!time || *time == 0) return std::nullopt;
      plan.lasts = std::chrono::nanoseconds(static_cast<std::int64_t>(*time));
      continue;
    }
    const auto n = read_count(value);
    if (!n || plan.every + plan.at + plan.from != 0) return std::nullopt;
    if (name == "every") {
      plan.every = *n;
    } else if (name == "at") {
      plan.at = *n;
    } else if (name == "from") {
      plan.from = *n;
    } else {
      return std::nullopt;
    }
  }
  const bool names_frames = plan.every + plan.at + plan.from != 0;
  if (names_frames != hits_frames(plan.kind)) return std::nullopt;
  return plan;
}

} // namespace l3
