// SPDX-License-Identifier: Apache-2.0
#include "transport/store/expected_lanes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/spool.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace {

constexpr std::size_t places = 1024;

/// Those that are neither vacant nor damaged.
std::vector<spool_release> releases_in(const std::filesystem::path& file) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) return {};
  std::vector<std::byte> bytes(places * sizeof(spool_release));
  std::error_code error;
  bytes.resize(read_up_to(in.file.get(), 0, bytes, error));
  std::vector<spool_release> all;
  for (std::size_t at = 0; at + sizeof(spool_release) <= bytes.size();
       at += sizeof(spool_release)) {
    const auto e = load<spool_release>(bytes.data() + at);
    const spool_release ours;
    if (e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e))
      all.push_back(e);
  }
  return all;
}

} // namespace

expected_lanes::expected_lanes(std::filesystem::path spool)
    : folder_(std::move(spool)), noted_(noted_now()) {}

expected_lanes::lanes_by_session expected_lanes::noted_now() const {
  lanes_by_session lanes;
  for (const spool_release& e : releases_in(folder_ / spool_releases_name))
    if (e.waiting <= std::numeric_limits<std::uint64_t>::max() - e.sequence)
      lanes[e.session] = {e.sequence, e.sequence + e.waiting};
  return lanes;
}

void expected_lanes::note(const block_header& block) {
  const auto its = noted_.find(block.session);
  if (its == noted_.end()) return;
  if (block.sequence > its->second.released && block.sequence <= its->second.last)
    found_[block.session].insert(block.sequence);
}

std::vector<std::string> expected_lanes::faults() const {
  std::vector<std::string> all;
  const lanes_by_session now = noted_now();
  for (const auto& [session, before] : noted_) {
    const auto still = now.find(session);
    if (still == now.end()) continue;
    std::uint64_t first = std::max(before.released, still->second.released) + 1;
    std::uint64_t last = std::min(before.last, still->second.last);
    if (first > last) continue;
    std::set<std::uint64_t> there;
    if (const auto found = found_.find(session); found != found_.end())
      there = {found->second.lower_bound(first), found->second.upper_bound(last)};
    const std::uint64_t missing = last - first + 1 - there.size();
    if (missing == 0) continue;
    for (auto n = there.begin(); n != there.end() && *n == first; ++n) ++first;
    for (auto n = there.rbegin(); n != there.rend() && *n == last; ++n) --last;
    all.push_back(fmt::format("session {:016x} lacks {} blocks of the numbers {} to {} that {} "
                              "says were on disk",
                              session, missing, first, last, spool_releases_name));
  }
  return all;
}

} // namespace l3
