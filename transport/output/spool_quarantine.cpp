// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_quarantine.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include <fcntl.h>

#include "transport/store/store_reader.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {
constexpr mode_t file_mode = 0644;
constexpr std::string_view prefix = "spool-";
} // namespace

spool_quarantine::spool_quarantine(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (auto i = std::filesystem::directory_iterator(folder_, error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error)) {
    std::error_code vanished;
    const auto bytes = i->file_size(vanished);
    if (vanished) continue;
    const std::string name = i->path().filename().string();
    std::uint64_t segment = 0;
    if (name.starts_with(prefix)) {
      (void)std::from_chars(name.data() + prefix.size(), name.data() + name.size(), segment);
    }
    last_segment_ = std::max(last_segment_, segment);
    ++files_;
    bytes_ = std::min(most_bytes, bytes_ + bytes);
  }
}

bool spool_quarantine::keep(std::uint64_t segment, std::uint64_t offset, std::string_view kind,
                            std::span<const std::byte> bytes) {
  std::string name = store_file_path({}, segment, store_kind::spool).stem().string();
  name += "-at-" + std::to_string(offset) + '.';
  const auto path = folder_ / name.append(kind);
  std::error_code error;
  if (std::filesystem::exists(path, error)) return true;
  if (!has_room(bytes.size())) return false;
  std::filesystem::create_directory(folder_, error);
  const file_descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode));
  if (!file) return false;
  if (write_all(file.get(), 0, bytes)) {
    ::unlink(path.c_str());
    return false;
  }
  ++files_;
  bytes_ += bytes.size();
  return true;
}

} // namespace l3
