// SPDX-License-Identifier: Apache-2.0
// Writing a store (docs/formats.md, section 9). What append() took survives the death of this
// process; what commit() took after it, with `sync`, survives the death of the machine. A full disk
// is a state, not an end: append() says so, leaves no half block behind, and may be tried again. A
// start finds out what is there: blocks behind a damaged place stay, but do not speak for those
// that the damage may have taken away (stored_numbers). A file or folder that other programs
// remove, move, cut or replace while it is written is noticed before anything in it is called
// stored: what can be read of it is written anew, and what is lost is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/stored_files.hpp"
#include "transport/store/stored_numbers.hpp"

namespace l3 {

struct store_settings {
  std::filesystem::path folder;
  std::uint64_t file_bytes = std::uint64_t{1}
                             << 30; ///< a file that has grown to this is followed by the next
  bool sync = false;                ///< commit() and the start wait for the disk
  block_file::flush_function flush = ::fdatasync; ///< how they do
  stop_question stop{}; ///< asked while the start reads files: true ends it with scan_stopped
};

/// What a store holds of one session.
struct stored_session {
  stored_numbers numbers;
  /// Its owner has shown its token. Then the numbers are those of the blocks for which it did.
  bool proven = false;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;    ///< of payload
  std::uint64_t repeated = 0; ///< events left out, because another session has stored them
};

/// What a writer has written.
struct store_tally {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint32_t run = 0; ///< of the last block
};

class store_writer {
public:
  /// Takes the folder for itself, scans it and sets torn tails aside. With `sync`, what it then
  /// says to be stored survives the death of the machine. Throws std::runtime_error that says what
  /// is wrong.
  explicit store_writer(store_settings settings);
  ~store_writer();
  store_writer(const store_writer&) = delete;
  store_writer& operator=(const store_writer&) = delete;

  /// Writes a whole, checked block that is not stored yet: its sequence number is above its
  /// session's last, and nothing between the two is missing.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block,
                                       const block_header& header);
  /// Before anything appended is acknowledged. If it fails, all that was appended since the last
  /// commit is taken back. It fails, too, when the names of the file and the folder do not lead any
  /// more to what was written: then what was committed before is in a new file, or counted as lost.
  [[nodiscard]] std::error_code commit();
  /// Commits, and looks for the files that should be there. No error: they all are, as they were.
  [[nodiscard]] std::error_code look();

  /// The owner of a session has shown its token: blocks that were stored as the session's without
  /// it are another peer's, and do not count as the owner's. True if there are such blocks.
  bool claim(std::uint64_t session);
  /// The store has blocks of this session whose sender had shown its token.
  [[nodiscard]] bool is_proven(std::uint64_t session) const;

  [[nodiscard]] const held_folder& folder() const { return folder_; }
  /// Blocks that were called stored, and whose files were removed, moved, cut or replaced since
  /// this writer began. They are in no session's sums.
  [[nodiscard]] const session_tallies& lost() const { return lost_; }
  /// What a person should know of such files, each told once.
  [[nodiscard]] std::vector<std::string> take_news() { return std::exchange(news_, {}); }
  /// Of a session whose daemon still has its blocks from `first` on: up to this one, each of them
  /// is stored.
  [[nodiscard]] std::uint64_t last_stored(std::uint64_t session, std::uint64_t first = 0) const;
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& sessions() const {
    return sessions_;
  }
  /// Since this writer began, without what may still be taken back.
  [[nodiscard]] const store_tally& committed() const { return committed_; }
  [[nodiscard]] std::uint32_t last_run() const { return appended_.run; } ///< of the last block
  [[nodiscard]] std::uint64_t torn_tails() const { return torn_tails_; } ///< set aside at the start
  /// Those that had to stay where they are, as on a full disk; the next start tries again.
  [[nodiscard]] std::uint64_t torn_tails_left() const { return torn_tails_left_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; } ///< places found at the start

private:
  void scan_file(std::uint64_t number, bool unchecked);
  [[nodiscard]] bool cut_off(std::uint64_t number, std::uint64_t good_end, std::uint64_t end);
  [[nodiscard]] bool is_marked(std::uint64_t number) const;
  void mark(std::uint64_t number, bool damage_stays);
  void flush(std::uint64_t number) const;
  void account(const block_header& header, bool behind_damage);
  [[nodiscard]] std::error_code open_next_file();
  void take_back();
  [[nodiscard]] std::error_code find_folder();
  [[nodiscard]] std::error_code write_anew();
  [[nodiscard]] std::error_code copy_blocks(block_file& to, std::vector<stored_block>& copied,
                                            session_tallies& lost) const;
  void count_lost(const session_tallies& lost);

  store_settings settings_;
  held_folder folder_;
  block_file file_;
  std::vector<stored_block> blocks_; ///< of the file, at most `most_blocks`
  stored_files closed_;
  session_tallies lost_;
  std::vector<std::string> news_;
  std::uint64_t next_number_ = 1;
  std::uint64_t committed_end_ = 0; ///< of the file
  std::map<std::uint64_t, stored_session> sessions_;
  std::map<std::uint64_t, stored_session>
      uncommitted_; ///< the sessions of new blocks, as they were before these
  store_tally appended_;
  store_tally committed_;
  std::uint64_t torn_tails_ = 0;
  std::uint64_t torn_tails_left_ = 0;
  std::uint64_t damaged_ = 0;
};

} // namespace l3
