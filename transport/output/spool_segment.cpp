// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_segment.hpp"

#include <fcntl.h>

#include "transport/format/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr mode_t file_mode = 0644;

/// So that the file's name survives the machine too.
std::error_code flush_folder(const std::filesystem::path& folder,
                             spool_segment::flush_function flush) {
  const file_descriptor names(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return names && flush(names.get()) == 0 ? std::error_code() : last_error();
}

} // namespace

std::error_code spool_segment::open(const std::filesystem::path& folder, std::uint64_t number,
                                    flush_function flush) {
  const auto path = store_file_path(folder, number, store_kind::spool);
  file_descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode));
  if (!file) return last_error();
  store_file_header head;
  head.number = number;
  auto error = write_all(file.get(), 0, std::as_bytes(std::span(&head, 1)));
  if (!error && flush != nullptr) error = flush_folder(folder, flush);
  if (error) {
    ::unlink(path.c_str());
    return error;
  }
  file_ = std::move(file);
  flush_ = flush;
  number_ = number;
  end_ = sizeof head;
  sound_ = true;
  return {};
}

std::error_code spool_segment::append(std::span<const std::byte> block) {
  auto error = write_all(file_.get(), end_, block);
  // For want of room nothing is wrong with the file. After a failed flush nobody knows what of it
  // is on the disk, and a second flush would not tell.
  if (error && error != std::errc::no_space_on_device) sound_ = false;
  if (!error && flush_ != nullptr && flush_(file_.get()) != 0) {
    error = last_error();
    sound_ = false;
  }
  if (!error) {
    end_ += block.size();
  } else if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) {
    sound_ = false;
  }
  return error;
}

bool remove_segment(const std::filesystem::path& folder, std::uint64_t number) {
  return ::unlink(store_file_path(folder, number, store_kind::spool).c_str()) == 0;
}

} // namespace l3
