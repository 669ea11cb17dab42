// SPDX-License-Identifier: Apache-2.0
#include "tools/store/extraction.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace l3 {

namespace {

/// Finds events that a daemon's start got and stored again: the same key and the same bytes in
/// another session of the same run. An equal key in the same session is another event: spill
/// numbers wrap after 512 spills.
class repeat_finder {
public:
  repeat_finder(const std::filesystem::path& folder, const event_index& stored)
      : stored_(stored), reader_(folder) {}

  /// Does the like of this entry, whose event is at hand, stand before it?
  [[nodiscard]] bool is_repeat(const event_index::entry& e, std::span<const std::byte> bytes) {
    const auto same = stored_.find(e.key);
    return std::any_of(same.data(), &e, [&](const event_index::entry& before) {
      const bool another_start = before.session != e.session && run_of(before) == run_of(e);
      if (!another_start || before.bytes != e.bytes) return false;
      const auto event = reader_.read(before);
      return event && std::ranges::equal(event->bytes(), bytes);
    });
  }

private:
  [[nodiscard]] std::uint32_t run_of(const event_index::entry& e) const {
    return stored_.sessions()[e.session].run;
  }

  const event_index& stored_;
  event_reader reader_;
};

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
  repeat_finder repeats(store_folder, stored);
  std::vector<std::byte> fragment;
  for (const auto& e : stored.entries()) {
    const auto event = reader.read(e);
    if (!event) {
      ++result.damaged;
      continue;
    }
    if (repeats.is_repeat(e, event->bytes())) {
      ++result.repeats;
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
