// SPDX-License-Identifier: Apache-2.0
#include "config/way_text.hpp"

#include "config/endpoint.hpp"

namespace l3 {
namespace {

constexpr std::string_view to = " to ";

} // namespace

std::optional<link_way> read_way(std::string_view text) {
  const auto end = text.find(to);
  const std::string from(text.substr(0, end));
  if (!is_number(from)) return std::nullopt;
  if (end == text.npos) return link_way{from, {}};
  const std::string_view endpoint = text.substr(end + to.size());
  if (!is_endpoint(endpoint)) return std::nullopt;
  return link_way{from, std::string(endpoint)};
}

std::string show_way(const link_way& way) {
  return way.to.empty() ? way.from : way.from + std::string(to) + way.to;
}

} // namespace l3
