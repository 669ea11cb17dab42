// SPDX-License-Identifier: Apache-2.0
// The start of a writer repairs a store: it cuts off torn ends, removes files without a valid
// block, and completes files without their final name and sidecar.
// without a good block is removed, and a file that was left without its name and sidecar gets them.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path,
                       const std::error_code& error = last_error()) {
  throw std::runtime_error(what + path.string() + ": " + error.message());
}

} // namespace

store_writer::store_writer(store_settings settings)
    : settings_(std::move(settings)), folder_(settings_.folder, "receiver") {
  const auto files = block_files_in(settings_.folder);
  for (const block_file_name& f : files) scan_file(f);
  if (const auto error = settings_.sync ? flush_folder(folder_.get()) : std::error_code())
    fail("cannot flush the folder ", settings_.folder, error);
  if (!settings_.sync) flushing_.emplace(settings_.flush);
  committed_ = appended_;
  next_number_ = files.empty() ? 1 : files.back().number + 1;
  if (next_number_ > highest_file_number / 2)
    throw std::runtime_error(settings_.folder.string() + ": a file has the number " +
                             std::to_string(next_number_ - 1) +
                             ", which leaves too few for later files: move it away");
}

/// Complete files were flushed before they got their names, so their headers are enough. In other
/// files, a power cut may have left blocks whose bytes never reached the disk.
void store_writer::scan_file(const block_file_name& file) {
  const std::uint64_t number = file.number;
  const std::string name = file.text();
  const auto scan =
      scan_block_file(folder_, file, store_kind::store, !file.complete, settings_.stop);
  damaged_ += scan.stepped_over;
  bool is_whole = scan.stepped_over == 0;
  for (const auto& stretch : scan.damaged) {
    if (!stretch.has_header) continue;
    ++damaged_;
    is_whole = is_whole && stretch.offset >= scan.good_end;
  }
  // An unreadable end may have acknowledged blocks.
  if (scan.good_end < scan.bytes && !scan.readable)
    throw std::runtime_error("cannot read " + (settings_.folder / name).string() +
                             ": the disk cannot read a part of it");
  count_found(number, scan);
  if (file.complete) return;
  const bool is_torn = scan.good_end != scan.bytes || scan.bytes == 0;
  torn_ends_ += is_torn ? 1 : 0;
  if (scan.blocks.empty()) {
    if (folder_.remove(name) != 0) fail("cannot remove ", settings_.folder / name);
    return;
  }
  if (is_torn) cut_off(name, scan.good_end);
  if (settings_.sync) flush(name);
  if (is_whole) complete(number, read_contents(folder_, file, settings_.stop));
}

void store_writer::cut_off(const std::string& name, std::uint64_t end) {
  std::error_code error;
  const file_descriptor file = folder_.open(name, O_RDWR, error);
  if (!error && ::ftruncate(file.get(), static_cast<off_t>(end)) != 0) error = last_error();
  if (error) fail("cannot cut off the torn end of ", settings_.folder / name, error);
}

void store_writer::count_found(std::uint64_t number, const block_scan& scan) {
  for (const auto& block : scan.blocks) {
    const block_header& h = block.header;
    stored_session& s = sessions_.add_found(h, block.behind_damage);
    s.file = number;
    appended_.run = h.run;
    if (h.settings_bytes == 0) continue;
    s.settings_file = number;
    s.settings_offset = block.offset;
  }
}

/// A killed receiver may have left blocks only in the system's memory, and blocks counted now will
/// be acknowledged.
void store_writer::flush(const std::string& name) const {
  std::error_code error;
  const file_descriptor file = folder_.open(name, O_RDONLY, error);
  if (!error && settings_.flush(file.get()) != 0) error = last_error();
  if (error) fail("cannot flush ", settings_.folder / name, error);
}

} // namespace l3
