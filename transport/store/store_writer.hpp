// SPDX-License-Identifier: Apache-2.0
// Writes a store (docs/formats.md, section 9): a file for each run and node, several at a time, and
// a sidecar for each complete file. In each file, the first block of a session has the session's
// settings, if known, so a file can be read alone. Committed blocks survive the death of this
// process; with `sync` also a power cut. Without it they are flushed within seconds, and the next
// commit reports a failed flush; from then on commits flush, until one succeeds. A full disk is a
// state: append() returns the error, leaves no partial block, and may be called again. A start cuts
// off torn ends. Blocks after a damaged place stay, but do not prove that the blocks in it were
// stored (stored_numbers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/store/background_flush.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/file_contents.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/stored_sessions.hpp"

namespace l3 {

struct store_settings {
  std::filesystem::path folder;
  std::string software = "koto-l3"; ///< the file's writer, for sidecars
  std::uint64_t file_bytes = std::uint64_t{1}
                             << 30; ///< size at which a file is followed by the next one
  bool sync = false;                ///< commit() and the start flush, instead of a thread
  block_file::flush_function flush = ::fdatasync; ///< used for that
  stop_question stop{}; ///< called while the start reads files: true ends it with scan_stopped
  time_point (*now)() = steady_clock::now; ///< to find idle files
};

/// Counts of written blocks.
struct store_tally {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint32_t run = 0; ///< of the last block
};

class store_writer {
public:
  /// Locks the folder, scans it and cuts off torn ends. With `sync`, blocks that it reports as
  /// stored survive a power cut. Throws std::runtime_error with a text that says what is wrong.
  explicit store_writer(store_settings settings);
  ~store_writer();
  store_writer(const store_writer&) = delete;
  store_writer& operator=(const store_writer&) = delete;

  /// Writes a whole, checked block that is not stored yet: its number is above its session's last,
  /// and no number between them is missing.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block,
                                       const block_header& header);
  /// Call it before acknowledging appended blocks. If it fails, all blocks since the last commit
  /// are removed. It fails with `no_such_file_or_directory` if a file with new blocks was removed;
  /// this writer is then unusable.
  [[nodiscard]] std::error_code commit();
  /// The session has ended: its file is completed soon, unless more blocks come.
  void end_session(std::uint64_t session);
  /// Completes files that are idle for long, or soon after the end of a session. Call it without
  /// uncommitted blocks. Returns the error of an earlier flush, or of one of these files.
  [[nodiscard]] std::error_code complete_idle_files();
  /// Completes all files, before this writer ends or before the next block begins a new file.
  [[nodiscard]] std::error_code complete_all_files();

  [[nodiscard]] const held_folder& folder() const { return folder_; }
  /// News for a person, each once.
  [[nodiscard]] std::vector<std::string> take_news() { return std::exchange(news_, {}); }
  /// The last block such that all of the session's blocks up to it are stored. `first`: the first
  /// block that the daemon still has.
  [[nodiscard]] std::uint64_t last_stored(std::uint64_t session, std::uint64_t first = 0) const {
    const stored_session* found = sessions_.find(session);
    return found == nullptr ? 0 : found->numbers.last(first);
  }
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& sessions() const {
    return sessions_.all();
  }
  /// Since this writer began, without uncommitted blocks.
  [[nodiscard]] const store_tally& committed() const { return committed_; }
  [[nodiscard]] std::uint32_t last_run() const { return appended_.run; } ///< of the last block
  [[nodiscard]] std::uint64_t torn_ends() const { return torn_ends_; }   ///< cut off at the start
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; } ///< places found at the start
  /// Whether the disk failed to keep blocks that were committed.
  [[nodiscard]] bool has_doubtful_blocks() const { return has_doubtful_blocks_; }

private:
  struct open_file {
    file_owner owner;
    block_file file;
    std::optional<file_contents> contents; ///< nothing after blocks were removed: the file is read
    std::set<std::uint64_t> with_settings; ///< sessions with settings in it, or without settings
    std::uint64_t committed_end = 0;
    std::uint64_t flushed_end = 0; ///< given to the flushing thread
    bool is_doubtful = false;      ///< the disk may not have its committed blocks
    time_point used_at{};
    bool ended = false; ///< one of its sessions has ended
  };
  using open_files = std::list<open_file>; ///< few, with stable addresses

  // --- the start (store_start.cpp) ---

  void scan_file(const block_file_name& file);
  void cut_off(const std::string& name, std::uint64_t end);
  void flush(const std::string& name) const;
  void count_found(std::uint64_t number, const block_scan& scan);

  // --- new blocks and their files (store_writer.cpp) ---

  [[nodiscard]] std::vector<std::byte> settings_for(open_file& to, const block_header& block) const;
  [[nodiscard]] std::error_code file_for(const block_header& header, std::size_t bytes,
                                         open_files::iterator& to);
  [[nodiscard]] std::error_code open_next_file(const file_owner& owner, open_files::iterator& to);
  [[nodiscard]] std::error_code close_file(open_files::iterator file);
  void complete(std::uint64_t number, std::optional<file_contents> contents);
  [[nodiscard]] std::error_code try_to_complete(std::uint64_t number,
                                                const file_contents& contents);
  void take_back();
  [[nodiscard]] std::error_code fault_of_flushes();
  void doubt(open_file& file);

  store_settings settings_;
  held_folder folder_;
  open_files open_;
  std::vector<std::string> news_;
  std::uint64_t next_number_ = 1;
  stored_sessions sessions_;
  store_tally appended_;
  store_tally committed_;
  std::uint64_t torn_ends_ = 0;
  std::uint64_t damaged_ = 0;
  bool has_doubtful_blocks_ = false;
  bool flushes_fail_ = false; ///< the last flush of the thread, or of a commit after it, failed
  std::optional<background_flush> flushing_; ///< without `sync`
};

} // namespace l3
