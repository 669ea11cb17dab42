// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_quarantine.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace l3 {

spool_quarantine::spool_quarantine(std::filesystem::path folder) : folder_(std::move(folder)) {
  constexpr std::string_view prefix = "spool-";
  std::error_code error;
  for (auto i = std::filesystem::directory_iterator(folder_, error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error)) {
    std::error_code vanished;
    const auto bytes = i->file_size(vanished);
    if (vanished) continue;
    const std::string name = i->path().filename().string();
    std::uint64_t segment = 0;
    if (name.starts_with(prefix))
      (void)std::from_chars(name.data() + prefix.size(), name.data() + name.size(), segment);
    last_segment_ = std::max(last_segment_, segment);
    ++files_;
    bytes_ = std::min(most_bytes, bytes_ + bytes);
  }
}

bool spool_quarantine::keep(const std::filesystem::path& segment, const damaged_stretch& what,
                            std::string_view kind) {
  const auto name = segment.stem().string() + "-at-" + std::to_string(what.offset) + '.';
  const auto path = folder_ / (name + std::string(kind));
  std::error_code error;
  if (std::filesystem::exists(path, error)) return true;
  if (!has_room(what.bytes)) return false;
  std::filesystem::create_directory(folder_, error);
  if (set_aside(segment, what.offset, what.bytes, path)) return false;
  ++files_;
  bytes_ += what.bytes;
  return true;
}

} // namespace l3
