// SPDX-License-Identifier: Apache-2.0
// What koto-l3-bench asks the imagined device.
#include "bench/counts/device_counts.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

#include <cxxabi.h>

#include "tests/device/imagined_device.hpp"

namespace l3::bench {

namespace {

/// From the symbol of run_block<l3::measure_boards, …>(…): measure_boards.
std::string kernel_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (text == nullptr) return symbol;
  const std::string whole(text.get());
  const std::string_view before = "run_block<l3::";
  const std::size_t begin = whole.find(before);
  if (begin == std::string::npos) return whole;
  const std::string name = whole.substr(begin + before.size());
  return name.substr(0, name.find_first_of(",<>"));
}

} // namespace

std::vector<device_count> take_device_counts() {
  std::vector<device_count> taken;
  for (const auto& [symbol, c] : ptx::imagined_device::the_only_one().take_counts()) {
    if (c.launches == 0) continue;
    taken.push_back({kernel_name(symbol), c.warp_instructions, c.lane_instructions,
                     c.global_requests, c.global_sectors, c.shared_requests, c.shared_wavefronts,
                     c.shared_wavefronts_least, c.barriers});
  }
  return taken;
}

} // namespace l3::bench
