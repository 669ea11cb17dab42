// SPDX-License-Identifier: Apache-2.0
// What a store does when a person or another program has removed, moved, cut or replaced its files
// or its folder: the open file still has its bytes, and they are written anew.
#include <utility>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_writer.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

std::string text_of(const session_tallies& lost) {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t told = 0;
  for (const auto& [session, b] : lost) {
    if (told++ == most) return text + ", and more in the ledger";
    if (!text.empty()) text += ", ";
    text += std::to_string(b.blocks) + " blocks with " + std::to_string(b.events) +
            " events of session " + session_text(session) + " (numbers " + std::to_string(b.first) +
            " to " + std::to_string(b.last) + ")";
  }
  return text;
}

} // namespace

/// A folder that was removed or moved away is made again. Something else that has its name stays:
/// it may be the place where a file system was mounted.
std::error_code store_writer::find_folder() {
  const auto fault = folder_.check();
  if (!fault) return {};
  if (fault != name_fault::folder_gone) return fault;
  std::error_code error;
  held_folder made = folder_.made_anew(error);
  if (error) return error;
  folder_ = std::move(made);
  news_.push_back(settings_.folder.string() + ": " + fault.message() + ", and is made again");
  return {};
}

std::error_code store_writer::write_anew() {
  if (const auto error = find_folder()) return error;
  const auto why = file_.is_open() ? file_.check(folder_) : std::error_code();
  if (!why) return {};
  block_file fresh;
  std::vector<stored_block> copied;
  session_tallies lost;
  auto error =
      fresh.open(folder_, next_number_, store_kind::store, settings_.sync ? ::fsync : nullptr);
  // A name that is taken is not tried for ever.
  if (!error || error == std::errc::file_exists) ++next_number_;
  if (error) return error;
  error = copy_blocks(fresh, copied, lost);
  if (!error && settings_.sync) error = fresh.flush(settings_.flush);
  if (!error) error = fresh.check(folder_);
  if (error) { // the open file keeps them for another attempt
    (void)folder_.remove(fresh.name());
    return error;
  }
  // A file that was only cut, or written to, has its name still: its blocks would be there twice.
  const auto old = folder_.look(file_.name());
  if (old && old->who == file_.identity()) (void)folder_.remove(file_.name());
  news_.push_back((settings_.folder / file_.name()).string() + ": " + why.message() +
                  " while it was written; " + std::to_string(copied.size()) +
                  " blocks that it held are now in " + fresh.name() +
                  " (do not put it back): no other program may touch the files of a store");
  file_ = std::move(fresh);
  blocks_ = std::move(copied);
  committed_end_ = file_.end();
  count_lost(lost);
  return {};
}

/// An error is one of the new file: what cannot be read of the old one is lost.
std::error_code store_writer::copy_blocks(block_file& to, std::vector<stored_block>& copied,
                                          session_tallies& lost) const {
  std::vector<std::byte> bytes;
  for (const stored_block& b : blocks_) {
    block_header header;
    bytes.resize(b.end() - b.offset);
    if (read_all(file_.descriptor()->get(), b.offset, bytes) ||
        check_block(bytes, header) != block_fault::none ||
        header.header_crc != b.header.header_crc) {
      lost[b.header.session].add(b.header);
      continue;
    }
    const std::uint64_t offset = to.end();
    if (const auto error = to.append(bytes)) return error;
    copied.push_back({b.header, to.number(), offset});
  }
  return {};
}

void store_writer::count_lost(const session_tallies& lost) {
  if (lost.empty()) return;
  for (const auto& [session, blocks] : lost) {
    stored_session& s = sessions_[session];
    s.blocks -= blocks.blocks;
    s.events -= blocks.events;
    s.bytes -= blocks.bytes;
    s.repeated -= blocks.repeated;
  }
  add(lost_, lost);
  news_.push_back("lost although they were called stored: " + text_of(lost));
}

/// The signal that ends a program asks for its ledger, and so for this look: it does not end the
/// reading.
std::error_code store_writer::look() {
  auto error = commit();
  if (error) error = commit(); // the first may have put things in their places
  if (const auto fault = folder_.check()) return fault;
  const auto gone = closed_.look(folder_);
  for (const std::string& file : gone.files) news_.push_back((settings_.folder / file).string());
  count_lost(gone.blocks);
  if (error || gone.blocks.empty()) return error;
  return name_fault::file_gone;
}

} // namespace l3
