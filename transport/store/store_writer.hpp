// SPDX-License-Identifier: Apache-2.0
// Writing a store (docs/formats.md, section 9): a file for each run and node, several at a time,
// and a sidecar for each that is complete. In each file, the first block of a session holds the
// session's settings, if it has told them: a file can be read without the others. What append()
// took survives the death of this process; what commit() took after it, with `sync`, survives the
// death of the machine. A full disk is a state, not an end: append() says so, leaves no half block
// behind, and may be tried again. A start finds out what is there: blocks behind a damaged place
// stay, but do not speak for those that the damage may have taken away (stored_numbers). A file or
// folder that other programs remove, move, cut or replace while it is written is noticed before
// anything in it is called stored: what can be read of it is written anew, and what is lost is
// counted.
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
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/store/block_copies.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/file_completion.hpp"
#include "transport/store/file_contents.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/stored_files.hpp"
#include "transport/store/stored_sessions.hpp"
#include "transport/system/growing_pause.hpp"

namespace l3 {

struct store_settings {
  std::filesystem::path folder;
  std::string software = "koto-l3"; ///< what sidecars say that wrote the file
  std::uint64_t file_bytes = std::uint64_t{1}
                             << 30; ///< a file that has grown to this is followed by the next
  bool sync = false;                ///< commit() and the start wait for the disk
  block_file::flush_function flush = ::fdatasync; ///< how they do
  stop_question stop{}; ///< asked while the start reads files: true ends it with scan_stopped
  time_point (*now)() = steady_clock::now; ///< for the pause between two rescues
  /// Asked while a look reads files that other programs have touched, or a commit writes files
  /// anew, once a block and once a MiB: true ends this part of it. `began` is when the look, or the
  /// commit, began.
  bool (*has_read_enough)(time_point began) = [](time_point began) {
    return steady_clock::now() >= began + std::chrono::milliseconds(100);
  };
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
  /// Where the block lies that append() took last.
  [[nodiscard]] const stored_block& last_appended() const { return last_appended_; }
  /// Before anything appended is acknowledged. If it fails, all that was appended since the last
  /// commit is taken back. It fails, too, when the names of the file and the folder do not lead any
  /// more to what was written: then what was committed before goes into a new file, or is counted
  /// as lost. It goes there in steps, one a commit, which fails until all of it is there.
  [[nodiscard]] std::error_code commit() { return commit(look_is_long_enough()); }
  /// Open files that have to be written anew, and are not yet.
  [[nodiscard]] std::size_t to_write_anew() const { return to_write_anew_.size(); }
  /// This writer comes to its end: writes them anew until `enough` says so. What is not written
  /// then is lost, and counted.
  void write_rest_anew(const stop_question& enough);
  /// A session has come to its end: what is in its file is complete soon, unless more comes.
  void end_session(std::uint64_t session);
  /// Completes the files to which nothing was added for long, or soon after the end of a session.
  /// With nothing uncommitted.
  void complete_idle_files();
  /// Completes all: this writer comes to its end, or a block that comes begins a new file.
  [[nodiscard]] std::error_code complete_all_files();
  /// Files that are complete, and could not get their sidecars or names yet, or have to be read
  /// first. The next start completes what this writer does not.
  [[nodiscard]] std::size_t files_to_complete() const { return completion_.left(); }
  /// These: some of their blocks were taken back. Each look reads a step of one.
  [[nodiscard]] std::size_t files_to_read() const { return completion_.to_read(); }

  /// Commits, and looks for the files that should be there. No error: they all are, as they were,
  /// but for those that are not read yet. What other programs have touched is read in steps, one a
  /// look, and counts as what it was until then.
  [[nodiscard]] std::error_code look();
  /// Files that have to be read before it is known whether they are as they were.
  [[nodiscard]] std::size_t unread() const;
  /// These, and what is more than the manifest lists: the oldest files.
  [[nodiscard]] std::size_t not_compared() const;

  [[nodiscard]] const held_folder& folder() const { return folder_; }
  [[nodiscard]] const store_names& names() const { return names_; }
  /// Blocks that were called stored, and whose files were removed, moved, cut or replaced, since
  /// this writer began or while none was there. They are in no session's sums.
  [[nodiscard]] const session_tallies& lost() const { return lost_; }
  /// A ledger tells what is lost or not known: the next writer does not tell it again.
  void forget_losses();
  /// How often what was stored was written anew: it lies elsewhere then.
  [[nodiscard]] std::uint64_t times_moved() const { return times_moved_; }
  /// What a person should know of such files, each told once.
  [[nodiscard]] std::vector<std::string> take_news() { return std::exchange(news_, {}); }
  /// Of a session whose daemon still has its blocks from `first` on: up to this one, each of them
  /// is stored.
  [[nodiscard]] std::uint64_t last_stored(std::uint64_t session, std::uint64_t first = 0) const {
    const stored_session* found = sessions_.find(session);
    return found == nullptr ? 0 : found->numbers.last(first);
  }
  /// As of stored_files.
  [[nodiscard]] std::uint64_t last_archived(std::uint64_t session) const {
    return closed_.last_archived(session);
  }
  [[nodiscard]] const std::map<std::uint64_t, stored_session>& sessions() const {
    return sessions_.all();
  }
  /// Since this writer began, without what may still be taken back.
  [[nodiscard]] const store_tally& committed() const { return committed_; }
  [[nodiscard]] std::uint32_t last_run() const { return appended_.run; } ///< of the last block
  [[nodiscard]] std::uint64_t torn_tails() const { return torn_tails_; } ///< set aside at the start
  /// Those that had to stay where they are, as on a full disk; the next start tries again.
  [[nodiscard]] std::uint64_t torn_tails_left() const { return torn_tails_left_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; } ///< places found at the start
  /// Files that are not what their sidecars said at the start, or that were made longer or shorter
  /// since, though they have all their blocks; files with blocks that nobody reads, because others
  /// have their names; and files that nobody reads, because another one has their number, as of the
  /// start or of the last find_unread_files().
  [[nodiscard]] std::uint64_t not_as_written() const {
    return not_as_written_ + closed_.altered() + unread_files_.size();
  }
  /// Lists the folder.
  void find_unread_files();

private:
  struct open_file {
    file_owner owner;
    block_file file;
    std::vector<stored_block> blocks;      ///< `stored_files::most_blocks` in all open files
    std::optional<file_contents> contents; ///< none after blocks were taken back: it is read
    std::set<std::uint64_t> with_settings; ///< sessions that have theirs in it, or have none
    std::uint64_t committed_end = 0;
    time_point used_at{};
    bool ended = false;        ///< a session that is in it has come to its end
    std::size_t examined = 0;  ///< blocks that were read since another program touched it last
    std::uint64_t touches = 0; ///< as often as it was touched then
  };
  using open_files = std::list<open_file>; ///< few, and they stay where they are
  /// What an open file held on its way into a new one.
  struct new_copy {
    std::uint64_t of = 0; ///< number of the old file
    open_file to;
    std::size_t next = 0; ///< of the old file's blocks
    session_tallies lost; ///< of those before it
  };

  // --- the start (store_start.cpp) ---

  void scan_file(const block_file_name& name, bool unchecked);
  [[nodiscard]] bool cut_off(std::uint64_t number, std::uint64_t good_end, std::uint64_t end);
  [[nodiscard]] std::optional<file_look> look_for(const std::string& name) const;
  [[nodiscard]] bool is_marked(std::uint64_t number) const;
  void mark(std::uint64_t number, bool damage_stays);
  void flush(const std::string& name) const;
  void complete_found(const block_file_name& name);
  void restore_sidecar(const block_file_name& file);
  void count_found(const block_file_name& file, const block_scan& scan);
  void compare_with_sidecar(const block_file_name& file, const block_scan& scan,
                            std::uint64_t blocks);
  void find_other_blocks();
  /// Those that are not in `told`. Of very many not all, but how many more there are; `others` is
  /// what these do.
  void tell_of_files(const std::vector<std::string>& sentences,
                     const std::vector<std::string>& told, std::string_view others);

  // --- blocks that come, and their files (store_writer.cpp) ---

  [[nodiscard]] std::vector<std::byte> settings_for(open_file& to, const block_header& block) const;
  void note_settings(open_file& in, const stored_block& block);
  [[nodiscard]] std::error_code file_for(const block_header& header, std::size_t bytes,
                                         open_files::iterator& to);
  [[nodiscard]] std::error_code make_room(file_owner& wanted);
  [[nodiscard]] std::error_code open_next_file(const file_owner& owner, open_files::iterator& to);
  [[nodiscard]] std::error_code close_file(open_files::iterator file);
  [[nodiscard]] bool may_end_early();
  [[nodiscard]] std::error_code check_files() const;
  [[nodiscard]] std::error_code commit(const stop_question& enough);
  void add_to_list(const open_file& of);
  void take_back();

  // --- files that other programs touch (store_rescue.cpp) ---

  [[nodiscard]] std::error_code find_folder();
  [[nodiscard]] std::error_code write_anew(const stop_question& enough);
  [[nodiscard]] std::error_code write_anew(open_file& old, const std::error_code& why,
                                           const stop_question& enough);
  void put_in_place_of(open_file& old, const std::error_code& why);
  void abandon_copy();
  void give_up(open_files::iterator file, const std::error_code& why);
  /// No error: the block is in the file as it was written there. `file_changed`: it is not. Any
  /// other: the disk refuses it.
  [[nodiscard]] static std::error_code read_back(const open_file& from, const stored_block& b,
                                                 std::vector<std::byte>& bytes);
  static void examine(open_file& f, const stop_question& enough);
  [[nodiscard]] std::error_code copy_blocks(const open_file& from, new_copy& copy,
                                            const stop_question& enough);
  [[nodiscard]] stop_question look_is_long_enough() const;
  void compare_with_manifest();
  void save_list(bool check);
  void tell(const stored_files::loss& gone);
  void tell_what_is_unread();
  void count_lost(const session_tallies& lost);
  void take_up(const std::vector<listed_blocks>& back);

  store_settings settings_;
  held_folder folder_;
  store_names names_;
  open_files open_;
  stored_block last_appended_;
  stored_files closed_;
  std::vector<std::string> news_;
  file_completion completion_;
  session_tallies lost_;
  growing_pause rescue_{std::chrono::seconds(1), std::chrono::seconds(30)};
  int refusals_ = 0; ///< times that the disk refused a block of the file that is written anew
  std::set<std::uint64_t> to_write_anew_; ///< numbers of open files that were taken at one time
  std::optional<new_copy> copy_;          ///< of the first of them
  time_point early_ends_until_{}; ///< files that ended early have used the time up to this one
  std::error_code list_error_;    ///< of the manifest, as it was told
  bool unread_told_ = false;
  std::uint64_t times_moved_ = 0;
  std::uint64_t next_number_ = 1;
  stored_sessions sessions_;
  store_tally appended_;
  store_tally committed_;
  std::uint64_t torn_tails_ = 0;
  std::uint64_t torn_tails_left_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t not_as_written_ = 0;
  std::vector<std::string> misnamed_;     ///< of a start: likewise
  std::vector<std::string> unread_files_; ///< a sentence on each
  block_copies found_;                    ///< of a start
  block_tally copies_;                    ///< blocks that were found once more
};

} // namespace l3
