// SPDX-License-Identifier: Apache-2.0
#include "tools/store/extraction.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace l3 {

namespace {

/// The same event of the same run stands before this entry: a daemon's start that got it again
/// stored it again.
bool is_repeat(const event_index& stored, const event_index::entry& e) {
  const auto run_of = [&](const auto& entry) { return stored.sessions()[entry.session].run; };
  const auto same = stored.find(e.key);
  return std::any_of(same.data(), &e,
                     [&](const auto& before) { return run_of(before) == run_of(e); });
}

} // namespace

extraction extract(const std::filesystem::path& store_folder, const event_index& stored,
                   const std::filesystem::path& out,
                   const std::function<void(std::uint64_t)>& progress) {
  extraction result;
  result.damaged = stored.damaged();
  std::ofstream file(out, std::ios::binary | std::ios::trunc);
  const auto check = [&] {
    if (!file)
      throw std::runtime_error("cannot write " + out.string() + ": " + std::strerror(errno));
  };
  check();
  event_reader reader(store_folder);
  std::vector<std::byte> fragment;
  for (const auto& e : stored.entries()) {
    if (is_repeat(stored, e)) {
      ++result.repeats;
      continue;
    }
    const auto event = reader.read(e);
    if (!event) {
      ++result.damaged;
      continue;
    }
    for (std::uint32_t i = 0; i < event->fragments(); ++i) {
      rebuild_fragment(*event, i, fragment);
      file.write(reinterpret_cast<const char*>(fragment.data()),
                 static_cast<std::streamsize>(fragment.size()));
      ++result.fragments;
      result.bytes += fragment.size();
    }
    check();
    ++result.events;
    if (progress) progress(result.events);
  }
  file.flush();
  check();
  return result;
}

} // namespace l3
