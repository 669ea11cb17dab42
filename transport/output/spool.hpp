// SPDX-License-Identifier: Apache-2.0
// The disk behind the outbox: a folder of few large segment files (docs/formats.md, section 11)
// that keeps sealed output blocks until the receiver has stored them. It is bounded in bytes,
// leaves the disk a floor of free space, and outlives the daemon: the next one finds what was not
// released, cuts off what a crash tore, and sets damaged blocks aside. A full or failing disk is a
// state: append() says so and may be tried again. So is a folder or a file that another program
// removes, moves, cuts or replaces: a block counts as on disk only while the names lead to it.
//
// One thread appends and one reads; any thread may release and ask. The index is never locked while
// the disk works. It takes 40 bytes a block and holds at most `most_blocks`; three files are open
// at a time, and two more while a block is read or a file made.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "transport/format/time.hpp"
#include "transport/output/settings.hpp"
#include "transport/output/spool_index.hpp"
#include "transport/output/spool_releases.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/growing_pause.hpp"

namespace l3 {

/// Free bytes of the file system on which this folder lies, for those without privileges; 0 if it
/// does not say.
[[nodiscard]] std::uint64_t free_bytes(int folder);

/// Why no daemon can have its spool in this folder, which it makes if need be; empty if nothing is
/// in the way, as far as this user can see.
[[nodiscard]] std::string wrong_with_spool_folder(const std::filesystem::path& folder);

/// What a spool asks of the system where tests want to answer.
struct spool_system {
  block_file::flush_function flush = ::fdatasync;
  std::uint64_t (*free_bytes)(int folder) = l3::free_bytes;
  std::uint64_t most_blocks = std::uint64_t{1} << 22; ///< on disk and needed: 160 MiB of index
  stop_question stop{}; ///< asked while the start reads files: true ends it with scan_stopped
  time_point (*now)() = steady_clock::now; ///< for the pause between two rescues
  /// Asked between two blocks while a look reads segments that other programs have touched: true
  /// ends this look's part of it. `began` is when the look began.
  bool (*has_read_enough)(time_point began) = [](time_point began) {
    return steady_clock::now() >= began + std::chrono::milliseconds(100);
  };
};

class spool {
public:
  /// Makes the folder if need be, takes it for itself, and recovers what is in it. Throws
  /// std::runtime_error that says what is wrong.
  explicit spool(const spool_settings& settings, const spool_system& system = {});
  ~spool();
  spool(const spool&) = delete;
  spool& operator=(const spool&) = delete;

  /// A file that has grown to this gets a successor: `segment`, or a quarter of `size` if that is
  /// less.
  [[nodiscard]] static std::uint64_t segment_bytes(const spool_settings& settings);

  /// Memory of the index when the folder is as full as it may be, or with so many blocks that were
  /// there at the start if they are more.
  [[nodiscard]] static std::size_t index_memory(const spool_settings& settings,
                                                std::uint64_t found_blocks = 0);

  /// What was there at the start and is still needed, and what a crash cost.
  struct recovery {
    std::vector<block_identity> lanes; ///< oldest first
    std::uint64_t blocks = 0;
    std::uint64_t events = 0;
    std::uint64_t longest = 0;        ///< bytes of a block, header included
    std::uint64_t damaged = 0;        ///< stretches of segments that hold no good block
    std::uint64_t damaged_events = 0; ///< of those that tell
    std::uint64_t torn_tails = 0;     ///< cut off
    std::uint64_t torn_bytes = 0;
    std::uint64_t unreadable = 0; ///< segments of which the disk refuses a part; they are kept
    struct numbers {
      std::uint64_t session = 0;
      std::uint64_t first = 0;
      std::uint64_t last = 0;
    };
    std::vector<numbers> gone; ///< blocks that were on disk before or behind those that are there
    std::vector<std::string> strangers; ///< names of segments that are no regular files; likewise
  };
  [[nodiscard]] const recovery& found() const { return found_; }
  /// Any thread: a ledger has what is gone. A start after one that did not say this finds it again.
  void forget_what_is_gone();

  // --- the writing thread ---

  /// Writes a sealed block of any lane; a lane's sequence rises and may leave numbers out. After an
  /// error nothing of the block is on the disk, and it may be tried again. ENOSPC also stands for
  /// the size limit, the floor, and `most_blocks`. A block that is released, or on disk, already is
  /// not written. No error: the names of folder and file led to the block after it was written. A
  /// disk that refuses what there should be room for is asked again after a pause that grows to a
  /// second; until then the answer is what it said last.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block);
  /// The disk is asked at the next append, whatever it said.
  void end_pause() { refusal_.clear(); }
  /// The blocks of this session are in memory, too. Those that vanish from the disk are not lost:
  /// they are forgotten here, and may be appended again.
  void keep_in_memory(std::uint64_t session) { memory_ = session; }
  /// A file of the daemon's that lies in the folder, too: it is written again whenever its name
  /// leads to none of its length.
  void keep_beside(std::string name, std::function<void(int folder)> write);
  /// Looks at the files of all segments, now and then and at the end. What is not there any more is
  /// read from a file that is still open and written anew, or is counted as lost. Segments that
  /// other programs have touched are read in steps, one a look, and count as what they were until
  /// then.
  void look();
  /// Any thread: by then a segment whose name was taken has been written anew, or two seconds after
  /// that began. What has not been copied is lost, and counted. A segment may have many gigabytes.
  void end_by(time_point when) { end_by_ = when; }
  /// The lowest number of the blocks in memory that vanished from the disk; 0: none did since it
  /// was asked last.
  [[nodiscard]] std::uint64_t take_vanished() { return std::exchange(vanished_, 0); }
  /// What a person should know of files that vanished, each told once.
  [[nodiscard]] std::vector<std::string> take_news() { return std::exchange(news_, {}); }

  // --- the reading thread ---

  /// Copies of what is damaged or torn are kept for a person to look at; no program needs them.
  static constexpr std::uint64_t most_copies = 64;
  static constexpr std::uint64_t most_copied_bytes = std::uint64_t{64} << 20;

  struct read_result {
    std::error_code error;         ///< then there is no block; ENOENT: released, or not there yet
    bool whole = false;            ///< as it was appended; else an empty block stands in for it
    std::uint32_t lost_events = 0; ///< of a block found damaged now; told once
  };
  /// Reads a block and checks it. In the place of one that is damaged, or of a number that the lane
  /// leaves out, comes an empty block, so that the far end sees no gap. The block of a number that
  /// is left out is lost: it is counted once, its events cannot be.
  [[nodiscard]] read_result read(std::uint64_t session, std::uint64_t sequence,
                                 std::vector<std::byte>& to);

  // --- any thread ---

  /// The lane's blocks up to this one are no longer needed. The file of a segment without needed
  /// blocks goes, here and now.
  spool_index::released release(std::uint64_t session, std::uint64_t up_to);
  /// A lane of this process. Before its first block is appended or sent.
  void open_lane(std::uint64_t session) { releases_.open_lane(session); }
  /// No block of the lane behind this one was sent yet. Waits for the disk.
  void note_sent(std::uint64_t session, std::uint64_t up_to) {
    releases_.note_sent(session, up_to);
  }
  /// The last block of a lane that may have been sent, as far as it was noted.
  [[nodiscard]] std::optional<std::uint64_t> sent_at_most(std::uint64_t session) const {
    return releases_.sent_at_most(session);
  }
  struct waiting_lane {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t end = 0; ///< before the first large hole, or the last
    std::uint64_t events = 0;
  };
  /// The lane's blocks that are on the disk and needed; nothing if there are none.
  [[nodiscard]] std::optional<waiting_lane> lane(std::uint64_t session) const;
  /// Events of the lane whose blocks were found damaged or gone since the start.
  [[nodiscard]] std::uint64_t lost_events(std::uint64_t session) const;
  /// So many numbers of a lane are passed over: no file has them.
  void count_missing(std::uint64_t numbers);
  /// Segments that have to be read before it is known whether they are as they were written.
  [[nodiscard]] std::uint64_t unread() const { return unread_; }
  /// As far as the writing thread knows, the names of the folder and of the file that is written
  /// lead to them.
  [[nodiscard]] bool is_in_place() const { return in_place_; }
  [[nodiscard]] spool_totals totals() const;
  [[nodiscard]] std::uint64_t capacity() const { return room(true); } ///< may still be written
  /// The last append found no room, and there is none now.
  [[nodiscard]] bool full() const;

private:
  struct known_file {
    std::shared_ptr<const file_descriptor> open; ///< null: only its name is known
    file_look as;                                ///< when it was written or read last
  };
  struct changed_file {
    std::optional<file_look> now; ///< of its name
    std::uint64_t kept = 0;       ///< needed blocks that are there
    std::uint64_t lost = 0;
    std::uint64_t in_memory = 0;
    std::uint64_t events = 0; ///< of the lost ones
    bool is_known = true;     ///< false: the disk refuses a part
  };
  using changed_files = std::map<std::uint64_t, changed_file>;
  /// A segment that is not read to its end yet.
  struct reading {
    std::uint64_t number = 0;
    changed_file file;
    std::uint64_t next = 0; ///< offset of the first block that is not looked at yet
  };

  // spool_recovery.cpp
  void recover_segment(std::uint64_t number, bool newest);
  void count_what_is_gone();
  void count_copies();
  void keep_copy(std::uint64_t segment, const damaged_stretch& what, std::string_view kind);

  // spool_rescue.cpp
  [[nodiscard]] std::error_code put_in_place(const std::error_code& fault);
  [[nodiscard]] std::error_code write_anew(const std::error_code& why);
  [[nodiscard]] std::error_code copy_blocks(block_file& to, std::vector<stored_block>& copied,
                                            std::vector<stored_block>& lost);
  void give_up_what_is_gone();
  [[nodiscard]] changed_files look_at_files();
  void in_order_of_reading(std::vector<std::uint64_t>& numbers, const changed_files& changed) const;
  [[nodiscard]] bool read_on(std::uint64_t number, const changed_file& file, time_point began,
                             bool a_step);
  void give_up_if_gone(changed_file& file, std::uint64_t session, const spool_place& place);
  void take_as_it_is(const changed_files& changed);
  void cannot_look_at(std::uint64_t segment, const std::error_code& why);
  [[nodiscard]] std::error_code find(const changed_file& file, std::uint64_t session,
                                     const spool_place& place) const;
  void tell(const changed_files& changed);
  void look_beside();
  bool give_up(std::uint64_t session, std::uint64_t sequence);

  [[nodiscard]] std::error_code write(std::span<const std::byte> block);
  [[nodiscard]] std::error_code prepare_segment(std::uint64_t bytes);
  [[nodiscard]] std::error_code open_segment(block_file& made);
  [[nodiscard]] std::error_code close_segment();
  [[nodiscard]] std::error_code refuse(std::error_code error, std::uint64_t bytes, bool by_system);
  [[nodiscard]] std::uint64_t room(bool with_written_segment) const;
  void remove(const std::vector<std::uint64_t>& segments);
  void forget_releases();
  [[nodiscard]] static bool is_final(const std::error_code& error);
  [[nodiscard]] bool may_pass(const std::error_code& error, const spool_place& place);
  [[nodiscard]] std::error_code fetch(const spool_place& place, const known_file& file,
                                      std::vector<std::byte>& to) const;
  [[nodiscard]] std::shared_ptr<const held_folder> folder() const {
    const std::lock_guard guard(lock_);
    return folder_;
  }
  [[nodiscard]] static std::string name_of(std::uint64_t segment) {
    return store_file_name(segment, store_kind::spool);
  }

  std::uint64_t size_;
  std::uint64_t floor_;
  std::uint64_t segment_bytes_;
  spool_system system_;
  std::shared_ptr<const held_folder> folder_; ///< guarded; the writing thread alone changes it
  spool_releases releases_;
  recovery found_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ends_; ///< of lanes: the last block there
  std::atomic<bool> is_forgotten_{false};                     ///< what is gone

  // The reading thread's.
  std::uint64_t copy_count_ = 0; ///< of what was set aside
  std::uint64_t copy_bytes_ = 0;
  spool_place failed_; ///< the block that the disk did not give
  std::uint64_t failures_ = 0;

  // The writing thread's.
  block_file segment_;
  std::uint64_t next_number_ = 1;
  std::error_code fault_;   ///< set: the names do not lead to the folder or the segment any more
  std::error_code unknown_; ///< why this look could not tell what became of a segment
  std::error_code unknown_told_; ///< likewise, of the look before
  std::optional<reading> reading_;
  std::uint64_t last_read_ = 0; ///< number of the segment
  std::atomic<std::uint64_t> unread_{0};
  std::vector<std::string> news_;
  growing_pause rescue_{std::chrono::milliseconds(100), std::chrono::seconds(10)};
  std::atomic<time_point> end_by_{never};
  int refusals_ = 0; ///< times that the disk refused a block of the segment that is written anew
  std::error_code refusal_; ///< what the disk said last; no error: it took a block
  growing_pause attempt_{std::chrono::milliseconds(100), std::chrono::seconds(1)};
  std::string beside_; ///< name of the daemon's own file; empty: there is none
  std::uint64_t beside_bytes_ = 0;
  std::function<void(int)> write_beside_;
  std::uint64_t memory_ = 0;   ///< the session of which memory has the blocks
  std::uint64_t vanished_ = 0; ///< the lowest number of those that vanished from the disk

  mutable std::mutex lock_; ///< guards what follows
  mutable spool_index index_;
  std::map<std::uint64_t, known_file> files_; ///< of all segments
  std::uint64_t written_segment_ = 0;         ///< 0: none

  std::atomic<bool> in_place_{true};
  std::atomic<std::uint64_t> room_wanted_{0}; ///< by the last append, which found none; else 0
};

} // namespace l3
