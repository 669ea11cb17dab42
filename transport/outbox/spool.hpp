// SPDX-License-Identifier: Apache-2.0
// The disk behind the outbox: a folder of few large segment files (docs/formats.md, section 11)
// that keeps sealed output blocks until the receiver has stored them. It is bounded in bytes,
// leaves the disk a floor of free space, and outlives the daemon: the next one finds the blocks
// that were not released, cuts off what a crash tore, and steps over damaged blocks. A full or
// failing disk is a state: append() says so and may be tried again. why_ended() says why the daemon
// has to end: the disk fails for long, or a file was removed underneath it (an operator's error).
//
// One thread appends and one reads; any thread may release and ask. The index is never locked while
// the disk works. It takes 40 bytes a block and holds at most `most_blocks`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "transport/format/time.hpp"
#include "transport/outbox/settings.hpp"
#include "transport/outbox/spool_index.hpp"
#include "transport/outbox/spool_releases.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// Free bytes of the file system on which this folder lies, for those without privileges; 0 if it
/// does not say.
[[nodiscard]] std::uint64_t free_bytes(int folder);

/// Why no daemon can have its spool in this folder, which it makes if need be; empty if nothing is
/// in the way, as far as this user can see.
[[nodiscard]] std::string wrong_with_spool_folder(const std::filesystem::path& folder);

/// What lies in a spool's folder that no daemon uses; what cannot be read is left out.
[[nodiscard]] spool_totals totals_in_spool(const std::filesystem::path& folder,
                                           const stop_question& stop);

/// What a spool asks of the system where tests want to answer.
struct spool_system {
  block_file::flush_function flush = ::fdatasync;
  std::uint64_t (*free_bytes)(int folder) = l3::free_bytes;
  std::uint64_t most_blocks = std::uint64_t{1} << 22; ///< on disk and needed: 160 MiB of index
  stop_question stop{}; ///< asked while the start reads files: true ends it with scan_stopped
  /// A disk that refuses every block for so long, and not for want of room, ends the daemon.
  std::chrono::nanoseconds longest_failure = std::chrono::minutes(1);
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
  };
  [[nodiscard]] const recovery& found() const { return found_; }

  // --- the writing thread ---

  /// Writes a sealed block of any lane; a lane's sequence rises and may leave numbers out. After an
  /// error nothing of the block is on the disk, and it may be tried again. ENOSPC also stands for
  /// the size limit, the floor, and `most_blocks`. A block that is released, or on disk, already is
  /// not written.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block);

  // --- the reading thread ---

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
  struct waiting_lane {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t events = 0;
  };
  /// The lane's blocks that are on the disk and needed; nothing if there are none.
  [[nodiscard]] std::optional<waiting_lane> lane(std::uint64_t session) const;
  /// Events of the lane whose blocks were found damaged since the start.
  [[nodiscard]] std::uint64_t lost_events(std::uint64_t session) const;
  /// Why the daemon has to end; empty: it need not. The first reason stays.
  [[nodiscard]] std::string why_ended() const;
  void end(std::string why);
  [[nodiscard]] spool_totals totals() const;
  [[nodiscard]] std::uint64_t capacity() const { return room(true); } ///< may still be written
  /// The last append found no room, and there is none now.
  [[nodiscard]] bool full() const;

private:
  void recover_segment(std::uint64_t number, bool newest);
  void count_what_is_gone();

  [[nodiscard]] std::error_code write(std::span<const std::byte> block);
  [[nodiscard]] std::error_code prepare_segment(std::uint64_t bytes);
  void close_segment();
  [[nodiscard]] std::error_code refuse(std::error_code error, std::uint64_t bytes, bool by_system);
  [[nodiscard]] std::uint64_t room(bool with_written_segment) const;
  void remove(const std::vector<std::uint64_t>& segments);
  void forget_releases();
  [[nodiscard]] bool may_pass(const std::error_code& error, const spool_place& place);
  [[nodiscard]] std::error_code fetch(const spool_place& place, std::vector<std::byte>& to) const;
  void end_without(std::uint64_t segment);
  [[nodiscard]] static std::string name_of(std::uint64_t segment) {
    return store_file_name(segment, store_kind::spool);
  }

  std::uint64_t size_;
  std::uint64_t floor_;
  std::uint64_t segment_bytes_;
  spool_system system_;
  held_folder folder_;
  spool_releases releases_;
  recovery found_;

  // The reading thread's.
  spool_place failed_; ///< the block that the disk did not give
  std::uint64_t failures_ = 0;

  // The writing thread's.
  block_file segment_;
  std::uint64_t next_number_ = 1;
  std::optional<time_point> failing_since_; ///< the disk refuses blocks, and not for want of room

  mutable std::mutex lock_; ///< guards what follows
  spool_index index_;
  std::uint64_t written_segment_ = 0; ///< 0: none
  std::string why_ended_;

  std::atomic<std::uint64_t> room_wanted_{0}; ///< by the last append, which found none; else 0
};

} // namespace l3
