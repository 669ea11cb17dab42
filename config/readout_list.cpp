// SPDX-License-Identifier: Apache-2.0
#include "config/readout_list.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr unsigned largest_crate = 255; // trailers give a crate 8 bits

// Reads an entry from left to right. Each step returns whether the text continues as expected.
class scanner {
public:
  explicit scanner(std::string_view text) : rest_(text) {}

  std::optional<unsigned> number() {
    skip_spaces();
    unsigned n = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return n;
  }
  bool word(std::string_view expected) {
    skip_spaces();
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

private:
  void skip_spaces() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

} // namespace

std::variant<std::vector<crate_readout>, std::string> read_crates(std::string_view entry) {
  const std::string shape = R"(is not like "0-10: 16 x 125 MHz" (crates: boards x sampling rate))";
  scanner s(entry);
  const auto first = s.number();
  if (!first) return shape;
  auto last = first;
  if (s.word("-")) last = s.number();
  if (!last || !s.word(":")) return shape;
  const auto boards = s.number();
  if (!boards || !(s.word("x") || s.word("×"))) return shape;
  const auto megahertz = s.number();
  if (!megahertz || !s.word("MHz") || !s.at_end()) return shape;

  if (*last < *first) return "lists its crates in descending order";
  if (*last > largest_crate) return fmt::format("names crate {}; crates are 0..255", *last);
  if (*boards < 1 || *boards > l2::max_boards)
    return fmt::format("has {} boards; a crate has 1..{}", *boards, l2::max_boards);
  if (*megahertz != 125 && *megahertz != 500)
    return fmt::format("samples at {} MHz; boards sample at 125 or 500 MHz", *megahertz);
  std::vector<crate_readout> crates;
  for (unsigned c = *first; c <= *last; ++c) {
    crates.push_back(
        {static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(*boards),
         *megahertz == 125 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz});
  }
  return crates;
}

std::vector<std::string> show_crates(const readout& crates) {
  std::vector<std::string> entries;
  const auto& all = crates.crates;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end].number == all[end - 1].number + 1 &&
           all[end].boards == all[i].boards && all[end].kind == all[i].kind) {
      ++end;
    }
    const auto last = end - i > 1 ? fmt::format("-{}", all[end - 1].number) : "";
    entries.push_back(fmt::format("{}{}: {} x {} MHz", all[i].number, last, all[i].boards,
                                  all[i].kind == board_kind::sampling_125_mhz ? 125 : 500));
    i = end;
  }
  return entries;
}

} // namespace l3
