// SPDX-License-Identifier: Apache-2.0
#include "config/readout_list.hpp"

#include <regex>

#include <fmt/format.h>

namespace l3 {

constexpr unsigned largest_crate = 255; // trailers give a crate 8 bits

std::variant<std::vector<crate_readout>, std::string> read_crates(std::string_view entry) {
  static const std::regex form(
      " *([0-9]{1,9}) *(- *([0-9]{1,9}))? *: *([0-9]{1,9}) *(x|×) *([0-9]{1,9}) *MHz *");
  std::cmatch part;
  if (!std::regex_match(entry.data(), entry.data() + entry.size(), part, form))
    return std::string(R"(is not like "0-10: 16 x 125 MHz" (crates: boards x sampling rate))");
  const auto number = [&](std::size_t n) { return std::stoul(part[n]); };
  const unsigned long first = number(1);
  const unsigned long last = part[3].matched ? number(3) : first;
  const unsigned long boards = number(4);
  const unsigned long megahertz = number(6);
  if (last < first) return "lists its crates in descending order";
  if (last > largest_crate) return fmt::format("names crate {}; crates are 0..255", last);
  if (boards < 1 || boards > l2::max_boards)
    return fmt::format("has {} boards; a crate has 1..{}", boards, l2::max_boards);
  if (megahertz != 125 && megahertz != 500)
    return fmt::format("samples at {} MHz; boards sample at 125 or 500 MHz", megahertz);
  std::vector<crate_readout> crates;
  for (unsigned long c = first; c <= last; ++c) {
    crates.push_back(
        {static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(boards),
         megahertz == 125 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz});
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
